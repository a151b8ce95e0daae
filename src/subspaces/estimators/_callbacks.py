"""scikit-learn's callbacks, from version 1.9 on; before, fits go on without them."""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from subspaces.core.step import Step

__all__ = ["CallbackSupportMixin", "begin", "end", "managed", "pass_on"]

P = ParamSpec("P")
R = TypeVar("R")

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """No callbacks to support."""

    def with_callbacks(method: Any) -> Any:
        """Nothing to manage."""
        return method


def managed(method: Callable[P, R]) -> Callable[P, R]:
    """A method whose callbacks end with it, however it ends."""
    return with_callbacks(method)


def begin(estimator: Any, X: Any) -> None:
    """Tell the callbacks that a fit begins."""
    if callable(getattr(estimator, "_init_callback_context", None)):
        context = estimator._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=estimator, X=X)


def pass_on(estimator: Any, step: Step) -> None:
    """Tell the callbacks of a step: a task of the fit, begun and ended."""
    context = vars(estimator).get("_callback_fit_ctx")
    if context is not None and vars(estimator).get("_skl_callbacks"):
        task = context.subcontext(task_name=step.stage)
        task.call_on_fit_task_begin(estimator=estimator)
        task.call_on_fit_task_end(estimator=estimator)


def end(estimator: Any, X: Any) -> None:
    """Tell the callbacks that the fit is over."""
    context = vars(estimator).get("_callback_fit_ctx")
    if context is not None:
        context.call_on_fit_task_end(estimator=estimator, X=X)
