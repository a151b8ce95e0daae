"""Warnings about a table: sides swapped, annotation or totals read as samples, odd classes.

A swap shows in the names: most samples are named like genes, and few variables are. The numbers of
rows and columns do not tell, since some tables have more biological cells than genes. It is a
warning and no error: cell lines (MCF7, T47D, HCT116) are named like genes, and genes may be what is
to be clustered.
"""

import re
from collections.abc import Iterator, Sequence

import numpy as np

from subspaces.app.tables._sheet import CLASSES
from subspaces.messages import listed
from subspaces.named_table import Table

IDENTIFIER = re.compile(
    r"X?\d+(_[a-z])?_at|AFFX-.+|[A-Z]{1,2}\d{5,6}(_\w+)*_(at|st)|.+_[asxfgir]?_?at|ENS[A-Z]*[GT]\d{6,}(\.\d+)?|"
    r"ILMN_\d+|[NX][MR]_\d+(\.\d+)?|(gene|probe|g)[ _.-]?\d+|cg\d{8}",
    re.IGNORECASE,
)
SYMBOL = re.compile(r"[A-Za-z][A-Za-z0-9]{1,9}(-[A-Za-z0-9]{1,4})?")
# Columns of numbers beside the genes in tables of counts that are not samples.
ANNOTATION = {"length", "start", "end", "width", "entrezid", "entrez_id", "entrez", "chr", "gc"}
# Names of variables that hold keys, and the fewest samples whose numbers do not differ by chance.
KEY = re.compile(r"((?i:(^|[_\W])(id|index|idx|nr|no|number|key|code))|[a-z]ID)$")
FEWEST_KEYS = 10
# Numbers that people write for a missing value.
MARKS = (-99999.0, -9999.0, -999.0, -99.0, 999.0, 9999.0, 99999.0)
# Names that are looked at, and the shares of gene names that count as most and as few.
LOOKED_AT = 2000
MOST, FEW = 0.8, 0.2


def orientation_hint(table: Table) -> str | None:
    """Return a warning if samples and variables seem to be swapped; None otherwise."""
    n, p = table.data.shape
    if n <= p or n < 50 or _gene_like(table.sample_names) < MOST:
        return None
    if _gene_like(table.variable_names) > FEW:
        return None
    first = ", ".join(table.sample_names[:3])
    return f"the {n} samples have names like genes ({first}); are samples and variables swapped?"


def counts_hint(table: Table) -> str | None:
    """Return a warning if the table seems to hold raw counts of genes; None otherwise."""
    values = table.data
    are_counts = (values >= 0).all() and (values == np.rint(values)).all() and not values.all()
    if not are_counts or _gene_like(table.variable_names) < MOST:
        return None
    return (
        f"the values look like counts of genes (whole numbers from 0 to {values.max():.3g}), of "
        "which deep samples and frequent genes decide all"
    )


def doubts(table: Table, samples: str) -> list[str]:
    """Return warnings, one sentence each: swapped sides, annotation, totals, counts, classes.

    Also of variables that number the samples, of numbers such as -999, and of classes: numbers that
    may be such, samples without one, names that differ in capitals.

    Parameters
    ----------
    table : Table
        The table as it was read.
    samples : {"rows", "columns"}
        Where its samples were said to be.
    """
    turned = orientation_hint(table)
    other = "rows" if samples == "columns" else "columns"
    found = [f"{turned} Use samples={other!r} if so"] if turned else []
    for name, what in _intruders(table):
        found.append(f"{what}. Use ignore={[name]} to leave it out")
    found += _identifiers(table) + _marks(table)
    if classes := _classes(table):
        found.append(
            f"the variable {classes!r} has a name and values as known classes have, and counts as "
            f"a variable. Use labels={classes!r} if it holds them"
        )
    return [*found, *_without_class(table), *_alike(table.classes or ())]


def _without_class(table: Table) -> Iterator[str]:
    """Yield the sentence on samples that have no class, if others have one."""
    names = [
        name for name, own in zip(table.sample_names, table.classes or (), strict=False) if not own
    ]
    left_out = "left out of comparisons with the classes"
    if len(names) == 1:
        yield f"sample {names[0]!r} has no class and is {left_out}"
    elif names:
        yield f"{len(names)} samples have no class ({listed(names)}) and are {left_out}"


def _alike(classes: Sequence[str]) -> Iterator[str]:
    """Yield a sentence on each pair of classes that may be one, such as "case" and "Case"."""
    first: dict[str, str] = {}
    for name in dict.fromkeys(filter(None, classes)):
        other = first.setdefault("".join(name.lower().split()), name)
        if other != name:
            yield (
                f"the classes {other!r} and {name!r} differ only in capitals or spaces, and count "
                "as two"
            )


def _classes(table: Table) -> str | None:
    """Return the first variable that seems to hold known classes: a few whole numbers, each often.

    None where there is none.
    """
    for j, name in enumerate(table.variable_names):
        if name.lower() in CLASSES:
            values = table.data[:, j]
            often = len(np.unique(values)) <= len(values) / 4
            if often and table.data.shape[1] > 1 and (values == np.rint(values)).all():
                return name
    return None


def _intruders(table: Table) -> Iterator[tuple[str, str]]:
    """Yield (name, reason) of samples that seem to be annotation or totals."""
    for name in table.sample_names:
        if name.lower() in ANNOTATION:
            yield name, f"the sample {name!r} has a name as annotation of genes has"
    last, others = table.data[-1], table.data[:-1]
    total = others.sum(axis=0)
    for values, what in ((total, "sum"), (total / max(len(others), 1), "mean")):
        if len(others) > 1 and last.any() and np.allclose(last, values, rtol=1e-6, atol=0):
            name = table.sample_names[-1]
            yield name, f"the last sample, {name!r}, is the {what} of all others"
            break


def _identifiers(table: Table) -> list[str]:
    """Return a note on variables that number the samples, or are named and differ as keys do."""
    n, p = table.data.shape
    spans = np.ptp(table.data, axis=0) == n - 1
    names = []
    for j, name in enumerate(table.variable_names):
        if not spans[j] and not KEY.search(name):
            continue
        values = table.data[:, j]
        is_key = (values == np.rint(values)).all() and len(np.unique(values)) == n
        if is_key and (n >= FEWEST_KEYS or (n >= 5 and (np.diff(values) == 1).all())):
            names.append(name)
    if not names or p == 1:
        return []
    are, them = ("seems to number", "it") if len(names) == 1 else ("seem to number", "them")
    return [
        f"{listed(names)} {are} the samples. Use ignore={names} to leave {them} out, or "
        f"sample_names={names[0]!r} to name the samples so"
    ]


def _marks(table: Table) -> list[str]:
    """Return a note on numbers such as -999 that may mark missing values: far off, and repeated."""
    ends = np.fmin.reduce(table.data), np.fmax.reduce(table.data)
    found: dict[str, list[str]] = {}
    for j in np.flatnonzero(np.isin(ends, MARKS).any(axis=0)):
        values = table.data[:, j]
        others = values[np.isfinite(values) & ~np.isin(values, MARKS)]
        for mark, count in zip(*np.unique(values, return_counts=True), strict=True):
            if mark in MARKS and count > 1 and len(others):
                off = max(others.min() - mark, mark - others.max())
                if off > np.ptp(others):
                    where = f"{count} values of {table.variable_names[j]}"
                    found.setdefault(f"{mark:g}", []).append(where)
    if not found:
        return []
    said = ", ".join(f"{mark} ({listed(places)})" for mark, places in found.items())
    return [
        f"far from all other values: {said}. Use missing={list(found)} if "
        f"{'it marks' if len(found) == 1 else 'they mark'} missing values"
    ]


def _gene_like(names: Sequence[str]) -> float:
    """Return the share (0 to 1) of names that look like gene identifiers or gene symbols."""
    looked_at = names[:LOOKED_AT]
    identifiers = sum(IDENTIFIER.fullmatch(name) is not None for name in looked_at)
    return max(identifiers, _symbols(looked_at)) / len(looked_at)


def _symbols(names: Sequence[str]) -> int:
    """Return how many names look like gene symbols (TP53, Actb); 0 if they share a few stems.

    Names with few stems before their numbers, such as patient1 and patient2, are samples.
    """
    symbols = [name for name in names if SYMBOL.fullmatch(name) and not _is_barcode(name)]
    stems = {re.split(r"\d", name)[0] for name in symbols}
    return len(symbols) if len(stems) > 2 + 0.3 * len(names) else 0


def _is_barcode(name: str) -> bool:
    return len(name) >= 8 and set(name.split("-")[0]) <= set("ACGTN")
