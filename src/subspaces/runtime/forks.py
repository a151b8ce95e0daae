"""Locks of the whole process, which a forked process finds free.

A forked process has one thread, the one that forked. What the others held stays held in it, and
would be waited for without end.
"""

import os
from collections.abc import Callable
from threading import RLock
from typing import Any


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
