"""Arrays of other libraries and devices: where a model lives, and what may meet it there."""

from typing import Any

import numpy as np
from sklearn import get_config

from subspaces.core.array_namespace import compat, is_foreign, like, namespace, place, to_host


def home_of(X: Any) -> Any | None:
    """No rows of X: its library, device and type; None for numpy, lists, frames and the like.

    Arrays of another library are taken for what they are under scikit-learn's array API dispatch
    alone; without it they become numpy arrays, as everywhere in scikit-learn.
    """
    if not is_foreign(X):
        return None
    if get_config()["array_api_dispatch"]:
        return X[:0, ...]
    if "cuda" in str(compat().device(X)).lower():
        raise TypeError(
            f"X is on the device {compat().device(X)} and array API dispatch is off; "
            "use sklearn.set_config(array_api_dispatch=True)"
        )
    return None


def check_home(X: Any, home: Any | None, method: str) -> None:
    """Refuse rows of another library, device or type than those of fit."""
    there = home_of(X)
    if there is None and home is None:
        return
    if _place(there) != _place(home):
        raise ValueError(
            f"Inputs passed to {method}() must use the same namespace and the same device as those "
            f"passed to fit(): fit had {_named(home)}, X is of {_named(there)}{_why(X)}. Use "
            "move_to(X)"
        )
    if there is not None and home is not None and there.dtype != home.dtype:
        raise ValueError(
            f"X passed to {method}() has the type {there.dtype}, that of fit() {home.dtype}. Use "
            f"X of type {home.dtype}"
        )


def _place(home: Any | None) -> tuple[str, str]:
    return ("numpy", "cpu") if home is None else place(home)


def _named(home: Any | None) -> str:
    library, device = _place(home)
    return f"{library.split('.')[-1]} on {device}"


def _why(X: Any) -> str:
    """Why an array of another library is taken for one of numpy."""
    without = is_foreign(X) and not get_config()["array_api_dispatch"]
    return ", as tensors are while array API dispatch is off" if without else ""


def moved(attributes: dict[str, Any], home: Any | None) -> dict[str, Any]:
    """The arrays among the fitted attributes, brought to a home."""
    arrays = {
        name: value
        for name, value in attributes.items()
        if (name.endswith("_") or name in ("_sizes", "_origin"))
        and (isinstance(value, np.ndarray) or is_foreign(value))
    }
    away = {name: value for name, value in arrays.items() if _place_of(value) != _place(home)}
    return {name: sent(to_host(value), home) for name, value in away.items()}


def _place_of(array: Any) -> tuple[str, str]:
    return _place(array if is_foreign(array) else None)


def sent(value: Any, home: Any | None) -> Any:
    """A numpy array, or a list of them, sent to a home; text stays where it is."""
    if home is None or (isinstance(value, np.ndarray) and value.dtype.kind not in "biuf"):
        return value
    if isinstance(value, list):
        return [sent(array, home) for array in value]
    return like(value, home, getattr(namespace(home), str(value.dtype)))
