"""Warnings of a fit, kept apart from those of other threads.

`warnings.catch_warnings` changes the filters of the whole process, so two fits that overlap would
take each other's warnings and leave the filters of one of them behind. Our own warnings go to the
innermost `collect_warnings` of the same thread instead. If scikit-learn warns within a fit, its
filters are changed by `threads.changed_filters`, one thread at a time.
"""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from subspaces.messages import Advice, SubspacesWarning

PACKAGE = str(Path(__file__).parents[1])
_collected: ContextVar[list[Warning] | None] = ContextVar("collected", default=None)


@contextmanager
def collect_warnings() -> Iterator[list[Warning]]:
    """Collect the warnings of `warn` in a list, each once, instead of showing them to the user."""
    collected: list[Warning] = []
    token = _collected.set(collected)
    try:
        yield collected
    finally:
        _collected.reset(token)


def warn(warning: Warning) -> None:
    """Add a warning to the list of `collect_warnings`; outside such a block, warn the user.

    It then shows the line of code that called this package.
    """
    collected = _collected.get()
    if collected is None:
        frame, level = sys._getframe(1), 2
        while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
            frame, level = frame.f_back, level + 1
        warnings.warn(warning, stacklevel=level)
    elif (type(warning), str(warning)) not in {(type(other), str(other)) for other in collected}:
        collected.append(warning)


def doubt(
    kind: type[SubspacesWarning], code: str, fact: str, *advice: Advice, **facts: Any
) -> None:
    """Warn of one thing, said as by a `SubspacesWarning`."""
    warn(kind(code, fact, *advice, **facts))
