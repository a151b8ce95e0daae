"""Figures from results: each takes and returns matplotlib Axes, and never shows."""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from subspaces.core.subspace import Subspace, scores

__all__ = ["basis_images", "clusters_3d", "influence", "selection"]

Array = NDArray[np.floating]

# Okabe & Ito's colours: told apart with any colour vision, in print and on a projector.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442", "#000000")


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


def influence(result: Any, *, n_named: int = 5, names: Any = None, ax: Any = None) -> Any:
    """Leverage against leave-one-out error of every sample, the largest errors named.

    Parameters
    ----------
    result : PCAInfluence
        From `subspaces.diagnostics.pca_influence`.
    n_named : int, default 5
        How many samples, largest leave-one-out error first, get their name written.
    names : sequence of str, optional
        Names of the samples; by default their row numbers.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = new_axes() if ax is None else ax
    named = np.argsort(-result.loo_error, kind="stable")[:n_named]
    ax.scatter(result.leverage, result.loo_error, s=12, color="0.65", linewidths=0)
    ax.scatter(result.leverage[named], result.loo_error[named], s=26, color=COLOURS[4])
    for i in named:
        ax.annotate(
            str(i if names is None else names[i]),
            (result.leverage[i], result.loo_error[i]),
            textcoords="offset points",
            xytext=(6, -3),
            fontsize=8,
        )
    ax.set_xlabel("leverage (share of the axes)")
    ax.set_ylabel("squared leave-one-out error")
    ax.margins(x=0.12, y=0.12)
    return ax


def clusters_3d(
    X: Any, labels: Any, subspaces: Sequence[Subspace] = (), *, title: str = "", ax: Any = None
) -> Any:
    """Samples in three dimensions, coloured by cluster, with the fitted lines and planes.

    Parameters
    ----------
    X : array-like of shape (n, 3)
        Samples.
    labels : array-like of shape (n,)
        Cluster of each sample, from 0.
    subspaces : sequence of Subspace, optional
        One per cluster, as in ``model.subspaces_``; those of dimension 1 and 2 are drawn.
    title : str, optional
        Title of the panel.
    ax : matplotlib 3-D Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes
    """
    X, labels = np.asarray(X, dtype=float), np.asarray(labels)
    if X.ndim != 2 or X.shape[1] != 3:
        raise ValueError(f"X has shape {X.shape}; (n, 3) is needed to draw it in three dimensions")
    if labels.shape != X.shape[:1] or labels.dtype.kind not in "iu" or labels.min(initial=0) < 0:
        raise ValueError(
            f"labels of shape {labels.shape} and type {labels.dtype} do not name a cluster for "
            f"each of {len(X)} samples; integers from 0 up would do"
        )
    ax = new_axes(subplot_kw={"projection": "3d"}) if ax is None else ax
    ax.computed_zorder = False
    for k in np.unique(labels):
        members, colour = X[labels == k], COLOURS[k % len(COLOURS)]
        if k < len(subspaces):
            _draw_flat(ax, members, subspaces[k], colour)
        name = f"cluster {k}"
        ax.scatter(
            *members.T, s=10, color=colour, linewidths=0, depthshade=False, label=name, zorder=3
        )
    ax.set_title(title)
    middle, reach = (X.max(axis=0) + X.min(axis=0)) / 2, np.ptp(X, axis=0).max() / 2
    for name, place in zip("xyz", middle, strict=True):
        ax.set(**{f"{name}lim": (place - reach, place + reach), f"{name}ticklabels": []})
        getattr(ax, f"{name}axis").set_pane_color("white")
    ax.set_box_aspect((1, 1, 1), zoom=1.2)
    return ax


def _draw_flat(ax: Any, members: Array, flat: Subspace, colour: str) -> None:
    """The part of a line or plane that its members cover."""
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    positions = scores(members, flat)
    if positions.shape[1] == 1:
        ends = np.array([positions.min(axis=0), positions.max(axis=0)])
        ax.plot(*(ends @ flat.basis.T + flat.centre).T, color=colour, zorder=2)
    if positions.shape[1] == 2:
        outline = positions[ConvexHull(positions).vertices] @ flat.basis.T + flat.centre
        patch = Poly3DCollection([outline], facecolor=colour, alpha=0.22, zorder=1)
        ax.add_collection3d(patch)


def basis_images(
    subspaces: Sequence[Subspace], shape: tuple[int, int], *, n_axes: int = 4, axes: Any = None
) -> Any:
    """The leading axes of each cluster's subspace as images, one column per cluster.

    Parameters
    ----------
    subspaces : sequence of Subspace
        As in ``model.subspaces_``.
    shape : (int, int)
        Height and width of an image; their product is the number of variables.
    n_axes : int, default 4
        How many axes, the strongest first.
    axes : ndarray of matplotlib Axes of shape (n_axes, n_clusters), optional
        Where to draw; by default a new figure.

    Returns
    -------
    ndarray of matplotlib Axes
    """
    if axes is None:
        size = (len(subspaces), n_axes)
        axes = new_axes(nrows=n_axes, ncols=len(subspaces), figsize=size, squeeze=False)
    for k, flat in enumerate(subspaces):
        for r in range(n_axes):
            ax = axes[r, k]
            ax.set(xticks=[], yticks=[])
            ax.set_axis_off()
            if r < flat.basis.shape[1]:
                image = flat.basis[:, r].reshape(shape)
                limit = np.abs(image).max()
                sign = np.sign(image.sum()) or 1.0
                ax.imshow(sign * image, cmap="PuOr_r", vmin=-limit, vmax=limit)
        axes[0, k].set_title(str(k), fontsize=9)
    return axes


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
    ax = new_axes() if ax is None else ax
    columns = result.columns
    if "cluster" in columns:
        value = (
            "n_variables"
            if "n_variables" in columns
            else next(name for name in ("press", "eigenvalue") if name in columns)
        )
        return _one_line_per_cluster(columns, value, ax)
    parameter = next(iter(columns))
    x, y = columns[parameter], columns[result.criterion]
    ax.plot(x, y, marker="o", color=COLOURS[0])
    ax.plot(result.best_, y[x == result.best_], "o", ms=11, mfc="none", color=COLOURS[4])
    name = CRITERION_NAMES.get(result.criterion, result.criterion)
    ax.set(xlabel=parameter, ylabel=name, title=f"chosen: {result.best_}")
    if parameter == "n_clusters":
        ax.set_xticks(x)
    else:
        ax.set_xscale("log")
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
    size = (2.5 + 0.55 * len(names), 1.7 + 0.5 * len(names))
    ax = new_axes(figsize=size) if ax is None else ax
    ax.imshow(values, cmap="Blues", vmin=0, vmax=1)
    for i, j in np.ndindex(values.shape):
        colour = "white" if values[i, j] > 0.6 else "black"
        text = f"{round(values[i, j], 2) + 0.0:.2f}"
        ax.text(j, i, text, ha="center", va="center", color=colour, fontsize=8)
    places = np.arange(len(names))
    ax.set_xticks(places, names, rotation=45, ha="right", rotation_mode="anchor")
    ax.set_yticks(places, names)
    ax.set_title("adjusted Rand index\nbetween partitions")
    return ax


def _one_line_per_cluster(columns: dict[str, Any], value: str, ax: Any) -> Any:
    if value == "n_variables":
        ax.bar(columns["cluster"], columns[value], color=COLOURS[0])
        ax.set(xlabel="cluster", ylabel="variables selected", xticks=columns["cluster"])
        return ax
    for k in np.unique(columns["cluster"]):
        own = columns["cluster"] == k
        colour = COLOURS[k % len(COLOURS)]
        x, y = columns["n_components"][own], columns[value][own]
        picked = columns["chosen"][own]
        ax.plot(x, y, marker=".", color=colour, label=f"cluster {k}")
        ax.plot(x[picked], y[picked], "o", ms=11, mfc="none", color=colour)
    name = CRITERION_NAMES.get(value, value)
    ax.set(xlabel="n_components", ylabel=name, xticks=np.unique(columns["n_components"]))
    ax.set_title("chosen: circles")
    ax.legend(frameon=False)
    return ax


def new_axes(**options: Any) -> Any:
    """Axes on a fresh figure."""
    require_matplotlib()
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained", **options)[1]


def require_matplotlib() -> None:
    """Raise ImportError with the remedy where matplotlib is missing."""
    if find_spec("matplotlib") is None:
        raise ImportError("plots need matplotlib: pip install 'subspaces[plots]'")
