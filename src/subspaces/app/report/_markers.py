"""HTML of the report's section "Markers": tests of the variables that set clusters apart."""

import numpy as np

from subspaces.app.report._draft import NAMED, Draft
from subspaces.app.report._findings import Findings
from subspaces.app.report._names import escape
from subspaces.app.report._tables import (
    by_cluster,
    cluster_cell,
    decimals_of,
    lookup,
    number_cell,
    percent_cell,
    short_name,
    simple,
    swatch,
)
from subspaces.diagnostics import Markers
from subspaces.diagnostics._beyond_chance import called
from subspaces.diagnostics._markers import LEVEL
from subspaces.messages import Grade

# How many markers of each cluster the table has at most, and at least, and in all if these allow.
MOST_EACH, LEAST_EACH, MOST = 50, 10, 400
# Headings of the table for the columns of `Markers`, and whether the cells are shares.
COLUMNS = {
    "effect": ("Effect", False),
    "difference": ("Difference", False),
    "auc": ("AUC", False),
    "share_in": ("Inside", True),
    "share_out": ("Outside", True),
    "fdr_split": ("Split FDR", False),
    "fdr": ("FDR", False),
}


def markers(draft: Draft) -> str | None:
    """Return the HTML of "Markers": what the tests are worth, and the first of each cluster."""
    found = draft.markers
    if found is None:
        return None
    explained = f"<details><summary>The columns</summary><p>{_columns(found)}</p></details>"
    words = escape(" ".join([found.verdict, *found.notes]))
    if found.grade is Grade.SURE:
        words = f"Use the column Split FDR. It cannot be below {found.one_group:.2g}. {words}"
    return f"<p>{words}</p>{_overview(draft.found, found)}{explained}{_table(draft.found, found)}"


def _overview(model: Findings, found: Markers) -> str:
    """Return an HTML table of how many markers each cluster has, and which are the first."""
    rows = []
    for k in np.unique(found.columns["cluster"]).tolist():
        cells = [_counted(names) for names in called(found, k).values()]
        rows.append([f"{swatch(k)}{short_name(model, k)}", *cells])
    split = "fdr_split" in found.columns
    caption = (
        f"Markers of the {'split-half' if split else 'Mann-Whitney'} test, the largest effects "
        f"first. The false discovery rate is at most {LEVEL:g}."
    )
    heads = ["Cluster", "Higher than elsewhere", "Lower than elsewhere"]
    return simple(caption, heads, rows, kind="whole words")


def _counted(names: list[str]) -> str:
    """Return as HTML how many markers there are, and the names of the first."""
    if not names:
        return '<span class="quiet">none beyond chance</span>'
    shown = ", ".join(f'<bdi class="name">{escape(name)}</bdi>' for name in names[:NAMED])
    return f"{len(names):,}: {shown}" + " and more" * (len(names) > NAMED)


def _table(model: Findings, found: Markers) -> str:
    clusters = np.unique(found.columns["cluster"]).tolist()
    each = min(MOST_EACH, max(MOST // len(clusters), LEAST_EACH))
    shown = {name: head for name, head in COLUMNS.items() if _is_known(found, name)}
    places = {name: decimals_of(found.columns[name]) for name in shown if "fdr" not in name}
    rows = []
    for k in clusters:
        own = found.of(k)
        for i in range(min(each, len(own["rank"]))):
            cells = [
                percent_cell(own[name][i])
                if percent
                else number_cell(own[name][i], places.get(name))
                for name, (_, percent) in shown.items()
            ]
            rows.append((own["variable"][i], str(k), [cluster_cell(model, k), *cells]))
    heads = ["Variable", "Cluster", *(head for head, _ in shown.values())]
    caption = f"At most {each} variables of each cluster are listed, the largest effects first."
    return lookup("variable", caption, heads, rows, by_cluster(model, clusters))


def _is_known(found: Markers, name: str) -> bool:
    return name in found.columns and not bool(np.isnan(found.columns[name]).all())


def _columns(found: Markers) -> str:
    """Return what the columns are, in words."""
    words = (
        "Difference is the mean of the cluster minus the mean of all other samples. Effect is this "
        "difference in standard deviations within the cluster and within the others. AUC says how "
        "often a member of the cluster has a higher value than another sample. FDR is the false "
        "discovery rate of the Mann-Whitney test."
    )
    if _is_known(found, "share_in"):
        words += (
            " Inside and outside are the shares of samples in and outside the cluster that express "
            "the variable (above zero or the floor)."
        )
    if _is_known(found, "fdr_split"):
        words += (
            " Split FDR is the false discovery rate of the split-half test, which clusters the "
            "samples by one half of the variables and tests the other half."
        )
    return words
