from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from subspaces.core import loop
from subspaces.core.criteria import costs
from subspaces.core.in_view import RowsInView
from subspaces.core.loop import Fitted, Restless, alternate, descend, objective_of
from subspaces.core.partition import assign, too_small
from subspaces.core.problem import Problem, view_clusters
from subspaces.core.rows import DenseRows, GramRows, choose_rows
from subspaces.datasets import make_scenario, make_subspaces

CRITERIA = ("influence", "residual", "hat", "loo", "likelihood")


def noisy_union(seed=0, noise=0.1):
    return make_subspaces([30, 40, 50], 6, [1, 2, 2], noise=noise, offset=0.0, random_state=seed)


def run(problem, labels, seed=0, max_iter=50, restless=None):
    random, samples = np.random.default_rng(seed), RowsInView(problem)
    return alternate(samples, labels, max_iter=max_iter, random=random, restless=restless)


def random_start(n, k, seed=0):
    return np.random.default_rng(seed).permutation(np.arange(n) % k)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_converged_partition_is_a_fixed_point(criterion):
    union = noisy_union()
    problem = Problem(DenseRows(union.data), (1, 2, 2), criterion, False)
    result = run(problem, union.target)
    assert result.stop_reason == "converged"
    views = view_clusters(problem, result.labels)
    matrix = costs(criterion, views, problem.data)
    assert_array_equal(assign(matrix, result.labels), result.labels)
    assert_allclose(objective_of(problem, result.labels), result.objective)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_only_a_fixed_point_is_called_converged(criterion):
    """Where the sweeps end in a partition that is not the best they met, another name is due."""
    reasons = Counter()
    for seed in range(12):
        X = np.random.default_rng(seed).normal(size=(60, 10))
        problem = Problem(choose_rows(X, 2), (2, 2), criterion, False)
        result = run(problem, random_start(60, 2, seed), seed)
        matrix = costs(criterion, view_clusters(problem, result.labels), problem.data)
        stays = np.array_equal(assign(matrix, result.labels), result.labels)
        assert stays == (result.stop_reason == "converged")
        assert (result.stop_reason == "overshot") <= (result.objective < result.path[-1])
        reasons[result.stop_reason] += 1
    assert reasons["converged"]
    assert reasons["overshot"] or criterion == "residual"


def test_a_run_in_which_few_rows_move_and_little_is_gained_ends_early():
    X, ended = np.random.default_rng(0).normal(size=(300, 10)), Counter()
    problem = Problem(choose_rows(X, 3), (2, 2, 2), "loo", False)
    for seed in range(6):
        start = random_start(300, 3, seed)
        whole, early = run(problem, start), run(problem, start, restless=Restless(9, 3, 0.01))
        never = run(problem, start, restless=Restless(9, 3, -1.0))
        assert (never.path, never.stop_reason) == (whole.path, whole.stop_reason)
        assert early.path == whole.path[: early.n_iter]
        ended[early.stop_reason] += 1
        if early.stop_reason == "restless":
            assert early.objective == min(early.path)
            assert min(early.path[:-3]) <= 1.01 * early.objective
            assert early.moving <= 9
        else:
            assert early.path == whole.path
    assert ended["restless"]


def test_a_run_that_settles_where_a_cluster_does_not_span_its_axes_is_infeasible():
    """Lines fitted as planes: the last partition cannot be kept, and one met before is."""
    X = make_scenario("a", random_state=0).data
    problem = Problem(choose_rows(X, 2), (2, 2), "residual", False)
    ends = [run(problem, random_start(len(X), 2, seed), seed) for seed in range(20)]
    kept = [end for end in ends if np.isfinite(end.objective)]
    for end in kept:
        matrix = costs("residual", view_clusters(problem, end.labels), problem.data)
        if not np.array_equal(assign(matrix, end.labels), end.labels):
            assert end.stop_reason != "converged"
    assert any(end.stop_reason == "infeasible" for end in ends)


@pytest.mark.parametrize("affine", [False, True])
def test_the_residual_never_rises(affine):
    for seed in range(10):
        union = noisy_union(seed, noise=0.3)
        problem = Problem(DenseRows(union.data), (1, 2, 2), "residual", affine)
        result = run(problem, random_start(120, 3, seed), seed)
        if not result.repairs:
            assert np.diff(result.path).max(initial=0) <= 1e-9 * result.path[0]


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_best_partition_seen_is_returned(criterion):
    for seed in range(5):
        union = noisy_union(seed, noise=0.4)
        problem = Problem(DenseRows(union.data), (1, 2, 2), criterion, False)
        result = run(problem, random_start(120, 3, seed), seed)
        assert result.objective <= min(result.path) + 1e-12 * abs(result.path[0])
        assert result.n_iter == len(result.path)


def test_the_influence_can_rise_and_cycle():
    X = np.array([[2, 3], [-3, 4], [-2, 0], [2, 2], [-3, 1], [1, 2], [-1, 0], [-2, 1]], float)
    problem = Problem(DenseRows(X), (1, 1), "influence", False)
    result = run(problem, np.array([0, 0, 1, 1, 0, 1, 1, 0]))
    assert result.stop_reason == "cycle"
    assert result.path[1] > result.path[0]
    assert result.objective == min(result.path)


def test_the_cap_is_kept():
    union = noisy_union(noise=0.5)
    problem = Problem(DenseRows(union.data), (1, 2, 2), "residual", False)
    result = run(problem, random_start(120, 3), max_iter=1)
    assert (result.n_iter, result.stop_reason) == (1, "max_iter")


def test_unchanged_clusters_are_not_fitted_again():
    union = noisy_union()
    problem = Problem(DenseRows(union.data), (1, 2, 2), "loo", False)
    views = view_clusters(problem, union.target)
    moved = union.target.copy()
    moved[0] = 1
    again = view_clusters(problem, moved, views)
    assert again[2] is views[2]
    assert again[0] is not views[0]


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("affine", [False, True])
def test_dual_equals_primal(criterion, affine):
    for seed in range(3):
        union = make_subspaces([20, 25, 30], 40, [1, 2, 2], noise=0.1, random_state=seed)
        start = random_start(75, 3, seed)
        forms = DenseRows(union.data), GramRows(union.data @ union.data.T)
        primal, dual = (run(Problem(form, (1, 2, 2), criterion, affine), start) for form in forms)
        assert_array_equal(primal.labels, dual.labels)
        assert_allclose(primal.path, dual.path, rtol=1e-7)


def test_an_empty_cluster_is_refilled():
    union = noisy_union()
    problem = Problem(DenseRows(union.data), (1, 2, 2), "loo", False)
    result = run(problem, np.zeros(120, dtype=np.intp))
    assert np.bincount(result.labels, minlength=3).min() >= 4


def test_degenerate_partitions_are_never_the_best():
    # Cluster 1 has dimension 2 and would hold the line alone: zero influence, but no plane.
    scenario = make_scenario("b", random_state=0)
    problem = Problem(DenseRows(scenario.data), (1, 2), "influence", False)
    swapped = 1 - scenario.target
    assert objective_of(problem, swapped) == np.inf
    assert objective_of(problem, scenario.target) < np.inf


def test_a_run_never_returns_a_degenerate_partition():
    # Two planes are asked for; the line alone costs nothing as one of them, and is none.
    scenario = make_scenario("b", random_state=1)
    problem = Problem(DenseRows(scenario.data), (2, 2), "influence", False)
    for seed in range(3):
        result = run(problem, scenario.target, seed)
        assert result.path[0] == min(result.path)
        assert objective_of(problem, result.labels) < np.inf


def test_descent_ends_where_no_single_move_helps():
    union = make_subspaces([12, 14], 4, [1, 1], noise=0.4, random_state=3)
    problem = Problem(DenseRows(union.data), (1, 1), "influence", False)
    start = run(problem, random_start(26, 2))
    result = descend(problem, start, max_iter=50)
    assert result.stop_reason == "local minimum"
    assert result.objective <= start.objective
    assert_allclose(objective_of(problem, result.labels), result.objective)
    for i in range(26):
        moved = result.labels.copy()
        moved[i] = 1 - moved[i]
        if not too_small(moved, (1, 1)):
            assert objective_of(problem, moved) >= result.objective


def test_no_cluster_of_a_first_partition_is_empty():
    rows = DenseRows(np.random.default_rng(0).normal(size=(60, 3)))
    problem = Problem(rows, (0,) * 20, "residual", True)
    labels = np.zeros(60, dtype=np.intp)
    random = np.random.default_rng(0)
    samples, here = RowsInView(problem), Fitted(labels)
    filled, _ = loop.repair(samples, here, 0, random, first=True)
    assert len(np.unique(filled.labels)) == 20
    later, repairs = loop.repair(samples, here, 0, random)
    assert repairs == loop.MAX_REPAIRS
    assert len(np.unique(later.labels)) == 1 + loop.MAX_REPAIRS
