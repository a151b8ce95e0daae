"""Many starts, each swept to its end, and the choice among them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from subspaces.core.alternation import alternate
from subspaces.core.criteria import classification_likelihood, energy_on_loadings, t_likelihood
from subspaces.core.partition import canonical
from subspaces.core.problem import Problem, view_clusters
from subspaces.core.result import Clustering
from subspaces.core.starts import Start


@dataclass(frozen=True)
class Run:
    """One start and where it led; the lowest merit wins."""

    start: str
    first: NDArray[np.intp]
    clustering: Clustering
    merit: float


def search(
    problem: Problem,
    starts: Sequence[tuple[str, Start]],
    seeds: Sequence[int],
    *,
    choice: str,
    max_iter: int,
    n_jobs: int | None = None,
) -> list[Run]:
    """Sweep from every start; each has its own generator, so the order of work does not matter."""
    tasks = (
        delayed(_run)(problem, name, start, seed, choice, max_iter)
        for (name, start), seed in zip(starts, seeds, strict=True)
    )
    return list(Parallel(n_jobs=n_jobs)(tasks))


def best_run(runs: Sequence[Run]) -> Run:
    """The lowest merit among the runs that kept their clusters alive; the first of equals."""
    alive = [run for run in runs if np.isfinite(run.merit)]
    return min(alive or runs, key=lambda run: run.merit)


def start_margin(runs: Sequence[Run]) -> float:
    """How far the best start is ahead of the best that ended elsewhere, relative to its merit.

    Infinite where all starts ended in the same partition.
    """
    best = best_run(runs)
    there = canonical(best.clustering.labels)
    others = [r.merit for r in runs if not np.array_equal(canonical(r.clustering.labels), there)]
    if not others:
        return np.inf
    return float((min(others) - best.merit) / max(abs(best.merit), np.finfo(float).tiny))


def _run(problem: Problem, name: str, start: Start, seed: int, choice: str, max_iter: int) -> Run:
    random = np.random.default_rng(seed)
    with threadpool_limits(1):
        first = start(problem, random)
        clustering = alternate(problem, first, max_iter=max_iter, random=random)
        return Run(name, first, clustering, merit(problem, clustering, choice))


def merit(problem: Problem, clustering: Clustering, choice: str) -> float:
    """What finished starts are compared by; lower is better.

    The own objective or the t-likelihood; the classification likelihood of a mixture of
    probabilistic PCA where the criterion does not identify the clusters. With sparse loadings, the
    energy that they capture, with its sign changed.
    """
    if problem.sparsity is not None:
        return -energy_on_loadings(view_clusters(problem, clustering.labels))
    if problem.identified and choice == "objective":
        return clustering.objective
    views = view_clusters(problem, clustering.labels)
    likelihood = t_likelihood if problem.identified else classification_likelihood
    return likelihood(views, problem.data)
