"""The paper's joint scheme: dimensions chosen anew at every sweep [MM2014, sec. model selection].

Objectives under different dimensions are not comparable, so the last partition is kept.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from subspaces.core import partition
from subspaces.core.alternation import repair
from subspaces.core.criteria import costs
from subspaces.core.look import degenerate
from subspaces.core.problem import Problem, view_clusters

Labels = NDArray[np.intp]
# From the number of a cluster and its members to its dimension.
DimensionOf = Callable[[int, Labels], int]


def alternate_jointly(
    problem: Problem,
    labels: Labels,
    dimension_of: DimensionOf,
    *,
    max_iter: int,
    random: np.random.Generator,
) -> tuple[list[int], Labels]:
    """Sweep from a first partition; the dimensions that were chosen last, and the partition."""
    labels, repairs = repair(problem, labels.copy(), 0, random, first=True)
    seen: set[bytes] = set()
    for _ in range(max_iter):
        seen.add(labels.tobytes())
        members = [np.flatnonzero(labels == k) for k in range(problem.n_clusters)]
        dimensions = tuple(dimension_of(k, own) for k, own in enumerate(members))
        problem = replace(problem, dimensions=dimensions)
        views = view_clusters(problem, labels)
        new = partition.assign(costs(problem.criterion, views, problem.data), labels)
        new, repairs = repair(problem, new, repairs, random, degenerate(problem, views))
        if new.tobytes() in seen or partition.too_small(new, dimensions):
            break
        labels = new
    return list(problem.dimensions), labels
