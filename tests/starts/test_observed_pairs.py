"""Angles over common cells: against a loop, and as a start that finds planes through holes."""

import numpy as np
from numpy.testing import assert_allclose

from subspaces.core.incomplete import observed_cells
from subspaces.datasets import make_subspaces
from subspaces.metrics import matched_accuracy
from subspaces.starts.observed_pairs import observed_cosines, observed_pairs


def test_cosines_are_those_of_the_common_cells():
    random = np.random.default_rng(0)
    X = random.normal(size=(12, 6)) + 0.5
    X[random.random(X.shape) < 0.4] = np.nan
    X[0], X[1] = np.nan, np.nan
    X[0, 0] = X[1, 1] = 1.0  # no common cell
    found = observed_cosines(observed_cells(X))
    seen = ~np.isnan(X)
    common = seen.astype(int) @ seen.astype(int).T
    usual = np.median(common)
    for i in range(12):
        for k in range(12):
            both = seen[i] & seen[k]
            expected = 0.0
            if both.any():
                a, b = X[i, both], X[k, both]
                expected = abs(a @ b) / np.sqrt((a @ a) * (b @ b))
                expected *= np.sqrt(min(both.sum() / usual, 1.0))
            assert_allclose(found[i, k], expected, rtol=1e-12, atol=1e-15)


def test_planes_are_found_through_holes():
    union = make_subspaces([60, 60], 20, [2, 2], noise=0.05, random_state=0)
    holes = np.random.default_rng(0).random(union.data.shape) < 0.2
    cells = observed_cells(np.where(holes, np.nan, union.data))
    labels = observed_pairs(cells, 2, np.random.default_rng(0))
    assert matched_accuracy(union.target, labels) > 0.95
