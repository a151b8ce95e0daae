"""Conversion of cells of text to numbers."""

from pathlib import Path

import numpy as np

from subspaces._types import Array, Mask
from subspaces.app.tables._bad_cells import bad_cells_in_words
from subspaces.app.tables._commas import is_figure, is_missing, is_number, is_text, notation_of
from subspaces.app.tables._sheet import Sheet, Texts, Wanted

# Cells that tell whether points separate thousands, if every cell is a number as it is.
LOOKED_AT = 50_000


def as_numbers(path: Path, sheet: Sheet, wanted: Wanted) -> tuple[Array, str | None]:
    """Return the cells as floats, and a note if a cell such as "1,065" is ambiguous.

    Raises ValueError, with remedies, about all cells that are no numbers.
    """
    note = None
    if sheet.cells.dtype == object:
        found = sheet.as_in_file
        data, note = _read(path, found, wanted)
        data = data if found is sheet else np.ascontiguousarray(data.T)
    else:
        data = np.ascontiguousarray(sheet.cells, dtype=np.float64)
    marks = [float(mark) for mark in wanted.missing if is_number(mark)]
    return np.where(np.isin(data, marks), np.nan, data) if marks else data, note


def unmarked(cells: Texts, wanted: Wanted) -> Texts:
    """Return cells of text with an empty one in place of each further mark of a missing value."""
    if not wanted.missing:
        return cells
    known = {mark.strip().lower() for mark in wanted.missing}
    return np.where([[cell.lower() in known for cell in row] for row in cells], "", cells)


def text_columns(cells: Texts | Array) -> Mask:
    """Return which columns of the cells hold text and no number."""
    if cells.dtype != object:
        return np.zeros(cells.shape[1], dtype=bool)
    found = [not any(map(is_figure, column)) and any(map(is_text, column)) for column in cells.T]
    return np.array(found, dtype=bool)


def _read(path: Path, sheet: Sheet, wanted: Wanted) -> tuple[Array, str | None]:
    cells: Texts = sheet.cells.ravel().astype(object, copy=False)
    values = _floats(cells)
    unread = [k for k in np.flatnonzero(np.isnan(values)) if not is_missing(cells[k])]
    looked_at = cells if unread else cells[:LOOKED_AT]
    notation = notation_of(looked_at, cells[unread])
    is_bad = np.zeros(len(cells), dtype=bool)
    # If commas are decimal, 1.065 is 1065.
    for k in range(len(cells)) if notation.has_decimal_commas else unread:
        if is_missing(cells[k]):
            continue
        plain = notation.plain(cells[k])
        is_bad[k] = not is_number(plain)
        values[k] = np.nan if is_bad[k] else float(plain)
    shape = sheet.cells.shape
    if is_bad.any():
        said = bad_cells_in_words(
            sheet, is_bad.reshape(shape), values.reshape(shape), notation, wanted
        )
        raise ValueError(f"{path}, {said}")
    return values.reshape(shape), notation.note(looked_at)


def _floats(cells: Texts) -> Array:
    """Return the numbers that Python reads, NaN for other cells. It takes 1_000 for a number."""
    if "_" not in "".join(cells):
        try:
            return cells.astype(np.float64)
        except ValueError:
            pass
    return np.fromiter(map(_float, cells), np.float64, len(cells))


def _float(cell: str) -> float:
    try:
        return np.nan if "_" in cell else float(cell)
    except ValueError:
        return np.nan
