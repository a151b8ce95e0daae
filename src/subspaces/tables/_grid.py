"""A text file as lines of cells of one width; what is not like that is named by its line."""

import csv
import io
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

# In this order where two cut lines evenly: a comma may be within numbers, 1,5;2,5;3,5.
SEPARATORS = "\t;,"
SPACE = " "  # as R writes tables; the last resort, since names have spaces, too
MOST_DIGITS = 18
# Characters of a line that tell what separates its cells; csv takes no cell of over 131,072.
LOOKED_AT = 10_000
# Lines at the top among which a title is looked for, and those that tell what separates cells.
TITLES, TOP = 50, 5
MISSING = {"", "na", "n/a", "nan", "null", "none", "#n/a", "?", "-"}


@dataclass(frozen=True)
class Grid:
    """Lines of cells, their numbers in the file, the number of the first column, and notes.

    Notes are sentences about what was left out on the way here.
    """

    rows: list[list[str]]
    lines: list[int]
    first_column: int = 1
    notes: tuple[str, ...] = ()


def is_missing(cell: str) -> bool:
    """Whether a cell says that there is no number."""
    return cell.lower() in MISSING


def is_number(cell: str) -> bool:
    """Whether a cell is a number; 1_000, which Python takes for one, is a name."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell and not is_missing(cell)


def as_whole(cell: str) -> int | None:
    """A cell of digits as a number; int() would stumble over ² and over thousands of digits."""
    return int(cell) if cell.isascii() and cell.isdigit() and len(cell) <= MOST_DIGITS else None


def as_grid(path: Path, text: str, separator: str | None = None, first_line: int = 1) -> Grid:
    """Cut the text into cells; blank lines are left out, and every line has as many cells."""
    rows, lines = [], []
    separator = separator or _separator(text)
    # Spaces may be many, to set columns one below the other.
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
    """Leave out what stands around a table: blank lines, titles, empty columns at its sides."""
    full = [i for i, row in enumerate(rows) if any(row)]
    if not full:
        raise ValueError(f"{path} has no cells. Use a table of numbers")
    rows, lines = [rows[i] for i in full], [lines[i] for i in full]
    titles = _titles(rows)
    notes = _told(lines[:titles])
    rows, lines = rows[titles:], lines[titles:]
    left, right = _margins(rows)
    if left or right < max(map(len, rows)):
        rows = [row[left:right] for row in rows]
    if len(rows) > 1 and len(rows[0]) == len(rows[1]) - 1:
        rows[0] = ["", *rows[0]]  # R writes no heading above the names of the rows
    _check_width(path, rows, lines)
    return Grid(rows, lines, left + 1, notes)


def _titles(rows: list[list[str]]) -> int:
    """How many lines at the top have one cell of text, above lines of three or more cells."""
    counts = [sum(map(bool, row)) for row in rows[:TITLES]]
    first = next((i for i, count in enumerate(counts) if count > 1), 0)
    texts = all(not is_number(cell) for row in rows[:first] for cell in row if cell)
    return first if counts[first] > 2 and texts else 0


def _told(lines: list[int]) -> tuple[str, ...]:
    if not lines:
        return ()
    if len(lines) == 1:
        return (f"line {lines[0]}, which stands alone above the table, is left out",)
    return (f"lines {lines[0]} to {lines[-1]}, which stand alone above the table, are left out",)


def _margins(rows: list[list[str]]) -> tuple[int, int]:
    """Where the columns begin and end that have a heading or a cell."""

    def empty(j: int) -> bool:
        return not any(len(row) > j and row[j] for row in rows)

    left, right = 0, max(map(len, rows))
    while empty(right - 1):
        right -= 1
    while empty(left):
        left += 1
    return left, right


def _separator(text: str) -> str:
    """The one that cuts the first lines into as many cells each, or else into most cells."""
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
    """Whether lines have as many cells, two at least; the first may lack one (R's heading)."""
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
