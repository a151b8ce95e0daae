"""Self-expression by ridge regression: least squares regression, in closed form [Lu et al. 2012].

Each row is regressed on all others with a ridge relative to the mean eigenvalue of ``X X^T``. With
``X = U S V^T`` and the hat matrix ``H = U S^2 / (S^2 + ridge) U^T`` all leave-one-out regressions
are ``C_ij = H_ij / (1 - H_ii)``. ``U S`` and ``S^2`` come from the smaller of ``X X^T`` and ``X^T
X``: beside the ridge it does not matter that small eigenvalues have fewer digits then. Where the
inner products are at hand, ``H = I - ridge Q``, ``Q = (X X^T + ridge I)^-1``, so that ``C_ij = -
Q_ij / Q_ii``.
"""

import numpy as np
from scipy import sparse
from scipy.linalg import lapack

from subspaces._types import Array, Indices
from subspaces.core.eigenvalues import positive_eigenpairs, smaller_scatter
from subspaces.starts.self_expression import Sparse, from_entries, largest, row_blocks


def lsr_coefficients(rows: Array, keep: int, ridge: float = 0.01) -> Sparse:
    """Return the ``keep`` largest coefficients of each row, sparse, (n, n).

    ridge: relative to the mean eigenvalue of ``X X^T``.
    """
    n, p = rows.shape
    if not rows.any():
        return sparse.csr_array((n, n))
    values, vectors = positive_eigenpairs(smaller_scatter(rows), max(n, p))
    coordinates = vectors * np.sqrt(values) if n < p else rows @ vectors
    factor = coordinates / np.sqrt(values + ridge * values.mean())  # H = factor factor^T
    leverages = np.einsum("ij,ij->i", factor, factor)
    blocks = [
        _kept(factor[block] @ factor.T, block, 1.0 - leverages[block], keep)
        for block in row_blocks(n)
    ]
    return sparse.csr_array(sparse.vstack(blocks))


def lsr_from_products(products: Array, rank: int, keep: int, ridge: float = 0.01) -> Sparse:
    """Return `lsr_coefficients` of rows known by their inner products (n, n), of a known rank."""
    n, total = len(products), float(products.diagonal().sum())
    if total == 0.0:
        return sparse.csr_array((n, n))
    system = products + np.diag(np.full(n, ridge * total / rank))
    inverse = lapack.dpotri(lapack.dpotrf(system, lower=1)[0], lower=1)[0]
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    blocks = [
        _kept(-inverse[block], block, inverse.diagonal()[block], keep) for block in row_blocks(n)
    ]
    return sparse.csr_array(sparse.vstack(blocks))


def _kept(numerators: Array, block: Indices, denominators: Array, keep: int) -> Sparse:
    """Return the ``keep`` largest coefficients of a block of rows, (b, n), none for a row itself.

    numerators (b, n), overwritten, and denominators (b,): of all coefficients.
    """
    n = numerators.shape[1]
    numerators[np.arange(len(block)), block] = 0.0
    columns = largest(np.abs(numerators), min(keep, n - 1))
    values = np.take_along_axis(numerators, columns, axis=1) / denominators[:, None]
    return from_entries(columns, values, n)
