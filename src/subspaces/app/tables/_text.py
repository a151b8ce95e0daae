"""The reader of text files: their separator, titles, header and names of rows are found."""

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np

from subspaces.app.tables._commas import is_figure, is_missing, is_number, is_text, notation_of
from subspaces.app.tables._content import text_of
from subspaces.app.tables._sheet import Sheet, Texts, Wanted, named, unmarked, with_annotation
from subspaces.app.tables._table import to_table
from subspaces.app.tables._units import as_numbers
from subspaces.messages import Advice, Message, ParameterError, noted, refused
from subspaces.named_table import Table

# The order of preference if two cut the lines evenly: 1,5;2,5;3,5 has commas within numbers.
SEPARATORS = "\t;,"
SPACE = " "  # as R writes tables; the last resort, since names have spaces, too
# Characters of a line to read before deciding what separates its cells. csv fails on cells of more
# than 131,072.
LINE_LENGTH = 10_000
# Lines at the top that may be titles, and lines below them that show what separates cells.
TITLES, TOP = 50, 5
# Most digits of a whole number, so that it fits into 64 bits.
MOST_DIGITS = 18
# Characters of a file that takes seconds to read, and lines that are looked into before.
LONG, LOOKED_INTO = 4_000_000, 2000
# What people write above a column of names.
CORNERS = {
    "", "unnamed: 0", "id", "index", "name", "names", "sample", "samples", "sample_id", "sample id",
    "sampleid", "sample_name", "sample name", "patient", "patient_id", "subject", "cell", "barcode",
    "gene", "genes", "gene_id", "gene id", "geneid", "gene_name", "gene name", "gene_symbol",
    "gene symbol", "symbol", "probe", "probe_id", "probeset", "id_ref", "feature", "variable",
}  # fmt: skip
# Lines below the first that show whether the first is a header.
LOOKED_AT = 20
# The fewest numbers that are in order by design: by chance these are once in 20,000 lines.
SCALE = 8
# A measured value with more than digits in it, as 3.5x, <0.5 and $3.26 are: not a name.
VALUE = re.compile(r"\W*\d+[.,]+\d")


@dataclass(frozen=True)
class Grid:
    """The cells of a file, with the line of each row, and notes on what was left out.

    first_column: the number in the file, from 1, of the first column.
    """

    cells: Texts
    lines: Sequence[int]
    first_column: int = 1
    notes: tuple[Message, ...] = ()


def read_text(path: Path, wanted: Wanted) -> Table:
    """Return the table in a CSV or TSV file."""
    text, notes = text_of(path)
    if len(text) > LONG:
        _refuse_at_once(path, text, wanted)
    grid = as_grid(path, text)
    del text  # as large as the table
    return from_grid(path, grid, wanted, notes)


def _refuse_at_once(path: Path, text: str, wanted: Wanted) -> None:
    """Raise the error that the top of a long file shows already, before the rest is read.

    That is a cell of text, or a column that is not there. Commas within numbers are left to the
    whole file, which may show what they mean, and quoted cells, since they may be cut.
    """
    top = "".join(islice(io.StringIO(text, newline=""), LOOKED_INTO))
    if '"' in top or ("," in top and _separator(top) != ","):
        return
    columns = {wanted.labels, wanted.sample_names} - {None}
    is_absent = not wanted.samples_in_columns and any(str(name) not in text for name in columns)
    try:
        from_grid(path, as_grid(path, top), wanted)
    except ValueError as error:
        if is_absent or (isinstance(error, ParameterError) and error.parameter == "path"):
            raise


def as_grid(path: Path, text: str, separator: str | None = None, first_line: int = 1) -> Grid:
    """Return the text of a file as rows of cells; guess the separator unless it is given."""
    rows, lines = [], []
    separator = separator or _separator(text)
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=separator == SPACE
    )
    try:
        for row in reader:
            rows.append([cell.strip() for cell in row])
            lines.append(reader.line_num + first_line - 1)
    except csv.Error as error:
        line = reader.line_num + first_line - 1
        raise refused(f"{path}, line {line}: {error}. Check the quotes in this line.") from None
    del reader  # four times as large as the text
    return tidied(path, rows, lines)


def tidied(path: Path, rows: list[list[str]], lines: Sequence[int]) -> Grid:
    """Return the rows as a grid, without blank lines, titles on top and empty outer columns.

    lines: the number of each row's line in the file. Empty cells between two samples are a sample
    without values, which keeps its place. Raises ValueError for rows of unequal length.
    """
    full = [i for i, row in enumerate(rows) if any(row)]
    if not full:
        raise refused(f"{path} is empty. Check the file.")
    titles = _titles([rows[i] for i in full[:TITLES]])
    left_out, full = [lines[i] for i in full[:titles]], full[titles:]
    left = min(next(j for j, cell in enumerate(rows[i]) if cell) for i in full)
    right = max(next(j for j in range(len(rows[i]), 0, -1) if rows[i][j - 1]) for i in full)
    first = next(
        (i for i in full[1:] if any(cell and is_number(cell) for cell in rows[i])), full[-1]
    )
    if len(rows[first]) > 1:
        between = range(first, full[-1])
        full = sorted({*full, *(i for i in between if len(rows[i]) == len(rows[first]))})
    rows, lines = [rows[i] for i in full], [lines[i] for i in full]
    if left or right < max(map(len, rows)):
        rows = [row[left:right] for row in rows]
    if len(rows) > 1 and len(rows[0]) == len(rows[1]) - 1:
        rows[0] = ["", *rows[0]]  # R writes no heading above the names of the rows
    width = len(rows[0])
    for row, line in zip(rows, lines, strict=True):
        if len(row) != width:
            raise refused(
                f"{path}: line {line} has {len(row)} cell{'s' * (len(row) > 1)}, but line "
                f"{lines[0]} has {width}. Correct it, or remove lines that are not part of the "
                "table."
            )
    which = "line {first}" if len(left_out) == 1 else "lines {first} to {last}"
    skipped = (
        noted("skipped_lines", f"Skipped {which} above the table.", first=each, last=left_out[-1])
        for each in left_out[:1]
    )
    return Grid(np.array(rows, dtype=object), lines, left + 1, tuple(skipped))


def from_grid(path: Path, grid: Grid, wanted: Wanted, notes: tuple[Message, ...] = ()) -> Table:
    """Return the table made of a file's cells: header and row names found, classes taken out.

    notes: from reading the file, which the table keeps.
    """
    cells, lines = unmarked(grid.cells, wanted), np.array(grid.lines)
    if _are_groups(cells[0], cells[1:]):
        cells, lines = np.vstack([_with_groups(cells[0], cells[1]), cells[2:]]), lines[1:]
        fact = "Lines {first} and {second} were read as one header, with names such as {name!r}."
        first, second = int(grid.lines[0]), int(lines[0])
        joined = noted("two_headers", fact, first=first, second=second, name=cells[0, -1])
        notes = (*notes, joined)
    header, is_header = header_of(cells)
    if header is not None and not is_header:
        fact = "Line {line} was read as the header, although it has numbers."
        above = Advice("add a line of names above it if these are values")
        notes = (*notes, noted("number_header", fact, above, line=int(lines[0])))
    if header is not None:
        cells, lines = cells[1:], lines[1:]
    if not len(cells):
        raise refused(f"{path} has only a header line. Check that the file is complete.")
    start = 0  # the names are in the first column that is left
    while header is not None and start < len(header) - 1 and header[start] in wanted.ignore:
        start += 1
    top = None if header is None else header[start]
    has_names = starts_with_names(top, cells[:, start:], wanted)
    if top == "" and wanted.sample_names is not None and not has_names:
        start += 1
    first = start + has_names
    prefixes = ("v", "sample") if wanted.samples_in_columns else ("sample", "v")
    rows = named("line", cells[:, start] if has_names else None, len(cells), prefixes[0])
    names = None if header is None else header[first:]
    columns = named("column", names, cells.shape[1] - first, prefixes[1], grid.first_column + first)
    sheet = Sheet(cells[:, first:], replace(rows, numbers=lines), columns)
    sheet = sheet.turned if wanted.samples_in_columns else sheet
    dropped = () if header is None else header[:start]
    wanted = replace(wanted, ignore=wanted.ignore - set(dropped))
    sheet = with_annotation(path, sheet, wanted)
    return to_table(path, sheet, wanted, (*notes, *grid.notes))


def header_of(cells: Texts) -> tuple[Texts | None, bool]:
    """Return the first row of the cells if it may be a header, and whether it surely is one."""
    is_header = _is_header(cells[0], cells[1:])
    return cells[0] if is_header or _may_be_header(cells[0], cells[1:]) else None, is_header


def as_whole(cell: str) -> int | None:
    """Return the whole number in a cell of 1 to 18 ASCII digits; None for any other cell."""
    return int(cell) if cell.isascii() and cell.isdigit() and len(cell) <= MOST_DIGITS else None


def starts_with_names(top: str | None, cells: Texts, wanted: Wanted) -> bool:
    """Return whether the first column holds row names: by its heading, or if most of it is text.

    Names of samples are there once, are not numbers with a unit, and no other column is chosen.
    """
    is_chosen = top is not None and top == wanted.labels
    is_chosen |= wanted.sample_names is not None
    if cells.shape[1] < 2 or (is_chosen and not wanted.samples_in_columns):
        return False
    if top is not None and top.lower() in CORNERS:
        return True
    names = cells[:, 0]
    if 2 * sum(map(is_text, names)) <= len(names):
        return False
    is_once = len(set(names)) == len(names)
    return wanted.samples_in_columns or (is_once and as_numbers(names) is None)


def _are_groups(top: Texts, below: Texts) -> bool:
    """Return whether a row groups the columns that the row below names: Excel's merged cells."""
    if len(below) < 2 or "" not in top[1:] or sum(map(is_text, top)) < 2:
        return False
    numeric = [j for j in _numeric(below[1:]) if top[j] or below[0, j] or j]  # 0: an empty corner
    return bool(numeric) and all(
        (is_text(name) or (group and not name)) and not is_figure(group)
        for group, name in zip(top[numeric], below[0][numeric], strict=True)
    )


def _with_groups(groups: Texts, names: Texts) -> Texts:
    """Return each name behind its group, which is the last one at or before its column."""
    last = np.maximum.accumulate(np.where(groups != "", np.arange(len(groups)), 0))
    return np.array(
        [f"{groups[j]} {name}".strip() for j, name in zip(last, names, strict=True)], object
    )


def _titles(rows: list[list[str]]) -> int:
    """Return how many rows on top are titles: one cell of text, above a row of three or more."""
    counts = [sum(map(bool, row)) for row in rows]
    first = next((i for i, count in enumerate(counts) if count > 1), 0)
    texts = all(not is_number(cell) for row in rows[:first] for cell in row if cell)
    return first if counts[first] > 2 and texts else 0


def _widths(lines: list[str], separator: str) -> list[int]:
    # Several spaces may separate two cells, to align the columns.
    rows = csv.reader(lines, delimiter=separator, skipinitialspace=separator == SPACE)
    return list(map(len, rows))


def _separator(text: str) -> str:
    """Return the separator that cuts the first lines into equally many cells, else into most."""
    lines = islice(io.StringIO(text, newline=""), TITLES)
    top = [line[:LINE_LENGTH] for line in lines if line.strip()]
    without_titles = [line for line in top if any(mark in line for mark in SEPARATORS)]
    for some, separators in ((top, SEPARATORS + SPACE), (without_titles, SEPARATORS)):
        for separator in separators:
            if _is_even(_widths(some[:TOP], separator)):
                return separator
    return max(SEPARATORS, key=lambda mark: sum(_widths(top[:TOP], mark)))


def _is_even(widths: list[int]) -> bool:
    """Return whether all lines have equally many cells, at least two; the first may have one less.

    R writes no heading above the names of the rows.
    """
    if not widths or widths[-1] < 2:
        return False
    return len(set(widths[1:])) <= 1 and 2 <= widths[0] <= widths[-1] <= widths[0] + 1


def _is_header(top: Texts, below: Texts) -> bool:
    """Return whether the row ``top`` is a header beyond doubt: most of it text, or 0, 1, 2, ..."""
    # An empty corner stands above names, which are there once, or is itself a missing value.
    is_corner = top[0] != "" or (all(top[1:]) and len(set(below[:, 0]) - {""}) == len(below))
    if len(top) > 1 and top[0].lower() in CORNERS and is_corner:
        return True
    if not len(below):
        return any(is_text(cell) or not cell for cell in top)
    numeric = _numeric(below)
    if 2 * sum(is_text(top[j]) for j in numeric) > len(numeric) or not numeric:
        return True
    counts = [as_whole(cell) for cell in top if is_figure(cell)]
    n = len(counts)
    return n >= 3 and counts in (list(range(n)), list(range(1, n + 1)))


def _may_be_header(top: Texts, below: Texts) -> bool:
    """Return whether the row ``top``, which holds numbers, is more like names than like a sample.

    It has a name among its numbers, or whole numbers above decimals, or numbers that rise or fall
    all along, as wavelengths do, unlike those of any line below.
    """
    if any(is_text(cell) and _is_name(cell, below[:, j]) for j, cell in enumerate(top)):
        return True
    places = _numeric(below)
    numbers, columns = top[places], below[:LOOKED_AT, places]
    whole = {as_whole(cell) for cell in numbers} - {None}
    if len(whole) == len(places) > 2 and all(any(map(_is_fraction, one)) for one in columns.T):
        return True
    return _is_scale(numbers) and not any(map(_is_scale, columns))


def _numeric(below: Texts) -> list[int]:
    """Return which columns have a number in the first lines."""
    return [j for j, column in enumerate(below[:LOOKED_AT].T) if any(map(is_figure, column))]


def _is_name(top: str, below: Texts) -> bool:
    """Return whether a text is the name of the column of cells below it: of numbers, or classes."""
    cells = [cell for cell in below if not is_missing(cell)]
    if not cells or top in cells or VALUE.match(top):
        return False
    # A few cells among numbers may be marks or slips. A class that is there five times on average
    # is seldom there once.
    return 5 * sum(map(is_figure, cells)) >= 4 * len(cells) or 5 * len(set(cells)) <= len(cells)


def _is_fraction(cell: str) -> bool:
    return is_figure(cell) and as_whole(cell.lstrip("+-")) is None


def _is_scale(cells: Texts) -> bool:
    """Return whether these are numbers from 0 up, too many to be in order by chance, that are."""
    notation = notation_of(cells, cells)
    plain = [notation.plain(cell) for cell in cells]
    if len(plain) < SCALE or not all(map(is_number, plain)):
        return False
    steps = np.diff(list(map(float, plain)))
    return float(plain[0]) >= 0 <= float(plain[-1]) and (steps.min() > 0 or steps.max() < 0)
