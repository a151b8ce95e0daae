import numpy as np
from numpy.testing import assert_array_equal

from subspaces.core import partition
from subspaces.core.rows import DenseRows
from tests.plain import generic


def refilled(X, labels, cluster, dimensions, seed):
    random = np.random.default_rng(seed)
    return partition.refill(labels, cluster, dimensions, random, DenseRows(X).closeness)


def test_canonical_order_is_that_of_first_appearance():
    assert_array_equal(partition.canonical(np.array([2, 2, 0, 1, 0, 2])), [0, 0, 1, 2, 1, 0])


def test_assign_takes_the_least_and_stays_on_ties():
    costs = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 3.0], [3.0, 3.0]])
    assert_array_equal(partition.assign(costs), [0, 1, 0, 0])
    assert_array_equal(partition.assign(costs, np.array([1, 0, 1, 0])), [0, 1, 1, 0])


def test_clusters_need_two_more_members_than_dimensions():
    labels = np.array([0, 0, 0, 1, 1, 1, 1, 2])
    assert partition.too_small(labels, (1, 3, 0)) == [1]
    assert partition.too_small(labels, (1, 2, 0, 0)) == [3]


def test_refill_takes_the_angular_neighbours_of_a_row():
    far = generic(22, 3) + np.array([0, 9, 9])
    X = np.vstack([np.outer(np.r_[-9:0, 1:10], [1.0, 0.2, 0.1]), far])
    labels = np.zeros(40, dtype=np.intp)
    labels[-2:] = 1
    for seed in range(5):
        found = refilled(X, labels, 1, (1, 1), seed)
        assert partition.too_small(found, (1, 1)) == []
        on_the_line = np.flatnonzero(found == 1) < 18
        assert on_the_line.all() or not on_the_line.any()
    assert np.count_nonzero(labels) == 2


def test_refill_takes_neighbours_and_not_the_others():
    angles = np.radians(np.linspace(0, 89, 60))
    X = np.column_stack([np.cos(angles), np.sin(angles)]) * 3.0
    labels = np.zeros(60, dtype=np.intp)
    for seed in range(8):
        found = refilled(X, labels, 1, (1, 1), seed)
        taken = np.flatnonzero(found == 1)
        assert len(taken) == 9
        assert np.ptp(taken) == 8


def test_zero_rows_are_near_nothing():
    X = generic(6, 3)
    X[2] = 0.0
    assert_array_equal(DenseRows(X).closeness(2), 0)
    assert DenseRows(X).closeness(0)[2] == 0


def test_refill_leaves_the_donors_feasible():
    X = generic(12, 3)
    labels = np.array([0] * 4 + [1] * 4 + [2] * 4)
    labels[labels == 2] = 1
    found = refilled(X, labels, 2, (2, 2, 2), 0)
    assert partition.too_small(found, (2, 2, 2)) == []


def test_many_partitions_are_ordered_as_each():
    random = np.random.default_rng(0)
    many = random.integers(5, size=(20, 9))
    many[0] = 4  # most clusters do not appear
    expected = [partition.canonical(labels) for labels in many]
    assert_array_equal(partition.canonical_each(many), expected)
