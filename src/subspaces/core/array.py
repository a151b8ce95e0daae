"""The one place that asks which library an array belongs to."""

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from subspaces._types import AnyArray, ArrayModule, Block, Sparse


def namespace(array: Block) -> ArrayModule:
    """Return the array-API module of an array's library; numpy for numpy and sparse matrices."""
    if isinstance(array, np.ndarray | np.generic) or sparse.issparse(array):
        return np
    return _torch() if type(array).__module__ == "torch" else compat().array_namespace(array)


@cache
def _torch() -> ModuleType:
    """Return torch's array-API module, imported once: `namespace` asks for it at every block."""
    return import_module("sklearn.externals.array_api_compat.torch")


def is_sparse(rows: object) -> TypeGuard[Sparse]:
    """Return whether rows are a sparse matrix."""
    return bool(sparse.issparse(rows))


def is_dask(array: object) -> bool:
    """Return whether an array is a Dask collection."""
    return type(array).__module__.partition(".")[0] == "dask"


def compat() -> Any:
    """Return the module ``array_api_compat``: the array API's functions for any library."""
    return import_module("sklearn.externals.array_api_compat")


def to_host(array: AnyArray | float, dtype: DTypeLike | None = None) -> NDArray[Any]:
    """Return the array as a numpy array in main memory, copied from its device if need be."""
    if is_foreign(array):
        xp = namespace(array)
        strict = xp.__name__ == "array_api_strict"
        held = compat().to_device(array, xp.Device("CPU_DEVICE") if strict else "cpu")
        array = np.from_dlpack(held) if strict else held
    return np.asarray(array, dtype=dtype)


def in_main_memory(value: Any) -> Any:
    """Return an array of Dask or on a device as a numpy array, and any other value unchanged."""
    if is_dask(value):
        return value.compute()
    return to_host(value) if is_foreign(value) else value


def as_floating(array: AnyArray) -> AnyArray:
    """Return the array itself if it is float32 or float64, otherwise a float64 copy."""
    xp = namespace(array)
    if xp.isdtype(array.dtype, "complex floating"):
        raise ValueError(
            "Complex data not supported. Pass X.real, or the real and imaginary parts as columns."
        )
    return array if array.dtype in (xp.float32, xp.float64) else xp.astype(array, xp.float64)


def is_foreign(array: object) -> TypeGuard[AnyArray]:
    """Return whether an array belongs to an array library other than numpy, such as torch."""
    if isinstance(array, np.ndarray) or not hasattr(array, "__dlpack__"):
        return False
    return bool(compat().is_array_api_obj(array)) and not compat().is_numpy_array(array)


def place(array: AnyArray) -> tuple[str, str]:
    """Return the names (library, device) of where an array lies, a hashable key for caches."""
    xp = namespace(array)
    return ("numpy", "cpu") if xp is np else (xp.__name__, str(compat().device(array)))


def transposed(matrices: AnyArray) -> AnyArray:
    """Return matrices (..., n, m) as (..., m, n); CuPy has no ``mT`` before version 14."""
    return namespace(matrices).matrix_transpose(matrices)


def like(values: AnyArray | float, array: AnyArray, dtype: Any = None) -> AnyArray:
    """Return values in the library and on the device of ``array``, in its dtype or ``dtype``."""
    xp = namespace(array)
    dtype = array.dtype if dtype is None else dtype
    if xp is np:
        return to_host(values, dtype)
    if isinstance(values, np.ndarray):
        values = np.ascontiguousarray(values)
        # One number may lie backwards and count as contiguous; not all libraries take that.
        values = values.copy() if min(values.strides, default=0) < 0 else values
    return xp.asarray(values, dtype=dtype, device=compat().device(array))


def zeros_like(array: AnyArray, shape: tuple[int, ...]) -> AnyArray:
    """Return zeros of a shape in the library, on the device and in the dtype of ``array``."""
    xp = namespace(array)
    if xp is np:
        return np.zeros(shape, dtype=array.dtype)
    return xp.zeros(shape, dtype=array.dtype, device=compat().device(array))


def membership(labels: AnyArray, n_clusters: int) -> AnyArray:
    """Return the boolean matrix (b, K) of which row has which label."""
    numbers: AnyArray = np.arange(n_clusters)
    if not isinstance(labels, np.ndarray):
        numbers = namespace(labels).arange(
            n_clusters, dtype=labels.dtype, device=compat().device(labels)
        )
    return labels[:, None] == numbers[None, :]


def slices(n_rows: int, step: int) -> Iterator[slice]:
    """Consecutive slices of ``step`` rows that cover ``range(n_rows)``; the last may be shorter."""
    return (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))
