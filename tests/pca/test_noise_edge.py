import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize

from subspaces.pca.noise_edge import edge_of_noise

# Quantiles of the Tracy-Widom distribution of order one [Bejan 2005].
TRACY_WIDOM = {0.5: -1.2686, 0.9: 0.4501, 0.95: 0.9793, 0.99: 2.0234, 0.999: 3.2724}
UNEQUAL = np.geomspace(0.2, 5.0, 40)


def largest(scatters):
    return np.array([np.linalg.eigvalsh(scatter)[-1] for scatter in scatters])


def noise_scatters(variances, n, count, seed=0):
    random = np.random.default_rng(seed)
    for _ in range(count):
        rows = random.normal(size=(n, len(variances))) * np.sqrt(variances)
        yield rows.T @ rows


@pytest.mark.parametrize(("level", "quantile"), TRACY_WIDOM.items())
def test_levels_are_those_of_tracy_and_widom_where_variances_are_known_well(level, quantile):
    edge = edge_of_noise(np.ones(2000), 200_000)
    share = np.sqrt(edge.share)
    assert share > 0.98
    mean = -1.2065
    expected = edge.centre + edge.width * (mean + share * (quantile - mean))
    assert_allclose((edge.at(level) - expected) / edge.width, 0.0, atol=0.03)


@pytest.mark.parametrize("variances", [np.ones(40), UNEQUAL])
def test_the_largest_eigenvalue_of_noise_has_that_mean(variances):
    edge = edge_of_noise(variances, 150)
    found = largest(noise_scatters(variances, 150, 300))
    assert_allclose(found.mean(), edge.centre - 1.2065 * edge.width, rtol=0.04)


@pytest.mark.parametrize("shape", [(60, 20), (30, 80), (120, 40)])
def test_a_level_is_how_often_noise_stays_below_it_though_its_variance_is_estimated(shape):
    n, p = shape
    passed = np.zeros(2)
    for scatter in noise_scatters(np.ones(p), n, 400):
        edge = edge_of_noise(np.full(p, np.trace(scatter) / (n * p)), n)
        passed += np.linalg.eigvalsh(scatter)[-1] > [edge.at(0.8), edge.at(0.95)]
    # Four standard errors of a share of 400.
    assert np.all(np.abs(passed / 400 - [0.2, 0.05]) <= [0.08, 0.044])


def test_the_edge_has_the_unit_of_the_variances():
    one, other = edge_of_noise(UNEQUAL, 90), edge_of_noise(7.0 * UNEQUAL, 90)
    assert_allclose([other.centre, other.width], [7.0 * one.centre, 7.0 * one.width], rtol=1e-9)
    assert_allclose(other.share, one.share, rtol=1e-9)


def test_equal_variances_are_the_limit_of_unequal_ones():
    nearly = edge_of_noise(np.linspace(0.999, 1.001, 300), 500)
    equal = edge_of_noise(np.ones(300), 500)
    assert_allclose(nearly.centre, equal.centre, rtol=0.005)
    assert_allclose(nearly.width, equal.width, rtol=0.02)
    assert_allclose(nearly.share, equal.share, rtol=0.02)


def test_the_centre_is_the_least_value_of_its_function():
    n = 90

    def values(c):
        return n / c + np.sum(UNEQUAL / (1.0 - UNEQUAL * c))

    found = optimize.minimize_scalar(values, bounds=(1e-6, 0.999999 / UNEQUAL.max()))
    assert_allclose(edge_of_noise(UNEQUAL, n).centre, found.fun, rtol=1e-8)


@pytest.mark.parametrize("n", [50, 400])
def test_hidden_strength_solves_the_equation_of_equal_columns(n):
    p, sigma2 = 120, 1.7
    edge = edge_of_noise(np.full(p, sigma2), n)
    theta2 = edge.hidden_strength(0.98)
    eigenvalue = (theta2 + n * sigma2) * (theta2 + p * sigma2) / theta2
    assert_allclose(eigenvalue, edge.at(0.98), rtol=1e-9)
    assert theta2 >= sigma2 * np.sqrt(n * p)


def test_a_component_of_hidden_strength_reaches_the_edge():
    n, random = 120, np.random.default_rng(3)
    variances = np.geomspace(0.2, 5.0, 90)
    edge = edge_of_noise(variances, n)
    theta = np.sqrt(edge.hidden_strength(0.999))
    found = []
    for _ in range(20):
        u, v = random.normal(size=n), random.normal(size=len(variances))
        rows = random.normal(size=(n, len(variances))) * np.sqrt(variances)
        rows += theta * np.outer(u / np.linalg.norm(u), v / np.linalg.norm(v))
        found.append(np.linalg.norm(rows, 2) ** 2)
    assert_allclose(np.mean(found), edge.at(0.999), rtol=0.03)
