"""One PCA: its components, outliers, influential samples. A clustering: its markers, its trust."""

from subspaces.diagnostics._certainty import LabelConfidence, label_confidence, label_sets
from subspaces.diagnostics._is_real import IsReal, is_real
from subspaces.diagnostics._markers import Markers, markers
from subspaces.diagnostics._trust import (
    MeansOrDirections,
    Stability,
    means_or_directions,
    stability,
)
from subspaces.pca.choice import PCAComponents, pca_components
from subspaces.pca.outliers import PCAOutliers, pca_outliers
from subspaces.pca.press import PCAInfluence, Press, ols_press, pca_influence, pca_press

__all__ = [
    "IsReal",
    "LabelConfidence",
    "Markers",
    "MeansOrDirections",
    "PCAComponents",
    "PCAInfluence",
    "PCAOutliers",
    "Press",
    "Stability",
    "is_real",
    "label_confidence",
    "label_sets",
    "markers",
    "means_or_directions",
    "ols_press",
    "pca_components",
    "pca_influence",
    "pca_outliers",
    "pca_press",
    "stability",
]
