"""Some of many rows stand for all: which ones, and how a partition of them is extended.

A start is a function from the problem and a generator to labels.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from subspaces.core.partition import assign
from subspaces.core.problem import Problem

Labels = NDArray[np.intp]
Start = Callable[[Problem, np.random.Generator], Labels]

# Rows beyond this are sampled: the starts look at so many, the loop at all of them. More where
# that leaves a cluster fewer than 30 for each dimension.
LANDMARKS, PER_DIMENSION = 2000, 30


def landmarks(problem: Problem, random: np.random.Generator) -> Labels | None:
    """The rows that the starts look at; None for all of them."""
    n = len(problem.rows.squared_norms)
    enough = n_landmarks(problem.dimensions)
    return None if n <= enough else np.sort(random.choice(n, enough, replace=False))


def n_landmarks(dimensions: Sequence[int]) -> int:
    """How many rows are enough for the starts to look at."""
    return max(LANDMARKS, PER_DIMENSION * sum(r + 1 for r in dimensions))


def extend(problem: Problem, chosen: Labels, labels: Labels) -> Labels:
    """Give every row to the nearest of the flats of a partition of some of the rows."""
    n = len(problem.rows.squared_norms)
    residuals = [
        problem.rows.view(chosen[labels == k], r, problem.affine).squared_residual
        if np.any(labels == k)
        else np.full(n, np.inf)
        for k, r in enumerate(problem.dimensions)
    ]
    return assign(np.column_stack(residuals))


def on_landmarks(start: Start) -> Start:
    """Run a start on a sample of the rows and give each other row to the nearest flat."""

    def sampled(problem: Problem, random: np.random.Generator) -> Labels:
        chosen = landmarks(problem, random)
        if chosen is None:
            return start(problem, random)
        return extended(start, problem.subset(chosen), chosen)(problem, random)

    return sampled


def extended(start: Start, small: Problem, chosen: Labels) -> Start:
    """A start on some of the rows, as one on all."""

    def whole(problem: Problem, random: np.random.Generator) -> Labels:
        return extend(problem, chosen, start(small, random))

    return whole
