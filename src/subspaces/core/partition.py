"""Functions of labels (n,): sizes, canonical order, assignment, and refills of small clusters."""

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from subspaces._types import Array, Labels
from subspaces.runtime.cached import cached_property

# A cluster whose R-th eigenvalue per member is below this share of that of all rows does not span R
# axes.
DEGENERATE = 1e-8


class LazyGenerator:
    """A random generator that is seeded at its first draw, since most runs never draw."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    @cached_property
    def _generator(self) -> np.random.Generator:
        return np.random.default_rng(self._seed)

    def integers(self, high: int) -> int:
        """Return a random whole number from 0 to ``high - 1``."""
        return int(self._generator.integers(high))


Draw = np.random.Generator | LazyGenerator


def smallest_size(n_components: int) -> int:
    """Return the fewest members that leave-one-out needs: R + 2, or 1 if R is 0."""
    return n_components + 2 if n_components else 1


def sizes(labels: Labels, n_clusters: int) -> Labels:
    """The number of members of each cluster, (K,)."""
    return np.bincount(labels, minlength=n_clusters)


def canonical(labels: Labels) -> Labels:
    """Return the labels (n,) with clusters renumbered in the order in which they first appear."""
    n = len(labels)
    first = np.full(int(labels.max(initial=-1)) + 1, n)
    first[labels[::-1]] = np.arange(n)[::-1]
    rank = np.empty_like(first)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[labels]


def canonical_each(partitions: Labels) -> Labels:
    """Return the `canonical` labels of each partition, for partitions (m, n) in rows."""
    n = partitions.shape[1]
    appears = partitions[:, :, None] == np.arange(int(partitions.max(initial=-1)) + 1)
    first = np.where(appears.any(axis=1), appears.argmax(axis=1), n)
    rank = np.argsort(np.argsort(first, axis=1), axis=1)
    return np.take_along_axis(rank, partitions, axis=1)


def order_of_appearance(labels: Labels, n_clusters: int) -> Labels:
    """Return the cluster numbers (K,) in the order of their first sample; empty clusters last."""
    first = [np.flatnonzero(labels == k)[:1] for k in range(n_clusters)]
    places = [int(place[0]) if len(place) else len(labels) for place in first]
    return np.argsort(places, kind="stable")


def assign(costs: Array, labels: Labels | None = None) -> Labels:
    """Return each row's cluster of least cost, (n,), from costs (n, K); a tie keeps the label."""
    best = np.argmin(costs, axis=1)
    if labels is None:
        return best
    rows = np.arange(len(labels))
    return np.where(costs[rows, labels] <= costs[rows, best], labels, best)


def too_small(labels: Labels, dimensions: Sequence[int]) -> list[int]:
    """Return the indices of the clusters with fewer members than `smallest_size` demands."""
    fewest = _smallest_sizes(tuple(dimensions))
    counts = np.bincount(labels, minlength=len(fewest)).tolist()
    return [k for k, least in enumerate(fewest) if counts[k] < least]


@cache
def _smallest_sizes(dimensions: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(map(smallest_size, dimensions))


def refill(
    labels: Labels,
    cluster: int,
    dimensions: Sequence[int],
    random: Draw,
    closeness: Callable[[int], Array],
) -> Labels:
    """Return labels (n,) in which a cluster holds a random row and its neighbours instead.

    The former members join the largest other cluster; neighbours are taken only from clusters that
    keep `smallest_size` members. closeness(row): how near every row is to that row, (n,), larger
    is nearer.
    """
    labels, fewest = labels.copy(), _smallest_sizes(tuple(dimensions))
    counts = np.bincount(labels, minlength=len(fewest)).tolist()
    left, counts[cluster] = counts[cluster], -1
    heir = counts.index(max(counts))
    labels[labels == cluster] = heir
    counts[heir], counts[cluster] = counts[heir] + left, 0
    spare = [count - least for count, least in zip(counts, fewest, strict=True)]
    donors = (labels == spare.index(max(spare))).nonzero()[0]
    seed = int(donors[random.integers(len(donors))])
    near = closeness(seed)
    near[seed] = np.inf
    taken, owners = list[int](), labels.tolist()
    wanted = refill_size(dimensions, cluster, len(labels))
    for i in (-near).argsort(kind="stable").tolist():
        if len(taken) == wanted:
            break
        if spare[owners[i]] > 0:
            spare[owners[i]] -= 1
            taken.append(i)
    labels[taken] = cluster
    return labels


def refill_size(dimensions: Sequence[int], cluster: int, n_rows: int) -> int:
    """Return how many rows `refill` puts into a cluster."""
    return max(3 * smallest_size(dimensions[cluster]), n_rows // (4 * len(dimensions)))


def angular_closeness(products: Array, squared_norms: Array, index: int) -> Array:
    """``|cos|`` of the angle between row ``index`` and every row, (n,); 0 where a row is zero.

    products (n,): the inner products of all rows with row ``index``.
    """
    norms = np.sqrt(squared_norms)
    scale = norms * norms[index]
    return np.divide(np.abs(products), scale, out=np.zeros_like(scale), where=scale > 0)
