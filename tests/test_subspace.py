from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.decomposition import PCA

from subspaces.metrics import subspace_angles
from subspaces.subspace import (
    Subspace,
    fit_subspace,
    principal_axes,
    project,
    scores,
    scores_and_residuals,
    squared_residual,
)
from tests.plain import generic


@pytest.mark.parametrize("shape", [(40, 6), (6, 40), (12, 12)])
def test_principal_axes_rebuild_the_rows(shape):
    X = generic(*shape, decay=0.9)
    axes = principal_axes(X)
    assert_allclose(axes.coordinates @ axes.basis.T, X, atol=1e-12)
    assert_allclose(axes.coordinates.T @ axes.coordinates, np.diag(axes.eigenvalues), atol=1e-10)


@pytest.mark.parametrize("shape", [(40, 6), (6, 40), (12, 12)])
@pytest.mark.parametrize("n_axes", [0, 2, 6])
def test_the_first_axes_alone_are_the_same_axes(shape, n_axes):
    X = generic(*shape, decay=0.9)
    whole, cut = principal_axes(X), principal_axes(X, n_axes)
    assert_allclose(cut.basis, whole.basis[:, :n_axes], atol=1e-10)
    assert_allclose(cut.coordinates, whole.coordinates, atol=1e-10)
    assert_allclose(cut.eigenvalues, whole.eigenvalues, rtol=1e-10)


def test_the_first_axes_alone_are_orthonormal_even_where_one_is_faint():
    X = generic(6, 40) @ np.diag(np.r_[1e7, np.ones(39)])
    basis = principal_axes(X, 6).basis
    assert_allclose(basis.T @ basis, np.eye(6), atol=1e-12)


def test_rank_is_found():
    X = generic(30, 3) @ np.random.default_rng(1).normal(size=(3, 10))
    assert principal_axes(X).rank == 3
    assert principal_axes(np.zeros((5, 4))).rank == 0


def test_affine_fit_is_scikit_learns_pca():
    X = generic(50, 7) + 5
    fitted, pca = fit_subspace(X, 3, affine=True), PCA(3).fit(X)
    assert_allclose(fitted.centre, pca.mean_)
    assert_allclose(fitted.spectrum, pca.explained_variance_ * 49, rtol=1e-10)
    assert_allclose(np.abs(scores(X, fitted)), np.abs(pca.transform(X)), atol=1e-10)


def test_projection_is_the_nearest_point_also_for_oblique_bases():
    random = np.random.default_rng(2)
    basis = random.normal(size=(6, 2))
    fitted = Subspace(random.normal(size=6), basis / np.linalg.norm(basis, axis=0), np.ones(2))
    X = random.normal(size=(5, 6))
    residual = X - project(X, fitted)
    assert_allclose(residual @ fitted.basis, 0, atol=1e-12)
    assert_allclose(squared_residual(X, fitted), np.sum(residual**2, axis=1))


def test_angles_of_a_known_pair():
    turn = np.radians(30)
    line = Subspace(np.zeros(3), np.array([[0.0], [np.cos(turn)], [np.sin(turn)]]), np.ones(1))
    plane = Subspace(np.ones(3), np.eye(3)[:, :2], np.ones(2))
    assert_allclose(subspace_angles(line, plane), [turn])


@pytest.mark.parametrize("oblique", [False, True])
def test_many_numbers_are_scored_as_few_are(oblique):
    X = generic(22_000, 12)
    flats = [fit_subspace(X[i : i + 10], 1 + i // 10) for i in (0, 10, 20)]
    if oblique:
        flats[1] = replace(flats[1], basis=flats[1].basis + 0.3 * flats[2].basis[:, :2])
    X[3] = flats[2].basis @ np.array([1.0, -2.0, 1e8])  # nothing of it is left
    few = scores_and_residuals(X[:40], flats)
    for (along, far), (expected, distance) in zip(scores_and_residuals(X, flats), few, strict=True):
        assert_allclose(along[:40], expected, atol=1e-7)
        assert_allclose(far[:40], distance, rtol=1e-9, atol=1e-12)
    assert scores_and_residuals(X, flats)[2][1][3] < 1e-10
    shifted = [replace(flat, centre=np.ones(12)) for flat in flats]
    far = scores_and_residuals(X, shifted)[0][1]
    assert_allclose(far, squared_residual(X, shifted[0]))
