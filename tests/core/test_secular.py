import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from subspaces.core.secular import downdate
from subspaces.subspace import principal_axes
from tests.plain import generic


def downdated_matrix(y, eigenvalues):
    return np.diag(eigenvalues) - np.outer(y, y)


def removed(X, n_components):
    axes = principal_axes(X)
    return axes, downdate(axes.coordinates, axes.eigenvalues, n_components)


@given(st.integers(3, 40), st.integers(2, 30), st.integers(1, 6), st.integers(0, 999))
def test_eigenvalues_and_energies_are_those_of_the_downdated_matrix(n, p, r, seed):
    X = generic(n, p, seed)
    r = min(r, n - 1, p)
    axes, result = removed(X, r)
    for i, y in enumerate(axes.coordinates):
        values, vectors = np.linalg.eigh(downdated_matrix(y, axes.eigenvalues))
        values, vectors = values[::-1][:r], vectors[:, ::-1][:, :r]
        assert_allclose(result.eigenvalues[i], values, atol=1e-12 * axes.eigenvalues[0])
        assert_allclose(result.energies[i], (y @ vectors) ** 2, atol=1e-10 * (y @ y))


def test_eigenvalues_interlace():
    axes, result = removed(generic(30, 8), 7)
    assert np.all(result.eigenvalues <= axes.eigenvalues[:7] * (1 + 1e-14))
    assert np.all(result.eigenvalues >= axes.eigenvalues[1:] * (1 - 1e-14))


def test_energies_and_squared_error_share_the_squared_length():
    axes, result = removed(generic(30, 8, seed=3), 4)
    squared_length = np.sum(axes.coordinates**2, axis=1)
    assert_allclose(result.energies.sum(axis=1) + result.squared_error, squared_length, rtol=1e-12)


def test_zero_coordinates_deflate():
    # Each row lies on two of five axes only, with distinct eigenvalues.
    eigenvalues = np.array([9.0, 7.0, 5.0, 3.0, 2.0])
    y = np.array([[0.0, 1.5, 0.0, 1.0, 0.0], [2.0, 0.0, 0.0, 0.0, 1.0], np.zeros(5)])
    result = downdate(y, eigenvalues, 3)
    for i, row in enumerate(y):
        values, vectors = np.linalg.eigh(downdated_matrix(row, eigenvalues))
        kept = vectors[:, ::-1][:, :3]
        assert_allclose(result.eigenvalues[i], values[::-1][:3], rtol=1e-13)
        assert_allclose(result.squared_error[i], row @ row - np.sum((row @ kept) ** 2), atol=1e-13)


@pytest.mark.parametrize("n_components", [1, 2, 3])
def test_exact_ties(n_components):
    # Every axis has the same eigenvalue, so without a row its own axis comes last.
    X = np.vstack([np.eye(4), -np.eye(4), 2 * np.eye(4)])
    _, result = removed(X, n_components)
    assert_allclose(result.squared_error, np.sum(X**2, axis=1), rtol=1e-13)


def test_the_only_row_along_an_axis_takes_it_away():
    line = np.outer(np.linspace(-2, 3, 10), [1.0, 2.0, 3.0])
    outsider = np.array([3.0, -1.0, 1.0])
    _, result = removed(np.vstack([line, outsider]), 2)
    direction = np.array([1.0, 2.0, 3.0]) / np.sqrt(14)
    assert_allclose(result.squared_error[-1], 11 - (outsider @ direction) ** 2, rtol=1e-12)
    assert_allclose(result.squared_error[:-1], 0, atol=1e-25)
    assert result.eigenvalues[-1, 1] == 0


def test_more_components_than_rank_add_nothing():
    X = generic(12, 3, seed=5) @ np.random.default_rng(6).normal(size=(3, 9))
    two, five = removed(X, 2)[1], removed(X, 5)[1]
    assert_allclose(five.eigenvalues[:, :2], two.eigenvalues, rtol=1e-12)
    assert np.all(five.eigenvalues[:, 3:] == 0)
    assert_allclose(five.squared_error, 0, atol=1e-24)


def test_rows_are_independent_of_the_block_they_are_in():
    axes, together = removed(generic(50, 12, seed=2), 3)
    for i in (0, 17, 49):
        alone = downdate(axes.coordinates[i : i + 1], axes.eigenvalues, 3)
        assert_allclose(alone.squared_error[0], together.squared_error[i], rtol=1e-14)
