"""All samples of the page of a model in one picture, and the heat map of what tells them apart."""

from typing import Any

import numpy as np

from subspaces._types import Array, Indices, Labels
from subspaces.app.report._canvas import (
    BAR,
    CELLS,
    DIVERGING,
    GREY,
    PURPLES,
    colour,
    colour_bar,
    figure,
    narrow,
    random_part,
    symbol,
)
from subspaces.app.report._draft import POINT, Draft
from subspaces.app.report._findings import Findings
from subspaces.app.report._names import as_text, escape, number, plotly_text
from subspaces.facts import facts_of, rows_before_axes
from subspaces.plots import _picture as picture
from subspaces.plots._picture import Column

# Most samples that the picture draws at once, that it holds to be searched for, and a heat map has.
DRAWN, HELD, ACROSS = 2000, 20_000, 500
# Samples that get a ring: more rings hide what they mark.
RINGED = 60
# Variables of a heat map, bars of metadata above it, and levels of one that its legend lists.
VARIABLES, BARS, LISTED = 36, 6, 12
# From low to high, readable in light and dark.
SCALE = "Cividis"


def overview(draft: Draft) -> str:
    """Return the HTML of the picture of all samples; "" if nobody knows where they lie."""
    found = draft.found
    if found.picture is None or len(found.labels) < 2:
        return ""
    columns = [_clusters_of(found), *found.columns, *_measures(found)]
    options = "".join(
        f'<option value="{i}">{escape(each.name)}</option>' for i, each in enumerate(columns)
    )
    controls = (
        '<div class="controls" data-cloud="overview" hidden>'
        f"<label>Colour by<select>{options}</select></label>"
        '<label>Find a sample<input type="search" autocomplete="off" spellcheck="false"></label>'
        '<span class="said" role="status" aria-live="polite"></span></div>'
    )
    caption = POINT + _what_is_marked(found)
    label = "All samples on two axes, in colours of your choice"
    drawing = _cloud(found, columns)
    caption += _thinned(drawing, found)
    return controls + draft.figure("overview", drawing, label, caption, _still(found, drawing))


def _still(found: Findings, drawing: Any) -> str:
    """Return an SVG of the marks of the figure, which is there before plotly is."""
    meta, ranges = drawing.layout.meta, [drawing.layout.xaxis.range, drawing.layout.yaxis.range]
    places = np.array([meta["x"], meta["y"]], dtype=float).T[meta["drawn"]]
    low, high = np.transpose(ranges)
    codes = np.array(meta["columns"][0]["values"])[meta["drawn"]]
    shades = [colour(k) for k in range(len(found.clusters))]
    return _dots("still", (places - low) / (high - low), codes, shades)


def _what_is_marked(found: Findings) -> str:
    unsure = int(np.count_nonzero(found.unsure))
    which = f"the {RINGED} least certain" if unsure > RINGED else "uncertain"
    rings = f" Rings: {which} samples." * bool(unsure)
    return rings + " Grey crosses: outliers." * bool(len(found.outliers))


def _ringed(found: Findings, kept: Indices) -> list[int]:
    """Return the places in ``kept`` of the uncertain samples that get a ring."""
    unsure = np.flatnonzero(found.unsure[kept])
    return unsure[np.argsort(-found.doubt[kept][unsure], kind="stable")[:RINGED]].tolist()


def _thinned(drawing: Any, found: Findings) -> str:
    drawn, n = len(drawing.layout.meta["drawn"]), len(found.labels)
    return f" The plot shows {drawn:,} of {n:,} samples, chosen at random." if drawn < n else ""


def _clusters_of(found: Findings) -> Column:
    return Column("Cluster", list(found.names), found.labels.astype(float))


def _measures(found: Findings) -> list[Column]:
    """Return what the model says of each sample, as columns."""
    columns = []
    if found.probabilities is not None and found.probabilities.shape[1] > 1:
        columns.append(Column("Probability", [], found.probabilities.max(axis=1)))
    elif found.rivalry is not None:
        columns.append(Column("Closeness to the next cluster", [], found.rivalry.closeness))
    if found.influence is not None:
        columns.append(Column("Influence", [], found.influence))
    return columns


def _cloud(found: Findings, columns: list[Column]) -> Any:
    """Return a figure without traces; the page's script draws them from its ``meta``."""
    assert found.picture is not None
    n, places = len(found.labels), found.picture.places
    measures = [found.doubt, (found.labels < 0).astype(float)]
    measures += [] if found.influence is None else [found.influence]
    kept = random_part(n, HELD, measures)
    ringed = _ringed(found, kept)
    drawn = random_part(len(kept), DRAWN, [each[kept] for each in measures], ringed)
    meta = {
        "x": _short(places[kept, 0]),
        "y": _short(places[kept, 1]),
        "names": [as_text(found.sample_names[i]) for i in kept],
        "columns": [_for_script(found, each, kept) for each in columns],
        "unsure": ringed,
        "drawn": drawn.tolist(),
        "scale": SCALE,
    }
    first, second = found.picture.titles
    low, high = places.min(axis=0), places.max(axis=0)
    room = np.where(high > low, 0.05 * (high - low), 1.0)
    across, upright = (
        {"zeroline": False, "automargin": False, "range": ends}
        for ends in np.column_stack([low - room, high + room]).tolist()
    )
    return figure(
        [], height=470, xtitle=first, ytitle=second, legend=True, meta=meta,
        xaxis=across, yaxis=upright,
    )  # fmt: skip


def _for_script(found: Findings, of: Column, kept: Indices) -> dict[str, Any]:
    if not of.levels:
        return {"name": of.name, "values": _short(of.values[kept])}
    looks = zip(of.levels, _looks(found, of), strict=True)
    levels = [{"name": level, "color": shade, "symbol": mark} for level, (shade, mark) in looks]
    return {"name": of.name, "levels": levels, "values": of.codes[kept].tolist()}


def _looks(found: Findings, of: Column) -> list[tuple[str, str]]:
    """Return the colour and symbol of each level: known classes have those of their clusters."""
    numbers = range(len(of.levels))
    if of.name == "Cluster" and of.levels == found.names:
        return [(colour(k), symbol(k)) for k in numbers]
    if found.classes is None or of is not found.columns[0]:
        return [(colour(k, PURPLES), symbol(k)) for k in numbers]
    places = picture.as_colours_of_clusters(of, found.labels, len(found.clusters))
    return [(colour(k), symbol(k)) for k in places.tolist()]


def _short(values: Array) -> list[float | None]:
    """Return numbers in four digits, for a short page; None if a number is not finite."""
    return [float(f"{value:.4g}") if np.isfinite(value) else None for value in values]


def heat_map(draft: Draft) -> str | None:
    """Return the HTML of the heat map; None without the table, or if nothing is to be shown."""
    found = draft.found
    if found.rows is None or found.picture is None:
        return None
    variables = picture.telling_variables(facts_of(found.model), VARIABLES)
    if not len(variables):
        return None
    drawing = _heat(found, rows_before_axes(found.model, draft.data), variables)
    across = len(drawing.layout.meta["samples"])
    part = "" if across == len(found.labels) else " Only some samples of each cluster are shown."
    bars = "The bar on top shows the clusters."
    if found.columns:
        bars = "The bars on top show the clusters, and what is known of the samples."
    caption = (
        "Each column is a sample, and each row is a variable that differs between clusters or "
        "varies most within one. Colours are z-scores (standard deviations from the mean of all "
        f"samples): blue is high, orange low. {bars}{part}"
    )
    label = "Heat map of the variables that set clusters apart, by samples, ordered by cluster"
    return draft.figure("heat-map", drawing, label, _legend(found) + caption)


def _legend(found: Findings) -> str:
    """Return the HTML of what the colours of the bars mean; "" if there are none."""
    lines = []
    for bar in found.columns[:BARS]:
        known = bar.values[np.isfinite(bar.values)]
        entries = [
            f'<span><i style="background:{shade}"></i>{escape(level)}</span>'
            for level, (shade, _) in zip(bar.levels, _looks(found, bar), strict=True)
        ]
        if bar.levels and len(known) < len(bar.values):
            entries.append(f'<span><i style="background:{GREY}"></i>none</span>')
        if not bar.levels and len(known):
            low, high = (escape(number(end)) for end in (known.min(), known.max()))
            entries = [f'<span>{low}<i class="scale"></i>{high}</span>']
        if bar.levels and (bar.codes < 0).any():
            entries.append(f'<span><i style="background:{GREY}"></i>missing</span>')
        if 0 < len(entries) <= LISTED + 1:
            lines.append(f"<p><b>{escape(bar.name)}</b>{''.join(entries)}</p>")
    return f'<div class="legend small">{"".join(lines)}</div>' if lines else ""


def _heat(found: Findings, rows: Array, variables: Indices) -> Any:
    """Return the figure of standardised values, below a bar for each column of metadata.

    rows (n, p): the prepared values.
    """
    assert found.picture is not None
    order = picture.by_cluster(found.labels, found.picture.places[:, 0], ACROSS)
    bars = [_clusters_of(found), *found.columns[:BARS]]
    top = len(bars) + 1
    values = picture.standardised(rows[:, variables])[order].T
    names = [found.variable_names[j] for j in variables]
    traces = [_bar(found, bar, order, place) for place, bar in enumerate(bars)]
    traces.append({
        "type": "heatmap",
        "z": narrow(np.round(values, 2)),
        "y": list(range(top, top + len(names))),
        "meta": [plotly_text(name) for name in names],
        "zmin": -picture.MOST_SD,
        "zmax": picture.MOST_SD,
        "colorscale": DIVERGING,
        "colorbar": colour_bar("z-score"),
        "hovertemplate": "%{customdata}<br>%{text}: z-score %{z:.2f}<extra></extra>",
    })  # fmt: skip
    ends = np.flatnonzero(np.diff(found.labels[order])) + 0.5
    edges = np.array([-0.5, *ends, len(order) - 0.5])
    middles = (edges[:-1] + edges[1:]) / 2
    groups = [int(found.labels[order][round(x)]) for x in middles]
    numbered = all(found.called(k) in (f"cluster {k}", "no cluster") for k in groups)
    called = [plotly_text(found.called(k).removeprefix("cluster " * numbered)) for k in groups]
    line = {"type": "line", "yref": "y", "y0": top - 0.5, "y1": top + len(names) - 0.5}
    line |= {"line": {"width": 1.5, "color": GREY}}
    bare = {"showgrid": False, "zeroline": False, "ticks": ""}
    across = {"title": {"text": "cluster" * numbered, "standoff": CELLS}, **bare}
    ticks = [plotly_text(bar.name) for bar in bars] + [plotly_text(name) for name in names]
    places = [*range(len(bars)), *range(top, top + len(names))]
    return figure(
        traces,
        height=180 + 17 * (top + len(names)),
        margin={"l": 56, "r": 12, "t": BAR, "b": 48},
        shapes=[{**line, "x0": x, "x1": x} for x in ends],
        xaxis={"tickvals": middles.tolist(), "ticktext": called, "tickangle": 0, **across},
        yaxis={"tickvals": places, "ticktext": ticks, "autorange": "reversed", **bare},
        meta={"samples": [plotly_text(found.sample_names[i]) for i in order]},
    )


def _bar(found: Findings, of: Column, order: Indices, place: int) -> dict[str, Any]:
    """Return the heat map of one row that shows a column of metadata, in the order of samples."""
    values = of.values[order]
    told = [f"{value:.4g}" for value in values]
    look: dict[str, Any] = {"colorscale": SCALE}
    if of.levels:
        names = [*map(plotly_text, of.levels), "none"]
        told = [names[code] for code in of.codes[order]]
        shades = [*(shade for shade, _ in _looks(found, of)), GREY]
        steps = np.linspace(0.0, 1.0, len(shades) + 1)
        edges = zip(steps[:-1], steps[1:], shades, strict=True)
        scale = [[end, shade] for low, high, shade in edges for end in (low, high)]
        values = np.where(values < 0, len(of.levels), values)
        look = {"colorscale": scale, "zmin": -0.5, "zmax": len(of.levels) + 0.5}
    return {
        "type": "heatmap",
        "z": [_short(values)],
        "y": [place],
        "text": [told],
        "showscale": False,
        "hovertemplate": f"%{{customdata}}<br>{plotly_text(of.name)}: %{{text}}<extra></extra>",
        **look,
    }


def small_picture(found: Findings, labels: Labels, most: int = 600) -> str:
    """Return an SVG of the samples coloured by other labels, in colours that match the clusters."""
    assert found.picture is not None
    names = [str(k) for k in range(int(labels.max()) + 1)]
    of = Column("", names, labels.astype(float))
    matched = picture.as_colours_of_clusters(of, found.labels, len(found.clusters)).tolist()
    places = found.picture.places
    shown = random_part(len(labels), most, [])
    low, span = places.min(axis=0), np.maximum(np.ptp(places, axis=0), 1e-300)
    within = 0.03 + 0.94 * (places[shown] - low) / span
    return _dots("small-picture", within, labels[shown], list(map(colour, matched)))


def _dots(kind: str, places: Array, codes: Labels, shades: list[str]) -> str:
    """Return an SVG of round dots at ``places`` (m, 2), between 0 and 1; grey for the code -1."""
    at = np.round(1000 * np.column_stack([places[:, 0], 1 - places[:, 1]])).astype(int)
    paths = "".join(
        f'<path stroke="{shade}" d="{"".join(f"M{x} {y}h0" for x, y in at[codes == code])}"/>'
        for code, shade in [(-1, GREY), *enumerate(shades)]
        if (codes == code).any()
    )
    return (
        f'<svg class="dots {kind}" viewBox="0 0 1000 1000" preserveAspectRatio="none" '
        f'aria-hidden="true">{paths}</svg>'
    )
