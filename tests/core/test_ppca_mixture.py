import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal
from sklearn.decomposition import PCA

from subspaces.core.ppca_mixture import fit_mixture, refine_labels
from subspaces.datasets import make_scenario, make_subspaces
from subspaces.metrics import rand_score
from tests.plain import generic


@pytest.mark.parametrize("affine", [False, True])
def test_the_likelihood_never_falls(affine):
    union = make_subspaces([40, 50], 6, [1, 2], noise=0.3, offset=0.5, random_state=0)
    weights = np.random.default_rng(0).dirichlet([1, 1], size=90)
    path = [
        fit_mixture(union.data, weights, (1, 2), affine, steps).log_likelihood
        for steps in range(1, 25)
    ]
    assert np.diff(path).min() >= -1e-9 * abs(path[-1])


def test_one_component_is_scikit_learns_noise_model():
    X = generic(80, 6, decay=0.7)
    fitted = fit_mixture(X, np.ones((80, 1)), (2,), True, 5)
    pca = PCA(2).fit(X)
    covariance = pca.get_covariance() * 79 / 80
    plain = multivariate_normal(pca.mean_, covariance).logpdf(X).sum()
    constant = 0.5 * 80 * 6 * np.log(2 * np.pi)
    assert_allclose(fitted.log_likelihood, plain + constant, rtol=1e-9)


def test_two_components_of_unequal_weight():
    X = generic(90, 4, decay=0.8)
    labels = np.repeat([0, 1], [20, 70])
    found = fit_mixture(X, np.eye(2)[labels], (1, 1), False, 1).log_likelihood
    axes = [np.linalg.svd(X[labels == k], full_matrices=False) for k in (0, 1)]
    noise = sum(np.sum(s[1:] ** 2) for _, s, _ in axes) / (90 * 3)
    densities = []
    for (_, s, vt), size in zip(axes, (20, 70), strict=True):
        along = s[0] ** 2 / size - noise
        covariance = noise * np.eye(4) + along * np.outer(vt[0], vt[0])
        densities.append(size / 90 * multivariate_normal(cov=covariance).pdf(X))
    plain = np.sum(np.log(np.sum(densities, axis=0))) + 0.5 * 90 * 4 * np.log(2 * np.pi)
    assert_allclose(found, plain, rtol=1e-9)


def test_refinement_improves_unequal_dimensions():
    scenario = make_scenario("b", noise=0.1, n_features=20, random_state=0)
    start = scenario.target.copy()
    start[::7] = 1 - start[::7]
    labels = refine_labels(scenario.data, [start], (1, 2), False)
    assert rand_score(scenario.target, labels) > rand_score(scenario.target, start) + 0.05


def test_noise_free_data_are_finite():
    scenario = make_scenario("c", random_state=0)
    fitted = fit_mixture(scenario.data, np.eye(2)[scenario.target], (2, 2), False, 50)
    assert np.isfinite(fitted.log_likelihood)
    assert rand_score(scenario.target, fitted.labels) == 1.0
