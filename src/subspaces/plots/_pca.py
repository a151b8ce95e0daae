"""Figures of one PCA: its components beside the noise, and the samples that do not belong."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from subspaces._types import Array, Axes, Names
from subspaces.plots import _style as style

# An error of so many times that of no axes at all is drawn at the upper edge.
BLOWN_UP = 2.0


def components(result: Any, *, ax: Sequence[Axes] | None = None) -> Any:
    """Draw the strength of each component, and the leave-one-cell-out error.

    Left: the strength is the eigenvalue of an axis over the edge of the noise, so that what is
    above 1 stands out; where an axis rests on one sample, a ring shows its strength without that
    sample. Right: the error of predicting a left-out cell by so many axes, the least one in a ring;
    errors of more than twice that without axes, which would leave no room for the others, are
    triangles at the upper edge.

    Parameters
    ----------
    result : PCAComponents
        From `subspaces.diagnostics.pca_components`.
    ax : pair of matplotlib Axes, optional
        Where to draw; by default a new figure.

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
    with style.canvas(None if ax is None else _pair(ax), **options) as both:
        left, right = both
        _draw_ratios(left, result)
        _draw_cells(right, result)
    return both


def outliers(
    result: Any, *, n_named: int = 8, names: Names | None = None, ax: Axes | None = None
) -> Any:
    """Draw how far each sample is within the axes of a PCA, and from them; outliers are named.

    Both distances are those of the PCA of all other samples. Dotted lines are limits that a share
    of ``result.level`` of the samples exceed by chance, each by itself. Outliers are found among
    all samples at that false discovery rate, so that a few beyond a limit are none. Without axes
    (``n_components=0``) the distance from the mean is drawn against the place in the table.

    Parameters
    ----------
    result : PCAOutliers
        From `subspaces.diagnostics.pca_outliers`.
    n_named : int, default 8
        How many outliers get their name written, the clearest first.
    names : sequence of str of length n, optional
        Names of the samples; by default the index of the data frame that was fitted, or row
        numbers.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from subspaces import plots
    >>> from subspaces.diagnostics import pca_outliers
    >>> plots.outliers(pca_outliers(load_wine().data, 2)).get_ylabel()
    'Q, left out (distance from the axes)'
    """
    style.check_result(result, ("t2_left_out", "q_left_out"), "outliers", "pca_outliers(X, 2)")
    names = result.sample_names if names is None else names
    names = style.check_names(names, len(result.t2), "samples")
    flat = not result.t2_left_out.any()
    across = np.arange(len(names)) if flat else _positive(result.t2_left_out)
    points = np.column_stack([across, _positive(result.q_left_out)])
    clear = np.isin(np.arange(len(points)), result.outliers)
    with style.canvas(ax) as ax:
        ax.scatter(points[~clear, 0], points[~clear, 1], s=10, color="0.65", linewidths=0)
        if clear.any():
            x, y = points[clear].T
            ax.scatter(x, y, s=20, color=style.colour_of(4), label="does not belong")
        _draw_limits(ax, result)
        ax.set_xlabel("place in the table" if flat else "T2, left out (distance within the axes)")
        ax.set_ylabel(f"Q, left out (distance from the {'mean' if flat else 'axes'})")
        ax.set(xscale="linear" if flat else "log", yscale="log")
        ax.margins(x=0.12, y=0.12)
        for axis in (ax.yaxis,) if flat else (ax.xaxis, ax.yaxis):
            style.plain_numbers(axis)
        style.write_names(ax, points, result.outliers[:n_named], names)
    return ax


def _pair(ax: Sequence[Axes] | None) -> tuple[Any, Any]:
    """Return ``ax`` as two Axes; raise TypeError or ValueError unless it is a pair."""
    message = "plots.components draws two panels. Pass ax=(left, right)"
    if not isinstance(ax, Iterable):
        raise TypeError(message)
    both = tuple(ax)
    if len(both) != 2:
        raise ValueError(f"{message}, not {len(both)} Axes")
    return both


def _draw_limits(ax: Axes, result: Any) -> None:
    """Draw the limits of both distances as dotted lines, and a legend above the Axes."""
    label = f"limit ({100 * result.level:.3g} % beyond by chance)"
    for limit, line in (
        (result.t2_left_out_limit, ax.axvline),
        (result.q_left_out_limit, ax.axhline),
    ):
        if limit > 0.0:
            line(limit, color="0.4", linewidth=0.6, linestyle=":", label=label)
            label = "_"
    style.legend_above(ax)


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


def _positive(values: Array) -> Any:
    """Return values fit for a log axis: zeros and infinities at the ends of the others."""
    usual = values[np.isfinite(values) & (values > 0)]
    least, most = (usual.min(), usual.max()) if len(usual) else (1.0, 1.0)
    return np.clip(np.nan_to_num(values, posinf=2 * most), least, 2 * most)
