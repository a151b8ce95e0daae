"""How far a fit has come, for bars on a screen and for callbacks of scikit-learn.

    with subspaces.progress.listen(print):
        PSC(5, n_components=3).fit(X)

A listener is called with a `Step` each time a part of the work is done. Callbacks are those that
scikit-learn 1.9 or later lets users set; before 1.9 their functions do nothing.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from sklearn.base import BaseEstimator

from subspaces._types import Data

__all__ = ["Step", "listen"]

P = ParamSpec("P")
R = TypeVar("R")

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
    from sklearn.callback import with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Empty base class in place of scikit-learn's if scikit-learn is older than 1.9."""

    def with_callbacks(method: Callable[P, R]) -> Callable[P, R]:
        """Return ``method`` unchanged, if scikit-learn is older than 1.9."""
        return method


# What the stages are called on a screen.
STAGES = {
    "sweep": "iteration",
    "candidate": "number of clusters",
    "halving": "split",
    "null": "random table",
}


@dataclass(frozen=True)
class Step:
    """A finished step of a fit or a selection.

    Attributes
    ----------
    stage : str
        "start", "run", "sweep", "batch", "candidate", "halving" or "null".
    done : int
        How many steps of this stage are done.
    total : int
        How many steps the stage has, or 0 if unknown.
    detail : str
        A line of text for people.
    """

    stage: str
    done: int
    total: int
    detail: str

    @property
    def words(self) -> str:
        """The stage in plain words: "iteration 3 of 50"."""
        of = f" of {self.total}" if self.total else ""
        return f"{STAGES.get(self.stage, self.stage)} {self.done}{of}"


Tell = Callable[[Step], None]
_listeners: ContextVar[tuple[Tell, ...]] = ContextVar("listeners", default=())


@contextmanager
def listen(listener: Tell) -> Iterator[None]:
    """Call a function at every step of the fits in a ``with`` block.

    Parameters
    ----------
    listener : callable
        A function of one `Step`. It runs in the thread of the fit, and an exception that it raises
        ends the fit. The stages are:

        - "start": a start has its first labels.
        - "run": the iterations of a start are over.
        - "sweep": one iteration is done.
        - "batch": one batch is done.
        - "candidate": one number of clusters was tried.
        - "halving": `diagnostics.stability` begins a split.
        - "null": `diagnostics.markers` or `diagnostics.is_real` draws a table of one group.

    Notes
    -----
    If ``n_jobs`` is above 1, there are no steps for the iterations of other threads. If a search
    can end early, ``total`` is the largest possible number of runs.

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


def silence(step: Step) -> None:
    """Do nothing with the step: the listener if progress is not reported."""


def managed(method: Callable[P, R]) -> Callable[P, R]:
    """Decorate ``fit`` so that scikit-learn closes its callbacks also when it raises an error."""
    return with_callbacks(method)


def begin(estimator: BaseEstimator, X: Data) -> None:
    """Tell the estimator's callbacks that its fit to ``X`` begins."""
    make_context = getattr(estimator, "_init_callback_context", None)
    if callable(make_context):
        context = make_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=estimator, X=X)


def are_set(estimator: BaseEstimator) -> bool:
    """Return whether the user has set callbacks on the estimator."""
    return bool(vars(estimator).get("_skl_callbacks"))


def pass_on(estimator: BaseEstimator, step: Step) -> None:
    """Report a finished step to the callbacks, as a subtask of the fit named after its stage."""
    context = vars(estimator).get("_callback_fit_ctx")
    if context is not None and are_set(estimator):
        task = context.subcontext(task_name=step.stage)
        task.call_on_fit_task_begin(estimator=estimator)
        task.call_on_fit_task_end(estimator=estimator)


def end(estimator: BaseEstimator, X: Data) -> None:
    """Tell the estimator's callbacks that its fit to ``X`` is over."""
    context = vars(estimator).get("_callback_fit_ctx")
    if context is not None:
        context.call_on_fit_task_end(estimator=estimator, X=X)
