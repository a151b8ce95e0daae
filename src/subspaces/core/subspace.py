"""One flat: a centre, a basis and how much of its members' energy each axis carries.

==========  ============  ==========  =====================================================
symbol      name          shape       meaning
==========  ============  ==========  =====================================================
x_i         rows          (n, p)      samples
mu          centre        (p,)        a point of the flat; zero for a linear subspace
V           basis         (p, r)      axes: orthonormal columns, or sparse unit columns
s           spectrum      (r,)        sum over the members of their squared scores
d           scores        (n, r)      (x - mu) V
U Lambda    coordinates   (n, l)      the members in all their principal axes
lambda      eigenvalues   (l,)        of the members' scatter matrix, descending
==========  ============  ==========  =====================================================
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

Array = NDArray[np.floating]

# ||x||^2 - sum d^2 keeps twelve digits down to this share of ||x||^2.
CANCELLATION = 1e-4
# Eigenvalues down to this share of the largest keep ten digits.
FAINT = 1e-6


# Above so many the rows are read once for all flats.
FEW_NUMBERS = 1 << 18


@dataclass(frozen=True)
class Subspace:
    """A flat ``centre + span(basis)`` with the spectrum of the samples it was fitted to.

    Attributes
    ----------
    centre : ndarray of shape (p,)
        A point of the flat; zero for a linear subspace.
    basis : ndarray of shape (p, r)
        Axes: orthonormal columns, or sparse unit columns.
    spectrum : ndarray of shape (r,)
        Sum over the members of their squared scores on each axis.
    """

    centre: Array
    basis: Array
    spectrum: Array


@dataclass(frozen=True)
class PrincipalAxes:
    """The singular value decomposition of some rows, cut at their numerical rank."""

    coordinates: Array
    eigenvalues: Array
    basis: Array

    @property
    def rank(self) -> int:
        """Number of directions that the rows span, up to rounding."""
        return len(self.eigenvalues)

    def split(self, n_components: int) -> tuple[Array, Array, Array]:
        """Scores on the first axes, squared residuals (a sum, not a difference), spectrum."""
        kept, rest = np.split(self.coordinates, [min(n_components, self.rank)], axis=1)
        return kept, np.einsum("ij,ij->i", rest, rest), self.eigenvalues[:n_components]


def principal_axes(rows: Array, n_axes: int | None = None) -> PrincipalAxes:
    """Decompose ``rows = U Lambda V^T``; coordinates ``U Lambda``, eigenvalues ``Lambda^2``.

    With ``n_axes``, V is cut after so many: of few rows with many variables the rest is dear.
    """
    n, p = rows.shape
    if not rows.any():
        return PrincipalAxes(np.zeros((n, 0)), np.zeros(0), np.zeros((p, 0)))
    wide = n_axes is not None and n <= p
    left, singular, right = _left_axes(rows) if wide else _svd(rows)
    tolerance = max(rows.shape) * np.finfo(rows.dtype).eps * singular[0]
    rank = int(np.count_nonzero(singular > tolerance))
    left, singular, signs = left[:, :rank], singular[:rank], _signs(left[:, :rank])
    basis = rows.T @ (left / singular)[:, :n_axes] if wide else right[:rank].T[:, :n_axes]
    basis = (_orthonormal(basis) if wide else basis) * signs[:n_axes]
    return PrincipalAxes(left * (singular * signs), singular**2, np.ascontiguousarray(basis))


def _signs(left: Array) -> Array:
    """Signs that make the largest entry of each column positive."""
    return np.sign(left[np.argmax(np.abs(left), axis=0), np.arange(left.shape[1])])


def _svd(rows: Array) -> tuple[Array, Array, Array]:
    return np.linalg.svd(rows, full_matrices=False)


def _left_axes(rows: Array) -> tuple[Array, Array, Array]:
    """Left singular vectors of a wide matrix and its singular values; the third array is empty.

    From the inner products of the rows where these hold ten digits of the smallest, otherwise from
    a triangle.
    """
    values, vectors = np.linalg.eigh(rows @ rows.T)
    if values[0] > FAINT * values[-1]:
        return vectors[:, ::-1], np.sqrt(values[::-1]), np.empty((0, 0))
    triangle: Array = np.asarray(np.linalg.qr(rows.T, mode="r"))
    return (*_svd(triangle.T)[:2], np.empty((0, 0)))


def _orthonormal(axes: Array) -> Array:
    """Axes that are orthonormal up to some rounding, made so."""
    basis, triangle = np.linalg.qr(axes)
    return basis * np.sign(np.diag(triangle))


def fit_subspace(rows: Array, n_components: int, *, affine: bool = False) -> Subspace:
    """Fit the flat of least squared residual; axes that the rows do not span are left out."""
    centre = centre_of(rows, affine)
    return leading(centre, principal_axes(rows - centre), n_components)


def centre_of(rows: Array, affine: bool) -> Array:
    """The mean of the rows, without a rounding error where all are equal; or the origin."""
    if not affine:
        return np.zeros(rows.shape[1])
    return np.where(np.all(rows == rows[:1], axis=0), rows[:1], rows.mean(axis=0))[0]


def leading(centre: Array, axes: PrincipalAxes, n_components: int) -> Subspace:
    """The flat of the first axes."""
    return Subspace(centre, axes.basis[:, :n_components], axes.eigenvalues[:n_components])


def scores(rows: Array, subspace: Subspace) -> Array:
    """Coordinates of the rows along the axes: ``d = (x - mu) V``."""
    return _centred(rows, subspace) @ subspace.basis


def coordinates(rows: Array, subspace: Subspace) -> Array:
    """Coordinates of the nearest points of the flat in its basis; the scores if orthonormal."""
    return scores(rows, subspace) @ inverse_overlap(subspace.basis.T @ subspace.basis)


def inverse_overlap(overlap: Array) -> Array:
    """``S^+``, S = V^T V: the identity where the axes are orthonormal."""
    values, vectors = np.linalg.eigh(overlap)
    kept = values > len(values) * np.finfo(float).eps * values.max(initial=0.0)
    return (vectors[:, kept] / values[kept]) @ vectors[:, kept].T


def _centred(rows: Array, subspace: Subspace) -> Array:
    return rows - subspace.centre if subspace.centre.any() else rows


def project(rows: Array, subspace: Subspace) -> Array:
    """Nearest points of the flat, in the space of the rows."""
    return subspace.centre + coordinates(rows, subspace) @ subspace.basis.T


def squared_residual(rows: Array, subspace: Subspace) -> Array:
    """``||x_perp||^2``; from the residual itself where ``||x||^2 - ||V V^+ x||^2`` would cancel."""
    centred = _centred(rows, subspace)
    return _squared_residual(centred, centred @ subspace.basis, _squared(centred), subspace.basis)


def scores_and_residuals(rows: Array, flats: Sequence[Subspace]) -> list[tuple[Array, Array]]:
    """Scores and squared residuals under each flat; of many numbers in one product."""
    if rows.size <= FEW_NUMBERS or any(flat.centre.any() for flat in flats):
        return [(scores(rows, flat), squared_residual(rows, flat)) for flat in flats]
    ends = np.cumsum([flat.basis.shape[1] for flat in flats])
    along = np.split(rows @ np.hstack([flat.basis for flat in flats]), ends[:-1], axis=1)
    squared = _squared(rows)
    return [
        (own, _squared_residual(rows, own, squared, flat.basis))
        for own, flat in zip(along, flats, strict=True)
    ]


def _squared(rows: Array) -> Array:
    return np.einsum("ij,ij->i", rows, rows)


def _squared_residual(rows: Array, along: Array, squared: Array, basis: Array) -> Array:
    inside = along @ inverse_overlap(basis.T @ basis)
    residual = squared - np.einsum("ij,ij->i", inside, along)
    lost = np.flatnonzero(residual <= CANCELLATION * squared)
    rest = rows[lost] - inside[lost] @ basis.T
    residual[lost] = _squared(rest)
    return residual


def principal_angles(first: Subspace, second: Subspace) -> Array:
    """Angles between the directions of two flats, in radians, the largest first."""
    return linalg.subspace_angles(first.basis, second.basis)
