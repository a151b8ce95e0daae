"""Leaving a row out of the mean as well as of the axes, against refitting."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from subspaces import PSC
from subspaces.core import loo_projection
from subspaces.core.criteria import costs, own_costs
from subspaces.core.influence import hat_errors
from subspaces.core.leave_one_out import graded_axes, left_out
from subspaces.core.problem import Problem, view_clusters
from subspaces.core.rows import DenseRows, GramRows
from subspaces.core.secular import downdate
from subspaces.psc import choosing as choice
from subspaces.subspace import principal_axes
from tests.plain import downdated_error, generic, leave_one_out_weights, refitted_errors


def two_clusters(n, p, seed=0):
    X = np.vstack([generic(n, p, seed), generic(n, p, seed + 1) + 3.0])
    return X, np.repeat([0, 1], n)


@pytest.mark.parametrize("form", [DenseRows, GramRows])
@pytest.mark.parametrize("dimension", [0, 1, 2])
def test_members_are_scored_without_themselves_in_the_mean(form, dimension):
    X, labels = two_clusters(9, 5)
    X = X - X.mean(axis=0)
    rows = DenseRows(X) if form is DenseRows else GramRows(X @ X.T)
    problem = Problem(rows, (dimension, dimension), "loo", True)
    found = own_costs(costs("loo", view_clusters(problem, labels), problem.data), labels)
    true = [refitted_errors(X[labels == k], dimension, center=True) for k in (0, 1)]
    assert_allclose(found, np.concatenate(true), rtol=1e-9)


def test_eigenvalues_and_energies_are_those_around_the_mean_of_the_others():
    X = generic(12, 5)
    axes = principal_axes(X - X.mean(axis=0))
    found = downdate(axes.coordinates, axes.eigenvalues, 2, affine=True)
    for i in range(12):
        others = np.delete(X, i, axis=0)
        values, vectors = np.linalg.eigh(np.cov(others.T, ddof=0) * len(others))
        along = (X[i] - others.mean(axis=0)) @ vectors[:, ::-1][:, :2]
        assert_allclose(found.eigenvalues[i], values[::-1][:2], rtol=1e-10)
        assert_allclose(found.energies[i], along**2, rtol=1e-8)


def test_hat_counts_the_leverage_of_the_mean():
    """Without axes the error is exactly n/(n - 1) times the distance from the mean, squared."""
    X = generic(8, 4)
    centred = X - X.mean(axis=0)
    found = hat_errors(np.zeros((8, 0)), np.sum(centred**2, axis=1), np.zeros(0), affine=True)
    assert_allclose(found, refitted_errors(X, 0, center=True), rtol=1e-12)


def test_projection_on_loadings_down_dated_without_the_mean():
    """The loadings ``sum_i d_i x_i`` of the others, all from the mean of the others, scores held.

    Around the mean without row i the others' sum is ``S v - f d_i x_i``, with ``f = n/(n - 1)``.
    """
    X = generic(40, 4)
    centred = X - X.mean(axis=0)
    axes = principal_axes(centred)
    basis, spectrum = axes.basis[:, :2], axes.eigenvalues[:2]
    squared = np.sum(centred**2, axis=1)
    found = loo_projection.dense_errors(squared, centred @ basis, spectrum, affine=True)
    for i in range(40):
        others = np.delete(X, i, axis=0)
        scatter = np.cov(others.T, ddof=0) * len(others)
        span = np.linalg.qr(scatter @ basis)[0]
        away = X[i] - others.mean(axis=0)
        assert_allclose(found[i], np.sum((away - span @ (span.T @ away)) ** 2), rtol=1e-9)


def test_the_closed_form_with_a_mean():
    X = generic(10, 6, decay=0.9)
    centred = X - X.mean(axis=0)
    basis = principal_axes(centred).basis[:, :2]
    spectrum = np.sum((centred @ basis) ** 2, axis=0)
    plain = []
    for x in np.sqrt(10 / 9) * centred:
        error = downdated_error(x, basis, leave_one_out_weights(x, basis, spectrum, True))
        plain.append(10 / 9 * error @ error)
    assert_allclose(choice.closed_form_errors(centred, basis, affine=True), plain, rtol=1e-9)


def test_the_likelihood_of_a_cluster_with_a_mean():
    X = generic(15, 4, decay=0.8)
    singular = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
    noise = np.sum(singular[1:] ** 2) / (14 * 3)
    total = 0.0
    for i in range(15):
        others = np.delete(X, i, axis=0)
        mean = others.mean(axis=0)
        axis = np.linalg.svd(others - mean, full_matrices=False)[2][0]
        along = max(np.mean(((others - mean) @ axis) ** 2), noise)
        covariance = noise * (np.eye(4) - np.outer(axis, axis)) + along * np.outer(axis, axis)
        total -= stats.multivariate_normal(mean, covariance).logpdf(X[i]) + np.log(14 / 15)
    total -= 15 * 2 * np.log(2 * np.pi)
    found = choice.left_out_likelihood(X, np.zeros(15, dtype=int), [1], True)
    assert_allclose(found.sum(), total, rtol=1e-9)


def test_five_members_in_many_variables_have_no_axis_of_noise():
    """Rows from their mean span one dimension fewer than they are: that is no structure."""
    rows = np.random.default_rng(0).normal(size=(5, 200))
    assert choice.dimension_by_noise(rows - rows.mean(axis=0), 5, affine=True) == 0


@pytest.mark.parametrize("n", [8, 30])
@pytest.mark.parametrize("dimension", [0, 2])
def test_press_is_the_error_of_refitting_everything(n, dimension):
    X, labels = two_clusters(n, 12)
    model = PSC(2, n_components=dimension, affine=True, init=labels, random_state=0).fit(X)
    true = [refitted_errors(X[model.labels_ == k], dimension, center=True) for k in (0, 1)]
    assert_allclose(model.press_, np.concatenate(true).mean(), rtol=1e-9)


@pytest.mark.parametrize("dimension", [0, 1, 3])
def test_press_far_from_the_origin(dimension):
    """The rounding of a mean of 1e13 is larger than much of what tells the rows apart."""
    near = np.random.default_rng(0).normal(size=(30, 6)) * [3, 2, 1, 1, 0.5, 0.5]
    rows = near + 1e13
    found = PSC(1, n_components=dimension, affine=True).fit(rows).press_
    shifted = PSC(1, n_components=dimension, affine=True).fit(rows - rows[0]).press_
    assert found == pytest.approx(shifted, rel=1e-12)


def test_wrong_labels_of_small_clusters_thaw():
    """Clusters of five in 200 variables: with the mean held, wrong labels stay where they are."""
    random = np.random.default_rng(0)
    stayed = 0
    for _ in range(20):
        X = np.repeat(1.6 * random.normal(size=(2, 200)), 5, axis=0) + random.normal(size=(10, 200))
        labels = np.repeat([0, 1], 5)
        start = labels.copy()
        start[[0, 5]] = [1, 0]
        model = PSC(2, n_components=0, affine=True, init=start, random_state=0).fit(X)
        stayed += not np.array_equal(model.labels_, labels)
    assert stayed == 0


def test_a_single_row_has_no_mean_without_itself():
    assert np.isinf(left_out(np.ones((1, 3)), 0, affine=True).squared_error).all()
    assert np.isinf(downdate(np.zeros((1, 0)), np.zeros(0), 0, affine=True).squared_error).all()


def test_graded_axes_are_the_principal_ones():
    X = generic(20, 6)
    graded, plain = graded_axes(X), principal_axes(X)
    assert_allclose(graded.eigenvalues, plain.eigenvalues, rtol=1e-12)
    assert_allclose(np.abs(np.sum(graded.basis * plain.basis, axis=0)), 1.0, rtol=1e-12)


def test_rounding_of_the_rows_is_no_direction():
    X = np.outer(np.arange(1.0, 9.0) / 3, np.array([1.0, 0.1, 0.7]))
    assert graded_axes(X).rank == 1
