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

    SCC draws sets of n_components + 1 samples. The polar curvature measures how far every other
    sample is from a subspace with each set. Samples with similar curvatures are in one cluster. SCC
    then draws new sets within the clusters, as long as the distances from the subspaces fall.

    Parameters
    ----------
    n_clusters : int, default 2
        Number of clusters.
    n_components : int, default 1
        Dimension of the subspaces, the same for all. If the clusters differ, use the largest
        dimension. A dimension equal to the rank of the data is lowered by one, with a warning.
    linear : bool, default False
        Whether all subspaces pass through the origin (LSCC). Otherwise each cluster has its own
        centre.
    n_columns : int or "auto", default "auto"
        Number of sets to draw in an iteration. "auto" is 100 per cluster. Memory is a few matrices
        of shape (n, n_columns).
    max_iter : int, default 50
        Largest number of iterations.
    random_state : int, RandomState or None
        Seed.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Cluster of each sample.
    subspaces_ : list of Subspace
        Subspace of each cluster: ``centre`` (p,), ``basis`` (p, r), ``spectrum`` (r,).
    n_components_ : ndarray of shape (n_clusters,)
        Dimension of each subspace.
    objective_ : float
        Sum of the squared distances of the samples from the subspaces of their clusters.
    objective_path_ : ndarray
        Objective after each iteration. The best one is kept.
    n_iter_ : int
        Number of iterations.
    record_ : Record
        Seconds, warnings, and the samples as the model sees them. See `estimators._record.Record`.

    Notes
    -----
    If many variables are noisy, project first, with ``make_pipeline(TruncatedSVD(r), SCC(...))``.
    Choose r as the sum of the clusters' dimensions. A curvature uses only a few samples, and their
    noise adds up over the variables.

    `predict` uses the nearest subspace. On the training data it can differ from ``labels_``, which
    come from spectral clustering. This happens mostly near the places where subspaces cross.

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
        points, dimension = _subspaces.coordinates_and_dimension(self, X, dimension, affine)
        sought = Arrangement(k, dimension, not affine)
        random = as_generator(self.random_state)
        with one_blas_thread():  # many small eigenproblems
            found = curvature_clustering(points, sought, n_columns, max_iter, random)
        if not found.settled:
            warn_of_an_early_end("max_iter", max_iter, k)
        _subspaces.store_equal_subspaces(self, X, found.labels, dimension, affine)
        self.objective_path_ = found.errors * len(X)
        self.objective_ = float(np.min(self.objective_path_))
        self.n_iter_ = len(found.errors)
