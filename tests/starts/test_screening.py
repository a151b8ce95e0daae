import numpy as np
from numpy.testing import assert_array_equal

from subspaces.datasets import make_subspaces
from subspaces.starts.sampled_subspaces import energetic_subspaces
from subspaces.starts.screening import (
    clipped_mean,
    on_screened_variables,
    screen_variables,
    screened_rows,
)
from tests.starts.posed import pose


def test_variables_that_carry_signal_are_kept():
    random = np.random.default_rng(0)
    X = 0.5 * random.normal(size=(200, 300))
    signal = [3, 77, 150, 299]
    X[:, signal] += random.normal(size=(200, 4))
    kept = screen_variables(X, fewest=1)
    assert set(signal) <= set(kept)
    assert len(kept) < 20


def test_at_least_the_fewest_are_kept():
    X = np.random.default_rng(1).normal(size=(100, 50))
    X[:, 7] *= 3
    assert len(screen_variables(X, fewest=12)) == 12
    assert 7 in screen_variables(X, fewest=12)
    assert_array_equal(screen_variables(X[:, :5], fewest=12), np.arange(5))


def test_units_do_not_matter():
    X = np.random.default_rng(2).normal(size=(60, 40))
    X[:, :3] *= 4
    kept = screen_variables(X, fewest=1)
    for scale in (1e-139, 1e139):
        assert_array_equal(screen_variables(scale * X, fewest=1), kept)


def test_clipped_mean_ignores_the_tail():
    values = np.concatenate([np.full(95, 2.0) + 0.01 * np.arange(95), np.full(5, 1e4)])
    assert abs(clipped_mean(values) - values[:95].mean()) < 1e-9
    assert clipped_mean(np.ones(9)) == 1.0


def test_screened_starts_see_the_variables_that_matter():
    union = make_subspaces([60, 60], 300, [1, 1], noise=0.3, n_variables=5, random_state=3)
    problem = pose(union)
    kept = screened_rows(problem)
    assert kept.matrix.shape[1] < 60
    screened = on_screened_variables(energetic_subspaces, problem)
    labels = screened(problem, np.random.default_rng(0))
    assert labels.shape == (120,)
