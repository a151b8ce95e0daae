"""The rows of few samples, and the scores and residuals of all rows under a cluster's PCA.

There are two forms of rows, which give the same answers. `DenseRows` holds the rows themselves.
`GramRows` holds their inner products only, so that, once they are computed, no cost depends on the
number of variables.

==========  ================  ========  ====================================================
symbol      name              shape     meaning
==========  ================  ========  ====================================================
X           matrix            (n, p)    all rows
G           gram              (n, n)    X X^T, the inner products of all rows
C           members           (m,)      places of a cluster's members among the rows
U, lambda   vectors, values   (m, l)    eigenpairs of G[C, C], from the members' mean if affine
X V         scores            (n, R)    G[:, C] U / sqrt(lambda): all rows along the axes
==========  ================  ========  ====================================================
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from subspaces._types import Array, Indices
from subspaces.core import loo_projection
from subspaces.core.eigenvalues import (
    MORE_PAIRS,
    counted_rank,
    gram_factor,
    leading_eigenpairs,
    leading_eigenvalues,
    positive_eigenpairs,
    rank_of,
    smaller_scatter,
)
from subspaces.core.partition import angular_closeness, unit_of
from subspaces.core.secular import Downdate, copy_of, downdate
from subspaces.runtime.threads import cached_property
from subspaces.subspace import by_weight, centre_of, weighted_sum

# ||x||^2 - sum d^2 keeps ten digits down to this share of ||x||^2. Below it, compute the residual
# itself if the rows are available.
CANCELLATION = 1e-6
# Above this many rows, count eigenvalues and approximate the leading ones. Decomposing their inner
# products takes several times as long.
MOST_DECOMPOSED = 200
# Compute the leading axes alone if the scatter matrix is at least this many times as large as their
# number.
TIMES_THE_AXES = 5
# Up to this many rows, keep their inner products (32 MB) as a start for sparse loadings.
MOST_MULTIPLIED = 2000


@dataclass(frozen=True)
class ClusterView:
    """The PCA of a cluster's members, with the scores and squared residuals of all rows.

    members (m,): places of the members among the rows; eigenvalues (l,) of their scatter; scores
    (n, R) and squared_residual (n,) of all rows; coordinates (m, l) of the members along all their
    axes, times the root of their weight; affine: whether everything is measured from the members'
    mean; weights (m,): of the members, None if all count one.
    """

    members: Indices
    eigenvalues: Array
    scores: Array
    squared_residual: Array
    coordinates: Array
    affine: bool
    weights: Array | None

    @property
    def size(self) -> float:
        """Weight of the members: their number if all count one."""
        return len(self.members) if self.weights is None else float(self.weights.sum())

    @property
    def spent(self) -> float:
        """Weight that the mean has used up: that of one sample, 0 without a mean."""
        return self.affine * unit_of(self.weights) if len(self.members) else float(self.affine)

    @property
    def copy(self) -> Array | float:
        """How much of each member is left out, (m,), or 1."""
        return 1.0 if self.weights is None else copy_of(self.weights)

    @property
    def n_components(self) -> int:
        """Number of axes in use: at most the rank of the members."""
        return self.scores.shape[1]

    @property
    def spectrum(self) -> Array:
        """Energy of the members along each axis in use, (R,)."""
        return self.eigenvalues[: self.n_components]

    def narrowed(self, n_components: int) -> "ClusterView":
        """Return the same PCA with only the first ``n_components`` axes in use."""
        beyond = self.scores[:, n_components:]
        residual = self.squared_residual + np.einsum("ij,ij->i", beyond, beyond)
        return replace(self, scores=self.scores[:, :n_components], squared_residual=residual)

    @cached_property
    def leave_one_out(self) -> Downdate:
        """Eigenvalues, energies and error of each member under the PCA of the others."""
        numbers = self.n_components, self.affine, self.weights
        return downdate(self.coordinates, self.eigenvalues, *numbers)

    def projection_errors(self) -> Array:
        """Squared residual of each member by `loo_projection`, (m,): axes down-dated by it."""
        scores = self.scores[self.members]
        squared_norm = self.squared_residual[self.members] + np.sum(scores**2, axis=1)
        if self.weights is not None:
            scores, squared_norm = by_weight(scores, self.weights), self.weights * squared_norm
        return loo_projection.dense_errors(
            squared_norm, scores, self.spectrum, self.affine, self.weights
        )


class Rows(ABC):
    """Interface of the two forms of rows: norms, inner products, spectrum and PCA of members.

    weights (n,): what each row counts, None if all count one.
    """

    weights: Array | None

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Memory of the rows, in bytes."""

    @property
    @abstractmethod
    def squared_norms(self) -> Array:
        """Squared length of each row, (n,)."""

    @property
    def total(self) -> float:
        """Weight of all rows: their number if all count one."""
        return len(self.squared_norms) if self.weights is None else float(self.weights.sum())

    @property
    @abstractmethod
    def spectrum(self) -> Array:
        """Positive eigenvalues of the scatter matrix of all rows, largest first, (rank,)."""

    @property
    def known_products(self) -> Array | None:
        """Inner products of all rows, (n, n), if they are at hand; None if they are not."""
        return None

    @property
    @abstractmethod
    def coordinates(self) -> Array:
        """The rows in orthonormal coordinates, (n, l) with l at least their rank."""

    @abstractmethod
    def inner(self, indices: Indices) -> Array:
        """Inner products of all rows with the rows at ``indices``, (n, m)."""

    @abstractmethod
    def subset(self, indices: Indices) -> "Rows":
        """Return the rows at ``indices`` only, drawn by weight, so that all of them count one."""

    def shares(self, among: Indices | slice = slice(None)) -> Array | None:
        """Probabilities by which some of the rows are drawn, by weight; None if all are equal."""
        if self.weights is None:
            return None
        found = self.weights[among]
        return found / found.sum()

    def weights_of(self, members: Indices) -> Array | None:
        """What rows ``members`` (m,) count, (m,); None if all rows count one."""
        return None if self.weights is None else self.weights[members]

    @abstractmethod
    def view(
        self, members: Indices, n_components: int, affine: bool, quick: bool = False
    ) -> ClusterView:
        """Return the PCA of rows ``members`` (m,), with scores and residuals of all rows.

        quick: whether one axis may stand for all of the members beyond the leading ones
        (`_with_rest`), if that saves time.
        """

    @abstractmethod
    def residuals(self, subsets: Indices, n_components: int, affine: bool) -> Array:
        """Squared residuals of all rows from the PCA of each subset (b, m), all at once: (b, n).

        A residual far shorter than its row, by more than six digits, is lost to rounding.
        """

    def closeness(self, index: int) -> Array:
        """``|cos|`` of the angle between row ``index`` and every row, (n,)."""
        return angular_closeness(self.inner(np.array([index]))[:, 0], self.squared_norms, index)

    @property
    def rank(self) -> int:
        """Number of eigenvalues of the scatter of all rows that are more than rounding."""
        return len(self.spectrum)

    @property
    def energy(self) -> float:
        """Sum of the rows' squared lengths, which is the sum of `spectrum`."""
        return float(self.spectrum.sum())

    def leading(self, count: int) -> Array:
        """The ``count`` largest eigenvalues of the scatter of all rows, largest first."""
        return self.spectrum[:count]


@dataclass(frozen=True)
class DenseRows(Rows):
    """Rows as a matrix (n, p)."""

    matrix: Array
    weights: Array | None = None

    @property
    def nbytes(self) -> int:
        """Memory of the rows, in bytes."""
        return self.matrix.nbytes

    @cached_property
    def squared_norms(self) -> Array:
        """Squared length of each row, (n,)."""
        return np.einsum("ij,ij->i", self.matrix, self.matrix)

    @cached_property
    def products(self) -> Array | None:
        """Inner products of all rows, (n, n); None if the rows are many."""
        return self.matrix @ self.matrix.T if len(self.matrix) <= MOST_MULTIPLIED else None

    @cached_property
    def spectrum(self) -> Array:
        """Positive eigenvalues of the scatter matrix of all rows, largest first, (rank,)."""
        rows = by_weight(self.matrix, self.weights)
        values = np.linalg.eigvalsh(smaller_scatter(rows))[::-1]
        return values[: rank_of(values, len(rows))]

    @property
    def coordinates(self) -> Array:
        """The matrix of the rows, (n, p)."""
        return self.matrix

    def inner(self, indices: Indices) -> Array:
        """Inner products of all rows with the rows at ``indices``, (n, m)."""
        return self.matrix @ self.matrix[indices].T

    def subset(self, indices: Indices) -> "DenseRows":
        """Return the rows at ``indices`` only."""
        return DenseRows(self.matrix[indices])

    def view(
        self, members: Indices, n_components: int, affine: bool, quick: bool = False
    ) -> ClusterView:
        """Return the PCA of rows ``members`` (m,), from the smaller of X X^T and X^T X."""
        own, weights = self.matrix[members], self.weights_of(members)
        centre = np.asarray(np.average(own, 0, weights), own.dtype) if affine else None
        own = by_weight(own if centre is None else own - centre, weights)
        scatter = smaller_scatter(own)
        quick = quick and saves_time(len(scatter), n_components)
        values, vectors = _eigenpairs(scatter, max(own.shape), n_components, quick=quick)
        basis: Array
        if len(own) < own.shape[1]:
            coordinates = vectors * np.sqrt(values)
            basis = own.T @ (vectors[:, :n_components] / np.sqrt(values[:n_components]))
        else:
            coordinates = own @ vectors
            basis = vectors[:, :n_components]
        if quick:
            lengths = np.einsum("ij,ij->i", own, own)
            values, coordinates = _with_rest(values, coordinates, lengths, scatter)
        scores, residual = self._project(centre, basis)
        return ClusterView(members, values, scores, residual, coordinates, affine, weights)

    def residuals(self, subsets: Indices, n_components: int, affine: bool) -> Array:
        """Squared residuals of all rows from the PCA of each subset, all at once: (b, n)."""
        own = self.matrix[subsets]  # (b, m, p)
        centres = own.mean(axis=1) if affine else None
        own = own if centres is None else own - centres[:, None, :]
        weights = _leading_weights(own @ np.swapaxes(own, 1, 2), n_components)
        axes = np.swapaxes(own, 1, 2) @ weights  # (b, p, R)
        (count, p, width), (n, squared) = axes.shape, (len(self.matrix), self.squared_norms)
        scores = np.swapaxes(axes, 1, 2).reshape(count * width, p) @ self.matrix.T
        scores = scores.reshape(count, width, n)
        if centres is not None:
            scores -= np.swapaxes(centres[:, None, :] @ axes, 1, 2)
            lengths = np.einsum("ij,ij->i", centres, centres)
            squared = squared - 2.0 * (centres @ self.matrix.T) + lengths[:, None]
        return np.maximum(squared - np.einsum("brn,brn->bn", scores, scores), 0.0)

    def _project(self, centre: Array | None, basis: Array) -> tuple[Array, Array]:
        """Scores (n, R) and squared residuals (n,) of all rows on axes through ``centre``."""
        scores, squared = self.matrix @ basis, self.squared_norms
        if centre is not None:
            scores = scores - centre @ basis
            squared = squared - 2.0 * (self.matrix @ centre) + centre @ centre
        residual = squared - np.einsum("ij,ij->i", scores, scores)
        lost = np.flatnonzero(residual <= CANCELLATION * self.squared_norms)
        if len(lost):
            rest = self.matrix[lost] - scores[lost] @ basis.T
            rest = rest if centre is None else rest - centre
            residual[lost] = np.einsum("ij,ij->i", rest, rest)
        return scores, residual


@dataclass(frozen=True)
class GramRows(Rows):
    """Rows known by their inner products (n, n) alone.

    eigenvalues, known_rank: of the inner products, by weight, if they are known already.
    """

    gram: Array
    eigenvalues: Array | None = None
    known_rank: int | None = None
    weights: Array | None = None

    @property
    def nbytes(self) -> int:
        """Memory of the inner products, in bytes."""
        return self.gram.nbytes

    @cached_property
    def squared_norms(self) -> Array:
        """Squared length of each row, (n,)."""
        return np.diag(self.gram).copy()

    @property
    def known_products(self) -> Array | None:
        """Inner products of all rows, (n, n)."""
        return self.gram

    @property
    def decomposed(self) -> bool:
        """Whether all eigenvalues are used: they are known, or n is at most MOST_DECOMPOSED."""
        return self.eigenvalues is not None or len(self.gram) <= MOST_DECOMPOSED

    @cached_property
    def spectrum(self) -> Array:
        """Positive eigenvalues of the scatter matrix of all rows, largest first, (rank,)."""
        values = self.eigenvalues
        values = np.linalg.eigvalsh(self._by_weight)[::-1] if values is None else values
        return values[: rank_of(values, len(self.gram))]

    @cached_property
    def rank(self) -> int:
        """Number of eigenvalues above rounding, by `counted_rank` if not ``decomposed``."""
        if self.decomposed:
            return super().rank
        return counted_rank(self.gram.copy()) if self.known_rank is None else self.known_rank

    @property
    def energy(self) -> float:
        """Sum of the rows' squared lengths, which is the sum of `spectrum`."""
        return super().energy if self.decomposed else weighted_sum(self.squared_norms, self.weights)

    def leading(self, count: int) -> Array:
        """The ``count`` largest eigenvalues, descending; approximate if not ``decomposed``."""
        if self.decomposed:
            return super().leading(count)
        return leading_eigenvalues(self._by_weight, min(count, self.rank))

    @property
    def _by_weight(self) -> Array:
        """Inner products of the rows times the root of their weight, (n, n)."""
        return self.gram if self.weights is None else _by_both(self.gram, self.weights)

    @cached_property
    def coordinates(self) -> Array:
        """Rows with these inner products, (n, rank)."""
        return gram_factor(self.gram)

    def inner(self, indices: Indices) -> Array:
        """Inner products of all rows with the rows at ``indices``, (n, m)."""
        return self.gram[:, indices]

    def subset(self, indices: Indices) -> "GramRows":
        """Return the rows at ``indices`` only."""
        return GramRows(self.gram[np.ix_(indices, indices)])

    def view(
        self, members: Indices, n_components: int, affine: bool, quick: bool = False
    ) -> ClusterView:
        """Return the PCA of rows ``members`` (m,), from their block of the inner products."""
        block, squared = self.gram[members].T, self.squared_norms
        weights = self.weights_of(members)
        if affine:
            # <x_i - m, x_j - m> from the means of the members' inner products
            mean = np.average(block, 1, weights, keepdims=True)
            total = float(np.average(mean[members, 0], weights=weights))
            block = block - mean - mean[members].T + total
            squared = squared - 2.0 * mean[:, 0] + total
        own = block[members] if weights is None else _by_both(block[members], weights)
        quick = quick and saves_time(len(own), n_components)
        values, vectors = _eigenpairs(own, len(members), n_components, quick=quick)
        leading = by_weight(vectors[:, :n_components], weights) / np.sqrt(values[:n_components])
        # BLAS takes this product up to four times as fast as its transpose, ``block @ leading``.
        scores = np.ascontiguousarray((leading.T @ block.T).T)
        residual = np.maximum(squared - np.einsum("ij,ij->i", scores, scores), 0.0)
        coordinates = vectors * np.sqrt(values)
        if quick:
            values, coordinates = _with_rest(values, coordinates, np.diag(own), own)
        return ClusterView(members, values, scores, residual, coordinates, affine, weights)

    def residuals(self, subsets: Indices, n_components: int, affine: bool) -> Array:
        """Squared residuals of all rows from the PCA of each subset, all at once: (b, n)."""
        blocks = self.gram[subsets]  # (b, m, n)
        squared = self.squared_norms
        if affine:
            mean = blocks.mean(axis=1, keepdims=True)
            own_mean = np.take_along_axis(mean[:, 0], subsets, axis=1)[:, :, None]
            total = own_mean.mean(axis=1, keepdims=True)
            blocks = blocks - mean - own_mean + total
            squared = squared - 2.0 * mean[:, 0] + total[:, 0]
        own = np.take_along_axis(blocks, subsets[:, None, :], axis=2)
        scores = np.swapaxes(_leading_weights(own, n_components), 1, 2) @ blocks
        return np.maximum(squared - np.einsum("brn,brn->bn", scores, scores), 0.0)


def saves_time(size: int, n_components: int) -> bool:
    """Whether leading axes of a scatter matrix (size, size) take far less time than all axes."""
    return size >= TIMES_THE_AXES * (n_components + MORE_PAIRS)


def _eigenpairs(
    scatter: Array, size: int, n_components: int, *, quick: bool
) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors, the leading ones alone if quick; size: number of rows."""
    if quick:
        return leading_eigenpairs(scatter, n_components)
    return positive_eigenpairs(scatter, size)


def _with_rest(
    eigenvalues: Array, coordinates: Array, lengths: Array, scatter: Array
) -> tuple[Array, Array]:
    """Add one axis that stands for all beyond the leading ones.

    coordinates (m, l): of rows with squared lengths (m,) along the leading axes of a scatter
    matrix. A row's energy along the new axis is the rest of its length. The eigenvalue is the mean
    of the others, by energy: sum lambda^2 / sum lambda. In `downdate` the axes beyond the leading
    ones enter by ``sum d^2 / (lambda - mu)``, where lambda is far below mu, so that the mean leaves
    an error of second order.
    """
    energy = np.maximum(lengths - np.einsum("ij,ij->i", coordinates, coordinates), 0.0)
    total = float(energy.sum())
    squares = max(float(np.vdot(scatter, scatter) - eigenvalues @ eigenvalues), 0.0)
    mean = min(squares / total, eigenvalues[-1]) if total > 0.0 else 0.0
    return np.append(eigenvalues, mean), np.column_stack([coordinates, np.sqrt(energy)])


def _by_both(products: Array, weights: Array) -> Array:
    """Return inner products (m, m) of rows times the root of their weight (m,)."""
    roots = np.sqrt(weights)
    return roots[:, None] * products * roots


def _leading_weights(products: Array, n_components: int) -> Array:
    """Return weights (b, m, R) by which m rows combine to their first principal axes, of length 1.

    products (b, m, m): inner products of the rows of each subset. An axis that the rows do not span
    has the weights 0.
    """
    values, vectors = np.linalg.eigh(products)
    values = values[:, ::-1][:, :n_components]
    vectors = vectors[:, :, ::-1][:, :, :n_components]
    tolerance = products.shape[1] * np.finfo(values.dtype).eps * values[:, :1].clip(min=0.0)
    scale = np.divide(
        1.0, np.sqrt(values.clip(min=0.0)), out=np.zeros_like(values), where=values > tolerance
    )
    return vectors * scale[:, None, :]


def centred_rows(
    X: Array, affine: bool, n_clusters: int, weights: Array | None = None, *, sparse: bool = False
) -> Rows:
    """Return X (n, p), less its mean if affine, as `Rows`: a matrix or its inner products.

    The cheaper of the two to fit is taken; for sparse loadings it is the matrix.
    """
    centred = X - centre_of(X, True, weights) if affine else X
    return DenseRows(centred, weights) if sparse else choose_rows(centred, n_clusters, weights)


def choose_rows(matrix: Array, n_clusters: int, weights: Array | None = None) -> Rows:
    """Return `DenseRows` or `GramRows` of a matrix (n, p), whichever is cheaper to fit.

    Inner products are cheaper if n < p K, unless n exceeds MOST_MULTIPLIED and p: of so many rows
    only a sample is searched. Rows of low rank become `DenseRows` in as many coordinates as their
    rank, which keeps their inner products.
    """
    n, p = matrix.shape
    if n >= p * n_clusters or n > max(p, MOST_MULTIPLIED):
        return DenseRows(matrix, weights)
    known = _known_of_scatter(by_weight(matrix, weights)) if p < n else (None, None)
    rows = GramRows(matrix @ matrix.T, *known, weights)
    rank = rank_of(rows.spectrum, max(n, p)) if rows.decomposed else rows.rank
    return DenseRows(rows.coordinates[:, :rank], weights) if rank * n_clusters <= n else rows


def _known_of_scatter(matrix: Array) -> tuple[Array | None, int | None]:
    """Return (eigenvalues of X^T X, None), or (None, its rank) above MOST_DECOMPOSED variables."""
    scatter = matrix.T @ matrix
    if len(scatter) > MOST_DECOMPOSED:
        return None, counted_rank(scatter, len(matrix))
    return np.linalg.eigvalsh(scatter)[::-1], None
