"""The report's tables as HTML, escaped, and readable without JavaScript."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from subspaces._types import Array, Indices
from subspaces.app.report._canvas import colour, symbol
from subspaces.app.report._findings import Findings, Loadings
from subspaces.app.report._names import count, escape, number
from subspaces.diagnostics._beyond_chance import Apart
from subspaces.preparation import in_raw_units

# How many rows a table to search has at most, so that the page stays quick to open and to sort.
MOST_SAMPLES = 1000
MOST_VARIABLES = 1500
# How many columns of loadings a table has at most, so that it fits a screen.
MOST_AXES = 4
# Variables whose standard deviations are this near to 1 were scaled.
SCALED = 0.02
# The heading of differences, and what they are differences of.
UNITS = {
    "table": ("Difference", "the units of the table"),
    "scaled": ("Difference (scaled)", "the scaled values that were clustered"),
    "clustered": ("Difference", "the values that were clustered"),
}
# Decimals of a loading.
LOADING = 3
# Headings of columns of words; those of numbers are set to the right.
WORDS = ("Sample", "Variable", "Cluster", "Class", "Next", "Belongs", "Because", "Beyond chance")

# Headings of the table of starts whose fields have other names, and fields that it leaves out.
STARTS = {"merit": "score", "n_iter": "iterations", "stop_reason": "how it ended"}
INTERNAL = {"promise", "objective"}
# What the stop reasons of a start mean.
ENDED = {
    "brief": "tried briefly",
    "not swept": "not searched",
    "overshot": "kept its best iteration",
    "max_iter": "iteration limit",
    "infeasible": "lost a cluster",
    "cycle": "labels went back and forth",
    "restless": "nearly converged",
}

SHAPES = {
    "circle": '<circle cx="8" cy="8" r="6"/>',
    "square": '<rect x="2.5" y="2.5" width="11" height="11"/>',
    "diamond": '<path d="M8 1l7 7-7 7-7-7z"/>',
    "cross": '<path d="M6 1h4v5h5v4h-5v5H6v-5H1V6h5z"/>',
    "x": '<path d="M3.5 1L8 5.5 12.5 1 15 3.5 10.5 8 15 12.5 12.5 15 8 10.5 3.5 15'
    ' 1 12.5 5.5 8 1 3.5z"/>',
    "triangle-up": '<path d="M8 2l7 12H1z"/>',
    "triangle-down": '<path d="M8 14L1 2h14z"/>',
}


def swatch(k: int) -> str:
    """Return a small SVG of the marker, symbol and colour, that figures use for cluster ``k``."""
    shade = colour(k)
    return (
        f'<svg class="swatch" viewBox="0 0 16 16" aria-hidden="true" fill="{shade}">'
        f"{SHAPES[symbol(k)]}</svg>"
    )


def simple(
    caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], *, kind: str = "whole"
) -> str:
    """Return an HTML table of cells that are already escaped; a row's first cell is its heading."""
    body = (
        f'<tr><th scope="row">{name}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'
        for name, *cells in rows
    )
    return _scrolled(caption, _heads(heads), body, kind)


def _heads(heads: Iterable[str]) -> str:
    return "".join(f'<th scope="col">{head}</th>' for head in heads)


def samples(found: Findings) -> str:
    """Return an HTML table of samples to search, sort and copy, those between clusters first."""
    shown, columns = _notable_samples(found), sample_columns(found)
    rows = (
        (found.sample_names[i], str(found.labels[i]), [cell(i) for cell in columns.values()])
        for i in shown
    )
    caption = f"{count(len(shown), 'sample')}."
    if len(shown) < len(found.labels):
        most = "" if found.influence is None else " and the most influential"
        caption = f"{len(shown):,} of {len(found.labels):,} samples: the least certain"
        caption += f"{most}."
    if "Between" in columns:
        caption += " In the column Between, 100 % means that the next cluster is just as near."
    choice = by_cluster(found, [c.number for c in found.clusters])
    choice |= {"-1": "Outliers"} if len(found.outliers) else {}
    return lookup("sample", caption, ["Sample", *columns], rows, choice)


def sample_columns(found: Findings) -> dict[str, Callable[[int], str]]:
    """Return the columns of the table of samples: heading, and a function from sample to cell."""
    rivalry, classes, influence = found.rivalry, found.classes, found.influence
    sure, odd = found.probabilities, found.p_values
    columns: dict[str, Callable[[int], str]] = {}
    columns["Cluster"] = lambda i: cluster_cell(found, int(found.labels[i]))
    if sure is not None and sure.shape[1] > 1:
        columns["Probability"] = lambda i: percent_cell(
            sure[i].max() if found.labels[i] >= 0 else np.nan
        )
    elif rivalry is not None:
        columns["Between"] = lambda i: percent_cell(rivalry.closeness[i])
    if rivalry is not None:
        columns["Next"] = lambda i: cluster_cell(found, int(rivalry.rival[i]))
    if classes is not None:
        columns["Class"] = lambda i: f'<td class="name">{escape(classes[i])}</td>'
    if odd is not None:
        columns["p-value"] = lambda i: number_cell(odd[i])
    if influence is not None:
        places = decimals_of(influence)
        columns["Influence"] = lambda i: number_cell(influence[i], places)
    return columns


def _notable_samples(found: Findings) -> Any:
    """Return the indices of up to 1000 samples to list: outliers, then the least certain ones.

    Of more samples, half are these and half the most influential.
    """
    order = np.argsort(-found.doubt, kind="stable")
    order = np.concatenate([found.outliers, order[found.labels[order] >= 0]])
    if len(order) <= MOST_SAMPLES or found.influence is None:
        return order[:MOST_SAMPLES]
    return in_part(order, np.argsort(-found.influence, kind="stable"))


def in_part(order: Indices, influential: Indices) -> Indices:
    """Return the first 500 samples of each order, in the first one."""
    half = MOST_SAMPLES // 2
    return order[np.isin(order, [*order[:half], *influential[:half]])]


def differences(found: Findings) -> str:
    """Return an HTML table of the variables that set each cluster apart; "" if not known."""
    groups = [
        (c.number, c.apart)
        for c in found.clusters
        if c.apart is not None and not found.alone(c) and not found.others_are_one(c)
    ]
    full = sum(len(apart.names) for _, apart in groups)
    if not full:
        return ""
    most = max(MOST_VARIABLES // len(groups), 20)
    known = all(apart.sizes_known for _, apart in groups)
    groups, units = _in_units(found, groups)
    heading, whose = UNITS[units]
    names = ["effect", "difference"] if known else ["difference"]
    places = [decimals_of(np.concatenate([getattr(a, name) for _, a in groups])) for name in names]
    if units == "table":  # each variable has its own
        places[-1] = None
    rows = []
    for k, apart in groups:
        sizes = [getattr(apart, name) for name in names]
        for j, name in enumerate(apart.names[:most]):
            shown = zip(sizes, places, strict=True)
            cells = [cluster_cell(found, k), *(number_cell(size[j], d) for size, d in shown)]
            cells += [f"<td>{'yes' if j < apart.n_sure else 'no'}</td>"] * known
            rows.append((name, str(k), cells))
    caption = "All variables that differ."
    if len(rows) < full:
        caption = f"At most {most:,} variables of each cluster are listed, the clearest first."
    caption += (
        f" Difference is the mean of the cluster minus the mean of all other samples, in {whose}."
    )
    if known:
        caption += " Effect is this difference in standard deviations within the clusters."
    heads = ["Variable", "Cluster", *["Effect"] * known, heading, *["Beyond chance"] * known]
    return lookup("variable", caption, heads, rows, by_cluster(found, (k for k, _ in groups)))


def _in_units(
    found: Findings, groups: list[tuple[int, Apart]]
) -> tuple[list[tuple[int, Apart]], str]:
    """Return the groups with differences in the units of the table if these are known.

    They are if the preparation did no more than scale the variables. The second value is a key of
    ``UNITS``.
    """
    preparation, scaled = getattr(found.model, "preparation_", None), found.rows
    if preparation is not None and preparation.spread is not None:
        ends = np.array([np.zeros_like(preparation.spread), np.ones_like(preparation.spread)])
        low, high = in_raw_units(ends, preparation)
        if (high - low != 1.0).any():
            spread = dict(zip(found.variable_names, high - low, strict=True))
            groups = [
                (k, replace(a, difference=a.difference * [spread[name] for name in a.names]))
                for k, a in groups
            ]
            return groups, "table"
    if scaled is not None and np.allclose(np.nanstd(scaled, axis=0), 1.0, atol=SCALED):
        return groups, "scaled"
    return groups, "clustered"


def variables(found: Findings) -> str:
    """Return an HTML table of each cluster's loadings or of shared weights; "" if all are 0."""
    weights = found.common
    groups: list[tuple[int | None, Loadings]]
    groups = [
        (c.number, c.loadings)
        for c in found.clusters
        if c.loadings is not None and not found.alone(c)
    ]
    if weights is not None:
        groups = [(None, weights)]
    full = sum(len(loadings.places) for _, loadings in groups)
    if not full:
        return ""
    most = max(MOST_VARIABLES // len(groups), 20)
    widest = max(loadings.values.shape[1] for _, loadings in groups)
    axes = min(widest, MOST_AXES)
    rows = [row for k, group in groups for row in _variable_rows(found, k, group, most, axes)]
    heads, choice, whose = ["Weight"], {}, ""
    caption = "All variables with a weight"
    if weights is None:
        heads = ["Cluster", "Strength", *(f"Axis {r + 1}" for r in range(axes))]
        choice, whose = by_cluster(found, (k for k, _ in groups)), " of each cluster"
        caption = "All variables with a loading"
    if len(rows) < full:
        caption = f"Only the {most:,} strongest variables{whose} are listed"
    strength = ". Strength is the share of the variance within the subspace."
    caption += strength if weights is None else "."
    if axes < widest:
        caption += f" The axes are the first {axes} of {widest}."
    return lookup("variable", caption, ["Variable", *heads], rows, choice)


def _variable_rows(
    found: Findings, k: int | None, loadings: Loadings, most: int, axes: int
) -> Iterator[tuple[str, str, list[str]]]:
    rows = zip(loadings.places[:most], loadings.strength, loadings.values, strict=False)
    for j, strength, values in rows:
        cells = [] if k is None else [cluster_cell(found, k), percent_cell(strength)]
        cells += [number_cell(value, LOADING) for value in values[:axes]]
        cells += ["<td></td>"] * (axes - len(values))
        yield found.variable_names[j], "all" if k is None else str(k), cells


def contingency(found: Findings) -> str:
    """Return an HTML table of classes by clusters, with counts and shares of the class."""
    own = found.classes or []
    with_class = [i for i, name in enumerate(own) if name]
    classes = sorted({own[i] for i in with_class})
    # The last column, of the label -1, is the samples in no cluster.
    table = np.zeros((len(classes), len(found.clusters) + 1), dtype=int)
    known = np.array([classes.index(own[i]) for i in with_class])
    np.add.at(table, (known, found.labels[with_class]), 1)
    heads = [f"{swatch(c.number)}{short_name(found, c.number)}" for c in found.clusters]
    if table[:, -1].any():
        heads.append(f"{swatch(-1)}Outliers")
    else:
        table = table[:, :-1]
    body = (
        _heat_row(name, row, len(found.clusters)) for name, row in zip(classes, table, strict=True)
    )
    caption = "Samples of each class in each cluster, with their share of the class."
    return _scrolled(caption, _heads(["Class", "Samples", *heads]), body, "whole heat")


def starts(rows: Sequence[dict[str, Any]]) -> str:
    """Return an HTML table of all starts of the fit, with origin and final value, best first."""
    goal = "merit" if "merit" in rows[0] else "log_likelihood"
    sign = 1.0 if goal == "merit" else -1.0
    values = [np.inf if row[goal] is None else sign * row[goal] for row in rows]
    ordered = [rows[i] for i in np.argsort(values, kind="stable")]
    shown = [name for name in rows[0] if goal != "merit" or name not in INTERNAL]
    heads = [STARTS.get(name, name.replace("_", " ")).capitalize() for name in shown]
    cells = ([_start_cell(row[name]) for name in shown] for row in ordered)
    words = "Every start, the best first." + " Lower scores are better." * (goal == "merit")
    return simple(words, heads, cells, kind="long")


def _start_cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else escape(ENDED.get(value, value))


def _heat_row(name: str, row: Any, clusters: int) -> str:
    """Return the HTML row of a class: shaded in the clusters, not in the column of outliers."""
    total = max(int(row.sum()), 1)
    best = int(row[:clusters].argmax())
    cells = "".join(
        f'<td class="{"best" if k == best else ""}" '
        f'style="--share:{value / total if k < clusters else 0:.2f}">'
        f"{value:,}{_share(value / total)}</td>"
        for k, value in enumerate(row)
    )
    return f'<tr><th scope="row" class="name">{escape(name)}</th><td>{total:,}</td>{cells}</tr>'


def _share(share: float) -> str:
    return f" <span>({100 * share:.0f} %)</span>" if share else ""


def lookup(
    thing: str,
    caption: str,
    heads: Sequence[str],
    rows: Iterable[tuple[str, str, list[str]]],
    choice: Mapping[str, str],
    kind: str = "Cluster",
) -> str:
    """Return an HTML table with a search box, a choice of group, and a button to copy names.

    rows: name, group and the HTML cells of each row; thing: "sample" or "variable"; choice: the
    groups and how to call them; kind: what a group is.
    """
    options = "".join(
        f'<option value="{escape(group)}">{escape(called)}</option>'
        for group, called in choice.items()
    )
    chooser = (
        f'<label>{kind}<select data-kind="{kind.lower()}"><option value="">all</option>{options}'
        "</select></label>"
        if len(choice) > 1
        else ""
    )
    body = (
        f'<tr data-search="{escape(name)}" data-group="{escape(group)}">'
        f'<th scope="row" class="name">{escape(name)}</th>{"".join(cells)}</tr>'
        for name, group, cells in rows
    )
    top = "".join(
        f'<th scope="col" class="{"" if head in WORDS else "n"}">'
        f'<button type="button">{head}</button></th>'
        for head in heads
    )
    return (
        f'<div class="lookup" data-thing="{thing}"><div class="controls" hidden>'
        f'<label>Search {thing}s<input type="search" autocomplete="off" spellcheck="false">'
        f'</label>{chooser}<button type="button" data-copy>Copy {thing}s as a list</button>'
        f'<span class="said" role="status" aria-live="polite"></span></div>'
        f"{_scrolled(caption, top, body, 'long')}</div>"
    )


def by_cluster(found: Findings, clusters: Iterable[int | None]) -> dict[str, str]:
    """Return the groups of a table whose rows belong to clusters, and how to call them."""
    return {str(k): found.called(k) for k in clusters if k is not None}


def _scrolled(caption: str, top: str, rows: Iterable[str], kind: str) -> str:
    lines = list(rows)
    label, body = escape(caption.split(".")[0]), "\n".join(lines)
    head = f"<thead><tr>{top}</tr></thead>" if top else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{label}">'
        f'<table class="{kind}"><caption><span>{caption}</span></caption>'
        f"{head}<tbody>\n{body}\n</tbody></table></div>"
    )


def cluster_cell(found: Findings, k: int) -> str:
    """Return the HTML cell of a cluster: its marker, and its number or its name."""
    return f'<td data-value="{k}">{swatch(k)}{short_name(found, k)}</td>'


def short_name(found: Findings, k: int) -> str:
    """Return as HTML what a cluster is called in a table: its number, unless it has a name."""
    name = found.called(k)
    return escape(name.removeprefix("cluster ") if name == f"cluster {k}" else name)


def number_cell(value: float, decimals: int | None = None) -> str:
    """Return the HTML cell of a number, by which a table is sorted.

    decimals: of all cells of the column; None for three significant digits.
    """
    known = decimals is not None and np.isfinite(value)
    text = f"{round(value, decimals) + 0.0:,.{decimals}f}" if known else number(value)
    return f'<td class="n" data-value="{value:.6g}">{text}</td>'


def decimals_of(values: Array) -> int | None:
    """Return how many decimals show the middle of a column in three digits; None if it is small."""
    sizes = np.abs(values[np.isfinite(values) & (values != 0.0)])
    middle = float(np.median(sizes)) if len(sizes) else 0.0
    return int(np.clip(2 - np.floor(np.log10(middle)), 0, 3)) if 0.01 <= middle < 1e6 else None


def percent_cell(share: float) -> str:
    """Return the HTML cell of a share in %, by which a table is sorted.

    Shares of less than 0.1 % are "< 0.1 %", and only a whole one is 100.0 %.
    """
    if share != share:
        return number_cell(share)
    return f'<td class="n" data-value="{share:.6g}">{escape(in_percent(share))}</td>'


def in_percent(share: float) -> str:
    """Return a share in % with one decimal, as all of its column have."""
    text = "< 0.1" if 0.0 < share < 0.001 else f"{100 * share:.1f}"
    return f"{'> 99.9' if text == '100.0' and share < 1.0 else text} %"
