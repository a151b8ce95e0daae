"""The scikit-learn shell around the core."""

from subspaces.estimators.k_subspaces import KSubspaces
from subspaces.estimators.psc import PSC
from subspaces.estimators.sparse_kmeans import SparseKMeans

__all__ = ["PSC", "KSubspaces", "SparseKMeans"]
