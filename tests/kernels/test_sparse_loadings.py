"""The compiled fit of sparse loadings against the plain one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from subspaces.core import sparse_loadings as sparse_basis
from subspaces.datasets import make_subspaces
from tests.plain import generic

module = pytest.importorskip("subspaces.kernels.sparse_loadings")

CONSTANTS = (
    sparse_basis.LOADING_TOLERANCE,
    sparse_basis.MAX_STEPS,
    sparse_basis.TIED,
    sparse_basis.NOTHING_LEFT,
)
PENALTIES = ("l1", "nonnegative")
# n, p, n_components, n_variables, noise: fewer and more members than variables, one variable, all
SHAPES = [
    (20, 200, 2, 15, 0.05),
    (60, 30, 2, 6, 0.3),
    (20, 50, 1, 1, 0.1),
    (20, 50, 1, 49, 0.1),
    (38, 120, 3, 20, 0.5),
    (200, 12, 3, 5, 0.5),
]


def rows_of(shape, seed=0):
    n, p, r, _, noise = shape
    return make_subspaces([n, n], p, [r, r], noise=noise, offset=0.5, random_state=seed).data


def both(rows, sweeps, n_components, n_variables, penalty, affine=False, gram=None):
    """Loadings of some members and of the others, sweep after sweep: compiled ones and plain ones.

    sweeps: the members of the first of two clusters; each sweep starts from the one before.
    """
    compiled = module.SparseSubspaces(
        rows,
        np.sum(rows**2, axis=1),
        gram,
        (n_components, n_components),
        (n_variables, n_variables),
        affine,
        penalty == "nonnegative",
        CONSTANTS,
    )
    start = [None, None]
    for members in sweeps:
        labels = np.ones(len(rows), dtype=np.intp)
        labels[members] = 0
        compiled.fit(labels)
        for k in (0, 1):
            own = rows[labels == k]
            own = own - own.mean(axis=0) if affine else own
            plain = sparse_basis.sparse_loadings(own, n_components, n_variables, penalty, start[k])
            yield compiled.loadings[k].T.copy(), plain
            start[k] = compiled.loadings[k].T.copy()


def assert_same(fast, plain, atol=1e-8):
    """Equal up to the signs of the columns, which no eigenvector decides."""
    assert fast.shape == plain.shape
    signs = np.where(np.einsum("ij,ij->j", fast, plain) < 0.0, -1.0, 1.0)
    assert_allclose(fast * signs, plain, rtol=0, atol=atol)
    assert_array_equal(fast != 0.0, plain != 0.0)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_loadings_are_the_plain_ones(shape, penalty, affine, known):
    rows, random = rows_of(shape), np.random.default_rng(0)
    gram = rows @ rows.T if known else None
    sweeps = [np.flatnonzero(random.random(len(rows)) < 0.6) for _ in range(3)]
    for fast, plain in both(rows, sweeps, *shape[2:4], penalty, affine, gram):
        assert_same(fast, plain)
        assert np.all(np.count_nonzero(fast, axis=0) <= shape[3])


def test_all_variables_of_one_sign_may_be_asked_for():
    rows = rows_of((30, 25, 2, 25, 0.2))
    for fast, plain in both(rows, [np.arange(0, 60, 2)], 2, 25, "nonnegative"):
        assert_same(fast, plain)
        assert fast.min() >= 0.0


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("n_variables", [1, 2, 5, 11])
def test_of_tied_variables_the_first_stay(penalty, n_variables):
    half = generic(40, 6, decay=0.9)
    for fast, plain in both(np.hstack([half, half]), [np.arange(30)], 2, n_variables, penalty):
        assert_same(fast, plain)
    for fast, plain in both(np.full((40, 12), 3.0), [np.arange(30)], 1, n_variables, penalty):
        assert_same(fast, plain)
        assert np.flatnonzero(fast[:, 0]).tolist() == list(range(n_variables))


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("p", [12, 60])
def test_nothing_is_explained_where_nothing_is_left(p, penalty):
    random = np.random.default_rng(0)
    loading = np.r_[random.uniform(1.0, 2.0, size=5), np.zeros(p - 5)]
    rows = np.vstack([np.outer(random.uniform(1, 2, size=30), loading), np.zeros((5, p))])
    # In the second sweep the zeros are back in the first cluster, and the second one is empty.
    (one, plain), (zero, _), (again, _), (empty, _) = both(
        rows, [np.arange(30), np.arange(35)], 2, 6, penalty
    )
    assert_same(one, plain)
    assert_same(again, plain)
    assert not one[:, 1].any()
    assert not zero.any()
    assert not empty.any()


@pytest.mark.parametrize("penalty", PENALTIES)
def test_loadings_that_explain_nothing_any_more_are_no_start(penalty):
    """The first cluster's variables are zero in all of its members of the next sweep."""
    rows = np.zeros((60, 30))
    rows[:20, :10] = generic(20, 10, decay=0.8)
    rows[20:, 10:] = generic(40, 20, decay=0.8, seed=1)
    sweeps = [np.arange(20), np.arange(20, 40), np.arange(40)]
    for fast, plain in both(rows, sweeps, 2, 5, penalty):
        assert_same(fast, plain)


def test_only_clusters_that_changed_are_fitted_and_nothing_is_left_of_a_run_forgotten():
    rows, shape = rows_of(SHAPES[0]), ((2, 2, 2), (15, 15, 15), False, False, CONSTANTS)
    compiled = module.SparseSubspaces(rows, np.sum(rows**2, axis=1), rows @ rows.T, *shape)
    first, second = np.arange(40) % 3, np.where(np.arange(40) == 0, 1, np.arange(40) % 3)
    compiled.fit(first)
    before = compiled.loadings.copy()
    compiled.fit(second)
    assert_array_equal(compiled.loadings[2], before[2])
    assert np.abs(compiled.loadings[:2] - before[:2]).max(axis=(1, 2)).min() > 0.0
    assert_array_equal(compiled.sizes, np.bincount(second))
    compiled.forget()
    compiled.fit(first)
    assert_array_equal(compiled.loadings, before)


@pytest.mark.parametrize("scale", [1e-70, 1e70])
def test_units_do_not_matter(scale):
    rows, sweeps = rows_of(SHAPES[0]), [np.arange(25), np.arange(20)]
    larger = both(rows * scale, sweeps, 2, 15, "l1")
    for (here, _), (there, _) in zip(both(rows, sweeps, 2, 15, "l1"), larger, strict=True):
        assert_same(there, here)
