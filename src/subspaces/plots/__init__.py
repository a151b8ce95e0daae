"""Figures of results: each function draws on matplotlib Axes and returns them, without show."""

from subspaces.plots._clusters import angles, loadings, scores
from subspaces.plots._influence import influence, probabilities
from subspaces.plots._loadings import biplot
from subspaces.plots._overview import heat_map, overview
from subspaces.plots._pca import components, contributions, control_chart, outliers
from subspaces.plots._results import CRITERION_NAMES, candidates, comparison, selection
from subspaces.plots._shapes import basis_images, clusters_3d
from subspaces.plots._style import COLOURS, MARKERS
from subspaces.plots._style import require_matplotlib as require_matplotlib

__all__ = [
    "COLOURS",
    "CRITERION_NAMES",
    "MARKERS",
    "angles",
    "basis_images",
    "biplot",
    "candidates",
    "clusters_3d",
    "comparison",
    "components",
    "contributions",
    "control_chart",
    "heat_map",
    "influence",
    "loadings",
    "outliers",
    "overview",
    "probabilities",
    "scores",
    "selection",
]
