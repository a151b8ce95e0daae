"""Robust shape interaction matrix."""

from subspaces._types import Array, Seed
from subspaces.estimators import _subspaces
from subspaces.estimators._base import SubspaceClusterer
from subspaces.messages import Advice, ParameterError
from subspaces.rivals.shape_interaction import best_cut
from subspaces.runtime.parameters import as_flag, as_generator, as_real
from subspaces.starts.self_expression import lifted_rows

# The graph of this many samples and its parts take 1 GB.
MOST_SAMPLES = 5000


class RSIM(SubspaceClusterer):
    """Robust shape interaction matrix.

    RSIM projects the samples on the leading singular vectors of the data and scales them to unit
    length. The graph is the product of these vectors for each pair of samples, raised to a power.
    For independent subspaces, products between clusters vanish if the rank is right. So RSIM tries
    a range of ranks, and keeps the one with the best cut of the graph. ``labels_`` come from the
    graph. `predict` uses the nearest subspace, fitted to each cluster afterwards. So ``predict(X)``
    can differ from ``labels_`` for some samples.

    Parameters
    ----------
    n_clusters : int, default 2
        Number of clusters.
    n_components : int, default 1
        Dimension of the subspaces, the same for all. If the clusters differ, use the largest
        dimension. It sets the ranks to try: from ``n_clusters`` to ``n_clusters * n_components``,
        plus ``n_clusters`` if ``affine=True``. A dimension equal to the rank of the data is lowered
        by one, with a warning.
    affine : bool, default True
        Whether each cluster has its own centre. Otherwise all subspaces pass through the origin. If
        True, a constant variable is added to the centred samples.
    power : float, default 3.5
        Exponent of the products, above 0. A larger one favours the most similar samples. The
        authors advise 3 to 5.
    random_state : int, RandomState or None
        Seed.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Cluster of each sample in the graph.
    rank_ : int
        Number of singular vectors kept.
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
    RSIM needs independent subspaces: their dimensions must not add up to more than the number of
    variables. It accepts at most 5,000 samples, because it stores a graph of all pairs. Its time
    grows with the number of ranks times the square of the number of samples. Not supported: missing
    values, which an extension of the method fills in.

    Negative products count as zero, as in the authors' program. The authors have no
    ``affine=False``. In that case absolute values count, because a subspace through the origin also
    contains the mirror image of each sample. The authors append the constant 1 to the raw samples.
    Here the samples are first centred and divided by their root mean squared length, so location
    and unit do not matter.

    References
    ----------
    P. Ji, M. Salzmann and H. Li, "Shape interaction matrix revisited and robustified: efficient
    subspace clustering with corrupted and incomplete data", ICCV (2015) 4687-4695.

    J. P. Costeira and T. Kanade, "A multibody factorization method for independently moving
    objects", International Journal of Computer Vision 29 (1998) 159-179.

    J. Shi and J. Malik, "Normalized cuts and image segmentation", IEEE Trans. Pattern Anal. Mach.
    Intell. 22 (2000) 888-905.

    Examples
    --------
    >>> from subspaces import RSIM
    >>> from subspaces.datasets import make_subspaces
    >>> from subspaces.metrics import matched_accuracy
    >>> planes = make_subspaces([60, 80], 10, [2, 2], noise=0.02, offset=1, random_state=0)
    >>> model = RSIM(2, n_components=2, random_state=0).fit(planes.data)
    >>> matched_accuracy(planes.target, model.labels_)
    1.0
    """

    _dimension_to_compare = "largest"  # one for all clusters
    rank_: int

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        n_components: int = 1,
        affine: bool = True,
        power: float = 3.5,
        random_state: Seed = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.affine = affine
        self.power = power
        self.random_state = random_state

    def _fit(self, X: Array) -> None:
        affine = as_flag(self.affine, "affine")
        dimension = _subspaces.common_dimension(self, X)
        power = as_real(self.power, "power", above=True)
        self._check_size(len(X))
        points, dimension = _subspaces.coordinates_and_dimension(self, X, dimension, affine)
        found = best_cut(
            lifted_rows(points) if affine else points,
            int(self.n_clusters),
            int(self.n_clusters) * (dimension + affine),
            power,
            as_generator(self.random_state),
            mirrored=not affine,
        )
        self.rank_ = found.rank
        _subspaces.store_equal_subspaces(self, X, found.labels, dimension, affine)

    def _numbers_held(self, n: int, p: int) -> int:
        """Return how many numbers a fit holds: twice X and 5 n^2 for the graph."""
        return super()._numbers_held(n, p) + 5 * n**2

    def _check_size(self, n: int) -> None:
        if n > MOST_SAMPLES:
            fact = f"RSIM works for up to {MOST_SAMPLES} samples, but there are {n}."
            fewer = Advice("use fewer samples", command="try another method")
            raise ParameterError("X", fact, fewer)
