import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from subspaces.core.incomplete import observed_cells
from subspaces.core.problem import Problem
from subspaces.core.rows import DenseRows, GramRows
from subspaces.datasets import make_subspaces
from subspaces.metrics import matched_accuracy, rand_score
from subspaces.starts.graphs import (
    Graphs,
    angular,
    angular_affinity,
    observed_cosines,
    observed_pairs,
)
from subspaces.starts.spectral import cut, normalised


def pose(X, dimension, n_clusters, affine=False, rows=DenseRows):
    matrix = X - X.mean(axis=0) if affine else X
    held = GramRows(matrix @ matrix.T) if rows is GramRows else DenseRows(matrix)
    return Problem(held, (dimension,) * n_clusters, "loo", affine)


def test_angular_affinity_falls_with_the_angle():
    angles = np.radians([0.0, 10.0, 25.0, 90.0])
    X = np.array([1.0, 2.0, 3.0, -4.0])[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    columns, cosines = Graphs(pose(X, 1, 2)).neighbours
    graph = angular_affinity(columns[:, :1], cosines[:, :1]).toarray()
    assert_allclose(graph[0, 1], 2 * np.exp(-2 * np.radians(10)))
    assert_allclose(graph[2, 1], np.exp(-2 * np.radians(15)))
    assert_allclose(graph[3, 2], np.exp(-2 * np.radians(65)))
    assert_array_equal(np.diag(graph), 0)


def test_neighbours_are_those_of_all_angles_at_once():
    X = np.random.default_rng(3).normal(size=(600, 5)) + 0.5  # more than one block
    columns, cosines = Graphs(pose(X, 2, 2)).neighbours
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    all_cosines = np.abs(unit @ unit.T)
    np.fill_diagonal(all_cosines, -1.0)
    order = np.argsort(-all_cosines, axis=1)[:, :20]
    assert_array_equal(columns, order)
    assert_allclose(cosines, np.take_along_axis(all_cosines, order, axis=1))


def test_a_normalised_graph_keeps_its_edges_and_has_leading_eigenvalue_one():
    X = np.random.default_rng(0).normal(size=(40, 4))
    columns, cosines = Graphs(pose(X, 1, 2)).neighbours
    graph = angular_affinity(columns, cosines)
    dense, scaled = graph.toarray(), normalised(graph).toarray()
    degrees = dense.sum(axis=1)
    assert_allclose(scaled, dense / np.sqrt(np.outer(degrees, degrees)))
    assert_allclose(np.linalg.eigvalsh(scaled)[-1], 1.0)


@pytest.mark.parametrize("name", ["omp", "lsr", "admm"])
@pytest.mark.parametrize("rows", [DenseRows, GramRows])
def test_graphs_of_separate_subspaces_are_cut_into_them(name, rows):
    for seed in range(3):
        union = make_subspaces([30, 30, 40], 30, [3, 3, 3], noise=1e-3, random_state=seed)
        graphs = Graphs(pose(union.data, 3, 3, rows=rows))
        labels = cut(getattr(graphs, name), 3, np.random.default_rng(seed))
        assert rand_score(union.target, labels) > 0.95


@pytest.mark.parametrize("name", ["lsr", "admm"])
def test_parallel_affine_planes_are_told_apart(name):
    # Linear graphs cannot: the planes differ by their centres alone.
    random = np.random.default_rng(1)
    basis = np.linalg.qr(random.normal(size=(12, 2)))[0]
    X = random.normal(size=(80, 2)) @ basis.T + 0.01 * random.normal(size=(80, 12))
    X[40:] += 3.0 * np.linalg.qr(np.column_stack([basis, np.ones(12)]))[0][:, 2] + 1.0
    labels = cut(getattr(Graphs(pose(X, 2, 2, affine=True)), name), 2, np.random.default_rng(0))
    assert rand_score(np.repeat([0, 1], 40), labels) > 0.95


def test_more_eigenvectors_than_clusters_still_make_so_many_clusters():
    union = make_subspaces([30, 30, 40], 20, [2, 2, 2], noise=0.05, random_state=0)
    graph = Graphs(pose(union.data, 2, 3)).angular(10)
    labels = cut(graph, 3, np.random.default_rng(0), n_vectors=5)
    assert set(labels) == {0, 1, 2}


def test_as_many_clusters_as_rows_are_dealt_out_and_one_less_is_cut():
    X = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.1, 1.0]])
    graph = Graphs(pose(X, 1, 3)).angular(2)
    assert_array_equal(cut(graph, 4, np.random.default_rng(0)), np.arange(4))
    labels = cut(graph, 3, np.random.default_rng(0))
    assert labels[0] == labels[3]
    assert set(labels) == {0, 1, 2}


def test_affine_rows_are_compared_by_angle_with_a_coordinate_appended():
    random = np.random.default_rng(0)
    direction = np.array([1.0, 2.0, -1.0, 0.5])
    line = np.outer(random.uniform(-1, 1, 60), direction)
    line[30:] += [2.0, -1.0, 0.0, 1.0]
    labels = angular(5)(pose(line, 1, 2, affine=True), np.random.default_rng(0))
    assert rand_score(np.repeat([0, 1], 30), labels) == 1.0


@pytest.mark.parametrize("affine", [False, True])
def test_graphs_are_the_same_from_rows_and_from_their_inner_products(affine):
    union = make_subspaces([30, 30], 80, [3, 3], noise=0.05, offset=affine * 1.0, random_state=0)
    X = union.data - union.data.mean(axis=0) if affine else union.data
    here, there = (
        Graphs(Problem(rows, (3, 3), "loo", affine)) for rows in (DenseRows(X), GramRows(X @ X.T))
    )
    assert_array_equal(here.neighbours[0], there.neighbours[0])
    for name in ("omp", "lsr"):
        assert_allclose(getattr(here, name).toarray(), getattr(there, name).toarray(), atol=1e-8)


def test_cosines_are_those_of_the_common_cells():
    random = np.random.default_rng(0)
    X = random.normal(size=(12, 6)) + 0.5
    X[random.random(X.shape) < 0.4] = np.nan
    X[0], X[1] = np.nan, np.nan
    X[0, 0] = X[1, 1] = 1.0  # no common cell
    found = observed_cosines(observed_cells(X))
    seen = ~np.isnan(X)
    common = seen.astype(int) @ seen.astype(int).T
    usual = np.median(common)
    for i in range(12):
        for k in range(12):
            both = seen[i] & seen[k]
            expected = 0.0
            if both.any():
                a, b = X[i, both], X[k, both]
                expected = abs(a @ b) / np.sqrt((a @ a) * (b @ b))
                expected *= np.sqrt(min(both.sum() / usual, 1.0))
            assert_allclose(found[i, k], expected, rtol=1e-12, atol=1e-15)


def test_planes_are_found_through_holes():
    union = make_subspaces([60, 60], 20, [2, 2], noise=0.05, random_state=0)
    holes = np.random.default_rng(0).random(union.data.shape) < 0.2
    cells = observed_cells(np.where(holes, np.nan, union.data))
    labels = observed_pairs(cells, 2, np.random.default_rng(0))
    assert matched_accuracy(union.target, labels) > 0.95
