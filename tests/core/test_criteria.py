from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from subspaces.core import criteria, likelihood
from subspaces.core.rows import DenseRows
from tests.plain import generic, influence_vector, leave_one_out_weights, refitted_errors

N, P = 24, 7
LABELS = np.arange(N) % 3
DIMENSIONS = (1, 2, 3)
X = generic(N, P, seed=1, decay=0.85)
ROWS = DenseRows(X)
VIEWS = [ROWS.view(np.flatnonzero(k == LABELS), r, False) for k, r in enumerate(DIMENSIONS)]
DATA = likelihood.Data(N, P, float(np.sum(X**2)) / (N * P))


def test_every_public_criterion_is_in_the_table_of_the_docs():
    page = (Path(__file__).parents[2] / "docs" / "guide" / "criterion.md").read_text()
    for name in ("auto", *criteria.names(public=True)):
        assert f'| `"{name}"` | ' in page


def basis_of(members, dimension):
    return np.linalg.svd(members, full_matrices=False)[2][:dimension].T


def residuals(rows, basis):
    return np.sum((rows - rows @ basis @ basis.T) ** 2, axis=1)


@pytest.fixture(params=range(3))
def cluster(request):
    return request.param


def test_residual(cluster):
    found = criteria.costs("residual", VIEWS, DATA)[:, cluster]
    basis = basis_of(X[cluster == LABELS], DIMENSIONS[cluster])
    assert_allclose(found, residuals(X, basis), rtol=1e-9)


@pytest.mark.parametrize("criterion", ["loo", "hat"])
def test_outsiders_are_scored_by_their_residual(criterion, cluster):
    found = criteria.costs(criterion, VIEWS, DATA)[:, cluster]
    outside = cluster != LABELS
    basis = basis_of(X[~outside], DIMENSIONS[cluster])
    assert_allclose(found[outside], residuals(X[outside], basis), rtol=1e-9)


def test_loo_refits_without_each_member(cluster):
    found = criteria.costs("loo", VIEWS, DATA)[cluster == LABELS, cluster]
    plain = refitted_errors(X[cluster == LABELS], DIMENSIONS[cluster])
    assert_allclose(found, plain, rtol=1e-9)


def test_hat_divides_by_one_minus_the_leverage(cluster):
    members = X[cluster == LABELS]
    basis = basis_of(members, DIMENSIONS[cluster])
    d = members @ basis
    h = np.sum(d**2 / np.sum(d**2, axis=0), axis=1)
    found = criteria.costs("hat", VIEWS, DATA)[cluster == LABELS, cluster]
    assert_allclose(found, residuals(members, basis) / (1 - h) ** 2, rtol=1e-9)


def test_influence_of_members_and_outsiders(cluster):
    basis = basis_of(X[cluster == LABELS], DIMENSIONS[cluster])
    spectrum = np.sum((X[cluster == LABELS] @ basis) ** 2, axis=0)
    found = criteria.costs("influence", VIEWS, DATA)[:, cluster]
    for x, label, value in zip(X, LABELS, found, strict=True):
        weights = leave_one_out_weights(x, basis, spectrum, label == cluster)
        assert_allclose(value, np.sum(influence_vector(x, basis, weights) ** 2), rtol=1e-9)


def covariance(rows, dimension, noise):
    """Energy per row along the leading axes, at least the noise; the noise elsewhere."""
    basis = basis_of(rows, dimension)
    along = np.maximum(np.sum((rows @ basis) ** 2, axis=0) / len(rows), noise)
    return noise * (np.eye(P) - basis @ basis.T) + basis @ np.diag(along) @ basis.T


def plain_noise():
    energy, freedom = 0.0, 0
    for k, r in enumerate(DIMENSIONS):
        members = X[k == LABELS]
        energy += residuals(members, basis_of(members, r)).sum()
        freedom += len(members) * (P - r)
    return energy / freedom


def rest_of(i, cluster):
    return X[(cluster == LABELS) & (np.arange(N) != i)]


def test_likelihood_is_the_density_of_the_others(cluster):
    found = criteria.costs("likelihood", VIEWS, DATA)[:, cluster]
    noise = plain_noise()
    for i in range(N):
        rest = rest_of(i, cluster)
        gaussian = stats.multivariate_normal(cov=covariance(rest, DIMENSIONS[cluster], noise))
        plain = -np.log(len(rest) / N) - gaussian.logpdf(X[i]) - 0.5 * P * np.log(2 * np.pi)
        assert_allclose(found[i], plain, rtol=1e-9)


def test_classification_likelihood_is_the_density_of_all_members():
    noise, total = plain_noise(), 0.0
    for k, r in enumerate(DIMENSIONS):
        members = X[k == LABELS]
        gaussian = stats.multivariate_normal(cov=covariance(members, r, noise))
        total -= np.sum(gaussian.logpdf(members) + np.log(len(members) / N))
    total -= 0.5 * N * P * np.log(2 * np.pi)
    assert_allclose(likelihood.classification_likelihood(VIEWS, DATA), total, rtol=1e-9)


def test_t_likelihood_has_student_tails():
    own = [residuals(X[k == LABELS], basis_of(X[k == LABELS], r)) for k, r in enumerate(DIMENSIONS)]
    noise = min(plain_noise(), 2 * np.median(np.concatenate(own)) / (P - 1))
    total = 0.0
    for i in range(N):
        rest = rest_of(i, LABELS[i])
        t = stats.multivariate_t(shape=covariance(rest, DIMENSIONS[LABELS[i]], noise), df=3)
        total -= t.logpdf(X[i]) + np.log(len(rest) / N)
    constant = stats.multivariate_t(shape=np.eye(P), df=3).logpdf(np.zeros(P))
    assert_allclose(likelihood.t_likelihood(VIEWS, DATA), total + N * constant, rtol=1e-9)


def test_a_weak_axis_has_at_least_the_variance_of_the_noise():
    dimensions = (1, 1, 6)
    views = [ROWS.view(np.flatnonzero(k == LABELS), r, False) for k, r in enumerate(dimensions)]
    noise = criteria.pooled_variance(views, DATA)
    members = X[LABELS == 2]
    assert views[2].spectrum[-1] / len(members) < noise
    gaussian = stats.multivariate_normal(cov=covariance(members, 6, noise))
    found = criteria.costs("likelihood", views, DATA)[:, 2]
    for i in np.flatnonzero(LABELS != 2):
        plain = -np.log(len(members) / N) - gaussian.logpdf(X[i]) - 0.5 * P * np.log(2 * np.pi)
        assert_allclose(found[i], plain, rtol=1e-8)


def test_noise_free_data_keep_a_floor():
    rows = np.outer(np.arange(1.0, 9), [1.0, 2.0, 3.0])
    view = DenseRows(rows).view(np.arange(8), 1, False)
    assert criteria.pooled_variance([view], likelihood.Data(8, 3, 2.0)) == pytest.approx(2e-10)
