"""Groups of samples that each live near their own low-dimensional subspace."""

from importlib.metadata import version

from subspaces import datasets, diagnostics, metrics, plots, selection
from subspaces.comparison import compare
from subspaces.estimators import (
    GPCA,
    PSC,
    SCC,
    SLBF,
    SSC,
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
    "SSC",
    "EnsembleKSubspaces",
    "KSubspaces",
    "SparseKMeans",
    "compare",
    "datasets",
    "diagnostics",
    "metrics",
    "plots",
    "selection",
]
