import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse.csgraph import connected_components

from subspaces.core.partition import canonical
from subspaces.core.problem import Problem
from subspaces.core.rows import choose_rows
from subspaces.datasets import make_subspaces
from subspaces.rivals.ensemble import (
    co_association,
    entries_to_keep,
    graph_labels,
    indicators,
    random_subspaces,
)
from subspaces.subspace import fit_subspace, squared_residual
from tests.plain import generic


def some_partitions(n=23, runs=7, seed=0):
    random = np.random.default_rng(seed)
    return [random.integers(2 + b % 3, size=n) for b in range(runs)]


def plain_shares(partitions):
    """A_ij = share of the partitions in which i and j are together."""
    n = len(partitions[0])
    return np.array(
        [[np.mean([p[i] == p[j] for p in partitions]) for j in range(n)] for i in range(n)]
    )


def plain_graph(partitions, kept):
    """The average of A cut to its largest entries per row and A cut to those per column."""
    shares = plain_shares(partitions)
    by_row, by_column = np.zeros_like(shares), np.zeros_like(shares)
    for i, row in enumerate(shares):
        for j in sorted(range(len(row)), key=lambda j, row=row: (-row[j], j))[:kept]:
            by_row[i, j] = by_column[j, i] = row[j]
    return (by_row + by_column) / 2


def test_indicators_give_the_shares():
    partitions = some_partitions()
    Z = indicators(partitions)
    assert_allclose((Z @ Z.T).toarray() / 7, plain_shares(partitions))


@pytest.mark.parametrize("kept", [1, 4, 11, 23])
@pytest.mark.parametrize("block", [1, 70, 2**22])
def test_the_graph_is_that_of_the_plain_loop(kept, block):
    partitions = some_partitions()
    graph = co_association(partitions, kept, block)
    assert_allclose(graph.toarray(), plain_graph(partitions, kept), rtol=1e-12)
    assert graph.nnz <= 2 * kept * 23


@pytest.mark.parametrize("kept", [1, 3, 200])
def test_the_clusters_of_one_partition_are_the_parts_of_the_graph(kept):
    labels = np.random.default_rng(0).integers(4, size=200)
    parts, names = connected_components(co_association([labels], kept))
    assert parts == 4
    assert_array_equal(canonical(names), canonical(labels))


def test_the_number_of_entries():
    assert entries_to_keep(200, 2) == 50
    assert entries_to_keep(201, 2) == 51
    assert entries_to_keep(10_000, 2) == 200
    assert entries_to_keep(20, 10) == 3
    assert entries_to_keep(2, 2) == 2


@pytest.mark.parametrize("affine", [False, True])
def test_random_flats_pass_through_random_rows(affine):
    X = generic(40, 5)
    X = X - X.mean(axis=0)
    problem = Problem(choose_rows(X, 2), (1, 2), "residual", affine)
    labels = random_subspaces(problem, np.random.default_rng(3))
    random = np.random.default_rng(3)
    flats = [
        fit_subspace(X[random.choice(40, r + affine, replace=False)], r, affine=affine)
        for r in (1, 2)
    ]
    distances = np.column_stack([squared_residual(X, flat) for flat in flats])
    assert_array_equal(labels, distances.argmin(axis=1))
    assert {0, 1} == set(labels)


def test_the_parts_get_the_dimensions_that_fit():
    union = make_subspaces([30, 40, 35], 8, [3, 1, 2], noise=0.01, random_state=0)
    graph = co_association([union.target], 10)
    for dimensions in [(3, 1, 2), (1, 2, 3), (2, 3, 1)]:
        problem = Problem(choose_rows(union.data, 3), dimensions, "residual", False)
        labels, missing = graph_labels(problem, graph, np.random.default_rng(0))
        assert missing == 0
        assert_array_equal(np.array(dimensions)[labels], union.n_components[union.target])
