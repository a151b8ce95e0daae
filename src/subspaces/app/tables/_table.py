"""A table of numbers from the sheet of a file: what is not wanted left out, the rest checked."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from subspaces._types import Array, Mask
from subspaces.app.tables._bad_cells import bad_cells_in_words, unclear_cells
from subspaces.app.tables._commas import (
    Notation,
    is_figure,
    is_missing,
    is_number,
    is_text,
    notation_of,
)
from subspaces.app.tables._sheet import Sheet, Side, Texts, Wanted, offered
from subspaces.app.tables._units import NO_UNITS, as_numbers
from subspaces.messages import Advice, Message, ParameterError, listed, literal, noted, refused, use
from subspaces.named_table import Table, without_empty

# What people call rows below a table that are no samples.
TOTALS = {
    "average", "avg", "count", "cv", "max", "mean", "median", "min", "sd", "se", "sem", "std",
    "stdev", "sum", "total", "totals",
}  # fmt: skip
# Cells to read before deciding whether points separate thousands, if every cell is a number as it
# is.
LOOKED_AT = 50_000


def to_table(path: Path, sheet: Sheet, wanted: Wanted, notes: Iterable[Message] = ()) -> Table:
    """Return the table of what ``wanted`` asks for; raise ValueError if something is wrong in it.

    notes: from reading the file, which the table keeps.
    """
    known = [*sheet.variables.names, *sheet.samples.names]
    for name in sorted(wanted.ignore - set(known)):
        raise refused(f"{path} has no column or row {name!r}{offered(name, known)}", "ignore")
    ignored = sheet.samples.among(wanted.ignore), sheet.variables.among(wanted.ignore)
    sheet, left_out = _asked_for(path, sheet.kept(~ignored[0], ~ignored[1]), wanted)
    sheet, data, found, units = _numbers(path, sheet, wanted)
    _check(path, sheet, data)
    empty = np.flatnonzero(np.isnan(data).all(axis=1))
    if len(empty) and not wanted.drop_empty:
        raise ParameterError(
            "drop_empty",
            "{path}: {n:#sample has|samples have} no values ({names:'}).",
            Advice("add <drop_empty=True> to leave out empty samples", "drop_empty", True),
            path=path,
            n=len(empty),
            names=sheet.samples.names[empty].tolist(),
        )
    table = Table(
        data,
        tuple(sheet.samples.names),
        tuple(sheet.variables.names),
        None if sheet.classes is None else tuple(sheet.classes),
        left_out,
        (*notes, *found),
        {name: unit for name, unit in units.items() if unit not in NO_UNITS},
    )
    return without_empty(table) if len(empty) else table


def _asked_for(path: Path, sheet: Sheet, wanted: Wanted) -> tuple[Sheet, tuple[str, ...]]:
    """Return the sheet of ``wanted.variables`` only, and the names of what was left out.

    Samples in columns of text are left out, too.
    """
    if wanted.variables is None:
        return sheet, ()
    asked = sheet.variables.among(wanted.variables)
    if not asked.any():
        first = listed(list(wanted.variables), 3)
        other = "columns" if sheet.variables.kind == "column" else "rows"
        is_turned = sheet.samples.among(wanted.variables).any()
        raise ParameterError(
            "variables",
            "{path} has none of the variables of the model ({first}).",
            use("samples", other) if is_turned else Advice("choose a table with these columns"),
            path=path,
            first=first,
        )
    kept = np.full(len(sheet.cells), True)
    if sheet.samples.kind == "column":
        kept = ~_text_columns(sheet.cells[:, asked].T)
    left_out = (*sheet.variables.names[~asked], *sheet.samples.names[~kept])
    return sheet.kept(kept, asked), left_out


def _check(path: Path, sheet: Sheet, data: Array) -> None:
    """Raise ValueError if the table is empty, or its names, classes or numbers are no good."""
    if 0 in data.shape:
        missing = "samples" if len(data) == 0 else "columns of numbers"
        raise refused(f"{path} has no {missing}. Check the table.")
    _check_names(path, sheet.samples, "sample")
    _check_names(path, sheet.variables, "variable")
    _check_classes(path, sheet)
    infinite = np.argwhere(np.isinf(data))
    if len(infinite):
        more = f" ({len(infinite)} values in all)" if len(infinite) > 1 else ""
        raise refused(
            f"{path}, {sheet.place(*infinite[0])}: the value is infinite{more}. Correct it, "
            "or leave the cell empty if the value is missing."
        )


def _check_names(path: Path, side: Side, what: str) -> None:
    first: dict[str, int] = {}
    for i, name in enumerate(side.names):
        if name == "":
            raise refused(f"{path}, {side.place(i)}: the {what} has no name. Give it one.")
        if first.setdefault(name, i) != i:
            raise refused(
                f"{path}, {side.place(i)}: the {what} name {name!r} is also at "
                f"{side.place(first[name])}. Rename or remove one of them."
            )


def _check_classes(path: Path, sheet: Sheet) -> None:
    classes = () if sheet.classes is None else sheet.classes
    without = [i for i, name in enumerate(classes) if not name]
    if len(without) == len(sheet.cells):
        fact = "{path}: the column of classes is empty. Choose another one, or leave out <labels>."
        raise ParameterError("labels", fact, path=path)
    totals = [i for i in without if sheet.samples.names[i].lower() in TOTALS]
    if totals:
        names = [sheet.samples.names[i] for i in totals]
        raise ParameterError(
            "ignore",
            "{path}, {place}: {names[0]!r} has no class and looks like a row of totals.",
            Advice("add <ignore={names!r}> to leave out such rows", "ignore"),
            path=path,
            place=sheet.samples.place(totals[0]),
            names=names,
        )


def _numbers(
    path: Path, sheet: Sheet, wanted: Wanted
) -> tuple[Sheet, Array, list[Message], dict[str, str]]:
    """Return the sheet, its cells as floats, notes, and the units of the variables.

    Columns of text are left out if that is wanted.
    """
    data: Array
    notes, units = list[Message](), dict[str, str]()
    if sheet.cells.dtype == object:
        sheet, data, notes, units = _texts_as_numbers(path, sheet, wanted)
    else:
        data = np.ascontiguousarray(sheet.cells, dtype=np.float64)
    marks = [float(mark) for mark in wanted.missing if is_number(mark)]
    data = np.where(np.isin(data, marks), np.nan, data) if marks else data
    return sheet, data, notes, units


def _texts_as_numbers(
    path: Path, sheet: Sheet, wanted: Wanted
) -> tuple[Sheet, Array, list[Message], dict[str, str]]:
    """Return what `_numbers` returns, of texts.

    Raises ValueError, with remedies, about all cells that are no numbers.
    """
    cells: Texts = np.ascontiguousarray(sheet.cells, dtype=object)
    values = _floats(cells).ravel()
    cells, units = _without_units(cells, values, sheet.variables.names)
    bad, notation, unclear = _read(cells.ravel(), values)
    sheet, data = replace(sheet, cells=cells), values.reshape(cells.shape)
    is_bad = bad.reshape(cells.shape)
    # What changes the values most comes first.
    marks = [f"{name} ({unit})" for name, unit in units.items()]
    marked = noted("text_as_numbers", "Read as numbers: {columns}.", columns=marks)
    notes = [*unclear, marked] if marks else unclear
    if is_bad.any() and wanted.ignore_text:
        is_text = is_bad & ~unclear_cells(sheet, is_bad, notation)
        kept, texts = _without_text(sheet, data, is_text)
        if not kept[1].any():
            raise refused(f"{path}: all columns are text. Choose a table with numbers.")
        sheet, data, is_bad = sheet.kept(*kept), data[np.ix_(*kept)], is_bad[np.ix_(*kept)]
        notes = [*texts, *notes]
    if is_bad.any():
        said = bad_cells_in_words(sheet, is_bad, data, notation, wanted)
        raise ParameterError("path", f"{literal(path)}, {said}.", value=path)
    return sheet, data, notes, units


def _text_columns(cells: Texts | Array) -> Mask:
    """Return which columns of the cells hold text and no number."""
    if cells.dtype != object:
        return np.zeros(cells.shape[1], dtype=bool)
    found = [not any(map(is_figure, column)) and any(map(is_text, column)) for column in cells.T]
    return np.array(found, dtype=bool)


def _unread(cells: Texts, values: Array) -> list[int]:
    """Return the places of cells that are neither numbers to Python nor marks of missing values."""
    return [k for k in np.flatnonzero(np.isnan(values)).tolist() if not is_missing(cells[k])]


def _without_units(cells: Texts, values: Array, names: Texts) -> tuple[Texts, dict[str, str]]:
    """Return the cells (n, p) with plain numbers in columns with a mark such as "%", and the marks.

    ``values``, the numbers of the cells one after the other, gets those that are found.
    """
    n, p = cells.shape
    unread = np.array(_unread(cells.ravel(), values)[::-1], dtype=np.intp)
    first = np.full(p, -1)
    first[unread % max(p, 1)] = unread // max(p, 1)  # the first sample is set last, and stays
    units: dict[str, str] = {}
    for j in np.flatnonzero(first >= 0):
        read = as_numbers(cells[:, j]) if is_text(cells[first[j], j]) else None
        if read is not None:
            cells = cells if units else cells.copy()
            units[names[j]], cells[:, j] = read
            values.reshape(n, p)[:, j] = _floats(cells[:, j])
    return cells, units


def _read(cells: Texts, values: Array) -> tuple[Mask, Notation, list[Message]]:
    """Return which cells are no numbers, the notation of the others, and a note if that is unclear.

    ``values`` gets the numbers with commas.
    """
    unread = _unread(cells, values)
    looked_at = cells if unread else cells[:LOOKED_AT]
    notation = notation_of(looked_at, cells[unread])
    is_bad: Mask = np.zeros(len(cells), dtype=bool)
    # If commas are decimal, 1.065 is 1065.
    if notation.has_decimal_commas:
        unread = [k for k, cell in enumerate(cells) if not is_missing(cell)]
    found = {cell: notation.plain(cell) for cell in set(cells[unread].tolist())}
    numbers = {cell: float(plain) for cell, plain in found.items() if is_number(plain)}
    values[unread] = [numbers.get(cell, np.nan) for cell in cells[unread].tolist()]
    is_bad[unread] = np.isnan(values[unread])
    note = notation.note(looked_at)
    return is_bad, notation, [note] if note else []


def _without_text(
    sheet: Sheet, data: Array, is_text: Mask
) -> tuple[tuple[Mask, Mask], list[Message]]:
    """Return which samples and variables to keep, in which most entries are numbers, and a note.

    Samples go only if they are the columns of the file: rows of text are values that are wrong.
    """
    is_number = ~np.isnan(data)
    samples: Mask = np.full(len(data), True)
    if sheet.samples.kind == "column":
        samples = is_text.sum(axis=1) <= is_number.sum(axis=1)
    variables: Mask = is_text[samples].sum(axis=0) <= is_number[samples].sum(axis=0)
    names = [*sheet.samples.names[~samples], *sheet.variables.names[~variables]]
    fact = "Left out {n:#column of text|columns of text}: {names}."
    note = noted("left_out_text", fact, n=len(names), names=names)
    return (samples, variables), [note] if names else []


def _floats(cells: Texts) -> Array:
    """Return the numbers that Python reads, NaN for other cells. It takes 1_000 for a number."""
    if "_" not in "".join(cells.ravel()):
        try:
            return cells.astype(np.float64)
        except ValueError:
            pass
    if cells.ndim == 2 and cells.size:  # column by column, since most hold numbers only
        return np.column_stack([_floats(column) for column in cells.T])
    return np.fromiter(map(_float, cells), np.float64, len(cells)).reshape(cells.shape)


def _float(cell: str) -> float:
    try:
        return np.nan if "_" in cell else float(cell)
    except ValueError:
        return np.nan
