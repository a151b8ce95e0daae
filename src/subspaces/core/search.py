"""Search from many starts: the promising ones are swept to their end (`core/which_run.py`)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from threading import local

import numpy as np
from joblib import effective_n_jobs

from subspaces._types import Labels
from subspaces.core.in_view import RowsInView
from subspaces.core.loop import Fitted, Restless, alternate, repair
from subspaces.core.partition import LazyGenerator, canonical_each
from subspaces.core.problem import Problem
from subspaces.core.which_run import (
    REACH,
    Charge,
    ComparedBy,
    Run,
    Start,
    agree,
    charge_of,
    not_swept,
    within_reach,
)
from subspaces.progress import Step, Tell, silence
from subspaces.runtime.threads import one_blas_thread, side_by_side

# Below this many matrix entries an early-stopping search finishes before threads pay off.
FEW_NUMBERS = 1 << 19
# An iteration over MANY_ROWS or more rows stops early if, in each of RESTLESS_SWEEPS iterations, at
# most the share RESTLESS of rows moved and the objective fell by at most the share GAIN. Those rows
# lie between two clusters. Clusters that are means are fast and settle.
MANY_ROWS, RESTLESS, RESTLESS_SWEEPS, GAIN = 1000, 0.01, 5, 1e-3


@dataclass(frozen=True)
class Plan:
    """The settings of a search: which starts are swept, how far, and what runs are compared by.

    compared_by: what finished runs are compared by; shortlist: whether first partitions are
    compared, too, and only the promising ones swept; max_iter: the cap on sweeps; n_jobs: how many
    threads make starts and sweep them side by side; tell: called with each step that is done;
    enough: no more starts are made once so many, of two kinds at least, have ended in the best
    partition; None: all are made.
    """

    compared_by: ComparedBy
    shortlist: bool
    max_iter: int
    n_jobs: int | None = None
    tell: Tell = silence
    enough: int | None = None


# The kinds of starts in plain words.
KINDS = {
    "angular": "angles between samples",
    "near expression": "links between near samples",
    "shape interaction": "links between similar samples",
    "swapped": "labels with some samples swapped",
    "sequential": "one subspace after another",
    "screened": "variables with signal",
    "k-means": "K-means",
    **dict.fromkeys(("LSR + ADMM", "OMP + ADMM", "ADMM", "OMP + LSR"), "links between samples"),
}
# What is said of runs that did not settle.
ENDS = {"max_iter": " (not converged)", "infeasible": " (one cluster is empty)"}


def search(
    problem: Problem,
    starts: Sequence[tuple[str, Start]],
    seeds: Sequence[int],
    plan: Plan,
    reach: float = REACH,
) -> list[Run]:
    """Return one `Run` per start made; those with a promise within reach of the best are swept.

    reach: in nats per row. Each start has its own generator, and a run is compared with those
    before it only, so that the number of threads does not matter.
    """
    n, total = len(problem.rows.squared_norms), problem.rows.total
    n_threads = effective_n_jobs(plan.n_jobs)
    if plan.enough is not None and n * problem.rows.rank <= FEW_NUMBERS:
        n_threads = 1
    quiet = plan if n_threads == 1 else replace(plan, tell=silence)
    worker = Worker(
        problem, quiet, charge_of(starts) if plan.compared_by == "t_likelihood" else None
    )
    slack = reach * total
    runs: list[Run] = []
    with one_blas_thread(), side_by_side(n_threads) as each:
        for wave in _waves(len(starts), plan.enough, n_threads):
            for run in each(worker.first, starts[wave], seeds[wave]):
                runs.append(run)
                plan.tell(Step("start", len(runs), len(starts), run.start))
            twins = _twins(problem, runs)
            best = np.minimum.accumulate([run.promise for run in runs]) + slack
            due = [
                i
                for i in range(wave.start, len(runs))
                if twins[i] == i and runs[i].promise <= best[i]
            ]
            for i, run in zip(due, each(worker.swept, [runs[i] for i in due]), strict=True):
                runs[i] = run
                plan.tell(Step("run", i + 1, len(starts), story(run)))
            for i, twin in enumerate(twins):
                same = runs[twin]
                runs[i] = replace(
                    runs[i], clustering=same.clustering, selection_cost=same.selection_cost
                )
            for count in range(wave.start + 1, len(runs) + 1):
                if plan.enough is not None and agree(runs[:count], plan.enough, slack):
                    return within_reach(runs[:count], slack)
    return within_reach(runs, slack)


class Worker:
    """Makes and sweeps runs; each thread has samples of its own, for all its runs."""

    def __init__(self, problem: Problem, plan: Plan, charge: Charge | None) -> None:
        self._problem, self._plan, self._charge, self._held = problem, plan, charge, local()

    @property
    def _samples(self) -> RowsInView:
        if not hasattr(self._held, "samples"):
            self._held.samples = RowsInView(self._problem)
        return self._held.samples

    def first(self, start: tuple[str, Start], seed: int) -> Run:
        """Return the `Run` of a start before any sweep: its first partition and promise."""
        random = np.random.default_rng(seed)
        with one_blas_thread():
            labels = first_partition(self._samples, start[1], random)
            promise = self._samples.promise(labels) if self._plan.shortlist else 0.0
            if self._charge is not None and self._plan.shortlist and np.isfinite(promise):
                promise += self._charge(labels)
        seed = int(random.integers(2**31))
        return Run(start[0], labels, seed, promise, not_swept(labels), np.inf)

    def swept(self, run: Run) -> Run:
        """Return the run after sweeps from its first partition."""
        with one_blas_thread():
            swept = sweep(self._samples, run, self._plan)
            if self._charge is None or not np.isfinite(swept.selection_cost):
                return swept
            return replace(
                swept, selection_cost=swept.selection_cost + self._charge(swept.clustering.labels)
            )


def _waves(n_starts: int, enough: int | None, n_threads: int) -> list[slice]:
    """Return the starts that are made side by side: all at once if all of them are wanted.

    If few may be enough, one after the other; in threads one more than enough at first.
    """
    if enough is None:
        return [slice(0, n_starts)]
    first, step = (1, 1) if n_threads == 1 else (enough + 1, enough)
    ends = [*range(first, n_starts, step), n_starts]
    return [slice(start, end) for start, end in pairwise([0, *ends])]


def story(run: Run) -> str:
    """Return one line of text: what the run started from, iterations and objective."""
    result = run.clustering
    n, doubt = result.n_iter, ENDS.get(result.stop_reason, "")
    return (
        f"from {KINDS.get(run.start, run.start)}: {n} iteration{'s' * (n != 1)}, "
        f"objective {result.objective:.6g}{doubt}"
    )


def first_partition(samples: RowsInView, start: Start, random: np.random.Generator) -> Labels:
    """Return the labels (n,) of a start, after clusters that are too small have been refilled."""
    fitted = Fitted(start(samples.problem, random).copy())
    return repair(samples, fitted, 0, random, first=True)[0].labels


def _twins(problem: Problem, runs: Sequence[Run]) -> list[int]:
    """Return, for each run, the index of the earliest run with the same first partition.

    If clusters are interchangeable, partitions that differ in cluster numbers only are equal.
    """
    known: dict[bytes, int] = {}
    firsts = np.array([run.first for run in runs])
    firsts = canonical_each(firsts) if problem.interchangeable else firsts
    return [known.setdefault(labels.tobytes(), i) for i, labels in enumerate(firsts)]


def sweep(samples: RowsInView, run: Run, plan: Plan, restless_sweeps: int = RESTLESS_SWEEPS) -> Run:
    """Return the run with the clustering that sweeps from its first partition reach, and cost.

    restless_sweeps: so many sweeps in which little moves end the run of many rows.
    """
    n = len(run.first)
    may_be_restless = n >= MANY_ROWS and not samples.problem.of_means
    clustering = alternate(
        samples,
        run.first,
        max_iter=plan.max_iter,
        random=LazyGenerator(run.seed),
        tell=plan.tell,
        restless=Restless(int(RESTLESS * n), restless_sweeps, GAIN) if may_be_restless else None,
    )
    return replace(
        run,
        clustering=clustering,
        selection_cost=samples.selection_cost(clustering, plan.compared_by),
    )
