"""Arrays of other libraries and devices: where a fitted model is, and which rows it accepts.

A device is represented by an empty array on it, of the library and type of the data; None stands
for numpy in main memory.
"""

from typing import Any

import numpy as np
from sklearn import get_config

from subspaces._types import AnyArray, Data
from subspaces.core.array import compat, is_foreign, like, namespace, place, to_host
from subspaces.messages import ParameterError, ParameterTypeError


def device_of(X: Data) -> AnyArray | None:
    """Return the device of X as an array without rows; None for numpy, lists and frames.

    Arrays of another library keep their library only under scikit-learn's array API dispatch;
    without it they become numpy arrays, and one on a GPU raises TypeError.
    """
    if not is_foreign(X):
        return None
    if get_config()["array_api_dispatch"]:
        return X[:0, ...]
    if _is_cuda(X):
        raise ParameterTypeError(
            "X",
            f"<X> is on the device {compat().device(X)}. Run "
            "sklearn.set_config(array_api_dispatch=True) first.",
        )
    return None


def check_device(X: Data, fitted: AnyArray | None, method: str) -> None:
    """Raise ValueError if X differs from the data of fit in library, device or type.

    fitted: the device of fit, as `device_of` returns it; method: named in the message.
    """
    given = device_of(X)
    if given is None and fitted is None:
        return
    if _place(given) != _place(fitted):
        raise ValueError(
            f"{method}() must use the same namespace and device as fit(), but X is on "
            f"{_named(given)}{_why(X)} and the model on {_named(fitted)}. Call model.move_to(X) "
            "first."
        )
    if given is not None and fitted is not None and given.dtype != fitted.dtype:
        raise ParameterError(
            "X",
            f"<X> is {given.dtype}, but the model was fitted to {fitted.dtype}. Convert X to "
            f"{fitted.dtype}.",
        )


def _place(device: AnyArray | None) -> tuple[str, str]:
    return ("numpy", "cpu") if device is None else place(device)


def _named(device: AnyArray | None) -> str:
    library, name = _place(device)
    return f"{library.split('.')[-1]} ({name})"


def _why(X: Data) -> str:
    """Return the part of a message that says why an array of another library counts as numpy's."""
    without = is_foreign(X) and not get_config()["array_api_dispatch"]
    return ", because array API dispatch is off," if without else ""


def moved_attributes(attributes: dict[str, Any], device: AnyArray | None) -> dict[str, Any]:
    """Return the fitted arrays that are not on the device yet, by attribute name, moved there."""
    arrays = {
        name: value
        for name, value in attributes.items()
        if (name.endswith("_") or name in ("_sizes", "_origin"))
        and (isinstance(value, np.ndarray) or is_foreign(value))
    }
    moved = {name: brought(value, device) for name, value in arrays.items()}
    return {name: value for name, value in moved.items() if value is not arrays[name]}


def brought(value: AnyArray | list[AnyArray], device: AnyArray | None) -> Any:
    """Return an array of any library, or a list of them, on a device.

    Between torch and CuPy on a GPU nothing is copied.
    """
    if isinstance(value, list):
        return [brought(array, device) for array in value]
    if _place(value if is_foreign(value) else None) == _place(device):
        return value
    if device is not None and is_foreign(value) and _is_cuda(value) and _is_cuda(device):
        return namespace(device).from_dlpack(value)
    return to_device(to_host(value), device)


def _is_cuda(array: AnyArray) -> bool:
    return "cuda" in str(compat().device(array)).lower()


def to_device(value: AnyArray | list[AnyArray], device: AnyArray | None) -> Any:
    """Return a numpy array, or a list of them, on a device; text stays in main memory."""
    if device is None or (isinstance(value, np.ndarray) and value.dtype.kind not in "biuf"):
        return value
    if isinstance(value, list):
        return [to_device(array, device) for array in value]
    return like(value, device, getattr(namespace(device), str(value.dtype)))
