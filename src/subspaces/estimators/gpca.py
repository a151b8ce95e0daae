"""Generalised PCA: clusters from the polynomials that vanish on all of them."""

from typing import get_args

import numpy as np

from subspaces._types import Array, Auto, GPCAMethod, Labels, PerCluster, Seed
from subspaces.core import partition
from subspaces.core.in_view import RowsInView
from subspaces.core.loop import alternate
from subspaces.core.problem import Problem
from subspaces.estimators import _subspaces
from subspaces.estimators._base import SubspaceClusterer
from subspaces.messages import (
    FEWER_CLUSTERS,
    Advice,
    ChoiceWarning,
    NotConvergedWarning,
    ParameterError,
    simpler,
    use,
)
from subspaces.psc.doubts import warn_of_an_early_end
from subspaces.rivals.gpca import (
    homogeneous,
    hyperplane_labels,
    n_monomials,
    n_vanishing,
    vote_labels,
)
from subspaces.runtime.parameters import as_choice, as_count, as_flag, as_generator, as_real
from subspaces.runtime.warning import doubt
from subspaces.subspace import principal_axes

# A square matrix of this size takes some ten seconds to decompose.
MOST_MONOMIALS = 2000


class GPCA(SubspaceClusterer):
    """Generalised principal component analysis.

    GPCA fits all polynomials of degree ``n_clusters`` that vanish on the samples. Their gradients
    at a sample are the normals of its subspace. Samples with the same normals form a cluster. If
    there is no noise, this is exact. There is no start to choose. Noise, many clusters and high
    dimensions are its weak points.

    Parameters
    ----------
    n_clusters : int, default 2
        Number of clusters.
    n_components : int or one int per cluster, default 1
        Dimension of the subspaces.
    affine : bool, default False
        Whether each cluster has its own centre. Otherwise all subspaces pass through the origin. If
        True, a constant variable is added to the centred samples.
    method : {"auto", "codimension_one", "voting"}, default "auto"
        - "codimension_one": all subspaces are hyperplanes of the projected space. Spectral
          clustering of the gradients finds them.
        - "voting": subspaces of any dimensions. Samples vote for bases from their gradients.
        - "auto": "codimension_one" if possible.
    n_projected : int or "auto", default "auto"
        Number of principal axes to project the samples on first. The axes are not centred. The
        constant of ``affine`` counts. It is at least the largest dimension plus one, and at most
        the rank. "auto" is the largest dimension plus one if all dimensions are equal. Otherwise it
        is up to two more, if there are enough samples.
    tolerance : float, default 0.4
        Largest angle, in radians, between the normals of samples that vote for each other.
    polish : bool, default True
        Whether to continue with K-subspaces. This is skipped if a dimension equals that of the
        data, because all residuals are then zero. If False, the labels are those of the papers.
    max_iter : int, default 50
        Largest number of iterations of K-subspaces.
    random_state : int, RandomState or None
        Seed of K-means in spectral clustering, and of the candidates if there are more than 500.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Cluster of each sample.
    subspaces_ : list of Subspace
        Subspace of each cluster: ``centre`` (p,), ``basis`` (p, r), ``spectrum`` (r,).
    n_components_ : ndarray of shape (n_clusters,)
        Dimension of each subspace.
    method_ : str
        The method that the fit used.
    n_projected_ : int
        Number of axes that the polynomials were fitted on.
    objective_ : float
        Sum of the squared distances of the samples from the subspaces of their clusters.
    n_iter_ : int
        One for the polynomials, plus the number of iterations of K-subspaces.
    record_ : Record
        Seconds, warnings, and the samples as the model sees them. See `estimators._record.Record`.

    Notes
    -----
    The polynomials have ``C(n_clusters + n_projected - 1, n_clusters)`` terms. Not supported: more
    than 2,000 terms, or too few samples to determine them. Memory is ``n_projected`` squared
    numbers per sample.

    No polynomial vanishes on a subspace that fills the data. Only one such cluster is possible. It
    gets the samples that are further than half the ``tolerance`` from all other subspaces.

    `predict` uses the nearest subspace. If the polish has converged, it agrees with ``labels_``. If
    ``polish=False``, ``labels_`` come from the gradients and can differ. If a subspace fills the
    data, `predict` puts every sample into it.

    References
    ----------
    R. Vidal, Y. Ma and S. Sastry, "Generalized principal component analysis (GPCA)", IEEE Trans.
    Pattern Anal. Mach. Intell. 27 (2005) 1945-1959.

    Y. Ma, A. Y. Yang, H. Derksen and R. Fossum, "Estimation of subspace arrangements with
    applications in modeling and segmenting mixed data", SIAM Review 50 (2008) 413-458.

    Examples
    --------
    >>> from subspaces import GPCA
    >>> from subspaces.datasets import make_scenario
    >>> from subspaces.metrics import rand_score
    >>> planes = make_scenario("c", random_state=0)
    >>> model = GPCA(2, n_components=2, random_state=0).fit(planes.data)
    >>> rand_score(planes.target, model.labels_)
    1.0
    """

    method_: GPCAMethod
    n_projected_: int
    n_iter_: int

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        n_components: PerCluster = 1,
        affine: bool = False,
        method: GPCAMethod = "auto",
        n_projected: int | Auto = "auto",
        tolerance: float = 0.4,
        polish: bool = True,
        max_iter: int = 50,
        random_state: Seed = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.affine = affine
        self.method = method
        self.n_projected = n_projected
        self.tolerance = tolerance
        self.polish = polish
        self.max_iter = max_iter
        self.random_state = random_state

    def _fit(self, X: Array) -> None:
        self._check_options()
        problem = self._pose(X)
        random = as_generator(self.random_state)
        self.n_projected_, self.method_ = self._plan(problem)
        labels = self._fill_up(problem, self._segment(problem, random), random)
        labels, sweeps = self._sweep(problem, labels, random)
        self.n_iter_ = 1 + sweeps
        _subspaces.store_subspaces(self, X, labels, problem.dimensions, problem.affine)

    def _check_options(self) -> None:
        as_flag(self.affine, "affine")
        as_flag(self.polish, "polish")
        as_count(self.max_iter, "max_iter", low=1)
        as_choice(self.method, "method", get_args(GPCAMethod))
        as_real(self.tolerance, "tolerance", above=True, high=np.pi / 2)

    def _pose(self, X: Array) -> Problem:
        """Return the `Problem` of the polish by K-subspaces, after checks of its dimensions."""
        problem = _subspaces.pose(self, X)
        rank = problem.rows.rank
        filling = sum(r == rank for r in problem.dimensions)
        if filling > 1:
            fact = (
                "Several clusters have dimension {value}, the rank of the table, so their "
                "subspaces are the same."
            )
            raise ParameterError(
                "n_components", fact, *simpler(1, rank, problem.affine), value=rank
            )
        if filling and self.n_clusters > 1:
            doubt(
                ChoiceWarning,
                "full_rank",
                "<n_components={n_components}> equals the rank of the table, and GPCA cannot "
                "find a cluster of that dimension.",
                *simpler(1, rank, problem.affine),
                n_components=rank,
            )
        return problem

    def _plan(self, problem: Problem) -> tuple[int, GPCAMethod]:
        """Return the dimension of the projection, and "codimension_one" or "voting"."""
        lifted = [r + problem.affine for r in problem.dimensions]
        space, equal = problem.rows.rank + problem.affine, len({*lifted}) == 1
        least = min(max(lifted) + 1, space)
        projected = self._projected(lifted, least, space, len(problem.rows.squared_norms))
        hyperplanes = equal and projected == lifted[0] + 1
        if self.method == "codimension_one" and not hyperplanes:
            needed = f"<n_projected={least}>" if equal else "clusters of the same dimension"
            fact = f"<method={{value!r}}> needs {needed}."
            raise ParameterError("method", fact, use("method", "voting"), value=self.method)
        automatic: GPCAMethod = "codimension_one" if hyperplanes else "voting"
        return projected, automatic if self.method == "auto" else self.method

    def _projected(self, lifted: list[int], least: int, space: int, n_samples: int) -> int:
        if isinstance(self.n_projected, str) and self.n_projected == "auto":
            more = min(least + 1, sum(lifted), space)
            enough = n_monomials(len(lifted), more) <= min(n_samples, MOST_MONOMIALS)
            projected = more if enough and len({*lifted}) > 1 else least
        else:
            why = f" for subspaces of dimension {max(lifted) - self.affine}"
            projected = min(as_count(self.n_projected, "n_projected", low=least, why=why), space)
        if len(lifted) > 1:
            self._check_size([r for r in lifted if r < projected], projected, least, n_samples)
        return projected

    def _check_size(self, dimensions: list[int], projected: int, least: int, n: int) -> None:
        """Raise ValueError for too many monomials, or too few samples to determine them.

        dimensions: of the clusters on which polynomials vanish; least: the smallest ``projected``.
        """
        size = n_monomials(len(dimensions), projected)
        needed = size - n_vanishing(dimensions, projected)
        facts = {"n_projected": projected, "size": size, "needed": needed, "n": n, "least": least}
        advice = [FEWER_CLUSTERS, Advice("try KSubspaces", command="try --method KSubspaces")]
        if projected > least:
            smaller = Advice("try <n_projected={least}>", "n_projected", command="")
            advice = [smaller, *advice]
        if size > MOST_MONOMIALS:
            fact = (
                "GPCA with <n_clusters={value}> needs {size} polynomial terms, more than the limit "
                f"of {MOST_MONOMIALS}."
            )
            raise ParameterError("n_clusters", fact, *advice, value=self.n_clusters, **facts)
        if n < needed:
            fact = (
                "GPCA with <n_clusters={value}> needs {needed} samples for its polynomials, but "
                "there are {n}."
            )
            raise ParameterError("n_clusters", fact, *advice, value=self.n_clusters, **facts)

    def _segment(self, problem: Problem, random: np.random.Generator) -> Labels:
        """Return the labels (n,) that follow from the polynomials, before the polish."""
        rows = problem.rows.coordinates
        if self.n_clusters == 1:
            return np.zeros(len(rows), dtype=np.intp)
        axes = principal_axes(homogeneous(rows) if problem.affine else rows)
        projected = axes.coordinates[:, : self.n_projected_]
        if self.method_ == "codimension_one":
            return hyperplane_labels(projected, self.n_clusters, random)
        lifted = [r + problem.affine for r in problem.dimensions]
        return vote_labels(projected, lifted, self.tolerance, random)

    def _fill_up(self, problem: Problem, labels: Labels, random: np.random.Generator) -> Labels:
        """Return the labels after clusters too small to be fitted were refilled."""
        broken = partition.too_small(labels, problem.dimensions)
        if broken:
            doubt(
                NotConvergedWarning,
                "filled_up",
                "{broken:#cluster was|clusters were} too small and took samples from others, so "
                "<n_clusters={n_clusters}> may be too many.",
                *simpler(self.n_clusters, max(problem.dimensions), problem.affine),
                broken=len(broken),
                n_clusters=self.n_clusters,
            )
        for k in broken:
            labels = partition.refill(labels, k, problem.dimensions, random, problem.rows.closeness)
        return labels

    def _sweep(
        self, problem: Problem, labels: Labels, random: np.random.Generator
    ) -> tuple[Labels, int]:
        """Return the labels after sweeps of K-subspaces, and how many sweeps there were."""
        if self.n_clusters == 1 or not self.polish or not problem.identified:
            return labels, 0
        result = alternate(RowsInView(problem), labels, max_iter=self.max_iter, random=random)
        warn_of_an_early_end(result.stop_reason, self.max_iter, self.n_clusters)
        return result.labels, result.n_iter
