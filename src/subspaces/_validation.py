"""Checks at the door: what was wrong, where, and what to use instead, in one line."""

import sys
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import get_config
from sklearn.utils import check_array, check_random_state

from subspaces.core.array_namespace import is_dask, is_foreign
from subspaces.core.survey import Survey

Array = NDArray[np.floating]

# Outside these the squares of a matrix, or the sum of many, leave the normal numbers of its type.
RANGES = {"float64": (1e-140, 1e140), "float32": (1e-14, 1e14)}


def as_matrix(X: Any, name: str = "X", *, min_samples: int = 2) -> Array:
    """Return ``X`` as a float64 matrix of finite values, or say which entry is in the way."""
    if sparse.issparse(X):
        raise TypeError(f"{name} is a sparse matrix. Use a dense array: {name}.toarray()")
    if is_dask(X):
        raise TypeError(f"{name} is a Dask array. Use one in memory: {name}.compute()")
    if X is None or isinstance(X, str | bytes):
        raise TypeError(f"{name}={X!r} is not a table. Use an array of shape (n, p)")
    if is_foreign(X) and get_config()["array_api_dispatch"]:
        library = type(X).__module__.partition(".")[0]
        raise TypeError(f"{name} is an array of {library}, and one of numpy is needed here")
    _check_names(X, name)
    try:
        matrix = check_array(
            X, dtype=np.float64, order="C", ensure_all_finite=False, ensure_2d=False, allow_nd=True,
            ensure_min_samples=0, ensure_min_features=0, input_name=name,
        )  # fmt: skip
    except (TypeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise type(error)(f"{name} is not a table of real numbers: {reason}") from error
    if matrix.ndim != 2:
        raise ValueError(
            f"{name} has {matrix.ndim} dimensions; 2 are needed, samples x variables "
            "(Reshape your data: (-1, 1) for one variable, (1, -1) for one sample)"
        )
    if matrix.shape[1] == 0:
        raise ValueError(
            f"{name} has 0 feature(s) (shape={matrix.shape}) while a minimum of 1 is required."
        )
    if len(matrix) < min_samples:
        raise ValueError(f"{name} has n_samples={len(matrix)}; at least {min_samples} are needed")
    _check_finite(matrix, name, list(getattr(X, "columns", ())))
    return matrix


def _check_names(X: Any, name: str) -> None:
    """A column name must mean one column: variables are reported by name."""
    columns = list(getattr(X, "columns", ()))
    if len(set(columns)) == len(columns):
        return
    twice = next(column for column in columns if columns.count(column) > 1)
    where = [place for place, column in enumerate(columns) if column == twice]
    raise ValueError(
        f"{name} has the column name {twice!r} more than once (columns {where}); "
        "rename or drop all but one"
    )


def is_named(X: Any) -> bool:
    """Whether X is a data frame whose columns all have text as names, as scikit-learn asks."""
    columns = getattr(X, "columns", None)
    return columns is not None and all(isinstance(name, str) for name in columns)


def row_names(X: Any) -> NDArray[Any] | None:
    """The index of a pandas frame, whole numbers or text; None for any other table.

    An index that only counts the rows names none of them.
    """
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(X, pandas.DataFrame):
        return None
    if isinstance(X.index, pandas.RangeIndex):
        return None
    names = X.index.to_numpy()
    return names if names.dtype.kind in "iu" else np.array([str(name) for name in names])


def _check_finite(matrix: Array, name: str, columns: list[Any]) -> None:
    finite = np.isfinite(matrix)
    if finite.all():
        return
    where = np.argwhere(~finite)
    row, column = (int(index) for index in where[0])
    raise not_finite(name, row, column, float(matrix[row, column]), len(where), columns)


def not_finite(
    name: str, row: int, column: int, value: float, count: int, columns: Sequence[Any] = ()
) -> ValueError:
    """The error that names the first of the values that are not finite."""
    more = f" (and {count - 1} more)" if count > 1 else ""
    return ValueError(
        f"{name} contains NaN or infinity: {value} at row {row}, column {column}"
        f"{f' ({columns[column]!r})' if columns else ''}{more}; remove or impute it"
    )


def check_shape(shape: tuple[Any, ...], name: str = "X") -> None:
    """Refuse what is no table, or an empty one."""
    if len(shape) != 2 or 0 in shape:
        raise ValueError(f"{name} has shape {shape}. Use samples x variables, some of each")


def check_survey(found: Survey, dtype: Any, name: str = "X") -> None:
    """Refuse rows that the first pass has found to be unfit, naming the value in the way.

    Passes over rows of single precision square and add in single precision.
    """
    if found.bad is not None:
        raise not_finite(name, *found.bad, found.n_bad)
    check_magnitude(found.largest, name, "float32" if "float32" in str(dtype) else "float64")


def check_squares(matrix: Array, name: str = "X") -> None:
    """Refuse magnitudes whose squares overflow or vanish, where squares are the answer."""
    check_magnitude(float(np.abs(matrix).max(initial=0.0)), name)


def check_magnitude(largest: float, name: str = "X", kind: str = "float64") -> None:
    """The same, of the largest absolute value."""
    low, high = RANGES[kind]
    if largest and not low <= largest <= high:
        wider = f", or make it float64: {name} is {kind}" if kind != "float64" else ""
        raise ValueError(
            f"{name} has its largest value at {largest:.3g}, whose square leaves the range of "
            f"{kind}; divide {name} by a constant to bring it within {low:g} to {high:g}{wider}"
        )


def as_count(value: Any, name: str, *, low: int, high: int | None = None, why: str = "") -> int:
    """Return ``value`` as an int in ``low..high``."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise TypeError(f"{name}={value!r} is not an integer. Use one from {low} up")
    count = int(value)
    if count < low or (high is not None and count > high):
        span = f"{low} or more" if high is None else f"{low} to {high}"
        raise ValueError(f"{name}={count} is out of range{why}. Use {span}")
    return count


def as_choice(value: Any, name: str, choices: tuple[str, ...]) -> str:
    """Return ``value`` if it is one of ``choices``."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name}={value!r} is unknown. Use one of {', '.join(choices)}")
    return value


def as_flag(value: Any, name: str) -> bool:
    """Return ``value`` if it is a bool."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name}={value!r} is not a bool. Use True or False")
    return bool(value)


def as_real(value: Any, name: str, *, low: float = 0.0) -> float:
    """Return ``value`` as a finite float that is at least ``low``."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name}={value!r} is not a number. Use {low:g} or more") from None
    if not np.isfinite(number) or number < low:
        raise ValueError(f"{name}={value!r} is out of range. Use {low:g} or more")
    return number


def as_generator(random_state: Any) -> np.random.Generator:
    """A generator from what scikit-learn takes as ``random_state``."""
    try:
        random = check_random_state(random_state)
    except ValueError:
        raise ValueError(
            f"random_state={random_state!r} seeds nothing. Use an int from 0 up, a "
            "numpy.random.RandomState or None"
        ) from None
    return np.random.default_rng(random.randint(2**31 - 1))


def check_rank(rank: int, largest: int, affine: bool) -> None:
    """Refuse dimensions that the data do not have."""
    if rank == 0:
        kind = "all rows are equal" if affine else "all values are zero"
        raise ValueError(f"X has nothing to cluster: {kind}, its rank is 0. Use other data")
    if largest > rank:
        raise ValueError(
            f"n_components={largest} is more than the rank of X, {rank}"
            f"{' after centring' if affine else ''}. Use at most {rank}, or columns of like "
            "scale (a direction below 1e-7 of the largest does not count)"
        )
