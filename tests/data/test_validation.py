import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from subspaces import PCA, PSC, MiniBatchPSC, recipes
from subspaces.diagnostics import pca_components, stability
from subspaces.selection import select_n_clusters
from tests.warned import refuses

X = np.random.default_rng(0).normal(size=(30, 8))


@pytest.fixture
def cells():
    anndata = pytest.importorskip("anndata")
    counts = np.random.default_rng(0).poisson(3.0, (60, 40))
    return anndata.AnnData(sparse.csr_matrix(counts, dtype=np.float64))


@pytest.mark.parametrize(
    "ask",
    [
        PSC(3).fit,
        PCA().fit,
        recipes.single_cell(3).fit,
        pca_components,
        lambda table: select_n_clusters(PSC(), table),
    ],
    ids=["PSC", "PCA", "recipe", "pca_components", "select"],
)
def test_an_anndata_is_refused_with_what_takes_one(ask, cells):
    with refuses("X", kind=TypeError, naming=["AnnData", "scverse.psc", "adata.to_df"]):
        ask(cells)
    with refuses("X", kind=TypeError, naming=["AnnData"]):
        ask(cells[:20])


@pytest.mark.parametrize("ask", [stability, select_n_clusters])
def test_a_model_in_the_place_of_the_table_is_told_where_it_belongs(ask):
    with refuses("X", kind=TypeError, naming=["PSC"]):
        ask(X, PSC(2, random_state=0))


ASKED = pytest.mark.parametrize(
    "ask",
    [
        PSC(2, random_state=0).fit,
        PSC(2, n_init=2, random_state=0).fit(X).predict,
        MiniBatchPSC(2, random_state=0).partial_fit,
        PCA().fit,
        pca_components,
    ],
    ids=["PSC", "predict", "MiniBatchPSC", "PCA", "pca_components"],
)
DAYS = np.datetime64("2020-01-01") + (100 * X).astype("timedelta64[D]")


@ASKED
@pytest.mark.parametrize(
    "times",
    [DAYS, DAYS - DAYS[0], np.tile(DAYS, (400, 1)), pd.DataFrame(DAYS), np.ma.array(DAYS)],
    ids=["days", "spans", "many", "frame", "masked"],
)
def test_dates_and_times_are_not_taken_for_numbers(ask, times):
    with refuses("X", kind=TypeError, naming=["dates or times"]):
        ask(times)


@ASKED
@pytest.mark.parametrize("zone", [None, "UTC"])
def test_a_column_of_dates_is_named(ask, zone):
    frame = pd.DataFrame(X[:, :7], columns=list("abcdefg"))
    frame["when"] = pd.Series(DAYS[:, 0]).dt.tz_localize(zone)
    with refuses("X", kind=TypeError, places="column 'when'"):
        ask(frame)


def test_a_column_of_dates_in_polars_is_named():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": X[:, 0], "when": DAYS[:, 0]})
    with refuses("X", kind=TypeError, places="column 'when'"):
        PSC(2).fit(frame)


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_array, np.asarray])
@pytest.mark.parametrize("model", [PSC(2, random_state=0), MiniBatchPSC(2, random_state=0)])
def test_imaginary_parts_are_not_dropped(model, kind):
    with refuses("X", naming=["X.real"]):
        model.fit(kind(X + 1j * X))
    with refuses("X"):
        PSC(2, n_init=2, random_state=0).fit(X).predict(kind(X + 1j * X))
