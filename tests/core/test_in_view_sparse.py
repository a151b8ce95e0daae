"""Runs through sparse loadings with the compiled class against the plain ones."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from subspaces import PSC
from subspaces.core.in_view import RowsInView, compiled_subspaces
from subspaces.core.loop import Clustering, Fitted, alternate
from subspaces.core.problem import Problem
from subspaces.core.rows import DenseRows
from subspaces.core.sparse_loadings import Sparsity
from subspaces.datasets import make_subspaces
from subspaces.kernels import compiled
from tests.plain import generic

pytestmark = pytest.mark.skipif(
    compiled("sparse_loadings") is None, reason="the kernels are not built"
)

CRITERIA = ("union_influence", "sparse_influence", "residual", "loo_projection")
PENALTIES = ("l1", "nonnegative")
# n, p, dimensions, n_variables, noise: fewer and more members than variables, one variable, all
SHAPES = [
    (60, 200, (2, 2, 2), (15, 15, 15), 0.05),
    (120, 30, (1, 2), (6, 9), 0.3),
    (40, 50, (1, 1), (1, 49), 0.1),
    (150, 120, (3,) * 4, (20,) * 4, 0.5),
]


def posed(shape, criterion, penalty="l1", affine=False):
    n, p, dimensions, n_variables, noise = shape
    sizes = [len(part) for part in np.array_split(np.arange(n), len(dimensions))]
    given = {"noise": noise, "offset": 1.0 if affine else 0.0, "random_state": 0}
    X = make_subspaces(sizes, p, list(dimensions), **given).data
    X = X - X.mean(axis=0) if affine else X
    return Problem(DenseRows(X), dimensions, criterion, affine, Sparsity(n_variables, penalty))


def random_start(problem, seed=0):
    n = len(problem.rows.squared_norms)
    return np.random.default_rng(seed).permutation(np.arange(n) % problem.n_clusters)


def compiled_and_plain(problem):
    """The rows of a problem twice: for compiled runs and for plain ones."""
    plain = RowsInView(problem)
    plain._compiled = None
    assert compiled_subspaces(problem) is not None
    return RowsInView(problem), plain


def run(samples, labels, max_iter=9, seed=0):
    return alternate(samples, labels, max_iter=max_iter, random=np.random.default_rng(seed))


def energy(samples, labels):
    """What loadings that are fitted afresh to a partition capture."""
    return -samples.selection_cost(Clustering(labels, 0.0, (), "", 0, 0, None), "objective")


def assert_same_sweep(problem, labels):
    (fast, bad), (plain, named) = (
        (samples.assign(samples.begin(labels)), samples.degenerate(Fitted(labels)))
        for samples in compiled_and_plain(problem)
    )
    unit = problem.rows.squared_norms.sum()
    assert_allclose(fast.objective, plain.objective, rtol=1e-9, atol=1e-13 * unit)
    assert_array_equal(fast.labels, plain.labels)
    assert bad == named
    for here, there in zip(fast.subspaces, plain.subspaces, strict=True):
        assert here.shape == there.shape
        assert_array_equal(here != 0.0, there != 0.0)
        assert_allclose(np.abs(here), np.abs(there), rtol=0, atol=1e-8)


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_runs_are_the_plain_ones(shape, criterion, penalty, affine):
    problem = posed(shape, criterion, penalty, affine)
    both = compiled_and_plain(problem)
    labels = random_start(problem, 0)
    assert_same_sweep(problem, labels)
    fast, plain = (run(samples, labels) for samples in both)
    assert_array_equal(fast.labels, plain.labels)
    assert_allclose(fast.path, plain.path, rtol=1e-8)
    assert_allclose(fast.objective, plain.objective, rtol=1e-8)
    assert (fast.stop_reason, fast.repairs) == (plain.stop_reason, plain.repairs)
    assert_allclose(*(energy(samples, fast.labels) for samples in both), rtol=1e-9)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("n_variables", [1, 2, 5, 11])
def test_of_tied_variables_the_first_stay(penalty, n_variables):
    half, labels = generic(40, 6, decay=0.9), np.zeros(40, dtype=np.intp)
    twins, sparsity = DenseRows(np.hstack([half, half])), Sparsity((n_variables,), penalty)
    problem = Problem(twins, (2,), "union_influence", False, sparsity)
    assert_same_sweep(problem, labels)
    equal = replace(problem, rows=DenseRows(np.full((40, 12), 3.0)), dimensions=(1,))
    assert_same_sweep(equal, labels)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("scale", [1e-70, 1e70])
def test_units_do_not_matter(criterion, scale):
    problem = posed(SHAPES[0], criterion)
    larger = replace(problem, rows=DenseRows(problem.rows.matrix * scale))
    labels = random_start(problem)
    here, there = (run(RowsInView(rows), labels) for rows in (problem, larger))
    assert_allclose(np.array(there.path) / scale**2, here.path, rtol=1e-9)
    assert_array_equal(here.labels, there.labels)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("p", [12, 60])
def test_clusters_with_nothing_left_for_an_axis_are_named(criterion, p):
    random = np.random.default_rng(0)
    line = np.outer(random.normal(size=30), np.r_[random.normal(size=5), np.zeros(p - 5)])
    rows = DenseRows(np.vstack([line, random.normal(size=(30, p)), np.zeros((5, p))]))
    problem = Problem(rows, (2, 2, 1), criterion, False, Sparsity((5, 5, 5), "l1"))
    here = Fitted(np.repeat([0, 1, 2], [30, 30, 5]))
    fast, plain = (samples.degenerate(here) for samples in compiled_and_plain(problem))
    assert fast == plain
    assert 2 in fast


def test_a_run_begun_again_is_the_same_run():
    problem = posed(SHAPES[0], "union_influence")
    samples, runs = RowsInView(problem), []
    for seed in (0, 1, 0):
        runs.append(run(samples, random_start(problem, seed), 50, seed))
        energy(samples, runs[-1].labels)
    assert runs[0].path == runs[2].path
    assert_array_equal(runs[0].labels, runs[2].labels)


def test_what_a_run_found_is_not_overwritten_by_the_next():
    problem = posed(SHAPES[0], "union_influence")
    samples = RowsInView(problem)
    found = run(samples, random_start(problem))
    kept = [basis.copy() for basis in found.subspaces]
    run(samples, random_start(problem, 1))
    for here, before in zip(found.subspaces, kept, strict=True):
        assert_array_equal(here, before)


def test_the_energy_of_a_partition_knows_no_numbers():
    problem = posed(SHAPES[0], "union_influence")
    labels = random_start(problem)
    assert energy(RowsInView(problem), labels) == energy(RowsInView(problem), 2 - labels)
    unequal = RowsInView(posed((60, 200, (2, 2, 2), (3, 15, 40), 0.05), "union_influence"))
    assert energy(unequal, labels) != energy(unequal, 2 - labels)


def test_threads_change_nothing():
    given = {"noise": 0.02, "n_variables": 15, "random_state": 0}
    X = make_subspaces([30, 30, 30], 100, [1, 1, 1], **given).data
    one, *others = (
        PSC(3, n_components=1, n_variables=15, n_init=6, random_state=0, n_jobs=jobs).fit(X)
        for jobs in (1, 2, 3)
    )
    for other in others:
        assert_array_equal(one.labels_, other.labels_)
        assert one.starts_ == other.starts_


def test_loadings_on_all_variables_are_left_to_the_plain_code():
    problem = posed((40, 50, (1, 1), (1, 50), 0.1), "residual")
    assert compiled_subspaces(problem) is None
    nonnegative = replace(problem, sparsity=replace(problem.sparsity, penalty="nonnegative"))
    assert_same_sweep(nonnegative, random_start(problem))
