"""How many of many rows the starts are searched on, and the rank of all rows from a sample."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from subspaces.core import partition
from subspaces.core.array import is_foreign
from subspaces.core.rows import Rows
from subspaces.data.blocks import Blocks
from subspaces.starts import landmarks

# Where no sample is searched, empty clusters are refilled from so many rows.
REFILL_ROWS = 500
# The rank of the data is taken from RANK_ROWS rows, or RANK_SHARE times the largest dimension.
RANK_ROWS, RANK_SHARE = 250, 4
# If rows span more than this share of the directions that so many rows can span, all that they say
# of the rank is that it is larger.
NEARLY = 0.9
# Bytes that a search holds for every number of the sample, or of its inner products where the
# sample has more variables than rows.
SEARCH_BYTES = 128
# A search may take SEARCH_SHARE of the memory of the data, and SEARCH_MOST bytes in any case.
SEARCH_SHARE, SEARCH_MOST = 0.5, 128e6
# The sample has at least so many rows for each dimension of each cluster, whatever they take.
FEWEST_PER_DIMENSION = 13


def sample_size(blocks: Blocks, dimensions: Sequence[int]) -> int:
    """Return the number of rows to search; for data in main memory a memory limit bounds it."""
    n, p = blocks.shape
    usual = min(landmarks.n_landmarks(dimensions), n)
    if is_foreign(blocks.array):
        return usual
    allowed = max(SEARCH_SHARE * held_bytes(blocks.array), SEARCH_MOST) / SEARCH_BYTES
    fewest = FEWEST_PER_DIMENSION * sum(r + 1 for r in dimensions)
    return min(usual, max(int(allowed**0.5), int(allowed / p), fewest))


def n_telling(dimensions: Sequence[int]) -> int:
    """Return how many rows are read to estimate the rank of the data, by the dimensions (K,)."""
    fewest = sum(map(partition.smallest_size, dimensions))
    return max(RANK_ROWS, RANK_SHARE * max(dimensions), fewest)


def spanned(rows: Rows, affine: bool) -> int:
    """Return the most directions that this many rows can span: n, or n - 1 around their mean."""
    return len(rows.squared_norms) - bool(affine)


def rank_of_all(rank: int, most: int, n_variables: int) -> int:
    """Estimate the rank of all rows from the rank of some; most: directions that so few can span.

    If these span nearly as many, it is the number of variables.
    """
    return n_variables if rank > NEARLY * most else rank


def thinned(rows: NDArray[Any], count: int) -> NDArray[Any]:
    """Return ``count`` evenly spaced rows, or all if they are fewer."""
    return rows[np.unique(np.linspace(0, len(rows) - 1, count).astype(np.intp))]


def held_bytes(array: Any) -> int:
    """Return the bytes of a matrix; for a sparse one those of its entries and their columns."""
    if sparse.issparse(array):
        return int(array.data.nbytes + array.indices.nbytes)
    return int(array.shape[0] * array.shape[1] * array.dtype.itemsize)
