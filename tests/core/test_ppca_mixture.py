import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal
from sklearn.decomposition import PCA

from subspaces.core import em, ppca_mixture
from subspaces.core.ppca_mixture import RISE_PER_ROW, n_parameters, refine_labels
from subspaces.datasets import make_scenario, make_subspaces
from subspaces.metrics import rand_score
from tests.plain import generic


def fit_mixture(X, responsibilities, dimensions, affine, max_iter):
    """Responsibilities and log-likelihood, less its constant, after so many M steps at most."""
    setting = ppca_mixture.pose(X, dimensions, affine=affine, shared_noise=True)
    begun = em.begin("given", ppca_mixture.first_state(setting, responsibilities))
    steps = max_iter - 1
    run = em.climb(begun, lambda each: ppca_mixture.step(setting, each), steps, RISE_PER_ROW)
    constant = -0.5 * np.log(2 * np.pi) * X.size
    return em.responsibilities(run.state.log_joint), run.log_likelihood - constant


@pytest.mark.parametrize("affine", [False, True])
def test_the_likelihood_never_falls(affine):
    union = make_subspaces([40, 50], 6, [1, 2], noise=0.3, offset=0.5, random_state=0)
    weights = np.random.default_rng(0).dirichlet([1, 1], size=90)
    path = [fit_mixture(union.data, weights, (1, 2), affine, steps)[1] for steps in range(1, 25)]
    assert np.diff(path).min() >= -1e-9 * abs(path[-1])


def test_one_component_is_scikit_learns_noise_model():
    X = generic(80, 6, decay=0.7)
    fitted = fit_mixture(X, np.ones((80, 1)), (2,), True, 5)
    pca = PCA(2).fit(X)
    covariance = pca.get_covariance() * 79 / 80
    plain = multivariate_normal(pca.mean_, covariance).logpdf(X).sum()
    constant = 0.5 * 80 * 6 * np.log(2 * np.pi)
    assert_allclose(fitted[1], plain + constant, rtol=1e-9)


def test_bic_counts_mean_axes_variances_and_noise():
    X = generic(80, 6, decay=0.7)
    pca = PCA(2).fit(X)
    plain = multivariate_normal(pca.mean_, pca.get_covariance() * 79 / 80).logpdf(X).sum()
    labels = np.zeros(85, dtype=int)
    labels[80:] = -1
    found = ppca_mixture.bic(np.vstack([X, X[:5] + 9]), labels, (2,), True)
    # A mean, two orthonormal axes and their variances, and one noise.
    assert_allclose(found, (6 + (2 * 6 - 3) + 2 + 1) * np.log(80) - 2 * plain, rtol=1e-9)


def test_two_components_of_unequal_weight():
    X = generic(90, 4, decay=0.8)
    labels = np.repeat([0, 1], [20, 70])
    found = fit_mixture(X, np.eye(2)[labels], (1, 1), False, 1)[1]
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
    assert np.isfinite(fitted[1])
    assert rand_score(scenario.target, fitted[0].argmax(axis=1)) == 1.0


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(("n_features", "noise"), [(6, 0.3), (150, 0.3), (6, 0.0)])
def test_the_likelihood_never_falls_by_a_step(n_features, noise, shared):
    union = make_subspaces([40, 50], n_features, [1, 3], noise=noise, offset=0.5, random_state=0)
    setting = ppca_mixture.pose(union.data, (2, 3), affine=True, shared_noise=shared)
    first = np.random.default_rng(0).dirichlet([1, 1], size=90)
    state = ppca_mixture.first_state(setting, first)
    path = [em.log_likelihood(state.log_joint)]
    for _ in range(30):
        state = ppca_mixture.step(setting, state)
        path.append(em.log_likelihood(state.log_joint))
    assert np.isfinite(path).all()
    assert np.diff(path).min() >= -1e-10 * abs(path[-1])


def test_shared_noise_above_a_leading_eigenvalue_joins_it():
    # a wide cluster and a narrow one whose axis is below the noise: best on a grid
    values, weights, left = [np.array([9.0]), np.array([0.5])], [10.0, 30.0], [8.0, 0.6]

    def cost(noise):
        total = 0.0
        for value, weight, energy in zip(values, weights, left, strict=True):
            along = np.maximum(value, noise)
            total += weight * (np.sum(np.log(along) + value / along) + 2 * np.log(noise))
            total += weight * energy / noise
        return total

    found = ppca_mixture.pooled_noise(list(zip(weights, values, left, [2, 2], strict=True)), 1e-9)
    assert found > 0.5
    assert cost(found) <= min(cost(noise) for noise in np.geomspace(0.01, 20, 3000)) + 1e-9


@pytest.mark.parametrize("concentration", [1.0, 1e-3])
@pytest.mark.parametrize("affine", [False, True])
def test_rotated_rows_are_the_dense_model(affine, concentration):
    # nearly all shares of the second kind are 0 or 1, so that each component has few rows
    X = generic(30, 50, decay=0.95)
    shares = np.random.default_rng(0).dirichlet([concentration] * 2, size=30)
    setting = ppca_mixture.pose(X, (2, 3), affine=affine, shared_noise=False)
    assert setting.rows.shape == (30, 30)
    state = ppca_mixture.first_state(setting, shares)
    model = ppca_mixture.lifted(setting, state.model)
    assert_allclose(ppca_mixture.log_joint(model, X), state.log_joint, rtol=1e-9)
    for k, r in enumerate((2, 3)):
        share = shares[:, k] / shares[:, k].sum()
        centre = share @ X if affine else np.zeros(50)
        scatter = ((X - centre).T * share) @ (X - centre)
        values, vectors = np.linalg.eigh(scatter)
        noise = values[:-r].sum() / (50 - r)
        axes = vectors[:, -r:]
        covariance = noise * np.eye(50) + (axes * (values[-r:] - noise)) @ axes.T
        plain = multivariate_normal(centre, covariance).logpdf(X) + np.log(shares[:, k].mean())
        assert_allclose(state.log_joint[:, k], plain, rtol=1e-8)


@pytest.mark.parametrize(
    ("n_features", "noise", "stands"), [(6, 1.0, False), (150, 0.3, True), (6, 0.0, True)]
)
def test_axes_that_stand_are_those_fitted_anew(n_features, noise, stands):
    union = make_subspaces([40, 50], n_features, [1, 3], noise=noise, offset=0.5, random_state=0)
    setting = ppca_mixture.pose(union.data, (1, 3), affine=True, shared_noise=False)
    state = ppca_mixture.first_state(setting, np.eye(2)[union.target])
    stood = 0
    for _ in range(12):
        anew = ppca_mixture.first_state(setting, em.responsibilities(state.log_joint))
        before, state = state, ppca_mixture.step(setting, state)
        assert_allclose(state.log_joint, anew.log_joint, rtol=1e-9, atol=1e-9)
        stood += sum(now is then for now, then in zip(state.fits, before.fits, strict=True))
    assert bool(stood) == stands


def test_own_noise_is_each_clusters():
    X, labels = generic(90, 4, decay=0.8), np.repeat([0, 1], [20, 70])
    X[labels == 1] *= 3
    setting = ppca_mixture.pose(X, (1, 2), affine=True, shared_noise=False)
    noise = ppca_mixture.first_state(setting, np.eye(2)[labels]).model.noise
    plain = [
        PCA(r).fit(X[labels == k]).noise_variance_ * (size - 1) / size
        for k, (r, size) in enumerate([(1, 20), (2, 70)])
    ]
    assert_allclose(noise, plain, rtol=1e-9)


@pytest.mark.parametrize("shared", [False, True])
def test_the_noise_has_a_floor(shared):
    scenario = make_scenario("c", random_state=0)
    setting = ppca_mixture.pose(scenario.data, (2, 2), affine=True, shared_noise=shared)
    model = ppca_mixture.first_state(setting, np.eye(2)[scenario.target]).model
    assert_allclose(model.noise, 1e-10 * scenario.data.var(axis=0).mean(), rtol=1e-9)


def test_a_second_axis_has_one_parameter_less_than_variables():
    one, two = (n_parameters([r], 5, affine=False, shared=True) for r in (1, 2))
    assert two - one == 5 - 1
