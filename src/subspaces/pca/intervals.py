"""How sure the axes of one PCA are: the exact jackknife, from one decomposition.

Without sample i the scatter in the old axes is ``diag(lambda) - z_i z_i'``, with

    z_i = sqrt(u_i) a_i                      around the origin,
    z_i = sqrt(u_i W/(W - u_i)) a_i          around the mean, which is refitted,

and the secular equation (`core/secular.py`) gives its eigenvectors c_ir for every i. A weight w_i
is a number of copies, of which one is left out: u_i = min(w_i, 1). Pseudo-values of the axis r and
of the mean's coordinate on it,

    q_ir = [ (W - u_i)/u_i (c_ir - e_r), a_i . c_ir ]       (d + 1 numbers),
    S_r = sum_i w_i (q_ir - mean)(q_ir - mean)' / (W (W - 1)),

give the standard errors of everything that is linear in them: ``(v_j, 0) S_r (v_j, 0)'`` for the
loading of variable j, ``(a_k, 1) S_r (a_k, 1)'`` for the score of sample k (the last entry is 0
around the origin). With unit weights this is Tukey's jackknife of n refits.

==========  ===========  ==========  ========================================================
symbol      name         shape       meaning
==========  ===========  ==========  ========================================================
a_i         coordinates  (n, d)      samples in all principal axes
lambda      eigenvalues  (d,)        of the weighted scatter, descending
v_j         basis        (p, d)      row j: the loadings of variable j on all axes
w_i, W      weights      (n,)        number of copies of each sample, and their sum
c_ir        axes         (n, R, d)   axis r without sample i, in the old axes
mu_ir       roots        (n, R + 1)  eigenvalue r without sample i
==========  ===========  ==========  ========================================================
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from subspaces._types import Array, Mask
from subspaces.core.array import slices
from subspaces.core.influence import leverage
from subspaces.core.leave_one_out import NEARLY_ALL
from subspaces.core.secular import axes_without, downdate
from subspaces.pca.rotation import varimax
from subspaces.subspace import PrincipalAxes

# Numbers in a block of left-out axes, or of matrices S_r: one megabyte, which stays in the cache.
BLOCK_ELEMENTS = 1 << 17
# Fewer rows in a block would take longer to call for than to compute.
FEWEST_ROWS = 32
# Two neighbouring eigenvalues are mixed if their gap is at most this many of its standard errors.
MIXED_ERRORS = 2.0


@dataclass(frozen=True)
class StandardErrors:
    """Jackknife standard errors of a PCA with R components.

    loadings (p, R), scores (n, R), variances (R,): standard errors, infinite for an axis that does
    not exist without some sample. mixed (R,): whether the gap to a neighbouring eigenvalue is
    within two standard errors of 0. degrees: of the t distribution of the estimates.
    """

    loadings: Array
    scores: Array
    variances: Array
    mixed: Mask
    degrees: float


@dataclass(frozen=True)
class LeftOut:
    """The PCA without each sample of positive weight, in all axes of the PCA with it.

    coordinates (n, d) and weights (n,) of the samples; removed (n,): u_i; refits: all axes (d, d),
    as rows, without a sample that nearly is an axis by itself.
    """

    coordinates: Array
    weights: Array
    removed: Array
    affine: bool
    eigenvalues: Array
    roots: Array
    refits: dict[int, Array]

    @property
    def total(self) -> float:
        """The sum of the weights, W."""
        return float(self.weights.sum())

    @property
    def factors(self) -> Array:
        """What a change without a sample is multiplied by in its pseudo-value, (n,)."""
        return (self.total - self.removed) / self.removed

    def rows(self, block: slice) -> Array:
        """Return the z_i of a block of samples, (b, d)."""
        removed, total = self.removed[block], self.total
        lost = removed * total / (total - removed) if self.affine else removed
        return np.sqrt(lost)[:, None] * self.coordinates[block]

    def axes_of(self, block: slice, which: Sequence[int]) -> Array:
        """Return axes ``which`` without each sample of a block, (b, len(which), d)."""
        found = axes_without(self.rows(block), self.eigenvalues, self.roots[block], which)
        for i, refit in self.refits.items():
            if block.start <= i < block.stop:
                found[i - block.start] = refit[list(which)]
        return found

    def blocks(self, n_axes: int, length: int, fewest: int = 1) -> Iterator[slice]:
        """Yield blocks of samples whose left-out axes, of this length each, are few numbers."""
        n, most = len(self.weights), min(BLOCK_ELEMENTS, self.coordinates.size // 4)
        step = max(fewest, most // (n_axes * length))
        return slices(n, step)

    def covariance(self, products: Array, sums: Array) -> Array:
        """Return S from ``sum_i w_i q_i q_i'`` and ``sum_i w_i q_i`` of pseudo-values q_i."""
        total = self.total
        return (products - np.multiply.outer(sums, sums) / total) / (total * (total - 1.0))


def jackknife(
    axes: PrincipalAxes,
    n_components: int,
    *,
    affine: bool = True,
    weights: Array | None = None,
    rotation: Array | None = None,
) -> StandardErrors:
    """Return the standard errors of the loadings, scores and variances of the first axes.

    axes: all principal axes, with the whole basis; weights (n,): ones by default; rotation (R, R):
    how varimax turned the first axes. Each left-out solution is then turned towards the rotated
    axes (Procrustes), and from there to its own varimax.
    """
    n, p = len(axes.coordinates), len(axes.basis)
    count = min(n_components, axes.rank)
    loadings, scores = np.full((p, n_components), np.inf), np.full((n, n_components), np.inf)
    variances, mixed = np.full(n_components, np.inf), np.ones(n_components, dtype=bool)
    weights = np.ones(n) if weights is None else weights
    total, most = float(weights.sum()), float(np.minimum(weights, 1.0).max(initial=0.0))
    if count and total > 1.0 and total - most - affine > 0.0:
        left = without_each(axes, count, affine=affine, weights=weights)
        turns = None if rotation is None else _rotations(left, axes.basis, rotation)
        variances[:count], mixed[:count] = _variances(left, rotation, turns)
        lost = np.flatnonzero((left.roots[:, :count] <= 0.0).any(axis=0))
        for r, spread in enumerate(_spreads(left, count, rotation, turns)):
            along, level = spread[:-1, :-1], spread[:-1, -1]
            loadings[:, r] = np.sqrt(_quadratic(axes.basis, along))
            around = _quadratic(axes.coordinates, along)
            around += 2.0 * axes.coordinates @ level + spread[-1, -1]
            scores[:, r] = np.sqrt(np.maximum(around, 0.0))
        loadings[:, lost], scores[:, lost], mixed[lost] = np.inf, np.inf, True
    return StandardErrors(loadings, scores, variances, mixed, max(total - 1.0, 0.0))


def turns(
    axes: PrincipalAxes, n_components: int, *, affine: bool = True, weights: Array | None = None
) -> Array:
    """Return the largest angle in radians by which the subspace turns without each sample, (n,).

    It is 0 for a sample of weight 0, and for all if the subspace is that of all samples.
    """
    count, found = n_components, np.zeros(len(axes.coordinates))
    if not 0 < count < axes.rank:
        return found
    weights = np.ones(len(found)) if weights is None else weights
    left, present = without_each(axes, count, affine=affine, weights=weights), weights > 0.0
    sines = [
        _largest_singular_values(left.axes_of(block, range(count))[..., count:])
        for block in left.blocks(count, axes.rank, FEWEST_ROWS)
    ]
    found[present] = np.arcsin(np.minimum(np.concatenate(sines), 1.0))
    return found


def t_intervals(
    estimates: Array, errors: Array, degrees: float, level: float
) -> tuple[Array, Array, Array]:
    """Return low, high and the p-value of 0 for each estimate, from t with these degrees.

    Loadings are entries of unit vectors, so intervals end at -1 and 1.
    """
    half = special.stdtrit(degrees, 0.5 + 0.5 * level) * errors
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(estimates == 0.0, 0.0, np.abs(estimates) / errors)
    p_values = 2.0 * special.stdtr(degrees, -ratio)
    return np.maximum(estimates - half, -1.0), np.minimum(estimates + half, 1.0), p_values


def without_each(axes: PrincipalAxes, count: int, *, affine: bool, weights: Array) -> LeftOut:
    """Return the PCA without each sample, for its first ``count`` axes, at least one."""
    coordinates, rank, present = axes.coordinates, axes.rank, weights > 0.0
    if not present.all():
        coordinates, weights = coordinates[present], weights[present]
    roots, refits = np.empty((len(weights), count + 1)), dict[int, Array]()
    left = LeftOut(
        coordinates, weights, np.minimum(weights, 1.0), affine, axes.eigenvalues, roots, refits
    )
    few, found = min(count, rank - 1), min(count + 1, rank)
    for block in left.blocks(1, rank, FEWEST_ROWS):
        rows = left.rows(block)
        roots[block] = downdate(rows, axes.eigenvalues, count + 1).eigenvalues
        claimed = leverage(rows[:, :few], axes.eigenvalues[:few]).sum(axis=1)
        for i in (block.start + np.flatnonzero(claimed > NEARLY_ALL)).tolist():
            others = weights - np.where(np.arange(len(weights)) == i, left.removed, 0.0)
            values, refits[i] = _refitted(coordinates, others, affine)
            roots[i, :found] = np.where(roots[i, :found] > 0.0, values[:found], 0.0)
    return left


def _refitted(coordinates: Array, weights: Array, affine: bool) -> tuple[Array, Array]:
    """Return eigenvalues (d,) and axes (d, d), as rows, of weighted samples (n, d).

    If a sample is nearly all of an axis, what is left without it would be a small difference.
    """
    centre = np.average(coordinates, axis=0, weights=weights) if affine else 0.0
    rows = np.sqrt(weights)[:, None] * (coordinates - centre)
    singular, axes = np.linalg.svd(rows, full_matrices=False)[1:]
    return singular**2, axes * np.where(np.diag(axes) < 0.0, -1.0, 1.0)[:, None]


def _spreads(
    left: LeftOut, count: int, rotation: Array | None, turned: Array | None
) -> Iterator[Array]:
    """Yield S_r (d + 1, d + 1) of each of the first axes, or of the axes that were rotated."""
    size = len(left.eigenvalues) + 1
    step = count if turned is not None else max(1, BLOCK_ELEMENTS // size**2)
    old = np.eye(count, size - 1) if rotation is None else rotation.T @ np.eye(count, size - 1)
    factors, root_weights = left.factors[:, None, None], np.sqrt(left.weights)[:, None, None]
    for first in range(0, count, step):
        which = range(first, min(first + step, count))
        products, sums = np.zeros((len(which), size, size)), np.zeros((len(which), size))
        for block in left.blocks(len(which), size, FEWEST_ROWS):
            new = left.axes_of(block, which)
            if turned is not None:
                new = np.swapaxes(turned[block], 1, 2) @ new
            pseudo = np.empty((*new.shape[:2], size))
            pseudo[..., :-1] = factors[block] * (new - old[which])
            pseudo[..., -1] = left.affine * np.einsum("brl,bl->br", new, left.coordinates[block])
            pseudo *= root_weights[block]
            sums += np.einsum("b,brl->rl", root_weights[block, 0, 0], pseudo)
            for place in range(len(which)):
                products[place] += pseudo[:, place].T @ pseudo[:, place]
        for product, total in zip(products, sums, strict=True):
            yield left.covariance(product, total)


def _variances(left: LeftOut, rotation: Array | None, turned: Array | None) -> tuple[Array, Mask]:
    """Return the standard errors (R,) of the variances along the axes, and which axes are mixed.

    Rotated axes depend on their subspace alone, which mixes with the axis after the last.
    """
    count = left.roots.shape[1] - 1
    padded = np.append(left.eigenvalues, 0.0)[: count + 1]
    freedom = left.total - left.affine
    without = left.roots / (freedom - left.removed)[:, None]
    gaps = padded[:-1] - padded[1:]
    close = gaps / freedom <= MIXED_ERRORS * _errors(
        left, without[:, :-1] - without[:, 1:], gaps / freedom
    )
    if rotation is None or turned is None:
        mixed = close | np.append(False, close[:-1])
        return _errors(left, without[:, :-1], padded[:-1] / freedom), mixed
    along = np.einsum("ir,irs->is", without[:, :-1], turned**2)
    return _errors(left, along, padded[:-1] @ rotation**2 / freedom), np.repeat(close[-1], count)


def _errors(left: LeftOut, without: Array, all_samples: Array) -> Array:
    """Return the standard errors (R,) of numbers (R,), from their values without each (n, R)."""
    pseudo = left.factors[:, None] * (without - all_samples)
    deviation = pseudo - np.average(pseudo, axis=0, weights=left.weights)
    return np.sqrt(left.weights @ deviation**2 / (left.total * (left.total - 1.0)))


def _rotations(left: LeftOut, basis: Array, rotation: Array) -> Array:
    """Return how varimax turns the first axes without each sample, (n, R, R)."""
    count = len(rotation)
    found = np.empty((len(left.weights), count, count))
    for block in left.blocks(count, len(basis)):
        new = left.axes_of(block, range(count))
        first, _, second = np.linalg.svd(new[..., :count] @ rotation)
        found[block] = varimax(np.swapaxes(new @ basis.T, 1, 2), start=first @ second)
    return found


def _largest_singular_values(matrices: Array) -> Array:
    """Return the largest singular value of each matrix (m, a, b), (m,)."""
    across = np.swapaxes(matrices, 1, 2)
    wide = matrices.shape[1] <= matrices.shape[2]
    squares = matrices @ across if wide else across @ matrices
    return np.sqrt(np.linalg.eigvalsh(squares)[:, -1].clip(0.0))


def _quadratic(points: Array, matrix: Array) -> Array:
    """Return ``x M x'`` for each point x (m, d), at least 0, in blocks of points."""
    found = np.empty(len(points))
    step = max(1, min(BLOCK_ELEMENTS, points.size) // len(matrix))
    for start in range(0, len(points), step):
        block = points[start : start + step]
        found[start : start + step] = np.einsum("ij,ij->i", block @ matrix, block)
    return np.maximum(found, 0.0)
