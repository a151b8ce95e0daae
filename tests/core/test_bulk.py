"""p-values of samples among the bulk of the residuals: against refits and the formulas."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from subspaces.core.bulk import bulk_of, flagged, squares_of
from subspaces.datasets import make_subspaces
from subspaces.subspace import principal_axes, subspaces_of

UNION = make_subspaces([14, 12], 6, [2, 1], noise=0.1, offset=3.0, random_state=0)
X, LABELS = UNION.data, UNION.target.astype(int)
SOME = LABELS.copy()
SOME[[0, 5, 20]] = -1


def distance_from_the_pca_of(others, row, dimension, affine):
    centre = others.mean(axis=0) if affine else 0.0
    basis = principal_axes(others - centre).basis[:, :dimension]
    rest = row - centre - basis @ (basis.T @ (row - centre))
    return rest @ rest


@pytest.mark.parametrize("affine", [False, True])
def test_members_are_as_far_as_from_a_refit_without_them(affine):
    dimensions = [2, 1]
    subspaces = subspaces_of(X, SOME, dimensions, affine)[0]
    found = squares_of(X, SOME, subspaces, affine=affine)
    for i, label in enumerate(SOME.tolist()):
        for k, r in enumerate(dimensions):
            others = (np.arange(len(X)) != i) & (k == SOME)
            far = distance_from_the_pca_of(X[others], X[i], r, affine)
            assert found[i, k] == (pytest.approx(far) if label in (k, -1) else np.inf)


def test_p_values_are_those_of_the_formula():
    squares = np.random.default_rng(0).chisquare(8, size=(26, 2)) * [1.0, 9.0]
    squares[LABELS == 0, 1] = squares[LABELS == 1, 0] = np.inf
    squares[5] = [60.0, 60.0]  # near the wide cluster, far from the narrow one
    bulk, p = bulk_of(squares, LABELS, 0.1, 1.0)
    medians = [np.median(squares[k == LABELS, k]) for k in (0, 1)]
    v = np.min(squares / medians, axis=1) ** (1 / 3)
    m = np.median(v)
    s = max(m - np.quantile(v, 0.159), (m - np.quantile(v, 0.067)) / 1.5)
    assert_allclose(p, stats.t.sf((v - m) / s, 12))
    assert bulk.threshold == pytest.approx(0.1 / 26)
    # Once some are set aside, the spread is also that of all others, and they alone count.
    labels = np.where(np.arange(26) < 3, -1, LABELS)
    kept = labels >= 0
    _, p = bulk_of(squares, labels, 0.1, 1.0)
    medians = [np.median(squares[labels == k, k]) for k in (0, 1)]
    v = np.min(squares / medians, axis=1) ** (1 / 3)
    m = np.median(v[kept])
    s = max(m - np.quantile(v[kept], 0.159), np.sqrt(np.mean((v[kept] - m) ** 2)))
    assert_allclose(p, stats.t.sf((v - m) / s, 23 / 2 - 1))


def test_quantiles_of_the_smallest_are_those_of_all():
    squares = np.random.default_rng(0).chisquare(18, size=(4000, 1))
    order = np.argsort(squares[:, 0])
    labels = np.full(4000, -1)
    labels[order[:2800]] = 0
    cut, _ = bulk_of(squares, labels, 0.1, 1.0, share=0.7)
    whole, p = bulk_of(squares, np.zeros(4000, dtype=int), 0.1, 1.0)
    assert cut.middle == pytest.approx(whole.middle, rel=1e-3)
    assert cut.spread == pytest.approx(whole.spread, rel=0.05)
    assert np.mean(p < 0.05) == pytest.approx(0.05, abs=0.01)


def test_residuals_that_are_rounding_errors_are_no_outliers():
    squares = 1e-31 * np.random.default_rng(0).lognormal(0.0, 2.0, size=(50, 1))
    squares[7] = 1e-6
    _, p = bulk_of(squares, np.zeros(50, dtype=int), 0.1, 1.0)
    assert_array_equal(np.flatnonzero(p < 0.01), [7])


@pytest.mark.parametrize("seed", range(5))
def test_flagged_are_those_of_the_largest_rejected_p(seed):
    random = np.random.default_rng(seed)
    p = np.concatenate([random.random(40), random.random(12) / 60])
    n, level = len(p), 0.1
    largest = max((t for t in p if t <= level * np.sum(p <= t) / n), default=-1.0)
    assert_array_equal(flagged(p, level, n), p <= largest)
    few = flagged(p, level, 3)
    assert_array_equal(np.sort(p[few]), np.sort(p)[:3])
