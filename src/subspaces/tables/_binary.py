"""Files that hold arrays: NPZ, Parquet, H5AD. Nothing in them is run."""

import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from subspaces.tables._table import Array, Table, by_name, checked, default_names, offered

VARIABLES = ("variable_names", "genes", "feature_names")
SAMPLES = ("sample_names", "samples")


def read_npz(path: Path, samples_in_columns: bool, labels: str | None) -> Table:
    """Read the arrays X and, where they are there, y and the names."""
    arrays = _arrays(path)
    if "X" not in arrays:
        raise ValueError(
            f"{path} has no array X; {offered('X', arrays)}; X of shape (n, p) would do"
        )
    data = _matrix(path, arrays["X"])
    data = data.T.copy() if samples_in_columns else data
    classes = _vector(path, arrays, ("y",) if labels is None else (labels,), len(data))
    if labels is not None and classes is None:
        raise ValueError(f"{path} has no array {labels!r}; {offered(labels, arrays)}")
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
    except ImportError as error:
        raise ImportError(
            "reading Parquet needs pyarrow: pip install 'subspaces[parquet]'"
        ) from error
    try:
        frame = pd.read_parquet(path, engine="pyarrow")
    except pa.ArrowInvalid as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"{path} is not a Parquet file: {reason}") from None
    if isinstance(frame.index, pd.RangeIndex) and frame.shape[1] > 1:
        first = frame.columns[0]
        if first != labels and not pd.api.types.is_numeric_dtype(frame[first]):
            frame = frame.set_index(first)
    return _from_frame(path, frame.T if samples_in_columns else frame, labels)


def read_h5ad(path: Path, samples_in_columns: bool, labels: str | None) -> Table:
    """Read X of an AnnData file; the classes are a column of obs."""
    try:
        import anndata
    except ImportError as error:
        raise ImportError("reading H5AD needs anndata: pip install 'subspaces[scverse]'") from error
    if not path.exists():
        raise FileNotFoundError(2, "No such file or directory", str(path))
    try:
        read = anndata.read_h5ad(path)
    except (OSError, KeyError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"{path} is not a readable H5AD file: {reason}") from None
    if read.X is None:
        raise ValueError(f"{path} has no X; counts or expression values in X would do")
    if labels is not None and labels not in read.obs:
        raise ValueError(f"{path} has no obs column {labels!r}; {offered(labels, read.obs)}")
    dense = read.X if isinstance(read.X, np.ndarray) else read.X.toarray()
    classes = None if labels is None else _texts(read.obs[labels])
    names = tuple(map(str, read.obs_names)), tuple(map(str, read.var_names))
    table = Table(_matrix(path, dense), *names, classes)
    return checked(table, path, by_name(table))


def _from_frame(path: Path, frame: Any, labels: str | None) -> Table:
    import pandas as pd

    classes = None
    if labels is not None:
        if labels not in frame.columns:
            raise ValueError(f"{path} has no column {labels!r}; {offered(labels, frame.columns)}")
        classes = _texts(frame[labels])
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
                f"{frame[name].iloc[i]!r} is not a number; a number, or labels={name!r} where it "
                "holds classes, would do"
            )
    variables = tuple(map(str, frame.columns))
    table = Table(frame.to_numpy(dtype=np.float64, na_value=np.nan), samples, variables, classes)
    return checked(table, path, by_name(table))


def _arrays(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            read = np.load(file, allow_pickle=False)
            if isinstance(read, np.ndarray):
                raise ValueError("it holds one array without a name")
            return {name: read[name] for name in read.files}
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"{path} is not an NPZ file of plain arrays ({reason}); numpy.savez of X and names "
            "would do"
        ) from None


def _matrix(path: Path, X: Any) -> Array:
    X = np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise ValueError(
            f"{path}: X has shape {X.shape} and type {X.dtype}; numbers of shape (n, p) would do"
        )
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
            f"{path}: {name} has shape {arrays[name].shape}; ({count},) would do, to go with X"
        )
    return _texts(arrays[name])


def _texts(values: Iterable[Any]) -> tuple[str, ...]:
    return tuple("" if value != value else str(value) for value in values)
