"""Groups of samples that each live near their own low-dimensional subspace."""

from importlib.metadata import version

from subspaces import datasets, diagnostics, metrics, plots, selection
from subspaces.estimators import PSC, SSC, KSubspaces

__version__ = version("subspaces")

__all__ = ["PSC", "SSC", "KSubspaces", "datasets", "diagnostics", "metrics", "plots", "selection"]
