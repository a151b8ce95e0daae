import numpy as np
import pytest
from matplotlib.figure import Figure

from subspaces import PSC, plots
from subspaces.datasets import make_scenario
from subspaces.diagnostics import pca_influence
from tests.plain import generic


def test_influence_names_the_samples_predicted_worst():
    X = generic(30, 5)
    X[7] *= 5
    ax = Figure().subplots()
    assert plots.influence(pca_influence(X, 2), n_named=2, ax=ax) is ax
    assert "7" in [text.get_text() for text in ax.texts]
    assert len(ax.texts) == 2
    named = plots.influence(pca_influence(X, 2), n_named=1, names=[f"s{i}" for i in range(30)])
    assert named.texts[0].get_text() == "s7"


def test_clusters_in_three_dimensions():
    scenario = make_scenario("b", random_state=0)
    model = PSC(2, n_components=[1, 2], random_state=0).fit(scenario.data)
    ax = plots.clusters_3d(scenario.data, model.labels_, model.subspaces_, title="two")
    assert ax.get_title() == "two"
    assert len(ax.lines) == 1
    assert len(ax.collections) == 3
    with pytest.raises(ValueError, match=r"\(n, 3\) is needed"):
        plots.clusters_3d(generic(5, 4), np.zeros(5))
    for labels in (np.zeros(4, int), np.zeros(5), np.full(5, -1), list("abcde")):
        with pytest.raises(ValueError, match="integers from 0 up would do"):
            plots.clusters_3d(generic(5, 3), labels)


def test_basis_images():
    model = PSC(2, n_components=[1, 3], random_state=0).fit(generic(40, 12))
    axes = plots.basis_images(model.subspaces_, (3, 4), n_axes=3)
    assert axes.shape == (3, 2)
    assert [len(ax.images) for ax in axes[:, 0]] == [1, 0, 0]
    assert [len(ax.images) for ax in axes[:, 1]] == [1, 1, 1]
