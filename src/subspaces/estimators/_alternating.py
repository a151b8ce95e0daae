"""What the alternating clusterers share: the problem posed, the starts, the search, its record."""

from collections.abc import Sequence
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from subspaces._validation import as_count, as_flag, as_generator, check_rank
from subspaces.core import landmarks, partition
from subspaces.core.array_namespace import to_host
from subspaces.core.hearing import warn
from subspaces.core.landmarks import Start
from subspaces.core.problem import Problem
from subspaces.core.result import Clustering
from subspaces.core.rows import DenseRows, Rows, choose_rows
from subspaces.core.search import Plan, Run, best_run, search, search_by_landmarks, start_margin
from subspaces.core.sparse_basis import Sparsity
from subspaces.core.step import Step, silence
from subspaces.core.subspace import centre_of
from subspaces.data.in_view import RowsInView
from subspaces.estimators._shell import Array, Labels, SubspaceClusterer
from subspaces.starts import registry

DEFAULT_STARTS, DEFAULT_SPARSE_STARTS = 10, 20
# A share of samples that move to and fro for ever; fewer are those that sit between two clusters.
RESTLESS = 0.01


class AlternatingClusterer(SubspaceClusterer):
    """Base of the estimators that alternate between flats and labels; not for use on its own."""

    affine: bool
    init: Any
    n_init: Any
    max_iter: int
    random_state: Any
    n_jobs: int | None
    verbose: int

    def _numbers_held(self, n: int, p: int) -> int:
        """The rows and a copy, and the inner products that `choose_rows` takes of few."""
        n_clusters = self.n_clusters if isinstance(self.n_clusters, Integral) else 1
        by_products = n < p * n_clusters and getattr(self, "n_variables", None) is None
        return super()._numbers_held(n, p) + (n**2 if by_products else 0)

    def _rows(self, X: Array, sparsity: Sparsity | None = None) -> Rows:
        """The samples in the form that is quickest for their shape, from their mean if affine."""
        centred = X - centre_of(X, True) if self.affine else X
        return DenseRows(centred) if sparsity else choose_rows(centred, self.n_clusters)

    def _pose(
        self,
        X: Array,
        criterion: str,
        sparsity: Sparsity | None = None,
        rows: Rows | None = None,
    ) -> Problem:
        """Check the sizes against the data and hold what does not change from start to start."""
        as_count(self.max_iter, "max_iter", low=1)
        as_flag(self.affine, "affine")
        dimensions = self._dimensions(X, low=0 if self.affine else 1)
        rows = self._rows(X, sparsity) if rows is None else rows
        check_rank(rows.rank, max(dimensions), self.affine)
        problem = Problem(rows, dimensions, criterion, bool(self.affine), sparsity)
        if not problem.identified and self.n_clusters > 1:
            warn(
                f"n_components={max(dimensions)} equals the rank of X: such a cluster fits every "
                "sample without error, so a Gaussian likelihood decides among the partitions "
                "visited; a smaller dimension would let the score decide",
            )
        return problem

    @property
    def _by_portfolio(self) -> bool:
        return isinstance(registry.find(self.init), registry.Portfolio)

    def _starts(self, X: Array, problem: Problem, learned: bool = False) -> list[tuple[str, Start]]:
        automatic = DEFAULT_STARTS if problem.sparsity is None else DEFAULT_SPARSE_STARTS
        given = self.n_init if self.n_init != "auto" else automatic
        n_starts = as_count(given, "n_init", low=1)
        named = registry.find(self.init)
        if named is not None:
            return named.choose(problem, n_starts, learned=learned)
        if callable(self.init):
            return [("callable", self._called(X))] * n_starts
        labels = self._given_labels(self.init, len(X))
        return [("labels", lambda problem, random: labels)]

    def _called(self, X: Array) -> Start:
        def start(problem: Problem, random: np.random.Generator) -> Labels:
            seed = int(random.integers(2**31))
            return self._given_labels(self.init(X, self.n_clusters, random_state=seed), len(X))

        return start

    def _given_labels(self, labels: Any, n_samples: int) -> Labels:
        given = to_host(labels)
        if given.ndim == 0:
            names = ", ".join(registry.STARTS)
            raise ValueError(
                f"init={labels!r} is unknown. Use one of {names}, labels or a function"
            )
        if given.shape != (n_samples,):
            raise ValueError(
                f"init has shape {given.shape} for {n_samples} samples. Use one label each"
            )
        outside = given[~np.isin(given, np.arange(self.n_clusters))]
        if len(outside):
            raise ValueError(
                f"init has the label {outside[0]!r}. Use labels from 0 to {self.n_clusters - 1}"
            )
        return given.astype(np.intp)

    def _seeded_starts(
        self, X: Array, problem: Problem
    ) -> tuple[list[tuple[str, Start]], list[int]]:
        """All starts on all rows, for a loop that learns the dimensions."""
        random = as_generator(self.random_state)
        chosen = landmarks.landmarks(problem, random) if self._by_portfolio else None
        if chosen is None:
            found = self._starts(X, problem, learned=True)
        else:
            small = problem.subset(chosen)
            found = [
                (name, landmarks.extended(start, small, chosen))
                for name, start in self._starts(X, small, learned=True)
            ]
        return found, random.integers(2**31, size=len(found)).tolist()

    def _search(self, X: Array, problem: Problem, choice: str) -> tuple[Run, list[Run]]:
        random = as_generator(self.random_state)
        by_portfolio = self._by_portfolio and problem.sparsity is None
        shortlist = by_portfolio and problem.alike and choice == "t_likelihood"
        # Where nobody listens, a run need not stop at every sweep.
        tell = self._tell if self.verbose or self._is_heard else silence
        plan = Plan(RowsInView, choice, shortlist, self.max_iter, self.n_jobs, tell)
        if by_portfolio:
            best, runs = search_by_landmarks(problem, partial(self._starts, X), random, plan)
        else:
            chosen = self._starts(X, problem)
            seeds = random.integers(2**31, size=len(chosen)).tolist()
            runs = search(problem, chosen, seeds, plan)
            best = best_run(runs)
        if self.verbose:
            print(f"[{type(self).__name__}] best: {best.start}")  # noqa: T201
        return best, runs

    def _tell(self, step: Step) -> None:
        """Print the runs; with ``verbose=2`` the starts and sweeps, too."""
        super()._tell(step)
        if self.verbose > 1 or (self.verbose and step.stage == "run"):
            count = f"{step.stage} {step.done} of {step.total}"
            print(f"[{type(self).__name__}] {count}, {step.detail}")  # noqa: T201

    def _warn_of_a_poor_end(
        self, alike: bool, result: Clustering, runs: Sequence[Run], n_samples: int
    ) -> None:
        """Say why the end may be poor; ``alike`` as of the problem."""
        reason, moving = result.stop_reason, result.moving
        if reason == "max_iter":
            warn(
                f"labels still moved after max_iter={self.max_iter} sweeps. Use a larger max_iter",
                ConvergenceWarning,
            )
        if reason == "infeasible":
            warn(
                f"a cluster kept emptying: the data may not hold n_clusters={self.n_clusters} "
                "clusters of these dimensions. Use fewer clusters or dimensions",
                ConvergenceWarning,
            )
        if reason == "cycle" and moving > max(1, RESTLESS * n_samples):
            warn(
                f"{moving} of {n_samples} samples kept moving between clusters, and the best "
                "partition met was kept. Use another random_state and compare the labels",
                ConvergenceWarning,
            )
        # With unequal dimensions a refill may only sort out which cluster has which.
        swept = [other for other in runs if other.swept]
        refilled = sum(other.clustering.repairs > 0 for other in swept)
        if alike and 2 * refilled > len(swept) and reason != "infeasible":
            warn(
                f"in {refilled} of {len(swept)} starts a cluster became too small for its "
                f"dimension and was refilled: n_clusters={self.n_clusters} may be more than the "
                "data hold. Use fewer clusters or dimensions; diagnostics.stability tells",
            )

    def _store(self, problem: Problem, best: Run, runs: list[Run]) -> None:
        """Set the labels and how they were reached."""
        result = best.clustering
        numbered = not problem.interchangeable
        self.labels_ = result.labels if numbered else partition.canonical(result.labels)
        self._store_course(result, runs)

    def _store_course(self, result: Clustering, runs: list[Run]) -> None:
        """Set how the labels were reached."""
        self.objective_ = result.objective
        self.objective_path_ = np.array(result.path)
        self.n_iter_ = result.n_iter
        self.stop_reason_ = result.stop_reason
        self.starts_ = _table(runs)
        self.start_margin_ = start_margin(runs) if len(runs) > 1 else np.inf


def _table(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """One row per start: where it came from, what it promised, where it ended."""
    return [
        {
            "start": run.start,
            "promise": run.promise,
            "merit": run.merit if run.swept else None,
            "objective": run.clustering.objective if run.swept else None,
            "n_iter": run.clustering.n_iter,
            "stop_reason": run.clustering.stop_reason,
        }
        for run in runs
    ]
