"""The figures of the page, from what was found."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from subspaces.core.contrast import Contrast
from subspaces.plots import CRITERION_NAMES
from subspaces.report._canvas import (
    COLOURS,
    DIVERGING,
    cloud,
    colour,
    figure,
    hover,
    log_scale,
    narrow,
    symbol,
    thinned,
    whole,
)
from subspaces.report._findings import Cluster, Findings, Loadings
from subspaces.report._names import number, plotly_text

Array = NDArray[np.floating]

STRONGEST = 15


def own_subspace(found: Findings, cluster: Cluster, *, three: bool = False) -> Any:
    """The members along the axes of their subspace; along one axis, against their distance."""
    import plotly.graph_objects as go

    shown = thinned(found, cluster.members)
    places = narrow(cluster.coordinates)[shown]
    text = [hover(found, int(i)) for i in cluster.members[shown]]
    marker = {"color": colour(cluster.number), "symbol": symbol(cluster.number), "opacity": 0.85}
    common = {"mode": "markers", "text": text, "hovertemplate": "%{text}<extra></extra>"}
    titles = [_axis_title(cluster, r) for r in range(places.shape[1])]
    if three:
        marker["size"] = 4
        points = go.Scatter3d(
            x=places[:, 0], y=places[:, 1], z=places[:, 2], marker=marker, **common
        )
        scene: dict[str, Any] = {
            f"{name}axis": {"title": titles[r], "nticks": 5} for r, name in enumerate("xyz")
        }
        scene["camera"] = {
            "eye": {"x": 1.6, "y": 1.6, "z": 0.9},
            "center": {"x": 0, "y": 0, "z": -0.1},
        }
        return figure([points], height=340, margin={"l": 0, "r": 0, "t": 0, "b": 0}, scene=scene)
    marker["size"] = 7
    one = places.shape[1] == 1
    upright = narrow(cluster.height)[shown] if one else places[:, 1]
    beyond = "distance from the subspace" if found.has_data else "score (lower is nearer)"
    points = go.Scatter(x=places[:, 0], y=upright, marker=marker, **common)
    return figure([points], height=340, xtitle=titles[0], ytitle=beyond if one else titles[1])


def differences(found: Findings, apart: Contrast, shade: str) -> Any:
    """The variables that set a cluster apart: bars as long as the effects, or the differences."""
    import plotly.graph_objects as go

    shown = apart.order[:STRONGEST]
    known = not np.isnan(apart.effect[shown]).any()
    sizes = apart.effect[shown] if known else apart.difference[shown]
    edge = 1.15 * np.abs(sizes[np.isfinite(sizes)]).max(initial=1.0)
    drawn = narrow(np.clip(sizes, -edge, edge))
    names = [plotly_text(found.variable_names[j]) for j in shown]
    words = [
        f"{name}: {number(apart.difference[j])}"
        + (f", {number(apart.effect[j])} standard deviations" if known else "")
        for name, j in zip(names, shown, strict=True)
    ]
    rows = np.arange(len(names))
    bars = go.Bar(
        x=drawn, y=rows, orientation="h", marker={"color": shade}, text=words,
        textposition="none", hovertemplate="%{text}<extra></extra>",
    )  # fmt: skip
    title = "difference (SD)" if known else "difference"
    return figure([bars], height=76 + 18 * len(names), xtitle=title, yaxis=_list_axis(names))


def _list_axis(names: list[str]) -> dict[str, Any]:
    """One line a name, the first on top."""
    ticks = {"tickvals": np.arange(len(names)), "ticktext": names}
    return {**ticks, "autorange": "reversed", "zeroline": False}


def strongest_variables(found: Findings, loadings: Loadings, shade: str) -> Any:
    """The variables that vary most within a cluster: bars for one axis, a heat map for several."""
    import plotly.graph_objects as go

    values = narrow(loadings.values[:STRONGEST])
    names = [plotly_text(found.variable_names[j]) for j in loadings.places[:STRONGEST]]
    rows = np.arange(len(names))
    rank = _list_axis(names)
    height = 76 + 18 * len(names)
    if values.shape[1] == 1:
        bars = go.Bar(
            x=values[:, 0], y=rows, orientation="h", marker={"color": shade}, text=names,
            textposition="none", hovertemplate="%{text}: %{x:.3g}<extra></extra>",
        )  # fmt: skip
        title = "loading" if found.common is None else "weight"
        return figure([bars], height=height, xtitle=title, yaxis=rank)
    limit = float(np.abs(values).max())
    axes = [str(r + 1) for r in range(values.shape[1])]
    cells = go.Heatmap(
        z=values, x=np.arange(len(axes)), y=rows, zmin=-limit, zmax=limit, colorscale=DIVERGING,
        xgap=1, ygap=1, text=[[name] * len(axes) for name in names],
        hovertemplate="%{text}, axis %{customdata}: %{z:.3g}<extra></extra>",
        customdata=np.tile(np.arange(1, len(axes) + 1), (len(names), 1)),
        colorbar={"thickness": 10, "outlinewidth": 0, "nticks": 5, "title": {"text": "loading"}},
    )  # fmt: skip
    across = {
        "tickvals": np.arange(len(axes)),
        "ticktext": axes,
        "showgrid": False,
        "zeroline": False,
    }
    return figure(
        [cells], height=height, yaxis={**rank, "showgrid": False}, xaxis=across, xtitle="axis",
        margin={"l": 56, "r": 12, "t": 12, "b": 44},
    )  # fmt: skip


def between_clusters(found: Findings) -> Any:
    """Score under the own cluster against that under the best other; equal on the line."""
    import plotly.graph_objects as go

    assert found.rivalry is not None
    own, other = found.rivalry.own, found.rivalry.other
    drawn = np.isfinite(own) & np.isfinite(other)
    if not found.likelihoods:
        drawn &= (own > 0) & (other > 0)
    own, other = narrow(own), narrow(other)
    ends = _line_of_equals(own[drawn], other[drawn])
    line = {"dash": "dot", "width": 1.5, "color": "#888888"}
    equal = {"x": ends, "y": ends, "mode": "lines", "line": line, "hoverinfo": "skip"}
    traces = [go.Scatter(name="as near to both", **equal)]
    for cluster in found.clusters:
        rows = cluster.members[thinned(found, cluster.members)]
        rows = rows[drawn[rows]]
        traces.append(cloud(found, cluster.number, own[rows], other[rows], rows))
    across, upright = {}, {}
    if not found.likelihoods:
        across, upright = log_scale(own[drawn]), log_scale(np.append(other[drawn], ends))
    return figure(
        traces, height=440, legend=True, xtitle="score under own cluster",
        ytitle="score under the best other", xaxis=across, yaxis=upright,
    )  # fmt: skip


def influence(found: Findings) -> Any:
    """The influence of every sample on its cluster, one strip a cluster."""
    assert found.influence is not None
    values, random, traces = found.influence, np.random.default_rng(0), []
    for cluster in found.clusters:
        rows = cluster.members[thinned(found, cluster.members)]
        rows = rows[np.isfinite(values[rows]) & (values[rows] > 0)]
        jitter = cluster.number + random.uniform(-0.3, 0.3, len(rows))
        traces.append(cloud(found, cluster.number, narrow(jitter), narrow(values[rows]), rows))
    ticks = [cluster.number for cluster in found.clusters]
    across = {"tickvals": ticks, "showgrid": False, "zeroline": False}
    upright = log_scale(values[np.isfinite(values) & (values > 0)])
    return figure(
        traces, height=380, xtitle="cluster", ytitle="influence", xaxis=across, yaxis=upright
    )


def path(values: Array, title: str) -> Any:
    """The objective from sweep to sweep."""
    import plotly.graph_objects as go

    steps = np.arange(1, len(values) + 1)
    line = go.Scatter(
        x=steps, y=values, mode="lines+markers", line={"color": COLOURS[0]},
        hovertemplate="sweep %{x}: %{y:.6g}<extra></extra>",
    )  # fmt: skip
    return figure([line], height=300, xtitle="sweep", ytitle=title, xaxis=whole(steps))


def curve(tried: Array, values: Array, chosen: Any, xtitle: str, ytitle: str) -> Any:
    """A criterion against its candidates, the choice in a ring."""
    import plotly.graph_objects as go

    label = f"{xtitle} %{{x:.4g}}: %{{y:.6g}}<extra></extra>"
    line = go.Scatter(
        x=tried, y=values, mode="lines+markers", line={"color": COLOURS[0]}, name="tried",
        hovertemplate=label,
    )  # fmt: skip
    picked = np.isclose(tried, chosen)
    ring = {"size": 17, "symbol": "circle-open", "color": COLOURS[4], "line": {"width": 3}}
    best = go.Scatter(
        x=tried[picked], y=values[picked], mode="markers", marker=ring, name="chosen",
        hovertemplate=label,
    )  # fmt: skip
    integers = np.issubdtype(np.asarray(tried).dtype, np.integer)
    wide = len(tried) > 1 and tried.max() > 20 * max(tried.min(), 1)
    scale = log_scale(tried) if wide else (whole(tried) if integers else {})
    name = CRITERION_NAMES.get(ytitle, ytitle)
    return figure([line, best], height=340, legend=True, xtitle=xtitle, ytitle=name, xaxis=scale)


def curves(columns: dict[str, Any], value: str) -> Any:
    """The criterion for each dimension of each cluster, the choices in rings."""
    import plotly.graph_objects as go

    traces = []
    for k in np.unique(columns["cluster"]):
        own = columns["cluster"] == k
        x, y, picked = columns["n_components"][own], columns[value][own], columns["chosen"][own]
        look = {
            "size": np.where(picked, 15, 7), "symbol": np.where(picked, "circle-open", "circle"),
            "line": {"width": 3},
        }  # fmt: skip
        place = {
            "x": x,
            "y": np.where(np.isfinite(y), y, np.nan),
            "line": {"color": colour(int(k))},
        }
        traces.append(go.Scatter(mode="lines+markers", marker=look, name=f"cluster {k}", **place))
    name = CRITERION_NAMES.get(value, value)
    ticks = whole(columns["n_components"])
    return figure(traces, height=340, legend=True, xtitle="dimension", ytitle=name, xaxis=ticks)


def _line_of_equals(own: Array, other: Array) -> list[float]:
    """Where the line of equal scores runs through the samples, or below them."""
    if not len(own):
        return []
    low = other.min() if other.min() < own.max() else own.min()
    return [float(low), float(own.max())]


def _axis_title(cluster: Cluster, r: int) -> str:
    if len(cluster.energy) == 1 or not cluster.energy.any():
        return f"axis {r + 1}"
    return f"axis {r + 1} ({100 * cluster.energy[r]:.0f} %)"
