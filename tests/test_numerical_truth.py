"""Against arithmetic with 50 digits, where float64 has little to spare.

The tolerances here are those that docs/develop/what_was_tested.md states.
"""

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf
from scipy import sparse

from subspaces import PSC, KSubspaces, MiniBatchPSC, load
from subspaces.core.partition import assign
from subspaces.core.rows import DenseRows
from subspaces.datasets import make_subspaces
from subspaces.diagnostics import pca_press
from subspaces.metrics import matched_accuracy
from subspaces.subspace import Subspace, principal_axes, squared_residual

RESIDUAL, LEFT_OUT, EIGENVALUE = 1e-9, 1e-8, 1e-13


@pytest.fixture(autouse=True)
def fifty_digits():
    with mp.workdps(50):
        yield


def exact(rows):
    return mpmath.matrix([[mpf(float(value)) for value in row] for row in rows])


def exact_axes(rows, r):
    """The leading eigenvectors of the scatter, and all eigenvalues, the largest first."""
    X = exact(rows)
    values, vectors = mp.eigsy(X.T * X)
    order = sorted(range(len(values)), key=lambda j: -values[j])
    basis = mpmath.matrix([[vectors[i, j] for j in order[:r]] for i in range(X.cols)])
    return basis, [values[j] for j in order]


def exact_residual(row, basis):
    x = exact([row]).T
    rest = x - basis * (basis.T * x)
    return sum(value**2 for value in rest)


def relative(found, true):
    return float(abs((mpf(float(found)) - true) / true))


@pytest.mark.parametrize("share", [1e-2, 1e-5, 1e-8])
def test_the_residual_of_rows_near_their_plane(share):
    """``||x||^2 - sum d^2`` keeps nothing of a residual of 1e-16 ||x||^2; ours does."""
    random = np.random.default_rng(0)
    plane = np.linalg.qr(random.normal(size=(5, 2)))[0]
    rows = random.normal(size=(12, 2)) @ plane.T
    off = random.normal(size=(12, 5))
    rows = rows + share * (off - off @ plane @ plane.T)
    flat = Subspace(np.zeros(5), plane, np.ones(2))
    true = [exact_residual(row, exact(plane)) for row in rows]
    own = squared_residual(rows, flat)
    worst = max(relative(f, t) for f, t in zip(own, true, strict=True))
    assert worst < RESIDUAL if share > 1e-6 else worst < 1e-6
    naive = np.sum(rows**2, axis=1) - np.sum((rows @ plane) ** 2, axis=1)
    lost = max(relative(f, t) for f, t in zip(naive, true, strict=True))
    assert lost > 10 * worst
    assert lost > 1.0 or share > 1e-6


@pytest.mark.parametrize("share", [1e-2, 1e-6])
def test_the_view_of_a_cluster(share):
    random = np.random.default_rng(1)
    plane = np.linalg.qr(random.normal(size=(4, 2)))[0]
    rows = random.normal(size=(10, 2)) @ plane.T + share * random.normal(size=(10, 4))
    view = DenseRows(rows).view(np.arange(10), 2, False)
    basis, values = exact_axes(rows, 2)
    true = [exact_residual(row, basis) for row in rows]
    found = view.squared_residual
    assert max(relative(f, t) for f, t in zip(found, true, strict=True)) < (
        RESIDUAL if share > 1e-4 else 1e-6
    )
    assert relative(view.eigenvalues[0], values[0]) < EIGENVALUE


@pytest.mark.parametrize("far", [1.0, 1e3, 1e6])
def test_leave_one_out_as_the_leverage_nears_one(far):
    """One row ever further out claims an axis for itself; without it the axis is another."""
    random = np.random.default_rng(2)
    rows = random.normal(size=(8, 3)) * [3.0, 1.0, 0.3]
    rows[0] = [0.1, far, 0.2]
    found = pca_press(rows, 1, center=False, method="exact").per_sample
    for i in range(len(rows)):
        basis, _ = exact_axes(np.delete(rows, i, axis=0), 1)
        assert relative(found[i], exact_residual(rows[i], basis)) < LEFT_OUT


def test_repeated_eigenvalues():
    """Which axes they get is open; what they span, and what is left of a row, is not."""
    rotation = np.linalg.qr(np.random.default_rng(3).normal(size=(4, 4)))[0]
    rows = np.vstack([np.eye(4) * [2, 2, 1, 1], -np.eye(4) * [2, 2, 1, 1]]) @ rotation.T
    axes = principal_axes(rows)
    np.testing.assert_allclose(axes.eigenvalues, [8, 8, 2, 2], rtol=EIGENVALUE)
    basis, _ = exact_axes(rows, 2)
    flat = Subspace(np.zeros(4), axes.basis[:, :2], axes.eigenvalues[:2])
    for row, found in zip(rows, squared_residual(rows, flat), strict=True):
        assert abs(mpf(float(found)) - exact_residual(row, basis)) < 1e-14


def test_ties_stay_where_they_are_or_go_to_the_first():
    diagonal = np.array([[1.0, 1.0], [-3.0, 3.0], [0.0, 0.0]])
    costs = np.column_stack([diagonal[:, 1] ** 2, diagonal[:, 0] ** 2])
    assert assign(costs).tolist() == [0, 0, 0]
    assert assign(costs, np.array([1, 0, 1])).tolist() == [1, 0, 1]


@pytest.mark.parametrize("estimator", [PSC, KSubspaces])
def test_a_mean_of_1e8_and_unit_variance(estimator):
    """Labels are right where the naive formula for the distances has no correct digit left."""
    union = make_subspaces(120, 4, [1, 1], noise=0.02, offset=3.0, random_state=0)
    X = union.data + 1e8
    model = estimator(2, n_components=1, affine=True, random_state=0).fit(X)
    assert matched_accuracy(union.target, model.labels_) > 0.97
    naive, own, true = [], [], []
    for k, flat in enumerate(model.subspaces_):
        rows, basis = X[model.labels_ == k][:5], exact(flat.basis)
        scores = (rows - flat.centre) @ flat.basis
        squared = np.sum(rows**2, axis=1) - 2 * rows @ flat.centre + flat.centre @ flat.centre
        naive.extend(squared - np.sum(scores**2, axis=1))
        own.extend(squared_residual(rows, flat))
        centre = exact([flat.centre])
        for row in rows:
            x = (exact([row]) - centre).T
            true.append(sum(value**2 for value in x - basis * (basis.T * x)))
    errors = [abs(mpf(float(f)) - t) for f, t in zip(own, true, strict=True)]
    assert max(errors) < 1e-7 * float(max(true))
    assert max(abs(mpf(float(f)) - t) for f, t in zip(naive, true, strict=True)) > max(true)


def streamed(X, **settings):
    model = MiniBatchPSC(2, **settings)
    for batch in np.array_split(X, 4):
        model.partial_fit(batch)
    return model


PASSES = {
    "PSC": lambda X, **settings: PSC(2, **settings).fit(X),
    "KSubspaces": lambda X, **settings: KSubspaces(2, **settings).fit(X),
    "MiniBatchPSC": lambda X, **settings: MiniBatchPSC(2, **settings).fit(X),
    "partial_fit": streamed,
}


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("name", "p"), [*((name, 8) for name in PASSES), ("PSC", 210), ("MiniBatchPSC", 210)]
)
def test_a_mean_of_1e8_in_passes(name, p, kind):
    """Crossing planes: nothing but their directions tells them apart.

    The values are multiples of what a number of the type has as its last digit at 1e8, or of more.
    """
    n = 10_002 if name in ("PSC", "KSubspaces") else 3000  # streams pass over any number
    union = make_subspaces(n, p, [2, 2], noise=0.05, random_state=0)
    order = np.random.default_rng(0).permutation(len(union.data))
    last = 8.0 if kind is np.float32 else 2.0**-7
    near = last * np.rint(100.0 * union.data[order])
    settings = {"n_components": 2, "affine": True, "n_init": 2, "random_state": 0}
    settings["init"] = "k-means++"
    expected = PASSES[name](near, **settings)
    far = (near + 1e8).astype(kind)
    model = PASSES[name](far, **settings)
    assert matched_accuracy(union.target[order], expected.predict(near)) > 0.97
    np.testing.assert_array_equal(model.predict(far), expected.predict(near))
    for one, other in zip(model.subspaces_, expected.subspaces_, strict=True):
        np.testing.assert_allclose(one.centre - 1e8, other.centre, atol=1e-3 * last)


def left_out(rows, n_components, center):
    """Squared leave-one-out errors by refitting."""
    errors = []
    for i, row in enumerate(rows):
        others, x = exact(np.delete(rows, i, axis=0)), exact([row])
        if center:
            mean = [sum(others[a, j] for a in range(others.rows)) for j in range(others.cols)]
            mean = mpmath.matrix([[value / others.rows for value in mean]])
            x = x - mean
            for a in range(others.rows):
                others[a, :] = others[a, :] - mean
        values, vectors = mp.eigsy(others.T * others)
        order = sorted(range(len(values)), key=lambda j: -values[j])[:n_components]
        basis = mpmath.matrix([[vectors[j, r] for r in order] for j in range(x.cols)])
        rest = x.T - basis * (basis.T * x.T) if order else x.T
        errors.append(sum(value**2 for value in rest))
    return errors


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("far", [1e6, 1e8, 1e9, 1e12])
@pytest.mark.parametrize("n_far", [1, 2])
def test_one_or_two_rows_far_larger_than_all_others(n_far, far, dimension, center):
    """Their own errors, and those of the others in their shade."""
    rows = np.random.default_rng(3).normal(size=(9, 5))
    rows[:n_far] *= far
    found = pca_press(rows, dimension, center=center).per_sample
    true = left_out(rows, dimension, center)
    off = [relative(f, t) for f, t in zip(found, true, strict=True)]
    # The others are known beside the large row's direction, which is rounded; a mean that holds a
    # large row is rounded to the digits of that row.
    rounded = (1e-14 if center else 1e-17) * far
    assert max(off) < LEFT_OUT + rounded
    assert n_far > 1 or off[0] < LEFT_OUT


@pytest.mark.parametrize("dimension", [0, 1, 2])
def test_rows_far_from_the_origin_keep_what_tells_them_apart(dimension):
    """A direction 1e13 times the spread: an uncentred PCA still errs by the spread, not by 0."""
    rows = np.random.default_rng(4).normal(size=(9, 5)) + 1e13
    found = pca_press(rows, dimension, center=False).per_sample
    true = left_out(rows, dimension, False)
    # The values themselves are known to 1e13 eps = 0.002.
    assert max(relative(f, t) for f, t in zip(found, true, strict=True)) < 0.05
    centred = pca_press(rows, dimension, center=True).per_sample
    true = left_out(rows, dimension, True)
    assert max(relative(f, t) for f, t in zip(centred, true, strict=True)) < LEFT_OUT


def test_what_lies_below_the_rounding_of_the_largest_is_not_dropped():
    """So many rows that the usual cut of small singular values would take the spread with it."""
    rows = np.random.default_rng(0).normal(size=(400, 300)) + 1e13
    error = pca_press(rows, 1, center=False).per_sample[0]
    assert error == pytest.approx(312.0, rel=0.01)
    squared = np.sum(rows**2, axis=1)
    none = pca_press(rows, 0, center=False).per_sample
    np.testing.assert_allclose(none, squared, rtol=1e-12)


def test_a_large_row_on_the_axis_of_the_others_is_predicted():
    """Its leverage is 1 - 6e-12, and yet the others span its axis."""
    errors = pca_press([[1e6], [1.0], [2.0], [-1.0]], 1, center=False).per_sample
    np.testing.assert_array_equal(errors, 0.0)


def as_dask(X):
    return pytest.importorskip("dask.array").from_array(X, chunks=(100, -1))


def faint_union(n, p, noise, affine, seed=5):
    """Two planes, off the origin if affine, with noise of a given sd; and the labels."""
    random = np.random.default_rng(seed)
    target = np.arange(n) % 2
    bases, centres = random.normal(size=(2, 2, p)), 3.0 + random.normal(size=(2, p))
    X = np.einsum("ir,irj->ij", random.normal(size=(n, 2)), bases[target])
    return X + affine * centres[target] + noise * random.normal(size=(n, p)), target


def noise_by_svd(X, labels, r, affine):
    """Squared singular values beyond the first r, over the degrees of freedom."""
    rank = np.linalg.matrix_rank(X - X.mean(axis=0) if affine else X)
    energy = freedom = 0.0
    for k in np.unique(labels):
        own = X[labels == k]
        own = own - own.mean(axis=0) if affine else own
        energy += np.sum(np.linalg.svd(own, compute_uv=False)[r:] ** 2)
        freedom += (len(own) - affine) * (rank - r)
    return energy / freedom


@pytest.mark.parametrize("noise", [1e-3, 1e-5, 1e-6, 1e-7])
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize(
    ("cast", "n", "p"),
    [
        (np.asarray, 300, 20),
        (np.asarray, 60, 300),
        (np.asarray, 120, 80),
        (sparse.csr_array, 300, 20),
        (sparse.csr_array, 400, 210),
        (as_dask, 300, 20),
    ],
)
def test_faint_noise_is_reported_as_it_is(cast, n, p, affine, noise):
    """Down to a share of 1e-7 of the signal, which inner products of the rows do not see."""
    X, target = faint_union(n, p, noise, affine)
    model = PSC(2, n_components=2, affine=affine, init=target).fit(cast(X))
    labels = np.asarray(model.labels_)
    np.testing.assert_array_equal(labels, target)
    np.testing.assert_allclose(model.noise_variance_, noise_by_svd(X, labels, 2, affine), rtol=1e-6)
    np.testing.assert_array_equal(np.asarray(model.predict(cast(X))), labels)


@pytest.mark.parametrize("affine", [False, True])
def test_faint_noise_of_a_stream(affine):
    """Its sums lose what the rows still have: two digits of noise of 1e-6 remain."""
    X, target = faint_union(300, 20, 1e-6, affine)
    model = MiniBatchPSC(2, n_components=2, affine=affine, random_state=0).fit(X)
    np.testing.assert_array_equal(model.labels_, target)
    expected = noise_by_svd(X, target, 2, affine)
    np.testing.assert_allclose(model.noise_variance_, expected, rtol=1e-2)


@pytest.mark.parametrize("affine", [False, True])
def test_faint_noise_around_sparse_loadings(affine):
    X, target = faint_union(200, 12, 1e-6, affine)
    X[target == 0, 6:] *= 1e-6
    X[target == 1, :6] *= 1e-6
    model = PSC(2, n_components=2, n_variables=6, affine=affine, init=target).fit(X)
    np.testing.assert_array_equal(model.labels_, target)
    energy = sum(
        squared_residual(X[target == k], each).sum() for k, each in enumerate(model.subspaces_)
    )
    expected = energy / ((200 - 2 * affine) * 10)
    np.testing.assert_allclose(model.noise_variance_, expected, rtol=1e-3)


def test_rows_without_noise_have_finite_scores(tmp_path):
    """What is reported may be 0, what scores divide by may not."""
    X, target = faint_union(200, 6, 0.0, False)
    X[target == 0, 2:], X[target == 1, :4] = 0.0, 0.0
    for criterion in ("distance", "likelihood"):
        model = PSC(2, n_components=2, init=target, criterion=criterion).fit(X)
        assert model.noise_variance_ < 1e-25
        assert np.isfinite(model.transform(X)).all()
        assert np.isfinite(model.transform(sparse.csr_array(X))).all()
        np.testing.assert_array_equal(model.predict(X), target)
        holed = X.copy()
        holed[::7, 1] = np.nan
        assert np.isfinite(model.transform(holed)).all()
        model.save(tmp_path / "model")
        np.testing.assert_array_equal(load(tmp_path / "model").transform(X), model.transform(X))
