"""Subspaces that hold every row without error, found one after the other.

In a union without noise each row is a combination of as many others as its subspace has dimensions.
A row and those others therefore give the whole subspace, whose rows are then set aside. Rows of a
table with rounded values do so by chance, too, but few subspaces do not hold all of them.

Some rows of a plane may lie on one line, as whole numbers do, and the line may be found first. It
is dropped once the plane is found, which holds its rows.

An affine subspace of r dimensions is a linear one of r + 1 in rows with one more entry, a constant.
"""

from collections.abc import Iterator

import numpy as np

from subspaces._types import Array, Indices, Labels
from subspaces.subspace import principal_axes

# The share of the data's energy below which a squared residual is rounding.
EXACT = 1e-18
# The same while a subspace is known from few of its rows, which may be almost parallel.
NEARLY_EXACT = 1e-12
# A row takes no part in a combination if its term is below this share of the result.
NO_PART = 1e-7
# A subspace of r dimensions holds at least this many distinct rows more than r, not counting those
# that were set aside.
MORE_THAN_CHANCE = 3
# Rows that may fail to give a subspace, one after the other, before the search ends.
TRIES = 20


def exact_union(
    matrix: Array, max_components: int, affine: bool, most: int
) -> tuple[Labels, list[int]] | None:
    """Return labels (n,) and dimensions of subspaces that hold all rows; None if there are none.

    matrix (n, p). There are at most ``most`` subspaces of 1 to ``max_components`` dimensions, in
    ascending order. Rows that are repeated count once.
    """
    distinct, place = np.unique(matrix, axis=0, return_inverse=True)
    rows = _with_constant(distinct) if affine else distinct
    random = np.random.default_rng(0)
    left = np.flatnonzero(rows.any(axis=1))
    largest, energy = max_components + affine, float(np.sum(rows**2))
    found: list[tuple[int, Indices]] = []
    while len(left) and len(found) < most + TRIES:
        seeds = random.permutation(len(left))[:TRIES]
        each = (_subspace_of(rows, left, seed, largest, energy) for seed in seeds)
        r, members = next((one for one in each if one is not None), (0, left[:0]))
        if r <= affine:
            return None
        found = [one for one in found if not np.isin(one[1], members).all()]
        found.append((r, members))
        left = np.setdiff1d(left, members)
    if len(left) or len(found) > most:
        return None
    found.sort(key=lambda one: one[0])
    labels = np.zeros(len(rows), dtype=np.intp)
    for k, (_, members) in enumerate(found):
        labels[members] = k
    return labels[place.ravel()], [r - affine for r, _ in found]


def _with_constant(rows: Array) -> Array:
    """Return the rows from their mean, with a further entry as large as their root mean square."""
    centred = rows - rows.mean(axis=0)
    size = np.sqrt(np.mean(np.sum(centred**2, axis=1)))
    return np.column_stack([centred, np.full(len(rows), size)])


def _subspace_of(
    rows: Array, left: Indices, seed: int, largest: int, energy: float
) -> tuple[int, Indices] | None:
    """Return the dimension of the subspace of a row and all rows in it; None if there is none.

    Only rows that are left, of which ``seed`` is one, give the subspace.
    """
    few = rows[left]
    for others in _neighbours(few, seed, largest):
        basis = _span(few[seed], few[others])
        if basis is None:
            continue
        near = _within(rows, basis, NEARLY_EXACT * energy)
        members = _within(rows, principal_axes(rows[near]).basis[:, : len(basis.T)], EXACT * energy)
        if np.isin(left, members).sum() >= len(basis.T) + MORE_THAN_CHANCE:
            return len(basis.T), members
    return None


def _neighbours(rows: Array, seed: int, largest: int) -> Iterator[Indices]:
    """Yield two lists of up to ``largest`` rows that may span a row: by pursuit, and the nearest.

    Pursuit takes, one by one, the row that is most correlated with what is left of the seed. A row
    in the span of those before it is passed over, so that a combination of them is the only one.
    """
    squares = np.einsum("ij,ij->i", rows, rows)
    lengths = np.sqrt(squares)
    for pursued in (True, False):
        taken: list[int] = []
        residual, beyond = rows[seed], squares.copy()
        angles = np.abs(rows @ residual) / lengths
        while len(taken) < largest:
            free = beyond > NEARLY_EXACT * squares
            free[seed] = False
            if not free.any():
                break
            taken.append(int(np.argmax(np.where(free, angles, -1.0))))
            basis = np.linalg.qr(rows[taken].T)[0]
            beyond -= (rows @ basis[:, -1]) ** 2
            residual = rows[seed] - basis @ (basis.T @ rows[seed])
            if np.sum(residual**2) <= NO_PART**2 * squares[seed]:
                break
            if pursued:
                angles = np.abs(rows @ residual) / lengths
        yield np.array(taken, dtype=np.intp)


def _span(row: Array, others: Array) -> Array | None:
    """Return an orthonormal basis (p, r) of those others that a row is a combination of, or None.

    None if the row is no combination of them without error.
    """
    coefficients = np.linalg.lstsq(others.T, row, rcond=None)[0]
    length = np.linalg.norm(row)
    if np.sum((row - coefficients @ others) ** 2) > NEARLY_EXACT * length**2:
        return None
    terms = np.abs(coefficients) * np.linalg.norm(others, axis=1)
    parts = others[terms > NO_PART * length]
    return np.linalg.qr(parts.T)[0]


def _within(rows: Array, basis: Array, tolerance: float) -> Indices:
    """Return the rows (n, p) whose squared distance from the span of the basis is that small."""
    residuals = rows - (rows @ basis) @ basis.T
    return np.flatnonzero(np.einsum("ij,ij->i", residuals, residuals) <= tolerance)
