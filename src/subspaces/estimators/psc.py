"""Predictive subspace clustering."""

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from subspaces._validation import as_choice
from subspaces.core import influence
from subspaces.core.alternation import Problem, alternate, descend, view_clusters
from subspaces.core.criteria import gaussian_of_all, pooled_variance
from subspaces.core.search import Run
from subspaces.core.secular import downdate
from subspaces.core.subspace import PrincipalAxes, scores, squared_residual
from subspaces.estimators._shell import Array, SubspaceClusterer

CRITERIA = ("auto", "influence", "loo", "hat", "residual", "likelihood")
REFINEMENTS = ("ppca", "descent")


class PSC(SubspaceClusterer):
    """Predictive subspace clustering.

    Finds groups of samples that each lie near their own low-dimensional subspace. A sample goes to
    the cluster that would predict it best had it been left out, so that a cluster gets no credit
    for having bent towards its own members.

    Parameters
    ----------
    n_clusters : int, default 2
        Number of clusters.
    n_components : int or one int per cluster, default 1
        Dimension of the subspaces. With one per cluster, cluster k has dimension
        ``n_components[k]``.
    affine : bool, default False
        Whether a subspace has a centre of its own; otherwise all pass through the origin.
    criterion : {"auto", "influence", "loo", "hat", "residual", "likelihood"}, default "auto"
        What a sample is scored by under a cluster. "loo": the exact leave-one-out error.
        "likelihood": the leave-one-out predictive density, with one noise variance for all
        clusters. "influence": the predictive influence of the paper. "hat": a cheap approximation
        of "loo". "residual": no leaving out, K-subspaces. "auto" is "loo" for equal dimensions, and
        "likelihood" for unequal ones or when a dimension equals the rank of the data.
    init : {"portfolio", "random", "k-means++", "local"}, labels or callable, default "portfolio"
        First partitions. A callable is called as ``init(X, n_clusters, random_state=...)`` and
        returns labels.
    n_init : int or "auto", default "auto"
        Number of starts; "auto" is 10. Labels are one start.
    max_iter : int, default 50
        Most sweeps of one start.
    refine : {None, "ppca", "descent"}, default None
        What is done with the best partition. "ppca": hard EM of a mixture of probabilistic PCA.
        "descent": single samples are moved while that lowers the objective, so that the result is
        a local minimum.
    random_state : int, RandomState or None
        Seed.
    n_jobs : int, optional
        Processes over which the starts are spread; the result does not depend on it.
    verbose : int, default 0
        Whether to print a line per start.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Cluster of each sample.
    subspaces_ : list of Subspace
        Per cluster: ``centre`` (p,), ``basis`` (p, r), ``spectrum`` (r,).
    n_components_ : ndarray of shape (n_clusters,)
        Dimensions.
    influence_ : ndarray of shape (n,)
        Squared predictive influence of each sample under its own cluster.
    press_ : float
        Mean over the samples of the squared leave-one-out error under the own cluster.
    noise_variance_ : float
        Variance per direction outside the subspaces, pooled over the clusters.
    criterion_ : str
        The criterion in use.
    objective_ : float
        Sum over the samples of their score under the own cluster.
    objective_path_ : ndarray
        The objective at every sweep of the best start. It may rise (docs/convergence.md).
    n_iter_ : int
        Number of its sweeps.
    stop_reason_ : str
        Why it stopped: "converged", "cycle", "max_iter", "infeasible" or "local minimum".
    starts_ : list of dict
        What each start reached.

    Notes
    -----
    `predict` scores every row as an outsider, since it cannot know which rows were members. On the
    training data it may therefore differ from ``labels_`` where leaving out decides: in less than
    1 % of the samples of the paper's scenarios (benchmarks/dense_scenarios.py). Where a dimension
    equals the rank of the data, `predict` and `transform` use "likelihood" whatever the criterion.

    References
    ----------
    B. McWilliams and G. Montana, "Subspace clustering of high-dimensional data: a predictive
    approach", Data Mining and Knowledge Discovery 28 (2014) 736-772.

    Examples
    --------
    >>> from subspaces import PSC
    >>> from subspaces.datasets import make_scenario
    >>> from subspaces.metrics import rand_score
    >>> line_and_plane = make_scenario("b", random_state=0)
    >>> model = PSC(2, n_components=[1, 2], random_state=0).fit(line_and_plane.data)
    >>> rand_score(line_and_plane.target, model.labels_)
    1.0
    """

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        n_components: Any = 1,
        affine: bool = False,
        criterion: str = "auto",
        init: Any = "portfolio",
        n_init: Any = "auto",
        max_iter: int = 50,
        refine: str | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.affine = affine
        self.criterion = criterion
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.refine = refine
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Samples in rows.
        y : ignored
            For compatibility.

        Returns
        -------
        PSC
            The fitted estimator.
        """
        X = self._validate(X)
        as_choice(self.criterion, "criterion", CRITERIA)
        if self.refine is not None:
            as_choice(self.refine, "refine", REFINEMENTS)
        problem = self._with_criterion(self._pose(X, "loo"))
        choice = "t_likelihood" if self.criterion == "auto" else "objective"
        best, runs = self._search(X, problem, choice)
        self._warn_of_a_poor_end(best)
        best = self._refined(problem, best)
        self._store_prediction(problem, self._store(X, problem, best, runs))
        return self

    def _with_criterion(self, problem: Problem) -> Problem:
        criterion = self.criterion
        if criterion == "auto":
            equal = len(set(problem.dimensions)) == 1 and problem.identified
            criterion = "loo" if equal else "likelihood"
        return Problem(problem.rows, problem.dimensions, criterion, problem.affine)

    def _refined(self, problem: Problem, best: Run) -> Run:
        if self.refine == "descent":
            result = descend(problem, best.clustering, max_iter=self.max_iter)
            return Run(best.start, result, best.merit)
        if self.refine == "ppca":
            mixture = Problem(problem.rows, problem.dimensions, "ppca", problem.affine)
            random = np.random.default_rng(0)
            result = alternate(
                mixture, best.clustering.labels, max_iter=self.max_iter, random=random
            )
            return Run(best.start, result, best.merit)
        return best

    def _store_prediction(self, problem: Problem, all_axes: Sequence[PrincipalAxes]) -> None:
        """What is left to know: influence, PRESS, and the constants of the likelihood."""
        self.criterion_ = problem.criterion
        self.influence_, errors = np.empty(len(self.labels_)), np.empty(len(self.labels_))
        for k, (axes, dimension) in enumerate(zip(all_axes, problem.dimensions, strict=True)):
            members = self.labels_ == k
            self.influence_[members], errors[members] = _left_out(axes, dimension)
        self.press_ = float(errors.mean())
        self._data = problem.data
        views = view_clusters(problem, self.labels_)
        self.noise_variance_ = pooled_variance(views, problem.data)

    def _scores(self, X: Array) -> Array:
        identified = max(self.n_components_) < self._data.rank
        if self.criterion_ == "likelihood" or not identified:
            return self._each_score(X, self._likelihood_score)
        if self.criterion_ == "influence":
            return self._each_score(X, self._influence_score)
        return super()._scores(X)

    def _each_score(self, X: Array, score: Callable[[Array, Array, int], Array]) -> Array:
        return np.column_stack(
            [
                score(scores(X, flat), squared_residual(X, flat), k)
                for k, flat in enumerate(self.subspaces_)
            ]
        )

    def _influence_score(self, d: Array, residual: Array, k: int) -> Array:
        return influence.squared_influence(d, residual, self.subspaces_[k].spectrum, False)

    def _likelihood_score(self, d: Array, residual: Array, k: int) -> Array:
        size = int(np.count_nonzero(self.labels_ == k))
        log_scale, distance = gaussian_of_all(
            d, residual, self.subspaces_[k].spectrum, size, self._data, self.noise_variance_
        )
        return log_scale + 0.5 * distance


def _left_out(axes: PrincipalAxes, n_components: int) -> tuple[Array, Array]:
    """Squared influence and exact squared leave-one-out error of the members of one cluster."""
    kept, rest, spectrum = axes.split(n_components)
    errors = downdate(axes.coordinates, axes.eigenvalues, n_components).squared_error
    return influence.squared_influence(kept, rest, spectrum), errors
