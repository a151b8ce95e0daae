"""Subspaces through the origin where the samples lie far from it."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_digits

from subspaces import PSC, KSubspaces
from subspaces.datasets import make_subspaces
from subspaces.psc.doubts import clusters_of_levels
from tests.warned import warns

UNION = make_subspaces([60] * 3, 20, [2] * 3, noise=0.1, random_state=0).data


@pytest.mark.parametrize("cls", [PSC, KSubspaces])
@pytest.mark.parametrize("shift", [1.0, 3.0])
def test_a_mean_far_from_the_origin_is_told(cls, shift):
    model = cls(3, n_components=2, n_init=3, random_state=0)
    with warns("far_mean"):
        model.fit(UNION + shift)
    model.fit(UNION)
    model.set_params(affine=True).fit(UNION + shift)


def test_it_is_told_of_many_rows():
    rows = make_subspaces([6000] * 2, 6, [1] * 2, noise=0.1, random_state=0).data
    model = PSC(2, n_init=2, random_state=0).fit(rows)
    with warns("far_mean"):
        model.fit(rows + 5)


def test_images_with_a_large_mean_are_not_doubted():
    """Digits lie on subspaces through the origin: their mean holds .69 of the sum of squares."""
    digits = load_digits()
    few = digits.data[digits.target < 3]
    PSC(3, n_components=5, n_init=3, random_state=0).fit(few)


def test_a_constant_column_that_is_not_zero_is_told():
    model = PSC(3, n_components=2, n_init=3, random_state=0)
    X = np.column_stack([UNION, np.ones(len(UNION)), np.zeros(len(UNION))])
    said = r"column 20 is constant and not 0, .* Use affine=True, or leave it out"
    with pytest.warns(UserWarning, match=said):
        model.fit(X)
    names = [f"v{j}" for j in range(22)]
    with pytest.warns(UserWarning, match="'v20' is constant and not 0"):
        model.fit(pd.DataFrame(X, columns=names))
    model.set_params(affine=True).fit(X)


@pytest.mark.filterwarnings("ignore::subspaces.messages.DataWarning")
def test_an_axis_of_levels_is_known_from_the_model():
    def levels(model):
        return clusters_of_levels(model.subspaces_, model.cluster_means_, model.fit_.sizes)

    model = PSC(3, n_components=2, n_init=3, random_state=0)
    assert levels(model.fit(UNION)) == []
    assert_array_equal(levels(model.fit(UNION + 3)), [0, 1, 2])
    assert levels(model.set_params(affine=True).fit(UNION + 3)) == []
