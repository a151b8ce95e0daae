"""Passes that spare scores: the same labels, and bounds that hold."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import subspace_angles

from subspaces.core import block_pass, bulk, compiled_pass
from subspaces.core.blocks import ArrayBlocks
from subspaces.core.bounds import ORTHONORMAL, Bounds, bounds_for
from subspaces.core.bulk import Bulk, flats_of_sample, sweep
from subspaces.core.flats import Flats
from subspaces.core.kernels import kernels
from subspaces.datasets import make_subspaces

K, R, P = 6, 3, 130
CRITERIA = ("influence", "residual", "hat", "likelihood")

pytestmark = pytest.mark.skipif(kernels() is None, reason="without the compiled kernels")


def union(dtype, size=400, noise=0.05):
    """Rows near flats, and the principal axes of each, (K, P, R)."""
    made = make_subspaces([size] * K, P, [R] * K, noise=noise, random_state=0)
    parts = [made.data[made.target == k] for k in range(K)]
    axes = np.array([np.linalg.svd(part, full_matrices=False)[2][:R].T for part in parts])
    order = np.random.default_rng(0).permutation(len(made.data))
    return np.ascontiguousarray(made.data[order].astype(dtype)), axes


def turned(axes, by, random):
    """Orthonormal axes a little elsewhere."""
    return np.linalg.qr(axes + by * random.standard_normal(axes.shape))[0]


def plan_of(axes, criterion, n):
    random = np.random.default_rng(1)
    spectra = random.uniform(300.0, 900.0, (K, R))
    alive = np.full((K, R), True)
    sizes = np.full(K, n / K)
    flats = Flats(np.zeros((K, P)), axes, spectra, alive, np.full(K, R), sizes, sizes, 0.01)
    return block_pass.Pass(flats, criterion, P, n, by_scatter=False, affine=False)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("by", [1e-4, 1e-2, 1.0])
def test_labels_are_those_of_all_scores_and_bounds_hold(dtype, criterion, by):
    (rows, axes), random = union(dtype), np.random.default_rng(2)
    bounds = bounds_for(ArrayBlocks(rows), K, False)
    labels, older = None, False
    for _ in range(5):
        plan = plan_of(axes, criterion, len(rows))
        spared = replace(plan, bounds=bounds, sines=bounds.sines(axes), placed={})
        expected, whole = compiled_pass.look(rows, labels, 0, plan)
        labels, tally = compiled_pass.look(rows, labels, 0, spared)
        bounds.axes = axes
        np.testing.assert_array_equal(labels, expected)
        assert tally.moved == whole.moved
        digits = 1e-4 if dtype == "float32" else 1e-10
        np.testing.assert_allclose(tally.objective, whole.objective, rtol=digits)
        np.testing.assert_allclose(tally.products, whole.products, rtol=digits, atol=10 * digits)
        squared = (rows.astype(float) ** 2).sum(axis=1)[:, None]
        residuals = squared - (np.einsum("ip,kpr->ikr", rows, axes) ** 2).sum(axis=2)
        slack = 1e-5 if dtype == "float32" else 1e-12
        assert (bounds.values <= residuals + slack * squared).all()
        older |= (bounds.values < residuals - slack * squared).any()
        np.testing.assert_allclose(bounds.squared, squared[:, 0], rtol=1e-5)
        axes = turned(axes, by, random)
    assert older == (by < 0.1)  # some were spared, and where flats turn far none


def test_sines_are_those_of_the_largest_angles():
    random = np.random.default_rng(0)
    axes = np.linalg.qr(random.standard_normal((K, P, R)))[0]
    bounds = Bounds(np.empty((1, K)), np.empty(1))
    assert bounds.sines(axes) is None
    bounds.axes = axes
    other = turned(axes, 0.01, random)
    other[2] = axes[2]
    other[3, :, -1] = 0.0
    expected = [np.sin(subspace_angles(a, b).max()) for a, b in zip(axes, other, strict=True)]
    expected[3] = 1.0
    np.testing.assert_allclose(bounds.sines(other), expected, atol=1.1 * ORTHONORMAL)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("criterion", ["influence", "likelihood"])
def test_a_run_ends_where_it_ends_without_bounds(monkeypatch, criterion, n_jobs):
    rows, _ = union("float32", size=2000)
    monkeypatch.setattr(Bulk, "by_scatter", False)

    def run():
        random = np.random.default_rng(3)
        all_rows = Bulk(
            ArrayBlocks(rows, n_jobs),
            (R,) * K,
            criterion,
            False,
            P,
            float(np.mean(rows**2)),
            lambda: rows[:600] + 0.0,
        )
        start = flats_of_sample(all_rows, random.integers(K, size=600))
        return sweep(all_rows, start, max_iter=25, random=random)

    spared = run()
    monkeypatch.setattr(bulk, "bounds_for", lambda *given: None)
    whole = run()
    np.testing.assert_array_equal(spared.labels, whole.labels)
    assert len(spared.path) == len(whole.path)
    np.testing.assert_allclose(spared.objective, whole.objective, rtol=1e-5)


def test_bounds_are_for_wide_rows_in_memory_alone():
    assert bounds_for(ArrayBlocks(np.zeros((50, 119))), 6, False) is None
    assert bounds_for(ArrayBlocks(np.zeros((50, 120))), 6, True) is None
    assert bounds_for(ArrayBlocks(np.zeros((50, 120), dtype=int)), 6, False) is None
    assert bounds_for(ArrayBlocks(np.zeros((50, 120))), 6, False).values.shape == (50, 6)
