"""How sure a label is: probabilities shrunk by the agreement of halves, and sets of labels.

A density cannot see that the partition itself is wrong. Two models of random halves of the samples
can: they agree on the share s of the labels. If each is right with the probability a and wrong
labels are spread evenly over the other K - 1 clusters,

    s = a^2 + (1 - a)^2 / (K - 1),        so        a = (1 + sqrt((K - 1) (K s - 1))) / K.

The probabilities are shrunk towards 1/K until their mean is a: ``p <- 1/K + g (p - 1/K)``.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from subspaces._types import Array, Codes, Data, Indices, Mask, Seed
from subspaces.diagnostics._trust import (
    TRY,
    absent_in_a_half,
    check_same_number,
    for_halves,
    weights_of,
)
from subspaces.estimators import PSC, KSubspaces
from subspaces.facts import Samples, check_variables, samples_of
from subspaces.halving import SOLID, Half, learned, random_halves
from subspaces.messages import Grade, ParameterError, Verdict
from subspaces.metrics import owners
from subspaces.psc.probabilities import with_largest
from subspaces.runtime.parameters import as_count, as_real
from subspaces.runtime.result import WithVerdict

# Share of the labels on which halves agree below which the partition is in doubt. Above it the
# probabilities of random unions had a calibration error of 0.02 (benchmarks/calibration.py).
IN_DOUBT = 0.7
# Share of a sum of weights that is rounding.
ROUNDING = 1e-12
# Random splits behind `label_sets`: four fits to halves take about as long as two to all samples.
SPLITS = 2


@dataclass(frozen=True, repr=False)
class LabelConfidence(WithVerdict):
    """How sure the labels are, if the clusters themselves can be wrong.

    Attributes
    ----------
    probabilities : ndarray of shape (n, n_clusters)
        Probability of each cluster for each sample, lowered. The label stays the most probable
        cluster.
    agreement : float
        Share of the samples that get the same label from the models of both halves.
    shrinkage : float
        How much the probabilities keep of their difference from equal ones: 0 is nothing, 1 is all.
    conclusion : Verdict
        The verdict as a value. Its ``grade`` is:

        - SURE: the halves agree on at least 80 % of the labels.
        - DOUBTFUL: they agree on 70 to 80 %.
        - NO: they agree on fewer.
        - UNKNOWN: there is one cluster.
    """

    probabilities: Array
    agreement: float
    shrinkage: float
    conclusion: Verdict

    def shrink(self, probabilities: Array) -> Array:
        """Lower the probabilities of other samples, for example ``predict_proba`` of new ones.

        Parameters
        ----------
        probabilities : ndarray of shape (m, n_clusters)
            Probabilities from the model.

        Returns
        -------
        ndarray of shape (m, n_clusters)
            Lower probabilities. The most probable cluster of each sample stays the same.
        """
        return _shrunk(probabilities, self.shrinkage, probabilities.argmax(axis=1))


def label_confidence(
    model: PSC | KSubspaces, X: Data, n_splits: int = 2, random_state: Seed = None
) -> LabelConfidence:
    """Measure how sure the labels of a model are, from two halves of the samples.

    The probabilities of a model assume that its clusters are right. This function fits models to
    random halves of the samples, and lets them label all samples. The more these models disagree,
    the more it lowers the probabilities. If the model was fitted with weights, the halves use them
    too.

    Parameters
    ----------
    model : fitted PSC or KSubspaces
        The model. Halves use the numbers that it chose for "auto".
    X : array-like of shape (n, p)
        The data of ``fit``.
    n_splits : int, default 2
        Number of random splits. Each takes two fits to half of the samples.
    random_state : int, RandomState or None
        Seed of the splits.

    Returns
    -------
    LabelConfidence
        ``.probabilities``, ``.agreement``, ``.shrinkage``, ``.grade``, ``.verdict``, and
        ``.shrink`` for the probabilities of new samples.

    Examples
    --------
    >>> from subspaces import PSC
    >>> from subspaces.datasets import make_scenario
    >>> from subspaces.diagnostics import label_confidence
    >>> planes = make_scenario("c", noise=0.02, n_features=20, random_state=0)
    >>> model = PSC(2, n_components=2, n_init=3, random_state=0).fit(planes.data)
    >>> found = label_confidence(model, planes.data, random_state=0)
    >>> print(f"{found.grade}: halves agree on {found.agreement:.0%} of the labels")
    sure: halves agree on 100% of the labels
    """
    rows, labels, p = _of_fit(model, X)
    n_splits = as_count(n_splits, "n_splits", low=1)
    n_clusters = p.shape[1]
    if n_clusters == 1:
        alone = Verdict("one_cluster", "There is only one cluster, so every label is certain.")
        return LabelConfidence(p, 1.0, 1.0, alone)
    weights, counted = weights_of(model, rows)
    weights = None if weights is None else weights[counted]
    same = []
    for halves in _splits(model, rows, labels, n_splits, random_state):
        first, second = (half.labels[counted] for half in halves)
        same.append(np.average(second == first, weights=weights))
    agreement = float(np.mean(same))
    right = (1.0 + np.sqrt(max((n_clusters - 1) * (n_clusters * agreement - 1), 0.0))) / n_clusters
    claimed = float(np.average(p[counted].max(axis=1), weights=weights)) - 1.0 / n_clusters
    kept = float(np.clip((right - 1.0 / n_clusters) / max(claimed, np.finfo(float).tiny), 0.0, 1.0))
    return LabelConfidence(_shrunk(p, kept, labels), agreement, kept, _verdict(agreement, n_splits))


def label_sets(
    model: PSC | KSubspaces, X: Data, coverage: float = 0.9, *, random_state: Seed = None
) -> Mask:
    """Find the clusters that are possible for each sample.

    Suppose that you fit the model to other, independent samples. The set of a sample contains the
    label that this fit gives it, with probability ``coverage``. The sets come from split conformal
    prediction with two halves of the samples.

    Parameters
    ----------
    model : fitted PSC or KSubspaces
        The model. Halves use its weights, and the numbers that it chose for "auto".
    X : array-like of shape (n, p)
        The data of ``fit``.
    coverage : float, default 0.9
        Share of the samples whose set contains the other label, between 0 and 1.
    random_state : int, RandomState or None
        Seed of the splits.

    Returns
    -------
    ndarray of bool of shape (n, n_clusters)
        Whether each cluster is possible for each sample. The label always is. An outlier has no
        possible cluster.

    References
    ----------
    A. N. Angelopoulos and S. Bates, "Conformal prediction: a gentle introduction", Foundations and
    Trends in Machine Learning 16 (2023) 494-591.

    Examples
    --------
    >>> from subspaces import PSC
    >>> from subspaces.datasets import make_scenario
    >>> from subspaces.diagnostics import label_sets
    >>> planes = make_scenario("c", noise=0.02, n_features=20, random_state=0)
    >>> model = PSC(2, n_components=2, n_init=3, random_state=0).fit(planes.data)
    >>> int(label_sets(model, planes.data, random_state=0).sum(axis=1).max())
    1
    """
    coverage = as_real(coverage, "coverage", above=True, high=1.0, below=True)
    rows, labels, p = _of_fit(model, X)
    found = np.arange(p.shape[1]) == labels[:, None]
    if p.shape[1] == 1:
        return found
    weights, counted = weights_of(model, rows)
    counts = np.ones(len(rows)) if weights is None else weights
    improbable, own = [], []
    for first, second in _splits(model, rows, labels, SPLITS, random_state):
        for half, other in ((first, second), (second, first)):
            given = other.labels[half.samples]
            improbable.append(1.0 - half.probabilities[np.arange(len(given)), given])
            own.append(counts[half.samples])
    total = float(counts[counted].sum())
    bound = _bound(np.concatenate(improbable), np.concatenate(own), total, coverage)
    return found | ((1.0 - p <= bound) & (labels >= 0)[:, None])


def _bound(scores: Array, weights: Array, n: float, coverage: float) -> float:
    """Return the conformal bound of scores with weights (m,); infinite if n count too little.

    The m scores are those of samples which count n in all, several times.
    """
    order, level = np.argsort(scores), ceil((n + 1) * coverage) / n
    reached = np.cumsum(weights[order])
    if level > 1.0:
        return np.inf
    place = np.searchsorted(reached, level * reached[-1] * (1.0 - ROUNDING))
    return float(scores[order][place])


@dataclass(frozen=True)
class MatchedHalf:
    """The model of one half, its clusters matched with those of the model of all samples.

    samples (m,): places of its members; labels (n,): that it gives to all samples; probabilities
    (m, K): of its members, left out.
    """

    samples: Indices
    labels: Codes
    probabilities: Array


def _splits(
    model: Any, rows: Array, labels: Codes, n_splits: int, random_state: Seed
) -> Iterator[tuple[MatchedHalf, MatchedHalf]]:
    """Yield the models of two random halves of the rows, once per split."""
    estimator, (weights, counted) = for_halves(model), weights_of(model, rows)
    for halves in random_halves(counted, n_splits, check_random_state(random_state)):
        absent = absent_in_a_half(rows, halves)
        seen = rows[:, ~absent] if absent.any() else rows
        first, second = (
            _matched(learned(estimator, seen, half, weights=weights)[0], half, labels)
            for half in halves
        )
        yield first, second


def _matched(found: Half, half: Indices, labels: Codes) -> MatchedHalf:
    """Return what a half found in terms of the labels (n,) of the model of all samples."""
    owner = owners(labels, found.labels, len(found.model.subspaces_))
    own = Samples(found.model, found.points[half]).probabilities
    return MatchedHalf(half, owner[found.labels], own[:, np.argsort(owner)])


def _of_fit(model: Any, X: Data) -> tuple[Array, Codes, Array]:
    """Return the rows of fit, their labels and their probabilities; refuse other rows."""
    if not isinstance(model, PSC | KSubspaces):
        fact = f"This function works for PSC and KSubspaces, not for {type(model).__name__}."
        raise ParameterError("model", fact)
    check_variables(model, X)
    samples, labels = samples_of(model, X, min_samples=4), np.asarray(model.labels_)
    check_same_number(samples.rows, len(labels))
    return samples.rows, labels, samples.probabilities


def _shrunk(probabilities: Array, kept: float, labels: Codes) -> Array:
    """Return ``1/K + g (p - 1/K)``, (n, K), in which the label stays the most probable one."""
    equal = 1.0 / probabilities.shape[1]
    return with_largest(equal + kept * (probabilities - equal), labels)


def _verdict(agreement: float, n_splits: int) -> Verdict:
    figures = {"agreement": agreement, "splits": n_splits}
    agree = "Clusters found in two halves of the samples agree on {agreement:%} of the labels"
    if agreement < IN_DOUBT:
        doubt = f"{agree}, so the clusters themselves are doubtful."
        return Verdict("in_doubt", doubt, figures, TRY, grade=Grade.NO)
    if agreement < SOLID:
        part = f"{agree}. Expect errors of about 0.1 in the probabilities."
        return Verdict("in_part", part, figures, grade=Grade.DOUBTFUL)
    return Verdict(
        "sure", f"{agree}, so you can trust the probabilities.", figures, grade=Grade.SURE
    )
