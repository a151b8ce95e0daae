"""A second fit equals a fresh one, attribute by attribute; a fit that fails changes nothing."""

import sys
from copy import deepcopy
from enum import Enum
from functools import cache

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone

from subspaces import (
    GPCA,
    MCFA,
    MPPCA,
    PCA,
    PSC,
    SSC,
    EnsembleKSubspaces,
    KSubspaces,
    MCtFA,
    MiniBatchPSC,
    PCAOutlierDetector,
    SparseKMeans,
    all_estimators,
    recipes,
)
from subspaces.datasets import make_subspaces
from subspaces.recipes import ExpressionScaler
from subspaces.runtime.fitted import is_fitted_name
from tests.estimators.checks import CLUSTERERS
from tests.warned import refuses

pytestmark = pytest.mark.filterwarnings("ignore")  # what the odd tables among these are told


@cache
def union(seed, n_features=8, sizes=(40, 30), offset=0.3):
    made = make_subspaces(sizes, n_features, [2] * len(sizes), noise=0.1, offset=offset,
                          random_state=seed)  # fmt: skip
    made.data.setflags(write=False)
    return made.data


def with_gaps(seed):
    X = 3.0 * union(seed)
    X[np.random.default_rng(seed).random(X.shape) < 0.1] = np.nan
    return X


def of_low_rank(seed):
    rows = np.random.default_rng(seed).normal(size=(12_000, 4))
    return rows @ np.random.default_rng(1).normal(size=(4, 8))


DATA = {
    "dense": lambda seed: union(seed),
    "wide": lambda seed: union(seed, 90),
    "frame": lambda seed: pd.DataFrame(union(seed), columns=list("abcdefgh")),
    "single precision": lambda seed: union(seed).astype(np.float32),
    "gaps": with_gaps,
    "sparse": lambda seed: sparse.csr_array(np.where(union(seed) > 0.2, union(seed), 0.0)),
    "Dask": lambda seed: da.from_array(union(seed), chunks=(30, 8)),
    "many rows, low rank": of_low_rank,
}
# A kind of fit is a model's parameters and the data it gets.
FEW = {"n_init": 1, "random_state": 0}
DENSE = ("dense", "wide", "frame", "single precision")
KINDS = {
    **{kind: {name: (name, {"n_components": 2}) for name in DENSE} for kind in CLUSTERERS.values()},
    PSC: {
        **{name: (name, {"n_components": 2}) for name in DATA},
        "loo": ("dense", {"n_components": 2, "criterion": "loo"}),
        "affine, unequal": ("dense", {"n_components": [0, 3], "affine": True}),
        "few variables": ("dense", {"n_components": 1, "n_variables": 4}),
        "automatic": ("dense", {"n_clusters": "auto", "n_components": "auto", "max_clusters": 2}),
        "refined": ("dense", {"n_components": 2, "refine": "ppca", "affine": True}),
    },
    KSubspaces: {
        **{name: (name, {"n_components": 2}) for name in DATA},
        "means": ("dense", {"n_components": 0, "affine": True}),
    },
    MiniBatchPSC: {
        **{name: (name, {"n_components": 2}) for name in DATA if name != "gaps"},
        "affine": ("dense", {"n_components": 1, "affine": True}),
    },
    MPPCA: {name: (name, {"n_components": 2}) for name in (*DENSE, "gaps")},
    PCA: {
        **{name: (name, {}) for name in (*DENSE, "gaps")},
        "scaled": ("dense", {"scale": True, "center": False}),
    },
    PCAOutlierDetector: {name: (name, {"n_components": 2}) for name in DENSE},
    ExpressionScaler: {
        **{name: (name, {"kind": "log"}) for name in DENSE},
        "axes": ("dense", {"kind": "ratios", "n_axes": 2}),
        "sparse": ("sparse", {"kind": "shares"}),
    },
    EnsembleKSubspaces: {name: (name, {"n_components": 2, "n_runs": 5}) for name in DENSE},
    GPCA: {
        **{name: (name, {"n_components": 2}) for name in DENSE},
        "lines": ("dense", {"n_components": 1, "polish": False}),
    },
    SSC: {
        **{name: (name, {"n_components": 2}) for name in DENSE},
        "pursuit": ("dense", {"n_components": 2, "solver": "omp"}),
    },
    MCFA: {name: (name, {"n_components": 3, "max_iter": 5}) for name in DENSE},
    MCtFA: {
        **{name: (name, {"n_components": 3, "max_iter": 5}) for name in DENSE},
        "given df": ("dense", {"n_components": 3, "max_iter": 5, "df": 4.0}),
    },
    SparseKMeans: {
        **{name: (name, {"bound": 2.0}) for name in DENSE},
        "few variables": ("dense", {"n_variables": 3}),
    },
}
PAIRS = [
    (kind, first, second)
    for kind, cases in KINDS.items()
    for first in cases
    for second in cases
    if first != second
]


def posed(kind, case):
    """A model of this kind with the parameters of a case, and the data of the case."""
    name, given = KINDS[kind][case]
    known = kind().get_params()
    few = {key: value for key, value in FEW.items() if key in known}
    return kind(**{"n_clusters": 2, **few, **given} if "n_clusters" in known else given), name


def assert_alike(found, expected, name):
    """Two attributes are the same, bit for bit; times of the fits may differ."""
    assert type(found) is type(expected), name
    if hasattr(expected, "compute"):
        found, expected = found.compute(), expected.compute()
    if isinstance(expected, dict):
        assert set(found) == set(expected), name
        for key in expected:
            assert_alike(found[key], expected[key], f"{name}[{key}]")
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected), name
        for one, other in zip(found, expected, strict=True):
            assert_alike(one, other, name)
    elif sparse.issparse(expected):
        assert_array_equal(found.toarray(), expected.toarray(), name)
    elif isinstance(expected, np.ndarray):
        assert_array_equal(found, expected, name)
    elif hasattr(expected, "__dict__") and not isinstance(expected, Enum):
        parts = {key: value for key, value in vars(expected).items() if key != "seconds"}
        for key, value in parts.items():
            assert_alike(vars(found)[key], value, f"{name}.{key}")
    else:
        assert found == expected or (found != found and expected != expected), name


def fitted(model):
    return {name: value for name, value in vars(model).items() if is_fitted_name(name)}


def assert_same_fit(model, expected):
    assert set(vars(model)) == set(vars(expected))
    for name, value in fitted(expected).items():
        assert_alike(fitted(model)[name], value, name)


@cache
def fresh(kind, case, seed=2):
    model, data = posed(kind, case)
    return model.fit(DATA[data](seed))


@pytest.mark.parametrize(("kind", "first", "second"), PAIRS)
def test_a_second_fit_remembers_nothing_of_the_first(kind, first, second):
    model = deepcopy(fresh(kind, first, seed=1))
    later, data = posed(kind, second)
    model.set_params(**later.get_params(deep=False)).fit(DATA[data](2))
    assert_same_fit(model, fresh(kind, second))


def test_every_estimator_is_here():
    assert set(KINDS) >= {kind for _, kind in all_estimators()}
    assert ExpressionScaler in KINDS
    assert len(PAIRS) > 400


def refused():
    """Data and parameters that every fit refuses."""
    X = np.array(union(1))
    X[3, 2] = np.inf
    yield "infinite", {}, X
    yield "nothing but text", {}, np.array([["a", "b"], ["c", "d"], ["e", "f"]])
    yield "too many clusters", {"n_clusters": 500}, union(1)
    yield "odd parameter", {"n_components": "many", "kind": "odd", "method": "odd"}, union(1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", [name for name, _, _ in refused()])
def test_a_fit_that_is_refused_leaves_the_model_as_it_was(kind, case):
    _, given, X = next(entry for entry in refused() if entry[0] == case)
    model, _ = posed(kind, "dense")
    given = {name: value for name, value in given.items() if name in model.get_params()}
    if case in ("too many clusters", "odd parameter") and not given:
        pytest.skip("has no such parameter")
    model.fit(union(2))
    before = clone(model).fit(union(2))
    with pytest.raises((ValueError, TypeError)):
        model.set_params(**given).fit(X)
    model.set_params(**before.get_params(deep=False))
    assert_same_fit(model, before)


class Interrupt(KeyboardInterrupt):
    """Raised in the middle of a fit, in place of a user who presses Ctrl-C."""


def interrupt_after(n_calls, fit):
    """Run a fit and raise `Interrupt` at its n-th call of a function of this library."""
    left = n_calls

    def watch(frame, event, argument):
        nonlocal left
        if event == "call" and "subspaces" in frame.f_code.co_filename:
            left -= 1
            if left == 0:
                sys.setprofile(None)
                raise Interrupt

    sys.setprofile(watch)
    try:
        fit()
    finally:
        sys.setprofile(None)
    return left


@pytest.mark.parametrize("second", ["gaps", "other width", "sparse"])
@pytest.mark.parametrize("kind", [PSC, KSubspaces, MiniBatchPSC])
def test_an_interrupted_fit_leaves_the_model_as_it_was(kind, second):
    if kind is MiniBatchPSC and second == "gaps":
        pytest.skip("takes no missing cells")
    X = {"gaps": with_gaps(1), "other width": union(1, 11), "sparse": DATA["sparse"](1)}[second]
    model, _ = posed(kind, "dense")
    model.fit(union(2))
    before, filters = clone(model).fit(union(2)), np.geterr()
    calls, total = 1, 0
    while True:
        try:
            interrupt_after(calls, lambda: model.fit(X))
        except Interrupt:
            total += 1
            assert_same_fit(model, before)
            assert np.geterr() == filters
            calls = 1 + int(1.7 * calls)
        else:
            break
    assert total > 5
    assert_same_fit(model, clone(model).fit(X))


def test_an_interrupted_batch_leaves_the_model_as_it_was():
    first, later = union(1), union(2)
    expected = MiniBatchPSC(2, n_components=2, random_state=0).partial_fit(first)
    for calls in (3, 20, 60):
        model = MiniBatchPSC(2, n_components=2, random_state=0).partial_fit(first)
        with pytest.raises(Interrupt):
            interrupt_after(calls, lambda model=model: model.partial_fit(later))
        assert_same_fit(model, expected)
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(union(3, 5))
    assert_same_fit(model, expected)
    assert_same_fit(model.partial_fit(later), expected.partial_fit(later))


def test_a_recipe_whose_fit_fails_is_as_it_was():
    random = np.random.default_rng(0)
    counts = random.poisson(random.lognormal(2, 1, 60), (30, 60))
    recipe = recipes.expression(2, random_state=0).fit(counts)
    labels, names = recipe.labels_.copy(), vars(recipe[-1]).keys()
    with refuses("n_clusters", 50):
        recipe.set_params(**{f"{recipe.steps[-1][0]}__n_clusters": 50}).fit(counts[:, :40])
    assert_array_equal(recipe.labels_, labels)
    assert vars(recipe[-1]).keys() == names
    assert_array_equal(recipe.predict(counts), labels)


def test_what_the_user_sets_stays():
    model = KSubspaces(2, random_state=0).fit(union(1))
    assert not any(map(is_fitted_name, vars(KSubspaces())))
    model.note = "of Tuesday"
    model.set_output(transform="pandas")
    model.fit(union(2))
    assert model.note == "of Tuesday"
    assert isinstance(model.transform(union(2)), pd.DataFrame)
