"""`score`, what GridSearchCV asks for; and what fit does not take."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn import config_context
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import has_fit_parameter

from subspaces import PSC, KSubspaces, MiniBatchPSC
from subspaces.datasets import make_subspaces
from subspaces.estimators._base import SubspaceClusterer
from tests.estimators.checks import CLUSTERERS
from tests.warned import refuses

UNION = make_subspaces([80, 80], 10, [2, 2], noise=0.2, shuffle=True, random_state=0)
X = UNION.data
OWN = [name for name, kind in CLUSTERERS.items() if kind.score is SubspaceClusterer.score]


@pytest.mark.parametrize("name", OWN)
def test_the_score_is_minus_the_mean_of_the_own_scores(name):
    """Also where the output is a frame."""
    model = CLUSTERERS[name](2, random_state=0).fit(X)
    expected = -model.transform(X)[np.arange(len(X)), model.predict(X)].mean()
    assert_allclose(model.score(X), expected)
    assert model.score(X, UNION.target) == model.score(X)
    assert isinstance(model.score(X), float)
    plain = model.score(X)
    assert model.set_output(transform="pandas").score(X) == plain


@pytest.mark.parametrize("kind", ["array", "sparse", "dask", "torch"])
@pytest.mark.parametrize("cls", [PSC, KSubspaces, MiniBatchPSC])
def test_the_score_in_passes_is_the_same(cls, kind):
    rows = np.tile(X, (63, 1))
    if kind == "sparse":
        rows = sparse.csr_array(X)
    if kind == "dask":
        rows = pytest.importorskip("dask.array").from_array(X, chunks=(50, 10))
    if kind == "torch":
        rows = pytest.importorskip("torch").asarray(rows)
    with config_context(array_api_dispatch=kind == "torch"):
        model = cls(2, n_components=2, init="random", n_init=1, random_state=0).fit(rows)
        found = model.score(rows)
        expected = -np.asarray(model.transform(rows)).min(axis=1).mean()
    assert_allclose(found, expected)
    assert isinstance(found, float)


@pytest.mark.filterwarnings("ignore::subspaces.messages.NotConvergedWarning")
def test_a_grid_search_finds_the_dimension():
    grid = GridSearchCV(
        PSC(2, criterion="likelihood", n_init=2, random_state=0),
        {"n_components": [1, 2, 4, 6]},
        cv=3,
    ).fit(X)
    assert grid.best_params_ == {"n_components": 2}
    assert np.isfinite(grid.cv_results_["mean_test_score"]).all()


@pytest.mark.filterwarnings("ignore::subspaces.messages.NotConvergedWarning")
def test_a_grid_search_runs_through_a_pipeline():
    grid = GridSearchCV(
        make_pipeline(StandardScaler(), KSubspaces(n_components=1, n_init=2, random_state=0)),
        {"ksubspaces__n_clusters": [1, 2]},
        cv=3,
    ).fit(X)
    assert grid.best_params_ == {"ksubspaces__n_clusters": 2}


@pytest.mark.parametrize("method", ["fit", "fit_predict"])
@pytest.mark.parametrize("name", CLUSTERERS)
def test_what_fit_does_not_take_is_refused_in_plain_words(name, method):
    model = CLUSTERERS[name](2)
    if not has_fit_parameter(model, "sample_weight"):
        with refuses("sample_weight", kind=TypeError) as refused:
            getattr(model, method)(X, sample_weight=np.ones(len(X)))
        assert str(refused.value).startswith(f"{name}.fit")
    with refuses("weight", kind=TypeError):
        getattr(model, method)(X, weight=1)
