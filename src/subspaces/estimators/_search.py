"""`Search`: which first partitions are made, how they are swept, and warnings of a poor end."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from subspaces._types import Array, Auto, Init, Labels, Seed
from subspaces.core.alternation import Clustering
from subspaces.core.array import to_host
from subspaces.core.problem import Problem
from subspaces.core.search import AGREEING, Plan, Run, Start, best_run, search
from subspaces.data.in_view import RowsInView
from subspaces.runtime.parameters import as_count, as_generator
from subspaces.runtime.step import Step
from subspaces.runtime.warning import warn
from subspaces.starts import landmarks, registry
from subspaces.starts.landmarks import search_by_landmarks

# What n_init="auto" stands for; sparse loadings have more local optima.
DEFAULT_STARTS, DEFAULT_SPARSE_STARTS = 12, 20
# The share of samples that may move to and fro for ever without a warning: those that sit between
# two clusters.
RESTLESS = 0.01


@dataclass(frozen=True)
class Search:
    """The parameters of an estimator that control its search for the best partition.

    tell: called with a `Step` at every start and sweep.
    """

    n_clusters: int
    init: Init
    n_init: int | Auto
    max_iter: int
    random_state: Seed
    n_jobs: int | None
    tell: Callable[[Step], None]

    @property
    def by_portfolio(self) -> bool:
        """Whether ``init`` names a portfolio, which makes starts of several kinds."""
        return isinstance(registry.find(self.init), registry.Portfolio)

    def starts(self, X: Array, problem: Problem, learned: bool = False) -> list[tuple[str, Start]]:
        """Return the starts as pairs of a name and a function that returns first labels.

        learned: whether the sweeps learn the dimensions, so that those of the problem are a guess.
        """
        automatic = DEFAULT_STARTS if problem.sparsity is None else DEFAULT_SPARSE_STARTS
        given = self.n_init if self.n_init != "auto" else automatic
        n_starts = as_count(given, "n_init", low=1)
        named = registry.find(self.init)
        if named is not None:
            return named.choose(problem, n_starts, learned=learned)
        if callable(self.init):
            return [("callable", self._called(X))] * n_starts
        labels = self.given_labels(self.init, len(X))
        return [("labels", lambda problem, random: labels)]

    def seeded_starts(
        self, X: Array, problem: Problem
    ) -> tuple[list[tuple[str, Start]], list[int]]:
        """Return the starts, as `starts` does, and one seed for each.

        They are for sweeps of all rows that learn the dimensions.
        """
        random = as_generator(self.random_state)
        chosen = landmarks.landmarks(problem, random) if self.by_portfolio else None
        if chosen is None:
            found = self.starts(X, problem, learned=True)
        else:
            small = problem.subset(chosen)
            found = [
                (name, landmarks.extended(start, small, chosen))
                for name, start in self.starts(X, small, learned=True)
            ]
        return found, random.integers(2**31, size=len(found)).tolist()

    def run(self, X: Array, problem: Problem, choice: str) -> tuple[Run, list[Run]]:
        """Return the best run and the list of all runs; choice: "objective" or "t_likelihood"."""
        random = as_generator(self.random_state)
        by_portfolio = self.by_portfolio and problem.sparsity is None
        shortlist = by_portfolio and problem.alike and choice == "t_likelihood"
        enough = AGREEING if by_portfolio and self.n_init == "auto" else None
        plan = Plan(RowsInView, choice, shortlist, self.max_iter, self.n_jobs, self.tell, enough)
        if by_portfolio:
            return search_by_landmarks(problem, partial(self.starts, X), random, plan)
        chosen = self.starts(X, problem)
        seeds = random.integers(2**31, size=len(chosen)).tolist()
        runs = search(problem, chosen, seeds, plan)
        return best_run(runs), runs

    def given_labels(self, labels: Any, n_samples: int) -> Labels:
        """Return a user's labels as integers (n,); raise ValueError unless 0 to K - 1."""
        given = to_host(labels)
        if given.ndim == 0:
            names = ", ".join(registry.STARTS)
            raise ValueError(
                f"init={labels!r} is unknown. Use one of {names}, an array of labels, or a function"
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

    def called(self, X: Any, random: np.random.Generator) -> Any:
        """Return the labels that the function given as ``init`` returns for X, not yet checked."""
        assert callable(self.init)
        return self.init(X, self.n_clusters, random_state=int(random.integers(2**31)))

    def _called(self, X: Array) -> Start:
        def start(problem: Problem, random: np.random.Generator) -> Labels:
            return self.given_labels(self.called(X, random), len(X))

        return start

    def warn_of_a_poor_end(
        self, result: Clustering, runs: Sequence[Run], n_samples: int, alike: bool
    ) -> None:
        """Warn where the best run may be poor, and say why; alike: as `Problem.alike`."""
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


def table_of_starts(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Return ``starts_``, a dict per run: its start, promise, merit, objective and end."""
    return [
        {
            "start": run.start,
            "promise": run.promise,
            "merit": run.selection_cost if run.swept else None,
            "objective": run.clustering.objective if run.swept else None,
            "n_iter": run.clustering.n_iter,
            "stop_reason": run.clustering.stop_reason,
        }
        for run in runs
    ]
