"""The compiled looks through sparse loadings against the plain code."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from subspaces import PSC
from subspaces.core.alternation import alternate
from subspaces.core.compiled import compiled_looker
from subspaces.core.kernels import kernels
from subspaces.core.look import plain_looker, plain_sweeper, sweeper
from subspaces.core.problem import Problem
from subspaces.core.rows import DenseRows
from subspaces.core.sparse_basis import Sparsity
from subspaces.datasets import make_subspaces
from tests.core.test_compiled import compiled_look
from tests.plain import generic

pytestmark = pytest.mark.skipif(kernels() is None, reason="plain code was asked for")
CRITERIA = ("union_influence", "residual", "loo_projection")
# n, p, dimensions, n_variables, noise: fewer and more members than variables, one variable, all
SHAPES = [
    (60, 200, (2, 2, 2), (15, 15, 15), 0.05),
    (120, 30, (1, 2), (6, 9), 0.3),
    (40, 50, (1, 1), (1, 49), 0.1),
    (150, 120, (3,) * 4, (20,) * 4, 0.5),
]


def posed(shape, criterion, penalty="l1", affine=False, seed=0):
    n, p, dimensions, n_variables, noise = shape
    sizes = [len(part) for part in np.array_split(np.arange(n), len(dimensions))]
    given = {"noise": noise, "offset": 1.0 if affine else 0.0, "random_state": seed}
    X = make_subspaces(sizes, p, list(dimensions), **given).data
    X = X - X.mean(axis=0) if affine else X
    return Problem(DenseRows(X), dimensions, criterion, affine, Sparsity(n_variables, penalty))


def random_start(problem, seed=0):
    n = len(problem.rows.squared_norms)
    return np.random.default_rng(seed).permutation(np.arange(n) % problem.n_clusters)


def assert_same_look(problem, labels):
    fast, plain = compiled_look(problem)(labels), plain_looker(problem)(labels)
    unit = problem.rows.squared_norms.sum()
    assert_allclose(fast.objective, plain.objective, rtol=1e-9, atol=1e-13 * unit)
    assert fast.degenerate == plain.degenerate
    assert_array_equal(fast.assigned, plain.assigned)
    assert fast.merit == plain.merit


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("penalty", ["l1", "nonnegative"])
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("shape", SHAPES)
def test_runs_are_the_plain_ones(shape, criterion, penalty, affine):
    problem = posed(shape, criterion, penalty, affine)
    assert compiled_looker(problem) is not None
    both = sweeper(problem), plain_sweeper(problem)
    for seed in range(2):
        labels = random_start(problem, seed)
        assert_same_look(problem, labels)
        fast, plain = (
            alternate(problem, labels, max_iter=9, random=np.random.default_rng(0), looks=looks)
            for looks in both
        )
        assert_array_equal(fast.labels, plain.labels)
        assert_allclose(fast.path, plain.path, rtol=1e-8)
        assert_allclose(fast.objective, plain.objective, rtol=1e-8)
        assert (fast.stop_reason, fast.repairs) == (plain.stop_reason, plain.repairs)
        energies = [looks.energy(fast.labels) for looks in both]
        assert_allclose(*energies, rtol=1e-9)


@pytest.mark.parametrize("penalty", ["l1", "nonnegative"])
@pytest.mark.parametrize("n_variables", [1, 2, 5, 11])
def test_of_tied_variables_the_first_stay(penalty, n_variables):
    X = generic(40, 6, decay=0.9)
    problem = Problem(
        DenseRows(np.hstack([X, X])),
        (2,),
        "union_influence",
        False,
        Sparsity((n_variables,), penalty),
    )
    assert_same_look(problem, np.zeros(40, dtype=np.intp))
    equal = replace(problem, rows=DenseRows(np.full((40, 12), 3.0)), dimensions=(1,))
    assert_same_look(equal, np.zeros(40, dtype=np.intp))


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("scale", [1e-70, 1e70])
def test_units_do_not_matter(criterion, scale):
    problem = posed(SHAPES[0], criterion)
    labels = random_start(problem)
    larger = replace(problem, rows=DenseRows(problem.rows.matrix * scale))
    here, there = compiled_look(problem)(labels), compiled_look(larger)(labels)
    assert_allclose(there.objective / scale**2, here.objective, rtol=1e-9)
    assert_array_equal(here.assigned, there.assigned)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("wide", [False, True])
def test_clusters_with_nothing_left_for_an_axis_are_named(criterion, wide):
    random = np.random.default_rng(0)
    p = 60 if wide else 12
    loading = np.r_[random.normal(size=5), np.zeros(p - 5)]
    line = np.outer(random.normal(size=30), loading)
    rest = random.normal(size=(30, p))
    rows = DenseRows(np.vstack([line, rest, np.zeros((5, p))]))
    problem = Problem(rows, (2, 2, 1), criterion, False, Sparsity((5, 5, 5), "l1"))
    labels = np.repeat([0, 1, 2], [30, 30, 5])
    fast, plain = compiled_look(problem)(labels), plain_looker(problem)(labels)
    assert fast.degenerate == plain.degenerate
    assert 2 in fast.degenerate


def test_a_run_begun_again_is_the_same_run():
    problem = posed(SHAPES[0], "union_influence")
    looks, runs = sweeper(problem), []
    for seed in (0, 1, 0):
        given = {"random": np.random.default_rng(seed), "looks": looks}
        runs.append(alternate(problem, random_start(problem, seed), max_iter=50, **given))
        looks.energy(runs[-1].labels)
    assert runs[0].path == runs[2].path
    assert_array_equal(runs[0].labels, runs[2].labels)


def test_the_energy_of_a_partition_knows_no_numbers():
    problem = posed(SHAPES[0], "union_influence")
    looks, labels = sweeper(problem), random_start(problem)
    assert looks.energy(labels) == sweeper(problem).energy(2 - labels)
    unequal = sweeper(posed((60, 200, (2, 2, 2), (3, 15, 40), 0.05), "union_influence"))
    assert unequal.energy(labels) != unequal.energy(2 - labels)


def test_threads_change_nothing():
    given = {"noise": 0.02, "n_variables": 15, "random_state": 0}
    X = make_subspaces([30, 30, 30], 100, [1, 1, 1], **given).data
    fits = [
        PSC(3, n_components=1, n_variables=15, n_init=6, random_state=0, n_jobs=jobs).fit(X)
        for jobs in (1, 2, 3)
    ]
    for other in fits[1:]:
        assert_array_equal(fits[0].labels_, other.labels_)
        assert fits[0].starts_ == other.starts_


def test_loadings_on_all_variables_are_left_to_the_plain_code():
    problem = posed((40, 50, (1, 1), (1, 50), 0.1), "residual")
    assert compiled_looker(problem) is None
    nonnegative = replace(problem, sparsity=replace(problem.sparsity, penalty="nonnegative"))
    assert_same_look(nonnegative, random_start(problem))
    assert compiled_looker(replace(problem, criterion="sparse_influence")) is None
