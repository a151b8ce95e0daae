"""BLAS on one thread while ours run: many small problems side by side, each on its own core."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

_held = False


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """A context in which BLAS and OpenMP keep to the calling thread; free inside another."""
    global _held
    if _held:
        yield
        return
    with _controller().limit(limits=1):
        _held = True
        try:
            yield
        finally:
            _held = False


@cache
def _controller() -> ThreadpoolController:
    # Finding the libraries takes as long as a small fit.
    return ThreadpoolController()
