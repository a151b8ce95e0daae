"""The figure of the components of one PCA beside the noise."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from subspaces._types import Axes
from subspaces.plots import _style as style

# An error that is this many times the error without axes is drawn at the upper edge.
BLOWN_UP = 2.0


def components(result: Any, *, ax: Sequence[Axes] | None = None) -> Any:
    """Draw the strength of each component, and the error of values that were left out.

    Left: the strength of an axis is its eigenvalue over the largest one that noise reaches. An axis
    above 1 is stronger than noise. If it depends on one sample, a ring shows its strength without
    that sample. Right: the error of predicting left-out values with this number of axes, the
    smallest in a ring. Errors of more than twice that without axes are triangles at the upper edge.

    Parameters
    ----------
    result : PCAComponents
        From `subspaces.diagnostics.pca_components`.
    ax : pair of matplotlib Axes, optional
        Where to draw. By default a new figure.

    Returns
    -------
    pair of matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from subspaces import plots
    >>> from subspaces.diagnostics import pca_components
    >>> left, right = plots.components(pca_components(load_wine().data, scale=True))
    >>> left.get_xlabel()
    'component'
    """
    drawn = ("ratio", "ratio_without", "loco")
    style.check_result(result, drawn, "components", "pca_components(X)")
    options = {"ncols": 2, "figsize": (2 * style.COLUMN, 2.6)}
    with style.canvas(style.pair(ax, "components"), **options) as both:
        left, right = both
        _draw_ratios(left, result)
        _draw_cells(right, result)
    return both


def _draw_ratios(ax: Axes, result: Any) -> None:
    count = np.arange(1, len(result.ratio) + 1)
    ratio, without = (np.clip(values, 1e-3, 1e6) for values in (result.ratio, result.ratio_without))
    kept = count <= result.n_components
    ax.axhline(1.0, color="0.4", linewidth=0.6, linestyle=":")
    ax.vlines(count, 1.0, ratio, color=np.where(kept, style.colour_of(0), "0.75"), linewidth=3)
    alone = result.alone
    if alone.any():
        ax.plot(
            count[alone], without[alone], "o", ms=6, mfc="none", color=style.colour_of(4),
            label="without the sample it depends on",
        )  # fmt: skip
        ax.legend()
    ax.set_yscale("log")
    style.plain_numbers(ax.yaxis)
    _count_axis(ax, len(count), 0.4)
    title = f"{result.n_components} stronger than noise"
    if result.noise == "correlated":
        title = f"correlated noise, drop after {result.n_components}"
    ax.set(xlabel="component", ylabel="strength (noise reaches 1)", title=title)


def _draw_cells(ax: Axes, result: Any) -> None:
    count, best = np.arange(len(result.loco)), result.n_predictive
    top = BLOWN_UP * result.loco[0]
    off = result.loco > top
    ax.plot(count, result.loco, marker="o", ms=4, color=style.colour_of(0))
    if off.any():
        least = result.loco.min()
        ax.set_ylim(least - 0.1 * (top - least), top + 0.05 * (top - least))
        edge = np.full(np.count_nonzero(off), top)
        ax.plot(count[off], edge, "^", ms=5, color=style.colour_of(0))
    ax.plot(best, result.loco[best], "o", ms=10, mfc="none", color=style.colour_of(4))
    _count_axis(ax, len(count) - 1, -0.4)
    ax.set(xlabel="components", ylabel="error of a left-out value", title=f"{best} predict best")


def _count_axis(ax: Axes, most: int, least: float) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.set_xlim(least, most + 0.6)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
