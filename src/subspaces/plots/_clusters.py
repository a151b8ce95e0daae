"""Figures of one cluster's samples and variables, and of the angles between subspaces."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from subspaces._types import Array, Axes, Data, Indices, Names, VariableList
from subspaces.core.contrast import Contrast
from subspaces.data.validation import row_names
from subspaces.estimators._base import SubspaceClusterer
from subspaces.estimators._record import squared_distances
from subspaces.estimators._subspaces import as_list_name
from subspaces.estimators.pca import PCA
from subspaces.facts import Samples, facts_of, samples_of
from subspaces.messages import ParameterError, ParameterTypeError
from subspaces.metrics import subspace_angles
from subspaces.plots import _style as style
from subspaces.plots._loadings import loadings_of_pca
from subspaces.runtime.parameters import as_count
from subspaces.subspace import Subspace, coordinates

# How many axes have their loadings drawn: each adds a mark to every variable's line.
MOST_AXES = 3


def scores(
    model: SubspaceClusterer | Pipeline,
    X: Data,
    cluster: int = 0,
    *,
    classes: ArrayLike | None = None,
    n_named: int = 3,
    names: Names | None = None,
    ax: Axes | None = None,
) -> Any:
    """Draw the samples of a cluster on the first two axes of its subspace.

    The percentage of an axis is its share of the variation within the subspace. If the dimension is
    1, the second coordinate is the distance from the subspace. If the dimension is 0, there are no
    axes. The coordinates are then the distance from the cluster's mean and the distance from the
    nearest other cluster. They are equal on the dotted line.

    Parameters
    ----------
    model : fitted estimator with ``subspaces_``
        For example `PSC`, or a Pipeline such as a recipe.
    X : array-like of shape (n, p)
        The data of ``fit``. For a Pipeline, pass the table that the whole Pipeline was fitted to. A
        sample with missing values is drawn where the model expects it.
    cluster : int, default 0
        Number of the cluster.
    classes : array-like of shape (n,), optional
        Known classes, shown as colours and shapes.
    n_named : int, default 3
        How many samples to label. Those furthest from the centre come first.
    names : sequence of str of length n, optional
        Names of the samples. By default the index of the data frame, or row numbers.
    ax : matplotlib Axes, optional
        Where to draw. By default a new figure.

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
    cluster = _check_cluster(last_step(model), cluster)
    model, samples, names = seen(model, X, names)
    matrix = samples.rows
    known = style.check_classes(classes, len(matrix))
    members = np.flatnonzero(model.labels_ == cluster)
    places, labels = _places(model.subspaces_, matrix[members], samples.placed[members], cluster)
    with style.canvas(ax) as ax:
        if model.subspaces_[cluster].basis.shape[1] == 0:
            ends = [places.min(axis=0).max(), places.max(axis=0).min()]
            ax.plot(ends, ends, color="0.6", linewidth=0.6, linestyle=":", zorder=0)
        for g, group in enumerate(np.unique(known)):
            own = places[known[members] == group]
            look = style.look_of(cluster if classes is None else g)
            if len(own):
                label = style.short_name(group)
                ax.scatter(own[:, 0], own[:, 1], s=14, label=label, linewidths=0, alpha=0.8, **look)
        ax.set(xlabel=labels[0], ylabel=labels[1])
        ax.set_title(f"cluster {cluster}: {len(members)} sample{'s' * (len(members) != 1)}")
        ax.margins(0.08)
        style.write_names(ax, places, _furthest(places)[:n_named], [names[i] for i in members])
        if classes is not None:
            style.legend(ax, loc="best")
    return ax


def loadings(
    model: SubspaceClusterer | PCA | Pipeline,
    cluster: int = 0,
    *,
    component: int | None = None,
    by: VariableList | None = None,
    level: float = 0.95,
    n_shown: int = 20,
    names: Names | None = None,
    ax: Axes | None = None,
) -> Any:
    """Draw the loadings of a PCA or a cluster, or the variables that set a cluster apart.

    The loadings of a PCA have intervals and stars, as in ``model.loadings()``. The stars mean a
    p-value below 0.05 (``*``), 0.01 (``**``) or 0.001 (``***``), for each variable alone. A hollow
    mark is a loading that may be 0.

    Parameters
    ----------
    model : PCA, or fitted estimator with ``subspaces_``
        For example `PSC`, or a Pipeline such as a recipe.
    cluster : int, default 0
        Number of the cluster.
    component : int, optional
        Component of a PCA, counted from 1. By default the first three.
    by : {"axes", "difference"}, optional
        "axes" shows the loadings on the first axes, ordered by how much the variables vary along
        them. "difference" shows how far the mean of the cluster is from the mean of all other
        samples, in standard deviations within the clusters. A triangle at the edge is a variable
        without variation. By default "axes", or "difference" for a cluster of dimension 0.
    level : float, default 0.95
        Probability that an interval contains the true loading.
    n_shown : int, default 20
        Largest number of variables.
    names : sequence of str of length p, optional
        Names of the variables. By default the columns of the data frame, or numbers.
    ax : matplotlib Axes, optional
        Where to draw. By default a new figure.

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
    if isinstance(model, Pipeline):
        names = model[:-1].get_feature_names_out() if names is None else names
        model = last_step(model)
    if isinstance(model, PCA):
        return loadings_of_pca(model, component, level=level, n_shown=n_shown, names=names, ax=ax)
    cluster = _check_cluster(model, cluster)
    n_shown = as_count(n_shown, "n_shown", low=1)
    subspace = model.subspaces_[cluster]
    facts = facts_of(model)
    names = facts.variable_names if names is None else names
    names = style.check_names(names, len(subspace.basis), "variables")
    if as_list_name(by, subspace) == "difference":
        found = facts.contrast(cluster)
        shown = found.order[:n_shown]
        title = f"what sets cluster {cluster} apart\n{len(shown)} of {len(found.order)} variables"
        with style.list_of([names[j] for j in shown], title, ax) as ax:
            _draw_differences(ax, found, shown, cluster)
        return ax
    strength = subspace.basis**2 @ subspace.spectrum
    total = int(np.count_nonzero(strength))
    shown = np.argsort(-strength, kind="stable")[: min(n_shown, total)]
    title = f"what varies within cluster {cluster}\n{len(shown)} of {total} variables"
    several = subspace.basis.shape[1] > 1
    with style.list_of([names[j] for j in shown], title, ax, pad=20 if several else None) as ax:
        _draw_loadings(ax, subspace.basis[shown, :MOST_AXES])
        if several:
            style.legend_above(ax, at=0.5, ncols=MOST_AXES)
    return ax


def _draw_loadings(ax: Axes, values: Array) -> None:
    """Draw loadings (m, r): a horizontal line per variable, with one mark per axis."""
    rows = np.arange(len(values))
    low, high = np.minimum(values.min(axis=1), 0), np.maximum(values.max(axis=1), 0)
    ax.hlines(rows, low, high, color="0.8", linewidth=1, zorder=1)
    for r, column in enumerate(values.T):
        look = style.look_of(r) | {"s": 20, "linewidths": 0, "label": f"axis {r + 1}"}
        ax.scatter(column[column != 0], rows[column != 0], **look)
    ax.set_xlabel("loading")


def _draw_differences(ax: Axes, found: Contrast, shown: Indices, cluster: int) -> None:
    """Draw one bar per variable, its effect in standard deviations; triangles if infinite.

    If effects are not known, bars are the differences of means.
    """
    known = not np.isnan(found.effect[shown]).any()
    sizes = found.effect[shown] if known else found.difference[shown]
    endless = np.isinf(sizes)
    edge = 1.15 * np.abs(sizes[~endless]).max(initial=1.0)
    sizes = np.where(endless, np.copysign(edge, sizes), sizes)
    rows = np.arange(len(shown))
    ax.barh(rows, sizes, height=0.55, color=style.colour_of(cluster))
    for side, marker in ((1, ">"), (-1, "<")):
        there = endless & (np.sign(sizes) == side)
        ax.scatter(sizes[there], rows[there], marker=marker, s=24, color=style.colour_of(cluster))
    ax.set_xlabel("difference (SD)" if known else "difference")


def _places(
    subspaces: Sequence[Subspace], rows: Array, placed: Array, cluster: int
) -> tuple[Array, list[str]]:
    """Return the drawn coordinates of a cluster's samples, (m, 2), and the two axis labels.

    placed (m, p): the rows where the model places those with missing cells.
    """
    subspace = subspaces[cluster]
    beyond = np.sqrt(squared_distances(rows, placed, subspace))
    if subspace.basis.shape[1] == 0:
        nearest = np.sqrt(_from_the_next(subspaces, rows, placed, cluster))
        return np.column_stack([beyond, nearest]), [
            "distance from its mean",
            "distance from the next cluster",
        ]
    places = coordinates(placed, subspace)
    labels = [_axis_name(subspace.spectrum, r) for r in range(min(2, places.shape[1]))]
    if len(labels) == 1:
        return np.column_stack([places, beyond]), [*labels, "distance from the subspace"]
    return places[:, :2], labels


def _from_the_next(
    subspaces: Sequence[Subspace], rows: Array, placed: Array, cluster: int
) -> Array:
    """Return the squared distance (m,) of the rows of a mean profile from the nearest other one."""
    filled = np.where(np.isnan(rows), placed, rows)
    others = [
        squared_distances(rows, filled, other) for k, other in enumerate(subspaces) if k != cluster
    ]
    if not others:
        raise ParameterError(
            "model",
            "There is one cluster of dimension 0, so there is no axis to draw. Fit more "
            "clusters, or set <n_components=1>.",
        )
    return np.min(others, axis=0)


def angles(model: SubspaceClusterer | Pipeline, *, ax: Axes | None = None) -> Any:
    """Draw the angles between the subspaces of the clusters, in degrees, as a heat map.

    The largest angle of two subspaces is above the diagonal, the smallest is below. A smallest
    angle of 0 means that both share a direction. One of 90 means that they are orthogonal.

    Parameters
    ----------
    model : fitted estimator with ``subspaces_``
        For example `PSC`, or a Pipeline such as a recipe.
    ax : matplotlib Axes, optional
        Where to draw. By default a new figure.

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
    model = last_step(model)
    _check_cluster(model, 0)
    if not any(subspace.basis.shape[1] for subspace in model.subspaces_):
        raise ParameterError(
            "model",
            "All clusters have dimension 0, so there are no angles between them. Call "
            "plots.loadings(model, cluster) to see what sets a cluster apart.",
        )
    values = np.degrees(_principal_angles(model.subspaces_))
    count = len(values)
    side = min(style.COLUMN, 1.3 + 0.32 * count)
    with style.canvas(ax, figsize=(side + 0.3, side)) as ax:
        cells = style.heat_map(ax, values, "cividis", 90)
        for i, j in np.ndindex(values.shape):
            if count <= 12 and not np.isnan(values[i, j]):
                ink = "white" if values[i, j] < 50 else "black"
                ax.text(j, i, f"{values[i, j]:.0f}", ha="center", va="center", color=ink)
        ticks = range(count)
        ax.set(xlabel="cluster", ylabel="cluster", xticks=ticks, yticks=ticks)
        ax.set_title("largest angle above,\nsmallest below the diagonal")
        bar = ax.figure.colorbar(cells, ax=ax, shrink=0.8, ticks=[0, 30, 60, 90], label="degrees")
        bar.outline.set_visible(False)
    return ax


def _principal_angles(subspaces: Sequence[Subspace]) -> Array:
    """Return principal angles in radians, (K, K): largest above the diagonal, smallest below."""
    values = np.full((len(subspaces), len(subspaces)), np.nan)
    for i, j in np.ndindex(values.shape):
        if i != j and min(subspaces[i].basis.shape[1], subspaces[j].basis.shape[1]):
            found = subspace_angles(subspaces[i], subspaces[j])
            values[i, j] = found.max() if i < j else found.min()
    return values


def last_step(model: SubspaceClusterer | Pipeline) -> SubspaceClusterer:
    """Return the last step of a scikit-learn Pipeline, such as a recipe; anything else as it is."""
    if not isinstance(model, Pipeline):
        return model
    check_is_fitted(model[-1])
    return model[-1]


def seen(
    model: SubspaceClusterer | Pipeline, X: Data, names: Names | None
) -> tuple[SubspaceClusterer, Samples, list[str]]:
    """Return the last step of a model, the samples of fit as it sees them, and their names."""
    if isinstance(model, Pipeline):
        names = row_names(X) if names is None else names
        X = model[:-1].transform(X)
    model = last_step(model)
    facts_of(model)  # refuses a model that is not fitted
    samples = samples_of(model, X, min_samples=2)
    if len(samples.rows) != len(model.labels_):
        raise ParameterError(
            "X",
            f"<X> has {len(samples.rows)} samples, but the model was fitted to "
            f"{len(model.labels_)}. Pass the table it was fitted to.",
        )
    names = style.names_of_samples(model.record_.sample_names, names, len(samples.rows))
    return model, samples, names


def _check_cluster(model: SubspaceClusterer, cluster: int) -> int:
    if not (isinstance(model, SubspaceClusterer) and hasattr(model, "project")):
        raise ParameterTypeError(
            "model", f"{type(model).__name__} has no subspaces to draw. Pass a model such as PSC."
        )
    check_is_fitted(model)
    return as_count(cluster, "cluster", low=0, high=len(model.subspaces_) - 1)


def _furthest(places: Array) -> Indices:
    """Return the indices of the points, (m,), furthest from their mean first.

    Distances are in standard deviations of each coordinate.
    """
    spread = places.std(axis=0)
    distance = (places - places.mean(axis=0)) / np.where(spread > 0, spread, 1)
    return np.argsort(-np.linalg.norm(distance, axis=1), kind="stable")


def _axis_name(spectrum: Array, r: int) -> str:
    if len(spectrum) == 1:
        return "axis 1"
    return f"axis {r + 1} ({100 * spectrum[r] / spectrum.sum():.0f} %)"
