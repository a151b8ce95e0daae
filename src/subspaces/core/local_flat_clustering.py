"""Clusters from flats fitted around single points, greedily or by a graph.

LBF draws points, fits a flat around each and chooses K of these, one at a time, by the sum of
distances to the nearest. SLBF fits a flat around every point and cuts the graph with weights

    ``exp(-s^2 / 2 sigma_i^2) + exp(-s^2 / 2 sigma_j^2)``, ``s^2 = dist(x_i, L_j) dist(x_j, L_i)``

[Zhang, Szlam, Wang & Lerman 2012]. sigma is a multiple of the root mean squared
distance of the own neighbourhood from its flat; several multiples are tried and the clusters with
the least mean squared distance from their flats are kept.
"""

import numpy as np
from numpy.typing import NDArray

from subspaces.core.flat_error import mean_squared_distance
from subspaces.core.local_flats import distances_from, fit_local_flats
from subspaces.core.spectral import spectral_labels

Array = NDArray[np.floating]
Labels = NDArray[np.intp]

MULTIPLES = (0.25, 0.5, 1.0, 2.0, 4.0)
# Distances are known to about 1e-7 of the points' lengths: no scale below this share of them.
SMALLEST_SCALE = 1e-6


def greedy_clustering(
    points: Array, n_clusters: int, dimension: int, affine: bool, n_candidates: int,
    random: np.random.Generator,
) -> Labels:  # fmt: skip
    """LBF: each point to the nearest of K chosen local flats."""
    seeds = random.choice(len(points), min(n_candidates, len(points)), replace=False)
    distances = distances_from(points, fit_local_flats(points, seeds, dimension, affine))
    return np.argmin(distances[:, choose_greedily(distances, n_clusters)], axis=1)


def graph_clustering(
    points: Array, n_clusters: int, dimension: int, affine: bool, random: np.random.Generator
) -> Labels:
    """SLBF: the cut of least flat error over the multiples of the local scales."""
    flats = fit_local_flats(points, np.arange(len(points)), dimension, affine)
    distances = distances_from(points, flats)
    floor = SMALLEST_SCALE * float(np.sqrt(np.mean(np.sum(points**2, axis=1))))
    best, least = np.zeros(len(points), dtype=np.intp), np.inf
    for multiple in MULTIPLES:
        affinity = local_affinity(distances, multiple * np.maximum(flats.spread, floor))
        labels = spectral_labels(affinity, n_clusters, random)
        error = mean_squared_distance(points, labels, dimension, affine)
        if error < least:
            best, least = labels, error
    return best


def choose_greedily(distances: Array, n_clusters: int) -> list[int]:
    """Flats, one at a time: each the one that leaves the least sum of distances to the nearest.

    distances: (n, m) of the points from the candidates.
    """
    reached = np.full((len(distances), 1), np.inf)
    chosen: list[int] = []
    for _ in range(n_clusters):
        left = np.minimum(distances, reached).sum(axis=0)
        left[chosen] = np.inf
        chosen.append(int(np.argmin(left)))
        reached = np.minimum(reached, distances[:, chosen[-1:]])
    return chosen


def local_affinity(distances: Array, scales: Array) -> Array:
    """Weights of the graph, (n, n): distances (n, n) with one flat a point, scales (n,)."""
    half = np.exp(distances * distances.T / (-2.0 * scales[:, None] ** 2))
    return half + half.T
