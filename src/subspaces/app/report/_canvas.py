"""Helpers that all plotly figures of the page use: colours, symbols, axes, hover texts.

The page's script sets the colours of text, grid and background, which depend on light or dark mode.
"""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from subspaces._types import Array, Indices
from subspaces.app.report._findings import Findings
from subspaces.app.report._names import number, plotly_text
from subspaces.runtime.extras import install

# Five of Okabe & Ito's colours (the blue lighter, for black) and five darker ones, which differ by
# a CIEDE2000 of at least 9.5 with any colour vision. A number of symbols prime to theirs: 70
# clusters before a pair of colour and symbol comes again.
COLOURS = (
    *("#1F83C6", "#E69F00", "#009E73", "#CC79A7", "#D55E00"),
    *("#7733BB", "#555511", "#991155", "#557777", "#8C564B"),
)
# Of metadata, which are no clusters.
PURPLES = ("#4A1486", "#BCBDDC", "#807DBA", "#D9D9D9", "#525252")
SYMBOLS = ("circle", "square", "diamond", "cross", "x", "triangle-up", "triangle-down")
# Samples in no cluster.
GREY, CROSS = "#888888", "x"
DIVERGING = [[0.0, "rgb(213,94,0)"], [0.5, "rgba(127,127,127,0)"], [1.0, "rgb(0,114,178)"]]

# How many samples a figure draws at most, so that the page stays small and quick to draw.
MOST_POINTS = 2000
# How many of the most influential samples, say, are among those that are drawn.
NOTABLE = 20
# If a sample is this many times as far as the median, a linear axis squeezes all others into a
# corner.
FAR = 20.0
# Room above a figure for a colour bar, in pixels.
BAR = 52
# What plotly needs, in pixels, to keep the title of an axis off the numbers below a heat map.
CELLS = 36
# What the pointer shows: the text of the mark alone, without the name of its trace.
TEXT_ALONE = "%{text}<extra></extra>"


def require_plotly() -> None:
    """Raise ImportError, with how to install it, if plotly is missing."""
    if find_spec("plotly") is None:
        raise ImportError(f"The report needs plotly. {install('report')}")


def colour(k: int, of: Sequence[str] = COLOURS) -> str:
    """Return the colour of cluster ``k`` as a hex code, grey for -1; paler once all are used."""
    if k < 0:
        return GREY
    parts, left = [int(of[k % len(of)][i : i + 2], 16) for i in (1, 3, 5)], 0.55 ** (k // len(of))
    return "#" + "".join(f"{round(255 - left * (255 - part)):02x}" for part in parts)


def symbol(k: int) -> str:
    """Return plotly's name of the marker symbol of cluster ``k``, such as "square"."""
    return CROSS if k < 0 else SYMBOLS[k % len(SYMBOLS)]


def thinned(found: Findings, members: Indices) -> Indices:
    """Return positions in ``members`` of the samples to draw: all, or a random part if too many.

    The part includes the 20 most influential samples and the 20 nearest to another cluster.
    """
    most = max(MOST_POINTS // max(len(found.clusters), 1), 50)
    measures = [each[members] for each in (found.influence, found.doubt) if each is not None]
    return random_part(len(members), most, measures)


def random_part(
    count: int, most: int, measures: Sequence[Array], marked: Sequence[int] = ()
) -> Indices:
    """Return ``most`` of the positions 0, 1, ... in their order, at random, or all ``count``.

    measures: one value per position each, of which the 20 largest are in the part; marked:
    positions that are in it, too.
    """
    if count <= most:
        return np.arange(count)
    notable = np.zeros(count)
    notable[list(marked)] = 1
    for measure in measures:
        notable[np.argsort(-measure, kind="stable")[:NOTABLE]] = 1
    order = np.random.default_rng(0).permutation(count)
    return np.sort(order[np.argsort(-notable[order], kind="stable")[:most]])


def figure(
    traces: Sequence[Any], *, height: int, xtitle: str = "", ytitle: str = "", legend: bool = False,
    xaxis: Any = None, yaxis: Any = None, **layout: Any,
) -> Any:  # fmt: skip
    """Return a plotly Figure of the traces, with transparent background and titled axes."""
    import plotly.graph_objects as go

    base = {
        "height": height,
        "margin": {"l": 56, "r": 12, "t": 12, "b": 48},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "showlegend": legend,
        "legend": {"orientation": "h", "yanchor": "bottom", "y": 1.01, "x": 0},
        "hovermode": "closest",
        "template": {},
        "uirevision": "kept",
    }
    base["xaxis"] = {
        "title": {"text": xtitle, "standoff": 16},
        "automargin": True,
        **(xaxis or {}),
    }
    base["yaxis"] = {"title": {"text": ytitle}, "automargin": True, **(yaxis or {})}
    return go.Figure(data=list(traces), layout={**base, **layout})


def colour_bar(title: str) -> dict[str, Any]:
    """Return plotly's settings of a colour bar above a figure, whose width it leaves alone."""
    place = {"x": 0, "xanchor": "left", "xpad": 0, "y": 1, "yanchor": "bottom", "ypad": 4}
    look = {"orientation": "h", "lenmode": "pixels", "len": 160, "thickness": 8, "outlinewidth": 0}
    return {**place, **look, "nticks": 5, "tickangle": 0, "title": {"text": title, "side": "top"}}


def log_scale(values: Array) -> dict[str, Any]:
    """Return plotly's settings of a log axis over ``values``; the range decides how many ticks."""
    if not len(values):
        return {"type": "log"}
    ends = np.log10([values.min(), values.max()])
    low, high, span = int(np.floor(ends[0])), int(np.floor(ends[1])), float(np.ptp(ends))
    step = max(1, (high - low) // 6)
    leads = tuple(range(1, 10)) if span < 0.8 else (1, 2, 5) if span < 3 else (1,)
    ticks = [lead * 10.0**power for power in range(low, high + 2, step) for lead in leads]
    return {"type": "log", "tickvals": ticks, "ticktext": [number(tick) for tick in ticks]}


def distance_scale(values: Array, among: Array) -> dict[str, Any]:
    """Return plotly's settings of an axis over ``values``, which are distances; rarely a log axis.

    That is where one of the distances ``among`` is far beyond the others. Elsewhere a log axis
    would give most of its length to distances near 0, whose differences mean nothing.
    """
    if not len(among) or among.max() <= FAR * np.median(among):
        return {"type": "linear", "zeroline": False}
    return log_scale(values)


def whole_numbers(values: Any) -> dict[str, Any]:
    """Return plotly's settings of an axis over ``values`` with a few ticks at whole numbers."""
    return {"dtick": 1} if np.ptp(values) <= 8 else {"nticks": 7}


def narrow(values: Any) -> Array:
    """Return the values as float32, to shorten the page; as float64 if float32 cannot hold them."""
    given = np.asarray(values, dtype=float)
    size = np.abs(given[np.isfinite(given) & (given != 0)])
    fits = size.max(initial=1.0) < 1e30 and size.min(initial=1.0) > 1e-30
    return given.astype(np.float32) if fits else given


def marks(found: Findings, k: int, rows: Indices, **trace: Any) -> dict[str, Any]:
    """Return a plotly trace with one marker per sample in ``rows``, in the style of cluster ``k``.

    The hover text names the sample; ``trace`` adds or replaces entries, such as x and y.
    """
    return dots(k, [_described(found, int(i)) for i in rows], **trace)


def dots(k: int, text: Sequence[str], **trace: Any) -> dict[str, Any]:
    """Return a plotly trace with one marker per hover text, in the style of cluster ``k``."""
    return {
        "type": "scatter",
        "mode": "markers",
        "text": text,
        "hovertemplate": TEXT_ALONE,
        "marker": {"color": colour(k), "symbol": symbol(k), "size": 7},
        **trace,
    }


def line(x: Any, y: Any, k: int = 0, **trace: Any) -> dict[str, Any]:
    """Return a plotly trace of markers joined by a line, in the colour of cluster ``k``."""
    look = {"mode": "lines+markers", "line": {"color": colour(k)}}
    return {"type": "scatter", "x": x, "y": y, **look, **trace}


def _described(found: Findings, i: int) -> str:
    """Return the hover text of sample ``i``: name, cluster, class, next cluster, influence."""
    own = "outlier" if found.labels[i] < 0 else f"cluster {found.labels[i]}"
    lines = [f"<b>{plotly_text(found.sample_names[i])}</b>", own]
    if found.classes is not None and found.classes[i]:
        lines.append(f"class {plotly_text(found.classes[i])}")
    if found.rivalry is not None and found.rivalry.closeness[i] > 0.01:
        share = 100 * found.rivalry.closeness[i]
        lines.append(f"between: {share:.0f} % (next: cluster {found.rivalry.rival[i]})")
    if found.influence is not None:
        lines.append(f"influence {number(found.influence[i])}")
    return "<br>".join(lines)
