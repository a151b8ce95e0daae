"""The first pass over many rows: whether all values are finite, how large they are, their sums."""

from dataclasses import dataclass

import numpy as np

from subspaces._types import AnyArray, Array, Block
from subspaces.core.array import is_sparse, namespace, to_host
from subspaces.data.block_pass import grand_total, squared_lengths, total


@dataclass(frozen=True)
class Survey:
    """Facts about the values of some rows; the surveys of two blocks add.

    largest: the largest absolute value; totals (p,): sums of the columns; energy: the sum of
    squared lengths; bad: row, column and value of the first entry that is not finite; n_bad: how
    many there are.
    """

    largest: float
    totals: Array
    energy: float
    bad: tuple[int, int, float] | None
    n_bad: int

    @property
    def has_holes(self) -> bool:
        """Whether the first entry that is not finite is a missing cell."""
        return self.bad is not None and bool(np.isnan(self.bad[2]))

    def __add__(self, other: "Survey") -> "Survey":
        return Survey(
            max(self.largest, other.largest),
            self.totals + other.totals,
            self.energy + other.energy,
            other.bad if self.bad is None else self.bad,
            self.n_bad + other.n_bad,
        )


def survey(rows: Block, labels: AnyArray | None, start: int) -> tuple[None, Survey]:
    """Return None, and the survey of a block whose first row has the number ``start``."""
    with np.errstate(over="ignore", invalid="ignore"):
        totals, largest = total(rows), _largest(rows)
    if not np.isfinite(largest) or not np.isfinite(totals).all():
        bad, n_bad = _not_finite(rows, start)
        if n_bad:
            return None, Survey(np.inf, np.zeros(rows.shape[1]), np.inf, bad, n_bad)
    with np.errstate(over="ignore"):
        energy = float(grand_total(squared_lengths(rows)))
    return None, Survey(largest, totals, energy, None, 0)


def _largest(rows: Block) -> float:
    """Return the largest absolute value of a block."""
    values = rows.data if is_sparse(rows) else rows
    if 0 in values.shape:
        return 0.0
    if isinstance(values, np.ndarray):
        return max(float(values.max()), -float(values.min()))
    return float(namespace(values).linalg.vector_norm(values, ord=np.inf))


def _not_finite(rows: Block, start: int) -> tuple[tuple[int, int, float] | None, int]:
    """Return (row, column, value) of the first entry that is not finite, and how many there are."""
    if is_sparse(rows):
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
