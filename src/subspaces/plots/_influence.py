"""Figures of the samples, cluster by cluster: their influence, and how sure their labels are."""

from typing import Any

import numpy as np

from subspaces._types import Array, Axes, FittedLabels, Names
from subspaces.estimators._base import SubspaceClusterer
from subspaces.messages import ParameterError
from subspaces.plots import _style as style
from subspaces.plots._clusters import last_step


def influence(
    result: Any, *, n_named: int = 5, names: Names | None = None, ax: Axes | None = None
) -> Any:
    """Draw the influence of each sample on a PCA or on clusters.

    For a PCA, it shows leverage against leave-one-out error, with the most influential samples in
    colour. For a model, it shows the squared predictive influence of each sample, cluster by
    cluster, on a logarithmic scale.

    Parameters
    ----------
    result : PCAInfluence or fitted PSC
        From `subspaces.diagnostics.pca_influence`, or a model with ``influence_``. It can be a
        Pipeline, such as a recipe.
    n_named : int, default 5
        How many samples to label. Those of the largest influence come first.
    names : sequence of str of length n, optional
        Names of the samples. By default the index of the data frame, or row numbers.
    ax : matplotlib Axes, optional
        Where to draw. By default a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from subspaces import plots
    >>> from subspaces.diagnostics import pca_influence
    >>> ax = plots.influence(pca_influence(load_iris().data, 2), n_named=2)
    >>> [text.get_text() for text in ax.texts]
    ['100', '136']
    """
    result = last_step(result)
    if isinstance(result, SubspaceClusterer):
        return _of_model(result, n_named, names, ax)
    drawn = ("leverage", "loo_error", "influence")
    style.check_result(result, drawn, "influence", "pca_influence(X, 2)) or plots.influence(model")
    names = style.names_of_samples(result.sample_names, names, len(result.leverage))
    named = np.argsort(-result.influence, kind="stable")[:n_named]
    points = np.column_stack([result.leverage, result.loo_error])
    with style.canvas(ax) as ax:
        ax.scatter(points[:, 0], points[:, 1], s=10, color="0.65", linewidths=0)
        x, y = points[named].T
        ax.scatter(x, y, s=20, color=style.colour_of(4), label="most influential")
        ax.set(xlabel="leverage (share of the axes)", ylabel="squared leave-one-out error")
        ax.margins(x=0.12, y=0.12)
        if len(named):
            style.legend_above(ax)
        style.write_names(ax, points, named, names)
    return ax


def _of_model(model: SubspaceClusterer, n_named: int, names: Names | None, ax: Axes | None) -> Any:
    values = getattr(model, "influence_", None)
    if values is None:
        raise ParameterError(
            "model",
            f"{type(model).__name__} has no influence_. Pass a PSC fitted to a table in memory, "
            "or the result of pca_influence.",
        )
    names = style.names_of_samples(model.record_.sample_names, names, len(values))
    names = [
        name if np.isfinite(v) else f"{name} (∞)" for name, v in zip(names, values, strict=True)
    ]
    values, labels, names, place = _by_cluster(model, style.positive(values), names)
    with style.canvas(ax) as ax:
        for k in np.unique(labels):
            own = labels == k
            ax.scatter(place[own], values[own], s=10, linewidths=0, **style.look_of(k))
        ax.set_yscale("log")
        _name_clusters(ax, place, labels)
        ax.set(xlabel="cluster (samples ordered by influence)", ylabel="squared influence")
        ax.margins(x=0.05, y=0.12)
        if values.max() < 100 * values.min():
            style.plain_numbers(ax.yaxis)
        named = np.argsort(-values, kind="stable")[:n_named]
        style.write_names(ax, np.column_stack([place, values]), named, names)
    return ax


def probabilities(
    model: Any, *, n_named: int = 5, names: Names | None = None, ax: Axes | None = None
) -> Any:
    """Draw the probability of each label, cluster by cluster, least sure first.

    A clear cluster rises steeply to 1. If it rises slowly, some samples lie between clusters. On
    the dotted line, all clusters are equally probable.

    Parameters
    ----------
    model : fitted PSC
        A model with ``probabilities_``. It can be a Pipeline, such as a recipe.
    n_named : int, default 5
        How many samples to label. The least sure come first.
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
    >>> planes = make_scenario("c", noise=0.2, n_features=10, random_state=0)
    >>> model = PSC(2, n_components=2, random_state=0).fit(planes.data)
    >>> ax = plots.probabilities(model)
    >>> ax.get_ylabel()
    'probability of the label'
    """
    model = last_step(model)
    found: Array | None = getattr(model, "probabilities_", None)
    if found is None:
        kind = type(model).__name__
        raise ParameterError(
            "model", f"This {kind} has no probabilities. Pass a PSC fitted to a table in memory."
        )
    names = style.names_of_samples(model.record_.sample_names, names, len(found))
    own = found[np.arange(len(found)), model.labels_]
    values, labels, names, place = _by_cluster(model, own, names)
    with style.canvas(ax) as ax:
        for k in np.unique(labels):
            own = np.sort(place[labels == k])
            edges = np.append(own - 0.5, own[-1] + 0.5)
            ax.stairs(
                np.sort(values[labels == k]), edges, fill=True, color=style.colour_of(k), alpha=0.5
            )
        ax.axhline(1.0 / found.shape[1], color="0.4", linestyle=":", linewidth=0.8)
        _name_clusters(ax, place, labels)
        ax.set(xlabel="cluster (its least sure samples first)", ylabel="probability of the label")
        ax.set_ylim(0.0, 1.0)
        named = np.argsort(values, kind="stable")[:n_named]
        style.write_names(ax, np.column_stack([place, values]), named, names)
    return ax


def _name_clusters(ax: Axes, place: Array, labels: FittedLabels) -> None:
    """Write the number of each cluster below its samples; place (n,): their x-coordinates."""
    numbers = np.unique(labels)
    ax.set_xticks([float(place[labels == k].mean()) for k in numbers], map(str, numbers))
    ax.tick_params(axis="x", length=0)


def _by_cluster(
    model: SubspaceClusterer, values: Array, names: list[str]
) -> tuple[Array, FittedLabels, list[str], Array]:
    """Return values, labels and names of the samples in clusters, and their x-coordinates, (n,).

    These go by cluster, then by value, with gaps between clusters.
    """
    kept = np.flatnonzero(model.labels_ >= 0)
    values, labels = values[kept], model.labels_[kept]
    place = np.empty(len(kept))
    place[np.lexsort((values, labels))] = np.arange(len(kept))
    place += max(1, len(kept) // 20) * np.unique(labels, return_inverse=True)[1]
    return values, labels, [names[i] for i in kept], place
