"""Penalised loadings: each axis of a cluster on a few variables of its own.

One loading after the other by regularised low-rank approximation [Shen & Huang 2008; MM2014, eq.
it_penalty and it_penalty2]: with the members' rows X,

    v <- soft(X^T u, gamma),    u <- X v / ||X v||,

until v settles; then X <- X - u v^T, with v before it is scaled to length one. The threshold gamma
is the (m + 1)-th largest of |X^T u|, so that m variables stay. Such loadings are not orthogonal.

==========  ============  ==========  ==================================================
symbol      name          shape       meaning
==========  ============  ==========  ==================================================
V           basis         (p, R)      unit loadings, at most m non-zero values each
S           overlap       (R, R)      V^T V
d           scores        (n, R)      (x - mu) V
==========  ============  ==========  ==================================================
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from subspaces.core.eigenpairs import largest_eigenpairs
from subspaces.core.rows import ClusterView, DenseRows, Rows
from subspaces.core.subspace import inverse_overlap, principal_axes

Array = NDArray[np.floating]
Indices = NDArray[np.intp]

MAX_STEPS = 100
SETTLED = 1e-4
# Against rows whose largest value is 1, a loading of this length is rounding.
NOTHING_LEFT = 1e-12
TIED = 1e-9


@dataclass(frozen=True)
class Sparsity:
    """Number of variables per loading, for each cluster, and the kind of penalty."""

    n_variables: tuple[int, ...]
    penalty: str


@dataclass(frozen=True)
class SparseView(ClusterView):
    """A cluster seen through sparse loadings: basis (p, R), centre (p,), and the rows.

    captured (n,): squared length of each row's projection on the span of the loadings.
    """

    basis: Array
    centre: Array
    matrix: Array
    captured: Array

    @cached_property
    def overlap(self) -> Array:
        """``S = V^T V``."""
        return self.basis.T @ self.basis

    @cached_property
    def inverse(self) -> Array:
        """``S^+``."""
        return inverse_overlap(self.overlap)

    @cached_property
    def support(self) -> NDArray[np.bool_]:
        """Which variables have a loading, (p,)."""
        return np.any(self.basis != 0.0, axis=1)

    def squared_norms_on(self, part: Array, variables: Indices) -> Array:
        """``||x - mu||^2`` over some variables, of which ``part`` has the values."""
        centre = self.centre[variables]
        part = part - centre if centre.any() else part
        return np.einsum("ij,ij->i", part, part)


def captured_energy(scores: Array, overlap: Array) -> Array:
    """``d^T S^+ d``: what least squares on the loadings explains of a row."""
    return np.maximum(np.einsum("ir,ir->i", scores @ inverse_overlap(overlap), scores), 0.0)


def loadings_of(views: Sequence[ClusterView]) -> tuple[Array, ...] | None:
    """The basis of every cluster that is seen through sparse loadings; None for other views."""
    bases = tuple(view.basis for view in views if isinstance(view, SparseView))
    return bases or None


def sparse_view(
    rows: Rows,
    members: Indices,
    n_components: int,
    affine: bool,
    sparsity: Sparsity,
    cluster: int,
    known: ClusterView | None = None,
) -> SparseView:
    """Fit sparse loadings to the members, from those already known if there are any."""
    start = known.basis if isinstance(known, SparseView) else None
    own = matrix_of(rows)[members]
    own = own - own.mean(axis=0) if affine else own
    asked = n_components, sparsity.n_variables[cluster], sparsity.penalty, start
    return seen_through(sparse_loadings(own, *asked), rows, members, affine)


def matrix_of(rows: Rows) -> Array:
    """The rows themselves, (n, p)."""
    if not isinstance(rows, DenseRows):
        raise TypeError("sparse loadings need the rows themselves, not their inner products")
    return rows.matrix


def seen_through(basis: Array, rows: Rows, members: Indices, affine: bool) -> SparseView:
    """A cluster of some members seen through given loadings (p, R)."""
    matrix, squared = matrix_of(rows), rows.squared_norms
    centre = matrix[members].mean(axis=0) if affine else np.zeros(matrix.shape[1])
    if affine:
        squared = squared - 2.0 * (matrix @ centre) + centre @ centre
    used = np.flatnonzero(basis.any(axis=1))
    loaded = basis[used]
    scores = matrix[:, used] @ loaded - centre[used] @ loaded
    captured = captured_energy(scores, loaded.T @ loaded)
    residual = np.maximum(squared - captured, 0.0)
    spectrum = np.sum(scores[members] ** 2, axis=0)
    return SparseView(
        members,
        spectrum,
        scores,
        residual,
        scores[members],
        affine,
        basis,
        centre,
        matrix,
        captured,
    )


def sparse_loadings(
    rows: Array, n_components: int, n_variables: int, penalty: str, start: Array | None = None
) -> Array:
    """Loadings (p, R) of unit length; a column is zero where nothing is left to explain."""
    if n_variables >= rows.shape[1] and penalty == "l1":
        return _padded(principal_axes(rows).basis, n_components)
    basis = np.zeros((rows.shape[1], n_components))
    scale = max(float(rows.max(initial=0.0)), -float(rows.min(initial=0.0)))
    if scale == 0.0:
        return basis
    rest = rows / scale
    for r in range(n_components):
        left = rest @ start[:, r] if start is not None else _leading_left(rest)
        left, loading = _one_loading(rest, left, n_variables, penalty)
        used = np.flatnonzero(loading)
        rest[:, used] -= np.outer(left, loading[used])
        length = np.linalg.norm(loading)
        if length > NOTHING_LEFT:
            basis[:, r] = loading / length
    return basis


def _padded(basis: Array, n_components: int) -> Array:
    missing = max(n_components - basis.shape[1], 0)
    return np.pad(basis[:, :n_components], ((0, 0), (0, missing)))


def _one_loading(rows: Array, left: Array, n_variables: int, penalty: str) -> tuple[Array, Array]:
    shrink = _soft_nonnegative if penalty == "nonnegative" else _soft
    left = _unit(left) if left.any() else _unit(_leading_left(rows))
    if penalty == "nonnegative":
        left = _better_sign(rows, left, n_variables)
    loading = shrink(rows.T @ left, n_variables)
    for _ in range(MAX_STEPS):
        left = _unit(rows @ loading)
        new = shrink(rows.T @ left, n_variables)
        moved = np.abs(new - loading).max()
        loading = new
        if moved <= SETTLED * np.abs(new).max():
            break
    return left, loading


def _soft(values: Array, n_variables: int) -> Array:
    """Soft threshold that leaves the largest magnitudes."""
    return np.sign(values) * _shrink(np.abs(values), n_variables)


def _soft_nonnegative(values: Array, n_variables: int) -> Array:
    """Soft threshold that leaves the largest positive values."""
    return _shrink(np.maximum(values, 0.0), n_variables)


def _shrink(magnitudes: Array, n_variables: int) -> Array:
    """Take away the (m + 1)-th largest, so that the m largest stay.

    Where those tie, the first columns of the tie stay and the next smaller value is taken away.
    """
    place = len(magnitudes) - n_variables
    if place <= 0:
        return magnitudes
    ordered = np.partition(magnitudes, (place - 1, place))
    gamma, smallest = ordered[place - 1], ordered[place]
    if gamma < smallest * (1.0 - TIED):
        return np.maximum(magnitudes - gamma, 0.0)
    above = magnitudes > smallest * (1.0 + TIED)
    below = magnitudes[magnitudes < smallest * (1.0 - TIED)]
    tied = ~above & (magnitudes >= smallest * (1.0 - TIED))
    chosen = np.r_[np.flatnonzero(above), np.flatnonzero(tied)][:n_variables]
    shrunk = np.zeros_like(magnitudes)
    shrunk[chosen] = magnitudes[chosen] - below.max(initial=0.0)
    return shrunk


def _better_sign(rows: Array, left: Array, n_variables: int) -> Array:
    """Of u and -u the one whose positive part explains more."""
    values = rows.T @ left
    energies = [np.sum(_soft_nonnegative(sign * values, n_variables) ** 2) for sign in (1.0, -1.0)]
    return left if energies[0] >= energies[1] else -left


def _leading_left(rows: Array) -> Array:
    """First left singular vector, from the smaller scatter matrix."""
    n, p = rows.shape
    if n <= p:
        return _leading_eigenvector(rows @ rows.T)
    return rows @ _leading_eigenvector(rows.T @ rows)


def _leading_eigenvector(matrix: Array) -> Array:
    return np.ascontiguousarray(largest_eigenpairs(matrix, 1)[1][:, 0])


def _unit(vector: Array) -> Array:
    length = np.linalg.norm(vector)
    return vector / length if length > 0 else vector
