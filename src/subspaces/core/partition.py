"""Labels as a value: sizes, order, assignment, and the repair of clusters that cannot be fitted."""

from collections.abc import Callable, Sequence
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]
Labels = NDArray[np.intp]

# A cluster whose R-th eigenvalue is this small against that of all data does not span R axes.
DEGENERATE = 1e-8


class Later:
    """A generator that is made when it is first asked: most runs never ask."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    @cached_property
    def _generator(self) -> np.random.Generator:
        return np.random.default_rng(self._seed)

    def integers(self, high: int) -> int:
        """A whole number below ``high``, at random."""
        return int(self._generator.integers(high))


Draw = np.random.Generator | Later


def smallest_size(n_components: int) -> int:
    """Fewest members for a flat to say anything about a member left out: R + 2; 1 for a point."""
    return n_components + 2 if n_components else 1


def sizes(labels: Labels, n_clusters: int) -> Labels:
    """Members of each cluster."""
    return np.bincount(labels, minlength=n_clusters)


def canonical(labels: Labels) -> Labels:
    """Number the clusters in the order in which they first appear."""
    n = len(labels)
    first = np.full(int(labels.max(initial=-1)) + 1, n)
    first[labels[::-1]] = np.arange(n)[::-1]
    rank = np.empty_like(first)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[labels]


def canonical_each(partitions: Labels) -> Labels:
    """`canonical` of each row of a matrix of labels, all at once."""
    n = partitions.shape[1]
    appears = partitions[:, :, None] == np.arange(int(partitions.max(initial=-1)) + 1)
    first = np.where(appears.any(axis=1), appears.argmax(axis=1), n)
    rank = np.argsort(np.argsort(first, axis=1), axis=1)
    return np.take_along_axis(rank, partitions, axis=1)


def assign(costs: Array, labels: Labels | None = None) -> Labels:
    """Each row to its least cost; where the own cluster ties with it, the row stays."""
    best = np.argmin(costs, axis=1)
    if labels is None:
        return best
    rows = np.arange(len(labels))
    return np.where(costs[rows, labels] <= costs[rows, best], labels, best)


def too_small(labels: Labels, dimensions: Sequence[int]) -> list[int]:
    """Clusters with too few members for their dimension."""
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
    """Labels with a cluster given the neighbours of a random row, from clusters that can spare any.

    closeness(row): how near every row is to one, (n,), the larger the nearer.
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
    wanted = how_many(dimensions, cluster, len(labels))
    for i in (-near).argsort(kind="stable").tolist():
        if len(taken) == wanted:
            break
        if spare[owners[i]] > 0:
            spare[owners[i]] -= 1
            taken.append(i)
    labels[taken] = cluster
    return labels


def how_many(dimensions: Sequence[int], cluster: int, n_rows: int) -> int:
    """How many neighbours of a row a cluster begins again with."""
    return max(3 * smallest_size(dimensions[cluster]), n_rows // (4 * len(dimensions)))


def angular_closeness(products: Array, squared_norms: Array, index: int) -> Array:
    """``|cos|`` of the angle between one row and every row; 0 where a row is zero.

    products (n,): the inner products of all rows with that one.
    """
    norms = np.sqrt(squared_norms)
    scale = norms * norms[index]
    return np.divide(np.abs(products), scale, out=np.zeros_like(scale), where=scale > 0)
