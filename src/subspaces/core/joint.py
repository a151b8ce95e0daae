"""The paper's joint scheme: dimensions chosen anew at every sweep [MM2014, sec. model selection].

Objectives under different dimensions are not comparable, so the last partition is kept.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from subspaces.core import partition
from subspaces.core.alternation import objective_of, repair
from subspaces.core.criteria import costs, own_costs
from subspaces.core.problem import Problem, view_clusters
from subspaces.core.result import Clustering

Labels = NDArray[np.intp]
DimensionOf = Callable[[Labels], int]


def alternate_jointly(
    problem: Problem,
    labels: Labels,
    dimension_of: DimensionOf,
    *,
    max_iter: int,
    random: np.random.Generator,
) -> tuple[Problem, Clustering]:
    """Sweep from a first partition; ``dimension_of`` gives the dimension for some members.

    Returns the problem with the dimensions that were chosen last, and the partition.
    """
    labels, repairs = repair(problem, labels.copy(), 0, random)
    path: list[float] = []
    seen: set[bytes] = set()
    reason = "max_iter"
    for _ in range(max_iter):
        seen.add(labels.tobytes())
        problem = replace(problem, dimensions=_dimensions(problem, labels, dimension_of))
        views = view_clusters(problem, labels)
        matrix = costs(problem.criterion, views, problem.data)
        path.append(float(own_costs(matrix, labels).sum()))
        new, repairs = repair(problem, partition.assign(matrix, labels), repairs, random, views)
        if np.array_equal(new, labels):
            reason = "converged"
            break
        if partition.too_small(new, problem.dimensions):
            reason = "infeasible"
            break
        labels = new
        if labels.tobytes() in seen:
            reason = "cycle"
            break
    objective = objective_of(problem, labels)
    return problem, Clustering(labels, objective, tuple(path), reason, repairs)


def _dimensions(problem: Problem, labels: Labels, dimension_of: DimensionOf) -> tuple[int, ...]:
    return tuple(dimension_of(np.flatnonzero(labels == k)) for k in range(problem.n_clusters))
