"""The first pass over many rows: whether all values are finite, how large they are, their sums."""

from typing import Any

import numpy as np
from scipy import sparse

from subspaces.core.array_namespace import namespace, to_host
from subspaces.core.survey import Survey
from subspaces.data.block_pass import grand_total, squared_lengths, total


def survey(rows: Any, labels: Any | None, start: int) -> tuple[None, Survey]:
    """Survey a block whose first row has the number ``start``."""
    with np.errstate(over="ignore", invalid="ignore"):
        totals, largest = total(rows), _largest(rows)
    if not np.isfinite(largest) or not np.isfinite(totals).all():
        bad, n_bad = _not_finite(rows, start)
        if n_bad:
            return None, Survey(np.inf, np.zeros(rows.shape[1]), np.inf, bad, n_bad)
    with np.errstate(over="ignore"):
        energy = float(grand_total(squared_lengths(rows)))
    return None, Survey(largest, totals, energy, None, 0)


def _largest(rows: Any) -> float:
    """Of the absolute values."""
    values = rows.data if sparse.issparse(rows) else rows
    if 0 in values.shape:
        return 0.0
    if isinstance(values, np.ndarray):
        return max(float(values.max()), -float(values.min()))
    return float(namespace(values).linalg.vector_norm(values, ord=np.inf))


def _not_finite(rows: Any, start: int) -> tuple[tuple[int, int, float] | None, int]:
    if sparse.issparse(rows):
        entries = np.flatnonzero(~np.isfinite(rows.data))
        if len(entries) == 0:
            return None, 0
        entry = entries[0]
        row = int(np.searchsorted(rows.indptr, entry, side="right")) - 1
        return (start + row, int(rows.indices[entry]), float(rows.data[entry])), len(entries)
    where = np.argwhere(~np.isfinite(to_host(rows)))
    if len(where) == 0:
        return None, 0
    row, column = (int(index) for index in where[0])
    return (start + row, column, float(rows[row, column])), len(where)
