"""HTML of the report's sections "The clusters" and "The variables"."""

import numpy as np

from subspaces.app.report import _figures, _tables
from subspaces.app.report._canvas import colour
from subspaces.app.report._draft import POINT, Draft, named, note_on_thinning
from subspaces.app.report._findings import Cluster
from subspaces.app.report._names import count, escape
from subspaces.app.report._summary import classes_in_words, heading
from subspaces.diagnostics._beyond_chance import Apart
from subspaces.diagnostics._markers import LEVEL


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
            "Each cluster is described by its mean. The list shows what sets it apart from the "
            "other samples. Bars to the right are higher in the cluster."
        )
    else:
        several = any((cluster.dimension or 0) > 1 for cluster in found.clusters)
        shares = " (in brackets: the share of the variance of each axis)" * several
        words = (
            "The two lists of a cluster show what sets it apart from the other samples (bars to "
            "the right are higher in the cluster), and what varies along its own axes. The plot "
            f"shows its samples along those axes{shares}. {POINT}{note_on_thinning(found)}"
        )
    return f"<p>{words}</p>{shown}"


def _card(draft: Draft, cluster: Cluster) -> str:
    k, dimension = cluster.number, cluster.dimension or 0
    size = count(len(cluster.members), "sample")
    size += f", {count(dimension, 'dimension')}" if dimension else ""
    known = classes_in_words(draft.found, k)
    size += f": {known}" if known else ""
    wide = " wide-card" if dimension else ""
    return (
        f'<article class="card{wide}" aria-labelledby="cluster-{k}"><header><h3 id="cluster-{k}">'
        f"{_tables.swatch(k)}{escape(heading(draft.found, k))}</h3>"
        f'<span class="quiet small">{size}</span></header>{_body(draft, cluster)}</article>'
    )


def _body(draft: Draft, cluster: Cluster) -> str:
    """Return the HTML inside a cluster's card: two lists of variables, and a figure of members.

    For a mean profile it is the one list of variables that set the cluster apart.
    """
    if not len(cluster.members):
        return "<p>This cluster is empty.</p>"
    if draft.found.alone(cluster):
        return (
            f"<p>The only sample is {named(draft.found.sample_names, cluster.members)}. One "
            "sample does not describe a group, so there is nothing to show.</p>"
        )
    if not cluster.dimension:
        alone = draft.found.points or cluster.dimension is None
        words = (
            "" if alone else ("<p>This cluster has only a mean, so there is no axis to draw.</p>")
        )
        return f"{_sets_apart(draft, cluster)}{words}"
    drawn = f"<div><h4>Its samples on its axes</h4>{_own_subspace(draft, cluster)}</div>"
    lists = f"{_sets_apart(draft, cluster)}{_varies_within(draft, cluster)}"
    return f'<div class="parts">{lists}{drawn}</div>'


def _own_subspace(draft: Draft, cluster: Cluster) -> str:
    k, found = cluster.number, draft.found
    if cluster.coordinates is None:
        words = f"The model does not store this many samples. {draft.with_samples} to draw them."
        return f"<p>{words}</p>"
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
    if not apart.names:
        return _headed(heading, "<p>This cluster is like the other samples in every variable.</p>")
    chart = _figures.differences(apart, _ends(draft), colour(k))
    words = f"{_of_all(len(apart.names))} {_chance(apart)}".strip()
    return _headed(heading, draft.figure(f"apart-{k}", chart, heading, words))


def _ends(draft: Draft) -> tuple[float, float]:
    """Return where the bars of all clusters begin and end, so that charts compare.

    An effect is infinite if a variable does not vary within the clusters. Its bar is the longest.
    """
    known = [each.apart for each in draft.found.clusters if each.apart is not None]
    limits = [limit for apart in known if (limit := apart.limit) is not None]
    sizes = np.concatenate([*map(_figures.bar_lengths, known), limits, np.negative(limits)])
    edge = 1.15 * float(np.abs(sizes[np.isfinite(sizes)]).max(initial=0.0)) or 1.0
    low, high = sizes.min(initial=0.0), sizes.max(initial=0.0)
    return max(1.15 * low, -edge), min(1.15 * high, edge)


def _chance(apart: Apart) -> str:
    """Return sentences on how many differ beyond chance; "" if effects are not known."""
    if not apart.sizes_known:
        return ""
    many = f"{apart.n_sure:,} of {apart.n_tested:,} variables differ{'s' * (apart.n_sure == 1)}"
    words = f"{many if apart.n_sure else 'No variable differs'} by more than chance."
    if apart.limit is None:
        words += f" The false discovery rate is at most {LEVEL:g} (see Markers)."
    else:
        more = ", and more if values are missing" if apart.limits_differ else ""
        words += f" Chance can cause effects of up to {apart.limit:.2g} SD (dotted lines){more}."
    hollow = apart.n_sure < min(len(apart.names), _figures.STRONGEST)
    return words + " The hollow bars can be due to chance." * hollow


def _varies_within(draft: Draft, cluster: Cluster) -> str:
    k, loadings = cluster.number, cluster.loadings
    heading = f"What varies within {escape(draft.found.called(k))}"
    if loadings is None or not len(loadings.places):
        return _headed(heading, "<p>No variable has a loading.</p>")
    every = [each.loadings.values for each in draft.found.clusters if each.loadings is not None]
    limit = max(float(np.abs(values).max(initial=0.0)) for values in every)
    chart = _figures.strongest_variables(draft.found, loadings, colour(k), limit)
    words = _of_all(len(loadings.places))
    return _headed(heading, draft.figure(f"loadings-{k}", chart, heading, words))


def _headed(heading: str, body: str) -> str:
    return f"<div><h4>{heading}</h4>{body}</div>"


def _of_all(total: int) -> str:
    most = _figures.STRONGEST
    return f"Only the first {most} of {total:,} variables are shown." if total > most else ""


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
    # The table of markers has the same differences, and tests of them.
    apart = _tables.differences(found) if draft.markers is None else ""
    within = _tables.variables(found)
    if apart:
        apart = f'<div id="apart"><h3>What sets each cluster apart</h3>{apart}</div>'
    if within:
        shared = found.common is not None
        heading = "What all clusters share" if shared else "What varies within each cluster"
        within = f'<div id="within"><h3>{heading}</h3>{within}</div>'
    if not (apart or within) and any(map(found.alone, found.clusters)):
        return "<p>One sample does not describe a group, so there is no list.</p>"
    if draft.markers is not None and not within:
        return None
    return apart + within or "<p>No variable has a loading.</p>"
