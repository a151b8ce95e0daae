"""Figures of one PCA: its components beside the noise, and the samples that do not belong."""

from typing import Any

import numpy as np

from subspaces.plots import _style as style


def components(result: Any, *, ax: Any = None) -> Any:
    """Draw each eigenvalue over the edge of the noise, and the leave-one-cell-out error.

    Left: what is above 1 stands out of the noise; where an axis rests on one sample, a ring shows
    how far it reaches without that sample. Right: the error of predicting a left-out cell by so
    many axes, the least one in a ring.

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
    options = {"ncols": 2, "figsize": (2 * style.COLUMN, 2.6)}
    with style.canvas(None if ax is None else tuple(ax), **options) as both:
        left, right = both
        _draw_ratios(left, result)
        _draw_cells(right, result)
    return both


def outliers(result: Any, *, n_named: int = 8, names: Any = None, ax: Any = None) -> Any:
    """Draw how far each sample is within the axes of a PCA, and from them; outliers are named.

    Both distances are those of the PCA of all other samples. Lines are the limits.

    Parameters
    ----------
    result : PCAOutliers
        From `subspaces.diagnostics.pca_outliers`.
    n_named : int, default 8
        How many outliers get their name written, the clearest first.
    names : sequence of str of length n, optional
        Names of the samples; by default row numbers.
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
    names = style.check_names(names, len(result.t2), "samples")
    points = np.column_stack([_positive(result.t2_left_out), _positive(result.q_left_out)])
    clear = np.isin(np.arange(len(points)), result.outliers)
    with style.canvas(ax) as ax:
        ax.scatter(*points[~clear].T, s=10, color="0.65", linewidths=0)
        ax.scatter(*points[clear].T, s=20, color=style.colour_of(4), label="does not belong")
        for limit, line in (
            (result.t2_left_out_limit, ax.axvline),
            (result.q_left_out_limit, ax.axhline),
        ):
            if limit > 0.0:
                line(limit, color="0.4", linewidth=0.6, linestyle=":")
        ax.set(xscale="log", yscale="log")
        ax.set_xlabel("T2, left out (distance within the axes)")
        ax.set_ylabel("Q, left out (distance from the axes)")
        ax.margins(x=0.12, y=0.12)
        style.write_names(ax, points, result.outliers[:n_named], names)
    return ax


def _draw_ratios(ax: Any, result: Any) -> None:
    count = np.arange(1, len(result.ratio) + 1)
    ratio, without = (np.clip(values, 1e-3, 1e6) for values in (result.ratio, result.ratio_without))
    kept = count <= result.n_components
    ax.axhline(1.0, color="0.4", linewidth=0.6, linestyle=":")
    ax.vlines(count, 1.0, ratio, color=np.where(kept, style.colour_of(0), "0.75"), linewidth=3)
    alone = result.alone
    if alone.any():
        ax.plot(
            count[alone], without[alone], "o", ms=6, mfc="none", color=style.colour_of(4),
            label="without the sample it rests on",
        )  # fmt: skip
        ax.legend()
    ax.set_yscale("log")
    style.plain_numbers(ax.yaxis)
    _count_axis(ax, len(count), 0.4)
    title = f"{result.n_components} stand out of the noise"
    if result.noise == "correlated":
        title = f"correlated noise: a break after {result.n_components}"
    ax.set(xlabel="component", ylabel="eigenvalue over the noise's edge", title=title)


def _draw_cells(ax: Any, result: Any) -> None:
    count = np.arange(len(result.loco))
    ax.plot(count, result.loco, marker="o", ms=4, color=style.colour_of(0))
    best = result.n_predictive
    ax.plot(best, result.loco[best], "o", ms=10, mfc="none", color=style.colour_of(4))
    _count_axis(ax, len(count) - 1, -0.4)
    ax.set(xlabel="components", ylabel="error of a left-out cell", title=f"{best} predict best")


def _count_axis(ax: Any, most: int, least: float) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.set_xlim(least, most + 0.6)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))


def _positive(values: Any) -> Any:
    """Return values fit for a log axis: zeros and infinities at the ends of the others."""
    usual = values[np.isfinite(values) & (values > 0)]
    least, most = (usual.min(), usual.max()) if len(usual) else (1.0, 1.0)
    return np.clip(np.nan_to_num(values, posinf=2 * most), least, 2 * most)
