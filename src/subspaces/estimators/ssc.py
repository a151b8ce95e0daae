"""Sparse subspace clustering: a graph of which samples express which, cut by its spectrum."""

from typing import Annotated, get_args

from scipy.sparse.csgraph import connected_components

from subspaces._types import Array, Labels, PerCluster, Seed, Sparse, SSCSolver
from subspaces.core import partition
from subspaces.core.dimensions import check_rank, dimensions_of
from subspaces.core.problem import Problem
from subspaces.core.rows import centred_rows
from subspaces.estimators import _subspaces
from subspaces.estimators._base import SubspaceClusterer
from subspaces.messages import Advice, ParameterError, TrustWarning, use
from subspaces.runtime.parameters import as_choice, as_count, as_flag, as_generator, as_real
from subspaces.runtime.warning import doubt
from subspaces.starts.self_expression import (
    admm_coefficients,
    admm_fidelity,
    affinity,
    elastic_net_coefficients,
    fidelities,
    lifted_rows,
    lsr_coefficients,
    omp_coefficients,
    unit_rows,
)
from subspaces.starts.spectral import cut, match_dimensions
from subspaces.subspace import centre_of, principal_axes

# Published settings: five non-zeros for faces; alpha and share for motion and for faces.
OMP_NONZERO, LSR_FEWEST = 5, 10
ADMM_ALPHA, ADMM_AFFINE_ALPHA, AFFINE_SHARE = 20.0, 800.0, 0.7
ELASTIC_NET_ALPHA = 5.0


class SSC(SubspaceClusterer):
    """Sparse subspace clustering.

    SSC writes each sample as a combination of a few other samples. These links form a graph, and
    spectral clustering of the graph gives the clusters. Samples of the same subspace express each
    other best. `predict` uses the nearest subspace, fitted to each cluster afterwards. So
    ``predict(X)`` can differ from ``labels_`` for some samples.

    Parameters
    ----------
    n_clusters : int, default 2
        Number of clusters.
    n_components : int or one int per cluster, default 1
        Dimension of the subspaces. It does not change the graph, except through the default
        ``n_nonzero``. If dimensions differ, each cluster gets the dimension that suits it best.
    solver : {"elastic_net", "lasso", "omp", "admm", "lsr"}, default "elastic_net"
        How samples express each other:

        - "elastic_net", "lasso": an l1 penalty, with or without a ridge, solved exactly.
        - "omp": a greedy search for at most ``n_nonzero`` others. It is the fastest. Its graph can
          fall apart, so do not use it for affine subspaces or few dimensions.
        - "admm": a lasso with one penalty for all samples, solved by at most 200 steps of ADMM, as
          published. Use it for affine subspaces with little noise, such as moving points in a
          video. It stops a few per cent above the optimum there. A step takes n^2 min(n, p)
          operations, so use it for some hundreds of samples, or for few variables.
        - "lsr": a ridge regression of each sample on all others. The ``n_nonzero`` largest
          coefficients are kept, and squared.
    affine : bool, default False
        Whether each cluster has its own centre. Otherwise all subspaces pass through the origin. If
        True, "admm" uses coefficients that sum to 1. The other solvers add a constant variable to
        the centred samples.
    n_nonzero : int, optional
        How many others express a sample. For "omp", the default is 5, or the largest dimension if
        that is less, but at least 2. For "lsr", it is 10, or twice the largest dimension if that is
        more.
    alpha : float, optional
        Weight of the fit, compared with the penalty. For "elastic_net" and "lasso" the default is
        5. At 1 or below, all their coefficients are zero. For "admm" it is 20, or 800 if
        ``affine=True``, as published for faces and for moving points.
    l1_ratio : float, default 0.9
        Share of the l1 norm in the penalty of "elastic_net", above 0 and at most 1.
    share : float, optional
        Keep the largest coefficients of each sample, up to this share of the sum of their sizes.
        The default is 0.7 for "admm" with ``affine=True``, and otherwise all.
    random_state : int, RandomState or None
        Seed.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Cluster of each sample in the graph.
    affinity_matrix_ : scipy sparse array of shape (n, n)
        The graph. It is symmetric, with no negative entries.
    subspaces_ : list of Subspace
        Subspace of each cluster: ``centre`` (p,), ``basis`` (p, r), ``spectrum`` (r,).
    n_components_ : ndarray of shape (n_clusters,)
        Dimension of each subspace. It is smaller than ``n_components`` if the cluster spans less.
    objective_ : float
        Sum of the squared distances of the samples from the subspaces of their clusters.
    record_ : Record
        Seconds, warnings, and the samples as the model sees them. See `estimators._record.Record`.

    Notes
    -----
    The graph uses samples of unit length, so that long samples do not dominate it. If
    ``affine=True``, "admm" and "lsr" use the samples as they are. "admm" divides the coefficients
    of each sample by the largest one. The subspaces are fitted to the original samples.

    The graph of "admm" has up to n x n entries. If the rank of X is above n/2, "admm" also needs a
    dense n x n array. The other solvers need none. If the graph falls into more than ``n_clusters``
    pieces, it does not show which pieces belong together, and there is a warning.

    References
    ----------
    E. Elhamifar and R. Vidal, "Sparse subspace clustering: algorithm, theory, and applications",
    IEEE Trans. Pattern Anal. Mach. Intell. 35 (2013) 2765-2781.

    C. You, D. P. Robinson and R. Vidal, "Scalable sparse subspace clustering by orthogonal
    matching pursuit", CVPR (2016) 3918-3927.

    C. You, C.-G. Li, D. P. Robinson and R. Vidal, "Oracle based active set algorithm for scalable
    elastic net subspace clustering", CVPR (2016) 3928-3937.

    C.-Y. Lu et al., "Robust and efficient subspace segmentation via least squares regression",
    ECCV (2012) 347-360.

    Examples
    --------
    >>> from subspaces import SSC
    >>> from subspaces.datasets import make_subspaces
    >>> from subspaces.metrics import matched_accuracy
    >>> union = make_subspaces(120, 20, [2, 2, 2], noise=0.02, random_state=0)
    >>> model = SSC(3, n_components=2, random_state=0).fit(union.data)
    >>> matched_accuracy(union.target, model.labels_)
    1.0
    """

    affinity_matrix_: Annotated[Sparse, "n", "n"]

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        n_components: PerCluster = 1,
        solver: SSCSolver = "elastic_net",
        affine: bool = False,
        n_nonzero: int | None = None,
        alpha: float | None = None,
        l1_ratio: float = 0.9,
        share: float | None = None,
        random_state: Seed = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.solver = solver
        self.affine = affine
        self.n_nonzero = n_nonzero
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.share = share
        self.random_state = random_state

    def _fit(self, X: Array) -> None:
        as_choice(self.solver, "solver", get_args(SSCSolver))
        affine = as_flag(self.affine, "affine")
        dimensions = dimensions_of(self, X, low=0 if affine else 1)
        rank = principal_axes(X - centre_of(X, affine)).rank
        check_rank(rank, (), affine)
        _subspaces.warn_of_full_rank(dimensions, rank, affine)
        random = as_generator(self.random_state)
        share = self._share()
        self.affinity_matrix_ = affinity(
            self._coefficients(X, max(dimensions)),
            share=share,
            scale=self.solver == "admm",
            power=2.0 if self.solver == "lsr" else 1.0,
        )
        if self.affinity_matrix_.nnz == 0:
            links = self.solver not in ("omp", "lsr")
            larger = [Advice("increase <alpha>", "alpha", command="")] * links
            fact = "No sample is linked to another."
            raise ParameterError("alpha", fact, *larger, Advice("check the table"))
        self._warn_of_pieces(len(dimensions), max(dimensions))
        parts = cut(self.affinity_matrix_, len(dimensions), random)
        _subspaces.store_subspaces(self, X, self._order(X, parts, dimensions), dimensions, affine)

    def _warn_of_pieces(self, n_clusters: int, largest_dimension: int) -> None:
        """Warn of a graph with more connected pieces than clusters, and say what to change."""
        n_pieces = connected_components(self.affinity_matrix_, directed=False)[0]
        if n_pieces <= n_clusters:
            return
        share = self._share()
        larger = {"share": share} if share < 1 else {}
        if self.solver in ("omp", "lsr"):
            larger["n_nonzero"] = self._n_nonzero(largest_dimension)
        else:
            larger["alpha"] = self._alpha()
        advice = [
            Advice(f"increase <{name}> above {value:g}", name, command="")
            for name, value in larger.items()
        ]
        advice.append(Advice("", command="try another method"))
        if self.solver == "omp":
            advice.append(use("solver", "elastic_net", command=""))
        doubt(
            TrustWarning,
            "pieces",
            "The graph of the samples has {pieces} separate parts, more than "
            "<n_clusters={n_clusters}>, so parts were joined that may not belong together.",
            *advice,
            pieces=n_pieces,
            n_clusters=n_clusters,
        )

    def _numbers_held(self, n: int, p: int) -> int:
        """Return how many numbers a fit holds: twice X and, for "admm", n^2 coefficients."""
        return super()._numbers_held(n, p) + (n**2 if self.solver == "admm" else 0)

    def _coefficients(self, X: Array, largest_dimension: int) -> Sparse:
        """Return the coefficients (n, n), sparse: row i expresses sample i by the other samples."""
        rows = self._prepare(X)
        if self.solver == "omp":
            return omp_coefficients(rows, self._n_nonzero(largest_dimension))
        if self.solver == "lsr":
            return lsr_coefficients(rows, self._n_nonzero(largest_dimension))
        alpha = self._alpha()
        if self.solver == "admm":
            fidelity = admm_fidelity(rows, alpha)
            return admm_coefficients(rows, fidelity, penalty=alpha, affine=self.affine)
        ratio = 1.0 if self.solver == "lasso" else _as_share(self.l1_ratio, "l1_ratio")
        return elastic_net_coefficients(rows, fidelities(rows, alpha, ratio), ratio)

    def _prepare(self, X: Array) -> Array:
        if not self.affine:
            return unit_rows(X)
        if self.solver == "admm":
            return X
        lifted = lifted_rows(X)
        return lifted if self.solver == "lsr" else unit_rows(lifted)

    def _order(self, X: Array, parts: Labels, dimensions: tuple[int, ...]) -> Labels:
        """Return the parts as labels (n,); with unequal dimensions part k suits dimension k."""
        if len(set(dimensions)) == 1:
            return parts
        rows = centred_rows(X, self.affine, len(dimensions))
        problem = Problem(rows, dimensions, "influence", bool(self.affine))
        return match_dimensions(problem, partition.canonical(parts))

    def _n_nonzero(self, largest_dimension: int) -> int:
        if self.n_nonzero is not None:
            return as_count(self.n_nonzero, "n_nonzero", low=1)
        if self.solver == "lsr":
            return max(LSR_FEWEST, 2 * largest_dimension)
        return max(2, min(OMP_NONZERO, largest_dimension + int(self.affine)))

    def _alpha(self) -> float:
        default = ELASTIC_NET_ALPHA
        if self.solver == "admm":
            default = ADMM_AFFINE_ALPHA if self.affine else ADMM_ALPHA
        return as_real(default if self.alpha is None else self.alpha, "alpha", above=True)

    def _share(self) -> float:
        if self.share is not None:
            return _as_share(self.share, "share")
        return AFFINE_SHARE if self.affine and self.solver == "admm" else 1.0


def _as_share(value: float, name: str) -> float:
    return as_real(value, name, above=True, high=1.0)
