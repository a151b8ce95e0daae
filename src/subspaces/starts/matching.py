"""Which part of a partition gets which dimension, where the clusters' dimensions differ."""

import numpy as np
from scipy.optimize import linear_sum_assignment

from subspaces._types import Labels
from subspaces.core.criteria import costs
from subspaces.core.likelihood import Data
from subspaces.core.partition import smallest_size
from subspaces.core.problem import Problem


def match_dimensions(problem: Problem, parts: Labels) -> Labels:
    """Return the partition with its parts renumbered, so that each gets the dimension it fits best.

    Best is the least sum of the influence costs of all rows. The sum separates over the clusters,
    so the assignment is exact.
    """
    if len(set(problem.dimensions)) == 1:
        return parts
    unused = Data(len(parts), 0, 0.0)
    unfit = 1e3 * float(problem.rows.squared_norms.sum())
    price = np.empty((problem.n_clusters, problem.n_clusters))
    for j in range(problem.n_clusters):
        members = np.flatnonzero(parts == j)
        for r in set(problem.dimensions):
            value = unfit
            if len(members) >= smallest_size(r):
                view = problem.rows.view(members, r, problem.affine)
                value = min(float(costs("influence", [view], unused)[members, 0].sum()), unfit)
            price[j, np.equal(problem.dimensions, r)] = value
    return linear_sum_assignment(price)[1][parts]
