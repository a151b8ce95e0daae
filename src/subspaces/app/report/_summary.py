"""HTML of the first section of the page of a model: what was found, and how sure it is.

Findings and doubts stand in one list and one size, each with its grade and a link to where it is
shown.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from subspaces.app.overlap import overlap, overlap_in_words
from subspaces.app.report._draft import Draft, named
from subspaces.app.report._findings import Cluster, Findings
from subspaces.app.report._missing import missing_section
from subspaces.app.report._names import also_try, count, escape
from subspaces.app.report._overview import overview
from subspaces.app.report._tables import swatch
from subspaces.diagnostics import means_or_directions
from subspaces.diagnostics._trust import SAME
from subspaces.messages import Grade, Message, Verdict, in_a_row, percent, silenced
from subspaces.metrics import adjusted_rand_score
from subspaces.psc.choice import verdict_of

UNMEASURED = (
    "We have not measured whether other samples would give the same clusters. Run "
    "<code>subspaces.diagnostics.stability(model, X)</code> and pass the result: "
    "<code>model.report(X, stability=...)</code>."
)
# What the stability of the clusters is called, and what other checks are.
STABILITY = {
    Grade.SURE: "Stable",
    Grade.DOUBTFUL: "Partly stable",
    Grade.NO: "Not stable",
    Grade.UNKNOWN: "Stability",
}
ONE_GROUP = {"one_cloud", "one_subspace"}
# Verdicts on halves for which another number of clusters is the next step.
WEAK = {"in_part", "noise_like"}
# Doubts that change nothing about the clusters.
MINOR = {"no_class"}
CHECKS = {
    Grade.SURE: "Supported",
    Grade.DOUBTFUL: "Doubtful",
    Grade.NO: "Not supported",
    Grade.UNKNOWN: "Good to know",
}
# The gravest doubt comes first, and what is neither good nor bad last.
ORDER = [Grade.NO, Grade.DOUBTFUL, Grade.SURE, Grade.UNKNOWN]
# Clusters, and variables of each, that the first screen names. Up to BESIDE clusters the findings
# stand below the clusters, and their sizes in the headline; else they stand below the picture.
CLUSTERS, VARIABLES, BESIDE = 12, 3, 4
# What is said of halves that agree in part, or less.
HALVES = {
    "solid": "Halves of the samples give nearly the same clusters",
    "in_part": "Halves of the samples agree on some of the clusters",
    "noise_like": "Halves of the samples give different clusters",
    "k_means_agrees_better": "Halves of the samples agree to {k_means:.2f} on the clusters of "
    "K-means, but less on these",
}
# The main classes of a cluster make this share of its samples, and are at most three. Up to two
# others are named, too.
MOSTLY, MAIN_CLASSES, NAMED_CLASSES = 0.8, 3, 2
# Probabilities are doubtful if they find less than this share of at least so many mismatches.
MISSED, MANY = 1 / 3, 10


@dataclass(frozen=True)
class Point:
    """One finding or doubt: what it is about, HTML, the section that shows it, how sure it is."""

    topic: str
    words: str
    where: str = ""
    grade: Grade = Grade.UNKNOWN


def summary(draft: Draft) -> str:
    """Return the HTML of the first section: findings and doubts in words, beside all samples."""
    clusters = "".join(_cluster_in_words(draft, c) for c in draft.found.clusters[:CLUSTERS])
    unlisted = len(draft.found.clusters) - CLUSTERS
    if unlisted > 0:
        clusters += f'<li><span></span><a href="#clusters">{unlisted} more</a></li>'
    listed = f'<ul class="points clusters">{clusters}</ul>'
    measured = draft.stability
    doubt = f" {measured.grade}" if measured is not None else ""
    verdict = f'<p class="verdict{doubt}"><a href="#clusters">{_sizes(draft)}</a></p>'
    said, drawn = list_of_points(_points(draft)), overview(draft)
    if not drawn:
        return verdict + listed + said
    kind = "first" if len(draft.found.clusters) <= BESIDE else "first many"
    parts = "".join(f"<div>{part}</div>" for part in (listed, drawn, said))
    return f'{verdict}<div class="{kind}">{parts}</div>'


def list_of_points(points: Iterable[Point]) -> str:
    """Return findings and doubts as an HTML list, the gravest doubt first."""
    ordered = sorted(points, key=lambda point: ORDER.index(point.grade))
    return f'<ul class="points">{"".join(map(_item, ordered))}</ul>'


def _item(point: Point) -> str:
    link = f' <a class="where" href="#{point.where}">show</a>' if point.where else ""
    topic = f'<b class="grade {point.grade}">{point.topic}</b>'
    return f"<li>{topic}<span>{point.words}{link}</span></li>"


def _sizes(draft: Draft) -> str:
    """Return the number and sizes of the clusters, and the gravest doubt about them."""
    found, measured = draft.found, draft.stability
    sizes = [len(cluster.members) for cluster in found.clusters]
    outside = len(found.outliers)
    words = f"{count(len(sizes), 'cluster')} of {in_a_row([f'{size:,}' for size in sizes])} samples"
    if len(sizes) > BESIDE:
        words = f"{sum(sizes):,} samples in {count(len(sizes), 'cluster')}"
    if measured is not None and measured.conclusion.code in ONE_GROUP:
        words += ", but they may be parts of one group"
    elif measured is not None and measured.grade is Grade.NO:
        words += ", but do not rely on them: halves of the samples give other clusters"
    words += "."
    if not outside and found.p_values is None:
        return words
    if not outside:
        return f"{words} No sample is an outlier."
    return f"{words} {count(outside, 'outlier')} {'is' if outside == 1 else 'are'} in no cluster."


def _points(draft: Draft) -> Iterator[Point]:
    """Yield what was found out about all clusters, doubts among it."""
    found, model = draft.found, draft.found.model
    yield from _stability(draft)
    if found.classes is not None:
        yield Point("Known classes", agreement_in_words(found), "agreement")
    if found.probabilities is not None and len(found.clusters) > 1:
        unsure = np.flatnonzero(found.unsure)
        order = unsure[np.argsort(-found.doubt[unsure], kind="stable")]
        yield Point("Uncertain samples", *_uncertain(found, order))
    if len(found.outliers):
        verb = "is" if len(found.outliers) == 1 else "are"
        words = f"{count(len(found.outliers), 'sample')} {verb} in no cluster: "
        words += f"{named(found.sample_names, found.outliers)}."
        yield Point("Outliers", words, "samples")
    yield from _number(draft)
    if draft.markers is not None and draft.markers.grade is not Grade.SURE:
        words, grade = escape(draft.markers.verdict), draft.markers.grade
        yield Point("Doubtful markers", words, "markers", grade)
    if found.missing is not None:
        words = f"{percent(found.missing.share)} of the values are missing."
        yield Point("Missing values", words, "missing")
    silent = silenced([_choice_of(model)])
    yield from points_of_warnings(each for each in model.record_.warned if each.code not in silent)


def _number(draft: Draft) -> Iterator[Point]:
    """Yield a point on the chosen number of clusters, if others were tried."""
    chosen = getattr(draft.found.model, "selection_", None) or {}
    fact = chosen.get("fact", chosen.get("verdict"))
    if draft.selection is not None or not fact or len(set(chosen.get("n_clusters", ()))) == 1:
        return
    grade = Grade(chosen.get("grade", Grade.UNKNOWN))
    if grade is Grade.DOUBTFUL and not _is_weak(draft):
        fact = f"{fact} {_also_try(draft)}".strip()
    yield Point("Number of clusters", escape(fact), "choice", grade)


def _choice_of(model: Any) -> str:
    """Return the code of the verdict on the number of clusters; "" without one."""
    chosen = getattr(model, "selection_", None) or {}
    return verdict_of(chosen).code if "against_one" in chosen else ""


def _also_try(draft: Draft) -> str:
    chosen = getattr(draft.found.model, "selection_", None) or {}
    return also_try(chosen, len(draft.found.clusters), command=bool(draft.origin))


def _is_weak(draft: Draft) -> bool:
    """Whether halves differ, so that another number of clusters is the next step."""
    return draft.stability is not None and draft.stability.conclusion.code in WEAK


def points_of_warnings(warned: Iterable[Message]) -> Iterator[Point]:
    """Yield a point on each warning or note."""
    for each in warned:
        note = each.kind == "note" or each.code in MINOR
        grade = Grade.UNKNOWN if note else Grade.DOUBTFUL
        yield Point("Good to know" if note else "Check this", escape(each), "", grade)


def _stability(draft: Draft) -> Iterator[Point]:
    """Yield how far halves and K-means agree: the caller's measures, or those of the model."""
    model, measured = draft.found.model, draft.stability
    kept: Sequence[str | Verdict] = model.record_.verdicts
    told = ""
    if measured is not None:
        told = measured.verdict
        halves = count(len(measured.per_resample), "split")
        numbers = f"(agreement {measured.stability:.2f} over {halves}, 1 is perfect)."
        words, said = told, measured.conclusion
        if said.code in HALVES:
            said = replace(said, fact=f"{HALVES[said.code]} {numbers}")
            others = _also_try(draft) if _is_weak(draft) else ""
            words = f"{replace(said, advice=())} {others}" if others else str(said)
        topic = "Perhaps one group" if said.code in ONE_GROUP else STABILITY[measured.grade]
        if said.code not in silenced(each.code for each in model.record_.warned):
            yield Point(topic, escape(words), "", measured.grade)
    elif not kept:
        yield Point("Stability not known", UNMEASURED, "", Grade.DOUBTFUL)
    for each in kept:
        if str(each) != told:
            grade = Grade(each.grade) if isinstance(each, Verdict) else Grade.UNKNOWN
            yield Point(CHECKS[grade], escape(each), "", grade)
    if not kept and draft.data is not None:
        compared = means_or_directions(model, draft.data)
        if not compared.agreement >= SAME:
            yield Point("K-means", escape(compared.verdict))


def _uncertain(found: Findings, unsure: np.ndarray) -> tuple[str, str, Grade]:
    """Return how many labels are uncertain, the section that shows it, and the grade.

    The probabilities are doubtful if they miss most of the samples that do not match their class.
    """
    words, where = "No sample is uncertain: each label has a probability of 0.9 or more.", "samples"
    if len(unsure):
        verb = "is" if len(unsure) == 1 else "are"
        names = named(found.sample_names, unsure)
        words = f"{count(len(unsure), 'sample')} {verb} uncertain (probability below 0.9): {names}."
    if found.mismatched is None or not (all_wrong := int(found.mismatched.sum())):
        return words, where, Grade.UNKNOWN
    both = int(found.mismatched[unsure].sum())
    if all_wrong >= MANY and both < MISSED * all_wrong:
        words += (
            f" The probabilities miss most mismatches: {all_wrong - both:,} of the {all_wrong:,} "
            "samples that do not match their class seem certain."
        )
        return words, where, Grade.DOUBTFUL
    if all_wrong == 1 and len(unsure):
        words += f" The sample that does not match its class is {'' if both else 'not '}uncertain."
    elif len(unsure):
        verb = "is" if both == 1 else "are"
        some = {0: f"None of the {all_wrong:,}", all_wrong: f"All {all_wrong:,}"}
        which = some.get(both, f"{both:,} of the {all_wrong:,}")
        words += f" {which} samples that do not match their class {verb} uncertain."
    return words, where, Grade.UNKNOWN


def agreement_in_words(found: Findings) -> str:
    """Return how well the clusters match the known classes, in words, as HTML."""
    own, labels = found.known
    index, wrong = f"adjusted Rand index {adjusted_rand_score(own, labels):.2f}", found.mismatched
    if wrong is None:
        return escape(f"{overlap_in_words(overlap(own, labels), found.called)} ({index}).")
    right = len(own) - int(wrong.sum())
    return (
        f"{right:,} of {len(own):,} samples are in the cluster that matches their class ({index})."
    )


def _cluster_in_words(draft: Draft, cluster: Cluster) -> str:
    """Return a list entry on one cluster: its size, classes and variables."""
    found, k = draft.found, cluster.number
    parts = [f"{count(len(cluster.members), 'sample')}"]
    parts += [of] if (of := classes_in_words(found, k)) else []
    words = f'<a class="name" href="#cluster-{k}">{escape(heading(found, k))}</a>: '
    words += f"{', '.join(parts)}."
    ways = _ways(draft, cluster)
    if ways:
        words += f" {'. '.join(ways)}."
    return f"<li>{swatch(k)}<span>{words}</span></li>"


def heading(found: Findings, k: int) -> str:
    """Return the name of a cluster with a capital at its beginning."""
    return found.names[k][:1].upper() + found.names[k][1:]


def classes_in_words(found: Findings, k: int) -> str:
    """Return how many samples of which classes a cluster holds, as HTML; "" if none is known."""
    own, labels = found.known
    members = [name for name, label in zip(own, labels, strict=True) if label == k]
    if not members:
        return ""
    names, counts = np.unique(members, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    reached = np.cumsum(counts[order]) / len(members)
    main = min(1 + int(np.count_nonzero(reached < MOSTLY)), MAIN_CLASSES)
    parts = [_part(str(names[i]), int(counts[i]), own.count(names[i])) for i in order[:main]]
    rest = order[main:]
    more = [f"{counts[i]:,} {_class(str(names[i]), 'of ')}" for i in rest]
    if len(rest) > NAMED_CLASSES:
        more = [count(int(counts[rest].sum()), "other")]
    unknown = int(np.count_nonzero(found.labels == k)) - len(members)
    more += [f"{unknown:,} without a class"] if unknown else []
    return in_a_row([*parts, *more] if more or len(names) > 1 else [*parts, "no others"])


def _part(name: str, size: int, total: int) -> str:
    """Return as HTML how many samples of a class a cluster holds, of how many."""
    held = f"all {total:,}" if size == total else f"{size:,} of the {total:,}"
    return f"{held} {_class(name, 'of ')}"


def _class(name: str, link: str = "") -> str:
    """Return the name of a class as HTML; a number is called a class, after the word ``link``."""
    word = f"{link}class " if name.replace(".", "").isdigit() else ""
    return f'{word}<bdi class="name">{escape(name)}</bdi>'


def _ways(draft: Draft, cluster: Cluster) -> list[str]:
    """Return the first variables that are high and low in a cluster, as HTML."""
    found, apart = draft.found, cluster.apart
    if apart is None or found.alone(cluster) or found.others_are_one(cluster):
        return []
    sure = list(zip(apart.names, apart.difference, strict=True))[: apart.n_sure]
    ways: list[str] = []
    for word, sign in (("High in", 1), ("Low in", -1)):
        names = [name for name, way in sure if sign * way > 0]
        if names:
            shown = ", ".join(
                f'<bdi class="name">{escape(each)}</bdi>' for each in names[:VARIABLES]
            )
            ways.append(f"{word} {shown}")
    if not ways and cluster.dimension and cluster.loadings is not None:
        names = [found.variable_names[j] for j in cluster.loadings.places[:VARIABLES]]
        shown = ", ".join(f'<bdi class="name">{escape(each)}</bdi>' for each in names)
        return [f"No clear difference from the other samples. The samples vary most in {shown}"]
    return ways or ["No clear difference from the other samples"]


def missing(draft: Draft) -> str | None:
    """Return the HTML of "What is missing"; None if nothing is, or X was not given."""
    found = draft.found
    done = "Missing values were skipped, not filled in, so leave-one-out errors are approximate."
    return missing_section(found.missing, found.sample_names, found.variable_names, done)
