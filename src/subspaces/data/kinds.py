"""Data as users give them: which are read in blocks, and the one pass that checks those."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from subspaces._types import Array
from subspaces.core.array import as_floating, is_dask, to_host
from subspaces.data import pass_kernels
from subspaces.data.blocks import ArrayBlocks, Blocks, SparseBlocks, at_once, canonical, device_rows
from subspaces.data.devices import device_of
from subspaces.data.survey import Survey, survey
from subspaces.data.validation import as_matrix, check_real, check_shape, check_survey
from subspaces.runtime.threads import usable_threads

# Up to this many rows, fit a dense array as one matrix, which is faster than passes.
FEW_ROWS = 10_000
# Sparse and Dask rows of up to this many numbers (128 MB), and of up to FEW_ROWS rows, are looked
# at for copies and single samples as dense ones are.
MOST_NUMBERS = 1 << 24


@dataclass(frozen=True)
class SurveyedBlocks:
    """Many rows in blocks, and the `Survey` of the first pass over them."""

    blocks: Blocks
    survey: Survey

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and variables, (n, p)."""
        return self.blocks.shape

    def few_rows(self) -> Array | None:
        """Return all rows (n, p) in main memory, to compare them; None if they are many."""
        n, p = self.blocks.shape
        few = n <= FEW_ROWS and n * p <= MOST_NUMBERS
        return self.blocks.sample(np.arange(n)) if few else None


def blocks_of(X: Any, *, missing: bool = False) -> Blocks | None:
    """Return X as `Blocks`; None for a dense array of up to ``FEW_ROWS`` rows.

    missing: whether NaN is a cell that was not observed, for tables that are copied.
    """
    if is_dask(X):
        from subspaces.data.dask import as_blocks

        return as_blocks(X)
    if sparse.issparse(X):
        check_shape(X.shape)
        check_real(X)
        return SparseBlocks(canonical(X))
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) != 2 or shape[0] <= FEW_ROWS or shape[1] == 0:
        return None
    if device_of(X) is not None:
        X = pass_kernels.as_torch(X)
        block_rows = device_rows(shape, pass_kernels.has_triton(X))
        return ArrayBlocks(as_floating(X), block_rows=block_rows)
    return ArrayBlocks(as_matrix(X, missing=missing) if is_copied(X) else X, usable_threads())


def is_copied(X: Any) -> bool:
    """Whether X must be copied into a new array of floats before its rows can be read in blocks."""
    if in_blocks_only(X) or len(getattr(X, "shape", ())) != 2 or device_of(X) is not None:
        return False
    is_plain = isinstance(X, np.ndarray) and not isinstance(X, np.ma.MaskedArray)
    return not (is_plain and X.dtype in (np.float32, np.float64))


def in_blocks_only(X: Any) -> bool:
    """Whether X is a Dask array or a sparse matrix, which is read in blocks, few rows or many."""
    return is_dask(X) or sparse.issparse(X)


def in_memory(X: Any) -> Any:
    """Return X as a numpy array if it is on a device, since few rows are quicker on the host."""
    return X if device_of(X) is None else to_host(X)


def survey_of(blocks: Blocks) -> Survey:
    """Return the `Survey` of all rows, whatever it finds."""
    return at_once(blocks).fold(survey, None)[1]


def surveyed(blocks: Blocks) -> Survey:
    """Return the `Survey` of all rows; raise ValueError for values not finite or too large."""
    found = survey_of(blocks)
    check_survey(found, blocks.array.dtype, dense=isinstance(blocks.array, np.ndarray))
    return found
