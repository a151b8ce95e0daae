"""Sparse = dense, without the zeros."""

import tracemalloc
from functools import partial

import numpy as np
import pytest
from scipy import sparse

from subspaces import GPCA, PSC, KSubspaces
from subspaces.core.criteria import names
from subspaces.data import block_pass
from subspaces.data.blocks import ArrayBlocks, SparseBlocks, canonical
from subspaces.data.pass_plan import Pass
from subspaces.data.subspaces import Subspaces
from tests.warned import refuses

WIDE, NARROW = 230, 30


def counts(seed, n=500, p=WIDE, k=3):
    """Rows with many zeros around k flats, and labels of which half are right."""
    random = np.random.default_rng(seed)
    target = random.integers(k, size=n)
    axes = random.exponential(size=(k, 2, p)) * (random.random((k, 2, p)) < 0.3)
    rows = np.einsum("nr,nrp->np", random.exponential(size=(n, 2)), axes[target])
    rows += 0.3 * random.exponential(size=(n, p))
    rows *= random.random((n, p)) < 0.5
    guesses = random.integers(k, size=n)
    return rows, np.where(random.random(n) < 0.5, target, guesses)


def flats_at_random(p, k=3, r=2):
    random = np.random.default_rng(0)
    axes = np.linalg.qr(random.standard_normal((k, p, r)))[0]
    ones = np.ones(k)
    centres = random.standard_normal((k, p))
    alive = np.full((k, r), True)
    return Subspaces(
        centres, axes, np.full((k, r), 9.0), alive, np.full(k, r), 50 * ones, ones, 0.5
    )


@pytest.mark.parametrize("p", [WIDE, NARROW])
@pytest.mark.parametrize("criterion", names(passes=True))
def test_a_pass_gives_what_it_gives_of_dense_rows(criterion, p):
    X, labels = counts(0, n=300, p=p)
    labels = labels.astype(np.int32)
    plan = Pass(flats_at_random(p), criterion, p, len(X), by_scatter=p == NARROW)
    visit = partial(block_pass.assign_and_sum, plan=plan)
    expected, sums = ArrayBlocks(X).fold(visit, labels)
    found, found_sums = SparseBlocks(sparse.csr_array(X), block_rows=70).fold(visit, labels)
    np.testing.assert_array_equal(found, expected)
    for name in ("objective", "moved", "sizes", "energy", "totals", "products"):
        np.testing.assert_allclose(getattr(found_sums, name), getattr(sums, name), rtol=1e-9)


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize(("kind", "p"), [(PSC, WIDE), (PSC, NARROW), (KSubspaces, NARROW)])
def test_fits_are_those_of_dense_rows(kind, p, affine):
    X, start = counts(0, n=10_100, p=p)
    model = kind(3, n_components=2, affine=affine, init=start, random_state=0, max_iter=200)
    expected = model.fit(X)
    labels, objective = expected.labels_, expected.objective_
    coordinates, points = expected.project(X), expected.reconstruct(X)
    rows = sparse.csr_matrix(X)
    np.testing.assert_array_equal(model.fit(rows).labels_, labels)
    assert model.objective_ == pytest.approx(objective, rel=1e-9)
    np.testing.assert_array_equal(model.predict(rows), model.predict(X))
    np.testing.assert_allclose(model.transform(rows), model.transform(X), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(np.abs(model.project(rows)), np.abs(coordinates), atol=1e-5)
    np.testing.assert_allclose(model.reconstruct(rows), points, atol=1e-5)


@pytest.mark.parametrize("form", ["csc", "coo", "lil", "dok", "bsr"])
def test_any_form_and_type_of_sparse_matrix_will_do(form):
    X, start = counts(3, p=NARROW)
    X = np.round(10 * X).astype(np.int32)
    model = PSC(3, n_components=2, init=start, random_state=0)
    expected = model.fit(sparse.csr_array(X.astype(float))).labels_
    np.testing.assert_array_equal(model.fit(sparse.csr_array(X).asformat(form)).labels_, expected)


def test_entries_given_twice_add_up_and_the_matrix_stays_as_it_was():
    data, rows, columns = np.array([1.0, 2.0, 3.0]), np.array([0, 0, 1]), np.array([1, 1, 0])
    twice = sparse.csr_array((data, columns, np.array([0, 2, 3])), shape=(2, 2))
    np.testing.assert_array_equal(canonical(twice).data, [3.0, 3.0])
    assert twice.nnz == 3
    once = sparse.csr_array((data[1:], (rows[1:], columns[1:])), shape=(2, 2))
    assert np.shares_memory(canonical(once).data, once.data)


def test_the_value_in_the_way_is_named():
    X, start = counts(0)
    X[411, 5] = np.inf
    with refuses("X", np.inf, place="row 411, column 5"):
        PSC(3, n_components=2, init=start).fit(sparse.csr_array(X))


@pytest.mark.parametrize("shape", [(0, 300), (20, 0)])
def test_an_empty_matrix_is_refused(shape):
    with pytest.raises(ValueError, match=rf"shape \({shape[0]}, {shape[1]}\)"):
        PSC(2).fit(sparse.csr_array(shape))


def test_other_methods_say_what_would_do():
    with refuses("X", kind=TypeError, naming=["X.toarray()"]):
        GPCA(2).fit(sparse.eye_array(30, format="csr"))


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.filterwarnings("ignore::subspaces.messages.NotConvergedWarning")
def test_the_zeros_are_never_written_out(affine):
    random = np.random.default_rng(0)
    columns = (random.integers(100, size=(60_000, 10)) + 100 * np.arange(10)).ravel()
    values = random.random(len(columns)) / (1 + columns)
    X = sparse.csr_array((values, columns, np.arange(0, 600_001, 10)), shape=(60_000, 1000))
    start = np.arange(X.shape[0]) % 2
    model = KSubspaces(2, n_components=1, affine=affine, init=start, max_iter=2)
    tracemalloc.start()
    model.fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60_000 * 1000 * 8 / 4
