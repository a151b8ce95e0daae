"""Helpers that all figures use: size, colours, markers, heat maps, names beside points."""

import unicodedata
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subspaces._types import Array, Axes, Indices, Names
from subspaces.messages import ParameterError, ParameterTypeError
from subspaces.runtime.extras import install

# Okabe and Ito's colours, which can be distinguished with any colour vision, in print and on a
# projector.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442", "#000000")
MARKERS = ("o", "s", "D", "^", "v", "P", "X", "*")

# How samples in no cluster are drawn, as keyword arguments for matplotlib.
OUTLIER = {"color": "0.5", "marker": "x", "label": "outlier", "linewidths": 0.8}

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
# Characters of a name that are written; a longer one is cut.
LONGEST_NAME = 24
# The size of a name in points.
NAME_SIZE = 7


@contextmanager
def canvas(ax: Axes | Sequence[Axes] | None, **options: Any) -> Iterator[Any]:
    """Yield ``ax``, or new Axes as wide as a journal's column if None; options go to subplots."""
    if ax is not None:
        yield ax
        return
    require_matplotlib()
    import matplotlib.pyplot as plt

    with plt.rc_context(PAPER):
        yield plt.subplots(layout="constrained", **{"figsize": (COLUMN, 2.6), **options})[1]


def pair(ax: Sequence[Axes] | None, function: str) -> tuple[Any, Any] | None:
    """Return ``ax`` as two Axes, or None; raise TypeError or ValueError if it is no pair."""
    if ax is None:
        return None
    message = f"{function} draws two panels. Pass ax=(first, second)."
    if not isinstance(ax, Iterable):
        raise TypeError(message)
    both = tuple(ax)
    if len(both) != 2:
        raise ValueError(message)
    return both


@contextmanager
def list_of(
    names: list[str], title: str, ax: Axes | None, pad: float | None = None, line: float = 0.155
) -> Iterator[Any]:
    """Yield Axes with one horizontal line per name, the first on top; set ticks and title after.

    line: height of a line in inches.
    """
    with canvas(ax, figsize=(COLUMN, 0.85 + line * len(names))) as ax:
        ax.axvline(0, color="0.6", linewidth=0.6, zorder=0)
        yield ax
        ax.set_yticks(range(len(names)), names, parse_math=False)
        ax.set_ylim(len(names) - 0.4, -0.6)
        ax.tick_params(axis="y", length=0)
        ax.set_title(title, pad=pad)


def require_matplotlib() -> None:
    """Raise ImportError, with how to install it, if matplotlib is missing."""
    if find_spec("matplotlib") is None:
        raise ImportError(f"Plots need matplotlib. {install('plots')}")


def colour_of(k: int) -> str:
    """Return the colour of cluster ``k`` as a hex code; colours repeat after eight clusters."""
    return COLOURS[k % len(COLOURS)]


def look_of(k: int) -> dict[str, Any]:
    """Return the ``color`` and ``marker`` of cluster ``k``, as keyword arguments for matplotlib."""
    marker = MARKERS[(k + k // len(COLOURS)) % len(MARKERS)]
    return {"color": colour_of(k), "marker": marker}


def short_name(name: Hashable, longest: int = LONGEST_NAME) -> str:
    """Return a name as one line, cut at ``longest`` characters; control characters are replaced."""
    words = " ".join(str(name).split())
    text = "".join("\ufffd" if unicodedata.category(c) in ("Cc", "Cs") else c for c in words)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def check_names(names: Names | None, count: int, what: str) -> list[str]:
    """Return ``count`` names, shortened for a figure; "0", "1", ... if ``names`` is None."""
    if names is None:
        return [str(i) for i in range(count)]
    if len(names) != count:
        raise ParameterError(
            "names",
            f"<names> has {{n:#entry|entries}} for {count} {what}. Pass one for each.",
            n=len(names),
        )
    return [short_name(name) for name in names]


def names_of_samples(kept: Names | None, given: Names | None, count: int) -> list[str]:
    """Return the names given, or those kept with a result, shortened for a figure."""
    return check_names(kept if given is None else given, count, "samples")


def positive(values: Array) -> Any:
    """Return values fit for a log axis: zeros and infinities at the ends of the others."""
    usual = values[np.isfinite(values) & (values > 0)]
    least, most = (usual.min(), usual.max()) if len(usual) else (1.0, 1.0)
    return np.clip(np.nan_to_num(values, posinf=2 * most), least, 2 * most)


def check_classes(classes: ArrayLike | None, count: int) -> NDArray[np.str_]:
    """Return the class of each sample as text, (count,); "_" for all if ``classes`` is None."""
    if classes is None:
        return np.full(count, "_")  # no legend shows a label that begins so
    known = np.asarray(classes).astype(str)
    if known.shape != (count,):
        raise ParameterError(
            "classes",
            f"<classes> has shape {known.shape}, but there are {count} samples. Pass one "
            "class per sample.",
        )
    return known


def check_result(result: Any, attributes: Sequence[str], function: str, source: str) -> None:
    """Raise TypeError, with what to pass, unless ``result`` has the attributes that are drawn.

    function: the plot that was called; source: the call that returns what it draws.
    """
    if not all(hasattr(result, name) for name in attributes):
        raise ParameterTypeError(
            "result",
            f"plots.{function} cannot draw {type(result).__name__} objects. Call "
            f"plots.{function}({source}).",
        )


def write_names(ax: Axes, points: Array, named: Indices, names: Sequence[str]) -> None:
    """Write the names of the points ``named`` beside them, where they cover the least.

    points (n, 2): all points; named: indices of those to name; names: one for each point.
    """
    ax.figure.canvas.figure.draw_without_rendering()  # the layout moves the axes
    to_points = 72 / ax.figure.dpi
    places = ax.transData.transform(points) * to_points
    frame = ax.transAxes.transform([[0, 0], [1, 1]]).ravel() * to_points
    written: list[Array] = []
    for i in named:
        half = np.array([0.3 * NAME_SIZE * len(names[i]), 0.6 * NAME_SIZE])
        offsets = _offsets(half)
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
    """Set the ticks of a logarithmic axis to round numbers, written out, not as powers.

    They are 1, 2, 5, 10, ..., evenly spaced numbers over less than a decade, and powers of ten over
    more than three. Call it once the data are drawn.
    """
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, StrMethodFormatter

    low, high = axis.get_view_interval()
    if high < 10 * low:
        axis.set_major_locator(MaxNLocator(5))
    else:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 1000 * low else (1,)))
    axis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
    axis.set_minor_locator(NullLocator())


def legend_above(ax: Axes, at: float = 0.0, ncols: int = 3) -> None:
    """Set the legend of the Axes above them in one line, where it covers nothing.

    at: where it is along the Axes, from 0 to 1.
    """
    place: dict[str, Any] = {"loc": "lower center" if at else "lower left", "ncols": ncols}
    place |= {"frameon": False, "borderaxespad": 0.2, "columnspacing": 1.2, "handletextpad": 0.4}
    ax.legend(bbox_to_anchor=(at, 1), **place)


def legend(ax: Axes, **options: Any) -> None:
    """Draw a legend whose names are written as they are, dollar signs included."""
    for text in ax.legend(**options).get_texts():
        text.set_parse_math(False)


def heat_map(ax: Axes, values: Array, cmap: str, most: float) -> Any:
    """Draw a matrix in colours from 0 to ``most``, without a frame; return matplotlib's image."""
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    return ax.imshow(values, cmap=cmap, vmin=0, vmax=most)


def _offsets(half: Array) -> Array:
    """Return the offsets (16, 2) at which a name may be centred beside its point, best first.

    half (2,): half the width and height of the name. All lengths are in typographic points.
    """
    right, line = half[0] + 4, NAME_SIZE + 2
    rows = line * np.array([0, 1, -1, 2, -2, 3, -3])
    return np.array(
        [[side * right, row] for row in rows for side in (1, -1)] + [[0, line], [0, -line]]
    )


def _covered(box: Array, places: Array, written: list[Array], frame: Array) -> float:
    """Return the cost of writing a name in ``box``: points covered, 20 per name, 30 if cut off.

    box, written, frame: x and y of the lower left, then of the upper right corner.
    """
    inside = np.all((places > box[:2] - 2) & (places < box[2:] + 2), axis=1)
    others = sum(bool(np.all(box[:2] < o[2:]) and np.all(o[:2] < box[2:])) for o in written)
    cut = np.any(box[:2] < frame[:2] - 2) or np.any(box[2:] > frame[2:] + 2)
    return float(np.count_nonzero(inside) + 20 * others + 30 * cut)
