import numpy as np
import pytest
from numpy.testing import assert_allclose

from subspaces.rivals import scc
from subspaces.rivals.scc import Arrangement, column_embedding, scales, squared_polar_curvature
from subspaces.rivals.subspace_error import mean_squared_distance
from tests.plain import generic


@pytest.mark.parametrize("linear", [False, True])
def test_scales_are_the_curvatures_at_the_ranks_of_the_paper(linear):
    sought = Arrangement(3, 2, linear)
    n = 4 if not linear else 3
    curvatures = np.random.default_rng(0).uniform(1, 2, (50, 20))
    curvatures[: n - 1] = np.inf
    ordered = np.sort(curvatures.ravel())
    ranks = [int(np.ceil((50 - n + 1) * 20 / 3**p)) for p in range(1, n)]
    assert_allclose(scales(curvatures, sought), sorted(ordered[rank - 1] for rank in ranks))


def test_no_scale_is_zero():
    assert np.all(scales(np.zeros((30, 10)), Arrangement(2, 1, False)) > 0)


def test_embedding_is_the_left_singular_vectors_of_the_scaled_columns():
    affinity = np.random.default_rng(0).uniform(size=(40, 12))
    degrees = affinity @ affinity.T @ np.ones(40)
    left = np.linalg.svd(affinity / np.sqrt(degrees)[:, None])[0][:, :3]
    found = column_embedding(affinity, 3)
    assert_allclose(found @ found.T, left @ left.T, atol=1e-10)


@pytest.mark.parametrize("linear", [False, True])
def test_columns_are_drawn_within_the_clusters(linear):
    points = generic(30, 4)
    labels = np.repeat([0, 1, 2], [12, 16, 2])
    sought = Arrangement(3, 2, linear)
    columns = scc._columns(points, labels, sought, 30, np.random.default_rng(0))
    drawn = np.isinf(columns)
    assert np.all(drawn.sum(axis=0) == sought.n_drawn)
    for k in (0, 1):
        assert not drawn[labels != k, 10 * k : 10 * k + 10].any()
    assert drawn[:12, 20:].any()
    assert drawn[12:28, 20:].any()
    for j in (0, 15, 29):
        vertices = points[drawn[:, j]]
        vertices = np.vstack([np.zeros(4), vertices]) if linear else vertices
        plain = squared_polar_curvature(points, vertices[None])[:, 0]
        assert_allclose(columns[~drawn[:, j], j], plain[~drawn[:, j]], rtol=1e-8)


@pytest.mark.parametrize("dimension", [1, 3])
def test_rounds_end_when_the_error_no_longer_falls_and_the_best_is_kept(dimension):
    points, lengths = 3.0 * generic(60, 5, decay=0.9), set()
    for seed in range(6):
        found = scc.curvature_clustering(
            points, Arrangement(3, dimension, False), 30, 50, np.random.default_rng(seed)
        )
        assert found.settled
        lengths.add(len(found.errors))
        falls = found.errors[1:] <= (1.0 - scc.LEAST_FALL) * found.errors[:-1]
        assert falls[dimension - 1 : -1].all()
        assert not falls[-1]
        least = mean_squared_distance(points, found.labels, dimension, affine=True)
        assert_allclose(least, found.errors.min())
    assert len(lengths) > 1


def test_rounds_are_no_more_than_asked_for():
    found = scc.curvature_clustering(
        generic(60, 5), Arrangement(3, 3, False), 30, 2, np.random.default_rng(0)
    )
    assert len(found.errors) == 2
    assert not found.settled


def by_definition(simplex):
    """diam^2 sum_i psin_i^2, the polar sines from determinants [Chen & Lerman 2009]."""
    total = 0.0
    for i in range(len(simplex)):
        edges = np.delete(simplex, i, axis=0) - simplex[i]
        total += np.linalg.det(edges @ edges.T) / np.prod(np.sum(edges**2, axis=1))
    differences = simplex[:, None] - simplex
    return np.max(np.sum(differences**2, axis=2)) * total


def bases(n, d, p, seed=1):
    return generic(n * (d + 1), p, seed=seed, decay=0.9).reshape(n, d + 1, p)


def turned(p, seed=5):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(p, p)))[0]


@pytest.mark.parametrize("d", [0, 1, 2, 4, 9])
def test_is_the_definition(d):
    points, vertices = generic(7, 12, seed=2, decay=0.9), bases(5, d, 12)
    plain = [[by_definition(np.vstack([base, x])) for base in vertices] for x in points]
    assert_allclose(squared_polar_curvature(points, vertices), plain, rtol=1e-6)


def test_the_origin_as_a_vertex():
    points, vertices = generic(6, 5, seed=3) + 2.0, bases(4, 2, 5)
    vertices[:, 0] = 0.0
    plain = [[by_definition(np.vstack([base, x])) for base in vertices] for x in points]
    assert_allclose(squared_polar_curvature(points, vertices), plain, rtol=1e-8)


def test_triangles_off_the_axes():
    # sides 3, 4, 5: sines 1, 4/5, 3/5; equal sides of 2: each sine squared 3/4
    right = np.array([[0.0, 0, 0], [3, 0, 0], [0, 4, 0]])
    equal = np.array([[0.0, 0, 0], [2, 0, 0], [1, np.sqrt(3), 0]])
    for triangle, expected in ((right, 25 * 2.0), (equal, 4 * 9 / 4)):
        a, b, c = triangle @ turned(3) + [7.0, -3.0, 11.0]
        assert_allclose(squared_polar_curvature(c[None], np.array([[a, b]])), [[expected]])


def test_laws():
    points, vertices = generic(20, 6), bases(8, 3, 6)
    expected = squared_polar_curvature(points, vertices)
    shift, rotation = np.full(6, 1e6), turned(6)
    moved = squared_polar_curvature(points @ rotation + shift, vertices @ rotation + shift)
    assert_allclose(moved, expected, rtol=1e-5)
    assert_allclose(squared_polar_curvature(3 * points, 3 * vertices), 9 * expected, rtol=1e-9)


def test_zero_on_the_flat_and_for_points_that_coincide():
    random = np.random.default_rng(0)
    plane = random.normal(size=(30, 2)) @ turned(5)[:2] + random.normal(size=5)
    points = np.vstack([plane, generic(4, 5, seed=9)])
    curvatures = squared_polar_curvature(points, plane[:6].reshape(2, 3, 5))
    assert np.all(curvatures[:30] == 0.0)
    assert np.all(curvatures[30:] > 1e-3)
    repeated = np.repeat(points[-3:-2], 3, axis=0)[None]
    assert np.all(squared_polar_curvature(points, repeated) == 0.0)
