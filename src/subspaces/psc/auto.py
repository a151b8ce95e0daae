"""Fits of sparse loadings that choose what is "auto", and what choices are judged and doubted by.

All other numbers are chosen by `choice.choose`. What is chosen by is computed from `Clusters`,
whatever estimator found them, so that `subspaces.selection` chooses in the same way.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np

from subspaces._types import Array, Labels, Penalty
from subspaces.core.row_order import neighbours_depend
from subspaces.messages import Advice, ChoiceWarning, TrustWarning, use
from subspaces.pca.verdict import doubts_about_components
from subspaces.psc import choice, choosing
from subspaces.psc.candidates import Candidate
from subspaces.psc.dense import fit_dense
from subspaces.psc.result import Clusters, Fit
from subspaces.psc.settings import (
    Settings,
    is_auto,
    warn_of_unequal_dimensions,
)
from subspaces.runtime.warning import collect_warnings, doubt, warn
from subspaces.starts.screening import screen_variables
from subspaces.subspace import (
    principal_axes,
    squared_residual,
)

# Most rounds of a fit and a choice; the last choice is kept even if it would still change.
MAX_ROUNDS = 4
# The share of the data's energy below which a squared residual is rounding.
EXACT = 1e-18
# Excess kurtosis around the clusters. Clear unions with Gaussian noise stay below 0.3. Clusters
# found in heavy-tailed noise nearly always have more than 0.8 (benchmarks/noise_families.py).
HEAVY = 0.6
# Different values of most columns up to which they can look like clusters, if some are rare.
FEW_VALUES = 4
TEST = Advice(
    "call diagnostics.is_real(model, X) to test whether the clusters are real",
    "significance",
    command="run subspaces fit --significance to test whether the clusters are real",
)


class HasClusters(Protocol):
    """What is chosen from: a `Fit`, or a fitted estimator of `subspaces.selection`."""

    @property
    def clusters(self) -> Clusters:
        """The clusters that it found."""


C = TypeVar("C", bound=HasClusters)
# Fits anew, quietly, with some parameters changed.
FitWith = Callable[..., C]


def fit_sparse(X: Array, settings: Settings) -> Fit:
    """Return the fit of sparse loadings with the chosen numbers, its `selection` filled in.

    The number of clusters is chosen with open dimensions, since one for all may fit no cluster.
    """
    if is_auto(settings.n_clusters):
        chosen, selection = choice.choose(X, replace(settings, n_components="auto"))
        found = fit_one(X, replace(settings, n_clusters=chosen.n_clusters))
    else:
        found = fit_one(X, settings)
        alone = [Candidate(found.labels, tuple(found.clusters.dimensions), found.affine, 0.0)]
        selection = choice.table_of(alone, alone, None)
    asked = {"n_components": settings.n_components, "n_variables": settings.n_variables}
    numbers = [each["n_clusters"] for each in selection["answers"]]
    answers = [{"n_clusters": k, **asked} for k in numbers]
    return replace(found, selection={**selection, "answers": answers})


def quiet_fit(X: Array, settings: Settings, **changes: Any) -> Fit:
    """Return the fit with some settings changed; its warnings are dropped."""
    with collect_warnings():
        return fit_dense(X, replace(settings, **changes))


def fit_one(X: Array, settings: Settings) -> Fit:
    """Return the fit of given K, with dimensions and variables chosen if they are "auto"."""
    if not is_auto(settings.n_variables):
        return _with_dimensions(X, settings)
    candidates = choosing.variable_candidates(X.shape[1])
    m = min(first_guess_of_variables(X, int(settings.n_clusters)), X.shape[1])
    for _ in range(MAX_ROUNDS):
        found = _with_dimensions(X, replace(settings, n_variables=m))
        gaps = gap_table(found.clusters, X, candidates, settings.penalty)
        chosen = candidates[choosing.smallest_of_the_best(gaps)]
        if chosen == m:
            break
        m = chosen
    return found


def _with_dimensions(X: Array, settings: Settings) -> Fit:
    if not is_auto(settings.n_components):
        return quiet_fit(X, settings)
    return fit_dimensions(partial(quiet_fit, X, settings), X, settings, settings.max_components)


def fit_dimensions(fit_with: FitWith[C], X: Array, asked: Any, max_components: int) -> C:
    """Return a fit with chosen dimensions: fit and choose in turn until the choice repeats.

    fit_with(n_components=, init=): fits anew; asked: the settings or the estimator that asks.
    """
    found = fit_with(n_components=min(2, max_components))
    seen: set[tuple[int, ...]] = set()
    for _ in range(MAX_ROUNDS):
        dimensions = best_dimensions(found.clusters, X, asked, max_components)
        if dimensions == found.clusters.dimensions or tuple(dimensions) in seen:
            break
        seen.add(tuple(dimensions))
        starts = [asked.init, found.clusters.labels]
        fits = [fit_with(n_components=dimensions, init=start) for start in starts]
        found = min(fits, key=lambda candidate: press(candidate.clusters, X))
    return found


def best_dimensions(clusters: Clusters, X: Array, asked: Any, max_components: int) -> list[int]:
    """Return the dimension of each cluster, K integers: by PRESS if sparse, otherwise by noise.

    By noise it is at least 0 for a single cluster with a mean, otherwise 1. Without axes clusters
    differ in their means alone, which is another question.
    """
    variables = variables_per_cluster(asked, len(clusters.subspaces))
    affine, found = clusters.affine, []
    fewest = 0 if asked.n_clusters == 1 and affine else 1
    for rows, m in zip(clusters.members(X), variables, strict=True):
        most = choosing.largest_dimension(rows, max_components)
        if m is None:
            found.append(max(choosing.dimension_by_noise(rows, most, affine), fewest))
        else:
            values = choosing.dimension_by_press(rows, most, m, asked.penalty, affine)
            found.append(int(np.argmin(values)) + 1)
    return found


def variables_per_cluster(asked: Any, n_clusters: int) -> Sequence[int | None]:
    """Return the number of variables per loading of each cluster, K entries; None for all."""
    given: Any = getattr(asked, "n_variables", None)
    return [given] * n_clusters if np.ndim(given) == 0 else list(given)


# What candidates are compared by.


def closed_form_errors(clusters: Clusters, X: Array) -> Array:
    """Return each sample's squared leave-one-out error in its cluster, (n,), as in the paper."""
    errors = np.zeros(len(X))
    for k, rows in enumerate(clusters.members(X)):
        basis = clusters.subspaces[k].basis
        errors[clusters.labels == k] = choosing.closed_form_errors(rows, basis, clusters.affine)
    return errors


def press(clusters: Clusters, X: Array) -> float:
    """Return the PRESS of the paper: the mean over the clusters of their mean errors."""
    errors = closed_form_errors(clusters, X)
    return float(choosing.press_of_clusters(errors, clusters.labels).sum())


def likelihood(clusters: Clusters, X: Array) -> Array:
    """Return -log leave-one-out density of each sample under its cluster, (n,)."""
    return choosing.left_out_likelihood(X, clusters.labels, clusters.dimensions, clusters.affine)


def mean_residuals(clusters: Clusters, X: Array) -> float:
    """Return ``W_K``, the mean over the clusters of their members' mean squared residual."""
    subspaces = enumerate(clusters.subspaces)
    return float(
        np.mean([squared_residual(X[clusters.labels == k], f).mean() for k, f in subspaces])
    )


def residuals_of(clusters: Clusters, X: Array) -> Array:
    """Return what the subspace of its cluster leaves of each sample, (n, p)."""
    residuals = np.zeros_like(X)
    pairs = zip(clusters.members(X), clusters.subspaces, strict=True)
    for k, (rows, subspace) in enumerate(pairs):
        image = rows @ subspace.basis @ np.linalg.pinv(subspace.basis)
        residuals[clusters.labels == k] = rows - image
    return residuals


def _in_spreads(residuals: Array, labels: Labels) -> Array:
    """Return residuals (n, p) such that all clusters have the same spread along each variable.

    Pooled residuals of clusters that differ in spread have heavy tails, even if each is Gaussian.
    """
    even = residuals.copy()
    for k in np.unique(labels):
        own = residuals[labels == k]
        spread = own.std(axis=0)
        even[labels == k] = (own - own.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    return even * residuals.std(axis=0)


def first_guess_of_variables(X: Array, n_clusters: int) -> int:
    """Return the number of variables that stand out from noise, over K; at least 2."""
    centred = X - X.mean(axis=0)
    return max(len(screen_variables(centred, fewest=2)) // max(n_clusters, 1), 2)


def gap_table(clusters: Clusters, X: Array, candidates: Sequence[int], penalty: Penalty) -> Array:
    """Return the permutation gap of each number of variables, (m,), at given labels."""
    random = np.random.default_rng(0)
    return choosing.permutation_gap(
        clusters.members(X), clusters.dimensions, candidates, penalty, random
    )


def is_exact(clusters: Clusters, X: Array) -> bool:
    """Whether every sample lies on the subspace of its cluster, up to rounding."""
    worst = max(
        float(squared_residual(X[clusters.labels == k], subspace).max(initial=0.0))
        for k, subspace in enumerate(clusters.subspaces)
    )
    return worst <= EXACT * float(np.sum(X**2))


# What is doubtful about a choice.


def warn_of_choice(fit: Fit, X: Array, settings: Settings) -> None:
    """Warn of what is doubtful about chosen numbers; settings: as they were asked for."""
    n_clusters = len(fit.subspaces)
    if is_auto(settings.n_clusters) and n_clusters > 1:
        if n_clusters == min(settings.max_clusters, len(X) // 4):
            doubt(
                ChoiceWarning,
                "most_clusters",
                "{n_clusters} clusters is the largest number tried, so more may fit better.",
                *[Advice("increase <max_clusters>", "max_clusters")] * (n_clusters < len(X) // 4),
                *([] if is_auto(settings.n_components) else [use("n_components", "auto")]),
                n_clusters=n_clusters,
            )
        if not is_exact(fit.clusters, X):
            warn_of_what_passes_for_clusters(fit.clusters, X)
    if is_auto(settings.n_components):
        warn_of_largest_dimension(fit.clusters, X, settings.max_components)
        warn_of_unequal_dimensions(settings, fit.clusters.dimensions)


def warn_of_largest_dimension(clusters: Clusters, X: Array, max_components: int) -> None:
    """Warn of clusters of dimension ``max_components`` whose size and p allow for more."""
    dimensions = np.array(clusters.dimensions)
    sizes = clusters.partition.sizes
    most = np.minimum(X.shape[1], sizes - 2)
    reached = np.flatnonzero((dimensions >= max_components) & (most > max_components))
    if not len(reached) or is_exact(clusters, X):
        return
    which = "Cluster {clusters}" if len(reached) == 1 else "Clusters {clusters}"
    which = "All clusters" if len(reached) == len(sizes) > 1 else which
    doubt(
        ChoiceWarning,
        "most_components",
        f"{which} reached <max_components={{max_components}}>, so a larger dimension "
        "may fit better.",
        Advice("increase <max_components>", "max_components"),
        clusters=reached.tolist(),
        max_components=max_components,
    )


def warn_of_one_subspace(
    clusters: Clusters, X: Array, max_components: int, names: Sequence[str]
) -> None:
    """Warn of what is doubtful about the dimension of a single cluster, chosen by its noise.

    names (n,): of the samples.
    """
    if len(clusters.subspaces) > 1:
        return
    rows, affine = clusters.members(X)[0], clusters.affine
    most = choosing.largest_dimension(rows, max_components)
    found = choosing.components_of_members(rows, most, affine)
    if found is None:
        return
    if found.count == 0 and not affine:
        doubt(
            ChoiceWarning,
            "no_component",
            "No component is stronger than noise, so the axis of the cluster may just be noise.",
            Advice("use <affine=True> to allow dimension 0", "affine", True),
        )
    # `warn_of_largest_dimension` handles the largest dimension.
    for each in doubts_about_components(found, names, principal_axes(rows), more=False):
        warn(each)


def warn_of_what_passes_for_clusters(clusters: Clusters, X: Array) -> None:
    """Warn of several clusters if the table has what can look like clusters; one warning at most.

    That is samples which depend on their neighbours, columns of few values, or heavy tails.
    """
    n_clusters = len(clusters.subspaces)
    if n_clusters == 1:
        return
    residuals = residuals_of(clusters, X)
    kurtosis = choosing.excess_kurtosis(_in_spreads(residuals, clusters.labels))
    if neighbours_depend(residuals):
        doubt(
            TrustWarning,
            "neighbours_depend",
            "Neighbouring samples are alike, as in a time series or a sorted table, so the "
            "{n_clusters} clusters may just be stretches of neighbouring samples.",
            Advice("fit every third sample and see whether the clusters stay"),
            n_clusters=n_clusters,
        )
    elif choosing.values_of_columns(X) <= FEW_VALUES:
        doubt(
            TrustWarning,
            "few_levels",
            "Most variables have at most {levels} different values, which can look like clusters.",
            TEST,
            levels=FEW_VALUES,
            n_clusters=n_clusters,
        )
    elif kurtosis > HEAVY:
        doubt(
            TrustWarning,
            "heavy_tails",
            "The values are skewed, or some are far from all others, which can look like clusters.",
            TEST,
            kurtosis=kurtosis,
            n_clusters=n_clusters,
        )
