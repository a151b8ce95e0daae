"""`EnsembleKSubspaces`: many runs of K-subspaces vote on which samples belong together."""

from typing import Annotated

import numpy as np

from subspaces._types import Array, Auto, Labels, PerCluster, Seed, Sparse
from subspaces.core import partition
from subspaces.core.problem import Problem
from subspaces.core.search import Plan, search
from subspaces.estimators import _subspaces
from subspaces.estimators._base import SubspaceClusterer
from subspaces.messages import FEWER_CLUSTERS, Advice, NotConvergedWarning, ParameterError
from subspaces.rivals.ensemble import (
    co_association,
    entries_to_keep,
    graph_labels,
    random_subspaces,
)
from subspaces.runtime.parameters import as_count, as_generator, as_jobs
from subspaces.runtime.warning import doubt


class EnsembleKSubspaces(SubspaceClusterer):
    """Ensemble K-subspaces (EKSS).

    Many short runs of K-subspaces start from random subspaces. The affinity of two samples is the
    share of runs that put them into one cluster. Spectral clustering of the strongest affinities
    gives the clusters. A PCA of each cluster gives its subspace.

    Parameters
    ----------
    n_clusters : int, default 2
        Number of clusters.
    n_components : int or one int per cluster, default 1
        Dimension of the subspaces. If dimensions differ, each cluster gets the dimension that suits
        it best.
    affine : bool, default False
        Whether each cluster has its own centre. Otherwise all subspaces pass through the origin.
    n_runs : int, default 100
        Number of runs.
    max_iter : int, default 3
        Largest number of iterations of a run. Short runs differ more.
    n_candidates : int, optional
        Number of clusters in each run. By default ``n_clusters``.
    n_base_components : int or one int per candidate, optional
        Dimension of the subspaces in the runs. By default ``n_components``, repeated if there are
        more candidates than clusters. A dimension equal to that of the data is lowered by one.
    q : int or "auto", default "auto"
        How many of its largest affinities each sample keeps. "auto" is half the mean size of a
        cluster, from 3 to 200.
    random_state : int, RandomState or None
        Seed.
    n_jobs : int, optional
        Number of threads, as in joblib. The result does not depend on it.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Cluster of each sample in the graph.
    subspaces_ : list of Subspace
        Subspace of each cluster: ``centre`` (p,), ``basis`` (p, r), ``spectrum`` (r,).
    n_components_ : ndarray of shape (n_clusters,)
        Dimension of each subspace.
    affinity_matrix_ : scipy sparse array of shape (n, n)
        The graph of the affinities kept. It is symmetric.
    q_ : int
        How many affinities each sample keeps.
    objective_ : float
        Sum of the squared distances of the samples from the subspaces of their clusters.
    n_iter_ : int
        Number of iterations of the longest run.
    record_ : Record
        Seconds, warnings, and the samples as the model sees them. See `estimators._record.Record`.

    Notes
    -----
    ``labels_`` come from the graph, and `predict` uses the nearest subspace. They can differ near
    the places where subspaces meet. They do differ if a dimension equals the rank of the data,
    because all samples lie in that subspace.

    The affinities are computed for some samples at a time. If there are more than 2,048 samples,
    the whole n x n matrix is never in memory. Time grows with ``n_runs n^2``.

    References
    ----------
    J. Lipor, D. Hong, Y. S. Tan and L. Balzano, "Subspace clustering using ensembles of
    K-subspaces", Information and Inference 10 (2021) 73-107.

    Examples
    --------
    >>> from subspaces import EnsembleKSubspaces
    >>> from subspaces.datasets import make_scenario
    >>> from subspaces.metrics import rand_score
    >>> planes = make_scenario("c", random_state=0)
    >>> model = EnsembleKSubspaces(2, n_components=2, random_state=0).fit(planes.data)
    >>> rand_score(planes.target, model.labels_)
    1.0
    """

    affinity_matrix_: Annotated[Sparse, "n", "n"]
    q_: int
    n_iter_: int

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        n_components: PerCluster = 1,
        affine: bool = False,
        n_runs: int = 100,
        max_iter: int = 3,
        n_candidates: int | None = None,
        n_base_components: PerCluster | None = None,
        q: int | Auto = "auto",
        random_state: Seed = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.affine = affine
        self.n_runs = n_runs
        self.max_iter = max_iter
        self.n_candidates = n_candidates
        self.n_base_components = n_base_components
        self.q = q
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, X: Array) -> None:
        problem = _subspaces.pose(self, X)
        _subspaces.warn_of_full_rank(problem.dimensions, problem.rows.rank, problem.affine)
        base = self._base_problem(problem)
        n, auto = len(X), entries_to_keep(len(X), self.n_clusters)
        self.q_ = as_count(self.q, "q", low=1, high=n, why=" for {n:#sample}", n=n, auto=auto)
        random = as_generator(self.random_state)
        partitions = self._runs(base, random)
        self.affinity_matrix_ = co_association(partitions, self.q_)
        labels, missing = graph_labels(problem, self.affinity_matrix_, random)
        self._warn_of_missing_clusters(missing)
        _subspaces.store_subspaces(self, X, labels, problem.dimensions, problem.affine)

    def _runs(self, base: Problem, random: np.random.Generator) -> list[Labels]:
        n_runs = as_count(self.n_runs, "n_runs", low=1)
        max_iter = as_count(self.max_iter, "max_iter", low=1)
        starts = [("random subspaces", random_subspaces)] * n_runs
        seeds = random.integers(2**31, size=n_runs).tolist()
        plan = Plan("objective", False, max_iter, as_jobs(self.n_jobs))
        runs = search(base, starts, seeds, plan)
        self.n_iter_ = max(run.clustering.n_iter for run in runs)
        return [run.clustering.labels for run in runs]

    def _base_problem(self, problem: Problem) -> Problem:
        """Return the `Problem` of the runs: ``n_candidates`` clusters, none of full rank."""
        n, rank = len(problem.rows.squared_norms), problem.rows.rank
        low = 0 if problem.affine else 1
        given = problem.n_clusters if self.n_candidates is None else self.n_candidates
        count = as_count(given, "n_candidates", low=1, high=n, why=" for {n:#sample}", n=n)
        wanted = problem.dimensions if self.n_base_components is None else self.n_base_components
        wanted = np.atleast_1d(wanted).tolist()
        if self.n_base_components is not None and len(wanted) not in (1, count):
            fact = f"<n_base_components> has {len(wanted)} entries for {{n:#cluster}} in each run."
            advice = Advice("give one number for all, or one for each")
            raise ParameterError("n_base_components", fact, advice, n=count)
        dimensions = tuple(
            min(as_count(r, "n_base_components", low=low), max(rank - 1, low))
            for r in np.resize(wanted, count).tolist()
        )
        needed = sum(partition.smallest_size(r) for r in dimensions)
        if n < needed:
            fact = f"<n_candidates={{value}}> needs {needed} samples, but there are {n}."
            advice = Advice("set a smaller <n_candidates>", "n_candidates")
            raise ParameterError("n_candidates", fact, advice, value=count)
        return Problem(problem.rows, dimensions, "residual", problem.affine)

    def _warn_of_missing_clusters(self, missing: int) -> None:
        if missing:
            doubt(
                NotConvergedWarning,
                "filled_up",
                "We found only {found} of {n_clusters} clusters, so "
                "{missing:#cluster was|clusters were} built around random samples.",
                FEWER_CLUSTERS,
                Advice("increase <n_runs>", "n_runs", command=""),
                found=self.n_clusters - missing,
                missing=missing,
                n_clusters=self.n_clusters,
            )
