"""What threads share: how many there are, BLAS at one thread meanwhile, locks, and values kept.

A forked process has one thread, the one that forked. What the others held stays held in it, and
would be waited for without end; so locks of the whole process are made by `process_lock`.
"""

import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from threading import Lock, RLock, local
from typing import Any, Generic, TypeVar

from joblib import cpu_count
from threadpoolctl import ThreadpoolController

Value = TypeVar("Value")


def process_lock(undo: Callable[[], None] | None = None) -> Any:
    """Return an RLock that is free in a forked process unless the thread that forked holds it.

    undo: called in that process if another thread held the lock, to change back what it changed.
    """
    lock: Any = RLock()

    def after_fork() -> None:
        if lock.acquire(blocking=False):
            lock.release()
            return
        lock._at_fork_reinit()
        if undo is not None:
            undo()

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=after_fork)
    return lock


_changed: list[AbstractContextManager[Any]] = []


def _restore_filters() -> None:
    while _changed:
        _changed.pop().__exit__(None, None, None)


# Held by whoever changes what belongs to the whole process, the filters or the limit of BLAS, and
# by calls of scikit-learn that do so.
PROCESS = process_lock(_restore_filters)

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


@contextmanager
def changed_filters(*, record: bool = False) -> Iterator[Any]:
    """Hold PROCESS and keep the filters as `warnings.catch_warnings` does; yields what it yields.

    A process that is forked by another thread meanwhile has the filters as they were before.
    """
    with PROCESS, (caught := warnings.catch_warnings(record=record)) as seen:
        _changed.append(caught)
        try:
            yield seen
        finally:
            _changed.pop()


class cached_property(Generic[Value]):
    """A property computed when it is first read, as `functools.cached_property` without its lock.

    Python 3.11 has one lock for all objects, and a process that is forked while another thread
    holds it waits for good.
    """

    def __init__(self, function: Callable[[Any], Value]) -> None:
        self.function, self.__doc__ = function, function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, holder: object, owner: type | None = None) -> Value:
        known = holder.__dict__
        if self.name not in known:
            known[self.name] = self.function(holder)
        return known[self.name]


class computed_once(cached_property[Value]):
    """A property computed when it is first read, and by one thread: others wait for its value."""

    def __get__(self, holder: object, owner: type | None = None) -> Value:
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
        allowed: list[int] = [pool["num_threads"] for pool in _controller(blas=False).info()]
    if not (allowed and os.environ.get("OMP_NUM_THREADS")):
        allowed.append(cpu_count(only_physical_cores=True))
    return min(allowed)


@cache
def _controller(*, blas: bool) -> ThreadpoolController:
    # Cached, since finding the libraries takes as long as a small fit.
    found = ThreadpoolController()
    return found if blas else found.select(user_api="openmp")
