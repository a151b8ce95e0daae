import numpy as np

from subspaces.diagnostics import MeansOrDirections, pca_components


def test_results_print_what_they_say():
    found = pca_components(np.random.default_rng(0).normal(size=(60, 20)))
    said, attributes = repr(found).split("\n")
    assert said == f"PCAComponents: {found.verdict}"
    assert attributes.startswith("(attributes: n_components, low, high, n_predictive, ratio,")
    assert "verdict" not in attributes
    assert repr(MeansOrDirections(0.5, "K-means agrees.")) == (
        "MeansOrDirections: K-means agrees.\n(attributes: agreement)"
    )
