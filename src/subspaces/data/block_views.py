"""What a fitted model says of the rows of one block: clusters, coordinates and nearest points.

Every row is scored as an outsider, since the rows need not be those that the model was fitted to.
"""

from typing import Any

import numpy as np

from subspaces.core.array import like, membership, namespace
from subspaces.data.block_pass import (
    Assigned,
    centred,
    costs,
    first_rows,
    grand_total,
    score,
    scores_on,
    squared_distances,
)
from subspaces.data.pass_plan import Pass


def assign_rows(rows: Any, labels: Any | None, start: int, plan: Pass) -> tuple[Any, Assigned]:
    """Return each row's cluster of least cost, (b,), and an `Assigned` (objective, first rows)."""
    cost, _ = score(rows, labels, start, plan)
    xp = namespace(cost)
    best = xp.astype(xp.argmin(cost, axis=1), xp.int32)
    _, found = first_rows(rows, best, start, cost.shape[1])
    return best, Assigned(found.first, float(grand_total(xp.min(cost, axis=1))))


def own_coordinates(rows: Any, labels: Any | None, start: int, plan: Pass) -> tuple[Any, None]:
    """Return each row's coordinates in its subspace of least cost, (b, R), and None as the sum.

    Columns beyond the dimension of that subspace are nan.
    """
    weights, own = _own_scores(rows, plan)
    xp = namespace(own)
    used = weights @ like(plan.subspaces.in_use, own) > 0.0
    return xp.where(used, own, xp.full_like(own, np.nan)), None


def nearest_points(rows: Any, labels: Any | None, start: int, plan: Pass) -> tuple[Any, None]:
    """Return the nearest point to each row in its subspace of least cost, (b, p), and None."""
    weights, own = _own_scores(rows, plan)
    xp, arrays = namespace(own), plan.arrays_like(own)
    spread = weights[..., None] * own[:, None, :]
    points = xp.reshape(spread, (own.shape[0], arrays.axes.shape[1])) @ arrays.axes.T
    return points + weights @ arrays.centres + arrays.origin, None


def _own_scores(rows: Any, plan: Pass) -> tuple[Any, Any]:
    """Return each row's cluster of least cost, one-hot (b, K), and its coordinates there (b, R)."""
    rows = centred(rows, plan)
    scores = scores_on(rows, plan)
    cost = costs(scores, squared_distances(rows, plan), None, plan)
    xp = namespace(cost)
    weights = xp.astype(membership(xp.argmin(cost, axis=1), cost.shape[1]), scores.dtype)
    along = scores - plan.arrays_like(scores).shift[None, ...]
    return weights, xp.sum(along * weights[..., None], axis=1)
