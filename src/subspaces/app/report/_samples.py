"""HTML of the report's sections "The samples" and "Known classes"."""

import numpy as np

from subspaces.app.report import _figures, _tables
from subspaces.app.report._draft import NAMED, Draft, named, note_on_thinning
from subspaces.app.report._findings import Findings
from subspaces.app.report._names import count, number
from subspaces.metrics import adjusted_rand_score, matched_accuracy

UNCLEAR = "This shows which samples are unclear, not how good the clusters are."


def samples(draft: Draft) -> str:
    """Return the HTML of "The samples": outliers, those between clusters, a table of all."""
    table = _tables.samples(draft.found)
    parts = (_outliers(draft), _sure(draft), _between(draft), _influential(draft))
    return f"{''.join(parts)}<h3>Look up a sample</h3>{table}"


def _outliers(draft: Draft) -> str:
    """Return the HTML of the samples in no cluster; "" if these were not looked for."""
    found = draft.found
    if found.p_values is None:
        return ""
    limit = draft.found.model.outlier_threshold_
    words = "No sample is an outlier."
    if len(found.outliers):
        few = [
            f"{named(found.sample_names, [i])} (p = {number(found.p_values[i])})"
            for i in found.outliers[:NAMED]
        ]
        more = len(found.outliers) - len(few)
        words = f"{count(len(found.outliers), 'sample')} in no cluster: {', '.join(few)}"
        words += f" and {more:,} more." if more else "."
    return (
        f"<h3>Outliers</h3><p>{words} Their p-value is up to {number(limit)}. Clusters were fitted "
        "without them. The table below lists the p-values of all samples.</p>"
    )


def _sure(draft: Draft) -> str:
    found, p = draft.found, draft.found.probabilities
    if p is None or p.shape[1] == 1:
        return ""
    own = np.where(found.labels >= 0, p[np.arange(len(p)), found.labels], np.inf)
    order = np.argsort(own, kind="stable")
    names = ", ".join(
        f"{named(found.sample_names, [i])} ({100 * own[i]:.0f} %)" for i in order[:NAMED]
    )
    thin = note_on_thinning(found)
    caption = f"Probability of each sample's cluster, computed without the sample.{thin}"
    label = "Probability of the label of each sample, cluster by cluster"
    figure = draft.figure("probabilities", _figures.probabilities(found), label, caption)
    return (
        f"<h3>How sure is a label</h3><p>The labels of {names} are the least sure. "
        f"{UNCLEAR}</p>{figure}"
    )


def _between(draft: Draft) -> str:
    found, rivalry = draft.found, draft.found.rivalry
    if rivalry is None:
        if len(found.clusters) == 1:
            return "<p>There is only one cluster, so no sample lies between clusters.</p>"
        return (
            "<p>The model does not store the scores of this many samples. Pass X to report to "
            "see them.</p>"
        )
    near = rivalry.between
    share = "No sample lies between clusters."
    if len(near):
        share = (
            f"{len(near):,} of {count(len(found.labels), 'sample')} "
            f"({100 * len(near) / len(found.labels):.0f} %) "
            f"{'lies' if len(near) == 1 else 'lie'} between clusters: "
            f"{named(found.sample_names, near)}."
        )
    share = "" if found.probabilities is not None else f"<p>{share} {UNCLEAR}</p>"
    label = "Score of each sample under its own cluster against the best other cluster"
    unit = _unit(found)
    meaning = f"is the squared {unit} of a sample from a cluster (the plot shows its square root)"
    if found.likelihoods:
        unit, meaning = "score", "is minus the log density of a sample under a cluster"
    caption = (
        f"A score {meaning}. Lower is nearer. A sample on the dotted line is as near to "
        f"another cluster as to its own.{note_on_thinning(found)}"
    )
    figure = draft.figure("between", _figures.between_clusters(found, unit), label, caption)
    return f"<h3>Between clusters</h3>{share}{figure}"


def _unit(found: Findings) -> str:
    """Return the noun for the square root of a score, where scores are squares."""
    if "influence" in getattr(found.model, "criterion_", ""):
        return "predictive influence"
    return "distance" if found.influence is None else "error"


def _influential(draft: Draft) -> str:
    found = draft.found
    if found.influence is None:
        none = f"{type(found.model).__name__} does not measure the influence of samples. PSC does."
        return f"<h3>Influence</h3><p>{none}</p>"
    order = np.argsort(-found.influence, kind="stable")[:NAMED]
    alone = int(np.count_nonzero(np.isinf(found.influence)))
    what = "mean" if found.points else "subspace"
    caption = (
        f"The plot shows how strongly each sample pulls the {what} of its cluster towards itself."
    )
    if alone:
        caption += (
            f" {count(alone, 'sample')} {'is' if alone == 1 else 'are'} alone along an axis, so "
            f"{'its' if alone == 1 else 'their'} influence is infinite and not drawn."
        )
    label = "Influence of each sample on its cluster"
    figure = draft.figure("influence", _figures.influence(found), label, caption)
    return (
        f"<h3>Influence</h3><p>The {what}s depend most on {named(found.sample_names, order)}. "
        f"Check these samples first.</p>{figure}"
    )


def agreement(draft: Draft) -> str | None:
    """Return the HTML of "Known classes": their agreement with the clusters; None if not given."""
    found = draft.found
    if found.classes is None:
        return None
    index = adjusted_rand_score(*found.known)
    right = 100 * matched_accuracy(*found.known)
    return (
        f"<p>The adjusted Rand index is {index:.2f} (1 is perfect, 0 is chance). {right:.0f} % of "
        "the samples are in the right cluster, if each class gets the cluster that matches it "
        f"best.</p>{_tables.contingency(found)}"
    )
