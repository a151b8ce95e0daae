"""Leave-one-cell-out errors of a PCA, for every number of axes, from one decomposition.

Without the cell (i, j) the fit of R axes is a fixed point: the value z that the fit of the table
with z in that cell has there. By implicit differentiation of that equation, at the observed value,

    x_ij - z = e_ij/(1 - h_ij),        h = c + hu_i + (1 - c) hv_j - hu_i hv_j + G_ij,

where e is the residual, ``hu_i = sum_{a <= R} U_ia^2``, ``hv_j = sum_{a <= R} V_ja^2``, c = 1/n if
the mean is fitted and 0 if not, and, because the axes turn with the cell,

    G_ij = sum_{a <= R < b} [s_b^2 (U_ia^2 V_jb^2 + U_ib^2 V_ja^2)
                             + 2 s_a s_b U_ia V_ja U_ib V_jb]/(s_a^2 - s_b^2).

Without G that is the estimate of [Josse & Husson 2012], which warns of too many axes far too
mildly. An axis a more changes G by all pairs of a and b, before it and beyond it alike:

    G += sum_{b != a} [min(s_a, s_b)^2 (U_ia^2 V_jb^2 + U_ib^2 V_ja^2)
                       + 2 s_a s_b U_ia V_ja U_ib V_jb]/(s_a^2 - s_b^2).

"A left-out cell", https://subspaces.readthedocs.io, derives it and tests it against refitting.
"""

from collections.abc import Iterator

import numpy as np

from subspaces._types import Array, Indices
from subspaces.subspace import PrincipalAxes

# Lower limit of 1 - h. If h is near 1, the other cells do not determine the cell.
LEAST_FREEDOM = 0.02
# Eigenvalues are kept apart by this share: of equal ones the axes are arbitrary.
APART = 1e-9


def cell_errors(
    axes: PrincipalAxes,
    most: int,
    rows: Indices | None = None,
    *,
    center: bool,
    curved: bool = True,
) -> Iterator[Array]:
    """Yield the left-out error of each cell, with 0, 1, ..., ``most`` axes: each (m, p).

    axes: all axes of a table, from its mean if ``center``; rows (m,): the indices of the rows to
    compute, all by default; curved: whether the axes turn with the cell, that is, with G.
    """
    n = len(axes.coordinates)
    c = 1.0 / n if center else 0.0
    scores = axes.coordinates if rows is None else axes.coordinates[rows]
    singular = np.sqrt(axes.eigenvalues)
    left, right = scores / singular, axes.basis
    rest = scores @ right.T
    by_row, by_column = np.zeros(len(scores)), np.zeros(len(right))
    curvature: Array = np.zeros(rest.shape if curved else (1, 1))
    yield rest / (1.0 - c)
    for a in range(most):
        rest = rest - np.outer(scores[:, a], right[:, a])
        by_row += left[:, a] ** 2
        by_column += right[:, a] ** 2
        if curved:
            curvature += _turning(left, right, axes.eigenvalues, a)
        leverage = c + by_row[:, None] + (1.0 - c) * by_column - np.outer(by_row, by_column)
        yield rest / np.maximum(1.0 - leverage - curvature, LEAST_FREEDOM)


def _turning(left: Array, right: Array, eigenvalues: Array, a: int) -> Array:
    """What axis a adds to G, (m, p)."""
    gaps = eigenvalues[a] - eigenvalues
    least = APART * eigenvalues[0]
    gaps = np.where(np.abs(gaps) < least, np.where(gaps < 0.0, -least, least), gaps)
    others = np.arange(len(eigenvalues)) != a
    squares = others * np.minimum(eigenvalues, eigenvalues[a]) / gaps
    cross = 2.0 * others * np.sqrt(eigenvalues) * (np.sqrt(eigenvalues[a]) / gaps)
    turned = np.outer(left[:, a] ** 2, right**2 @ squares)
    turned += np.outer(left**2 @ squares, right[:, a] ** 2)
    turned += np.outer(left[:, a], right[:, a]) * ((left * cross) @ right.T)
    return turned
