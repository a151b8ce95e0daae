"""Checks of the rows users pass: an error says what was wrong, where, and what to use instead."""

import sys
from collections import Counter
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils import check_array

from subspaces._types import Array, Data, Frame, Mask
from subspaces.core.array import is_dask, is_foreign, to_host
from subspaces.data.survey import Survey
from subspaces.messages import (
    FILL,
    Advice,
    DataWarning,
    ParameterError,
    ParameterTypeError,
    in_a_row,
    listed,
    literal,
)
from subspaces.runtime.warning import doubt

# numpy's and pandas' letters for dates and for spans of time.
TIMES = ("m", "M")
_USE_NUMBER = "Replace it with a number, or leave out that sample or variable"
_USE_TABLE = "Pass an array or a data frame of samples x variables"
# Rows in blocks: only a numpy array may have missing values.
USE_DENSE = Advice(
    "use a dense numpy array, in which PSC and PCA accept NaN", command="save a dense table"
)
_USE_NUMBERS = "Convert them to numbers, such as days since the first date, or leave them out"
# How many rows or columns without a value are named; the others are counted.
NAMED = 5
# Largest values outside these ranges have squares, or sums of many squares, that leave the normal
# numbers of their type.
RANGES = {"float64": (1e-140, 1e140), "float32": (1e-14, 1e14)}
# The least percentage of copies that is reported, their least number, and the most samples that
# are looked at. In noise of 200 samples and 60 variables 3 % of copies give components in 5 % of
# the tables, 5 % of them in 17 %, and 10 % in 57 %.
MANY_PERCENT, FEWEST_COPIES, MOST_COMPARED = 3, 2, 10_000
# Equal samples may be this many times more frequent than independent variables make them; below
# this expected number chance makes none.
BY_CHANCE, NEVER = 2.0, 0.01


def as_matrix(
    X: Data,
    name: str = "X",
    *,
    min_samples: int = 2,
    missing: bool = False,
    empty_columns: bool = True,
) -> Array:
    """Return ``X`` as a float64 matrix of finite values, or raise an error that names the entry.

    missing: whether NaN is a cell that was not observed; masked cells become NaN then.
    empty_columns: whether a column may then have no value.
    """
    _check_kind(X, name)
    check_real(X, name)
    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.asarray(X, dtype=np.float64).filled(np.nan)
    _check_names(X, name)
    try:
        matrix: Array = check_array(
            X, dtype=np.float64, order="C", ensure_all_finite=False, ensure_2d=False, allow_nd=True,
            ensure_min_samples=0, ensure_min_features=0, input_name=name,
        )  # fmt: skip
    except (TypeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        kind = ParameterTypeError if isinstance(error, TypeError) else ParameterError
        cell, place = _first_without_number(X)
        if isinstance(cell, str):
            fact = f"<{name}> has text ({{cell!r}}) at {{place}}. {_USE_NUMBER}."
        elif type(cell).__name__ == "NAType":
            fact = f"<{name}> has pd.NA at {{place}}. Replace it with NaN."
        elif place:
            fact = (
                f'The value at {{place}} of <{name}> is not a number ("{{reason}}"). {_USE_NUMBER}.'
            )
        elif "inhomogeneous" in reason:
            fact = (
                f"The rows of <{name}> have different lengths. Each needs one value per variable."
            )
        else:
            fact = f'<{name}> is not a table of real numbers ("{{reason}}"). {_USE_TABLE}.'
        reason = reason.partition(". ")[0].rstrip(".")
        raise kind(name, fact, reason=reason, cell=cell, place=place) from error
    if matrix.ndim != 2:
        raise ParameterError(name, _not_two_dimensions(matrix.ndim, name))
    if matrix.shape[1] == 0:
        raise ParameterError(
            name,
            f"<{name}> has 0 feature(s) (shape={matrix.shape}) while a minimum of 1 is required.",
        )
    if len(matrix) < min_samples:
        fact = f"<{name}> has only {{n:#sample}}. You need at least {min_samples}."
        raise ParameterError(name, fact, n=len(matrix))
    _check_values(matrix, name, X, missing=missing, empty_columns=empty_columns)
    return matrix


def as_weights(sample_weight: Any, n_samples: int) -> Array | None:
    """Return the weights (n,) of the samples; None if all are one. One number stands for all.

    Raise an error unless there is one weight per sample, none negative, and some positive.
    """
    name = "sample_weight"
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(to_host(sample_weight), dtype=np.float64)
    except (TypeError, ValueError) as error:
        fact = f"<{name}> has entries that are not numbers. Use one number per sample."
        raise ParameterTypeError(name, fact) from error
    if weights.ndim == 0:
        weights = np.full(n_samples, float(weights))
    if weights.shape != (n_samples,):
        fact = f"<{name}> has shape {weights.shape} for {{n:#sample}}. Use one number per sample."
        raise ParameterError(name, fact, n=n_samples)
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0.0)))
    if len(wrong):
        fact = f"<{name}> has the value {{value}} at row {{row}}. Use finite weights of 0 or more."
        raise ParameterError(name, fact, value=float(weights[wrong[0]]), row=int(wrong[0]))
    if not weights.any():
        fact = f"<{name}> is zero for all samples, so there is nothing to fit."
        raise ParameterError(name, fact, Advice("give some samples a positive weight", name))
    return None if np.all(weights == 1.0) else weights


def _not_two_dimensions(n_dimensions: int, name: str) -> str:
    """Return what is wrong with an array that is no table, and how to make one of it."""
    if n_dimensions > 2:
        use = f"If each {name}[i] is a sample, pass {name}.reshape(len({name}), -1)"
    else:
        use = (
            "Reshape your data to (-1, 1) if it is one variable, or to (1, -1) if it is one sample"
        )
    many = f"{n_dimensions} dimension{'s' * (n_dimensions != 1)}"
    return f"<{name}> has {many} instead of 2 (samples x variables). {use}."


def as_table_to_fit(X: Data, *, min_samples: int = 2) -> Array:
    """Return ``X`` as a matrix in which NaN is a missing cell; every column has some value."""
    return as_matrix(X, min_samples=min_samples, missing=True, empty_columns=False)


def _check_kind(X: Data, name: str) -> None:
    """Raise TypeError for what is no dense table in main memory, with what to use instead."""
    if sparse.issparse(X):
        raise ParameterTypeError(
            name, f"<{name}> is a sparse matrix. Convert it with {name}.toarray()."
        )
    if is_dask(X):
        raise ParameterTypeError(
            name, f"<{name}> is a Dask {type(X).__name__}. Load it with {name}.compute()."
        )
    if X is None or isinstance(X, str | bytes):
        raise ParameterTypeError(
            name,
            f"<{name}={{value!r}}> is not a table. {_USE_TABLE}.",
            value=X,
        )
    if is_anndata(X):
        raise ParameterTypeError(
            name,
            f"<{name}> is an AnnData. Call scverse.psc or scverse.pca_components, or pass the "
            "table adata.to_df().",
        )
    if isinstance(X, BaseEstimator):
        raise ParameterTypeError(
            name,
            f"<{name}> is a model ({type(X).__name__}), not a table. Pass the table as <{name}>.",
        )
    if is_foreign(X) and get_config()["array_api_dispatch"]:
        library = type(X).__module__.partition(".")[0]
        raise ParameterTypeError(
            name, f"<{name}> is an array of {library}. Convert it to a numpy array."
        )


def check_real(X: Data, name: str = "X") -> None:
    """Raise an error for complex numbers, dates and times, which numpy would turn into floats."""
    dtype = getattr(X, "dtype", None)
    kind = getattr(dtype, "kind", "")
    if kind == "c":
        raise ParameterError(
            name,
            f"Complex data not supported. Pass <{name}>.real, or the real and imaginary parts "
            "as separate columns.",
        )
    if kind in TIMES:
        raise ParameterTypeError(
            name,
            f"<{name}> contains only dates or times ({dtype}). Convert them to numbers, such "
            "as days since the first date.",
        )
    dated = [j for j, kind in enumerate(getattr(X, "dtypes", ())) if _is_time(kind)]
    if dated:
        places = listed([_named(X, 1, j) for j in dated], NAMED)
        fact = f"<{name}> has dates or times in {{places}}. {_USE_NUMBERS}."
        raise ParameterTypeError(name, fact, places=places)


def _is_time(kind: object) -> bool:
    """Whether the type of a column, of pandas or of polars, is one of dates or times."""
    temporal = getattr(kind, "is_temporal", None)
    return temporal() if callable(temporal) else getattr(kind, "kind", "") in TIMES


def is_anndata(X: Data) -> bool:
    """Whether X is an AnnData, found without importing its library."""
    return any(
        kind.__name__ == "AnnData" and kind.__module__.partition(".")[0] == "anndata"
        for kind in type(X).__mro__
    )


def _first_without_number(X: Data) -> tuple[object, str]:
    """Return the first entry that is not a number, and its place, "" if there is none."""
    try:
        table = np.asarray(X, dtype=object)
    except ValueError:  # rows of unequal lengths
        return None, ""
    for row, column in np.ndindex(table.shape) if table.ndim == 2 else ():
        try:
            is_number = np.asarray(table[row, column], dtype=np.float64).ndim == 0
        except (TypeError, ValueError):
            is_number = False
        if not is_number:
            return table[row, column], place_of(X, row, column)
    return None, ""


def _check_names(X: Data, name: str) -> None:
    """Raise ValueError if several columns share a name: variables are reported by name."""
    columns = list(getattr(X, "columns", ()))
    if len(set(columns)) == len(columns):
        return
    twice = next(column for column in columns if columns.count(column) > 1)
    where = [place for place, column in enumerate(columns) if column == twice]
    raise ParameterError(
        name,
        f"Several columns of <{name}> are named {{twice!r}} (columns {in_a_row(where)}). "
        "Rename or drop all but one.",
        twice=twice,
    )


def is_named(X: Data) -> TypeGuard[Frame]:
    """Whether X is a data frame whose columns all have text as names, as scikit-learn asks."""
    columns = getattr(X, "columns", None)
    return columns is not None and all(isinstance(name, str) for name in columns)


def row_names(X: Data | None) -> NDArray[Any] | None:
    """Return the row names of a pandas frame, (n,); None for other tables or a RangeIndex.

    Whole numbers stay numbers, everything else becomes text.
    """
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(X, pandas.DataFrame):
        return None
    if isinstance(X.index, pandas.RangeIndex):
        return None
    names = X.index.to_numpy()
    return names if names.dtype.kind in "iu" else np.array([str(name) for name in names])


def place_of(X: Data | None, row: int, column: int) -> str:
    """Return a cell of X by the names of its row and column, or else by their numbers."""
    return f"{_named(X, 0, row)}, {_named(X, 1, column)}"


def _named(X: Data | None, axis: int, index: int) -> str:
    """Return a row (axis 0) or column (axis 1) of X by its name, or else by its number."""
    names = row_names(X) if axis == 0 else getattr(X, "columns", None)
    name = None if names is None else np.asarray(names, dtype=object)[index]
    return f"{('row', 'column')[axis]} {index if name is None else repr(name)}"


def _check_values(matrix: Array, name: str, X: Data, *, missing: bool, empty_columns: bool) -> None:
    """Raise ValueError for a value that is not finite, and for rows or columns without any value.

    Options as of `as_matrix`. The sum tells in one scan that there is nothing to look for.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(matrix.sum()):
            return
    bad = np.isinf(matrix) if missing else ~np.isfinite(matrix)
    if bad.any():
        where = np.argwhere(bad)
        row, column = (int(index) for index in where[0])
        value = float(matrix[row, column])
        raise not_finite(name, row, column, value, len(where), X, missing=missing)
    holes = np.isnan(matrix)
    _check_some_value(holes, 0, name, X)
    if not empty_columns:
        _check_some_value(holes, 1, name, X)


def _check_some_value(holes: Mask, axis: int, name: str, X: Data) -> None:
    """Raise ValueError for rows (axis 0) or columns (axis 1) in which all cells are missing."""
    empty = np.flatnonzero(holes.all(axis=1 - axis))
    if len(empty):
        called = [_named(X, axis, int(index)) for index in empty]
        places = listed(called, NAMED)
        have = "has" if len(empty) == 1 else "have"
        said = literal(f"{places[0].upper()}{places[1:]} {have} no values")
        raise ParameterError(
            name, f"{said}. {literal(_without_empty(X, axis, name))}.", places=places
        )


def _without_empty(X: Data, axis: int, name: str) -> str:
    """Return how to leave out rows (axis 0) or columns (axis 1) of X that have no value."""
    empty = f"empty {('rows', 'columns')[axis]}"
    if hasattr(X, "dropna"):
        return f"Drop {empty} with {name}.dropna(axis={axis}, how='all')"
    if isinstance(X, np.ndarray):
        kept = f"~np.isnan({name}).all(axis={1 - axis})"
        return f"Leave out {empty}: {name}[{':, ' * axis}{kept}]"
    return f"Leave out {empty}"


def not_finite(
    name: str,
    row: int,
    column: int,
    value: float,
    count: int,
    X: Data | None = None,
    *,
    missing: bool = False,
    fill: Advice = FILL,
) -> ValueError:
    """Return the ValueError that names the first value that is not finite and counts the rest.

    missing: whether NaN is taken for a missing value; fill: what to do about NaN if it is not.
    """
    more = f" (and {count - 1} more)" if count > 1 else ""
    advice = [Advice("replace it with a finite number")]
    if missing:
        empty = "leave the cell empty if the value is missing"
        advice = [Advice("replace it with np.nan if the value is missing", command=empty)]
    elif np.isnan(value):
        several = "the samples or variables with such values"
        advice = [Advice(f"leave out {several if count > 1 else 'that sample or variable'}"), fill]
    return ParameterError(
        name,
        f"<{name}> contains {{what}} at {{place}}{{more}}.",
        *advice,
        value=value,
        what="NaN" if np.isnan(value) else "infinity",
        place=place_of(X, row, column),
        more=more,
    )


def check_shape(shape: tuple[int, ...], name: str = "X") -> None:
    """Raise ValueError for a shape that is not two positive numbers."""
    if len(shape) != 2 or 0 in shape:
        raise ParameterError(
            name,
            f"<{name}> has shape {shape}. Pass a 2-D table with at least one sample and one "
            "variable.",
        )


def check_survey(found: Survey, dtype: object, *, dense: bool = False) -> None:
    """Raise ValueError if the survey found a value that is not finite, too large or too small.

    Passes over rows of single precision square and add in single precision. dense: whether the
    rows are a numpy array, of which missing values can be filled.
    """
    if found.bad is not None:
        raise not_finite("X", *found.bad, found.n_bad, fill=FILL if dense else USE_DENSE)
    check_magnitude(found.largest, "X", "float32" if "float32" in str(dtype) else "float64")


def has_holes(X: Any) -> bool:
    """Whether an array in memory has a missing cell."""
    is_real = isinstance(X, np.ndarray) and X.dtype.kind == "f" and X.ndim == 2
    return bool(is_real and np.isnan(np.sum(X)) and np.isnan(X).any())


def check_squares(matrix: Array, name: str = "X") -> float:
    """Return the largest absolute value; raise ValueError if its square overflows or vanishes."""
    largest = max(matrix.max(initial=0.0), -matrix.min(initial=0.0))
    largest = float(np.nanmax(np.abs(matrix)) if np.isnan(largest) else largest)
    check_magnitude(largest, name)
    return largest


def check_magnitude(largest: float, name: str = "X", kind: str = "float64") -> None:
    """Raise ValueError if the square of a largest absolute value leaves the range of the type."""
    low, high = RANGES[kind]
    if largest and not low <= largest <= high:
        size = "large" if largest > high else "small"
        wider = f", or convert {name} to float64" if kind != "float64" else ""
        raise ParameterError(
            name,
            f"The largest value of <{name}> is {largest:.3g}, so its square is too {size} for "
            f"{kind}. Multiply {name} by a constant, so that the largest value is between "
            f"{low:g} and {high:g}{wider}.",
        )


def count_distinct_rows(matrix: Array, enough: int) -> int:
    """Return the number of distinct rows, which are counted no further than ``enough``."""
    seen: set[bytes] = set()
    for row in matrix:
        seen.add((row + 0.0).tobytes())  # 0.0 and -0.0 differ in their bytes
        if len(seen) >= enough:
            break
    return len(seen)


def warn_of_copies(rows: Array, *, of_components: bool = False) -> None:
    """Warn if at least 3 % of the rows (n, p), beyond chance, are exact copies of others.

    Leaving one out leaves its copies in.

    of_components: whether components are
    counted. Then one row that is there more than ``1 + sqrt(n/p)`` times is enough: the eigenvalue
    that it makes leaves those of noise [Baik, Ben Arous & Peche 2005].
    """
    n, p = rows.shape
    if n > MOST_COMPARED or (copies := n - len(times_each(rows))) == 0:
        return
    chance = equal_by_chance(rows, NEVER)
    beyond = copies - (BY_CHANCE * chance if chance > NEVER else 0.0)
    many = beyond >= FEWEST_COPIES and 100.0 * beyond >= MANY_PERCENT * n
    often = of_components and max(times_each(rows)) > 1.0 + np.sqrt(n / p)
    if many or (often and chance <= NEVER):
        doubt(
            DataWarning,
            "copies",
            "{copies:#of {n} samples is an exact copy of another|of {n} samples are exact copies "
            "of others}, and copies can look like clusters or components.",
            Advice("keep each sample once"),
            copies=copies,
            n=n,
        )


def times_each(rows: Array) -> list[int]:
    """Return how many times each distinct row (n, p) is there."""
    n = len(rows)
    if rows.shape[1] == 0 or len(np.unique(rows[:, 0])) == n:
        return [1] * n
    return list(Counter((row + 0.0).tobytes() for row in rows).values())  # -0.0 has other bytes


def equal_by_chance(rows: Array, enough: float = 0.0) -> float:
    """Return how many pairs of rows (n, p) would be equal if the columns were independent.

    Each column multiplies the pairs by the share of them that are equal in it, the sum of the
    squared frequencies of its values less the pairs of a row with itself. Below ``enough`` no
    further column is read.
    """
    n = len(rows)
    pairs = 0.5 * n * (n - 1)
    for column in rows.T:
        if pairs <= enough:
            break
        counts = np.unique(column, return_counts=True)[1].astype(float)
        pairs *= float(np.sum(counts * (counts - 1.0))) / (n * (n - 1))
    return pairs
