"""Leaving one copy of a weighted row out of mean and axes, against refitting and repeated rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from subspaces.core import loo_projection
from subspaces.core.criteria import costs, own_costs
from subspaces.core.influence import squared_influence_of
from subspaces.core.leave_one_out import centred, left_out
from subspaces.core.likelihood import gaussian_without, median, t_likelihood
from subspaces.core.problem import Problem, view_clusters
from subspaces.core.rows import DenseRows, GramRows
from subspaces.core.secular import copy_of, downdate
from subspaces.subspace import by_weight, principal_axes
from tests.plain import generic

# Off the origin and off the axes; soft, whole and large weights.
X = generic(9, 5) + 3.0
SOFT = np.random.default_rng(1).uniform(0.1, 1.0, 9)
MIXED = np.array([0.3, 2.5, 1.0, 3.0, 0.7, 1.2, 1.0, 5.0, 0.2])
WHOLE = np.array([1.0, 2.0, 1.0, 3.0, 1.0, 1.0, 2.0, 5.0, 2.0])
WEIGHTS = {"soft": SOFT, "mixed": MIXED, "whole": WHOLE}


def refit(weights, i, dimension, affine):
    """Eigenvalues, energies and error of row i under the PCA that lacks one copy of it."""
    left = weights.copy()
    left[i] -= min(left[i], 1.0)
    mean = np.average(X, axis=0, weights=left) if affine else np.zeros(5)
    scatter = (X - mean).T @ (left[:, None] * (X - mean))
    values, vectors = np.linalg.eigh(scatter)
    along = (X[i] - mean) @ vectors[:, ::-1]
    return values[::-1][:dimension], along[:dimension] ** 2, np.sum(along[dimension:] ** 2)


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("dimension", [0, 1, 3])
def test_a_copy_is_left_out_as_by_refitting(weights, affine, dimension):
    axes = principal_axes(by_weight(centred(X, affine, weights), weights))
    found = downdate(axes.coordinates, axes.eigenvalues, dimension, affine, weights)
    errors = left_out(X, dimension, affine=affine, weights=weights).squared_error
    for i in range(9):
        values, energies, error = refit(weights, i, dimension, affine)
        assert_allclose(found.eigenvalues[i], values, rtol=1e-10)
        assert_allclose(found.energies[i], energies, rtol=1e-8, atol=1e-12)
        assert_allclose([found.squared_error[i], errors[i]], error, rtol=1e-10)


@pytest.mark.parametrize("affine", [False, True])
def test_a_row_that_is_nearly_all_is_refitted(affine):
    rows, weights = X.copy(), MIXED.copy()
    rows[4] *= 1e7
    expected = left_out(rows, 1, affine=affine, weights=weights).squared_error[4]
    weights[3] += 1e-12  # another decomposition
    left = np.delete(weights, 4)
    others = np.delete(rows, 4, axis=0)
    mean = np.average(others, axis=0, weights=left) if affine else np.zeros(5)
    axis = np.linalg.svd(by_weight(others - mean, left))[2][0]
    far = rows[4] - mean
    assert_allclose(expected, far @ far - (far @ axis) ** 2, rtol=1e-9)


def test_nothing_is_left_of_a_mean_of_one_row():
    one = np.ones((1, 3))
    for weights, expected in ((None, np.inf), (np.array([0.4]), np.inf), (np.array([2.0]), 0.0)):
        assert left_out(one, 1, affine=True, weights=weights).squared_error[0] == expected


@pytest.mark.parametrize("criterion", ["influence", "hat", "loo", "distance", "likelihood",
                                       "residual", "loo_projection"])  # fmt: skip
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("form", [DenseRows, GramRows])
def test_costs_are_those_of_repeated_rows(criterion, affine, form):
    both = np.vstack([X, generic(9, 5, 7) + 1.0])
    labels, weights = np.repeat([0, 1], 9), np.concatenate([WHOLE, WHOLE[::-1]])
    origin = np.average(both, axis=0, weights=weights)  # of all rows
    again = np.repeat(np.arange(18), weights.astype(int))

    def found(rows, labels, weights):
        held = DenseRows(rows, weights)
        if form is GramRows:
            held = GramRows(rows @ rows.T, weights=weights)
        problem = Problem(held, (1, 2), criterion, affine)
        views = view_clusters(problem, labels)
        return costs(criterion, views, problem.data), t_likelihood(views, problem.data)

    by_weights, total = found(both - origin, labels, weights)
    repeated, expected = found((both - origin)[again], labels[again], None)
    assert_allclose(by_weights[again], repeated, rtol=1e-9)
    assert_allclose(total, expected, rtol=1e-12)


def test_densities_of_soft_weights_are_those_of_the_weights_left():
    """Variances over the weight left, which is also the cluster's share."""
    problem = Problem(DenseRows(X - np.average(X, 0, SOFT), SOFT), (2,), "likelihood", True)
    (view,) = view_clusters(problem, np.zeros(9, dtype=int))
    term, distance = gaussian_without(view, problem.data, 0.3)
    for i in range(9):
        values, energies, error = refit(SOFT, i, 2, affine=True)
        left = SOFT.sum() - SOFT[i]
        variances = np.maximum(values / left, 0.3)
        expected = 0.5 * (3 * np.log(0.3) + np.log(variances).sum()) - np.log(left / SOFT.sum())
        assert_allclose(term[i], expected, rtol=1e-9)
        assert_allclose(distance[i], error / 0.3 + (energies / variances).sum(), rtol=1e-9)


def test_the_influence_of_a_soft_weight_is_that_of_its_share_of_the_spectrum():
    """For one axis ``||x_perp||^2 / (1 - h)^4`` with ``h = u d^2 / s``, whoever is outside."""
    axes = principal_axes(by_weight(X, MIXED))
    scores, rest, spectrum = axes.split(1)
    energies, rest = scores**2 / MIXED[:, None], rest / MIXED
    h = copy_of(MIXED) * energies[:, 0] / spectrum[0]
    found = squared_influence_of(energies, rest, spectrum, True, copy_of(MIXED))
    assert_allclose(found, rest / (1 - h) ** 4)
    found = squared_influence_of(energies, rest, spectrum, False, copy_of(MIXED))
    assert_allclose(found, rest * (1 + h) ** 4)


@pytest.mark.parametrize("affine", [False, True])
def test_projection_of_a_weighted_row_is_that_of_its_copies(affine):
    again = np.repeat(np.arange(9), WHOLE.astype(int))
    basis = np.linalg.qr(generic(5, 2, 3))[0]
    mean = np.average(X, axis=0, weights=WHOLE) if affine else 0.0
    rows = by_weight(X - mean, WHOLE)
    spectrum = np.sum((rows @ basis) ** 2, axis=0)
    found = loo_projection.sparse_errors(rows, basis, spectrum, affine, WHOLE)
    expected = loo_projection.sparse_errors((X - mean)[again], basis, spectrum, affine)
    assert_allclose(found[again], expected, rtol=1e-10)


def test_medians_are_those_of_repeated_values():
    random = np.random.default_rng(0)
    for _ in range(50):
        values, weights = random.normal(size=7), random.integers(1, 4, size=7).astype(float)
        again = np.repeat(values, weights.astype(int))
        assert median(values, weights) == pytest.approx(np.median(again), rel=1e-15)


def test_weights_of_one_change_nothing_in_the_sums():
    labels, problem = np.zeros(9, dtype=int), Problem(DenseRows(X), (2,), "loo", True)
    weighted = Problem(DenseRows(X, np.ones(9)), (2,), "loo", True)
    plain, found = (
        own_costs(costs("loo", view_clusters(each, labels), each.data), labels)
        for each in (problem, weighted)
    )
    assert_allclose(found, plain, rtol=1e-12)
