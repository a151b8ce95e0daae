"""What the flats say of the rows of one block that are not members: clusters, coordinates."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from subspaces.core.block_pass import Pass, centred, nearest, score, scores_on

Array = np.ndarray


@dataclass(frozen=True)
class Given:
    """What is told of rows that were given to clusters; of two blocks it adds.

    objective: the sum of the least costs; first (K,): the least row number in each cluster.
    """

    objective: float
    first: Array

    def __add__(self, other: "Given") -> "Given":
        first = np.minimum(self.first, other.first)
        return Given(self.objective + other.objective, first)


def give(rows: Any, labels: Any | None, start: int, plan: Pass) -> tuple[Array, Given]:
    """The cluster of least cost of every row."""
    cost, _ = score(rows, labels, start, plan)
    best = np.argmin(cost, axis=1).astype(np.int32)
    first = np.full(cost.shape[1], np.inf)
    there, where = np.unique(best, return_index=True)
    first[there] = start + where
    return best, Given(float(cost.min(axis=1).sum()), first)


def own_coordinates(rows: Any, labels: Any | None, start: int, plan: Pass) -> tuple[Array, None]:
    """Coordinates in the flat of the cluster of least cost, (b, R); nan beyond its dimension."""
    own, scores = _own_scores(rows, labels, start, plan)
    return np.where(plan.flats.in_use[own], scores, np.nan), None


def nearest_points(rows: Any, labels: Any | None, start: int, plan: Pass) -> tuple[Array, None]:
    """The nearest point to each row in the flat of the cluster of least cost, (b, p)."""
    own, scores = _own_scores(rows, labels, start, plan)
    flats = plan.flats
    points = flats.centres[own] if plan.origin is None else flats.centres[own] + plan.origin
    for k in np.unique(own):
        points[own == k] += scores[own == k] @ flats.axes[k].T
    return points, None


def _own_scores(rows: Any, labels: Any | None, start: int, plan: Pass) -> tuple[Array, Array]:
    own, _ = nearest(rows, labels, start, plan)
    shift = np.einsum("kp,kpr->kr", plan.flats.centres, plan.flats.axes)
    scores = scores_on(centred(rows, plan.origin), plan.flats)
    return own, scores[np.arange(len(own)), own] - shift[own]
