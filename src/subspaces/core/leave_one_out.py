"""Exact leave-one-out errors of one PCA, even if rows differ by many powers of ten.

The secular equation (`secular.py`) gives all of them from one decomposition. Two things can cost
it digits, and this module removes both:

- A decomposition finds every direction with the absolute rounding error of the largest. So
  `graded_axes` removes the axes of large energy ("bright") from the rows and decomposes the
  remainder, which gives the faint axes full relative precision.
- A row that is nearly all of the energy along the leading axes leaves the others' energy as a
  difference of two nearly equal numbers. The leverages sum to R, so there are at most R such rows:
  for them the PCA of the others is fitted.
"""

from dataclasses import replace

import numpy as np

from subspaces._types import Array, Mask
from subspaces.core.influence import leverage
from subspaces.core.secular import Downdate, copy_of, downdate
from subspaces.subspace import PrincipalAxes, by_weight, centre_of, principal_axes

# Singular values down to this share of the largest keep ten digits; fainter ones are found anew.
BRIGHT = 1e-5
# Most rounds that remove bright axes. Double precision holds no more powers of ten.
ROUNDS = 4
# What is left of a row off the axes found so far is 0 below this share of its length.
LEAST_REMAINDER = 16 * float(np.finfo(np.float64).eps)
# If a row has more leverage than this, the energy of the others keeps fewer than ten digits.
NEARLY_ALL = 1.0 - 1e-6


def left_out(
    rows: Array,
    n_components: int,
    axes: PrincipalAxes | None = None,
    *,
    affine: bool = False,
    weights: Array | None = None,
) -> Downdate:
    """Each row under the PCA of all other rows.

    affine: whether the PCA has a mean, refitted without the row; weights (n,): positive, None if
    all rows count one, and of a weight above one only one copy is left out; axes: the
    decomposition of the rows, from their mean if affine and times the root of their weight, if it
    is known. It is not used if the rows have more than rounding beyond it.
    """
    if weights is None and len(rows) <= affine:
        nothing = np.zeros((len(rows), n_components))
        return Downdate(nothing, nothing, np.full(len(rows), np.inf))
    if axes is None or axes.rank < min(len(rows) - affine, rows.shape[1]):
        weighted = by_weight(centred(rows, affine, weights), weights)
        if axes is None or not _spanned(weighted, axes):
            axes = graded_axes(weighted)
    removed = downdate(axes.coordinates, axes.eigenvalues, n_components, affine, weights)
    errors = removed.squared_error.copy()
    scores, _, spectrum = axes.split(n_components)
    share = 1.0 / len(rows) if weights is None else weights / weights.sum()
    claimed = leverage(scores, spectrum).sum(axis=1) + (share if affine else 0.0)
    claimed = claimed if weights is None else claimed * copy_of(weights) / weights
    for i in np.flatnonzero((claimed > NEARLY_ALL) & np.isfinite(errors)).tolist():
        errors[i] = _refitted_error(rows, i, n_components, affine, weights)
    return replace(removed, squared_error=errors)


def centred(rows: Array, affine: bool, weights: Array | None = None) -> Array:
    """Return the rows (n, p) less their mean, by their weights, if affine; otherwise unchanged."""
    rows, centre = _near_the_origin(rows, affine, weights)
    return np.subtract(rows, centre, out=rows if affine else None)


def _near_the_origin(
    rows: Array, affine: bool, weights: Array | None = None
) -> tuple[Array, Array]:
    """Return the rows (n, p) and their mean (p,), both less the median if affine; else rows and 0.

    Far from the origin a mean is rounded by more than the rows differ. The median is a safe origin,
    since one far row does not move it.
    """
    if not affine:
        return rows, np.zeros(rows.shape[1])
    rows = rows - np.median(rows, axis=0)
    return rows, centre_of(rows, affine, weights)


def graded_axes(rows: Array) -> PrincipalAxes:
    """All principal axes of the rows, those of little energy as precise as those of much.

    Unlike `principal_axes` this keeps what lies below the rounding of the largest singular value,
    unless it is within the rounding of each row itself.
    """
    rest = rows
    basis = np.zeros((rows.shape[1], 0))
    for _ in range(ROUNDS):
        if basis.shape[1] == min(rows.shape) or not rest.any():
            break
        found = principal_axes(rest)
        bright = found.basis[:, found.eigenvalues > BRIGHT**2 * found.eigenvalues[0]]
        basis = np.linalg.qr(np.hstack([basis, bright]))[0][:, : min(rows.shape)]
        rest = _without(_without(rows, basis), basis)
        rest[~_remains(rest, rows)] = 0.0
    coordinates = rows @ basis
    eigenvalues = np.einsum("ij,ij->j", coordinates, coordinates)
    order = np.argsort(-eigenvalues, kind="stable")
    order = order[eigenvalues[order] > 0.0]
    return PrincipalAxes(coordinates[:, order], eigenvalues[order], basis[:, order])


def _spanned(rows: Array, axes: PrincipalAxes) -> bool:
    """Whether the axes, all that were found of the rows, leave no more than rounding of any row."""
    left = axes.coordinates / np.sqrt(axes.eigenvalues)
    rest = _without(_without(rows.T, left), left).T
    return not _remains(rest, rows).any()


def _remains(rest: Array, rows: Array) -> Mask:
    """Which rows have more left than rounding, (n,)."""
    lengths = np.linalg.norm(rows, axis=1)
    return np.linalg.norm(rest, axis=1) > LEAST_REMAINDER * lengths


def _without(rows: Array, basis: Array) -> Array:
    """``x - x V V^T``, (n, p): what is left of the rows off the orthonormal axes V (p, R)."""
    return rows - (rows @ basis) @ basis.T


def _refitted_error(
    rows: Array, i: int, n_components: int, affine: bool, weights: Array | None
) -> float:
    """Squared distance of row i from the PCA of the other rows, by fitting that PCA.

    The other copies of a row of weight above one are among the others.
    """
    order = np.r_[np.delete(np.arange(len(rows)), i), i]
    rows, _ = _near_the_origin(rows[order], affine)
    others, left = rows[:-1], None if weights is None else weights[order[:-1]]
    if weights is not None and left is not None and weights[i] > 1.0:
        others, left = rows, np.append(left, weights[i] - 1.0)
    centre = centre_of(others, affine, left)
    basis = graded_axes(by_weight(others - centre, left)).basis[:, :n_components]
    rest = _without(rows[-1] - centre, basis)
    return float(rest @ rest)
