"""Looks at partitions: what one costs, what is wrong with it, and where every row would go.

The only place that chooses between the plain code and its compiled twin.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subspaces.core import partition
from subspaces.core.compiled import compiled_looker
from subspaces.core.criteria import (
    classification_likelihood,
    costs,
    energy_on_loadings,
    own_costs,
)
from subspaces.core.problem import Problem, view_clusters
from subspaces.core.rows import ClusterView

Labels = NDArray[np.intp]


@dataclass(frozen=True)
class Look:
    """What the loop needs to know of a partition.

    objective: the rows' costs under their own clusters, summed; merit: what partitions of a run are
    compared by; degenerate: clusters that do not span their axes; assigned: the cluster of least
    cost of every row.
    """

    objective: float
    merit: float
    degenerate: list[int]
    assigned: Labels


Looker = Callable[[Labels], Look]
Energy = Callable[[Labels], float]


@dataclass(frozen=True)
class Stretch:
    """Sweeps in a row, up to a partition that the loop must decide about.

    path: the objective of every partition looked at; best: merit, objective and labels of the best
    whose clusters span their axes; labels: the last; degenerate, assigned: as in its `Look`.
    """

    path: list[float]
    best: tuple[float, float, Labels] | None
    labels: Labels
    degenerate: list[int]
    assigned: Labels


@dataclass(frozen=True)
class Sweeper:
    """What runs of the loop look with, one run after the other.

    begin(): a new run; sweep(labels, most): at most so many sweeps; knows(labels): whether this run
    has looked at a partition; energy(labels), of sparse loadings: that of the members on their own.
    """

    begin: Callable[[], None]
    sweep: Callable[[Labels, int], Stretch]
    knows: Callable[[Labels], bool]
    energy: Energy


def sweeper(problem: Problem) -> Sweeper:
    """A sweeper for the runs of one thread, compiled where that is possible."""
    fast = compiled_looker(problem)
    if fast is None or not hasattr(fast, "run"):
        return single_sweeper(problem, looker)
    return Sweeper(
        fast.begin,
        lambda labels, most: Stretch(*fast.run(labels, most)),
        fast.knows,
        _plain_energy(problem) if problem.sparsity is None else _once(problem, fast.energy),
    )


def single_sweeper(problem: Problem, fresh: Callable[[Problem], Looker]) -> Sweeper:
    """One look at a time, with a fresh looker for each run."""
    seen: set[bytes] = set()
    look: Looker = fresh(problem)

    def begin() -> None:
        nonlocal look
        if seen:
            look = fresh(problem)
            seen.clear()

    def sweep(labels: Labels, most: int) -> Stretch:
        seen.add(labels.tobytes())
        here = look(labels)
        best = None if here.degenerate else (here.merit, here.objective, labels)
        return Stretch([here.objective], best, labels, here.degenerate, here.assigned)

    return Sweeper(begin, sweep, lambda labels: labels.tobytes() in seen, _plain_energy(problem))


def _plain_energy(problem: Problem) -> Energy:
    return _once(problem, lambda labels: energy_on_loadings(view_clusters(problem, labels)))


def _once(problem: Problem, energy: Energy) -> Energy:
    """The same partition once, whatever its numbers if they mean nothing."""
    known: dict[bytes, float] = {}

    def of(labels: Labels) -> float:
        labels = partition.canonical(labels) if problem.interchangeable else labels
        key = labels.tobytes()
        if key not in known:
            known[key] = energy(labels)
        return known[key]

    return of


def looker(problem: Problem) -> Looker:
    """A fresh looker, compiled where that is possible; it takes over what did not change."""
    fast = compiled_looker(problem)
    if fast is None:
        return plain_looker(problem)

    def look(labels: Labels) -> Look:
        objective, bad, assigned = fast.look(labels)
        return Look(objective, objective if problem.sparsity is None else 0.0, bad, assigned)

    return look


def plain_looker(problem: Problem) -> Looker:
    """The plain code, for every problem."""
    views: list[ClusterView] = []

    def look(labels: Labels) -> Look:
        nonlocal views
        views = view_clusters(problem, labels, views)
        matrix = costs(problem.criterion, views, problem.data)
        objective = float(own_costs(matrix, labels).sum())
        return Look(
            objective,
            _merit(problem, views, objective),
            degenerate(problem, views),
            partition.assign(matrix, labels),
        )

    return look


def _merit(problem: Problem, views: Sequence[ClusterView], objective: float) -> float:
    """What decides which partition of a run is kept; the lowest is, of equals the last."""
    if problem.sparsity is not None:
        # The union of the supports moves from sweep to sweep, and the objective with it.
        return 0.0
    if problem.identified:
        return objective
    return classification_likelihood(views, problem.data)


def degenerate(problem: Problem, views: Sequence[ClusterView]) -> list[int]:
    """Clusters whose members do not span their axes, against what all rows span."""
    needed = zip(views, problem.dimensions, problem.faintest, strict=True)
    return [
        k
        for k, (view, r, least) in enumerate(needed)
        if r and (view.n_components < r or view.eigenvalues[r - 1] < least * view.size)
    ]
