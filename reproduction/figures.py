"""The figures of the page: the paper's two, and one for each of its tables."""

import warnings

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from reproduction import illustrations, press
from subspaces import plots
from subspaces.datasets import make_scenario

SERIES = {
    "paper": ("0.15", "_", 14),
    "as printed": (plots.COLOURS[1], "s", 5),
    "defaults": (plots.COLOURS[0], "o", 6),
    "limit": ("0.6", "D", 4),
}
GRADES = {
    "refit": ("leaving out, N decompositions", plots.COLOURS[3], "^"),
    "exact": ("exact, one decomposition", plots.COLOURS[2], "D"),
    "hat": ("joint down-date", plots.COLOURS[0], "o"),
    "paper": ("closed form", plots.COLOURS[1], "s"),
}
SHAPES = {"a": "two lines", "b": "a line and a plane", "c": "two planes",
          "d": "a line, a plane, a space"}  # fmt: skip


def save(figure, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130, metadata={"Software": None})


def draw_press(results, path):
    """Mean squared error of the closed form and of the down-date against N; seconds."""
    figure = Figure(figsize=(9.5, 4), layout="constrained")
    error_axes, time_axes = figure.subplots(1, 2)
    sizes = np.array(press.SIZES)
    for noise, line in zip(press.NOISES, ("-", ":"), strict=True):
        for grade in ("paper", "hat"):
            label, colour, marker = GRADES[grade]
            means = [squared(results, noise, n, grade) for n in sizes]
            named = f"{label}, noise {noise}"
            error_axes.loglog(sizes, means, line, marker=marker, color=colour, label=named)
    rate = np.log(sizes) / sizes**2
    first = squared(results, press.NOISES[0], sizes[0], "paper")
    error_axes.loglog(sizes, first * rate / rate[0], "--", color="0.5", label="theory: log N / N²")
    error_axes.set(ylabel="mean squared relative error of PRESS", title="Error")
    for grade, (label, colour, marker) in GRADES.items():
        name = f"{grade}_seconds"
        seconds = [results.values("time", "noise 0.1", str(n), name)[0] for n in sizes]
        time_axes.loglog(sizes, seconds, marker=marker, color=colour, label=label)
    time_axes.set(ylabel="seconds", title="Time")
    for ax in (error_axes, time_axes):
        ax.set_xlabel("samples N")
        ax.set_xticks(sizes, [str(n) for n in sizes])
        ax.minorticks_off()
        ax.legend(frameon=False, fontsize=8)
    save(figure, path)


def squared(results, noise, n, grade):
    """Mean squared relative error."""
    return float(np.mean(results.values("error", f"noise {noise}", str(n), grade) ** 2))


def draw_illustrations(path):
    """Each scenario of three dimensions: the truth, K-means, PSC."""
    figure = Figure(figsize=(8.6, 10), layout="constrained")
    for i, (name, shape) in enumerate(SHAPES.items()):
        scenario = make_scenario(name, random_state=0)
        panels = {"truth": scenario.target}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            panels |= {m: illustrations.labels_of(m, scenario, 0) for m in illustrations.METHODS}
        for j, (title, labels) in enumerate(panels.items()):
            ax = figure.add_subplot(4, 3, 3 * i + j + 1, projection="3d")
            _scatter(ax, scenario.data, labels)
            ax.set_title(f"({name}) {shape}" if j == 0 else title, fontsize=10, y=1.01)
    save(figure, path)


def _scatter(ax, X, labels):
    for k in np.unique(labels):
        ax.scatter(*X[labels == k].T, s=9, color=plots.COLOURS[k], marker=plots.MARKERS[k],
                   depthshade=False, linewidths=0)  # fmt: skip
    ax.set(xticklabels=[], yticklabels=[], zticklabels=[])
    ax.tick_params(length=0)
    ax.view_init(elev=22, azim=35)
    ax.set_box_aspect(None, zoom=1.2)


def draw_lines(lines, path, label):
    """Small multiples: one panel a row of the table, its columns from left to right."""
    rows = list(dict.fromkeys(line.row for line in lines))
    width = 3 if len(rows) % 3 == 0 else 4
    height = -(-len(rows) // width)
    figure = Figure(figsize=(2.5 * width + 0.4, 2.3 * height + 0.6), layout="constrained")
    panels = figure.subplots(height, width, sharey=True, squeeze=False).ravel()
    for ax, row in zip(panels, rows, strict=False):
        _draw_row(ax, [line for line in lines if line.row == row])
        ax.set_title(row, fontsize=9)
    for ax in panels[len(rows) :]:
        ax.set_axis_off()
    for ax in panels[: len(rows) : width]:
        ax.set_ylabel(label)
    shown = [name for name in SERIES if name != "limit" or lines[0].limit.count]
    _legend(figure, shown)
    save(figure, path)


def _draw_row(ax, lines):
    shift = {"paper": 0.0, "as printed": -0.16, "defaults": 0.16, "limit": 0.0}
    for name, (colour, marker, size) in SERIES.items():
        series = [_estimates(line)[name] for line in lines]
        places = np.arange(len(lines)) + shift[name]
        ax.errorbar(places, [s[0] for s in series], [s[1] for s in series], fmt=marker, ms=size,
                    color=colour, mew=2 if marker == "_" else 0, elinewidth=1)  # fmt: skip
    ax.set_xticks(range(len(lines)), [line.column for line in lines])
    ax.set(xlim=(-0.5, len(lines) - 0.5), ylim=(-0.06, 1.06))
    ax.grid(axis="y", color="0.92")
    ax.set_axisbelow(True)


def _estimates(line):
    pairs = {"as printed": line.printed, "defaults": line.defaults, "limit": line.limit}
    return {"paper": (line.paper.value, 0.0), **{k: (e.mean, e.error) for k, e in pairs.items()}}


def draw_sets(per_set, path, label):
    """One panel a data set, one line a row of the table."""
    figure = Figure(figsize=(11, 8.2), layout="constrained")
    panels = figure.subplots(1, len(per_set), sharey=True, squeeze=False)[0]
    for ax, (column, lines) in zip(panels, per_set.items(), strict=True):
        places = np.arange(len(lines))
        for name in ("paper", "as printed", "defaults"):
            colour, marker, size = SERIES[name]
            values = [_estimates(line)[name][0] for line in lines]
            ax.plot(values, places, "|" if marker == "_" else marker, ms=size * 0.8, color=colour,
                    mew=2 if marker == "_" else 0)  # fmt: skip
        ax.set(title=column.replace("_", " "), xlabel=label, xlim=(-0.1, 1.05))
        ax.set_yticks(places, [line.row for line in lines], fontsize=8)
        ax.grid(axis="y", color="0.92")
    panels[0].invert_yaxis()
    _legend(figure, ("paper", "as printed", "defaults"), bar="|")
    save(figure, path)


def _legend(figure, names, bar="_"):
    handles = []
    for name in names:
        colour, marker, size = SERIES[name]
        style = {"marker": bar, "mew": 2} if name == "paper" else {"marker": marker, "mew": 0}
        handles.append(Line2D([], [], ls="", color=colour, ms=size, label=name, **style))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(names), frameon=False)
