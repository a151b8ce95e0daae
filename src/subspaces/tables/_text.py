"""The reader of CSV and TSV files; it finds the separator, the header and the row names."""

from dataclasses import replace
from pathlib import Path

from subspaces.tables._block import Block, is_figure, is_text
from subspaces.tables._content import text_of
from subspaces.tables._grid import Grid, as_grid, as_whole, without_marks
from subspaces.tables._numbers import to_table
from subspaces.tables._table import CLASSES, Table, default_names, offered
from subspaces.tables._wanted import Wanted

# What people write above a column of names.
CORNERS = {
    "", "unnamed: 0", "id", "index", "name", "names", "sample", "samples", "sample_id", "sample id",
    "sampleid", "sample_name", "sample name", "patient", "patient_id", "subject", "cell", "barcode",
    "gene", "genes", "gene_id", "gene id", "geneid", "gene_name", "gene name", "gene_symbol",
    "gene symbol", "symbol", "probe", "probe_id", "probeset", "id_ref", "feature", "variable",
}  # fmt: skip
# Lines below the first that tell whether that is a header.
LOOKED_AT = 20


def read_text(path: Path, wanted: Wanted) -> Table:
    """Return the table in a CSV or TSV file, with the classes in ``wanted.labels``, if given."""
    text, notes = text_of(path)
    return from_grid(path, as_grid(path, text), wanted, notes)


def from_grid(path: Path, grid: Grid, wanted: Wanted, notes: tuple[str, ...] = ()) -> Table:
    """Return the table made of a file's cells: header and row names found, classes taken out.

    notes: sentences from reading the file, which the table keeps.
    """
    block, dropped = _block(path, without_marks(grid, wanted.missing), wanted)
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


def _block(path: Path, grid: Grid, wanted: Wanted) -> tuple[Block, set[str]]:
    """Return the grid split into names and cells, and the names of ignored columns on its left."""
    header = grid.rows[0] if _has_header(grid.rows) else None
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


def _has_header(rows: list[list[str]]) -> bool:
    """Return whether the first row is a header: text above numbers, or numbers used as names."""
    top, below = rows[0], rows[1 : LOOKED_AT + 1]
    if len(top) > 1 and top[0].lower() in CORNERS and (top[0] or all(top[1:])):
        return True
    if not below:
        return any(is_text(cell) or not cell for cell in top)
    numeric = [j for j in range(len(top)) if any(is_figure(row[j]) for row in below)]
    texts = [j for j in numeric if is_text(top[j])]
    if 2 * len(texts) > len(numeric) or not numeric:
        return True
    skipped = 1 if 0 not in numeric or 0 in texts else 0
    return _counts(top[skipped:], [row[skipped:] for row in below])


def _counts(top: list[str], below: list[list[str]]) -> bool:
    """Return whether the row ``top`` is a header of numbers: 0, 1, 2, ... or ints over decimals."""
    values = [as_whole(cell) for cell in top]
    if len(top) < 3 or None in values:
        return False
    if values in (list(range(len(top))), list(range(1, len(top) + 1))):
        return True
    whole = all(as_whole(cell) is not None for row in below for cell in row)
    return len(set(values)) == len(values) and not whole


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
