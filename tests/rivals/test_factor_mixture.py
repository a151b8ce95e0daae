from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2, gamma, multivariate_normal, multivariate_t

from subspaces.core import em
from subspaces.datasets import make_scenario, make_subspaces
from subspaces.rivals import factor_mixture as fm
from subspaces.rivals.factor_mixture import LEAST_DF, MOST_DF, log_t, tails, update_df

DEGREES = [(np.inf, False), (5.0, False), (30.0, True)]


def some_model(p=7, q=3, n_components=2, df=(4.0, np.inf), seed=0):
    random = np.random.default_rng(seed)
    return fm.FactorMixture(
        random.dirichlet(np.ones(n_components)),
        random.normal(size=(p, q)),
        random.uniform(0.2, 2.0, size=p),
        random.normal(size=(n_components, q)),
        random.normal(size=(n_components, q, q)),
        np.array(df),
    )


def dense_log_joint(model, X):
    columns = []
    for k, df in enumerate(model.df):
        centre = model.loadings @ model.means[k]
        scale = model.loadings @ model.covariances[k] @ model.loadings.T + np.diag(model.noise)
        law = multivariate_normal(centre, scale)
        law = law if np.isinf(df) else multivariate_t(centre, scale, df=df)
        columns.append(law.logpdf(X) + np.log(model.weights[k]))
    return np.column_stack(columns)


def noisy_union(seed=0, noise=0.3):
    return make_subspaces([40, 50, 30], 8, [1, 2, 2], noise=noise, offset=0.8, random_state=seed)


def some_start(X, n_components, q, df, seed=0):
    random = np.random.default_rng(seed)
    loadings = np.linalg.qr(random.normal(size=(X.shape[1], q)))[0]
    shares = random.dirichlet(np.ones(n_components), size=len(X))
    return fm.first_state(X, shares, loadings, df)


@pytest.mark.parametrize("p", [7, 300])  # of the larger, blocks
def test_density_is_that_of_the_dense_covariance(p):
    model = some_model(p)
    X = np.random.default_rng(1).normal(size=(30, p)) * 3 + 2
    assert_allclose(fm.log_joint(fm.normalised(model), X), dense_log_joint(model, X), rtol=1e-10)


@pytest.mark.parametrize("change", [fm.normalised, fm.orthonormal])
def test_a_change_of_coordinates_is_no_change_of_the_mixture(change):
    model = some_model()
    X = np.random.default_rng(1).normal(size=(30, 7))
    assert_allclose(dense_log_joint(change(model), X), dense_log_joint(model, X), rtol=1e-10)
    metric = 1.0 / model.noise if change is fm.normalised else np.ones(7)
    loadings = change(model).loadings
    assert_allclose((loadings.T * metric) @ loadings, np.eye(3), atol=1e-12)


@pytest.mark.parametrize(("df", "estimate_df"), DEGREES)
def test_the_likelihood_rises_in_every_cycle(df, estimate_df):
    X = noisy_union().data
    state, floor = some_start(X, 3, 3, df), fm.floors(X)
    path = [em.log_likelihood(state.log_joint)]
    for _ in range(60):
        state = fm.factor_cycle(state, estimate_df)
        path.append(em.log_likelihood(state.log_joint))
        state = fm.loading_cycle(X, floor, state)
        path.append(em.log_likelihood(state.log_joint))
    assert np.diff(path).min() >= -1e-11 * abs(path[-1])
    assert path[-1] > path[0] + 100


@pytest.mark.parametrize(("df", "estimate_df"), DEGREES)
@pytest.mark.parametrize(("name", "q"), [("a", 2), ("d", 3), ("e", 11), ("e", 5)])
def test_it_rises_on_noise_free_data_too(name, q, df, estimate_df):
    X = make_scenario(name, random_state=1).data
    state, floor = some_start(X, 3, q, df), fm.floors(X)
    path = []
    for _ in range(25):
        state = fm.step(X, floor, state, estimate_df=estimate_df)
        path.append(em.log_likelihood(state.log_joint))
    assert np.isfinite(path).all()
    assert np.diff(path).min() >= -1e-9 * max(abs(np.array(path)))
    assert state.model.noise.min() >= (1 - 1e-14) * floor.min()


def plain_loadings(X, model, shares, weights):
    """A and D by the sums over rows and components as they are written, with dense inverses."""
    p, q = model.loadings.shape
    cross, second, rest = np.zeros((p, q)), np.zeros((q, q)), []
    for k in range(len(model.weights)):
        omega = model.covariances[k]
        sigma = model.loadings @ omega @ model.loadings.T + np.diag(model.noise)
        gain = omega @ model.loadings.T @ np.linalg.inv(sigma)
        spread = omega - gain @ model.loadings @ omega
        for j, y in enumerate(X):
            mean = model.means[k] + gain @ (y - model.loadings @ model.means[k])
            cross += shares[j, k] * weights[j, k] * np.outer(y, mean)
            second += shares[j, k] * (weights[j, k] * np.outer(mean, mean) + spread)
            rest.append((shares[j, k], weights[j, k], y, mean, spread))
    loadings = cross @ np.linalg.inv(second)
    noise = np.zeros(p)
    for share, weight, y, mean, spread in rest:
        noise += share * weight * (y - loadings @ mean) ** 2
        noise += share * np.diag(loadings @ spread @ loadings.T)
    return loadings, noise / len(X)


def test_the_loading_cycle_is_the_plain_one():
    X = noisy_union().data
    model = fm.normalised(some_model(p=8, df=(4.0, 9.0)))
    state = fm.observe(model, fm.reduce(model, X))
    shares = em.responsibilities(state.log_joint)
    weights = (model.df + 8) / (model.df + state.distances)
    loadings, noise = plain_loadings(X, model, shares, weights)
    updated = fm.update_loadings(X, fm.floors(X), state)
    assert_allclose(updated.loadings, loadings, rtol=1e-8)
    assert_allclose(updated.noise, noise, rtol=1e-9)


def test_a_bold_step_is_taken_only_where_it_pays():
    X = noisy_union().data
    floor = fm.floors(X)
    state = fm.factor_cycle(some_start(X, 3, 3, np.inf), False)
    plain = fm.loading_cycle(X, floor, replace(state, stride=1.0))
    bold = fm.loading_cycle(X, floor, replace(state, stride=1.5))
    absurd = fm.loading_cycle(X, floor, replace(state, stride=1e4))
    assert em.log_likelihood(bold.log_joint) > em.log_likelihood(plain.log_joint)
    assert_allclose(absurd.log_joint, plain.log_joint)
    assert [run.stride for run in (plain, bold, absurd)] == [1.2, 1.2 * 1.5, 1.2]


def test_the_factor_cycle_is_at_its_optimum():
    X = noisy_union().data
    model = fm.normalised(some_model(p=8, df=(4.0, 9.0)))
    state = fm.observe(model, fm.reduce(model, X))
    shares = em.responsibilities(state.log_joint)
    weights = (model.df + 8) / (model.df + state.distances)

    def expected(candidate):
        distances = fm.squared_distances(candidate, state.reduced)
        log_det = np.linalg.slogdet(np.eye(3) + candidate.covariances)[1]
        inner = np.log(candidate.weights) - 0.5 * log_det - 0.5 * weights * distances
        return float(np.sum(shares * inner))

    best = fm.update_factors(model, state.reduced, shares, shares * weights)
    random = np.random.default_rng(2)
    for scale in (1e-3, 1e-2, 0.3):
        for _ in range(10):
            tilted = best.weights * np.exp(scale * random.normal(size=2))
            nearby = fm.FactorMixture(
                tilted / tilted.sum(),
                best.loadings,
                best.noise,
                best.means + scale * random.normal(size=best.means.shape),
                best.roots + scale * random.normal(size=best.roots.shape),
                best.df,
            )
            assert expected(nearby) < expected(best)


@pytest.mark.parametrize(("df", "estimate_df"), DEGREES)
def test_order_and_units_do_not_matter(df, estimate_df):
    X = noisy_union().data
    random = np.random.default_rng(0)
    loadings = np.linalg.qr(random.normal(size=(8, 3)))[0]
    shares, order = random.dirichlet(np.ones(3), size=120), random.permutation(120)

    def climbed(rows, shares):
        state = fm.first_state(rows, shares, loadings, df)
        for _ in range(15):
            state = fm.step(rows, fm.floors(rows), state, estimate_df=estimate_df)
        return state.log_joint

    plain = climbed(X, shares)
    assert_allclose(climbed(X[order], shares[order]), plain[order], rtol=1e-6, atol=1e-6)
    assert_allclose(climbed(X * 1e-3, shares) + 8 * np.log(1e-3), plain, rtol=1e-6, atol=1e-6)


def test_factor_scores_are_the_mean_given_the_row():
    model = fm.normalised(some_model(df=(np.inf, np.inf)))
    X = np.random.default_rng(3).normal(size=(5, 7))
    plain = np.zeros((5, 3))
    shares = em.responsibilities(dense_log_joint(model, X))
    for k in (0, 1):
        omega = model.covariances[k]
        sigma = model.loadings @ omega @ model.loadings.T + np.diag(model.noise)
        gain = omega @ model.loadings.T @ np.linalg.inv(sigma)
        means = model.means[k] + (X - model.loadings @ model.means[k]) @ gain.T
        plain += shares[:, [k]] * means
    assert_allclose(fm.factor_scores(model, X), plain, rtol=1e-9)


def test_parameters_are_counted_as_in_the_paper():
    # (g - 1) + p + q (p + g) + g q (q + 1) / 2 - q^2  [Baek, McLachlan & Flack 2010]
    g, q, p = 4, 3, 50
    assert fm.n_parameters(g, q, p) == g - 1 + p + q * (p + g) + g * q * (q + 1) // 2 - q**2


@pytest.mark.parametrize("df", [0.3, 4.0, 150.0])
def test_density_is_scipys(df):
    points = np.random.default_rng(0).normal(size=(20, 5)) * 3
    plain = multivariate_t(np.zeros(5), np.eye(5), df=df).logpdf(points)
    assert_allclose(log_t(np.sum(points**2, axis=1), 5, df), plain, rtol=1e-12)


def test_many_degrees_of_freedom_are_a_gaussian():
    points = np.random.default_rng(0).normal(size=(20, 5))
    plain = multivariate_normal(np.zeros(5)).logpdf(points)
    squared = np.sum(points**2, axis=1)
    assert_allclose(log_t(squared, 5, np.inf), plain, rtol=1e-12)
    assert_allclose(log_t(squared, 5, 1e12), plain, rtol=1e-9)


def test_tails_are_the_mean_of_the_mixing_variable():
    distances, df, p = np.array([[0.5, 2.0], [30.0, 7.0]]), np.array([3.0, np.inf]), 4
    # w | y is Gamma with shape (nu + p)/2 and rate (nu + distance)/2
    plain = gamma.mean((3.0 + p) / 2, scale=2.0 / (3.0 + distances[:, 0]))
    assert_allclose(tails(distances, p, df), np.column_stack([plain, [1.0, 1.0]]))


def test_df_is_the_best_on_a_grid():
    random = np.random.default_rng(1)
    p = 6
    distances = random.chisquare(p, size=(500, 2)) / (random.chisquare(4, size=(500, 2)) / 4)
    shares = random.uniform(size=(500, 2))
    found = update_df(distances, p, shares, np.array([30.0, 30.0]))
    for k in (0, 1):
        value = shares[:, k] @ log_t(distances[:, k], p, found[k])
        others = [
            shares[:, k] @ log_t(distances[:, k], p, df) for df in np.geomspace(0.1, 190, 400)
        ]
        assert value >= max(others) - 1e-9
        assert 2 < found[k] < 8


def test_df_keeps_within_its_bounds():
    light, heavy = chi2(5).ppf(np.linspace(0.01, 0.99, 200)), np.geomspace(1e-200, 1e100, 200)
    found = update_df(np.column_stack([light, heavy]), 5, np.ones((200, 2)), np.full(2, 30.0))
    assert_allclose(found, [MOST_DF, LEAST_DF], rtol=0)


def test_df_that_would_be_less_likely_is_refused():
    distances, shares = np.full((50, 1), 5.0), np.ones((50, 1))
    assert update_df(distances, 5, shares, np.array([30.0])) == MOST_DF
    assert update_df(distances, 5, shares, np.array([1e6])) == 1e6
