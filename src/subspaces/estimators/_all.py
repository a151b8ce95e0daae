"""`all_estimators`: the one list of them."""

from subspaces.estimators._base import SubspaceClusterer
from subspaces.estimators.ensemble import EnsembleKSubspaces
from subspaces.estimators.gpca import GPCA
from subspaces.estimators.k_subspaces import KSubspaces
from subspaces.estimators.mini_batch_psc import MiniBatchPSC
from subspaces.estimators.mixtures import MCFA, MPPCA, MCtFA
from subspaces.estimators.pca import PCA
from subspaces.estimators.pca_outlier_detector import PCAOutlierDetector
from subspaces.estimators.psc import PSC
from subspaces.estimators.rsim import RSIM
from subspaces.estimators.scc import SCC
from subspaces.estimators.slbf import SLBF
from subspaces.estimators.sparse_kmeans import SparseKMeans
from subspaces.estimators.ssc import SSC

__all__ = [
    "GPCA",
    "MCFA",
    "MPPCA",
    "PCA",
    "PSC",
    "RSIM",
    "SCC",
    "SLBF",
    "SSC",
    "EnsembleKSubspaces",
    "KSubspaces",
    "MCtFA",
    "MiniBatchPSC",
    "PCAOutlierDetector",
    "SparseKMeans",
    "all_estimators",
]  # fmt: skip

Estimator = type[SubspaceClusterer] | type[PCA] | type[PCAOutlierDetector]

# In the order in which `compare` shows them.
ESTIMATORS: tuple[Estimator, ...] = (
    PSC, MiniBatchPSC, KSubspaces, EnsembleKSubspaces, SSC, SCC, SLBF, RSIM, GPCA, MPPCA, MCFA,
    MCtFA, SparseKMeans, PCA, PCAOutlierDetector,
)  # fmt: skip


def all_estimators() -> list[tuple[str, Estimator]]:
    """Return the names and classes of all estimators.

    Returns
    -------
    list of (str, class)
        Names and classes, sorted by name, as in `sklearn.utils.discovery.all_estimators`.

    Examples
    --------
    >>> from subspaces import all_estimators
    >>> [name for name, kind in all_estimators() if hasattr(kind, "partial_fit")]
    ['MiniBatchPSC']
    """
    return sorted((kind.__name__, kind) for kind in ESTIMATORS)
