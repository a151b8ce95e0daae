"""`choose`: the numbers that a fit was left to choose, and how clear the choice is.

The best candidate of several clusters (`candidates.py`) is kept if one group does not describe the
samples as well: if they are likelier under it than under one subspace of as many dimensions, each
left out and with Student tails (`choosing.against_one_subspace`), or if K-means cuts them better
than any table of one group (`one_group.py`). Otherwise there is one cluster. Candidates are ranked
by C, and by their leave-one-out likelihood if dimensions are given.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from subspaces._types import Array, Indices
from subspaces.core.partition import assign
from subspaces.messages import FEWER_CLUSTERS, Advice, Grade, Verdict, in_a_row
from subspaces.progress import Step
from subspaces.psc import choosing
from subspaces.psc.candidates import AXES, Candidate, leading_axes, of_number, searched
from subspaces.psc.dense import fit_dense
from subspaces.psc.incomplete import filled_in
from subspaces.psc.one_group import one_group_p_value
from subspaces.psc.result import Clusters
from subspaces.psc.settings import Settings, is_auto
from subspaces.runtime.warning import collect_warnings
from subspaces.starts.spectral import k_means_labels
from subspaces.subspace import centre_of

# Rows that the choice is made from; of more a random part.
MOST_ROWS = 1000
# Rises of C, one after the other, after which no larger number is tried.
RISES = 3
# If the share of complete rows is at least this, rows with missing values are ignored.
MOSTLY_COMPLETE = 0.5
# Axes in which clusters are compared with one group: skewness shows in more than the leading ten.
# Clusters of given dimensions are compared on all axes.
JUDGED_AXES = 15
# Standard errors by which clusters must be likelier than one subspace. Clusters of given dimensions
# and those of sparse loadings must be likelier at all.
CLEARLY = 3.0
# Tables of one group that are cut by K-means, and the level of the test.
TABLES, LEVEL = 39, 0.05
# Answers that are named, and the difference in cost up to which they are about as good.
ANSWERS, TIE = 3, 20.0
# A column is centred if its mean is at most this share of its spread. Its origin means nothing.
CENTRED = 1e-8


@dataclass(frozen=True)
class AgainstOne:
    """How clusters compare with one group: log-likelihood gained, its error, and a p-value.

    p_value: None if the gain is clear, so that nothing was tested; clearly: in standard errors.
    """

    gain: float
    standard_error: float
    p_value: float | None = None
    clearly: float = CLEARLY

    @property
    def is_clear(self) -> bool:
        """Whether the samples are clearly likelier under the clusters."""
        return self.gain > self.clearly * self.standard_error

    @property
    def keeps(self) -> bool:
        """Whether there are clusters."""
        return self.is_clear or (self.p_value is not None and self.p_value <= LEVEL)


def choose(X: Array, settings: Settings) -> tuple[Settings, dict[str, Any]]:
    """Return the settings with numbers for what they leave open, and the table of candidates.

    X (n, p): NaN for missing cells.
    """
    looked_at, rows = rows_to_look_at(X)
    numbers = numbers_to_try(rows, settings)
    seen = leading_axes(rows, axes_to_see(settings, numbers))
    models = replace(settings, n_variables=None)  # candidates use all variables
    if _is_centred(settings, rows):
        models = replace(models, affine=True)
    if not isinstance(settings.init, str) and not callable(settings.init):
        models = replace(models, init=np.asarray(settings.init)[looked_at])
    found = candidates(rows, seen, models, numbers)
    again = [searched(seen, models, each) for each in best_of_each_number(found)[:ANSWERS]]
    found += [_with_cost(rows, settings, each) for each in again if each is not None]
    best = best_of_each_number(found)
    against = None
    if best and is_auto(settings.n_clusters):
        against = against_one_group(rows, settings, best[0])
    if not best or (against is not None and not against.keeps):
        chosen = _one_cluster(rows, settings) if not numbers or against else _simplest(settings)
    else:
        chosen = _with_numbers(X, rows, settings, best[0])
    table = table_of(found, best, against)
    if not best and numbers and not is_auto(settings.n_clusters):
        table |= _in_words(_too_few_samples(chosen))
    return chosen, table


def candidates(
    rows: Array, seen: Array, settings: Settings, numbers: Sequence[int]
) -> list[Candidate]:
    """Return the candidates of ascending numbers, until the cost has risen three times in a row.

    seen (n, q): the rows (n, p) along the axes in which candidates are found.
    """
    found: list[Candidate] = []
    before, risen = np.inf, 0
    for done, k in enumerate(numbers, start=1):
        some = [_with_cost(rows, settings, each) for each in of_number(seen, settings, k)]
        settings.tell(Step("candidate", done, len(numbers), f"{k} clusters"))
        least = min((each.cost for each in some), default=before)
        risen = risen + 1 if least > before else 0
        found, before = found + some, least
        if risen == RISES:
            break
    return found


def _with_cost(rows: Array, settings: Settings, candidate: Candidate) -> Candidate:
    """Return the candidate with what it is ranked by: with given dimensions the likelihood."""
    if is_auto(settings.n_components):
        return candidate
    numbers = candidate.labels, candidate.dimensions, candidate.affine
    return replace(candidate, cost=float(choosing.left_out_likelihood(rows, *numbers).sum()))


def _with_numbers(X: Array, rows: Array, settings: Settings, candidate: Candidate) -> Settings:
    """Return the settings of a candidate, to begin from its labels.

    Samples that it was not found in get the label of the cluster that suits them best.
    """
    chosen = replace(
        settings,
        n_clusters=candidate.n_clusters,
        n_components=list(candidate.dimensions),
        affine=candidate.affine,
        init=candidate.labels,
    )
    if len(rows) == len(X):
        return chosen
    with collect_warnings():
        found = fit_dense(rows, chosen)
    return replace(chosen, init=assign(found.scores(X)))


def rows_to_look_at(X: Array) -> tuple[Indices, Array]:
    """Return the places and values of the rows that the choice is made from.

    They are the complete rows if most are complete, and otherwise all rows with their holes filled;
    of many a part that is drawn at random.
    """
    complete = np.flatnonzero(~np.isnan(X).any(axis=1))
    mostly = len(complete) >= MOSTLY_COMPLETE * len(X)
    places = complete if mostly else np.arange(len(X))
    if len(places) > MOST_ROWS:
        places = np.sort(np.random.default_rng(0).choice(places, MOST_ROWS, replace=False))
    return places, (X if mostly else filled_in(X))[places]


def numbers_to_try(rows: Array, settings: Settings) -> Sequence[int]:
    """Return the numbers of clusters above one that are tried; none if all samples are equal."""
    if not is_auto(settings.n_clusters):
        return [k for k in (int(settings.n_clusters),) if k > 1]
    most = min(settings.max_clusters, len(rows) // 4)
    return range(2, most + 1) if np.ptp(rows, axis=0).any() else []


def axes_to_see(settings: Settings, numbers: Sequence[int]) -> int:
    """Return the number of leading axes of a wide table; all clusters of given dimension fit in."""
    if is_auto(settings.n_components) or not numbers:
        return AXES
    return max(AXES, numbers[-1] * (int(np.max(settings.n_components)) + 1))


def best_of_each_number(found: Sequence[Candidate]) -> list[Candidate]:
    """Return the best candidate of each number of clusters, the best first."""
    best: dict[int, Candidate] = {}
    for candidate in sorted(found, key=lambda candidate: candidate.cost):
        best.setdefault(candidate.n_clusters, candidate)
    return list(best.values())


def against_one_subspace(rows: Array, candidate: Candidate) -> AgainstOne:
    """Compare a candidate with one subspace, by the likelihood of the samples (n, p)."""
    k = candidate.n_clusters
    worse, _ = choosing.against_one_subspace(
        rows,
        candidate.labels,
        candidate.dimensions,
        candidate.affine,
        range(1 - candidate.affine, max(sum(candidate.dimensions), k - 1) + 1),
    )
    return AgainstOne(float(worse.sum()), float(np.sqrt(len(rows)) * worse.std(ddof=1)))


def against_one_group(rows: Array, settings: Settings, candidate: Candidate) -> AgainstOne:
    """Compare a candidate with one subspace, and with one group of samples if that is close."""
    is_open = is_auto(settings.n_components)
    judged = leading_axes(rows, JUDGED_AXES) if is_open else rows
    clearly = CLEARLY if is_open and settings.n_variables is None else 0.0
    found = replace(against_one_subspace(judged, candidate), clearly=clearly)
    k = candidate.n_clusters
    if found.is_clear:
        return found
    seen = leading_axes(rows)
    cut = k_means_labels(seen, KMeans(k, n_init=5, random_state=0))
    p_value = one_group_p_value(seen, cut, k, TABLES, np.random.default_rng(0))
    return replace(found, p_value=p_value)


def _simplest(settings: Settings) -> Settings:
    """Return the settings of the simplest clusters, if there are too few samples for a choice."""
    affine = True if is_auto(settings.affine) else bool(settings.affine)
    given = settings.n_components
    n_clusters = 1 if is_auto(settings.n_clusters) else settings.n_clusters
    dimension = 1 - affine if is_auto(given) else given
    return replace(settings, n_clusters=n_clusters, n_components=dimension, affine=affine)


def is_rather_one(clusters: Clusters, X: Array) -> bool:
    """Whether one subspace describes samples (n, p) better than the clusters they are given to.

    Clusters without axes have to be likelier by two standard errors: samples that vary along what
    the centres span need not lie near any of them. False if a cluster is too small to tell.
    """
    dimensions, sizes = clusters.dimensions, clusters.partition.sizes
    if len(dimensions) == 1 or np.any(sizes < np.add(dimensions, 2)):
        return False
    candidate = Candidate(clusters.labels, tuple(dimensions), clusters.affine, np.nan)
    found = against_one_subspace(leading_axes(X, JUDGED_AXES), candidate)
    return found.gain <= (0.0 if any(dimensions) else 2.0 * found.standard_error)


def _one_cluster(rows: Array, settings: Settings) -> Settings:
    """Return the settings of one cluster, with as many dimensions as stand out of its noise."""
    affine = True if is_auto(settings.affine) else bool(settings.affine)
    dimension: Any = settings.n_components
    if is_auto(dimension):
        centred = rows - centre_of(rows, affine)
        most = choosing.largest_dimension(rows, settings.max_components)
        dimension = max(choosing.dimension_by_noise(centred, most, affine), 1 - affine)
    return replace(settings, n_clusters=1, n_components=dimension, affine=affine)


def _is_centred(settings: Settings, rows: Array) -> bool:
    """Whether columns were centred, so that no subspace through the origin is to be tried."""
    level, spread = np.abs(rows.mean(axis=0)), rows.std(axis=0)
    return is_auto(settings.affine) and bool(np.all(level <= CENTRED * spread))


def table_of(
    found: Sequence[Candidate], best: Sequence[Candidate], against: AgainstOne | None
) -> dict[str, Any]:
    """Return ``selection_``: a list entry for each candidate, the answers, verdict and grade."""
    ranked = sorted(found, key=lambda candidate: -candidate.cost)
    distinct = {(each.n_clusters, not each.affine, each.dimensions): each for each in ranked}
    ordered = [distinct[key] for key in sorted(distinct)]
    least = min((each.cost for each in found), default=np.nan)
    return {
        "n_clusters": [each.n_clusters for each in ordered],
        "n_components": [list(each.dimensions) for each in ordered],
        "affine": [each.affine for each in ordered],
        "cost": [float(each.cost) for each in ordered],
        "difference": [float(each.cost - least) for each in ordered],
        "against_one": None if against is None else vars(against),
        "answers": answers(best, against),
        **_in_words(verdict_on(best, against)),
    }


def _in_words(verdict: Verdict) -> dict[str, str]:
    fact = str(replace(verdict, advice=()))
    return {"fact": fact, "verdict": str(verdict), "grade": verdict.grade.value}


def verdict_of(table: dict[str, Any]) -> Verdict:
    """Return the verdict of ``selection_`` as a value."""
    rows = zip(*(table[name] for name in ("n_components", "affine", "cost")), strict=True)
    found = [Candidate(np.empty(0, int), tuple(r), affine, cost) for r, affine, cost in rows]
    against = None if table["against_one"] is None else AgainstOne(**table["against_one"])
    return verdict_on(best_of_each_number(found), against)


def _too_few_samples(chosen: Settings) -> Verdict:
    """Return that the simplest clusters were taken, as the samples are too few to compare any."""
    fact = (
        "There are too few samples to choose the dimensions of {chosen:#cluster}, so each cluster "
        "got the smallest dimension."
    )
    return Verdict("too_few_samples", fact, {"chosen": chosen.n_clusters}, (FEWER_CLUSTERS,))


def verdict_on(best: Sequence[Candidate], against: AgainstOne | None) -> Verdict:
    """Return the chosen number of clusters and those that come near it."""
    if not best:
        return Verdict("alone", "Only one number of clusters was tried: 1.", {"chosen": 1})
    chosen, others = best[0], best[1:ANSWERS]
    near = [each.n_clusters for each in others if each.cost - chosen.cost < TIE]
    figures: dict[str, Any] = {"chosen": chosen.n_clusters, "near": sorted(near)}
    if against is not None and not against.keeps:
        figures |= {"chosen": 1, "near": [chosen.n_clusters], "rival": chosen.n_clusters}
        fact = (
            "One group describes the samples as well as {rival} clusters do, so we chose 1 cluster."
        )
        number = chosen.n_clusters
        advice = Advice(
            f"if you expect groups, look at <n_clusters={number}>", "n_clusters", number
        )
        grade = Grade.DOUBTFUL if against.gain > 0.0 else Grade.SURE
        return Verdict("one_group", fact, figures, (advice,), grade=grade)
    several = "{chosen} clusters"
    if against is not None and not against.is_clear:
        fact = (
            "One group with long tails or a bend fits as well as the {chosen} clusters, so the "
            "clusters may be parts of one group."
        )
        return Verdict("as_one_group", fact, figures, grade=Grade.DOUBTFUL)
    if near:
        fact = f"{several} fit best, but {in_a_row(sorted(near))} clusters fit about as well."
        advice = Advice(f"also look at <n_clusters={min(near)}>", "n_clusters", min(near))
        return Verdict("as_good", fact, figures, (advice,), grade=Grade.DOUBTFUL)
    if not others:
        return Verdict("alone", "Only one number of clusters was tried: {chosen}.", figures)
    figures |= {"rival": others[0].n_clusters, "difference": others[0].cost - chosen.cost}
    fact = f"{several} fit best, and {{rival:#cluster comes|clusters come}} second."
    return Verdict("clear", fact, figures, grade=Grade.SURE)


def answers(best: Sequence[Candidate], against: AgainstOne | None) -> list[dict[str, Any]]:
    """Return at most three answers worth looking at, the simplest first, as parameters of `PSC`.

    With its number of clusters given and the rest left open, a fit finds the same clusters. If one
    cluster was chosen, two clusters are among the answers.
    """
    one = [] if against is None or against.keeps else [{"n_clusters": 1}]
    if one:
        best = sorted(best, key=lambda each: each.n_clusters > 2)
    several = [
        {
            "n_clusters": each.n_clusters,
            "n_components": list(each.dimensions),
            "affine": each.affine,
        }
        for each in sorted(best[: ANSWERS - len(one)], key=lambda each: each.n_clusters)
    ]
    return one + several
