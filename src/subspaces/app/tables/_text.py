"""The reader of CSV and TSV files; it finds the separator, the header and the row names."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from subspaces.app.tables._block import Block, is_figure, is_text
from subspaces.app.tables._commas import notation_of
from subspaces.app.tables._content import text_of
from subspaces.app.tables._grid import Grid, as_grid, as_whole, is_missing, is_number, without_marks
from subspaces.app.tables._numbers import to_table
from subspaces.app.tables._table import CLASSES, default_names, offered
from subspaces.app.tables._wanted import Wanted
from subspaces.named_table import Table

# What people write above a column of names.
CORNERS = {
    "", "unnamed: 0", "id", "index", "name", "names", "sample", "samples", "sample_id", "sample id",
    "sampleid", "sample_name", "sample name", "patient", "patient_id", "subject", "cell", "barcode",
    "gene", "genes", "gene_id", "gene id", "geneid", "gene_name", "gene name", "gene_symbol",
    "gene symbol", "symbol", "probe", "probe_id", "probeset", "id_ref", "feature", "variable",
}  # fmt: skip
# Lines below the first that tell whether that is a header.
LOOKED_AT = 20
# The fewest numbers that are in order by design: by chance these are once in 20,000 lines.
SCALE = 8
# A measured value with more than digits in it, as 3.5x, <0.5 and $3.26 are: not a name.
VALUE = re.compile(r"\W*\d+[.,]+\d")


def read_text(path: Path, wanted: Wanted) -> Table:
    """Return the table in a CSV or TSV file, with the classes in ``wanted.labels``, if given."""
    text, notes = text_of(path)
    return from_grid(path, as_grid(path, text), wanted, notes)


def from_grid(path: Path, grid: Grid, wanted: Wanted, notes: tuple[str, ...] = ()) -> Table:
    """Return the table made of a file's cells: header and row names found, classes taken out.

    notes: sentences from reading the file, which the table keeps.
    """
    marked = without_marks(grid, wanted.missing)
    top, below = marked.rows[0], marked.rows[1:]
    known = _is_header(top, below)
    doubted = not known and _may_be_header(top, below)
    if doubted:
        line = f"line {grid.lines[0]} is read as the header, though it holds numbers"
        notes = (*notes, f"{line}. If they are values, add a line of names above it")
    block, dropped = _block(path, marked, wanted, headed=known or doubted)
    classes: tuple[str, ...] | None = None
    wanted = replace(wanted, ignore=tuple(set(wanted.ignore) - dropped))
    if wanted.labels is not None and wanted.samples_in_columns:
        place = _find(path, wanted.labels, block.row_names, block.column_names, "row")
        classes, block = tuple(block.cells[place]), block.without(rows={place})
    elif wanted.labels is not None:
        place = _find(path, wanted.labels, block.column_names, block.row_names, "column")
        classes = tuple(row[place] for row in block.cells)
        block = block.without(columns={place})
    return to_table(path, block, classes, wanted, (*notes, *grid.notes))


def _block(path: Path, grid: Grid, wanted: Wanted, *, headed: bool) -> tuple[Block, set[str]]:
    """Return the grid split into names and cells, and the names of ignored columns on its left.

    headed: whether its first row is a header.
    """
    header = grid.rows[0] if headed else None
    rows, lines = (grid.rows[1:], grid.lines[1:]) if header else (grid.rows, grid.lines)
    if not rows:
        raise ValueError(f"{path} has a header line and nothing below. Add lines of numbers")
    # The names are in the first column that is left.
    start = 0
    while header and start < len(header) - 1 and header[start] in wanted.ignore:
        start += 1
    dropped = set(header[:start]) if header else set()
    header = header[start:] if header else None
    rows = [row[start:] for row in rows] if start else rows
    not_names = None if wanted.samples_in_columns else wanted.labels
    named = not (header and header[0] == not_names) and _starts_with_names(header, rows)
    first = 1 if named else 0
    kinds = ("v", "sample") if wanted.samples_in_columns else ("sample", "v")
    row_names = tuple(row[0] for row in rows) if named else default_names(kinds[0], len(rows))
    width = len(rows[0])
    columns = tuple(header[first:]) if header else default_names(kinds[1], width - first)
    cells = [row[1:] for row in rows] if named else rows
    places = tuple(range(grid.first_column + start + first, grid.first_column + start + width))
    return Block(cells, row_names, columns, tuple(lines), places), dropped


def _is_header(top: list[str], below: list[list[str]]) -> bool:
    """Return whether the row ``top`` is a header beyond doubt: most of it text, or 0, 1, 2, ..."""
    names = {row[0] for row in below if row[0]}
    # An empty corner stands above names, which are there once, or is itself a missing value.
    indexed = top[0] != "" or (all(top[1:]) and len(names) == len(below))
    if len(top) > 1 and top[0].lower() in CORNERS and indexed:
        return True
    if not below:
        return any(is_text(cell) or not cell for cell in top)
    numeric = [j for j in range(len(top)) if any(is_figure(row[j]) for row in below[:LOOKED_AT])]
    texts = [j for j in numeric if is_text(top[j])]
    if 2 * len(texts) > len(numeric) or not numeric:
        return True
    counts = [as_whole(cell) for cell in top if is_figure(cell)]
    n = len(counts)
    return n >= 3 and counts in (list(range(n)), list(range(1, n + 1)))


def _may_be_header(top: list[str], below: list[list[str]]) -> bool:
    """Return whether the row ``top``, which holds numbers, is more like names than like a sample.

    It has a name among its numbers, or whole numbers above decimals, or numbers that rise or fall
    all along, as wavelengths do, unlike those of any line below.
    """
    places = [j for j, cell in enumerate(top) if is_text(cell)]
    if any(_is_name(top[j], [row[j] for row in below]) for j in places):
        return True
    below = below[:LOOKED_AT]
    places = [j for j in range(len(top)) if any(is_figure(row[j]) for row in below)]
    numbers = [top[j] for j in places]
    columns = [[row[j] for row in below] for j in places]
    whole = {as_whole(cell) for cell in numbers} - {None}
    if len(whole) == len(places) > 2 and all(any(map(_is_fraction, one)) for one in columns):
        return True
    return _is_scale(numbers) and not any(map(_is_scale, zip(*columns, strict=True)))


def _is_name(top: str, below: list[str]) -> bool:
    """Return whether a text is the name of the column of cells below it: of numbers, or classes."""
    cells = [cell for cell in below if not is_missing(cell)]
    if not cells or top in cells or VALUE.match(top):
        return False
    # A few cells among numbers may be marks or slips. A class that is there five times on average
    # is seldom there once.
    return 5 * sum(map(is_figure, cells)) >= 4 * len(cells) or 5 * len(set(cells)) <= len(cells)


def _is_fraction(cell: str) -> bool:
    return is_figure(cell) and as_whole(cell.lstrip("+-")) is None


def _is_scale(cells: Sequence[str]) -> bool:
    """Return whether these are numbers from 0 up, too many to be in order by chance, that are."""
    notation = notation_of(cells)
    plain = [notation.plain(cell) for cell in cells]
    if len(plain) < SCALE or not all(map(is_number, plain)):
        return False
    numbers = list(map(float, plain))
    steps = [later - former for former, later in pairwise(numbers)]
    return min(numbers) >= 0 and (min(steps) > 0 or max(steps) < 0)


def _starts_with_names(header: list[str] | None, rows: list[list[str]]) -> bool:
    """Return whether the first column holds row names: by its heading, or if most of it is text."""
    if len(rows[0]) < 2:
        return False
    if header and header[0].lower() in CORNERS:
        return True
    if header and header[0].lower() in CLASSES and len({row[0] for row in rows}) < len(rows):
        return False  # names are there once
    texts = sum(is_text(row[0]) for row in rows)
    return 2 * texts > len(rows)


def _find(
    path: Path, labels: str, names: tuple[str, ...], others: tuple[str, ...], side: str
) -> int:
    """Return the index of ``labels`` in ``names``; raise ValueError if it is not there.

    The error says so if ``labels`` is among ``others``, the names of the table's other side.
    """
    if labels in names:
        return names.index(labels)
    if labels in others:
        other = "row" if side == "column" else "column"
        raise ValueError(
            f"{path} has a {other} {labels!r} and no such {side}: its samples are in {side}s. "
            f"Use samples='{side}s'"
        )
    raise ValueError(f"{path} has no {side} {labels!r}{offered(labels, names)}")
