"""Dask = numpy, whatever the chunks; a fit that outlives a worker."""

import os
import resource
import signal
import sys

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster
from scipy import sparse

from subspaces import GPCA, PSC, KSubspaces, load, progress
from subspaces.data.dask import as_blocks
from subspaces.datasets import make_subspaces
from subspaces.messages import ParameterError
from tests.warned import refuses, warns

# More rows than are held in view, so that numpy passes over them, too.
SIZES = (2400, 3500, 4300)
CHUNKS = {"one": 10_200, "seven": 1500, "uneven": (1, 5000, 0, 20, 5179), "many": 425}
MODELS = {"PSC": PSC, "KSubspaces": KSubspaces}


def union(seed, sizes=(150, 200, 250), p=12, offset=0.0, right=0.5):
    """Rows, and labels of which a part is right."""
    random = np.random.default_rng(seed)
    made = make_subspaces(list(sizes), p, [2] * len(sizes), noise=0.1, random_state=seed)
    order = random.permutation(len(made.data))
    target = made.target[order]
    guesses = random.integers(len(sizes), size=len(target))
    start = np.where(random.random(len(target)) < right, target, guesses)
    return made.data[order] + offset * random.normal(size=p), start


def rows_of(X, chunks):
    return da.from_array(X, chunks=(chunks, -1))


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("kind", MODELS)
def test_labels_are_those_of_numpy(kind, chunks, affine):
    X, start = union(0, SIZES, offset=3.0 if affine else 0.0)
    model = MODELS[kind](3, n_components=2, affine=affine, init=start, random_state=0)
    expected, objective = model.fit(X).labels_, model.objective_
    found = model.fit(rows_of(X, CHUNKS[chunks])).labels_
    assert isinstance(found, da.Array)
    np.testing.assert_array_equal(found.compute(), expected)
    assert model.objective_ == pytest.approx(objective, rel=1e-9)


@pytest.mark.parametrize("chunk", [np.asarray, sparse.csr_matrix])
def test_missing_cells_are_not_passed_on_as_imputed(chunk):
    X, start = union(5, p=230)
    model = PSC(3, n_components=2, init=start, random_state=0).fit(X)
    found = model.impute(rows_of(X, 200).map_blocks(chunk)).compute()
    np.testing.assert_array_equal(found if chunk is np.asarray else found.toarray(), X)
    X[403, 2] = np.nan
    with refuses("X", naming=["row 403"]):
        model.impute(rows_of(X, 200).map_blocks(chunk)).compute()


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("chunk", [np.asarray, sparse.csr_matrix])
def test_of_many_variables_too_dense_or_sparse(chunk, affine):
    """Sparse matrices are read in passes however few their rows are."""
    X, start = union(5, p=230, offset=0.3 if affine else 0.0)
    X[np.abs(X) < 0.1] = 0.0
    model = PSC(3, n_components=2, affine=affine, init=start, random_state=0)
    expected = model.fit(sparse.csr_array(X)).labels_
    rows = rows_of(X, 220).map_blocks(chunk)
    assert as_blocks(rows).stays_sparse == (chunk is sparse.csr_matrix)
    np.testing.assert_array_equal(model.fit(rows).labels_.compute(), expected)
    np.testing.assert_allclose(model.transform(rows).compute(), model.transform(X), rtol=1e-6)


@pytest.mark.parametrize("kind", [np.float32, np.int64])
def test_from_a_sample_and_of_any_type(kind):
    X, _ = union(1, SIZES)
    X = (100 * X).astype(kind)
    model = PSC(3, n_components=2, init="k-means++", n_init=2, random_state=0)
    expected = model.fit(X).labels_
    np.testing.assert_array_equal(model.fit(rows_of(X, 2600)).labels_.compute(), expected)


@pytest.fixture(scope="module")
def fitted():
    X, start = union(2, offset=2.0)
    rows = rows_of(X, (1, 300, 0, 20, 279))
    return PSC(3, n_components=[1, 2, 2], affine=True, init=start).fit(rows), X, rows


@pytest.mark.parametrize("method", ["predict", "transform", "reconstruct", "project", "impute"])
def test_new_rows_are_looked_at_when_they_are_asked_for(fitted, method):
    model, X, rows = fitted
    expected, found = getattr(model, method)(X), getattr(model, method)(rows)
    assert isinstance(found, da.Array)
    assert found.dtype == found.compute().dtype
    assert found.shape == found.compute().shape
    if method == "project":
        found = [row[~np.isnan(row)] for row in found.compute()]
        assert {len(row) for row in found} == {1, 2}
        found, expected = np.concatenate(found), np.concatenate(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


def test_a_saved_model_holds_its_labels_in_memory(fitted, tmp_path):
    model, X, _ = fitted
    model.save(tmp_path / "model.npz")
    again = load(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.labels_, model.labels_.compute())
    np.testing.assert_allclose(again.influence_, model.influence_.compute())
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_report_fetches_what_it_shows(fitted, tmp_path):
    model, X, _ = fitted
    assert "600" in model.report(X, tmp_path / "page.html").read_text(encoding="utf-8")
    assert isinstance(model.labels_, da.Array)


def test_what_cannot_be_taken_says_what_would_do():
    X, _ = union(0)
    rows = rows_of(X, 100)
    with refuses("X", naming=["X.rechunk"]):
        PSC(3).fit(da.from_array(X, chunks=(100, 6)))
    with refuses("X", naming=["X.compute_chunk_sizes()"]):
        PSC(3).fit(rows[rows[:, 0] > 0])
    with refuses("X", naming=["(1, 600, 12)"]):
        PSC(3).fit(rows[None])
    with refuses("X", naming=["(0, 12)"]):
        PSC(3).fit(rows[:0])
    with refuses("X", kind=TypeError, naming=["complex128"]):
        PSC(3).fit(rows.astype(complex))
    with refuses("X", kind=TypeError, naming=["Dask", "Delayed"]):
        KSubspaces(3).fit(dask.delayed(1))
    with refuses("X", kind=TypeError, naming=["Dask", "X.compute"]):
        GPCA(3).fit(rows)
    with pytest.raises(ValueError, match="X has 12 features, but PSC is expecting 11"):
        PSC(3).fit(rows[:, :11].rechunk((100, -1))).predict(rows)
    again = rows[rows[:, 0] > 0].compute_chunk_sizes()
    assert PSC(3, random_state=0).fit(again).labels_.shape == again.shape[:1]


@pytest.mark.parametrize(
    "options",
    [
        {"refine": "ppca"},
        {"n_variables": 3},
        {"n_clusters": "auto"},
        {"n_components": "auto"},
        {"criterion": "loo_projection"},
    ],
)
def test_what_needs_all_rows_is_refused(options):
    (name,), X = options, union(0)[0]
    for rows, call in ((rows_of(X, 100), "compute"), (sparse.csr_array(X), "toarray")):
        with pytest.raises(ParameterError, match=rf"X.{call}\(\)") as raised:
            PSC(**options).fit(rows)
        assert raised.value.parameter == name


def test_the_row_in_the_way_is_named():
    def with_hole(block, block_info):
        first = block_info[0]["array-location"][0][0]
        if first <= 123_456 < first + len(block):
            block = block.copy()
            block[123_456 - first, 1] = np.nan
        return block

    rows = da.ones((130_000, 3), chunks=(10_000, 3)).map_blocks(with_hole, dtype=float)
    with refuses("X", place="row 123456, column 1"):
        PSC(2).fit(rows)
    model = PSC(2, init=np.arange(600) % 2, max_iter=1)
    with warns("max_iter"):
        model.fit(union(0, p=3)[0])
    with refuses("X", place="row 123456, column 1"):
        model.predict(rows).compute()


@pytest.fixture(scope="module")
def client():
    options = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": "CRITICAL"}
    with LocalCluster(2, **options) as cluster, Client(cluster) as client:
        yield client


def killing(worker, at):
    """Listen to a fit, and kill a worker when it has done so many sweeps."""

    def hear(step):
        if step.stage == "sweep" and step.done == at:
            os.kill(worker, signal.SIGKILL)

    return progress.listen(hear)


def test_a_worker_killed_in_mid_fit_changes_nothing(client):
    X, start = union(7, SIZES, p=4, right=0.2)
    model = PSC(3, n_components=2, init=start, random_state=0)
    expected = model.fit(X).labels_
    assert model.n_iter_ > 3
    before = client.run(os.getpid)
    with killing(next(iter(before.values())), at=2):
        model.fit(rows_of(X, 3400))
    np.testing.assert_array_equal(model.labels_.compute(), expected)
    client.wait_for_workers(2)
    assert set(client.run(os.getpid).values()) != set(before.values())


def ramp(block_info=None):
    """A chunk of noise with as many scales as columns, made in place."""
    location = block_info[None]["array-location"]
    shape = tuple(stop - start for start, stop in location)
    random = np.random.default_rng(location[0][0])
    chunk = random.standard_normal(shape, dtype=np.float32)
    chunk *= np.arange(1, shape[1] + 1, dtype=np.float32)
    return chunk


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is in kibibytes on Linux")
@pytest.mark.filterwarnings("ignore::subspaces.messages.NotConvergedWarning")
def test_a_worker_holds_less_than_three_chunks(client):
    def rows(n):
        chunks = ((n,) * 8, (40,))
        return da.map_blocks(ramp, chunks=chunks, dtype=np.float32, meta=np.empty((0, 0), "f4"))

    model = KSubspaces(2, n_components=2, affine=True, max_iter=2, random_state=0)
    model.set_params(init=np.arange(8000) % 2).fit(rows(1000))
    before = client.run(peak)
    model.set_params(init=np.arange(800_000) % 2).fit(rows(100_000))
    chunk, state = 100_000 * 40 * 4, 8 * 100_000 * 4
    after = client.run(peak)
    for worker, least in before.items():
        assert after[worker] - least < 3 * chunk + state


def test_a_scheduler_that_is_lost_is_one_error():
    X, start = union(7, p=4, right=0.2)
    options = {"processes": False, "dashboard_address": ":0", "silence_logs": "CRITICAL"}
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "2s"}),
        LocalCluster(1, protocol="tcp", **options) as cluster,
        Client(cluster, timeout="2s"),
    ):

        def hear(step):
            if step.stage == "sweep" and step.done == 2:
                cluster.sync(cluster.scheduler.close)

        with progress.listen(hear), pytest.raises(RuntimeError, match="Dask scheduler was lost"):
            PSC(3, n_components=2, init=start).fit(rows_of(X, 200))
