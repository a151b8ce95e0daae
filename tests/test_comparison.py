from itertools import chain

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from subspaces import KSubspaces, compare
from subspaces.comparison import METHODS
from subspaces.datasets import make_scenario, make_subspaces
from tests.estimators.checks import CLUSTERERS
from tests.warned import refuses

UNION = make_subspaces([30, 40], 8, [2, 1], noise=0.02, random_state=0)


class Failing(KMeans):
    def fit_predict(self, X, y=None):
        raise RuntimeError("out of luck\nand more")


def test_every_clusterer_but_the_one_for_streams_is_compared():
    assert set(METHODS) == {*CLUSTERERS, "KMeans"} - {"MiniBatchPSC"}


def test_every_method_on_one_data_set():
    asked, frame = [], pd.DataFrame(UNION.data, columns=list("abcdefgh"))
    found = compare(frame, 2, [2, 1], labels=UNION.target, progress=asked.append)
    assert asked == list(METHODS) == found.columns["method"]
    assert found.columns["error"] == [""] * len(METHODS)
    assert isinstance(found.table, pd.DataFrame)
    for name in METHODS:
        expected = adjusted_rand_score(UNION.target, found.labels[name])
        assert_allclose(found.table.loc[name, "ari"], expected)
        assert_array_equal(found.models[name].labels_, found.labels[name])
        assert np.isfinite(found.table.loc[name, "objective"])
    assert found.table.loc["PSC", "accuracy"] > 0.9
    asked = {name: getattr(model, "n_components", None) for name, model in found.models.items()}
    assert [asked[name] for name in ("PSC", "SCC", "RSIM", "MCFA", "MCtFA")] == [[2, 1], 2, 2, 3, 3]
    assert found.models["SCC"].linear
    assert (found.table["seconds"] > 0).all()
    assert not any("feature names" in said for said in chain(*found.messages.values()))


def test_without_labels_methods_are_compared_with_each_other():
    found = compare(UNION.data, 2, [2, 1], methods=["PSC", "KSubspaces", "KMeans"])
    assert "ari" not in found.columns
    matrix = found.agreement
    assert_allclose(np.diag(matrix), 1.0)
    assert_allclose(found.columns["agreement"][0], matrix[0, 1:].mean())
    assert_array_equal(
        found.labels["KMeans"], KMeans(2, n_init=10, random_state=0).fit(UNION.data).labels_
    )


def test_a_failing_method_is_a_row():
    methods = {"mine": KSubspaces(2, n_components=2, random_state=0), "bad": Failing()}
    found = compare(UNION.data, methods=methods, labels=["a"] * 30 + ["b"] * 40)
    assert found.columns["error"] == ["", "RuntimeError: out of luck"]
    assert np.isnan(found.columns["ari"][1])
    assert list(found.models) == ["mine"]
    assert not hasattr(methods["mine"], "labels_")


def test_any_estimator_that_predicts_what_it_fits():
    methods = {
        "mixture": GaussianMixture(2, random_state=0),
        "pipeline": make_pipeline(StandardScaler(), KMeans(2, n_init=1, random_state=0)),
        "class": KMeans,
    }
    found = compare(pd.DataFrame(UNION.data), methods=methods, labels=UNION.target)
    assert found.columns["error"][:2] == ["", ""]
    assert found.columns["error"][2].startswith("TypeError: Cannot clone")
    assert list(found.labels) == ["mixture", "pipeline"]
    assert "pipeline" in repr(found)


def test_warnings_are_kept():
    found = compare(UNION.data[:, :2], 2, 2, methods=["PSC"])
    assert found.columns["warnings"] == [1]
    assert "equals the rank" in found.messages["PSC"][0]


def test_affine_flats():
    apart = make_subspaces([40, 40], 6, [1, 1], noise=0.02, offset=2.0, random_state=1)
    names = [name for name in METHODS if name not in ("MCFA", "MCtFA", "SparseKMeans", "KMeans")]
    found = compare(apart.data, 2, 1, methods=names, labels=apart.target, affine=True)
    assert np.nanmin(found.columns["ari"]) > 0.9, found.columns
    assert not found.models["SCC"].linear


def test_plot():
    found = compare(UNION.data, 2, 1, methods=["PSC", "KMeans"])
    ax = found.plot()
    assert [text.get_text() for text in ax.get_yticklabels()] == ["PSC", "KMeans"]
    assert found.plot(plt.figure().gca()) is plt.gca()
    with refuses("comparison"):
        compare(UNION.data, methods={"bad": Failing()}).plot()


@pytest.mark.parametrize(
    ("options", "kind", "refused"),
    [
        ({"methods": ["KMaens"]}, ValueError, "methods"),
        ({"methods": []}, ValueError, "methods"),
        ({"methods": "PSC"}, TypeError, "methods"),
        ({"labels": [0, 1]}, ValueError, "labels"),
        ({"labels": [None] + [1] * 69}, ValueError, "labels"),
        ({"labels": [1.0, np.nan] * 35}, ValueError, "labels"),
        ({"n_clusters": 71}, ValueError, "n_clusters"),
        ({"n_components": [1, 2, 3]}, ValueError, "n_components"),
        ({"n_components": 9}, ValueError, "n_components"),
        ({"affine": "yes"}, TypeError, "affine"),
    ],
)
def test_bad_input(options, kind, refused):
    with refuses(refused, kind=kind):
        compare(UNION.data, **{"n_clusters": 2, "n_components": 1, **options})


def test_methods_that_take_missing_cells_are_named_and_compared():
    X = make_subspaces([40, 40], 8, [2, 2], noise=0.05, random_state=0).data
    X[5, 3] = X[9, 1] = np.nan
    with refuses("X", naming=["PSC", "MPPCA"]) as said:
        compare(X, 2, 2, methods=["PSC", "KMeans", "MPPCA", "SSC"])
    assert said.value.parameters["methods"] == ["KMeans", "SSC"]
    with refuses("X", naming=["PSC", "KSubspaces", "MPPCA"]):
        compare(X, 2, 2, methods=["SSC"])
    found = compare(X, 2, 2, methods=["PSC", "MPPCA"])
    assert found.columns["error"] == ["", ""]


def test_a_comparison_prints_its_numbers():
    methods = {"lines": KSubspaces(2, random_state=0), "never": Failing()}
    found = compare(UNION.data, methods=methods, labels=UNION.target)
    heads, lines, never, error, see = repr(found).split("\n")
    assert heads.split() == [
        "method",
        "ari",
        "rand",
        "accuracy",
        "objective",
        "seconds",
        "warnings",
    ]
    assert lines.split()[:2] == ["lines", f"{found.columns['ari'][0]:.4g}"]
    assert never.split()[:2] == ["never", "nan"]
    assert error == f"never: {found.columns['error'][1]}"
    assert "see .table" in see


def test_samples_without_a_class_do_not_count():
    planes = make_scenario("c", noise=0.02, random_state=0)
    known = planes.target.astype(str)
    known[:5] = ""
    options = {"methods": ["PSC"], "random_state": 0}
    found = compare(planes.data, 2, 2, labels=known, **options)
    labels = found.labels["PSC"]
    assert found.columns["ari"] == [adjusted_rand_score(planes.target[5:], labels[5:])]
    with refuses("labels"):
        compare(planes.data, 2, 2, labels=[""] * len(known), **options)


def test_one_variable_is_said_as_one():
    with refuses("n_components", 2) as raised:
        compare(np.arange(12.0)[:, None], 2, 2)
    assert "1 variable." in str(raised.value)
