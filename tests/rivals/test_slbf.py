import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from subspaces.core.partition import canonical
from subspaces.rivals.slbf import (
    choose_greedily,
    distances_from,
    fit_local_flats,
    graph_clustering,
    greedy_clustering,
    grow,
    growing_sizes,
    local_affinity,
    nearest,
    squared_beta,
)
from subspaces.subspace import fit_subspace, squared_residual
from tests.plain import generic


def two_planes(n, p, noise, seed=0):
    random = np.random.default_rng(seed)
    bases = np.linalg.qr(random.normal(size=(2, p, 2)))[0]
    rows = [random.uniform(-1, 1, (n, 2)) @ basis.T for basis in bases]
    return np.vstack(rows) + noise * random.normal(size=(2 * n, p)) + 0.3


def plain_beta(points, seed, size, dimension, affine):
    distances = np.linalg.norm(points - points[seed], axis=1)
    near = np.argsort(distances, kind="stable")[:size]
    residual = squared_residual(points[near], fit_subspace(points[near], dimension, affine=affine))
    return np.sqrt(residual.mean()) / distances[near[-1]], near


def plain_size(points, seed, sizes, dimension, affine):
    """Grow one neighbourhood and stop at the first local minimum of beta."""
    betas = [plain_beta(points, seed, size, dimension, affine)[0] for size in sizes]
    for k in range(1, len(sizes) - 1):
        if betas[k] <= betas[k - 1] and betas[k] < betas[k + 1]:
            return sizes[k]
    return sizes[-1]


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("p", [4, 30])
def test_the_batch_is_the_plain_loop(affine, p):
    points = two_planes(60, p, 0.05)
    seeds = np.arange(0, 120, 4)
    sizes = growing_sizes(120, 2)
    flats = fit_local_flats(points, seeds, 2, affine=affine)
    plain = [plain_size(points, seed, sizes, 2, affine) for seed in seeds]
    assert_array_equal(flats.sizes, plain)
    assert len(set(plain)) >= 3
    for j in (0, 7, 20):
        beta, near = plain_beta(points, seeds[j], plain[j], 2, affine)
        flat = fit_subspace(points[near], 2, affine=affine)
        assert_allclose(flats.centres[j], flat.centre, atol=1e-12)
        assert_allclose(flats.bases[j] @ flats.bases[j].T, flat.basis @ flat.basis.T, atol=1e-10)
        radius = np.linalg.norm(points[near] - points[seeds[j]], axis=1).max()
        assert_allclose(flats.spread[j], beta * radius)


def test_a_flat_does_not_depend_on_those_fitted_beside_it():
    points = two_planes(60, 320, 0.05)  # of all seeds, more than one block
    whole = fit_local_flats(points, np.arange(120), 2, affine=True)
    distances = distances_from(points, whole)
    for j in (0, 55, 119):
        alone = fit_local_flats(points, np.array([j]), 2, affine=True)
        assert_array_equal(alone.sizes, whole.sizes[[j]])
        assert_allclose(alone.spread, whole.spread[[j]])
        assert_allclose(distances_from(points, alone)[:, 0], distances[:, j], atol=1e-7)


@pytest.mark.parametrize("crossing", [6, 8, 10])
def test_a_neighbourhood_ends_where_the_second_flat_comes_in(crossing):
    """Seed 0 of a line at whole numbers; a line across it at a known distance, of points 1 apart.

    Points -crossing .. crossing are on the first line, 2 crossing + 1 of them; the next two are
    off it.
    """
    steps = np.arange(-30.0, 31)
    along = np.column_stack([steps, 0 * steps])
    across = np.column_stack([0 * steps + crossing, steps])[steps != 0]
    rotation = np.linalg.qr(np.random.default_rng(3).normal(size=(5, 5)))[0]
    points = np.vstack([along, across]) @ rotation[:2] + [2.0, -1.0, 4.0, 0.0, 3.0]
    flats = fit_local_flats(points, np.array([30]), 1, affine=True)
    assert_array_equal(flats.sizes, [2 * crossing + 1])
    assert_allclose(np.abs(rotation[0] @ flats.bases[0]), [1.0])
    assert_allclose(flats.spread, [0.0], atol=1e-12)


def test_the_first_size_counts_only_if_nothing_is_left():
    random = np.random.default_rng(0)
    line = np.column_stack([np.arange(3.0), np.zeros(3)])
    off = np.column_stack([3.0 + np.arange(20), random.uniform(2, 9, 20)])
    sizes = np.array([3, 5, 7])
    exact = nearest(np.vstack([line, off]), np.array([0]), 7)
    assert_array_equal(grow(exact, sizes, 1, True), [3])
    line[1, 1] = 0.1
    bent = nearest(np.vstack([line, off]), np.array([0]), 7)
    assert grow(bent, sizes, 1, True)[0] > 3


def test_beta_by_hand():
    # (+-1, +-h): the best line is the long axis, h away; the radius is given
    rows = np.array([[[1, 0.2], [1, -0.2], [-1, 0.2], [-1, -0.2]]]) + 5.0
    assert_allclose(squared_beta(rows, np.array([2.0]), 1, True), [0.04 / 4])
    assert_allclose(squared_beta(rows, np.array([0.0]), 1, True), [0.0])


def test_sizes_grow_from_few_to_all():
    sizes = growing_sizes(300, 2)
    assert sizes[0] == 5
    assert sizes[-1] == 300
    assert np.all(np.diff(sizes[:-1]) >= 2)
    assert len(growing_sizes(10**6, 2)) < 60
    assert_array_equal(growing_sizes(4, 3), [4])


@pytest.mark.parametrize("affine", [True, False])
def test_distances_are_residuals(affine):
    points = generic(40, 6)
    flats = fit_local_flats(points, np.array([3, 11, 25]), 2, affine=affine)
    found = distances_from(points, flats)
    for j in range(3):
        offset = points - flats.centres[j]
        residual = offset - offset @ flats.bases[j] @ flats.bases[j].T
        assert_allclose(found[:, j], np.linalg.norm(residual, axis=1), atol=1e-7)


def test_no_distance_from_the_own_flat_without_noise():
    plane = np.random.default_rng(0).normal(size=(30, 2)) @ generic(2, 5) + generic(1, 5)
    flats = fit_local_flats(plane, np.array([4, 9]), 2, affine=True)
    assert np.all(distances_from(plane, flats) == 0.0)


def test_neighbours_that_coincide():
    points = np.repeat(generic(5, 3), 8, axis=0)
    flats = fit_local_flats(points, np.arange(40), 1, affine=True)
    assert np.all(np.isfinite(flats.bases))
    assert np.all(np.isfinite(flats.spread))


def test_greedy_choice_is_the_plain_one():
    distances = np.random.default_rng(0).uniform(size=(30, 12)) ** 3
    chosen = []
    for _ in range(4):
        sums = {}
        for j in set(range(12)) - set(chosen):
            sums[j] = sum(min(row[i] for i in [*chosen, j]) for row in distances)
        chosen.append(min(sums, key=sums.get))
    assert_array_equal(choose_greedily(distances, 4), chosen)


def test_no_flat_is_chosen_twice():
    assert sorted(choose_greedily(np.zeros((5, 3)), 3)) == [0, 1, 2]


def test_affinity_is_its_formula():
    random = np.random.default_rng(0)
    distances, scales = random.uniform(size=(6, 6)), random.uniform(0.5, 1, 6)
    found = local_affinity(distances * distances.T, scales)
    for i, j in [(0, 1), (4, 2), (3, 3)]:
        s = np.sqrt(distances[i, j] * distances[j, i])
        plain = np.exp(-(s**2) / (2 * scales[i] ** 2)) + np.exp(-(s**2) / (2 * scales[j] ** 2))
        assert_allclose(found[i, j], plain)
    assert_allclose(found, found.T)


def test_no_noise_at_all():
    points = np.repeat([[1.0, 2.0], [4.0, -2.0]], 20, axis=0)
    labels = graph_clustering(points, 2, 0, np.random.default_rng(0), affine=True)
    assert_array_equal(canonical(labels), np.repeat([0, 1], 20))


def two_lines():
    positions = np.random.default_rng(0).uniform(-1, 1, 60)
    points = np.outer(positions, [1.0, 2.0, 0.5])
    points[30:] = np.outer(positions[30:], [-1.0, 1.0, 0.5])
    points[:30] += 2.0
    return points


def test_two_lines_apart():
    points = two_lines()
    truth = np.repeat([0, 1], 30)
    for labels in (
        greedy_clustering(points, 2, 1, 20, np.random.default_rng(1), affine=True),
        graph_clustering(points, 2, 1, np.random.default_rng(1), affine=True),
    ):
        assert_array_equal(canonical(labels), truth)
