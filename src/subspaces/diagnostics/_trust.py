"""How far to trust a clustering: whether halves agree, and K-means; samples between clusters."""

from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.cluster import BisectingKMeans, KMeans, MiniBatchKMeans
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

from subspaces import progress
from subspaces._types import (
    Array,
    Data,
    Estimator,
    FittedClusterer,
    FittedLabels,
    Indices,
    Mask,
    Seed,
)
from subspaces.data.validation import count_distinct_rows, warn_of_copies
from subspaces.estimators import PSC, KSubspaces
from subspaces.estimators._base import SubspaceClusterer
from subspaces.facts import Samples, samples_of
from subspaces.halving import DOUBTFUL, SOLID
from subspaces.metrics import adjusted_rand_score, matched_accuracy, matched_labels
from subspaces.psc.auto import cuts_a_continuum, is_rather_one
from subspaces.psc.result import Clusters
from subspaces.runtime.parameters import as_count, as_real
from subspaces.runtime.result import WithVerdict
from subspaces.runtime.warning import collect_warnings, warn
from subspaces.starts.spectral import k_means_labels

# Where K-means agrees with a larger share of the labels, it has found the same groups by their
# means.
BY_MEANS = 0.8
# The largest number of samples that K-means sees: a share of 2,000 is known to about 2 per cent.
MOST_COMPARED = 2000
# The lead in stability from which K-means is called steadier; a smaller one comes and goes with the
# splits.
STEADIER = 0.1
# The number of splits that are made however short the budget is: fewer give no mean to speak of.
FEWEST_SPLITS = 3
# Halves that agree less than this look like chance: nobody takes them for clusters, and no warning
# of one subspace is needed.
CHANCE = 0.2
# Draws of labels in another order, whose mean agreement is that of chance; and the share of what is
# left above it up to which an agreement is called hardly more.
DRAWS, NEAR_CHANCE = 50, 0.1
# The share of variables without gaps from which on a choice can be made by those alone.
MOSTLY_WHOLE = 0.5
# The number of samples that tell whether one subspace describes them better than the clusters do.
ENOUGH = 2000


@dataclass(frozen=True, repr=False)
class Stability(WithVerdict):
    """How far a clustering survives resampling.

    Attributes
    ----------
    stability : float
        Mean adjusted Rand index between the labels that models of two halves give all samples.
    per_resample : ndarray of shape (splits,)
        Each split's adjusted Rand index.
    per_sample : ndarray of shape (n,)
        Share of the splits in which the halves agree on the sample, clusters matched.
    k_means : float
        ``stability`` of K-means on the same halves, with as many clusters.
    verdict : str
        A sentence or two: solid, doubtful or noise-like, and what to try.
    """

    stability: float
    per_resample: Array
    per_sample: Array
    k_means: float
    verdict: str


@dataclass(frozen=True, repr=False)
class MeansOrDirections(WithVerdict):
    """Whether K-means finds the same groups as a model.

    Attributes
    ----------
    agreement : float
        Share of the labels with which K-means agrees, clusters matched; nan for one cluster.
    verdict : str
        The agreement in a sentence, which says where the groups differ mostly in their means, and
        where it is no more than chance.
    """

    agreement: float
    verdict: str


def stability(
    estimator: Estimator,
    X: Data,
    *,
    n_resamples: int = 10,
    budget_s: float | None = None,
    random_state: Seed = None,
) -> Stability:
    """Measure how far models fitted to random halves of the samples find the same clusters.

    The samples are split at random into two halves; a model fitted to each half predicts all
    samples, and the two sets of labels are compared. Independent noise does not agree. Correlated
    variables and columns of unequal scale can make halves agree without any clusters: a warning
    says so where one subspace describes the samples better than the clusters of either half do
    (`PSC` and `KSubspaces`). Mean profiles that cut a cloud without gaps agree, too: where one
    subspace of K - 1 dimensions is about as likely as K means, the verdict is "doubtful".

    A variable without a value in one of the halves is left out of that split, and a warning counts
    such variables. With missing cells a fit takes several times as long: ten splits of 80 samples
    of 147 variables take 5 to 20 seconds. ``budget_s`` or a smaller ``n_resamples`` shortens that.

    Parameters
    ----------
    estimator : clusterer with ``predict``
        Fitted anew; the one given is not changed.
    X : array-like of shape (n, p)
        Samples in rows.
    n_resamples : int, default 10
        Number of splits.
    budget_s : float, optional
        Stop once so many seconds are spent, though not before three splits. A seed gives the same
        splits in the same order on every machine; a slow one makes fewer of them.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    Stability
        ``.stability``, the mean adjusted Rand index: 1 is perfect, 0 chance; ``.per_resample``,
        ``.per_sample`` and ``.k_means``; ``.verdict``, a sentence.

    Examples
    --------
    >>> from subspaces import PSC
    >>> from subspaces.datasets import make_scenario
    >>> from subspaces.diagnostics import stability
    >>> planes = make_scenario("c", noise=0.02, n_features=20, random_state=0)
    >>> model = PSC(2, n_components=2, n_init=3, random_state=0)
    >>> found = stability(model, planes.data, n_resamples=3, random_state=0)
    >>> bool(found.stability > 0.9)
    True
    >>> found.verdict.split(":")[0]
    'Solid'
    """
    matrix = samples_of(estimator, X, min_samples=4).rows
    warn_of_copies(matrix, above=2)
    n_resamples = as_count(n_resamples, "n_resamples", low=1)
    budget = np.inf if budget_s is None else as_real(budget_s, "budget_s", low=0.0)
    random, began = check_random_state(random_state), monotonic()
    agreement: list[float] = []
    by_means: list[float] = []
    same, rare = np.zeros(len(matrix)), np.zeros(matrix.shape[1], dtype=bool)
    for done in range(n_resamples):
        if done >= FEWEST_SPLITS and monotonic() - began >= budget:
            break
        progress.tell(progress.Step("halving", done, n_resamples, f"split {done + 1}"))
        halves = np.array_split(random.permutation(len(matrix)), 2)
        absent = _absent_in_a_half(matrix, halves)
        rare |= absent
        rows = matrix[:, ~absent] if absent.any() else matrix
        with collect_warnings():
            models = [clone(estimator).fit(rows[half]) for half in halves]
        labels = [np.asarray(model.predict(rows)) for model in models]
        n_clusters = int(np.max(labels)) + 1
        agreement.append(adjusted_rand_score(*labels))
        whole = Samples(models[0], rows).completed
        by_means.append(adjusted_rand_score(*_k_means_of_halves(whole, halves, n_clusters)))
        same += matched_labels(*labels) == labels[0]
    if rare.any():
        warn(
            f"{int(rare.sum())} of {len(rare)} variables had no value in some halves, and "
            f"{'was' if rare.sum() == 1 else 'were'} left out of those. Use variables that fewer "
            "samples lack",
            above=2,
        )
    mean, k_means = float(np.mean(agreement)), float(np.mean(by_means))
    has_gaps = True
    if mean > CHANCE and isinstance(estimator, PSC | KSubspaces):
        some = np.concatenate(halves)[:ENOUGH]
        parts = [
            (Clusters(each[some], model.subspaces_, bool(model.affine)), whole[some])
            for model, each in zip(models, labels, strict=True)
        ]
        _warn_of_one_subspace(parts, matrix)
        has_gaps = not all(cuts_a_continuum(*part) for part in parts)
    held = len(np.unique(getattr(models[0], "labels_", labels[0])))
    distinct = count_distinct_rows(whole, held)
    if distinct < held:
        verdict = _split_in_words(distinct, held)
    else:
        ways = _ways_by_means(_last_step(estimator))
        verdict = _stability_in_words(
            mean, len(agreement), k_means, n_clusters, ways, has_gaps=has_gaps
        )
    return Stability(mean, np.array(agreement), same / len(agreement), k_means, verdict)


def _absent_in_a_half(matrix: Array, halves: Sequence[Indices]) -> Mask:
    """Return which variables (p,) have no value in one half: that half knows nothing of them.

    Marginal over a variable that nobody observed, a density is the one without it, so that both
    halves do without. Raise ValueError where that leaves a sample without any value.
    """
    holes = np.isnan(matrix)
    if not holes.any():
        return np.zeros(matrix.shape[1], dtype=bool)
    absent = np.any([holes[half].all(axis=0) for half in halves], axis=0)
    if (holes | absent).all(axis=1).any():
        raise ValueError(
            "some samples have values of such variables alone that a half of the samples lacks. "
            "Use variables that fewer samples lack"
        )
    return absent


def _warn_of_one_subspace(parts: Sequence[tuple[Clusters, Array]], matrix: Array) -> None:
    """Warn where one subspace describes the samples better than the clusters of either half.

    parts: of each half its clusters, with the labels that it gives the samples, and these (n, p).
    matrix: the samples as given; from missing cells no number of clusters is chosen.
    """
    if all(is_rather_one(*part) for part in parts):
        warn(
            "one subspace describes the samples better than these clusters do, so that what agrees "
            "may be due to variables that are correlated or differ in scale. Use scaled variables, "
            f"and {_ways_to_see_one(matrix)}",
            above=3,
        )


def _ways_to_see_one(matrix: Array) -> str:
    """Return how to see whether samples are one cluster, by a way that their gaps allow."""
    if not is_mostly_whole(matrix):
        return "other numbers of clusters to see whether their halves agree as well"
    whole = " on variables without gaps" if np.isnan(matrix).any() else ""
    return f"PSC('auto'){whole} to see whether one cluster is chosen"


def is_mostly_whole(matrix: Array) -> bool:
    """Whether so many variables have no gaps that a choice can be made by those alone."""
    return float(np.mean(~np.isnan(matrix).any(axis=0))) >= MOSTLY_WHOLE


def _k_means_of_halves(matrix: Array, halves: Sequence[Indices], n_clusters: int) -> list[Any]:
    """Return the labels of all samples by K-means of each half, two arrays (n,).

    Of a half with more than ``MOST_COMPARED`` samples, K-means is fitted to so many.
    """
    found = []
    for half in halves:
        rows = matrix[half[:MOST_COMPARED]]
        k_means = KMeans(min(n_clusters, len(rows)), n_init=10, random_state=0)
        k_means_labels(rows, k_means)
        found.append(k_means.predict(matrix))
    return found


def _stability_in_words(
    mean: float, splits: int, k_means: float, n_clusters: int, ways: str, *, has_gaps: bool = True
) -> str:
    """Return the verdict: solid, doubtful or noise-like, the evidence, and what to try.

    ways: what to try where K-means is steadier; "" for clusters that are means themselves, of which
    that says nothing.
    """
    if n_clusters == 1:
        return "There is one cluster, and two halves of the samples cannot disagree about it."
    times = "1 halving" if splits == 1 else f"{splits} halvings"
    measured = f"agreement {mean:.2f} over {times}; 1 is perfect, 0 is chance"
    halves = "models of two random halves of the samples"
    shown = round(mean, 2)  # so that what is printed as 0.80 is judged as 0.80
    if shown >= DOUBTFUL and not has_gaps:
        words = (
            f"Doubtful: {halves} agree ({measured}), but one cloud without gaps describes the "
            "samples about as well, so that the clusters may be the ends of a range."
        )
        advice = " Try another number of clusters, and look at the samples on their axes."
    elif shown >= SOLID:
        words, advice = f"Solid: {halves} find nearly the same clusters ({measured}).", ""
    elif shown >= DOUBTFUL:
        words = f"Doubtful: {halves} agree in part ({measured})."
        advice = " Try another number of clusters, other dimensions or scaled variables."
    else:
        words = f"Noise-like: {halves} agree too little to rely on these clusters ({measured})."
        advice = (
            " Try another number of clusters, other dimensions, or other values: logarithms, "
            "scaled variables."
        )
    if ways and k_means > mean + STEADIER:
        advice = (
            f" K-means is steadier on the same halves ({k_means:.2f}), so the groups may differ in "
            f"their means, or the variables in their scales. Try {ways}, and scaled variables "
            "where their units differ."
        )
    return words + advice


def _ways_by_means(estimator: Estimator) -> str:
    """Return what an estimator leaves to try where groups differ in their means; "" if nothing."""
    if _finds_means(estimator):
        return ""
    if not getattr(estimator, "affine", False):
        centred = "PSC(K, affine=True) for groups with centres of their own"
        return f"K-means or PSC(K, n_components=0, affine=True), {centred}"
    return "K-means or PSC(K, n_components=0, affine=True)"


def _finds_means(estimator: Estimator) -> bool:
    """Whether clusters are means by their making: of K-means, or affine of dimension 0."""
    if isinstance(estimator, KMeans | MiniBatchKMeans | BisectingKMeans):
        return True
    has_centres = bool(getattr(estimator, "affine", False))
    return has_centres and not np.any(getattr(estimator, "n_components", 1))


def _last_step(estimator: Estimator) -> Any:
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def _split_in_words(distinct: int, n_clusters: int) -> str:
    """Return the verdict on clusters that outnumber the distinct samples, however halves agree."""
    return (
        f"Doubtful: {n_clusters} clusters of {distinct} distinct sample{'s' * (distinct > 1)} "
        "split equal samples, which halves cannot tell. Try "
        f"{'one cluster' if distinct == 1 else f'at most {distinct} clusters'}."
    )


def means_or_directions(model: FittedClusterer, X: Data) -> MeansOrDirections:
    """Compare a model's labels with K-means: if both agree, the groups differ in their means.

    K-means with as many clusters sees the samples as the model does, after its preparation; where
    there are more than 2,000, it sees 2,000 drawn with a fixed seed. What chance would give is the
    mean agreement with the same labels in another order.

    Parameters
    ----------
    model : fitted clusterer, or Pipeline that ends in one
        With ``labels_``. A `recipes.Recipe` is such a pipeline.
    X : array-like of shape (n, p)
        The data of fit; raw samples for a model that prepares them.

    Returns
    -------
    MeansOrDirections
        ``.agreement``, the share of labels on which the two agree, and ``.verdict``, a sentence.

    Examples
    --------
    >>> from subspaces import PSC
    >>> from subspaces.datasets import make_subspaces
    >>> from subspaces.diagnostics import means_or_directions
    >>> union = make_subspaces([60, 80, 100], 40, [2, 2, 2], noise=0.1, random_state=0)
    >>> model = PSC(3, n_components=2, random_state=0).fit(union.data)
    >>> means_or_directions(model, union.data).verdict  # doctest: +NORMALIZE_WHITESPACE
    'K-means agrees with 39 % of these labels, hardly more than chance (37 %): these are not groups
    of means.'
    """
    if isinstance(model, Pipeline):
        X, model = model[:-1].transform(X) if len(model) > 1 else X, model[-1]
    labels = getattr(model, "labels_", None)
    if labels is None:
        raise ValueError(
            f"{type(model).__name__} has no labels_. Use a fitted clusterer, or a pipeline that "
            "ends in one"
        )
    matrix, labels = samples_of(model, X).rows, np.asarray(labels)
    if len(matrix) != len(labels):
        raise ValueError(
            f"X has {len(matrix)} samples, and the model was fitted to {len(labels)}. Use the data "
            "of fit"
        )
    if len(labels) > MOST_COMPARED:
        drawn = np.random.default_rng(0).choice(len(labels), MOST_COMPARED, replace=False)
        matrix, labels = matrix[drawn], labels[drawn]
    if (labels < 0).any():
        matrix, labels = matrix[labels >= 0], labels[labels >= 0]
    n_clusters = len(np.unique(labels))
    if n_clusters == 1:
        return MeansOrDirections(
            np.nan,
            "There is one cluster by its directions; groups may still differ in their means. Use "
            "K-means, or n_components=0 with affine=True, to look for those.",
        )
    k_means = KMeans(n_clusters, n_init=10, random_state=0)
    by_means = k_means_labels(Samples(model, matrix).completed, k_means)
    agreement = matched_accuracy(labels, by_means)
    if _finds_means(model):
        return MeansOrDirections(agreement, _of_means_in_words(agreement))
    by_chance = _agreement_by_chance(labels, by_means)
    return MeansOrDirections(agreement, _of_directions_in_words(agreement, by_chance))


def _agreement_by_chance(labels: FittedLabels, others: FittedLabels) -> float:
    """Return the mean agreement of two partitions (n,), one of them in an order drawn anew."""
    random = np.random.default_rng(0)
    draws = (matched_accuracy(random.permutation(labels), others) for _ in range(DRAWS))
    return float(np.mean(list(draws)))


def _of_directions_in_words(agreement: float, by_chance: float) -> str:
    verdict = f"K-means agrees with {100 * agreement:.0f} % of these labels"
    if agreement - by_chance <= NEAR_CHANCE * (1.0 - by_chance):
        more = "hardly more than" if agreement > by_chance else "no more than"
        return f"{verdict}, {more} chance ({100 * by_chance:.0f} %): these are not groups of means."
    if agreement > BY_MEANS:
        return f"{verdict}: these groups differ mostly in their means."
    return f"{verdict}; by chance it would with {100 * by_chance:.0f} %."


def _of_means_in_words(agreement: float) -> str:
    verdict = (
        "These clusters are mean profiles, as those of K-means are, which agrees with "
        f"{100 * agreement:.0f} % of the labels"
    )
    if agreement > BY_MEANS:
        return f"{verdict}."
    return (
        f"{verdict}: the samples can be cut in more than one way. Try another number of clusters."
    )


def ambiguity(model: SubspaceClusterer, X: Data) -> Array:
    """How nearly each sample sits between two clusters: 0 clearly in one, 1 exactly between.

    The best score under a cluster over the second best; for a likelihood, the ratio of the two
    densities. It tells samples apart, not good clusterings from bad ones. Use `stability` for that.

    Parameters
    ----------
    model : fitted PSC or KSubspaces
        With at least two clusters.
    X : array-like of shape (n, p)
        Samples in rows.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> from subspaces import PSC
    >>> from subspaces.datasets import make_scenario
    >>> from subspaces.diagnostics import ambiguity
    >>> planes = make_scenario("c", noise=0.02, n_features=20, random_state=0)
    >>> model = PSC(2, n_components=2, random_state=0).fit(planes.data)
    >>> bool((ambiguity(model, planes.data) > 0.8).mean() < 0.05)
    True
    """
    scores = np.asarray(model.transform(X))
    if scores.shape[1] < 2:
        raise ValueError("model has n_clusters=1; two or more are needed to sit between")
    best, second = np.partition(scores, 1, axis=1)[:, :2].T
    if getattr(model, "scores_are_likelihoods_", False):
        return np.exp(best - second)
    return np.divide(best, second, out=np.ones_like(best), where=second > 0)
