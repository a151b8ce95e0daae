"""Samples that are exact copies of others: leaving one out leaves its copies in."""

from collections import Counter

import numpy as np

from subspaces._types import Array
from subspaces.runtime.warning import warn

# The least percentage of copies that is reported, their least number, and the most samples that
# are looked at. In noise of 200 samples and 60 variables 3 % of copies give components in 5 % of
# the tables, 5 % of them in 17 %, and 10 % in 57 %.
MANY_PERCENT, FEWEST, MOST_ROWS = 3, 2, 10_000
# Equal samples may be this many times more frequent than independent variables make them; below
# this expected number chance makes none.
BY_CHANCE, NEVER = 2.0, 0.01


def warn_of_copies(rows: Array, above: int = 1, of_components: bool = False) -> None:
    """Warn if at least 3 % of the rows (n, p), beyond chance, are exact copies of others.

    above: as of `runtime.warning.warn`, for the caller. of_components: whether components are
    counted. Then one row that is there more than ``1 + sqrt(n/p)`` times is enough: the eigenvalue
    that it makes leaves those of noise [Baik, Ben Arous & Peche 2005].
    """
    n, p = rows.shape
    if n > MOST_ROWS or (copies := n_copies(rows)) == 0:
        return
    chance = equal_by_chance(rows, NEVER)
    beyond = copies - (BY_CHANCE * chance if chance > NEVER else 0.0)
    many = beyond >= FEWEST and 100.0 * beyond >= MANY_PERCENT * n
    often = of_components and max(times_each(rows)) > 1.0 + np.sqrt(n / p)
    if many or (often and chance <= NEVER):
        which = "is an exact copy of another" if copies == 1 else "are exact copies of others"
        warn(
            f"{copies} of {n} samples {which}, which predict each other, so that leave-one-out "
            "errors are too small and noise passes for structure. Use each sample once",
            above=above + 1,
        )


def n_copies(rows: Array) -> int:
    """Return how many rows (n, p) equal an earlier one."""
    return len(rows) - len(times_each(rows))


def times_each(rows: Array) -> list[int]:
    """Return how many times each distinct row (n, p) is there."""
    n = len(rows)
    if rows.shape[1] == 0 or len(np.unique(rows[:, 0])) == n:
        return [1] * n
    return list(Counter((row + 0.0).tobytes() for row in rows).values())  # -0.0 has other bytes


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
