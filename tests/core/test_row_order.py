from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits, load_iris, load_wine

from subspaces.core.row_order import likeness, memory, neighbours_depend


def autoregressive(random, n, p, share):
    rows = random.normal(size=(n, p))
    for i in range(1, n):
        rows[i] = share * rows[i - 1] + np.sqrt(1 - share**2) * rows[i]
    return rows


@pytest.mark.parametrize("p", [2, 9])
def test_mean_and_variance_are_those_over_all_orders(p):
    rows = np.random.default_rng(3).standard_t(3, size=(7, p)) + 2.0  # off the origin
    orders = np.array(list(permutations(range(7))))
    sums = np.einsum("oij,oij->o", rows[orders[:, :-1]], rows[orders[:, 1:]])
    plain = (np.sum(rows[:-1] * rows[1:]) - sums.mean()) / sums.std()
    assert_allclose(likeness(rows), plain, rtol=1e-10)
    assert_allclose(np.mean([likeness(rows[order]) for order in orders]), 0.0, atol=1e-10)


@pytest.mark.parametrize("shape", [(25, 8), (60, 20), (600, 12), (30, 300)])
def test_rows_in_no_order_are_independent(shape):
    random = np.random.default_rng(7)
    for _ in range(40):
        heavy = random.normal(size=shape) / np.sqrt(random.chisquare(1, size=(shape[0], 1)))
        for rows in (random.normal(size=shape), random.standard_t(2, size=shape) + 5.0, heavy):
            assert not neighbours_depend(rows)


@pytest.mark.parametrize("shape", [(25, 8), (60, 20), (600, 12), (30, 300)])
def test_a_random_walk_depends_on_its_last_step(shape):
    random = np.random.default_rng(8)
    walks = [np.cumsum(random.normal(size=shape), axis=0) for _ in range(50)]
    assert sum(neighbours_depend(walk - walk.mean(axis=0)) for walk in walks) >= 48


@pytest.mark.parametrize(("shape", "least"), [((25, 8), 35), ((60, 20), 49), ((600, 12), 50)])
def test_autoregressive_rows_depend(shape, least):
    random = np.random.default_rng(9)
    found = [neighbours_depend(autoregressive(random, *shape, 0.5)) for _ in range(50)]
    assert sum(found) >= least
    rows = autoregressive(random, 5000, 10, 0.6)
    assert_allclose(memory(rows), 0.6, atol=0.03)


@pytest.mark.parametrize("load", [load_iris, load_wine, load_digits])
def test_a_table_sorted_by_class_or_by_a_column_is_no_time_series(load):
    X, y = load(return_X_y=True)
    rows = X[:, X.std(axis=0) > 0]
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    by_class = rows[np.argsort(y, kind="stable")]
    assert likeness(by_class) > 4.0
    assert not neighbours_depend(by_class)
    assert not neighbours_depend(rows[np.argsort(X[:, X.var(axis=0).argmax()], kind="stable")])


def test_rows_without_error_and_few_rows_say_nothing():
    assert not neighbours_depend(np.zeros((20, 3)))
    assert not neighbours_depend(np.cumsum(np.ones((7, 3)), axis=0))
    assert likeness(np.ones((20, 3))) == 0.0
