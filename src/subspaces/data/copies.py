"""Samples that are exact copies of others: leaving one out leaves its copies in."""

import numpy as np

from subspaces._types import Array
from subspaces.data.validation import count_distinct_rows
from subspaces.runtime.warning import warn

# The least share of copies that is reported, their least number, and the most samples that are
# looked at. In noise of 200 samples and 60 variables 3 % of copies give components in 5 % of the
# tables, 5 % of them in 17 %, and 10 % in 57 %.
MANY, FEWEST, MOST_ROWS = 0.03, 2, 10_000
# Equal samples may be this many times more frequent than independent variables make them.
BY_CHANCE = 2.0


def warn_of_copies(rows: Array, above: int = 1) -> None:
    """Warn if at least 3 % of the rows (n, p), beyond chance, are exact copies of others.

    above: as of `runtime.warning.warn`, for the caller.
    """
    n = len(rows)
    copies = n_copies(rows) if n <= MOST_ROWS else 0
    beyond = copies - max(MANY * n, FEWEST)
    if beyond >= 0.0 and BY_CHANCE * equal_by_chance(rows, beyond / BY_CHANCE) <= beyond:
        warn(
            f"{copies} of {n} samples are exact copies of others, which predict each other, so "
            "that leave-one-out errors are too small and noise passes for structure. Use each "
            "sample once",
            above=above + 1,
        )


def n_copies(rows: Array) -> int:
    """Return how many rows (n, p) equal an earlier one."""
    n = len(rows)
    if rows.shape[1] == 0 or len(np.unique(rows[:, 0])) == n:
        return 0
    return n - count_distinct_rows(rows, n)


def equal_by_chance(rows: Array, enough: float = 0.0) -> float:
    """Return how many pairs of rows (n, p) would be equal if the columns were independent.

    Each column multiplies the pairs by the share of them that are equal in it, the sum of the
    squared frequencies of its values less the pairs of a row with itself. Below ``enough`` no
    further column is read.
    """
    n = len(rows)
    pairs = 0.5 * n * (n - 1)
    for column in rows.T:
        if pairs <= enough:
            break
        counts = np.unique(column, return_counts=True)[1].astype(float)
        pairs *= float(np.sum(counts * (counts - 1.0))) / (n * (n - 1))
    return pairs
