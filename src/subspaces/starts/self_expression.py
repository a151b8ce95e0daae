"""Rows as combinations of other rows: functions that the self-expressive methods share.

Each row is written as ``x_i = sum_j C_ij x_j`` with ``C_ii = 0`` and few or small coefficients. On
a union of subspaces the other rows of its own subspace do that best, so ``|C| + |C|^T`` is a graph
whose parts are the subspaces [Elhamifar & Vidal 2013]. Row i of C belongs to row i of the data; C
is sparse, and is found for a block of rows at a time, so that no function here holds a dense array
of size (n, n).
"""

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from scipy import sparse
from scipy.sparse import csr_array

from subspaces._types import Array, Indices

Sparse: TypeAlias = csr_array  # (n, n)

# Numbers in one block of a dense (rows of the block, n) array.
BLOCK = 2**18


def row_blocks(n: int, numbers: int = BLOCK, fewest: int = 16) -> Iterator[Indices]:
    """Yield blocks of row indices, such that an array (block, n) has about ``numbers`` entries."""
    size = max(fewest, numbers // n)
    return (np.arange(first, min(first + size, n)) for first in range(0, n, size))


def unit_rows(rows: Array) -> Array:
    """Return the rows (n, p) scaled to length 1; a zero row stays zero."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)


def lifted_rows(rows: Array) -> Array:
    """Return ``[(x - mean) / rms, 1]``, (n, p + 1).

    It turns an affine subspace of dimension d into a linear one of dimension d + 1.
    """
    centred = rows - rows.mean(axis=0)
    rms = np.sqrt(np.mean(np.einsum("ij,ij->i", centred, centred)))
    return np.column_stack([centred / (rms if rms > 0 else 1.0), np.ones(len(rows))])


def products(rows: Array, block: Indices) -> Array:
    """Return inner products (b, n) of a block of rows with all rows, 0 for a row with itself."""
    inner = rows[block] @ rows.T
    inner[np.arange(len(block)), block] = 0.0
    return inner


def largest_products(rows: Array) -> Array:
    """Return ``max_{j != i} |<x_i, x_j>|`` of each row, (n,)."""
    return np.concatenate(
        [np.abs(products(rows, block)).max(axis=1) for block in row_blocks(len(rows))]
    )


def largest(values: Array, count: int) -> Indices:
    """Return the columns of the ``count`` largest values of each row, in no order: (b, count)."""
    rest = max(values.shape[1] - count, 0)
    return np.argpartition(values, rest, axis=1)[:, rest:].copy()  # a view would hold them all


def from_entries(columns: Indices, values: Array, n: int) -> Sparse:
    """Return a csr array (b, n) with these columns and values (b, m) in each row, zeros dropped."""
    starts = np.arange(len(columns) + 1) * columns.shape[1]
    matrix = sparse.csr_array(
        (values.ravel(), columns.ravel().astype(np.int32), starts), shape=(len(columns), n)
    )
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix


def affinity(
    coefficients: Sparse, *, share: float = 1.0, scale: bool = True, power: float = 1.0
) -> Sparse:
    """Return the graph ``|C| + |C|^T``, sparse, (n, n).

    First each row of ``|C|`` keeps its largest entries, the fewest whose sum reaches ``share`` of
    the row's sum, is divided by its largest (if ``scale``), and raised to a power.
    """
    weights = sparse.csr_array(abs(coefficients))
    if share < 1.0:
        weights = _keep_share(weights, share)
    if scale:
        top = weights.max(axis=1).toarray().ravel()
        weights.data /= np.repeat(top, np.diff(weights.indptr))
    weights.data **= power
    return sparse.csr_array(weights + weights.T)


def _keep_share(weights: Sparse, share: float) -> Sparse:
    """Return the graph with each row's largest entries alone, enough for ``share`` of its sum."""
    counts = np.diff(weights.indptr)
    owner = np.repeat(np.arange(len(counts)), counts)
    place = np.arange(len(owner)) - weights.indptr[owner]
    padded = np.zeros((len(counts), int(counts.max(initial=0))))
    padded[owner, place] = weights.data
    order = np.argsort(-padded, axis=1, kind="stable")
    values = np.take_along_axis(padded, order, axis=1)
    reached = np.cumsum(values, axis=1)
    kept = (reached - values < share * reached[:, -1:]) & (values > 0.0)
    rows, columns = np.nonzero(kept)
    chosen = weights.indptr[rows] + order[rows, columns]
    entries = (values[kept], (rows, weights.indices[chosen]))
    return sparse.csr_array(entries, shape=weights.shape)
