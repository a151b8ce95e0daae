"""Groups of samples that each live near their own low-dimensional subspace."""

from importlib.metadata import version

from subspaces import datasets, diagnostics, metrics, plots, selection
from subspaces.estimators import MCFA, MPPCA, PSC, KSubspaces, MCtFA

__version__ = version("subspaces")

__all__ = [
    "MCFA",
    "MPPCA",
    "PSC",
    "KSubspaces",
    "MCtFA",
    "datasets",
    "diagnostics",
    "metrics",
    "plots",
    "selection",
]
