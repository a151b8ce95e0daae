"""Landmarks: a sample of the rows that is searched, and its partition extended to all rows.

Also how large the sample is for rows that come in blocks, and the rank of all rows from a sample.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subspaces._types import Block, Labels
from subspaces.core.array import is_foreign, is_sparse
from subspaces.core.partition import Partition, assign, smallest_size
from subspaces.core.problem import Problem
from subspaces.core.rows import Rows
from subspaces.core.which_run import Start
from subspaces.data.blocks import Blocks

# Above MOST_SEARCHED rows, the starts see a sample of LANDMARKS and the loop sees all. The sample
# is larger if a cluster would have fewer than PER_DIMENSION rows per dimension.
MOST_SEARCHED, LANDMARKS, PER_DIMENSION = 2000, 1500, 20
# If clusters are only means, search all rows up to this many numbers, because the time of K-means
# is linear in them.
MOST_FOR_MEANS = 1 << 20
# If the search uses no sample, refill empty clusters from this many rows.
REFILL_ROWS = 500
# The rank of the data is taken from RANK_ROWS rows, or RANK_SHARE times the largest dimension.
RANK_ROWS, RANK_SHARE = 250, 4
# If rows span more than this share of the most they could span, the rank is only known to be
# larger.
NEARLY = 0.9
# Bytes that a search needs per number of the sample, or of its inner products if there are more
# variables than rows.
SEARCH_BYTES = 128
# A search may take SEARCH_SHARE of the memory of the data, and SEARCH_MOST bytes in any case.
SEARCH_SHARE, SEARCH_MOST = 0.5, 128e6
# The sample has at least this many rows per dimension of each cluster, whatever memory they take.
FEWEST_PER_DIMENSION = 13


def landmarks(problem: Problem, random: np.random.Generator) -> Labels | None:
    """Return the sorted indices of the sampled rows, (m,); None if all rows are few enough.

    They are drawn by weight, so that all of them count one.
    """
    n = len(problem.rows.squared_norms)
    enough = n_landmarks(problem.dimensions)
    few = n <= max(enough, MOST_SEARCHED)
    shares = problem.rows.shares()
    return None if few else np.sort(random.choice(n, enough, replace=False, p=shares))


def sample_to_search(problem: Problem, random: np.random.Generator) -> Labels | None:
    """Return the `landmarks`; None also if clusters are their means alone, unless rows are many."""
    n_numbers = len(problem.rows.squared_norms) * problem.rows.rank
    few = problem.of_means and n_numbers <= MOST_FOR_MEANS
    return None if few else landmarks(problem, random)


def n_landmarks(dimensions: Sequence[int]) -> int:
    """Return the size of the sample that the starts see of many rows."""
    return max(LANDMARKS, PER_DIMENSION * sum(r + 1 for r in dimensions))


def extend(problem: Problem, chosen: Labels, labels: Labels) -> Labels:
    """Return labels (n,): every row goes to the nearest of the subspaces fitted to some rows.

    chosen (m,): the indices of these rows; labels (m,): their clusters.
    """
    n, clusters = len(problem.rows.squared_norms), Partition(labels, problem.n_clusters)
    residuals = [
        problem.rows.view(chosen[clusters.members(k)], r, problem.affine).squared_residual
        if clusters.sizes[k]
        else np.full(n, np.inf)
        for k, r in enumerate(problem.dimensions)
    ]
    return assign(np.column_stack(residuals))


def on_landmarks(start: Start) -> Start:
    """Return a start that runs on a sample of the rows and extends its partition to all.

    If the rows are few, it runs on all of them.
    """

    def sampled(problem: Problem, random: np.random.Generator) -> Labels:
        chosen = landmarks(problem, random)
        if chosen is None:
            return start(problem, random)
        return extend(problem, chosen, start(problem.subset(chosen), random))

    return sampled


def sample_size(blocks: Blocks, dimensions: Sequence[int]) -> int:
    """Return the number of rows to search; for data in main memory a memory limit bounds it."""
    n, p = blocks.shape
    usual = min(n_landmarks(dimensions), n)
    if is_foreign(blocks.array):
        return usual
    allowed = max(SEARCH_SHARE * held_bytes(blocks.array), SEARCH_MOST) / SEARCH_BYTES
    fewest = FEWEST_PER_DIMENSION * sum(r + 1 for r in dimensions)
    return min(usual, max(int(allowed**0.5), int(allowed / p), fewest))


def n_telling(dimensions: Sequence[int]) -> int:
    """Return how many rows are read to estimate the rank of the data, by the dimensions (K,)."""
    fewest = sum(map(smallest_size, dimensions))
    return max(RANK_ROWS, RANK_SHARE * max(dimensions), fewest)


def spanned(rows: Rows, affine: bool) -> int:
    """Return the most directions that this many rows can span: n, or n - 1 around their mean."""
    return len(rows.squared_norms) - bool(affine)


def rank_of_all(rank: int, most: int, n_variables: int) -> int:
    """Estimate the rank of all rows from the rank of some; most: directions that they can span.

    If these span nearly as many, it is the number of variables.
    """
    return n_variables if rank > NEARLY * most else rank


def thinned(rows: NDArray[Any], count: int) -> NDArray[Any]:
    """Return ``count`` evenly spaced rows, or all if they are fewer."""
    return rows[np.unique(np.linspace(0, len(rows) - 1, count).astype(np.intp))]


def held_bytes(array: Block) -> int:
    """Return the bytes of a matrix; for a sparse one those of its entries and their columns."""
    if is_sparse(array):
        return int(array.data.nbytes + array.indices.nbytes)
    return int(array.shape[0] * array.shape[1] * array.dtype.itemsize)
