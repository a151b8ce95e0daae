"""Fitted attributes: a fit works on a draft, and the model gets all of them once it has succeeded.

A fit that fails, is refused or is interrupted leaves the model as it was, and nothing of an earlier
fit is left after a later one.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
M = TypeVar("M")

# Prefixes of private attributes that scikit-learn sets on an estimator: the settings of set_output,
# set_callbacks and metadata routing.
OF_SCIKIT_LEARN = ("_skl", "_callback", "_parent_callback", "_metadata_request")


def is_fitted_name(name: str) -> bool:
    """Whether a fit sets an attribute of this name; the user or scikit-learn set the others."""
    private = name.startswith("_") and not name.startswith(OF_SCIKIT_LEARN)
    return private or name.endswith("_")


def draft_of(model: M, *, keep_fit: bool = False) -> M:
    """Return a copy of a model to fit, with its parameters; keep_fit: and with its last fit."""
    draft = object.__new__(type(model))
    draft.__dict__ = {
        name: value for name, value in vars(model).items() if keep_fit or not is_fitted_name(name)
    }
    return draft


def fit_of(model: Any) -> dict[str, Any]:
    """Return the fitted attributes of a model by name."""
    return {name: value for name, value in vars(model).items() if is_fitted_name(name)}


def take_fit(model: M, draft: M) -> None:
    """Give a model all fitted attributes of its draft, in place of those of its last fit."""
    own = {name: value for name, value in vars(model).items() if not is_fitted_name(name)}
    model.__dict__ = own | fit_of(draft)  # one step, which no interrupt can leave half done


def fits_a_draft(fit: Callable[Concatenate[M, P], Any]) -> Callable[Concatenate[M, P], M]:
    """Decorate a method that fits: it works on a draft, whose fit the model gets at the end."""

    @wraps(fit)
    def fit_at_once(model: M, /, *args: P.args, **kwargs: P.kwargs) -> M:
        draft = draft_of(model)
        fit(draft, *args, **kwargs)
        take_fit(model, draft)
        return model

    return fit_at_once
