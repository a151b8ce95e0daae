import warnings

import numpy as np
import pytest

from subspaces import PCA, PSC
from subspaces.data.validation import equal_by_chance, times_each, warn_of_copies
from subspaces.diagnostics import pca_components, pca_influence, pca_press, stability
from tests.warned import codes_of, warns

NOISE = np.random.default_rng(0).normal(size=(30, 20))


def two_lines(seed=0):
    random = np.random.default_rng(seed)
    own = np.repeat(np.eye(2, 12), 30, axis=0) * random.normal(0, 3, (60, 1))
    return own + 0.1 * random.normal(size=(60, 12))


@pytest.mark.parametrize(
    "ask",
    [
        pca_components,
        PCA().fit,
        lambda X: pca_press(X, 2),
        lambda X: pca_influence(X, 2),
        PSC(2, random_state=0).fit,
        lambda X: stability(PSC(2, n_init=2, random_state=0), X, n_resamples=2, random_state=0),
    ],
    ids=["pca_components", "PCA", "pca_press", "pca_influence", "PSC", "stability"],
)
def test_copies_are_told_where_they_predict_each_other(ask):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        ask(np.tile(NOISE, (3, 1)))
    (copied,) = [each for each in told if codes_of([each.message]) == ["copies"]]
    assert copied.filename == __file__
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        ask(two_lines())
    assert "copies" not in codes_of([each.message for each in told])


def told(X, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_copies(X, **options)
    return "copies" in codes_of(each.message for each in caught)


def pca_components_of(X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pca_components(X).n_components


@pytest.mark.parametrize("share", [0.05, 0.1])
def test_a_twentieth_of_copies_is_told(share):
    X = np.random.default_rng(7).normal(size=(200, 60))
    copied = round(share * 200)
    X[:copied] = X[-copied:]
    assert len(X) - len(times_each(X)) == copied
    assert told(X)
    with warns("copies"):
        pca_components(X)


@pytest.mark.parametrize(("n", "p", "copied"), [(100, 20, 3), (200, 60, 6), (700, 5, 21)])
def test_three_in_a_hundred_are_told(n, p, copied):
    X = np.random.default_rng(9).normal(size=(n, p))
    X[:copied] = X[-copied:]
    assert told(X)
    X[0] += 1.0
    assert not told(X)


@pytest.mark.parametrize(("n", "p", "times"), [(200, 60, 6), (60, 300, 2), (500, 50, 9)])
def test_a_sample_that_is_there_so_often_that_it_makes_a_component_is_told(n, p, times):
    counts = []
    for seed in range(10, 15):
        X = np.random.default_rng(seed).normal(size=(n, p))
        X[:times] = X[0]
        counts.append(pca_components_of(X))
        assert told(X, of_components=True)
        assert not told(X)
        assert not told(X[times - 1 :], of_components=True)
    assert sum(count > 0 for count in counts) >= 3


def test_a_sample_that_is_there_twice_makes_no_component_of_a_long_table():
    X = np.random.default_rng(11).normal(size=(200, 60))
    X[0] = X[1]
    assert pca_components_of(X) == 0
    assert not told(X, of_components=True)


@pytest.mark.parametrize("ask", [pca_components, PCA().fit])
def test_one_copy_is_told_in_the_singular(ask):
    X = np.random.default_rng(12).normal(size=(30, 200))
    X[0] = X[1]
    with warns("copies"):
        ask(X)


@pytest.mark.parametrize("shape", [(60, 70), (40, 200)])
def test_rows_of_a_wide_table_that_are_equal_by_chance_are_not_told(shape):
    tables = [np.random.default_rng(s).binomial(1, 0.02, shape) for s in range(20)]
    assert max(len(X) - len(times_each(X.astype(float))) for X in tables) > 0
    assert not any(told(X.astype(float), of_components=True) for X in tables)


@pytest.mark.parametrize(("n", "copied"), [(200, 4), (20, 1)])
def test_a_few_copies_are_not_told(n, copied):
    X = np.random.default_rng(8).normal(size=(n, 30))
    X[:copied] = X[-copied:]
    assert len(X) - len(times_each(X)) == copied
    assert not told(X)


@pytest.mark.parametrize(
    ("shape", "frequency"), [((200, 60), 0.03), ((500, 40), 0.05), ((200, 8), 0.5), ((60, 12), 0.5)]
)
def test_rows_that_are_equal_by_chance_are_not_told(shape, frequency):
    tables = [np.random.default_rng(s).binomial(1, frequency, shape) for s in range(20)]
    assert not any(told(X.astype(float)) for X in tables)


def test_copies_of_discrete_rows_are_told():
    answers = np.random.default_rng(0).integers(0, 5, (60, 30)).astype(float)
    X = np.vstack([answers, answers[:20]])
    assert len(X) - len(times_each(X)) == 20
    assert told(X)


def test_equal_by_chance_are_the_pairs_of_rows_that_are_equal_if_columns_are_independent():
    random = np.random.default_rng(1)
    X = random.choice(3, size=(400, 4), p=[0.7, 0.2, 0.1]).astype(float)
    equal = [
        np.sum(np.triu(np.all(Y[:, None] == Y, axis=2), 1))
        for Y in (random.permuted(X, axis=0) for _ in range(20))
    ]
    assert equal_by_chance(X) == pytest.approx(np.mean(equal), rel=0.03)
    assert equal_by_chance(NOISE) == 0.0


def test_zeros_of_either_sign_and_missing_cells_are_equal():
    X = np.where(NOISE > 1, np.nan, np.where(NOISE < -1, 0.0, NOISE))
    assert len(times_each(np.vstack([X, X]))) == 30
    assert len(times_each(np.vstack([X, np.where(X == 0, -0.0, X)]))) == 30
