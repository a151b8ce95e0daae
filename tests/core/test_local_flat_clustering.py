import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from subspaces.core import local_flat_clustering as module
from subspaces.core.local_flat_clustering import (
    choose_greedily,
    graph_clustering,
    greedy_clustering,
    local_affinity,
)
from subspaces.core.partition import canonical


def test_greedy_choice_is_the_plain_one():
    distances = np.random.default_rng(0).uniform(size=(30, 12)) ** 3
    chosen = []
    for _ in range(4):
        sums = {}
        for j in set(range(12)) - set(chosen):
            sums[j] = sum(min(row[i] for i in [*chosen, j]) for row in distances)
        chosen.append(min(sums, key=sums.get))
    assert_array_equal(choose_greedily(distances, 4), chosen)


def test_no_flat_is_chosen_twice():
    assert sorted(choose_greedily(np.zeros((5, 3)), 3)) == [0, 1, 2]


def test_affinity_is_its_formula():
    random = np.random.default_rng(0)
    distances, scales = random.uniform(size=(6, 6)), random.uniform(0.5, 1, 6)
    found = local_affinity(distances, scales)
    for i, j in [(0, 1), (4, 2), (3, 3)]:
        s = np.sqrt(distances[i, j] * distances[j, i])
        plain = np.exp(-(s**2) / (2 * scales[i] ** 2)) + np.exp(-(s**2) / (2 * scales[j] ** 2))
        assert_allclose(found[i, j], plain)
    assert_allclose(found, found.T)


def test_no_noise_at_all():
    points = np.repeat([[1.0, 2.0], [4.0, -2.0]], 20, axis=0)
    labels = graph_clustering(points, 2, 0, True, np.random.default_rng(0))
    assert_array_equal(canonical(labels), np.repeat([0, 1], 20))


def test_the_cut_of_least_error_is_kept(monkeypatch):
    points = two_lines()
    truth = np.repeat([0, 1], 30)
    cuts = iter(
        [np.arange(60) % 2, np.arange(60) // 40, truth, np.arange(60) // 20 % 2, np.zeros(60, int)]
    )
    monkeypatch.setattr(module, "spectral_labels", lambda *given: next(cuts))
    labels = graph_clustering(points, 2, 1, True, np.random.default_rng(0))
    assert_array_equal(labels, truth)


def two_lines():
    positions = np.random.default_rng(0).uniform(-1, 1, 60)
    points = np.outer(positions, [1.0, 2.0, 0.5])
    points[30:] = np.outer(positions[30:], [-1.0, 1.0, 0.5])
    points[:30] += 2.0
    return points


def test_two_lines_apart():
    points = two_lines()
    truth = np.repeat([0, 1], 30)
    for labels in (
        greedy_clustering(points, 2, 1, True, 20, np.random.default_rng(1)),
        graph_clustering(points, 2, 1, True, np.random.default_rng(1)),
    ):
        assert_array_equal(canonical(labels), truth)
