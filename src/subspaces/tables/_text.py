"""CSV and TSV: any of three separators, a header line or not, names of rows or not."""

from pathlib import Path

from subspaces.tables._block import Block, to_table
from subspaces.tables._content import text_of
from subspaces.tables._grid import Grid, as_grid, as_whole, is_missing, is_number
from subspaces.tables._table import Table, default_names, offered

# What people write above a column of names.
CORNERS = {
    "", "unnamed: 0", "id", "index", "name", "names", "sample", "samples", "sample_id", "sample id",
    "sampleid", "sample_name", "sample name", "patient", "patient_id", "subject", "cell", "barcode",
    "gene", "genes", "gene_id", "gene id", "geneid", "gene_name", "gene name", "gene_symbol",
    "gene symbol", "symbol", "probe", "probe_id", "probeset", "id_ref", "feature", "variable",
}  # fmt: skip
LOOKED_AT = 20


def read_text(path: Path, samples_in_columns: bool, labels: str | None) -> Table:
    """Read a table of numbers; the classes are a column, or a row where samples are columns."""
    grid = as_grid(path, text_of(path))
    not_names = None if samples_in_columns else labels
    block = _block(path, grid, not_names, samples_in_columns)
    if labels is None:
        return to_table(path, block, None, samples_in_columns)
    if samples_in_columns:
        place = _find(path, labels, block.row_names, block.column_names, "rows")
        block, classes = block.without_row(place)
    else:
        place = _find(path, labels, block.column_names, block.row_names, "columns")
        block, classes = block.without_column(place)
    return to_table(path, block, classes, samples_in_columns)


def _block(path: Path, grid: Grid, not_names: str | None, samples_in_columns: bool) -> Block:
    """Set the names apart from the cells."""
    header = grid.rows[0] if _has_header(grid.rows) else None
    rows, lines = (grid.rows[1:], grid.lines[1:]) if header else (grid.rows, grid.lines)
    if not rows:
        raise ValueError(f"{path} has a header line and nothing below. Use lines of numbers")
    named = not (header and header[0] == not_names) and _starts_with_names(header, rows)
    first = 1 if named else 0
    kinds = ("v", "sample") if samples_in_columns else ("sample", "v")
    row_names = tuple(row[0] for row in rows) if named else default_names(kinds[0], len(rows))
    width = len(rows[0])
    columns = tuple(header[first:]) if header else default_names(kinds[1], width - first)
    cells = [row[1:] for row in rows] if named else rows
    return Block(cells, row_names, columns, tuple(lines), tuple(range(first + 1, width + 1)))


def _has_header(rows: list[list[str]]) -> bool:
    """Whether the first line is text where the lines below are numbers, or numbers as names."""
    top, below = rows[0], rows[1 : LOOKED_AT + 1]
    if len(top) > 1 and top[0].lower() in CORNERS and (top[0] or all(top[1:])):
        return True
    if not below:
        return not all(is_number(cell) for cell in top)
    numeric = [j for j in range(len(top)) if any(is_number(row[j]) for row in below)]
    texts = [j for j in numeric if not is_number(top[j]) and not is_missing(top[j])]
    if 2 * len(texts) > len(numeric) or not numeric:
        return True
    skipped = 1 if 0 not in numeric or 0 in texts else 0
    return _counts(top[skipped:], [row[skipped:] for row in below])


def _counts(top: list[str], below: list[list[str]]) -> bool:
    """Whether a line of numbers is a header: 0, 1, 2, ..., or whole numbers above fractions."""
    values = [as_whole(cell) for cell in top]
    if len(top) < 3 or None in values:
        return False
    if values in (list(range(len(top))), list(range(1, len(top) + 1))):
        return True
    whole = all(as_whole(cell) is not None for row in below for cell in row)
    return len(set(values)) == len(values) and not whole


def _starts_with_names(header: list[str] | None, rows: list[list[str]]) -> bool:
    """Whether the first column names the rows: its heading says so, or most of it is text."""
    if len(rows[0]) < 2:
        return False
    if header and header[0].lower() in CORNERS:
        return True
    texts = sum(not is_number(row[0]) and not is_missing(row[0]) for row in rows)
    return 2 * texts > len(rows)


def _find(
    path: Path, labels: str, names: tuple[str, ...], others: tuple[str, ...], kind: str
) -> int:
    """Place of the classes among the names; the other way round is worth a word."""
    if labels in names:
        return names.index(labels)
    one, other = ("column", "row") if kind == "columns" else ("row", "column")
    if labels in others:
        way = "columns" if kind == "columns" else "rows"
        raise ValueError(
            f"{path} has a {other} {labels!r} and no such {one}: its samples are in {way}. Use "
            f"samples={way!r}"
        )
    raise ValueError(f"{path} has no {one} {labels!r}. {offered(labels, names)}")
