"""Samples that are exact copies of others: leaving one out leaves its copies in."""

import numpy as np
from numpy.typing import NDArray

from subspaces.data.validation import count_distinct_rows
from subspaces.runtime.warning import warn

Array = NDArray[np.floating]

# The share of the samples from which copies are told, and the most samples that are looked at. Of
# noise, 100 samples of 50 variables, a tenth copied gives components in 18 of 40 tables.
MANY, MOST_ROWS = 0.1, 10_000


def warn_of_copies(rows: Array, above: int = 1) -> None:
    """Warn where more than a tenth of the rows (n, p) are exact copies of others.

    above: as of `runtime.warning.warn`, for the caller.
    """
    n = len(rows)
    copies = n_copies(rows) if n <= MOST_ROWS else 0
    if copies > MANY * n:
        warn(
            f"{copies} of {n} samples are exact copies of others, which predict each other, so "
            "that leave-one-out errors are too small and noise passes for structure. Use each "
            "sample once",
            above=above + 1,
        )


def n_copies(rows: Array) -> int:
    """Return how many rows (n, p) equal an earlier one; 0 where they may well do so by chance."""
    n = len(rows)
    if rows.shape[1] == 0 or len(np.unique(rows[:, 0])) == n:
        return 0
    copies = n - count_distinct_rows(rows, n)
    return 0 if copies == 0 or _are_few_possible(rows) else copies


def _are_few_possible(rows: Array) -> bool:
    """Whether rows of the values of each column are fewer than pairs of rows, so that some meet."""
    possible, enough = 0.0, 2.0 * np.log2(len(rows))
    for column in rows.T:
        possible += np.log2(len(np.unique(column)))
        if possible >= enough:
            return False
    return True
