"""Spectral curvature clustering."""

from typing import Annotated

import numpy as np

from subspaces._types import Array, Auto, Seed
from subspaces.estimators import _subspaces
from subspaces.estimators._base import SubspaceClusterer
from subspaces.psc.doubts import warn_of_an_early_end
from subspaces.rivals.scc import Arrangement, curvature_clustering
from subspaces.runtime.parameters import as_count, as_flag, as_generator
from subspaces.runtime.threads import one_blas_thread

# Sets drawn in a round, for each cluster: the paper's number.
COLUMNS_A_CLUSTER = 100


class SCC(SubspaceClusterer):
    """Spectral curvature clustering.

    Draws sets of n_components + 1 samples and measures, by the polar curvature, how far each other
    sample is from a subspace with them. Samples with like curvatures are in a cluster. The sets are
    then drawn again within the clusters found, while the distances from the subspaces fall.

    Parameters
    ----------
    n_clusters : int, default 2
        Number of clusters.
    n_components : int, default 1
        Dimension of the subspaces, the same for all. One per cluster is taken if all are equal.
        Where the clusters differ, use the largest of their dimensions. A dimension that fills the
        rank of the data is lowered by one, with a warning.
    linear : bool, default False
        Whether the subspaces pass through the origin (LSCC); otherwise each has a centre of its
        own.
    n_columns : int or "auto", default "auto"
        Number of sets drawn in a round; "auto" is 100 a cluster. Memory is that of a few matrices
        of shape (n, n_columns); no (n, n) matrix is formed.
    max_iter : int, default 50
        Most rounds.
    random_state : int, RandomState or None
        Seed.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Cluster of each sample.
    subspaces_ : list of Subspace
        Per cluster: ``centre`` (p,), ``basis`` (p, r), ``spectrum`` (r,).
    n_components_ : ndarray of shape (n_clusters,)
        Dimensions.
    objective_ : float
        Sum of the squared distances of the samples from the subspaces of their clusters.
    objective_path_ : ndarray
        The same for every round; the least is kept.
    n_iter_ : int
        Number of rounds.
    record_ : Record
        Seconds, warnings, and the samples as the model sees them; see `estimators._record.Record`.

    Notes
    -----
    Where many variables are noisy, project first (``make_pipeline(TruncatedSVD(r), SCC(...))``, r
    the sum of the clusters' dimensions): a curvature rests on a few samples, and their noise adds
    up over the variables.

    `predict` gives each row to the nearest of the subspaces fitted to the clusters. On the training
    data it may differ from ``labels_``, which the spectral step decides, for samples about as near
    to another subspace: mostly where subspaces cross.

    References
    ----------
    G. Chen and G. Lerman, "Spectral curvature clustering (SCC)", International Journal of Computer
    Vision 81 (2009) 317-330.

    Examples
    --------
    >>> from subspaces import SCC
    >>> from subspaces.datasets import make_subspaces
    >>> from subspaces.metrics import rand_score
    >>> planes = make_subspaces([80, 120], 5, [2, 2], noise=0.01, offset=1, random_state=0)
    >>> model = SCC(2, n_components=2, random_state=0).fit(planes.data)
    >>> rand_score(planes.target, model.labels_) > 0.98
    True
    """

    _dimension_to_compare = "largest"  # one for all clusters
    objective_: float
    objective_path_: Annotated[Array, "*"]
    n_iter_: int

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        n_components: int = 1,
        linear: bool = False,
        n_columns: int | Auto = "auto",
        max_iter: int = 50,
        random_state: Seed = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.linear = linear
        self.n_columns = n_columns
        self.max_iter = max_iter
        self.random_state = random_state

    def _fit(self, X: Array) -> None:
        affine = not as_flag(self.linear, "linear")
        max_iter = as_count(self.max_iter, "max_iter", low=1)
        dimension = _subspaces.common_dimension(self, X)
        k = int(self.n_clusters)
        n_columns = as_count(self.n_columns, "n_columns", low=k, auto=COLUMNS_A_CLUSTER * k)
        points = _subspaces.principal_coordinates(X, affine)
        dimension = _subspaces.identified_dimension(self, dimension, points.shape[1], affine)
        sought = Arrangement(k, dimension, not affine)
        random = as_generator(self.random_state)
        with one_blas_thread():  # many small eigenproblems
            found = curvature_clustering(points, sought, n_columns, max_iter, random)
        if not found.settled:
            warn_of_an_early_end("max_iter", max_iter, k)
        self.objective_path_ = found.errors * len(X)
        self.objective_ = float(np.min(self.objective_path_))
        self.n_iter_ = len(found.errors)
        _subspaces.store_equal_subspaces(self, X, found.labels, dimension, affine)
