"""How sparse should the weights of sparse K-means be? The permutation gap decides.

``Gap(s) = log O(s) - mean_b log O_b(s)``, with O(s) the objective reached under ``||w||_1 <= s``
and O_b(s) the same on data whose columns were permuted, each on its own [Witten & Tibshirani 2010].
Taken is the smallest s whose gap is within one standard error of the largest: the
curve is flat at its top, and the place of the maximum a matter of chance.

What is reached under a small bound is feasible under a larger one, so O(s) is the best of all
bounds up to s; otherwise poor local optima of the permuted copies, which large bounds have most of,
would pass for a gap. All bounds share the first partitions of a data set, since these do not depend
on s.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from subspaces.core.feature_weights import (
    WeightedClustering,
    best_of_starts,
    bounded_weights,
    first_partitions,
)

Array = NDArray[np.floating]

PERMUTATIONS = 5
STARTS = 2
BOUNDS, SMALLEST_BOUND = 10, 1.2


@dataclass(frozen=True)
class GapTable:
    """Per bound: the objective, the gap, its standard error, the weights above zero."""

    bounds: Array
    objectives: Array
    gaps: Array
    standard_errors: Array
    counts: NDArray[np.intp]

    @property
    def chosen(self) -> float:
        """The smallest bound whose gap is within one standard error of the largest."""
        best = int(np.argmax(self.gaps))
        enough = self.gaps >= self.gaps[best] - self.standard_errors[best]
        return float(self.bounds[np.argmax(enough)])


def candidate_bounds(n_variables: int) -> Array:
    """Ten bounds from 1.2 to ``sqrt(p)``, evenly spaced in their logarithms."""
    largest = float(np.sqrt(n_variables))
    return np.unique(np.geomspace(min(SMALLEST_BOUND, largest), largest, BOUNDS))


def gap_table(
    X: Array, n_clusters: int, *, max_iter: int, tol: float, random: np.random.Generator
) -> GapTable:
    """The gap of every candidate bound, from five permuted copies."""
    bounds = candidate_bounds(X.shape[1])

    def ends(data: Array) -> Sequence[WeightedClustering]:
        starts = first_partitions(data, n_clusters, STARTS, random)
        return [
            best_of_starts(data, starts, partial(bounded_weights, bound=s), max_iter, tol)
            for s in bounds.tolist()
        ]

    observed = ends(X)
    copies = [ends(random.permuted(X, axis=0)) for _ in range(PERMUTATIONS)]
    objectives = _reached(observed)
    permuted = np.log([_reached(copy) for copy in copies])
    return GapTable(
        bounds,
        objectives,
        np.log(objectives) - permuted.mean(axis=0),
        permuted.std(axis=0, ddof=1) / np.sqrt(PERMUTATIONS),
        np.array([np.count_nonzero(end.weights) for end in observed]),
    )


def _reached(ends: Sequence[WeightedClustering]) -> Array:
    return np.maximum.accumulate([end.path[-1] for end in ends])
