"""BLAS on one thread while ours run: many small problems side by side, each on its own core."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import local

from threadpoolctl import ThreadpoolController

_held = local()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """A context in which BLAS and OpenMP keep to the calling thread; free inside another.

    Each thread enters for itself: the limit of OpenMP belongs to a thread, and of BLAS, whose limit
    is one for all, threadpoolctl lets the first thread in take charge (from its version 3.8 on).
    """
    if getattr(_held, "inside", False):
        yield
        return
    with _controller().limit(limits=1):
        _held.inside = True
        try:
            yield
        finally:
            _held.inside = False


@cache
def _controller() -> ThreadpoolController:
    # Finding the libraries takes as long as a small fit.
    return ThreadpoolController()
