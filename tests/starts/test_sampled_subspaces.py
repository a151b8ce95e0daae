import numpy as np
import pytest
from numpy.testing import assert_array_equal

from subspaces.datasets import make_scenario, make_subspaces
from subspaces.metrics import rand_score
from subspaces.starts import sampled_subspaces
from subspaces.starts.graphs import angular
from tests.starts.posed import pose

ALL = {
    "random": sampled_subspaces.random_labels,
    "local": sampled_subspaces.local_subspaces,
    "k-means++": sampled_subspaces.kmeans_parallel_subspaces,
    "sequential": sampled_subspaces.sequential(0.5),
    "any order": sampled_subspaces.sequential(0.3, any_order=True),
    "angular": angular(10),
    "swapped": sampled_subspaces.swapped,
}


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
        labels = sampled_subspaces.kmeans_parallel_subspaces(
            pose(union), np.random.default_rng(seed)
        )
        assert rand_score(union.target, labels) == 1.0


def test_energetic_flats_pass_through_long_rows():
    """Two planes of long rows among many short ones of no direction, which others begin at."""
    union = make_subspaces([40, 40], 12, [2, 2], random_state=2)
    short = 1e-2 * np.random.default_rng(0).normal(size=(400, 12))
    union.data = np.vstack([union.data, short])

    def found(start):
        problem, seeds = pose(union), range(20)
        labels = [start(problem, np.random.default_rng(seed))[:80] for seed in seeds]
        return sum(rand_score(union.target, each) > 0.95 for each in labels)

    # Both seeds are on the same plane every other time.
    assert found(sampled_subspaces.energetic_subspaces) >= 6
    assert found(sampled_subspaces.local_subspaces) <= 2


def points_around(rows):
    """Subspaces of no dimension: the rows themselves; one more dimension halves the distance."""

    def around(seeds, dimension):
        distance = ((rows[seeds][:, None, :] - rows[None, :, :]) ** 2).sum(axis=2)
        return distance / (1.0 + dimension)

    return around


@pytest.mark.parametrize("which", [(0, 0, 0, 0), (1, 0, 1, 0)])
def test_what_is_left_is_least_each_time(which):
    pool = np.random.default_rng(0).exponential(size=(2, 30, 200)).astype(np.float32)
    nearest = np.full(200, np.inf)
    for kind, chosen in zip(
        which, sampled_subspaces._least_left(pool, np.array(which)), strict=True
    ):
        left = np.minimum(pool[kind], nearest)
        assert chosen == np.argmin(left.sum(axis=1, dtype=float))
        nearest = left[chosen]


def test_small_groups_count_beside_large_ones_in_single_precision():
    random = np.random.default_rng(0)
    groups = np.repeat(np.arange(10), 400)
    sizes = np.where(np.arange(10) < 5, 1.0, 1e-3)
    centres = np.linalg.qr(random.normal(size=(10, 10)))[0] * sizes[:, None]
    rows = centres[groups] * random.normal(1.0, 0.3, size=(4000, 1))
    for seed in range(5):
        pool = points_around(rows)(random.permutation(4000)[:300], 0).astype(np.float32)
        same = sampled_subspaces._least_left(pool[None], np.zeros(10, np.intp))
        wide = sampled_subspaces._least_left(pool[None].astype(float), np.zeros(10, np.intp))
        assert same == wide, seed


@pytest.mark.parametrize("dimensions", [(0,) * 5, (0, 1, 0, 1, 0)])
def test_small_groups_far_off_are_found(dimensions):
    random = np.random.default_rng(1)
    groups = np.repeat(np.arange(5), [840, 40, 40, 40, 40])
    rows = 100.0 * random.normal(size=(5, 3))[groups] + random.normal(size=(1000, 3))
    shuffled = random.permutation(1000)
    rows, groups = rows[shuffled], groups[shuffled]
    seeds = sampled_subspaces.kmeans_parallel(
        points_around(rows), 1000, dimensions, np.random.default_rng(0)
    )
    assert sorted(groups[seeds]) == [0, 1, 2, 3, 4]


def test_fewer_places_than_clusters_are_drawn_more_than_once():
    rows = np.repeat(np.eye(3), [5, 5, 5], axis=0)
    seeds = sampled_subspaces.kmeans_parallel(
        points_around(rows), 15, (0,) * 6, np.random.default_rng(0)
    )
    assert set(rows[seeds].argmax(axis=1)) == {0, 1, 2}
    same = sampled_subspaces.kmeans_parallel(
        points_around(np.ones((4, 2))), 4, (0, 0), np.random.default_rng(0)
    )
    assert len(same) == 2


def test_a_row_is_drawn_by_its_weight():
    random = np.random.default_rng(0)
    assert set(sampled_subspaces._draw(np.arange(3), 5, np.array([0.5, 0.0, 0.5]), random)) == {
        0,
        2,
    }
    assert sampled_subspaces._shares(np.zeros(5)) is None
    np.testing.assert_allclose(sampled_subspaces._shares(np.array([1.0, 3.0])), [0.25, 0.75])
