"""Tables of low rank: rows (n, p) that span q directions are fitted in q coordinates.

``x_i = mu + V z_i`` with orthonormal axes V (p, q) keeps every distance, so that labels, errors and
likelihoods of the z_i are those of the x_i, and a subspace ``c + span(B)`` of the z_i is
``mu + V c + span(V B)`` among the x_i. A preparation that projects on a few axes gives such tables.
"""

from dataclasses import dataclass

import numpy as np

from subspaces._types import Array
from subspaces.core.eigenvalues import rank_of
from subspaces.core.leave_one_out import centred
from subspaces.subspace import Subspace, centre_of, principal_axes

# Rows to draw when looking for few directions. If they span more than half as many as they are, the
# table is used as it is. Their inner products are cheap compared with a fit.
PROBED = 128


@dataclass(frozen=True)
class Coordinates:
    """Rows in the directions that they span.

    origin (p,): their mean if affine, otherwise zeros; axes (p, q): orthonormal; points (n, q): the
    rows along the axes, from the origin.
    """

    origin: Array
    axes: Array
    points: Array

    def among_the_rows(self, subspace: Subspace) -> Subspace:
        """Return a subspace that was fitted to the points as one of the rows' own space."""
        centre = self.origin + self.axes @ subspace.centre
        return Subspace(centre, self.axes @ subspace.basis, subspace.spectrum)


def in_few_coordinates(
    matrix: Array, affine: bool, weights: Array | None = None
) -> Coordinates | None:
    """Return rows (n, p) in the few directions that they span; None if they span many.

    weights (n,): of the rows, whose mean is the origin if affine.

    The directions are those of some rows, drawn with a fixed seed. What any other row has beyond
    them has to be rounding.
    """
    n, p = matrix.shape
    drawn = np.random.default_rng(0).permutation(n)[:PROBED]
    some = matrix[drawn] - centre_of(matrix[drawn], affine)
    most = min(len(some), p) // 2
    if rank_of(np.linalg.eigvalsh(some @ some.T)[::-1], max(n, p)) > most:
        return None
    origin = centre_of(matrix, affine, weights)
    rows = matrix - origin
    axes = principal_axes(rows[drawn]).basis
    if axes.shape[1] > most:  # inner products do not see directions below their rounding
        return None
    points = rows @ axes
    rest = rows - points @ axes.T
    rounding = max(n, p) * float(np.finfo(rows.dtype).eps)
    if np.linalg.norm(rest) > rounding * np.linalg.norm(rows):
        return None
    return Coordinates(origin, axes, points)


def n_directions(rows: Array, affine: bool, counted: int) -> int:
    """Return how many directions rows (n, p), from their mean if affine, span up to rounding.

    counted: the rank of their inner products, if a direction of a singular value below the root
    of rounding is lost. It is right if there are no more directions.
    """
    most = min(len(rows) - affine, rows.shape[1])
    if counted >= min(most, np.count_nonzero(np.ptp(rows, axis=0) if affine else rows.any(axis=0))):
        return counted
    return min(int(np.linalg.matrix_rank(centred(rows, affine))), most)
