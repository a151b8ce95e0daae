from itertools import permutations

import numpy as np
from numpy.testing import assert_array_equal

from subspaces.core.criteria import costs
from subspaces.datasets import make_subspaces
from subspaces.starts.matching import match_dimensions
from tests.starts.posed import pose


def test_dimensions_go_to_the_parts_at_least_cost():
    union = make_subspaces([30, 40, 50], 12, [3, 1, 2], noise=0.05, random_state=2)
    problem = pose(union)
    shuffled = np.array([2, 0, 1])[union.target]
    assert_array_equal(match_dimensions(problem, shuffled), union.target)

    def price(order):
        relabelled = np.array(order)[shuffled]
        total = 0.0
        for k, r in enumerate(problem.dimensions):
            members = np.flatnonzero(relabelled == k)
            view = problem.rows.view(members, r, False)
            total += costs("influence", [view], problem.data)[members, 0].sum()
        return total

    best = min(permutations(range(3)), key=price)
    assert_array_equal(np.array(best)[shuffled], match_dimensions(problem, shuffled))
