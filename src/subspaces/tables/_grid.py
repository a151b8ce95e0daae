"""A text file as lines of cells of one width; what is not like that is named by its line."""

import csv
import io
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

SEPARATORS = "\t,;"
MOST_DIGITS = 18
# Characters of a line that tell what separates its cells; csv takes no cell of over 131,072.
LOOKED_AT = 10_000
MISSING = {"", "na", "n/a", "nan", "null", "none", "#n/a", "?", "-"}


@dataclass(frozen=True)
class Grid:
    """Lines of cells, and their numbers in the file."""

    rows: list[list[str]]
    lines: list[int]


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
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator or _separator(text))
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if any(cells):
                rows.append(cells)
                lines.append(reader.line_num + first_line - 1)
    except csv.Error as error:
        line = reader.line_num + first_line - 1
        raise ValueError(f"{path}, line {line}: {error}; check its quotes") from None
    if not rows:
        raise ValueError(f"{path} has no cells. Use a table of numbers")
    if len(rows) > 1 and len(rows[0]) == len(rows[1]) - 1:
        rows[0].insert(0, "")  # R writes no heading above the names of the rows
    _check_width(path, rows, lines)
    return Grid(rows, lines)


def _separator(text: str) -> str:
    """The one that cuts the first lines into most cells."""
    lines = islice(io.StringIO(text, newline=""), 50)
    top = [line[:LOOKED_AT] for line in lines if line.strip()][:5]
    widths = {
        separator: sum(len(row) for row in csv.reader(top, delimiter=separator))
        for separator in SEPARATORS
    }
    return max(widths, key=lambda separator: widths[separator])


def _check_width(path: Path, rows: list[list[str]], lines: list[int]) -> None:
    width = len(rows[0])
    for row, line in zip(rows, lines, strict=True):
        if len(row) != width:
            raise ValueError(
                f"{path}, line {line}: {len(row)} cells where line {lines[0]} has {width}. Use as "
                "many in every line"
            )
