"""A mixture of probabilistic PCA, by EM [Tipping & Bishop 1999].

Component k has mean mu_k and covariance ``V_k (L_k - sigma_k^2) V_k^T + sigma_k^2 I``: variances
L_k along R_k axes and sigma_k^2 elsewhere, of its own or shared by all. The M step is exact: V_k
and L_k are the leading eigenvectors and eigenvalues of the component's weighted covariance; sigma^2
is the mean of the eigenvalues left out, weighted by the components' weights if shared. No
variance is below 1e-10 of the data's: without a floor, rows that fill a subspace exactly have no
finite likelihood.

More variables than rows are rotated into as many coordinates as there are rows; the noise still
counts all of them, and no P x P array is formed.

==========  ============  ==============  ====================================
symbol      name          shape           meaning
==========  ============  ==============  ====================================
x_i         rows          (n, l)          samples, l = min(n, p) coordinates
mu_k        centres       (K, l)          means; zero for linear subspaces
V_k         bases         K times (l, r)  axes
L_k         variances     K times (r,)    variances along the axes, noise included
sigma_k^2   noise         (K,)            variance in each other direction
==========  ============  ==============  ====================================
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from subspaces._types import Array, Labels
from subspaces.core import em
from subspaces.core.partition import Partition, smallest_size
from subspaces.runtime.serialise import serialisable
from subspaces.subspace import CANCELLATION, FAINT, largest_eigenpairs, orthonormal

NOISE_FLOOR = 1e-10
# EM ends when the log-likelihood rises by no more than this many nats per row.
RISE_PER_ROW = 1e-6
LOG_TWO_PI = float(np.log(2.0 * np.pi))
# Rows of weight that an empty component counts as, so that its share has a logarithm.
NOTHING = 1e-10
# Rows whose share of a component is below this part of its largest are left out of its axes: they
# add less to the noise than this part of the data's variance, and the noise has its floor.
NEGLIGIBLE = 1e-24


@dataclass(frozen=True)
class Setting:
    """The rows and settings that all EM steps share.

    rows (n, l) = (matrix - origin) @ rotation, of n_features variables; rotation None for l = p;
    floor: the least variance; weights (n,): of the rows, None if all count one.
    """

    rows: Array
    origin: Array
    rotation: Array | None
    dimensions: tuple[int, ...]
    affine: bool
    shared_noise: bool
    floor: float
    weights: Array | None = None

    @property
    def n_features(self) -> int:
        """Number of variables, p."""
        return len(self.origin)


@serialisable
@dataclass(frozen=True)
class PPCAMixture:
    """The parameters of the mixture; see the notation table. n_features is p, whatever l is."""

    weights: Array
    centres: Array
    bases: tuple[Array, ...]
    variances: tuple[Array, ...]
    noise: Array
    n_features: int


@dataclass(frozen=True)
class State:
    """A model, the log joint density of the rows (n, K), and whether its components are alive.

    shares (n, K): the responsibilities that the model was fitted to; fits: the axes of each
    component, which stand as long as its shares do.
    """

    model: PPCAMixture
    log_joint: Array
    alive: bool
    shares: Array
    fits: tuple["Axes", ...]


def pose(
    matrix: Array,
    dimensions: Sequence[int],
    *,
    affine: bool,
    shared_noise: bool,
    weights: Array | None = None,
) -> Setting:
    """Return the setting of a fit: rows centred if affine, and rotated to (n, n) if p > n."""
    n, p = matrix.shape
    origin = np.average(matrix, 0, weights) if affine else np.zeros(p)
    rows = matrix - origin
    mean_square = np.mean(rows**2) if weights is None else np.average(rows**2, 0, weights).mean()
    floor = NOISE_FLOOR * max(float(mean_square), np.finfo(float).tiny / NOISE_FLOOR)
    rotation = None
    if p > n:
        rotation = np.ascontiguousarray(linalg.svd(rows, full_matrices=False)[2].T)
        rows = rows @ rotation
    return Setting(rows, origin, rotation, tuple(dimensions), affine, shared_noise, floor, weights)


def refine_labels(
    matrix: Array,
    starts: Sequence[Labels],
    dimensions: Sequence[int],
    affine: bool,
    weights: Array | None = None,
) -> Labels:
    """Return the labels (n,) of the likeliest mixture, by EM with shared noise from each start.

    weights (n,): of the rows, None if all count one. A row with the label -1 in the first start
    keeps it, and has no part in the mixtures.
    """
    kept = starts[0] >= 0
    if not kept.all():
        found, own = np.full(len(matrix), -1), None if weights is None else weights[kept]
        firsts = [y[kept] for y in starts]
        found[kept] = refine_labels(matrix[kept], firsts, dimensions, affine, own)
        return found
    setting = pose(matrix, dimensions, affine=affine, shared_noise=True, weights=weights)
    first = [Partition(labels, len(dimensions)).indicator for labels in starts]
    begun = [em.begin("labels", first_state(setting, each), weights) for each in first]
    runs = em.search(begun, lambda state: step(setting, state), 300, RISE_PER_ROW)
    likeliest = max(runs, key=lambda run: run.log_likelihood)
    return np.argmax(likeliest.state.log_joint, axis=1)


def bic(matrix: Array, labels: Labels, dimensions: Sequence[int], affine: bool) -> float:
    """Return the BIC of the mixture with shared noise that EM reaches from a partition.

    Lower is better. Rows with the label -1 are left out.
    """
    rows, own = matrix[labels >= 0], labels[labels >= 0]
    setting = pose(rows, dimensions, affine=affine, shared_noise=True)
    first = first_state(setting, Partition(own, len(dimensions)).indicator)
    run = em.climb(em.begin("labels", first), lambda state: step(setting, state), 100, RISE_PER_ROW)
    free = n_parameters(dimensions, rows.shape[1], affine=affine, shared=True)
    return float(-2.0 * run.log_likelihood + free * np.log(len(rows)))


def step(setting: Setting, state: State) -> State:
    """Return the state after one E step and the M step that follows."""
    shares = em.responsibilities(state.log_joint)
    moved = np.abs(shares - state.shares).max(axis=0) > NEGLIGIBLE
    kept = [None if m else fit for m, fit in zip(moved, state.fits, strict=True)]
    return _state(setting, shares, kept)


def first_state(setting: Setting, responsibilities: Array) -> State:
    """Return the state after an M step with these responsibilities (n, K)."""
    return _state(setting, responsibilities, [None] * len(setting.dimensions))


def _state(setting: Setting, shares: Array, known: Sequence["Axes | None"]) -> State:
    """Return the state after an M step; known: the axes of the components that did not change."""
    counted = shares if setting.weights is None else shares * setting.weights[:, None]
    total = float(len(shares) if setting.weights is None else setting.weights.sum())
    weights = np.maximum(counted.sum(axis=0), NOTHING * total / len(shares))
    fits = tuple(
        fit or _weighted_axes(setting.rows, counted[:, k] / weights[k], r, setting.affine)
        for k, (fit, r) in enumerate(zip(known, setting.dimensions, strict=True))
    )
    noise = _noise(setting, weights, fits)
    model = PPCAMixture(
        weights / total,
        np.array([fit.centre for fit in fits]),
        tuple(fit.basis for fit in fits),
        tuple(np.maximum(fit.values, s) for fit, s in zip(fits, noise, strict=True)),
        noise,
        setting.n_features,
    )
    needed = [smallest_size(r) for r in setting.dimensions]
    alive = bool(np.all(shares.sum(axis=0) >= needed))
    return State(model, log_joint(model, setting.rows), alive, shares, fits)


@dataclass(frozen=True)
class Axes:
    """Centre (l,), leading eigenvalues (r,) and axes (l, r) of weighted rows.

    left: the energy off the axes, the weighted sum of squared residuals.
    """

    centre: Array
    values: Array
    basis: Array
    left: float


def _weighted_axes(rows: Array, share: Array, dimension: int, affine: bool) -> Axes:
    """Return the axes of weighted rows; share (n,): weights that sum to 1."""
    counted = share > NEGLIGIBLE * share.max()
    if not counted.all():
        rows, share = rows[counted], share[counted]
    centre = share @ rows if affine else np.zeros(rows.shape[1])
    centred = (rows - centre) * np.sqrt(share)[:, None]
    values, basis = _leading_axes(centred, dimension)
    residual = centred - (centred @ basis) @ basis.T
    return Axes(centre, values, basis, float(np.sum(residual**2)))


def _leading_axes(rows: Array, count: int) -> tuple[Array, Array]:
    """Return the ``count`` leading eigenvalues and axes (l, count) of the scatter of rows (m, l).

    Of fewer rows than coordinates the inner products give them, if they keep ten digits.
    """
    if len(rows) < rows.shape[1]:
        values, vectors = largest_eigenpairs(rows @ rows.T, max(count, 1))
        if len(values) >= count and values[0] > FAINT * values[-1]:
            axes = orthonormal((rows.T @ (vectors / np.sqrt(values)))[:, ::-1][:, :count])
            return values[::-1][:count], axes
    values, vectors = largest_eigenpairs(rows.T @ rows, max(count, 1))
    axes = np.ascontiguousarray(vectors[:, ::-1][:, :count])
    return np.maximum(values[::-1][:count], 0.0), axes


def _noise(setting: Setting, weights: Array, fits: Sequence[Axes]) -> Array:
    """Return the noise sigma_k^2 of each component, (K,); equal entries if it is shared."""
    freedom = [setting.n_features - r for r in setting.dimensions]
    each = [
        (weight, fit.values, fit.left, directions)
        for weight, fit, directions in zip(weights, fits, freedom, strict=True)
    ]
    groups = [each] if setting.shared_noise else [[one] for one in each]
    found = [pooled_noise(group, setting.floor) for group in groups]
    return np.array(found * len(each) if setting.shared_noise else found)


def pooled_noise(fits: Sequence[tuple[float, Array, float, int]], floor: float) -> float:
    """Return the likeliest noise variance that several components share.

    fits: for each its weight, leading eigenvalues, energy off the axes, and the number of other
    directions. A leading eigenvalue below the noise is noise too: it joins the pool, which lowers
    the mean.
    """
    energy = sum(weight * left for weight, _, left, _ in fits)
    freedom = sum(weight * directions for weight, _, _, directions in fits)
    if freedom <= 0:
        return floor
    leading = sorted((value, weight) for weight, values, _, _ in fits for value in values)
    for value, weight in leading:
        if value >= energy / freedom:
            break
        energy, freedom = energy + weight * value, freedom + weight
    return max(energy / freedom, floor)


def log_joint(model: PPCAMixture, rows: Array) -> Array:
    """Return ``log pi_k + log N(x; mu_k, C_k)`` of every row under every component, (n, K)."""
    frames = [np.column_stack(pair) for pair in zip(model.centres, model.bases, strict=True)]
    ends = np.cumsum([frame.shape[1] for frame in frames])[:-1]
    products = np.split(rows @ np.hstack(frames), ends, axis=1)
    squared = np.einsum("ij,ij->i", rows, rows)
    parts = zip(products, frames, model.variances, model.noise, strict=True)
    densities = [_log_density(rows, squared, *part, model.n_features) for part in parts]
    return np.column_stack(densities) + np.log(model.weights)


def _log_density(
    rows: Array,
    squared: Array,
    products: Array,
    frame: Array,
    variances: Array,
    noise: float,
    n_features: int,
) -> Array:
    """Return the log density of the rows under one component, (n,).

    frame (l, 1 + r): its centre and axes; products (n, 1 + r): of the rows with these; squared
    (n,): squared lengths of the rows. Rows whose residual cancels get it from the coordinates.
    """
    centre, basis = frame[:, 0], frame[:, 1:]
    total = squared + centre @ centre
    scores = products[:, 1:] - centre @ basis
    residual = total - 2.0 * products[:, 0] - np.einsum("ij,ij->i", scores, scores)
    lost = np.flatnonzero(residual <= CANCELLATION * total)
    centred = rows[lost] - centre
    scores[lost] = centred @ basis
    centred -= scores[lost] @ basis.T
    residual[lost] = np.einsum("ij,ij->i", centred, centred)
    distance = residual / noise + np.sum(scores**2 / variances, axis=1)
    log_scale = (n_features - len(variances)) * np.log(noise) + np.log(variances).sum()
    return -0.5 * (distance + log_scale + n_features * LOG_TWO_PI)


def lifted(setting: Setting, model: PPCAMixture) -> PPCAMixture:
    """Return the model in the variables of the original matrix: rotated back, origin added."""
    if setting.rotation is None:
        return replace(model, centres=model.centres + setting.origin)
    return replace(
        model,
        centres=setting.origin + model.centres @ setting.rotation.T,
        bases=tuple(setting.rotation @ basis for basis in model.bases),
    )


def reordered(model: PPCAMixture, order: Labels) -> PPCAMixture:
    """Return the mixture with its components in another order."""
    return replace(
        model,
        weights=model.weights[order],
        centres=model.centres[order],
        bases=tuple(model.bases[k] for k in order),
        variances=tuple(model.variances[k] for k in order),
        noise=model.noise[order],
    )


def n_parameters(dimensions: Sequence[int], n_features: int, *, affine: bool, shared: bool) -> int:
    """Return the number of free parameters: weights, means, axes with their variances, noise."""
    axes = sum(n_features * r - r * (r - 1) // 2 for r in dimensions)
    means = n_features * len(dimensions) if affine else 0
    return len(dimensions) - 1 + means + axes + (1 if shared else len(dimensions))
