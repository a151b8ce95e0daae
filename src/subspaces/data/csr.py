"""The rows of a sparse matrix, a block at a time: never are all rows made dense.

With more than `MOST_VARIABLES` variables a block is multiplied as a sparse matrix. With fewer, one
block at a time is made dense, which is cheaper than a product of two sparse matrices.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from subspaces._types import Codes, Indices
from subspaces.data.blocks import BLOCK_NUMBERS, ArrayBlocks, Blocks, Visit, gathered, slices
from subspaces.data.subspaces import MOST_VARIABLES


@dataclass(frozen=True)
class SparseBlocks(Blocks):
    """The rows of a CSR matrix (n, p) in canonical form, of floats.

    block_rows: rows in a block, None for a number that follows from the density.
    """

    array: Any
    block_rows: int | None = None

    @property
    def stays_sparse(self) -> bool:
        """Whether blocks are sparse matrices; with few variables they are made dense."""
        return self.shape[1] > MOST_VARIABLES

    def fold(self, visit: Visit, labels: Any | None) -> tuple[Any, Any]:
        """Visit the blocks in turn; return joined values and the sum (see `Blocks.fold`).

        Not in threads: scipy's products hold Python's lock.
        """
        n, p = self.shape
        width = max(self.array.nnz // max(n, 1), 1) if self.stays_sparse else p
        parts = slices(n, self.block_rows or max(BLOCK_NUMBERS // width, 256))
        found = (
            visit(self._rows(part), None if labels is None else labels[part], part.start)
            for part in parts
        )
        return gathered(found, n)

    def _rows(self, part: slice) -> Any:
        """Return one block: sparse, sharing memory with the matrix, or dense if that is cheaper."""
        whole = self.array
        begin, end = whole.indptr[part.start], whole.indptr[part.stop]
        indptr = whole.indptr[part.start : part.stop + 1] - begin
        numbers = (whole.data[begin:end], whole.indices[begin:end], indptr)
        rows = sparse.csr_array(numbers, shape=(part.stop - part.start, self.shape[1]))
        return rows if self.stays_sparse else rows.toarray()

    def sample(self, indices: Indices) -> NDArray[np.float64]:
        """Return the rows with these indices, (m, p), dense, as float64."""
        return self.array[indices].toarray().astype(np.float64, copy=False)

    def split(self, labels: Codes) -> Any:
        """Convert labels (n,) to a numpy array of 32-bit integers."""
        return np.asarray(labels, dtype=np.int32)

    def join(self, labels: Any, numbers: Indices) -> Any:
        """Return ``numbers[label]`` for every label, (n,), as 32-bit integers."""
        return numbers.astype(np.int32)[labels]


def canonical(matrix: Any) -> Any:
    """Return a sparse matrix as CSR of floats without duplicate entries, copied only if needed."""
    rows = sparse.csr_array(matrix)
    if rows.dtype not in (np.float32, np.float64):
        rows = rows.astype(np.float64)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def blocks_within(rows: Any) -> ArrayBlocks | SparseBlocks:
    """Return the rows of one Dask chunk, sparse or dense, as `SparseBlocks` or `ArrayBlocks`."""
    if sparse.issparse(rows):
        return SparseBlocks(canonical(rows))
    floats = rows.dtype in (np.float32, np.float64)
    return ArrayBlocks(rows if floats else rows.astype(np.float64))
