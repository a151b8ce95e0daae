"""Spectral local best-fit flats, and local best-fit flats without the spectral step."""

from subspaces._types import Array, Auto, Seed
from subspaces.estimators import _subspaces
from subspaces.estimators._base import SubspaceClusterer
from subspaces.messages import ParameterError, use
from subspaces.rivals.slbf import graph_clustering, greedy_clustering
from subspaces.runtime.parameters import as_count, as_flag, as_generator

# Flats that LBF chooses from, for each cluster: the paper's number.
CANDIDATES_A_CLUSTER = 70
# The graph of this many samples and its parts take 1.2 GB.
MOST_SAMPLES = 5000


class SLBF(SubspaceClusterer):
    """Spectral local best-fit flats (SLBF), or local best-fit flats (LBF).

    SLBF fits a local subspace around each sample. The neighbourhood grows as long as its distances
    from the subspace stay small for its size. SLBF then cuts a graph that shows how near two
    samples are to each other's subspaces. LBF does this around some samples only, and chooses one
    of these subspaces for each cluster.

    Parameters
    ----------
    n_clusters : int, default 2
        Number of clusters.
    n_components : int, default 1
        Dimension of the subspaces, the same for all. If the clusters differ, use the largest
        dimension. A dimension equal to the rank of the data is lowered by one, with a warning.
    affine : bool, default True
        Whether each cluster has its own centre. Otherwise all subspaces pass through the origin.
    spectral : bool, default True
        Whether to cut the graph (SLBF). It needs memory for all pairs of samples, so at most 5,000
        are accepted. Otherwise the subspaces are chosen greedily (LBF). Time and memory then grow
        with the number of samples.
    n_candidates : int or "auto", default "auto"
        Number of samples around which LBF fits a subspace. "auto" is 70 per cluster. SLBF uses all
        samples.
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
    record_ : Record
        Seconds, warnings, and the samples as the model sees them. See `estimators._record.Record`.

    Notes
    -----
    `predict` uses the nearest subspace. On the training data it can differ from ``labels_``, which
    come from the graph or from the local subspaces. This happens mostly near the places where
    subspaces cross.

    In the paper a neighbourhood grows by a constant number of samples. Here it grows by a tenth, up
    to 1,000 samples. The scale of the graph is 1/4 to 4 times the root mean squared distance of a
    neighbourhood from its subspace. SLBF keeps the multiple whose clusters are nearest to their
    subspaces.

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
        points, dimension = _subspaces.coordinates_and_dimension(self, X, dimension, affine)
        if self.spectral:
            labels = graph_clustering(points, k, dimension, random, affine=affine)
        else:
            labels = greedy_clustering(points, k, dimension, most, random, affine=affine)
        _subspaces.store_equal_subspaces(self, X, labels, dimension, affine)

    def _numbers_held(self, n: int, p: int) -> int:
        """Return how many numbers a fit holds: twice X and, if spectral, 6 n^2 for the graph."""
        return super()._numbers_held(n, p) + (6 * n**2 if self.spectral else 0)

    def _check_size(self, n: int) -> None:
        if as_flag(self.spectral, "spectral") and n > MOST_SAMPLES:
            fact = f"SLBF with a graph works for up to {MOST_SAMPLES} samples, but there are {n}."
            without = use("spectral", False, "try another method")
            raise ParameterError("spectral", fact, without, value=True)
