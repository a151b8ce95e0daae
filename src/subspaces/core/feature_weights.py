"""Sparse K-means: a weight for each variable, found along with the clusters.

Maximises ``sum_j w_j a_j`` over partitions and weights with ``||w||_2 <= 1``, ``||w||_1 <= s`` and
``w >= 0`` [Witten & Tibshirani 2010]. ``a_j = sum_k n_k (m_kj - m_j)^2`` is the between-
cluster sum of squares of variable j (half of theirs, which counts each pair twice; the weights are
the same). For given weights this is K-means on columns scaled by ``sqrt(w_j)``; for given clusters
``w = (a - D)_+ / ||(a - D)_+||_2``, with the threshold D = 0 if that keeps ``||w||_1 <= s`` and
otherwise such that ``||w||_1 = s``. Neither step lowers the objective.

Among the m largest a, with mean ``mu`` and variance ``v``, ``||w||_1 = s`` has the solution
``D = mu - s sqrt(v / (m - s^2))``; m is found by bisection, since ``||w||_1`` falls as D grows.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from subspaces.core.k_means import k_means_labels

Array = NDArray[np.floating]
Labels = NDArray[np.intp]
# From the between-cluster sums of squares (p,) to the weights (p,).
Rule = Callable[[Array], Array]


@dataclass(frozen=True)
class WeightedClustering:
    """A partition and its weights; the objective after every round, and at the end; why it ended.

    The reason is "converged" (the weights no longer moved) or "max_iter".
    """

    labels: Labels
    weights: Array
    path: tuple[float, ...]
    stop_reason: str


def between_squares(X: Array, labels: Labels) -> Array:
    """``a_j = sum_k n_k (m_kj - m_j)^2``, (p,)."""
    counts, centres = cluster_means(X, labels)
    if len(counts) == 1:
        return np.zeros(X.shape[1])
    return counts @ (centres - X.mean(axis=0)) ** 2


def cluster_means(X: Array, labels: Labels) -> tuple[Labels, Array]:
    """Sizes (K,) and means (K, p) of the clusters that have members."""
    names, place = np.unique(labels, return_inverse=True)
    members = np.eye(len(names))[place]
    counts = np.bincount(place)
    return counts, members.T @ X / counts[:, None]


def bounded_weights(between: Array, bound: float) -> Array:
    """The weights of largest ``w^T a`` with ``||w||_2 <= 1``, ``||w||_1 <= bound``, ``w >= 0``.

    Where more than ``bound^2`` variables share the largest a, no threshold meets the bound; they
    then share it equally.
    """
    a = _scaled(between)
    largest = np.flatnonzero(a == a.max())
    if len(largest) >= bound**2:
        weights = np.zeros_like(a)
        weights[largest] = bound / len(largest)
        return weights
    return _thresholded(a, _threshold(a, bound))


def counted_weights(between: Array, n_variables: int) -> Array:
    """As many weights above zero as asked for, by the least threshold that leaves no more.

    The first columns win a tie. A variable that does not differ between the clusters gets none.
    """
    a = _scaled(between)
    kept = np.argsort(-a, kind="stable")[:n_variables]
    threshold = float(np.max(a, initial=0.0, where=a < a[kept[-1]]))
    weights = np.zeros_like(a)
    weights[kept] = _thresholded(a[kept], threshold)
    return weights


def alternate_weights(
    X: Array, labels: Labels, rule: Rule, max_iter: int, tol: float
) -> WeightedClustering:
    """Weights, then K-means from the present centres, until the weights move by less than tol."""
    weights = np.full(X.shape[1], X.shape[1] ** -0.5)
    path: list[float] = []
    reason = "max_iter"
    for _ in range(max_iter):
        between = between_squares(X, labels)
        before, weights = weights, rule(between)
        path.append(float(weights @ between))
        labels = _continued(X, weights, labels)
        if np.abs(weights - before).sum() <= tol * before.sum():
            reason = "converged"
            break
    path.append(float(weights @ between_squares(X, labels)))
    return WeightedClustering(labels, weights, tuple(path), reason)


def best_of_starts(
    X: Array, starts: Sequence[Labels], rule: Rule, max_iter: int, tol: float
) -> WeightedClustering:
    """Every first partition taken to its end; the largest objective wins."""
    ends = [alternate_weights(X, start, rule, max_iter, tol) for start in starts]
    return max(ends, key=lambda end: end.path[-1])


def first_partitions(
    X: Array, n_clusters: int, n_starts: int, random: np.random.Generator
) -> list[Labels]:
    """K-means with equal weights, from several starts."""
    seeds = random.integers(2**31, size=n_starts).tolist()
    settings = {"n_init": 1, "tol": 0.0}
    return [k_means_labels(X, KMeans(n_clusters, random_state=s, **settings)) for s in seeds]


def _continued(X: Array, weights: Array, labels: Labels) -> Labels:
    used = weights > 0
    scaled = X[:, used] * np.sqrt(weights[used])
    _, centres = cluster_means(scaled, labels)
    return k_means_labels(scaled, KMeans(len(centres), init=centres, n_init=1, tol=0.0))


def _scaled(between: Array) -> Array:
    """Divided by the largest, so that squares stay in range."""
    return between / max(float(between.max()), np.finfo(float).tiny)


def _thresholded(a: Array, threshold: float) -> Array:
    above = np.maximum(a - threshold, 0.0)
    # Where no variable differs between the clusters, none is better than another.
    above = above if above.any() else np.ones_like(a)
    return above / np.linalg.norm(above)


def _threshold(a: Array, bound: float) -> float:
    """The D for which ``||w||_1 = bound``; 0 if it is less without."""
    knots = np.append(np.sort(a)[::-1], 0.0)
    fewest = int(np.count_nonzero(a == knots[0]))
    places = range(fewest, len(knots))
    m = fewest + bisect_right(places, bound, key=lambda m: _thresholded(a, float(knots[m])).sum())
    if m == len(knots):
        return 0.0
    if m <= bound**2:  # then only rounding lifts the sum above the bound
        return float(knots[m])
    top = knots[:m]
    return float(top.mean() - bound * np.sqrt(top.var() / (m - bound**2)))
