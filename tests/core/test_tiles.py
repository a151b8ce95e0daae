"""Scores by the processor's matrix unit: the plain look, and near-ties as by BLAS."""

from dataclasses import replace

import numpy as np
import pytest

from subspaces.core import block_pass, compiled_pass
from subspaces.core.block_pass import CRITERIA, Pass
from subspaces.core.blocks import ArrayBlocks
from subspaces.core.bounds import MANY_CLUSTERS, bounds_for
from subspaces.core.kernels import kernels
from tests.core.test_compiled_passes import close, flats_of, plainly

P = 517  # no multiple of what a tile holds

pytestmark = pytest.mark.skipif(
    kernels() is None or not compiled_pass.by_tiles(np.float32, P),
    reason="the processor has no matrix unit for single precision (AMX)",
)


def posed(criterion, affine, dimensions, n):
    """Rows near flats off the origin, labels of which some are wrong, and a pass."""
    random = np.random.default_rng(len(dimensions))
    truth = random.integers(len(dimensions), size=n)
    rows = 0.1 * random.normal(size=(n, P))
    for k, r in enumerate(dimensions):
        rows[truth == k] += random.normal(size=((truth == k).sum(), r)) @ random.normal(size=(r, P))
    rows += random.normal(size=P) if affine else 0.0
    labels = np.where(random.random(n) < 0.8, truth, random.integers(len(dimensions), size=n))
    origin = random.normal(size=P).astype(np.float32) if affine else None
    rows = rows.astype(np.float32)
    flats = flats_of(rows if origin is None else rows - origin, labels, dimensions, affine)
    return rows, labels.astype(np.int32), Pass(flats, criterion, P, n, origin, affine=affine)


def plan_of_blas(plan, monkeypatch):
    """The same pass without tiles."""
    monkeypatch.setattr(compiled_pass, "by_tiles", lambda dtype, p: False)
    return replace(plan, placed={})


@pytest.mark.parametrize("n", [1, 1500])
@pytest.mark.parametrize("dimensions", [(3, 2), (10, 4, 1, 10, 2, 7)])
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_look_is_the_plain_look(criterion, affine, dimensions, n, monkeypatch):
    rows, labels, plan = posed(criterion, affine, dimensions, 1500)
    given = (rows[:n], labels[:n], 0, plan)
    new, found = block_pass.look(*given)
    expected_new, expected = plainly(block_pass.look, monkeypatch, *given)
    np.testing.assert_array_equal(new, expected_new)
    close(found, expected, np.float32)
    nearest = block_pass.nearest(rows[:n], None, 0, plan)[0]
    expected_new = plainly(block_pass.nearest, monkeypatch, rows[:n], None, 0, plan)[0]
    np.testing.assert_array_equal(nearest, expected_new)


def test_a_row_goes_where_single_precision_sends_it(monkeypatch):
    """Rows half-way between two flats but for a millionth."""
    plan, random = posed("residual", False, (3, 3), 600)[2], np.random.default_rng(0)
    axes = np.linalg.qr(random.normal(size=(P, 6)))[0].reshape(P, 2, 3).swapaxes(0, 1)
    plan = replace(plan, flats=replace(plan.flats, axes=axes), placed={})
    scores = random.normal(size=(2, 20_000, 3))
    scores /= np.linalg.norm(scores, axis=2, keepdims=True)
    scores[1] *= 1.0 + 1e-6 * random.normal(size=(20_000, 1))
    between = (scores @ axes.mT).sum(axis=0).astype(np.float32)
    found = block_pass.nearest(between, None, 0, plan)[0]
    by_blas = plan_of_blas(plan, monkeypatch)
    expected = block_pass.nearest(between, None, 0, by_blas)[0]
    exact = block_pass.nearest(between.astype(np.float64), None, 0, plan)[0]
    wrong, wrong_by_blas = (found != exact).sum(), (expected != exact).sum()
    assert 10 < wrong_by_blas < 10_000
    assert wrong <= 1.2 * wrong_by_blas


def test_rows_do_not_depend_on_their_company():
    rows, labels, plan = posed("influence", False, (4, 3, 2), 1500)
    whole = block_pass.look(rows, labels, 0, plan)[0]
    several = np.array_split(np.arange(1500), 7)
    parts = [block_pass.look(rows[at], labels[at], 0, plan)[0] for at in several]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_bounds_are_for_many_clusters():
    blocks = ArrayBlocks(np.ones((50, 517), dtype=np.float32))
    assert bounds_for(blocks, MANY_CLUSTERS - 1, False) is None
    bounds = bounds_for(blocks, MANY_CLUSTERS, False)
    assert bounds.wait(0.5)
    assert not bounds.wait(0.0)
    bounds.axes = np.zeros((MANY_CLUSTERS, blocks.shape[1], 1))
    assert not bounds.wait(0.5)
