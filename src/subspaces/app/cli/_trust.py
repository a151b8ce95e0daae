"""Measures of trust in a fit: whether K-means, or fits to halves, find the same clusters."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from subspaces.app.cli._words import in_options
from subspaces.core.partition import smallest_size
from subspaces.diagnostics import Stability, means_or_directions, stability
from subspaces.diagnostics._trust import is_mostly_whole
from subspaces.estimators import PSC
from subspaces.estimators._base import SubspaceClusterer
from subspaces.estimators.psc import with_choices
from subspaces.facts import facts_of
from subspaces.messages import Grade, Message, listed, message_of, use, worded
from subspaces.named_table import Table
from subspaces.psc.doubts import clusters_of_levels
from subspaces.runtime.warning import collect_warnings

# Seconds after which no further halving begins.
BUDGET = 30.0
# What is said of solid clusters of expression data: of 29 sets three were split by something else
# than their classes, again and again (docs/recipes.md).
BATCHES = (
    "Batches and tissue are solid, too: compare the clusters with what is known of the samples."
)
AFFINE = use("affine", True)
# What is said if --dims was left out.
ASSUMED = "Dimension 1 was assumed, since --dims was not given. Use --dims auto to choose it"
# The same for a table with missing values, of which --dims auto is not supported, and what is added
# if most of the variables have none.
ASSUMED_WITH_GAPS = (
    "Dimension 1 was assumed, since --dims was not given. Compare the stability of --dims 1, 2 "
    "and 3"
)
BY_WHOLE_VARIABLES = ", or use --dims auto --drop-missing 0"


@dataclass(frozen=True)
class Trust:
    """Measures of how far to trust the clusters of a fit.

    ``found``: the entries "stability" and "means_or_directions" of summary.json, each with a
    verdict, and "assumed" where the dimension was; ``measured``: the Stability, or None where it
    was not measured; ``doubts``: warnings on the way.
    """

    found: dict[str, dict[str, Any]]
    measured: Stability | None
    doubts: tuple[Message, ...] = ()

    @property
    def verdicts(self) -> tuple[str, ...]:
        """The verdicts in ``found``, on stability, on K-means and on the dimension, a text each."""
        return tuple(entry["verdict"] for entry in self.found.values())


def compare_with_k_means(model: SubspaceClusterer, table: Table) -> Trust:
    """Return a Trust that says whether K-means finds the same clusters, stability not measured."""
    found = means_or_directions(model, table.data)
    skipped = {"verdict": "Stability was not measured."}
    entry = {
        "agreement": found.agreement,
        "code": found.conclusion.code,
        "grade": found.grade,
        "verdict": in_options(found.conclusion),
    }
    return Trust({"stability": skipped, "means_or_directions": entry}, None)


def with_stability(
    trust: Trust, model: SubspaceClusterer, table: Table, seed: int, settled: Collection[str]
) -> Trust:
    """Return ``trust`` with the stability of the clusters, or why it could not be measured.

    settled: parameters that the user has set, on which there is no advice.
    """
    try:
        with collect_warnings() as caught:
            again = with_choices(model)
            measured = stability(again, table.data, budget_s=BUDGET, random_state=seed)
    except ValueError as error:
        why = (
            "Stability could not be measured, since halves of the samples cannot be fitted: "
            f"{in_options(error).rstrip('.')}."
        )
        return replace(trust, found={**trust.found, "stability": {"verdict": why}})
    numbers = {
        "stability": measured.stability,
        "halvings": len(measured.per_resample),
        "k_means": measured.k_means,
        "code": measured.conclusion.code,
        "grade": measured.grade,
    }
    found = {**trust.found, "stability": numbers}
    doubts = (*trust.doubts, *map(message_of, caught))
    return _with_words(Trust(found, measured, doubts), in_options(measured.conclusion, settled))


def _with_words(trust: Trust, text: str) -> Trust:
    """Return ``trust`` with another text as the verdict on the stability that was measured."""
    assert trust.measured is not None
    entry = {**trust.found["stability"], "verdict": text}
    conclusion = worded(text, trust.measured.grade)
    measured = replace(trust.measured, conclusion=conclusion)
    return replace(trust, found={**trust.found, "stability": entry}, measured=measured)


def with_word_on_batches(trust: Trust) -> Trust:
    """Return ``trust`` with what stable clusters of expression data may be; as it is for others."""
    if trust.measured is None or trust.measured.grade != Grade.SURE:
        return trust
    return _with_words(trust, f"{trust.measured.verdict} {BATCHES}")


def with_word_on_levels(trust: Trust, model: SubspaceClusterer) -> Trust:
    """Return ``trust`` with a doubt about clusters whose first axis is their mean level."""
    if not isinstance(model, PSC):
        return trust
    levels = clusters_of_levels(model.subspaces_, model.cluster_means_, facts_of(model).sizes)
    if not levels:
        return trust
    which = "each cluster" if len(levels) == len(model.subspaces_) else f"cluster {listed(levels)}"
    fact = "The first axis of {which} is the mean level of its samples, not what varies within."
    level = Message("mean_level", fact, {"which": which, "clusters": levels}, (AFFINE,))
    return replace(trust, doubts=(*trust.doubts, level))


def with_assumed_dimension(trust: Trust, n_clusters: int | str, table: Table) -> Trust:
    """Return ``trust`` with the sentence that dimension 1 was assumed, where another can be."""
    if not can_choose_dimension(n_clusters, table):
        return trust
    said = ASSUMED
    if np.isnan(table.data).any():
        whole = is_mostly_whole(table.data)
        said = f"{ASSUMED_WITH_GAPS}{BY_WHOLE_VARIABLES if whole else ''}"
    return replace(trust, found={**trust.found, "assumed": {"verdict": f"{said}."}})


def can_choose_dimension(n_clusters: int | str, table: Table) -> bool:
    """Whether so many clusters of this table can have another dimension than 1.

    A choice begins with planes, so it needs two variables, and samples for as many planes.
    """
    n, p = table.data.shape
    n_planes = n_clusters if isinstance(n_clusters, int) else 1
    return p > 1 and n >= n_planes * smallest_size(2)
