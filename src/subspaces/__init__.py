"""Groups of samples that each live near their own low-dimensional subspace."""

from importlib.metadata import version

from subspaces import datasets, diagnostics, metrics, plots, selection
from subspaces.estimators import GPCA, PSC, KSubspaces

__version__ = version("subspaces")

__all__ = ["GPCA", "PSC", "KSubspaces", "datasets", "diagnostics", "metrics", "plots", "selection"]
