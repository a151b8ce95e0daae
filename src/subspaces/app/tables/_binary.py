"""The readers of NPZ files, without pickle, of Parquet files and of Excel workbooks."""

import io
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subspaces._types import Array
from subspaces.app.tables._content import check_room, content_of, expecting, zip_content
from subspaces.app.tables._sheet import (
    Sheet,
    Texts,
    Wanted,
    as_texts,
    named,
    offered,
    unmarked,
    with_annotation,
)
from subspaces.app.tables._table import to_table
from subspaces.app.tables._text import Grid, from_grid, tidied
from subspaces.app.tables._units import as_numbers
from subspaces.messages import Message, listed, noted, refused
from subspaces.named_table import Table
from subspaces.runtime.extras import install

if TYPE_CHECKING:
    import pandas as pd

ARRAYS = "an NPZ file of plain arrays"
SAVE = ". Save a table of numbers with np.savez(path, X=table)"
VARIABLES = ("variable_names", "genes", "feature_names")
SAMPLES = ("sample_names", "samples")
# Bytes of memory that a byte of an unpacked sheet takes as cells and numbers.
ROOM = 16
AGAIN = ". Download or save it again"
WORKBOOK = "an Excel workbook"
ADVICE = ". Save it as .xlsx, or rename it to .csv if it is a text file"


def read_npz(path: Path, wanted: Wanted) -> Table:
    """Return the table in an NPZ file: array X and, if present, classes y and arrays of names."""
    content = zip_content(path, ARRAYS, room=2, advice=SAVE)
    with expecting(path, ARRAYS, SAVE), np.load(content, allow_pickle=False) as read:
        found = dict(read)
    arrays = {name: array for name, array in found.items() if isinstance(array, np.ndarray)}
    return from_arrays(path, arrays, wanted, wanted.labels or "y")


def from_arrays(
    path: Path, arrays: Mapping[str, NDArray[np.generic]], wanted: Wanted, labels: str | None
) -> Table:
    """Return the table of the array X, with the classes in the array ``labels`` if it is there."""
    if "X" not in arrays:
        only = f", only {listed(list(map(repr, arrays)))}" if arrays else ""
        raise refused(f"{path} has no array 'X'{only}. Save the table under that name.")
    X = arrays["X"]
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise refused(
            f"{path}: 'X' is of type {X.dtype} and shape {X.shape}. Save a table of numbers "
            f"(samples x variables){', such as X.reshape(len(X), -1)' * (X.ndim > 2)}."
        )
    for name in (wanted.labels, wanted.sample_names):
        if name is not None and name not in arrays:
            raise refused(f"{path} has no array {name!r}{offered(name, arrays)}")
    with np.errstate(all="ignore"):  # a signalling nan becomes a nan, and is found as one
        data = X.astype(np.float64, copy=False)
    data = data.T if wanted.samples_in_columns else data

    def vector(names: Iterable[str | None], count: int) -> Texts | None:
        """Return the first of these arrays that the file has, as texts."""
        name = next((name for name in names if name in arrays), None)
        if name is None:
            return None
        if arrays[name].shape != (count,):
            raise refused(
                f"{path}: {name!r} has shape {arrays[name].shape}. Save one with shape ({count},), "
                "to match 'X'."
            )
        return as_texts(arrays[name])

    n, p = data.shape
    classes = vector((labels,), n)
    chosen = SAMPLES if wanted.sample_names is None else (wanted.sample_names,)
    rows = named("row", vector(chosen, n), n, "sample")
    columns = named("column", vector(VARIABLES, p), p, "v")
    return to_table(path, Sheet(data, rows, columns, classes), wanted)


def read_xlsx(path: Path, wanted: Wanted) -> Table:
    """Return the table in a workbook's first sheet; formulas give the values that Excel stored."""
    grid, notes = cells_of_xlsx(path)
    return from_grid(path, grid, wanted, notes)


def cells_of_xlsx(path: Path) -> tuple[Grid, tuple[Message, ...]]:
    """Return the cells of a workbook's first sheet, and notes."""
    try:
        import openpyxl  # noqa: F401
        import pandas as pd
    except ImportError as error:
        raise ImportError(f"Reading Excel files needs openpyxl. {install('excel')}") from error
    content = zip_content(path, WORKBOOK, ROOM, ADVICE)
    with expecting(path, WORKBOOK, ADVICE), pd.ExcelFile(content, engine="openpyxl") as book:
        sheets = book.sheet_names
        frame = book.parse(0, header=None, dtype=object, na_filter=False)
    rows = [[_as_text(cell) for cell in row] for row in frame.to_numpy()]
    notes: tuple[Message, ...] = ()
    if len(sheets) > 1:
        fact = "Only {sheet!r}, the first of {n} sheets, was read."
        notes = (noted("first_sheet", fact, sheet=sheets[0], n=len(sheets)),)
    return tidied(path, rows, range(1, len(rows) + 1)), notes


def _as_text(cell: object) -> str:
    text = str(cell).upper() if isinstance(cell, bool) else str(cell)
    return text.strip().removesuffix(" 00:00:00")  # what Excel keeps of a date


def read_parquet(path: Path, wanted: Wanted) -> Table:
    """Return the table in a Parquet file; its index or first column of text names the rows."""
    frame = frame_of_parquet(path)
    import pandas as pd

    columns = named("column", frame.columns.map(str), frame.shape[1], "")
    frame.columns = columns.names
    keep, labels = ~columns.among(wanted.ignore), wanted.labels
    wanted = replace(wanted, ignore=wanted.ignore - set(columns.names))
    names, classes, first, left = frame.index.map(str), None, None, wanted
    if isinstance(frame.index, pd.RangeIndex):
        names, first = None, _column_of_names(frame.loc[:, keep], wanted)
    if not wanted.samples_in_columns:
        first = wanted.sample_names or first
        if labels in columns.names[keep]:
            classes, left = as_texts(frame[labels]), replace(left, labels=None)
            keep &= columns.names != labels
    if first in columns.names[keep]:
        names, left = as_texts(frame[first]), replace(left, sample_names=None)
        keep &= columns.names != first
    rows = named("row", names, len(frame), "v" if wanted.samples_in_columns else "sample")
    sheet = Sheet(_cells(frame.loc[:, keep], wanted), rows, columns.kept(keep), classes)
    sheet = sheet.turned if wanted.samples_in_columns else sheet
    return to_table(path, with_annotation(path, sheet, left), wanted)


def frame_of_parquet(path: Path) -> "pd.DataFrame":
    """Return the frame in a Parquet file."""
    try:
        import pandas as pd
        from pyarrow import BufferReader, parquet
    except ImportError as error:
        raise ImportError(f"Reading Parquet needs pyarrow. {install('parquet')}") from error
    content = content_of(path)
    with expecting(path, "a Parquet file", AGAIN):
        size = parquet.ParquetFile(BufferReader(content)).metadata
    check_room(path, 2 * 8 * size.num_rows * size.num_columns)
    with expecting(path, "a Parquet file", AGAIN):
        found: pd.DataFrame = pd.read_parquet(io.BytesIO(content), engine="pyarrow")
    return found


def _column_of_names(frame: "pd.DataFrame", wanted: Wanted) -> str | None:
    """Return the name of the first column if it holds names, each once; else None."""
    if frame.shape[1] < 2 or _are_numeric(frame.iloc[:, :1]):
        return None
    name, first = frame.columns[0], frame.iloc[:, 0]
    is_names = not first.duplicated().any() and as_numbers(as_texts(first)) is None
    if wanted.samples_in_columns:
        return name
    return name if is_names and name != wanted.labels else None


def _cells(frame: "pd.DataFrame", wanted: Wanted) -> Texts | Array:
    """Return the values of a frame as numbers, or as texts if one of its columns holds text."""
    if _are_numeric(frame):
        return frame.to_numpy(dtype=np.float64, na_value=np.nan)
    texts = [as_texts(frame[name].to_numpy(dtype=object, na_value="")) for name in frame]
    return unmarked(np.column_stack(texts), wanted)


def _are_numeric(frame: "pd.DataFrame") -> bool:
    import pandas as pd

    return all(map(pd.api.types.is_numeric_dtype, frame.dtypes))
