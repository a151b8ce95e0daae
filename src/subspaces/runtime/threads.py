"""A limit of one BLAS thread, for many small problems that run on threads of this library."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock, local

from threadpoolctl import ThreadpoolController

from subspaces.runtime.warning import PROCESS

_held = local()
_blas = Lock()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS and OpenMP to one thread inside a ``with`` block; nesting costs nothing.

    The limit of OpenMP belongs to a thread, that of BLAS to the process, so only the first of
    several threads sets and lifts the limit of BLAS: if each thread restored the limit it found,
    the last one would restore the limit of another thread. scikit-learn's K-means limits BLAS,
    too, so K-means is called with PROCESS held.
    """
    if getattr(_held, "inside", False):
        yield
        return
    first = _blas.acquire(blocking=False)
    with PROCESS:
        limits = _controller(blas=first).limit(limits=1)
        limits.__enter__()
    _held.inside = True
    try:
        yield
    finally:
        _held.inside = False
        with PROCESS:
            limits.__exit__(None, None, None)
        if first:
            _blas.release()


@cache
def _controller(blas: bool) -> ThreadpoolController:
    # Cached, since finding the libraries takes as long as a small fit.
    found = ThreadpoolController()
    return found if blas else found.select(user_api="openmp")
