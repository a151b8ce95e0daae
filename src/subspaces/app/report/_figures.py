"""The plotly figures of the report, each made from the findings."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subspaces._types import Array, Indices, Mask
from subspaces.app.report._canvas import (
    COLOURS,
    DIVERGING,
    MOST_POINTS,
    TEXT_ALONE,
    colour,
    distance_scale,
    figure,
    line,
    log_scale,
    marks,
    narrow,
    thinned,
    whole_numbers,
)
from subspaces.app.report._findings import Cluster, Findings, Loadings, beyond_first
from subspaces.app.report._names import number, plotly_text, short_label
from subspaces.core.contrast import Contrast
from subspaces.plots import CRITERION_NAMES
from subspaces.psc.choice import AgainstOne

# In place of a common dimension, if clusters have dimensions of their own.
OWN = 99
# Symbols of common dimensions, each of which has an open form.
FILLED = ("circle", "square", "diamond", "cross", "triangle-up", "triangle-down", "x")
# How many variables a figure lists.
STRONGEST = 15
# Opacity of a bar that chance explains.
PALE = 0.35
DOTTED = {"dash": "dot", "width": 1.5, "color": "#888888"}


def own_subspace(found: Findings, cluster: Cluster, *, three: bool = False) -> Any:
    """Return a figure of a cluster's samples on the first two, or three, axes of its subspace.

    For a cluster of dimension 1, y is the distance from the subspace (or the score without X).
    """
    shown = thinned(found, cluster.members)
    k, rows = cluster.number, cluster.members[shown]
    places = narrow(cluster.coordinates)[shown]
    titles = [_axis_title(cluster, r) for r in range(places.shape[1])]
    if three:
        axes = dict(zip("xyz", places.T, strict=False))
        points = marks(found, k, rows, size=4, type="scatter3d", **axes)
        eye, center = {"x": 1.6, "y": 1.6, "z": 0.9}, {"x": 0, "y": 0, "z": -0.1}
        scene: dict[str, Any] = {"camera": {"eye": eye, "center": center}}
        for name, title in zip(axes, titles, strict=False):
            scene[f"{name}axis"] = {"title": title, "nticks": 5}
        return figure([points], height=340, margin={"l": 0, "r": 0, "t": 0, "b": 0}, scene=scene)
    if places.shape[1] == 1:
        upright = narrow(cluster.height)[shown]
        titles.append("distance from the subspace")
    else:
        upright = places[:, 1]
    points = marks(found, k, rows, x=places[:, 0], y=upright)
    return figure([points], height=340, xtitle=titles[0], ytitle=titles[1])


def differences(found: Findings, apart: Contrast, beyond: Indices, shade: str) -> Any:
    """Return a plotly bar chart of 15 variables that differ from the other samples.

    Those ``beyond`` chance come first, the largest effect first, and then the others, pale. Bars
    are effects in standard deviations, or differences of means where effects are not known. Dotted
    lines are where chance ends.
    """
    shown = beyond_first(apart, beyond)[:STRONGEST]
    known = not np.isnan(apart.effect[shown]).any()
    sizes = apart.effect[shown] if known else apart.difference[shown]
    # An effect is infinite where a variable does not vary within the clusters.
    edge = 1.15 * np.abs(sizes[np.isfinite(sizes)]).max(initial=1.0)
    names = [plotly_text(found.variable_names[j]) for j in shown]
    ticks = [short_label(found.variable_names[j]) for j in shown]
    words = [
        f"{name}: {number(apart.difference[j])}"
        + (f", {number(apart.effect[j])} standard deviations" if known else "")
        for name, j in zip(names, shown, strict=True)
    ]
    drawn = bars(narrow(np.clip(sizes, -edge, edge)), shade, words, TEXT_ALONE)
    drawn["marker"]["opacity"] = np.where(np.isin(shown, beyond), 1.0, PALE)
    title = f"lower ← {'SD' if known else 'difference of means'} → higher"
    return figure_of_list([drawn], ticks, xtitle=title, shapes=_ends_of_chance(apart, known=known))


def _ends_of_chance(apart: Contrast, *, known: bool) -> list[dict[str, Any]]:
    """Return plotly's dotted lines at the effects where chance ends, if effects are known."""
    if not known:
        return []
    upright = {"type": "line", "y0": 0, "y1": 1, "yref": "paper", "line": DOTTED}
    return [{**upright, "x0": x, "x1": x} for x in (-apart.by_chance, apart.by_chance)]


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


def figure_of_list(
    traces: Sequence[Any], names: list[str], yaxis: Any = None, **layout: Any
) -> Any:
    """Return a plotly figure of traces whose y-axis lists ``names``, the first on top."""
    ticks = {"tickvals": np.arange(len(names)), "ticktext": names}
    upright = {**ticks, "autorange": "reversed", "zeroline": False, **(yaxis or {})}
    return figure(traces, height=76 + 18 * len(names), yaxis=upright, **layout)


def strongest_variables(found: Findings, loadings: Loadings, shade: str) -> Any:
    """Return a figure of the 15 strongest variables: bars, or a heat map for several axes."""
    names = [found.variable_names[j] for j in loadings.places[:STRONGEST]]
    title = "loading" if found.common is None else "weight"
    return loadings_chart(names, loadings.values[:STRONGEST], shade, title)


def loadings_chart(
    variables: Sequence[str],
    loadings: Array,
    shade: str,
    title: str = "loading",
    axis: str = "axis",
) -> Any:
    """Return a figure of loadings (m, r) by variable: bars of one axis, a heat map of several.

    title: what a loading is called; axis: what an axis is called.
    """
    values, names = narrow(loadings), [plotly_text(name) for name in variables]
    ticks = [short_label(name) for name in variables]
    if values.shape[1] == 1:
        drawn = bars(values[:, 0], shade, names, "%{text}: %{x:.3g}<extra></extra>")
        return figure_of_list([drawn], ticks, xtitle=title)
    limit = float(np.abs(values).max())
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
        "colorbar": {"thickness": 10, "outlinewidth": 0, "nticks": 5, "title": {"text": title}},
    }
    bare = {"showgrid": False, "zeroline": False}
    across = {"tickvals": places, "ticktext": [str(r + 1) for r in places], **bare}
    margin = {"l": 56, "r": 12, "t": 12, "b": 44}
    return figure_of_list([cells], ticks, bare, xtitle=axis, xaxis=across, margin=margin)


def between_clusters(found: Findings, unit: str) -> Any:
    """Return a figure of how far each sample is from its own cluster (x) and the best other (y).

    That is the square root of a score that is a square, or else the score; ``unit`` names it. On
    the dotted line both are equal.
    """
    assert found.rivalry is not None
    own, other = found.rivalry.own, found.rivalry.other
    drawn = np.isfinite(own) & np.isfinite(other)
    if not found.likelihoods:
        drawn &= (own > 0) & (other > 0)
        own, other = (np.sqrt(np.where(drawn, each, 0.0)) for each in (own, other))
    own, other = narrow(own), narrow(other)
    ends = _line_of_equals(own[drawn], other[drawn])
    dots: dict[str, Any] = {
        "mode": "lines",
        "line": DOTTED,
    }
    traces = [line(ends, ends, name="equally near to both", hoverinfo="skip", **dots)]
    for k, rows in _drawn_rows(found, drawn):
        traces.append(marks(found, k, rows, x=own[rows], y=other[rows], name=f"cluster {k}"))
    far = found.outliers[:MOST_POINTS]
    far = far[drawn[far]]
    if len(far):
        traces.append(marks(found, -1, far, x=own[far], y=other[far], name="outlier"))
    across, upright = {}, {}
    if not found.likelihoods:
        both = np.append(own[drawn], other[drawn])
        across = distance_scale(own[drawn], both)
        upright = distance_scale(np.append(other[drawn], ends), both)
    titles = {"xtitle": f"{unit} under own cluster", "ytitle": f"{unit} under the best other"}
    return figure(traces, height=440, legend=True, xaxis=across, yaxis=upright, **titles)


def _drawn_rows(found: Findings, drawn: Mask) -> Iterator[tuple[int, Indices]]:
    """Yield each cluster's number and the rows of X to draw: a thinned part of those in ``drawn``.

    drawn (n,): whether a sample can be drawn: its values are finite, for example.
    """
    for cluster in found.clusters:
        rows = cluster.members[thinned(found, cluster.members)]
        yield cluster.number, rows[drawn[rows]]


def probabilities(found: Findings) -> Any:
    """Return a figure of each label's probability, cluster by cluster, the least sure first."""
    assert found.probabilities is not None
    traces: list[dict[str, Any]] = []
    ticks, end = [], 0
    for k, rows in _drawn_rows(found, found.labels >= 0):
        values = found.probabilities[rows, k]
        order = np.argsort(values, kind="stable")
        place = end + np.arange(len(rows))
        traces.append(marks(found, k, rows[order], x=place, y=narrow(values[order]), size=5))
        ticks.append(end + len(rows) / 2)
        end += len(rows) + max(len(found.labels) // 20, 1)
    across = {"tickvals": ticks, "ticktext": [str(cluster.number) for cluster in found.clusters]}
    across |= {"showgrid": False, "zeroline": False}
    ytitle, upright = "probability of the label", {"range": [0, 1.03]}
    return figure(traces, height=300, xtitle="cluster", ytitle=ytitle, xaxis=across, yaxis=upright)


def influence(found: Findings) -> Any:
    """Return a figure of each sample's influence (log scale), one strip of points per cluster."""
    assert found.influence is not None
    values, random, traces = found.influence, np.random.default_rng(0), []
    drawn = np.isfinite(values) & (values > 0)
    for k, rows in _drawn_rows(found, drawn):
        jitter = narrow(k + random.uniform(-0.3, 0.3, len(rows)))
        traces.append(marks(found, k, rows, x=jitter, y=narrow(values[rows]), name=f"cluster {k}"))
    ticks = [cluster.number for cluster in found.clusters]
    across = {"tickvals": ticks, "showgrid": False, "zeroline": False}
    upright = log_scale(values[drawn])
    return figure(
        traces, height=380, xtitle="cluster", ytitle="influence", xaxis=across, yaxis=upright
    )


def path(values: Array, title: str) -> Any:
    """Return a figure of the objective ``values`` after each sweep; ``title`` names the y-axis."""
    steps = np.arange(1, len(values) + 1)
    sweeps = line(steps, values, hovertemplate="iteration %{x}: %{y:.6g}<extra></extra>")
    return figure([sweeps], height=300, xtitle="sweep", ytitle=title, xaxis=whole_numbers(steps))


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


def candidates(table: dict[str, Any]) -> Any:
    """Return a figure of how far candidates are behind the best by ICL, over numbers of clusters.

    table: ``selection_``. There is a curve for each common dimension, with centres and without, and
    one for dimensions that differ between clusters. The axis ends above the best candidate of each
    number, and curves beyond it are left out. The best candidate is ringed if it was chosen.
    """
    least: dict[tuple[bool, int], dict[int, float]] = {}
    columns = (table[name] for name in ("n_clusters", "n_components", "affine", "difference"))
    for k, sizes, affine, behind in zip(*columns, strict=True):
        own = least.setdefault((not affine, sizes[0] if len(set(sizes)) == 1 else OWN), {})
        own[k] = min(behind, own.get(k, np.inf))
    tried = sorted(set(table["n_clusters"]))
    best = {k: min(own.get(k, np.inf) for own in least.values()) for k in tried}
    top = 1.15 * max(best.values())
    seen = {each: own for each, own in sorted(least.items()) if min(own.values()) <= top}
    traces = [_candidate_curve(*each, points) for each, points in seen.items()]
    others = [each["n_clusters"] for each in table["answers"] if each["n_clusters"] in best]
    against = table["against_one"]
    if against is None or AgainstOne(**against).keeps:
        chosen = min(best, key=best.__getitem__)
        others.remove(chosen)
        traces.append(_rings([chosen], best, 3.0, "chosen"))
    traces += [_rings(others, best, 1.0, "worth a look")] if others else []
    upright = {"range": [-0.06 * top, top], "zeroline": False}
    titles = {"xtitle": "clusters", "ytitle": "behind the best (ICL)"}
    across = whole_numbers(tried)
    return figure(traces, height=420, legend=True, xaxis=across, yaxis=upright, **titles)


def _candidate_curve(linear: bool, size: int, points: dict[int, float]) -> dict[str, Any]:
    """Return the curve of a common dimension, or of own ones; points: by number of clusters."""
    name = "own dimensions" if size == OWN else f"dimension {size}"
    name += ", through the origin" if linear else ""
    shade = "#888888" if size == OWN else colour(size)
    look = {"color": shade, "dash": "dot" if linear else "solid", "width": 3 if size == OWN else 2}
    shape = "circle" if size == OWN else FILLED[size % len(FILLED)]
    symbols = {"color": shade, "symbol": shape + "-open" * linear, "size": 8}
    x, y = zip(*sorted(points.items()), strict=True)
    hover = f"%{{x}} clusters, {name}: %{{y:.4g}}<extra></extra>"
    return line(x, y, name=name, line=look, marker=symbols, hovertemplate=hover)


def _rings(numbers: list[int], heights: dict[int, float], width: float, name: str) -> Any:
    """Return rings around the best candidates of some numbers of clusters."""
    ring = {"size": 17, "symbol": "circle-open", "color": COLOURS[4], "line": {"width": width}}
    places = {"x": numbers, "y": [heights[k] for k in numbers], "hoverinfo": "skip"}
    return {"type": "scatter", "mode": "markers", "marker": ring, "name": name, **places}


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


def _line_of_equals(own: Array, other: Array) -> list[float]:
    """Return where the drawn line y = x begins and ends, two numbers; empty without samples."""
    if not len(own):
        return []
    low = other.min() if other.min() < own.max() else own.min()
    return [float(low), float(own.max())]


def _axis_title(cluster: Cluster, r: int) -> str:
    if len(cluster.energy) == 1 or not cluster.energy.any():
        return f"axis {r + 1}"
    return f"axis {r + 1} ({100 * cluster.energy[r]:.0f} %)"
