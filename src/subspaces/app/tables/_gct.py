"""Readers of the Broad Institute's GCT files (expression values) and CLS files (classes)."""

from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import numpy as np

from subspaces.app.tables._content import text_of
from subspaces.app.tables._sheet import Sheet, Side, Wanted, named, offered, unmarked
from subspaces.app.tables._table import to_table
from subspaces.app.tables._text import Grid, as_grid, as_whole
from subspaces.messages import Advice, ParameterError, refused
from subspaces.named_table import Table

# What line 2 counts in each version.
SIZES = {
    "#1.2": "rows and columns",
    "#1.3": "rows, columns, annotation columns and annotation rows",
}


def read_gct(path: Path, wanted: Wanted) -> Table:
    """Return the table in a GCT file, version 1.2 or 1.3; in 1.3 an extra row may hold classes."""
    sizes, grid = _parts(path)
    n_rows, n_columns, n_texts, n_extra = sizes if len(sizes) == 4 else (*sizes, 1, 0)
    cells, first = unmarked(grid.cells, wanted), 1 + n_texts
    for what, said, found in (
        ("columns of samples", n_columns, cells.shape[1] - first),
        ("rows of variables", n_rows, len(cells) - 1 - n_extra),
    ):
        if said != found:
            begin = f"{path}: line 2 gives {said} as the number of {what}, but the file has {found}"
            raise refused(f"{begin}. Check that the file is complete.")
    classes = {row[0]: row[first:] for row in cells[1 : 1 + n_extra]}
    labels, body = wanted.labels, cells[1 + n_extra :]
    for name in (labels, wanted.sample_names):
        if name is not None and name not in classes:
            _refuse(path, name, list(classes), is_class=name == labels)
    names = classes.get(wanted.sample_names or "", cells[0, first:])
    sheet = Sheet(
        body[:, first:].T,
        named("column", names, n_columns, "", first + 1),
        Side("line", body[:, 0], np.array(grid.lines[1 + n_extra :])),
        None if labels is None else classes[labels],
    )
    return to_table(path, sheet, replace(wanted, samples_in_columns=True))


def _refuse(path: Path, name: str, known: list[str], *, is_class: bool) -> NoReturn:
    """Raise ParameterError: the annotation row that holds classes or sample names is not there."""
    if known:
        raise refused(f"{path} has no annotation row {name!r}{offered(name, known)}")
    parameter, todo = "sample_names", "leave out <sample_names>"
    if is_class:
        parameter, todo = "labels", "give the classes in a CLS file with <classes>"
    raise ParameterError(parameter, "{path} has no annotation rows.", Advice(todo), path=path)


def _parts(path: Path) -> tuple[tuple[int, ...], Grid]:
    """Return a GCT file's sizes (line 2) and the lines below as cells."""
    version, _, rest = text_of(path)[0].partition("\n")
    version = version.strip()
    if version not in SIZES:
        raise refused(
            f"{path}, line 1: {version[:20]!r} is not a known version of GCT. It must be #1.2 "
            "or #1.3."
        )
    counts, _, rest = rest.partition("\n")
    sizes = tuple(size for word in counts.split() if (size := as_whole(word)) is not None)
    if not len(sizes) == len(counts.split()) == (2 if version == "#1.2" else 4):
        raise refused(
            f"{path}, line 2: {counts.strip()[:40]!r} is not the size of a table. Write the "
            f"numbers of {SIZES[version]}."
        )
    if not rest.strip():
        raise refused(f"{path} ends before the table. Check that the file is complete.")
    return sizes, as_grid(path, rest, "\t", first_line=3)


def read_cls(path: Path) -> tuple[str, ...]:
    """Return the class of each sample, n names, from a CLS file.

    The file has three lines: the numbers of samples and classes and a 1; # and the names of the
    classes; one class per sample, by name or by a mark. Marks stand for the names in order of
    appearance.
    """
    lines = [line.split() for line in text_of(path)[0].splitlines() if line.strip()]
    if len(lines) != 3 or lines[1][0] == "#numeric":
        raise refused(
            f"{path} is not a CLS file. It must have three lines: the sizes, the class names "
            "after #, and the class of each sample."
        )
    sizes, heading, marks = lines
    names = [name for name in [heading[0].lstrip("#"), *heading[1:]] if name]
    n_samples, n_classes = map(as_whole, [*sizes, "", ""][:2])
    if n_samples is None or n_classes is None:
        raise refused(
            f"{path}, line 1: {' '.join(sizes)!r} should be the numbers of samples and classes. "
            "For 38 samples in 3 classes, write 38 3 1."
        )
    used = list(dict.fromkeys(marks))
    if len(marks) != n_samples or len(names) != n_classes or len(used) > n_classes:
        found = max(len(used), n_classes) if len(names) == n_classes else len(names)
        raise refused(
            f"{path}: line 1 says {n_samples} samples and {n_classes} classes, but the file has "
            f"{len(marks)} and {found}. Correct the line."
        )
    if set(used) <= set(names):
        return tuple(marks)
    named = dict(zip(used, names, strict=False))
    return tuple(named[mark] for mark in marks)
