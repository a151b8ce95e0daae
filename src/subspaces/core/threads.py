"""BLAS on one thread while ours run: many small problems side by side, each on its own core."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = Lock()
_inside = 0
_before: list[tuple[Any, int]] = []


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """A context in which BLAS and OpenMP keep to the calling thread; free inside another.

    The limit holds for the whole process, so it ends when the last thread leaves its context.
    """
    _enter()
    try:
        yield
    finally:
        _leave()


def _enter() -> None:
    global _inside
    with _lock:
        _inside += 1
        if _inside == 1:
            # To set a limit takes as long as a small fit: only where it is not there already.
            _before[:] = [(lib, lib.num_threads) for lib in _libraries() if lib.num_threads != 1]
            for library, _ in _before:
                library.set_num_threads(1)


def _leave() -> None:
    global _inside
    with _lock:
        _inside -= 1
        if _inside == 0:
            for library, threads in _before:
                library.set_num_threads(threads)


@cache
def _libraries() -> list[Any]:
    # Finding them takes as long as a small fit, too.
    return list(ThreadpoolController().lib_controllers)
