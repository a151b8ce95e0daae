"""The figures of the page: plotly, without colours of their own but the clusters'.

Text, grid and ground are painted by the page's script, since they follow light and dark.
"""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subspaces.plots import CRITERION_NAMES
from subspaces.report._findings import Cluster, Findings, Loadings
from subspaces.report._names import number, plotly_text

Array = NDArray[np.floating]
Places = NDArray[np.intp]

# Okabe & Ito's colours that can be read on white and on black, and as many symbols as are prime to
# them: 42 clusters before a pair of colour and symbol comes again.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9")
SYMBOLS = ("circle", "square", "diamond", "cross", "x", "circle-open", "square-open")
DIVERGING = [[0.0, "rgb(213,94,0)"], [0.5, "rgba(127,127,127,0)"], [1.0, "rgb(0,114,178)"]]

MOST_POINTS = 4000
STRONGEST = 15


def require_plotly() -> None:
    """Raise ImportError with the remedy where plotly is missing."""
    if find_spec("plotly") is None:
        raise ImportError("the report needs plotly: pip install 'subspaces[report]'")


def colour(k: int) -> str:
    """The colour of a cluster."""
    return COLOURS[k % len(COLOURS)]


def thinned(found: Findings, members: Places) -> Places:
    """Places among the members that are drawn: all, or a fair share with the telling ones in it."""
    most = max(MOST_POINTS // max(len(found.clusters), 1), 50)
    if len(members) <= most:
        return np.arange(len(members))
    telling = np.zeros(len(members))
    for measure in (found.influence, found.rivalry and found.rivalry.closeness):
        if measure is not None:
            telling[np.argsort(-measure[members], kind="stable")[:20]] = 1
    order = np.random.default_rng(0).permutation(len(members))
    return np.sort(order[np.argsort(-telling[order], kind="stable")[:most]])


def own_subspace(found: Findings, cluster: Cluster, *, three: bool = False) -> Any:
    """The members along the axes of their subspace; along one axis, against their distance."""
    import plotly.graph_objects as go

    shown = thinned(found, cluster.members)
    places = _narrow(cluster.coordinates)[shown]
    text = [_hover(found, int(i)) for i in cluster.members[shown]]
    marker = {"color": colour(cluster.number), "symbol": _symbol(cluster.number), "opacity": 0.85}
    common = {"mode": "markers", "text": text, "hovertemplate": "%{text}<extra></extra>"}
    titles = [_axis_title(cluster, r) for r in range(places.shape[1])]
    if three:
        marker["size"] = 4
        points = go.Scatter3d(x=places[:, 0], y=places[:, 1], z=places[:, 2], marker=marker, **common)
        scene: dict[str, Any] = {f"{name}axis": {"title": titles[r]} for r, name in enumerate("xyz")}
        scene["camera"] = {"eye": {"x": 1.6, "y": 1.6, "z": 0.9}, "center": {"x": 0, "y": 0, "z": -0.1}}
        return _figure([points], height=340, margin={"l": 0, "r": 0, "t": 0, "b": 0}, scene=scene)
    marker["size"] = 7
    one = places.shape[1] == 1
    upright = _narrow(cluster.height)[shown] if one else places[:, 1]
    beyond = "distance from the subspace" if found.has_data else "score (lower is nearer)"
    points = go.Scatter(x=places[:, 0], y=upright, marker=marker, **common)
    return _figure([points], height=340, xtitle=titles[0], ytitle=beyond if one else titles[1])


def strongest_variables(found: Findings, loadings: Loadings, shade: str) -> Any:
    """The strongest variables of a cluster: bars for one axis, a heat map for several."""
    import plotly.graph_objects as go

    values = _narrow(loadings.values[:STRONGEST])
    names = [plotly_text(found.variable_names[j]) for j in loadings.places[:STRONGEST]]
    rows = np.arange(len(names))
    rank = {"tickvals": rows, "ticktext": names, "autorange": "reversed", "zeroline": False}
    height = 76 + 18 * len(names)
    if values.shape[1] == 1:
        bars = go.Bar(
            x=values[:, 0], y=rows, orientation="h", marker={"color": shade}, text=names,
            textposition="none", hovertemplate="%{text}: %{x:.3g}<extra></extra>",
        )  # fmt: skip
        title = "loading" if found.common is None else "weight"
        return _figure([bars], height=height, xtitle=title, yaxis=rank)
    limit = float(np.abs(values).max())
    axes = [str(r + 1) for r in range(values.shape[1])]
    cells = go.Heatmap(
        z=values, x=np.arange(len(axes)), y=rows, zmin=-limit, zmax=limit, colorscale=DIVERGING,
        xgap=1, ygap=1, text=[[name] * len(axes) for name in names],
        hovertemplate="%{text}, axis %{customdata}: %{z:.3g}<extra></extra>",
        customdata=np.tile(np.arange(1, len(axes) + 1), (len(names), 1)),
        colorbar={"thickness": 10, "outlinewidth": 0, "nticks": 5, "title": {"text": "loading"}},
    )  # fmt: skip
    across = {"tickvals": np.arange(len(axes)), "ticktext": axes, "showgrid": False, "zeroline": False}
    return _figure(
        [cells], height=height, yaxis={**rank, "showgrid": False}, xaxis=across, xtitle="axis",
        margin={"l": 56, "r": 12, "t": 12, "b": 44},
    )  # fmt: skip


def between_clusters(found: Findings) -> Any:
    """Score under the own cluster against that under the best other; equal on the line."""
    import plotly.graph_objects as go

    assert found.rivalry is not None
    own, other = found.rivalry.own, found.rivalry.other
    if not found.likelihoods:
        positive = np.concatenate([own[own > 0], other[other > 0]])
        least = positive.min(initial=1.0)
        own, other = np.maximum(own, least), np.maximum(other, least)
    own, other = _narrow(own), _narrow(other)
    low = other.min() if other.min() < own.max() else own.min()
    ends = [float(low), float(own.max())]
    traces = [
        go.Scatter(
            x=ends, y=ends, mode="lines", line={"dash": "dot", "width": 1.5, "color": "#888888"},
            name="as near to both", hoverinfo="skip",
        )  # fmt: skip
    ]
    for cluster in found.clusters:
        rows = cluster.members[thinned(found, cluster.members)]
        traces.append(_cloud(found, cluster.number, own[rows], other[rows], rows))
    across, upright = ({}, {}) if found.likelihoods else (_log_scale(own), _log_scale(other))
    return _figure(
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
        traces.append(_cloud(found, cluster.number, _narrow(jitter), _narrow(values[rows]), rows))
    ticks = [cluster.number for cluster in found.clusters]
    across = {"tickvals": ticks, "showgrid": False, "zeroline": False}
    upright = _log_scale(values[np.isfinite(values) & (values > 0)])
    return _figure(
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
    return _figure([line], height=300, xtitle="sweep", ytitle=title, xaxis=_whole(steps))


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
    whole = np.issubdtype(np.asarray(tried).dtype, np.integer)
    wide = len(tried) > 1 and tried.max() > 20 * max(tried.min(), 1)
    scale = _log_scale(tried) if wide else (_whole(tried) if whole else {})
    name = CRITERION_NAMES.get(ytitle, ytitle)
    return _figure(
        [line, best], height=340, legend=True, xtitle=xtitle, ytitle=name, xaxis=scale
    )


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
        traces.append(
            go.Scatter(
                x=x, y=np.where(np.isfinite(y), y, np.nan), mode="lines+markers", marker=look,
                line={"color": colour(int(k))}, name=f"cluster {k}",
            )  # fmt: skip
        )
    name = CRITERION_NAMES.get(value, value)
    ticks = _whole(columns["n_components"])
    return _figure(
        traces, height=340, legend=True, xtitle="dimension", ytitle=name, xaxis=ticks
    )


def _cloud(found: Findings, k: int, x: Array, y: Array, rows: Sequence[int] | Places) -> Any:
    import plotly.graph_objects as go

    return go.Scatter(
        x=x, y=y, mode="markers", name=f"cluster {k}", text=[_hover(found, int(i)) for i in rows],
        hovertemplate="%{text}<extra></extra>",
        marker={"color": colour(k), "symbol": _symbol(k), "size": 7, "opacity": 0.85},
    )  # fmt: skip


def _hover(found: Findings, i: int) -> str:
    """What is said of a sample under the pointer."""
    lines = [f"<b>{plotly_text(found.sample_names[i])}</b>", f"cluster {found.labels[i]}"]
    if found.classes is not None:
        lines.append(f"class {plotly_text(found.classes[i])}")
    if found.rivalry is not None and found.rivalry.closeness[i] > 0.01:
        share = 100 * found.rivalry.closeness[i]
        lines.append(f"{share:.0f} % between it and cluster {found.rivalry.rival[i]}")
    if found.influence is not None:
        lines.append(f"influence {number(found.influence[i])}")
    return "<br>".join(lines)


def _axis_title(cluster: Cluster, r: int) -> str:
    share = 100 * cluster.energy[r]
    return f"axis {r + 1} ({share:.0f} %)" if cluster.energy.any() else f"axis {r + 1}"


def _figure(
    traces: Sequence[Any], *, height: int, xtitle: str = "", ytitle: str = "", legend: bool = False,
    xaxis: Any = None, yaxis: Any = None, **layout: Any,
) -> Any:  # fmt: skip
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


def _log_scale(values: Array) -> dict[str, Any]:
    """A logarithmic axis with ticks at 1, 2, 3, ..., at 1, 2, 5, or at powers of ten."""
    if not len(values):
        return {"type": "log"}
    ends = np.log10([values.min(), values.max()])
    low, high, span = int(np.floor(ends[0])), int(np.floor(ends[1])), float(np.ptp(ends))
    step = max(1, (high - low) // 6)
    leads = tuple(range(1, 10)) if span < 0.8 else (1, 2, 5) if span < 3 else (1,)
    ticks = [lead * 10.0**power for power in range(low, high + 2, step) for lead in leads]
    return {"type": "log", "tickvals": ticks, "ticktext": [number(tick) for tick in ticks]}


def _whole(values: Any) -> dict[str, Any]:
    """Ticks at whole numbers, not too many of them."""
    return {"dtick": max(1, int(np.ptp(values)) // 10)}


def _symbol(k: int) -> str:
    return SYMBOLS[k % len(SYMBOLS)]


def _narrow(values: Any) -> NDArray[np.float32]:
    """Half the bytes, and more digits than a screen has; scaled numbers stay in range."""
    return np.asarray(values, dtype=np.float32)
