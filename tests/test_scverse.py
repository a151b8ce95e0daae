import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from subspaces import PSC, recipes, scverse
from subspaces.datasets import make_subspaces
from subspaces.diagnostics import pca_components
from subspaces.metrics import adjusted_rand_score
from tests.warned import refuses, warns

anndata = pytest.importorskip("anndata")


@pytest.fixture
def planes():
    return make_subspaces([80, 120], 20, [1, 2], noise=0.1, random_state=0)


@pytest.fixture
def cells(planes):
    n, p = planes.data.shape
    return anndata.AnnData(
        planes.data,
        obs=pd.DataFrame(index=[f"cell{i}" for i in range(n)]),
        var=pd.DataFrame(index=[f"gene{j}" for j in range(p)]),
    )


def test_what_is_stored_is_the_model(cells, planes):
    assert scverse.psc(cells, 2, n_components=[1, 2], random_state=0) is None
    model = PSC(2, n_components=[1, 2], random_state=0).fit(planes.data)
    assert cells.obs["psc"].tolist() == [str(k) for k in model.labels_]
    assert cells.obs["psc"].cat.categories.tolist() == ["0", "1"]
    np.testing.assert_array_equal(cells.obsm["psc_probabilities"], model.probabilities_)
    own = cells.obs["psc_probability"]
    np.testing.assert_array_equal(own, model.probabilities_.max(axis=1))
    loadings = cells.varm["psc_loadings"]
    np.testing.assert_array_equal(loadings[:, :1], model.subspaces_[0].basis)
    np.testing.assert_array_equal(loadings[:, 1:], model.subspaces_[1].basis)
    np.testing.assert_allclose(cells.obsm["X_psc"], planes.data @ loadings, atol=1e-10)
    stored = cells.uns["psc"]
    assert stored["column_cluster"].tolist() == ["0", "1", "1"]
    assert stored["n_components"].tolist() == [1, 2]
    assert stored["sizes"].tolist() == np.bincount(model.labels_).tolist()
    assert (stored["objective"], stored["press"]) == (model.objective_, model.press_)
    assert stored["params"]["random_state"] == 0
    assert "None" not in [*map(str, stored["params"].values())]


def test_the_centre_is_taken_off(cells, planes):
    scverse.psc(cells, 2, affine=True, random_state=0)
    model = PSC(2, affine=True, random_state=0).fit(planes.data)
    flat = model.subspaces_[1]
    expected = (planes.data - flat.centre) @ flat.basis
    np.testing.assert_allclose(cells.obsm["X_psc"][:, 1:], expected, atol=1e-10)


def test_a_copy_leaves_the_original_alone(cells):
    copied = scverse.psc(cells, 2, copy=True, key_added="arms", random_state=0)
    assert "arms" in copied.obs
    assert [*cells.obs, *cells.obsm, *cells.varm, *cells.uns] == []


def test_layers_and_representations(cells, planes):
    cells.layers["scaled"] = 3 * planes.data
    cells.obsm["X_pca"] = planes.data[:, :4]
    cells.X = np.ones_like(planes.data)
    scverse.psc(cells, layer="scaled", random_state=0, key_added="layer")
    scverse.psc(cells, use_rep="X_pca", random_state=0, key_added="rep")
    assert cells.varm["layer_loadings"].shape == (20, 2)
    assert "rep_loadings" not in cells.varm
    assert cells.uns["layer"]["params"]["layer"] == "scaled"
    assert cells.uns["rep"]["params"]["use_rep"] == "X_pca"
    expected = PSC(2, random_state=0).fit(planes.data[:, :4]).labels_
    assert cells.obs["rep"].astype(int).tolist() == expected.tolist()


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("chunk", [np.asarray, sparse.csr_matrix])
def test_cells_of_dask_are_read_chunk_by_chunk(cells, planes, chunk, affine):
    dask_array = pytest.importorskip("dask.array")
    options = {"n_components": 1, "affine": affine, "random_state": 0}
    lazy = anndata.AnnData(dask_array.from_array(planes.data, chunks=(70, -1)).map_blocks(chunk))
    scverse.psc(lazy, 2, **options)
    model = PSC(2, **options).fit(sparse.csr_array(planes.data))
    assert lazy.obs["psc"].tolist() == [str(k) for k in model.labels_]
    expected = np.hstack([(planes.data - f.centre) @ f.basis for f in model.subspaces_])
    np.testing.assert_allclose(np.abs(lazy.obsm["X_psc"]), np.abs(expected), atol=1e-8)
    most = lazy.obsm["psc_probabilities"].argmax(axis=1)
    assert lazy.obs["psc"].tolist() == [str(k) for k in most]
    assert lazy.uns["psc"]["sizes"].sum() == 200
    with refuses("n_variables"):
        scverse.psc(lazy, 2, n_variables=5)


def test_many_sparse_cells_are_not_made_dense(planes):
    """They are read in passes, where a member is left out to first order."""
    rows = sparse.csr_matrix(np.tile(planes.data, (51, 1)))
    cells, options = anndata.AnnData(rows), {"init": "random", "n_init": 2, "random_state": 0}
    scverse.psc(cells, 2, n_components=1, **options)
    assert cells.uns["psc"]["criterion"] == "distance"
    expected = PSC(2, **options).fit(rows).labels_
    assert cells.obs["psc"].tolist() == [str(k) for k in expected]
    assert cells.obsm["X_psc"].shape == (10_200, 2)


@pytest.mark.parametrize("options", [{}, {"n_components": 1}], ids=["profiles", "lines"])
def test_sparse_is_dense(cells, planes, options):
    scverse.psc(cells, random_state=0, **options)
    labels = cells.obs["psc"].tolist()
    for kind in (sparse.csr_matrix, sparse.csc_array):
        cells.X = kind(planes.data)
        scverse.psc(cells, random_state=0, **options)
        assert cells.obs["psc"].tolist() == labels
        assert sparse.issparse(cells.X)


TYPES = np.repeat([0, 1, 2], [40, 30, 20])


def molecules(seed=0):
    """Counts of 90 cells of three types, each with 20 genes of its own."""
    random = np.random.default_rng(seed)
    rates = np.ones((90, 300))
    for k in range(3):
        rates[np.ix_(k == TYPES, range(20 * k, 20 * k + 20))] = 5.0
    return random.poisson(rates * random.uniform(0.8, 1.2, (90, 1))).astype(float)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_by_default_clusters_are_mean_profiles_by_the_recipe(kind):
    counts = molecules()
    cells = anndata.AnnData(kind(counts), layers={"twice": kind(2 * counts)})
    scverse.psc(cells, 3, random_state=0)
    model = recipes.single_cell(3, random_state=0).fit(counts)
    assert cells.obs["psc"].astype(int).tolist() == model[-1].labels_.tolist() == TYPES.tolist()
    stored = cells.uns["psc"]
    assert stored["preparation"] == model[0].verdict_
    assert "verdict" not in stored  # nothing was chosen
    assert (stored["criterion"], stored["n_components"].tolist()) == ("loo", [0, 0, 0])
    np.testing.assert_allclose(stored["press"], model[-1].press_)
    centres = np.transpose([f.centre for f in model[-1].subspaces_])
    np.testing.assert_allclose(cells.varm["psc_centres"][model[0].genes_], centres, atol=1e-10)
    seen = cells.obsm["X_psc"] @ cells.varm["psc_loadings"][model[0].genes_].T
    np.testing.assert_allclose(seen, model[0].transform(counts), atol=1e-9)
    scverse.psc(cells, 3, layer="twice", random_state=0)
    assert cells.obs["psc"].astype(int).tolist() == TYPES.tolist()
    assert cells.uns["psc"]["params"]["layer"] == "twice"


def test_a_pca_that_is_there_is_taken(tmp_path):
    cells = anndata.AnnData(np.full((90, 300), 7.0))
    cells.obsm["X_pca"] = np.random.default_rng(0).normal(size=(90, 9)).astype(np.float32)
    cells.obsm["X_pca"][:, 0] += 20 * TYPES
    scverse.psc(cells, 3, random_state=0)
    options = {"n_components": 0, "affine": True, "criterion": "loo", "random_state": 0}
    model = PSC(3, **options).fit(cells.obsm["X_pca"])
    assert cells.obs["psc"].astype(int).tolist() == model.labels_.tolist() == TYPES.tolist()
    assert cells.uns["psc"]["params"]["use_rep"] == "X_pca"
    assert not list(cells.varm)
    cells.write_h5ad(tmp_path / "cells.h5ad")
    assert anndata.read_h5ad(tmp_path / "cells.h5ad").uns["psc"]["params"]["use_rep"] == "X_pca"


@pytest.mark.parametrize("pca", [False, True])
def test_the_number_of_types_is_chosen_by_stability(pca):
    cells = anndata.AnnData(molecules())
    if pca:
        cells.obsm["X_pca"] = recipes.ExpressionScaler(n_axes=9).fit(cells.X).project(cells.X)
    scverse.psc(cells, "auto", max_clusters=4, random_state=0)
    assert adjusted_rand_score(TYPES, cells.obs["psc"]) == 1.0
    assert cells.uns["psc"]["verdict"].startswith("3 is the most stable number")


@pytest.mark.parametrize("source", ["X", "X_pca", "lines"])
def test_batches_are_centred_and_a_warning_says_so(source):
    batch = np.arange(90) % 2
    cells = anndata.AnnData(molecules())
    cells.X[batch == 1, 150:200] *= 9.0
    cells.obs["batch"] = pd.Categorical(np.array(["a", "b"])[batch])
    options = {"random_state": 0}
    if source == "X_pca":
        logs = np.log1p(cells.X)
        left, singular, _ = np.linalg.svd(logs - logs.mean(axis=0), full_matrices=False)
        cells.obsm["X_pca"] = (left * singular)[:, :9]
    if source == "lines":
        cells.X = np.log1p(cells.X)
        options.update(n_components=0, affine=True)
    scverse.psc(cells, 3, **options)
    assert adjusted_rand_score(TYPES, cells.obs["psc"]) < 0.7
    scverse.psc(cells, 3, batch_key="batch", **options)
    assert adjusted_rand_score(TYPES, cells.obs["psc"]) > 0.9
    assert cells.uns["psc"]["params"]["batch_key"] == "batch"


def test_bad_batches(cells):
    with refuses("adata", name="batch", there="is empty"):
        scverse.psc(cells, batch_key="batch")
    cells.obs["batch"] = ["a"] * 199 + [None]
    with refuses("batch_key"):
        scverse.psc(cells, batch_key="batch")
    cells.obs["batch"] = "a"
    scverse.psc(cells, batch_key="batch", random_state=0)
    assert cells.obs["psc"].notna().all()


def test_what_the_recipe_cannot_prepare(planes):
    dask_array = pytest.importorskip("dask.array")
    lazy = anndata.AnnData(dask_array.from_array(planes.data, chunks=(70, -1)))
    with refuses("adata", kind=TypeError, naming=["Dask"]):
        scverse.psc(lazy)
    lazy.obs["batch"] = ["a", "b"] * 100
    with refuses("batch_key", kind=TypeError):
        scverse.psc(lazy, n_components=1, batch_key="batch")


def test_too_large_to_be_dense():
    cells = anndata.AnnData(sparse.csr_matrix((50_000, 30_000)))
    with pytest.raises(MemoryError, match=r"11\.2 GiB"):
        scverse.psc(cells, n_variables=5)


def test_a_view_becomes_an_object_of_its_own(cells):
    view = cells[:150]
    assert view.is_view
    scverse.psc(view, random_state=0)
    assert not view.is_view
    assert len(view.obs["psc"]) == 150
    assert "psc" not in cells.obs


def test_results_survive_a_file(cells, tmp_path):
    scverse.psc(cells, 2, n_components=[1, 2], random_state=np.random.RandomState(0), n_init=3)
    cells.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    pd.testing.assert_series_equal(again.obs["psc"], cells.obs["psc"])
    for name in ("objective", "press", "criterion", "stop_reason"):
        assert again.uns["psc"][name] == cells.uns["psc"][name]
    for name in ("sizes", "n_components", "column_cluster"):
        assert again.uns["psc"][name].tolist() == cells.uns["psc"][name].tolist()
    assert again.uns["psc"]["params"]["n_components"].tolist() == [1, 2]
    assert again.uns["psc"]["params"]["affine"] == np.False_
    for name in ("X_psc", "psc_probabilities"):
        np.testing.assert_array_equal(again.obsm[name], cells.obsm[name])
    np.testing.assert_array_equal(again.obs["psc_probability"], cells.obs["psc_probability"])


def test_what_cannot_be_clustered(cells, tmp_path):
    with refuses("adata", kind=TypeError):
        scverse.psc(cells.X)
    with refuses("adata", name="counts", there="is empty"):
        scverse.psc(cells, layer="counts")
    with refuses("adata", name="X_pca"):
        scverse.psc(cells, use_rep="X_pca")
    with refuses("layer"):
        scverse.psc(cells, use_rep="X_pca", layer="counts")
    with refuses("n_neighbours", kind=TypeError):
        scverse.psc(cells, n_neighbours=3)
    with refuses("adata"):
        scverse.psc(anndata.AnnData(obs=cells.obs))
    holey = cells.copy()
    holey.X[3, 5] = np.nan
    with refuses("X", place="row 3, column 5"):
        scverse.psc(holey, n_variables=5)
    scverse.psc(holey, n_components=2, random_state=0)
    assert np.all(np.isfinite(holey.obsm["X_psc"]))
    cells.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    with refuses("adata", naming=["adata.to_memory()"]):
        scverse.psc(backed)
    backed.file.close()
    assert not list(cells.obs)


def test_without_anndata(cells, monkeypatch):
    monkeypatch.setitem(sys.modules, "anndata", None)
    with pytest.raises(ImportError, match=r"Run: pip install 'subspaces\[scverse\]'"):
        scverse.psc(cells)


@pytest.mark.filterwarnings("ignore:The set_bad function:PendingDeprecationWarning")
def test_scanpys_cells_and_its_plots():
    scanpy = pytest.importorskip("scanpy")
    blood = scanpy.datasets.pbmc68k_reduced()
    scverse.psc(blood, 4, affine=True, random_state=0, n_init=3)
    assert blood.obs["psc"].value_counts().min() > 10
    table = pd.crosstab(blood.obs["psc"], blood.obs["bulk_labels"])
    assert table["CD19+ B"].max() > 0.9 * table["CD19+ B"].sum()
    axes = scanpy.pl.embedding(blood, basis="psc", color="psc", show=False)
    assert axes.get_xlabel() == "psc1"
    assert len(axes.get_legend().texts) == 4
    scanpy.pl.umap(blood, color=["psc", "bulk_labels"], show=False)


@pytest.fixture
def tissue():
    """Three components among 40 genes, of which the last ten are noise of a large variance."""
    random = np.random.default_rng(1)
    X = random.normal(size=(90, 3)) @ random.normal(size=(3, 40)) + random.normal(size=(90, 40)) + 4
    X[:, 30:] = 20 * random.normal(size=(90, 10)) * random.normal(size=(90, 1))
    return anndata.AnnData(
        X,
        obs=pd.DataFrame(index=[f"cell{i}" for i in range(90)]),
        var=pd.DataFrame(
            {"highly_variable": [True] * 30 + [False] * 10, "kind": ["a"] * 40},
            index=[f"gene{j}" for j in range(40)],
        ),
    )


def test_the_components_of_the_highly_variable_genes(tissue):
    assert scverse.pca_components(tissue) == 3
    found = pca_components(tissue.X[:, :30])
    stored = tissue.uns["pca_components"]
    for name in ("n_components", "low", "high", "n_predictive", "noise", "verdict"):
        assert stored[name] == getattr(found, name)
    np.testing.assert_array_equal(stored["ratio"], found.ratio)
    assert stored["rests_on"].tolist() == [f"cell{i}" for i in found.rests_on]
    assert stored["shape"].tolist() == [90, 30]
    assert stored["params"] == {
        "center": True, "scale": False, "method": "auto", "random_state": 0, "mask_var": "auto",
    }  # fmt: skip


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_components_of_counts_are_told(kind):
    cells = anndata.AnnData(kind(molecules()))
    with warns("counts"):
        scverse.pca_components(cells, max_components=4)
    cells.layers["log"] = np.log1p(molecules())
    scverse.pca_components(cells, layer="log", max_components=4)


def test_other_genes_layers_and_representations(tissue):
    tissue.layers["twice"] = 2 * tissue.X
    tissue.obsm["X_some"] = tissue.X[:, :12]
    tissue.var["some"] = [j < 25 for j in range(40)]
    few = np.arange(40) < 20

    def shape(**options):
        scverse.pca_components(tissue, key_added="found", **options)
        return tissue.uns["found"]["shape"].tolist()

    assert shape(mask_var="some") == [90, 25]
    assert shape(mask_var=few) == shape(mask_var=few.tolist()) == [90, 20]
    assert tissue.uns["found"]["params"]["mask_var"].tolist() == few.tolist()
    assert shape(use_rep="X_some") == [90, 12]
    assert shape(layer="twice") == [90, 30]
    assert tissue.uns["found"]["params"]["layer"] == "twice"
    assert shape(mask_var=None, scale=True, max_components=7, method="heavy") == [90, 40]
    assert len(tissue.uns["found"]["ratio"]) == 7
    del tissue.var["highly_variable"]
    assert shape(center=False, method="heavy") == [90, 40]
    tissue.var["some"] = tissue.var["some"].astype("boolean")
    assert shape(mask_var="some") == [90, 25]


def test_sparse_cells_are_made_dense(tissue):
    expected = scverse.pca_components(tissue)
    ratio = tissue.uns["pca_components"]["ratio"]
    for kind in (sparse.csr_matrix, sparse.csc_array):
        tissue.X = kind(tissue.X)
        assert scverse.pca_components(tissue) == expected
        np.testing.assert_allclose(tissue.uns["pca_components"]["ratio"], ratio, rtol=1e-10)
        assert sparse.issparse(tissue.X)
        tissue.X = tissue.X.toarray()
    large = anndata.AnnData(sparse.csr_matrix((50_000, 30_000)))
    with pytest.raises(MemoryError, match=r"11\.2 GiB"):
        scverse.pca_components(large)


def test_components_survive_a_file(tissue, tmp_path):
    scverse.pca_components(tissue, mask_var=np.arange(40) < 30)
    with warns("correlated_noise") as said:
        scverse.pca_components(tissue, method="correlated", key_added="by break")
    assert said[0].filename == __file__
    assert {"low", "high"}.isdisjoint(tissue.uns["by break"])
    tissue.write_h5ad(tmp_path / "tissue.h5ad")
    again = anndata.read_h5ad(tmp_path / "tissue.h5ad")
    for key in ("pca_components", "by break"):
        found, kept = again.uns[key], tissue.uns[key]
        assert set(found) == set(kept)
        assert set(found["params"]) == set(kept["params"])
        for name in set(kept) - {"params"}:
            np.testing.assert_array_equal(found[name], kept[name])
    assert int(again.uns["pca_components"]["n_components"]) == 3


def test_a_view_is_counted_as_it_is(tissue):
    view = tissue[10:80]
    assert view.is_view
    scverse.pca_components(view)
    assert not view.is_view
    assert view.uns["pca_components"]["shape"].tolist() == [70, 30]
    assert set(view.uns["pca_components"]["rests_on"]) <= set(view.obs_names)
    assert "pca_components" not in tissue.uns


def test_doubts_name_the_cell(tissue):
    tissue.X[:, :30] = np.random.default_rng(0).normal(size=(90, 30))
    tissue.X[7] += 9.0
    with warns("rests_on_one") as said:
        scverse.pca_components(tissue)
    assert said[0].message.parameters["samples"] == ["cell7"]


def test_components_that_cannot_be_counted(tissue, tmp_path):
    with refuses("adata", kind=TypeError):
        scverse.pca_components(tissue.X)
    with refuses("layer"):
        scverse.pca_components(tissue, use_rep="X_pca", layer="counts")
    with refuses("adata", name="some"):
        scverse.pca_components(tissue, mask_var="some")
    for wrong in ("kind", np.arange(40), [True] * 39):
        with refuses("mask_var"):
            scverse.pca_components(tissue, mask_var=wrong)
    tissue.obsm["X_some"] = tissue.X[:, :12]
    with refuses("mask_var"):
        scverse.pca_components(tissue, mask_var="highly_variable", use_rep="X_some")
    with refuses("method", "loo"):
        scverse.pca_components(tissue, method="loo")
    holey = tissue.copy()
    holey.X[3, 5] = np.nan
    assert scverse.pca_components(holey) == 3
    holey.X[3, 5] = np.inf
    with refuses("X", place="row 'cell3', column 'gene5'"):
        scverse.pca_components(holey)
    dask_array = pytest.importorskip("dask.array")
    lazy = tissue.copy()
    lazy.X = dask_array.from_array(tissue.X, chunks=(30, -1))
    with refuses("adata", kind=TypeError, name="adata.X"):
        scverse.pca_components(lazy)
    assert scverse.pca_components(lazy.to_memory()) == 3
    tissue.write_h5ad(tmp_path / "tissue.h5ad")
    backed = anndata.read_h5ad(tmp_path / "tissue.h5ad", backed="r")
    with refuses("adata", naming=["adata.to_memory()"]):
        scverse.pca_components(backed)
    backed.file.close()
    assert "pca_components" not in tissue.uns


def test_the_components_of_scanpys_cells():
    scanpy = pytest.importorskip("scanpy")
    blood = scanpy.datasets.pbmc68k_reduced()
    with warns("correlated_noise"):
        n_comps = scverse.pca_components(blood)
    variable = blood.var["highly_variable"].sum()
    assert blood.uns["pca_components"]["shape"].tolist() == [700, variable]
    assert 5 <= n_comps <= 30
    scanpy.pp.pca(blood, n_comps=n_comps)
    assert blood.obsm["X_pca"].shape == (700, n_comps)


def test_a_misspelt_parameter_is_told_with_the_right_one(cells):
    with refuses("n_dim", kind=TypeError):
        scverse.psc(cells, 2, n_dim=2)
    with refuses("n_component", kind=TypeError):
        scverse.psc(cells, 2, n_component=2)
    with refuses("random_sate", kind=TypeError):
        scverse.psc(cells, 2, n_components=2, random_sate=2)
