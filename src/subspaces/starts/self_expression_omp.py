"""Self-expression by orthogonal matching pursuit [You, Robinson & Vidal 2016].

Step by step each row takes the other row that is most correlated with its residual, and the
residual is what is left after projecting on all rows taken. All rows of a block take their step
together. The rows taken are orthogonalised as they come, ``A = R^T Q``, so that a residual costs
one projection; the coefficients on A come from the triangles R at the end. Rows that are known by
their inner products take the same steps by the normal equations.
"""

import numpy as np
from scipy import sparse

from subspaces._types import Array, Indices
from subspaces.starts.self_expression import Sparse, from_entries, row_blocks

# A row taken must leave the span of those before by this share of its length.
INDEPENDENT = 1e-8


def omp_coefficients(rows: Array, n_nonzero: int, tolerance: float = 1e-6) -> Sparse:
    """Return the coefficients of each row on at most ``n_nonzero`` other rows, sparse, (n, n).

    rows: (n, p), of unit length for the correlations to be comparable. A row stops when its
    residual is at most ``tolerance`` times as long as the row itself.
    """
    n, p = rows.shape
    steps = min(n_nonzero, n - 1, p)
    short = rows.astype(np.float32)  # digits enough to tell which row correlates most
    blocks = [_pursue(rows, short, block, steps, tolerance) for block in row_blocks(n)]
    return sparse.csr_array(sparse.vstack(blocks))


def omp_from_products(products: Array, n_nonzero: int, tolerance: float = 1e-6) -> Sparse:
    """Return `omp_coefficients` of rows that are known by their inner products (n, n) alone."""
    n = len(products)
    steps = min(n_nonzero, n - 1)
    blocks = [_pursue_products(products, block, steps, tolerance) for block in row_blocks(n)]
    return sparse.csr_array(sparse.vstack(blocks))


def _pursue_products(products: Array, block: Indices, steps: int, tolerance: float) -> Sparse:
    """Return the coefficients of a block of rows, (b, n), by the normal equations of each step."""
    own, squared = products[block], products.diagonal()
    taken, values = np.zeros((len(block), steps), np.intp), np.zeros((len(block), steps))
    active, left = np.arange(len(block)), squared[block]
    for step in range(steps):
        active = active[left[active] > tolerance**2 * squared[block[active]]]
        before = taken[active, :step]
        rest = own[active] - np.einsum("bt,btn->bn", values[active, :step], products[before])
        chosen, most = _largest_other(np.abs(rest), block[active], before)
        found = most > INDEPENDENT * np.sqrt(left[active] * squared[chosen])
        active, chosen = active[found], chosen[found]
        if not len(active):
            break
        taken[active, step] = chosen
        now = taken[active, : step + 1]
        right = np.take_along_axis(own[active], now, axis=1)
        system = products[now[:, :, None], now[:, None, :]]
        solved = np.linalg.solve(system, right[:, :, None])[:, :, 0]
        values[active, : step + 1] = solved
        left[active] = squared[block[active]] - np.einsum("bt,bt->b", right, solved)
    return from_entries(taken, values, len(products))


def _largest_other(correlations: Array, own: Indices, taken: Indices) -> tuple[Indices, Array]:
    """Return the column of the largest correlation of each row, (b,), and its value, (b,).

    correlations (b, n), overwritten; own (b,): the rows themselves; taken (b, t): rows taken
    before. Neither is eligible.
    """
    place = np.arange(len(own))
    correlations[place, own] = -1.0
    correlations[place[:, None], taken] = -1.0
    chosen = correlations.argmax(axis=1)
    return chosen, correlations[place, chosen]


def _pursue(rows: Array, short: Array, block: Indices, steps: int, tolerance: float) -> Sparse:
    """Return the coefficients of a block of rows, (b, n); short: the rows in single precision."""
    size, p = len(block), rows.shape[1]
    taken = np.zeros((size, steps), dtype=np.intp)
    directions = np.zeros((size, steps, p))
    triangles = np.broadcast_to(np.eye(steps), (size, steps, steps)).copy()
    heights = np.zeros((size, steps))
    residual = rows[block]
    enough = tolerance * np.linalg.norm(residual, axis=1)
    active = np.arange(size)
    for step in range(steps):
        active = active[np.linalg.norm(residual[active], axis=1) > enough[active]]
        lengths = np.linalg.norm(residual[active], axis=1, keepdims=True)
        correlations = (residual[active] / lengths).astype(np.float32) @ short.T
        chosen, most = _largest_other(
            np.abs(correlations, out=correlations), block[active], taken[active, :step]
        )
        active, chosen = active[most > 0.0], chosen[most > 0.0]
        if not len(active):
            break
        shadow, direction = _orthogonal_part(rows[chosen], directions[active, :step])
        length = np.linalg.norm(direction, axis=1)
        independent = length > INDEPENDENT * np.linalg.norm(rows[chosen], axis=1)
        active, chosen = active[independent], chosen[independent]
        direction = direction[independent] / length[independent, None]
        height = np.einsum("ij,ij->i", residual[active], direction)
        taken[active, step] = chosen
        directions[active, step] = direction
        triangles[active, :step, step] = shadow[independent]
        triangles[active, step, step] = length[independent]
        heights[active, step] = height
        residual[active] -= height[:, None] * direction
    values = np.linalg.solve(triangles, heights[:, :, None])[:, :, 0]
    return from_entries(taken, values, len(rows))


def _orthogonal_part(atoms: Array, directions: Array) -> tuple[Array, Array]:
    """Return the components (b, t) of atoms (b, p) along orthonormal directions, and the rest.

    directions (b, t, p). Done twice: the second pass takes away what rounding left.
    """
    first = np.einsum("btp,bp->bt", directions, atoms)
    rest = atoms - np.einsum("bt,btp->bp", first, directions)
    second = np.einsum("btp,bp->bt", directions, rest)
    return first + second, rest - np.einsum("bt,btp->bp", second, directions)
