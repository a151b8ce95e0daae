"""The scikit-learn shell around the core."""

from subspaces.estimators.k_subspaces import KSubspaces
from subspaces.estimators.psc import PSC
from subspaces.estimators.ssc import SSC

__all__ = ["PSC", "SSC", "KSubspaces"]
