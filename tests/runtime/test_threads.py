"""Fits side by side in one process: the same labels, each its own warnings, nothing left behind."""

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_info, threadpool_limits

from subspaces import MPPCA, PSC, SSC, KSubspaces, SparseKMeans
from subspaces.datasets import make_subspaces
from subspaces.runtime import threads
from subspaces.runtime.threads import PROCESS, cached_property, changed_filters
from subspaces.runtime.warning import collect_warnings, warn

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


def test_one_of_the_threads_limits_blas_and_lifts_it(monkeypatch):
    calls, inside = [], threading.Barrier(4)

    def controller(blas):
        @contextmanager
        def limit(limits):
            calls.append((blas, "set"))
            yield
            calls.append((blas, "lifted"))

        return SimpleNamespace(limit=limit)

    monkeypatch.setattr(threads, "_controller", controller)

    def nested(i):
        with threads.one_blas_thread(), threads.one_blas_thread():
            inside.wait()

    for _ in range(2):
        together(nested, 4)
        assert calls.count((True, "set")) == calls.count((True, "lifted")) == 1
        assert calls.count((False, "set")) == calls.count((False, "lifted")) == 3
        calls.clear()


def test_blas_has_its_threads_back_after_fits_that_overlap():
    code = "from tests.runtime.test_threads import *; print(overlapping())"
    settings = {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "True\n"


def overlapping():
    """Whether the limits are the same after eight fits at once as before."""
    X = np.random.default_rng(0).normal(size=(60, 6))
    before = blas_threads()
    for _ in range(2):
        together(lambda i: clone(MODELS[i]).fit(X), len(MODELS))
    return blas_threads() == before


def test_what_is_heard_is_heard_once_and_by_one_thread():
    def said(i):
        with collect_warnings() as collected:
            for _ in range(2):
                warn(UserWarning(f"thread {i}"))
        return [str(warning) for warning in collected]

    assert together(said, 4) == [[f"thread {i}"] for i in range(4)]
    with pytest.warns(UserWarning, match="to the user") as shown:
        warn(UserWarning("to the user"))
    assert shown[0].filename == __file__


def test_the_inner_hears_and_the_outer_does_not():
    with collect_warnings() as outer:
        with collect_warnings() as inner:
            warn(RuntimeWarning("within"))
        warn(inner[0])
    assert [type(warning) for warning in outer] == [RuntimeWarning]


def test_models_saved_at_once_to_one_path(data, tmp_path):
    model = clone(MODELS[0]).fit(data)
    together(lambda i: model.save(tmp_path / "m.npz"), 8)
    assert [path.name for path in tmp_path.iterdir()] == ["m.npz"]


def test_loops_use_the_threads_that_openmp_may_use():
    most = threads.usable_threads()
    assert 1 <= most <= (os.cpu_count() or 1) or os.environ.get("OMP_NUM_THREADS")
    with threadpool_limits(1):
        assert threads.usable_threads() == 1
    assert threads.usable_threads() == most


def test_a_property_is_computed_by_one_thread_for_all():
    class Holder:
        calls = 0

        @threads.computed_once
        def value(self):
            Holder.calls += 1
            time.sleep(0.05)
            return object()

    holder = Holder()
    found = together(lambda i: holder.value, 8)
    assert Holder.calls == 1
    assert len({id(value) for value in found}) == 1


forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
in_threads = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
# A child that takes so many seconds waits for something that never comes.
PATIENCE = 60


def answer_of_child(work):
    """What work() is in a forked process: True or False; None if that did not end, or failed."""
    child = os.fork()
    if child == 0:
        code = 3
        try:
            code = 1 if work() else 2
        finally:
            os._exit(code)
    last = time.monotonic() + PATIENCE
    while time.monotonic() < last:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return {1: True, 2: False}.get(os.waitstatus_to_exitcode(status))
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


@contextmanager
def beside(work):
    """Another thread runs work(is_over) inside the block, and has begun when it starts."""
    begun, over = threading.Event(), threading.Event()
    thread = threading.Thread(target=work, args=(begun, over))
    thread.start()
    assert begun.wait(PATIENCE)
    try:
        yield
    finally:
        over.set()
        thread.join()


@forks
@in_threads
def test_a_forked_process_has_threads_of_its_own():
    assert list(threads.map_in_threads(2)(abs, [-1, 2])) == [1, 2]
    assert answer_of_child(lambda: list(threads.map_in_threads(2)(abs, [-1, 2])) == [1, 2])


@forks
@in_threads
def test_a_process_forked_beside_fits_can_fit(data):
    model = PSC(2, n_components=2, n_init=3, random_state=0)
    expected = clone(model).fit(data).labels_

    def fit_again_and_again(begun, over):
        while not over.is_set():
            clone(model).fit(data)
            begun.set()

    def fits_as_here():
        return np.array_equal(clone(model).fit(data).labels_, expected)

    with beside(fit_again_and_again):
        assert [answer_of_child(fits_as_here) for _ in range(10)] == [True] * 10


@forks
@in_threads
def test_what_another_thread_holds_is_free_in_a_forked_process():
    before = list(warnings.filters)

    def hold(begun, over):
        with threads.one_blas_thread(), changed_filters():
            warnings.simplefilter("ignore")
            begun.set()
            over.wait()

    def is_free():
        same = list(warnings.filters) == before
        with threads.one_blas_thread(), changed_filters():
            warnings.simplefilter("ignore")
        return same and list(warnings.filters) == before and threads._blas.acquire(blocking=False)

    with beside(hold):
        assert answer_of_child(is_free)
    assert list(warnings.filters) == before


@forks
@in_threads
def test_what_the_forking_thread_holds_it_holds_in_the_new_process_too():
    with threads.one_blas_thread(), changed_filters():
        warnings.simplefilter("ignore")
        held = list(warnings.filters)

        def goes_on():
            taken = together(lambda i: PROCESS.acquire(blocking=False), 1)
            PROCESS.release()  # fails for a lock that this thread does not hold
            PROCESS.acquire()
            return taken == [False] and list(warnings.filters) == held

        assert answer_of_child(goes_on)


def test_a_cached_property_is_computed_once_and_kept():
    class Holder:
        calls = 0

        @cached_property
        def value(self):
            """Its words."""
            Holder.calls += 1
            return object()

    holder = Holder()
    assert holder.value is holder.value
    assert holder.value is not Holder().value
    assert Holder.calls == 2
