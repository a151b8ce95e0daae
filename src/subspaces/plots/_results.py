"""Figures of a selection's criterion and of the agreement between several methods."""

from typing import Any

import numpy as np

from subspaces._types import Axes
from subspaces.messages import ParameterError, ParameterTypeError
from subspaces.plots import _style as style
from subspaces.plots._clusters import last_step
from subspaces.psc.choice import TIE

CRITERION_NAMES = {
    "icl": "ICL criterion",
    "press": "PRESS",
    "likelihood": "-log leave-one-out likelihood",
    "sod": "second-order difference",
    "bic": "BIC",
    "stability": "agreement of halves",
    "gap": "permutation gap",
    "eigenvalue": "eigenvalue per sample",
}
PARAMETER_NAMES = {"n_clusters": "number of clusters", "n_variables": "variables per loading"}


def selection(result: Any, *, ax: Axes | None = None) -> Any:
    """Draw the candidates of a selection, with a ring around the choice.

    Parameters
    ----------
    result : Selection
        From `subspaces.selection`.
    ax : matplotlib Axes, optional
        Where to draw. By default a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from subspaces import PSC, plots
    >>> from subspaces.datasets import make_scenario
    >>> from subspaces.selection import select_n_clusters
    >>> planes = make_scenario("c", noise=0.05, n_features=20, random_state=0)
    >>> found = select_n_clusters(PSC(n_components=2, random_state=0), planes.data, range(1, 4))
    >>> ax = plots.selection(found)
    >>> ax.get_xlabel()
    'number of clusters'
    """
    style.check_result(result, ("columns", "best_"), "selection", "select_n_clusters(model, X)")
    columns = result.columns
    with style.canvas(ax) as ax:
        if "cluster" not in columns:
            _draw_curve(ax, result)
        else:
            _draw_dimensions(ax, columns)
    return ax


def candidates(model: Any, *, ax: Axes | None = None) -> Any:
    """Draw the candidates of an automatic choice.

    There is a line for each dimension that all clusters share, and one for clusters with dimensions
    of their own. A ring shows the choice. One cluster is compared in another way and has no ring.

    Parameters
    ----------
    model : fitted PSC
        A model with "auto" for its number of clusters, dimensions or centre. It can be a Pipeline.
    ax : matplotlib Axes, optional
        Where to draw. By default a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from subspaces import PSC, plots
    >>> from subspaces.datasets import make_scenario
    >>> planes = make_scenario("c", noise=0.05, n_features=20, random_state=0)
    >>> model = PSC("auto", n_components="auto", max_clusters=4, random_state=0).fit(planes.data)
    >>> ax = plots.candidates(model)
    >>> ax.get_title()
    'chosen: 2 clusters'
    """
    model = last_step(model)
    table = getattr(model, "selection_", None) or {}
    if not table.get("cost"):
        raise ParameterTypeError(
            "model",
            f"This {type(model).__name__} has no numbers of clusters to compare. Fit "
            'PSC("auto", n_components="auto") and pass that.',
        )
    chosen = model.n_clusters_
    with style.canvas(ax) as ax:
        ax.axhspan(0.0, TIE, color="0.92", label="about as good")
        for place, (name, line) in enumerate(_least_differences(table).items()):
            ax.plot([*line], [*line.values()], ms=4, label=name, **style.look_of(place))
        if chosen > 1:
            ax.plot(chosen, 0.0, "o", ms=10, mfc="none", color="black")
        ax.set(xlabel=PARAMETER_NAMES["n_clusters"], ylabel="criterion above the best")
        ax.set(
            title=f"chosen: {chosen} cluster{'s' * (chosen > 1)}",
            xticks=[*set(table["n_clusters"])],
        )
        ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return ax


def comparison(result: Any, *, ax: Axes | None = None) -> Any:
    """Draw the agreement of every two methods (adjusted Rand index) as a heat map.

    Parameters
    ----------
    result : Comparison
        From `subspaces.compare`.
    ax : matplotlib Axes, optional
        Where to draw. By default a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from subspaces import compare, plots
    >>> from subspaces.datasets import make_scenario
    >>> planes = make_scenario("c", random_state=0)
    >>> ax = plots.comparison(compare(planes.data, 2, 2, methods=["KSubspaces", "KMeans"]))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['KSubspaces', 'KMeans']
    """
    style.check_result(result, ("labels", "agreement"), "comparison", "compare(X, n_clusters)")
    names, values = list(result.labels), result.agreement
    if not names:
        raise ParameterError(
            "comparison",
            "All methods failed, so there is nothing to draw. See the attribute messages for the "
            "reasons.",
        )
    side = max(style.COLUMN, 1.3 + 0.33 * len(names))
    with style.canvas(ax, figsize=(side, side - 0.1)) as ax:
        style.heat_map(ax, values, "Blues", 1)
        for i, j in np.ndindex(values.shape):
            ink = "white" if values[i, j] > 0.6 else "black"
            text = f"{round(values[i, j], 2) + 0.0:.2f}"
            ax.text(j, i, text, ha="center", va="center", color=ink, fontsize=7)
        places, labels = np.arange(len(names)), [style.short_name(name) for name in names]
        turned: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
        ax.set_xticks(places, labels, parse_math=False, **turned)
        ax.set_yticks(places, labels, parse_math=False)
        ax.set_title("adjusted Rand index\nbetween partitions")
    return ax


def _draw_curve(ax: Axes, result: Any) -> None:
    """Draw the criterion against the number of clusters or of variables, the choice in a ring."""
    parameter = next(iter(result.columns))
    x, y = result.columns[parameter], result.columns[result.criterion]
    if result.criterion == "stability":
        ax.errorbar(x, y, result.columns["stability_error"], fmt="none", ecolor=style.colour_of(0))
        ax.set_ylim(min(0.0, np.nanmin(y)) - 0.02, 1.05)
    ax.plot(x, y, marker="o", ms=4, color=style.colour_of(0))
    ax.plot(result.best_, y[x == result.best_], "o", ms=10, mfc="none", color=style.colour_of(4))
    name = CRITERION_NAMES.get(result.criterion, result.criterion)
    ax.set(xlabel=PARAMETER_NAMES[parameter], ylabel=name, title=f"chosen: {result.best_}")
    if parameter == "n_clusters":
        ax.set_xticks(x)
    else:
        ax.set_xscale("log")
        ax.set_xlim(x.min() / 1.1, x.max() * 1.1)
        style.plain_numbers(ax.xaxis)


def _least_differences(table: dict[str, Any]) -> dict[str, dict[int, float]]:
    """Return how far the best candidate of each number of clusters is behind, by dimensions."""
    lines: dict[str, dict[int, float]] = {}
    own = ["own dimensions"] * any(len(set(each)) > 1 for each in table["n_components"])
    tried = [table[name] for name in ("n_clusters", "n_components", "difference")]
    for n_clusters, dimensions, difference in zip(*tried, strict=True):
        shared = [f"dimension {dimensions[0]}"] * (len(set(dimensions)) == 1)
        for line in (lines.setdefault(name, {}) for name in shared + own):
            line[n_clusters] = min(difference, line.get(n_clusters, np.inf))
    return dict(sorted(lines.items()))


def _draw_dimensions(ax: Axes, columns: dict[str, Any]) -> None:
    """Draw PRESS or the eigenvalue against the dimension, one line per cluster, choices ringed."""
    value = next(name for name in ("press", "eigenvalue") if name in columns)
    for k in np.unique(columns["cluster"]):
        own = columns["cluster"] == k
        x, y, picked = (columns[name][own] for name in ("n_components", value, "chosen"))
        ax.plot(x, y, ms=4, label=f"cluster {k}", **style.look_of(k))
        ax.plot(x[picked], y[picked], "o", ms=10, mfc="none", color=style.colour_of(k))
    name = CRITERION_NAMES.get(value, value)
    ax.set(xlabel="number of dimensions", ylabel=name, xticks=np.unique(columns["n_components"]))
    ax.set_title("circles: chosen")
    ax.legend()
