"""BLAS on one thread while ours run: many small problems side by side, each on its own core."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

_changing = Lock()
_inside = 0
_limits: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """A context in which BLAS and OpenMP keep to the calling thread; free inside another.

    The limit is one for the process: the first thread in sets it, the last one out lifts it.
    """
    global _inside, _limits
    with _changing:
        if _inside == 0:
            _limits = _controller().limit(limits=1)
        _inside += 1
    try:
        yield
    finally:
        with _changing:
            _inside -= 1
            if _inside == 0:
                _limits.restore_original_limits()


@cache
def _controller() -> ThreadpoolController:
    # Finding the libraries takes as long as a small fit.
    return ThreadpoolController()
