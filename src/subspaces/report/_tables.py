"""The tables of the page as HTML: readable without a script, escaped throughout."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from subspaces.core.contrast import Contrast
from subspaces.report._canvas import SYMBOLS, colour
from subspaces.report._findings import Findings, Loadings
from subspaces.report._names import count, escape, number

MOST_SAMPLES = 1000
MOST_VARIABLES = 1500
MOST_AXES = 4
WORDS = ("Sample", "Variable", "Cluster", "Class", "Next")

SHAPES = {
    "circle": '<circle cx="8" cy="8" r="6"/>',
    "square": '<rect x="2.5" y="2.5" width="11" height="11"/>',
    "diamond": '<path d="M8 1l7 7-7 7-7-7z"/>',
    "cross": '<path d="M6 1h4v5h5v4h-5v5H6v-5H1V6h5z"/>',
    "x": '<path d="M3.5 1L8 5.5 12.5 1 15 3.5 10.5 8 15 12.5 12.5 15 8 10.5 3.5 15'
    ' 1 12.5 5.5 8 1 3.5z"/>',
    "circle-open": '<circle cx="8" cy="8" r="5" fill="none" stroke-width="2.5"/>',
    "square-open": '<rect x="3" y="3" width="10" height="10" fill="none" stroke-width="2.5"/>',
}


def swatch(k: int) -> str:
    """The mark of a cluster in the figures, as a small picture."""
    shade = colour(k)
    return (
        f'<svg class="swatch" viewBox="0 0 16 16" aria-hidden="true" fill="{shade}" '
        f'stroke="{shade}" stroke-width="0">{SHAPES[SYMBOLS[k % len(SYMBOLS)]]}</svg>'
    )


def plain(
    caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], *, kind: str = "whole"
) -> str:
    """A table of cells that are HTML already; the first of a row names it."""
    body = "\n".join(_row(cells) for cells in rows)
    top = "".join(f'<th scope="col">{head}</th>' for head in heads)
    return _scrolled(caption, top, body, kind)


def cluster_sizes(found: Findings) -> str:
    """Samples, dimension and variables of each cluster."""
    n, rows = len(found.labels), []
    for cluster in found.clusters:
        share = len(cluster.members) / n
        size = f'{len(cluster.members):,} <span class="quiet wide">({100 * share:.0f} %)</span>'
        word = '<span class="wide">Cluster </span>'
        row = [f"{swatch(cluster.number)}{word}{cluster.number}", size]
        if cluster.loadings is not None:
            row += [str(cluster.dimension or "mean profile"), f"{cluster.n_variables:,}"]
        rows.append([*row, _bar(share, colour(cluster.number))])
    heads = ["Cluster", "Samples"]
    heads += ["Dimensions", "Variables"] if found.common is None else []
    heads.append('<span class="wide">Share of the samples</span>')
    return plain("Size of the clusters", heads, rows)


def samples(found: Findings) -> str:
    """The samples between clusters first; searched, sorted, copied."""
    shown = _telling_samples(found)
    rivals, known = found.rivalry is not None, found.classes is not None
    heads = ["Sample", *(["Between"] if rivals else []), "Cluster"]
    heads += (["Next"] if rivals else []) + (["Class"] if known else [])
    heads += ["Own score", "Score there"] if rivals else []
    heads += ["Influence"] if found.influence is not None else []
    rows = (
        (found.sample_names[i], str(found.labels[i]), _sample_cells(found, int(i))) for i in shown
    )
    caption = f"{count(len(shown), 'sample')}."
    if len(shown) < len(found.labels):
        most = "" if found.influence is None else " and the most influential"
        caption = f"{len(shown):,} of {len(found.labels):,} samples: the nearest to another cluster"
        caption += f"{most}."
    if rivals:
        caption += " Between: 100 % is as near to the next cluster as to the own."
    return _lookup("sample", caption, heads, rows, [str(c.number) for c in found.clusters])


def differences(found: Findings) -> str:
    """What sets each cluster apart, the largest effects first; "" where that is not known."""
    groups = [(c.number, c.apart) for c in found.clusters if c.apart is not None]
    full = sum(len(apart.order) for _, apart in groups)
    if not full:
        return ""
    most = max(MOST_VARIABLES // len(groups), 20)
    known = not any(np.isnan(apart.effect).any() for _, apart in groups)
    rows = [
        (found.variable_names[j], str(k), [_mark(k), *_difference_cells(apart, int(j), known)])
        for k, apart in groups
        for j in apart.order[:most]
    ]
    caption = "All variables that differ."
    if len(rows) < full:
        caption = f"The first {most:,} of each cluster, {len(rows):,} of {full:,} rows."
    caption += " Difference: mean of the cluster less the mean of all other samples."
    if known:
        caption += " Effect: the same in standard deviations within the clusters."
    heads = ["Variable", "Cluster", "Difference", *["Effect"] * known]
    return _lookup("variable", caption, heads, rows, [str(k) for k, _ in groups])


def _difference_cells(apart: Contrast, j: int, known: bool) -> list[str]:
    return [_figure(apart.difference[j]), *([_figure(apart.effect[j])] if known else [])]


def variables(found: Findings) -> str:
    """What varies within each cluster, the strongest first; "" where nothing has a loading."""
    groups = variable_groups(found)
    full = sum(len(loadings.places) for _, loadings in groups)
    if not full:
        return ""
    most = max(MOST_VARIABLES // len(groups), 20)
    axes = min(max(loadings.values.shape[1] for _, loadings in groups), MOST_AXES)
    weighed = found.common is not None
    heads = ["Variable"] if weighed else ["Variable", "Cluster"]
    heads += ["Weight"] if weighed else ["Strength", *(f"Axis {r + 1}" for r in range(axes))]
    rows = [row for name, group in groups for row in _variable_rows(found, name, group, most, axes)]
    caption = "All variables with a loading" if not weighed else "All variables with a weight"
    if len(rows) < full:
        whose = "" if weighed else " of each cluster"
        caption = f"The {most:,} strongest variables{whose}, {len(rows):,} of {full:,} rows"
    caption += "." if weighed else ". Strength: share of what the subspace catches."
    names = [] if weighed else [name for name, _ in groups]
    return _lookup("variable", caption, heads, rows, names)


def variable_groups(found: Findings) -> list[tuple[str, Loadings]]:
    """The loadings of each cluster, or those that all clusters share."""
    if found.common is not None:
        return [("all", found.common)]
    return [(str(c.number), c.loadings) for c in found.clusters if c.loadings is not None]


def contingency(found: Findings) -> str:
    """Known classes against clusters, shaded by the share of the class."""
    assert found.classes is not None
    classes = sorted(set(found.classes))
    known = np.array([classes.index(name) for name in found.classes])
    table = np.zeros((len(classes), len(found.clusters)), dtype=int)
    np.add.at(table, (known, found.labels), 1)
    heads = ["Class"] + [f"{swatch(c.number)}{c.number}" for c in found.clusters]
    body = "\n".join(_heat_row(name, row) for name, row in zip(classes, table, strict=True))
    top = "".join(f'<th scope="col">{head}</th>' for head in heads)
    caption = (
        "Samples of each class (rows) in each cluster (columns), shaded by the share of the class."
    )
    return _scrolled(caption, top, body, "whole heat")


def starts(rows: Sequence[dict[str, Any]]) -> str:
    """Where each start came from and where it ended; the best first."""
    goal = "merit" if "merit" in rows[0] else "log_likelihood"
    sign = 1.0 if goal == "merit" else -1.0
    values = [np.inf if row[goal] is None else sign * row[goal] for row in rows]
    ordered = [rows[i] for i in np.argsort(values, kind="stable")]
    heads = [name.replace("_", " ").replace("n iter", "sweeps").capitalize() for name in rows[0]]
    cells = ([_start_cell(value) for value in row.values()] for row in ordered)
    words = f"Every start, the best first (by {goal.replace('_', ' ')})."
    if goal == "merit":
        words += (
            " Promise: of its first partition; merit: what decides at the end; lower is better."
        )
    return plain(words, heads, cells, kind="long")


def _start_cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else escape(value)


def _heat_row(name: str, row: Any) -> str:
    total = max(int(row.sum()), 1)
    best = int(row.argmax())
    cells = "".join(
        f'<td class="{"best" if k == best else ""}" style="--share:{value / total:.2f}">'
        f"{value:,}</td>"
        for k, value in enumerate(row)
    )
    return f'<tr><th scope="row" class="name">{escape(name)}</th>{cells}</tr>'


def _telling_samples(found: Findings) -> Any:
    order = np.arange(len(found.labels))
    if found.rivalry is not None:
        order = np.argsort(-found.rivalry.closeness, kind="stable")
    if len(order) <= MOST_SAMPLES:
        return order
    if found.influence is None:
        return order[:MOST_SAMPLES]
    kept = set(order[: MOST_SAMPLES // 2].tolist())
    loudest = np.argsort(-found.influence, kind="stable")
    kept.update(loudest[: MOST_SAMPLES // 2].tolist())
    return [i for i in order if i in kept]


def _sample_cells(found: Findings, i: int) -> list[str]:
    rivalry, cells = found.rivalry, [_mark(int(found.labels[i]))]
    if rivalry is not None:
        cells.insert(0, _figure(rivalry.closeness[i], percent=True))
        cells.append(_mark(int(rivalry.rival[i])))
    if found.classes is not None:
        cells.append(f'<td class="name">{escape(found.classes[i])}</td>')
    if rivalry is not None:
        cells += [_figure(rivalry.own[i]), _figure(rivalry.other[i])]
    if found.influence is not None:
        cells.append(_figure(found.influence[i]))
    return cells


def _variable_rows(
    found: Findings, name: str, loadings: Loadings, most: int, axes: int
) -> Iterable[tuple[str, str, list[str]]]:
    of_one = name != "all"
    for j, strength, values in zip(
        loadings.places[:most], loadings.strength, loadings.values, strict=False
    ):
        shown = [_figure(value) for value in values[:axes]]
        blank = ["<td></td>"] * (axes - len(shown))
        mark = [_mark(int(name)), _figure(strength, percent=True)] if of_one else []
        cells = [*mark, *shown, *blank]
        yield found.variable_names[j], name, cells


def _lookup(
    thing: str,
    caption: str,
    heads: Sequence[str],
    rows: Iterable[tuple[str, str, list[str]]],
    clusters: Sequence[str],
) -> str:
    """A table with a search box, a choice of cluster, and a button that copies the names."""
    options = "".join(f'<option value="{k}">Cluster {k}</option>' for k in clusters)
    choice = (
        f'<label>Cluster<select><option value="">all</option>{options}</select></label>'
        if len(clusters) > 1
        else ""
    )
    body = "\n".join(
        f'<tr data-search="{escape(name)}" data-cluster="{cluster}">'
        f'<th scope="row" class="name">{escape(name)}</th>{"".join(cells)}</tr>'
        for name, cluster, cells in rows
    )
    top = "".join(
        f'<th scope="col" class="{"" if head in WORDS else "n"}">'
        f'<button type="button">{head}</button></th>'
        for head in heads
    )
    return (
        f'<div class="lookup" data-thing="{thing}"><div class="controls" hidden>'
        f'<label>Search {thing}s<input type="search" autocomplete="off" spellcheck="false">'
        f'</label>{choice}<button type="button" data-copy>Copy {thing}s as a list</button>'
        f'<span class="said" role="status" aria-live="polite"></span></div>'
        f"{_scrolled(caption, top, body, 'long')}</div>"
    )


def _scrolled(caption: str, top: str, body: str, kind: str) -> str:
    label = escape(caption.split(".")[0])
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{label}">'
        f'<table class="{kind}"><caption><span>{caption}</span></caption>'
        f"<thead><tr>{top}</tr></thead><tbody>\n{body}\n</tbody></table></div>"
    )


def _row(cells: Sequence[str]) -> str:
    rest = "".join(f"<td>{cell}</td>" for cell in cells[1:])
    return f'<tr><th scope="row">{cells[0]}</th>{rest}</tr>'


def _mark(k: int) -> str:
    return f"<td>{swatch(k)}{k}</td>"


def _bar(share: float, shade: str) -> str:
    width = f"{100 * share:.1f}%"
    return (
        '<span class="amount wide" aria-hidden="true">'
        f'<i style="width:{width};background:{shade}"></i></span>'
    )


def _figure(value: float, *, percent: bool = False) -> str:
    text = f"{100 * value:.3g} %" if percent else number(value)
    return f'<td class="n" data-value="{value:.6g}">{text}</td>'
