import numpy as np
import pytest
from numpy.testing import assert_allclose

from subspaces.core.polar_curvature import squared_polar_curvature
from tests.plain import generic


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
