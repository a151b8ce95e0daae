"""The first pass over many rows: whether all values are finite, how large they are, their sums."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from subspaces.core import compiled_pass
from subspaces.core.array_namespace import namespace, to_host
from subspaces.core.block_pass import grand_total, squared_lengths, total

Array = NDArray[np.floating]


@dataclass(frozen=True)
class Survey:
    """What all rows have in common; surveys of two blocks add.

    largest: of the absolute values; totals (p,): sums of the columns; energy: squared lengths,
    summed; bad: row, column and value of the first that is not finite; n_bad: how many there are.
    """

    largest: float
    totals: Array
    energy: float
    bad: tuple[int, int, float] | None
    n_bad: int

    def __add__(self, other: "Survey") -> "Survey":
        return Survey(
            max(self.largest, other.largest),
            self.totals + other.totals,
            self.energy + other.energy,
            other.bad if self.bad is None else self.bad,
            self.n_bad + other.n_bad,
        )


def survey(rows: Any, labels: Any | None, start: int) -> tuple[None, Survey]:
    """Survey a block whose first row has the number ``start``."""
    if compiled_pass.knows(rows):
        largest, totals, energy = compiled_pass.survey(rows)
        if np.isfinite(totals).all() and np.isfinite(energy):
            return None, Survey(largest, totals, energy, None, 0)
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
