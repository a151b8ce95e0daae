import numpy as np
import pytest
from numpy.testing import assert_allclose

from subspaces.core import influence
from subspaces.subspace import Subspace, fit_subspace, scores, squared_residual
from tests.plain import downdated_error, generic, influence_vector, leave_one_out_weights

N, P, R = 25, 9, 3
MEMBERS = np.arange(N) % 3 > 0


def orthonormal_model(seed=0):
    X = generic(N, P, seed)
    return X, fit_subspace(X[MEMBERS], R)


def sparse_model(seed=0):
    """Overlapping unit loadings with zeros, far from orthogonal."""
    X = generic(N, P, seed)
    basis = np.zeros((P, R))
    basis[[0, 1, 2], 0] = 1.0, -2.0, 0.5
    basis[[2, 3, 4], 1] = 1.0, 0.3, 2.0
    basis[[1, 2, 6, 7], 2] = 2.0, 1.0, -1.0, 0.4
    basis /= np.linalg.norm(basis, axis=0)
    return X, Subspace(np.zeros(P), basis, np.sum((X[MEMBERS] @ basis) ** 2, axis=0))


def ingredients(X, subspace):
    return scores(X, subspace), squared_residual(X, subspace), subspace.spectrum


def plain_squared_influence(X, subspace):
    vectors = [
        influence_vector(
            x, subspace.basis, leave_one_out_weights(x, subspace.basis, subspace.spectrum, m)
        )
        for x, m in zip(X, MEMBERS, strict=True)
    ]
    return np.sum(np.square(vectors), axis=1)


def test_eq_final_press_orthonormal_axes():
    X, subspace = orthonormal_model()
    fast = influence.squared_influence(*ingredients(X, subspace), MEMBERS)
    assert_allclose(fast, plain_squared_influence(X, subspace), rtol=1e-11)


def test_eq_final_press_sparse_loadings():
    X, subspace = sparse_model()
    overlap = subspace.basis.T @ subspace.basis
    fast = influence.squared_influence_oblique(*ingredients(X, subspace), overlap, MEMBERS)
    assert_allclose(fast, plain_squared_influence(X, subspace), rtol=1e-11)


def test_sparse_form_in_terms_of_the_squared_length():
    # ||pi||^2 = a^4 ||x||^2 - 2 a^2 d.b + b^T S b
    X, subspace = sparse_model(seed=4)
    d, overlap = X @ subspace.basis, subspace.basis.T @ subspace.basis
    w = 1 + influence.pull(d, subspace.spectrum, MEMBERS)
    a = w.sum(axis=1, keepdims=True) - (R - 1)
    b = w * (a * d + a * d - (w * d) @ overlap)
    form = a[:, 0] ** 4 * np.sum(X**2, axis=1) - 2 * a[:, 0] ** 2 * np.sum(d * b, axis=1)
    form += np.einsum("ir,rs,is->i", b, overlap, b)
    fast = influence.squared_influence_oblique(*ingredients(X, subspace), overlap, MEMBERS)
    assert_allclose(fast, form, rtol=1e-11)


def test_sparse_form_equals_orthonormal_form_when_the_overlap_is_the_identity():
    X, subspace = orthonormal_model(seed=1)
    parts = ingredients(X, subspace)
    assert_allclose(
        influence.squared_influence_oblique(*parts, np.eye(R), MEMBERS),
        influence.squared_influence(*parts, MEMBERS),
        rtol=1e-12,
    )


def test_eq_pca_press():
    X, subspace = orthonormal_model(seed=2)
    fast = influence.paper_errors(*ingredients(X, subspace), MEMBERS)
    for x, member, value in zip(X, MEMBERS, fast, strict=True):
        weights = leave_one_out_weights(x, subspace.basis, subspace.spectrum, member)
        assert_allclose(value, np.sum(downdated_error(x, subspace.basis, weights) ** 2), rtol=1e-11)


def test_one_axis_divides_the_residual_by_one_minus_leverage():
    X = generic(N, P, seed=3)
    subspace = fit_subspace(X, 1)
    d, residual, spectrum = ingredients(X, subspace)
    h = influence.leverage(d, spectrum)[:, 0]
    assert_allclose(influence.paper_errors(d, residual, spectrum), residual / (1 - h) ** 2)
    assert_allclose(influence.hat_errors(d, residual, spectrum), residual / (1 - h) ** 2)
    assert_allclose(influence.squared_influence(d, residual, spectrum), residual / (1 - h) ** 4)


def test_a_member_counts_as_if_an_outsider_had_joined():
    # Removing a member from the sums and letting it join again gives the member's weights.
    X, subspace = orthonormal_model(seed=6)
    i = int(np.flatnonzero(MEMBERS)[4])
    d = scores(X[i : i + 1], subspace)
    without = subspace.spectrum - d[0] ** 2
    assert_allclose(
        influence.pull(d, subspace.spectrum, True), influence.pull(d, without, False), rtol=1e-13
    )


def test_hat_is_the_joint_downdate():
    # e_-i = x - V_-i d_i where V_-i are the least-squares loadings on the others' scores.
    X = generic(30, 6, seed=7)
    subspace = fit_subspace(X, 2)
    d = scores(X, subspace)
    fast = influence.hat_errors(*ingredients(X, subspace))
    for i in range(30):
        rest = np.arange(30) != i
        loadings = np.linalg.lstsq(d[rest], X[rest], rcond=None)[0]
        assert_allclose(fast[i], np.sum((X[i] - d[i] @ loadings) ** 2), rtol=1e-10)


def test_gradient_equals_finite_differences():
    X, subspace = orthonormal_model(seed=8)
    members = X[MEMBERS]
    members[3] *= 3.0

    def half_squared_error(x):
        weights = 1 / (1 - (x @ subspace.basis) ** 2 / subspace.spectrum)
        return 0.5 * np.sum(downdated_error(x, subspace.basis, weights) ** 2)

    exact = influence.gradient(members, subspace)
    step = 1e-6
    for x, vector in zip(members, exact, strict=True):
        numeric = [
            (half_squared_error(x + step * unit) - half_squared_error(x - step * unit)) / (2 * step)
            for unit in np.eye(P)
        ]
        assert_allclose(vector, numeric, rtol=1e-5, atol=1e-7 * np.linalg.norm(vector))


def test_gradient_is_not_the_influence_but_near_it_for_ordinary_points():
    X = generic(200, P, seed=9)
    subspace = fit_subspace(X, 2)
    exact = np.linalg.norm(influence.gradient(X, subspace), axis=1)
    paper = np.sqrt(influence.squared_influence(*ingredients(X, subspace)))
    gap = np.abs(exact - paper) / exact
    assert 0 < np.median(gap) < 0.05


def test_leverage_one_is_infinite_not_nan():
    X = np.diag([3.0, 2.0, 1.0])
    subspace = fit_subspace(X, 2)
    parts = ingredients(X, subspace)
    for values in (
        influence.paper_errors(*parts),
        influence.hat_errors(*parts),
        influence.squared_influence(*parts),
        influence.squared_influence_oblique(*parts, np.eye(2)),
        np.linalg.norm(influence.gradient(X, subspace), axis=1),
    ):
        assert np.isposinf(values[:2]).all()
        assert np.isfinite(values[2])


@pytest.mark.parametrize("offset", [1e3, 1e6])
def test_residual_does_not_cancel_at_large_offsets(offset):
    direction = np.array([2.0, -1.0, 3.0, 0.5]) / np.sqrt(14.25)
    random = np.random.default_rng(0)
    perpendicular = random.normal(size=(20, 4))
    perpendicular -= np.outer(perpendicular @ direction, direction)
    X = offset * np.outer(1 + random.random(20), direction) + perpendicular
    subspace = Subspace(np.zeros(4), direction[:, None], np.ones(1))
    assert_allclose(
        squared_residual(X, subspace), np.sum(perpendicular**2, axis=1), rtol=1e-15 * offset * 1e2
    )
