"""BLAS on one thread while ours run: many small problems side by side, each on its own core."""

from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController


def one_blas_thread() -> AbstractContextManager[object]:
    """A context in which BLAS and OpenMP keep to the calling thread."""
    return _controller().limit(limits=1)


@cache
def _controller() -> ThreadpoolController:
    # Finding the libraries takes as long as a small fit.
    return ThreadpoolController()
