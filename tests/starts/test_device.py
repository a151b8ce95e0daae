"""Subspaces through neighbours on a device: against PCA of those neighbours, and on unions."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from subspaces.core.array import to_host
from subspaces.data.block_pass import squared_lengths
from subspaces.data.subspaces import to_subspaces
from subspaces.datasets import make_subspaces
from subspaces.starts.device import _residuals, _through, angular_labels, portfolio
from subspaces.starts.registry import STARTS
from subspaces.subspace import fit_subspace, squared_residual
from tests.plain import generic

xp = pytest.importorskip("array_api_strict")


def first_subspaces(name, points, dimensions, affine, random):
    return STARTS[name].on_device(points, dimensions, affine, random)


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("dimension", [1, 3])
def test_a_flat_is_the_pca_of_the_neighbours(affine, dimension):
    rows = generic(60, 8)
    points, seeds = xp.asarray(rows), np.array([4, 17])
    squared = squared_lengths(points)
    found = _residuals(points, squared, _through(points, squared, seeds, dimension, affine))
    for c, seed in enumerate(seeds):
        cosine = np.abs(rows @ rows[seed]) / np.linalg.norm(rows, axis=1)
        distance = np.linalg.norm(rows - rows[seed], axis=1) if affine else -cosine
        near = rows[np.argsort(distance)[: 2 * (dimension + 1)]]
        flat = fit_subspace(near, dimension, affine=affine)
        np.testing.assert_allclose(to_host(found)[c], squared_residual(rows, flat), atol=1e-8)


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("name", ["local", "k-means++"])
@pytest.mark.parametrize("dimensions", [(2, 2, 2), (1, 3, 2)])
def test_flats_have_orthonormal_axes_of_their_dimension(name, affine, dimensions):
    rows = xp.asarray(generic(80, 9).astype(np.float32))
    flats = first_subspaces(name, rows, dimensions, affine, np.random.default_rng(0)).to_host()
    for flat, dimension in zip(to_subspaces(flats, None), dimensions, strict=True):
        np.testing.assert_allclose(flat.basis.T @ flat.basis, np.eye(dimension), atol=1e-4)
        assert bool(flat.centre.any()) == affine
    assert not flats.dead.any()


@pytest.mark.parametrize("affine", [False, True])
def test_k_means_plus_plus_finds_clear_flats(affine):
    found = make_subspaces([80] * 6, 30, [3] * 6, noise=0.1, random_state=0)
    rows = found.data + (found.target[:, None] - found.target.mean() if affine else 0.0)
    random = np.random.default_rng(0)
    flats = first_subspaces("k-means++", xp.asarray(rows), (3,) * 6, affine, random).to_host()
    costs = [squared_residual(rows, flat) for flat in to_subspaces(flats, None)]
    assert adjusted_rand_score(found.target, np.argmin(costs, axis=0)) > 0.9


def test_rows_alike_give_flats():
    rows = xp.ones((20, 4))
    flats = first_subspaces("k-means++", rows, (1, 1), False, np.random.default_rng(0))
    assert np.isfinite(to_host(flats.axes)).all()


def test_rows_of_nothing_have_no_axes():
    flats = first_subspaces("local", xp.zeros((20, 4)), (1, 2), True, np.random.default_rng(0))
    assert not to_host(flats.axes).any()


@pytest.mark.parametrize("scale", [1e-13, 1e13])
def test_single_precision_finds_neighbours_at_any_scale(scale):
    found = make_subspaces([80] * 4, 30, [2] * 4, noise=0.05, random_state=0)
    rows = xp.asarray((scale * found.data).astype(np.float32))
    flats = first_subspaces("k-means++", rows, (2,) * 4, False, np.random.default_rng(0)).to_host()
    costs = [squared_residual(found.data, flat) for flat in to_subspaces(flats, None)]
    assert adjusted_rand_score(found.target, np.argmin(costs, axis=0)) > 0.9


def test_an_affine_flat_at_the_mean_is_found():
    random, centres = np.random.default_rng(0), np.arange(-2, 3)
    target = np.repeat(np.arange(5), 80)
    rows = 10.0 * centres[target][:, None] * np.eye(20)[0] + 0.1 * random.normal(size=(400, 20))
    for seed in range(5):
        flats = first_subspaces("k-means++", rows, (1,) * 5, True, np.random.default_rng(seed))
        costs = [squared_residual(rows, flat) for flat in to_subspaces(flats, None)]
        assert adjusted_rand_score(target, np.argmin(costs, axis=0)) > 0.9


@pytest.mark.parametrize("affine", [False, True])
def test_the_cut_of_neighbours_by_angle_finds_clear_subspaces(affine):
    found = make_subspaces([80] * 6, 30, [3] * 6, noise=0.1, random_state=0)
    rows = found.data + (3.0 * (found.target[:, None] - found.target.mean()) if affine else 0.0)
    there = angular_labels(xp.asarray(rows), (3,) * 6, affine, np.random.default_rng(0))
    assert adjusted_rand_score(found.target, there) > 0.9
    here = angular_labels(rows, (3,) * 6, affine, np.random.default_rng(0))
    np.testing.assert_array_equal(here, there)


def test_graphs_are_cut_only_into_clusters_of_equal_dimension():
    assert [name for name, _ in portfolio((2, 2))] == ["k-means++", "angular"]
    assert [name for name, _ in portfolio((1, 2))] == ["k-means++"]
