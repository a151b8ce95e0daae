import numpy as np
import pytest
from numpy.testing import assert_allclose

from subspaces.pca.components import all_axes
from subspaces.pca.leave_one_cell_out import cell_errors


def table(n, p, rank, seed, noise=0.4):
    random = np.random.default_rng(seed)
    signal = random.normal(size=(n, rank)) @ random.normal(size=(rank, p))
    return signal + noise * random.normal(size=(n, p)) + 5.0 * random.normal(size=p)


def fitted(X, r, center):
    mean = X.mean(axis=0) if center else 0.0
    left, singular, right = np.linalg.svd(X - mean, full_matrices=False)
    return mean + (left[:, :r] * singular[:r]) @ right[:r]


def left_out(X, r, center):
    """The squared error of each cell, by finding the value that its own fit has there."""
    errors = np.empty(X.shape)
    for i, j in np.ndindex(X.shape):
        filled = X.copy()
        z, before = fitted(X, r, center)[i, j], None
        for _ in range(500):
            filled[i, j] = z
            image = fitted(filled, r, center)[i, j]
            if abs(image - z) < 1e-11 * (1.0 + abs(z)):
                break
            # A secant step, since plain repetition creeps where the leverage nears one.
            slope = (
                0.0 if before is None or z == before[0] else (image - before[1]) / (z - before[0])
            )
            before, z = (z, image), z + (image - z) / (1.0 - np.clip(slope, -0.9, 0.98))
        errors[i, j] = (X[i, j] - z) ** 2
    return errors


def curves(X, center, most, **options):
    centre = X.mean(axis=0) if center else 0.0
    return list(cell_errors(all_axes(X - centre), most, center=center, **options))


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("shape", [(14, 6), (7, 12)])
def test_leverage_is_the_derivative_of_the_fit_with_respect_to_the_cell(shape, center):
    X = table(*shape, 2, seed=1)
    step = 1e-5
    for r, errors in enumerate(curves(X, center, 3)):
        residual = X - fitted(X, r, center)
        for i, j in [(0, 0), (3, 2), (6, 5), (2, 4)]:
            up, down = X.copy(), X.copy()
            up[i, j] += step
            down[i, j] -= step
            derivative = (fitted(up, r, center)[i, j] - fitted(down, r, center)[i, j]) / (2 * step)
            assert_allclose(errors[i, j], residual[i, j] / (1.0 - derivative), rtol=1e-5)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize(("shape", "rank"), [((18, 9), 1), ((22, 12), 2), ((12, 20), 2)])
def test_errors_are_those_of_refitting_without_the_cell(shape, rank, center):
    X = table(*shape, rank, seed=4)
    X = X if center else X - X.mean(axis=0)
    for r, most in ((rank, 0.03), (rank + 1, 0.05)):
        plain = np.sqrt(left_out(X, r, center))
        errors = np.abs(curves(X, center, r)[r])
        assert np.median(np.abs(errors - plain) / plain) < most


def test_without_axes_the_mean_is_left_out():
    X = table(15, 9, 2, seed=2)
    assert_allclose(curves(X, True, 0)[0], (X - X.mean(axis=0)) / (1.0 - 1.0 / 15))
    assert_allclose(curves(X, False, 0)[0], X)


def test_without_curvature_it_is_the_estimate_of_josse_and_husson():
    X = table(15, 9, 2, seed=2)
    n = len(X)
    left, _, right = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    rows, columns = np.sum(left[:, :2] ** 2, axis=1), np.sum(right[:2] ** 2, axis=0)
    leverage = 1 / n + rows[:, None] + (1 - 1 / n) * columns - np.outer(rows, columns)
    expected = (X - fitted(X, 2, True)) / (1.0 - leverage)
    assert_allclose(curves(X, True, 2, curved=False)[2], expected, rtol=1e-10)


def test_some_rows_are_those_of_all():
    X = table(30, 10, 2, seed=3)
    rows = np.array([3, 7, 21])
    for some, every in zip(curves(X, True, 4, rows=rows), curves(X, True, 4), strict=True):
        assert_allclose(some, every[rows], rtol=1e-12)


def test_equal_eigenvalues_do_not_divide_by_zero():
    X = np.vstack([np.eye(6), -np.eye(6)])
    assert np.all(np.isfinite(curves(X, False, 4)))
