"""Many rows, reached a block at a time: in memory, in a file, or on a device."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn import get_config

from subspaces.core.array_namespace import like, namespace, to_host, zeros_beside
from subspaces.data.flats import Tally

# A block has so many numbers, and with many variables so many rows, that what it tells is small
# beside it; but never more than the most.
BLOCK_NUMBERS, BLOCK_ROWS, MOST_NUMBERS = 1 << 19, 4096, 1 << 23
# A large block has up to so many times the rows, as long as there are so many blocks for threads.
LARGE, FEW_BLOCKS = 4, 8

# On a device a block is at most this share of the rows, of few variables (as few as the scores) and
# of many, so that its scores and sums stay within half of the data (kernels of our own make fewer
# copies); and of what scikit-learn's `working_memory` has.
SHARES, KERNEL_SHARES, FEW_VARIABLES = (20, 4), (8, 4), 256
# What a block needs for every number in it.
BYTES_A_NUMBER = 16

# What is done to one block: its rows, its part of the labels, and the number of its first row.
Visit = Callable[[Any, Any, int], tuple[Any, Any]]


class Blocks(Protocol):
    """What a pass asks of the data. Labels are whatever `fold` makes of them."""

    @property
    def array(self) -> Any:
        """The data as they were given."""

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and variables."""

    @property
    def rounded(self) -> bool:
        """Whether passes sum in single precision, and an exact finish must follow."""

    @property
    def stays_sparse(self) -> bool:
        """Whether nothing may be taken from the rows, so that their zeros remain zeros."""

    def fold(self, visit: Visit, labels: Any | None) -> tuple[Any, Any]:
        """Visit every block once; what each gives per row, joined, and the sum of what it tells.

        The sum is taken in the order of the blocks, so that it does not depend on who was first.
        """

    def each(self, visit: Visit) -> Any:
        """What a visit gives for every row, as the caller of the estimator gets it."""

    def sample(self, indices: NDArray[np.intp]) -> NDArray[np.float64]:
        """Some rows, in main memory."""

    def split(self, labels: Any) -> Any:
        """Given labels, in the form of `fold`."""

    def join(self, labels: Any, numbers: NDArray[np.intp]) -> Any:
        """The labels as the caller gets them, of 32 bits, cluster k with ``numbers[k]``."""


@dataclass(frozen=True)
class ArrayBlocks:
    """The rows of one array (n, p), in memory or mapped from a file, on any device."""

    array: Any
    n_jobs: int | None = None
    block_rows: int | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and variables."""
        return self.array.shape

    @property
    def rounded(self) -> bool:
        """On a device, sums of single precision: double is slow on many."""
        foreign = not isinstance(self.array, np.ndarray)
        return foreign and self.array.dtype == namespace(self.array).float32

    @property
    def stays_sparse(self) -> bool:
        """There are no zeros to keep."""
        return False

    def fold(self, visit: Visit, labels: Any | None) -> tuple[Any, Any]:
        """Visit the blocks, side by side in threads."""

        def one(part: slice) -> tuple[Any, Any]:
            return visit(
                self.array[part, ...], None if labels is None else labels[part], part.start
            )

        with side_by_side(self.n_jobs) as each, enough_memory(self):
            return gathered(each(one, self._parts()), self.shape[0])

    def each(self, visit: Visit) -> Any:
        """What a visit gives for every row."""
        return self.fold(visit, None)[0]

    @property
    def usual_rows(self) -> int:
        """How many rows a block has if nothing is said."""
        p = self.shape[1]
        return min(max(BLOCK_NUMBERS // p, BLOCK_ROWS), max(MOST_NUMBERS // p, 256))

    def _parts(self) -> Iterator[slice]:
        n, step = self.shape[0], self.block_rows or self.usual_rows
        return (slice(start, min(start + step, n)) for start in range(0, n, step))

    def sample(self, indices: NDArray[np.intp]) -> NDArray[np.float64]:
        """Some rows, in main memory."""
        return to_host(rows_of(self.array, indices), np.float64)

    def split(self, labels: Any) -> Any:
        """Labels beside the rows."""
        xp = namespace(self.array)
        if namespace(labels) is xp and xp is not np:
            return xp.astype(labels, xp.int32)
        return like(to_host(labels), self.array, xp.int32)

    def join(self, labels: Any, numbers: NDArray[np.intp]) -> Any:
        """Labels of 32 bits."""
        xp = namespace(labels)
        if xp is not np:
            return xp.take(like(numbers, labels, xp.int32), xp.astype(labels, xp.int64), axis=0)
        short = numbers.astype(np.int32)
        # In blocks: numpy makes a copy of 64 bits of what it indexes with.
        return self.fold(lambda rows, own, start: (short[own], None), labels)[0]


def at_once(blocks: Blocks) -> Blocks:
    """For visits that need no room beside the rows: those of a device in one block."""
    if isinstance(blocks, ArrayBlocks) and not isinstance(blocks.array, np.ndarray):
        return replace(blocks, block_rows=blocks.shape[0])
    return blocks


def in_large_blocks(blocks: Blocks) -> Blocks:
    """For visits that need little room beside the rows, and tell much of every block."""
    if not isinstance(blocks, ArrayBlocks) or blocks.block_rows is not None:
        return blocks
    usual, few = blocks.usual_rows, -(-blocks.shape[0] // FEW_BLOCKS)
    return replace(blocks, block_rows=min(max(usual, few), LARGE * usual))


def in_single(blocks: Blocks) -> bool:
    """Whether the rows are of single precision."""
    return "float32" in str(blocks.array.dtype)


def least_divisor(blocks: Blocks) -> float:
    """What numbers of the rows' type can be divided by, and not by less."""
    return float(np.finfo(np.float32 if in_single(blocks) else np.float64).tiny)


def rows_of(array: Any, indices: NDArray[np.intp]) -> Any:
    """Some rows of an array, where the others are."""
    xp = namespace(array)
    if xp is np:
        return array[indices]
    return xp.take(array, like(indices, array, xp.int64), axis=0)


def gathered(found: Iterable[tuple[Any, Any]], n_rows: int) -> tuple[Any, Any]:
    """What the blocks gave per row, joined, and the sum of what they told."""
    joined: Any = None
    total, start = None, 0
    for value, told in found:
        if value is not None:
            if joined is None:
                joined = zeros_beside(value, (n_rows, *value.shape[1:]))
            joined[start : start + value.shape[0], ...] = value
            start += value.shape[0]
        total = told if total is None else total + told
        del value, told  # before the next block is visited
    return joined, total.at_home() if isinstance(total, Tally) else total


@contextmanager
def enough_memory(blocks: ArrayBlocks) -> Iterator[None]:
    """A context in which a device that runs out of memory is one clear error."""
    try:
        yield
    except Exception as error:
        if type(error).__name__ != "OutOfMemoryError":
            raise
        rows = blocks.block_rows or blocks.shape[0]
        smaller = max(rows * BYTES_A_NUMBER * blocks.shape[1] // 4 // 2**20, 1)
        raise MemoryError(
            f"the device has no room for what a block of {rows} rows needs beside the data. Use "
            f"blocks of {max(rows // 4, 1)}: sklearn.set_config(working_memory={smaller})"
        ) from error


@contextmanager
def side_by_side(n_jobs: int | None) -> Iterator[Callable[..., Iterable[Any]]]:
    """A ``map`` whose calls run in threads; in order, and with one job in the caller's thread."""
    n_threads = effective_n_jobs(n_jobs)
    if n_threads == 1:
        yield map
        return
    with ThreadPoolExecutor(n_threads) as pool:
        yield pool.map


def working_memory() -> int:
    """Bytes that what is made of a block may take."""
    return int(get_config()["working_memory"] * 2**20)


def device_rows(shape: tuple[int, ...], by_kernels: bool = False) -> int:
    """Rows of a block on a device."""
    n, p = shape
    shares = KERNEL_SHARES if by_kernels else SHARES
    allowed = working_memory() // (BYTES_A_NUMBER * p)
    return max(min(-(-n // shares[p > FEW_VARIABLES]), allowed), 1)
