"""The scikit-learn shell around the core."""

from subspaces.estimators.gpca import GPCA
from subspaces.estimators.k_subspaces import KSubspaces
from subspaces.estimators.psc import PSC
from subspaces.estimators.scc import SCC
from subspaces.estimators.slbf import SLBF

__all__ = [
    "GPCA",
    "PSC",
    "SCC",
    "SLBF",
    "KSubspaces",
]
