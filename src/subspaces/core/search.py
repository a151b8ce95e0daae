"""Search from many starts: the promising ones are swept to their end, and the best run is chosen.

Starts are compared twice. Where clusters overlap, sweeps from a poor start can end with a higher
likelihood than sweeps from a good one; so the first partitions are compared before any sweep, and
only those within reach of the best are swept and compared again (`benchmarks/ablation.py` shows
what that gains).
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, starmap

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from subspaces.core.alternation import Clustering, alternate, repair
from subspaces.core.array import Labels
from subspaces.core.partition import LazyGenerator, canonical_each
from subspaces.core.problem import Problem
from subspaces.core.samples import Fitted, Samples
from subspaces.runtime.step import Step, Tell, silence
from subspaces.runtime.threads import one_blas_thread

# A start is a function from the problem and a generator to labels.
Start = Callable[[Problem, np.random.Generator], Labels]

# Starts whose t-likelihood is within so much of the best, in nats per row, are swept.
REACH = 0.3


class Searchable(Samples):
    """Samples that give first partitions and finished runs a number to compare them by."""

    problem: Problem

    @abstractmethod
    def promise(self, labels: Labels) -> float:
        """-log t-likelihood of a first partition; infinite if a cluster is degenerate."""

    @abstractmethod
    def merit(self, clustering: Clustering, choice: str) -> float:
        """Return the number that finished runs are compared by, lower is better.

        choice: "objective", or "t_likelihood" for the -log t-likelihood of the partition. Within a
        run, partitions are compared by `Assignment.merit` instead, as a rule the objective.
        """


@dataclass(frozen=True)
class Run:
    """One start, its first partition, and the clustering that sweeps from it ended in.

    promise: the -log t-likelihood of the first partition, 0 where first partitions are not
    compared; merit: `Searchable.merit` of the clustering; the run with the lowest is chosen. A
    start that was not swept keeps its first partition, and its merit is infinite.
    """

    start: str
    first: Labels
    seed: int
    promise: float
    clustering: Clustering
    merit: float

    @property
    def swept(self) -> bool:
        """Whether sweeps were made from this start."""
        return self.clustering.n_iter > 0


@dataclass(frozen=True)
class Plan:
    """The settings of a search: which starts are swept, how far, and what runs are compared by.

    in_view: makes the samples of a problem, for the runs of one thread; choice: what finished runs
    are compared by, "objective" or "t_likelihood"; shortlist: whether first partitions are
    compared, too, and only the promising ones swept; max_iter: the cap on sweeps; n_jobs: how many
    starts run side by side; tell: called with each step that is done.
    """

    in_view: Callable[[Problem], Searchable]
    choice: str
    shortlist: bool
    max_iter: int
    n_jobs: int | None = None
    tell: Tell = silence


def search(
    problem: Problem,
    starts: Sequence[tuple[str, Start]],
    seeds: Sequence[int],
    plan: Plan,
    reach: float = REACH,
) -> list[Run]:
    """Return one `Run` per start; those with a promise within reach of the best are swept.

    reach: in nats per row. Starts with the same first partition share one run. Each start has its
    own generator, so that the order of work does not matter.
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
    """Return all runs, those within reach of the best promise swept by the plan ``inside``."""
    twins = _twins(samples.problem, runs)
    near = min(run.promise for run in runs) + reach * len(runs[0].first)
    chosen = [i for i, run in enumerate(runs) if twins[i] == i and run.promise <= near]
    sweeps = _sweeps(samples, [runs[i] for i in chosen], inside)
    swept = list(runs)
    for done, (i, run) in enumerate(zip(chosen, sweeps, strict=True), start=1):
        swept[i] = run
        if plan.tell is not silence:
            plan.tell(Step("run", done, len(chosen), story(run)))
    return [
        swept[i]
        if twin == i
        else replace(run, clustering=swept[twin].clustering, merit=swept[twin].merit)
        for i, (run, twin) in enumerate(zip(runs, twins, strict=True))
    ]


def _sweeps(samples: Searchable, runs: Sequence[Run], plan: Plan) -> Iterable[Run]:
    """Yield the swept runs in the order of ``runs``; runs in one thread share one `Searchable`."""
    jobs = effective_n_jobs(plan.n_jobs)
    if jobs == 1:
        return (sweep(samples, run, plan) for run in runs)
    share = -(-len(runs) // (4 * jobs))
    parts = [runs[i : i + share] for i in range(0, len(runs), share)]
    shared = Parallel(n_jobs=jobs, return_as="generator", prefer="threads")
    problem = samples.problem
    return chain.from_iterable(shared(delayed(_sweep_some)(problem, part, plan) for part in parts))


def _sweep_some(problem: Problem, runs: Sequence[Run], plan: Plan) -> list[Run]:
    """Return the runs of one thread, swept one after the other."""
    samples = plan.in_view(problem)
    with one_blas_thread():
        return [sweep(samples, run, plan) for run in runs]


def best_run(runs: Sequence[Run]) -> Run:
    """Return the swept run of lowest merit, if finite; of equal merits that of lowest objective."""
    swept = [run for run in runs if run.swept]
    alive = [run for run in swept if np.isfinite(run.merit)]
    return min(alive or swept, key=lambda run: (run.merit, run.clustering.objective))


def start_margin(runs: Sequence[Run]) -> float:
    """Return the least merit among runs that ended in another partition, less the best, relative.

    The difference is divided by the best run's ``|merit|``. Infinite if all swept runs ended in one
    partition.
    """
    best, swept = best_run(runs), [run for run in runs if run.swept]
    ended = canonical_each(np.array([run.clustering.labels for run in [best, *swept]]))
    elsewhere = (ended[1:] != ended[0]).any(axis=1).tolist()
    others = [run.merit for run, other in zip(swept, elsewhere, strict=True) if other]
    if not others:
        return np.inf
    return float((min(others) - best.merit) / max(abs(best.merit), np.finfo(float).tiny))


def story(run: Run) -> str:
    """Return one line of text: start, reason why the run stopped, sweeps and objective."""
    result = run.clustering
    return (
        f"{run.start}: {result.stop_reason} after {result.n_iter} sweeps, "
        f"objective {result.objective:.6g}"
    )


def first_partition(samples: Searchable, start: Start, random: np.random.Generator) -> Labels:
    """Return the labels (n,) of a start, after clusters that are too small have been refilled."""
    fitted = Fitted(start(samples.problem, random).copy())
    return repair(samples, fitted, 0, random, first=True)[0].labels


def _first(
    problem: Problem, name: str, start: Start, seed: int, plan: Plan, known: Searchable | None
) -> Run:
    """Return the `Run` of a start before any sweep: its first partition and promise."""
    samples = plan.in_view(problem) if known is None else known
    random = np.random.default_rng(seed)
    with one_blas_thread():
        labels = first_partition(samples, start, random)
        promise = samples.promise(labels) if plan.shortlist else 0.0
    not_swept = Clustering(labels, np.nan, (), "not swept", 0)
    return Run(name, labels, int(random.integers(2**31)), promise, not_swept, np.inf)


def _twins(problem: Problem, runs: Sequence[Run]) -> list[int]:
    """Return, for each run, the index of the earliest run with the same first partition.

    Where clusters are interchangeable, partitions that differ in cluster numbers only are equal.
    """
    known: dict[bytes, int] = {}
    firsts = np.array([run.first for run in runs])
    firsts = canonical_each(firsts) if problem.interchangeable else firsts
    return [known.setdefault(labels.tobytes(), i) for i, labels in enumerate(firsts)]


def sweep(samples: Searchable, run: Run, plan: Plan) -> Run:
    """Return the run with the clustering that sweeps from its first partition reach, and merit."""
    clustering = alternate(
        samples, run.first, max_iter=plan.max_iter, random=LazyGenerator(run.seed), tell=plan.tell
    )
    return replace(run, clustering=clustering, merit=samples.merit(clustering, plan.choice))
