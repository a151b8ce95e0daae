"""How far a fit has come, for bars on a screen.

    with subspaces.progress.listen(print):
        PSC(5, n_components=3).fit(X)

A listener is called with a `Step` each time a part of the work is done.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from subspaces.runtime.step import Step

__all__ = ["Step", "listen"]

_listeners: ContextVar[tuple[Callable[[Step], None], ...]] = ContextVar("listeners", default=())


@contextmanager
def listen(listener: Callable[[Step], None]) -> Iterator[None]:
    """Call a function with every step of the fits within the ``with`` block.

    Parameters
    ----------
    listener : callable
        Takes one `Step`: ``stage``, "start" (a first partition is made), "run" (the sweeps from a
        start are over), "sweep", "candidate" (a number of clusters was tried), "halving" (a split
        of `diagnostics.stability` begins) or "null" (`diagnostics.markers` draws a table of one
        group); ``done`` of ``total``, 0 where it is not known; ``detail``, a line for people. It
        runs in the thread of the fit, and what it raises ends the fit.

    Notes
    -----
    With ``n_jobs`` above 1 the listener is called when a run of another thread ends, and not for
    its sweeps. How many runs there will be is known only as "at most" where a search may end early.

    Examples
    --------
    >>> from subspaces import PSC, progress
    >>> from subspaces.datasets import make_scenario
    >>> steps = []
    >>> with progress.listen(steps.append):
    ...     model = PSC(2, n_init=3, random_state=0).fit(make_scenario("a", random_state=0).data)
    >>> [(step.done, step.total) for step in steps if step.stage == "start"]
    [(1, 3), (2, 3), (3, 3)]
    """
    token = _listeners.set((*_listeners.get(), listener))
    try:
        yield
    finally:
        _listeners.reset(token)


def has_listeners() -> bool:
    """Whether `listen` has registered a function for the fits of this thread."""
    return bool(_listeners.get())


def tell(step: Step) -> None:
    """Call every function that `listen` registered with a step."""
    for listener in _listeners.get():
        listener(step)
