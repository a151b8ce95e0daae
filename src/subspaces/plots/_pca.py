"""Figures of one PCA: its components beside the noise, and the samples that do not belong to it."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from subspaces._types import Array, Axes, Mask, Names
from subspaces.plots import _style as style

DRAWN = ("t2", "t2_limit", "q", "q_limit", "is_outlier")
SOURCE = "pca_outliers(X, 2)"
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


def outliers(
    result: Any, *, n_named: int = 8, names: Names | None = None, ax: Axes | None = None
) -> Any:
    """Draw how far each sample is out along the components of a PCA, and how far from them.

    Each sample is compared with the PCA of all others. The dotted lines are the limits. A table
    without outliers has a sample beyond one with probability ``result.level``. If
    ``n_components=0``, it shows the distance from the mean against the row number.

    Parameters
    ----------
    result : PCAOutliers
        From `subspaces.diagnostics.pca_outliers` or ``PCA.outliers``.
    n_named : int, default 8
        How many outliers to label. The clearest come first.
    names : sequence of str of length n, optional
        Names of the samples. By default the index of the data frame, or row numbers.
    ax : matplotlib Axes, optional
        Where to draw. By default a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from subspaces import plots
    >>> from subspaces.diagnostics import pca_outliers
    >>> plots.outliers(pca_outliers(load_wine().data, 2)).get_ylabel()
    'Q (distance from the axes)'
    """
    style.check_result(result, DRAWN, "outliers", SOURCE)
    names = style.names_of_samples(result.sample_names, names, len(result.t2))
    flat = not result.t2.any()
    across = np.arange(len(names)) if flat else style.positive(result.t2)
    points = np.column_stack([across, style.positive(result.q)])
    with style.canvas(ax) as ax:
        _draw_points(ax, points, result.is_outlier)
        _draw_limit(ax.axvline, 0.0 if flat else result.t2_limit, None)
        _draw_limit(ax.axhline, result.q_limit, result.level)
        style.legend_above(ax)
        ax.set_xlabel("place in the table" if flat else "T2 (distance within the axes)")
        ax.set_ylabel(f"Q (distance from the {'mean' if flat else 'axes'})")
        ax.set(xscale="linear" if flat else "log", yscale="log")
        ax.margins(x=0.12, y=0.12)
        for axis in (ax.yaxis,) if flat else (ax.xaxis, ax.yaxis):
            style.plain_numbers(axis)
        style.write_names(ax, points, result.outliers[:n_named], names)
    return ax


def control_chart(
    result: Any, *, n_named: int = 8, names: Names | None = None, ax: Sequence[Axes] | None = None
) -> Any:
    """Draw a control chart: T2 and Q of each sample in order, with limits and outliers.

    A drift or a jump shows in the order of the samples, so sort them by time first.

    Parameters
    ----------
    result : PCAOutliers
        From `subspaces.diagnostics.pca_outliers` or ``PCA.outliers``.
    n_named : int, default 8
        How many outliers to label in each panel. The clearest come first.
    names : sequence of str of length n, optional
        Names of the samples. By default the index of the data frame, or row numbers.
    ax : pair of matplotlib Axes, optional
        Where to draw T2 and Q. By default a new figure.

    Returns
    -------
    pair of matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from subspaces import plots
    >>> from subspaces.diagnostics import pca_outliers
    >>> above, below = plots.control_chart(pca_outliers(load_wine().data, 2))
    >>> below.get_xlabel()
    'place in the table'
    """
    style.check_result(result, DRAWN, "control_chart", SOURCE)
    names = style.names_of_samples(result.sample_names, names, len(result.t2))
    panels = (
        (result.t2, result.t2_limit, "T2 (within the axes)"),
        (result.q, result.q_limit, "Q (from the axes)"),
    )
    options = {"nrows": 2, "sharex": True, "figsize": (1.6 * style.COLUMN, 3.4)}
    with style.canvas(style.pair(ax, "control_chart"), **options) as both:
        for panel, (values, limit, title) in zip(both, panels, strict=True):
            points = np.column_stack([np.arange(len(names)), style.positive(values)])
            beyond = result.is_outlier & (values > limit)
            panel.plot(*points.T, color="0.85", linewidth=0.6, zorder=0)
            _draw_points(panel, points, beyond)
            _draw_limit(panel.axhline, limit, result.level)
            panel.set(yscale="log", ylabel=title)
            panel.margins(x=0.03, y=0.15)
            style.plain_numbers(panel.yaxis)
            named = [i for i in result.outliers if beyond[i]][:n_named]
            style.write_names(panel, points, np.array(named, dtype=int), names)
        style.legend_above(both[0])
        both[1].set_xlabel("place in the table")
    return both


def contributions(
    result: Any,
    sample: int | str,
    *,
    of: Literal["q", "t2"] | None = None,
    n_shown: int = 10,
    ax: Axes | None = None,
) -> Any:
    """Draw which variables make a sample an outlier, strongest first.

    Parameters
    ----------
    result : PCAOutliers
        From `subspaces.diagnostics.pca_outliers` or ``PCA.outliers``.
    sample : int or str
        Row number of the sample, or its name in the index of the data frame.
    of : {"q", "t2"}, optional
        Which distance to explain. By default the clearer one. "q" shows residuals, in standard
        deviations of the residuals of samples that are no outliers. "t2" shows shares of T2.
    n_shown : int, default 10
        How many variables to draw.
    ax : matplotlib Axes, optional
        Where to draw. By default a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from subspaces import plots
    >>> from subspaces.diagnostics import pca_outliers
    >>> wine = load_wine(as_frame=True).data
    >>> plots.contributions(pca_outliers(wine / wine.std(), 2, robust=True), 121).get_xlabel()
    'residual, in standard deviations'
    """
    style.check_result(result, DRAWN, "contributions", f"{SOURCE}, 0")
    i = result.row_of(sample)
    if of is None:
        of = "q" if result.q_p_value[i] <= result.t2_p_value[i] else "t2"
    values = np.asarray(result.contributions(sample)[of])
    order = np.argsort(-np.abs(values), kind="stable")[:n_shown]
    label = {"q": "residual, in standard deviations", "t2": "share of T2"}[of]
    name = i if result.sample_names is None else result.sample_names[i]
    variables = [style.short_name(result.variable_names[j]) for j in order]
    with style.list_of(variables, f"sample {style.short_name(name)}", ax) as ax:
        colours = [style.colour_of(0 if values[j] > 0 else 4) for j in order]
        ax.barh(range(len(order)), values[order], color=colours, height=0.7)
        ax.set_xlabel(label)
    return ax


def _draw_points(ax: Axes, points: Array, clear: Mask) -> None:
    ax.scatter(points[~clear, 0], points[~clear, 1], s=10, color="0.65", linewidths=0)
    if clear.any():
        x, y = points[clear].T
        ax.scatter(x, y, s=20, color=style.colour_of(4), label="outlier")


def _draw_limit(line: Any, limit: float, level: float | None) -> None:
    """Draw a limit by ``ax.axhline`` or ``ax.axvline``, with a label if there is a level."""
    label = "_" if level is None else f"limit (level {100 * level:.3g} %)"
    if limit > 0.0:
        line(limit, color="0.4", linewidth=0.6, linestyle=":", label=label)
