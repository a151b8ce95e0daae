import numpy as np

from subspaces import PSC
from subspaces.diagnostics import MeansOrDirections, pca_components, pca_influence, pca_press


def test_results_print_what_they_say():
    found = pca_components(np.random.default_rng(0).normal(size=(60, 20)))
    said, attributes = repr(found).split("\n")
    assert said == f"PCAComponents: {found.verdict}"
    assert attributes.startswith("(attributes: n_components, low, high, n_predictive, ratio,")
    assert attributes.endswith("loco, sample_names, table, plot())")
    assert "verdict" not in attributes
    assert repr(MeansOrDirections(0.5, "K-means agrees.")) == (
        "MeansOrDirections: K-means agrees.\n(attributes: agreement)"
    )


def test_results_of_arrays_print_their_shapes():
    X = np.random.default_rng(0).normal(size=(40, 6))
    found = pca_press(X, 2)
    assert repr(found) == f"Press(press={found.press:.6g}, per_sample=<array (40,)>)"
    assert repr(pca_influence(X, 2)) == (
        "PCAInfluence(leverage=<array (40,)>, loo_error=<array (40,)>, influence=<array (40,)>, "
        "gradient=<array (40, 6)>, sample_names=None)"
    )
    model = PSC(2, random_state=0).fit(X)
    assert repr(model.subspaces_[0]) == (
        "Subspace(centre=<array (6,)>, basis=<array (6, 1)>, spectrum=<array (1,)>)"
    )
    assert len(repr(model.record_)) < 250
    assert "sample_names=None, scores=<array (40, 2)>" in repr(model.record_)
