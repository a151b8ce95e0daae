"""A table of numbers from the sheet of a file: what is not wanted left out, the rest checked."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from subspaces._types import Array
from subspaces.app.tables._numbers import as_numbers, text_columns
from subspaces.app.tables._sheet import CLASSES, Sheet, Side, Wanted, offered
from subspaces.named_table import Table

# What people call rows below a table that are no samples.
TOTALS = {
    "average", "avg", "count", "cv", "max", "mean", "median", "min", "sd", "se", "sem", "std",
    "stdev", "sum", "total", "totals",
}  # fmt: skip


def to_table(path: Path, sheet: Sheet, wanted: Wanted, notes: Iterable[str] = ()) -> Table:
    """Return the table of what ``wanted`` asks for; raise ValueError if something is wrong in it.

    notes: sentences from reading the file, which the table keeps.
    """
    names = [*sheet.variables.names, *sheet.samples.names]
    for name in wanted.ignore - set(names):
        raise ValueError(f"{path} has no column or row {name!r}{offered(name, names)}")
    ignored = sheet.samples.among(wanted.ignore), sheet.variables.among(wanted.ignore)
    sheet, left_out = _asked_for(path, sheet.kept(~ignored[0], ~ignored[1]), wanted)
    data, note = as_numbers(path, sheet, wanted)
    _check(path, sheet, data)
    return Table(
        data,
        tuple(sheet.samples.names),
        tuple(sheet.variables.names),
        None if sheet.classes is None else tuple(sheet.classes),
        left_out,
        (*notes, note) if note else tuple(notes),
    )


def unused_classes(names: Iterable[object]) -> tuple[str, ...]:
    """Return a note if some of the names beside a table are those of known classes."""
    known = [str(name) for name in names if str(name).lower() in CLASSES]
    if not known:
        return ()
    return (f"{known[0]!r} is not read. Use labels={known[0]!r} if it holds the known classes",)


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
        kept = ~text_columns(sheet.cells[:, asked].T)
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
