"""Missing cells: E and M steps against a plain implementation by patterns, and limits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from subspaces.core import incomplete
from subspaces.core.incomplete import Cells, Gaussian
from subspaces.datasets import make_subspaces

NOISE = 0.3


def table(n=40, p=7, r=2, share=0.25, seed=0, shift=2.0):
    """Rows about a plane off the origin with holes, and the loadings and centre of the plane."""
    random = np.random.default_rng(seed)
    loadings, centre = random.normal(size=(p, r)), shift * random.normal(size=p)
    rows = centre + random.normal(size=(n, r)) @ loadings.T + NOISE * random.normal(size=(n, p))
    rows[random.random((n, p)) < share] = np.nan
    rows[0] = centre  # one row is complete
    rows[1, 1:] = np.nan  # and one has a single cell
    rows[1, 0] = centre[0]
    return rows, Gaussian(loadings, centre)


def plain_posterior(row, cluster, noise):
    """Mean and covariance of the scores of one row and its -log density, by its own pattern."""
    seen = ~np.isnan(row)
    w, rest = cluster.loadings[seen], row[seen] - cluster.centre[seen]
    r = w.shape[1]
    covariance = np.linalg.inv(np.eye(r) + w.T @ w / noise)
    density = stats.multivariate_normal.logpdf(
        row[seen], cluster.centre[seen], w @ w.T + noise * np.eye(seen.sum())
    )
    return covariance @ w.T @ rest / noise, covariance, -density


@pytest.mark.parametrize("shift", [0.0, 2.0])
def test_e_step_is_that_of_each_pattern(shift):
    rows, cluster = table(shift=shift)
    found = incomplete.posterior(incomplete.observed_cells(rows), cluster, NOISE**2)
    for i, row in enumerate(rows):
        mean, covariance, cost = plain_posterior(row, cluster, NOISE**2)
        assert_allclose(found.scores[i], mean, rtol=1e-10, atol=1e-12)
        assert_allclose(NOISE**2 * found.precision[i], covariance, rtol=1e-10, atol=1e-14)
        assert_allclose(found.cost[i], cost, rtol=1e-10)


@pytest.mark.parametrize("affine", [False, True])
def test_m_step_is_that_of_each_column(affine):
    rows, cluster = table(seed=1)
    cells = incomplete.observed_cells(rows)
    noise, prior = NOISE**2, 4.0
    weights = np.random.default_rng(0).random(len(rows))
    found = incomplete.posterior(cells, cluster, noise)
    fitted, unexplained = incomplete.refitted(cells, found, weights, noise, prior, affine)
    squares = np.zeros(len(rows))
    for j in range(rows.shape[1]):
        q = 2 + affine
        left, right = noise / prior * np.eye(q), np.zeros(q)
        for i, row in enumerate(rows):
            if np.isnan(row[j]):
                continue
            mean, covariance, _ = plain_posterior(row, cluster, noise)
            moment = np.zeros((q, q))
            design = np.append(mean, 1.0)[:q]
            moment[:2, :2] = covariance
            left += weights[i] * (moment + np.outer(design, design))
            right += weights[i] * row[j] * design
        solved = np.linalg.solve(left, right)
        assert_allclose(fitted.loadings[j], solved[:2], rtol=1e-9, atol=1e-12)
        assert_allclose(fitted.centre[j], solved[2] if affine else 0.0, rtol=1e-9, atol=1e-12)
        for i, row in enumerate(rows):
            if not np.isnan(row[j]):
                mean, covariance, _ = plain_posterior(row, cluster, noise)
                w = fitted.loadings[j]
                squares[i] += (row[j] - fitted.centre[j] - w @ mean) ** 2 + w @ covariance @ w
    assert_allclose(unexplained, weights @ squares, rtol=1e-9)


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("share", [0.05, 0.3, 0.6])
def test_em_never_lowers_the_penalised_likelihood(affine, share):
    union = make_subspaces([60, 60], 12, [2, 1], noise=0.2, offset=int(affine), random_state=0)
    random = np.random.default_rng(1)
    X = np.where(random.random(union.data.shape) < share, np.nan, union.data)
    cells = incomplete.observed_cells(X)
    filled = incomplete.filled_by_pca(cells, 3 + affine, affine).table
    labels = np.where(random.random(120) < 0.7, union.target, 1 - union.target)
    found = incomplete.fit_mixture(cells, labels, [2, 1], affine, filled)
    path = np.array(found.path)
    assert len(path) > 3
    assert np.all(np.diff(path) >= -1e-9 * np.abs(path[1:]))
    assert_allclose(found.weights.sum(axis=1), 1.0)


def test_nothing_missing_is_probabilistic_pca():
    union = make_subspaces([200], 8, [2], noise=0.3, random_state=0)
    rows = union.data - union.data.mean(axis=0)
    cells = incomplete.observed_cells(rows)
    found = incomplete.fit_mixture(cells, np.zeros(200, dtype=int), [2], False, rows, max_iter=2000)
    values, vectors = np.linalg.eigh(rows.T @ rows / 200)
    noise = values[:-2].mean()
    assert_allclose(found.mixture.noise[0], noise, rtol=0.01)
    subspace = incomplete.as_subspace(found.mixture.clusters[0], found.mixture.noise[0], 200)
    assert_allclose(np.abs(vectors[:, :-3:-1].T @ subspace.basis).max(axis=0), 1.0, atol=0.01)
    assert_allclose(subspace.spectrum, 200 * values[:-3:-1], rtol=0.02)


def test_subspaces_and_clusters_are_each_others_reverse():
    cluster = table()[1]
    again = incomplete.as_gaussian(incomplete.as_subspace(cluster, 0.1, 30), 0.1, 30)
    assert_allclose(again.loadings @ again.loadings.T, cluster.loadings @ cluster.loadings.T)
    assert_allclose(again.centre, cluster.centre)


@pytest.mark.parametrize("center", [True, False])
def test_filling_a_plane_without_noise_is_exact(center):
    random = np.random.default_rng(0)
    whole = random.normal(size=(60, 2)) @ random.normal(size=(2, 15)) + 3.0 * center
    X = np.where(random.random(whole.shape) < 0.1, np.nan, whole)
    filled = incomplete.filled_by_pca(incomplete.observed_cells(X), 2, center).table
    assert_allclose(filled, whole, atol=1e-2)
    assert_allclose(filled[~np.isnan(X)], whole[~np.isnan(X)])


def test_filling_is_better_than_the_mean_and_does_not_overfit():
    random = np.random.default_rng(1)
    signal = random.normal(size=(80, 3)) @ random.normal(size=(3, 20))
    whole = signal + random.normal(size=signal.shape)
    holes = random.random(whole.shape) < 0.2
    cells = incomplete.observed_cells(np.where(holes, np.nan, whole))
    tables = [incomplete.filled_by_pca(cells, r, True).table for r in (0, 3, 8)]
    errors = [np.std((table - signal)[holes]) for table in tables]
    assert errors[1] < 0.75 * errors[0]
    assert errors[2] < 1.25 * errors[1]


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("low", [True, False])
def test_low_values_that_are_missing_are_told(low, center):
    random = np.random.default_rng(2)
    whole = random.normal(size=(150, 3)) @ random.normal(size=(3, 30))
    whole += 0.5 * random.normal(size=whole.shape)
    chance = 1 / (1 + np.exp(2.0 * whole + 2.0)) if low else np.full(whole.shape, 0.2)
    X = np.where(random.random(whole.shape) < chance, np.nan, whole)
    cells = incomplete.observed_cells(X)
    lower, z = incomplete.lower_in_holes(cells, incomplete.filled_by_pca(cells, 3, center).image)
    if low:
        assert lower < -0.5
        assert z < -20.0
    else:
        assert abs(z) < 3.0


def test_nothing_is_lower_where_nothing_is_missing_or_nothing_varies():
    cells = incomplete.observed_cells(np.arange(12.0).reshape(4, 3))
    assert incomplete.lower_in_holes(cells, cells.values) == (0.0, 0.0)
    cells = incomplete.observed_cells(np.array([[1.0, np.nan], [1.0, 1.0]]))
    assert incomplete.lower_in_holes(cells, np.ones((2, 2))) == (0.0, 0.0)


def test_what_is_expected_in_the_holes_comes_near_the_truth():
    union = make_subspaces([80, 80], 15, [2, 2], noise=0.05, random_state=0)
    holes = np.random.default_rng(0).random(union.data.shape) < 0.2
    X = np.where(holes, np.nan, union.data)
    cells = incomplete.observed_cells(X)
    filled = incomplete.filled_by_pca(cells, 4, False).table
    found = incomplete.fit_mixture(cells, union.target, [2, 2], False, filled)
    expected = incomplete.predicted(cells, found.mixture)
    before, after = (np.std((each - union.data)[holes]) for each in (filled, expected))
    assert after < 0.95 * before
    assert np.mean(found.labels == union.target) > 0.95


@pytest.mark.parametrize("shift", [0.0, 2.0])
def test_expected_squares_are_the_mean_over_what_may_stand_in_the_holes(shift):
    rows, cluster = table(shift=shift, seed=4)
    place = incomplete.as_subspace(cluster, NOISE**2, 30)
    cells = incomplete.observed_cells(rows)
    squares, residual = incomplete.expected_squares(cells, place, NOISE**2, 30)
    along = place.basis @ place.basis.T
    away = np.eye(len(along)) - along
    everywhere = cluster.loadings @ cluster.loadings.T + NOISE**2 * np.eye(len(along))
    for i, row in enumerate(rows):
        hole, mean, spread = np.isnan(row), row - cluster.centre, np.zeros_like(along)
        if hole.any():
            seen = np.linalg.solve(everywhere[np.ix_(~hole, ~hole)], everywhere[~hole][:, hole])
            mean[hole] = mean[~hole] @ seen
            spread[np.ix_(hole, hole)] = (
                everywhere[hole][:, hole] - everywhere[hole][:, ~hole] @ seen
            )
        scores = mean @ place.basis
        expected = scores**2 + np.diag(place.basis.T @ spread @ place.basis)
        assert_allclose(squares[i], expected, rtol=1e-9, atol=1e-12)
        assert_allclose(residual[i], mean @ away @ mean + np.trace(away @ spread), atol=1e-9)


def test_columns_of_few_values_are_not_known():
    counts = np.array([1.0, 3.0, 4.0, 90.0])
    assert incomplete.known_columns(counts, [1, 2]).tolist() == [0.0, 0.0, 1.0, 1.0]
    assert incomplete.known_columns(counts, [0, 0]) is None
    assert incomplete.known_columns(counts[2:], [2]) is None
    assert incomplete.known_columns(counts[:2], [2]) is None  # none is left otherwise


def test_the_number_of_steps_does_not_depend_on_the_unit():
    union = make_subspaces([40, 40], 10, [2, 2], noise=0.2, random_state=3)
    X = np.where(np.random.default_rng(3).random(union.data.shape) < 0.4, np.nan, union.data)
    steps = []
    for unit in (1e-3, 0.3, 1.0, 3.0, 1e3):
        cells = incomplete.observed_cells(unit * X)
        filled = incomplete.filled_by_pca(cells, 4, False).table
        steps.append(len(incomplete.fit_mixture(cells, union.target, [2, 2], False, filled).path))
    assert len(set(steps)) == 1


def test_rows_are_chosen():
    cells = Cells(np.arange(6.0).reshape(3, 2), np.ones((3, 2)))
    assert_allclose(cells.rows(np.array([2])).values, [[4.0, 5.0]])
    assert_allclose(cells.counts, 2.0)
