"""Robust shape interaction matrix."""

from subspaces._types import Array, Seed
from subspaces.estimators import _subspaces
from subspaces.estimators._base import SubspaceClusterer
from subspaces.messages import Advice, ParameterError
from subspaces.rivals.shape_interaction import best_cut
from subspaces.runtime.parameters import as_flag, as_generator, as_real
from subspaces.starts.self_expression import lifted_rows
from subspaces.subspace import energy_off_subspaces

# The graph of so many samples and its parts take 1 GB.
MOST_SAMPLES = 5000


class RSIM(SubspaceClusterer):
    """Robust shape interaction matrix.

    Keeps the r leading left singular vectors of the data, scales their rows to unit length, and
    cuts the graph of the products of these rows, raised to a power. On independent subspaces the
    products between clusters vanish, if r is right. So every rank in a range is tried, and the one
    whose cut is least in relation to the eigengap of its graph is kept. ``labels_`` comes from the
    graph. One subspace per cluster is then fitted to it, and ``predict`` gives a sample to the
    nearest subspace. So ``predict(X)`` may differ from ``labels_`` on some samples.

    Parameters
    ----------
    n_clusters : int, default 2
        Number of clusters.
    n_components : int, default 1
        Dimension of the subspaces, the same for all. One per cluster is taken if all are equal.
        Where the clusters differ, use the largest of their dimensions. It bounds the ranks that are
        tried: from ``n_clusters`` to ``n_clusters * n_components``, plus ``n_clusters`` if affine.
        A dimension that fills the rank of the data is lowered by one, with a warning.
    affine : bool, default True
        Whether a subspace has a centre of its own. A constant variable is then appended to the
        centred samples, which makes an affine subspace linear; otherwise all pass through the
        origin.
    power : float, default 3.5
        Exponent of the products, above 0: how much more similar samples count than less similar
        ones. The authors advise 3 to 5.
    random_state : int, RandomState or None
        Seed.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Cluster of each sample in the graph.
    rank_ : int
        Number of singular vectors kept.
    subspaces_ : list of Subspace
        Per cluster: ``centre`` (p,), ``basis`` (p, r), ``spectrum`` (r,); fitted to its samples.
    n_components_ : ndarray of shape (n_clusters,)
        Dimensions.
    objective_ : float
        Sum of the squared distances of the samples from the subspaces of their clusters.
    record_ : Record
        Seconds, warnings, and the samples as the model sees them; see `estimators._record.Record`.

    Notes
    -----
    The method needs independent subspaces: together they should have no more dimensions than the
    data have variables. It holds a graph of all pairs of samples, so at most 5000 are taken, and
    its time grows with the number of ranks times the square of the number of samples.

    Negative products count as zero, as in the authors' program. With ``affine=False``, which the
    authors do not have, their absolute values count, since a subspace through the origin holds the
    mirror image of every sample. The authors append the constant 1 to the raw samples; here it is
    appended to samples that are centred and divided by their root mean squared length, so that
    place and unit of the data do not matter. Missing values, which an extension of the method fills
    in, are refused.

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
    objective_: float

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
        points = _subspaces.principal_coordinates(X, affine)
        dimension = _subspaces.identified_dimension(self, dimension, points.shape[1], affine)
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
        self.objective_ = energy_off_subspaces(X, self.labels_, self.subspaces_)

    def _numbers_held(self, n: int, p: int) -> int:
        """Return how many numbers a fit holds: twice X and 5 n^2 for the graph."""
        return super()._numbers_held(n, p) + 5 * n**2

    def _check_size(self, n: int) -> None:
        if n > MOST_SAMPLES:
            fact = f"RSIM works for up to {MOST_SAMPLES} samples, but there are {n}."
            fewer = Advice("use fewer samples", command="try another method")
            raise ParameterError("X", fact, fewer)
