"""How many rows of many are looked at to begin with, and what they tell of all."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from subspaces.core import landmarks, partition
from subspaces.core.array_namespace import is_foreign
from subspaces.core.rows import Rows
from subspaces.data.blocks import Blocks

# Where no sample is searched, clusters begin again from so many rows, and so many tell the rank of
# the data, or so many for each dimension.
FRESH_ROWS, RANK_ROWS, RANK_SHARE = 500, 250, 4
# Rows that span nearly as many directions as they are tell nothing of the rank but that it is more.
NEARLY = 0.9
# What a search holds for every number of the sample, of variables beyond the rows of their inner
# products. It may be a share of the data, and so many bytes in any case; with fewer rows a cluster
# would have fewer than so many for each dimension.
SEARCH_BYTES, SEARCH_SHARE, SEARCH_MOST, FEWEST_PER_DIMENSION = 128, 0.5, 128e6, 13


def sample_size(blocks: Blocks, dimensions: Sequence[int]) -> int:
    """How many rows are searched: of data in main memory no more than a share of it allows."""
    n, p = blocks.shape
    usual = min(landmarks.n_landmarks(dimensions), n)
    if is_foreign(blocks.array):
        return usual
    allowed = max(SEARCH_SHARE * held_bytes(blocks.array), SEARCH_MOST) / SEARCH_BYTES
    fewest = FEWEST_PER_DIMENSION * sum(r + 1 for r in dimensions)
    return min(usual, max(int(allowed**0.5), int(allowed / p), fewest))


def n_telling(dimensions: Sequence[int]) -> int:
    """How many rows tell the rank of the data, unless they span less than they could."""
    fewest = sum(map(partition.smallest_size, dimensions))
    return max(RANK_ROWS, RANK_SHARE * max(dimensions), fewest)


def spanned(rows: Rows, affine: bool) -> int:
    """How many directions so many rows span at most; from their mean one less."""
    return len(rows.squared_norms) - bool(affine)


def rank_of_all(rows: Rows, affine: bool, n_variables: int) -> int:
    """The rank of all rows as some tell it: as many as there are variables if they span all."""
    return n_variables if rows.rank > NEARLY * spanned(rows, affine) else rows.rank


def thinned(rows: NDArray[Any], count: int) -> NDArray[Any]:
    """So many rows, evenly, or all."""
    return rows[np.unique(np.linspace(0, len(rows) - 1, count).astype(np.intp))]


def held_bytes(array: Any) -> int:
    """The bytes of a matrix, of a sparse one those of its entries."""
    if sparse.issparse(array):
        return int(array.data.nbytes + array.indices.nbytes)
    return int(array.shape[0] * array.shape[1] * array.dtype.itemsize)
