"""K-subspaces: the loop of predictive subspace clustering, with the residual as its score."""

from typing import Any

from subspaces._types import Array, Auto, Init, PerCluster, Seed
from subspaces.estimators._base import WeightedClusterer
from subspaces.psc.fit import fit


class KSubspaces(WeightedClusterer):
    """K-subspaces clustering.

    KSubspaces fits a PCA to each cluster, moves each sample to the nearest subspace, and repeats.
    If ``affine=True`` and the dimension is 0, this is K-means.

    Parameters
    ----------
    n_clusters : int, default 2
        Number of clusters.
    n_components : int or one int per cluster, default 1
        Dimension of the subspaces.
    affine : bool, default False
        Whether each cluster has its own centre. Otherwise all subspaces pass through the origin.
    init : {"portfolio", "random", "k-means++", "local"}, labels or callable, default "portfolio"
        How the search starts ("Where the search starts, and which start wins",
        https://subspaces.readthedocs.io). "portfolio" makes several kinds of starts that suit the
        samples. If there are more than 2,000 samples, it clusters a part of them first. KSubspaces
        calls a callable as ``init(X, n_clusters, random_state=...)`` and expects labels.
    n_init : int or "auto", default "auto"
        Number of starts. "auto" is 12. On a GPU it is 1, unless ``init="portfolio"``.
    max_iter : int, default 50
        Largest number of iterations of a start. If values are missing, EM makes up to ten times as
        many.
    random_state : int, RandomState or None
        Seed.
    n_jobs : int, optional
        Number of threads, as in joblib. Fits of more than 10,000 samples use as many threads as
        K-means of scikit-learn does (OMP_NUM_THREADS, ``threadpoolctl``). The result does not
        depend on the number.
    verbose : int, default 0
        1 prints a line for each start, and 2 a line for each iteration. `subspaces.progress` and
        the callbacks of scikit-learn 1.9 (`set_callbacks`) get the same steps.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Cluster of each sample, the same as ``predict(X)``.
    subspaces_ : list of Subspace
        Subspace of each cluster: ``centre`` (p,), ``basis`` (p, r), ``spectrum`` (r,).
    n_components_ : ndarray of shape (n_clusters,)
        Dimension of each subspace.
    objective_ : float
        Sum of the squared distances of the samples from their subspaces.
    objective_path_ : ndarray
        Objective after each iteration of the best start.
    n_iter_ : int
        Number of iterations of the best start.
    stop_reason_ : str
        Why the best start stopped: "converged", "cycle", "restless", "max_iter", "infeasible" or
        "overshot". `PSC` explains them. The best clusters are kept.
    starts_ : list of dict
        What each start reached.
    start_margin_ : float
        How far the best start is ahead of the best one with other clusters, relative to its
        objective. It is infinite if all starts found the same clusters.
    missing_share_ : float
        Share of the values of X that were missing. If it is above 0, the clusters are those of a
        mixture of Gaussians, fitted to the observed values. ``objective_`` and `transform` are then
        minus log densities of the observed values.
    fit_ : Fit
        The whole result as one frozen value.
    record_ : Record
        Seconds, warnings, and the samples as the model sees them. See `estimators._record.Record`.

    Notes
    -----
    X may be a numpy array, a memory-mapped file, a scipy sparse matrix or a Dask array. See "Big
    data: passes, chunks, zeros and streams", https://subspaces.readthedocs.io. For a Dask array,
    ``labels_`` is a Dask array.

    References
    ----------
    P. S. Bradley and O. L. Mangasarian, "k-plane clustering", J. Global Optim. 16 (2000) 23-32.

    Examples
    --------
    >>> from subspaces import KSubspaces
    >>> from subspaces.datasets import make_scenario
    >>> planes = make_scenario("c", random_state=0)
    >>> model = KSubspaces(2, n_components=2, random_state=0).fit(planes.data)
    >>> bool((model.labels_ == model.predict(planes.data)).all())
    True
    """

    _reads_blocks = True
    _takes_missing = True

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        n_components: PerCluster = 1,
        affine: bool = False,
        init: Init = "portfolio",
        n_init: int | Auto = "auto",
        max_iter: int = 50,
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.affine = affine
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit_any(self, X: Any, weights: Array | None) -> None:
        self.fit_ = fit(X, weights, self._settings(criterion="residual", measures=False))
        self.__dict__ |= self._attributes_of_fit()
