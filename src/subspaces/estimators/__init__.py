"""The scikit-learn shell around the core."""

from subspaces.estimators.k_subspaces import KSubspaces
from subspaces.estimators.mixtures import MCFA, MPPCA, MCtFA
from subspaces.estimators.psc import PSC

__all__ = ["MCFA", "MPPCA", "PSC", "KSubspaces", "MCtFA"]
