"""How many components of one PCA are more than noise, and what that rests on.

Axes are accepted one by one while the next eigenvalue is above the edge of the noise that the axes
before it leave (`noise_edge.py`). Two kinds of noise break that rule and are recognised: heavy
tails, where an eigenvalue has to stay above the edge without its most influential row as well, and
correlated columns, where the spectrum itself has to break [Onatski 2010].

==========  ============  =========  ==============================================================
symbol      name          shape      meaning
==========  ============  =========  ==============================================================
lambda      eigenvalues   (l,)       of the scatter of the centred rows, descending
V           basis         (p, l)     principal axes
n1          freedom                  rows, less one if the mean was subtracted
res_j       left          (p,)       energy that r axes leave in column j
h_j         explained     (p,)       sum over the first r axes of V_ja^2
d_j         variances     (p,)       of the noise in the columns
==========  ============  =========  ==============================================================
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated

import numpy as np
from scipy import special

from subspaces._types import Array, FoundNoise, Indices, Mask, NoiseKind
from subspaces.core import array
from subspaces.core.leave_one_out import graded_axes
from subspaces.core.secular import downdate, refit_factor
from subspaces.pca.noise_edge import NoiseEdge, edge_of_noise
from subspaces.runtime.serialise import serialisable
from subspaces.subspace import PrincipalAxes, principal_axes

# Levels: how often noise alone stays below the edge that an eigenvalue has to pass, the two ends of
# the reported range, and the level for heavy tails. Without its most influential row an eigenvalue
# is smaller. At 0.95, noise with six kinds of tails passes in 0.9 % of 1800 tables, and in 4 % in
# the worst of 18 settings.
LEVEL, SURE, EVEN, HEAVY_LEVEL = 0.99, 0.999, 0.5, 0.95
# The kurtosis of the residuals, 3 for Gaussian ones, above which tails are called heavy.
HEAVY_KURTOSIS = 4.0
# Columns count as correlated above this z value and this share of the rows. A missed component adds
# 1 to 4. Columns with correlation 0.5 to their neighbours add a third of the rows.
CORRELATED_Z, CORRELATED_SHARE = 6.0, 0.1
# In a smaller table false components take the correlation with them: there a smaller z value, and
# this many more eigenvalues above the edge than before the break, or all but one of those that can
# be tried. Components of like strength may pass the edge without a break after the last, but then
# nothing is left to correlate.
SLIGHT_Z, BEYOND_BREAK = 3.0, 8
# Fewer rows or columns have no useful spectrum.
FEWEST_ROWS, FEWEST_COLUMNS = 5, 3
# Below both, correlated noise cannot be distinguished from components, because false components
# absorb the correlation.
FEW_ROWS, FEW_COLUMNS = 100, 50
# If columns have equal noise, the count goes on past this many axes below the edge if one above it
# follows.
LOOK_FURTHER = 4
# Directions with less than this share of the median eigenvalue, and of what independent columns
# would have there, are bound: the columns sum to a constant, up to rounding.
BOUND = 1e-3
# How far the quartiles of a Gaussian are apart, in standard deviations.
QUARTILES = 1.349
# Columns explained to more than 1 minus this say nothing of their noise.
LEAST_UNEXPLAINED = 0.05
# A row is unusual on an axis if it has this many times the largest value of Gaussian rows.
UNUSUAL = 2.0
# An axis rests on one row only if that row is among its this many largest scores.
CANDIDATES = 20
# If one side is more than MANY_ROWS times as long as the other, decompose the scatter of the
# shorter. It keeps ten digits of eigenvalues above the share FAINT of the largest.
MANY_ROWS, FAINT = 4, 1e-6
# Enough residuals for the kurtosis. Larger tables are read in steps of several rows.
ENOUGH_CELLS = 1 << 22
# Numbers to compute at a time (half a megabyte), with at least this many rows or columns. For
# fewer, the call takes longer than the computation.
BLOCK_CELLS, FEWEST_LINES = 1 << 16, 32
# The squares of eigenvalues between this and its inverse are within range.
SMALL = 1e-50
# The most axes that are tried at first, and eigenvalues beyond them that show how a spectrum falls.
MOST_AXES, BEYOND = 12, 5


@serialisable
@dataclass(frozen=True)
class Components:
    """How many components there are, and each axis beside the noise.

    count, low, high: how many, at three levels; low and high are None if columns are correlated.
    above: how many are above the edge of independent noise, whatever the noise is; fewer than the
    count if a loud column came before the last component. noise: "none", "equal", "unequal",
    "unequal_samples", "heavy", "correlated", or "unknown" in a table that is too small. ratio,
    ratio_without (m,): each eigenvalue with all rows and without its most influential one, over the
    edge; rests_on (m,): that row; alone (m,): whether the axis is a component by that row alone.
    correlation: the z value of correlated columns; hidden: the share of the energy below which a
    component is not seen; leading: whether the leading axes hold the components, which may have
    been counted in units of the noise.
    """

    count: int
    low: int | None
    high: int | None
    above: int
    noise: FoundNoise
    ratio: Annotated[Array, "m"]
    ratio_without: Annotated[Array, "m"]
    rests_on: Annotated[Indices, "m"]
    alone: Annotated[Mask, "m"]
    correlation: float
    hidden: float
    leading: bool = True


def all_axes(rows: Array, *, overwrite: bool = False) -> PrincipalAxes:
    """All principal axes of the rows (n, p).

    From the eigenvectors of the smaller scatter if one side is much longer than the other; by
    `graded_axes` if some eigenvalue is so faint that it would have fewer than ten digits.

    overwrite: whether the rows may be lost, so that no more memory is needed.
    """
    n, p = rows.shape
    if max(n, p) <= MANY_ROWS * min(n, p):
        found = principal_axes(rows)
        return found if _has_digits(found.eigenvalues, n, p) else graded_axes(rows)
    values, vectors = np.linalg.eigh(rows.T @ rows if n > p else rows @ rows.T)
    # Rows around their mean span one direction less than there are rows.
    some = values > (0.0 if n > p else p * np.finfo(float).eps) * values[-1:]
    values, vectors = values[some][::-1], np.ascontiguousarray(vectors[:, some][:, ::-1])
    if not _has_digits(values, n, p):
        return graded_axes(rows)
    rows = rows if overwrite else rows.copy()
    if n > p:
        for block in slices(n, p):
            rows[block] = rows[block] @ vectors
        return PrincipalAxes(rows, values, vectors)
    roots = np.sqrt(values)
    basis, turn = rows[: len(values)], (vectors / roots).T
    for block in slices(p, n):
        basis[:, block] = turn @ rows[:, block]
    return PrincipalAxes(vectors * roots, values, basis.T)


def _has_digits(eigenvalues: Array, n: int, p: int) -> bool:
    """Whether the axes of n rows of p columns are all there, with ten digits of eigenvalues."""
    is_full = len(eigenvalues) >= min(n - 1, p) > 0
    return is_full and bool(eigenvalues[-1] > FAINT * eigenvalues[0])


def slices(count: int, width: int) -> Iterator[slice]:
    """Yield slices of ``count`` lines of this width, of about `BLOCK_CELLS` numbers each."""
    return array.slices(count, max(BLOCK_CELLS // max(width, 1), FEWEST_LINES))


def squares_times(matrix: Array, weights: Array) -> Array:
    """Return ``matrix**2 @ weights`` of (m, l) and (l,) or (l, k), with little memory."""
    found = np.empty((len(matrix), *weights.shape[1:]))
    for block in slices(*matrix.shape):
        found[block] = matrix[block] ** 2 @ weights
    return found


def most_axes(n_samples: int, n_columns: int, *, center: bool) -> int:
    """Return the largest number of axes beside which enough is left to tell the noise from."""
    return max(min(n_samples - center, n_columns) - 2, 0)


def count_components(
    axes: PrincipalAxes, most: int | None = None, noise: NoiseKind = "auto", *, center: bool
) -> Components:
    """Return how many axes are components, and what kind of noise the others are.

    axes: all axes of the rows, from their mean if ``center``; every column varies. There are at
    least `FEWEST_ROWS` and `FEWEST_COLUMNS`. most: of the components to count, up to all directions
    but one. noise: what to take the noise for; "auto" finds out. At first 12 axes are tried, but no
    more than half of the smaller side of the table or ``most``, then twice as many while all of
    them are components. Rows that span at most half of the directions have no noise.
    """
    n, p = len(axes.coordinates), len(axes.basis)
    freedom = n - center
    few = min(most_axes(n, p, center=center), MOST_AXES)
    if axes.rank <= max(few, min(freedom, p) // 2) and _directions(axes, freedom) == p:
        return _cut(without_noise(axes, center=center), most)
    axes = free_axes(_near_one(axes), freedom)
    directions = min(freedom, _directions(axes, freedom))
    widest = max(min(directions // 2, directions - 2), 1)
    if most is not None:
        widest = min(max(directions // 2, most), directions - 1)
    widest = min(widest, axes.rank - 1)
    tried = min(MOST_AXES, widest)
    found = _counted(axes, tried, noise, widest, center=center)
    while found.above == tried < widest:
        tried = min(2 * max(tried, found.count), widest)
        wider = _counted(axes, tried, noise, widest, center=center)
        # Components beyond the axes that were tried look like correlated noise until they are tried
        # too. The eigenvalues of correlated noise reach the edge without a break.
        if found.noise == "correlated" and (wider.noise, wider.count) != ("equal", found.count):
            break
        found = wider
    return _cut(found, most)


def _near_one(axes: PrincipalAxes) -> PrincipalAxes:
    """Return the axes with eigenvalues near one, so that their squares stay within range.

    They are scaled by a power of two, which is exact.
    """
    if SMALL < axes.eigenvalues[0] < 1.0 / SMALL:
        return axes
    unit = 2.0 ** np.floor(0.5 * np.log2(axes.eigenvalues[0]))
    return PrincipalAxes(axes.coordinates / unit, axes.eigenvalues / unit / unit, axes.basis)


def free_axes(axes: PrincipalAxes, freedom: int) -> PrincipalAxes:
    """Return the axes without those along which the columns are bound, as parts of a whole are.

    They are the last ones, if there are more rows than columns.
    """
    values = axes.eigenvalues
    if len(axes.basis) >= freedom:
        return axes
    squared = axes.basis**2
    independent = squared.T @ (squared @ values)
    faint = values < BOUND * np.minimum(np.median(values), independent)
    kept = int(np.flatnonzero(~faint)[-1]) + 1
    return PrincipalAxes(axes.coordinates[:, :kept], values[:kept], axes.basis[:, :kept])


def _cut(found: Components, most: int | None) -> Components:
    """Return the same with no more than ``most`` components and axes."""
    if most is None:
        return found
    return replace(
        found,
        count=min(found.count, most),
        low=None if found.low is None else min(found.low, most),
        high=None if found.high is None else min(found.high, most),
        ratio=found.ratio[:most],
        ratio_without=found.ratio_without[:most],
        rests_on=found.rests_on[:most],
        alone=found.alone[:most],
    )


def _counted(
    axes: PrincipalAxes, tried: int, noise: NoiseKind, widest: int, *, center: bool
) -> Components:
    """`count_components` among the first ``tried`` axes; a break may come up to ``widest``."""
    freedom = len(axes.coordinates) - center
    values = axes.eigenvalues[:tried]
    without, rests_on = without_most_influential(axes, tried, center=center)
    tails = column_kurtosis(axes, 0)

    @cache
    def edge(r: int) -> NoiseEdge:
        return noise_after(axes, r, freedom, noise, tails)

    count, low = (_last_above(values, edge, each) for each in (LEVEL, SURE))
    above = count
    kind: FoundNoise = "equal" if np.ptp(edge(count).variances) == 0.0 else "unequal"
    z = correlation_of_residuals(axes, count, freedom)
    level = LEVEL
    ends: tuple[int | None, int | None] = (low, _might_be(values, edge, count))
    broken = break_of_spectrum(axes.eigenvalues, widest)
    found_correlated = noise == "auto" and _is_correlated(axes, z, above, broken, widest)
    if found_correlated and above < broken <= tried:
        # A loud column ended the count, and the components after it look like correlated noise. If
        # the columns are independent after the break, what was correlated lies before it.
        behind = correlation_of_residuals(axes, broken, freedom)
        if behind <= SLIGHT_Z and kurtosis(axes, broken) <= HEAVY_KURTOSIS:
            found_correlated, kind, count, z = False, "unequal", broken, behind
            sure = [r + 1 for r in range(broken) if values[r] > edge(r).at(SURE)]
            ends = (max(sure, default=0), _might_be(values, edge, broken))
    if noise == "correlated" or found_correlated:
        kind, count, ends = "correlated", broken, (None, None)
    elif noise == "heavy" or (noise == "auto" and kurtosis(axes, count) > HEAVY_KURTOSIS):
        kind, level = "heavy", HEAVY_LEVEL
        count, low = (_last_above(without, edge, each) for each in (HEAVY_LEVEL, SURE))
        ends = (min(low, count), _might_be(values, edge, count))
    # Beyond the last component the edge would fall with every axis that is taken out.
    last, shown = min(count, tried), max(count, tried)
    if shown > tried:
        without, rests_on = without_most_influential(axes, shown, center=center)
    compared = np.array([edge(min(r, last)).at(level) for r in range(shown)])
    hidden = edge(last).hidden_strength(level) / float(axes.eigenvalues.sum())
    ratios = axes.eigenvalues[:shown] / compared, without / compared
    alone = _rests_on_one(*ratios, len(axes.coordinates))
    return Components(count, *ends, above, kind, *ratios, rests_on, alone, z, min(hidden, 1.0))


def _rests_on_one(ratio: Array, without: Array, n: int) -> Mask:
    """Whether each axis (m,) passes the edge by a single row, one that has unusually much of it.

    The most influential of n Gaussian rows has about ``2 log(n)/n`` of an eigenvalue.
    """
    lost = 1.0 - without / ratio
    return (ratio > 1.0) & (without <= 1.0) & (lost > UNUSUAL * 2.0 * np.log(n) / n)


def _is_correlated(axes: PrincipalAxes, z: float, above: int, broken: int, widest: int) -> bool:
    """Whether columns are correlated, with this z value after ``above`` axes.

    broken: after how many the spectrum breaks; widest: the most axes that can be tried.
    """
    n, p = len(axes.coordinates), len(axes.basis)
    # A break needs eigenvalues after it.
    if axes.rank <= BEYOND + 1 or (n < FEW_ROWS and p < FEW_COLUMNS):
        return False
    # If all axes that can be tried are above the edge, a component that was missed is no excuse.
    share = 0.0 if above == widest else CORRELATED_SHARE
    clear = z > max(CORRELATED_Z, share * n)
    return clear or (z > SLIGHT_Z and above - broken >= min(BEYOND_BREAK, max(widest - 1, 1)))


def without_noise(axes: PrincipalAxes, *, center: bool) -> Components:
    """Return the rank as the count: rows that span so few directions have no noise."""
    rank = axes.rank
    infinite = np.full(rank, np.inf)
    without, rests_on = without_most_influential(axes, rank, center=center)
    alone = without <= 0.0
    kept = np.where(alone, 0.0, np.inf)
    return Components(rank, rank, rank, rank, "none", infinite, kept, rests_on, alone, 0.0, 0.0)


def too_small(axes: PrincipalAxes) -> Components:
    """Return the first axis as the answer: the table is too small to know what is noise."""
    none, nobody = np.zeros(0), np.zeros(0, dtype=np.intp)
    alone = np.zeros(0, dtype=bool)
    return Components(1, 0, axes.rank, 0, "unknown", none, none, nobody, alone, 0.0, 1.0)


def noise_after(
    axes: PrincipalAxes, r: int, freedom: int, noise: NoiseKind = "auto", tails: Array | None = None
) -> NoiseEdge:
    """Return the edge of the noise that the first r axes leave.

    A column's variance is ``d_j = res_j/(N (1 - h_j))`` with N = n1 - r, then scaled so that their
    mean is the residual energy over ``N (P - r)``, with the P directions that the columns have.
    Sampling alone gives the logarithms the variance ``(k_j - 1)/N``, with the kurtosis k_j of the
    column, tails (p,), at least and by default 3. A column is loud if its logarithm is above the
    median by more than the largest of p Gaussian ones is in one table of 1000; their variance is
    that of sampling, or that of the quartiles if it is larger. It is shrunk by what one is of z^2.
    The others are taken as equal if the variance of their logarithms is what sampling alone gives,
    2/N; else they are shrunk by that much. noise: "equal" and "unequal" decide it beforehand.
    """
    p, n = len(axes.basis), freedom - r
    directions = _directions(axes, freedom) - r
    left, explained = _split_columns(axes, r, freedom)
    variances = left / np.maximum(1.0 - explained, LEAST_UNEXPLAINED)
    mean, weight = float(left.sum()) / (n * directions), directions / p
    logs = np.log(np.maximum(variances, 1e-12 * variances.max()))
    sampling = 2.0 / n
    own = sampling if tails is None else np.maximum(tails - 1.0, 2.0) / n
    first, middle, third = np.quantile(logs, [0.25, 0.5, 0.75])
    z = (logs - middle) / np.sqrt(np.maximum(own, ((third - first) / QUARTILES) ** 2))
    loud = z > -special.ndtri((1.0 - SURE) / p)
    others = logs[~loud]
    spread = float(others.var(ddof=1))
    alike = spread <= sampling * (1.0 + 3.0 * np.sqrt(2.0 / (len(others) - 1)))
    if noise == "equal" or (alike and not loud.any() and noise != "unequal"):
        return edge_of_noise(np.full(p, mean), n, weight)
    kept = 0.0 if (alike and noise != "unequal") or not spread else 1.0 - sampling / spread
    shares = np.full(p, max(kept, 0.0))
    shares[loud] = np.maximum(kept, 1.0 - 1.0 / z[loud] ** 2)
    shrunk = np.exp(shares * (logs - others.mean()))
    return edge_of_noise(shrunk * (mean / shrunk.mean()), n, weight)


def _directions(axes: PrincipalAxes, freedom: int) -> int:
    """Return how many directions the columns have: fewer than columns if some are sums of others.

    Less than two thirds of the columns are rather a table without noise, and fewer rows than
    columns do not show it.
    """
    p = len(axes.basis)
    return axes.rank if 2 * p <= 3 * axes.rank < 3 * min(freedom, p) else p


def _split_columns(axes: PrincipalAxes, r: int, freedom: int) -> tuple[Array, Array]:
    """Return the energy (p,) that r axes leave in each column, and ``h_j`` (p,).

    Directions that the columns do not have count as explained.
    """
    weights = np.stack([axes.eigenvalues, np.ones(axes.rank)], axis=1)
    weights[:r, 0] = weights[r:, 1] = 0.0
    left, explained = squares_times(axes.basis, weights).T
    if _directions(axes, freedom) < len(axes.basis):
        explained = 1.0 - squares_times(axes.basis, 1.0 - weights[:, 1])
    return left, explained


def _might_be(values: Array, edge: Callable[[int], NoiseEdge], count: int) -> int:
    """Return the count and the axes next to it that are where noise reaches one time in two."""
    high = count
    while high < len(values) and values[high] > edge(high).at(EVEN):
        high += 1
    return high


def _last_above(values: Array, edge: Callable[[int], NoiseEdge], level: float) -> int:
    """Return the number of the last axis whose value is above the edge after those before it.

    edge(r): of the noise that r axes leave.

    The first axis below ends the count if columns are unequal: once an axis has taken noise of
    the loud columns away, the edge falls, and more noise would pass. With equal columns the search
    goes on for a few axes, since components of like strength hide each other.
    """
    last = below = 0
    for r, value in enumerate(values):
        if value > edge(r).at(level):
            last, below = r + 1, 0
            continue
        below += 1
        if below > LOOK_FURTHER or np.ptp(edge(r).variances) > 0.0:
            break
    return last


def without_most_influential(
    axes: PrincipalAxes, n_axes: int, *, center: bool
) -> tuple[Array, Indices]:
    """Each eigenvalue without the row whose absence lowers it most (n_axes,), and those rows.

    The eigenvalues are scaled to the number of all rows, and none is larger than before.
    """
    if n_axes == 0:
        return np.zeros(0), np.zeros(0, dtype=np.intp)
    n, scores = len(axes.coordinates), np.abs(axes.coordinates[:, :n_axes])
    rows = np.unique(np.argsort(-scores, axis=0, kind="stable")[:CANDIDATES])
    f = refit_factor(n, center)
    removed = downdate(np.sqrt(f) * axes.coordinates[rows], axes.eigenvalues, n_axes)
    least = removed.eigenvalues.argmin(axis=0)
    scale = (n - center) / (n - center - 1)
    values = scale * removed.eigenvalues[least, np.arange(n_axes)]
    return np.minimum(values, axes.eigenvalues[:n_axes]), rows[least]


def kurtosis(axes: PrincipalAxes, r: int) -> float:
    """Mean over the columns of the kurtosis of what r axes leave: 3 for Gaussian noise."""
    found = column_kurtosis(axes, r)
    return float(found[found > 0.0].mean())


def column_kurtosis(axes: PrincipalAxes, r: int) -> Array:
    """Return the kurtosis (p,) of what r axes leave in each column; 0 if they leave nothing."""
    n, p = len(axes.coordinates), len(axes.basis)
    rows = axes.coordinates[:: -(-n * p // ENOUGH_CELLS), r:]
    means, fourth = np.zeros(p), np.zeros(p)
    for some in slices(p, len(rows)):
        squared = rows @ axes.basis[some, r:].T
        squared *= squared
        means[some] = squared.mean(axis=0)
        fourth[some] = np.einsum("ij,ij->j", squared, squared) / len(rows)
    kept = means > 1e-20 * means.max()
    return fourth / np.where(kept, means, np.inf) ** 2


def correlation_of_residuals(axes: PrincipalAxes, r: int, freedom: int) -> float:
    """Return the z value of correlation among the columns of what r axes leave.

    It is near 0 for independent noise.

    ``W``, the sum of the squared off-diagonal entries of the residual scatter, is compared with its
    mean and standard deviation for independent columns of variances d, after r axes were taken out
    of them: the projection itself makes them correlated.
    """
    n, first = freedom - r, axes.basis[:, :r]
    left, explained = _split_columns(axes, r, freedom)
    if _directions(axes, freedom) < len(axes.basis):
        bound = np.linalg.qr(axes.basis, mode="complete")[0][:, axes.rank :]
        first = np.hstack([first, bound])
    d = left / (n * np.maximum(1.0 - explained, LEAST_UNEXPLAINED))
    weighted = d[:, None] * first
    inner = first.T @ weighted
    squared_trace = np.sum(d**2) - 2.0 * np.sum(weighted**2) + np.sum(inner**2)
    diagonal = d - 2.0 * np.sum(first * weighted, axis=1) + np.sum((first @ inner) * first, axis=1)
    off = max(float(squared_trace - np.sum(diagonal**2)), 0.0)
    g = left / n
    observed = np.sum(axes.eigenvalues[r:] ** 2) - np.sum(left**2)
    expected = n * (g.sum() ** 2 - np.sum(g**2)) + n * (n + 1) * off
    variance = np.sum(g**2) ** 2 - np.sum(g**4)
    if variance <= 0.0:
        return 0.0
    return float((observed - expected) / (2.0 * n * np.sqrt(variance)))


def break_of_spectrum(eigenvalues: Array, most: int) -> int:
    """Return after which of the first ``most`` eigenvalues the spectrum breaks [Onatski 2010].

    The gap has to be larger than twice the slope with which the five eigenvalues beyond fall in
    ``j^(2/3)``, as those of noise do at their edge; the slope is found anew four times.
    """
    most = min(most, len(eigenvalues) - BEYOND - 1)
    if most < 1:
        return 0
    gaps = eigenvalues[:most] - eigenvalues[1 : most + 1]
    first, found = most + 1, 0
    for _ in range(4):
        places = np.arange(first - 1, first - 1 + BEYOND)
        slope = np.polyfit(places ** (2.0 / 3.0), eigenvalues[places], 1)[0]
        above = np.flatnonzero(gaps >= 2.0 * abs(slope))
        found = int(above[-1]) + 1 if len(above) else 0
        if found + 1 == first:
            break
        first = found + 1
    return found
