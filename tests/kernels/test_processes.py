"""The compiled modules among threads and processes."""

import multiprocessing
import threading
import time

import numpy as np
import pytest

from subspaces import PSC
from subspaces.datasets import make_subspaces
from subspaces.kernels import compiled

pytestmark = pytest.mark.skipif(compiled("gram") is None, reason="the kernels are not built")


def planes():
    return make_subspaces(150, 200, [2, 2, 2], noise=0.05, random_state=0).data


def labels_of(X):
    return PSC(3, n_components=2, init="random", n_init=4, random_state=0).fit(X).labels_


def test_other_threads_run_beside_a_fit():
    X = np.random.default_rng(0).standard_normal((1500, 2000))
    squared = np.einsum("ij,ij->i", X, X)
    clusters = compiled("gram").GramSubspaces(X @ X.T, squared, (5, 5), False)
    ticks, done = [0], threading.Event()

    def tick():
        while not done.is_set():
            ticks[0] += 1
            time.sleep(0.001)

    def beside_one_fit():
        before = ticks[0]
        clusters.forget()
        clusters.fit(np.arange(1500) % 2)
        return ticks[0] - before

    clock = threading.Thread(target=tick)
    clock.start()
    try:  # one that kept the others waiting would let them in when it begins and ends, no more
        assert any(beside_one_fit() > 3 for _ in range(100))
    finally:
        done.set()
        clock.join()


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
