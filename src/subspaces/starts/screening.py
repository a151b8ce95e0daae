"""Which variables carry more than noise, before the clusters are known."""

from dataclasses import replace

import numpy as np

from subspaces._types import Array, Indices
from subspaces.core.problem import Problem
from subspaces.core.rows import DenseRows
from subspaces.core.which_run import Start
from subspaces.starts.landmarks import on_landmarks

# Standard deviations from the mean beyond which a value is left out of it.
CLIP = 3.0
# A mean square counts as more than noise if it is this many standard deviations above it.
CUT = 2.5


def screen_variables(matrix: Array, fewest: int) -> Indices:
    """Return the sorted indices of variables whose mean square stands out, at least ``fewest``.

    The mean square of a variable that is noise of variance ``sigma^2`` has standard deviation
    ``sigma^2 sqrt(2/n)``; kept are those above ``sigma^2 (1 + 2.5 sqrt(2/n))``, with ``sigma^2``
    the clipped mean over the variables.
    """
    n, p = matrix.shape
    matrix = matrix / max(float(np.abs(matrix).max(initial=0.0)), np.finfo(float).tiny)
    energy = np.einsum("ij,ij->j", matrix, matrix) / n
    limit = clipped_mean(energy) * (1.0 + CUT * np.sqrt(2.0 / n))
    kept = max(int(np.count_nonzero(energy > limit)), min(fewest, p))
    return np.sort(np.argsort(-energy, kind="stable")[:kept])


def screened_rows(problem: Problem) -> DenseRows:
    """Return the rows with only the variables that carry more than noise."""
    matrix = problem.rows.coordinates
    return DenseRows(matrix[:, screen_variables(matrix, fewest=2 * sum(problem.dimensions) + 2)])


def on_screened_variables(start: Start, problem: Problem) -> Start:
    """Return a start that runs the given one on the variables that carry more than noise."""
    small = replace(problem, rows=screened_rows(problem), sparsity=None)
    return lambda problem, random: on_landmarks(start)(small, random)


def clipped_mean(values: Array) -> float:
    """Return the mean of the values within three standard deviations of it, found by iteration."""
    middle, spread = float(np.median(values)), float(values.std())
    for _ in range(50):
        inside = values[np.abs(values - middle) <= CLIP * spread]
        if not len(inside):  # values that differ by rounding alone
            break
        new_middle, new_spread = float(inside.mean()), float(inside.std())
        if (new_middle, new_spread) == (middle, spread):
            break
        middle, spread = new_middle, new_spread
    return middle
