"""The plotly figures of the report, each made from the findings."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subspaces._types import Array, Mask
from subspaces.app.report._canvas import (
    BAR,
    CELLS,
    COLOURS,
    DIVERGING,
    TEXT_ALONE,
    colour_bar,
    figure,
    line,
    log_scale,
    marks,
    narrow,
    thinned,
    whole_numbers,
)
from subspaces.app.report._findings import Cluster, Findings, Loadings
from subspaces.app.report._names import number, plotly_text, short_label
from subspaces.diagnostics._beyond_chance import Apart
from subspaces.plots import CRITERION_NAMES

# How many variables a figure lists.
STRONGEST = 15
CLEAR = "rgba(0,0,0,0)"
DOTTED = {"dash": "dot", "width": 1.5, "color": "#888888"}


def own_subspace(found: Findings, cluster: Cluster) -> Any:
    """Return a figure of a cluster's samples on the first two axes of its subspace.

    For a cluster of dimension 1, y is the distance from the subspace (or the score without X).
    """
    shown = thinned(found, cluster.members)
    k, rows = cluster.number, cluster.members[shown]
    places = narrow(cluster.coordinates)[shown]
    titles = [_axis_title(cluster, r) for r in range(places.shape[1])]
    if places.shape[1] == 1:
        upright = narrow(cluster.height)[shown]
        titles.append("distance from the subspace")
    else:
        upright = places[:, 1]
    points = marks(found, k, rows, x=places[:, 0], y=upright)
    return figure([points], height=320, xtitle=titles[0], ytitle=titles[1])


def differences(apart: Apart, ends: tuple[float, float], shade: str) -> Any:
    """Return a plotly bar chart of 15 variables that differ from the other samples.

    Those beyond chance come first, the largest effect first, and then the others, hollow. Bars are
    effects in standard deviations, or differences of means if effects are not known, between the
    ``ends`` that charts of all clusters have. Dotted lines are where chance ends.
    """
    known, names = apart.sizes_known, apart.names[:STRONGEST]
    words = [
        f"{plotly_text(name)}: {number(difference)}"
        + (f", {number(effect)} standard deviations" if known else "")
        for name, difference, effect in zip(names, apart.difference, apart.effect, strict=False)
    ]
    sizes = narrow(np.clip(bar_lengths(apart), *ends))
    drawn = bars(sizes, shade, words, TEXT_ALONE)
    drawn["marker"] = hollow(shade, np.arange(len(names)) >= apart.n_sure)
    upright = {"type": "line", "y0": 0, "y1": 1, "yref": "paper", "line": DOTTED}
    limits = (-apart.limit, apart.limit) if known and apart.limit is not None else ()
    return figure_of_list(
        [drawn],
        [short_label(name) for name in names],
        xtitle="effect (SD)" if known else "difference of means",
        xaxis={"range": ends},
        shapes=[{**upright, "x0": x, "x1": x} for x in limits],
    )


def bar_lengths(apart: Apart) -> Array:
    """Return the effects (at most 15,) that a chart shows, or differences if they are unknown."""
    return (apart.effect if apart.sizes_known else apart.difference)[:STRONGEST]


def bars(sizes: Array, shade: str, text: list[str], hovertemplate: str) -> dict[str, Any]:
    return {
        "type": "bar",
        "x": sizes,
        "y": np.arange(len(sizes)),
        "orientation": "h",
        "marker": {"color": shade},
        "text": text,
        "textposition": "none",
        "hovertemplate": hovertemplate,
    }


def hollow(shade: str, which: Mask) -> dict[str, Any]:
    """Return plotly's look of bars, of which those in ``which`` are only an outline."""
    fill = [CLEAR if each else shade for each in which]
    return {"color": fill, "line": {"color": shade, "width": 1.5}}


def figure_of_list(
    traces: Sequence[Any], names: list[str], yaxis: Any = None, **layout: Any
) -> Any:
    """Return a plotly figure of traces whose y-axis lists ``names``, the first on top."""
    ticks = {"tickvals": np.arange(len(names)), "ticktext": names}
    upright = {**ticks, "autorange": "reversed", "zeroline": False, **(yaxis or {})}
    height = 64 + layout.get("margin", {"t": 12})["t"] + 18 * len(names)
    return figure(traces, height=height, yaxis=upright, **layout)


def strongest_variables(found: Findings, loadings: Loadings, shade: str, limit: float = 0.0) -> Any:
    """Return a figure of the 15 strongest variables: bars, or a heat map for several axes.

    limit: the largest loading of all clusters, so that their charts compare; 0: of this one.
    """
    names = [found.variable_names[j] for j in loadings.places[:STRONGEST]]
    title = "loading" if found.common is None else "weight"
    return loadings_chart(names, loadings.values[:STRONGEST], shade, title, limit=limit)


def loadings_chart(
    variables: Sequence[str],
    loadings: Array,
    shade: str,
    title: str = "loading",
    axis: str = "axis",
    limit: float = 0.0,
) -> Any:
    """Return a figure of loadings (m, r) by variable: bars of one axis, a heat map of several.

    title: what a loading is called; axis: what an axis is called.
    """
    values, names = narrow(loadings), [plotly_text(name) for name in variables]
    ticks = [short_label(name) for name in variables]
    if values.shape[1] == 1:
        drawn = bars(values[:, 0], shade, names, "%{text}: %{x:.3g}<extra></extra>")
        reach = {"range": [-1.05 * limit, 1.05 * limit]} if limit else {}
        return figure_of_list([drawn], ticks, xtitle=title, xaxis=reach)
    limit = limit or float(np.abs(values).max())
    places = np.arange(values.shape[1])
    cells = {
        "type": "heatmap",
        "z": values,
        "x": places,
        "y": np.arange(len(names)),
        "zmin": -limit,
        "zmax": limit,
        "colorscale": DIVERGING,
        "xgap": 1,
        "ygap": 1,
        "text": [[name] * len(places) for name in names],
        "hovertemplate": f"%{{text}}, {axis} %{{customdata}}: %{{z:.3g}}<extra></extra>",
        "customdata": np.tile(places + 1, (len(names), 1)),
        "colorbar": colour_bar(title),
    }
    bare = {"showgrid": False, "zeroline": False}
    across = {"tickvals": places, "ticktext": [str(r + 1) for r in places], **bare}
    across["title"] = {"text": axis, "standoff": CELLS}
    margin = {"l": 56, "r": 12, "t": BAR, "b": 52}
    return figure_of_list([cells], ticks, bare, xaxis=across, margin=margin)


def curve(
    tried: NDArray[Any],
    values: Array,
    chosen: Any,
    xtitle: str,
    ytitle: str,
    ringed: str = "chosen",
) -> Any:
    """Return a figure of a criterion's values against the candidates, a ring around ``chosen``."""
    label: dict[str, Any] = {"hovertemplate": f"{xtitle} %{{x:.4g}}: %{{y:.6g}}<extra></extra>"}
    picked = np.isclose(tried, chosen)
    ring = {"size": 17, "symbol": "circle-open", "color": COLOURS[4], "line": {"width": 3}}
    best = {"type": "scatter", "mode": "markers", "marker": ring, "name": ringed, **label}
    traces = [
        line(tried, values, name="tried", **label),
        {"x": tried[picked], "y": values[picked], **best},
    ]
    integers = np.issubdtype(np.asarray(tried).dtype, np.integer)
    wide = len(tried) > 1 and tried.min() > 0 and tried.max() > 20 * max(tried.min(), 1)
    scale = log_scale(tried) if wide else (whole_numbers(tried) if integers else {})
    name = CRITERION_NAMES.get(ytitle, ytitle)
    return figure(traces, height=340, legend=True, xtitle=xtitle, ytitle=name, xaxis=scale)


def curves(columns: dict[str, Any], value: str) -> Any:
    """Return a figure of the column ``value`` by dimension, a line per cluster, choices ringed."""
    traces = []
    for k in np.unique(columns["cluster"]):
        own = columns["cluster"] == k
        x, y, picked = (columns[name][own] for name in ("n_components", value, "chosen"))
        look = {
            "size": np.where(picked, 15, 7),
            "symbol": np.where(picked, "circle-open", "circle"),
            "line": {"width": 3},
        }
        finite = np.where(np.isfinite(y), y, np.nan)
        traces.append(line(x, finite, int(k), marker=look, name=f"cluster {k}"))
    name = CRITERION_NAMES.get(value, value)
    ticks = whole_numbers(columns["n_components"])
    return figure(traces, height=340, legend=True, xtitle="dimension", ytitle=name, xaxis=ticks)


def _axis_title(cluster: Cluster, r: int) -> str:
    if len(cluster.energy) == 1 or not cluster.energy.any():
        return f"axis {r + 1}"
    return f"axis {r + 1} ({100 * cluster.energy[r]:.0f} %)"
