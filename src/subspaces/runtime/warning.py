"""Warnings of a fit, kept apart from those of other threads.

`warnings.catch_warnings` changes the filters of the whole process, so two fits that overlap would
take each other's warnings and leave the filters of one of them behind. Our own warnings go to the
innermost `collect_warnings` of the same thread instead. If scikit-learn warns within a fit, its
filters are changed by `threads.changed_filters`, one thread at a time.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

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


def warn(message: Warning | str, category: type[Warning] = UserWarning, above: int = 1) -> None:
    """Add a warning to the list of `collect_warnings`; outside such a block, warn the user.

    above: how many calls above this one the line of code is that the warning shows.
    """
    warning = message if isinstance(message, Warning) else category(message)
    collected = _collected.get()
    if collected is None:
        warnings.warn(warning, stacklevel=above + 1)
    elif (type(warning), str(warning)) not in {(type(other), str(other)) for other in collected}:
        collected.append(warning)
