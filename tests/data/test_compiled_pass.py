"""Compiled passes over blocks = plain ones; exact axes by products = LAPACK's."""

from dataclasses import replace

import numpy as np
import pytest

from subspaces.core.criteria import names
from subspaces.core.loop import alternate
from subspaces.data import block_pass, pass_kernels
from subspaces.data.blocks import ArrayBlocks
from subspaces.data.contrast_sums import sums_from
from subspaces.data.exact_axes import leading_axes
from subspaces.data.in_blocks import BlockProblem, RowsInBlocks, subspaces_of_sample
from subspaces.data.pass_plan import Pass
from subspaces.data.subspaces import Subspaces
from subspaces.kernels import compiled

needs_kernels = pytest.mark.skipif(
    compiled("block_pass") is None, reason="the kernels are not built"
)

# More rows than the 1024 of a chunk.
N, P, DIMENSIONS = 1324, 13, (2, 1, 3, 2)


def subspaces_of(rows, labels, dimensions, affine):
    """Subspaces of labels, one PCA at a time."""
    k, p, widest = len(dimensions), rows.shape[1], max(*dimensions, 1)
    centres, axes, spectra = np.zeros((k, p)), np.zeros((k, p, widest)), np.ones((k, widest))
    energy = np.zeros(k)
    for j, r in enumerate(dimensions):
        own = rows[labels == j]
        if affine and len(own):
            centres[j] = own.mean(axis=0)
        _, values, vectors = np.linalg.svd(own - centres[j], full_matrices=False)
        axes[j, :, :r], spectra[j, :r] = vectors[:r].T, values[:r] ** 2
        energy[j] = (values**2).sum()
    sizes = np.bincount(labels, minlength=k) + 0.0
    alive = axes.any(axis=1)
    return Subspaces(centres, axes, spectra, alive, np.array(dimensions), sizes, energy, 0.3)


def posed(affine, criterion="influence", dimensions=DIMENSIONS, seed=0, p=P):
    """Rows off the origin, labels, and a pass with the subspaces of other labels."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(N, p)) * np.linspace(3.0, 0.5, p)
    rows += 2.0 * random.normal(size=p) if affine else 0.0
    labels, before = random.integers(len(dimensions), size=(2, N)).astype(np.int32)
    origin = random.normal(size=p) if affine else None
    seen = rows if origin is None else rows - origin
    subspaces = subspaces_of(
        seen, np.where(random.random(N) < 0.7, labels, before), dimensions, affine
    )
    return rows, labels, Pass(subspaces, criterion, p, N, origin)


def plainly(visit, monkeypatch, *given):
    with monkeypatch.context() as patch:
        patch.setattr(pass_kernels, "has_loops", lambda *given: False)
        return visit(*given)


def close(found, expected, dtype):
    tolerance = 1e-9 if dtype == np.float64 else 2e-4
    for name in ("objective", "sizes", "energy", "totals", "products"):
        mine, theirs = getattr(found, name), getattr(expected, name)
        scale = np.abs(np.where(np.isfinite(theirs), theirs, 0.0)).max(initial=1.0)
        np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance * scale)
    assert found.moved == expected.moved


@needs_kernels
@pytest.mark.parametrize("only_moved", [False, True])
@pytest.mark.parametrize("by_scatter", [False, True])
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("criterion", names(passes=True))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compiled_labels_and_sums_are_the_plain_ones(
    dtype, criterion, affine, by_scatter, only_moved, monkeypatch
):
    rows, labels, plan = posed(affine, criterion)
    plan = replace(plan, by_scatter=by_scatter, only_moved=only_moved)
    given = (rows.astype(dtype), labels, 70, plan)
    assert pass_kernels.has_loops(given[0])
    new, found = block_pass.assign_and_sum(*given)
    expected_new, expected = plainly(block_pass.assign_and_sum, monkeypatch, *given)
    if dtype == np.float32:
        # A near tie may fall otherwise; then sums differ by a row.
        agree = new == expected_new
        assert agree.mean() > 0.998
        if not agree.all():
            kept = np.flatnonzero(agree)
            given = (given[0][kept], labels[kept], 70, plan)
            new, found = block_pass.assign_and_sum(*given)
            expected_new, expected = plainly(block_pass.assign_and_sum, monkeypatch, *given)
    np.testing.assert_array_equal(new, expected_new)
    assert new.dtype == expected_new.dtype == np.uint8
    close(found, expected, dtype)


@needs_kernels
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_variables_and_clusters_get_the_labels_of_the_plain_code(dtype, affine, monkeypatch):
    """Such rows once had a way of their own through the kernel, which crashed on some machines."""
    rows, labels, plan = posed(affine, dimensions=(10, 4, 1, 10, 2, 7, 3, 5), p=517)
    given = (rows.astype(dtype), labels, 0, plan)
    new, found = block_pass.assign_and_sum(*given)
    expected_new, expected = plainly(block_pass.assign_and_sum, monkeypatch, *given)
    np.testing.assert_array_equal(new, expected_new)
    close(found, expected, dtype)
    nearest = block_pass.nearest(given[0], None, 0, plan)[0]
    expected_new = plainly(block_pass.nearest, monkeypatch, given[0], None, 0, plan)[0]
    np.testing.assert_array_equal(nearest, expected_new)


@needs_kernels
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_other_visits_are_the_plain_ones(dtype, affine, monkeypatch):
    rows, labels, plan = posed(affine)
    rows = rows.astype(dtype)
    for by_scatter in (False, True):
        given = (rows, labels, 7, replace(plan, by_scatter=by_scatter))
        found = block_pass.partition_sums(*given)[1]
        close(found, plainly(block_pass.partition_sums, monkeypatch, *given)[1], dtype)
    tolerance = 1e-9 if dtype == np.float64 else 1e-3
    influence, errors = block_pass.influence_and_errors(rows, labels, 0, plan)
    expected, expected_errors = plainly(
        block_pass.influence_and_errors, monkeypatch, rows, labels, 0, plan
    )
    np.testing.assert_allclose(influence, expected, rtol=tolerance)
    assert influence.dtype == dtype
    assert errors == pytest.approx(expected_errors, rel=tolerance)
    nearest = block_pass.nearest(rows, None, 0, plan)[0]
    agree = nearest == plainly(block_pass.nearest, monkeypatch, rows, None, 0, plan)[0]
    assert agree.mean() > (0.998 if dtype == np.float32 else 0.9999)


@needs_kernels
@pytest.mark.parametrize("by_scatter", [False, True])
def test_rows_may_lie_in_memory_as_they_like(by_scatter):
    rows, labels, plan = posed(False)
    plan = replace(plan, by_scatter=by_scatter)
    expected_new, expected = block_pass.assign_and_sum(rows, labels, 0, plan)
    wide = np.zeros((N, 2 * P))
    wide[:, ::2] = rows
    locked = rows.copy()
    locked.flags.writeable = labels.flags.writeable = False
    for given in (np.asfortranarray(rows), wide[:, ::2], locked):
        kept = given.copy()
        new, found = block_pass.assign_and_sum(given, labels, 0, plan)
        np.testing.assert_array_equal(new, expected_new)
        np.testing.assert_array_equal(found.products, expected.products)
        np.testing.assert_array_equal(given, kept)


@needs_kernels
@pytest.mark.parametrize("by_scatter", [False, True])
def test_points_for_flats_and_clusters_without_members(by_scatter, monkeypatch):
    rows, labels, plan = posed(True, "residual", dimensions=(0, 0, 0))
    labels = np.minimum(labels, 1)
    plan = replace(plan, by_scatter=by_scatter, only_moved=True)
    for given in ((rows, labels, 0, plan), (rows, None, 0, plan)):
        new, found = block_pass.assign_and_sum(*given)
        expected_new, expected = plainly(block_pass.assign_and_sum, monkeypatch, *given)
        np.testing.assert_array_equal(new, expected_new)
        close(found, expected, np.float64)
    centres = plan.subspaces.centres + plan.origin
    distances = ((rows[:, None, :] - centres) ** 2).sum(axis=2)
    np.testing.assert_array_equal(new, distances.argmin(axis=1))
    close(
        block_pass.partition_sums(rows, labels, 0, plan)[1],
        _counted(rows, labels, plan),
        np.float64,
    )


def _counted(rows, labels, plan):
    """What a count tells, the long way."""
    seen, subspaces = rows - plan.origin, plan.subspaces
    found = block_pass.partition_sums(rows, labels, 0, plan)[1]
    products = np.zeros_like(found.products)
    for k in range(len(subspaces.axes)):
        own = seen[labels == k]
        products[k] = own.T @ (own if plan.by_scatter else own @ subspaces.axes[k])
    sizes = np.bincount(labels, minlength=len(subspaces.axes))
    totals = np.array([seen[labels == k].sum(axis=0) for k in range(len(sizes))])
    return replace(found, sizes=sizes, totals=totals, products=products)


@needs_kernels
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_row_stays_where_the_own_cluster_ties(dtype):
    rows, labels, plan = posed(False, "residual", dimensions=(2, 2, 2))
    twins = replace(plan.subspaces, axes=np.repeat(plan.subspaces.axes[:1], 3, axis=0))
    plan = replace(plan, subspaces=twins)
    new, found = block_pass.assign_and_sum(rows.astype(dtype), labels, 0, plan)
    np.testing.assert_array_equal(new, labels)
    assert found.moved == 0
    assert not block_pass.assign_and_sum(rows.astype(dtype), None, 0, plan)[0].any()


@pytest.mark.parametrize("n_clusters", [255, 256, 300])
def test_labels_are_short_and_long_enough(n_clusters, monkeypatch):
    random = np.random.default_rng(0)
    labels = np.arange(2 * n_clusters) % n_clusters
    rows = random.normal(size=(n_clusters, 40))[labels]
    subspaces = subspaces_of(rows, labels, (1,) * n_clusters, False)
    plan = Pass(subspaces, "residual", 40, len(rows))
    for before in (None, labels.astype(np.int32)):
        given = (rows, before, 0, plan)
        new, found = block_pass.assign_and_sum(*given)
        plain, expected = plainly(block_pass.assign_and_sum, monkeypatch, *given)
        assert new.dtype == plain.dtype == (np.uint8 if n_clusters == 255 else np.uint16)
        for mine in (new, plain, block_pass.nearest(*given)[0]):
            np.testing.assert_array_equal(mine, labels)
        close(found, expected, np.float64)
    numbers = np.arange(n_clusters)[::-1]
    renamed = ArrayBlocks(rows, block_rows=100).join(new, numbers)
    np.testing.assert_array_equal(renamed, numbers[labels])
    assert renamed.dtype == np.int32


@needs_kernels
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_small_residuals_keep_their_digits(dtype, affine):
    """Rows within 1e-4 (1e-7) of their flat: the square of that is lost in ||x||^2 - sum d^2."""
    near = 1e-4 if dtype == np.float32 else 1e-7
    random = np.random.default_rng(1)
    basis = np.linalg.qr(random.normal(size=(P, P)))[0]
    rows = (random.normal(size=(N, 2)) @ basis[:, :2].T + near * basis[:, 5]).astype(dtype)
    labels = np.zeros(N, dtype=np.int32)
    subspaces = subspaces_of(rows.astype(float), labels, (2,), False)
    axes = np.ascontiguousarray(basis[None, :, :2])
    centres = np.zeros((1, P)) + (3.0 * basis[:, 1] if affine else 0.0)
    plan = Pass(replace(subspaces, axes=axes, centres=centres), "residual", P, N)
    objective = block_pass.assign_and_sum(rows, labels, 0, plan)[1].objective
    assert objective == pytest.approx(N * near**2, rel=0.02)


def test_exact_axes_are_those_of_lapack():
    random = np.random.default_rng(0)
    rows = random.normal(size=(3, 400, 60)) * np.linspace(2.0, 1.0, 60)
    scatter = np.swapaxes(rows, 1, 2) @ rows
    guess, calls = random.normal(size=(3, 60, 4)), []

    def product(axes):
        calls.append(np.abs(np.swapaxes(axes, 1, 2) @ axes - np.eye(4)).max())
        return scatter @ axes

    axes, values = leading_axes(product, guess, np.ones((3, 4), dtype=bool))
    expected = np.linalg.eigvalsh(scatter)[:, ::-1][:, :4]
    np.testing.assert_allclose(values, expected, rtol=1e-10)
    np.testing.assert_allclose(scatter @ axes, axes * values[:, None, :], atol=1e-4 * values.max())
    # Subspace iteration would take hundreds: the gap is narrow.
    assert len(calls) < 30, len(calls)
    assert max(calls) < 1e-12


def test_exact_axes_of_fewer_members_than_axes():
    rows = np.random.default_rng(0).normal(size=(2, 2, 40))
    scatter = np.swapaxes(rows, 1, 2) @ rows
    guess = np.random.default_rng(1).normal(size=(2, 40, 3))
    axes, values = leading_axes(lambda w: scatter @ w, guess, np.ones((2, 3), dtype=bool))
    np.testing.assert_allclose(values, np.linalg.eigvalsh(scatter)[:, ::-1][:, :3], atol=1e-8)
    assert np.isfinite(axes).all()


@pytest.mark.parametrize("p", [20, 230])
def test_threads_change_nothing_at_all(p):
    rows, labels, _ = posed(False, p=p)
    results = []
    for n_threads in (1, 3):
        blocks = ArrayBlocks(rows.astype(np.float32), n_threads, block_rows=200)
        blocked = BlockProblem(
            blocks, (2, 2, 2, 2), "influence", False, p, float(np.mean(rows**2)), lambda: rows[::2]
        )
        start = subspaces_of_sample(blocked, labels[::2].astype(np.intp))
        results.append(
            alternate(RowsInBlocks(blocked), start, max_iter=6, random=np.random.default_rng(0))
        )
    assert results[0].path == results[1].path
    np.testing.assert_array_equal(results[0].labels, results[1].labels)
    np.testing.assert_array_equal(results[0].subspaces.axes, results[1].subspaces.axes)


@pytest.mark.parametrize("dimensions", [(1, 8, 3), (2, 5, 5), (1, 1, 6)])
def test_exact_axes_of_unequal_dimensions(dimensions):
    """A guess has no axes beyond a dimension, and rounding must not become some."""
    random, p, widest = np.random.default_rng(0), 300, max(dimensions)
    parts = [random.standard_normal((90, p)) * 0.9 ** np.arange(p) for _ in dimensions]
    scatter = np.array([part.T @ part for part in parts])
    in_use = np.arange(widest) < np.array(dimensions)[:, None]
    guess = np.linalg.qr(random.standard_normal((3, p, widest)))[0] * in_use[:, None, :]
    axes, spectra = leading_axes(lambda given: scatter @ given, guess, in_use)
    overlap = axes.mT @ axes
    np.testing.assert_allclose(overlap, overlap.round() * np.eye(widest), atol=1e-6)
    assert overlap.max() < 1.5
    assert (np.diagonal(overlap, axis1=1, axis2=2)[in_use] > 0.5).all()
    expected = np.linalg.eigvalsh(scatter)[:, ::-1][:, :widest]
    np.testing.assert_allclose(spectra[in_use], expected[in_use], rtol=1e-8)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_means_and_squares_around_points_are_those_of_brute_force(precision):
    random = np.random.default_rng(0)
    rows = (random.normal(size=(3000, 7)) + 5.0).astype(precision)
    labels, points = random.integers(3, size=3000), random.normal(5.0, 0.1, size=(4, 7))
    sums = sums_from(rows, labels, 0, points)[1]
    away = rows.astype(float) - points[labels]
    totals = [away[labels == k].sum(axis=0) for k in range(4)]
    np.testing.assert_array_equal(sums.sizes, np.bincount(labels, minlength=4))
    np.testing.assert_allclose(sums.totals, totals, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(sums.squares, (away**2).sum(axis=0), rtol=1e-10)
