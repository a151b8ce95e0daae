"""What the figures share: size, colours, and names from the data as plain text."""

import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subspaces._extras import install

Array = NDArray[np.floating]

# Okabe & Ito's colours: told apart with any colour vision, in print and on a projector.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442", "#000000")
MARKERS = ("o", "s", "D", "^", "v", "P", "X", "*")

# The width of a column in most journals, in inches, and type that can be read there.
COLUMN = 3.5
PAPER: dict[Any, Any] = {
    "axes.grid": False,
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 8,
    "figure.dpi": 150,
    "font.size": 8,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "legend.handletextpad": 0.3,
    "xtick.labelsize": 7,
    "xtick.major.width": 0.6,
    "ytick.labelsize": 7,
    "ytick.major.width": 0.6,
}
LONGEST_NAME = 24
NAME_SIZE = 7


@contextmanager
def canvas(ax: Any, **options: Any) -> Iterator[Any]:
    """The Axes given, or new ones as wide as a column, in the style of a paper."""
    if ax is not None:
        yield ax
        return
    require_matplotlib()
    import matplotlib.pyplot as plt

    with plt.rc_context(PAPER):
        yield plt.subplots(layout="constrained", **{"figsize": (COLUMN, 2.6), **options})[1]


def require_matplotlib() -> None:
    """Raise ImportError with the remedy where matplotlib is missing."""
    if find_spec("matplotlib") is None:
        raise ImportError(f"plots need matplotlib. {install('plots')}")


def colour_of(k: int) -> str:
    """Colour of cluster ``k``."""
    return COLOURS[k % len(COLOURS)]


def marker_of(k: int) -> str:
    """Marker of cluster ``k``, so that nothing hangs on colour alone."""
    return MARKERS[(k + k // len(COLOURS)) % len(MARKERS)]


def shown(name: Any) -> str:
    """A name on one line, without characters that no font has; long ones are cut."""
    words = " ".join(str(name).split())
    text = "".join(
        "\ufffd" if unicodedata.category(letter) in ("Cc", "Cs") else letter for letter in words
    )
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"


def check_names(names: Any, count: int, what: str) -> list[str]:
    """One name for each, as text; by default numbers."""
    if names is None:
        return [str(i) for i in range(count)]
    if len(names) != count:
        raise ValueError(f"{len(names)} names for {count} {what}. Use one each")
    return [shown(name) for name in names]


def write_names(ax: Any, points: Array, named: NDArray[np.intp], names: Sequence[str]) -> None:
    """Write names beside some of the points, where they cover the least of points and names."""
    ax.figure.canvas.figure.draw_without_rendering()  # the layout moves the axes
    to_points = 72 / ax.figure.dpi
    places = ax.transData.transform(points) * to_points
    frame = ax.transAxes.transform([[0, 0], [1, 1]]).ravel() * to_points
    written: list[Array] = []
    for i in named:
        half = np.array([0.3 * NAME_SIZE * len(names[i]), 0.6 * NAME_SIZE])
        offsets = _beside(half)
        boxes = np.hstack([places[i] + offsets - half, places[i] + offsets + half])
        cost = [_covered(box, places, written, frame) for box in boxes]
        best = int(np.argmin(cost + 0.08 * np.abs(offsets[:, 1])))
        written.append(boxes[best])
        far = abs(offsets[best, 1]) > 2 * NAME_SIZE
        ax.annotate(
            names[i],
            points[i],
            xytext=offsets[best],
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=NAME_SIZE,
            parse_math=False,
            arrowprops={"arrowstyle": "-", "color": "0.6", "linewidth": 0.5} if far else None,
        )


def plain_numbers(axis: Any) -> None:
    """Write 1, 2, 5, 10 along a logarithmic axis, not powers."""
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_locator(NullLocator())


def bare(ax: Any) -> None:
    """No lines around a heat map."""
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)


def _beside(half: Array) -> Array:
    """Where the middle of a name may stand, from its point, in points; the first is preferred."""
    right, line = half[0] + 4, NAME_SIZE + 2
    rows = line * np.array([0, 1, -1, 2, -2, 3, -3])
    return np.array(
        [[side * right, row] for row in rows for side in (1, -1)] + [[0, line], [0, -line]]
    )


def _covered(box: Array, places: Array, written: list[Array], frame: Array) -> float:
    """How much a name at this place would cover; names weigh more than points."""
    inside = np.all((places > box[:2] - 2) & (places < box[2:] + 2), axis=1)
    others = sum(bool(np.all(box[:2] < o[2:]) and np.all(o[:2] < box[2:])) for o in written)
    cut = np.any(box[:2] < frame[:2] - 2) or np.any(box[2:] > frame[2:] + 2)
    return float(np.count_nonzero(inside) + 20 * others + 10 * cut)
