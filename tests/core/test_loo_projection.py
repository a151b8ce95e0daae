import numpy as np
from numpy.testing import assert_allclose

from subspaces.core import loo_projection
from subspaces.core.sparse_loadings import sparse_loadings
from subspaces.datasets import make_subspaces
from subspaces.subspace import fit_subspace, scores
from tests.plain import generic, refitted_errors


def plain_error(x, basis, spectrum):
    """Least squares on the loadings without the row, each on its own support."""
    downdated = []
    for v, s in zip(basis.T, spectrum, strict=True):
        own = np.where(v != 0, x, 0.0)
        if s > own @ own:
            downdated.append(s * v - (x @ v) * own)
    if not downdated:
        return x @ x
    loadings = np.column_stack(downdated)
    fitted = loadings @ np.linalg.lstsq(loadings, x, rcond=None)[0]
    return np.sum((x - fitted) ** 2)


def test_dense_form():
    X = generic(20, 8, decay=0.8)
    subspace = fit_subspace(X, 3)
    found = loo_projection.dense_errors(
        np.sum(X**2, axis=1), scores(X, subspace), subspace.spectrum
    )
    plain = [plain_error(x, subspace.basis, subspace.spectrum) for x in X]
    assert_allclose(found, plain, rtol=1e-8)


def test_sparse_form_with_overlapping_supports():
    X = generic(25, 15, decay=0.95)
    basis = sparse_loadings(X, 3, 6, "l1")
    spectrum = np.sum((X @ basis) ** 2, axis=0)
    assert np.any((basis[:, 0] != 0) & (basis[:, 1] != 0))
    found = loo_projection.sparse_errors(X, basis, spectrum)
    assert_allclose(found, [plain_error(x, basis, spectrum) for x in X], rtol=1e-8)


def test_one_axis_in_closed_form():
    # ||x||^2 - t^2 with t = d (s - q)+ / sqrt(s^2 - 2 s d^2 + d^2 q)
    X = generic(20, 8, seed=2)
    subspace = fit_subspace(X, 1)
    d, s, q = scores(X, subspace)[:, 0], subspace.spectrum[0], np.sum(X**2, axis=1)
    t = d * np.maximum(s - q, 0) / np.sqrt(s**2 - 2 * s * d**2 + d**2 * q)
    found = loo_projection.dense_errors(q, d[:, None], subspace.spectrum)
    assert_allclose(found, q - t**2, rtol=1e-9)


def test_a_row_that_made_its_axis_alone_gets_no_credit():
    # s = 10^2 and a little, q = 10^2 + 3^2: without the row nothing is left of the axis.
    X = np.vstack([[10.0, 3.0, 0.0], 0.01 * generic(8, 3)])
    basis = np.array([[1.0], [0.0], [0.0]])
    spectrum = np.sum((X @ basis) ** 2, axis=0)
    found = loo_projection.dense_errors(np.sum(X**2, axis=1), X @ basis, spectrum)
    assert_allclose(found[0], 109.0)


def test_it_is_near_the_exact_leave_one_out_error():
    X = make_subspaces(40, 30, [2], noise=0.1, scores="normal", random_state=0).data
    subspace = fit_subspace(X, 2)
    found = loo_projection.dense_errors(
        np.sum(X**2, axis=1), scores(X, subspace), subspace.spectrum
    )
    assert np.max(np.abs(found / refitted_errors(X, 2) - 1)) < 0.05
    assert np.mean(np.abs(found / refitted_errors(X, 2) - 1)) < 0.01
