"""One subspace: a centre, a basis and how much of its members' energy each axis carries.

==========  ============  ==========  =====================================================
symbol      name          shape       meaning
==========  ============  ==========  =====================================================
x_i         rows          (n, p)      samples
mu          centre        (p,)        a point of the subspace; zero for a linear subspace
V           basis         (p, r)      axes: orthonormal columns, or sparse unit columns
s           spectrum      (r,)        sum over the members of their squared scores
d           scores        (n, r)      (x - mu) V
U Lambda    coordinates   (n, l)      the members in all their principal axes
lambda      eigenvalues   (l,)        of the members' scatter matrix, descending
==========  ============  ==========  =====================================================
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import svds

from subspaces._types import Array, Counts, Labels
from subspaces.runtime.result import InShort
from subspaces.runtime.serialise import serialisable

# ||x||^2 - sum d^2 keeps twelve digits down to this share of ||x||^2.
CANCELLATION = 1e-4
# Eigenvalues down to this share of the largest keep ten digits.
FAINT = 1e-6
# Rows of more numbers than this (2 MB) leave the cache: they are read once for all subspaces.
FEW_NUMBERS = 1 << 18
# Above this many rows and columns, compute the leading axes alone by Lanczos iteration. Below it, a
# whole decomposition takes a fraction of a second.
FEW_ROWS = 500
# Share of the smaller side up to which the iteration is quicker: it keeps about twice as many
# vectors as it is asked for.
FEW_AXES = 0.1


@serialisable
@dataclass(frozen=True, repr=False)
class Subspace(InShort):
    """A subspace ``centre + span(basis)``, and how much the samples vary along its axes.

    Attributes
    ----------
    centre : ndarray of shape (p,)
        A point of the subspace. Zero if the subspace passes through the origin.
    basis : ndarray of shape (p, r)
        One axis per column: orthonormal columns, or sparse unit columns.
    spectrum : ndarray of shape (r,)
        Sum of the squared scores of the samples on each axis.
    """

    centre: Annotated[Array, "p"]
    basis: Annotated[Array, "p", "r"]
    spectrum: Annotated[Array, "r"]


@serialisable
@dataclass(frozen=True)
class PrincipalAxes:
    """The singular value decomposition of rows (n, p), cut at their numerical rank l.

    coordinates (n, l): the rows in their axes; eigenvalues (l,) of the scatter, descending; basis
    (p, l): the axes, or only the first ones asked for.
    """

    coordinates: Annotated[Array, "n", "r"]
    eigenvalues: Annotated[Array, "r"]
    basis: Annotated[Array, "p", "*"]

    @property
    def rank(self) -> int:
        """Number of directions that the rows span, up to rounding."""
        return len(self.eigenvalues)

    def split(self, n_components: int) -> tuple[Array, Array, Array]:
        """Return scores (n, R) on the first axes, squared residuals (n,) and spectrum (R,)."""
        kept, rest = np.split(self.coordinates, [min(n_components, self.rank)], axis=1)
        return kept, np.einsum("ij,ij->i", rest, rest), self.eigenvalues[:n_components]


def principal_axes(rows: Array, n_axes: int | None = None) -> PrincipalAxes:
    """Return ``rows = U Lambda V^T`` as coordinates ``U Lambda``, eigenvalues ``Lambda^2`` and V.

    With ``n_axes`` only the first ``n_axes`` columns of V are formed: for few rows of many
    variables the others take long.
    """
    n, p = rows.shape
    if not rows.any():
        return PrincipalAxes(np.zeros((n, 0)), np.zeros(0), np.zeros((p, 0)))
    wide = n_axes is not None and n <= p
    left, singular, right = _left_axes(rows) if wide else np.linalg.svd(rows, full_matrices=False)
    tolerance = max(rows.shape) * np.finfo(rows.dtype).eps * singular[0]
    rank = int(np.count_nonzero(singular > tolerance))
    left, singular, signs = left[:, :rank], singular[:rank], signs_of_largest(left[:, :rank])
    basis = rows.T @ (left / singular)[:, :n_axes] if wide else right[:rank].T[:, :n_axes]
    basis = (orthonormal(basis) if wide else basis) * signs[:n_axes]
    return PrincipalAxes(left * (singular * signs), singular**2, np.ascontiguousarray(basis))


def leading_axes(rows: Array, n_axes: int) -> Array:
    """Return the leading principal axes of centred rows (n, p), at most (n_axes, p).

    Of large tables they come from Lanczos iteration, from a fixed start, so that they repeat.
    """
    smaller = min(rows.shape)
    if smaller <= FEW_ROWS or n_axes > FEW_AXES * smaller:
        return principal_axes(rows).basis[:, :n_axes].T
    start = np.random.default_rng(0).normal(size=smaller)
    _, singular, axes = svds(rows, k=n_axes, v0=start, return_singular_vectors="vh")
    tolerance = max(rows.shape) * np.finfo(rows.dtype).eps * singular.max()
    # Drop axes along which nothing varies: they are arbitrary, and new samples may lie along them.
    return np.ascontiguousarray(axes[::-1][singular[::-1] > tolerance])


def signs_of_largest(left: Array) -> Array:
    """Return the signs (l,) that make the entry of largest magnitude in each column positive."""
    return np.sign(left[np.argmax(np.abs(left), axis=0), np.arange(left.shape[1])])


def _left_axes(rows: Array) -> tuple[Array, Array, Array]:
    """Left singular vectors (n, n) and singular values (n,) of a wide matrix, and an empty array.

    They come from the eigenvectors of the rows' inner products if these give ten digits of the
    smallest singular value, otherwise from a QR factorisation.
    """
    values, vectors = np.linalg.eigh(rows @ rows.T)
    if values[0] > FAINT * values[-1]:
        return vectors[:, ::-1], np.sqrt(values[::-1]), np.empty((0, 0))
    triangle: Array = np.asarray(np.linalg.qr(rows.T, mode="r"))
    return (*np.linalg.svd(triangle.T, full_matrices=False)[:2], np.empty((0, 0)))


def orthonormal(axes: Array) -> Array:
    """Return axes (p, R) made orthonormal by QR, each on the side where it was."""
    basis, triangle = np.linalg.qr(axes)
    return basis * np.sign(np.diag(triangle))


def fit_subspace(rows: Array, n_components: int, *, affine: bool = False) -> Subspace:
    """Return the `Subspace` of least squared residual; it has no axes that the rows do not span."""
    centre = centre_of(rows, affine)
    return leading(centre, principal_axes(rows - centre), n_components)


def centre_of(rows: Array, affine: bool, weights: Array | None = None) -> Array:
    """Mean of the rows (p,) if affine, without rounding if rows are equal; otherwise zeros.

    weights (n,): what each row counts, one by default.
    """
    if not affine:
        return np.zeros(rows.shape[1])
    return np.where(
        np.all(rows == rows[:1], axis=0), rows[:1], np.average(rows, axis=0, weights=weights)
    )[0]


def leading(centre: Array, axes: PrincipalAxes, n_components: int) -> Subspace:
    """Return the `Subspace` through ``centre`` that the first ``n_components`` axes span."""
    return Subspace(centre, axes.basis[:, :n_components], axes.eigenvalues[:n_components])


def by_weight(rows: Array, weights: Array | None) -> Array:
    """Return the rows (n, p) times the root of their weight (n,); unchanged without weights."""
    return rows if weights is None else np.sqrt(weights)[:, None] * rows


def subspaces_of(
    X: Array, labels: Labels, dimensions: Sequence[int], affine: bool, weights: Array | None = None
) -> tuple[list[Subspace], list[PrincipalAxes]]:
    """Return the subspace of each cluster, of these dimensions (K,), and the whole PCA of each.

    weights (n,): None if all rows count one; the PCA is of rows times the root of their weight.
    """
    subspaces, all_axes = [], []
    for k, dimension in enumerate(dimensions):
        members, own = X[labels == k], None if weights is None else weights[labels == k]
        centre = centre_of(members, affine, own)
        centred = members - centre if affine else members
        # Far from the origin a mean is rounded by more than the members differ.
        centred = centred - centre_of(centred, affine, own) if affine else centred
        centred = by_weight(centred, own)
        all_axes.append(principal_axes(centred, dimension))
        subspaces.append(leading(centre, all_axes[k], dimension))
    return subspaces, all_axes


def dimensions_of(subspaces: Sequence[Subspace]) -> Counts:
    """Return the dimension of each subspace, (K,)."""
    return np.array([subspace.basis.shape[1] for subspace in subspaces])


def energy_off_subspaces(
    X: Array, labels: Labels, subspaces: Sequence[Subspace], weights: Array | None = None
) -> float:
    """Return the sum of the squared distances of rows from the subspaces of their labels."""
    return sum(
        weighted_sum(
            squared_residual(X[labels == k], subspace),
            None if weights is None else weights[labels == k],
        )
        for k, subspace in enumerate(subspaces)
    )


def weighted_sum(values: Array, weights: Array | None) -> float:
    """Return the sum of the values (n,), each times its weight; weights: None if all are one."""
    return float(values.sum() if weights is None else weights @ values)


def scores(rows: Array, subspace: Subspace) -> Array:
    """Scores of the rows on the axes, ``d = (x - mu) V``, (n, r)."""
    return _centred(rows, subspace) @ subspace.basis


def coordinates(rows: Array, subspace: Subspace) -> Array:
    """Coordinates (n, r), in the basis, of the points of the subspace nearest to the rows.

    If the basis is orthonormal, they are the scores.
    """
    return scores(rows, subspace) @ inverse_overlap(subspace.basis.T @ subspace.basis)


def inverse_overlap(overlap: Array) -> Array:
    """Pseudo-inverse ``S^+`` (r, r) of ``S = V^T V``; the identity if axes are orthonormal."""
    values, vectors = np.linalg.eigh(overlap)
    kept = values > len(values) * np.finfo(float).eps * values.max(initial=0.0)
    return (vectors[:, kept] / values[kept]) @ vectors[:, kept].T


def _centred(rows: Array, subspace: Subspace) -> Array:
    """Return the rows (n, p) less the centre of the subspace."""
    return rows - subspace.centre if subspace.centre.any() else rows


def project(rows: Array, subspace: Subspace) -> Array:
    """The points of the subspace nearest to the rows, in the space of the rows, (n, p)."""
    return subspace.centre + coordinates(rows, subspace) @ subspace.basis.T


def squared_residual(rows: Array, subspace: Subspace) -> Array:
    """Squared distances ``||x_perp||^2`` of the rows from the subspace, (n,).

    From the residual itself if ``||x||^2 - ||V V^+ x||^2`` would cancel.
    """
    centred = _centred(rows, subspace)
    return _squared_residual(centred, centred @ subspace.basis, _squared(centred), subspace.basis)


def squared_residuals(rows: Array, subspaces: Sequence[Subspace]) -> Array:
    """Return the squared distances of the rows (n, p) from each subspace, (n, K)."""
    return np.column_stack([squared_residual(rows, each) for each in subspaces])


def scores_and_residuals(rows: Array, subspaces: Sequence[Subspace]) -> list[tuple[Array, Array]]:
    """Return scores (n, r) and squared residuals (n,) of the rows for each subspace.

    Many rows are multiplied by all bases at once.
    """
    if rows.size <= FEW_NUMBERS or any(subspace.centre.any() for subspace in subspaces):
        return [(scores(rows, each), squared_residual(rows, each)) for each in subspaces]
    bases = [subspace.basis for subspace in subspaces]
    ends = np.cumsum([basis.shape[1] for basis in bases])
    along = np.split(rows @ np.hstack(bases), ends[:-1], axis=1)
    squared = _squared(rows)
    return [
        (own, _squared_residual(rows, own, squared, basis))
        for own, basis in zip(along, bases, strict=True)
    ]


def _squared(rows: Array) -> Array:
    """Squared length of each row, (n,)."""
    return np.einsum("ij,ij->i", rows, rows)


def _squared_residual(rows: Array, along: Array, squared: Array, basis: Array) -> Array:
    """Squared residuals (n,) of centred rows with scores ``along`` and lengths ``squared``."""
    inside = along @ inverse_overlap(basis.T @ basis)
    residual = squared - np.einsum("ij,ij->i", inside, along)
    lost = np.flatnonzero(residual <= CANCELLATION * squared)
    rest = rows[lost] - inside[lost] @ basis.T
    residual[lost] = _squared(rest)
    return residual


def largest_eigenpairs(matrix: Array, count: int) -> tuple[Array, Array]:
    """The ``count`` largest eigenvalues, ascending, and their eigenvectors in columns.

    LAPACK's method for some eigenvalues (relatively robust representations) may fail if they
    are nearly equal, or find none in single precision; then all eigenvalues are computed by another
    method.
    """
    n = len(matrix)
    first = max(n - count, 0)
    with suppress(linalg.LinAlgError):
        found = linalg.eigh(matrix, subset_by_index=[first, n - 1], check_finite=False)
        if len(found[0]) == n - first:
            return found
    values, vectors = np.linalg.eigh(matrix)
    return values[first:], vectors[:, first:]
