"""Descent to a local minimum: rows change cluster one at a time where the objective falls."""

from collections.abc import Sequence

import numpy as np

from subspaces._types import Array, Labels
from subspaces.core import partition
from subspaces.core.alternation import Clustering
from subspaces.core.criteria import costs, own_costs
from subspaces.core.problem import Problem, degenerate, view_clusters
from subspaces.core.rows import ClusterView


def descend(problem: Problem, start: Clustering, *, max_iter: int) -> Clustering:
    """Return a partition whose objective no change of a single row's cluster lowers.

    From ``start``, one row at a time changes its cluster where that lowers the objective, until no
    change does, or for at most ``max_iter`` rounds through all rows. Rows in no cluster stay so.
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
    """Sum of the rows' costs under their own clusters; infinite if a cluster is degenerate."""
    views = view_clusters(problem, labels, known)
    if degenerate(problem, views):
        return np.inf
    return float(own_costs(costs(problem.criterion, views, problem.data), labels).sum())


def _promising_moves(matrix: Array, labels: Labels) -> list[tuple[int, int]]:
    """All pairs (row, other cluster), ordered by change of the row's cost, largest fall first."""
    assigned = np.flatnonzero(labels >= 0)
    matrix, labels = matrix[assigned], labels[assigned]
    own = own_costs(matrix, labels)[:, None]
    change = np.subtract(matrix, own, out=np.full_like(matrix, np.inf), where=np.isfinite(matrix))
    change[np.arange(len(labels)), labels] = np.inf
    order = np.argsort(change, axis=None, kind="stable")[: change.size - len(labels)]
    rows, clusters = np.unravel_index(order, change.shape)
    return list(zip(assigned[rows].tolist(), clusters.tolist(), strict=True))
