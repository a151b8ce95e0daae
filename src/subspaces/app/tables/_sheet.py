"""`Sheet`: the cells of a file with names and places, from which each reader makes a table."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subspaces._types import Array, Counts, Mask
from subspaces.messages import ParameterError, listed, refused, use

Texts = NDArray[np.object_]

# What people call a column of known classes.
CLASSES = {
    "cell_type", "celltype", "cell type", "class", "classes", "cluster", "condition", "diagnosis",
    "group", "groups", "label", "labels", "species", "subtype", "target", "treatment", "type", "y",
}  # fmt: skip


@dataclass(frozen=True)
class Wanted:
    """Which parts of a file to read.

    Attributes
    ----------
    samples_in_columns : bool
        Where the samples are, in files that do not say so themselves.
    labels : str or None
        Column (row if samples are columns) with the known classes.
    ignore : frozenset of str
        Columns and rows to leave out.
    variables : dict with names as keys, or None
        The only variables to read, if not all. Columns of text are then left out, too.
    missing : tuple of str
        Further marks of a missing value.
    sample_names : str or None
        Column (row if samples are columns) with the names of the samples.
    ignore_text, drop_empty : bool
        Whether to leave out columns of text, and samples without any value.
    """

    samples_in_columns: bool = False
    labels: str | None = None
    ignore: frozenset[str] = frozenset()
    variables: dict[str, None] | None = None
    missing: tuple[str, ...] = ()
    sample_names: str | None = None
    ignore_text: bool = False
    drop_empty: bool = False


@dataclass(frozen=True)
class Side:
    """The rows or the columns of a file.

    kind: "line", "row" or "column"; names: of str; numbers: positions in the file, from 1.
    """

    kind: str
    names: Texts
    numbers: Counts

    def kept(self, keep: Mask) -> "Side":
        """Return this side reduced to those of the mask."""
        return replace(self, names=self.names[keep], numbers=self.numbers[keep])

    def among(self, names: Collection[str]) -> Mask:
        """Return which of its names are among these."""
        return np.array([name in names for name in self.names], dtype=bool)

    def place(self, i: int) -> str:
        """Return where the i-th is in the file, as text: "line 3"."""
        return f"{self.kind} {self.numbers[i]}"


@dataclass(frozen=True)
class Sheet:
    """The cells (n, p) of a file, samples in rows: texts, or numbers if there is no text.

    classes: the known class of each sample as text, or None.
    """

    cells: Texts | Array
    samples: Side
    variables: Side
    classes: Texts | None = None

    def kept(self, samples: Mask, variables: Mask) -> "Sheet":
        """Return the sheet reduced to the samples and variables of the masks."""
        if samples.all() and variables.all():
            return self
        classes = None if self.classes is None else self.classes[samples]
        cells = self.cells[np.ix_(samples, variables)]
        return Sheet(cells, self.samples.kept(samples), self.variables.kept(variables), classes)

    @property
    def turned(self) -> "Sheet":
        """The sheet with samples and variables swapped, less the classes."""
        return Sheet(self.cells.T, self.variables, self.samples)

    def place(self, i: int, j: int) -> str:
        """Return where cell (i, j) is in the file, as text: "line 3, column 2 ('age')"."""
        if self.samples.kind == "column":
            return self.turned.place(j, i)
        column = self.variables
        return f"{self.samples.place(i)}, {column.place(j)} ({column.names[j]!r})"


def named(kind: str, names: Iterable[str] | None, count: int, prefix: str, first: int = 1) -> Side:
    """Return the side of ``count`` rows or columns, named prefix1, prefix2, ... without names."""
    if names is None:
        names = [f"{prefix}{i + 1}" for i in range(count)]
    return Side(kind, np.array(list(names), dtype=object), np.arange(first, first + count))


def as_texts(values: Iterable[object]) -> Texts:
    """Return each value as a string; the empty string if it is nan."""
    return np.array(["" if value != value else str(value) for value in values], dtype=object)


def unmarked(cells: Texts, wanted: Wanted) -> Texts:
    """Return cells of text with an empty one in place of each further mark of a missing value."""
    if not wanted.missing:
        return cells
    known = {mark.strip().lower() for mark in wanted.missing}
    return np.where([[cell.lower() in known for cell in row] for row in cells], "", cells)


def with_annotation(path: Path, sheet: Sheet, wanted: Wanted) -> Sheet:
    """Return the sheet with the variables that hold classes and sample names taken out as such."""
    if wanted.sample_names is not None:
        sheet, names = _taken(path, sheet, wanted.sample_names)
        sheet = replace(sheet, samples=replace(sheet.samples, names=names))
    if wanted.labels is not None:
        sheet, classes = _taken(path, sheet, wanted.labels)
        sheet = replace(sheet, classes=classes)
    return sheet


def _taken(path: Path, sheet: Sheet, name: str) -> tuple[Sheet, Texts]:
    """Return the sheet without one of its variables, and the cells of that as text."""
    names = sheet.variables.names.tolist()
    if name not in names:
        side, other = ("column", "row") if sheet.variables.kind == "column" else ("row", "column")
        if name in sheet.samples.names:
            fact = (
                "{path}: {name!r} is a {other}, not a {side}, so the samples seem to be in the "
                "{side}s."
            )
            facts = {"path": path, "name": name, "side": side, "other": other}
            raise ParameterError("samples", fact, use("samples", f"{side}s"), **facts)
        raise refused(f"{path} has no {side} {name!r}{offered(name, names)}")
    place = names.index(name)
    rest = sheet.kept(np.full(len(sheet.cells), True), np.arange(len(names)) != place)
    return rest, as_texts(sheet.cells[:, place])


def offered(wanted: str, names: Iterable[object]) -> str:
    """Return the end of an error about the unknown name ``wanted``: which names to use instead."""
    known = [str(name) for name in names]
    alike = [name for name in known if name.lower() == wanted.lower()]
    # The second of two header lines, such as sex in "month 6 sex".
    ends = [name for name in known if name.lower().endswith(f" {wanted.lower()}")]
    near = alike or ends or get_close_matches(wanted, known, n=1)
    if near:
        return f". Did you mean {near[0]!r}?"
    shown = listed([name if name.isprintable() else repr(name) for name in known])
    return f". It has {shown}." if shown else "."
