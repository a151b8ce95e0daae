"""The one place that asks which array library an array belongs to."""

from functools import cache
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
    return _torch() if type(array).__module__ == "torch" else compat().array_namespace(array)


@cache
def _torch() -> ModuleType:
    """Torch by the standard names; blocks ask for it often, and asking takes its time."""
    return import_module("sklearn.externals.array_api_compat.torch")


def is_dask(array: Any) -> bool:
    """Whether it is one of Dask's collections."""
    return type(array).__module__.partition(".")[0] == "dask"


def compat() -> Any:
    """What evens out the differences between the libraries."""
    return import_module("sklearn.externals.array_api_compat")


def to_host(array: Any, dtype: Any = None) -> NDArray[Any]:
    """As a numpy array in main memory."""
    if is_foreign(array):
        xp = namespace(array)
        strict = xp.__name__ == "array_api_strict"
        array = compat().to_device(array, xp.Device("CPU_DEVICE") if strict else "cpu")
        array = np.from_dlpack(array) if strict else array
    return np.asarray(array, dtype=dtype)


def as_floating(array: Any) -> Any:
    """Whole numbers and half precision as the widest floating type."""
    xp = namespace(array)
    if xp.isdtype(array.dtype, "complex floating"):
        raise ValueError("X is not a table of real numbers: Complex data not supported")
    return array if array.dtype in (xp.float32, xp.float64) else xp.astype(array, xp.float64)


def is_foreign(array: Any) -> bool:
    """Whether this is an array of another library than numpy."""
    if isinstance(array, np.ndarray) or not hasattr(array, "__dlpack__"):
        return False
    return bool(compat().is_array_api_obj(array)) and not compat().is_numpy_array(array)


def place(array: Any) -> tuple[str, str]:
    """The names of an array's library and device; devices themselves need not be hashable."""
    xp = namespace(array)
    return ("numpy", "cpu") if xp is np else (xp.__name__, str(compat().device(array)))


def transposed(matrices: Any) -> Any:
    """The last two axes exchanged; CuPy has no ``mT`` before its version 14."""
    return namespace(matrices).matrix_transpose(matrices)


def like(values: Any, array: Any, dtype: Any = None) -> Any:
    """Values in the library, on the device and, unless said otherwise, of the type of an array."""
    xp = namespace(array)
    dtype = array.dtype if dtype is None else dtype
    if xp is np:
        return to_host(values, dtype)
    if isinstance(values, np.ndarray):
        values = np.ascontiguousarray(values)
        # One number may lie backwards and count as contiguous; not all libraries take that.
        values = values.copy() if min(values.strides, default=0) < 0 else values
    return xp.asarray(values, dtype=dtype, device=compat().device(array))


def zeros_beside(array: Any, shape: tuple[int, ...]) -> Any:
    """Zeros in the library, on the device and of the type of an array."""
    xp = namespace(array)
    if xp is np:
        return np.zeros(shape, dtype=array.dtype)
    return xp.zeros(shape, dtype=array.dtype, device=compat().device(array))


def membership(labels: Any, n_clusters: int) -> Any:
    """Who is a member of which cluster, (b, K)."""
    if isinstance(labels, np.ndarray):
        return labels[:, None] == np.arange(n_clusters)
    numbers = namespace(labels).arange(
        n_clusters, dtype=labels.dtype, device=compat().device(labels)
    )
    return labels[:, None] == numbers[None, :]
