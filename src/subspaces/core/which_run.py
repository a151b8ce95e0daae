"""Which run wins: all that first partitions and finished runs are compared by.

1. First partitions. With a portfolio of starts for clusters of one dimension, each start has a
   `promise`: the -log t-likelihood of its first partition, leave-one-out, plus what the starts that
   judge charge it. Only those within REACH of the best are swept. If clusters overlap, sweeps
   from a poor start can end with a higher likelihood than sweeps from a good one
   (`benchmarks/ablation.py` shows what that gains).
2. Finished runs. The one of lowest `selection_cost` wins, of equals that of lowest objective. By
   default the cost is the -log t-likelihood of the partition, plus the judges' cost. It is the
   objective with a criterion other than the default (`Settings.compares_by_likelihood`), and for
   clusters that are their means alone. Other rules hold if neither tells: see `selection_cost`.
3. An early end. Once AGREEING runs, of two kinds of starts, have ended in the best partition, no
   further start is made.
4. `start_margin` says how far the winner is ahead of the best that ended elsewhere.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from subspaces._types import Labels
from subspaces.core.likelihood import classification_likelihood, t_likelihood
from subspaces.core.loop import Clustering
from subspaces.core.partition import canonical_each
from subspaces.core.problem import Problem, degenerate
from subspaces.core.rows import ClusterView

# A start is a function from the problem and a generator to labels.
Start = Callable[[Problem, np.random.Generator], Labels]
ComparedBy = Literal["objective", "t_likelihood"]

# Returns the cost of a partition on top of its likelihood, in nats.
Charge = Callable[[Labels], float]

# Refine starts whose t-likelihood is at most this far below the best, in nats per row.
REACH = 0.3
# If a search may stop early, this many starts with the same partition suffice. After two that
# agreed the search without a stop kept another partition in 17 of 243 sets, after three in 4. Its
# error was at most 0.03 points lower (`benchmarks/early_end.py`).
AGREEING = 3
# Stop reasons that count as agreement. The limit of iterations and clusters that kept emptying do
# not.
CONCLUSIVE = {"converged", "cycle", "restless"}


class JudgingStart(ABC):
    """A start that also has a voice in the choice among partitions, its own and all others."""

    @abstractmethod
    def __call__(self, problem: Problem, random: np.random.Generator) -> Labels:
        """Return first labels, (n,), as every start does."""

    @abstractmethod
    def charge(self, labels: Labels) -> float:
        """Return what is added to the -log likelihood of a partition, in nats."""


@dataclass(frozen=True)
class Run:
    """One start, its first partition, and the clustering that sweeps from it ended in.

    promise: the -log t-likelihood of the first partition, plus the judges' cost; 0 if first
    partitions are not compared. selection_cost: what the clusterings are compared by, the lowest
    wins. A start that was not swept keeps its first partition, and its cost is infinite.
    """

    start: str
    first: Labels
    seed: int
    promise: float
    clustering: Clustering
    selection_cost: float

    @property
    def swept(self) -> bool:
        """Whether sweeps were made from this start."""
        return self.clustering.n_iter > 0


def promise(problem: Problem, views: Sequence[ClusterView]) -> float:
    """Return -log t-likelihood of a first partition; infinite if a cluster is degenerate."""
    return np.inf if degenerate(problem, views) else t_likelihood(views, problem.data)


def selection_cost(
    problem: Problem, objective: float, views: Callable[[], Sequence[ClusterView]], by: ComparedBy
) -> float:
    """Return the number that finished runs are compared by; lower is better.

    views(): the PCA of each cluster, formed only if asked for. If a dimension is the rank of the
    rows, no cost tells clusters apart, and the classification likelihood of a mixture of
    probabilistic PCA decides. (With sparse loadings it is the energy along refitted loadings, with
    its sign changed: `RowsInView`.)
    """
    if problem.identified and by == "objective":
        return objective
    likelihood = t_likelihood if problem.identified else classification_likelihood
    return likelihood(views(), problem.data)


def charge_of(starts: Sequence[tuple[str, Start]]) -> Charge | None:
    """Return the sum of the charges of all starts that judge; None if none does."""
    judges = {id(start): start for _, start in starts if isinstance(start, JudgingStart)}.values()
    return (lambda labels: sum(judge.charge(labels) for judge in judges)) if judges else None


def within_reach(runs: Sequence[Run], slack: float) -> list[Run]:
    """Return the runs; one with a promise more than ``slack`` above the best counts as not swept.

    It was swept if the best start came later.
    """
    near = min(run.promise for run in runs) + slack
    return [
        run
        if run.promise <= near
        else replace(run, clustering=not_swept(run.first), selection_cost=np.inf)
        for run in runs
    ]


def agree(runs: Sequence[Run], enough: int, slack: float = 0.0) -> bool:
    """Whether ``enough`` runs, from two kinds of starts at least, ended in the best partition.

    slack: how far the promise of a run may be above the best one, for it to count.
    """
    swept = [run for run in within_reach(runs, slack) if run.swept]
    if len(swept) < enough:
        return False
    ended = canonical_each(np.array([run.clustering.labels for run in [best_run(swept), *swept]]))
    same = (ended[1:] == ended[0]).all(axis=1).tolist()
    kinds = [
        run.start
        for run, alike in zip(swept, same, strict=True)
        if alike and run.clustering.stop_reason in CONCLUSIVE
    ]
    return len(kinds) >= enough and len(set(kinds)) > 1


def not_swept(labels: Labels) -> Clustering:
    """Return the clustering of a start that no sweep was made from."""
    return Clustering(labels, np.nan, (), "not swept", 0)


def best_run(runs: Sequence[Run]) -> Run:
    """Return the swept run of lowest cost, if finite; of equal costs that of lowest objective."""
    swept = [run for run in runs if run.swept]
    alive = [run for run in swept if np.isfinite(run.selection_cost)]
    return min(alive or swept, key=lambda run: (run.selection_cost, run.clustering.objective))


def start_margin(runs: Sequence[Run]) -> float:
    """Return the least cost among runs that ended in another partition, less the best, relative.

    The difference of their selection costs is divided by the size of the best. Infinite if all
    swept runs ended in one partition, 0 if no run is finite.
    """
    best, swept = best_run(runs), [run for run in runs if run.swept]
    ended = canonical_each(np.array([run.clustering.labels for run in [best, *swept]]))
    elsewhere = (ended[1:] != ended[0]).any(axis=1).tolist()
    others = [run.selection_cost for run, other in zip(swept, elsewhere, strict=True) if other]
    if not others:
        return np.inf
    if not np.isfinite(best.selection_cost):
        return 0.0
    # Python's floats become infinite without a warning if the best cost is 0.
    return float(min(others) - best.selection_cost) / max(
        float(abs(best.selection_cost)), sys.float_info.min
    )
