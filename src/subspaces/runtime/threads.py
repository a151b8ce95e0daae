"""Threads of this library: how many, calls side by side, and BLAS at one thread meanwhile."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock, local
from typing import Any, TypeVar

from joblib import cpu_count
from threadpoolctl import ThreadpoolController

from subspaces.runtime.cached import cached_property
from subspaces.runtime.forks import process_lock
from subspaces.runtime.warning import PROCESS

Value = TypeVar("Value")

_held = local()
_blas = process_lock()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS and OpenMP to one thread inside a ``with`` block; nesting costs nothing.

    The limit of OpenMP belongs to a thread, that of BLAS to the process, so only the first of
    several threads sets and lifts the limit of BLAS: if each thread restored the limit it found,
    the last one would restore the limit of another thread. scikit-learn's K-means limits BLAS,
    too, so K-means is called with PROCESS held. A process that another thread forks meanwhile is
    left with one thread of BLAS, as scikit-learn leaves it.
    """
    if getattr(_held, "inside", False):
        yield
        return
    first = _blas.acquire(blocking=False)
    limits = None
    try:  # what an interrupt may leave set is lifted
        with PROCESS:
            limits = _controller(blas=first).limit(limits=1)
            limits.__enter__()
        _held.inside = True
        yield
    finally:
        _held.inside = False
        if limits is not None:
            with PROCESS:
                limits.__exit__(None, None, None)
        if first:
            _blas.release()


class computed_once(cached_property[Value]):
    """A property computed when it is first read, and by one thread: others wait for its value."""

    def __get__(self, holder: Any, owner: type | None = None) -> Value:
        known = holder.__dict__
        if self.name not in known:
            with known.setdefault(f"_{self.name}_lock", Lock()):
                if self.name not in known:
                    known[self.name] = self.function(holder)
        return known[self.name]


@contextmanager
def side_by_side(n_threads: int) -> Iterator[Callable[..., Iterable[Any]]]:
    """A context that yields a ``map``: calls run in threads, results come in order.

    With one thread it is the built-in ``map``, in the caller's thread.
    """
    if n_threads == 1:
        yield map
        return
    with ThreadPoolExecutor(n_threads) as pool:
        yield pool.map


def map_in_threads(n_threads: int) -> Callable[..., Iterable[Any]]:
    """Return a ``map`` like that of `side_by_side`, by threads that are kept for the next call.

    To start threads takes as long as a pass over a million rows. A call must not make such a map
    itself: it could wait for its own thread.
    """
    return map if n_threads == 1 else _kept_threads(n_threads).map


@cache
def _kept_threads(n_threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(n_threads)


if hasattr(os, "register_at_fork"):  # a forked process has none of the threads
    os.register_at_fork(after_in_child=_kept_threads.cache_clear)


def usable_threads() -> int:
    """Return how many threads a loop over rows may use, as scikit-learn's K-means counts them.

    What OMP_NUM_THREADS or ``threadpoolctl`` allow OpenMP; without the former at most the physical
    cores that the process may use.
    """
    with PROCESS:
        allowed = [pool["num_threads"] for pool in _controller(blas=False).info()]
    if allowed and os.environ.get("OMP_NUM_THREADS"):
        return min(allowed)
    return min([cpu_count(only_physical_cores=True), *allowed])


@cache
def _controller(blas: bool) -> ThreadpoolController:
    # Cached, since finding the libraries takes as long as a small fit.
    found = ThreadpoolController()
    return found if blas else found.select(user_api="openmp")
