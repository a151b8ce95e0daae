"""First partitions and loadings of a mixture.

K-means finds components that lie apart; the starts of `starts.sampled_subspaces` and
`starts.graphs` find components along subspaces that cross; a random partition assumes neither.
"""

from collections.abc import Sequence
from itertools import cycle, islice

import numpy as np
from scipy import linalg
from sklearn.cluster import KMeans
from sklearn.utils.extmath import randomized_svd

from subspaces._types import Array, Labels
from subspaces.core.partition import refill, too_small
from subspaces.core.problem import Problem
from subspaces.core.rows import choose_rows
from subspaces.core.which_run import Start
from subspaces.starts.graphs import angular
from subspaces.starts.landmarks import on_landmarks
from subspaces.starts.sampled_subspaces import random_labels, sequential, swapped
from subspaces.starts.spectral import k_means_labels


def k_means(problem: Problem, random: np.random.Generator) -> Labels:
    """Return labels (n,) of K-means from one random start."""
    seed = int(random.integers(2**31))
    estimator = KMeans(problem.n_clusters, n_init=1, random_state=seed)
    return k_means_labels(problem.rows.coordinates, estimator, problem.rows.weights)


# The starts in the order in which they are taken; a fit with more of them begins again.
KINDS: tuple[tuple[str, Start], ...] = (
    ("k-means", k_means),
    ("sequential", on_landmarks(sequential(0.5))),
    ("angular", on_landmarks(angular(10))),
    ("random", random_labels),
    ("k-means", k_means),
    ("sequential", on_landmarks(sequential(0.3, any_order=True))),
    ("swapped", on_landmarks(swapped)),
    ("sequential", on_landmarks(sequential(0.7))),
    ("angular", on_landmarks(angular(5))),
    ("random", random_labels),
)


def first_partitions(
    matrix: Array,
    shapes: Sequence[Sequence[int]],
    n_starts: int,
    random: np.random.Generator,
    weights: Array | None = None,
) -> list[tuple[str, Labels]]:
    """Return a name and labels (n,) for each start.

    shapes: lists of cluster dimensions, which the starts take in turn; weights (n,): of the rows,
    None if all count one.
    """
    centred = matrix - np.average(matrix, 0, weights)
    rows = choose_rows(centred, len(shapes[0]), weights)
    found = []
    for (name, start), shape in islice(zip(cycle(KINDS), cycle(shapes)), n_starts):
        problem = Problem(rows, tuple(shape), "residual", True)
        found.append((name, _repaired(problem, start(problem, random), random)))
    return found


def leading_loadings(matrix: Array, n_factors: int, random: np.random.Generator) -> Array:
    """Return the leading right singular vectors of the rows, (p, q)."""
    seed = int(random.integers(2**31))
    right = randomized_svd(matrix, n_factors, power_iteration_normalizer="QR", random_state=seed)[2]
    return linalg.qr(right.T, mode="economic")[0]


def random_loadings(matrix: Array, n_factors: int, random: np.random.Generator) -> Array:
    """Return random orthonormal columns, (p, q), in the span of the rows if its rank allows."""
    mixed = matrix.T @ random.normal(size=(len(matrix), n_factors))
    return linalg.qr(mixed, mode="economic")[0]


def _repaired(problem: Problem, labels: Labels, random: np.random.Generator) -> Labels:
    """Return the labels, with every cluster refilled that has too few members for its dimension."""
    for cluster in too_small(labels, problem.dimensions):
        labels = refill(labels, cluster, problem.dimensions, random, problem.rows.closeness)
    return labels
