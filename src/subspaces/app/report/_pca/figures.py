"""The plotly figures of the page on one PCA that are of its components and of its variables."""

from typing import Any

import numpy as np

from subspaces._types import Indices
from subspaces.app.report._canvas import (
    COLOURS,
    TEXT_ALONE,
    figure,
    log_scale,
    narrow,
    whole_numbers,
)
from subspaces.app.report._figures import (
    DOTTED,
    STRONGEST,
    bars,
    curve,
    figure_of_list,
    hollow,
    loadings_chart,
)
from subspaces.app.report._names import number, plotly_text, short_label
from subspaces.app.report._pca.findings import LEVEL, PCAFindings

GREY, PERHAPS = "#8e98a4", "#56B4E9"
RING = {"size": 14, "symbol": "circle-open", "color": COLOURS[4], "line": {"width": 2}}
# Height (pixels) of figures that stand side by side.
HEIGHT = 360
# How many components have a panel each in the figure of loadings.
MOST_PANELS = 3
STRENGTH = "strength (noise reaches 1)"
# Errors beyond this many times the error without axes are not drawn. The last axis is as strong as
# the next, a left-out value can turn one into the other, and the formula does not hold.
BLOWN_UP = 5.0


def over_the_noise(found: PCAFindings) -> Any:
    """Return bars from the edge of the noise to each eigenvalue, on a log scale."""
    known, numbers = found.components, np.arange(1, found.n_axes + 1)
    ratio, without = (np.clip(each, 1e-3, 1e6) for each in (known.ratio, known.ratio_without))
    fall = known.alone
    floor = min(0.5, float(ratio.min()) / 1.4, float(without[fall].min(initial=1.0)) / 1.3)
    bars: dict[str, Any] = {"type": "bar", "base": 1.0, "hovertemplate": TEXT_ALONE}
    bars |= {"textposition": "none"}
    other = "not counted" if known.noise == "correlated" else "noise"
    traces = []
    least, most = known.n_components, max(known.high or 0, known.n_components)
    for name, shade, part in (
        ("a component", COLOURS[0], numbers <= least),
        ("perhaps", PERHAPS, (numbers > least) & (numbers <= most)),
        (other, GREY, numbers > most),
    ):
        text = [_told_of_axis(found, int(r)) for r in numbers[part] - 1]
        look = {"marker": {"color": shade}, "name": name, "text": text}
        traces.append({**bars, **look, "x": numbers[part], "y": narrow(ratio[part] - 1.0)})
    ring = {"type": "scatter", "mode": "markers", "marker": RING, "hoverinfo": "skip"}
    ring |= {"name": "without the sample it depends on"}
    if fall.any():
        traces.append({**ring, "x": numbers[fall], "y": narrow(without[fall])})
    top = float(ratio.max()) * 1.35
    return figure(
        [trace for trace in traces if len(trace["x"])],
        height=HEIGHT,
        xtitle="component",
        ytitle=STRENGTH,
        legend=True,
        xaxis=whole_numbers([*numbers, 1]),
        yaxis=_strengths(floor, top),
        bargap=0.35,
        shapes=[line_across(1.0)],
    )


def variance(found: PCAFindings) -> Any:
    """Return a bar chart of each axis' share of the variance, for a table without noise."""
    shares = 100 * found.components.explained
    numbers = np.arange(1, len(shares) + 1)
    bars = {
        "type": "bar",
        "x": numbers,
        "y": narrow(shares),
        "marker": {"color": COLOURS[0]},
        "hovertemplate": "component %{x}: %{y:.3g} % of the variance<extra></extra>",
    }
    return figure(
        [bars],
        height=HEIGHT,
        xtitle="component",
        ytitle="% of the variance",
        xaxis=whole_numbers([*numbers, 1]),
        bargap=0.35,
    )


def left_out_cells(found: PCAFindings) -> Any:
    """Return a figure of the leave-one-cell-out error by the number of axes, the least ringed."""
    known = found.components
    numbers = np.arange(len(known.loco))
    titles = ("components", "error of a left-out value", "predicts best")
    errors = np.where(known.loco > BLOWN_UP * known.loco[0], np.nan, known.loco)
    drawing = curve(numbers, errors, known.n_predictive, *titles).update_layout(height=HEIGHT)
    return drawing.update_layout(xaxis={"zeroline": False}, yaxis={"zeroline": False})


def loadings(found: PCAFindings) -> Any:
    """Return a figure of the 15 variables that make the components: bars, or a heat map.

    Up to three components whose intervals are known have a panel of bars each.
    """
    places = strongest_of_all(found)
    names = [found.variable_names[j] for j in places]
    if found.intervals is not None and found.n_shown <= MOST_PANELS:
        return _panels(found, places, names)
    return loadings_chart(names, found.loadings[places], COLOURS[0], axis="component")


def _panels(found: PCAFindings, places: Indices, names: list[str]) -> Any:
    """Return a figure of loadings with intervals, side by side; those that may be 0 are hollow."""
    assert found.intervals is not None
    low, high, p_value = (table[places] for table in found.intervals)
    values, count = found.loadings[places], found.n_shown
    edge = 1.05 * float(max(-low.min(), high.max()))
    traces, axes = [], {}
    for r in range(count):
        words = [
            f"{plotly_text(name)}: {values[j, r]:.2f} ({low[j, r]:.2f} to {high[j, r]:.2f})"
            for j, name in enumerate(names)
        ]
        drawn = bars(narrow(values[:, r]), COLOURS[0], words, TEXT_ALONE)
        drawn["marker"] = hollow(COLOURS[0], p_value[:, r] >= 1.0 - LEVEL)
        drawn["error_x"] = {
            "type": "data", "symmetric": False, "thickness": 1.5, "width": 0, "color": GREY,
            "array": narrow(high[:, r] - values[:, r]),
            "arrayminus": narrow(values[:, r] - low[:, r]),
        }  # fmt: skip
        number = "" if r == 0 else str(r + 1)
        traces.append({**drawn, "xaxis": f"x{number}"})
        axes[f"xaxis{number}"] = {
            "title": {"text": f"PC{r + 1}" if count > 1 else "loading"},
            "domain": [r / count, (r + 0.92) / count], "range": [-edge, edge], "nticks": 5,
        }  # fmt: skip
    ticks = [short_label(name) for name in names]
    return figure_of_list(traces, ticks, bargap=0.35, **axes)


def strongest_of_all(found: PCAFindings) -> Indices:
    """Return the columns of up to 15 variables, the strongest of each component in turn.

    They are ordered by the component on which they load most, then by their loadings on it.
    """
    orders = [found.strongest(r)[:STRONGEST] for r in range(found.n_shown)]
    in_turn = [int(j) for ranks in zip(*orders, strict=True) for j in ranks]
    chosen = np.array(list(dict.fromkeys(in_turn))[:STRONGEST], dtype=np.intp)
    own = np.abs(found.loadings[chosen]).argmax(axis=1)
    return chosen[np.lexsort((-found.loadings[chosen, own], own))]


def _told_of_axis(found: PCAFindings, r: int) -> str:
    known = found.components
    sample = plotly_text(found.sample_names[known.rests_on[r]])
    kind = "component" if r < known.n_components else "axis"
    return (
        f"<b>{kind} {r + 1}</b><br>{100 * known.explained[r]:.3g} % of the "
        f"variance<br>{number(known.ratio[r])} times what noise reaches<br>depends most on "
        f"{sample}: {number(known.ratio_without[r])} without it"
    )


def _strengths(low: float, high: float) -> dict[str, Any]:
    """Return plotly's settings of a log axis from ``low`` to ``high``, with few ticks."""
    few = log_scale(np.array([low, max(high, 10 * low)]))
    return {**few, "range": np.log10([low, high]).tolist()}


def line_across(height: float) -> dict[str, Any]:
    """Return plotly's shape of a dotted line across a figure."""
    ends = {"xref": "paper", "x0": 0, "x1": 1, "y0": height, "y1": height}
    return {"type": "line", "line": DOTTED, **ends}
