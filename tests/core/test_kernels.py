"""The compiled module among threads, processes and signals."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from subspaces import PSC
from subspaces.core.kernels import kernels
from subspaces.datasets import make_subspaces

pytestmark = pytest.mark.skipif(kernels() is None, reason="the compiled kernels are not at hand")

# Fits one after the other, most of it in the kernels; an interrupted one says where it was.
FITS = """
import signal, traceback
import numpy as np
signal.signal(signal.SIGINT, signal.default_int_handler)
from subspaces import PSC
X = np.random.default_rng(0).standard_normal((600, 400))
model = PSC(6, n_components=3, criterion="influence", init="random", n_init=50)
model.fit(X[:60])
while True:
    try:
        print("begun", flush=True)
        model.fit(X)
    except KeyboardInterrupt as interrupt:
        print(traceback.extract_tb(interrupt.__traceback__)[-1].filename, flush=True)
"""
# A signal may find Python at work, before or between two runs; then another is sent, later.
TRIES, LATER = 20, 0.1


def planes():
    return make_subspaces(150, 200, [2, 2, 2], noise=0.05, random_state=0).data


def labels_of(X):
    return PSC(3, n_components=2, init="random", n_init=4, random_state=0).fit(X).labels_


def test_other_threads_run_beside_a_look():
    module = kernels()
    X = np.random.default_rng(0).standard_normal((1500, 2000))
    looker = module.GramLooker(
        X @ X.T, np.einsum("ij,ij->i", X, X), (5, 5), np.zeros(2), "influence", False
    )
    ticks, done = [0], threading.Event()

    def tick():
        while not done.is_set():
            ticks[0] += 1
            time.sleep(0.001)

    def beside_one_look():
        before = ticks[0]
        looker.look(np.arange(1500) % 2)
        return ticks[0] - before

    clock = threading.Thread(target=tick)
    clock.start()
    try:  # a look that kept the others waiting would let them in when it begins and ends, no more
        assert any(beside_one_look() > 3 for _ in range(100))
    finally:
        done.set()
        clock.join()


@pytest.mark.skipif(os.name != "posix", reason="signals as Ctrl-C sends them")
def test_a_run_is_interrupted_before_its_end():
    """The kernel itself raises, after the sweep it is in; Python would wait for the whole run."""
    fits = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", FITS], stdout=subprocess.PIPE, text=True
    )
    raised = [""]
    try:
        while len(raised) <= TRIES and "_sweeps.pxi" not in raised[-1]:
            while fits.stdout.readline() != "begun\n":
                assert fits.poll() is None
            time.sleep(LATER * len(raised))
            fits.send_signal(signal.SIGINT)
            raised.append(_next_that_is_no_beginning(fits.stdout))
    finally:
        fits.kill()
        fits.communicate()
    assert "_sweeps.pxi" in raised[-1], raised


def _next_that_is_no_beginning(lines):
    """Who raised; the fit may have ended and the next begun before the signal came."""
    return next(line for line in lines if line != "begun\n")


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize(
    "way", [way for way in ("fork", "spawn") if way in multiprocessing.get_all_start_methods()]
)
def test_a_new_process_finds_the_same(way):
    X = planes()
    expected = labels_of(X)
    with multiprocessing.get_context(way).Pool(1) as pool:
        np.testing.assert_array_equal(pool.apply(labels_of, (X,)), expected)
    np.testing.assert_array_equal(labels_of(X), expected)
