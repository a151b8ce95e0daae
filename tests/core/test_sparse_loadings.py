import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from subspaces.core.rows import DenseRows
from subspaces.core.sparse_loadings import Sparsity, sparse_loadings
from subspaces.core.sparse_view import sparse_view
from subspaces.subspace import fit_subspace
from tests.plain import generic


def test_loadings_have_as_many_variables_as_asked_and_unit_length():
    X = generic(40, 30, decay=0.95)
    for n_variables in (1, 4, 29):
        basis = sparse_loadings(X, 3, n_variables, "l1")
        assert_array_equal(np.count_nonzero(basis, axis=0), n_variables)
        assert_allclose(np.linalg.norm(basis, axis=0), 1)


def test_tied_variables_are_not_lost():
    X = generic(40, 10, decay=0.9)
    twins = np.hstack([X, X])
    for n_variables in (1, 2, 3, 5):
        basis = sparse_loadings(twins, 2, n_variables, "l1")
        assert_array_equal(np.count_nonzero(basis, axis=0), n_variables)
    equal = np.full((20, 4), 3.0)
    assert np.count_nonzero(sparse_loadings(equal, 1, 3, "l1")) == 3


def test_eq_it_penalty_is_a_fixed_point():
    # v = soft(X^T u, gamma) with u = X v / ||X v|| and gamma the seventh largest |X^T u|.
    X = generic(40, 20, decay=0.9)
    v = sparse_loadings(X, 1, 6, "l1")[:, 0]
    u = X @ v / np.linalg.norm(X @ v)
    image = X.T @ u
    gamma = np.sort(np.abs(image))[-7]
    again = np.sign(image) * np.maximum(np.abs(image) - gamma, 0)
    assert_allclose(again / np.linalg.norm(again), v, atol=1e-4)


def test_deflation_takes_away_the_loading_before_it_is_scaled():
    X = generic(40, 20, decay=0.9)
    one = sparse_loadings(X, 1, 6, "l1")[:, 0]
    u = X @ one / np.linalg.norm(X @ one)
    image = X.T @ u
    shrunk = np.sign(image) * np.maximum(np.abs(image) - np.sort(np.abs(image))[-7], 0)
    second = sparse_loadings(X - np.outer(u, shrunk), 1, 6, "l1")[:, 0]
    found = sparse_loadings(X, 2, 6, "l1")[:, 1]
    assert_allclose(np.abs(found @ second), 1, atol=1e-6)


def test_all_variables_give_the_axes_of_pca():
    X = generic(30, 8)
    subspace = fit_subspace(X, 3)
    assert_allclose(sparse_loadings(X, 3, 8, "l1"), subspace.basis)


@pytest.mark.parametrize("shape", [(60, 25), (20, 200)])
def test_a_sparse_truth_is_recovered(shape):
    n, p = shape
    random = np.random.default_rng(0)
    truth = np.zeros((p, 2))
    truth[[3, 7, 11, 19], 0] = 1.0, -2.0, 1.5, 0.8
    truth[[2, 5, 20, 23], 1] = 0.5, 0.9, -0.7, 0.6
    X = random.normal(size=(n, 2)) @ truth.T + 0.01 * random.normal(size=(n, p))
    found = sparse_loadings(X, 2, 4, "l1")
    assert_array_equal(np.flatnonzero(found[:, 0]), np.flatnonzero(truth[:, 0]))
    assert_array_equal(np.flatnonzero(found[:, 1]), np.flatnonzero(truth[:, 1]))


def test_a_known_start_leads_to_the_same_loadings():
    X = generic(40, 30, decay=0.8)
    cold = sparse_loadings(X, 2, 5, "l1")
    assert_allclose(
        np.abs(np.sum(cold * sparse_loadings(X, 2, 5, "l1", cold), axis=0)), 1, atol=1e-6
    )


def test_nonnegative_loadings():
    random = np.random.default_rng(1)
    truth = np.zeros(30)
    truth[[1, 4, 9]] = 1.0, 2.0, 0.7
    X = np.outer(random.normal(size=50), truth) + 0.05 * random.normal(size=(50, 30))
    for signed in (X, -X, X[::-1]):
        for start in (None, np.outer(truth, [1.0, 1.0]), np.outer(-truth, [1.0, 1.0])):
            found = sparse_loadings(signed, 2, 3, "nonnegative", start)
            assert np.all(found >= 0)
            assert_array_equal(np.flatnonzero(found[:, 0]), [1, 4, 9])
    mixed = generic(40, 12)
    assert np.all(sparse_loadings(mixed, 2, 12, "nonnegative") >= 0)


def test_nothing_left_to_explain_gives_a_zero_loading():
    X = np.outer(np.arange(1.0, 9), [1.0, 2.0, 0.0, 0.0])
    found = sparse_loadings(X, 2, 2, "l1")
    assert_allclose(np.abs(found[:, 0]), np.array([1, 2, 0, 0]) / np.sqrt(5), atol=1e-12)
    assert_allclose(found[:, 1], 0, atol=1e-12)


@pytest.mark.parametrize("affine", [False, True])
def test_a_sparse_view_is_least_squares_on_its_loadings(affine):
    X = generic(30, 12, decay=0.95)
    members = np.arange(0, 30, 2)
    view = sparse_view(DenseRows(X), members, 2, affine, Sparsity((4, 5), "l1"), 1)
    centre = X[members].mean(axis=0) if affine else np.zeros(12)
    assert_array_equal(np.count_nonzero(view.basis, axis=0), 5)
    for i in (0, 7, 29):
        x = X[i] - centre
        fitted = view.basis @ np.linalg.lstsq(view.basis, x, rcond=None)[0]
        assert_allclose(view.captured[i], fitted @ fitted, rtol=1e-9)
        assert_allclose(view.squared_residual[i], np.sum((x - fitted) ** 2), rtol=1e-8)
        assert_allclose(view.scores[i], x @ view.basis, atol=1e-10)
    assert_allclose(view.spectrum, np.sum(view.scores[members] ** 2, axis=0))
