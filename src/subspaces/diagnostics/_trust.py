"""How far to trust a clustering: whether halves agree, and K-means; samples between clusters."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.cluster import BisectingKMeans, KMeans, MiniBatchKMeans
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

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
from subspaces.estimators.psc import with_choices, without_outliers
from subspaces.facts import Samples, samples_of
from subspaces.halving import DOUBTFUL, HALVINGS, SOLID, learned, random_halves
from subspaces.messages import Advice, DataWarning, Grade, ParameterError, Verdict
from subspaces.metrics import adjusted_rand_score, matched_accuracy, matched_labels
from subspaces.psc.choice import is_rather_one
from subspaces.psc.doubts import differ_in_units
from subspaces.psc.result import Clusters
from subspaces.psc.settings import is_auto
from subspaces.runtime.parameters import as_count, as_real
from subspaces.runtime.result import WithVerdict
from subspaces.runtime.warning import doubt
from subspaces.starts.spectral import k_means_labels

# If K-means agrees with a larger share of the labels, it found the same groups by their means.
BY_MEANS = 0.8
# Splits that are enough by default if each of them leads to the same grade: benchmarks/halvings.py.
FEW_SPLITS = 5
# From this agreement with K-means on there is nothing to compare.
SAME = 0.995
# The largest number of samples that K-means sees: a share of 2,000 is known to about 2 per cent.
MOST_COMPARED = 2000
# The lead in stability from which K-means is called steadier; a smaller one comes and goes with the
# splits.
STEADIER = 0.1
# Draws of labels in another order, whose mean agreement is that of chance; and the share of what is
# left above it up to which an agreement is called hardly more.
DRAWS, NEAR_CHANCE = 50, 0.1
# If at least this share of variables is complete, a choice can be made by those alone.
MOSTLY_WHOLE = 0.5
# Samples that show whether a single subspace describes them better than the clusters.
ENOUGH = 2000

HALVES = "two random halves of the samples"
FEWER_MISSING = Advice(
    "choose variables with fewer missing values", command="try <drop_missing=0.5>"
)
SCALE = Advice(
    "scale variables that have different units", "scale", True, command="use <scale=True>"
)
TRY = Advice("try another number of clusters"), Advice("other dimensions")
LOOK = "look for gaps between the clusters in"
LOOK_AT_SAMPLES = (
    Advice(f"{LOOK} plots.overview(model, X)", command=f"{LOOK} report.html"),
    Advice("try another number of clusters"),
)
# How far halves agree: the grade, its word, what they do, and what to try.
STABILITY: dict[str, tuple[Grade, str, str, tuple[Advice, ...]]] = {
    "solid": (Grade.SURE, "Stable", "give nearly the same clusters", ()),
    "in_part": (Grade.DOUBTFUL, "Doubtful", "agree on some of the clusters", TRY),
    "noise_like": (Grade.NO, "Not stable", "give different clusters", TRY),
}
# What describes the samples as well as clusters on which halves agree.
INSTEAD = {
    "one_cloud": "one group without clusters fits the samples about as well",
    "one_subspace": "a single subspace fits the samples better than the clusters do",
}
ONE_CLUSTER = Verdict(
    "one_cluster", "There is only one cluster, so there is nothing to compare with K-means."
)
ONE_CLUSTER_WITH_AXES = replace(
    ONE_CLUSTER,
    code="one_cluster_with_axes",
    advice=(
        Advice(
            "to find groups that differ in their means, try <n_components=0> with <affine=True>",
            "n_components",
            0,
            command="to find groups that differ in their means, try <affine=True> <n_components=0>",
        ),
    ),
)


@dataclass(frozen=True, repr=False)
class Stability(WithVerdict):
    """How well two halves of the samples agree on the clusters.

    Attributes
    ----------
    stability : float
        Mean adjusted Rand index between the labels from both halves: 1 is perfect, 0 is chance.
    per_resample : ndarray of shape (splits,)
        Adjusted Rand index of each split.
    per_sample : ndarray of shape (n,)
        Share of the splits in which both halves give the sample the same label.
    k_means : float
        ``stability`` of K-means with as many clusters, on the same halves.
    conclusion : Verdict
        The verdict as a value. Its ``grade`` is:

        - SURE: the clusters are stable.
        - DOUBTFUL: halves agree in part, or could agree without clusters.
        - NO: the clusters are not stable.
        - UNKNOWN: there is one cluster.
    """

    stability: float
    per_resample: Array
    per_sample: Array
    k_means: float
    conclusion: Verdict


@dataclass(frozen=True, repr=False)
class MeansOrDirections(WithVerdict):
    """Whether K-means finds the same groups as a model.

    Attributes
    ----------
    agreement : float
        Share of the samples that get the same label from K-means. NaN for one cluster.
    by_chance : float
        The share that chance would give. NaN for one cluster, and for clusters that are means.
    conclusion : Verdict
        The verdict as a value. Its ``grade`` is:

        - SURE: K-means finds mostly the same clusters.
        - DOUBTFUL: K-means finds part of them.
        - NO: K-means agrees as by chance.
        - UNKNOWN: there is one cluster.
    """

    agreement: float
    by_chance: float
    conclusion: Verdict


def stability(
    estimator: Estimator,
    X: Data,
    *,
    n_resamples: int | None = None,
    budget_s: float | None = None,
    random_state: Seed = None,
) -> Stability:
    """Check whether random halves of the samples have the same clusters.

    The samples are split at random into two halves. A model of each half labels all samples, and
    the two sets of labels are compared. In independent noise the halves do not agree. Correlated or
    unscaled variables can make them agree without any clusters. For `PSC` and `KSubspaces`, the
    verdict is therefore "doubtful" if one subspace describes the samples better than the clusters.
    For clusters that are means, it is "doubtful" if one subspace of K - 1 dimensions is about as
    likely as K means. A fitted model that chose its number of clusters was already compared with
    one group.

    If a variable has no values in one half, that split leaves it out, and a warning counts such
    variables. Missing values make a fit several times slower: ten splits of 80 samples and 147
    variables take 5 to 20 seconds. A smaller ``n_resamples`` or ``budget_s`` shortens this.

    Parameters
    ----------
    estimator : clusterer with ``predict``
        The model, which is not changed. If it is fitted and chose its numbers, both halves use the
        same number of clusters and the same ``affine``. They choose dimensions up to its largest.
        If it is not fitted, each half chooses everything. Halves use the weights of a fitted model,
        and leave out its outliers and samples of weight 0.
    X : array-like of shape (n, p)
        Samples in rows.
    n_resamples : int, optional
        Number of splits. By default ten, but only five if each of these alone gives the same
        grade.
    budget_s : float, optional
        Stop after this many seconds, but not before three splits. Slow machines make fewer splits.
        If you set a seed, these are the first splits of fast machines.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    Stability
        ``.stability``, ``.per_resample``, ``.per_sample``, ``.k_means``, ``.grade`` and
        ``.verdict``.

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
    >>> found.grade
    <Grade.SURE: 'sure'>
    """
    matrix = samples_of(estimator, X, min_samples=4).rows
    warn_of_copies(matrix)
    weights, counted = weights_of(estimator, matrix)
    compared = (getattr(estimator, "selection_", None) or {}).get("against_one") is not None
    estimator = for_halves(estimator) if hasattr(estimator, "labels_") else estimator
    splits = HALVINGS if n_resamples is None else as_count(n_resamples, "n_resamples", low=1)
    budget = np.inf if budget_s is None else as_real(budget_s, "budget_s", low=0.0)
    random = check_random_state(random_state)
    agreement: list[float] = []
    by_means: list[float] = []
    same, rare = np.zeros(len(matrix)), np.zeros(matrix.shape[1], dtype=bool)
    for halves in random_halves(counted, splits, random, budget):
        absent = absent_in_a_half(matrix, halves)
        rare |= absent
        rows = matrix[:, ~absent] if absent.any() else matrix
        both = [learned(estimator, rows, half, weights=weights)[0] for half in halves]
        labels = [each.labels for each in both]
        n_clusters = int(np.max(labels)) + 1
        agreement.append(adjusted_rand_score(*(each[counted] for each in labels)))
        seen = [Samples(each.model, each.points).completed for each in both]
        means = _k_means_of_halves(seen, halves, n_clusters, weights)
        by_means.append(adjusted_rand_score(*(each[counted] for each in means)))
        same += matched_labels(*labels) == labels[0]
        if n_resamples is None and _is_settled(agreement):
            break
    if rare.any():
        doubt(
            DataWarning,
            "empty_variables",
            "Some halves of the samples were compared without {few} of {p} variables, because of "
            "missing values.",
            FEWER_MISSING,
            few=int(rare.sum()),
            p=len(rare),
        )
    mean, k_means = float(np.mean(agreement)), float(np.mean(by_means))
    instead, model = "", both[0].model
    if isinstance(model, PSC | KSubspaces) and not compared and round(mean, 2) >= DOUBTFUL:
        some = np.concatenate(halves)[:ENOUGH]
        some = some[np.all([each.labels[some] >= 0 for each in both], axis=0)]
        parts = [
            (Clusters(each.labels[some], each.model.subspaces_, _has_centres(model)), points[some])
            for each, points in zip(both, seen, strict=True)
        ]
        instead = _doubt_about(parts)
    held = len(np.setdiff1d(getattr(model, "labels_", labels[0]), -1))
    distinct = count_distinct_rows(seen[0], held)
    if distinct < held:
        conclusion = _verdict_on_copies(distinct, held)
    elif n_clusters == 1:
        conclusion = Verdict(
            "one_cluster", "There is only one cluster, so there is no stability to measure."
        )
    else:
        measured = {"agreement": mean, "splits": len(agreement), "k_means": k_means}
        measured["n_clusters"] = n_clusters
        conclusion = verdict_on_stability(measured, model, matrix, instead)
    return Stability(mean, np.array(agreement), same / len(agreement), k_means, conclusion)


def for_halves(model: Any) -> Any:
    """Return an unfitted copy of a fitted model with the numbers that it chose.

    Dimensions stay open up to the largest, so that a half is fitted as all samples were. A search
    with the chosen ones held found other clusters in tables with clear ones. Outliers are not
    looked for again: `weights_of` leaves those of the model out.
    """
    if isinstance(model, Pipeline):
        return model
    chosen = without_outliers(with_choices(model))
    if not is_auto(getattr(model, "n_components", 0)) or model.n_variables is not None:
        return chosen
    largest = int(max(model.n_components_))
    if largest == 0:  # mean profiles
        return chosen.set_params(n_components=0)
    return chosen.set_params(n_components="auto", max_components=largest)


def weights_of(model: Any, matrix: Array) -> tuple[Array | None, Indices]:
    """Return the weights (n,) a model was fitted to samples (n, p) with, and who counts.

    The weights are None if all count one. Samples of weight 0 and outliers do not count.
    """
    fitted = model[-1] if isinstance(model, Pipeline) else model
    weights = getattr(fitted, "_weights", None)
    if weights is not None:
        check_same_number(matrix, len(weights))
        return weights, np.flatnonzero(weights)
    if isinstance(fitted, PSC) and hasattr(fitted, "p_values_"):
        check_same_number(matrix, len(fitted.labels_))
        return None, np.flatnonzero(np.asarray(fitted.labels_) >= 0)
    return None, np.arange(len(matrix))


def check_same_number(matrix: Array, n_fitted: int) -> None:
    """Raise ParameterError unless samples (n, p) are as many as a model was fitted to."""
    if len(matrix) != n_fitted:
        raise ParameterError(
            "X",
            f"<X> has {len(matrix)} samples, but the model was fitted to {n_fitted}. "
            "Pass the table it was fitted to.",
        )


def absent_in_a_half(matrix: Array, halves: Sequence[Indices]) -> Mask:
    """Return which variables (p,) have no value in one half: that half knows nothing of them.

    Marginal over a variable that nobody observed, a density is the one without it, so that both
    halves do without. Raise ValueError if that leaves a sample without any value.
    """
    holes = np.isnan(matrix)
    if not holes.any():
        return np.zeros(matrix.shape[1], dtype=bool)
    absent = np.any([holes[half].all(axis=0) for half in halves], axis=0)
    if (holes | absent).all(axis=1).any():
        fact = (
            "Too many values are missing to measure the stability: some variables are empty in "
            "half of the samples."
        )
        raise ParameterError("X", fact, FEWER_MISSING)
    return absent


def _doubt_about(parts: Sequence[tuple[Clusters, Array]]) -> str:
    """Return what describes the samples as well as the clusters of both halves; "" if nothing does.

    parts: of each half its clusters, with the labels that it gives the samples, and these (n, p).
    """
    if not all(is_rather_one(*part) for part in parts):
        return ""
    has_axes = any(any(clusters.dimensions) for clusters, _ in parts)
    return "one_subspace" if has_axes else "one_cloud"


def _k_means_of_halves(
    seen: Sequence[Array], halves: Sequence[Indices], n_clusters: int, weights: Array | None
) -> list[Any]:
    """Return the labels of all samples by K-means of each half, two arrays (n,).

    seen: all samples (n, q) as each half prepares them. Of a half with more than ``MOST_COMPARED``
    samples, K-means is fitted to so many.
    """
    found = []
    for points, half in zip(seen, halves, strict=True):
        few = half[:MOST_COMPARED]
        k_means = KMeans(min(n_clusters, len(few)), n_init=10, random_state=0)
        k_means_labels(points[few], k_means, None if weights is None else weights[few])
        found.append(k_means.predict(points))
    return found


def verdict_on_stability(
    measured: dict[str, Any], estimator: Estimator, matrix: Array, instead: str = ""
) -> Verdict:
    """Return how far two or more clusters can be relied on, and what to try.

    measured: the agreement, the numbers of splits and of clusters, and the agreement of K-means;
    matrix: the samples as given; instead: what else describes them if halves agree, "one_cloud",
    "one_subspace" or "".
    """
    code = _extent(measured["agreement"])
    grade, word, agree, advice = STABILITY[code]
    if instead:
        grade, word = Grade.DOUBTFUL, "Doubtful"
    if advice and differ_in_units(matrix):
        advice = (SCALE, advice[0])
    if matrix.shape[1] == 1:
        advice = advice[:1]
    numbers = "mean agreement {agreement:.2f} over {splits:#split}"
    fact = f"{word}: {HALVES} {agree} ({numbers}, 1 is perfect)."
    steadier = measured["k_means"] > max(measured["agreement"] + STEADIER, DOUBTFUL)
    if steadier and not _finds_means(estimator):
        code, advice = "k_means_agrees_better", _ways_by_means(estimator)
        better = "agree more on the clusters of K-means ({k_means:.2f})"
        fact = f"{word}: {HALVES} {better} than on these ({numbers})."
    elif instead:
        advice = LOOK_AT_SAMPLES if instead == "one_cloud" else _ways_to_see_one(matrix)
        stable = "stable" if code == "solid" else "partly stable"
        code, fact = instead, f"The clusters are {stable} ({numbers}), but {INSTEAD[instead]}."
    return Verdict(code, fact, measured, advice, grade=grade)


def _extent(agreement: float) -> str:
    """Return how far halves agree, a key of STABILITY; what is printed as 0.80 counts as 0.80."""
    shown = round(agreement, 2)
    return "solid" if shown >= SOLID else "in_part" if shown >= DOUBTFUL else "noise_like"


def _is_settled(agreement: Sequence[float]) -> bool:
    """Whether the first splits are of one mind, so that more of them would say the same."""
    return len(agreement) == FEW_SPLITS and len({_extent(value) for value in agreement}) == 1


def _verdict_on_copies(distinct: int, n_clusters: int) -> Verdict:
    """Return the verdict on clusters that outnumber the distinct samples, however halves agree."""
    fact = (
        "Doubtful: the table has only {distinct:#distinct sample}, so identical samples are in "
        "different clusters."
    )
    fewer = "try one cluster" if distinct == 1 else f"try at most {distinct} clusters"
    advice = Advice(fewer, "n_clusters", distinct)
    figures = {"n_clusters": n_clusters, "distinct": distinct}
    return Verdict("copies", fact, figures, (advice,), grade=Grade.DOUBTFUL)


def _ways_to_see_one(matrix: Array) -> tuple[Advice, ...]:
    """Return how to see whether samples are one cluster, by a way that missing values allow."""
    scale = (SCALE,) if differ_in_units(matrix) else ()
    auto, whole = "try <n_clusters='auto'>", ~np.isnan(matrix).any(axis=0)
    if np.mean(whole) < MOSTLY_WHOLE:
        return *scale, Advice("try other numbers of clusters, and compare")
    if not whole.all():
        auto += " on variables without missing values"
    return *scale, Advice(auto, "n_clusters", "auto")


def _ways_by_means(estimator: Estimator) -> tuple[Advice, ...]:
    """Return what to try if K-means agrees better."""
    affine = bool(getattr(estimator, "affine", False))
    by_means, before = "PSC({n_clusters}, n_components=0, affine=True)", "before you choose"
    options = "<n_clusters={n_clusters}> <affine=True> <n_components=0>"
    compare = Advice(
        f"compare with {by_means} {before}", command=f"compare with {options} {before}"
    )
    return (compare,) if affine else (Advice("try <affine=True>", "affine", True), compare)


def _finds_means(estimator: Estimator) -> bool:
    """Whether clusters are means by their making: of K-means, or affine of dimension 0."""
    if isinstance(estimator, KMeans | MiniBatchKMeans | BisectingKMeans):
        return True
    has_centres = bool(getattr(estimator, "affine", False))
    return has_centres and not np.any(getattr(estimator, "n_components", 1))


def _may_have_means(model: Any) -> bool:
    """Whether a fit that chose one cluster with axes could look for means instead."""
    return is_auto(getattr(model, "n_clusters", 1)) and bool(np.any(model.n_components_))


def _has_centres(model: Any) -> bool:
    """Whether the clusters of a fitted model have centres of their own, chosen or given."""
    return bool(getattr(model, "affine_", model.affine))


def means_or_directions(model: FittedClusterer, X: Data) -> MeansOrDirections:
    """Compare the labels of a model with those of K-means.

    K-means uses the same number of clusters and the same prepared samples as the model. If there
    are more than 2,000 samples, it uses 2,000 random ones with a fixed seed. The agreement by
    chance is the mean over random orders of the labels.

    Parameters
    ----------
    model : fitted clusterer, or Pipeline that ends in one
        A model with ``labels_``, for example a `recipes.Recipe`.
    X : array-like of shape (n, p)
        The data of ``fit``. Pass raw samples to a model that prepares them.

    Returns
    -------
    MeansOrDirections
        ``.agreement``, ``.by_chance``, ``.grade`` and ``.verdict``.

    Examples
    --------
    >>> from subspaces import PSC
    >>> from subspaces.datasets import make_subspaces
    >>> from subspaces.diagnostics import means_or_directions
    >>> union = make_subspaces([60, 80, 100], 40, [2, 2, 2], noise=0.1, random_state=0)
    >>> model = PSC(3, n_components=2, random_state=0).fit(union.data)
    >>> means_or_directions(model, union.data).verdict  # doctest: +NORMALIZE_WHITESPACE
    'K-means finds other clusters: only 39 % of the samples get the same label (37 % by chance).'
    """
    if isinstance(model, Pipeline):
        X, model = model[:-1].transform(X) if len(model) > 1 else X, model[-1]
    labels = getattr(model, "labels_", None)
    if labels is None:
        raise ParameterError(
            "model",
            f"{type(model).__name__} has no labels_. Pass a fitted clusterer, or a pipeline "
            "that ends in one.",
        )
    matrix, labels = samples_of(model, X).rows, np.asarray(labels)
    check_same_number(matrix, len(labels))
    if len(labels) > MOST_COMPARED:
        drawn = np.random.default_rng(0).choice(len(labels), MOST_COMPARED, replace=False)
        matrix, labels = matrix[drawn], labels[drawn]
    if (labels < 0).any():
        matrix, labels = matrix[labels >= 0], labels[labels >= 0]
    n_clusters = len(np.unique(labels))
    if n_clusters == 1:
        alone = ONE_CLUSTER_WITH_AXES if _may_have_means(model) else ONE_CLUSTER
        return MeansOrDirections(np.nan, np.nan, alone)
    k_means = KMeans(n_clusters, n_init=10, random_state=0)
    by_means = k_means_labels(Samples(model, matrix).completed, k_means)
    agreement = matched_accuracy(labels, by_means)
    if _finds_means(model):
        return MeansOrDirections(agreement, np.nan, _verdict_on_means(agreement))
    by_chance = _agreement_by_chance(labels, by_means)
    return MeansOrDirections(agreement, by_chance, verdict_on_directions(agreement, by_chance))


def _agreement_by_chance(labels: FittedLabels, others: FittedLabels) -> float:
    """Return the mean agreement of two partitions (n,), one of them in an order drawn anew."""
    random = np.random.default_rng(0)
    draws = (matched_accuracy(random.permutation(labels), others) for _ in range(DRAWS))
    return float(np.mean(list(draws)))


def verdict_on_directions(agreement: float, by_chance: float) -> Verdict:
    """Return whether K-means finds the clusters of a model that looks for directions."""
    same = "K-means gives the same label to {agreement:%} of the samples"
    figures = {"agreement": agreement, "by_chance": by_chance}
    if agreement == 1.0:
        fact = "K-means gives every sample the same label as this model."
        return Verdict("same_as_k_means", fact, figures, grade=Grade.SURE)
    if agreement - by_chance <= NEAR_CHANCE * (1.0 - by_chance):
        fact = (
            "K-means finds other clusters: only {agreement:%} of the samples get the same "
            "label ({by_chance:%} by chance)."
        )
        return Verdict("unlike_k_means", fact, figures, grade=Grade.NO)
    if agreement > BY_MEANS:
        compare = (Advice("compare both before you choose"),)
        return Verdict("near_k_means", f"{same}.", figures, compare, grade=Grade.SURE)
    fact = f"{same} ({{by_chance:%}} by chance)."
    return Verdict("partly_k_means", fact, figures, grade=Grade.DOUBTFUL)


def _verdict_on_means(agreement: float) -> Verdict:
    """Return whether K-means finds clusters that are means as its own are."""
    fact = (
        "Each cluster is just a mean, as in K-means, which gives the same label to "
        f"{'every sample' if agreement == 1.0 else '{agreement:%} of the samples'}."
    )
    grade = Grade.SURE if agreement > BY_MEANS else Grade.DOUBTFUL
    advice = () if grade is Grade.SURE else (Advice("try another number of clusters"),)
    return Verdict("means", fact, {"agreement": agreement}, advice, grade=grade)
