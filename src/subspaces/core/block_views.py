"""What the flats say of the rows of one block, beyond costs: coordinates and nearest points."""

from typing import Any

import numpy as np

from subspaces.core.block_pass import Pass, centred, nearest, scores_on

Array = np.ndarray


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
