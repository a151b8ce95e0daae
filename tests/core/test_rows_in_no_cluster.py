"""Rows with the label -1 count as if they were not there, and weights as repeated rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from subspaces.core import criteria, incomplete, likelihood, partition, ppca_mixture
from subspaces.core.contrast import means_and_spread
from subspaces.core.loop import Clustering, descend, objective_of
from subspaces.core.partition import Partition
from subspaces.core.problem import Problem, view_clusters
from subspaces.core.rows import DenseRows, GramRows
from subspaces.core.sparse_loadings import Sparsity
from subspaces.datasets import make_subspaces
from subspaces.psc import choosing
from tests.plain import generic

UNION = make_subspaces([14, 12, 16], 6, [2, 1, 2], noise=0.3, random_state=0)
X = UNION.data
DIMENSIONS = (2, 1, 2)
LABELS = UNION.target.astype(np.intp).copy()
LABELS[[0, 3, 15, 30, 41]] = -1
KEPT = LABELS >= 0
WEIGHTS = np.random.default_rng(0).integers(0, 4, len(X)).astype(float)


def repeated(rows):
    return np.repeat(rows, WEIGHTS.astype(int), axis=0)


def problem_of(rows, criterion="influence", affine=True, sparsity=None):
    return Problem(DenseRows(rows), DIMENSIONS, criterion, affine, sparsity)


def test_a_partition_counts_rows_in_clusters_alone():
    found, plain = Partition(LABELS, 4), Partition(LABELS[KEPT], 4)
    assert_array_equal(found.sizes, [12, 11, 14, 0])
    assert_array_equal(plain.sizes, found.sizes)
    assert_array_equal(found.is_counted, KEPT)
    assert_array_equal(found.indicator[KEPT], np.eye(4)[LABELS[KEPT]])
    assert not found.indicator[~KEPT].any()
    assert_array_equal(found.row_weights, KEPT)
    assert_allclose(found.means(X), plain.means(X[KEPT]))
    assert np.isnan(found.means(X)[3]).all()
    for k in range(4):
        assert_array_equal(found.members(k), np.flatnonzero(k == LABELS))


def test_weights_are_repeated_rows():
    found = Partition(LABELS, 4, WEIGHTS)
    plain = Partition(repeated(LABELS), 4)
    assert_array_equal(found.sizes, plain.sizes)
    assert_allclose(found.means(X), plain.means(repeated(X)))
    assert_array_equal(found.indicator.sum(axis=0), plain.sizes)
    assert_array_equal(found.row_weights, np.where(KEPT, WEIGHTS, 0.0))
    for k in range(4):
        counted = (k == LABELS) & (WEIGHTS > 0)
        assert_array_equal(found.members(k), np.flatnonzero(counted))
    some = np.flatnonzero(np.arange(len(X)) % 3)
    assert_array_equal(found.subset(some).sizes, Partition(LABELS[some], 4, WEIGHTS[some]).sizes)


def test_rows_take_the_values_of_their_own_cluster():
    costs = generic(len(X), 3)
    own = Partition(LABELS, 3).own(costs)
    assert_array_equal(own[KEPT], costs[KEPT, LABELS[KEPT]])
    assert not own[~KEPT].any()
    assert_array_equal(criteria.own_costs(costs, LABELS), own)
    values = Partition(LABELS, 3).of_own(np.array([5, 7, 9]), -1)
    assert_array_equal(values, np.where(KEPT, 5 + 2 * LABELS, -1))
    absent = Partition(LABELS, 3, WEIGHTS).own(costs)
    assert_array_equal(absent, np.where(WEIGHTS > 0, own, 0.0))


@pytest.mark.parametrize("seed", range(5))
def test_canonical_numbers_skip_rows_in_no_cluster(seed):
    many = np.random.default_rng(seed).integers(-1, 4, size=(12, 9))
    many[0] = -1
    for labels in many:
        expected = np.full(9, -1)
        expected[labels >= 0] = partition.canonical(labels[labels >= 0])
        assert_array_equal(partition.canonical(labels), expected)
        again = np.random.default_rng(seed).permutation(4)
        renamed = np.where(labels >= 0, again[labels], -1)
        assert_array_equal(partition.canonical(renamed), expected)
    assert_array_equal(
        partition.canonical_each(many), [partition.canonical(labels) for labels in many]
    )


def test_a_row_in_no_cluster_is_assigned_to_the_nearest():
    costs = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 3.0], [4.0, 4.0]])
    assert_array_equal(partition.assign(costs, np.array([-1, -1, -1, 1])), [0, 1, 0, 1])


@pytest.mark.parametrize("seed", range(4))
def test_a_refill_neither_takes_nor_gives_rows_in_no_cluster(seed):
    rows, labels = generic(100, 3), np.arange(100) % 5 - 1
    labels[labels > 1] = 0
    kept = labels >= 0

    def refilled(rows, labels):
        random = np.random.default_rng(seed)
        return partition.refill(labels, 1, (1, 1), random, DenseRows(rows).closeness)

    found = refilled(rows, labels)
    assert_array_equal(found[kept], refilled(rows[kept], labels[kept]))
    assert (found[~kept] == -1).all()


def test_rows_in_no_cluster_make_no_cluster_large_enough():
    labels = np.array([0, 0, 0, -1, -1, 1, 1, -1])
    assert partition.too_small(labels, (1, 1)) == [1]
    assert partition.too_small(labels, (1, 0, 0)) == [2]


@pytest.mark.parametrize("has_holes", [False, True])
def test_means_and_deviations_are_those_of_the_rows_that_count(has_holes):
    holes = generic(*X.shape) > 0.8 if has_holes else None

    def plain(rows):
        own = None if holes is None else rows(holes)
        return means_and_spread(rows(X), Partition(rows(LABELS), 4), own)

    for weights, rows in ((None, lambda a: a[KEPT]), (WEIGHTS, repeated)):
        found = means_and_spread(X, Partition(LABELS, 4, weights), holes)
        for value, expected in zip(found, plain(rows), strict=True):
            assert_allclose(value, expected)
    full = Partition(UNION.target, 3)
    assert_allclose(means_and_spread(X, full)[0], [X[UNION.target == k].mean(0) for k in range(3)])


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("form", [DenseRows, lambda rows: GramRows(rows @ rows.T)])
@pytest.mark.parametrize("criterion", criteria.names(dense=True))
def test_costs_are_those_without_rows_in_no_cluster(criterion, form, affine):
    matrices = []
    for rows, labels in ((X, LABELS), (X[KEPT], LABELS[KEPT])):
        problem = Problem(form(rows), DIMENSIONS, criterion, affine)
        views = view_clusters(problem, labels)
        matrices.append(criteria.costs(criterion, views, problem.data))
    assert_allclose(matrices[0][KEPT], matrices[1], rtol=1e-7, atol=1e-9)
    # A row in no cluster is an outsider to all: its costs are as if it were in another cluster.
    # Only Gaussians have the noise and the shares of all clusters.
    if criteria.CRITERIA[criterion].gaussian is None:
        elsewhere = np.where(np.arange(len(X)) == 0, 1, LABELS)
        problem = Problem(form(X), DIMENSIONS, criterion, affine)
        expected = criteria.costs(criterion, view_clusters(problem, elsewhere), problem.data)
        assert_allclose(matrices[0][0, [0, 2]], expected[0, [0, 2]])


@pytest.mark.parametrize("criterion", [*criteria.names(dense=False), "residual"])
def test_sparse_costs_are_those_without_rows_in_no_cluster(criterion):
    sparsity = Sparsity((3, 4, 3), "l0")
    values = []
    for rows, labels in ((X, LABELS), (X[KEPT], LABELS[KEPT])):
        problem = problem_of(rows, criterion, True, sparsity)
        matrix = criteria.costs(criterion, view_clusters(problem, labels), problem.data)
        values.append((matrix, objective_of(problem, labels)))
    assert_allclose(values[0][0][KEPT], values[1][0], rtol=1e-6)
    assert values[0][1] == pytest.approx(values[1][1])


@pytest.mark.parametrize(
    "value",
    [
        likelihood.t_likelihood,
        likelihood.classification_likelihood,
        lambda views, data: likelihood.student_costs(views, data).sum(),
    ],
)
def test_likelihoods_are_those_without_rows_in_no_cluster(value):
    problems = problem_of(X), problem_of(X[KEPT])
    both = zip(problems, (LABELS, LABELS[KEPT]), strict=True)
    found, expected = (value(view_clusters(each, y), each.data) for each, y in both)
    assert found == pytest.approx(expected)


def test_descent_leaves_rows_in_no_cluster_alone():
    ends = []
    small = 1e-3 * X  # densities above 1: a row more in a cluster lowers the objective
    for rows, labels in ((small, LABELS), (small[KEPT], LABELS[KEPT])):
        problem = problem_of(rows, "likelihood")
        labels = labels.copy()
        labels[np.flatnonzero(labels == 0)[:4]] = 2
        start = Clustering(labels, objective_of(problem, labels), (), "", 0, 0, None)
        ends.append(descend(problem, start, max_iter=20))
    assert_array_equal(ends[0].labels[KEPT], ends[1].labels)
    assert (ends[0].labels[~KEPT] == -1).all()
    assert ends[0].objective == pytest.approx(ends[1].objective)


def test_press_leaves_rows_in_no_cluster_out():
    errors = generic(len(X), 1)[:, 0] ** 2
    found = choosing.press_of_clusters(errors, LABELS)
    assert_allclose(found[KEPT], choosing.press_of_clusters(errors[KEPT], LABELS[KEPT]))
    assert not found[~KEPT].any()


@pytest.mark.parametrize("affine", [False, True])
def test_choices_leave_rows_in_no_cluster_out(affine):
    given = (X, LABELS), (X[KEPT], LABELS[KEPT])
    found, expected = (choosing.left_out_likelihood(*each, DIMENSIONS, affine) for each in given)
    assert_allclose(found[KEPT], expected)
    assert not found[~KEPT].any()
    one, other = (
        choosing.against_one_subspace(*each, DIMENSIONS, affine, range(1, 6)) for each in given
    )
    assert one[1] == other[1]
    assert_allclose(one[0][KEPT], other[0])
    assert not one[0][~KEPT].any()
    found = ppca_mixture.refine_labels(X, [LABELS, UNION.target], DIMENSIONS, affine)
    starts = [LABELS[KEPT], UNION.target[KEPT]]
    assert_array_equal(found[KEPT], ppca_mixture.refine_labels(X[KEPT], starts, DIMENSIONS, affine))
    assert (found[~KEPT] == -1).all()


def test_first_clusters_of_incomplete_rows_leave_rows_in_no_cluster_out():
    given = (X, LABELS), (X[KEPT], LABELS[KEPT])
    found, expected = (incomplete.first_clusters(*each, DIMENSIONS, True, 1e-9) for each in given)
    assert found[1] == pytest.approx(expected[1])
    for one, other in zip(found[0], expected[0], strict=True):
        assert_allclose(one.centre, other.centre)
        assert_allclose(np.abs(one.loadings), np.abs(other.loadings))
    holes = generic(*X.shape) > 1.2
    cells = incomplete.observed_cells(np.where(holes, np.nan, X))
    fitted = incomplete.fit_mixture(cells, LABELS, DIMENSIONS, False, X, max_iter=1)
    clusters, noise = incomplete.first_clusters(X[KEPT], LABELS[KEPT], DIMENSIONS, False, 1e-9)
    shares = np.bincount(LABELS[KEPT]) / KEPT.sum()
    first = incomplete.IncompleteMixture(clusters, shares, np.full(3, noise))
    value = incomplete.responsibilities(incomplete.posteriors(cells, first), shares)[1]
    prior = np.sum(cells.values**2) / cells.observed.sum()
    assert fitted.path[0] == pytest.approx(value - incomplete.penalty(first, prior))
