"""Readers of files of samples and variables; every reader returns a `Table`, samples in rows."""

from collections.abc import Callable, Iterable
from itertools import combinations
from os import PathLike
from pathlib import Path
from typing import Any, get_args

from subspaces._types import SamplesIn
from subspaces.app.tables._binary import (
    cells_of_xlsx,
    frame_of_parquet,
    read_npz,
    read_parquet,
    read_xlsx,
)
from subspaces.app.tables._columns import Column, Kind, columns_of
from subspaces.app.tables._commas import is_number
from subspaces.app.tables._content import text_of
from subspaces.app.tables._gct import read_cls, read_gct
from subspaces.app.tables._h5ad import read_h5ad
from subspaces.app.tables._hints import doubts, hold_counts, seem_swapped
from subspaces.app.tables._sheet import Wanted, offered
from subspaces.app.tables._text import as_grid, header_of, read_text
from subspaces.messages import refused
from subspaces.named_table import Table
from subspaces.runtime.parameters import as_choice

__all__ = [
    "Column",
    "Kind",
    "columns_of",
    "doubts",
    "hold_counts",
    "is_number",
    "read_cls",
    "read_frame",
    "read_table",
    "seem_swapped",
]

READERS: dict[str, Callable[[Path, Wanted], Table]] = {
    ".csv": read_text,
    ".tsv": read_text,
    ".txt": read_text,
    ".gct": read_gct,
    ".xlsx": read_xlsx,
    ".npz": read_npz,
    ".parquet": read_parquet,
    ".h5ad": read_h5ad,
}
COMPRESSED = (".csv", ".tsv", ".txt", ".gct")


def read_table(
    path: str | PathLike[str],
    *,
    samples: SamplesIn = "rows",
    labels: str | None = None,
    ignore: str | Iterable[str] = (),
    variables: Iterable[str] | None = None,
    missing: str | Iterable[str] = (),
    sample_names: str | None = None,
    ignore_text: bool = False,
    drop_empty: bool = False,
) -> Table:
    """Read a table of numbers with the names of its samples and variables.

    Parameters
    ----------
    path : str or Path
        CSV, TSV or TXT (separated by comma, tab, semicolon or spaces; with a header line or
        without; with decimal points or commas; UTF-8, UTF-16 or Latin-1; also as .gz), GCT, XLSX
        (its first sheet), NPZ (arrays X and, if there, y, genes or variable_names, samples or
        sample_names), Parquet or H5AD.
    samples : {"rows", "columns"}, default "rows"
        Where the samples are in a text file, XLSX, NPZ or Parquet. GCT and H5AD say so themselves.
    labels : str, optional
        Column with the known class of each sample (the row if samples are columns, the array of
        an NPZ file, the ``obs`` column of an H5AD file). It is not a variable.
    ignore : str or iterable of str, optional
        Columns and rows to leave out: annotation, say, or a row of totals.
    variables : iterable of str, optional
        The only variables to read; columns of text are then left out, too, and ``left_out`` names
        what was there besides. All variables by default.
    missing : str or iterable of str, optional
        What marks a missing value besides an empty cell, NA, N/A, NaN, null, none, ?, - and a dot:
        "n.d.", say, or -999.
    sample_names : str, optional
        Column with the names of the samples (row, array or ``obs`` column as for ``labels``). By
        default the first column, if it holds text that is there once, or is headed "id", say.
    ignore_text : bool, default False
        Leave out all columns in which most entries are text; ``notes`` names them.
    drop_empty : bool, default False
        Leave out samples without any value; ``notes`` names them.

    Returns
    -------
    Table
        Samples in rows, whatever the file had; NaN if a value is missing. Columns of yes and
        no, percentages, money and numbers with one unit become numbers, and ``notes`` names them.
    """
    as_choice(samples, "samples", get_args(SamplesIn))
    path = Path(path)
    wanted = Wanted(
        samples_in_columns=samples == "columns",
        labels=labels,
        ignore=frozenset((ignore,) if isinstance(ignore, str) else ignore),
        variables=None if variables is None else dict.fromkeys(variables),
        missing=(missing,) if isinstance(missing, str) else tuple(missing),
        sample_names=sample_names,
        ignore_text=ignore_text,
        drop_empty=drop_empty,
    )
    asked = [("labels", labels), ("sample_names", sample_names)]
    asked += [("ignore", name) for name in wanted.ignore]
    for (option, name), (other, same) in combinations(asked, 2):
        if name is not None and name == same:
            raise refused(
                f"{path}: you gave {name!r} to both {option} and {other}. Keep one of them."
            )
    return READERS[_suffix_of(path)](path, wanted)


def read_frame(
    path: str | PathLike[str],
    *,
    ignore: Iterable[str] = (),
    missing: Iterable[str] = (),
    sample_names: str | None = None,
) -> Any:
    """Read a table with columns of any kind as a pandas DataFrame, samples in rows.

    The cells of a text file or a workbook stay text, and their rows are counted from 1. Tables of
    numbers alone (GCT, NPZ, H5AD) have their names, and their known classes as a column "class".
    The options are those of `read_table`.
    """
    frame, known = _frame_of(Path(path)), {mark.strip().lower() for mark in missing}
    names = [] if sample_names is None else [sample_names]
    for name in [*names, *ignore]:
        if name not in frame.columns and (name in names or name not in frame.index):
            raise refused(f"{path} has no column {name!r}{offered(name, frame.columns)}")
    frame = frame.set_index(names) if names else frame
    frame = frame.drop(index=list(ignore), columns=list(ignore), errors="ignore")
    numbers = {float(mark) for mark in known if is_number(mark)}

    def is_mark(value: object) -> bool:
        cell = str(value).strip().lower()
        return cell in known or (is_number(cell) and float(cell) in numbers)

    return frame.mask(frame.map(is_mark)) if known else frame


def _frame_of(path: Path) -> Any:
    import pandas as pd

    suffix = _suffix_of(path)
    if suffix == ".parquet":
        return frame_of_parquet(path)
    if suffix in (".gct", ".npz", ".h5ad"):
        table = read_table(path)
        frame = pd.DataFrame(table.data, list(table.sample_names), list(table.variable_names))
        return frame if table.classes is None else frame.assign(**{"class": list(table.classes)})
    grid = cells_of_xlsx(path)[0] if suffix == ".xlsx" else as_grid(path, text_of(path)[0])
    header, _ = header_of(grid.cells)
    cells = grid.cells if header is None else grid.cells[1:]
    names = [""] * cells.shape[1] if header is None else header
    return pd.DataFrame(cells, pd.RangeIndex(1, len(cells) + 1), columns=names)


def _suffix_of(path: Path) -> str:
    """Return the ending of a file, without ".gz"; raise ValueError if there is no reader of it."""
    *_, inner, last = ["", "", *(suffix.lower() for suffix in path.suffixes)]
    suffix = inner if last == ".gz" and inner in COMPRESSED else last
    if suffix not in READERS:
        raise refused(
            f"{path}: {f'{suffix} files' if suffix else 'files without an ending'} are not "
            f"supported. Save the table in one of these formats: {', '.join(READERS)}."
        )
    return suffix
