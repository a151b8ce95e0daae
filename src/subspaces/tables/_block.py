"""Cells with the names and places of their rows and columns, on the way to a table of numbers."""

from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from subspaces.tables._commas import comma_remedy
from subspaces.tables._grid import is_missing, is_number
from subspaces.tables._table import Array, Places, Table, checked


@dataclass(frozen=True)
class Block:
    """Text cells as the file has them; lines and columns are counted from 1."""

    cells: list[list[str]]
    row_names: tuple[str, ...]
    column_names: tuple[str, ...]
    lines: tuple[int, ...]
    columns: tuple[int, ...]

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


def to_table(
    path: Path, block: Block, classes: tuple[str, ...] | None, samples_in_columns: bool
) -> Table:
    """Turn the cells into numbers, with samples in rows."""
    data = _numbers(path, block)
    if not samples_in_columns:
        table = Table(data, block.row_names, block.column_names, classes)
        return checked(table, path, _places(block, flipped=False))
    table = Table(data.T.copy(), block.column_names, block.row_names, classes)
    return checked(table, path, _places(block, flipped=True))


def _numbers(path: Path, block: Block) -> Array:
    data = np.empty((len(block.cells), len(block.columns)))
    for i, row in enumerate(block.cells):
        try:
            data[i] = _plain_floats(row)
        except ValueError:
            data[i] = _checked_floats(path, block, i)
    return data


def _plain_floats(row: list[str]) -> list[float]:
    if "_" in "".join(row):
        raise ValueError
    return list(map(float, row))


def _checked_floats(path: Path, block: Block, i: int) -> list[float]:
    row = block.cells[i]
    for j, cell in enumerate(row):
        if not is_number(cell) and not is_missing(cell):
            raise ValueError(
                f"{path}, {_cell(block, i, j)}: {cell!r} is not a number{_remedy(block, i, j)}"
            )
    return [np.nan if is_missing(cell) else float(cell) for cell in row]


def _remedy(block: Block, i: int, j: int) -> str:
    """A stray text, a comma in a number, or a column or row of classes?"""
    commas = comma_remedy(block.cells[i][j], chain.from_iterable(block.cells))
    if commas is not None:
        return f"; {commas}"
    if _mostly_text([row[j] for row in block.cells]):
        return f". Use labels={block.column_names[j]!r} if the column holds classes"
    if _mostly_text(block.cells[i]):
        row = block.row_names[i]
        return f". Use samples='columns', labels={row!r} if the row holds classes"
    return ". Use a number"


def _mostly_text(cells: list[str]) -> bool:
    return 2 * sum(not is_number(cell) and not is_missing(cell) for cell in cells) > len(cells)


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
