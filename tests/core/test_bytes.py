"""Residuals bounded by products of bytes: bounds that hold, and the plain look."""

from dataclasses import replace

import numpy as np
import pytest

from subspaces.core import block_pass, compiled_pass
from subspaces.core.block_pass import CRITERIA, Pass
from subspaces.core.bounds import Bounds
from subspaces.core.byte_axes import LARGEST, OFFSET, rounded_axes
from subspaces.core.kernels import kernels
from tests.core.test_compiled_passes import close, flats_of, plainly

P = 517  # no multiple of what a vector or a tile holds
UNITS = () if kernels() is None else kernels().byte_units()[1:]

needs_unit = pytest.mark.skipif(
    not UNITS, reason="the processor has no unit that multiplies bytes (AVX-512 VNNI, AMX)"
)


@pytest.fixture(params=UNITS or ("none",))
def unit(request, monkeypatch):
    monkeypatch.setattr(compiled_pass, "unit_for", lambda p, n_clusters: request.param)
    return request.param


def posed(criterion, affine, dimensions, n, dtype=np.float32):
    """Rows near flats off the origin, labels of which some are wrong, and a pass."""
    random = np.random.default_rng(len(dimensions))
    truth = random.integers(len(dimensions), size=n)
    rows = 0.1 * random.normal(size=(n, P))
    for k, r in enumerate(dimensions):
        rows[truth == k] += random.normal(size=((truth == k).sum(), r)) @ random.normal(size=(r, P))
    rows += random.normal(size=P) if affine else 0.0
    labels = np.where(random.random(n) < 0.8, truth, random.integers(len(dimensions), size=n))
    origin = random.normal(size=P).astype(dtype) if affine else None
    rows = rows.astype(dtype)
    flats = flats_of(rows if origin is None else rows - origin, labels, dimensions, affine)
    return rows, labels.astype(np.int32), Pass(flats, criterion, P, n, origin, affine=affine)


def residuals(rows, plan):
    """Squared residuals under all flats, (n, K), from rows and axes themselves."""
    seen = rows.astype(float) - (0.0 if plan.origin is None else plan.origin)
    found = []
    for axes, centre in zip(plan.flats.axes, plan.flats.centres, strict=True):
        away = seen - (0.0 if plan.flats.linear else centre)
        left = away - (away @ axes) @ axes.T
        found.append(np.einsum("ij,ij->i", left, left))
    return np.stack(found, axis=1)


def look_with_bounds(rows, labels, plan):
    shape = (len(rows), len(plan.flats.axes))
    bounds = Bounds(np.empty(shape, rows.dtype), np.empty(len(rows), rows.dtype))
    new, tally = block_pass.look(rows, labels, 0, replace(plan, bounds=bounds, placed={}))
    return new, tally, bounds


def test_axes_are_panels_of_bytes_and_a_rest_no_larger_than_said():
    random = np.random.default_rng(0)
    axes = np.linalg.qr(random.normal(size=(3, 70, 4)))[0].swapaxes(1, 2)
    centres = random.normal(size=(3, 1, 70))
    panels, scales, slacks, centre_slacks = rounded_axes(np.concatenate([axes, centres], 1), 4)
    assert panels.shape == (2, 32, 16, 4)
    whole = panels.swapaxes(1, 2).reshape(32, 128).astype(int) - OFFSET
    assert np.abs(whole).max() == LARGEST
    assert not whole[15:].any()
    assert not whole[:, 70:].any()
    near = (whole[:15, :70] * scales[:, None]).reshape(3, 5, 70)
    assert np.abs(near[:, :4] - axes).max() <= 0.51 * scales.max()
    for k in range(3):
        np.testing.assert_allclose(np.linalg.norm(near[k, :4] - axes[k], 2), slacks[k], rtol=1e-5)
        np.testing.assert_allclose(
            np.linalg.norm(near[k, 4] - centres[k, 0]), centre_slacks[k], rtol=1e-5
        )


def test_axes_of_zeros_have_no_rest():
    panels, _, slacks, _ = rounded_axes(np.zeros((2, 3, 64)), 3)
    assert (panels == OFFSET).all()
    assert not slacks.any()


@needs_unit
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 1500])
@pytest.mark.parametrize("dimensions", [(3, 2), (10, 4, 1, 10, 2, 7)])
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_look_is_the_plain_look(criterion, affine, dimensions, n, dtype, unit, monkeypatch):
    rows, labels, plan = posed(criterion, affine, dimensions, 1500, dtype)
    given = (rows[:n], labels[:n], 0, plan)
    new, found = block_pass.look(*given)
    expected_new, expected = plainly(block_pass.look, monkeypatch, *given)
    np.testing.assert_array_equal(new, expected_new)
    close(found, expected, dtype)
    nearest = block_pass.nearest(rows[:n], None, 0, plan)[0]
    expected_new = plainly(block_pass.nearest, monkeypatch, rows[:n], None, 0, plan)[0]
    np.testing.assert_array_equal(nearest, expected_new)


@needs_unit
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("affine", [False, True])
def test_bounds_hold_and_leave_few_scores(affine, dtype, unit):
    """Within a tenth of the squared length, most of them within a twenty-fifth."""
    rows, labels, plan = posed("influence", affine, (4, 3, 2, 5, 1), 900, dtype)
    bounds = look_with_bounds(rows, labels, plan)[2].values
    exact = residuals(rows, plan)
    squared = np.sum((rows - (0 if plan.origin is None else plan.origin)) ** 2, axis=1)
    large = np.maximum(squared[:, None], np.sum(plan.flats.centres**2, axis=1))
    assert (bounds <= exact + 1e-5 * large).all()
    told_by_bytes = bounds < exact - 1e-4 * large
    assert told_by_bytes.mean() > 0.5
    assert ((exact - bounds)[told_by_bytes] < 0.1 * large[told_by_bytes]).all()
    assert np.median(((exact - bounds) / large)[told_by_bytes]) < 0.04


@needs_unit
@pytest.mark.parametrize(
    "kind", ["counts", "one value", "one large", "zeros", "tiny", "huge", "alike"]
)
def test_bounds_hold_for_rows_of_all_kinds(kind, unit, monkeypatch):
    """Rounding is no noise there: errors of one sign, no unit, or nothing but one number."""
    random = np.random.default_rng(1)
    rows, labels, plan = posed("residual", False, (4, 3, 2, 5), 300, np.float64)
    made = {
        "counts": np.log1p(random.poisson(0.3, size=rows.shape)),
        "one value": np.where(random.random(rows.shape) < 0.5, 0.777, 0.0),
        "one large": rows + 1e4 * np.eye(*rows.shape),
        "zeros": np.where(np.arange(300)[:, None] % 2, rows, 0.0),
        "tiny": 1e-120 * rows,
        "huge": 1e120 * rows,
        "alike": np.repeat(rows[:1], 300, axis=0),
    }[kind]
    scale = max(np.abs(made).max(), 1e-300)
    bounds = look_with_bounds(made, labels, plan)[2].values
    exact = residuals(made / scale, plan)
    assert not np.isnan(bounds).any()
    assert (bounds / scale / scale <= exact + 1e-5).all()
    found = block_pass.nearest(made, None, 0, plan)[0]
    expected = plainly(block_pass.nearest, monkeypatch, made, None, 0, plan)[0]
    least = np.take_along_axis(exact, expected[:, None].astype(int), axis=1)
    chosen = np.take_along_axis(exact, found[:, None].astype(int), axis=1)
    np.testing.assert_allclose(chosen, least, rtol=1e-9, atol=1e-12)


@needs_unit
def test_rows_without_structure_are_told_by_all_scores(unit, monkeypatch):
    random = np.random.default_rng(2)
    _, _, plan = posed("influence", False, (4, 3, 2, 5, 1), 900)
    rows = random.normal(size=(3000, P)).astype(np.float32)
    labels = random.integers(5, size=3000).astype(np.int32)
    new, found = block_pass.look(rows, labels, 0, plan)
    expected_new, expected = plainly(block_pass.look, monkeypatch, rows, labels, 0, plan)
    np.testing.assert_array_equal(new, expected_new)
    close(found, expected, np.float32)


@needs_unit
@pytest.mark.skipif(len(UNITS) < 2, reason="there is one unit for bytes")
def test_units_find_the_same_bounds(monkeypatch):
    rows, labels, plan = posed("influence", True, (4, 3, 2, 5, 1), 900)
    found = []
    for name in UNITS:
        monkeypatch.setattr(compiled_pass, "unit_for", lambda p, k, name=name: name)
        found.append(look_with_bounds(rows, labels, plan)[2].values)
    np.testing.assert_array_equal(*found)


@needs_unit
def test_rows_do_not_depend_on_their_company(unit):
    rows, labels, plan = posed("influence", False, (4, 3, 2), 1500)
    whole = block_pass.look(rows, labels, 0, plan)[0]
    several = np.array_split(np.arange(1500), 7)
    parts = [block_pass.look(rows[at], labels[at], 0, plan)[0] for at in several]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


@pytest.mark.skipif(kernels() is None, reason="the kernels are not built")
def test_bytes_are_for_many_variables_and_clusters():
    low, high = compiled_pass.VARIABLES
    best = kernels().byte_units()[-1]
    fewest = compiled_pass.FEWEST_CLUSTERS
    assert compiled_pass.unit_for(low, fewest) == compiled_pass.unit_for(high, fewest) == best
    assert compiled_pass.unit_for(low - 1, fewest) == "none"
    assert compiled_pass.unit_for(high + 1, fewest) == "none"
    assert compiled_pass.unit_for(low, fewest - 1) == "none"
