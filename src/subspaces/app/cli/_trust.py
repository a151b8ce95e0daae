"""Measures of trust in a fit: whether K-means, or fits to halves, find the same clusters."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from subspaces.app.cli._fitting import Fitted
from subspaces.app.cli._request import Request
from subspaces.app.cli._say import working
from subspaces.app.cli._words import in_options
from subspaces.core.partition import smallest_size
from subspaces.diagnostics import Stability, is_real, means_or_directions, stability
from subspaces.diagnostics._trust import SAME
from subspaces.estimators import PSC
from subspaces.estimators._base import SubspaceClusterer
from subspaces.facts import facts_of
from subspaces.halving import n_halvings
from subspaces.messages import Advice, Grade, Message, Verdict, listed, literal, message_of, worded
from subspaces.named_table import Table
from subspaces.psc.doubts import clusters_of_levels
from subspaces.runtime.warning import collect_warnings

# Seconds after which no further halving begins.
BUDGET = 30.0
# Clusters follow a variable of two values if so many samples have the most common value of their
# cluster.
PURE = 0.95
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


def trusted(
    request: Request, table: Table, fitted: Fitted, settled: Collection[str], *, halve: bool
) -> Trust:
    """Return how far to trust a fit; halve: whether to cluster halves of the samples.

    settled: parameters that the user has set, on which there is no advice.
    """
    model, prepared, seed = fitted.model, fitted.table, request.search.seed
    compared = means_or_directions(model, prepared.data)
    found = {
        "stability": _entry(UNMEASURED),
        "means_or_directions": _entry(compared.conclusion, agreement=compared.agreement),
    }
    measured, doubts = None, [*_levels(model), *_two_values(model, prepared)]
    if halve:
        # Halves learn the whole recipe, as they do when numbers of clusters are compared.
        halved = (model, prepared) if fitted.recipe is None else (fitted.recipe, table)
        with working("Clustering halves of the samples"):
            found["stability"], measured, further = _stability(*halved, seed, settled)
        doubts += further
    if request.significance:
        with working("Clustering random tables"):
            found["significance"] = _significance(model, prepared, seed, settled)
    if request.method == "PSC" and request.assumed:
        said = assumed_dimension(request.n_clusters, prepared)
        found |= {"assumed": _entry(said)} if said else {}
    return Trust(found, measured, tuple(doubts))


def _entry(said: Verdict, settled: Collection[str] = (), **figures: Any) -> dict[str, Any]:
    """Return an entry of summary.json: figures, and the verdict on them."""
    words = in_options(said, settled)
    return {**figures, "code": said.code, "grade": said.grade, "verdict": words}


def _failed(fact: str, error: ValueError) -> dict[str, Any]:
    return _entry(Verdict("failed", fact, {"why": in_options(error).rstrip(".")}))


def _stability(
    estimator: Any, table: Table, seed: int, settled: Collection[str]
) -> tuple[dict[str, Any], Stability | None, list[Message]]:
    """Return the entry on the stability of the clusters, the measure, and doubts on the way."""
    is_recipe = isinstance(estimator, Pipeline)
    limits: dict[str, Any] = {"budget_s": BUDGET}
    if is_recipe:
        limits = {"n_resamples": n_halvings(table.data)}
    try:
        with collect_warnings() as caught:
            measured = stability(estimator, table.data, random_state=seed, **limits)
    except ValueError as error:
        fact = "Stability was not measured, because fitting half of the samples failed: {why}."
        return _failed(fact, error), None, []
    halvings, k_means = len(measured.per_resample), measured.k_means
    figures = {"stability": measured.stability, "halvings": halvings, "k_means": k_means}
    entry = _entry(measured.conclusion, settled, **figures)
    batches = [BATCHES] if is_recipe and measured.grade == Grade.SURE else []
    fact = in_options(replace(measured.conclusion, advice=()))
    todo = entry["verdict"].removeprefix(fact).strip().removesuffix(".")
    advice = (Advice(literal(todo)),) if todo else ()
    conclusion = replace(measured.conclusion, fact=literal(fact), advice=advice)
    measured = replace(measured, conclusion=conclusion)
    return entry, measured, [*map(message_of, caught), *batches]


def _significance(
    model: SubspaceClusterer, table: Table, seed: int, settled: Collection[str]
) -> dict[str, Any]:
    """Return the entry on whether the clusters are more than chance."""
    try:
        found = is_real(model, table.data, random_state=seed)
    except ValueError as error:
        return _failed("Significance was not tested: {why}.", error)
    return _entry(found.conclusion, settled, p_value=found.p_value, gain=found.gain, z=found.z)


def _levels(model: SubspaceClusterer) -> list[Message]:
    """Return a doubt about clusters whose first axis is their mean level."""
    if not isinstance(model, PSC):
        return []
    levels = clusters_of_levels(model.subspaces_, model.cluster_means_, facts_of(model).sizes)
    if not levels:
        return []
    which = f"cluster{'s' * (len(levels) > 1)} {listed(levels)}"
    which = "each cluster" if len(levels) == len(model.subspaces_) else which
    fact = "In {which}, the first axis is just the mean of the samples."
    facts = {"which": which, "clusters": levels}
    subtract = Advice("add <affine=True> to subtract the mean first", "affine", True)
    return [Message("mean_level", fact, facts, (subtract,), "TrustWarning")]


def _two_values(model: SubspaceClusterer, table: Table) -> list[Message]:
    """Return a doubt about clusters that only follow variables of two values."""
    values, labels = table.data, model.labels_
    low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    is_high = values == high
    two = (low < high) & (is_high | (values == low) | np.isnan(values)).all(axis=0)
    if two.all():
        return []
    followed = []
    for j in np.flatnonzero(two):
        members = (is_high[labels == k, j] for k in np.unique(labels))
        counts = np.array([np.bincount(own, minlength=2) for own in members])
        if counts.max(axis=1).sum() >= PURE * len(labels) > counts.sum(axis=0).max():
            followed.append(j)
    if not followed:
        return []
    names = [table.variable_names[j] for j in followed]
    fact = (
        "Nearly all samples of a cluster have the same {value} of {names}, which {have}, so the "
        "clusters may just follow {them}."
    )
    several = len(names) > 1
    words = {"value": "values" if several else "value", "them": "them" if several else "it"}
    words["have"] = "have only two each" if several else "has only two"
    others = Advice("add <ignore={names!r}> to find other clusters", "ignore")
    return [Message("two_values", fact, {"names": names, **words}, (others,), "TrustWarning")]


def assumed_dimension(n_clusters: int | str, table: Table) -> Verdict | None:
    """Return that dimension 1 was assumed; None if the clusters cannot have another.

    A choice begins with planes, so it needs two variables, and samples for as many planes.
    """
    n, p = table.data.shape
    n_planes = n_clusters if isinstance(n_clusters, int) else 1
    if p == 1 or n < n_planes * smallest_size(2):
        return None
    return Verdict("assumed_dimension", DIMENSION_1, advice=(CHOOSE,))
