"""Rows far apart, each the seed of a flat: the manner of k-means|| (Bahmani et al. 2012).

A few rounds each draw more rows than there are clusters, by their squared distance from the flats
through the rows before, so that no round waits for the choice of a single row. Of all drawn those
are kept, one after the other, whose flats leave the least distance.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]
Indices = NDArray[np.intp]

# Squared distances (c, n) of all rows from the flats, of one dimension, through some rows (c,).
Around = Callable[[Indices, int], Array]

# So many times as many rows as there are clusters are drawn in each of so many rounds.
ROUNDS, SHARE = 3, 1.5
# Of flats through so many rows at most the distances are found at once. Of so many rows for each
# cluster at least they are kept, evenly, unless that were more distances than the most.
AT_ONCE, EACH, MOST = 32, 200, 1 << 26


def kmeans_parallel(
    around: Around, n_rows: int, dimensions: Sequence[int], random: np.random.Generator
) -> Indices:
    """One of n rows for each cluster."""
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
    """Different rows, as long as there are any with a weight."""
    possible = len(rows) if weights is None else int(np.count_nonzero(weights))
    return random.choice(rows, min(wanted, possible), replace=False, p=weights)


def _shares(values: Array) -> Array | None:
    """Of their sum; None where there is none."""
    total = values.sum(dtype=np.float64)
    return values / total if total > 0.0 else None


def _in_parts(around: Around, seeds: Indices, dimension: int) -> Array:
    starts = range(0, len(seeds), AT_ONCE)
    return np.concatenate([around(seeds[i : i + AT_ONCE], dimension) for i in starts])


def _least_left(pool: Array, which: Indices) -> list[int]:
    """For each cluster the flat that leaves the least distance from those so far.

    pool (kinds, c, n): squared distances by dimension; which (K,): the dimension of each cluster.
    Only rows that come nearer change what the other flats would leave.
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
