"""Figures of all samples of a fit: in one picture, and with their variables as a heat map."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline

from subspaces._types import Array, Axes, Data, Indices, Labels, Names
from subspaces.estimators._base import SubspaceClusterer
from subspaces.facts import facts_of
from subspaces.plots import _picture as picture
from subspaces.plots import _style as style
from subspaces.plots._clusters import seen
from subspaces.runtime.parameters import as_count

# Most samples that a heat map has room for, and levels that a legend has.
MOST_SAMPLES, MOST_LISTED = 1000, 10
# Bars whose colours a legend explains side by side.
ABREAST = 3
GREY = "0.75"


def overview(
    model: SubspaceClusterer | Pipeline,
    X: Data,
    *,
    by: ArrayLike | None = None,
    n_named: int = 0,
    names: Names | None = None,
    ax: Axes | None = None,
) -> Any:
    """Draw all samples on the first two axes of their table, coloured by cluster.

    Rings mark samples whose label has a probability below 0.9. Grey crosses are samples in no
    cluster.

    Parameters
    ----------
    model : fitted estimator
        Any estimator of this library, or a Pipeline such as a recipe.
    X : array-like of shape (n, p)
        The data of ``fit``. For a Pipeline, pass the table that the whole Pipeline was fitted to. A
        sample with missing values is drawn where the model expects it.
    by : array-like of shape (n,), optional
        What the colours show: known classes, or numbers. By default the clusters.
    n_named : int, default 0
        How many samples to label. The least certain come first.
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
    >>> ax = plots.overview(model, planes.data)
    >>> [text.get_text() for text in ax.get_legend().get_texts()][:2]
    ['cluster 0 (100)', 'cluster 1 (100)']
    """
    whole = "prepared variance" if isinstance(model, Pipeline) else "variance"
    model, samples, names = seen(model, X, names)
    labels = np.asarray(model.labels_)
    squares = facts_of(model).squares_before_axes
    places, shares = picture.leading_axes(samples.completed, squares)
    of = None if by is None else picture.columns(by, len(labels))[0]
    probabilities = getattr(model, "probabilities_", None)
    unsure = np.flatnonzero(picture.uncertain(labels, probabilities))
    with style.canvas(ax) as ax:
        if of is None:
            _draw_groups(ax, places, labels, [f"cluster {k}" for k in range(labels.max() + 1)])
            _draw_unknown(ax, places[labels < 0], "no cluster")
        elif of.levels:
            colours = picture.as_colours_of_clusters(of, labels, facts_of(model).n_clusters)
            _draw_groups(ax, places, of.codes, of.levels, colours)
            _draw_unknown(ax, places[of.codes < 0], "not known")
        else:
            dots = ax.scatter(
                places[:, 0], places[:, 1], c=of.values, s=12, cmap="cividis", linewidths=0
            )
            ax.figure.colorbar(dots, ax=ax, shrink=0.8, label=of.name).outline.set_visible(False)
        if len(unsure):
            ring: dict[str, Any] = {
                "s": 46,
                "facecolors": "none",
                "edgecolors": "black",
                "linewidths": 0.7,
            }
            ax.scatter(
                places[unsure, 0], places[unsure, 1], label=f"uncertain ({len(unsure)})", **ring
            )
        for r, axis in enumerate((ax.xaxis, ax.yaxis)):
            axis.set_label_text(f"axis {r + 1} ({100 * shares[r]:.0f} % of the {whole})")
        ax.margins(0.06)
        if of is None or of.levels or len(unsure):
            _legend(ax)
        if n_named and probabilities is not None:
            order = np.argsort(probabilities.max(axis=1), kind="stable")[:n_named]
            style.write_names(ax, places, order, names)
    return ax


def heat_map(
    model: SubspaceClusterer | Pipeline,
    X: Data,
    *,
    by: Any = None,
    n_shown: int = 30,
    names: Names | None = None,
    ax: Axes | None = None,
) -> Any:
    """Draw the variables that set clusters apart for all samples, as a heat map.

    Values are standard deviations from the mean of the variable. Bars above show the clusters, and
    metadata if you pass ``by``. If there are more than 1,000 samples, it draws a part of each
    cluster.

    Parameters
    ----------
    model : fitted estimator
        Any estimator of this library, or a Pipeline such as a recipe.
    X : array-like of shape (n, p)
        The data of ``fit``. For a Pipeline, pass the table that the whole Pipeline was fitted to.
        Missing values are white.
    by : array-like of shape (n,), mapping of them, or DataFrame, optional
        Known classes and other metadata, one bar for each. The classes of the first have the
        colours of the clusters that match them. The others are purple.
    n_shown : int, default 30
        Largest number of variables, an equal part for each cluster.
    names : sequence of str of length p, optional
        Names of the variables. By default the columns of the data frame.
    ax : matplotlib Axes, optional
        Where to draw. By default a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from subspaces import PSC, plots
    >>> from sklearn.preprocessing import scale
    >>> wines = load_wine()
    >>> model = PSC(3, n_components=1, affine=True, random_state=0).fit(scale(wines.data))
    >>> ax = plots.heat_map(model, scale(wines.data), by={"kind": wines.target}, n_shown=6)
    >>> [label.get_text() for label in ax.get_yticklabels()][:2]
    ['cluster', 'kind']
    """
    model, samples, _ = seen(model, X, None)
    n_shown = as_count(n_shown, "n_shown", low=1)
    facts, labels, rows = facts_of(model), np.asarray(model.labels_), samples.rows
    known = facts.variable_names if names is None else names
    called = style.check_names(known, rows.shape[1], "variables")
    bars = picture.columns(by, len(labels))
    variables = picture.telling_variables(facts, n_shown)
    along = picture.leading_axes(samples.completed)[0][:, 0]
    order = picture.by_cluster(labels, along, MOST_SAMPLES)
    values = picture.standardised(rows[:, variables])[order].T
    shades = [_shades(labels[order])]
    colours = [
        _colours_of(bar, labels, facts.n_clusters, first=place == 0)
        for place, bar in enumerate(bars)
    ]
    shades += [_of_bar(bar, own)[order] for bar, own in zip(bars, colours, strict=True)]
    gap = np.ones((1, len(order), 3))
    cells = np.concatenate([np.stack(shades), gap, _blue_and_orange(values)])
    ticks = ["cluster", *(style.short_name(bar.name) for bar in bars)]
    at = [*range(len(ticks)), *range(len(ticks) + 1, len(cells))]
    columns = _entries(bars, colours)
    height = 0.9 + 0.13 * (len(cells) + max(map(len, columns), default=0))
    with style.canvas(ax, figsize=(style.COLUMN, height)) as ax:
        ax.imshow(cells, aspect="auto", interpolation="nearest")
        ax.spines[:].set_visible(False)
        ax.set_yticks(at, [*ticks, *(called[j] for j in variables)], parse_math=False)
        ends = np.flatnonzero(np.diff(labels[order])) + 0.5
        ax.vlines(ends, len(ticks), len(cells) - 0.5, color="white", linewidth=1)
        middles = np.convolve([-0.5, *ends, len(order) - 0.5], [0.5, 0.5], "valid")
        groups = [labels[order][round(x)] for x in middles]
        ax.set_xticks(middles, [str(k) if k >= 0 else "none" for k in groups])
        ax.tick_params(length=0)
        ax.set_xlabel(f"cluster ({len(order)} samples)")
        _scale_of_heat(ax)
        _draw_legend_of_bars(ax, columns)
    return ax


def _draw_groups(
    ax: Axes, places: Array, codes: Labels, called: list[str], colours: Indices | None = None
) -> None:
    """Draw the samples of each group in a colour and shape of its own."""
    for code, name in enumerate(called):
        own = places[codes == code]
        look = style.look_of(code if colours is None else int(colours[code]))
        label = f"{style.short_name(name)} ({len(own)})"
        ax.scatter(own[:, 0], own[:, 1], s=12, label=label, linewidths=0, alpha=0.85, **look)


def _draw_unknown(ax: Axes, places: Array, name: str) -> None:
    if len(places):
        cross: dict[str, Any] = {"marker": "x", "s": 14, "color": "0.5", "linewidths": 0.8}
        ax.scatter(places[:, 0], places[:, 1], label=f"{name} ({len(places)})", **cross)


def _legend(ax: Axes) -> None:
    columns = 2 if len(ax.get_legend_handles_labels()[0]) > 3 else 1
    style.legend(ax, loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, borderaxespad=0.2)


def _shades(codes: Labels) -> Array:
    """Return the colour (m, 3) of each cluster or level; grey for -1."""
    from matplotlib.colors import to_rgb

    return np.array([to_rgb(GREY if c < 0 else style.colour_of(int(c))) for c in codes])


def _colours_of(bar: picture.Column, labels: Labels, n_clusters: int, *, first: bool) -> Array:
    """Return the colour (m, 3) of each level of a bar, or of the ends of a scale.

    Levels of the first bar match clusters. Others are purple, so that they do not look like one.
    """
    from matplotlib import colormaps

    if not bar.levels:
        return np.asarray(colormaps["cividis"]([0.0, 1.0])[:, :3])
    if first:
        return _shades(picture.as_colours_of_clusters(bar, labels, n_clusters))
    return np.asarray(colormaps["Purples_r"](np.linspace(0.0, 0.75, len(bar.levels)))[:, :3])


def _of_bar(bar: picture.Column, colours: Array) -> Array:
    """Return the colour (n, 3) of each sample in the bar of a column."""
    from matplotlib import colormaps

    if bar.levels:
        return np.vstack([colours, _shades(np.array([-1]))])[bar.codes]
    low, high = np.nanmin(bar.values), np.nanmax(bar.values)
    shares = (bar.values - low) / (high - low if high > low else 1.0)
    shown = colormaps["cividis"](np.nan_to_num(shares))[:, :3]
    return np.where(np.isnan(bar.values)[:, None], 0.75, shown)


def _map_of_heat() -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("heat", [style.colour_of(4), "#ffffff", "#0072B2"])


def _blue_and_orange(values: Array) -> Array:
    """Return the colour (m, n, 3) of standardised values: orange low, blue high, white missing."""
    shares = (np.nan_to_num(values) / picture.MOST_SD + 1.0) / 2.0
    return np.asarray(_map_of_heat()(shares)[..., :3])


def _scale_of_heat(ax: Axes) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    scale = ScalarMappable(Normalize(-picture.MOST_SD, picture.MOST_SD), _map_of_heat())
    bar = ax.figure.colorbar(scale, ax=ax, shrink=0.5, aspect=15, label="SD from the mean")
    bar.outline.set_visible(False)


def _entries(bars: list[picture.Column], colours: list[Array]) -> list[list[tuple[str, Any]]]:
    """Return columns of a legend, all of one length: the name of each bar, its colours below."""
    columns: list[list[tuple[str, Any]]] = [[] for _ in range(ABREAST)]
    explained = 0
    for bar, shades in zip(bars, colours, strict=True):
        ends = [] if bar.levels else [np.nanmin(bar.values), np.nanmax(bar.values)]
        entries = [style.short_name(level) for level in bar.levels] or [f"{x:.4g}" for x in ends]
        if len(entries) <= MOST_LISTED:
            own = [(style.short_name(bar.name), None), *zip(entries, shades, strict=True)]
            columns[explained % ABREAST] += own
            explained += 1
    rows = max(map(len, columns))
    return [own + [("", None)] * (rows - len(own)) for own in columns if own]


def _draw_legend_of_bars(ax: Axes, columns: list[list[tuple[str, Any]]]) -> None:
    """Set the legend above the Axes."""
    from matplotlib.patches import Patch

    if columns:
        handles = [
            Patch(color="none" if shade is None else shade, label=text)
            for column in columns
            for text, shade in column
        ]
        place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1.01)}
        place |= {"columnspacing": 1.0, "labelspacing": 0.3, "borderaxespad": 0.2}
        place |= {"handlelength": 1, "fontsize": style.NAME_SIZE, "ncols": len(columns)}
        style.legend(ax, handles=handles, **place)
