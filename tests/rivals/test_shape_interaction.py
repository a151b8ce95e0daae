import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from subspaces.core.partition import canonical
from subspaces.metrics import matched_accuracy
from subspaces.rivals.shape_interaction import (
    best_cut,
    cut_weight,
    eigengap,
    left_singular_vectors,
    regularised,
    regularised_cut,
    shape_interaction,
)
from subspaces.starts.self_expression import lifted_rows
from subspaces.starts.spectral import rows_to_labels

# The graph is in single precision.
NEARLY = {"rtol": 1e-4, "atol": 1e-6}
BOTH = pytest.mark.parametrize("mirrored", [True, False])


def points_of(n, noise, mirrored):
    """Rows of two planes and their planes: through the origin, or far from it and lifted."""
    random = np.random.default_rng(0)
    truth = np.repeat([0, 1], n)
    bases = np.linalg.qr(random.normal(size=(2, 9, 2)))[0]
    rows = np.vstack([random.normal(size=(n, 2)) @ basis.T for basis in bases])
    rows += noise * random.normal(size=rows.shape)
    centres = 5.0 + 0.3 * random.normal(size=(2, 9))
    return (rows if mirrored else lifted_rows(rows + centres[truth])), truth


def plain_affinity(points, rank, power, mirrored):
    """One pair at a time."""
    left = np.linalg.svd(points)[0][:, :rank]
    n = len(points)
    weights = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            cosine = left[i] @ left[j] / np.linalg.norm(left[i]) / np.linalg.norm(left[j])
            if mirrored or cosine > 0:
                weights[i, j] = abs(cosine) ** power
    return weights


def plain_relative_cut(weights, labels, n_clusters):
    """``cut(A) / (mu_K - mu_{K+1})`` with the eigenvalues of the matrix that is not symmetric."""
    n = len(weights)
    cut = sum(weights[i, j] for i in range(n) for j in range(n) if labels[i] != labels[j])
    values = np.sort(np.linalg.eigvals(weights / weights.sum(axis=1)[:, None]).real)[::-1]
    return cut / (values[n_clusters - 1] - values[n_clusters])


def plain_regularised(weights):
    root = np.diag((weights.sum(axis=1) + 1.0) ** -0.5)
    return root @ (weights + 0.5 * np.eye(len(weights))) @ root


def plain_labels(weights, n_clusters, random):
    vectors = np.linalg.eigh(plain_regularised(weights))[1][:, -n_clusters:]
    return rows_to_labels(vectors, n_clusters, random)


@BOTH
def test_the_best_cut_is_that_of_the_plain_loop(mirrored):
    points, _ = points_of(25, 0.1, mirrored)
    found = best_cut(points, 2, 6, 3.5, np.random.default_rng(0), mirrored=mirrored)
    plain = {}
    for rank in range(2, 7):
        weights = plain_affinity(points, rank, 3.5, mirrored)
        labels = plain_labels(weights, 2, np.random.default_rng(rank))
        plain[rank] = plain_relative_cut(weights, labels, 2), canonical(labels)
    assert found.rank == min(plain, key=lambda rank: plain[rank][0])
    assert_allclose(found.relative_cut, plain[found.rank][0], **NEARLY)
    assert_array_equal(canonical(found.labels), plain[found.rank][1])


@BOTH
@pytest.mark.parametrize("power", [1.0, 3.5])
def test_the_graph_is_that_of_the_plain_loop(mirrored, power):
    points, _ = points_of(20, 0.2, mirrored)
    affinity = shape_interaction(left_singular_vectors(points)[:, :4], power, mirrored=mirrored)
    assert_allclose(affinity, plain_affinity(points, 4, power, mirrored), **NEARLY)
    assert_allclose(regularised(affinity), plain_regularised(affinity), **NEARLY)


@BOTH
def test_gap_and_cut_of_many_rows_are_the_plain_ones(mirrored):
    """Above 300 rows by Lanczos' method."""
    points, _ = points_of(160, 0.1, mirrored)
    affinity = shape_interaction(left_singular_vectors(points)[:, :5], 3.5, mirrored=mirrored)
    random = np.random.default_rng(0)
    labels = regularised_cut(affinity, 2, random)
    assert_array_equal(canonical(labels), canonical(plain_labels(affinity, 2, random)))
    relative = cut_weight(affinity, labels) / eigengap(affinity, 2, random)
    assert_allclose(relative, plain_relative_cut(affinity, labels, 2), **NEARLY)


@BOTH
def test_without_noise_the_rank_is_that_of_all_subspaces(mirrored):
    points, truth = points_of(60, 0.0, mirrored)
    found = best_cut(points, 2, 9, 3.5, np.random.default_rng(0), mirrored=mirrored)
    assert found.rank == (4 if mirrored else 6)
    assert matched_accuracy(truth, found.labels) == 1.0


def test_products_of_independent_subspaces_vanish():
    """The shape interaction matrix [Costeira & Kanade 1998]: block-diagonal at the right rank."""
    points, truth = points_of(30, 0.0, True)
    affinity = shape_interaction(left_singular_vectors(points), 1.0, mirrored=True)
    assert affinity[truth[:, None] != truth].max() < 1e-6


def test_one_row_apart_is_no_cluster():
    points, truth = points_of(40, 0.02, True)
    affinity = shape_interaction(left_singular_vectors(points)[:, :4], 3.5, mirrored=True)
    affinity[7], affinity[:, 7] = 1e-6, 1e-6
    affinity[7, 7] = 1.0
    labels = regularised_cut(affinity, 2, np.random.default_rng(0))
    assert matched_accuracy(np.delete(truth, 7), np.delete(labels, 7)) == 1.0


def test_a_mirror_image_is_in_the_same_line():
    random = np.random.default_rng(0)
    lines = random.normal(size=(2, 5))
    rows = np.vstack([random.choice([-1.0, 1.0], size=(30, 1)) * line for line in lines])
    found = best_cut(rows, 2, 2, 3.5, random, mirrored=True)
    assert matched_accuracy(np.repeat([0, 1], 30), found.labels) == 1.0


def test_ranks_end_at_that_of_the_rows():
    random = np.random.default_rng(0)
    rows = random.normal(size=(40, 3)) @ random.normal(size=(3, 8))
    assert best_cut(rows, 2, 20, 3.5, random, mirrored=True).rank in (2, 3)
    assert best_cut(rows, 5, 20, 3.5, random, mirrored=True).rank == 3


def test_a_graph_without_a_gap_is_not_preferred():
    """Four identical points, two clusters: the eigenvalue 1 comes four times, and no cut counts."""
    rows = np.repeat(np.eye(4), 10, axis=0)
    found = best_cut(rows, 2, 4, 3.5, np.random.default_rng(0), mirrored=True)
    assert found.rank < 4 or found.relative_cut == np.inf
