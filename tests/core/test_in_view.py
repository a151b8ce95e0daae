"""Rows in view: runs with the compiled twins are the plain runs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from subspaces import PSC
from subspaces.core.criteria import names
from subspaces.core.in_view import RowsInView
from subspaces.core.loop import alternate
from subspaces.core.problem import Problem
from subspaces.core.rows import GramRows
from subspaces.datasets import make_subspaces
from subspaces.kernels import compiled
from tests.plain import plain_code

needs_kernels = pytest.mark.skipif(compiled("gram") is None, reason="the kernels are not built")
LEADING = ("influence", "residual", "hat")
# n, p, dimensions, noise: few and many members, a cluster that is a point
SHAPES = [(60, 200, (2, 2, 2), 0.05), (120, 130, (1, 3), 0.3), (90, 150, (0, 2, 4), 0.2)]


def posed(shape, criterion, affine=False, seed=0):
    n, p, dimensions, noise = shape
    sizes = [len(part) for part in np.array_split(np.arange(n), len(dimensions))]
    given = {"noise": noise, "offset": 1.0, "random_state": seed}
    X = make_subspaces(sizes, p, [max(r, 1) for r in dimensions], **given).data
    X = X - X.mean(axis=0) if affine else X
    dimensions = dimensions if affine else tuple(max(r, 1) for r in dimensions)
    return Problem(GramRows(X @ X.T), dimensions, criterion, affine)


def first(problem, seed):
    n = len(problem.rows.squared_norms)
    return np.random.default_rng(seed).permutation(np.arange(n) % problem.n_clusters)


def run(samples, seed=0):
    random = np.random.default_rng(seed)
    return alternate(samples, first(samples.problem, seed), max_iter=20, random=random)


@needs_kernels
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("criterion", LEADING)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_run_that_follows_leading_axes_is_the_plain_run(shape, criterion, affine):
    problem = posed(shape, criterion, affine)
    fast = RowsInView(problem)
    with plain_code():
        plain = RowsInView(problem)
    assert (fast._compiled is None, plain._compiled is None) == (False, True)
    for seed in range(3):
        found, expected = run(fast, seed), run(plain, seed)
        assert_array_equal(found.labels, expected.labels)
        assert_allclose(found.path, expected.path, rtol=1e-6)
        assert (found.stop_reason, found.repairs) == (expected.stop_reason, expected.repairs)


@pytest.mark.parametrize("criterion", names(dense=True))
def test_nothing_of_one_run_is_seen_in_the_next(criterion):
    problem = posed(SHAPES[0], criterion)
    shared = RowsInView(problem)
    for seed in (0, 1, 0):
        found, alone = run(shared, seed), run(RowsInView(problem), seed)
        assert found.path == alone.path
        assert_array_equal(found.labels, alone.labels)


def test_a_cluster_that_was_met_before_is_not_fitted_again():
    problem = posed(SHAPES[0], "loo")
    samples = RowsInView(problem)
    once = samples.views(first(problem, 0))
    again = samples.views(first(problem, 0))
    assert all(a is b for a, b in zip(once, again, strict=True))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("criterion", ["influence", "loo"])
def test_threads_change_nothing(criterion):
    X = make_subspaces([30, 30, 30], 100, [2, 2, 2], noise=0.2, random_state=0).data
    given = {"criterion": criterion, "init": "random", "n_init": 6, "random_state": 0}
    fits = [PSC(3, n_components=2, n_jobs=jobs, **given).fit(X) for jobs in (1, 2, 3)]
    for other in fits[1:]:
        assert_array_equal(fits[0].labels_, other.labels_)
        assert fits[0].starts_ == other.starts_
