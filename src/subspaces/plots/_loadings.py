"""Figures of the loadings of one PCA, with their intervals, and of the samples beside them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from subspaces._types import Array, Axes, Data, Names
from subspaces.estimators.pca import PCA
from subspaces.messages import ParameterError, in_a_row
from subspaces.plots import _style as style
from subspaces.runtime.parameters import as_count

# How many components have their loadings drawn in one figure.
MOST_COMPONENTS = 3
# A loading has one star more below each of these p-values.
STARS = (0.05, 0.01, 0.001)
# The longest arrow of a biplot, intervals included, ends at this share of the furthest score.
REACH = 0.8
# Longest name (characters) of an arrow that fits between the arrows and the frame.
LONGEST = 16
# Ink of the loadings that may be 0.
FAINT = "0.6"


def biplot(
    model: PCA,
    X: Data,
    components: tuple[int, int] = (1, 2),
    *,
    classes: ArrayLike | None = None,
    level: float = 0.95,
    n_shown: int = 8,
    names: Names | None = None,
    ax: Axes | None = None,
) -> Any:
    """Draw samples as points and variables as arrows, on two components of a PCA.

    Each arrow shows the loadings of a variable: read them on the axes above and on the right. The
    cross at its tip shows the intervals of both loadings. An arrow is grey if both loadings may be
    0.

    Parameters
    ----------
    model : PCA
        A fitted PCA with at least two components.
    X : array-like of shape (n, p)
        Samples to draw, those of ``fit`` or others.
    components : pair of int, default (1, 2)
        Which components, counted from 1.
    classes : array-like of shape (n,), optional
        Known classes, shown as colours and shapes.
    level : float, default 0.95
        Probability that an interval contains the true loading.
    n_shown : int, default 8
        Largest number of variables. The longest arrows come first.
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
    >>> from subspaces import PCA, plots
    >>> wine = load_wine(as_frame=True)
    >>> model = PCA(3, scale=True).fit(wine.data)
    >>> plots.biplot(model, wine.data, classes=wine.target).get_xlabel()
    'component 1 (36 %)'
    """
    check_is_fitted(model)
    which = [_check_component(model, c) for c in components]
    if len(which) != 2 or len(set(which)) != 2:
        raise ParameterError("components", "<components> must be two different numbers.")
    n_shown = as_count(n_shown, "n_shown", low=1)
    scores = model.transform(X)[:, which]
    scores = scores * np.sqrt(model.explained_variance_[which]) if model.whiten else scores
    known = style.check_classes(classes, len(scores))
    loadings, low, high, p_value = (table[:, which] for table in _intervals(model, level))
    names = style.check_names(names or model.fit_.variables, len(loadings), "variables")
    shown = np.argsort(-np.linalg.norm(loadings, axis=1), kind="stable")[:n_shown]
    furthest = np.abs(scores).max(axis=0)
    factor = REACH * float(np.min(furthest / np.maximum(-low[shown], high[shown]).max(axis=0)))
    tips = factor * loadings[shown]
    sure = np.any(p_value[shown] < STARS[0], axis=1)
    style.require_matplotlib()
    from matplotlib.patheffects import withStroke

    with style.canvas(ax, figsize=(1.4 * style.COLUMN, 1.3 * style.COLUMN)) as ax:
        for g, group in enumerate(np.unique(known)):
            x, y = scores[known == group].T
            look = style.look_of(g) | {"label": style.short_name(group), "alpha": 0.6}
            ax.scatter(x, y, s=10, linewidths=0, **look)
        crosses = factor * np.stack([low[shown], high[shown]], axis=1)
        drawn = [_draw_arrow(ax, *arrow) for arrow in zip(tips, crosses, sure, strict=True)]
        ax.set(xlabel=_name(model, which[0]), ylabel=_name(model, which[1]))
        ax.set_aspect("equal", adjustable="datalim")
        ax.margins(x=0.22, y=0.12)
        units = (lambda v: v / factor, lambda v: v * factor)
        ax.secondary_xaxis("top", functions=units).set_xlabel(_unit(model, which))
        ax.secondary_yaxis("right", functions=units).set_ylabel("loading")
        if classes is not None:
            style.legend(ax, loc="best")
        obstacles = np.vstack([tips, *drawn])
        short = [style.short_name(names[j], LONGEST) for j in shown]
        style.write_names(ax, obstacles, np.arange(len(tips)), short)
        halo = withStroke(linewidth=2, foreground="white")  # names may lie on points
        for text in ax.texts:
            text.set_path_effects([halo])
    return ax


def _draw_arrow(ax: Axes, tip: Array, cross: Array, sure: bool) -> Array:
    """Draw an arrow from 0 to ``tip`` (2,) and its intervals; return points along both, (m, 2).

    cross (2, 2): low and high of both loadings, in rows.
    """
    ink = "0.1" if sure else FAINT
    across, up = np.full((2, 2), tip), np.full((2, 2), tip)
    across[:, 0], up[:, 1] = cross.T
    for line in (across, up):
        ax.plot(*line.T, color=FAINT, linewidth=0.7, solid_capstyle="butt", zorder=2)
    arrow = {"arrowstyle": "-|>", "color": ink, "linewidth": 0.8, "mutation_scale": 6}
    ax.annotate("", (tip[0], tip[1]), (0, 0), arrowprops=arrow | {"shrinkA": 0, "shrinkB": 0})
    along = np.linspace(0.0, 1.0, 20)[:, None]
    lines = (np.stack([np.zeros(2), tip]), across, up)
    return np.vstack([start + along * (end - start) for start, end in lines])


def loadings_of_pca(
    model: PCA,
    component: int | None,
    *,
    level: float,
    n_shown: int,
    names: Names | None,
    ax: Axes | None,
) -> Any:
    """Draw the loadings of a PCA as marks with intervals, the strongest variables on top.

    component: which one, from 1; None for the first three. A loading that may be 0 is hollow.
    """
    check_is_fitted(model)
    n_shown = as_count(n_shown, "n_shown", low=1)
    if component is not None:
        which = [_check_component(model, component)]
    elif not (which := list(range(min(model.n_components_, MOST_COMPONENTS)))):
        raise ParameterError(
            "model", ("The PCA has no components to draw. Set <n_components=1> to draw one anyway.")
        )
    tables = [table[:, which] for table in _intervals(model, level)]
    strength = tables[0] ** 2 @ model.explained_variance_[which]
    total = int(np.count_nonzero(strength))
    names = style.check_names(names or model.fit_.variables, len(strength), "variables")
    shown = np.argsort(-strength, kind="stable")[: min(n_shown, total)]
    alone = len(which) == 1
    title = f"{len(shown)} of {total} variables"
    title = f"{_name(model, which[0])}\n{title}" if alone else title
    step = 0.0 if alone else 0.26
    lines, pad = [names[j] for j in shown], None if alone else 20
    with style.list_of(lines, title, ax, pad, line=0.155 + 0.6 * step) as ax:
        for row in range(1, len(shown), 2):
            ax.axhspan(row - 0.5, row + 0.5, color="0.95", linewidth=0, zorder=-1)
        for place, r in enumerate(which):
            rows = np.arange(len(shown)) + step * (place - 0.5 * (len(which) - 1))
            loading, *interval = (table[shown, place] for table in tables)
            _draw_intervals(ax, rows, loading, interval, r)
        ax.margins(x=0.16)
        ax.set_xlabel(_unit(model, which))
        if not alone:
            style.legend_above(ax, at=0.5, ncols=MOST_COMPONENTS)
    return ax


def _draw_intervals(
    ax: Axes, rows: Array, loading: Array, interval: Sequence[Array], r: int
) -> None:
    """Draw the loadings on component r (m,) in these rows: a mark, its interval and stars each.

    interval: low, high and p-value, (m,) each.
    """
    low, high, p_value = interval
    colour, marker = style.look_of(r).values()
    look = {"s": 16, "marker": marker, "edgecolors": colour, "linewidths": 0.7, "zorder": 3}
    ax.hlines(rows, low, high, color=colour, linewidth=0.8)
    ax.scatter(loading, rows, c=np.where(p_value < STARS[0], colour, "white"), **look)
    ax.scatter([], [], c=colour, label=f"component {r + 1}" if r == 0 else f"{r + 1}", **look)
    outer = np.where(loading < 0.0, low, high)
    counts = (p_value[:, None] < STARS).sum(axis=1)
    for row, end, side, count in zip(rows, outer, loading < 0.0, counts, strict=True):
        ax.annotate(
            "*" * count, (end, row), (-3 if side else 3, -2.5), textcoords="offset points",
            ha="right" if side else "left", va="center", fontsize=style.NAME_SIZE, color=colour,
        )  # fmt: skip


def _intervals(model: PCA, level: float) -> tuple[Array, Array, Array, Array]:
    """Return loadings, low, high and p-values, each (p, R)."""
    return model.components_.T, *model.fit_.intervals(level)


def _check_component(model: PCA, component: int) -> int:
    """Return the place of a component that is counted from 1."""
    return as_count(component, "component", low=1, high=model.n_components_) - 1


def _name(model: PCA, r: int) -> str:
    return f"component {r + 1} ({100 * model.explained_variance_ratio_[r]:.0f} %)"


def _unit(model: PCA, which: list[int]) -> str:
    """Return "loading", with the components that may have turned into a neighbour."""
    mixed = [r + 1 for r in which if model.fit_.standard_errors.mixed[r]]
    if not mixed:
        return "loading"
    return f"loading ({in_a_row(mixed)} may mix with a neighbour)"
