"""A fitted model, cluster by cluster: where its samples lie, which variables make it, how near."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from subspaces._validation import as_count
from subspaces.core.subspace import coordinates, principal_angles, squared_residual
from subspaces.estimators._shell import SubspaceClusterer
from subspaces.plots._style import (
    COLUMN,
    Array,
    bare,
    canvas,
    check_names,
    colour_of,
    marker_of,
    shown,
    write_names,
)

MOST_AXES = 3


def scores(
    model: Any,
    X: Any,
    cluster: int = 0,
    *,
    classes: Any = None,
    n_named: int = 3,
    names: Any = None,
    ax: Any = None,
) -> Any:
    """The samples of a cluster in its own subspace: the first axis against the second.

    In brackets is the share of each axis in what the subspace holds of its samples. A cluster of
    dimension 1 is drawn against the distance from its subspace.

    Parameters
    ----------
    model : fitted estimator with ``subspaces_``
        Such as `PSC`.
    X : array-like of shape (n, p)
        The samples that it was fitted to.
    cluster : int, default 0
        Which cluster.
    classes : array-like of shape (n,), optional
        Known classes, told apart by colour and shape.
    n_named : int, default 3
        How many samples, the furthest from the centre first, get their name written.
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
    >>> from subspaces import PSC, plots
    >>> from subspaces.datasets import make_scenario
    >>> planes = make_scenario("c", random_state=0)
    >>> model = PSC(2, n_components=2, random_state=0).fit(planes.data)
    >>> plots.scores(model, planes.data, cluster=1).get_title()
    'cluster 1: 100 samples'
    """
    cluster = _check_cluster(model, cluster)
    matrix = model._prepared(X, min_samples=2)
    if len(matrix) != len(model.labels_):
        raise ValueError(
            f"X has {len(matrix)} samples, the model was fitted to {len(model.labels_)}; the data "
            "of fit would do"
        )
    names = check_names(_sample_names(model) if names is None else names, len(matrix), "samples")
    groups = _groups(classes, len(matrix), cluster)
    members, flat = np.flatnonzero(model.labels_ == cluster), model.subspaces_[cluster]
    places = coordinates(matrix[members], flat)
    labels = [_axis_name(flat.spectrum, r) for r in range(min(2, places.shape[1]))]
    if len(labels) == 1:
        places = np.column_stack([places, np.sqrt(squared_residual(matrix[members], flat))])
        labels.append("distance from the subspace")
    places = places[:, :2]
    with canvas(ax) as ax:
        for group, look in groups.items():
            own = places[look["rows"][members]]
            if len(own):
                ax.scatter(*own.T, s=14, label=group, linewidths=0, alpha=0.8, **look["as"])
        ax.set(xlabel=labels[0], ylabel=labels[1])
        ax.set_title(f"cluster {cluster}: {len(members)} samples")
        ax.margins(0.08)
        write_names(ax, places, _furthest(places)[:n_named], [names[i] for i in members])
        if classes is not None:
            _plain_legend(ax)
    return ax


def loadings(
    model: Any, cluster: int = 0, *, n_shown: int = 20, names: Any = None, ax: Any = None
) -> Any:
    """The variables of a cluster, the strongest on top, and their loadings on its first axes.

    Parameters
    ----------
    model : fitted estimator with ``subspaces_``
        Such as `PSC`, with or without ``n_variables``.
    cluster : int, default 0
        Which cluster.
    n_shown : int, default 20
        How many variables at most, by the energy of the members that the loadings put on them.
    names : sequence of str of length p, optional
        Names of the variables; by default the columns of the data frame that was fitted, or
        numbers.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure, as high as the list is long.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from subspaces import PSC, plots
    >>> from subspaces.datasets import make_scenario
    >>> sparse = make_scenario("a", sparse=True, random_state=0)
    >>> model = PSC(2, n_variables=10, n_init=3, random_state=0).fit(sparse.data)
    >>> plots.loadings(model, n_shown=5).get_title()
    'cluster 0: 5 of 10 variables'
    """
    cluster = _check_cluster(model, cluster)
    n_shown = as_count(n_shown, "n_shown", low=1)
    flat = model.subspaces_[cluster]
    names = model._variable_names if names is None else names
    names = check_names(names, len(flat.basis), "variables")
    strength = flat.basis**2 @ flat.spectrum
    total = int(np.count_nonzero(strength))
    strongest = np.argsort(-strength, kind="stable")[: min(n_shown, total)]
    rows = np.arange(len(strongest))
    with canvas(ax, figsize=(COLUMN, 0.85 + 0.155 * len(rows))) as ax:
        ax.axvline(0, color="0.6", linewidth=0.6, zorder=0)
        ax.hlines(
            rows, *_reach(flat.basis[strongest, :MOST_AXES]), color="0.8", linewidth=1, zorder=1
        )
        for r in range(min(MOST_AXES, flat.basis.shape[1])):
            look = {"color": colour_of(r), "marker": marker_of(r), "s": 20, "linewidths": 0}
            values = flat.basis[strongest, r]
            ax.scatter(values[values != 0], rows[values != 0], label=f"axis {r + 1}", **look)
        ax.set_yticks(rows, [names[j] for j in strongest], parse_math=False)
        ax.set(xlabel="loading", ylim=(len(rows) - 0.4, -0.6))
        ax.tick_params(axis="y", length=0)
        several = flat.basis.shape[1] > 1
        title = f"cluster {cluster}: {len(rows)} of {total} variables"
        ax.set_title(title, pad=20 if several else None)
        if several:
            above = {"loc": "lower center", "bbox_to_anchor": (0.5, 1), "ncols": MOST_AXES}
            ax.legend(
                frameon=False, borderaxespad=0.2, columnspacing=1.2, handletextpad=0.3, **above
            )
    return ax


def angles(model: Any, *, ax: Any = None) -> Any:
    """Angles between the subspaces of the clusters, in degrees.

    Above the diagonal stands the largest of the principal angles between two subspaces, below it
    the smallest: 0 there means that they share a direction, 90 that nothing of the one is seen in
    the other.

    Parameters
    ----------
    model : fitted estimator with ``subspaces_``
        Such as `PSC`.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from subspaces import PSC, plots
    >>> from subspaces.datasets import make_scenario
    >>> lines = make_scenario("a", random_state=0)
    >>> model = PSC(2, random_state=0).fit(lines.data)
    >>> [text.get_text() for text in plots.angles(model).texts]
    ['42', '42']
    """
    _check_cluster(model, 0)
    values = np.degrees(_principal_angles(model.subspaces_))
    count = len(values)
    side = min(COLUMN, 1.3 + 0.32 * count)
    with canvas(ax, figsize=(side + 0.3, side)) as ax:
        cells = ax.imshow(values, cmap="cividis", vmin=0, vmax=90)
        for i, j in np.ndindex(values.shape):
            if i != j and count <= 12:
                ink = "white" if values[i, j] < 50 else "black"
                ax.text(j, i, f"{values[i, j]:.0f}", ha="center", va="center", color=ink)
        ax.set(xlabel="cluster", ylabel="cluster")
        ax.set_xticks(range(count))
        ax.set_yticks(range(count))
        bare(ax)
        ax.set_title("largest angle above,\nsmallest below the diagonal")
        bar = ax.figure.colorbar(cells, ax=ax, shrink=0.8, ticks=[0, 30, 60, 90])
        bar.set_label("degrees")
        bar.outline.set_visible(False)
    return ax


def _principal_angles(flats: Any) -> Array:
    """Largest angles above the diagonal, smallest below it, nan on it, in radians."""
    values = np.full((len(flats), len(flats)), np.nan)
    for i, j in np.ndindex(values.shape):
        if i != j and min(flats[i].basis.shape[1], flats[j].basis.shape[1]):
            found = principal_angles(flats[i], flats[j])
            values[i, j] = found.max() if i < j else found.min()
    return values


def _check_cluster(model: Any, cluster: int) -> int:
    if not isinstance(model, SubspaceClusterer):
        raise TypeError(
            f"{type(model).__name__} has no subspaces to draw; a model such as PSC would do"
        )
    check_is_fitted(model)
    cluster = as_count(cluster, "cluster", low=0, high=len(model.subspaces_) - 1)
    if model.subspaces_[cluster].basis.shape[1] == 0:
        raise ValueError(f"cluster {cluster} has dimension 0: a point has no axes to draw")
    return cluster


def _sample_names(model: Any) -> NDArray[Any] | None:
    names = model.record_.sample_names
    return None if names is None else np.asarray(names)


def _groups(classes: Any, count: int, cluster: int) -> dict[Any, dict[str, Any]]:
    """Which rows are drawn alike, and how."""
    if classes is None:
        look = {"color": colour_of(cluster), "marker": marker_of(cluster)}
        return {"_": {"rows": np.ones(count, dtype=bool), "as": look}}
    known = np.asarray(classes).astype(str)
    if known.shape != (count,):
        raise ValueError(f"classes has shape {known.shape} for {count} samples; one each would do")
    return {
        shown(name): {
            "rows": known == name,
            "as": {"color": colour_of(g), "marker": marker_of(g)},
        }
        for g, name in enumerate(np.unique(known))
    }


def _furthest(places: Array) -> NDArray[np.intp]:
    """The points by their distance from the middle, in standard deviations, the furthest first."""
    spread = places.std(axis=0)
    distance = (places - places.mean(axis=0)) / np.where(spread > 0, spread, 1)
    return np.argsort(-np.linalg.norm(distance, axis=1), kind="stable")


def _axis_name(spectrum: Array, r: int) -> str:
    return f"axis {r + 1} ({spectrum[r] / spectrum.sum():.0%})" if len(spectrum) > 1 else "axis 1"


def _reach(values: Array) -> tuple[Array, Array]:
    """From zero, or the least loading, to zero, or the greatest."""
    return np.minimum(values.min(axis=1), 0), np.maximum(values.max(axis=1), 0)


def _plain_legend(ax: Any) -> None:
    for text in ax.legend(loc="best").get_texts():
        text.set_parse_math(False)
