"""Files that hold arrays: NPZ and Parquet. Nothing in them is run."""

import io
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from subspaces._extras import install
from subspaces.core.hearing import PROCESS
from subspaces.tables._content import check_room, content_of
from subspaces.tables._table import Array, Table, by_name, checked, default_names, offered

VARIABLES = ("variable_names", "genes", "feature_names")
SAMPLES = ("sample_names", "samples")


def read_npz(path: Path, samples_in_columns: bool, labels: str | None) -> Table:
    """Read the arrays X and, where they are there, y and the names."""
    arrays = _arrays(path)
    if "X" not in arrays:
        raise ValueError(
            f"{path} has no array X. {offered('X', arrays)}. Use the name X for numbers of "
            "shape (n, p)"
        )
    data = as_numbers(path, arrays["X"])
    data = data.T.copy() if samples_in_columns else data
    classes = _vector(path, arrays, ("y",) if labels is None else (labels,), len(data))
    if labels is not None and classes is None:
        raise ValueError(f"{path} has no array {labels!r}. {offered(labels, arrays)}")
    n, p = data.shape
    samples, variables = _vector(path, arrays, SAMPLES, n), _vector(path, arrays, VARIABLES, p)
    table = Table(
        data, samples or default_names("sample", n), variables or default_names("v", p), classes
    )
    return checked(table, path, by_name(table))


def read_parquet(path: Path, samples_in_columns: bool, labels: str | None) -> Table:
    """Read a data frame; its index, or a first column of text, has the names."""
    try:
        import pandas as pd
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(f"reading Parquet needs pyarrow. {install('parquet')}") from error
    content = pa.py_buffer(content_of(path))
    with _foreign(path, "a Parquet file"):
        found = parquet.ParquetFile(pa.BufferReader(content)).metadata
    check_room(path, 2 * 8 * found.num_rows * found.num_columns)
    with _foreign(path, "a Parquet file"):
        frame = pd.read_parquet(io.BytesIO(content), engine="pyarrow")
    if isinstance(frame.index, pd.RangeIndex) and frame.shape[1] > 1:
        first = frame.columns[0]
        if first != labels and not pd.api.types.is_numeric_dtype(frame[first]):
            frame = frame.set_index(first)
    return _from_frame(path, frame.T if samples_in_columns else frame, labels)


def _from_frame(path: Path, frame: Any, labels: str | None) -> Table:
    import pandas as pd

    classes = None
    if labels is not None:
        if labels not in frame.columns:
            raise ValueError(f"{path} has no column {labels!r}. {offered(labels, frame.columns)}")
        classes = as_texts(frame[labels])
        frame = frame.drop(columns=labels)
    numeric = isinstance(frame.index, pd.RangeIndex)
    samples = default_names("sample", len(frame)) if numeric else tuple(map(str, frame.index))
    for name in frame.columns:
        values = pd.to_numeric(frame[name], errors="coerce")
        texts = np.flatnonzero(values.isna() & frame[name].notna())
        if len(texts):
            i = int(texts[0])
            raise ValueError(
                f"{path}, row {i + 1} ({samples[i]!r}), column {name!r}: "
                f"{frame[name].iloc[i]!r} is not a number. Use a number, or labels={name!r} where "
                "it holds classes"
            )
    variables = tuple(map(str, frame.columns))
    table = Table(frame.to_numpy(dtype=np.float64, na_value=np.nan), samples, variables, classes)
    return checked(table, path, by_name(table))


@contextmanager
def _foreign(path: Path, kind: str) -> Iterator[None]:
    """Whatever a library raises on bytes that nobody wrote, in one line that names the file."""
    try:
        with PROCESS, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except Exception as error:
        reason = (str(error) or type(error).__name__).strip().splitlines()[0]
        raise ValueError(f"{path} is not {kind} ({reason})") from None


def _arrays(path: Path) -> dict[str, Any]:
    content = io.BytesIO(content_of(path))
    kind = "an NPZ file of plain arrays, as numpy.savez writes of X and names"
    with _foreign(path, kind), zipfile.ZipFile(content) as archive:
        declared = sum(member.file_size for member in archive.infolist())
    check_room(path, 2 * declared)
    with _foreign(path, kind):
        read = np.load(content, allow_pickle=False)
        found = {name: read[name] for name in read.files}
    return {name: array for name, array in found.items() if isinstance(array, np.ndarray)}


def as_numbers(path: Path, X: Any) -> Array:
    """A matrix in float64, or ValueError."""
    X = np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise ValueError(
            f"{path}: X has shape {X.shape} and type {X.dtype}. Use numbers of shape (n, p)"
        )
    with np.errstate(all="ignore"):  # a signalling nan becomes a nan, and is found as one
        return X.astype(np.float64)


def _vector(
    path: Path, arrays: Mapping[str, Any], names: tuple[str, ...], count: int
) -> tuple[str, ...] | None:
    """The first of these arrays that is there, as text."""
    name = next((name for name in names if name in arrays), None)
    if name is None:
        return None
    if arrays[name].shape != (count,):
        raise ValueError(
            f"{path}: {name} has shape {arrays[name].shape}. Use ({count},), to go with X"
        )
    return as_texts(arrays[name])


def as_texts(values: Iterable[Any]) -> tuple[str, ...]:
    """Names as text; empty where there is none."""
    return tuple("" if value != value else str(value) for value in values)
