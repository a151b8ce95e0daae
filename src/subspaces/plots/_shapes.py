"""Figures of lines and planes in three dimensions, and of a subspace's axes as images."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import ConvexHull

from subspaces._types import Array, Data
from subspaces.messages import ParameterError
from subspaces.plots._style import COLUMN, OUTLIER, canvas, colour_of
from subspaces.subspace import Subspace, scores


def clusters_3d(
    X: Data, labels: ArrayLike, subspaces: Sequence[Subspace] = (), *, title: str = "",
    ax: Any = None,
) -> Any:  # fmt: skip
    """Draw clusters in three dimensions, with their lines and planes.

    Parameters
    ----------
    X : array-like of shape (n, 3)
        Samples.
    labels : array-like of shape (n,)
        Cluster of each sample, from 0. Outliers have -1, and are drawn as grey crosses.
    subspaces : sequence of Subspace, optional
        One per cluster, such as ``model.subspaces_``. Those of dimension 1 and 2 are drawn.
    title : str, optional
        Title of the panel.
    ax : matplotlib 3-D Axes, optional
        Where to draw. By default a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from subspaces import PSC, plots
    >>> from subspaces.datasets import make_subspaces
    >>> union = make_subspaces([40, 60], 3, [1, 2], noise=0.02, random_state=0)
    >>> model = PSC(2, n_components=[1, 2], random_state=0).fit(union.data)
    >>> ax = plots.clusters_3d(union.data, model.labels_, model.subspaces_, title="a line, a plane")
    >>> ax.get_title()
    'a line, a plane'
    """
    X, labels = np.asarray(X, dtype=float), np.asarray(labels)
    if X.ndim != 2 or X.shape[1] != 3:
        raise ParameterError(
            "X", f"<X> has shape {X.shape}, but a 3-D plot needs 3 columns. Choose three variables."
        )
    holes = np.count_nonzero(np.isnan(X).any(axis=1))
    if holes:
        raise ParameterError(
            "X",
            f"{holes} of {len(X)} samples cannot be drawn, because of missing values. Fill the "
            "values with model.impute(X), or leave those samples out.",
        )
    if labels.shape != X.shape[:1] or labels.dtype.kind not in "iu" or labels.min(initial=0) < -1:
        raise ParameterError(
            "labels",
            f"<labels> has type {labels.dtype} and shape {labels.shape}. Pass {len(X)} "
            "integers from 0 up, one per sample, or -1 for an outlier.",
        )
    with canvas(ax, figsize=(COLUMN, COLUMN), subplot_kw={"projection": "3d"}) as ax:
        ax.computed_zorder = False
        for k in np.unique(labels):
            members, look = X[labels == k], {"color": colour_of(k), "label": f"cluster {k}"}
            if k < 0:
                ax.scatter(*members.T, s=14, zorder=3, depthshade=False, **OUTLIER)
                continue
            if k < len(subspaces):
                _draw_subspace(ax, members, subspaces[k], colour_of(k))
            ax.scatter(*members.T, s=10, linewidths=0, depthshade=False, zorder=3, **look)
        ax.set_title(title)
        _frame(ax, X)
    return ax


def _frame(ax: Any, X: Array) -> None:
    """Set the limits of the 3-D Axes to a cube around the samples ``X``, with white sides."""
    middle, reach = (X.max(axis=0) + X.min(axis=0)) / 2, np.ptp(X, axis=0).max() / 2
    for name, place in zip("xyz", middle, strict=True):
        ax.set(**{f"{name}lim": (place - reach, place + reach), f"{name}ticklabels": []})
        getattr(ax, f"{name}axis").set_pane_color("white")
    ax.set_box_aspect((1, 1, 1), zoom=1.2)


def _draw_subspace(ax: Any, members: Array, subspace: Subspace, colour: str) -> None:
    """Draw a cluster's line or plane, as far as the projections of its members reach."""
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    positions = scores(members, subspace)
    if positions.shape[1] == 1:
        ends = np.array([positions.min(axis=0), positions.max(axis=0)])
        ax.plot(*(ends @ subspace.basis.T + subspace.centre).T, color=colour, zorder=2)
    if positions.shape[1] == 2:
        outline = positions[ConvexHull(positions).vertices] @ subspace.basis.T + subspace.centre
        patch = Poly3DCollection([outline], facecolor=colour, alpha=0.22, zorder=1)
        ax.add_collection3d(patch)


def basis_images(
    subspaces: Sequence[Subspace], shape: tuple[int, int], *, n_axes: int = 4, axes: Any = None
) -> Any:
    """Draw the first axes of each subspace as images, one column for each cluster.

    Parameters
    ----------
    subspaces : sequence of Subspace
        One per cluster, such as ``model.subspaces_``.
    shape : (int, int)
        Height and width of an image. Their product is the number of variables.
    n_axes : int, default 4
        How many axes. The strongest come first.
    axes : ndarray of matplotlib Axes of shape (n_axes, n_clusters), optional
        Where to draw. By default a new figure.

    Returns
    -------
    ndarray of matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from subspaces import KSubspaces, plots
    >>> images, classes = load_digits(return_X_y=True)
    >>> model = KSubspaces(2, n_components=3, init=classes[classes < 2]).fit(images[classes < 2])
    >>> plots.basis_images(model.subspaces_, (8, 8), n_axes=3).shape
    (3, 2)
    """
    size = (len(subspaces), n_axes)
    with canvas(axes, nrows=n_axes, ncols=len(subspaces), figsize=size, squeeze=False) as axes:
        for k, subspace in enumerate(subspaces):
            for r, ax in enumerate(axes[:n_axes, k]):
                ax.set(xticks=[], yticks=[])
                ax.set_axis_off()
                if r < subspace.basis.shape[1]:
                    _draw_axis(ax, subspace.basis[:, r].reshape(shape))
            axes[0, k].set_title(str(k), fontsize=9)
    return axes


def _draw_axis(ax: Any, image: Array) -> None:
    """Draw a basis vector, reshaped to an image, with the sign that makes its sum positive."""
    limit = np.abs(image).max()
    ax.imshow(np.copysign(1.0, image.sum()) * image, cmap="PuOr_r", vmin=-limit, vmax=limit)
