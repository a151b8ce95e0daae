"""Warnings of a fit, kept apart from those of other threads.

`warnings.catch_warnings` changes what the whole process hears, so two fits that overlap would take
each other's warnings and leave the filters of one of them behind. Ours go to whoever is `hearing`
in the same thread; where others warn (scikit-learn, within a fit), `PROCESS` is held.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import RLock

# Held by whoever changes what belongs to the whole process, the filters or the limit of BLAS, and
# by calls of scikit-learn that do so: with PROCESS, warnings.catch_warnings(): ...
PROCESS = RLock()

_heard: ContextVar[list[Warning] | None] = ContextVar("heard", default=None)


@contextmanager
def hearing() -> Iterator[list[Warning]]:
    """A list that gets what `warn` says within, once each; nobody else hears it."""
    heard: list[Warning] = []
    token = _heard.set(heard)
    try:
        yield heard
    finally:
        _heard.reset(token)


def warn(message: str | Warning, category: type[Warning] = UserWarning, above: int = 1) -> None:
    """Tell whoever is hearing, or else the user, as of the caller so many calls above."""
    warning = message if isinstance(message, Warning) else category(message)
    heard = _heard.get()
    if heard is None:
        warnings.warn(warning, stacklevel=above + 1)
    elif (type(warning), str(warning)) not in {(type(other), str(other)) for other in heard}:
        heard.append(warning)
