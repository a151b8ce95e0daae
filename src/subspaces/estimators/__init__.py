"""The scikit-learn shell around the core."""

from subspaces.estimators.gpca import GPCA
from subspaces.estimators.k_subspaces import KSubspaces
from subspaces.estimators.psc import PSC

__all__ = ["GPCA", "PSC", "KSubspaces"]
