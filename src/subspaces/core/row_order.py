"""Whether neighbouring rows depend on each other, as those of a time series do.

Two figures, both of rows that were scaled to length one, so that far rows do not decide.

``z``: the sum ``S = sum_i <x_i, x_{i+1}>`` beside its mean and variance over all orders of the same
rows. With ``H`` the inner products (n, n) of different rows, 0 on the diagonal,
``T = sum H``, ``A = sum H^2`` and ``B`` the sum of the squared row sums of H. Two of the n - 1
pairs of neighbours are equal, share a row (2 (n - 2) times) or share none ((n - 2)(n - 3) times):

    E S = T/n,    E S^2 = A/n + 2 (B - A)/(n (n - 1)) + (T^2 - 4 B + 2 A)/(n (n - 1)).

``memory``: how much farther the next but one is than the neighbour, ``g_2/g_1 - 1`` with
``g_k = mean_i |x_{i+k} - x_i|^2``. It is rho if each row is rho times the one before plus noise,
and 1 in a random walk. In a table that is sorted by classes, or by a column, neighbours are alike
and z is large, but the next but one is as near: it is about 0.
"""

import numpy as np

from subspaces._types import Array

# Warn if both figures exceed these. Independent rows reach z = 4 once in 30,000 tables. If the
# memory is weaker, dependence adds few components. None of 33 real tables, sorted by class, exceeds
# both. Their memory is at most 0.27 beyond the components of a PCA, and 0.26 around clusters.
CLEAR_Z, MUCH_MEMORY = 4.0, 0.3
# Memory of samples around their mean that only a random walk has. A walk has 1, and those tables
# have at most 0.64, in one that is sorted by size.
WALKING = 0.75
# With fewer rows, no test of their order.
FEWEST_ROWS = 8
# Rows that are compared with their neighbours at a time.
BLOCK_ROWS = 64
# A row shorter than this share of the longest has no direction. A variance over the orders below
# this share of its first term is 0.
LEAST_LENGTH, LEAST_VARIANCE = 1e-9, 1e-9


def neighbours_depend(rows: Array, least_memory: float = MUCH_MEMORY) -> bool:
    """Whether rows (n, p), residuals of a model, are like their neighbours for a short while.

    least_memory: `MUCH_MEMORY` for residuals, `WALKING` for the samples themselves.
    """
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if len(rows) < FEWEST_ROWS or not lengths.any():
        return False
    kept = lengths > LEAST_LENGTH * lengths.max()
    directions = np.divide(rows, lengths, out=np.zeros_like(rows), where=kept)
    return likeness(directions) > CLEAR_Z and memory(directions) > least_memory


def likeness(rows: Array) -> float:
    """Return the z value of how alike neighbouring rows (n, p) are, among all orders of them."""
    n, p = rows.shape
    squares = np.einsum("ij,ij->i", rows, rows)
    others = rows @ rows.sum(axis=0) - squares
    scatter = rows.T @ rows if p < n else rows @ rows.T
    total, shared = float(others.sum()), float(np.sum(others**2))
    single = float(np.sum(scatter**2) - np.sum(squares**2))
    mean = total / n
    apart = (total**2 - 4.0 * shared + 2.0 * single) / (n * (n - 1))
    variance = single / n + 2.0 * (shared - single) / (n * (n - 1)) + apart - mean**2
    if variance <= LEAST_VARIANCE * single / n:  # all orders give the same sum
        return 0.0
    return float((np.einsum("ij,ij->", rows[:-1], rows[1:]) - mean) / np.sqrt(variance))


def memory(rows: Array) -> float:
    """Return how much farther the next but one is than the neighbour, as a share."""
    near, far = (_mean_squared_step(rows, k) for k in (1, 2))
    return float(far / near - 1.0) if near > 0.0 else 0.0


def _mean_squared_step(rows: Array, k: int) -> float:
    """Return the mean squared distance of rows (n, p) from the k-th after them."""
    total, last = 0.0, len(rows) - k
    for start in range(0, last, BLOCK_ROWS):
        end = min(start + BLOCK_ROWS, last)
        total += float(np.sum((rows[start + k : end + k] - rows[start:end]) ** 2))
    return total / last
