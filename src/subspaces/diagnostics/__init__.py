"""One PCA: its components, outliers, influential samples. A clustering: its markers, its trust."""

from subspaces.diagnostics._components import PCAComponents, pca_components
from subspaces.diagnostics._markers import Markers, markers
from subspaces.diagnostics._outliers import PCAOutliers, pca_outliers
from subspaces.diagnostics._press import PCAInfluence, Press, ols_press, pca_influence, pca_press
from subspaces.diagnostics._trust import (
    MeansOrDirections,
    Stability,
    ambiguity,
    means_or_directions,
    stability,
)

__all__ = [
    "Markers",
    "MeansOrDirections",
    "PCAComponents",
    "PCAInfluence",
    "PCAOutliers",
    "Press",
    "Stability",
    "ambiguity",
    "markers",
    "means_or_directions",
    "ols_press",
    "pca_components",
    "pca_influence",
    "pca_outliers",
    "pca_press",
    "stability",
]
