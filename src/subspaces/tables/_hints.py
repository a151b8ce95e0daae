"""Does a table look as if its samples were its variables, or as if some of it were neither?

Genes give it away: where most samples have names like genes and the variables have not, the table
was read the wrong way round. Counts alone say nothing, for there are more cells than genes.
"""

import re
from collections.abc import Iterator, Sequence

import numpy as np

from subspaces.tables._table import Table

IDENTIFIER = re.compile(
    r"X?\d+(_[a-z])?_at|AFFX-.+|[A-Z]{1,2}\d{5,6}(_\w+)*_(at|st)|.+_[asxfgir]?_?at|ENS[A-Z]*[GT]\d{6,}(\.\d+)?|"
    r"ILMN_\d+|[NX][MR]_\d+(\.\d+)?|(gene|probe|g)[ _.-]?\d+|cg\d{8}",
    re.IGNORECASE,
)
SYMBOL = re.compile(r"[A-Za-z][A-Za-z0-9]{1,9}(-[A-Za-z0-9]{1,4})?")
# Numbers that stand beside genes in tables of counts, and are no samples.
ANNOTATION = {"length", "start", "end", "width", "entrezid", "entrez_id", "entrez", "chr", "gc"}
LOOKED_AT = 2000
MOST, FEW = 0.8, 0.2


def orientation_hint(table: Table) -> str | None:
    """What to try where samples and variables seem to be swapped; None where all looks well."""
    n, p = table.data.shape
    if n <= p or n < 50 or _gene_like(table.sample_names) < MOST:
        return None
    if _gene_like(table.variable_names) > FEW:
        return None
    first = ", ".join(table.sample_names[:3])
    return f"the {n} samples have names like genes ({first}); are samples and variables swapped?"


def doubts(table: Table, samples: str) -> list[str]:
    """Sentences about what in a table may not be what it was taken for.

    Parameters
    ----------
    table : Table
        As it was read.
    samples : {"rows", "columns"}
        Where its samples were said to be.
    """
    turned = orientation_hint(table)
    other = "rows" if samples == "columns" else "columns"
    found = [f"{turned} Use samples={other!r} if so"] if turned else []
    for name, what in _intruders(table):
        found.append(f"{what}. Use ignore={[name]} to leave it out")
    return found


def _intruders(table: Table) -> Iterator[tuple[str, str]]:
    """Samples and variables that may be none: the name of each, and what speaks against it."""
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
    first = table.data[:, 0]
    counts = first[0] == round(first[0]) and (np.diff(first) == 1).all()
    if counts and len(first) >= 5 and table.data.shape[1] > 1:
        name = table.variable_names[0]
        yield name, f"the first variable, {name!r}, counts the samples"


def _gene_like(names: Sequence[str]) -> float:
    """Share of the names that are identifiers of genes, or symbols such as TP53 and Actb."""
    looked_at = names[:LOOKED_AT]
    identifiers = sum(IDENTIFIER.fullmatch(name) is not None for name in looked_at)
    return max(identifiers, _symbols(looked_at)) / len(looked_at)


def _symbols(names: Sequence[str]) -> int:
    """How many could be symbols; none where they share a few stems, as sample names do."""
    symbols = [name for name in names if SYMBOL.fullmatch(name) and not _is_barcode(name)]
    stems = {re.split(r"\d", name)[0] for name in symbols}
    return len(symbols) if len(stems) > 2 + 0.3 * len(names) else 0


def _is_barcode(name: str) -> bool:
    return len(name) >= 8 and set(name.split("-")[0]) <= set("ACGTN")
