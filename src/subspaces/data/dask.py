"""Dask arrays in passes: every chunk visited where it is, what it tells summed in a tree.

Between two passes the labels stay with the workers, as chunks that Dask can make again: those of a
worker that dies are found anew, from its rows, by the passes that were. Of a chunk in hand only one
block of rows is worked on at a time.
"""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
from dask import compute, config, delayed, persist
from dask.array import Array, concatenate, from_array, from_delayed
from numpy.typing import NDArray
from scipy import sparse

from subspaces._validation import check_shape, check_survey
from subspaces.data.blocks import Visit
from subspaces.data.csr import blocks_within
from subspaces.data.flats import MOST_VARIABLES
from subspaces.data.survey import survey

# So many tallies are added at a time.
FAN = 8
# Flats and given labels travel inside the graph, once.
LARGE_GRAPH = {"distributed.admin.large-graph-warning-threshold": "10 GB"}


@dataclass(frozen=True)
class DaskBlocks:
    """The rows of a Dask array (n, p), every chunk with all columns.

    chunks: those that have rows; starts: the number of the first row of each, and n.
    """

    array: Any
    chunks: tuple[Any, ...]
    starts: NDArray[np.intp]

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
        """Whether the chunks are sparse matrices whose zeros are never written out."""
        return sparse.issparse(self.array._meta) and self.shape[1] > MOST_VARIABLES

    def fold(self, visit: Visit, labels: Any | None) -> tuple[Any, Any]:
        """Visit every chunk; what it gives per row stays where it is, the sum comes here."""
        pairs = self._visited(visit, labels)
        with watched():
            *values, told = persist(
                *(value for value, _ in pairs), summed([told for _, told in pairs])
            )
            return self._joined(values, self._model(visit, labels)), told.compute()

    def each(self, visit: Visit) -> Any:
        """What a visit gives for every row, found when it is asked for; rows are checked then."""
        pairs = self._visited(partial(visit_checked, visit=visit), None)
        values = [value for value, _ in pairs]
        return self._joined(values, self._model(visit, None))

    def _visited(self, visit: Visit, labels: Any | None) -> list[tuple[Any, Any]]:
        shared = delayed(visit, traverse=False)
        parts = [None] * len(self.chunks) if labels is None else labels.to_delayed()
        pairs = [
            delayed(visit_chunk, nout=2)(chunk, part, int(start), shared)
            for chunk, part, start in zip(self.chunks, parts, self.starts, strict=False)
        ]
        return [tuple(pair) for pair in pairs]

    def _model(self, visit: Visit, labels: Any | None) -> Any:
        """What the visit gives of one row of zeros: its type and width."""
        single = self.array.dtype == np.float32
        row = np.zeros((1, self.shape[1]), dtype=np.float32 if single else np.float64)
        rows = sparse.csr_array(row) if self.stays_sparse else row
        return visit(rows, None if labels is None else np.zeros(1, dtype=labels.dtype), 0)[0]

    def _joined(self, values: list[Any], model: Any) -> Any:
        if model is None:
            return None
        sizes = np.diff(self.starts).tolist()
        return concatenate(
            [
                from_delayed(value, (size, *model.shape[1:]), meta=model[:0])
                for value, size in zip(values, sizes, strict=True)
            ]
        )

    def sample(self, indices: NDArray[np.intp]) -> NDArray[np.float64]:
        """Some rows, brought here."""
        wanted = np.sort(indices)
        home = np.searchsorted(self.starts, wanted, side="right") - 1
        with watched():
            rows = compute(
                *(
                    delayed(take_rows)(self.chunks[i], wanted[home == i] - self.starts[i])
                    for i in np.unique(home)
                )
            )
        return np.concatenate(rows)

    def split(self, labels: NDArray[np.integer]) -> Any:
        """Labels in chunks like those of the rows."""
        sizes = tuple(np.diff(self.starts).tolist())
        with watched():
            return from_array(np.asarray(labels, dtype=np.int32), chunks=(sizes,)).persist()

    def join(self, labels: Any, numbers: NDArray[np.intp]) -> Any:
        """Labels as a Dask array, of 32 bits."""
        short = numbers.astype(np.int32)
        return labels.map_blocks(short.__getitem__, dtype=short.dtype)


def as_blocks(X: Any) -> DaskBlocks:
    """A Dask array, or the one call that would make it fit."""
    _check(X)
    sizes = np.array(X.chunks[0], dtype=np.intp)
    chunks = X.to_delayed().ravel()
    starts = np.concatenate([[0], np.cumsum(sizes[sizes > 0])])
    return DaskBlocks(X, tuple(chunks[sizes > 0]), starts)


def _check(X: Any) -> None:
    if not isinstance(X, Array):
        raise TypeError(
            f"X is a Dask {type(X).__name__}. Use a Dask array: "
            "X.to_dask_array(lengths=True) of a data frame"
        )
    check_shape(X.shape)
    if X.dtype.kind not in "fiub":
        raise TypeError(f"X is of type {X.dtype}. Use real numbers")
    if np.isnan(X.shape[0]):
        raise ValueError("X has chunks of unknown length. Use X.compute_chunk_sizes()")
    if len(X.chunks[1]) != 1:
        raise ValueError(
            f"X has {len(X.chunks[1])} chunks along its columns, and a row must be in one piece. "
            "Use X.rechunk({0: 'auto', 1: -1})"
        )


def visit_chunk(chunk: Any, labels: Any, start: int, visit: Visit) -> tuple[Any, Any]:
    """Visit one chunk, block by block; runs on a worker."""

    def shifted(rows: Any, own: Any, place: int) -> tuple[Any, Any]:
        return visit(rows, own, start + place)

    return blocks_within(chunk).fold(shifted, labels)


def visit_checked(rows: Any, labels: Any, start: int, visit: Visit) -> tuple[Any, Any]:
    """Visit rows that are finite; runs on a worker."""
    check_survey(survey(rows, labels, start)[1], rows.dtype)
    return visit(rows, labels, start)


def take_rows(chunk: Any, indices: NDArray[np.intp]) -> NDArray[np.float64]:
    """Some rows of one chunk; runs on a worker."""
    return blocks_within(chunk).sample(indices)


def summed(told: list[Any]) -> Any:
    """The sum of what chunks told, in their order, a few at a time."""
    total: Callable[[list[Any]], Any] = delayed(add_up)
    while len(told) > 1:
        told = [total(told[i : i + FAN]) for i in range(0, len(told), FAN)]
    return told[0]


def add_up(told: list[Any]) -> Any:
    """The sum in order; of nothing told, nothing."""
    return None if told[0] is None else reduce(add, told)


@contextmanager
def watched() -> Iterator[None]:
    """A context in which a scheduler that is lost is one clear error."""
    client = _client()
    try:
        with config.set({} if client is None else LARGE_GRAPH):
            yield
    except (CancelledError, OSError) as error:
        if client is None or client.status == "running":
            raise
        raise RuntimeError(
            "the Dask scheduler was lost, and the labels that its workers held. Use a new client "
            "and another fit"
        ) from error


def _client() -> Any:
    """The client of `distributed` that is at work, if there is one."""
    if "distributed" not in sys.modules:
        return None
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        return None
