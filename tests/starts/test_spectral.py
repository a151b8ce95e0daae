from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.cluster import KMeans

from subspaces.core.criteria import costs
from subspaces.core.partition import canonical
from subspaces.datasets import make_subspaces
from subspaces.starts import spectral
from subspaces.starts.spectral import match_dimensions
from tests.starts.posed import pose


def noisy_blocks(sizes, noise, seed=0):
    random = np.random.default_rng(seed)
    truth = np.repeat(np.arange(len(sizes)), sizes)
    weights = random.uniform(0.5, 1.0, (len(truth), len(truth)))
    weights *= np.where(truth[:, None] == truth, 1.0, noise)
    order = random.permutation(len(truth))
    return (weights + weights.T)[np.ix_(order, order)], truth[order]


@pytest.mark.parametrize("times", [1, 17])  # up to 1000 vertices LAPACK finds the vectors
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_blocks_are_found(times, form, noise):
    affinity, truth = noisy_blocks([30 * times, 12 * times, 20 * times], noise)
    labels = spectral.cut(form(affinity), 3, np.random.default_rng(1))
    assert_array_equal(canonical(labels), canonical(truth))


def test_vectors_solve_the_generalised_problem():
    affinity, _ = noisy_blocks([10, 15], 0.3)
    vectors = spectral.embedding(affinity, 2, np.random.default_rng(0))
    degrees = affinity.sum(axis=1)
    cut = vectors / np.sqrt(degrees)[:, None]
    ratio = (affinity @ cut) / (degrees[:, None] * cut)
    assert_allclose(ratio, np.broadcast_to(ratio[0], ratio.shape), rtol=1e-8)
    assert_allclose(ratio[0, -1], 1.0)


def test_a_vertex_without_edges_does_no_harm():
    affinity, truth = noisy_blocks([10, 15], 0.0)
    affinity[3] = affinity[:, 3] = 0.0
    labels = spectral.cut(affinity, 2, np.random.default_rng(0))
    rest = np.arange(25) != 3
    assert_array_equal(canonical(labels[rest]), canonical(truth[rest]))


def test_as_many_clusters_as_vertices():
    labels = spectral.cut(np.ones((4, 4)), 4, np.random.default_rng(0))
    assert_array_equal(np.sort(labels), np.arange(4))


@pytest.mark.parametrize(("each", "seed"), [(30, 0), (30, 1), (110, 2)])
def test_every_piece_of_a_thin_graph_is_found(each, seed):
    random = np.random.default_rng(seed)
    truth = random.permutation(np.repeat(np.arange(10), each))
    weights = np.zeros((10 * each, 10 * each))
    for k in range(10):
        ring = np.flatnonzero(truth == k)
        weights[ring, np.roll(ring, 1)] = random.uniform(0.5, 1.0, each)
    labels = spectral.cut(sparse.csr_array(weights + weights.T), 10, random)
    assert_array_equal(canonical(labels), canonical(truth))


def test_larger_pieces_come_before_smaller_ones():
    affinity, truth = noisy_blocks([20, 2, 25, 2], 0.0)
    labels = spectral.cut(sparse.csr_array(affinity), 2, np.random.default_rng(0))
    large = np.isin(truth, [0, 2])
    assert_array_equal(canonical(labels[large]), canonical(truth[large]))


def test_pieces_need_no_solving_where_they_suffice():
    affinity, _ = noisy_blocks([20, 7, 25, 9], 0.0)
    affinity = np.pad(affinity, (0, 2))  # two vertices without an edge: eigenvalue 0
    vectors = spectral.embedding(sparse.csr_array(affinity), 4, np.random.default_rng(0))
    scale = 1.0 / np.sqrt(np.where(affinity.any(axis=0), affinity.sum(axis=0), 1.0))
    values, whole = np.linalg.eigh(affinity * scale * scale[:, None])
    assert_allclose(values[-4:], 1.0)
    assert_allclose(vectors @ vectors.T, whole[:, -4:] @ whole[:, -4:].T, atol=1e-12)


def test_rows_count_by_their_direction():
    random = np.random.default_rng(0)
    truth = np.repeat([0, 1], 30)
    rows = np.array([[1.0, 0.1], [0.1, 1.0]])[truth] * random.uniform(0.01, 10.0, (60, 1))
    labels = spectral.rows_to_labels(rows + 1e-4 * random.normal(size=rows.shape), 2, random)
    assert_array_equal(canonical(labels), truth)


@pytest.mark.parametrize("seed", range(6))
def test_k_means_is_as_good_as_scikit_learns(seed):
    n_clusters = 2 + seed
    rows = noisy_groups(40 + 60 * seed, n_clusters, seed)
    labels = spectral.k_means(rows, n_clusters, np.random.default_rng(seed))
    theirs = KMeans(n_clusters, n_init=50, tol=0.0, random_state=seed).fit(rows)
    within = sum(((part - part.mean(axis=0)) ** 2).sum() for part in split(rows, labels))
    assert within <= 1.002 * theirs.inertia_


def test_k_means_ends_where_every_row_is_at_its_nearest_centre():
    rows = noisy_groups(300, 4, 1)
    labels = spectral.k_means(rows, 4, np.random.default_rng(0))
    centres = np.array([part.mean(axis=0) for part in split(rows, labels)])
    distances = ((rows[:, None] - centres) ** 2).sum(axis=2)
    assert np.mean(distances.argmin(axis=1) == labels) > 0.99


def test_k_means_takes_repeated_rows_and_far_away_ones():
    rows = np.repeat(np.eye(3) + 1e6, [5, 1, 30], axis=0)
    labels = spectral.k_means(rows, 3, np.random.default_rng(0))
    assert_array_equal(canonical(labels), np.repeat([0, 1, 2], [5, 1, 30]))
    assert set(spectral.k_means(rows, 5, np.random.default_rng(0)).tolist()) <= set(range(5))


def test_centres_are_rows_and_spread():
    rows, n = noisy_groups(200, 5, 0), 20
    centres = spectral.spread_centres(rows, 5, np.random.default_rng(0), n)
    assert centres.shape == (n, 5, rows.shape[1])
    assert all((centres.reshape(-1, 1, rows.shape[1]) == rows).all(axis=2).any(axis=1))
    drawn = np.random.default_rng(0).integers(200, size=(n, 5))
    spread, at_random = (energy_of_nearest(rows, each) for each in (centres, rows[drawn]))
    assert spread < 0.8 * at_random


def noisy_groups(n, n_clusters, seed):
    random = np.random.default_rng(seed)
    centres = 2.0 * random.normal(size=(n_clusters, n_clusters + 1))
    return centres[random.integers(n_clusters, size=n)] + random.normal(size=(n, n_clusters + 1))


def split(rows, labels):
    return [rows[labels == k] for k in range(labels.max() + 1)]


def energy_of_nearest(rows, centres):
    """Return the mean over starts of the sum of squared distances to the nearest centre."""
    distances = ((rows - centres[:, :, None]) ** 2).sum(axis=3)
    return distances.min(axis=1).sum(axis=1).mean()


def test_dimensions_go_to_the_parts_at_least_cost():
    union = make_subspaces([30, 40, 50], 12, [3, 1, 2], noise=0.05, random_state=2)
    problem = pose(union)
    shuffled = np.array([2, 0, 1])[union.target]
    assert_array_equal(match_dimensions(problem, shuffled), union.target)

    def price(order):
        relabelled = np.array(order)[shuffled]
        total = 0.0
        for k, r in enumerate(problem.dimensions):
            members = np.flatnonzero(relabelled == k)
            view = problem.rows.view(members, r, False)
            total += costs("influence", [view], problem.data)[members, 0].sum()
        return total

    best = min(permutations(range(3)), key=price)
    assert_array_equal(np.array(best)[shuffled], match_dimensions(problem, shuffled))
