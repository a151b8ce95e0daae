from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from subspaces.core import threads
from subspaces.core.threads import one_blas_thread


class Library:
    def __init__(self, num_threads):
        self.num_threads = num_threads

    def set_num_threads(self, number):
        self.num_threads = number


@pytest.fixture
def library(monkeypatch):
    fake = Library(7)
    monkeypatch.setattr(threads, "_libraries", lambda: [fake])
    return fake


def test_the_limit_ends_with_the_outer_context(library):
    with one_blas_thread():
        with one_blas_thread():
            assert library.num_threads == 1
        assert library.num_threads == 1
    assert library.num_threads == 7


def test_the_limit_ends_with_an_error(library):
    with pytest.raises(ValueError, match="inside"), one_blas_thread():
        raise ValueError("inside")
    assert library.num_threads == 7


def test_the_limit_holds_until_the_last_thread_has_left(library):
    both_in, first_out = Barrier(2), Barrier(2)

    def leave_first():
        with one_blas_thread():
            both_in.wait(5)
        first_out.wait(5)

    def leave_last():
        with one_blas_thread():
            both_in.wait(5)
            first_out.wait(5)
            return library.num_threads

    with ThreadPoolExecutor(2) as pool:
        pool.submit(leave_first)
        assert pool.submit(leave_last).result(10) == 1
    assert library.num_threads == 7
