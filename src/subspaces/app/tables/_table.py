"""Checks of the names and numbers of a table that was read."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from subspaces.named_table import Table

# What people call a column of known classes.
CLASSES = {
    "cell_type", "celltype", "cell type", "class", "classes", "cluster", "condition", "diagnosis",
    "group", "groups", "label", "labels", "species", "subtype", "target", "treatment", "type", "y",
}  # fmt: skip
# What people call rows below a table that are no samples.
TOTALS = {
    "average", "avg", "count", "cv", "max", "mean", "median", "min", "sd", "se", "sem", "std",
    "stdev", "sum", "total", "totals",
}  # fmt: skip


@dataclass(frozen=True)
class Places:
    """Positions in a file as text, for error messages.

    samples, variables: one text each, such as "line 3"; cell(i, j): that of a sample's variable.
    """

    samples: Sequence[str]
    variables: Sequence[str]
    cell: Callable[[int, int], str]


def _by_name(table: Table) -> Places:
    """Return positions by number and name, for errors about a file that has no lines."""
    return Places(
        default_names("sample ", len(table.sample_names)),
        default_names("variable ", len(table.variable_names)),
        lambda i, j: f"sample {table.sample_names[i]!r}, variable {table.variable_names[j]!r}",
    )


def default_names(kind: str, count: int) -> tuple[str, ...]:
    """Return ``count`` names made of ``kind`` and a number: ``v1``, ``v2``, ..."""
    return tuple(f"{kind}{i + 1}" for i in range(count))


def checked(table: Table, path: Path, places: Places | None = None) -> Table:
    """Return the table if it has no infinite number and each name once; else raise ValueError.

    places: positions in the file for the error messages, if the file has lines and columns.
    """
    places = places or _by_name(table)
    n, p = table.data.shape
    if n == 0 or p == 0:
        missing = "samples" if n == 0 else "variables"
        raise ValueError(f"{path} has no {missing}. Use a table of at least one row and one column")
    _check_names(table.sample_names, "sample", path, places.samples)
    _check_names(table.variable_names, "variable", path, places.variables)
    _check_classes(table, path, places)
    _check_numbers(table, path, places)
    return table


def _check_names(names: Sequence[str], kind: str, path: Path, places: Sequence[str]) -> None:
    first: dict[str, int] = {}
    for i, name in enumerate(names):
        if name == "":
            raise ValueError(f"{path}, {places[i]}: the {kind} has no name. Give it one")
        if name in first:
            raise ValueError(
                f"{path}, {places[i]}: the {kind} name {name!r} is at {places[first[name]]} "
                "already. Rename or remove one of them"
            )
        first[name] = i


def _check_classes(table: Table, path: Path, places: Places) -> None:
    if table.classes is None:
        return
    if len(table.classes) != len(table.data):
        raise ValueError(
            f"{path} has {len(table.classes)} classes for {len(table.data)} samples. Use one "
            "class for each sample"
        )
    without = [i for i, name in enumerate(table.classes) if not name]
    if len(without) == len(table.classes):
        raise ValueError(f"{path}: no sample has a class. Use another column, or no known classes")
    totals = [i for i in without if table.sample_names[i].lower() in TOTALS]
    if totals:
        names = [table.sample_names[i] for i in totals]
        raise ValueError(
            f"{path}, {places.samples[totals[0]]}: {names[0]!r} has no class and looks like a row "
            f"of totals. Use ignore={names} to leave {'it' if len(names) == 1 else 'them'} out"
        )


def _check_numbers(table: Table, path: Path, places: Places) -> None:
    infinite = np.isinf(table.data)
    if infinite.any():
        where = np.argwhere(infinite)
        i, j = (int(index) for index in where[0])
        more = f" (one of {len(where)} such cells)" if len(where) > 1 else ""
        raise ValueError(
            f"{path}, {places.cell(i, j)}: an infinite number{more}. Use a finite one, or leave "
            "the cell empty if the value is not known"
        )
    empty = np.flatnonzero(np.isnan(table.data).all(axis=1))
    if len(empty):
        name, i = table.sample_names[empty[0]], int(empty[0])
        more = f" (and {len(empty) - 1} more)" if len(empty) > 1 else ""
        raise ValueError(
            f"{path}, {places.samples[i]}: sample {name!r} has no value{more}. Use "
            f"ignore=[{name!r}] to leave it out"
        )


def unused_classes(names: Iterable[Any]) -> tuple[str, ...]:
    """Return a note, if some of the names beside a table are those of known classes."""
    known = [str(name) for name in names if str(name).lower() in CLASSES]
    if not known:
        return ()
    return (f"{known[0]!r} is not read. Use labels={known[0]!r} if it holds the known classes",)


def without_numbers(table: Table, path: Path, marks: Sequence[str]) -> Table:
    """Return the table with NaN in place of the numbers that mark a missing value, as -999 may."""
    numbers = []
    for mark in marks:
        try:
            numbers.append(float(mark))
        except ValueError:
            continue
    if not numbers:
        return table
    data = np.where(np.isin(table.data, numbers), np.nan, table.data)
    return checked(replace(table, data=data), path)


def offered(wanted: str, names: Iterable[Any]) -> str:
    """Return the end of an error about the unknown name ``wanted``: which names to use instead."""
    known = [str(name) for name in names]
    alike = [name for name in known if name.lower() == wanted.lower()]
    near = alike or get_close_matches(wanted, known, n=1)
    if near:
        return f". Use {near[0]!r}"
    shown = ", ".join(known[:5]) + (", ..." if len(known) > 5 else "")
    return f"; it has {shown or 'none'}"
