"""Self-expression by ridge regression: least squares regression, in closed form [Lu et al. 2012].

Each row is regressed on all others with a ridge relative to the mean eigenvalue of ``X X^T``. With
``X = U S V^T`` and the hat matrix ``H = U S^2 / (S^2 + ridge) U^T`` all leave-one-out regressions
are ``C_ij = H_ij / (1 - H_ii)``.
"""

import numpy as np
from scipy import sparse

from subspaces.starts.self_expression import Array, Sparse, from_entries, largest, row_blocks
from subspaces.subspace import principal_axes


def lsr_coefficients(rows: Array, keep: int, ridge: float = 0.01) -> Sparse:
    """Return the ``keep`` largest coefficients of each row, sparse, (n, n).

    ridge: relative to the mean eigenvalue of ``X X^T``.
    """
    n = len(rows)
    axes = principal_axes(rows, 0)
    if axes.rank == 0:
        return sparse.csr_array((n, n))
    shrunk = 1.0 / (axes.eigenvalues + ridge * axes.eigenvalues.mean())
    blocks = []
    for block in row_blocks(n):
        hat = (axes.coordinates[block] * shrunk) @ axes.coordinates.T
        own = np.arange(len(block)), block
        leverage = hat[own]
        hat[own] = 0.0
        columns = largest(np.abs(hat), min(keep, n - 1))
        values = np.take_along_axis(hat, columns, axis=1) / (1.0 - leverage)[:, None]
        blocks.append(from_entries(columns, values, n))
    return sparse.csr_array(sparse.vstack(blocks))
