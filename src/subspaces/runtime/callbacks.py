"""Calls of the callbacks that scikit-learn 1.9 or later lets users set; no-ops before 1.9."""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from subspaces.runtime.step import Step

__all__ = ["CallbackSupportMixin", "are_set", "begin", "end", "managed", "pass_on"]

P = ParamSpec("P")
R = TypeVar("R")

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Empty base class in place of scikit-learn's where scikit-learn is older than 1.9."""

    def with_callbacks(method: Any) -> Any:
        """Return ``method`` unchanged, where scikit-learn is older than 1.9."""
        return method


def managed(method: Callable[P, R]) -> Callable[P, R]:
    """Decorate ``fit`` so that scikit-learn closes its callbacks also when it raises an error."""
    return with_callbacks(method)


def begin(estimator: Any, X: Any) -> None:
    """Tell the estimator's callbacks that its fit to ``X`` begins."""
    if callable(getattr(estimator, "_init_callback_context", None)):
        context = estimator._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=estimator, X=X)


def are_set(estimator: Any) -> bool:
    """Return whether the user has set callbacks on the estimator."""
    return bool(vars(estimator).get("_skl_callbacks"))


def pass_on(estimator: Any, step: Step) -> None:
    """Report a finished step to the callbacks, as a subtask of the fit named after its stage."""
    context = vars(estimator).get("_callback_fit_ctx")
    if context is not None and are_set(estimator):
        task = context.subcontext(task_name=step.stage)
        task.call_on_fit_task_begin(estimator=estimator)
        task.call_on_fit_task_end(estimator=estimator)


def end(estimator: Any, X: Any) -> None:
    """Tell the estimator's callbacks that its fit to ``X`` is over."""
    context = vars(estimator).get("_callback_fit_ctx")
    if context is not None:
        context.call_on_fit_task_end(estimator=estimator, X=X)
