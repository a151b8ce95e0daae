"""HTML of the report's sections "The clusters" and "The variables"."""

import numpy as np

from subspaces._types import Indices
from subspaces.app.report import _figures, _tables
from subspaces.app.report._canvas import colour
from subspaces.app.report._draft import Draft, named, note_on_thinning
from subspaces.app.report._findings import Cluster
from subspaces.app.report._names import count, escape
from subspaces.app.report._names import dimension as in_dimensions
from subspaces.app.report._summary import classes_in_words, heading
from subspaces.core.contrast import Contrast
from subspaces.diagnostics._beyond_chance import beyond_chance
from subspaces.facts import facts_of


def clusters(draft: Draft) -> str:
    """Return the HTML of "The clusters": their sizes, variables, and samples in their subspaces."""
    found = draft.found
    cards = "".join(_card(draft, cluster) for cluster in found.clusters)
    shown = f'<div class="cards">{cards}</div>'
    if found.common is not None:
        method = type(found.model).__name__
        chart = _figures.strongest_variables(found, found.common, colour(0))
        weights = draft.figure("weights", chart, "Weights of the strongest variables")
        return (
            f"<p>{method} separates clusters by their centres, so there are no axes to "
            f"draw. All clusters share the weights below.</p>{weights}{shown}"
        )
    if found.points:
        words = (
            "Each cluster is a mean profile. The list shows what sets it apart from the other "
            "samples."
        )
    else:
        several = any((cluster.dimension or 0) > 1 for cluster in found.clusters)
        shares = " (in brackets: the share of each axis)" * several
        words = (
            "The two lists of a cluster show what sets it apart from the other samples, and "
            "what varies along its own axes. The plot shows its samples along those "
            f"axes{shares}. Point at a mark to see the sample.{note_on_thinning(found)}"
        )
    return f"<p>{words}</p>{shown}"


def _card(draft: Draft, cluster: Cluster) -> str:
    k, dimension = cluster.number, cluster.dimension or 0
    toggle = (
        f'<button type="button" data-space="space-{k}" aria-controls="own-{k}" '
        'aria-pressed="false" hidden>In 3-D</button>'
        if dimension >= 3 and len(cluster.members) and cluster.coordinates is not None
        else ""
    )
    size = count(len(cluster.members), "sample")
    if cluster.dimension is not None:
        size += f", {in_dimensions(dimension)}"
    known = classes_in_words(draft.found, k)
    size += f": {known}" if known else ""
    wide = " wide-card" if dimension else ""
    return (
        f'<article class="card{wide}" aria-labelledby="cluster-{k}"><header><h3 id="cluster-{k}">'
        f"{_tables.swatch(k)}{escape(heading(draft.found, k))}</h3>"
        f'<span class="quiet small">{size}</span>{toggle}</header>{_body(draft, cluster)}</article>'
    )


def _body(draft: Draft, cluster: Cluster) -> str:
    """Return the HTML inside a cluster's card: two lists of variables, and a figure of members.

    For a mean profile it is the one list of variables that set the cluster apart.
    """
    if not len(cluster.members):
        return "<p>This cluster is empty.</p>"
    if draft.found.alone(cluster):
        return (
            f"<p>The only sample is {named(draft.found.sample_names, cluster.members)}. You cannot "
            "describe a group by one sample, so there is nothing to show.</p>"
        )
    if not cluster.dimension:
        alone = draft.found.points or cluster.dimension is None
        words = (
            "" if alone else ("<p>This cluster is a mean profile, so there is no axis to draw.</p>")
        )
        return f"{_sets_apart(draft, cluster)}{words}"
    drawn = f"<div><h4>Its samples on its axes</h4>{_own_subspace(draft, cluster)}</div>"
    lists = f"{_sets_apart(draft, cluster)}{_varies_within(draft, cluster)}"
    return f'<div class="parts">{lists}{drawn}</div>'


def _own_subspace(draft: Draft, cluster: Cluster) -> str:
    k, found = cluster.number, draft.found
    if cluster.coordinates is None:
        return "<p>The model does not store this many samples. Pass X to report to draw them.</p>"
    if (cluster.dimension or 0) >= 3:
        draft.figures[f"space-{k}"] = _figures.own_subspace(found, cluster, three=True)
    label = f"Members of {draft.found.called(k)} along the axes of its subspace"
    return draft.figure(f"own-{k}", _figures.own_subspace(found, cluster), label)


def _sets_apart(draft: Draft, cluster: Cluster) -> str:
    k, apart = cluster.number, cluster.apart
    heading = f"What sets {escape(draft.found.called(k))} apart"
    if apart is None:
        return _headed(heading, f"<p>{_why_unknown(draft)}</p>")
    if draft.found.others_are_one(cluster):
        return _headed(
            heading, "<p>There is only one other sample, so there is nothing to compare with.</p>"
        )
    if not len(apart.order):
        return _headed(heading, "<p>No variable differs from the other samples.</p>")
    beyond = _beyond_chance(draft, cluster)
    chart = _figures.differences(draft.found, apart, beyond, colour(k))
    words = f"{_of_all(len(apart.order))} {_chance(draft, apart, beyond)}".strip()
    return _headed(heading, draft.figure(f"apart-{k}", chart, heading, words))


def _beyond_chance(draft: Draft, cluster: Cluster) -> Indices:
    """Return the variables (m,) that set a cluster apart beyond chance; none where not known."""
    if cluster.apart is None:
        return np.zeros(0, dtype=int)
    names = facts_of(draft.found.model).names
    return beyond_chance(cluster.apart, names, cluster.number, draft.markers)


def _chance(draft: Draft, apart: Contrast, beyond: Indices) -> str:
    """Return sentences on how many differ beyond chance; "" if effects are not known."""
    if np.isnan(apart.effect).any():
        return ""
    total = f"{len(apart.effect):,}"
    many = f"{len(beyond):,} of {total} variables differ" if len(beyond) else "No variable differs"
    more = ", and more if values are missing" if np.ptp(apart.limits) > 0 else ""
    split = draft.markers is not None and "fdr_split" in draft.markers.columns
    tested = " Larger differences must also pass the split-half test (see Markers)." * split
    explained = " The pale bars can be due to chance."
    if split and len(apart.beyond_chance) and not len(beyond):
        tested = " No larger difference passes the split-half test (see Markers)."
        explained = " Splitting a single group in two can also make the pale bars."
    pale = len(beyond) < min(len(apart.order), _figures.STRONGEST)
    return (
        f"{many} beyond chance. Chance can cause differences of up to {apart.by_chance:.2g} SD "
        f"(dotted lines){more}.{tested}{explained * pale}"
    )


def _varies_within(draft: Draft, cluster: Cluster) -> str:
    k, loadings = cluster.number, cluster.loadings
    heading = f"What varies within {escape(draft.found.called(k))}"
    if loadings is None or not len(loadings.places):
        return _headed(heading, "<p>No variable has a loading.</p>")
    chart = _figures.strongest_variables(draft.found, loadings, colour(k))
    words = _of_all(len(loadings.places))
    return _headed(heading, draft.figure(f"loadings-{k}", chart, heading, words))


def _headed(heading: str, body: str) -> str:
    return f"<div><h4>{heading}</h4>{body}</div>"


def _of_all(total: int) -> str:
    most = _figures.STRONGEST
    return f"The first {most} of {total:,} variables." if total > most else ""


def _why_unknown(draft: Draft) -> str:
    """Return the sentence on why the variables that set a cluster apart are not known."""
    if len(draft.found.clusters) == 1:
        return "There are no other samples to compare with."
    return "The model does not store the means of its clusters. Fit it again to see this list."


def variables(draft: Draft) -> str | None:
    """Return the HTML of "The variables": tables, to search and copy, of both lists.

    None if markers say it all.
    """
    found = draft.found
    beyond = {cluster.number: _beyond_chance(draft, cluster) for cluster in found.clusters}
    # The table of markers has the same differences, and tests of them.
    apart = _tables.differences(found, beyond) if draft.markers is None else ""
    within = _tables.variables(found)
    if apart:
        apart = f'<div id="apart"><h3>What sets each cluster apart</h3>{apart}</div>'
    if within:
        shared = found.common is not None
        heading = "What all clusters share" if shared else "What varies within each cluster"
        within = f'<div id="within"><h3>{heading}</h3>{within}</div>'
    if not (apart or within) and any(map(found.alone, found.clusters)):
        return "<p>You cannot describe a group by one sample, so there is no list.</p>"
    if draft.markers is not None and not within:
        return None
    return apart + within or "<p>No variable has a loading.</p>"
