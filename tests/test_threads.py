"""Fits side by side in one process: the same labels, each its own warnings, nothing left behind."""

import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_info

from subspaces import MPPCA, PSC, SSC, KSubspaces, SparseKMeans
from subspaces.core import threads
from subspaces.core.hearing import hearing, warn
from subspaces.datasets import make_subspaces

MODELS = [
    PSC(2, n_components=2, n_init=3, random_state=0),
    KSubspaces(2, n_components=2, n_init=3, random_state=0),
    SSC(2, n_components=2, random_state=0),
    MPPCA(2, n_components=2, n_init=2, random_state=0),
    SparseKMeans(2, n_variables=3, n_init=2, random_state=0),
    PSC(2, n_components=6, n_init=2, random_state=0),  # warns: its dimension is the rank
    PSC(2, n_components=2, n_init=2, max_iter=1, random_state=0),
    KSubspaces(2, n_components=1, n_init=2, affine=True, random_state=0),
]


def together(work, count):
    """Run all at once, from the same moment on."""
    gate = threading.Barrier(count)

    def begun(i):
        gate.wait()
        return work(i)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(begun, range(count)))


@pytest.fixture(scope="module")
def data():
    return make_subspaces(60, 6, [2, 2], noise=0.1, random_state=0).data


def blas_threads():
    return [library["num_threads"] for library in threadpool_info()]


@pytest.mark.filterwarnings("ignore")
def test_eight_threads_fit_as_one_does(data):
    alone = [clone(model).fit(data) for model in MODELS]
    before = list(warnings.filters), warnings.showwarning, blas_threads()
    for _ in range(3):
        found = together(lambda i: clone(MODELS[i]).fit(data), len(MODELS))
        for one, other in zip(alone, found, strict=True):
            np.testing.assert_array_equal(one.labels_, other.labels_)
            assert one.record_.messages == other.record_.messages
        assert (list(warnings.filters), warnings.showwarning, blas_threads()) == before


def test_every_thread_limits_blas_once_and_lifts_it(monkeypatch):
    calls = []

    @contextmanager
    def limit(limits):
        calls.append(threading.get_ident())
        yield
        calls.append(threading.get_ident())

    monkeypatch.setattr(threads, "_controller", lambda: SimpleNamespace(limit=limit))

    def nested(i):
        with threads.one_blas_thread(), threads.one_blas_thread():
            return threading.get_ident()

    entered = together(nested, 4)
    assert sorted(calls) == sorted(entered * 2)


def test_what_is_heard_is_heard_once_and_by_one_thread():
    def said(i):
        with hearing() as heard:
            for _ in range(2):
                warn(f"thread {i}")
        return [str(warning) for warning in heard]

    assert together(said, 4) == [[f"thread {i}"] for i in range(4)]
    with pytest.warns(UserWarning, match="to the user") as shown:
        warn("to the user")
    assert shown[0].filename == __file__


def test_the_inner_hears_and_the_outer_does_not():
    with hearing() as outer:
        with hearing() as inner:
            warn("within", RuntimeWarning)
        warn(inner[0])
    assert [type(warning) for warning in outer] == [RuntimeWarning]


def test_models_saved_at_once_to_one_path(data, tmp_path):
    model = clone(MODELS[0]).fit(data)
    together(lambda i: model.save(tmp_path / "m.npz"), 8)
    assert [path.name for path in tmp_path.iterdir()] == ["m.npz"]
