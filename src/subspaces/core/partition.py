"""A partition of rows into clusters: sizes, members, numbering, assignment, refills.

The label -1 is a row in no cluster: it counts nowhere, as if it were not there.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subspaces._types import Array, Codes, Indices, Labels, Mask
from subspaces.runtime.threads import cached_property
from subspaces.subspace import centre_of, weighted_sum

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


@dataclass(frozen=True, eq=False)
class Partition:
    """Rows in K clusters, and what each row counts.

    labels (n,): 0 to K - 1, or -1 for a row in no cluster; weights (n,): None if all rows count
    one. A row of weight 2 counts as two equal rows, one of weight 0 as none.
    """

    labels: Codes
    n_clusters: int
    weights: Array | None = None

    @cached_property
    def counted(self) -> Codes:
        """The labels (n,), -1 also for rows of weight 0."""
        return self.labels if self.weights is None else np.where(self.weights > 0, self.labels, -1)

    @cached_property
    def is_counted(self) -> Mask:
        """Whether each row is in a cluster with a positive weight, (n,)."""
        return self.counted >= 0

    @cached_property
    def sizes(self) -> NDArray[Any]:
        """The weight of each cluster, (K,): the number of its rows if all count one."""
        return np.bincount(self.counted + 1, self.weights, self.n_clusters + 1)[1:]

    @property
    def in_order(self) -> Array | None:
        """The weights of the rows of each cluster, cluster by cluster; None if all count one."""
        order = np.argsort(self.counted, kind="stable")[np.count_nonzero(~self.is_counted) :]
        return None if self.weights is None else self.weights[order]

    @property
    def counts(self) -> Array | None:
        """The weights of the rows that are counted; None if all count one."""
        return None if self.weights is None else self.weights[self.is_counted]

    @cached_property
    def row_weights(self) -> Array:
        """What each row counts, (n,): its weight, or 0 if it is in no cluster."""
        return np.where(self.is_counted, 1.0 if self.weights is None else self.weights, 0.0)

    @cached_property
    def indicator(self) -> Array:
        """What each row counts in each cluster, (n, K): 0 in others than its own."""
        return np.eye(self.n_clusters + 1)[:, :-1][self.counted] * self.row_weights[:, None]

    def members(self, k: int) -> Indices:
        """The places of the rows that are counted in cluster k, in ascending order."""
        return np.flatnonzero(self.counted == k)

    def means(self, rows: Array) -> Array:
        """The weighted mean of the rows (n, p) of each cluster, (K, p); nan if it has none."""
        means = np.full((self.n_clusters, rows.shape[1]), np.nan)
        for k in np.flatnonzero(self.sizes).tolist():
            own = self.members(k)
            means[k] = centre_of(rows[own], True, self.row_weights[own])
        return means

    def sums(self, values: Array) -> list[float]:
        """The values (n,) of the rows of each cluster, summed by weight: K numbers."""
        parts = [self.subset(self.members(k)) for k in range(self.n_clusters)]
        return [weighted_sum(values[self.members(k)], part.weights) for k, part in enumerate(parts)]

    def of_own(self, values: NDArray[Any], otherwise: float = 0.0) -> NDArray[Any]:
        """The value (K,) of each row's cluster, (n,), or ``otherwise`` for a row in none."""
        return np.append(values, np.asarray(otherwise, values.dtype))[self.counted]

    def own(self, costs: Array) -> Array:
        """Each row's cost (n, K) in its own cluster, (n,); 0 for a row in none."""
        found = costs[np.arange(len(costs)), self.counted]
        return found if self.is_counted.all() else np.where(self.is_counted, found, 0.0)

    def subset(self, rows: Indices | Mask) -> "Partition":
        """The partition of some of the rows, into the same clusters."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, labels=self.labels[rows], weights=weights)


def unit_of(weights: Array | None) -> float:
    """Return what one row counts on average, at most 1: the weight that a mean uses up.

    It is 1 if weights are numbers of equal rows, and keeps degrees of freedom positive if all are
    small. Rows of weight 0 are not there.
    """
    return 1.0 if weights is None else min(float(weights[weights > 0.0].mean()), 1.0)


def as_divisors(sizes: NDArray[Any]) -> Array:
    """Return sizes (K,) to divide by: 1 for an empty cluster."""
    return np.where(sizes > 0, sizes, 1.0)


def smallest_size(n_components: int) -> int:
    """Return the fewest members that leave-one-out needs: R + 2, or 1 if R is 0."""
    return n_components + 2 if n_components else 1


def sizes(labels: Labels, n_clusters: int) -> Labels:
    """The number of members of each cluster, (K,)."""
    return Partition(labels, n_clusters).sizes


def canonical(labels: Labels) -> Labels:
    """Return the labels (n,) with clusters renumbered in the order in which they first appear.

    The label -1 stays.
    """
    n = len(labels)
    # The last place is that of the label -1.
    first = np.full(int(labels.max(initial=-1)) + 2, n)
    first[labels[::-1]] = np.arange(n)[::-1]
    rank = np.full_like(first, -1)
    rank[np.argsort(first[:-1])] = np.arange(len(first) - 1)
    return rank[labels]


def canonical_each(partitions: Labels) -> Labels:
    """Return the `canonical` labels of each partition, for partitions (m, n) in rows."""
    n = partitions.shape[1]
    appears = partitions[:, :, None] == np.arange(int(partitions.max(initial=-1)) + 1)
    first = np.where(appears.any(axis=1), appears.argmax(axis=1), n)
    rank = np.argsort(np.argsort(first, axis=1), axis=1)
    rank = np.pad(rank, ((0, 0), (0, 1)), constant_values=-1)
    return np.take_along_axis(rank, partitions, axis=1)


def order_of_appearance(labels: Labels, n_clusters: int) -> Labels:
    """Return the cluster numbers (K,) in the order of their first sample; empty clusters last."""
    first = [np.flatnonzero(labels == k)[:1] for k in range(n_clusters)]
    places = [int(place[0]) if len(place) else len(labels) for place in first]
    return np.argsort(places, kind="stable")


def assign(costs: Array, labels: Labels | None = None) -> Labels:
    """Return each row's cluster of least cost, (n,), from costs (n, K); a tie keeps the label.

    A row with the label -1 goes to the cluster of least cost, too.
    """
    best = np.argmin(costs, axis=1)
    if labels is None:
        return best
    rows = np.arange(len(labels))
    stays = (costs[rows, labels] <= costs[rows, best]) & (labels >= 0)
    return np.where(stays, labels, best)


def too_small(labels: Labels, dimensions: Sequence[int]) -> list[int]:
    """Return the indices of the clusters with fewer members than `smallest_size` demands."""
    fewest = _smallest_sizes(tuple(dimensions))
    counts = sizes(labels, len(fewest)).tolist()
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
    keep `smallest_size` members. Rows with the label -1 keep it. closeness(row): how near every
    row is to that row, (n,), larger is nearer.
    """
    labels, fewest = labels.copy(), _smallest_sizes(tuple(dimensions))
    counts = sizes(labels, len(fewest)).tolist()
    wanted = refill_size(dimensions, cluster, sum(counts))
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
    for i in (-near).argsort(kind="stable").tolist():
        if len(taken) == wanted:
            break
        if owners[i] >= 0 and spare[owners[i]] > 0:
            spare[owners[i]] -= 1
            taken.append(i)
    labels[taken] = cluster
    return labels


def refill_size(dimensions: Sequence[int], cluster: int, n_rows: int) -> int:
    """Return how many rows `refill` puts into a cluster."""
    return max(3 * smallest_size(dimensions[cluster]), n_rows // (4 * len(dimensions)))


def angular_closeness(products: Array, squared_norms: Array, index: int) -> Array:
    """``|cos|`` of the angle between row ``index`` and every row, (n,); 0 if a row is zero.

    products (n,): the inner products of all rows with row ``index``.
    """
    norms = np.sqrt(squared_norms)
    scale = norms * norms[index]
    return np.divide(np.abs(products), scale, out=np.zeros_like(scale), where=scale > 0)
