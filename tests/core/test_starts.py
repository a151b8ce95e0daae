from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from subspaces.core import starts
from subspaces.core.criteria import costs
from subspaces.core.problem import Problem
from subspaces.core.rows import DenseRows
from subspaces.datasets import make_scenario, make_subspaces
from subspaces.metrics import rand_score

ALL = {
    "random": starts.random_labels,
    "local": starts.local_flats,
    "k-means++": starts.spread_flats,
    "sequential": starts.sequential(0.5),
    "any order": starts.sequential(0.3, any_order=True),
    "angular": starts.angular(10),
    "swapped": starts.swapped,
}


def pose(union, affine=False):
    X = union.data - union.data.mean(axis=0) if affine else union.data
    return Problem(DenseRows(X), tuple(union.n_components.tolist()), "loo", affine)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("affine", [False, True])
def test_a_start_is_a_partition_and_repeats_with_its_seed(name, affine):
    union = make_subspaces([20, 30, 40], 8, [1, 2, 3], noise=0.1, offset=1.0, random_state=0)
    problem = pose(union, affine)
    one, other = (ALL[name](problem, np.random.default_rng(5)) for _ in range(2))
    assert_array_equal(one, other)
    assert one.shape == (90,)
    assert set(one) <= {0, 1, 2}


@pytest.mark.parametrize("name", ["sequential", "angular", "swapped"])
def test_structured_starts_find_separate_noise_free_planes(name):
    found = []
    for seed in range(5):
        union = make_subspaces([60, 60, 60], 20, [2, 2, 2], random_state=seed)
        labels = ALL[name](pose(union), np.random.default_rng(seed))
        found.append(rand_score(union.target, labels))
    assert np.median(found) > 0.99


def test_sequential_gives_the_lowest_dimension_its_line():
    scenario = make_scenario("d", random_state=1)
    labels = ALL["sequential"](pose(scenario), np.random.default_rng(0))
    assert rand_score(scenario.target, labels) == 1.0
    assert_array_equal(labels[scenario.target == 0], 0)


def test_dimensions_go_to_the_parts_at_least_cost():
    union = make_subspaces([30, 40, 50], 12, [3, 1, 2], noise=0.05, random_state=2)
    problem = pose(union)
    shuffled = np.array([2, 0, 1])[union.target]
    assert_array_equal(starts.match_dimensions(problem, shuffled), union.target)

    def price(order):
        relabelled = np.array(order)[shuffled]
        total = 0.0
        for k, r in enumerate(problem.dimensions):
            members = np.flatnonzero(relabelled == k)
            view = problem.rows.view(members, r, False)
            total += costs("influence", [view], problem.data)[members, 0].sum()
        return total

    best = min(permutations(range(3)), key=price)
    assert_array_equal(np.array(best)[shuffled], starts.match_dimensions(problem, shuffled))


def names_of(problem, n_starts=10):
    return [name for name, _ in starts.portfolio(problem, n_starts)]


def test_the_portfolio_fits_the_problem():
    unequal = names_of(pose(make_subspaces(60, 8, [1, 2], random_state=0)), 20)
    assert [unequal.count(kind) for kind in ("sequential", "angular", "swapped")] == [10, 6, 4]
    equal = names_of(pose(make_subspaces(60, 8, [2, 2], random_state=0)))
    lasso = {"LSR + ADMM", "OMP + ADMM", "ADMM"}
    assert {"OMP + LSR", "sequential", "angular", "swapped"} | lasso == set(equal)
    many = names_of(pose(make_subspaces(starts.ADMM_MOST_ROWS + 1, 8, [2, 2], random_state=0)))
    assert lasso.isdisjoint(many)
    filling = names_of(pose(make_subspaces(60, 2, [2, 2], random_state=0)))
    assert set(filling) == {"sequential", "angular", "swapped"}


def test_a_portfolio_of_few_has_different_starts():
    for dimensions in ([2, 2], [1, 2]):
        assert len(set(names_of(pose(make_subspaces(60, 8, dimensions)), 3))) == 3


@pytest.mark.parametrize("affine", [False, True])
def test_all_starts_of_the_portfolio_are_partitions(affine):
    union = make_subspaces([30, 40], 8, [2, 2], noise=0.05, offset=1.0, random_state=1)
    problem = pose(union, affine)
    for _, start in starts.portfolio(problem, 10):
        labels = start(problem, np.random.default_rng(0))
        assert labels.shape == (70,)
        assert set(labels) <= {0, 1}


def test_few_rows_for_many_dimensions_are_all_landmarks():
    union = make_subspaces(3000, 60, [9] * 12, random_state=0)
    assert starts.landmarks(pose(union), np.random.default_rng(0)) is None
    lines = make_subspaces(3000, 60, [1, 1], random_state=0)
    chosen = starts.landmarks(pose(lines), np.random.default_rng(0))
    assert len(chosen) == len(set(chosen)) == starts.LANDMARKS


def test_landmarks_extend_to_all_rows(monkeypatch):
    union = make_subspaces([200, 300], 10, [1, 2], noise=0.01, shuffle=True, random_state=0)
    monkeypatch.setattr(starts, "LANDMARKS", 80)
    monkeypatch.setattr(starts, "PER_DIMENSION", 10)
    sampled = starts.on_landmarks(starts.sequential(0.5))
    labels = sampled(pose(union), np.random.default_rng(0))
    assert labels.shape == (500,)
    assert rand_score(union.target, labels) > 0.9


def test_zero_rows_and_duplicates_do_no_harm():
    union = make_subspaces([20, 20], 5, [1, 2], random_state=0)
    union.data[:3] = 0.0
    union.data[20:28] = union.data[30]
    for start in ALL.values():
        labels = start(pose(union), np.random.default_rng(1))
        assert set(labels) <= {0, 1}


def test_spread_flats_start_where_the_first_do_not_reach():
    # A line of 95 rows and one of 5: the second seed always lies on the other line.
    union = make_subspaces([95, 5], 4, [1, 1], random_state=1)
    for seed in range(5):
        labels = starts.spread_flats(pose(union), np.random.default_rng(seed))
        assert rand_score(union.target, labels) == 1.0


def test_affine_rows_are_compared_by_angle_with_a_coordinate_appended():
    random = np.random.default_rng(0)
    direction = np.array([1.0, 2.0, -1.0, 0.5])
    line = np.outer(random.uniform(-1, 1, 60), direction)
    line[30:] += [2.0, -1.0, 0.0, 1.0]
    union = make_subspaces([30, 30], 4, [1, 1])
    union.data = line
    labels = starts.angular(5)(pose(union, affine=True), np.random.default_rng(0))
    assert rand_score(np.repeat([0, 1], 30), labels) == 1.0


def test_energetic_flats_draw_long_rows(monkeypatch):
    union = make_subspaces([40, 40], 6, [1, 1], random_state=2)
    union.data = np.vstack([union.data, 1e-2 * union.data, 1e-2 * union.data])
    drawn = []
    original = starts._neighbours

    def recorded(problem, seed, *arguments):
        drawn.append(seed)
        return original(problem, seed, *arguments)

    monkeypatch.setattr(starts, "_neighbours", recorded)
    for seed in range(20):
        starts.energetic_flats(pose(union), np.random.default_rng(seed))
    assert len(drawn) == 40
    assert np.mean(np.array(drawn) < 80) > 0.95


def test_screened_starts_see_the_variables_that_matter():
    union = make_subspaces([60, 60], 300, [1, 1], noise=0.3, n_variables=5, random_state=3)
    problem = pose(union)
    kept = starts.screened_rows(problem)
    assert kept.matrix.shape[1] < 60
    screened = starts.on_screened_variables(starts.energetic_flats, problem)
    labels = screened(problem, np.random.default_rng(0))
    assert labels.shape == (120,)
