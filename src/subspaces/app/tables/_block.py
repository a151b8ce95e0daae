"""Cells of text with the names of their rows and columns, as files hold them."""

from collections.abc import Collection
from dataclasses import dataclass

from subspaces.app.tables._commas import is_numeric
from subspaces.app.tables._grid import is_missing, is_number
from subspaces.app.tables._table import Places


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


def text_columns(block: Block) -> list[tuple[str, int]]:
    """Return (name, number of distinct texts) of each column that holds text and no number."""
    found = []
    for j, name in enumerate(block.column_names):
        cells = [row[j] for row in block.cells]
        if any(map(is_text, cells)) and not any(map(is_figure, cells)):
            found.append((name, len(set(cells) - {""})))
    return found
