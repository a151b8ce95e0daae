"""Groups of samples that each live near their own low-dimensional subspace."""

from importlib.metadata import version

from subspaces import datasets, diagnostics, metrics, plots, selection
from subspaces.estimators import (
    GPCA,
    PSC,
    SCC,
    SLBF,
    EnsembleKSubspaces,
    KSubspaces,
    SparseKMeans,
)

__version__ = version("subspaces")

__all__ = [
    "GPCA",
    "PSC",
    "SCC",
    "SLBF",
    "EnsembleKSubspaces",
    "KSubspaces",
    "SparseKMeans",
    "datasets",
    "diagnostics",
    "metrics",
    "plots",
    "selection",
]
