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
from subspaces.subspace import centre_of, energy_off_subspaces, principal_axes

SOLVERS: tuple[SSCSolver, ...] = get_args(SSCSolver)
# Published settings: five non-zeros for faces; alpha and share for motion and for faces.
OMP_NONZERO, LSR_FEWEST = 5, 10
ADMM_ALPHA, ADMM_AFFINE_ALPHA, AFFINE_SHARE = 20.0, 800.0, 0.7
ELASTIC_NET_ALPHA = 5.0


class SSC(SubspaceClusterer):
    """Sparse subspace clustering.

    Writes each sample as a combination of few others and cuts the graph of who expresses whom by
    its spectrum. On a union of subspaces a sample is best expressed by its own subspace.
    ``labels_`` comes from the graph. One subspace per cluster is then fitted to it, and ``predict``
    gives a sample to the nearest subspace. So ``predict(X)`` may differ from ``labels_`` on some
    samples.

    Parameters
    ----------
    n_clusters : int, default 2
        Number of clusters.
    n_components : int or one int per cluster, default 1
        Dimension of the subspaces. The graph does not depend on it, but for the default
        ``n_nonzero`` of "omp" and "lsr". With unequal dimensions ``labels_ == k`` is the part that
        suits ``n_components[k]``.
    solver : {"elastic_net", "lasso", "omp", "admm", "lsr"}, default "elastic_net"
        How samples express each other:

        - "elastic_net", "lasso": an l1 penalty, with and without a ridge; the optimum;
        - "omp": greedily, by at most ``n_nonzero`` others; the fastest, and the least sure of a
          connected graph: not for affine subspaces or for a few dimensions;
        - "admm": the lasso of one penalty for all samples, by the published 200 steps of ADMM at
          most; the one for affine subspaces with little noise, such as motion, where its objective
          is then still some per cent above the optimum. A step costs n^2 min(n, p) operations: some
          hundreds of samples, or a few variables;
        - "lsr": a ridge on all others, of which the ``n_nonzero`` largest coefficients are kept,
          squared.
    affine : bool, default False
        Whether the subspaces have centres of their own. "admm" then has coefficients that sum to 1,
        and takes samples as they are; the others append a constant variable to the centred
        samples, which makes an affine subspace linear.
    n_nonzero : int, optional
        Number of others that express a sample, for "omp" (default 5, or the largest dimension
        where that is less, but at least 2: further ones express noise) and "lsr" (default 10, or
        twice the largest dimension where that is more).
    alpha : float, optional
        Weight of the fit against the penalty, relative to the weight at which the first
        coefficient leaves zero. By default 5 for "elastic_net" and "lasso"; for "admm" 20, or 800
        if affine, as published for faces and for motion.
    l1_ratio : float, default 0.9
        Share of the l1 norm in the penalty of "elastic_net", above 0 and at most 1.
    share : float, optional
        Of the coefficients of a sample the largest are kept, as many as make up this share of
        the sum of their sizes. By default 0.7 for "admm" if affine, otherwise all.
    random_state : int, RandomState or None
        Seed.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Cluster of each sample in the graph.
    affinity_matrix_ : scipy sparse array of shape (n, n)
        The graph: symmetric, no entry below 0.
    subspaces_ : list of Subspace
        Per cluster: ``centre`` (p,), ``basis`` (p, r), ``spectrum`` (r,).
    n_components_ : ndarray of shape (n_clusters,)
        Dimensions; less than asked for where a cluster spans less.
    objective_ : float
        Sum of the squared distances of the samples from the subspaces of ``labels_``.
    record_ : Record
        Seconds, warnings, and the samples as the model sees them; see `estimators._record.Record`.

    Notes
    -----
    Samples are scaled to unit length for the graph, so that long ones do not rule it, except for
    "admm" and "lsr" with ``affine=True``, where length is position. "admm" divides the coefficients
    of each sample by the largest before they become a graph. Subspaces are fitted to the samples as
    given. "admm" holds a dense n x n array where the rank of X is above n/2, and its graph has
    up to n x n entries; the other solvers hold none. A graph that falls into more connected pieces
    than ``n_clusters`` does not tell which of them belong together, and a warning says so.

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
    objective_: float

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
        as_choice(self.solver, "solver", SOLVERS)
        affine = as_flag(self.affine, "affine")
        dimensions = dimensions_of(self, X, low=0 if affine else 1)
        rank = principal_axes(X - centre_of(X, affine)).rank
        check_rank(rank, 0, affine)
        _subspaces.warn_of_full_rank(self, max(dimensions), rank)
        random = as_generator(self.random_state)
        share = self._share()
        self.affinity_matrix_ = affinity(
            self._coefficients(X, max(dimensions)),
            share=share,
            scale=self.solver == "admm",
            power=2.0 if self.solver == "lsr" else 1.0,
        )
        if self.affinity_matrix_.nnz == 0:
            raise ParameterError(
                "alpha",
                "<alpha={value!r}> is too small for <solver={solver!r}>: no sample can be written "
                "as a sum of others.",
                Advice("increase <alpha>", "alpha", command=""),
                Advice("check the table"),
                value=self.alpha,
                solver=self.solver,
            )
        self._warn_of_pieces(len(dimensions), max(dimensions))
        parts = cut(self.affinity_matrix_, len(dimensions), random)
        self.labels_ = self._order(X, parts, dimensions)
        _subspaces.store_subspaces(self, X, dimensions, affine)
        self.objective_ = energy_off_subspaces(X, self.labels_, self.subspaces_)

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
            larger["alpha"] = self._alpha(self._default_alpha)
        advice = [
            Advice(f"increase <{name}> above {value:g}", name, command="try another method")
            for name, value in larger.items()
        ]
        if self.solver == "omp":
            advice.append(use("solver", "elastic_net", command=""))
        doubt(
            TrustWarning,
            "pieces",
            "The samples fall into {pieces} groups without links between them, more than "
            "<n_clusters={n_clusters}>.",
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
        alpha = self._alpha(self._default_alpha)
        if self.solver == "admm":
            fidelity = admm_fidelity(rows, alpha)
            return admm_coefficients(rows, fidelity, penalty=alpha, affine=self.affine)
        ratio = self._l1_ratio()
        return elastic_net_coefficients(rows, fidelities(rows, alpha, ratio), ratio)

    def _prepare(self, X: Array) -> Array:
        if not self.affine:
            return unit_rows(X)
        if self.solver == "admm":
            return X
        lifted = lifted_rows(X)
        return lifted if self.solver == "lsr" else unit_rows(lifted)

    def _order(self, X: Array, parts: Labels, dimensions: tuple[int, ...]) -> Labels:
        """Return the parts as labels (n,), numbered in the order in which they first appear.

        With unequal dimensions they are numbered so that part k suits dimension k.
        """
        parts = partition.canonical(parts)
        if len(set(dimensions)) == 1:
            return parts
        rows = centred_rows(X, self.affine, len(dimensions))
        return match_dimensions(Problem(rows, dimensions, "influence", bool(self.affine)), parts)

    def _n_nonzero(self, largest_dimension: int) -> int:
        if self.n_nonzero is not None:
            return as_count(self.n_nonzero, "n_nonzero", low=1)
        if self.solver == "lsr":
            return max(LSR_FEWEST, 2 * largest_dimension)
        return max(2, min(OMP_NONZERO, largest_dimension + int(self.affine)))

    @property
    def _default_alpha(self) -> float:
        if self.solver == "admm":
            return ADMM_AFFINE_ALPHA if self.affine else ADMM_ALPHA
        return ELASTIC_NET_ALPHA

    def _alpha(self, default: float) -> float:
        return as_real(default if self.alpha is None else self.alpha, "alpha", above=True)

    def _l1_ratio(self) -> float:
        if self.solver == "lasso":
            return 1.0
        return _as_share(self.l1_ratio, "l1_ratio")

    def _share(self) -> float:
        if self.share is not None:
            return _as_share(self.share, "share")
        return AFFINE_SHARE if self.affine and self.solver == "admm" else 1.0


def _as_share(value: float, name: str) -> float:
    return as_real(value, name, above=True, high=1.0)
