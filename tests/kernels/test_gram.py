"""The compiled axes of clusters known by inner products, against LAPACK's."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from subspaces.core.rows import GramRows
from subspaces.datasets import make_subspaces

compiled = pytest.importorskip("subspaces.kernels.gram")

# n, p, dimensions, noise: clusters of a few members, of tens and of hundreds
SHAPES = [
    (38, 200, (2, 2, 2), 0.02),
    (100, 200, (1, 3, 2, 4), 0.3),
    (250, 300, (3,) * 6, 0.05),
    (90, 150, (0, 2, 1), 0.1),
    (203, 300, (5, 6, 7), 0.3),
    (600, 700, (5, 2), 1.0),
    (120, 40, (2, 3), 0.0),
]


def inner_products(n, p, dimensions, noise, affine=False, seed=0):
    sizes = [len(part) for part in np.array_split(np.arange(n), len(dimensions))]
    offset = 1.0 if affine else 0.0
    drawn = [max(r, 1) for r in dimensions]
    X = make_subspaces(sizes, p, drawn, noise=noise, offset=offset, random_state=seed).data
    return X @ X.T


def random_labels(n, n_clusters, seed=0):
    return np.random.default_rng(seed).permutation(np.arange(n) % n_clusters)


def fitter(gram, dimensions, affine=False):
    return compiled.GramSubspaces(gram, np.diag(gram).copy(), dimensions, affine)


def assert_plain(fit, gram, labels, dimensions, affine=False):
    """What was fitted is what LAPACK finds in the members' inner products."""
    rows, norms, longest = GramRows(gram), np.diag(gram), np.diag(gram).max()
    for k, n_components in enumerate(dimensions):
        if not np.any(labels == k):
            assert (fit.found[k], fit.sizes[k]) == (0, 0)
            assert_array_equal(fit.residual[k], norms)
            continue
        view = rows.view(np.flatnonzero(labels == k), n_components, affine)
        r, unit = view.n_components, max(view.eigenvalues.max(initial=0.0), 1e-300)
        assert (fit.found[k], fit.sizes[k]) == (r, view.size)
        assert_allclose(fit.spectra[k, :r] / unit, view.spectrum / unit, atol=1e-12)
        assert np.all(fit.spectra[k, r:] == 1.0)
        assert np.all(fit.scores[k, r:] == 0.0)
        difference = fit.scores[k, :r] ** 2 - view.scores.T**2
        assert np.all(np.abs(difference) <= 1e-9 * longest)
        assert np.all(fit.residual[k] >= 0.0)
        assert_allclose(fit.residual[k], view.squared_residual, rtol=0, atol=1e-9 * longest)


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_fit_along_a_run_is_that_of_lapack(shape, affine):
    dimensions = shape[2]
    gram = inner_products(*shape, affine=affine)
    fit, labels = fitter(gram, dimensions, affine), random_labels(len(gram), len(dimensions))
    for _ in range(8):
        fit.fit(labels)
        assert_plain(fit, gram, labels, dimensions, affine)
        moved = fit.residual.argmin(axis=0)
        few = np.bincount(moved, minlength=len(dimensions)) < np.add(dimensions, 2)
        labels = np.where(few[labels] | few[moved], labels, moved)


def test_subspaces_far_from_the_origin_are_found_as_exactly():
    rows = make_subspaces([60, 60], 100, [2, 2], noise=0.2, random_state=0).data
    near, far = rows @ rows.T, (rows + 300.0) @ (rows + 300.0).T
    here, there = fitter(near, (2, 2), True), fitter(far, (2, 2), True)
    labels = random_labels(120, 2)
    for _ in range(4):
        for each in (here, there):
            each.fit(labels)
        # The inner products themselves have lost as much.
        lost = 1e-14 * far.max()
        assert_allclose(there.spectra, here.spectra, rtol=0, atol=100 * lost)
        assert_allclose(there.residual, here.residual, rtol=0, atol=10 * lost)
        labels = here.residual.argmin(axis=0)


def test_an_axis_that_outgrows_those_followed_is_not_missed():
    # The guess lies in the first of three orthogonal groups, and so does all that grows from it.
    random = np.random.default_rng(0)
    X = np.zeros((90, 120))
    for group, scale in enumerate((1.0, 1.0, 3.0)):
        inside = slice(30 * group, 30 * group + 30)
        X[inside, 40 * group : 40 * group + 40] = scale * random.normal(size=(30, 40))
    gram, labels = X @ X.T, np.repeat([0, 1, 1], 30)
    fit = fitter(gram, (2, 2))
    fit.fit(labels)
    labels = np.repeat([0, 1, 0], 30)
    fit.fit(labels)
    assert_plain(fit, gram, labels, (2, 2))


def test_only_clusters_that_changed_are_fitted_and_results_stay_where_they_are():
    gram = inner_products(*SHAPES[2])
    fit, labels = fitter(gram, SHAPES[2][2]), random_labels(250, 6)
    fit.fit(labels)
    results = fit.scores, fit.residual, fit.spectra, fit.found, fit.sizes
    fit.scores[:] = np.nan
    labels[np.flatnonzero(labels == 0)[:3]] = 1
    fit.fit(labels)
    assert np.isfinite(fit.scores).all(axis=(1, 2)).tolist() == [True, True] + [False] * 4
    now = fit.scores, fit.residual, fit.spectra, fit.found, fit.sizes
    assert all(a is b for a, b in zip(results, now, strict=True))


def test_a_run_leaves_nothing_to_the_next():
    gram = inner_products(*SHAPES[2])
    fit, fresh = fitter(gram, SHAPES[2][2]), fitter(gram, SHAPES[2][2])
    for seed in (1, 2, 3):
        fit.fit(random_labels(250, 6, seed))
    fit.forget()
    for seed in (4, 5):
        for each in (fit, fresh):
            each.fit(random_labels(250, 6, seed))
        assert_array_equal(fit.scores, fresh.scores)
        assert_array_equal(fit.residual, fresh.residual)


@pytest.mark.parametrize("affine", [False, True])
def test_clusters_may_be_empty_alone_or_at_one_point(affine):
    # Integers, and sixteen of them at each point: their means are exact.
    X = np.random.default_rng(0).integers(-9, 10, size=(53, 80)).astype(float)
    X[20:36], X[36:52] = X[20], 0.0
    gram, dimensions = X @ X.T, (2, 2, 2, 1, 2)
    fit, labels = fitter(gram, dimensions, affine), np.repeat([0, 1, 2, 3], [20, 16, 16, 1])
    for _ in range(2):
        fit.fit(labels)
        assert_plain(fit, gram, labels, dimensions, affine)
        labels[labels == 0] = 4


@pytest.mark.parametrize("scale", [1e-150, 1e-70, 1e70, 1e150])
def test_units_do_not_matter(scale):
    gram = inner_products(*SHAPES[2])
    here, there = fitter(gram, SHAPES[2][2]), fitter(gram * scale, SHAPES[2][2])
    for seed in (0, 1):
        labels = random_labels(250, 6, seed)
        labels[:200] = np.repeat(np.arange(6), 42)[:200]
        for each in (here, there):
            each.fit(labels)
        assert_allclose(there.spectra / scale, here.spectra, rtol=1e-9)
        assert_allclose(there.residual / scale, here.residual, rtol=1e-7, atol=1e-9)
