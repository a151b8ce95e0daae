"""Which samples drive a PCA, or a clustering."""

from typing import Any

import numpy as np

from subspaces.estimators._recorded import RecordedClusterer
from subspaces.plots._style import (
    Array,
    canvas,
    check_names,
    colour_of,
    marker_of,
    plain_numbers,
    write_names,
)


def influence(result: Any, *, n_named: int = 5, names: Any = None, ax: Any = None) -> Any:
    """Which samples drive a PCA, or a clustering; the most extreme are named.

    For a PCA: leverage against leave-one-out error. For a model: the squared predictive influence
    of each sample, cluster by cluster, on a logarithmic scale.

    Parameters
    ----------
    result : PCAInfluence or fitted PSC
        From `subspaces.diagnostics.pca_influence`, or a model with ``influence_``.
    n_named : int, default 5
        How many samples get their name written: those of largest leave-one-out error, or of
        largest influence.
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
    >>> from sklearn.datasets import load_iris
    >>> from subspaces import plots
    >>> from subspaces.diagnostics import pca_influence
    >>> ax = plots.influence(pca_influence(load_iris().data, 2, center=True), n_named=2)
    >>> [text.get_text() for text in ax.texts]
    ['100', '136']
    """
    if isinstance(result, RecordedClusterer):
        return _of_model(result, n_named, names, ax)
    names = check_names(names, len(result.leverage), "samples")
    named = np.argsort(-result.loo_error, kind="stable")[:n_named]
    with canvas(ax) as ax:
        ax.scatter(result.leverage, result.loo_error, s=10, color="0.65", linewidths=0)
        ax.scatter(result.leverage[named], result.loo_error[named], s=20, color=colour_of(4))
        ax.set_xlabel("leverage (share of the axes)")
        ax.set_ylabel("squared leave-one-out error")
        ax.margins(x=0.12, y=0.12)
        write_names(ax, np.column_stack([result.leverage, result.loo_error]), named, names)
    return ax


def _of_model(model: Any, n_named: int, names: Any, ax: Any) -> Any:
    values = getattr(model, "influence_", None)
    if values is None:
        raise ValueError(
            f"{type(model).__name__} has no influence_. Use a fitted PSC, or `pca_influence`"
        )
    given = model.record_.sample_names if names is None else names
    names = check_names(given, len(values), "samples")
    values, names = _drawable(values, names)
    place = _blocks(values, model.labels_)
    with canvas(ax) as ax:
        middles = []
        for k in np.unique(model.labels_):
            own = model.labels_ == k
            look = {"color": colour_of(k), "marker": marker_of(k)}
            ax.scatter(place[own], values[own], s=10, linewidths=0, **look)
            middles.append((float(place[own].mean()), str(k)))
        ax.set_yscale("log")
        if values.max() < 100 * values.min():
            plain_numbers(ax.yaxis)
        ax.set_xticks(*zip(*middles, strict=True))
        ax.tick_params(axis="x", length=0)
        ax.set(xlabel="cluster (its samples by influence)", ylabel="squared influence")
        ax.margins(x=0.05, y=0.12)
        named = np.argsort(-values, kind="stable")[:n_named]
        write_names(ax, np.column_stack([place, values]), named, names)
    return ax


def _drawable(values: Array, names: list[str]) -> tuple[Array, list[str]]:
    """Values that a logarithmic axis can hold; what is infinite is on top and named so."""
    endless = ~np.isfinite(values)
    usual = values[~endless & (values > 0)]
    least, most = (usual.min(), usual.max()) if len(usual) else (1.0, 1.0)
    names = [f"{name} (∞)" if e else name for name, e in zip(names, endless, strict=True)]
    return np.clip(np.where(endless, 2 * most, values), least, None), names


def _blocks(values: Array, labels: Any) -> Array:
    """Place of each sample: cluster after cluster, in each the smallest first, with a gap."""
    gap = max(1, len(values) // 20)
    place = np.empty(len(values))
    place[np.lexsort((values, labels))] = np.arange(len(values))
    return place + gap * np.unique(labels, return_inverse=True)[1]
