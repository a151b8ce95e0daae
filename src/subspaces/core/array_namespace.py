"""The one place that asks which array library an array belongs to."""

from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


def namespace(array: Any) -> ModuleType:
    """The array library, by its standard names; numpy for numpy and for sparse matrices."""
    if isinstance(array, np.ndarray | np.generic) or sparse.issparse(array):
        return np
    return compat().array_namespace(array)


def compat() -> Any:
    """What evens out the differences between the libraries."""
    return import_module("sklearn.externals.array_api_compat")


def to_host(array: Any, dtype: Any = None) -> NDArray[Any]:
    """As a numpy array in main memory."""
    if not isinstance(array, np.ndarray):
        array = compat().to_device(array, "cpu")
    return np.asarray(array, dtype=dtype)


def like(values: Any, array: Any, dtype: Any = None) -> Any:
    """Values in the library, on the device and, unless said otherwise, of the type of an array."""
    xp = namespace(array)
    dtype = array.dtype if dtype is None else dtype
    if xp is np:
        return np.asarray(values, dtype=dtype)
    return xp.asarray(values, dtype=dtype, device=compat().device(array))
