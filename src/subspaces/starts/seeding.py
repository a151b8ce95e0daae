"""Rows far apart, each the seed of a subspace: the manner of k-means|| (Bahmani et al. 2012).

A few rounds each draw more rows than there are clusters, by their squared distance from the
subspaces through the rows drawn before, so that many distances are found at once. From all rows
drawn, one per cluster is kept: each time the row whose subspace leaves the least sum of distances.
"""

from collections.abc import Callable, Sequence

import numpy as np

from subspaces._types import Array, Indices

# Squared distances (c, n) of all rows from the subspaces, of one dimension, through some rows (c,).
Around = Callable[[Indices, int], Array]

# In each of ROUNDS rounds SHARE times as many rows are drawn as there are clusters.
ROUNDS, SHARE = 3, 1.5
# The distances from the subspaces through AT_ONCE rows are found at once, which bounds the memory.
AT_ONCE = 32
# Distances are kept of evenly spaced rows: of at least EACH for each cluster, but no more than MOST
# distances (half a gigabyte in double precision).
EACH, MOST = 200, 1 << 26


def kmeans_parallel(
    around: Around, n_rows: int, dimensions: Sequence[int], random: np.random.Generator
) -> Indices:
    """Return K row numbers, (K,): the seed of each cluster's subspace.

    around(seeds, dimension): squared distances (c, n) of all rows from the seeds' subspaces.
    """
    kinds, which = np.unique(dimensions, return_inverse=True)
    wanted = int(np.ceil(SHARE * len(dimensions)))
    step = max(n_rows // (EACH * len(dimensions)), 1)
    step = max(step, -(-ROUNDS * wanted * len(kinds) * n_rows // MOST))
    seen = np.arange(0, n_rows, step)
    nearest, weights = np.full(len(seen), np.inf), None
    drawn, pool = [], []
    for _ in range(ROUNDS):
        seeds = _draw(seen, wanted, weights, random)
        found = np.stack([_in_parts(around, seeds, int(kind))[:, ::step] for kind in kinds])
        drawn.append(seeds)
        pool.append(found)
        nearest = np.minimum(nearest, found[-1].min(axis=0))
        weights = _shares(nearest)
    chosen = _least_left(np.concatenate(pool, axis=1), which)
    return np.concatenate(drawn)[chosen]


def _draw(
    rows: Indices, wanted: int, weights: Array | None, random: np.random.Generator
) -> Indices:
    """Return up to ``wanted`` different rows, drawn by weight; rows of weight 0 are never drawn."""
    possible = len(rows) if weights is None else int(np.count_nonzero(weights))
    return random.choice(rows, min(wanted, possible), replace=False, p=weights)


def _shares(values: Array) -> Array | None:
    """Return the values divided by their sum, (n,); None where the sum is zero."""
    total = values.sum(dtype=np.float64)
    return values / total if total > 0.0 else None


def _in_parts(around: Around, seeds: Indices, dimension: int) -> Array:
    """Return squared distances (c, n) of all rows from the seeds' subspaces, 32 seeds at a time."""
    starts = range(0, len(seeds), AT_ONCE)
    return np.concatenate([around(seeds[i : i + AT_ONCE], dimension) for i in starts])


def _least_left(pool: Array, which: Indices) -> list[int]:
    """Return the number of one drawn row per cluster, chosen greedily for the least distances left.

    pool (kinds, c, n): squared distances from the c rows' subspaces, by kind of dimension; which
    (K,): the kind of each cluster. Only rows that come nearer change what the other subspaces would
    leave.
    """
    left = pool.sum(axis=2, dtype=np.float64)
    nearest = np.full(pool.shape[2], np.inf, dtype=pool.dtype)
    chosen = []
    for kind in which:
        chosen.append(int(np.argmin(left[kind])))
        found = pool[kind, chosen[-1]]
        nearer = np.flatnonzero(found < nearest)
        before, now = nearest[nearer], found[nearer]
        lost = np.take(pool, nearer, axis=2)
        np.maximum(lost, now, out=lost)
        np.minimum(lost, before, out=lost)
        lost -= now
        left -= lost.sum(axis=2, dtype=np.float64)
        nearest[nearer] = now
    return chosen
