import numpy as np
import pytest
from scipy import sparse

from subspaces import PSC, SelectedPCA, recipes
from subspaces.diagnostics import pca_components, stability
from subspaces.selection import select_n_clusters

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
        SelectedPCA().fit,
        recipes.single_cell(3).fit,
        pca_components,
        lambda table: select_n_clusters(PSC(), table),
    ],
    ids=["PSC", "SelectedPCA", "recipe", "pca_components", "select"],
)
def test_an_anndata_is_refused_with_what_takes_one(ask, cells):
    with pytest.raises(TypeError, match=r"^X is an AnnData\. Use scverse\.psc .* adata\.to_df"):
        ask(cells)
    with pytest.raises(TypeError, match="is an AnnData"):
        ask(cells[:20])


@pytest.mark.parametrize("ask", [stability, select_n_clusters])
def test_a_model_in_the_place_of_the_table_is_told_where_it_belongs(ask):
    said = "X is the estimator PSC, where a table belongs. Use the estimator first and the table"
    with pytest.raises(TypeError, match=said):
        ask(X, PSC(2, random_state=0))
