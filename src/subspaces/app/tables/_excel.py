"""The reader of Excel workbooks (.xlsx), which converts the first sheet to cells of text."""

from datetime import date, time
from pathlib import Path
from typing import Any

from subspaces.app.tables._binary import expecting, zip_content
from subspaces.app.tables._grid import tidied
from subspaces.app.tables._text import from_grid
from subspaces.app.tables._wanted import Wanted
from subspaces.named_table import Table
from subspaces.runtime.extras import install

# Bytes of memory that a byte of an unpacked sheet takes as cells and numbers.
ROOM = 16
KIND = "an Excel workbook"
ADVICE = ". Save it as .xlsx, or rename it to .csv if it is text"


def read_xlsx(path: Path, wanted: Wanted) -> Table:
    """Return the table in a workbook's first sheet; formulas give the values that Excel stored."""
    try:
        import openpyxl
    except ImportError as error:
        raise ImportError(f"reading Excel files needs openpyxl. {install('excel')}") from error
    content = zip_content(path, KIND, ROOM, ADVICE)
    with expecting(path, KIND, ADVICE):
        book = openpyxl.load_workbook(content, read_only=True, data_only=True)
        sheets = book.worksheets
        sheets[0].reset_dimensions()  # some programs write a wrong size
        rows = [[_as_text(cell) for cell in row] for row in sheets[0].iter_rows(values_only=True)]
    width = max(map(len, rows), default=0)
    rows = [row + [""] * (width - len(row)) for row in rows]
    notes: tuple[str, ...] = ()
    if len(sheets) > 1:
        notes = (f"the first of its {len(sheets)} sheets, {sheets[0].title!r}, is read",)
    return from_grid(path, tidied(path, rows, list(range(1, len(rows) + 1))), wanted, notes)


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, date | time):  # a datetime at midnight is what Excel keeps of a date
        return value.isoformat().removesuffix("T00:00:00")
    return str(value).strip()
