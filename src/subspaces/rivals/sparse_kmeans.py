"""Sparse K-means: a weight for each variable, found along with the clusters.

It maximises ``sum_j w_j a_j`` over partitions and weights with ``||w||_2 <= 1``, ``||w||_1 <= s``
and ``w >= 0`` [Witten & Tibshirani 2010]. ``a_j = sum_k n_k (m_kj - m_j)^2`` is the between-cluster
sum of squares of variable j (half of theirs, which counts each pair twice; the weights are the
same). For given weights this is K-means on columns scaled by ``sqrt(w_j)``; for given clusters
``w = (a - D)_+ / ||(a - D)_+||_2``, with the threshold D = 0 if that keeps ``||w||_1 <= s`` and
otherwise such that ``||w||_1 = s``. Neither step lowers the objective.

Among the m largest a, with mean ``mu`` and variance ``v``, ``||w||_1 = s`` has the solution
``D = mu - s sqrt(v / (m - s^2))``; m is found by bisection, since ``||w||_1`` falls as D grows.

The permutation gap chooses the bound: ``Gap(s) = log O(s) - mean_b log O_b(s)``, with O(s) the
objective reached under the bound s, and O_b(s) the same on data whose columns were permuted, each
on its own. The smallest s whose gap is within one standard error of the largest is taken: the curve
is flat at its top, and the place of its maximum is a matter of chance. What is reached under a
small bound is feasible under a larger one, so O(s) is the best of all bounds up to s; otherwise the
poor local optima of the permuted copies, most frequent at large bounds, would pass for a gap.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.cluster import KMeans

from subspaces._types import Array, Counts, Labels, StopReason
from subspaces.core.partition import Partition
from subspaces.starts.spectral import k_means_labels, settled

# From the between-cluster sums of squares (p,) to the weights (p,).
Rule = Callable[[Array], Array]

# For the gap: permuted copies of the data, starts on each, number of bounds, and the smallest
# bound.
PERMUTATIONS, STARTS = 5, 2
BOUNDS, SMALLEST_BOUND = 10, 1.2


@dataclass(frozen=True)
class WeightedClustering:
    """Labels (n,), weights (p,), the objective after every round and at the end, why it ended.

    The reason is "converged" (the weights no longer moved) or "max_iter".
    """

    labels: Labels
    weights: Array
    path: tuple[float, ...]
    stop_reason: StopReason


@dataclass(frozen=True)
class GapTable:
    """For each bound: objective, gap, its standard error, and the number of positive weights."""

    bounds: Array
    objectives: Array
    gaps: Array
    standard_errors: Array
    counts: Counts

    @property
    def chosen(self) -> float:
        """The smallest bound whose gap is within one standard error of the largest."""
        best = int(np.argmax(self.gaps))
        enough = self.gaps >= self.gaps[best] - self.standard_errors[best]
        return float(self.bounds[np.argmax(enough)])


def between_squares(X: Array, labels: Labels) -> Array:
    """Return the between-cluster sums of squares ``a_j = sum_k n_k (m_kj - m_j)^2``, (p,)."""
    counts, centres = cluster_means(X, labels)
    if len(counts) == 1:
        return np.zeros(X.shape[1])
    counted = X if (labels >= 0).all() else X[labels >= 0]
    return counts @ (centres - counted.mean(axis=0)) ** 2


def cluster_means(X: Array, labels: Labels) -> tuple[Labels, Array]:
    """Return the sizes (K,) and means (K, p) of the clusters that have members."""
    clusters = Partition(labels, int(labels.max()) + 1)
    occupied = clusters.sizes > 0
    counts = clusters.sizes[occupied]
    return counts, clusters.indicator[:, occupied].T @ X / counts[:, None]


def bounded_weights(between: Array, bound: float) -> Array:
    """Return the w of largest ``w^T a`` with ``||w||_2 <= 1``, ``||w||_1 <= bound``, ``w >= 0``.

    between: a, (p,). If more than ``bound^2`` variables share the largest a, no threshold meets
    the bound; these variables then get equal weights.
    """
    a = _scaled(between)
    largest = np.flatnonzero(a == a.max())
    if len(largest) >= bound**2:
        weights = np.zeros_like(a)
        weights[largest] = bound / len(largest)
        return weights
    return _thresholded(a, _threshold(a, bound))


def counted_weights(between: Array, n_variables: int) -> Array:
    """Return the weights (p,) of the least threshold that leaves at most ``n_variables`` positive.

    Of variables that tie, the first columns are kept. A variable that does not differ between the
    clusters gets 0.
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
    """Return the clustering reached by alternating weights and K-means until the weights settle.

    K-means begins at the present cluster centres. rule: turns between-cluster sums of squares (p,)
    into weights (p,).
    """
    weights = np.full(X.shape[1], X.shape[1] ** -0.5)
    path: list[float] = []
    reason: StopReason = "max_iter"
    for _ in range(max_iter):
        between = between_squares(X, labels)
        before, weights = weights, rule(between)
        path.append(float(weights @ between))
        labels = _weighted_k_means(X, weights, labels)
        if np.abs(weights - before).sum() <= tol * before.sum():
            reason = "converged"
            break
    path.append(float(weights @ between_squares(X, labels)))
    return WeightedClustering(labels, weights, tuple(path), reason)


def best_of_starts(
    X: Array, starts: Sequence[Labels], rule: Rule, max_iter: int, tol: float
) -> WeightedClustering:
    """Return the clustering of largest objective that `alternate_weights` reaches from a start."""
    ends = [alternate_weights(X, start, rule, max_iter, tol) for start in starts]
    return max(ends, key=lambda end: end.path[-1])


def first_partitions(
    X: Array, n_clusters: int, n_starts: int, random: np.random.Generator
) -> list[Labels]:
    """Return labels (n,) of K-means with equal weights, one vector for each start."""
    seeds = random.integers(2**31, size=n_starts).tolist()
    settings = {"n_init": 1, "tol": 0.0}
    return [k_means_labels(X, KMeans(n_clusters, random_state=s, **settings)) for s in seeds]


def candidate_bounds(n_variables: int) -> Array:
    """Return ten bounds s from 1.2 to ``sqrt(p)``, evenly spaced in their logarithms."""
    largest = float(np.sqrt(n_variables))
    return np.unique(np.geomspace(min(SMALLEST_BOUND, largest), largest, BOUNDS))


def gap_table(
    X: Array, n_clusters: int, *, max_iter: int, tol: float, random: np.random.Generator
) -> GapTable:
    """Return the permutation gap of every candidate bound, from five permuted copies of X."""
    bounds = candidate_bounds(X.shape[1])

    def ends(data: Array) -> Sequence[WeightedClustering]:
        # The first partitions do not depend on the bound, so all bounds share them.
        starts = first_partitions(data, n_clusters, STARTS, random)
        return [
            best_of_starts(data, starts, partial(bounded_weights, bound=s), max_iter, tol)
            for s in bounds.tolist()
        ]

    observed = ends(X)
    copies = [ends(random.permuted(X, axis=0)) for _ in range(PERMUTATIONS)]
    objectives = _best_up_to_each(observed)
    permuted = np.log([_best_up_to_each(copy) for copy in copies])
    return GapTable(
        bounds,
        objectives,
        np.log(objectives) - permuted.mean(axis=0),
        permuted.std(axis=0, ddof=1) / np.sqrt(PERMUTATIONS),
        np.array([np.count_nonzero(end.weights) for end in observed]),
    )


def _best_up_to_each(ends: Sequence[WeightedClustering]) -> Array:
    return np.maximum.accumulate([end.path[-1] for end in ends])


def _weighted_k_means(X: Array, weights: Array, labels: Labels) -> Labels:
    used = weights > 0
    scaled = X[:, used] * np.sqrt(weights[used])
    _, centres = cluster_means(scaled, labels)
    return settled(scaled, centres[None], 0.0)


def _scaled(between: Array) -> Array:
    """Return the sums of squares divided by the largest, so that their squares stay in range."""
    return between / max(float(between.max()), np.finfo(float).tiny)


def _thresholded(a: Array, threshold: float) -> Array:
    above = np.maximum(a - threshold, 0.0)
    # If no variable differs between the clusters, all are equal.
    above = above if above.any() else np.ones_like(a)
    return above / np.linalg.norm(above)


def _threshold(a: Array, bound: float) -> float:
    """Return the D for which ``||w||_1 = bound``; 0 if ``||w||_1`` is below the bound at D = 0."""
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
