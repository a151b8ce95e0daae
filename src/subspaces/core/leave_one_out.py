"""Exact leave-one-out errors of one PCA, even where rows differ by many powers of ten.

The secular equation (`secular.py`) gives them all from one decomposition. Two things would spoil
its digits, and both are met here:

- A decomposition knows every direction to the rounding of the largest. `graded_axes` takes the
  bright axes out of the rows and decomposes what is left again, so that faint ones are known to
  their own rounding.
- A row that is nearly all of the energy along the leading axes leaves the others' energy as a
  difference of two nearly equal numbers. The leverages sum to R, so there are at most R such rows:
  for them the PCA of the others is fitted.
"""

import numpy as np
from numpy.typing import NDArray

from subspaces.core.influence import leverage
from subspaces.core.secular import downdate
from subspaces.core.subspace import PrincipalAxes, centre_of, principal_axes

Array = NDArray[np.floating]

# Singular values down to this share of the largest keep ten digits; fainter ones are found anew.
BRIGHT = 1e-5
# So many times are bright axes taken out: double precision holds no more powers of ten.
ROUNDS = 4
# What is left of a row within so many units of its rounding is rounding.
ROUNDING = 16 * float(np.finfo(np.float64).eps)
# With more leverage than this, what the others have along the axes keeps fewer than ten digits.
NEARLY_ALL = 1.0 - 1e-6


def exact_errors(
    rows: Array, n_components: int, affine: bool = False, axes: PrincipalAxes | None = None
) -> Array:
    """Squared distance of each row from the PCA of the others, (n,).

    affine: whether the PCA has a mean, refitted without the row; axes: those of the rows, from
    their mean if affine, where they are known. Axes that leave a direction out are found anew.
    """
    if len(rows) <= affine:
        return np.full(len(rows), np.inf)
    if axes is None or axes.rank < min(len(rows) - affine, rows.shape[1]):
        axes = graded_axes(centred(rows, affine))
    removed = downdate(axes.coordinates, axes.eigenvalues, n_components, affine)
    errors = removed.squared_error.copy()
    scores, _, spectrum = axes.split(n_components)
    claimed = leverage(scores, spectrum).sum(axis=1) + (1.0 / len(rows) if affine else 0.0)
    for i in np.flatnonzero(claimed > NEARLY_ALL).tolist():
        errors[i] = _refitted_error(rows, i, n_components, affine)
    return errors


def centred(rows: Array, affine: bool) -> Array:
    """The rows from their mean, if affine."""
    rows, centre = _near_the_origin(rows, affine)
    return rows - centre


def _near_the_origin(rows: Array, affine: bool) -> tuple[Array, Array]:
    """The rows and their mean seen from their median, if affine; as they are and 0 otherwise.

    Far from the origin a mean is rounded by more than the rows differ, and one far row does not
    move the median.
    """
    if not affine:
        return rows, np.zeros(rows.shape[1])
    rows = rows - np.median(rows, axis=0)
    return rows, centre_of(rows, affine)


def graded_axes(rows: Array) -> PrincipalAxes:
    """All principal axes of the rows, the faint ones as exact as the bright ones.

    Unlike `principal_axes` this keeps what lies below the rounding of the largest singular value,
    unless it is within the rounding of each row itself.
    """
    rest, lengths = rows, np.linalg.norm(rows, axis=1)
    basis = np.zeros((rows.shape[1], 0))
    for _ in range(ROUNDS):
        if basis.shape[1] == min(rows.shape) or not rest.any():
            break
        found = principal_axes(rest)
        bright = found.basis[:, found.eigenvalues > BRIGHT**2 * found.eigenvalues[0]]
        basis = np.linalg.qr(np.hstack([basis, bright]))[0][:, : min(rows.shape)]
        rest = _without(_without(rows, basis), basis)
        rest[np.linalg.norm(rest, axis=1) <= ROUNDING * lengths] = 0.0
    coordinates = rows @ basis
    eigenvalues = np.einsum("ij,ij->j", coordinates, coordinates)
    order = np.argsort(-eigenvalues, kind="stable")
    order = order[eigenvalues[order] > 0.0]
    return PrincipalAxes(coordinates[:, order], eigenvalues[order], basis[:, order])


def _without(rows: Array, basis: Array) -> Array:
    """What is left of the rows beyond some orthonormal axes."""
    return rows - (rows @ basis) @ basis.T


def _refitted_error(rows: Array, i: int, n_components: int, affine: bool) -> float:
    """Squared distance of row i from the PCA of the others, fitted to them."""
    order = np.r_[np.delete(np.arange(len(rows)), i), i]
    rows, _ = _near_the_origin(rows[order], affine)
    others, centre = rows[:-1], centre_of(rows[:-1], affine)
    basis = graded_axes(others - centre).basis[:, :n_components]
    rest = _without(rows[-1] - centre, basis)
    return float(rest @ rest)
