"""The estimators, with scikit-learn's interface, a list of all, and `load` for saved models."""

from subspaces.estimators._all import all_estimators
from subspaces.estimators._loading import load
from subspaces.estimators.ensemble import EnsembleKSubspaces
from subspaces.estimators.gpca import GPCA
from subspaces.estimators.k_subspaces import KSubspaces
from subspaces.estimators.mini_batch_psc import MiniBatchPSC
from subspaces.estimators.mixtures import MCFA, MPPCA, MCtFA
from subspaces.estimators.psc import PSC
from subspaces.estimators.rsim import RSIM
from subspaces.estimators.scc import SCC
from subspaces.estimators.selected_pca import SelectedPCA
from subspaces.estimators.slbf import SLBF
from subspaces.estimators.sparse_kmeans import SparseKMeans
from subspaces.estimators.ssc import SSC

__all__ = [
    "GPCA",
    "MCFA",
    "MPPCA",
    "PSC",
    "RSIM",
    "SCC",
    "SLBF",
    "SSC",
    "EnsembleKSubspaces",
    "KSubspaces",
    "MCtFA",
    "MiniBatchPSC",
    "SelectedPCA",
    "SparseKMeans",
    "all_estimators",
    "load",
]
