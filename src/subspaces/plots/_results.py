"""What was chosen, and how far several methods agree."""

from typing import Any

import numpy as np

from subspaces.plots._style import COLUMN, bare, canvas, colour_of, marker_of, plain_numbers, shown

CRITERION_NAMES = {
    "press": "PRESS",
    "press_points": "PRESS, mean over samples",
    "press_sum": "PRESS, summed over clusters",
    "likelihood": "-log leave-one-out likelihood",
    "free": "-log leave-one-out likelihood, dimensions free",
    "sod": "second-order difference",
    "bic": "BIC",
    "gap": "permutation gap",
    "eigenvalue": "eigenvalue per sample",
}
PARAMETER_NAMES = {"n_clusters": "number of clusters", "n_variables": "variables per loading"}


def selection(result: Any, *, ax: Any = None) -> Any:
    """The criterion of a selection against its candidates, the choice marked.

    Parameters
    ----------
    result : Selection
        From `subspaces.selection`.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes
    """
    columns = result.columns
    with canvas(ax) as ax:
        if "cluster" not in columns:
            _draw_curve(ax, result)
        elif "n_variables" in columns:
            _draw_counts(ax, columns)
        else:
            _draw_dimensions(ax, columns)
    return ax


def comparison(result: Any, *, ax: Any = None) -> Any:
    """Adjusted Rand index between the partitions of several methods, as a heat map.

    Parameters
    ----------
    result : Comparison
        From `subspaces.compare`.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes
    """
    names, values = list(result.labels), result.agreement
    if not names:
        raise ValueError("no method came to an end; there is nothing to draw")
    side = max(COLUMN, 1.3 + 0.33 * len(names))
    with canvas(ax, figsize=(side, side - 0.1)) as ax:
        ax.imshow(values, cmap="Blues", vmin=0, vmax=1)
        for i, j in np.ndindex(values.shape):
            ink = "white" if values[i, j] > 0.6 else "black"
            text = f"{round(values[i, j], 2) + 0.0:.2f}"
            ax.text(j, i, text, ha="center", va="center", color=ink, fontsize=7)
        places, labels = np.arange(len(names)), [shown(name) for name in names]
        turned = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
        ax.set_xticks(places, labels, parse_math=False, **turned)
        ax.set_yticks(places, labels, parse_math=False)
        bare(ax)
        ax.set_title("adjusted Rand index\nbetween partitions")
    return ax


def _draw_curve(ax: Any, result: Any) -> None:
    """One number for all clusters: the criterion against it."""
    parameter = next(iter(result.columns))
    x, y = result.columns[parameter], result.columns[result.criterion]
    ax.plot(x, y, marker="o", ms=4, color=colour_of(0))
    ax.plot(result.best_, y[x == result.best_], "o", ms=10, mfc="none", color=colour_of(4))
    name = CRITERION_NAMES.get(result.criterion, result.criterion)
    ax.set(xlabel=PARAMETER_NAMES[parameter], ylabel=name, title=f"chosen: {result.best_}")
    if parameter == "n_clusters":
        ax.set_xticks(x)
    else:
        ax.set_xscale("log")
        plain_numbers(ax.xaxis)
        ax.set_xlim(x.min() / 1.1, x.max() * 1.1)


def _draw_counts(ax: Any, columns: dict[str, Any]) -> None:
    ax.bar(columns["cluster"], columns["n_variables"], color=colour_of(0), width=0.6)
    ax.set(xlabel="cluster", ylabel="variables selected", xticks=columns["cluster"])


def _draw_dimensions(ax: Any, columns: dict[str, Any]) -> None:
    """One dimension for each cluster: a line each."""
    value = next(name for name in ("press", "eigenvalue") if name in columns)
    for k in np.unique(columns["cluster"]):
        own = columns["cluster"] == k
        x, y, picked = (columns[name][own] for name in ("n_components", value, "chosen"))
        look = {"color": colour_of(k), "marker": marker_of(k)}
        ax.plot(x, y, ms=4, label=f"cluster {k}", **look)
        ax.plot(x[picked], y[picked], "o", ms=10, mfc="none", color=colour_of(k))
    name = CRITERION_NAMES.get(value, value)
    ax.set(xlabel="number of dimensions", ylabel=name, xticks=np.unique(columns["n_components"]))
    ax.set_title("chosen: circles")
    ax.legend()
