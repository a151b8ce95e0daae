"""The scikit-learn shell around the core."""

from subspaces.estimators.ensemble import EnsembleKSubspaces
from subspaces.estimators.k_subspaces import KSubspaces
from subspaces.estimators.psc import PSC
from subspaces.estimators.sparse_kmeans import SparseKMeans

__all__ = ["PSC", "EnsembleKSubspaces", "KSubspaces", "SparseKMeans"]
