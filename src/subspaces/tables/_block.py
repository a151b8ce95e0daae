"""Conversion of cells of text, with names of rows and columns, to a table of numbers."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import numpy as np

from subspaces.tables._commas import Notation, is_numeric, notation_of
from subspaces.tables._grid import is_missing, is_number
from subspaces.tables._table import Array, Places, Table, checked
from subspaces.tables._wanted import Wanted, check_asked, check_known

# Columns of text that a message names one by one; if there are more it counts them.
MOST_NAMED = 10
# Cells that tell whether points separate thousands, where every cell is a number as it is.
LOOKED_AT = 50_000


@dataclass(frozen=True)
class Block:
    """Cells of text with the name and the position in the file of each row and column.

    cells: rows of strings, unconverted; lines, columns: positions in the file, counted from 1.
    """

    cells: list[list[str]]
    row_names: tuple[str, ...]
    column_names: tuple[str, ...]
    lines: tuple[int, ...]
    columns: tuple[int, ...]

    def without(self, rows: Collection[int] = (), columns: Collection[int] = ()) -> "Block":
        """Return the block without the rows and columns at these indices, counted from 0."""
        if not rows and not columns:
            return self
        kept_rows = [i for i in range(len(self.lines)) if i not in rows]
        kept_columns = [j for j in range(len(self.columns)) if j not in columns]
        cells = [self.cells[i] for i in kept_rows]
        return Block(
            [[row[j] for j in kept_columns] for row in cells] if columns else cells,
            tuple(self.row_names[i] for i in kept_rows),
            tuple(self.column_names[j] for j in kept_columns),
            tuple(self.lines[i] for i in kept_rows),
            tuple(self.columns[j] for j in kept_columns),
        )

    def place(self, i: int, j: int) -> str:
        """Return the position of cell (i, j) in the file as text: "line 3, column 2 ('age')"."""
        return f"line {self.lines[i]}, column {self.columns[j]} ({self.column_names[j]!r})"

    def places(self, *, samples_in_columns: bool) -> Places:
        """Return the positions in the file of samples, variables and cells, for error messages."""
        lines, columns = [f"line {n}" for n in self.lines], [f"column {n}" for n in self.columns]
        if samples_in_columns:
            return Places(columns, lines, lambda i, j: self.place(j, i))
        return Places(lines, columns, self.place)


def is_figure(cell: str) -> bool:
    """Return whether a cell is a number, also one with commas, such as "1,065"."""
    return is_number(cell) or is_numeric(cell)


def is_text(cell: str) -> bool:
    """Return whether a cell is neither a number nor a mark of a missing value such as "NA"."""
    return not is_figure(cell) and not is_missing(cell)


def to_table(
    path: Path,
    block: Block,
    classes: tuple[str, ...] | None,
    wanted: Wanted,
    notes: tuple[str, ...] = (),
) -> Table:
    """Return the table of numbers, samples in rows, from the cells that ``wanted`` asks for."""
    flipped = wanted.samples_in_columns
    block, classes = _without_ignored(path, block, classes, wanted)
    sides = (block.column_names, block.row_names)
    check_asked(path, wanted, *(sides[::-1] if flipped else sides))
    block, left_out = _without_unasked(block, wanted)
    data, note = _numbers(path, block, wanted)
    notes = (*notes, note) if note else notes
    names = (block.row_names, block.column_names)
    data, names = (data.T.copy(), names[::-1]) if flipped else (data, names)
    table = Table(data, *names, classes, left_out, notes)
    return checked(table, path, block.places(samples_in_columns=flipped))


def _without_ignored(
    path: Path, block: Block, classes: tuple[str, ...] | None, wanted: Wanted
) -> tuple[Block, tuple[str, ...] | None]:
    """Return the block without ``wanted.ignore``, and the classes of the samples that are left."""
    check_known(path, wanted.ignore, [*block.column_names, *block.row_names])
    ignore = set(wanted.ignore)
    rows = {i for i, name in enumerate(block.row_names) if name in ignore}
    columns = {j for j, name in enumerate(block.column_names) if name in ignore}
    if classes is not None:
        dropped = columns if wanted.samples_in_columns else rows
        classes = tuple(name for i, name in enumerate(classes) if i not in dropped)
    return block.without(rows, columns), classes


def _without_unasked(block: Block, wanted: Wanted) -> tuple[Block, tuple[str, ...]]:
    """Return the block of ``wanted.variables`` only, and the names of what was left out.

    Where samples are columns, columns of text are left out, too.
    """
    if wanted.variables is None:
        return block, ()
    if wanted.samples_in_columns:
        kept = block.without(rows=_not_asked_for(block.row_names, wanted))
        texts = {name for name, _ in _text_columns(kept)}
        kept = kept.without(
            columns={j for j, name in enumerate(kept.column_names) if name in texts}
        )
    else:
        kept = block.without(columns=_not_asked_for(block.column_names, wanted))
    there = {*kept.row_names, *kept.column_names}
    names = (*block.row_names, *block.column_names)
    return kept, tuple(name for name in names if name not in there)


def _not_asked_for(names: Sequence[str], wanted: Wanted) -> set[int]:
    return {i for i, name in enumerate(names) if not wanted.is_asked_for(name)}


def _numbers(path: Path, block: Block, wanted: Wanted) -> tuple[Array, str | None]:
    """Return the cells as floats, and a note where a cell such as "1,065" is ambiguous.

    Raises ValueError, with a remedy, at the first cell that is no number.
    """
    data = np.empty((len(block.cells), len(block.columns)))
    try:
        for i, row in enumerate(block.cells):
            data[i] = _plain_floats(row)
    except ValueError:
        pass
    else:
        top = list(islice(chain.from_iterable(block.cells), LOOKED_AT))
        return data, notation_of(top).note(top)
    notation = notation_of(chain.from_iterable(block.cells))
    for i, row in enumerate(block.cells):
        for j, cell in enumerate(row):
            plain = notation.plain(cell)
            if not is_number(plain) and not is_missing(cell):
                remedy = _remedy(block, i, j, notation, wanted)
                raise ValueError(f"{path}, {block.place(i, j)}: {remedy}")
            data[i, j] = np.nan if is_missing(cell) else float(plain)
    return data, notation.note(chain.from_iterable(block.cells))


def _plain_floats(row: list[str]) -> list[float]:
    if "_" in "".join(row):  # Python takes 1_000 for a number
        raise ValueError
    return list(map(float, row))


def _remedy(block: Block, i: int, j: int, notation: Notation, wanted: Wanted) -> str:
    """Return the error message for cell (i, j), which is no number, with what to do about it."""
    cell = block.cells[i][j]
    about_commas = notation.remedy(cell)
    if about_commas is not None:
        return about_commas
    texts = _text_columns(block)
    if len(texts) == len(block.columns):
        return f"{cell!r} is not a number, and no column holds numbers. Use a table of numbers"
    name = block.column_names[j]
    stray = sum(is_text(row[j]) for row in block.cells)
    also = f" (one of {stray} such cells in this column)" if stray > 1 else ""
    remedy = (
        f"Use a number there, missing=[{cell!r}] if that marks a missing value, or "
        f"ignore=[{name!r}] to leave the column out"
    )
    if name in dict(texts):
        also = ""
        remedy = text_remedy(texts, len(block.cells), wanted)
    elif 2 * sum(map(is_text, block.cells[i])) > len(block.cells[i]):
        row = block.row_names[i]
        side = "" if wanted.samples_in_columns else "samples='columns', "
        remedy = f"Use {side}labels={row!r} if the row holds the known classes"
        remedy += f", or ignore=[{row!r}] to leave it out"
    return f"{cell!r} is not a number{also}. {remedy}"


def text_remedy(texts: Sequence[tuple[str, int]], n_rows: int, wanted: Wanted) -> str:
    """Return the advice for columns of text, each given by name and number of distinct cells."""
    names = [name for name, _ in texts]
    if len(texts) > MOST_NAMED:
        shown = ", ".join(names[:3])
        return f"Use ignore=[...] to leave out the {len(texts)} columns of text ({shown}, ...)"
    what = "this column" if len(texts) == 1 else "the columns"
    remedy = f"Use ignore={names} to leave out {what} of text"
    # The column that repeats itself most may hold the classes.
    several = [(count, name) for name, count in texts if 1 < count <= n_rows / 2]
    if not several or wanted.samples_in_columns or wanted.labels is not None:
        return remedy
    _, classes = min(several, key=lambda pair: pair[0])
    which = "it" if len(texts) == 1 else "that one"
    return f"{remedy}, or labels={classes!r} if {which} holds the known classes"


def _text_columns(block: Block) -> list[tuple[str, int]]:
    """Return (name, number of distinct cells) of each column that holds text and no number."""
    found = []
    for j, name in enumerate(block.column_names):
        cells = [row[j] for row in block.cells]
        if any(map(is_text, cells)) and not any(map(is_figure, cells)):
            found.append((name, len(set(cells))))
    return found
