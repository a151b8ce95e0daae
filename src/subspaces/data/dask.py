"""Dask arrays in passes: each worker visits its own chunks, and the sums are added in a tree.

Between two passes the labels stay with the workers, as chunks that Dask can recompute: if a worker
dies, its labels are found from its rows by repeating the passes that led to them. A worker holds
one block of rows at a time beside its chunk.
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

from subspaces._types import AnyArray, Block, Indices
from subspaces.data.blocks import Blocks, Visit, blocks_within
from subspaces.data.subspaces import MOST_VARIABLES
from subspaces.data.survey import survey
from subspaces.data.validation import check_shape, check_survey
from subspaces.messages import ParameterError, ParameterTypeError

# Chunks whose sums one task adds. This gives a tree of few levels with small tasks.
FAN = 8
# Subspaces and given labels travel inside the graph, once, which is no reason for a warning.
LARGE_GRAPH = {"distributed.admin.large-graph-warning-threshold": "10 GB"}


@dataclass(frozen=True)
class DaskBlocks(Blocks):
    """The rows of a Dask array (n, p), every chunk with all columns.

    chunks: all that have rows; starts: the number of the first row of each chunk, and n last.
    """

    array: Array
    chunks: tuple[Any, ...]
    starts: Indices

    @property
    def stays_sparse(self) -> bool:
        """Whether the chunks are sparse matrices whose zeros are never written out."""
        return sparse.issparse(self.array._meta) and self.shape[1] > MOST_VARIABLES

    def fold(self, visit: Visit, labels: Array | None) -> tuple[Any, Any]:
        """Visit every chunk; return the values (n, ...), a Dask array, and the sum over the chunks.

        The values stay with the workers, the sum is fetched.
        """
        pairs = self._visited(visit, labels)
        with watched():
            *values, total = persist(
                *(value for value, _ in pairs), summed([sums for _, sums in pairs])
            )
            return self._joined(values, self._model(visit, labels)), total.compute()

    @property
    def checked(self) -> Array:
        """The array, lazy; computing it also checks the rows."""
        return self.array.map_blocks(checked_chunk, dtype=self.array.dtype, meta=self.array._meta)

    def each(self, visit: Visit) -> Array:
        """Return the values of all rows as a lazy Dask array; computing it also checks the rows."""
        pairs = self._visited(partial(visit_checked, visit=visit), None)
        values = [value for value, _ in pairs]
        return self._joined(values, self._model(visit, None))

    def _visited(self, visit: Visit, labels: Array | None) -> list[tuple[Any, Any]]:
        shared = delayed(visit, traverse=False)
        parts = [None] * len(self.chunks) if labels is None else labels.to_delayed()
        pairs = [
            delayed(visit_chunk, nout=2)(chunk, part, int(start), shared)
            for chunk, part, start in zip(self.chunks, parts, self.starts, strict=False)
        ]
        return [tuple(pair) for pair in pairs]

    def _model(self, visit: Visit, labels: Array | None) -> AnyArray | None:
        """Return what the visit gives one row of zeros: shows the type and width of its values."""
        single = self.array.dtype == np.float32
        row = np.zeros((1, self.shape[1]), dtype=np.float32 if single else np.float64)
        rows = sparse.csr_array(row) if self.stays_sparse else row
        return visit(rows, None if labels is None else np.zeros(1, dtype=labels.dtype), 0)[0]

    def _joined(self, values: list[Array], model: AnyArray | None) -> Array | None:
        if model is None:
            return None
        sizes = np.diff(self.starts).tolist()
        return concatenate(
            [
                from_delayed(value, (size, *model.shape[1:]), meta=model[:0])
                for value, size in zip(values, sizes, strict=True)
            ]
        )

    def sample(self, indices: Indices) -> NDArray[np.float64]:
        """Return the rows with these indices, (m, p), in ascending order, fetched from workers."""
        wanted = np.sort(indices)
        chunk_of = np.searchsorted(self.starts, wanted, side="right") - 1
        with watched():
            rows = compute(
                *(
                    delayed(take_rows)(self.chunks[i], wanted[chunk_of == i] - self.starts[i])
                    for i in np.unique(chunk_of)
                )
            )
        return np.concatenate(rows)

    def split(self, labels: AnyArray) -> Array:
        """Convert labels (n,) to a Dask array of 32 bits, chunked like the rows."""
        sizes = tuple(np.diff(self.starts).tolist())
        with watched():
            return from_array(np.asarray(labels, dtype=np.int32), chunks=(sizes,)).persist()

    def join(self, labels: Array, numbers: Indices) -> Array:
        """Return ``numbers[label]`` for every label, as a lazy Dask array (n,) of 32 bits."""
        short = numbers.astype(np.int32)
        return labels.map_blocks(short.__getitem__, dtype=short.dtype)


def as_blocks(X: Array) -> DaskBlocks:
    """Return a Dask array as `DaskBlocks`; an error names the call that makes an array usable."""
    _check(X)
    sizes = np.array(X.chunks[0], dtype=np.intp)
    chunks = X.to_delayed().ravel()
    starts = np.concatenate([[0], np.cumsum(sizes[sizes > 0])])
    return DaskBlocks(X, tuple(chunks[sizes > 0]), starts)


def _check(X: Array) -> None:
    if not isinstance(X, Array):
        raise ParameterTypeError(
            "X",
            f"<X> is a Dask {type(X).__name__}. Convert it to a Dask array: "
            "X.to_dask_array(lengths=True).",
        )
    check_shape(X.shape)
    if X.dtype.kind not in "fiub":
        raise ParameterTypeError("X", f"<X> has type {X.dtype}. Convert it to real numbers.")
    if np.isnan(X.shape[0]):
        raise ParameterError(
            "X", "<X> has chunks of unknown length. Call X.compute_chunk_sizes() first."
        )
    if len(X.chunks[1]) != 1:
        raise ParameterError(
            "X",
            f"<X> is split into {len(X.chunks[1])} chunks along its columns. Join them: "
            "X.rechunk({{0: 'auto', 1: -1}}).",
        )


def visit_chunk(chunk: Block, labels: AnyArray | None, start: int, visit: Visit) -> tuple[Any, Any]:
    """Visit one chunk, block by block; return its values and its sum. Runs on a worker."""

    def shifted(rows: Block, own: AnyArray | None, place: int) -> tuple[Any, Any]:
        return visit(rows, own, start + place)

    return blocks_within(chunk).fold(shifted, labels)


def visit_checked(
    rows: Block, labels: AnyArray | None, start: int, visit: Visit
) -> tuple[Any, Any]:
    """Return ``visit(rows, labels, start)`` after a check that all values are finite."""
    check_survey(survey(rows, labels, start)[1], rows.dtype)
    return visit(rows, labels, start)


def checked_chunk(chunk: Block, block_info: Any = None) -> Block:
    """Return a chunk after a check that all values are finite; runs on a worker."""
    rows, start = blocks_within(chunk).array, int(block_info[0]["array-location"][0][0])
    check_survey(survey(rows, None, start)[1], rows.dtype)
    return chunk


def take_rows(chunk: Block, indices: Indices) -> NDArray[np.float64]:
    """Return the rows of one chunk with these indices, dense, as float64; runs on a worker."""
    return blocks_within(chunk).sample(indices)


def summed(sums: list[Any]) -> Any:
    """Return the delayed sum over the chunks, in order, by a tree of tasks that add 8 each."""
    add_some: Callable[[list[Any]], Any] = delayed(add_up)
    while len(sums) > 1:
        sums = [add_some(sums[i : i + FAN]) for i in range(0, len(sums), FAN)]
    return sums[0]


def add_up(sums: list[Any]) -> Any:
    """Return the sum of a list, in order; None if the visits sum nothing. Runs on a worker."""
    return None if sums[0] is None else reduce(add, sums)


@contextmanager
def watched() -> Iterator[None]:
    """A context that turns the loss of the Dask scheduler into a RuntimeError with advice."""
    client = _client()
    try:
        with config.set({} if client is None else LARGE_GRAPH):
            yield
    except (CancelledError, OSError) as error:
        if client is None or client.status == "running":
            raise
        raise RuntimeError(
            "The connection to the Dask scheduler was lost, and the labels with it. Fit again "
            "with a new client."
        ) from error


def _client() -> Any:
    """Return the current client of `distributed`; None if there is none."""
    if "distributed" not in sys.modules:
        return None
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        return None
