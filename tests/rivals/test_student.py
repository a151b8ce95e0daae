import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2, gamma, multivariate_normal, multivariate_t

from subspaces.rivals.student import LEAST_DF, MOST_DF, log_t, tails, update_df


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
