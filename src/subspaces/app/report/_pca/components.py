"""HTML of the sections on the components of one PCA: how many, of which variables, on whom."""

import numpy as np

from subspaces.app.report import _tables
from subspaces.app.report._figures import STRONGEST
from subspaces.app.report._names import escape, number
from subspaces.app.report._pca import figures
from subspaces.app.report._pca.draft import PCADraft, name_of
from subspaces.app.report._pca.findings import PCAFindings
from subspaces.messages import in_a_row
from subspaces.pca.verdict import AxisKind

# How many variables a row of the table of components names, on each side.
NAMED_VARIABLES = 4
# Variables whose loading is below this share of the strongest say little about a component.
FAINT = 0.25

INTERVALS = (
    "Each line is a 95 % confidence interval. If a bar is hollow, the true loading may be 0."
)
BARS = "Each bar shows how strong a direction is. Noise alone stays below the dotted line. "
PREDICTED = (
    "We leave out each value and predict it from the rest. The ring marks the best number of "
    "components. But the comparison with noise decides how many components there are."
)
# What the bars mean, by the kind of the noise.
HOW = {
    "equal": f"{BARS}Bars above the line are components.",
    "unequal": (
        f"{BARS}Bars above the line are components. The line takes into account that some "
        "variables are noisier than others."
    ),
    "unequal_samples": (
        f"{BARS}Bars above the line are components. Some samples are noisier than others, so we "
        "first divided each sample by its own noise."
    ),
    "heavy": (
        f"{BARS}A few values are extreme, and one sample can lift a bar by itself. So we only "
        "count components that stay above the line without the sample they depend on most."
    ),
    "correlated": "The noise is correlated, so it can also reach above the dotted line.",
    "none": "The table has no noise: a few components describe every sample exactly.",
    "unknown": "The table is too small to compare a component with noise.",
}


def components(draft: PCADraft) -> str:
    """Return the HTML of "How many components": strength, prediction, and a table of both."""
    found = draft.found
    known = found.components
    if known.noise in ("none", "unknown"):
        left = draft.figure("strength", figures.variance(found), "Variance along each component")
    else:
        label = "Strength of each component compared with noise"
        left = draft.figure("strength", figures.over_the_noise(found), label)
    drawn = f"<div><h3>Stronger than noise?</h3>{left}</div>"
    if not found.coded:
        label = "Error of predicting a left-out value, by the number of components"
        right = draft.figure("cells", figures.left_out_cells(found), label, PREDICTED)
        drawn = f'<div class="pair">{drawn}<div><h3>Do they predict?</h3>{right}</div></div>'
    return f"<p>{HOW[known.noise]}{_on_the_break(found)}</p>{drawn}{_table_of_axes(found)}"


def _on_the_break(found: PCAFindings) -> str:
    """Return a sentence on the break in the spectrum, if that is what was counted."""
    if found.components.noise != "correlated":
        return ""
    if found.components.n_components == 0:
        return " The bars fall without a sudden drop, so the number of components is unclear."
    return " We count the bars before the sudden drop."


def _table_of_axes(found: PCAFindings) -> str:
    known = found.components
    held = _held_together(found)
    rows = []
    for r in range(found.n_axes):
        rows.append(
            [
                str(r + 1),
                _status(found, r),
                f"{100 * known.explained[r]:.1f} %",
                *held[r : r + 1],
                _strength(known.ratio[r]),
                name_of(found, known.rests_on[r]),
                _strength(known.ratio_without[r]),
            ]
        )
    heads = [
        "No.",
        "What it is",
        "Variance",
        "Together",
        "Strength",
        "Depends most on",
        "Without it",
    ]
    heads = heads if held else [head for head in heads if head != "Together"]
    of_noise = "" if known.noise == "correlated" else " Noise alone has a strength of up to 1."
    caption = (
        f"The table shows all directions that we compared with noise.{of_noise} The last columns "
        "show which sample a direction depends on most, and its strength without that sample."
    )
    return _tables.simple(caption, heads, rows)


def _held_together(found: PCAFindings) -> list[str]:
    """Return the variance that the axes hold together, up to each; "" for noise.

    Nothing at all if every axis is noise.
    """
    known = found.components
    counted = found.n_axes if known.noise == "correlated" else known.n_components
    sums = np.cumsum(known.explained)
    cells = [f"{100 * held:.1f} %" if r < counted else "" for r, held in enumerate(sums)]
    return cells if counted else []


def _strength(ratio: float) -> str:
    """Return a strength as text, with two decimals if it is near that of noise."""
    return f"{ratio:.2f}" if ratio < 100 else number(ratio)


def _status(found: PCAFindings, r: int) -> str:
    kind = found.components.kinds[r]
    if kind != AxisKind.COMPONENT:
        return escape(kind)
    alone = ", due to one sample" if found.components.alone[r] else ""
    return f"{_tables.swatch(0)}{kind}{alone}"


def variables(draft: PCADraft) -> str:
    """Return the HTML of "Which variables make them": in words, as a figure, and all to search."""
    found = draft.found
    if found.n_shown == 0:
        return "<p>There is no component, so there are no variables to show.</p>"
    label = "Loadings of the variables that make the components"
    p = len(found.variable_names)
    caption = (
        "A loading shows how much a variable contributes to a component. Variables of one "
        "colour rise together while the others fall. The sign is arbitrary."
    )
    if p > STRONGEST:
        caption = f"Only the {STRONGEST} strongest of {p:,} variables are shown. {caption}"
    if found.intervals is not None and found.n_shown <= figures.MOST_PANELS:
        caption = f"{INTERVALS} {caption.replace('of one colour', 'on one side')}"
    figure = draft.figure("loadings", figures.loadings(found), label, caption)
    words, lookup = f"{_in_words(found)}{_on_mixed(found)}", _table_of_variables(found)
    return f"{words}{figure}<h3>Look up a variable</h3>{lookup}"


def _on_mixed(found: PCAFindings) -> str:
    """Return a sentence on components whose axes may have turned into each other."""
    mixed = [r + 1 for r in found.mixed]
    if not mixed:
        return ""
    one = len(mixed) == 1
    which = f"Component {mixed[0]} has" if one else f"Components {in_a_row(mixed)} have"
    drawn = ", and the intervals are too narrow" if found.n_shown <= figures.MOST_PANELS else ""
    return (
        f"<p>{which} nearly as much variance as a neighbouring component, so these components "
        f"can mix. Other samples could give other loadings here{drawn}.</p>"
    )


def _in_words(found: PCAFindings) -> str:
    rows = []
    for r in range(found.n_shown):
        ups, downs = (_strong(found, r, sign) for sign in (1, -1))
        rows.append([str(r + 1), ups, downs])
    caption = "Variables that rise and fall along each component, the strongest first."
    return _tables.simple(caption, ["Component", "Up", "Down"], rows, kind="whole words")


def _strong(found: PCAFindings, r: int, sign: int) -> str:
    """Return as HTML the strongest variables of component r whose loadings have this sign."""
    loadings = sign * found.loadings[:, r]
    most = np.abs(found.loadings[:, r]).max()
    order = [j for j in found.strongest(r)[: 4 * NAMED_VARIABLES] if loadings[j] > FAINT * most]
    names = [f"<bdi>{escape(found.variable_names[j])}</bdi>" for j in order[:NAMED_VARIABLES]]
    return ", ".join(names) or "-"


def _table_of_variables(found: PCAFindings) -> str:
    shown = min(found.n_shown, _tables.MOST_AXES)
    strength = found.loadings**2 @ found.explained
    total, order = strength.sum() or 1.0, np.argsort(-strength, kind="stable")
    rows = [
        (
            found.variable_names[j],
            "",
            [
                _tables.percent_cell(strength[j] / total),
                *(_tables.number_cell(x, _tables.LOADING) for x in found.loadings[j, :shown]),
            ],
        )
        for j in order[: _tables.MOST_VARIABLES]
    ]
    p = len(order)
    caption = f"All {p:,} variables"
    if len(rows) < p:
        caption = f"Only the {len(rows):,} strongest of {p:,} variables are listed"
    caption += ". Strength is the share of the variance along the components."
    if shown < found.n_shown:
        caption += f" Only the first {shown} of {found.n_shown} components are listed."
    heads = ["Variable", "Strength", *(f"Component {r + 1}" for r in range(shown))]
    return _tables.lookup("variable", caption, heads, rows, {})
