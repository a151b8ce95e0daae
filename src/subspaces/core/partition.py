"""Labels as a value: sizes, order, assignment, and the repair of clusters that cannot be fitted."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from subspaces.core.rows import Rows

Array = NDArray[np.floating]
Labels = NDArray[np.intp]

# A cluster whose R-th eigenvalue is this small against that of all data does not span R axes.
DEGENERATE = 1e-8


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


def assign(costs: Array, labels: Labels | None = None) -> Labels:
    """Each row to its least cost; where the own cluster ties with it, the row stays."""
    best = np.argmin(costs, axis=1)
    if labels is None:
        return best
    rows = np.arange(len(labels))
    return np.where(costs[rows, labels] <= costs[rows, best], labels, best)


def too_small(labels: Labels, dimensions: Sequence[int]) -> list[int]:
    """Clusters with too few members for their dimension."""
    counts = sizes(labels, len(dimensions)).tolist()
    return [k for k, r in enumerate(dimensions) if counts[k] < smallest_size(r)]


def refill(
    rows: Rows, labels: Labels, cluster: int, dimensions: Sequence[int], random: np.random.Generator
) -> Labels:
    """Give a cluster the angular neighbours of a random row, from clusters that can spare them."""
    labels = labels.copy()
    n, n_clusters = len(labels), len(dimensions)
    labels[labels == cluster] = _other_cluster(labels, cluster, n_clusters)
    spare = (sizes(labels, n_clusters) - [smallest_size(r) for r in dimensions]).tolist()
    wanted = max(3 * smallest_size(dimensions[cluster]), n // (4 * n_clusters))
    seed = random.choice(np.flatnonzero(labels == spare.index(max(spare))))
    closeness = angular_closeness(rows, seed)
    closeness[seed] = np.inf
    taken: list[int] = []
    owners = labels.tolist()
    for i in np.argsort(-closeness, kind="stable").tolist():
        if len(taken) == wanted:
            break
        if spare[owners[i]] > 0:
            spare[owners[i]] -= 1
            taken.append(i)
    labels[taken] = cluster
    return labels


def angular_closeness(rows: Rows, index: int) -> Array:
    """``|cos|`` of the angle between one row and every row; 0 where a row is zero."""
    norms = np.sqrt(rows.squared_norms)
    products = np.abs(rows.inner(np.array([index]))[:, 0])
    scale = norms * norms[index]
    return np.divide(products, scale, out=np.zeros_like(scale), where=scale > 0)


def _other_cluster(labels: Labels, cluster: int, n_clusters: int) -> int:
    counts = sizes(labels, n_clusters)
    counts[cluster] = -1
    return int(np.argmax(counts))
