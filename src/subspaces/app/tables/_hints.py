"""Warnings about a table: sides swapped, annotation or totals read as samples, odd classes.

A swap shows in the names: most samples are named like genes, and few variables are. The numbers of
rows and columns do not tell, since some tables have more biological cells than genes. It is a
warning and no error: cell lines (MCF7, T47D, HCT116) are named like genes, and genes may be what is
to be clustered.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from subspaces.app.tables._sheet import CLASSES
from subspaces.messages import Advice, DataWarning
from subspaces.named_table import Table, marks_of_missing

IDENTIFIER = re.compile(
    r"X?\d+(_[a-z])?_at|AFFX-.+|[A-Z]{1,2}\d{5,6}(_\w+)*_(at|st)|.+_[asxfgir]?_?at|ENS[A-Z]*[GT]\d{6,}(\.\d+)?|"
    r"ILMN_\d+|[NX][MR]_\d+(\.\d+)?|(gene|probe|g)[ _.-]?\d+|cg\d{8}",
    re.IGNORECASE,
)
SYMBOL = re.compile(r"[A-Za-z][A-Za-z0-9]{1,9}(-[A-Za-z0-9]{1,4})?")
# Columns of numbers in tables of counts that describe genes and are not samples.
ANNOTATION = {"length", "start", "end", "width", "entrezid", "entrez_id", "entrez", "chr", "gc"}
# Names of variables that hold keys, and the fewest samples whose numbers do not differ by chance.
KEY = re.compile(r"((?i:(^|[_\W])(id|index|idx|nr|no|number|key|code))|[a-z]ID)$")
FEWEST_KEYS = 10
# What people call further columns of classes that are coded as numbers.
CODED = {"batch", "category", "digit", "gender", "outcome", "sex", "site", "status", "survived"}
# Names of variables that hold the time of a sample.
TIMES = {"year", "yr", "month", "week", "day", "weekday", "hour", "quarter"}
# The most levels of a column of whole numbers that is taken for classes whatever its name.
MOST_CLASSES = 20
# The fewest variables that are taken for genes: short names of a few others look like symbols.
FEWEST_GENES = 20
# Names that are looked at, and the shares of gene names that count as most and as few.
LOOKED_AT = 2000
MOST, FEW = 0.8, 0.2


def seem_swapped(table: Table) -> bool:
    """Whether samples and variables seem to be swapped, by their names."""
    n, p = table.data.shape
    if n <= p or n < 50 or _gene_like(table.sample_names) < MOST:
        return False
    return _gene_like(table.variable_names) <= FEW


def hold_counts(table: Table) -> bool:
    """Whether the table seems to hold raw counts of genes."""
    values = table.data
    if values.shape[1] < FEWEST_GENES:
        return False
    are_counts = (values >= 0).all() and (values == np.rint(values)).all() and not values.all()
    return bool(are_counts and _gene_like(table.variable_names) >= MOST)


def doubts(table: Table, samples: str) -> list[DataWarning]:
    """Return warnings: swapped sides, annotation, totals, classes.

    Also of variables that number the samples, of numbers such as -999, of numbers that may be
    classes, and of samples without one.

    Parameters
    ----------
    table : Table
        The table as it was read.
    samples : {"rows", "columns"}
        Where its samples were said to be.
    """
    found = []
    if seem_swapped(table):
        fact = (
            "Samples have names like {names[0]!r}, as genes do, so samples and variables may be "
            "swapped."
        )
        advice = Advice("set <samples={other!r}> if they are", "samples")
        facts = {"n": len(table.data), "other": "rows" if samples == "columns" else "columns"}
        found.append(DataWarning("swapped", fact, advice, **facts, names=table.sample_names[:3]))
    marked = marks_of_missing(table.data, table.variable_names)
    parts = (_intruders, _identifiers, _times, _columns_of_classes, _without_class)
    return [*found, *marked, *chain.from_iterable(part(table) for part in parts)]


def _without_class(table: Table) -> Iterator[DataWarning]:
    """Yield a warning on samples that have no class, if others have one."""
    classes = table.classes or ()
    names = [name for name, own in zip(table.sample_names, classes, strict=False) if not own]
    if names:
        fact = "Comparisons leave out {n:#sample} without a class: {names:'}."
        yield DataWarning("no_class", fact, n=len(names), names=names)


def _columns_of_classes(table: Table) -> Iterator[DataWarning]:
    """Yield a warning on the first variable that seems to hold classes: few whole numbers.

    It has a name that classes have, or is the first or last one and the only one of whole numbers.
    """
    n, p = table.data.shape
    coded = CLASSES | CODED
    named = [j for j, name in enumerate(table.variable_names) if name.lower() in coded]
    for j in [*named, 0, p - 1] * (p > 1):
        levels = len(np.unique(table.data[:, j]))
        if not _is_whole(table, j) or _is_time(table, j) or not 1 < levels <= n / 4:
            continue
        alone = levels <= MOST_CLASSES and not any(_is_whole(table, i) for i in range(p) if i != j)
        if j in named or alone:
            fact = "Variable {name!r} seems to hold known classes."
            advice = Advice("set <labels={name!r}> if it does", "labels")
            name = table.variable_names[j]
            yield DataWarning("classes_as_variable", fact, advice, name=name)
            return


def _is_whole(table: Table, j: int) -> bool:
    return bool((table.data[:, j] == np.rint(table.data[:, j])).all())


def _is_time(table: Table, j: int) -> bool:
    return table.variable_names[j].lower() in TIMES and _is_whole(table, j)


def _times(table: Table) -> Iterator[DataWarning]:
    """Yield a warning on variables that tell when a sample was taken."""
    p = len(table.variable_names)
    names = [name for j, name in enumerate(table.variable_names) if _is_time(table, j)]
    if names and p > len(names):
        fact = "{names:'} seems to be a date or time, but is used as a measurement."
        several = "{names:'} seem to be dates or times, but are used as measurements."
        them = "it" if len(names) == 1 else "them"
        advice = Advice(f"add <ignore={{names!r}}> to leave {them} out", "ignore")
        fact = fact if len(names) == 1 else several
        yield DataWarning("times", fact, advice, names=names)


def _intruders(table: Table) -> Iterator[DataWarning]:
    """Yield warnings on samples that seem to be annotation or totals."""
    leave_out = Advice("add <ignore={names!r}> to leave it out", "ignore")
    for name in table.sample_names:
        if name.lower() in ANNOTATION:
            fact = "Sample {name!r} looks like gene annotation, not a sample."
            yield DataWarning("annotation", fact, leave_out, name=name, names=[name])
    last, others = table.data[-1], table.data[:-1]
    total = others.sum(axis=0)
    for values, what in ((total, "sum"), (total / max(len(others), 1), "mean")):
        if len(others) > 1 and last.any() and np.allclose(last, values, rtol=1e-6, atol=0):
            name = table.sample_names[-1]
            fact = "The last sample, {name!r}, is just the {what} of all other samples."
            yield DataWarning("totals", fact, leave_out, name=name, names=[name], what=what)
            break


def _identifiers(table: Table) -> Iterator[DataWarning]:
    """Yield a warning on variables that number the samples, or are named and differ as keys do."""
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
    them = "it" if len(names) == 1 else "them"
    fact = "Variables {names:'} look like row numbers or IDs."
    if len(names) == 1:
        fact = "Variable {names:'} looks like a row number or an ID."
    if names and p > 1:
        yield DataWarning(
            "identifiers",
            fact,
            Advice(f"add <ignore={{names!r}}> to leave {them} out", "ignore"),
            Advice("set <sample_names={names[0]!r}> to use it as sample names", "sample_names"),
            names=names,
        )


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
