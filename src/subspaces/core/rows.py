"""How the loop reaches the data: a cluster's PCA as every row sees it.

Two forms with the same answers. `DenseRows` holds the rows themselves. `GramRows` holds their inner
products only, so that nothing depends on the number of variables once those are computed; with
``U, lambda`` the eigenvectors of the members' block of G, the scores of all rows are
``X V = G[:, C] U / sqrt(lambda)``.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from subspaces.core.partition import angular_closeness
from subspaces.core.secular import Downdate, downdate

Array = NDArray[np.floating]
Indices = NDArray[np.intp]

# ||x||^2 - sum d^2 keeps ten digits down to this share of ||x||^2; below, the residual itself is
# formed where the rows are at hand.
CANCELLATION = 1e-6
# Of larger matrices of inner products the eigenvalues are counted, and the leading ones found
# nearly, by so many steps on so many more axes.
MOST_DECOMPOSED = 200
STEPS, MORE = 2, 10
# Up to so many rows their inner products are held beside them, for sparse loadings to start from.
MOST_MULTIPLIED = 2000


@dataclass(frozen=True)
class ClusterView:
    """The PCA of some members, and where every row lies with respect to it.

    members (m,), eigenvalues (l,) of the members' scatter; scores (n, R) and squared_residual (n,)
    of all rows; coordinates (m, l) of the members along all their axes; affine: whether all that is
    from the members' mean.
    """

    members: Indices
    eigenvalues: Array
    scores: Array
    squared_residual: Array
    coordinates: Array
    affine: bool

    @property
    def size(self) -> int:
        """Number of members."""
        return len(self.members)

    @property
    def n_components(self) -> int:
        """Number of axes in use: at most the rank of the members."""
        return self.scores.shape[1]

    @property
    def spectrum(self) -> Array:
        """Energy of the members along the axes in use."""
        return self.eigenvalues[: self.n_components]

    def narrowed(self, n_components: int) -> "ClusterView":
        """The same PCA with fewer axes in use."""
        beyond = self.scores[:, n_components:]
        residual = self.squared_residual + np.einsum("ij,ij->i", beyond, beyond)
        return replace(self, scores=self.scores[:, :n_components], squared_residual=residual)

    @cached_property
    def leave_one_out(self) -> Downdate:
        """The axes, and the mean if there is one, without each member, seen from that member."""
        return downdate(self.coordinates, self.eigenvalues, self.n_components, self.affine)


class Rows(Protocol):
    """What the starts and the loop ask of the data."""

    @property
    def squared_norms(self) -> Array:
        """Squared length of each row."""

    @property
    def nbytes(self) -> int:
        """How much memory the rows take."""

    @property
    def rank(self) -> int:
        """How many eigenvalues of the scatter of all rows are more than rounding."""

    @property
    def energy(self) -> float:
        """The sum of these eigenvalues."""

    def leading(self, count: int) -> Array:
        """The largest of them, largest first; of many rows nearly."""

    @property
    def coordinates(self) -> Array:
        """The rows in some orthonormal coordinates."""

    def inner(self, indices: Indices) -> Array:
        """Inner products of all rows with some: (n, m)."""

    def closeness(self, index: int) -> Array:
        """``|cos|`` of the angle between one row and every row."""

    def view(self, members: Indices, n_components: int, affine: bool) -> ClusterView:
        """PCA of the members."""

    def residuals(self, subsets: Indices, n_components: int, affine: bool) -> Array:
        """Squared residuals of all rows from the PCA of each subset (b, m): (b, n)."""

    def subset(self, indices: Indices) -> "Rows":
        """Some of the rows."""


@dataclass(frozen=True)
class DenseRows:
    """Rows as a matrix (n, p)."""

    matrix: Array

    @property
    def nbytes(self) -> int:
        """How much memory the rows take."""
        return self.matrix.nbytes

    @cached_property
    def squared_norms(self) -> Array:
        """Squared length of each row."""
        return np.einsum("ij,ij->i", self.matrix, self.matrix)

    @cached_property
    def products(self) -> Array | None:
        """Inner products of all rows, (n, n); None of many rows."""
        return self.matrix @ self.matrix.T if len(self.matrix) <= MOST_MULTIPLIED else None

    @cached_property
    def spectrum(self) -> Array:
        """Eigenvalues of the scatter of all rows, cut at the numerical rank."""
        return _positive(*_eigh(_smaller_scatter(self.matrix)), len(self.matrix))[0]

    @property
    def rank(self) -> int:
        """How many eigenvalues of the scatter of all rows are more than rounding."""
        return len(self.spectrum)

    @property
    def energy(self) -> float:
        """The sum of these eigenvalues."""
        return float(self.spectrum.sum())

    def leading(self, count: int) -> Array:
        """The largest of them, largest first."""
        return self.spectrum[:count]

    @property
    def coordinates(self) -> Array:
        """The rows as they are."""
        return self.matrix

    def inner(self, indices: Indices) -> Array:
        """Inner products of all rows with some: (n, m)."""
        return self.matrix @ self.matrix[indices].T

    def closeness(self, index: int) -> Array:
        """``|cos|`` of the angle between one row and every row."""
        return angular_closeness(self.inner(np.array([index]))[:, 0], self.squared_norms, index)

    def subset(self, indices: Indices) -> "DenseRows":
        """Some of the rows."""
        return DenseRows(self.matrix[indices])

    def view(self, members: Indices, n_components: int, affine: bool) -> ClusterView:
        """PCA of the members from the smaller of their two scatter matrices."""
        centre = self.matrix[members].mean(axis=0) if affine else None
        own = self.matrix[members] if centre is None else self.matrix[members] - centre
        values, vectors = _positive(*_eigh(_smaller_scatter(own)), max(own.shape))
        if len(own) < own.shape[1]:
            coordinates = vectors * np.sqrt(values)
            basis = own.T @ (vectors[:, :n_components] / np.sqrt(values[:n_components]))
        else:
            coordinates = own @ vectors
            basis = vectors[:, :n_components]
        scores, residual = self._project(centre, basis)
        return ClusterView(members, values, scores, residual, coordinates, affine)

    def residuals(self, subsets: Indices, n_components: int, affine: bool) -> Array:
        """Squared residuals of all rows from the PCA of each subset (b, m): (b, n)."""
        views = [self.view(members, n_components, affine) for members in subsets]
        return np.array([view.squared_residual for view in views])

    def _project(self, centre: Array | None, basis: Array) -> tuple[Array, Array]:
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
class GramRows:
    """Rows known by their inner products (n, n) alone; eigenvalues or rank may be known, too."""

    gram: Array
    eigenvalues: Array | None = None
    known_rank: int | None = None

    @property
    def nbytes(self) -> int:
        """How much memory the inner products take."""
        return self.gram.nbytes

    @cached_property
    def squared_norms(self) -> Array:
        """Squared length of each row."""
        return np.diag(self.gram).copy()

    @cached_property
    def spectrum(self) -> Array | None:
        """Eigenvalues of the scatter of all rows, cut at the numerical rank; None for many rows."""
        values = self.eigenvalues
        if values is None:
            if len(self.gram) > MOST_DECOMPOSED:
                return None
            values = np.linalg.eigvalsh(self.gram)[::-1]
        return values[: _rank(values, len(self.gram))]

    @cached_property
    def rank(self) -> int:
        """How many eigenvalues of the scatter of all rows are more than rounding."""
        if self.spectrum is not None:
            return len(self.spectrum)
        return _counted_rank(self.gram.copy()) if self.known_rank is None else self.known_rank

    @property
    def energy(self) -> float:
        """The sum of these eigenvalues."""
        kept = self.squared_norms if self.spectrum is None else self.spectrum
        return float(kept.sum())

    def leading(self, count: int) -> Array:
        """The largest of them, largest first; of many rows nearly."""
        if self.spectrum is not None:
            return self.spectrum[:count]
        return _leading(self.gram, min(count, self.rank))

    @cached_property
    def coordinates(self) -> Array:
        """The rows in their principal axes."""
        values, vectors = _positive(*_eigh(self.gram), len(self.gram))
        return vectors * np.sqrt(values)

    def inner(self, indices: Indices) -> Array:
        """Inner products of all rows with some: (n, m)."""
        return self.gram[:, indices]

    def closeness(self, index: int) -> Array:
        """``|cos|`` of the angle between one row and every row."""
        return angular_closeness(self.inner(np.array([index]))[:, 0], self.squared_norms, index)

    def subset(self, indices: Indices) -> "GramRows":
        """Some of the rows."""
        return GramRows(self.gram[np.ix_(indices, indices)])

    def view(self, members: Indices, n_components: int, affine: bool) -> ClusterView:
        """PCA of the members from their block of the inner products."""
        block, squared = self.gram[:, members], self.squared_norms
        if affine:
            # <x_i - m, x_j - m> from the means of the members' inner products
            mean = block.mean(axis=1, keepdims=True)
            total = float(mean[members].mean())
            block = block - mean - mean[members].T + total
            squared = squared - 2.0 * mean[:, 0] + total
        values, vectors = _positive(*_eigh(block[members]), len(members))
        scores = block @ (vectors[:, :n_components] / np.sqrt(values[:n_components]))
        residual = np.maximum(squared - np.einsum("ij,ij->i", scores, scores), 0.0)
        coordinates = vectors * np.sqrt(values)
        return ClusterView(members, values, scores, residual, coordinates, affine)

    def residuals(self, subsets: Indices, n_components: int, affine: bool) -> Array:
        """As `view`, all subsets at once: squared residuals (b, n)."""
        blocks = self.gram[subsets]  # (b, m, n)
        squared = self.squared_norms
        if affine:
            mean = blocks.mean(axis=1, keepdims=True)
            own_mean = np.take_along_axis(mean[:, 0], subsets, axis=1)[:, :, None]
            total = own_mean.mean(axis=1, keepdims=True)
            blocks = blocks - mean - own_mean + total
            squared = squared - 2.0 * mean[:, 0] + total[:, 0]
        own = np.take_along_axis(blocks, subsets[:, None, :], axis=2)
        values, vectors = np.linalg.eigh(own)
        values, vectors = (
            values[:, ::-1][:, :n_components],
            vectors[:, :, ::-1][:, :, :n_components],
        )
        tolerance = subsets.shape[1] * np.finfo(values.dtype).eps * values[:, :1].clip(min=0.0)
        scale = np.divide(
            1.0, np.sqrt(values.clip(min=0.0)), out=np.zeros_like(values), where=values > tolerance
        )
        scores = np.swapaxes(vectors * scale[:, None, :], 1, 2) @ blocks
        return np.maximum(squared - np.einsum("brn,brn->bn", scores, scores), 0.0)


def choose_rows(matrix: Array, n_clusters: int) -> Rows:
    """Inner products where there are few rows for the variables, the rows themselves otherwise.

    Rows of low rank are rotated into as many coordinates as their rank: inner products stay.
    """
    n, p = matrix.shape
    if n >= p * n_clusters:
        return DenseRows(matrix)
    known = _smaller_facts(matrix) if p < n else (None, None)
    rows = GramRows(matrix @ matrix.T, *known)
    rank = rows.rank if rows.spectrum is None else _rank(rows.spectrum, max(n, p))
    return DenseRows(rows.coordinates[:, :rank]) if rank * n_clusters <= n else rows


def _smaller_facts(matrix: Array) -> tuple[Array | None, int | None]:
    """Eigenvalues of the scatter of fewer variables than rows; of many their number alone."""
    scatter = matrix.T @ matrix
    if len(scatter) > MOST_DECOMPOSED:
        return None, _counted_rank(scatter, len(matrix))
    return np.linalg.eigvalsh(scatter)[::-1], None


def _smaller_scatter(matrix: Array) -> Array:
    n, p = matrix.shape
    return matrix @ matrix.T if n < p else matrix.T @ matrix


def _eigh(matrix: Array) -> tuple[Array, Array]:
    """Eigenvalues, largest first, with their vectors."""
    values, vectors = np.linalg.eigh(matrix)
    return values[::-1], vectors[:, ::-1]


def _positive(values: Array, vectors: Array, size: int) -> tuple[Array, Array]:
    """Cut at the numerical rank of the scatter matrix."""
    rank = _rank(values, size)
    return values[:rank], vectors[:, :rank]


def _rank(values: Array, size: int) -> int:
    """How many eigenvalues, largest first, are more than rounding."""
    tolerance = size * np.finfo(values.dtype).eps * max(values[0], 0.0) if len(values) else 0.0
    return int(np.count_nonzero(values > tolerance))


def _counted_rank(gram: Array, size: int = 0) -> int:
    """The same without the eigenvalues: how many of ``gram - tolerance`` are positive.

    A Cholesky factor that ends at the last row proves all but one (rows from their mean);
    otherwise the signs of a symmetric factorisation are those of the eigenvalues (Sylvester). The
    matrix is overwritten: the first factor takes one triangle, the second the other.
    """
    n, diagonal = len(gram), np.diag(gram).copy()
    diagonal -= max(n, size) * np.finfo(gram.dtype).eps * _leading(gram, 1)[0]
    np.fill_diagonal(gram, diagonal)
    failed = lapack.dpotrf(gram.T, lower=1, clean=0, overwrite_a=1)[1]
    if failed in (0, n):
        return n - bool(failed)
    np.fill_diagonal(gram, diagonal)
    return _count_positive(gram.T)


def _count_positive(matrix: Array) -> int:
    """How many eigenvalues of a symmetric matrix are positive; one triangle is overwritten."""
    size = int(lapack.dsytrf_lwork(len(matrix), lower=0)[0])
    factor, pivots, _ = lapack.dsytrf(matrix, lower=0, lwork=size, overwrite_a=1)
    # A negative pivot is half of a block of two rows: one eigenvalue of each sign.
    single = pivots > 0
    above = np.diag(factor)[single] > 0
    return int(np.count_nonzero(above) + np.count_nonzero(~single) // 2)


def _leading(gram: Array, count: int) -> Array:
    """The leading eigenvalues, from below, by subspace iteration from random axes."""
    axes = np.random.default_rng(0).standard_normal((len(gram), count + MORE))
    for _ in range(STEPS):
        axes = np.linalg.qr(gram @ axes)[0]
    return np.linalg.eigvalsh(axes.T @ (gram @ axes))[::-1][:count]
