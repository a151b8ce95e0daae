"""A fitted model, cluster by cluster: where its samples lie, which variables make it, how near."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from subspaces._validation import as_count
from subspaces.core.contrast import Contrast
from subspaces.core.subspace import Subspace, coordinates, principal_angles, squared_residual
from subspaces.estimators._shell import SubspaceClusterer, as_list_name
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
    dimension 1 is drawn against the distance from its subspace. A mean profile is a point: its
    samples are drawn by their distance from it and from the nearest other cluster, and those on the
    dotted line are as near to both.

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
            f"X has {len(matrix)} samples, the model was fitted to {len(model.labels_)}. Use the "
            "data of fit"
        )
    names = check_names(_sample_names(model) if names is None else names, len(matrix), "samples")
    groups = _groups(classes, len(matrix), cluster)
    members, flat = np.flatnonzero(model.labels_ == cluster), model.subspaces_[cluster]
    places, labels = _places(matrix[members], model.subspaces_, cluster)
    with canvas(ax) as ax:
        if flat.basis.shape[1] == 0:
            ends = [places.min(axis=0).max(), places.max(axis=0).min()]
            ax.plot(ends, ends, color="0.6", linewidth=0.6, linestyle=":", zorder=0)
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
    model: Any,
    cluster: int = 0,
    *,
    by: str | None = None,
    n_shown: int = 20,
    names: Any = None,
    ax: Any = None,
) -> Any:
    """The variables of a cluster, the strongest on top: what varies in it, or what sets it apart.

    Parameters
    ----------
    model : fitted estimator with ``subspaces_``
        Such as `PSC`, with or without ``n_variables``.
    cluster : int, default 0
        Which cluster.
    by : {"axes", "difference"}, optional
        "axes": the loadings on the first axes, ordered by the energy of the members that they put
        on a variable. "difference": how far the mean of the members is from that of all other
        samples, in standard deviations within the clusters; a triangle at the edge stands for a
        variable without any. By default "axes", and "difference" for a mean profile.
    n_shown : int, default 20
        How many variables at most.
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
    >>> plots.loadings(model, n_shown=5).get_title().splitlines()
    ['what varies within cluster 0', '5 of 10 variables']
    >>> plots.loadings(model, by="difference", n_shown=5).get_title().splitlines()
    ['what sets cluster 0 apart', '5 of 200 variables']
    """
    cluster = _check_cluster(model, cluster)
    n_shown = as_count(n_shown, "n_shown", low=1)
    flat = model.subspaces_[cluster]
    names = model._variable_names if names is None else names
    names = check_names(names, len(flat.basis), "variables")
    if as_list_name(by, flat) == "difference":
        found = model._contrast(cluster)
        shown = found.order[:n_shown]
        title = f"what sets cluster {cluster} apart\n{len(shown)} of {len(found.order)} variables"
        with _list_of([names[j] for j in shown], title, ax) as ax:
            _draw_differences(ax, found, shown, cluster)
        return ax
    strength = flat.basis**2 @ flat.spectrum
    total = int(np.count_nonzero(strength))
    shown = np.argsort(-strength, kind="stable")[: min(n_shown, total)]
    title = f"what varies within cluster {cluster}\n{len(shown)} of {total} variables"
    several = flat.basis.shape[1] > 1
    with _list_of([names[j] for j in shown], title, ax, pad=20 if several else None) as ax:
        _draw_loadings(ax, flat.basis[shown, :MOST_AXES])
        if several:
            above = {"loc": "lower center", "bbox_to_anchor": (0.5, 1), "ncols": MOST_AXES}
            ax.legend(
                frameon=False, borderaxespad=0.2, columnspacing=1.2, handletextpad=0.3, **above
            )
    return ax


@contextmanager
def _list_of(names: list[str], title: str, ax: Any, pad: float | None = None) -> Iterator[Any]:
    """Axes with one line a variable, the first on top."""
    with canvas(ax, figsize=(COLUMN, 0.85 + 0.155 * len(names))) as ax:
        ax.axvline(0, color="0.6", linewidth=0.6, zorder=0)
        yield ax
        ax.set_yticks(range(len(names)), names, parse_math=False)
        ax.set_ylim(len(names) - 0.4, -0.6)
        ax.tick_params(axis="y", length=0)
        ax.set_title(title, pad=pad)


def _draw_loadings(ax: Any, values: Array) -> None:
    """One mark an axis, on a line from zero."""
    rows = np.arange(len(values))
    ax.hlines(rows, *_reach(values), color="0.8", linewidth=1, zorder=1)
    for r, column in enumerate(values.T):
        look = {"color": colour_of(r), "marker": marker_of(r), "s": 20, "linewidths": 0}
        ax.scatter(column[column != 0], rows[column != 0], label=f"axis {r + 1}", **look)
    ax.set_xlabel("loading")


def _draw_differences(ax: Any, found: Contrast, shown: NDArray[np.intp], cluster: int) -> None:
    """A bar a variable, as long as its effect; triangles at the edge where that is infinite."""
    known = not np.isnan(found.effect[shown]).any()
    sizes = found.effect[shown] if known else found.difference[shown]
    endless = np.isinf(sizes)
    edge = 1.15 * np.abs(sizes[~endless]).max(initial=1.0)
    sizes = np.where(endless, np.copysign(edge, sizes), sizes)
    rows = np.arange(len(shown))
    ax.barh(rows, sizes, height=0.55, color=colour_of(cluster))
    for side, marker in ((1, ">"), (-1, "<")):
        there = endless & (np.sign(sizes) == side)
        ax.scatter(sizes[there], rows[there], marker=marker, s=24, color=colour_of(cluster))
    ax.set_xlabel("difference (SD)" if known else "difference")


def _places(rows: Array, flats: list[Subspace], cluster: int) -> tuple[Array, list[str]]:
    """Where the members are drawn, (m, 2), and what the axes say."""
    flat = flats[cluster]
    beyond = np.sqrt(squared_residual(rows, flat))
    if flat.basis.shape[1] == 0:
        others = [squared_residual(rows, other) for k, other in enumerate(flats) if k != cluster]
        if not others:
            raise ValueError(
                "the only cluster is a mean profile, so there is neither an axis nor another "
                "cluster to draw its samples by. Use n_components=1 or more, or more clusters"
            )
        nearest = np.sqrt(np.min(others, axis=0))
        return np.column_stack([beyond, nearest]), [
            "distance from its mean",
            "from the next cluster",
        ]
    places = coordinates(rows, flat)
    labels = [_axis_name(flat.spectrum, r) for r in range(min(2, places.shape[1]))]
    if len(labels) == 1:
        return np.column_stack([places, beyond]), [*labels, "distance from the subspace"]
    return places[:, :2], labels


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
    if not any(flat.basis.shape[1] for flat in model.subspaces_):
        raise ValueError(
            "all clusters are mean profiles, and points have no angles between them. Use "
            "plots.loadings(model, cluster) for what sets a cluster apart"
        )
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
        raise TypeError(f"{type(model).__name__} has no subspaces to draw. Use a model such as PSC")
    check_is_fitted(model)
    return as_count(cluster, "cluster", low=0, high=len(model.subspaces_) - 1)


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
        raise ValueError(f"classes has shape {known.shape} for {count} samples. Use one each")
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
