"""Cells with the names and places of their rows and columns, on the way to a table of numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from subspaces.tables._commas import Commas, commas_of, is_numeric
from subspaces.tables._grid import is_missing, is_number
from subspaces.tables._table import Array, Places, Table, checked
from subspaces.tables._wanted import Wanted, check_asked, check_known

# Columns of text that a message names one by one; with more it counts them.
MOST_NAMED = 10
# So many rows tell whether points separate thousands, where every cell is a number as it is.
LOOKED_AT = 100


@dataclass(frozen=True)
class Block:
    """Text cells as the file has them; lines and columns are counted from 1."""

    cells: list[list[str]]
    row_names: tuple[str, ...]
    column_names: tuple[str, ...]
    lines: tuple[int, ...]
    columns: tuple[int, ...]

    def of(self, rows: list[int], columns: list[int]) -> "Block":
        """The block of these rows and columns."""
        if len(rows) == len(self.row_names) and len(columns) == len(self.column_names):
            return self
        return Block(
            [[self.cells[i][j] for j in columns] for i in rows],
            tuple(self.row_names[i] for i in rows),
            tuple(self.column_names[j] for j in columns),
            tuple(self.lines[i] for i in rows),
            tuple(self.columns[j] for j in columns),
        )

    def without_row(self, i: int) -> tuple["Block", tuple[str, ...]]:
        """The block without a row, and that row."""
        rest = replace(
            self,
            cells=self.cells[:i] + self.cells[i + 1 :],
            row_names=_without(self.row_names, i),
            lines=_without(self.lines, i),
        )
        return rest, tuple(self.cells[i])

    def without_column(self, j: int) -> tuple["Block", tuple[str, ...]]:
        """The block without a column, and that column."""
        rest = replace(
            self,
            cells=[row[:j] + row[j + 1 :] for row in self.cells],
            column_names=_without(self.column_names, j),
            columns=_without(self.columns, j),
        )
        return rest, tuple(row[j] for row in self.cells)


def is_figure(cell: str) -> bool:
    """Whether a cell is a number, be it with commas."""
    return is_number(cell) or is_numeric(cell)


def is_text(cell: str) -> bool:
    """Whether a cell is neither a number nor a gap."""
    return not is_figure(cell) and not is_missing(cell)


def to_table(
    path: Path,
    block: Block,
    classes: tuple[str, ...] | None,
    wanted: Wanted,
    notes: tuple[str, ...] = (),
) -> Table:
    """Turn the cells that are wanted into numbers, with samples in rows."""
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
    return checked(table, path, _places(block, flipped=flipped))


def _without_ignored(
    path: Path, block: Block, classes: tuple[str, ...] | None, wanted: Wanted
) -> tuple[Block, tuple[str, ...] | None]:
    """The block without the columns and rows of these names, and the classes that are left."""
    check_known(path, wanted.ignore, [*block.column_names, *block.row_names])
    ignore = set(wanted.ignore)
    rows = [i for i, name in enumerate(block.row_names) if name not in ignore]
    columns = [j for j, name in enumerate(block.column_names) if name not in ignore]
    kept = columns if wanted.samples_in_columns else rows
    classes = None if classes is None else tuple(classes[i] for i in kept)
    return block.of(rows, columns), classes


def _without_unasked(block: Block, wanted: Wanted) -> tuple[Block, tuple[str, ...]]:
    """The block of the variables asked for, and the names of what else there is."""
    if wanted.variables is None:
        return block, ()
    rows, columns = list(range(len(block.row_names))), list(range(len(block.column_names)))
    if not wanted.samples_in_columns:
        columns = [j for j in columns if wanted.is_asked_for(block.column_names[j])]
    else:
        rows = [i for i in rows if wanted.is_asked_for(block.row_names[i])]
        texts = _texts(block.of(rows, columns))
        columns = [j for j in columns if block.column_names[j] not in texts]
    kept = block.of(rows, columns)
    there = {*kept.row_names, *kept.column_names}
    names = (*block.row_names, *block.column_names)
    return kept, tuple(name for name in names if name not in there)


def _numbers(path: Path, block: Block, wanted: Wanted) -> tuple[Array, str | None]:
    """The numbers, and a note where some could be read in two ways."""
    data = np.empty((len(block.cells), len(block.columns)))
    try:
        for i, row in enumerate(block.cells):
            data[i] = _plain_floats(row)
    except ValueError:
        pass
    else:
        top = list(chain.from_iterable(block.cells[:LOOKED_AT]))
        return data, commas_of(top).note(top)
    commas = commas_of(chain.from_iterable(block.cells))
    for i, row in enumerate(block.cells):
        for j, cell in enumerate(row):
            plain = commas.plain(cell)
            if not is_number(plain) and not is_missing(cell):
                raise ValueError(
                    f"{path}, {_cell(block, i, j)}: {_remedy(block, i, j, commas, wanted)}"
                )
            data[i, j] = np.nan if is_missing(cell) else float(plain)
    return data, commas.note(chain.from_iterable(block.cells))


def _plain_floats(row: list[str]) -> list[float]:
    if "_" in "".join(row):
        raise ValueError
    return list(map(float, row))


def _remedy(block: Block, i: int, j: int, commas: Commas, wanted: Wanted) -> str:
    """A stray text, a comma in a number, or a column or row of text?"""
    cell = block.cells[i][j]
    told = commas.remedy(cell)
    if told is not None:
        return told
    texts = _texts(block)
    if len(texts) == len(block.columns):
        return f"{cell!r} is not a number, and no column holds numbers. Use a table of numbers"
    name = block.column_names[j]
    stray = sum(is_text(row[j]) for row in block.cells)
    also = f" (one of {stray} such cells in this column)" if stray > 1 else ""
    remedy = f"Use a number there, or ignore=[{name!r}] to leave the column out"
    if name in texts:
        also = ""
        remedy = text_remedy(texts, _classes(block, texts), wanted)
    elif 2 * sum(map(is_text, block.cells[i])) > len(block.cells[i]):
        row = block.row_names[i]
        side = "" if wanted.samples_in_columns else "samples='columns', "
        remedy = f"Use {side}labels={row!r} if the row holds the known classes"
        remedy += f", or ignore=[{row!r}] to leave it out"
    return f"{cell!r} is not a number{also}. {remedy}"


def text_remedy(texts: Sequence[str], classes: str | None, wanted: Wanted) -> str:
    """What to do about columns of text; ``classes`` is one that may hold the known classes."""
    if len(texts) > MOST_NAMED:
        shown = ", ".join(texts[:3])
        return f"Use ignore=[...] to leave out the {len(texts)} columns of text ({shown}, ...)"
    what = "this column" if len(texts) == 1 else "the columns"
    remedy = f"Use ignore={list(texts)} to leave out {what} of text"
    if classes is None or wanted.samples_in_columns or wanted.labels is not None:
        return remedy
    which = "it" if len(texts) == 1 else "that one"
    return f"{remedy}, or labels={classes!r} if {which} holds the known classes"


def _classes(block: Block, texts: Sequence[str]) -> str | None:
    """The column of text that repeats itself most, as classes do; None where none does."""
    columns = {name: block.column_names.index(name) for name in texts}
    kinds = {name: len({row[j] for row in block.cells}) for name, j in columns.items()}
    several = {name: count for name, count in kinds.items() if 1 < count <= len(block.cells) / 2}
    return min(several, key=lambda name: several[name], default=None)


def _texts(block: Block) -> list[str]:
    """The names of the columns that hold text and no number."""
    found = []
    for j, name in enumerate(block.column_names):
        cells = [row[j] for row in block.cells]
        if any(map(is_text, cells)) and not any(map(is_figure, cells)):
            found.append(name)
    return found


def _cell(block: Block, i: int, j: int) -> str:
    return f"line {block.lines[i]}, column {block.columns[j]} ({block.column_names[j]!r})"


def _places(block: Block, *, flipped: bool) -> Places:
    def line(i: int) -> str:
        return f"line {block.lines[i]}"

    def column(j: int) -> str:
        return f"column {block.columns[j]}"

    if flipped:
        return Places(column, line, lambda i, j: _cell(block, j, i))
    return Places(line, column, lambda i, j: _cell(block, i, j))


def _without(values: tuple[Any, ...], place: int) -> tuple[Any, ...]:
    return values[:place] + values[place + 1 :]
