from dataclasses import replace

import numpy as np
import pytest

from subspaces.datasets import make_subspaces
from subspaces.starts.graphs import ADMM_MOST_ROWS
from subspaces.starts.portfolio import portfolio
from tests.starts.posed import pose


def names_of(problem, n_starts=12):
    return [name for name, _ in portfolio(problem, n_starts)]


def test_the_portfolio_fits_the_problem():
    unequal = names_of(pose(make_subspaces(60, 8, [1, 2], random_state=0)), 20)
    assert [unequal.count(kind) for kind in ("sequential", "angular", "swapped")] == [10, 6, 4]
    equal = names_of(pose(make_subspaces(60, 8, [2, 2], random_state=0)))
    lasso = {"LSR + ADMM", "OMP + ADMM", "ADMM"}
    judges = {"shape interaction", "near expression"}
    assert {"OMP + LSR", "sequential", "angular", "swapped"} | lasso | judges == set(equal)
    many = names_of(pose(make_subspaces(ADMM_MOST_ROWS + 1, 8, [2, 2], random_state=0)))
    assert lasso.isdisjoint(many)
    profiles = replace(pose(make_subspaces(60, 8, [1, 1], random_state=0), True), dimensions=(0, 0))
    assert names_of(profiles, 4) == ["k-means", "sequential"] * 2
    filling = names_of(pose(make_subspaces(60, 2, [2, 2], random_state=0)))
    assert set(filling) == {"sequential", "angular", "swapped"}


def test_a_portfolio_of_few_has_different_starts():
    for dimensions in ([2, 2], [1, 2]):
        assert len(set(names_of(pose(make_subspaces(60, 8, dimensions)), 3))) == 3


@pytest.mark.parametrize("affine", [False, True])
def test_all_starts_of_the_portfolio_are_partitions(affine):
    union = make_subspaces([30, 40], 8, [2, 2], noise=0.05, offset=1.0, random_state=1)
    problem = pose(union, affine)
    for _, start in portfolio(problem, 12):
        labels = start(problem, np.random.default_rng(0))
        assert labels.shape == (70,)
        assert set(labels) <= {0, 1}
