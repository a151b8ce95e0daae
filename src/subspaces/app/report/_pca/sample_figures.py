"""The plotly figures of the page on one PCA that are of its samples."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from subspaces._types import Array, Indices
from subspaces.app.report._canvas import (
    MOST_POINTS,
    distance_scale,
    dots,
    figure,
    log_scale,
    narrow,
    random_part,
)
from subspaces.app.report._figures import DOTTED
from subspaces.app.report._names import number, plotly_text, short_label
from subspaces.app.report._pca.figures import GREY, RING, line_across
from subspaces.app.report._pca.findings import PCAFindings
from subspaces.app.report._pca.labels import LONGEST, sides_of_names
from subspaces.plots._style import positive

# Classes that get a colour and a symbol of their own; of more, the smaller ones share grey.
MOST_CLASSES = 12
# How many samples a figure writes the names of.
NAMED_DRIVERS, NAMED_OUTLIERS = 5, 8
# Marks that keep names away from the marks below them.
UNSEEN = {"size": 10, "color": "rgba(0,0,0,0)"}


def score_pair(found: PCAFindings, first: int, second: int) -> Any:
    """Return a figure of the samples on two components, numbered from 0, outliers ringed."""
    across, upright = found.scores[:, first], found.scores[:, second]
    titles = {"xtitle": _axis_title(found, first), "ytitle": _axis_title(found, second)}
    # A zoom into one pair means nothing in another.
    return _of_samples(found, across, upright, uirevision=f"{first}-{second}", **titles)


def scores_and_distance(found: PCAFindings) -> Any:
    """Return a figure of the samples on the only component, against their distance from it."""
    distance = np.sqrt(found.outliers.error)
    titles = {"xtitle": _axis_title(found, 0), "ytitle": "distance from the component"}
    return _of_samples(found, found.scores[:, 0], distance, **titles)


def drivers(found: PCAFindings) -> Any:
    """Return a figure of each sample's influence (log scale) against its leverage."""
    rows = drawn(found)
    usable = np.isfinite(found.influence) & (found.influence > 0)
    rows = rows[usable[rows]]
    across, upright = narrow(found.leverage), narrow(positive(found.influence))
    first = zip(found.most_influential, found.highest_leverage, strict=True)
    both = [int(i) for pair in list(first)[:NAMED_DRIVERS] for i in pair]
    named = [i for i in dict.fromkeys(both) if usable[i]]
    bare, ticks = {"zeroline": False}, log_scale(upright[rows])
    traces = [
        dots(0, [told_of(found, int(i)) for i in rows], x=across[rows], y=upright[rows]),
        *_named(found, across, upright, named, (bare, ticks)),
    ]
    return figure(
        traces, height=400, xtitle="leverage", ytitle="influence", xaxis=bare, yaxis=ticks
    )


def belonging(found: PCAFindings) -> Any:
    """Return a figure of the roots of T2 and Q, with limits, outliers named.

    These are distances. Without components, that of Q is drawn against the place of the sample in
    the table.
    """
    known, rows = found.outliers, drawn(found)
    upright = narrow(np.sqrt(positive(known.q)))
    flat = found.n_shown == 0
    places = np.arange(1, len(upright) + 1)
    across = narrow(places if flat else np.sqrt(positive(known.t2)))
    out = known.is_outlier
    traces = []
    for name, k, part in (
        ("fits the PCA", 0, rows[~out[rows]]),
        ("outlier", 4, rows[out[rows]]),
    ):
        text = [told_of(found, int(i)) for i in part]
        traces.append(dots(k, text, x=across[part], y=upright[part], name=name))
    limits = [np.sqrt(each) for each in (known.t2_limit, known.q_limit)]
    scales = [
        {**distance_scale(np.append(each[rows], limit), each[rows]), **_including(limit)}
        for each, limit in zip((across, upright), limits, strict=True)
    ]
    if flat:
        scales[0] = {"zeroline": False}
    named = known.outliers[:NAMED_OUTLIERS].tolist()
    traces += _named(found, across, upright, named, scales)
    shapes = [line_across(limits[1])] if limits[1] > 0 else []
    if not flat and limits[0] > 0:
        shapes.append(_upwards(limits[0]))
    return figure(
        [trace for trace in traces if len(trace["x"])],
        height=460,
        legend=True,
        xtitle="place in the table" if flat else "distance along the components (T2)",
        ytitle="distance from the mean" if flat else "distance from the components (Q)",
        xaxis=scales[0],
        yaxis=scales[1],
        shapes=shapes,
    )


def drawn(found: PCAFindings) -> Indices:
    """Return the rows of the samples that figures draw: all, or a random part of too many."""
    known = found.outliers
    clearness = -np.minimum(known.t2_p_value, known.q_p_value)
    return random_part(len(found.scores), MOST_POINTS, [found.influence, clearness])


def told_of(found: PCAFindings, i: int) -> str:
    """Return the hover text of sample ``i``: name, class, whether it belongs, influence."""
    lines = [f"<b>{plotly_text(found.sample_names[i])}</b>"]
    if found.classes is not None:
        lines.append(f"{found.class_word} {plotly_text(found.classes[i])}".strip())
    if found.outliers.is_outlier[i]:
        where = "far from the components" if found.is_off(i) else "far out along them"
        lines.append(f"outlier: {where}")
    lines.append(f"influence {number(found.influence[i])}")
    return "<br>".join(lines)


def _of_samples(found: PCAFindings, across: Array, upright: Array, **layout: Any) -> Any:
    across, upright, traces = narrow(across), narrow(upright), []
    for name, k, rows in class_groups(found):
        text = [told_of(found, int(i)) for i in rows]
        trace = dots(k or 0, text, x=across[rows], y=upright[rows], name=name)
        if k is None:
            trace["marker"] = {**trace["marker"], "color": GREY, "symbol": "circle"}
        traces.append(trace)
    out = np.intersect1d(drawn(found), found.outliers.outliers)
    rings = {"type": "scatter", "mode": "markers", "marker": RING, "hoverinfo": "skip"}
    if len(out):
        traces.append({**rings, "x": across[out], "y": upright[out], "name": "outlier"})
    return figure(traces, height=460, legend=len(traces) > 1, **layout)


def class_groups(found: PCAFindings) -> Iterator[tuple[str, int | None, Indices]]:
    """Yield the name, the number of the style and the drawn rows of each class, or of all samples.

    Of many classes the smaller ones are one group, without a style.
    """
    rows = drawn(found)
    if found.classes is None:
        yield "samples", 0, rows
        return
    own = np.array(found.classes)
    names, sizes = np.unique(own, return_counts=True)
    if len(names) > MOST_CLASSES:
        names = names[np.argsort(-sizes, kind="stable")[: MOST_CLASSES - 1]]
    # First, so that the others are drawn over them.
    rest = rows[~np.isin(own[rows], names)]
    if len(rest):
        yield f"{len(sizes) - len(names)} other classes", None, rest
    for k, name in enumerate(names):
        yield plotly_text(name), k, rows[own[rows] == name]


def _named(
    found: PCAFindings,
    across: Array,
    upright: Array,
    rows: Sequence[int],
    scales: Sequence[dict[str, Any]],
) -> list[dict[str, Any]]:
    """Return the plotly trace that writes names of ``rows`` beside their marks; [] without any.

    across, upright (n,): the marks; scales: plotly's settings of the two axes.
    """
    names = {i: found.sample_names[i] for i in rows}
    x, y = (
        np.log10(values) if scale.get("type") == "log" else values
        for values, scale in zip((across, upright), scales, strict=True)
    )
    sides = sides_of_names(x, y, names)
    kept = list(sides)
    text = {
        "type": "scatter",
        "mode": "markers+text",
        "marker": UNSEEN,
        "x": across[kept],
        "y": upright[kept],
        "text": [short_label(names[i], LONGEST) for i in kept],
        "textposition": list(sides.values()),
        "hoverinfo": "skip",
        "showlegend": False,
        "cliponaxis": False,
    }
    return [text] if kept else []


def _axis_title(found: PCAFindings, r: int) -> str:
    return f"component {r + 1} ({100 * found.share(r):.1f} %)"


def _including(limit: float) -> dict[str, Any]:
    """Return plotly's setting of an axis that reaches a little beyond a limit, if there is one."""
    return {"autorangeoptions": {"include": [1.05 * limit]}} if limit > 0 else {}


def _upwards(place: float) -> dict[str, Any]:
    ends = {"yref": "paper", "y0": 0, "y1": 1, "x0": place, "x1": place}
    return {"type": "line", "line": DOTTED, **ends}
