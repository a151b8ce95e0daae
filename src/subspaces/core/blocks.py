"""Many rows, reached a block at a time: in memory, in a file, or on a device."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from subspaces.core.array_namespace import like, namespace, to_host

# A block's rows, scores and costs stay within the cache of a processor.
BLOCK_NUMBERS = 1 << 19

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

    def fold(self, visit: Visit, labels: Any | None) -> tuple[Any, Any]:
        """Visit every block once; what each gives per row, joined, and the sum of what it tells.

        The sum is taken in the order of the blocks, so that it does not depend on who was first.
        """

    def sample(self, indices: NDArray[np.intp]) -> NDArray[np.float64]:
        """Some rows, in main memory."""

    def split(self, labels: NDArray[np.integer]) -> Any:
        """Given labels, in the form of `fold`."""

    def join(self, labels: Any, numbers: NDArray[np.intp]) -> Any:
        """The labels as the caller of the estimator gets them, cluster k with ``numbers[k]``."""


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

    def fold(self, visit: Visit, labels: Any | None) -> tuple[Any, Any]:
        """Visit the blocks, side by side in threads."""

        def one(part: slice) -> tuple[Any, Any]:
            return visit(self.array[part], None if labels is None else labels[part], part.start)

        found = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")(
            delayed(one)(part) for part in self._parts()
        )
        values, total = [], None
        for value, told in found:
            values.append(value)
            total = told if total is None else total + told
        return _joined(values), total

    def _parts(self) -> Iterator[slice]:
        n, p = self.shape
        step = self.block_rows or max(BLOCK_NUMBERS // p, 256)
        return (slice(start, min(start + step, n)) for start in range(0, n, step))

    def sample(self, indices: NDArray[np.intp]) -> NDArray[np.float64]:
        """Some rows, in main memory."""
        xp = namespace(self.array)
        if xp is np:
            return np.asarray(self.array[indices], dtype=np.float64)
        chosen = xp.asarray(indices, device=self.array.device)
        return to_host(xp.take(self.array, chosen, axis=0), np.float64)

    def split(self, labels: NDArray[np.integer]) -> Any:
        """Labels beside the rows."""
        xp = namespace(self.array)
        if xp is np:
            return np.asarray(labels, dtype=np.int32)
        return xp.asarray(np.asarray(labels, dtype=np.int32), device=self.array.device)

    def join(self, labels: Any, numbers: NDArray[np.intp]) -> Any:
        """Labels of the library's usual integers."""
        xp = namespace(labels)
        if xp is np:
            return numbers[labels]
        return xp.take(like(numbers, labels, xp.int64), xp.astype(labels, xp.int64), axis=0)


def _joined(values: list[Any]) -> Any:
    """What the blocks gave per row, as one array; None where they gave nothing."""
    if values[0] is None:
        return None
    xp = namespace(values[0])
    return np.concatenate(values) if xp is np else xp.concat(values)
