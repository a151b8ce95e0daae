"""What drives this PCA, how well it predicts, and how far to trust a clustering."""

from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state

from subspaces import progress
from subspaces._validation import as_choice, as_count, as_flag, as_matrix, as_real, check_squares
from subspaces.core import influence
from subspaces.core.hearing import hearing, warn
from subspaces.core.k_means import k_means_labels
from subspaces.core.leave_one_out import NEARLY_ALL, centred, exact_errors, graded_axes
from subspaces.core.secular import refit_factor
from subspaces.core.subspace import centre_of, leading, principal_axes
from subspaces.estimators import PSC, KSubspaces
from subspaces.estimators._choosing import is_rather_one
from subspaces.metrics import adjusted_rand_score, matched_accuracy, matched_labels

__all__ = [
    "MeansOrDirections",
    "PCAInfluence",
    "Press",
    "Stability",
    "ambiguity",
    "means_or_directions",
    "ols_press",
    "pca_influence",
    "pca_press",
    "stability",
]

Array = NDArray[np.floating]

# A sample more ambiguous than this sits between two clusters.
BETWEEN = 0.8
# K-means agreeing with more labels than this has found the same groups by their means.
BY_MEANS = 0.8
# K-means sees at most so many samples: enough for a share to within a few per cent.
MOST_COMPARED = 2000
# Over 36 expression sets clusterings of this stability and above had a mean adjusted Rand index of
# .79 with the known classes, those between the two .49, and those below .22.
SOLID, DOUBTFUL = 0.8, 0.5
# K-means must be ahead by so much to be called steadier; a smaller lead comes and goes with the
# splits.
STEADIER = 0.1
# A budget in seconds ends no earlier than after so many splits.
FEWEST_SPLITS = 3
# Halves that agree less than this look like chance, and nobody takes them for clusters.
CHANCE = 0.2
# So many samples tell whether one subspace describes them better than the clusters do.
ENOUGH = 2000


@dataclass(frozen=True)
class Press:
    """Predicted residual sum of squares, divided by the number of samples.

    Attributes
    ----------
    press : float
        Mean over the samples.
    per_sample : ndarray of shape (n,)
        Squared leave-one-out error of each sample.
    """

    press: float
    per_sample: Array


@dataclass(frozen=True)
class PCAInfluence:
    """What each sample does to one PCA.

    Attributes
    ----------
    leverage : ndarray of shape (n,)
        Share of the axes that the sample claims for itself, summed over the axes: 0 to R.
    loo_error : ndarray of shape (n,)
        Exact squared leave-one-out error: how badly the others predict this sample.
    influence : ndarray of shape (n,)
        Squared predictive influence, the measure of the paper.
    gradient : ndarray of shape (n, p)
        Exact gradient of half the squared leave-one-out error with respect to the sample.
    """

    leverage: Array
    loo_error: Array
    influence: Array
    gradient: Array


@dataclass(frozen=True)
class Stability:
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
        All that in a sentence or two: solid, doubtful or noise-like, and what to try.
    """

    stability: float
    per_resample: Array
    per_sample: Array
    k_means: float
    verdict: str


@dataclass(frozen=True)
class MeansOrDirections:
    """Whether K-means finds the same groups as a model.

    Attributes
    ----------
    agreement : float
        Share of the labels with which K-means agrees, clusters matched; nan for one cluster.
    verdict : str
        That in a sentence, which says so where the groups differ mostly in their means.
    """

    agreement: float
    verdict: str


def pca_press(X: Any, n_components: int, *, center: bool = False, method: str = "exact") -> Press:
    """Leave-one-out error of PCA from a single decomposition.

    Each sample is left out, a PCA of the others is fitted, and the sample is projected on it;
    the squared distance is its error. No second PCA is computed.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Samples in rows.
    n_components : int
        Number of axes, R.
    center : bool, default False
        Whether the PCA has a mean. If so, the mean is refitted without the sample too. To hold
        one mean fixed instead, pass ``X - X.mean(axis=0)`` with ``center=False``.
    method : {"exact", "hat", "paper"}, default "exact"
        "exact" solves the secular equation, and refits the few samples that claim nearly all of
        the axes: equal to refitting, to rounding (docs/reliability.md). "hat" divides the
        residual by one minus the summed leverage. "paper" is the closed form of the paper.
        "hat" and "paper" hold the axes nearly fixed, and are infinite for a sample of leverage 1.

    Returns
    -------
    Press
        ``.press``, the mean over the samples, and ``.per_sample``.

    Notes
    -----
    docs/derivations/press.md derives the three and reports how they compare. The error keeps
    falling with R, more slowly once the axes are noise: a sample's own values place it on the
    axes, so look for the bend, not for a minimum.

    References
    ----------
    B. McWilliams and G. Montana, "Subspace clustering of high-dimensional data: a predictive
    approach", Data Mining and Knowledge Discovery 28 (2014) 736-772, eq. pca_press.

    Examples
    --------
    >>> import numpy as np
    >>> from subspaces.diagnostics import pca_press
    >>> X = np.random.default_rng(0).normal(size=(50, 8)) @ np.diag([9, 6, 1, 1, 1, 1, 1, 1])
    >>> [round(pca_press(X, r).press, 2) for r in (1, 2, 3)]
    [40.86, 6.89, 5.45]
    """
    X = as_matrix(X)
    check_squares(X)
    method = as_choice(method, "method", ("exact", "hat", "paper"))
    n_components = _check_components(n_components, X, center)
    errors = _errors(X, n_components, bool(center), method)
    return Press(float(errors.mean()), errors)


def pca_influence(X: Any, n_components: int, *, center: bool = False) -> PCAInfluence:
    """Find the samples that drive a PCA: leverage, leave-one-out error, influence, gradient.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Samples in rows.
    n_components : int
        Number of axes, R.
    center : bool, default False
        Whether the PCA has a mean. It is refitted without the sample for ``loo_error`` and held
        fixed for the other three.

    Returns
    -------
    PCAInfluence
        ``.leverage``, ``.loo_error``, ``.influence`` (each of shape (n,)) and ``.gradient`` of
        shape (n, p). Influence and gradient are infinite for the only sample along an axis.

    Notes
    -----
    The influence is what the paper prints as the gradient of the PRESS. It is not quite that
    (docs/errata.md); ``gradient`` is.

    Examples
    --------
    >>> import numpy as np
    >>> from subspaces.diagnostics import pca_influence
    >>> X = np.random.default_rng(0).normal(size=(50, 8))
    >>> X[17] *= 6
    >>> int(pca_influence(X, 2).loo_error.argmax())
    17
    """
    X = as_matrix(X)
    check_squares(X)
    n_components = _check_components(n_components, X, center)
    axes = graded_axes(centred(X, bool(center)))
    scores, squared_residual, spectrum = axes.split(n_components)
    return PCAInfluence(
        leverage=influence.leverage(scores, spectrum).sum(axis=1),
        loo_error=exact_errors(X, n_components, bool(center)),
        influence=influence.squared_influence(scores, squared_residual, spectrum),
        gradient=influence.gradient(X, leading(centre_of(X, bool(center)), axes, n_components)),
    )


def stability(
    estimator: Any,
    X: Any,
    *,
    n_resamples: int = 10,
    budget_s: float | None = None,
    random_state: Any = None,
) -> Stability:
    """Would the same clusters be found in other samples?

    The samples are split at random into two halves; a model fitted to each half predicts all
    samples, and the two sets of labels are compared. Independent noise does not agree. Correlated
    variables and columns of unequal scale can make halves agree without any clusters: a warning
    says so where one subspace describes the samples better than the clusters of either half do
    (`PSC` and `KSubspaces`).

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
        ``.stability``, the mean adjusted Rand index: 1 is perfect, 0 chance; ``.per_resample``;
        ``.per_sample``, how often the two halves agree on a sample; ``.k_means``; ``.verdict``, a
        sentence.

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
    matrix = _as_seen(estimator, X, min_samples=4)
    n_resamples = as_count(n_resamples, "n_resamples", low=1)
    budget = np.inf if budget_s is None else as_real(budget_s, "budget_s", low=0.0)
    random, began = check_random_state(random_state), monotonic()
    agreement: list[float] = []
    by_means: list[float] = []
    same = np.zeros(len(matrix))
    n_clusters = 1
    while len(agreement) < n_resamples:
        done = len(agreement)
        if done >= FEWEST_SPLITS and monotonic() - began >= budget:
            break
        progress.tell(progress.Step("halving", done, n_resamples, f"split {done + 1}"))
        halves = np.array_split(random.permutation(len(matrix)), 2)
        with hearing():
            models = [clone(estimator).fit(matrix[half]) for half in halves]
        one, other = (np.asarray(model.predict(matrix)) for model in models)
        agreement.append(adjusted_rand_score(one, other))
        same += matched_labels(one, other) == one
        n_clusters = int(max(one.max(), other.max())) + 1
        by_means.append(adjusted_rand_score(*_k_means_of_halves(matrix, halves, n_clusters)))
    mean, k_means = float(np.mean(agreement)), float(np.mean(by_means))
    if mean > CHANCE and isinstance(estimator, PSC | KSubspaces):
        some = np.concatenate(halves)[:ENOUGH]
        pairs = zip(models, (one[some], other[some]), strict=True)
        _warn_of_one_subspace([is_rather_one(*pair, matrix[some]) for pair in pairs])
    verdict = _stability_in_words(mean, len(agreement), k_means, n_clusters)
    return Stability(mean, np.array(agreement), same / len(agreement), k_means, verdict)


def _as_seen(model: Any, X: Any, *, min_samples: int = 1) -> Array:
    """The samples as the clusters see them: a model with a preparation was fitted to such."""
    if hasattr(model, "preparation_"):
        prepared: Array = model._prepared(X, min_samples=min_samples)
        return prepared
    return as_matrix(X, min_samples=min_samples)


def _k_means_of_halves(matrix: Array, halves: Sequence[Any], n_clusters: int) -> list[Any]:
    """The labels that K-means of each half gives all samples; of a long half it sees a part."""
    found = []
    for half in halves:
        rows = matrix[half[:MOST_COMPARED]]
        lloyd = KMeans(min(n_clusters, len(rows)), n_init=10, random_state=0)
        k_means_labels(rows, lloyd)
        found.append(lloyd.predict(matrix))
    return found


def _stability_in_words(mean: float, splits: int, k_means: float, n_clusters: int) -> str:
    if n_clusters == 1:
        return "There is one cluster, and two halves of the samples cannot disagree about it."
    times = "1 halving" if splits == 1 else f"{splits} halvings"
    measured = f"agreement {mean:.2f} over {times}; 1 is perfect, 0 is chance"
    halves = "models of two random halves of the samples"
    shown = round(mean, 2)  # what is printed as 0.80 is judged as 0.80
    if shown >= SOLID:
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
    if k_means > mean + STEADIER:
        advice = (
            f" K-means is steadier on the same halves ({k_means:.2f}), so the groups may differ in "
            "their means, or the variables in their scales. Try K-means, and scaled variables."
        )
    return words + advice


def means_or_directions(model: Any, X: Any) -> MeansOrDirections:
    """Does K-means find the same groups? Then they differ mostly in their means.

    K-means with as many clusters sees the samples as the model does, after its preparation; of
    more than 2,000 samples, 2,000 drawn with a fixed seed.

    Parameters
    ----------
    model : fitted clusterer
        With ``labels_``.
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
    >>> means_or_directions(model, union.data).verdict
    'K-means agrees with 39 % of these labels.'
    """
    labels = getattr(model, "labels_", None)
    if labels is None:
        raise ValueError(
            f"{type(model).__name__} has no labels_. Use a fitted clusterer; of a pipeline, its "
            "last step and the samples as that step sees them"
        )
    matrix, labels = _as_seen(model, X), np.asarray(labels)
    if len(matrix) != len(labels):
        raise ValueError(
            f"X has {len(matrix)} samples, and the model was fitted to {len(labels)}. Use the data "
            "of fit"
        )
    if len(labels) > MOST_COMPARED:
        drawn = np.random.default_rng(0).choice(len(labels), MOST_COMPARED, replace=False)
        matrix, labels = matrix[drawn], labels[drawn]
    n_clusters = len(np.unique(labels))
    if n_clusters == 1:
        return MeansOrDirections(
            np.nan,
            "There is one cluster by its directions; groups may still differ in their means. Use "
            "K-means, or n_components=0 with affine=True, to look for those.",
        )
    lloyd = KMeans(n_clusters, n_init=10, random_state=0)
    agreement = matched_accuracy(labels, k_means_labels(matrix, lloyd))
    so = ": these groups differ mostly in their means" if agreement > BY_MEANS else ""
    return MeansOrDirections(
        agreement, f"K-means agrees with {100 * agreement:.0f} % of these labels{so}."
    )


def _warn_of_one_subspace(rather_one: list[bool]) -> None:
    if all(rather_one):
        warn(
            "one subspace describes the samples better than these clusters do, so that what agrees "
            "may be due to variables that are correlated or differ in scale. Use scaled variables, "
            "and PSC('auto') to see whether one cluster is chosen",
            above=3,
        )


def ambiguity(model: Any, X: Any) -> Array:
    """How nearly each sample sits between two clusters: 0 clearly in one, 1 exactly between.

    The best score under a cluster over the second best; for a likelihood, the ratio of the two
    densities. It tells samples apart, not good clusterings from bad ones: over 36 data sets the
    share above 0.8 had a rank correlation of .02 with the accuracy. Use `stability` for that.

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


def ols_press(X: Any, y: Any) -> Press:
    """Leave-one-out error of ordinary least squares from a single fit.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Covariates. No intercept is added; append a column of ones for one.
    y : array-like of shape (n,)
        Response.

    Returns
    -------
    Press
        ``.press``, the mean over the samples, and ``.per_sample``: ``(y - X beta)^2/(1 - h)^2``.

    Examples
    --------
    >>> import numpy as np
    >>> from subspaces.diagnostics import ols_press
    >>> ols_press([[1.0], [2.0], [3.0]], [1.0, 2.0, 4.0]).per_sample.round(4)
    array([0.0533, 0.36  , 1.    ])
    """
    X = as_matrix(X)
    if np.ndim(y) != 1:
        raise ValueError(f"y has {np.ndim(y)} dimensions; one value for each row of X is needed")
    response = as_matrix(np.reshape(y, (-1, 1)), "y", min_samples=0)[:, 0]
    check_squares(X)
    check_squares(response, "y")
    if len(response) != len(X):
        raise ValueError(
            f"y has {len(response)} values for {len(X)} rows of X; one a row is needed"
        )
    axes = principal_axes(X)
    left = axes.coordinates / np.sqrt(axes.eigenvalues)
    leverage = np.einsum("ij,ij->i", left, left)
    claiming = np.flatnonzero(leverage > NEARLY_ALL)
    share = 1.0 - np.where(leverage > NEARLY_ALL, 0.0, leverage)
    errors = ((response - left @ (left.T @ response)) / share) ** 2
    # 1 - h has lost its digits there; the leverages sum to the rank, so such rows are few.
    for i in claiming.tolist():
        errors[i] = _refitted_regression_error(X, response, i, axes.rank)
    return Press(float(errors.mean()), errors)


def _refitted_regression_error(X: Array, response: Array, i: int, rank: int) -> float:
    """Squared error of row i under the regression of the others, which must span as much."""
    others = np.delete(X, i, axis=0)
    axes = principal_axes(others)
    if axes.rank < rank:
        raise ValueError(
            f"row {i} of X has leverage 1: without it the other {len(others)} rows do not "
            "determine its prediction. Use more rows or fewer variables"
        )
    along = axes.coordinates.T @ np.delete(response, i) / axes.eigenvalues
    return float((response[i] - X[i] @ axes.basis @ along) ** 2)


def _check_components(n_components: int, X: Array, center: bool) -> int:
    n, p = X.shape
    limit = min(n - 1 - as_flag(center, "center"), p)
    why = f" for {n} samples x {p} variables with one sample left out and center={bool(center)}"
    return as_count(n_components, "n_components", low=0, high=limit, why=why)


def _errors(X: Array, n_components: int, center: bool, method: str) -> Array:
    """Squared leave-one-out errors of one of three grades, the mean refitted without the sample."""
    if method == "exact":
        return exact_errors(X, n_components, center)
    axes = graded_axes(centred(X, center))
    scores, squared_residual, spectrum = axes.split(n_components)
    if method == "hat":
        return influence.hat_errors(scores, squared_residual, spectrum, center)
    f = refit_factor(len(X), center)
    return f * influence.paper_errors(np.sqrt(f) * scores, f * squared_residual, spectrum)
