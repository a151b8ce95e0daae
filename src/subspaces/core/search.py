"""Many starts, the promising ones swept to their end, and the choice among them.

A partition found by one method is judged best before the sweeps have bent it to another's score:
where clusters overlap, sweeps from a poor start can end with a higher likelihood than sweeps from a
good one. So the starts are first compared as they come, and only those within reach of the best are
swept and compared again (`benchmarks/ablation.py` shows what that buys).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, starmap

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from subspaces.core.alternation import alternate, repair
from subspaces.core.compiled import compiled_looker
from subspaces.core.criteria import classification_likelihood, t_likelihood
from subspaces.core.look import Sweeper, degenerate, sweeper
from subspaces.core.partition import Later, canonical, canonical_each
from subspaces.core.problem import Problem, view_clusters
from subspaces.core.result import Clustering
from subspaces.core.starts import Start, extend, landmarks
from subspaces.core.step import Step, Tell, silence
from subspaces.core.threads import one_blas_thread

# Starts within so much of the best, in the mean over the rows, are swept.
REACH = 0.3


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
    side by side; tell: who hears of each step.
    """

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
    best = _sweep(problem, replace(best, first=labels), plan)
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
    promises: dict[bytes, float] = {}
    drawn = [
        (problem, name, start, seed, inside, promises)
        for (name, start), seed in zip(starts, seeds, strict=True)
    ]
    with one_blas_thread():
        runs = []
        shared = Parallel(n_jobs=plan.n_jobs, return_as="generator")
        firsts = starmap(_first, drawn) if alone else shared(delayed(_first)(*d) for d in drawn)
        for run in firsts:
            runs.append(run)
            plan.tell(Step("start", len(runs), len(starts), run.start))
        return _swept(problem, runs, inside, plan, reach)


def _swept(
    problem: Problem, runs: Sequence[Run], inside: Plan, plan: Plan, reach: float
) -> list[Run]:
    twins = _twins(problem, runs)
    near = min(run.promise for run in runs) + reach * len(runs[0].first)
    chosen = [i for i, run in enumerate(runs) if twins[i] == i and run.promise <= near]
    sweeps = _sweeps(problem, [runs[i] for i in chosen], inside)
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


def _sweeps(problem: Problem, runs: Sequence[Run], plan: Plan) -> Iterable[Run]:
    """The runs in their order, as they end; those of one thread share what they look with."""
    jobs = effective_n_jobs(plan.n_jobs)
    if jobs == 1:
        looks = sweeper(problem)
        return (_sweep(problem, run, plan, looks) for run in runs)
    # Compiled looks do not hold the interpreter's lock; plain ones need processes.
    prefer = "threads" if compiled_looker(problem) is not None else "processes"
    share = -(-len(runs) // (4 * jobs))
    parts = [runs[i : i + share] for i in range(0, len(runs), share)]
    shared = Parallel(n_jobs=jobs, return_as="generator", prefer=prefer)
    return chain.from_iterable(shared(delayed(_sweep_some)(problem, part, plan) for part in parts))


def _sweep_some(problem: Problem, runs: Sequence[Run], plan: Plan) -> list[Run]:
    looks = sweeper(problem)
    with one_blas_thread():
        return [_sweep(problem, run, plan, looks) for run in runs]


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


def _first(
    problem: Problem, name: str, start: Start, seed: int, plan: Plan, promises: dict[bytes, float]
) -> Run:
    """The first partition of a start, its clusters large enough, and what it promises."""
    random = np.random.default_rng(seed)
    with one_blas_thread():
        labels, _ = repair(problem, start(problem, random), 0, random, first=True)
        promise = _promise(problem, labels, promises) if plan.shortlist else 0.0
    not_swept = Clustering(labels, np.nan, (), "not swept", 0)
    return Run(name, labels, int(random.integers(2**31)), promise, not_swept, np.inf)


def _promise(problem: Problem, labels: NDArray[np.intp], known: dict[bytes, float]) -> float:
    """The t-likelihood of a first partition; infinite where a cluster does not span its axes.

    Of the same partition, whatever its numbers, it is the same, and so found once.
    """
    labels = canonical(labels) if problem.interchangeable else labels
    key = labels.tobytes()
    if key not in known:
        views = view_clusters(problem, labels)
        bad = degenerate(problem, views)
        known[key] = np.inf if bad else t_likelihood(views, problem.data)
    return known[key]


def _twins(problem: Problem, runs: Sequence[Run]) -> list[int]:
    """For each run the first with the same partition, whatever its numbers if they mean nothing."""
    known: dict[bytes, int] = {}
    firsts = np.array([run.first for run in runs])
    firsts = canonical_each(firsts) if problem.interchangeable else firsts
    return [known.setdefault(labels.tobytes(), i) for i, labels in enumerate(firsts)]


def _sweep(problem: Problem, run: Run, plan: Plan, looks: Sweeper | None = None) -> Run:
    random = Later(run.seed)
    looks = sweeper(problem) if looks is None else looks
    clustering = alternate(
        problem, run.first, max_iter=plan.max_iter, random=random, tell=plan.tell, looks=looks
    )
    reached = merit(problem, clustering, plan.choice, looks)
    return Run(run.start, run.first, run.seed, run.promise, clustering, reached)


def merit(problem: Problem, clustering: Clustering, choice: str, looks: Sweeper) -> float:
    """What finished starts are compared by; lower is better.

    The own objective or the t-likelihood; the classification likelihood of a mixture of
    probabilistic PCA where the criterion does not identify the clusters. With sparse loadings, the
    energy that they capture, with its sign changed.
    """
    if problem.sparsity is not None:
        return -looks.energy(clustering.labels)
    if problem.identified and choice == "objective":
        return clustering.objective
    views = view_clusters(problem, clustering.labels)
    likelihood = t_likelihood if problem.identified else classification_likelihood
    return likelihood(views, problem.data)
