"""Files mapped into memory are read block by block, and give what arrays give."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from subspaces import PSC, KSubspaces, MiniBatchPSC
from subspaces.data.blocks import ArrayBlocks, SparseBlocks
from subspaces.datasets import make_subspaces
from subspaces.starts.landmarks import sample_size
from tests.warned import refuses


def mapped(path, X, kind):
    X.astype(kind).tofile(path)
    return np.memmap(path, dtype=kind, mode="r", shape=X.shape)


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("kind", [PSC, KSubspaces])
def test_a_file_gives_the_labels_of_the_array(kind, affine, tmp_path):
    made = make_subspaces([3400] * 3, 10, [2] * 3, noise=0.2, random_state=0)
    start = np.random.default_rng(0).integers(3, size=10_200)
    model = kind(3, n_components=2, affine=affine, init=start, random_state=0, max_iter=200)
    expected = model.fit(made.data + 1.0 * affine).labels_
    rows = mapped(tmp_path / "rows", made.data + 1.0 * affine, np.float64)
    np.testing.assert_array_equal(model.fit(rows).labels_, expected)
    np.testing.assert_array_equal(model.predict(rows), model.predict(np.array(rows)))


@pytest.mark.filterwarnings("ignore::subspaces.messages.NotConvergedWarning")
@pytest.mark.parametrize("kind", [KSubspaces, MiniBatchPSC])
def test_a_file_is_never_held_whole(kind, tmp_path):
    n, p = 200_000, 100
    rows = np.memmap(tmp_path / "rows", dtype=np.float32, mode="w+", shape=(n, p))
    random = np.random.default_rng(0)
    for part in np.split(np.arange(n), 20):
        rows[part] = random.standard_normal((len(part), p), dtype=np.float32)
    rows = np.memmap(tmp_path / "rows", dtype=np.float32, mode="r", shape=(n, p))
    model = kind(2, init="random", n_init=1, random_state=0)
    model.set_params(**{"max_batches": 2} if kind is MiniBatchPSC else {"max_iter": 3})
    tracemalloc.start()
    model.fit(rows)
    model.predict(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < rows.nbytes / 3


def shaped(n, p, precision="float64"):
    return ArrayBlocks(np.broadcast_to(np.zeros((), precision), (n, p)))


def test_the_sample_searched_is_bounded_by_the_data():
    two = (2,) * 5
    assert sample_size(shaped(20_000, 50), two) == 1500
    assert sample_size(shaped(20_000, 500), two) == 1500
    assert sample_size(shaped(12_000, 2000, "float32"), two) == 1000
    assert sample_size(shaped(100_000, 2500, "float64"), two) == 1500
    assert sample_size(shaped(30_000, 2000, "float64"), two) == int(
        (30_000 * 2000 * 8 / 256) ** 0.5
    )
    # At least 13 rows of a cluster for each dimension, and its centre.
    assert sample_size(shaped(12_000, 2000, "float32"), (9,) * 20) == 13 * 10 * 20
    assert sample_size(shaped(1200, 300), two) == 1200
    n, p = 9000, 2500
    columns, ends = np.tile(np.arange(p, dtype=np.int32), n), p * np.arange(n + 1, dtype=np.int32)
    entries = sparse.csr_array((np.ones(n * p), columns, ends), shape=(n, p))
    assert sample_size(SparseBlocks(entries), two) == int((entries.nnz * 12 / 256) ** 0.5)


@pytest.mark.parametrize("kind", [PSC, KSubspaces, MiniBatchPSC])
def test_single_precision_is_refused_where_its_squares_overflow_or_vanish(kind):
    made = make_subspaces([6000, 6000], 10, [2, 2], noise=0.01, random_state=0)
    model = kind(2, n_components=2, init="k-means++", n_init=1, random_state=0)
    expected = model.fit(made.data).labels_
    for scale in (1e-12, 1e12):
        X = (scale * made.data).astype(np.float32)
        np.testing.assert_array_equal(model.fit(X).labels_, expected)
    for scale in (1e-20, 1e20):
        X = (scale * made.data).astype(np.float32)
        with refuses("X", naming=["float32", "float64"]):
            model.fit(X)
        np.testing.assert_array_equal(model.fit(X.astype(np.float64)).labels_, expected)
        with refuses("X", naming=["float32"]):
            model.predict(X)


@pytest.mark.parametrize("kind", [PSC, KSubspaces])
def test_given_labels_of_rows_that_are_mostly_zero(kind):
    """A few rows do not tell the rank then; more are looked at before a fit is refused."""
    made = make_subspaces([300, 300], 40, [10, 10], noise=0.01, random_state=0)
    X = np.zeros((12_000, 40))
    X[::20] = made.data
    labels = np.arange(12_000) // 6000
    model = kind(2, n_components=10, init=labels, n_init=1, random_state=0).fit(X)
    assert adjusted_rand_score(made.target, model.labels_[::20]) > 0.9
