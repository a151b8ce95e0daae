"""A table of numbers from the sheet of a file: what is not wanted left out, the rest checked."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from subspaces._types import Array, Mask
from subspaces.app.tables._bad_cells import bad_cells_in_words
from subspaces.app.tables._commas import is_figure, is_missing, is_number, is_text, notation_of
from subspaces.app.tables._sheet import Sheet, Side, Texts, Wanted, offered
from subspaces.named_table import Table

# What people call rows below a table that are no samples.
TOTALS = {
    "average", "avg", "count", "cv", "max", "mean", "median", "min", "sd", "se", "sem", "std",
    "stdev", "sum", "total", "totals",
}  # fmt: skip
# Cells that tell whether points separate thousands, if every cell is a number as it is.
LOOKED_AT = 50_000


def to_table(path: Path, sheet: Sheet, wanted: Wanted, notes: Iterable[str] = ()) -> Table:
    """Return the table of what ``wanted`` asks for; raise ValueError if something is wrong in it.

    notes: sentences from reading the file, which the table keeps.
    """
    names = [*sheet.variables.names, *sheet.samples.names]
    for name in sorted(wanted.ignore - set(names)):
        raise ValueError(f"{path} has no column or row {name!r}{offered(name, names)}")
    ignored = sheet.samples.among(wanted.ignore), sheet.variables.among(wanted.ignore)
    sheet, left_out = _asked_for(path, sheet.kept(~ignored[0], ~ignored[1]), wanted)
    data, note = _numbers(path, sheet, wanted)
    _check(path, sheet, data)
    return Table(
        data,
        tuple(sheet.samples.names),
        tuple(sheet.variables.names),
        None if sheet.classes is None else tuple(sheet.classes),
        left_out,
        (*notes, note) if note else tuple(notes),
    )


def _asked_for(path: Path, sheet: Sheet, wanted: Wanted) -> tuple[Sheet, tuple[str, ...]]:
    """Return the sheet of ``wanted.variables`` only, and the names of what was left out.

    Samples in columns of text are left out, too.
    """
    if wanted.variables is None:
        return sheet, ()
    asked = sheet.variables.among(wanted.variables)
    if not asked.any():
        first = ", ".join(list(wanted.variables)[:3])
        other = "columns" if sheet.variables.kind == "column" else "rows"
        is_turned = sheet.samples.among(wanted.variables).any()
        use = f"Use samples={other!r}" if is_turned else "Use a table with these columns"
        raise ValueError(f"{path} has none of the variables that are needed ({first}, ...). {use}")
    kept = np.full(len(sheet.cells), True)
    if sheet.samples.kind == "column":
        kept = ~_text_columns(sheet.cells[:, asked].T)
    left_out = (*sheet.variables.names[~asked], *sheet.samples.names[~kept])
    return sheet.kept(kept, asked), left_out


def _check(path: Path, sheet: Sheet, data: Array) -> None:
    """Raise ValueError if the table is empty, or its names, classes or numbers are no good."""
    if 0 in data.shape:
        missing = "samples" if len(data) == 0 else "variables"
        raise ValueError(f"{path} has no {missing}. Use a table of at least one row and one column")
    _check_names(path, sheet.samples, "sample")
    _check_names(path, sheet.variables, "variable")
    _check_classes(path, sheet)
    infinite = np.argwhere(np.isinf(data))
    if len(infinite):
        more = f" (one of {len(infinite)} such cells)" if len(infinite) > 1 else ""
        raise ValueError(
            f"{path}, {sheet.place(*infinite[0])}: an infinite number{more}. Use a finite one, or "
            "leave the cell empty if the value is not known"
        )
    empty = np.flatnonzero(np.isnan(data).all(axis=1))
    if len(empty):
        name = sheet.samples.names[empty[0]]
        more = f" (and {len(empty) - 1} more)" if len(empty) > 1 else ""
        raise ValueError(
            f"{path}, {sheet.samples.place(empty[0])}: sample {name!r} has no value{more}. Use "
            f"ignore=[{name!r}] to leave it out"
        )


def _check_names(path: Path, side: Side, what: str) -> None:
    first: dict[str, int] = {}
    for i, name in enumerate(side.names):
        if name == "":
            raise ValueError(f"{path}, {side.place(i)}: the {what} has no name. Give it one")
        if first.setdefault(name, i) != i:
            raise ValueError(
                f"{path}, {side.place(i)}: the {what} name {name!r} is at "
                f"{side.place(first[name])} already. Rename or remove one of them"
            )


def _check_classes(path: Path, sheet: Sheet) -> None:
    classes = () if sheet.classes is None else sheet.classes
    without = [i for i, name in enumerate(classes) if not name]
    if len(without) == len(sheet.cells):
        raise ValueError(f"{path}: no sample has a class. Use another column, or no known classes")
    totals = [i for i in without if sheet.samples.names[i].lower() in TOTALS]
    if totals:
        names = [sheet.samples.names[i] for i in totals]
        raise ValueError(
            f"{path}, {sheet.samples.place(totals[0])}: {names[0]!r} has no class and looks like a "
            f"row of totals. Use ignore={names} to leave {'it' if len(names) == 1 else 'them'} out"
        )


def _numbers(path: Path, sheet: Sheet, wanted: Wanted) -> tuple[Array, str | None]:
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


def _text_columns(cells: Texts | Array) -> Mask:
    """Return which columns of the cells hold text and no number."""
    if cells.dtype != object:
        return np.zeros(cells.shape[1], dtype=bool)
    found = [not any(map(is_figure, column)) and any(map(is_text, column)) for column in cells.T]
    return np.array(found, dtype=bool)


def _read(path: Path, sheet: Sheet, wanted: Wanted) -> tuple[Array, str | None]:
    cells: Texts = sheet.cells.ravel().astype(object, copy=False)
    values = _floats(cells)
    unread = [k for k in np.flatnonzero(np.isnan(values)).tolist() if not is_missing(cells[k])]
    looked_at = cells if unread else cells[:LOOKED_AT]
    notation = notation_of(looked_at, cells[unread])
    is_bad: Mask = np.zeros(len(cells), dtype=bool)
    # If commas are decimal, 1.065 is 1065.
    if notation.has_decimal_commas:
        unread = [k for k, cell in enumerate(cells) if not is_missing(cell)]
    for k in unread:
        plain = notation.plain(cells[k])
        is_bad[k] = not is_number(plain)
        values[k] = np.nan if is_bad[k] else float(plain)
    values, is_bad = values.reshape(sheet.cells.shape), is_bad.reshape(sheet.cells.shape)
    if is_bad.any():
        raise ValueError(f"{path}, {bad_cells_in_words(sheet, is_bad, values, notation, wanted)}")
    return values, notation.note(looked_at)


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
