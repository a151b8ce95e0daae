"""HTML of the sections on the samples of one PCA: where they lie, who drives it, who is out."""

from collections.abc import Callable
from itertools import combinations

import numpy as np

from subspaces._types import Array
from subspaces.app.report import _tables
from subspaces.app.report._draft import NAMED, POINT, named, note_on_infinite
from subspaces.app.report._names import escape
from subspaces.app.report._pca import sample_figures
from subspaces.app.report._pca.draft import PCADraft, note_on_thinning
from subspaces.app.report._pca.findings import PCAFindings

# Pairs of the first PAIRED components have a button each.
PAIRED = 4


def scores(draft: PCADraft) -> str:
    """Return the HTML of "The samples on the components": a figure, with a button for each pair."""
    found = draft.found
    if found.n_shown == 0:
        return (
            "<p>There is no component to draw the samples on. To draw them anyway, ask for two "
            "components.</p>"
        )
    which = "known classes" if found.class_word else "clusters"
    colours = "" if found.classes is None else f" Colours and symbols show the {which}."
    rings = " Rings mark samples that do not fit the PCA." if len(found.outliers.outliers) else ""
    caption = f"{POINT}{colours}{rings}{note_on_thinning(found)}"
    if found.n_shown == 1:
        drawing = sample_figures.scores_and_distance(found)
        label = "Samples along the component, and how far they are from it"
        return draft.figure("pair-1", drawing, label, caption)
    pairs = list(combinations(range(min(found.n_shown, PAIRED)), 2))
    names = [f"pair-{first + 1}-{second + 1}" for first, second in pairs]
    for name, pair in zip(names[1:], pairs[1:], strict=True):
        draft.figures[name] = sample_figures.score_pair(found, *pair)
    drawing = sample_figures.score_pair(found, *pairs[0])
    place = draft.figure(names[0], drawing, "Samples on a pair of components", caption)
    return f"{_buttons(names, pairs)}{place}"


def _buttons(names: list[str], pairs: list[tuple[int, int]]) -> str:
    """Return the HTML of one button per pair; "" for a single pair."""
    if len(pairs) == 1:
        return ""
    buttons = (
        f'<button type="button" data-show="{name}" aria-controls="{names[0]}" '
        f'aria-pressed="{"true" if name == names[0] else "false"}">{first + 1} and {second + 1}'
        "</button>"
        for name, (first, second) in zip(names, pairs, strict=True)
    )
    return (
        '<div class="controls" role="group" aria-label="Components to show" data-choice hidden>'
        f'<span class="quiet small">Components</span>{"".join(buttons)}</div>'
    )


def drivers(draft: PCADraft) -> str:
    """Return the HTML of "Who drives it": the most influential samples, named and drawn."""
    found = draft.found
    order = found.most_influential[:NAMED]
    if found.n_shown == 0:
        return (
            "<p>There is no component, only the mean. The samples farthest from it are "
            f"{named(found.sample_names, order)}.</p>"
        )
    turning = found.highest_leverage[:NAMED]
    caption = (
        "Samples on the right pull the components towards themselves (leverage, 0 to "
        f"{found.n_shown}). The predictions depend most on the samples at the top "
        f"(influence).{note_on_thinning(found)}"
    )
    caption += note_on_infinite(found.influence, "a component")
    label = "Influence of each sample against its leverage"
    figure = draft.figure("influence", sample_figures.drivers(found), label, caption)
    return (
        f"<p>The predictions depend most on {named(found.sample_names, order)}. The components "
        f"are pulled most by {named(found.sample_names, turning)}. Check these samples "
        f"first.</p>{figure}"
    )


def outliers(draft: PCADraft) -> str:
    """Return the HTML of "Who does not belong": the verdict, a figure, and a table of samples."""
    found, known = draft.found, draft.found.outliers
    share = f"{100 * known.level:.3g} %"
    caption = (
        "We compared each sample with the PCA of all other samples. The plot shows distances, and "
        f"the table their squares. In a table without outliers, the chance that any sample is "
        f"beyond a dotted line is {share}.{note_on_thinning(found)}"
    )
    if found.n_shown:
        words = (
            "Samples on the right are extreme but still follow the components. Samples at the top "
            "do not follow them, and may be another kind of sample or a mistake."
        )
        words += " If the samples form groups, normal samples can be on the right, too."
    else:
        words = "Samples at the top are farther from the mean."
    label = "Distance of each sample along the components and from them, with limits"
    figure = draft.figure("limits", sample_figures.belonging(found), label, caption)
    return (
        f"<p>{escape(known.verdict)}</p><p>{words}</p>{figure}"
        f"<h3>Look up a sample</h3>{_table_of_samples(found)}"
    )


def _table_of_samples(found: PCAFindings) -> str:
    shown, columns = _notable(found), _columns(found)
    groups = found.classes or [""] * len(found.scores)
    rows = (
        (found.sample_names[i], groups[i], [cell(i) for cell in columns.values()]) for i in shown
    )
    n = len(found.scores)
    caption = "The table begins with the most unusual samples."
    if len(shown) < n:
        caption = (
            f"The table lists only the {len(shown):,} most unusual and most influential of "
            f"{n:,} samples."
        )
    caption += (
        " The column Far out is the squared distance along the components (T2)."
        if found.n_shown
        else ""
    )
    caption += (
        " The column Off is the squared distance from "
        f"{'the components' if found.n_shown else 'the mean'} (Q). The column Chance says how "
        "often a normal sample is this far."
    )
    classes = {name: name for name in sorted(set(groups))}
    return _tables.lookup("sample", caption, ["Sample", *columns], rows, classes, _heading(found))


def _heading(found: PCAFindings) -> str:
    return "Class" if found.class_word else "Cluster"


def _columns(found: PCAFindings) -> dict[str, Callable[[int], str]]:
    """Return the columns of the table of samples: heading, and a function from sample to cell."""
    known, classes = found.outliers, found.classes
    out, chance = set(known.outliers.tolist()), np.minimum(known.t2_p_value, known.q_p_value)
    columns: dict[str, Callable[[int], str]] = {}

    def numbers(values: Array) -> Callable[[int], str]:
        decimals = _tables.decimals_of(values)
        return lambda i: _tables.number_cell(values[i], decimals)

    if classes is not None:
        columns[_heading(found)] = lambda i: f'<td class="name">{escape(classes[i])}</td>'
    columns["Belongs"] = lambda i: f"<td>{'no' if i in out else 'yes'}</td>"
    if found.n_shown:
        columns["Far out"] = numbers(known.t2)
    columns["Off"] = numbers(known.q)
    columns["Chance"] = lambda i: _tables.number_cell(chance[i])
    if known.is_outlier.any():
        columns["Because"] = lambda i: (
            f'<td class="name">{escape(", ".join(known.reasons(i)))}</td>'
        )
    columns["Influence"] = numbers(found.influence)
    if found.n_shown:
        columns["Leverage"] = numbers(found.leverage)
    return columns


def _notable(found: PCAFindings) -> list[int]:
    """Return the rows of up to 1000 samples to list, those that belong least first.

    Of more samples, half are these and half the most influential.
    """
    known = found.outliers
    order = np.argsort(np.minimum(known.t2_p_value, known.q_p_value), kind="stable")
    if len(order) <= _tables.MOST_SAMPLES:
        return order.tolist()
    return _tables.in_part(order, found.most_influential).tolist()
