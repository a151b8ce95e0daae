"""K-subspaces: the loop of predictive subspace clustering, with the residual as its score."""

from typing import Any

from subspaces._types import Array, Auto, Init, PerCluster, Seed
from subspaces.estimators._weighted import WeightedClusterer
from subspaces.psc.fit import fit


class KSubspaces(WeightedClusterer):
    """K-subspaces clustering.

    Alternates between fitting a PCA to each cluster and giving each sample to the cluster whose
    subspace is nearest. If ``affine=True`` and the dimension is 0, this is K-means.

    Parameters
    ----------
    n_clusters : int, default 2
        Number of clusters.
    n_components : int or one int per cluster, default 1
        Dimension of the subspaces.
    affine : bool, default False
        Whether a subspace has a centre of its own; otherwise all pass through the origin.
    init : {"portfolio", "random", "k-means++", "local"}, labels or callable, default "portfolio"
        First partitions. "portfolio": several kinds, chosen by the number of samples, the rank and
        the dimensions; of more than 2000 samples a sample is searched and the best partition
        extended to all ("Where the search starts, and which start wins",
        https://subspaces.readthedocs.io). A callable is called as
        ``init(X, n_clusters, random_state=...)`` and returns labels.
    n_init : int or "auto", default "auto"
        Number of starts; "auto" is 12, and on a device one start of a name other than
        "portfolio".
    max_iter : int, default 50
        Most sweeps of one start. With missing cells, EM makes up to ten times as many steps.
    random_state : int, RandomState or None
        Seed.
    n_jobs : int, optional
        Threads over which the starts are spread, after joblib's conventions. Passes over more than
        10,000 rows use as many threads as scikit-learn's K-means would (OMP_NUM_THREADS,
        ``threadpoolctl``). The result depends on neither.
    verbose : int, default 0
        1: print a line per start that is swept; 2: one per sweep, too. `subspaces.progress` and
        scikit-learn's callbacks (`set_callbacks`, from its version 1.9 on) hear the same.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Cluster of each sample, equal to ``predict(X)``.
    subspaces_ : list of Subspace
        Per cluster: ``centre`` (p,), ``basis`` (p, r), ``spectrum`` (r,).
    n_components_ : ndarray of shape (n_clusters,)
        Dimensions.
    objective_ : float
        Sum of the squared residuals.
    objective_path_ : ndarray
        The objective at every sweep of the best start.
    n_iter_ : int
        Number of its sweeps.
    stop_reason_ : str
        Why it stopped: "converged" (no label moves), "cycle", "restless" (at most 1 % of
        1,000 samples or more still moved), "max_iter", "infeasible" (a cluster could not be kept
        alive) or, after a cluster was refilled, "overshot" (the sweeps ended in a
        worse partition than the one they had met before, which was kept).
    starts_ : list of dict
        What each start reached.
    start_margin_ : float
        How far the best start is ahead of the best that ended in another partition, relative to
        what they are compared by; infinite if all ended in the same.
    missing_share_ : float
        Share of the cells of X that were missing. If there are any, the clusters are those of a
        mixture fitted to the observed cells, and ``objective_`` and `transform` are minus log
        densities of these.
    fit_ : Fit
        All that was found as one frozen value, which the attributes here are read from; see
        ``psc.result.Fit``.
    record_ : Record
        Seconds, warnings, and the samples as the model sees them; see `estimators._record.Record`.

    Notes
    -----
    X may be a numpy array, a file mapped into memory, a scipy sparse matrix or a Dask array. For
    the last three, and for more than 10,000 rows: "Big data: passes, chunks, zeros and streams",
    https://subspaces.readthedocs.io. Of a Dask array ``labels_`` is a Dask array.

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
