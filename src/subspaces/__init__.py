"""Groups of samples that each live near their own low-dimensional subspace."""

from importlib.metadata import version

from subspaces import datasets, diagnostics, metrics, plots, recipes, selection
from subspaces.comparison import compare
from subspaces.estimators import (
    GPCA,
    MCFA,
    MPPCA,
    PSC,
    SCC,
    SLBF,
    SSC,
    EnsembleKSubspaces,
    KSubspaces,
    MCtFA,
    SparseKMeans,
)

__version__ = version("subspaces")

__all__ = [
    "GPCA",
    "MCFA",
    "MPPCA",
    "PSC",
    "SCC",
    "SLBF",
    "SSC",
    "EnsembleKSubspaces",
    "KSubspaces",
    "MCtFA",
    "SparseKMeans",
    "compare",
    "datasets",
    "diagnostics",
    "metrics",
    "plots",
    "recipes",
    "selection",
]
