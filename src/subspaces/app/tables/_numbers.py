"""Conversion of cells of text, with names of rows and columns, to a table of numbers."""

from collections.abc import Sequence
from itertools import chain, islice
from pathlib import Path

import numpy as np

from subspaces._types import Array
from subspaces.app.tables._bad_cells import bad_cells_in_words
from subspaces.app.tables._block import Block, text_columns
from subspaces.app.tables._commas import notation_of
from subspaces.app.tables._grid import is_missing, is_number
from subspaces.app.tables._table import checked
from subspaces.app.tables._wanted import Wanted, check_asked, check_known
from subspaces.named_table import Table

# Cells that tell whether points separate thousands, where every cell is a number as it is.
LOOKED_AT = 50_000


def to_table(
    path: Path,
    block: Block,
    classes: tuple[str, ...] | None,
    wanted: Wanted,
    notes: tuple[str, ...] = (),
) -> Table:
    """Return the table of numbers, samples in rows, from the cells that ``wanted`` asks for."""
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
    return checked(table, path, block.places(samples_in_columns=flipped))


def _without_ignored(
    path: Path, block: Block, classes: tuple[str, ...] | None, wanted: Wanted
) -> tuple[Block, tuple[str, ...] | None]:
    """Return the block without ``wanted.ignore``, and the classes of the samples that are left."""
    check_known(path, wanted.ignore, [*block.column_names, *block.row_names])
    ignore = set(wanted.ignore)
    rows = {i for i, name in enumerate(block.row_names) if name in ignore}
    columns = {j for j, name in enumerate(block.column_names) if name in ignore}
    if classes is not None:
        dropped = columns if wanted.samples_in_columns else rows
        classes = tuple(name for i, name in enumerate(classes) if i not in dropped)
    return block.without(rows, columns), classes


def _without_unasked(block: Block, wanted: Wanted) -> tuple[Block, tuple[str, ...]]:
    """Return the block of ``wanted.variables`` only, and the names of what was left out.

    Where samples are columns, columns of text are left out, too.
    """
    if wanted.variables is None:
        return block, ()
    if wanted.samples_in_columns:
        kept = block.without(rows=_not_asked_for(block.row_names, wanted))
        texts = {name for name, _ in text_columns(kept)}
        kept = kept.without(
            columns={j for j, name in enumerate(kept.column_names) if name in texts}
        )
    else:
        kept = block.without(columns=_not_asked_for(block.column_names, wanted))
    there = {*kept.row_names, *kept.column_names}
    names = (*block.row_names, *block.column_names)
    return kept, tuple(name for name in names if name not in there)


def _not_asked_for(names: Sequence[str], wanted: Wanted) -> set[int]:
    return {i for i, name in enumerate(names) if not wanted.is_asked_for(name)}


def _numbers(path: Path, block: Block, wanted: Wanted) -> tuple[Array, str | None]:
    """Return the cells as floats, and a note where a cell such as "1,065" is ambiguous.

    Raises ValueError, with remedies, about all cells that are no numbers.
    """
    data = np.empty((len(block.cells), len(block.columns)))
    try:
        for i, row in enumerate(block.cells):
            data[i] = _plain_floats(row)
    except ValueError:
        pass
    else:
        top = list(islice(chain.from_iterable(block.cells), LOOKED_AT))
        return data, notation_of(top).note(top)
    notation, bad = notation_of(chain.from_iterable(block.cells)), []
    for i, row in enumerate(block.cells):
        for j, cell in enumerate(row):
            plain = notation.plain(cell)
            if is_number(plain) or is_missing(cell):
                data[i, j] = np.nan if is_missing(cell) else float(plain)
            else:
                bad.append((i, j))
    if bad:
        raise ValueError(f"{path}, {bad_cells_in_words(block, bad, notation, wanted)}")
    return data, notation.note(chain.from_iterable(block.cells))


def _plain_floats(row: list[str]) -> list[float]:
    if "_" in "".join(row):  # Python takes 1_000 for a number
        raise ValueError
    return list(map(float, row))
