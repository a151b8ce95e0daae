"""Fits of sparse loadings that choose what is "auto", and what choices are judged and doubted by.

Without `n_variables` the numbers are chosen by `choice.choose`. What is chosen by is computed from
`Clusters`, whatever estimator found them, so that `subspaces.selection` chooses in the same way.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

import numpy as np

from subspaces._types import Array, DimensionsCriterion, Indices, Penalty
from subspaces.core.loop import alternate
from subspaces.core.row_order import neighbours_depend
from subspaces.core.search import first_partition
from subspaces.data.in_view import RowsInView, RowsOfUnknownDimension
from subspaces.messages import Advice, ChoiceWarning, TrustWarning, Verdict, use
from subspaces.pca.verdict import doubts_about_components
from subspaces.progress import Step
from subspaces.psc import choosing
from subspaces.psc.best_partition import seeded_starts
from subspaces.psc.dense import fit_dense
from subspaces.psc.result import Clusters, Fit
from subspaces.psc.settings import (
    Settings,
    is_auto,
    pose,
    warn_of_unequal_dimensions,
)
from subspaces.runtime.warning import collect_warnings, doubt, warn
from subspaces.starts.screening import screen_variables
from subspaces.subspace import (
    centre_of,
    principal_axes,
    squared_residual,
)

# Most rounds of a fit and a choice; the last choice is kept even if it would still change.
MAX_ROUNDS = 4
# The share of the data's energy below which a squared residual is rounding.
EXACT = 1e-18
# Excess kurtosis around the clusters. Clear unions with Gaussian noise stay below 0.3. Clusters
# found in heavy-tailed noise have 0.6 or more (benchmarks/noise_families.py).
HEAVY = 0.6
# Different values of most columns up to which they can look like clusters, if some are rare.
FEW_VALUES = 4


class Candidate(Protocol):
    """What is chosen from: a `Fit`, or a fitted estimator of `subspaces.selection`."""

    @property
    def clusters(self) -> Clusters:
        """The clusters that it found."""


C = TypeVar("C", bound=Candidate)
# Fits anew, quietly, with some parameters changed.
FitWith = Callable[..., C]


def fit_automatic(X: Array, settings: Settings) -> Fit:
    """Return the fit of sparse loadings with the chosen numbers, its `selection` filled in.

    With ``n_clusters="auto"`` the candidates are 1 to ``max_clusters``, but at most n // 4.
    """
    most = min(settings.max_clusters, max(len(X) // 4, 1))
    given = settings.n_clusters
    candidates = range(1, most + 1) if is_auto(given) else [int(given)]
    free = len(candidates) > 1 and learns_beside(settings)
    fits: list[Fit] = []
    for n_clusters in candidates:
        posed = replace(settings, n_clusters=n_clusters)
        fits.append(_free(X, posed) if free else fit_one(X, posed))
        settings.tell(Step("candidate", len(fits), len(candidates), f"{n_clusters} clusters"))
    table = selection_table(fits, X)
    best = fits[int(np.argmin(table["likelihood"]))]
    if free:
        best = fit_one(X, replace(settings, n_clusters=len(best.subspaces)))
    return replace(best, selection=table)


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
    most = settings.max_components

    def fit_with(**changes: Any) -> Fit:
        return quiet_fit(X, settings, **changes)

    return fit_dimensions(fit_with, X, settings, most, "press")


def fit_learned(X: Array, settings: Settings) -> Fit:
    """Return the fit with ``n_components="auto"``, whatever dimension was given."""
    most = max(settings.max_components, int(np.max(np.asarray(settings.n_components))))
    return fit_one(X, replace(settings, n_components="auto", max_components=most))


def _free(X: Array, settings: Settings) -> Fit:
    """Return the likelier of two fits: with the given dimension, and with learned ones."""
    return likelier(fit_one(X, settings), fit_learned(X, settings), X)


def likelier(given: C, learned: C, X: Array) -> C:
    """Return the candidate of larger leave-one-out likelihood; both have the same K."""
    return min((given, learned), key=lambda candidate: likelihood(candidate.clusters, X).sum())


def learns_beside(settings: "Settings | HasLoadings") -> bool:
    """Whether numbers of clusters are compared by the better of two fits each.

    With sparse loadings of given dimension: one dimension for all clusters may fit none of them,
    so that a fit with learned ones is made, too.
    """
    sparse = getattr(settings, "n_variables", None) is not None
    return sparse and not is_auto(settings.n_components)


class HasLoadings(Protocol):
    """An estimator with dimensions, and perhaps ``n_variables``."""

    n_components: Any


def fit_dimensions(
    fit_with: FitWith[C], X: Array, asked: Any, max_components: int, method: DimensionsCriterion
) -> C:
    """Return a fit with chosen dimensions: fit and choose in turn until the choice repeats.

    fit_with(n_components=, init=): fits anew; asked: the settings or the estimator that asks;
    method: the rule of `best_dimensions`.
    """
    found = fit_with(n_components=min(2, max_components))
    seen: set[tuple[int, ...]] = set()
    for _ in range(MAX_ROUNDS):
        dimensions = best_dimensions(found.clusters, X, asked, max_components, method)
        if dimensions == found.clusters.dimensions or tuple(dimensions) in seen:
            break
        seen.add(tuple(dimensions))
        starts = [asked.init, found.clusters.labels]
        fits = [fit_with(n_components=dimensions, init=start) for start in starts]
        found = min(fits, key=lambda candidate: press(candidate.clusters, X))
    return found


def best_dimensions(
    clusters: Clusters,
    X: Array,
    asked: Any,
    max_components: int,
    method: DimensionsCriterion,
) -> list[int]:
    """Return the dimension that a rule chooses for each cluster, K integers.

    method: "press" or "noise", as in `selection.select_n_components`.
    """
    variables = variables_per_cluster(asked, len(clusters.subspaces))
    penalty: Penalty = getattr(asked, "penalty", "l1")
    found = [
        choosing.dimension_of_members(rows, clusters.affine, max_components, method, m, penalty)
        for rows, m in zip(clusters.members(X), variables, strict=True)
    ]
    return [max(r, fewest_dimensions(asked)) for r in found]


def fewest_dimensions(asked: Any) -> int:
    """Return the smallest dimension to choose: 0 for a single cluster with a mean, otherwise 1.

    Without axes clusters differ in their means alone, which is another question; a subspace through
    the origin, and sparse loadings, have one axis at least.
    """
    sparse = getattr(asked, "n_variables", None) is not None
    return 0 if asked.n_clusters == 1 and asked.affine and not sparse else 1


def variables_per_cluster(asked: Any, n_clusters: int) -> Sequence[int | None]:
    """Return the number of variables per loading of each cluster, K entries; None for all."""
    given: Any = getattr(asked, "n_variables", None)
    return [given] * n_clusters if np.ndim(given) == 0 else list(given)


def fit_jointly(fit_with: FitWith[C], X: Array, settings: Settings, max_components: int) -> C:
    """Return the fit of the paper's joint scheme, which chooses dimensions at every sweep.

    The choice is by PRESS with sparse loadings. Without them PRESS would take the largest
    dimension, and the noise edge decides. From the labels and dimensions that each start ends in,
    a fit with these dimensions held goes on; the fit with the least PRESS is returned.
    """
    settings = replace(settings, n_components=min(2, max_components))
    problem = pose(settings, X)
    starts, seeds = seeded_starts(X, problem, settings)
    method: DimensionsCriterion = "noise" if problem.sparsity is None else "press"
    affine, variables = problem.affine, problem.allowed_variables

    def dimension_of(k: int, members: Indices) -> int:
        rows = X[members] - centre_of(X[members], affine)
        found = choosing.dimension_of_members(
            rows, affine, max_components, method, variables[k], settings.penalty
        )
        return max(found, fewest_dimensions(settings))

    fits = []
    for (_, start), seed in zip(starts, seeds, strict=True):
        random = np.random.default_rng(seed)
        first = first_partition(RowsInView(problem), start, random)
        samples = RowsOfUnknownDimension(problem, dimension_of)
        found = alternate(samples, first, max_iter=settings.max_iter, random=random)
        fits.append(fit_with(n_components=list(found.subspaces), init=found.labels))
    return min(fits, key=lambda candidate: press(candidate.clusters, X))


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


def compared_likelihoods(candidates: Sequence[Clusters], X: Array) -> tuple[Array, int | None]:
    """Return -log leave-one-out density of each sample by each candidate, (m, n); a dimension.

    If the first has one cluster, one subspace is compared with the best candidate of several
    clusters by `choosing.against_one_subspace`. The first row is then the row of that best one
    plus the difference found, and the dimension is that of the one subspace, or None if it is
    not larger than the first candidate's. Otherwise the dimension is None.
    """
    shares = np.array([likelihood(clusters, X) for clusters in candidates])
    one = candidates[0]
    if len(candidates) == 1 or len(one.subspaces) > 1:
        return shares, None
    totals = shares[1:].sum(axis=1)
    rival = 1 + int(np.argmin(np.where(np.isfinite(totals), totals, np.inf)))
    labels, dimensions = candidates[rival].labels, candidates[rival].dimensions
    own = one.dimensions[0]
    tried = range(own, max(sum(dimensions), own) + 1)
    worse, dimension = choosing.against_one_subspace(X, labels, dimensions, one.affine, tried)
    shares[0] = shares[rival] + worse
    return shares, dimension if dimension > own else None


def selection_table(fits: Sequence[Fit], X: Array) -> dict[str, Any]:
    """Return ``selection_`` of `PSC`, a dict with one list entry per fit, verdict and grade.

    The lists are K, likelihoods, dimensions, differences from the best and standard errors.
    """
    candidates = [fit.clusters for fit in fits]
    numbers = [len(clusters.subspaces) for clusters in candidates]
    shares, dimension = compared_likelihoods(candidates, X)
    behind, errors = choosing.differences(shares)
    return {
        "n_clusters": numbers,
        "likelihood": shares.sum(axis=1).tolist(),
        "n_components": [clusters.dimensions for clusters in candidates],
        "difference": behind.tolist(),
        "standard_error": errors.tolist(),
        **_in_words(choosing.verdict_on_clusters(numbers, behind, errors, dimension)),
    }


def _in_words(verdict: Verdict) -> dict[str, str]:
    return {"verdict": str(verdict), "grade": verdict.grade.value}


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


def cuts_a_continuum(clusters: Clusters, X: Array) -> bool:
    """Whether clusters that are mean profiles may be parts of one cloud without gaps.

    K centres span K - 1 directions. If one subspace of up to so many dimensions is as likely, up to
    two standard errors, the samples vary along them without lying near any of the centres. False
    if clusters have axes, or are too small.
    """
    k = len(clusters.subspaces)
    sizes = clusters.partition.sizes
    if k == 1 or not clusters.affine or any(clusters.dimensions) or np.any(sizes < 2):
        return False
    worse, _ = choosing.against_one_subspace(X, clusters.labels, [0] * k, True, range(k))
    worse = worse[clusters.labels >= 0]
    return bool(worse.sum() <= 2.0 * np.sqrt(len(worse)) * worse.std(ddof=1))


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
                Advice("increase <max_clusters>", "max_clusters"),
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
    clusters: Clusters, X: Array, max_components: int, names: Sequence[str], *, sparse: bool
) -> None:
    """Warn of what is doubtful about the dimension of a single cluster, chosen by its noise.

    names (n,): of the samples; sparse: whether loadings are.
    """
    if len(clusters.subspaces) > 1:
        return
    rows, affine = clusters.members(X)[0], clusters.affine
    most = choosing.largest_dimension(rows, max_components)
    found = choosing.components_of_members(rows, most, affine)
    if found is None:
        return
    if found.count == 0 and not sparse and not affine:
        doubt(
            ChoiceWarning,
            "no_component",
            "No component was found, but a subspace through the origin needs at least one.",
            use("affine", True),
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
    kurtosis = choosing.excess_kurtosis(residuals)
    if neighbours_depend(residuals):
        doubt(
            TrustWarning,
            "neighbours_depend",
            "Neighbouring samples are alike, as in a time series, so the {n_clusters} "
            "clusters may just be stretches of neighbouring samples.",
            Advice("fit every third sample and see whether the clusters stay"),
            n_clusters=n_clusters,
        )
    elif choosing.values_of_columns(X) <= FEW_VALUES:
        doubt(
            TrustWarning,
            "few_levels",
            "Most variables have at most {levels} different values, which can look like clusters.",
            Advice("check <diagnostics.stability>", command="check the stability"),
            levels=FEW_VALUES,
            n_clusters=n_clusters,
        )
    elif kurtosis > HEAVY:
        doubt(
            TrustWarning,
            "heavy_tails",
            "The values are skewed or have heavy tails (excess kurtosis {kurtosis:.1f}), "
            "which can look like clusters.",
            Advice(
                "try <margins='normal'> in <selection.select_n_clusters>",
                command="try subspaces select --normal-scores",
            ),
            kurtosis=kurtosis,
            n_clusters=n_clusters,
        )
