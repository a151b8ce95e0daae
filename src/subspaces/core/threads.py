"""BLAS on one thread while ours run: many small problems side by side, each on its own core."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock, local

from threadpoolctl import ThreadpoolController

from subspaces.core.hearing import PROCESS

_held = local()
_blas = Lock()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """A context in which BLAS and OpenMP keep to the calling thread; free inside another.

    The limit of OpenMP belongs to a thread, that of BLAS to the process: one of several threads
    sets and lifts it. Were each to restore what it found, the last would restore the limit. So
    would scikit-learn's K-means, which limits BLAS, too: it is called with PROCESS held.
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
    # Finding the libraries takes as long as a small fit.
    found = ThreadpoolController()
    return found if blas else found.select(user_api="openmp")
