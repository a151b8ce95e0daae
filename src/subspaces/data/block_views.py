"""What the flats say of the rows of one block that are not members: clusters, coordinates."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from subspaces.core.array_namespace import like, membership, namespace, to_host
from subspaces.data.block_pass import (
    Pass,
    centred,
    costs,
    grand_total,
    score,
    scores_on,
    squared_distances,
)

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


def give(rows: Any, labels: Any | None, start: int, plan: Pass) -> tuple[Any, Given]:
    """The cluster of least cost of every row."""
    cost, _ = score(rows, labels, start, plan)
    xp = namespace(cost)
    best = xp.astype(xp.argmin(cost, axis=1), xp.int32)
    first = np.full(cost.shape[1], np.inf)
    there, where = np.unique(to_host(best), return_index=True)
    first[there] = start + where
    return best, Given(float(grand_total(xp.min(cost, axis=1))), first)


def own_coordinates(rows: Any, labels: Any | None, start: int, plan: Pass) -> tuple[Any, None]:
    """Coordinates in the flat of the cluster of least cost, (b, R); nan beyond its dimension."""
    weights, own = _own_scores(rows, plan)
    xp = namespace(own)
    used = weights @ like(plan.flats.in_use, own) > 0.0
    return xp.where(used, own, xp.full_like(own, np.nan)), None


def nearest_points(rows: Any, labels: Any | None, start: int, plan: Pass) -> tuple[Any, None]:
    """The nearest point to each row in the flat of the cluster of least cost, (b, p)."""
    weights, own = _own_scores(rows, plan)
    xp, placed = namespace(own), plan.beside(own)
    spread = weights[..., None] * own[:, None, :]
    points = xp.reshape(spread, (own.shape[0], placed.axes.shape[1])) @ placed.axes.T
    return points + weights @ placed.centres + placed.origin, None


def _own_scores(rows: Any, plan: Pass) -> tuple[Any, Any]:
    """Of every row, its cluster as a row of a unit matrix, (b, K), and its scores there, (b, R)."""
    rows = centred(rows, plan)
    scores = scores_on(rows, plan)
    cost = costs(scores, squared_distances(rows, plan), None, plan)
    xp = namespace(cost)
    weights = xp.astype(membership(xp.argmin(cost, axis=1), cost.shape[1]), scores.dtype)
    along = scores - plan.beside(scores).shift[None, ...]
    return weights, xp.sum(along * weights[..., None], axis=1)
