"""Tables at the edge of what a PCA can count components in."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from subspaces import PCA
from subspaces.diagnostics import pca_components
from subspaces.pca.table import varying_table
from tests.warned import refuses, warns

X = np.random.default_rng(0).normal(size=(30, 6)) + 1e3


def test_variables_that_do_not_vary_are_left_out():
    wide = np.insert(X, 2, 7.0, axis=1)
    table = varying_table(wide, center=True, scale=True)
    assert table.varies.tolist() == [True, True, False, True, True, True, True]
    assert table.shape == (30, 6)
    assert table.scale[2] == 1.0
    assert table.mean[2] == 7.0
    rows = table.axes.coordinates @ table.axes.basis.T
    assert_allclose(rows, (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), atol=1e-10)
    assert_allclose(table.mean[table.varies], X.mean(axis=0), rtol=1e-14)


def test_equal_values_around_the_origin_are_not_divided_by_nothing():
    wide = np.insert(X, 2, 7.0, axis=1)
    table = varying_table(wide, center=False, scale=True)
    assert table.shape == (30, 7)
    rows = table.axes.coordinates @ table.axes.basis.T
    assert_allclose(rows[:, 2], 7.0, rtol=1e-12)
    assert_array_equal(table.mean, 0.0)
    assert pca_components(wide, center=False, scale=True).n_components >= 1


def test_numbers_that_may_mark_missing_values_are_asked_about():
    marked = X.copy()
    marked[[3, 8], 1] = -999
    with warns("marks"):
        PCA(2).fit(marked)


def test_a_table_that_does_not_vary_has_no_component():
    found = pca_components(np.full((8, 4), 3.0))
    assert (found.n_components, found.n_predictive, found.noise) == (0, 0, "none")
    assert found.conclusion.code == "nothing"


def test_no_number_of_components_is_found_among_none():
    with refuses("max_components", 0):
        pca_components(X, max_components=0)


@pytest.mark.parametrize("rows", [X[:4], X[:, :2], np.insert(X[:, :2], 1, 5.0, axis=1)])
def test_in_a_table_that_is_too_small_the_first_axis_is_the_answer(rows):
    found = pca_components(rows)
    assert (found.n_components, found.low, found.noise) == (1, 0, "unknown")
    assert (found.conclusion.code, found.grade) == ("too_small", "no")


@pytest.mark.parametrize("shape", [(2000, 100), (100, 4000)])
def test_a_fit_takes_three_tables_of_memory_at_most(shape):
    random = np.random.default_rng(0)
    table = random.normal(size=shape) + random.normal(size=(shape[0], 1))
    PCA().fit(table[:50, :50])  # what is loaded on first use
    tracemalloc.start()
    PCA().fit(table)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 3.0 * table.nbytes
