"""Looks at partitions: what one costs, what is wrong with it, and where every row would go.

The only place that chooses between the plain code and its compiled twin.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

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
from subspaces.core.sparse_basis import SparseView

Labels = NDArray[np.intp]


@dataclass(frozen=True)
class Look:
    """What the loop needs to know of a partition.

    objective: the rows' costs under their own clusters, summed; merit: what partitions of a run are
    compared by; degenerate: clusters that do not span their axes; assigned: the cluster of least
    cost of every row; loadings: the basis of every cluster, where loadings are sparse.
    """

    objective: float
    merit: float
    degenerate: list[int]
    assigned: Labels
    loadings: tuple[NDArray[np.floating], ...] | None = None


Looker = Callable[[Labels], Look]
Energy = Callable[[Labels], float]


@dataclass(frozen=True)
class Sweeper:
    """What runs of the loop look with, one run after the other.

    fast: the compiled loop, None where the plain one must do; energy(labels), of sparse loadings:
    that of the members on their own.
    """

    fast: Any | None
    energy: Energy


def sweeper(problem: Problem) -> Sweeper:
    """A sweeper for the runs of one thread, compiled where that is possible."""
    fast = compiled_looker(problem)
    if fast is None or problem.sparsity is None:
        return Sweeper(fast, _plain_energy(problem))
    return Sweeper(fast, _once(problem, fast.energy))


def plain_sweeper(problem: Problem) -> Sweeper:
    """The plain code, for every problem."""
    return Sweeper(None, _plain_energy(problem))


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
            loadings_of(views),
        )

    return look


def loadings_of(views: Sequence[ClusterView]) -> tuple[NDArray[np.floating], ...] | None:
    """The basis of every cluster that is seen through sparse loadings; None for other views."""
    bases = tuple(view.basis for view in views if isinstance(view, SparseView))
    return bases or None


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
