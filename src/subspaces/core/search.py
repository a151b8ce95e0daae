"""Many starts, the promising ones swept to their end, and the choice among them.

A partition found by one method is judged best before the sweeps have bent it to another's score:
where clusters overlap, sweeps from a poor start can end with a higher likelihood than sweeps from a
good one. So the starts are first compared as they come, and only those within reach of the best are
swept and compared again (`benchmarks/ablation.py` shows what that buys).
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, starmap

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from subspaces.core.alternation import alternate, mend
from subspaces.core.landmarks import Start, extend, landmarks
from subspaces.core.partition import Later, canonical_each
from subspaces.core.problem import Problem
from subspaces.core.result import Clustering
from subspaces.core.samples import Fitted, Samples
from subspaces.core.step import Step, Tell, silence
from subspaces.core.threads import one_blas_thread

# Starts within so much of the best, in the mean over the rows, are swept.
REACH = 0.3


class Searchable(Samples):
    """Samples whose partitions are compared: those of starts as they come, and where runs ended."""

    problem: Problem

    @abstractmethod
    def promise(self, labels: NDArray[np.intp]) -> float:
        """The t-likelihood of a first partition; infinite where a cluster is degenerate."""

    @abstractmethod
    def merit(self, clustering: Clustering, choice: str) -> float:
        """What finished runs are compared by; lower is better."""


@dataclass(frozen=True)
class Run:
    """One start and where it led; the lowest merit wins.

    promise: the t-likelihood of the first partition, 0 where starts are not compared as they come.
    A start that was not swept keeps its first partition, in no sweeps, and its merit is infinite.
    """

    start: str
    first: NDArray[np.intp]
    seed: int
    promise: float
    clustering: Clustering
    merit: float

    @property
    def swept(self) -> bool:
        """Whether the loop went on from this start."""
        return self.clustering.n_iter > 0


@dataclass(frozen=True)
class Plan:
    """How a search goes on from its starts.

    choice: what ended runs are compared by, "objective" or "t_likelihood"; shortlist: whether
    starts are compared as they come, too; max_iter: the cap on sweeps; n_jobs: how many starts run
    side by side; tell: who hears of each step; in_view: the rows of a problem, for the runs of one
    thread.
    """

    in_view: Callable[[Problem], Searchable]
    choice: str
    shortlist: bool
    max_iter: int
    n_jobs: int | None = None
    tell: Tell = silence


def search_by_landmarks(
    problem: Problem,
    starts: Callable[[Problem], list[tuple[str, Start]]],
    random: np.random.Generator,
    plan: Plan,
) -> tuple[Run, list[Run]]:
    """The best run and all of them; of many rows a sample is searched.

    The best partition of the sample is extended to all rows and swept on, so that the cost is
    linear in their number; the runs are those of the sample.
    """
    chosen = landmarks(problem, random)
    small = problem if chosen is None else problem.subset(chosen)
    chosen_starts = starts(small)
    seeds = random.integers(2**31, size=len(chosen_starts)).tolist()
    runs = search(small, chosen_starts, seeds, plan)
    best = best_run(runs)
    if chosen is None:
        return best, runs
    labels = extend(problem, chosen, best.clustering.labels)
    best = _sweep(plan.in_view(problem), replace(best, first=labels), plan)
    plan.tell(Step("run", 1, 1, f"all samples from {_story(best)}"))
    return best, runs


def search(
    problem: Problem,
    starts: Sequence[tuple[str, Start]],
    seeds: Sequence[int],
    plan: Plan,
    reach: float = REACH,
) -> list[Run]:
    """Sweep from every start within reach, the same partition once.

    Each start has its own generator, so the order of work does not matter.
    """
    alone = effective_n_jobs(plan.n_jobs) == 1
    inside = plan if alone else replace(plan, tell=silence)
    samples = plan.in_view(problem)
    drawn = [
        (problem, name, start, seed, inside, samples if alone else None)
        for (name, start), seed in zip(starts, seeds, strict=True)
    ]
    with one_blas_thread():
        runs = []
        shared = Parallel(n_jobs=plan.n_jobs, return_as="generator")
        firsts = starmap(_first, drawn) if alone else shared(delayed(_first)(*d) for d in drawn)
        for run in firsts:
            runs.append(run)
            plan.tell(Step("start", len(runs), len(starts), run.start))
        return _swept(samples, runs, inside, plan, reach)


def _swept(
    samples: Searchable, runs: Sequence[Run], inside: Plan, plan: Plan, reach: float
) -> list[Run]:
    twins = _twins(samples.problem, runs)
    near = min(run.promise for run in runs) + reach * len(runs[0].first)
    chosen = [i for i, run in enumerate(runs) if twins[i] == i and run.promise <= near]
    sweeps = _sweeps(samples, [runs[i] for i in chosen], inside)
    swept = list(runs)
    for done, (i, run) in enumerate(zip(chosen, sweeps, strict=True), start=1):
        swept[i] = run
        if plan.tell is not silence:
            plan.tell(Step("run", done, len(chosen), _story(run)))
    return [
        swept[i]
        if twin == i
        else replace(run, clustering=swept[twin].clustering, merit=swept[twin].merit)
        for i, (run, twin) in enumerate(zip(runs, twins, strict=True))
    ]


def _sweeps(samples: Searchable, runs: Sequence[Run], plan: Plan) -> Iterable[Run]:
    """The runs in their order, as they end; those of one thread share what they know."""
    jobs = effective_n_jobs(plan.n_jobs)
    if jobs == 1:
        return (_sweep(samples, run, plan) for run in runs)
    share = -(-len(runs) // (4 * jobs))
    parts = [runs[i : i + share] for i in range(0, len(runs), share)]
    shared = Parallel(n_jobs=jobs, return_as="generator", prefer="threads")
    problem = samples.problem
    return chain.from_iterable(shared(delayed(_sweep_some)(problem, part, plan) for part in parts))


def _sweep_some(problem: Problem, runs: Sequence[Run], plan: Plan) -> list[Run]:
    samples = plan.in_view(problem)
    with one_blas_thread():
        return [_sweep(samples, run, plan) for run in runs]


def best_run(runs: Sequence[Run]) -> Run:
    """The lowest merit among the runs that kept their clusters alive, of equals the objective."""
    swept = [run for run in runs if run.swept]
    alive = [run for run in swept if np.isfinite(run.merit)]
    return min(alive or swept, key=lambda run: (run.merit, run.clustering.objective))


def start_margin(runs: Sequence[Run]) -> float:
    """How far the best start is ahead of the best that ended elsewhere, relative to its merit.

    Infinite where all that were swept ended in the same partition.
    """
    best, swept = best_run(runs), [run for run in runs if run.swept]
    ended = canonical_each(np.array([run.clustering.labels for run in [best, *swept]]))
    elsewhere = (ended[1:] != ended[0]).any(axis=1).tolist()
    others = [run.merit for run, other in zip(swept, elsewhere, strict=True) if other]
    if not others:
        return np.inf
    return float((min(others) - best.merit) / max(abs(best.merit), np.finfo(float).tiny))


def _story(run: Run) -> str:
    result = run.clustering
    return (
        f"{run.start}: {result.stop_reason} after {result.n_iter} sweeps, "
        f"objective {result.objective:.6g}"
    )


def first_partition(
    samples: Searchable, start: Start, random: np.random.Generator
) -> NDArray[np.intp]:
    """The labels of a start, with clusters that are large enough."""
    fitted = Fitted(start(samples.problem, random).copy())
    return mend(samples, fitted, 0, random, first=True)[0].labels


def _first(
    problem: Problem, name: str, start: Start, seed: int, plan: Plan, known: Searchable | None
) -> Run:
    """The first partition of a start, and what it promises."""
    samples = plan.in_view(problem) if known is None else known
    random = np.random.default_rng(seed)
    with one_blas_thread():
        labels = first_partition(samples, start, random)
        promise = samples.promise(labels) if plan.shortlist else 0.0
    not_swept = Clustering(labels, np.nan, (), "not swept", 0)
    return Run(name, labels, int(random.integers(2**31)), promise, not_swept, np.inf)


def _twins(problem: Problem, runs: Sequence[Run]) -> list[int]:
    """For each run the first with the same partition, whatever its numbers if they mean nothing."""
    known: dict[bytes, int] = {}
    firsts = np.array([run.first for run in runs])
    firsts = canonical_each(firsts) if problem.interchangeable else firsts
    return [known.setdefault(labels.tobytes(), i) for i, labels in enumerate(firsts)]


def _sweep(samples: Searchable, run: Run, plan: Plan) -> Run:
    clustering = alternate(
        samples, run.first, max_iter=plan.max_iter, random=Later(run.seed), tell=plan.tell
    )
    merit = samples.merit(clustering, plan.choice)
    return Run(run.start, run.first, run.seed, run.promise, clustering, merit)
