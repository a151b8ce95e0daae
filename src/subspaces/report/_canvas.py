"""How every figure of the page looks: colours, symbols, axes, what hovers.

Text, grid and ground are painted by the page's script, since they follow light and dark.
"""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subspaces._extras import install
from subspaces.report._findings import Findings
from subspaces.report._names import number, plotly_text

Array = NDArray[np.floating]
Places = NDArray[np.intp]

# Okabe & Ito's colours that can be read on white and on black, and as many symbols as are prime to
# them: 42 clusters before a pair of colour and symbol comes again.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9")
SYMBOLS = ("circle", "square", "diamond", "cross", "x", "circle-open", "square-open")
DIVERGING = [[0.0, "rgb(213,94,0)"], [0.5, "rgba(127,127,127,0)"], [1.0, "rgb(0,114,178)"]]

MOST_POINTS = 4000


def require_plotly() -> None:
    """Raise ImportError with the remedy where plotly is missing."""
    if find_spec("plotly") is None:
        raise ImportError(f"the report needs plotly. {install('report')}")


def colour(k: int) -> str:
    """The colour of a cluster."""
    return COLOURS[k % len(COLOURS)]


def symbol(k: int) -> str:
    """The symbol of a cluster."""
    return SYMBOLS[k % len(SYMBOLS)]


def thinned(found: Findings, members: Places) -> Places:
    """Places among the members that are drawn: all, or a fair share with the telling ones in it."""
    most = max(MOST_POINTS // max(len(found.clusters), 1), 50)
    if len(members) <= most:
        return np.arange(len(members))
    closeness = None if found.rivalry is None else found.rivalry.closeness
    telling = np.zeros(len(members))
    for measure in (found.influence, closeness):
        if measure is not None:
            telling[np.argsort(-measure[members], kind="stable")[:20]] = 1
    order = np.random.default_rng(0).permutation(len(members))
    return np.sort(order[np.argsort(-telling[order], kind="stable")[:most]])


def figure(
    traces: Sequence[Any], *, height: int, xtitle: str = "", ytitle: str = "", legend: bool = False,
    xaxis: Any = None, yaxis: Any = None, **layout: Any,
) -> Any:  # fmt: skip
    """A figure on clear ground, with room for what its axes say."""
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
    if "scene" not in layout:
        base["xaxis"] = {"title": {"text": xtitle}, "automargin": True, **(xaxis or {})}
        base["yaxis"] = {"title": {"text": ytitle}, "automargin": True, **(yaxis or {})}
    return go.Figure(data=list(traces), layout={**base, **layout})


def log_scale(values: Array) -> dict[str, Any]:
    """A logarithmic axis with ticks at 1, 2, 3, ..., at 1, 2, 5, or at powers of ten."""
    if not len(values):
        return {"type": "log"}
    ends = np.log10([values.min(), values.max()])
    low, high, span = int(np.floor(ends[0])), int(np.floor(ends[1])), float(np.ptp(ends))
    step = max(1, (high - low) // 6)
    leads = tuple(range(1, 10)) if span < 0.8 else (1, 2, 5) if span < 3 else (1,)
    ticks = [lead * 10.0**power for power in range(low, high + 2, step) for lead in leads]
    return {"type": "log", "tickvals": ticks, "ticktext": [number(tick) for tick in ticks]}


def whole(values: Any) -> dict[str, Any]:
    """Ticks at whole numbers, not too many of them."""
    return {"dtick": 1} if np.ptp(values) <= 8 else {"nticks": 7}


def narrow(values: Any) -> Array:
    """Half the bytes, and more digits than a screen has; numbers out of range as they are."""
    given = np.asarray(values, dtype=float)
    size = np.abs(given[np.isfinite(given) & (given != 0)])
    fits = size.max(initial=1.0) < 1e30 and size.min(initial=1.0) > 1e-30
    return given.astype(np.float32) if fits else given


def cloud(found: Findings, k: int, x: Array, y: Array, rows: Places) -> Any:
    """The samples of a cluster as marks with their names."""
    import plotly.graph_objects as go

    return go.Scatter(
        x=x, y=y, mode="markers", name=f"cluster {k}", text=[hover(found, int(i)) for i in rows],
        hovertemplate="%{text}<extra></extra>",
        marker={"color": colour(k), "symbol": symbol(k), "size": 7, "opacity": 0.85},
    )  # fmt: skip


def hover(found: Findings, i: int) -> str:
    """What is said of a sample under the pointer."""
    lines = [f"<b>{plotly_text(found.sample_names[i])}</b>", f"cluster {found.labels[i]}"]
    if found.classes is not None:
        lines.append(f"class {plotly_text(found.classes[i])}")
    if found.rivalry is not None and found.rivalry.closeness[i] > 0.01:
        share = 100 * found.rivalry.closeness[i]
        lines.append(f"between: {share:.0f} % (next: cluster {found.rivalry.rival[i]})")
    if found.influence is not None:
        lines.append(f"influence {number(found.influence[i])}")
    return "<br>".join(lines)
