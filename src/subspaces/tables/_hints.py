"""Does a table look as if its samples were its variables, or as if a sample were the total?

Genes give it away: where most samples have names like genes and the variables have not, the table
was read the wrong way round. Counts alone say nothing, for there are more cells than genes.
"""

import re
from collections.abc import Sequence

import numpy as np

from subspaces.tables._table import Table

IDENTIFIER = re.compile(
    r"X?\d+(_[a-z])?_at|AFFX-.+|[A-Z]{1,2}\d{5,6}(_\w+)*_(at|st)|.+_[asxfgir]?_?at|ENS[A-Z]*[GT]\d{6,}(\.\d+)?|"
    r"ILMN_\d+|[NX][MR]_\d+(\.\d+)?|(gene|probe|g)[ _.-]?\d+|cg\d{8}",
    re.IGNORECASE,
)
SYMBOL = re.compile(r"[A-Za-z][A-Za-z0-9]{1,9}(-[A-Za-z0-9]{1,4})?")
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


def total_hint(table: Table) -> str | None:
    """Say that the last sample is the sum or the mean of all others; None where it is neither."""
    last, others = table.data[-1], table.data[:-1]
    if len(others) < 2 or not last.any():
        return None
    total = others.sum(axis=0)
    for values, what in ((total, "sum"), (total / len(others), "mean")):
        if np.allclose(last, values, rtol=1e-6, atol=0):
            return f"the last sample, {table.sample_names[-1]!r}, is the {what} of all others"
    return None


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
