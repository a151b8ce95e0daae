"""Spectral local best-fit flats, and local best-fit flats without the spectral step."""

from subspaces._types import Array, Auto, Seed
from subspaces.estimators import _subspaces
from subspaces.estimators._base import SubspaceClusterer
from subspaces.messages import ParameterError, use
from subspaces.rivals.slbf import graph_clustering, greedy_clustering
from subspaces.runtime.parameters import as_count, as_flag, as_generator
from subspaces.subspace import energy_off_subspaces

# Flats that LBF chooses from, for each cluster: the paper's number.
CANDIDATES_A_CLUSTER = 70
# The graph of so many samples and its parts take 1.2 GB.
MOST_SAMPLES = 5000


class SLBF(SubspaceClusterer):
    """Spectral local best-fit flats (SLBF), or local best-fit flats (LBF).

    Fits a flat around single samples. The neighbourhood of each grows while the distances from its
    flat fall against its radius, so that it is as large as stays near one flat. SLBF does so for
    every sample and cuts a graph whose weights say how near two samples are to each other's flats.
    LBF does so for some samples and chooses one flat a cluster among these.

    Parameters
    ----------
    n_clusters : int, default 2
        Number of clusters.
    n_components : int, default 1
        Dimension of the flats, the same for all. One per cluster is taken if all are equal. Where
        the clusters differ, use the largest of their dimensions. A dimension that fills the
        rank of the data is lowered by one, with a warning.
    affine : bool, default True
        Whether a flat has a centre of its own; otherwise all pass through the origin.
    spectral : bool, default True
        Whether to cut the graph (SLBF), in memory that grows with the square of the number of
        samples: at most 5000 are taken. Otherwise flats are chosen greedily (LBF), in time and
        memory that grow with the number of samples.
    n_candidates : int or "auto", default "auto"
        Number of samples around which LBF fits a flat; "auto" is 70 a cluster. SLBF takes all.
    random_state : int, RandomState or None
        Seed.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Cluster of each sample.
    subspaces_ : list of Subspace
        Per cluster: ``centre`` (p,), ``basis`` (p, r), ``spectrum`` (r,); fitted to its samples.
    n_components_ : ndarray of shape (n_clusters,)
        Dimensions.
    objective_ : float
        Sum of the squared distances of the samples from the flats of their clusters.
    record_ : Record
        Seconds, warnings, and the samples as the model sees them; see `estimators._record.Record`.

    Notes
    -----
    `predict` gives each row to the nearest of the flats fitted to the clusters. On the training
    data it may differ from ``labels_``, which come from the graph or from the local flats, for
    samples about as near to another flat: mostly where flats cross.

    The paper lets a neighbourhood grow by a constant number of samples; here it grows by a tenth,
    up to 1000. The local scales of the graph are multiples (1/4 to 4) of the root mean squared
    distance of a neighbourhood from its flat; the multiple whose clusters lie nearest to their
    flats is kept.

    References
    ----------
    T. Zhang, A. Szlam, Y. Wang and G. Lerman, "Hybrid linear modeling via local best-fit flats",
    International Journal of Computer Vision 100 (2012) 217-240.

    Examples
    --------
    >>> from subspaces import SLBF
    >>> from subspaces.datasets import make_subspaces
    >>> from subspaces.metrics import rand_score
    >>> planes = make_subspaces([80, 120], 5, [2, 2], noise=0.01, offset=1, random_state=0)
    >>> model = SLBF(2, n_components=2, random_state=0).fit(planes.data)
    >>> rand_score(planes.target, model.labels_) > 0.98
    True
    """

    _dimension_to_compare = "largest"  # one for all clusters
    objective_: float

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        n_components: int = 1,
        affine: bool = True,
        spectral: bool = True,
        n_candidates: int | Auto = "auto",
        random_state: Seed = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.affine = affine
        self.spectral = spectral
        self.n_candidates = n_candidates
        self.random_state = random_state

    def _fit(self, X: Array) -> None:
        affine = as_flag(self.affine, "affine")
        dimension = _subspaces.common_dimension(self, X)
        self._check_size(len(X))
        k, random = int(self.n_clusters), as_generator(self.random_state)
        most = as_count(self.n_candidates, "n_candidates", low=k, auto=CANDIDATES_A_CLUSTER * k)
        points = _subspaces.principal_coordinates(X, affine)
        dimension = _subspaces.identified_dimension(self, dimension, points.shape[1], affine)
        if self.spectral:
            labels = graph_clustering(points, k, dimension, random, affine=affine)
        else:
            labels = greedy_clustering(points, k, dimension, most, random, affine=affine)
        _subspaces.store_equal_subspaces(self, X, labels, dimension, affine)
        self.objective_ = energy_off_subspaces(X, self.labels_, self.subspaces_)

    def _numbers_held(self, n: int, p: int) -> int:
        """Return how many numbers a fit holds: twice X and, if spectral, 6 n^2 for the graph."""
        return super()._numbers_held(n, p) + (6 * n**2 if self.spectral else 0)

    def _check_size(self, n: int) -> None:
        if as_flag(self.spectral, "spectral") and n > MOST_SAMPLES:
            fact = f"SLBF with a graph works for up to {MOST_SAMPLES} samples, but there are {n}."
            without = use("spectral", False, "try another method")
            raise ParameterError("spectral", fact, without, value=True)
