"""Conversion of Python values to JSON with plain arrays, and back.

JSON has no place for arrays, tuples, infinities and our frozen values. Each of them becomes an
object with a single key that says what it is: ``{"array": "array_0"}``, ``{"tuple": [...]}``,
``{"float": "inf"}``, ``{"dict": {...}}``, ``{"names": [...]}``, ``{"sparse": {...}}``, or the name
of a frozen value, ``{"Subspace": {...}}``.

A registry holds the frozen values that may be written and read: a dataclass enters it by the
decorator `serialisable` where it is defined. A name in a file that is not in the registry is
refused, so a file cannot choose what is constructed.
"""

from collections.abc import Callable
from dataclasses import MISSING, fields
from enum import StrEnum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

# The registry: the frozen values that may be written and read, by the name of their class.
VALUES: dict[str, Any] = {}
# A sparse matrix in compressed rows.
SPARSE_PARTS = ("data", "indices", "indptr", "shape")

Arrays = dict[str, NDArray[Any]]
# Sizes by name: n samples, p variables, K clusters, q factors.
Sizes = dict[str, int]
Value = TypeVar("Value")


def serialisable(kind: type[Value]) -> type[Value]:
    """Register a frozen dataclass for `serialise` and return it unchanged; a decorator."""
    VALUES[kind.__name__] = kind
    return kind


def serialise(value: Any, arrays: Arrays) -> Any:
    """Return ``value`` as an object for JSON; add the arrays in it to ``arrays``, by new names."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, np.generic):
        return serialise(value.item(), arrays)
    if isinstance(value, float):
        return value if np.isfinite(value) else {"float": str(value)}
    if isinstance(value, np.ndarray):
        return _serialise_array(value, arrays)
    if sparse.issparse(value):
        rows = sparse.csr_array(value)
        parts = {name: serialise(getattr(rows, name), arrays) for name in SPARSE_PARTS}
        return {"sparse": parts}
    if isinstance(value, list):
        return [serialise(entry, arrays) for entry in value]
    if isinstance(value, tuple):
        return {"tuple": [serialise(entry, arrays) for entry in value]}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"dict": {key: serialise(entry, arrays) for key, entry in value.items()}}
    if type(value) in VALUES.values():
        parts = {part.name: getattr(value, part.name) for part in fields(value)}
        return {type(value).__name__: {k: serialise(v, arrays) for k, v in parts.items()}}
    raise TypeError(f"A model with a {type(value).__name__} cannot be saved. Use joblib instead.")


def is_serialisable(value: Any) -> bool:
    """Return whether `serialise` can convert the value."""
    try:
        serialise(value, {})
    except TypeError:
        return False
    return True


def _serialise_array(value: NDArray[Any], arrays: Arrays) -> Any:
    if is_serialisable_type(value.dtype):
        name = f"array_{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if value.dtype == object and value.ndim == 1 and all(isinstance(v, str) for v in value):
        return {"names": [str(name) for name in value]}
    raise TypeError(f"A model with an array of {value.dtype} cannot be saved. Use joblib instead.")


def is_serialisable_type(kind: np.dtype[Any]) -> bool:
    """Return whether arrays of this dtype hold only numbers of up to 8 bytes, or only text."""
    return kind.kind == "U" or (kind.kind in "biuf" and kind.itemsize <= 8)


def deserialise(written: Any, arrays: Arrays) -> Any:
    """Return the value that `serialise` wrote; remove the arrays that it uses from ``arrays``.

    Raises ValueError for anything that `serialise` does not write.
    """
    if isinstance(written, list):
        return [deserialise(entry, arrays) for entry in written]
    if not isinstance(written, dict):
        return written
    if len(written) != 1:
        raise ValueError(sorted(written))
    ((kind, content),) = written.items()
    if kind == "array" and isinstance(content, str) and content in arrays:
        return arrays.pop(content)
    if kind == "float" and content in ("nan", "inf", "-inf"):
        return float(content)
    if kind in FROM_LIST and isinstance(content, list):
        return FROM_LIST[kind]([deserialise(entry, arrays) for entry in content])
    if kind in (*FROM_PARTS, *VALUES) and isinstance(content, dict):
        parts = {key: deserialise(entry, arrays) for key, entry in content.items()}
        return FROM_PARTS[kind](parts) if kind in FROM_PARTS else _value(kind, parts)
    raise ValueError(kind)


def _names(entries: list[Any]) -> NDArray[Any]:
    if not all(isinstance(entry, str) for entry in entries):
        raise ValueError(entries)
    return np.array(entries, dtype=object)


def _sparse(parts: dict[str, Any]) -> Any:
    if sorted(parts) != sorted(SPARSE_PARTS):
        raise ValueError(sorted(parts))
    data, indices, indptr, shape = (parts[name] for name in SPARSE_PARTS)
    is_shape = isinstance(shape, tuple) and all(isinstance(size, int) for size in shape)
    whole = all(isinstance(a, np.ndarray) and a.dtype.kind == "i" for a in (indices, indptr))
    if not (is_shape and whole and isinstance(data, np.ndarray) and data.dtype.kind == "f"):
        raise ValueError(shape)
    matrix = sparse.csr_array((data, indices, indptr), shape=shape)
    matrix.check_format(full_check=True)
    return matrix


def _value(kind: str, parts: dict[str, Any]) -> Any:
    hints = get_type_hints(VALUES[kind])
    # A part with a default is younger than some files.
    needed = {part.name for part in fields(VALUES[kind]) if part.default is MISSING}
    known = needed <= set(parts) <= set(hints)
    if not known or not all(fits(part, hints[name]) for name, part in parts.items()):
        raise ValueError(kind)
    return VALUES[kind](**parts)


def fits(value: Any, hint: Any, sizes: Sizes | None = None) -> bool:
    """Return whether ``value`` is of the type ``hint``, the annotation of an attribute.

    ``Annotated[Array, "K", "p"]`` names the sizes of an array, the length of a list or the size
    that an integer is. What has one name has one size, which is looked up in ``sizes`` or added
    there; "*" is any size, and "r" one that a frozen value has for itself. Without ``sizes`` shapes
    are not looked at.
    """
    origin, parts = get_origin(hint), get_args(hint)
    alias = getattr(origin, "__value__", None)
    if alias is not None:  # NDArray is an alias with a name of its own from numpy 2.5 on
        return fits(value, alias[parts], sizes)
    if origin is Annotated:
        return fits(value, parts[0], sizes) and _has_shape(value, parts[1:], sizes)
    if origin in (Union, UnionType):
        return any(fits(value, part, sizes) for part in parts)
    if origin is np.ndarray:
        (kind,) = get_args(parts[1])
        wanted = np.generic if kind is Any else get_origin(kind) or kind
        return isinstance(value, np.ndarray) and np.issubdtype(value.dtype, wanted)
    if origin in (tuple, list, dict):
        entries = value.values() if isinstance(value, dict) else value
        entry = parts[1] if origin is dict else parts[0]
        return isinstance(value, origin) and all(fits(each, entry, sizes) for each in entries)
    if origin is Literal:
        return value in parts
    return _is_plain(value, hint) and (sizes is None or _has_parts(value, sizes))


def _is_plain(value: Any, hint: Any) -> bool:
    """Return whether a value is of a type without parameters; a bool is no number."""
    if hint in (None, NoneType):
        return value is None
    if hint in (int, float):
        numeric = int if hint is int else (int, float)
        return isinstance(value, numeric) and not isinstance(value, bool)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return value in list(hint)
    return hint is Any or isinstance(value, hint)


def _has_shape(value: Any, names: tuple[str, ...], sizes: Sizes | None) -> bool:
    if sizes is None or value is None:
        return True
    if isinstance(value, list | tuple | int):
        shape = (value if isinstance(value, int) else len(value),)
    else:
        shape = value.shape
    if len(shape) != len(names):
        return False
    named = [(name, size) for name, size in zip(names, shape, strict=True) if name != "*"]
    return all(sizes.setdefault(name, size) == size for name, size in named)


def _has_parts(value: Any, sizes: Sizes) -> bool:
    """Return whether the parts of a frozen value fit each other and what is known of sizes."""
    if type(value) not in VALUES.values():
        return True
    own = {name: size for name, size in sizes.items() if name != "r"}
    hints = get_type_hints(type(value), include_extras=True)
    right = all(fits(getattr(value, name), hint, own) for name, hint in hints.items())
    sizes.update({name: size for name, size in own.items() if name != "r"})
    return right


FROM_LIST: dict[str, Callable[[list[Any]], Any]] = {"tuple": tuple, "names": _names}
FROM_PARTS: dict[str, Callable[[dict[str, Any]], Any]] = {"dict": dict, "sparse": _sparse}
