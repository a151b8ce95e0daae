"""Conversion of a text file to rows of cells, all with the same number of cells."""

import csv
import io
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

# The order of preference where two cut the lines evenly: 1,5;2,5;3,5 has commas within numbers.
SEPARATORS = "\t;,"
SPACE = " "  # as R writes tables; the last resort, since names have spaces, too
# Most digits of a whole number, so that it fits into 64 bits.
MOST_DIGITS = 18
# Characters of a line that tell what separates its cells; csv refuses cells of over 131,072.
LOOKED_AT = 10_000
# Lines at the top that may be titles, and lines below them that tell what separates cells.
TITLES, TOP = 50, 5
MISSING = {"", "na", "n/a", "nan", "null", "none", "#n/a", "?", "-", "."}


@dataclass(frozen=True)
class Grid:
    """Rows of cells, all equally long, with their positions in the file.

    lines: the number of each row's line in the file; first_column: the number in the file of the
    rows' first cell; both count from 1. notes: sentences on lines that were left out.
    """

    rows: list[list[str]]
    lines: list[int]
    first_column: int = 1
    notes: tuple[str, ...] = ()


def without_marks(grid: Grid, marks: tuple[str, ...]) -> Grid:
    """Return the grid with an empty cell wherever it holds one of the marks of a missing value."""
    if not marks:
        return grid
    known = {mark.strip().lower() for mark in marks}
    rows = [["" if cell.lower() in known else cell for cell in row] for row in grid.rows]
    return replace(grid, rows=rows)


def is_missing(cell: str) -> bool:
    """Return whether a cell marks a missing value: empty, "NA", "?", "." and so on."""
    return cell.lower() in MISSING


def is_number(cell: str) -> bool:
    """Return whether ``float`` reads a cell as a number; "1_000" and "nan" count as none."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell and not is_missing(cell)


def as_whole(cell: str) -> int | None:
    """Return the whole number in a cell of 1 to 18 ASCII digits; None for any other cell."""
    return int(cell) if cell.isascii() and cell.isdigit() and len(cell) <= MOST_DIGITS else None


def as_grid(path: Path, text: str, separator: str | None = None, first_line: int = 1) -> Grid:
    """Return the text of a file as rows of cells; guess the separator unless it is given."""
    rows, lines = [], []
    separator = separator or _separator(text)
    # Several spaces may separate two cells, to align the columns.
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=separator == SPACE
    )
    try:
        for row in reader:
            rows.append([cell.strip() for cell in row])
            lines.append(reader.line_num + first_line - 1)
    except csv.Error as error:
        line = reader.line_num + first_line - 1
        raise ValueError(f"{path}, line {line}: {error}; check its quotes") from None
    return tidied(path, rows, lines)


def tidied(path: Path, rows: list[list[str]], lines: list[int]) -> Grid:
    """Return the rows as a grid, without blank lines, titles on top and empty outer columns.

    lines: the number of each row's line in the file. Raises ValueError for rows of unequal length.
    """
    full = [i for i, row in enumerate(rows) if any(row)]
    if not full:
        raise ValueError(f"{path} has no cells. Use a table of numbers")
    rows, lines = [rows[i] for i in full], [lines[i] for i in full]
    titles = _titles(rows)
    notes = _note_on_titles(lines[:titles])
    rows, lines = rows[titles:], lines[titles:]
    left, right = _margins(rows)
    if left or right < max(map(len, rows)):
        rows = [row[left:right] for row in rows]
    if len(rows) > 1 and len(rows[0]) == len(rows[1]) - 1:
        rows[0] = ["", *rows[0]]  # R writes no heading above the names of the rows
    _check_width(path, rows, lines)
    return Grid(rows, lines, left + 1, notes)


def _titles(rows: list[list[str]]) -> int:
    """Return how many rows on top are titles: one cell of text, above a row of three or more."""
    counts = [sum(map(bool, row)) for row in rows[:TITLES]]
    first = next((i for i, count in enumerate(counts) if count > 1), 0)
    texts = all(not is_number(cell) for row in rows[:first] for cell in row if cell)
    return first if counts[first] > 2 and texts else 0


def _note_on_titles(lines: list[int]) -> tuple[str, ...]:
    if not lines:
        return ()
    if len(lines) == 1:
        return (f"line {lines[0]}, which stands alone above the table, is left out",)
    return (f"lines {lines[0]} to {lines[-1]}, which stand alone above the table, are left out",)


def _margins(rows: list[list[str]]) -> tuple[int, int]:
    """Return (left, right) so that ``row[left:right]`` drops empty columns at both sides."""

    def empty(j: int) -> bool:
        return not any(len(row) > j and row[j] for row in rows)

    left, right = 0, max(map(len, rows))
    while empty(right - 1):
        right -= 1
    while empty(left):
        left += 1
    return left, right


def _separator(text: str) -> str:
    """Return the separator that cuts the first lines into equally many cells, else into most."""
    lines = islice(io.StringIO(text, newline=""), TITLES)
    top = [line[:LOOKED_AT] for line in lines if line.strip()]
    without_titles = [line for line in top if any(mark in line for mark in SEPARATORS)]
    for some, separators in ((top, SEPARATORS + SPACE), (without_titles, SEPARATORS)):
        for separator in separators:
            if _is_even(_widths(some[:TOP], separator)):
                return separator
    return max(SEPARATORS, key=lambda separator: sum(_widths(top[:TOP], separator)))


def _widths(lines: list[str], separator: str) -> list[int]:
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=separator == SPACE)
    return [len(row) for row in reader]


def _is_even(widths: list[int]) -> bool:
    """Return whether all lines have equally many cells, at least two; the first may have one less.

    R writes no heading above the names of the rows.
    """
    if not widths or widths[-1] < 2:
        return False
    return len(set(widths[1:])) <= 1 and 2 <= widths[0] <= widths[-1] <= widths[0] + 1


def _check_width(path: Path, rows: list[list[str]], lines: list[int]) -> None:
    width = len(rows[0])
    for row, line in zip(rows, lines, strict=True):
        if len(row) != width:
            cells = "1 cell" if len(row) == 1 else f"{len(row)} cells"
            raise ValueError(
                f"{path}, line {line}: {cells} where line {lines[0]} has {width}. Use as many in "
                "every line, and remove what is no part of the table"
            )
