"""Measures of trust in a fit: whether K-means, or fits to halves, find the same clusters."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import Pipeline

from subspaces.app.cli._said import with_option
from subspaces.app.cli._words import in_options
from subspaces.core.partition import smallest_size
from subspaces.diagnostics import Stability, is_real, means_or_directions, stability
from subspaces.diagnostics._trust import SAME
from subspaces.estimators import PSC
from subspaces.estimators._base import SubspaceClusterer
from subspaces.facts import facts_of
from subspaces.halving import n_halvings
from subspaces.messages import Advice, Grade, Message, Verdict, listed, message_of, worded
from subspaces.named_table import Table
from subspaces.psc.doubts import clusters_of_levels
from subspaces.runtime.warning import collect_warnings

# Seconds after which no further halving begins.
BUDGET = 30.0
# Clusters whose labels agree to this adjusted Rand index with the values of variables follow these,
# if the most common value within each cluster is that of this share of all samples.
FOLLOWS, PURE = 0.8, 0.95
# What is said of solid clusters of expression data: of 29 sets three were split by something else
# than their classes, again and again (docs/guide/prepare.md).
BATCHES = Message(
    "batches",
    "Batches or tissues can also form stable clusters.",
    advice=(Advice("compare the clusters with what you know about the samples"),),
    kind="note",
)
UNMEASURED = Verdict("unmeasured", "Stability was not measured.")
DIMENSION_1 = "The clusters are lines (--dims 1), because --dims was not given."
CHOOSE = Advice("set --dims auto to choose the dimension")


@dataclass(frozen=True)
class Trust:
    """Measures of how far to trust the clusters of a fit.

    ``found``: the entries "stability" and "means_or_directions" of summary.json, each with a
    verdict, "significance" if it was tested, and "assumed" if the dimension was; ``measured``:
    the Stability, or None if it was not measured; ``doubts``: warnings on the way.
    """

    found: dict[str, dict[str, Any]]
    measured: Stability | None
    doubts: tuple[Message, ...] = ()

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts in ``found``, on stability, on K-means and on the dimension.

        Whether K-means agrees is no grade of the clusters, so that it has none. If it finds the
        same clusters, there is nothing to say.
        """
        return tuple(
            worded(
                entry["verdict"],
                Grade.UNKNOWN if name == "means_or_directions" else Grade(entry["grade"]),
            )
            for name, entry in self.found.items()
            if not entry.get("agreement", 0.0) >= SAME
        )


def compare_with_k_means(model: SubspaceClusterer, table: Table) -> Trust:
    """Return a Trust that says whether K-means finds the same clusters, stability not measured."""
    found = means_or_directions(model, table.data)
    entry = _entry(found.conclusion, agreement=found.agreement)
    return Trust({"stability": _entry(UNMEASURED), "means_or_directions": entry}, None)


def _entry(said: Verdict, settled: Collection[str] = (), **figures: Any) -> dict[str, Any]:
    """Return an entry of summary.json: figures, and the verdict on them."""
    words = in_options(said, settled)
    return {**figures, "code": said.code, "grade": said.grade, "verdict": words}


def with_stability(
    trust: Trust, estimator: Any, table: Table, seed: int, settled: Collection[str]
) -> Trust:
    """Return ``trust`` with the stability of the clusters, or why it could not be measured.

    estimator: a fitted model and its prepared table, or a recipe and the table that it prepares.
    Halves learn the whole recipe, as they do when numbers of clusters are compared. settled:
    parameters that the user has set, on which there is no advice.
    """
    is_recipe = isinstance(estimator, Pipeline)
    limits: dict[str, Any] = {"budget_s": BUDGET}
    if is_recipe:
        limits = {"n_resamples": n_halvings(table.data)}
    try:
        with collect_warnings() as caught:
            measured = stability(estimator, table.data, random_state=seed, **limits)
    except ValueError as error:
        fact = "Stability was not measured, because fitting half of the samples failed: {why}."
        failed = Verdict("failed", fact, {"why": in_options(error).rstrip(".")})
        return replace(trust, found={**trust.found, "stability": _entry(failed)})
    halvings, k_means = len(measured.per_resample), measured.k_means
    figures = {"stability": measured.stability, "halvings": halvings, "k_means": k_means}
    found = {**trust.found, "stability": _entry(measured.conclusion, settled, **figures)}
    batches = [BATCHES] if is_recipe and measured.grade == Grade.SURE else []
    measured = replace(measured, conclusion=with_option(measured.conclusion, settled))
    return Trust(found, measured, (*trust.doubts, *map(message_of, caught), *batches))


def with_significance(
    trust: Trust, model: SubspaceClusterer, table: Table, seed: int, settled: Collection[str]
) -> Trust:
    """Return ``trust`` with whether the clusters are more than chance, or why that is not known."""
    try:
        found = is_real(model, table.data, random_state=seed)
        entry = _entry(found.conclusion, settled, p_value=found.p_value, gain=found.gain, z=found.z)
    except ValueError as error:
        fact = "Significance was not tested: {why}."
        entry = _entry(Verdict("failed", fact, {"why": in_options(error).rstrip(".")}))
    return replace(trust, found={**trust.found, "significance": entry})


def with_word_on_levels(trust: Trust, model: SubspaceClusterer) -> Trust:
    """Return ``trust`` with a doubt about clusters whose first axis is their mean level."""
    if not isinstance(model, PSC):
        return trust
    levels = clusters_of_levels(model.subspaces_, model.cluster_means_, facts_of(model).sizes)
    if not levels:
        return trust
    which = f"cluster{'s' * (len(levels) > 1)} {listed(levels)}"
    which = "each cluster" if len(levels) == len(model.subspaces_) else which
    fact = "In {which}, the first axis is just the mean of the samples."
    facts = {"which": which, "clusters": levels}
    subtract = Advice("add <affine=True> to subtract the mean first", "affine", True)
    level = Message("mean_level", fact, facts, (subtract,), "TrustWarning")
    return replace(trust, doubts=(*trust.doubts, level))


def with_word_on_two_values(trust: Trust, model: SubspaceClusterer, table: Table) -> Trust:
    """Return ``trust`` with a doubt about clusters that only follow variables of two values."""
    values, labels = table.data, model.labels_
    low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    is_high = values == high
    two = (low < high) & (is_high | (values == low) | np.isnan(values)).all(axis=0)
    if two.all():
        return trust
    followed = []
    for j in np.flatnonzero(two):
        members = (is_high[labels == k, j] for k in np.unique(labels))
        counts = np.array([np.bincount(own, minlength=2) for own in members])
        if counts.max(axis=1).sum() >= PURE * len(labels) > counts.sum(axis=0).max():
            followed.append(j)
    combined = is_high[:, followed] @ 2 ** np.arange(len(followed))
    if not followed or adjusted_rand_score(labels, combined) < FOLLOWS:
        return trust
    names = [table.variable_names[j] for j in followed]
    fact = "The clusters mostly follow {names}, which {have}."
    have = "has only two values" if len(names) == 1 else "have only two values each"
    facts = {"names": names, "have": have}
    others = Advice("add <ignore={names!r}> to find other clusters", "ignore")
    said = Message("two_values", fact, facts, (others,), "TrustWarning")
    return replace(trust, doubts=(*trust.doubts, said))


def with_assumed_dimension(trust: Trust, n_clusters: int | str, table: Table) -> Trust:
    """Return ``trust`` with the sentence that dimension 1 was assumed, if another can be."""
    said = assumed_dimension(n_clusters, table)
    return replace(trust, found={**trust.found, "assumed": _entry(said)}) if said else trust


def assumed_dimension(n_clusters: int | str, table: Table) -> Verdict | None:
    """Return that dimension 1 was assumed; None if the clusters cannot have another.

    A choice begins with planes, so it needs two variables, and samples for as many planes.
    """
    n, p = table.data.shape
    n_planes = n_clusters if isinstance(n_clusters, int) else 1
    if p == 1 or n < n_planes * smallest_size(2):
        return None
    return Verdict("assumed_dimension", DIMENSION_1, advice=(CHOOSE,))
