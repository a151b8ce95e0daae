"""Count components if the noise differs between samples or between variables.

Let the noise in cell (i, j) have the variance ``x_i y_j``. With the singular values s and the left
axes U of the rows, and the ridge ``t``, the median of ``s^2``,

    q_i = sum_a U_ia^2 s_a^2/(s_a^2 + t),     x_i ~ q_i/(1 - q_i) = row_i' (Y'Y + t I)^-1 row_i

with Y the other rows: the energy of a sample in the metric of all others, where strong components
weigh little. The same with the right axes gives the variables [Landa & Kluger 2025]. Rows and
columns are divided by their noise, and the components are counted in what is left.

After r axes the sums run over the others, and q is divided by what these axes leave of the row.
Given the other rows, ``x_i`` is a weighted sum of squares with the weights ``1/(s_a^2 + t)``. So
its relative variance is ``(k - 1) sum w^2/(sum w)^2``, with the kurtosis k of the cells.
"""

from dataclasses import dataclass, replace

import numpy as np

from subspaces._types import Array, FoundNoise
from subspaces.pca.components import (
    LEAST_UNEXPLAINED,
    QUARTILES,
    Components,
    all_axes,
    count_components,
    free_axes,
    slices,
    squares_times,
)
from subspaces.subspace import PrincipalAxes

# The factors and the number of components depend on each other, and settle in two rounds mostly.
ROUNDS = 3
# Cells of a larger kurtosis, divided by the noise of their row and column, have heavy tails
# themselves. Then unequal rows are no sign of unequal noise.
GAUSSIAN_KURTOSIS = 3.8
# Residuals that determine the kurtosis to 0.01. Larger tables are read in steps along their longer
# side.
ENOUGH_CELLS = 1 << 17
# The variance of the quartiles' spread in Gaussian values, over that of the standard deviation.
LOSS_OF_QUARTILES = 2.72
# The components are held by as many leading axes if these hold this share of each.
HELD = 0.5


@dataclass(frozen=True)
class NoiseFactors:
    """The relative noise variance of the samples (n,) and of the variables (p,).

    The logarithms have the variances ``of_sample`` and ``of_variable`` by chance alone.
    """

    samples: Array
    variables: Array
    of_sample: float
    of_variable: float


def noise_factors(axes: PrincipalAxes, r: int, freedom: int, kurtosis: float = 3.0) -> NoiseFactors:
    """Return the relative noise of each sample and variable after r axes.

    freedom: the number of samples, less one if the axes are from their mean.
    """
    n, p = len(axes.coordinates), len(axes.basis)
    values = np.zeros(min(freedom, p))
    values[: axes.rank] = axes.eigenvalues[: len(values)]
    ridge = float(np.median(values[r:]))
    shares = 1.0 - 1.0 / (axes.eigenvalues / ridge + 1.0)

    beyond = np.arange(axes.rank) >= r
    weights = np.stack([np.where(beyond, shares, 0.0), 1.0 - beyond], axis=1)

    def energies(axes_of: Array, length: float, units: Array | float) -> Array:
        kept, lost = squares_times(axes_of, weights / units).T
        left = np.maximum(length - lost, LEAST_UNEXPLAINED)
        q = np.clip(kept / left, 1e-12, 1.0 - 1e-4)
        return q / (1.0 - q)

    def by_chance(directions: int) -> float:
        weights = np.ones(directions)
        weights[: len(values)] = 1.0 / (values / ridge + 1.0)
        kept = weights[r:]
        return (kurtosis - 1.0) * float(np.sum(kept**2) / np.sum(kept) ** 2)

    samples = energies(axes.coordinates, freedom / n, axes.eigenvalues[:, None])
    return NoiseFactors(samples, energies(axes.basis, 1.0, 1.0), by_chance(p), by_chance(n))


def count_in_equal_noise(
    axes: PrincipalAxes, found: Components, most: int | None, *, center: bool
) -> Components:
    """Return the components that are seen once all cells have the same noise.

    found: what `count_components` says of the axes as they are. It stays if samples and variables
    have equal noise, if the cells have heavy tails, or if the variables are correlated anyway.
    """
    freedom, p = len(axes.coordinates) - center, len(axes.basis)
    if found.noise == "none" or axes.rank <= min(freedom, p) // 2:
        return found
    bound = free_axes(axes, freedom).rank < min(freedom, p)
    evened, seen, r = axes, found, 0
    samples: Array = np.ones(len(axes.coordinates))
    variables: Array = np.ones(p)
    for _ in range(ROUNDS):
        tails = _kurtosis_of_cells(evened, r)
        noise = noise_factors(evened, r, freedom, max(tails, 3.0))
        samples = _beyond_chance(samples * noise.samples, noise.of_sample, by_quartiles=True)
        if not bound:
            relative = variables * noise.variables
            variables = _beyond_chance(relative, noise.of_variable, by_quartiles=False)
        if tails > GAUSSIAN_KURTOSIS or np.ptp(samples) == np.ptp(variables) == 0.0:
            return found
        evened = axes  # lets go of those of the last round
        evened = all_axes(_divided(axes, samples, variables, center=center), overwrite=True)
        seen = count_components(evened, most, center=center)
        if seen.count == r:
            break
        r = min(seen.count, evened.rank // 2)
    if seen.noise not in ("equal", "unequal"):
        return found
    kind: FoundNoise = "unequal" if np.ptp(samples) == 0.0 else "unequal_samples"
    held = _holds(axes.basis[:, : seen.count], evened.basis[:, : seen.count], variables)
    return replace(seen, noise=kind, leading=held)


def _beyond_chance(factors: Array, by_chance: float, *, by_quartiles: bool) -> Array:
    """Return the factors, shrunk by what chance explains of their spread; ones if it explains all.

    by_quartiles: judge the spread by them, so that a few far samples do not count.
    """
    logs = np.log(factors)
    spread, m = float(logs.var(ddof=1)), len(logs)
    seen, loss = spread, 1.0
    if by_quartiles:
        first, third = np.quantile(logs, [0.25, 0.75])
        seen, loss = float((third - first) / QUARTILES) ** 2, LOSS_OF_QUARTILES
    if seen <= by_chance * (1.0 + 3.0 * np.sqrt(2.0 * loss / (m - 1))) or spread <= by_chance:
        return np.ones(m)
    return np.exp((1.0 - by_chance / spread) * (logs - logs.mean()))


def _divided(axes: PrincipalAxes, samples: Array, variables: Array, *, center: bool) -> Array:
    """Return the rows (n, p) that have these axes, centred, in units of the noise.

    A mean of the rows, times ``x_i^-1/2``, is taken out again: it had the noise of all samples.
    """
    each = 1.0 / np.sqrt(samples)
    weights = each / np.linalg.norm(each)
    mean = (weights * each) @ axes.coordinates if center else np.zeros(axes.rank)
    divided = np.empty((len(each), len(variables)))
    for block in slices(*divided.shape):
        scores = each[block, None] * axes.coordinates[block] - np.outer(weights[block], mean)
        divided[block] = scores @ axes.basis.T
    divided /= np.sqrt(variables)
    return divided


def _kurtosis_of_cells(axes: PrincipalAxes, r: int) -> float:
    """Return the kurtosis of what r axes leave, each row and column divided by its spread."""
    rows, columns = axes.coordinates[:, r:], axes.basis[:, r:]
    step = -(-len(rows) * len(columns) // ENOUGH_CELLS)
    if len(rows) > len(columns):
        rows = rows[::step]
    else:
        columns = columns[::step]
    cells = rows @ columns.T
    cells *= cells
    for _ in range(ROUNDS):
        cells /= cells.mean(axis=1, keepdims=True)
        cells /= cells.mean(axis=0)
    return float(np.einsum("ij,ij->", cells, cells)) / cells.size


def _holds(leading: Array, found: Array, variables: Array) -> bool:
    """Whether the leading axes (p, r) hold the axes (p, r) found in units of the noise."""
    if not found.shape[1]:
        return True
    back = np.linalg.qr(found * np.sqrt(variables)[:, None])[0]
    return bool(np.linalg.svd(leading.T @ back, compute_uv=False)[-1] ** 2 > HELD)
