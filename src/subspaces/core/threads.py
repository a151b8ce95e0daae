"""BLAS on one thread while ours run: many small problems side by side, each on its own core."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock, local

from threadpoolctl import ThreadpoolController

_held = local()
_blas = Lock()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """A context in which BLAS and OpenMP keep to the calling thread; free inside another.

    The limit of OpenMP belongs to a thread, that of BLAS to the process: of several threads one sets
    it and lifts it again. Were each to restore what it found, the last would restore the limit.
    """
    if getattr(_held, "inside", False):
        yield
        return
    first = _blas.acquire(blocking=False)
    try:
        with _controller(blas=first).limit(limits=1):
            _held.inside = True
            yield
    finally:
        _held.inside = False
        if first:
            _blas.release()


@cache
def _controller(blas: bool) -> ThreadpoolController:
    # Finding the libraries takes as long as a small fit.
    found = ThreadpoolController()
    return found if blas else found.select(user_api="openmp")
