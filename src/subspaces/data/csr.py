"""The rows of a sparse matrix, a block at a time: zeros are never written out for all of them.

With many variables a block is multiplied as it is. Up to `MOST_VARIABLES` one block at a time is
made dense, which is cheaper than a product of two sparse matrices.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from subspaces.data.blocks import BLOCK_NUMBERS, ArrayBlocks, Visit, gathered
from subspaces.data.flats import MOST_VARIABLES


@dataclass(frozen=True)
class SparseBlocks:
    """The rows of a CSR matrix (n, p) in canonical form, of floats."""

    array: Any
    block_rows: int | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and variables."""
        return self.array.shape

    @property
    def rounded(self) -> bool:
        """Passes sum in double precision."""
        return False

    @property
    def stays_sparse(self) -> bool:
        """Whether the zeros of a block are never written out."""
        return self.shape[1] > MOST_VARIABLES

    def fold(self, visit: Visit, labels: Any | None) -> tuple[Any, Any]:
        """Visit the blocks one after the other: scipy's products hold Python's lock."""
        found = (
            visit(self._rows(part), None if labels is None else labels[part], part.start)
            for part in self._parts()
        )
        return gathered(found, self.shape[0])

    def each(self, visit: Visit) -> Any:
        """What a visit gives for every row."""
        return self.fold(visit, None)[0]

    def _parts(self) -> Iterator[slice]:
        n, p = self.shape
        width = max(self.array.nnz // max(n, 1), 1) if self.stays_sparse else p
        step = self.block_rows or max(BLOCK_NUMBERS // width, 256)
        return (slice(start, min(start + step, n)) for start in range(0, n, step))

    def _rows(self, part: slice) -> Any:
        """A block that shares its numbers with the matrix; dense where that is cheaper."""
        whole = self.array
        begin, end = whole.indptr[part.start], whole.indptr[part.stop]
        indptr = whole.indptr[part.start : part.stop + 1] - begin
        numbers = (whole.data[begin:end], whole.indices[begin:end], indptr)
        rows = sparse.csr_array(numbers, shape=(part.stop - part.start, self.shape[1]))
        return rows if self.stays_sparse else rows.toarray()

    def sample(self, indices: NDArray[np.intp]) -> NDArray[np.float64]:
        """Some rows, dense."""
        return self.array[indices].toarray().astype(np.float64, copy=False)

    def split(self, labels: NDArray[np.integer]) -> Any:
        """Labels beside the rows."""
        return np.asarray(labels, dtype=np.int32)

    def join(self, labels: Any, numbers: NDArray[np.intp]) -> Any:
        """Labels of 32 bits."""
        return numbers.astype(np.int32)[labels]


def canonical(matrix: Any) -> Any:
    """A sparse matrix as CSR of floats, every entry once; itself where it is so."""
    rows = sparse.csr_array(matrix)
    if rows.dtype not in (np.float32, np.float64):
        rows = rows.astype(np.float64)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def blocks_within(rows: Any) -> ArrayBlocks | SparseBlocks:
    """The rows of one chunk, sparse or dense, in blocks of their own."""
    if sparse.issparse(rows):
        return SparseBlocks(canonical(rows))
    floats = rows.dtype in (np.float32, np.float64)
    return ArrayBlocks(rows if floats else rows.astype(np.float64))
