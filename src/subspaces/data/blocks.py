"""Many rows, reached a block at a time: in memory, in a file, on a device, or sparse.

Never are all rows of a sparse matrix made dense. With more than `MOST_VARIABLES` variables a block
is multiplied as a sparse matrix. With fewer, one block at a time is made dense, which is cheaper
than a product of two sparse matrices.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import get_config

from subspaces._types import AnyArray, Array, Block, Indices, Sparse
from subspaces.core.array import (
    as_floating,
    is_sparse,
    like,
    namespace,
    slices,
    to_host,
    zeros_like,
)
from subspaces.data.subspaces import MOST_VARIABLES, BlockSums
from subspaces.runtime.threads import map_in_threads

# A block has BLOCK_NUMBERS numbers, or BLOCK_ROWS rows if there are many variables, so that its
# sums are small compared with it. It has at most MOST_NUMBERS numbers.
BLOCK_NUMBERS, BLOCK_ROWS, MOST_NUMBERS = 1 << 19, 2048, 1 << 23

# On a device a block is at most 1 / SHARES of the rows, of up to FEW_VARIABLES variables (as few as
# the scores) and of more, so that its scores and sums stay within half of the data; our own kernels
# make fewer copies. A block also stays within scikit-learn's `working_memory`.
SHARES, KERNEL_SHARES, FEW_VARIABLES = (20, 4), (8, 4), 256
# Bytes that a block needs for every number in it.
BYTES_A_NUMBER = 16

# What is done to one block: its rows, its part of the labels, and the number of its first row give
# a value for every row and what is summed over the blocks; either may be None.
Visit = Callable[[Block, Any, int], tuple[Any, Any]]


class Blocks(ABC):
    """Data that a pass reaches block by block.

    array: the data that the user gave. Labels are one array in main memory or beside the rows, or
    chunks of a Dask array: `split` makes them, `fold` takes them, `join` turns them into a result.
    """

    array: Any

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and variables, (n, p)."""
        return self.array.shape

    @property
    def rounded(self) -> bool:
        """Whether passes sum in single precision, so that exact sums must follow the last pass."""
        return False

    @property
    def stays_sparse(self) -> bool:
        """Whether blocks are sparse matrices, from which no origin may be subtracted."""
        return False

    @abstractmethod
    def fold(self, visit: Visit, labels: AnyArray | None) -> tuple[Any, Any]:
        """Visit every block; return the values of all rows, joined, and the sum over the blocks.

        The sum is taken in the order of the blocks, whichever of them is done first.
        """

    def each(self, visit: Visit) -> Any:
        """Return the values (n, ...) that a visit gives the rows; a lazy array for Dask data."""
        return self.fold(visit, None)[0]

    @property
    def checked(self) -> Any:
        """The array: rows that were not looked at when the blocks were made are when they come."""
        return self.array

    @abstractmethod
    def sample(self, indices: Indices) -> NDArray[np.float64]:
        """Return the rows with these indices, (m, p), in main memory."""

    @abstractmethod
    def split(self, labels: AnyArray) -> Any:
        """Convert labels (n,) to what `fold` takes: 32-bit integers where the rows are."""

    @abstractmethod
    def join(self, labels: AnyArray, numbers: Indices) -> Any:
        """Return ``numbers[label]`` for every label, (n,), as 32-bit integers beside the rows."""


@dataclass(frozen=True)
class ArrayBlocks(Blocks):
    """The rows of one array (n, p), in memory or mapped from a file, on any device.

    n_threads: how many visit blocks side by side; block_rows: rows in a block, None for
    `usual_rows`.
    """

    array: Any
    n_threads: int = 1
    block_rows: int | None = None

    @property
    def rounded(self) -> bool:
        """Whether the rows are of single precision on a device, where double is often slow."""
        foreign = not isinstance(self.array, np.ndarray)
        return foreign and self.array.dtype == namespace(self.array).float32

    def fold(self, visit: Visit, labels: AnyArray | None) -> tuple[Any, Any]:
        """Visit the blocks in threads; return joined values and the sum (see `Blocks.fold`)."""

        def one(part: slice) -> tuple[Any, Any]:
            return visit(
                self.array[part, ...], None if labels is None else labels[part], part.start
            )

        with enough_memory(self):
            parts = slices(self.shape[0], self.block_rows or self.usual_rows)
            return gathered(map_in_threads(self.n_threads)(one, parts), self.shape[0])

    @property
    def usual_rows(self) -> int:
        """Number of rows in a block if ``block_rows`` is None."""
        p = self.shape[1]
        return min(max(BLOCK_NUMBERS // p, BLOCK_ROWS), max(MOST_NUMBERS // p, 256))

    def sample(self, indices: Indices) -> NDArray[np.float64]:
        """Return the rows with these indices, (m, p), in main memory, as float64."""
        return to_host(rows_of(self.array, indices), np.float64)

    def split(self, labels: AnyArray) -> Any:
        """Convert labels (n,) to 32-bit integers of the library and on the device of the rows."""
        xp = namespace(self.array)
        if namespace(labels) is xp and xp is not np:
            return xp.astype(labels, xp.int32)
        return like(to_host(labels), self.array, xp.int32)

    def join(self, labels: AnyArray, numbers: Indices) -> Any:
        """Return ``numbers[label]`` for every label, (n,): 32-bit integers where the labels are."""
        xp = namespace(labels)
        if xp is not np:
            return xp.take(like(numbers, labels, xp.int32), xp.astype(labels, xp.int64), axis=0)
        short = numbers.astype(np.int32)
        # In blocks: numpy makes a copy of 64 bits of what it indexes with.
        return self.in_one_thread().fold(lambda rows, own, start: (short[own], None), labels)[0]

    def in_one_thread(self) -> "ArrayBlocks":
        """Return the same blocks for visits that are over before a thread would have begun."""
        return replace(self, n_threads=1)


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

    def fold(self, visit: Visit, labels: AnyArray | None) -> tuple[Any, Any]:
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

    def _rows(self, part: slice) -> Block:
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

    def split(self, labels: AnyArray) -> Any:
        """Convert labels (n,) to a numpy array of 32-bit integers."""
        return np.asarray(labels, dtype=np.int32)

    def join(self, labels: AnyArray, numbers: Indices) -> Any:
        """Return ``numbers[label]`` for every label, (n,), as 32-bit integers."""
        return numbers.astype(np.int32)[labels]


def canonical(matrix: Sparse) -> Sparse:
    """Return a sparse matrix as CSR of floats without duplicate entries, copied only if needed."""
    rows = sparse.csr_array(matrix)
    if rows.dtype not in (np.float32, np.float64):
        rows = rows.astype(np.float64)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def blocks_within(rows: Block) -> ArrayBlocks | SparseBlocks:
    """Return the rows of one Dask chunk, sparse or dense, as `SparseBlocks` or `ArrayBlocks`."""
    return SparseBlocks(canonical(rows)) if is_sparse(rows) else ArrayBlocks(as_floating(rows))


def at_once(blocks: Blocks) -> Blocks:
    """Return blocks that hold all rows of a device in one block; other data are returned unchanged.

    For visits that need no memory beside the rows.
    """
    if isinstance(blocks, ArrayBlocks) and not isinstance(blocks.array, np.ndarray):
        return replace(blocks, block_rows=blocks.shape[0])
    return blocks


def in_single(blocks: Blocks) -> bool:
    """Whether the rows are of single precision."""
    return "float32" in str(blocks.array.dtype)


def as_held(origin: Array, blocks: Blocks) -> Array:
    """Return the origin (p,), rounded to single precision if the rows of the blocks have it."""
    return origin.astype(np.float32).astype(np.float64) if in_single(blocks) else origin


def least_divisor(blocks: Blocks) -> float:
    """Return the smallest normal number of the rows' precision: safe to divide by."""
    return float(np.finfo(np.float32 if in_single(blocks) else np.float64).tiny)


def rows_of(array: AnyArray, indices: Indices) -> AnyArray:
    """Return the rows of an array with these indices, (m, p), on its device."""
    xp = namespace(array)
    if xp is np:
        return array[indices]
    return xp.take(array, like(indices, array, xp.int64), axis=0)


def gathered(found: Iterable[tuple[Any, Any]], n_rows: int) -> tuple[Any, Any]:
    """Join the values that visits gave the rows, (n, ...), and add up the sums (`Blocks.fold`)."""
    joined: Any = None
    total, start = None, 0
    for value, sums in found:
        if value is not None:
            if joined is None:
                joined = zeros_like(value, (n_rows, *value.shape[1:]))
            joined[start : start + value.shape[0], ...] = value
            start += value.shape[0]
        total = sums if total is None else total + sums
        del value, sums  # before the next block is visited
    return joined, total.to_host() if isinstance(total, BlockSums) else total


@contextmanager
def enough_memory(blocks: ArrayBlocks) -> Iterator[None]:
    """A context that turns a device's out-of-memory error into a MemoryError with advice."""
    try:
        yield
    except Exception as error:
        if type(error).__name__ != "OutOfMemoryError":
            raise
        rows = blocks.block_rows or blocks.shape[0]
        smaller = max(rows * BYTES_A_NUMBER * blocks.shape[1] // 4 // 2**20, 1)
        raise MemoryError(
            f"The device has too little memory for {rows} samples at once. Run "
            f"sklearn.set_config(working_memory={smaller}) first."
        ) from error


def working_memory() -> int:
    """Return the bytes that the temporary arrays of a block may take, by scikit-learn's setting."""
    return int(get_config()["working_memory"] * 2**20)


def device_rows(shape: tuple[int, ...], by_kernels: bool = False) -> int:
    """Return the number of rows in a block on a device, for data of shape (n, p)."""
    n, p = shape
    shares = KERNEL_SHARES if by_kernels else SHARES
    allowed = working_memory() // (BYTES_A_NUMBER * p)
    return max(min(-(-n // shares[p > FEW_VARIABLES]), allowed), 1)
