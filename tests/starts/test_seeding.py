"""Rows far apart: the choice against the plain one, and rows that only distance can find."""

import numpy as np
import pytest

from subspaces.starts import seeding


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
    for kind, chosen in zip(which, seeding._least_left(pool, np.array(which)), strict=True):
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
        same = seeding._least_left(pool[None], np.zeros(10, np.intp))
        wide = seeding._least_left(pool[None].astype(float), np.zeros(10, np.intp))
        assert same == wide, seed


@pytest.mark.parametrize("dimensions", [(0,) * 5, (0, 1, 0, 1, 0)])
def test_small_groups_far_off_are_found(dimensions):
    random = np.random.default_rng(1)
    groups = np.repeat(np.arange(5), [840, 40, 40, 40, 40])
    rows = 100.0 * random.normal(size=(5, 3))[groups] + random.normal(size=(1000, 3))
    shuffled = random.permutation(1000)
    rows, groups = rows[shuffled], groups[shuffled]
    seeds = seeding.kmeans_parallel(points_around(rows), 1000, dimensions, np.random.default_rng(0))
    assert sorted(groups[seeds]) == [0, 1, 2, 3, 4]


def test_fewer_places_than_clusters_are_drawn_more_than_once():
    rows = np.repeat(np.eye(3), [5, 5, 5], axis=0)
    seeds = seeding.kmeans_parallel(points_around(rows), 15, (0,) * 6, np.random.default_rng(0))
    assert set(rows[seeds].argmax(axis=1)) == {0, 1, 2}
    same = seeding.kmeans_parallel(
        points_around(np.ones((4, 2))), 4, (0, 0), np.random.default_rng(0)
    )
    assert len(same) == 2


def test_a_row_is_drawn_by_its_weight():
    random = np.random.default_rng(0)
    assert set(seeding._draw(np.arange(3), 5, np.array([0.5, 0.0, 0.5]), random)) == {0, 2}
    assert seeding._shares(np.zeros(5)) is None
    np.testing.assert_allclose(seeding._shares(np.array([1.0, 3.0])), [0.25, 0.75])
