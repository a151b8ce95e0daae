"""Where names can be written beside marks of a figure without covering each other."""

from collections.abc import Mapping

import numpy as np

from subspaces._types import Array

# Characters of a name that is written within a figure; a longer one is cut.
LONGEST = 18
# Width of a character and height of a line, as shares of a figure on a phone, and the distance from
# the middle of a mark to its name.
CHARACTER, LINE, GAP = 0.027, 0.045, 0.025

Box = tuple[float, float, float, float]


def sides_of_names(x: Array, y: Array, names: Mapping[int, str]) -> dict[int, str]:
    """Return the points that get their names, and on which side, as plotly says it.

    x, y (n,): all points, in the units of the figure's axes, so logarithms on a log scale; names:
    by the index of the point, the most important first. A name goes where it fits into the figure,
    covers no name before it, and the fewest points; one that fits nowhere is left out.
    """
    points = np.column_stack([_shares(x), _shares(y)])
    written: list[Box] = []
    found = {}
    for i, name in names.items():
        free = [
            (_covered(box, points), place, side, box)
            for place, (side, box) in enumerate(_boxes(points[i], min(len(name), LONGEST)))
            if box[0] >= 0.0 and box[2] <= 1.0 and not any(_meet(box, other) for other in written)
        ]
        if free:
            _, _, found[i], box = min(free)
            written.append(box)
    return found


def _boxes(point: Array, length: int) -> list[tuple[str, Box]]:
    """Return where a name of so many characters may be written: the side, and left to top."""
    x, y = (float(value) for value in point)
    width, half = CHARACTER * length, LINE / 2
    middle, above, below = (y - half, y + half), (y + half, y + 3 * half), (y - 3 * half, y - half)
    right, left = (x + GAP, x + GAP + width), (x - GAP - width, x - GAP)
    centre = (x - width / 2, x + width / 2)
    return [
        (side, (across[0], up[0], across[1], up[1]))
        for side, across, up in (
            ("middle right", right, middle),
            ("middle left", left, middle),
            ("top center", centre, above),
            ("bottom center", centre, below),
        )
    ]


def _covered(box: Box, points: Array) -> int:
    """Return how many of the points (n, 2) lie in the box."""
    inside = np.all((points > box[:2]) & (points < box[2:]), axis=1)
    return int(np.count_nonzero(inside))


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _shares(values: Array) -> Array:
    """Return where each value lies between the least (0) and the largest (1) of them."""
    span = float(np.ptp(values))
    return (values - values.min()) / span if span > 0 else np.full(len(values), 0.5)
