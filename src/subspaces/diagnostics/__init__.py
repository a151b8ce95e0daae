"""Leave-one-out error and influence of samples on a PCA, and how far to trust a clustering."""

from subspaces.diagnostics._press import PCAInfluence, Press, ols_press, pca_influence, pca_press
from subspaces.diagnostics._trust import (
    MeansOrDirections,
    Stability,
    ambiguity,
    means_or_directions,
    stability,
)

__all__ = [
    "MeansOrDirections",
    "PCAInfluence",
    "Press",
    "Stability",
    "ambiguity",
    "means_or_directions",
    "ols_press",
    "pca_influence",
    "pca_press",
    "stability",
]
