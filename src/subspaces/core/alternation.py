"""Fit, score, assign, until no label moves: the one loop of K-means, K-subspaces and PSC.

Except for `residual` the objective need not fall at every sweep (docs/convergence.md). So the loop
stops when no label moves, when a label vector returns, or at the cap, and gives the best partition
it has seen, with the reason why it stopped: "converged" only if that partition is the one where no
label moves, "overshot" if it was met on the way there. Best is the lowest objective; where a
dimension equals the rank of the data, so that the objective does not identify the clusters, it is
the classification likelihood of a mixture of probabilistic PCA. With sparse loadings the objectives
of different sweeps are not comparable, and the last partition is kept.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from subspaces.core import partition
from subspaces.core.criteria import costs, own_costs
from subspaces.core.look import Look, Sweeper, degenerate, plain_looker, sweeper
from subspaces.core.problem import Problem, view_clusters
from subspaces.core.result import Clustering
from subspaces.core.rows import ClusterView
from subspaces.core.step import Step, Tell, silence

Array = NDArray[np.floating]
Labels = NDArray[np.intp]

MAX_REPAIRS = 5


def alternate(
    problem: Problem,
    labels: Labels,
    *,
    max_iter: int,
    random: partition.Draw,
    tell: Tell = silence,
    looks: Sweeper | None = None,
) -> Clustering:
    """Sweep from a first partition; with ``looks`` as in other runs of the same problem."""

    def hear(done: int, objective: float) -> None:
        tell(Step("sweep", done, max_iter, f"objective {objective:.6g}"))

    looks = sweeper(problem) if looks is None else looks
    heard = None if tell is silence else hear
    if looks.fast is None:
        return _alternate(problem, labels, max_iter, random, heard)
    given = (labels, max_iter, MAX_REPAIRS, random, problem.rows, heard)
    return Clustering(*looks.fast.alternate(*given))


def _alternate(
    problem: Problem,
    labels: Labels,
    max_iter: int,
    random: partition.Draw,
    hear: Callable[[int, float], None] | None,
) -> Clustering:
    """The plain loop."""
    labels, repairs = repair(problem, labels.copy(), 0, random, first=True)
    refilled = repairs
    best: tuple[Look, Labels] | None = None
    path: list[float] = []
    look, seen = plain_looker(problem), set[bytes]()
    reason = "max_iter"
    while len(path) < max_iter:
        seen.add(labels.tobytes())
        here = look(labels)
        path.append(here.objective)
        if not here.degenerate and (best is None or here.merit <= best[0].merit):
            best = here, labels
        if hear is not None:
            hear(len(path), here.objective)
        broken = _broken(problem, here.assigned, here.degenerate)
        new, repairs = refill(problem, here.assigned, broken, repairs, random)
        refilled = repairs if len(path) == 1 else refilled
        if (new == labels).all():
            reason = "converged"
            break
        if broken and partition.too_small(new, problem.dimensions):
            reason = "infeasible"
            break
        if new.tobytes() in seen:
            reason = "cycle"
            break
        labels = new
    if reason == "converged" and best is not None and best[1] is not labels:
        reason = "infeasible" if here.degenerate else "overshot"
    course = tuple(path), reason, repairs - refilled
    if best is None:
        return Clustering(labels, path[-1], *course)
    here, labels = best
    return Clustering(labels, here.objective, *course, here.loadings)


def descend(problem: Problem, start: Clustering, *, max_iter: int) -> Clustering:
    """Move one row at a time, only where that lowers the objective, until no move does.

    The result is a local minimum: no single row can change its cluster to the objective's good.
    """
    labels, objective = start.labels.copy(), start.objective
    path = list(start.path)
    for _ in range(max_iter):
        before = objective
        views = view_clusters(problem, labels)
        matrix = costs(problem.criterion, views, problem.data)
        for i, k in _promising_moves(matrix, labels):
            trial = labels.copy()
            trial[i] = k
            if partition.too_small(trial, problem.dimensions):
                continue
            value = objective_of(problem, trial, views)
            if value < objective:
                labels, objective = trial, value
                views = view_clusters(problem, labels, views)
        path.append(objective)
        if objective == before:
            return Clustering(labels, objective, tuple(path), "local minimum", start.repairs)
    return Clustering(labels, objective, tuple(path), "max_iter", start.repairs)


def objective_of(problem: Problem, labels: Labels, known: Sequence[ClusterView] = ()) -> float:
    """Sum over the rows of their cost under the own cluster."""
    views = view_clusters(problem, labels, known)
    if degenerate(problem, views):
        return np.inf
    return float(own_costs(costs(problem.criterion, views, problem.data), labels).sum())


def _promising_moves(matrix: Array, labels: Labels) -> list[tuple[int, int]]:
    """All moves of one row to another cluster, the cheapest change of its cost first."""
    own = own_costs(matrix, labels)[:, None]
    change = np.subtract(matrix, own, out=np.full_like(matrix, np.inf), where=np.isfinite(matrix))
    change[np.arange(len(labels)), labels] = np.inf
    order = np.argsort(change, axis=None, kind="stable")[: change.size - len(labels)]
    rows, clusters = np.unravel_index(order, change.shape)
    return list(zip(rows.tolist(), clusters.tolist(), strict=True))


def repair(
    problem: Problem,
    labels: Labels,
    repairs: int,
    random: partition.Draw,
    also: Sequence[int] = (),
    *,
    first: bool = False,
) -> tuple[Labels, int]:
    """Refill clusters that are too small, and others that are named, while repairs are left.

    Of a first partition an empty cluster is refilled in any case: it has nothing to begin with.
    """
    broken = _broken(problem, labels, also)
    return refill(problem, labels, broken, repairs, random, first=first)


def _broken(problem: Problem, labels: Labels, also: Sequence[int]) -> list[int]:
    """Clusters that are too small, then others that are named."""
    broken = partition.too_small(labels, problem.dimensions)
    return broken + [k for k in also if k not in broken]


def refill(
    problem: Problem,
    labels: Labels,
    broken: Sequence[int],
    repairs: int,
    random: partition.Draw,
    *,
    first: bool = False,
) -> tuple[Labels, int]:
    """Refill some clusters while repairs are left; empty ones of a first partition in any case."""
    for k in broken:
        if repairs >= MAX_REPAIRS and not (first and not np.any(labels == k)):
            continue
        labels = partition.refill(problem.rows, labels, k, problem.dimensions, random)
        repairs += 1
    return labels, repairs
