"""Sweeps in passes over blocks = sweeps with all rows in view."""

import numpy as np
import pytest

from subspaces import PSC, KSubspaces
from subspaces.core.in_view import RowsInView
from subspaces.core.loop import alternate
from subspaces.core.problem import Problem
from subspaces.core.rows import DenseRows
from subspaces.data.blocks import ArrayBlocks
from subspaces.data.in_blocks import BlockProblem, RowsInBlocks, subspaces_of_sample
from subspaces.datasets import make_subspaces
from tests.warned import refuses

CRITERIA = ("influence", "hat", "residual")


def union(seed, sizes=(150, 200, 250), p=12, r=2, offset=0.0):
    random = np.random.default_rng(seed)
    made = make_subspaces(list(sizes), p, [r] * len(sizes), noise=0.2, random_state=seed)
    order = random.permutation(len(made.data))
    return made.data[order] + offset * random.normal(size=p), made.target[order]


def half_right(target, seed):
    random = np.random.default_rng(seed)
    guesses = random.integers(target.max() + 1, size=len(target))
    return np.where(random.random(len(target)) < 0.5, target, guesses)


def posed(X, dimensions, criterion, affine, **options):
    origin = X.mean(axis=0) if affine else None
    rows = X if origin is None else X - origin
    problem = Problem(DenseRows(rows), dimensions, criterion, affine)
    blocks, p = ArrayBlocks(X, **options), X.shape[1]
    energy = float(np.mean(rows[::3] ** 2))
    return problem, BlockProblem(
        blocks, dimensions, criterion, affine, p, energy, lambda: rows[::3], origin
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_passes_take_the_same_path_as_the_loop(criterion, affine, seed):
    X, target = union(seed, offset=5.0 if affine else 0.0)
    problem, blocked = posed(X, (2, 2, 2), criterion, affine, block_rows=170)
    labels, random = half_right(target, seed), np.random.default_rng(0)
    expected = alternate(RowsInView(problem), labels, max_iter=30, random=random)
    found = alternate(
        RowsInBlocks(blocked), blocked.blocks.split(labels), max_iter=30, random=random
    )
    np.testing.assert_array_equal(found.labels, expected.labels)
    np.testing.assert_allclose(found.path, expected.path, rtol=1e-9)
    assert found.stop_reason == expected.stop_reason


@pytest.mark.parametrize("criterion", ["influence", "hat"])
def test_passes_that_end_in_a_worse_partition_than_they_met_say_so(criterion):
    reasons = set()
    for seed in range(20):
        X = np.random.default_rng(seed).normal(size=(60, 10))
        problem, blocked = posed(X, (2, 2), criterion, False)
        labels, random = half_right(np.arange(60) % 2, seed), np.random.default_rng(0)
        expected = alternate(RowsInView(problem), labels, max_iter=30, random=random)
        found = alternate(
            RowsInBlocks(blocked), blocked.blocks.split(labels), max_iter=30, random=random
        )
        if found.repairs == expected.repairs == 0:  # the two refill a cluster in their own ways
            assert found.stop_reason == expected.stop_reason
            reasons.add(found.stop_reason)
    assert {"converged", "overshot"} <= reasons


@pytest.mark.parametrize("affine", [False, True])
def test_one_step_of_iteration_per_pass_ends_where_exact_flats_hold_the_labels(affine):
    X, target = union(4, sizes=(300, 300, 300), p=230, offset=3.0 if affine else 0.0)
    problem, blocked = posed(X, (2, 2, 2), "influence", affine)
    assert not blocked.by_scatter
    labels, random = half_right(target, 0), np.random.default_rng(0)
    found = alternate(
        RowsInBlocks(blocked), blocked.blocks.split(labels), max_iter=30, random=random
    )
    assert found.stop_reason == "converged"
    again = alternate(RowsInView(problem), found.labels.astype(np.intp), max_iter=5, random=random)
    assert len(again.path) == 1
    np.testing.assert_allclose(found.objective, again.objective, rtol=1e-8)


def test_neither_blocks_nor_threads_matter():
    X, target = union(1)
    results = []
    for options in ({}, {"block_rows": 7}, {"block_rows": 100, "n_threads": 3}):
        _, blocked = posed(X, (2, 2, 2), "loo", False, **options)
        start = subspaces_of_sample(blocked, target[::3])
        results.append(
            alternate(RowsInBlocks(blocked), start, max_iter=30, random=np.random.default_rng(0))
        )
    for other in results[1:]:
        np.testing.assert_array_equal(other.labels, results[0].labels)
        np.testing.assert_allclose(other.objective, results[0].objective, rtol=1e-10)


def test_an_empty_cluster_is_begun_again():
    X, target = union(2)
    _, blocked = posed(X, (2, 2, 2), "residual", False)
    labels = np.where(target == 2, 1, target)
    found = alternate(
        RowsInBlocks(blocked),
        blocked.blocks.split(labels),
        max_iter=50,
        random=np.random.default_rng(0),
    )
    assert np.bincount(found.labels, minlength=3).min() > 20


@pytest.mark.parametrize("model", [PSC(3, n_components=2), KSubspaces(3, n_components=2)])
@pytest.mark.parametrize("affine", [False, True])
def test_a_row_more_than_fit_into_view_changes_little(model, affine):
    X, target = union(3, sizes=(3000, 3000, 4001), offset=4.0 if affine else 0.0)
    labels = half_right(target, 0)
    few = model.set_params(affine=affine, init=labels[:-1]).fit(X[:-1]).labels_
    flats, press = model.subspaces_, getattr(model, "press_", 0.0)
    model.set_params(init=labels).fit(X.astype(np.float32) if not affine else X)
    assert np.mean(model.labels_[:-1] == few) > 0.99
    assert np.mean(model.predict(X) == model.labels_) > 0.99
    assert model.transform(X).shape == (10_001, 3)
    for mine, theirs in zip(model.subspaces_, flats, strict=True):
        np.testing.assert_allclose(
            mine.basis @ mine.basis.T, theirs.basis @ theirs.basis.T, atol=0.02
        )
    assert getattr(model, "press_", 0.0) == pytest.approx(press, rel=0.01)


def test_the_value_in_the_way_is_named():
    X = np.ones((10_001, 6))
    X[411, 5] = np.inf
    with refuses("X", np.inf, place="row 411, column 5"):
        PSC(3, n_components=2).fit(X)
