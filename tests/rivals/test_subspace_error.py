import numpy as np
import pytest
from numpy.testing import assert_allclose

from subspaces.rivals.subspace_error import mean_squared_distance
from subspaces.subspace import fit_subspace, squared_residual
from tests.plain import generic


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("p", [4, 30])
def test_is_the_mean_residual_of_fitted_flats(affine, p):
    points = generic(40, p)
    labels = np.arange(40) % 3
    left = 0.0
    for k in range(3):
        flat = fit_subspace(points[labels == k], 2, affine=affine)
        left += squared_residual(points[labels == k], flat).sum()
    assert_allclose(mean_squared_distance(points, labels, 2, affine=affine), left / 40)


def test_nothing_is_left_of_too_few_points():
    assert mean_squared_distance(generic(3, 5), np.array([0, 0, 1]), 2, affine=True) < 1e-15
    assert mean_squared_distance(generic(9, 2), np.zeros(9, dtype=int), 3, affine=False) == 0.0
