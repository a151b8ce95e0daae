"""Fits that choose what is "auto": the number of clusters, their dimensions, their variables."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from subspaces._types import Array, ClustersCriterion, DimensionsCriterion, Indices, Labels, Penalty
from subspaces.core import choosing
from subspaces.core.alternation import alternate
from subspaces.core.exact_union import EXACT, exact_union
from subspaces.core.row_order import neighbours_depend
from subspaces.core.search import first_partition
from subspaces.core.words_on_components import doubts_about_components
from subspaces.data.in_view import RowsInView, RowsOfUnknownDimension
from subspaces.data.validation import row_names
from subspaces.progress import Step
from subspaces.runtime.warning import collect_warnings, warn
from subspaces.starts.screening import screen_variables
from subspaces.subspace import centre_of, principal_axes, squared_residual

# Most rounds of a fit and a choice; the last choice is kept even if it would still change.
MAX_ROUNDS = 4
# Excess kurtosis around the clusters. Clear unions with Gaussian noise stay below .3; where noise
# with heavy tails was taken for clusters it is .6 and more (benchmarks/noise_families.py).
HEAVY = 0.5
# Different values of most columns up to which they can look like clusters, if some are rare.
FEW_VALUES = 4


def not_through_holes(name: str) -> ValueError:
    """Return the ValueError of a number that was to be chosen from a table with missing cells."""
    return ValueError(
        f"{name} is not chosen from a table with missing cells, since what fills them passes for "
        "clusters and dimensions. Use a number; diagnostics.stability compares several"
    )


def members_of(model: Any, X: Array) -> list[Array]:
    """Return each cluster's members less the centre of its subspace: K arrays (n_k, p)."""
    return [X[model.labels_ == k] - subspace.centre for k, subspace in enumerate(model.subspaces_)]


def closed_form_errors(model: Any, X: Array) -> Array:
    """Return each sample's squared leave-one-out error in its cluster, (n,), as in the paper."""
    errors = np.empty(len(X))
    for k, rows in enumerate(members_of(model, X)):
        basis = model.subspaces_[k].basis
        errors[model.labels_ == k] = choosing.closed_form_errors(rows, basis, bool(model.affine))
    return errors


def residuals_of(model: Any, X: Array) -> Array:
    """Return what the subspace of its cluster leaves of each sample, (n, p)."""
    residuals = np.empty_like(X)
    for k, (rows, subspace) in enumerate(zip(members_of(model, X), model.subspaces_, strict=True)):
        image = rows @ subspace.basis @ np.linalg.pinv(subspace.basis)
        residuals[model.labels_ == k] = rows - image
    return residuals


def mean_residuals(model: Any, X: Array) -> float:
    """Return ``W_K``, the mean over the clusters of their members' mean squared residual."""
    subspaces = enumerate(model.subspaces_)
    return float(np.mean([squared_residual(X[model.labels_ == k], f).mean() for k, f in subspaces]))


def quietly_fitted(estimator: Any, X: Any, **parameters: Any) -> Any:
    """Return a clone of the estimator with these parameters, fitted to X; warnings are dropped."""
    with collect_warnings():
        return clone(estimator).set_params(**parameters).fit(X)


def variables_per_cluster(model: Any) -> Sequence[int | None]:
    """Return the number of variables per loading of each cluster, K entries; None for all."""
    given: Any = getattr(model, "n_variables", None)
    return [given] * len(model.subspaces_) if np.ndim(given) == 0 else list(given)


def dimension_table(model: Any, X: Array, max_components: int) -> list[Array]:
    """Return the PRESS of 1, 2, ... loadings in each cluster of a sparse model.

    K arrays (max_components,), infinite where a cluster is too small for the dimension.
    """
    tables: list[Array] = []
    for rows, m in zip(members_of(model, X), variables_per_cluster(model), strict=True):
        most = max(min(max_components, len(rows) - 2, X.shape[1]), 1)
        values = choosing.dimension_by_press(
            rows, most, m or X.shape[1], model.penalty, bool(model.affine)
        )
        tables.append(np.append(values, [np.inf] * (max_components - most)))
    return tables


def eigenvalue_table(model: Any, X: Array, max_components: int) -> list[Array]:
    """Return the leading eigenvalues of each cluster's scatter, divided by its size.

    K arrays (max_components,), filled up with zeros.
    """
    tables: list[Array] = []
    for rows in members_of(model, X):
        values = principal_axes(rows).eigenvalues[:max_components] / len(rows)
        tables.append(np.append(values, np.zeros(max_components - len(values))))
    return tables


def best_dimensions(
    model: Any,
    X: Array,
    max_components: int,
    method: DimensionsCriterion,
    random: np.random.Generator,
) -> list[int]:
    """Return the dimension that a rule chooses for each cluster of a fitted model, K integers.

    method: "press", "noise", "parallel" or "exact", as in `selection.select_n_components`.
    """
    pairs = zip(members_of(model, X), variables_per_cluster(model), strict=True)
    affine = bool(model.affine)
    penalty: Penalty = getattr(model, "penalty", "l1")
    found = [
        choosing.dimension_of_members(rows, affine, max_components, method, m, penalty, random)
        for rows, m in pairs
    ]
    return [max(r, fewest_dimensions(model)) for r in found]


def fewest_dimensions(model: Any) -> int:
    """Return the smallest dimension to choose: 0 for a single cluster with a mean, otherwise 1.

    Without axes clusters differ in their means alone, which is another question; a subspace through
    the origin, and sparse loadings, have one axis at least.
    """
    sparse = getattr(model, "n_variables", None) is not None
    return 0 if model.n_clusters == 1 and model.affine and not sparse else 1


def fit_dimensions(
    estimator: Any, X: Any, matrix: Array, max_components: int, method: DimensionsCriterion
) -> Any:
    """Return a model with chosen dimensions: fit and choose in turn until the choice repeats.

    method: the rule of `best_dimensions`.
    """
    random = np.random.default_rng(0)
    model = quietly_fitted(estimator, X, n_components=min(2, max_components))
    seen: set[tuple[int, ...]] = set()
    for _ in range(MAX_ROUNDS):
        dimensions = best_dimensions(model, matrix, max_components, method, random)
        if dimensions == model.n_components_.tolist() or tuple(dimensions) in seen:
            break
        seen.add(tuple(dimensions))
        starts = [estimator.init, model.labels_]
        fits = [quietly_fitted(estimator, X, n_components=dimensions, init=s) for s in starts]
        model = min(fits, key=lambda fit: press(fit, matrix))
    return model.set_params(init=estimator.init)


def fit_jointly(estimator: Any, X: Any, matrix: Array, max_components: int) -> Any:
    """Return the model of the paper's joint scheme, which chooses dimensions at every sweep.

    The choice is by PRESS with sparse loadings. Without them PRESS would take the largest
    dimension, and the noise edge decides. From the labels and dimensions that each start ends in,
    a fit with these dimensions held goes on; the fit with the least PRESS is returned.
    """
    draft = clone(estimator).set_params(n_components=min(2, max_components))
    problem = draft._problem(matrix)
    starts, seeds = draft._search.seeded_starts(matrix, problem)
    method: DimensionsCriterion = "noise" if problem.sparsity is None else "press"
    variables = problem.allowed_variables

    def dimension_of(k: int, members: Indices) -> int:
        affine = bool(estimator.affine)
        rows = matrix[members] - centre_of(matrix[members], affine)
        found = choosing.dimension_of_members(
            rows, affine, max_components, method, variables[k], draft.penalty, random
        )
        return max(found, fewest_dimensions(estimator))

    fits = []
    for (_, start), seed in zip(starts, seeds, strict=True):
        random = np.random.default_rng(seed)
        first = first_partition(RowsInView(problem), start, random)
        samples = RowsOfUnknownDimension(problem, dimension_of)
        found = alternate(samples, first, max_iter=draft.max_iter, random=random)
        given = {"n_components": list(found.subspaces), "init": found.labels}
        fits.append(quietly_fitted(estimator, X, **given))
    best = min(fits, key=lambda fit: press(fit, matrix))
    return best.set_params(init=estimator.init)


def press(model: Any, matrix: Array) -> float:
    """Return a model's PRESS as in the paper: the mean over the clusters of their mean errors."""
    return float(choosing.press_of_clusters(closed_form_errors(model, matrix), model.labels_).sum())


def likelihood(model: Any, matrix: Array) -> Array:
    """Return -log leave-one-out density of each sample under its cluster, (n,)."""
    dimensions = model.n_components_.tolist()
    return choosing.left_out_likelihood(matrix, model.labels_, dimensions, bool(model.affine))


def default_criterion(estimator: Any) -> ClustersCriterion:
    """Return the name of the criterion for the number of clusters: "likelihood" or "free".

    "likelihood" is the leave-one-out likelihood. "free", for sparse loadings of given dimension,
    is the likelihood of the better of two fits, with this dimension and with learned ones, since
    one dimension for all clusters may fit none of them.
    """
    sparse = getattr(estimator, "n_variables", None) is not None
    return "free" if sparse and not is_auto(estimator.n_components) else "likelihood"


def fit_free(estimator: Any, X: Any, matrix: Array) -> Any:
    """Return the likelier of two models: with the given dimension, and with learned ones."""
    given, learned = _fit_one(estimator, X, matrix), fit_learned(estimator, X, matrix)
    return likelier(given, learned, matrix)


def likelier(given: Any, learned: Any, matrix: Array) -> Any:
    """Return the model of larger leave-one-out likelihood; both have the same K."""
    return min((given, learned), key=lambda model: likelihood(model, matrix).sum())


def fit_learned(estimator: Any, X: Any, matrix: Array) -> Any:
    """Return a model fitted with ``n_components="auto"``, whatever dimension was given."""
    most = max(estimator.max_components, int(np.max(estimator.n_components)))
    learned = clone(estimator).set_params(n_components="auto", max_components=most)
    return _fit_one(learned, X, matrix)


def first_guess_of_variables(matrix: Array, n_clusters: int) -> int:
    """Return the number of variables that stand out from noise, over K; at least 2."""
    centred = matrix - matrix.mean(axis=0)
    return max(len(screen_variables(centred, fewest=2)) // max(n_clusters, 1), 2)


def gap_table(model: Any, matrix: Array, candidates: Sequence[int]) -> Array:
    """Return the permutation gap of each number of variables, (m,), at a model's labels."""
    random = np.random.default_rng(0)
    dimensions = model.n_components_.tolist()
    members = members_of(model, matrix)
    return choosing.permutation_gap(members, dimensions, candidates, model.penalty, random)


def best_by_gap(model: Any, matrix: Array, candidates: Sequence[int]) -> int:
    """Return the smallest candidate number of variables whose gap is close to the largest gap."""
    return candidates[choosing.smallest_of_the_best(gap_table(model, matrix, candidates))]


def is_exact(model: Any, matrix: Array) -> bool:
    """Whether every sample lies on the subspace of its cluster, up to rounding."""
    worst = max(
        float(squared_residual(matrix[model.labels_ == k], subspace).max(initial=0.0))
        for k, subspace in enumerate(model.subspaces_)
    )
    return worst <= EXACT * float(np.sum(matrix**2))


def fit_exact(
    estimator: Any, X: Any, matrix: Array, candidates: Sequence[int], max_components: int
) -> Any | None:
    """Return a model whose subspaces hold every sample without error; None if there is none.

    One cluster as large as the rank always fits, so that only dimensions below the rank are tried.
    """
    rank = principal_axes(matrix - centre_of(matrix, bool(estimator.affine))).rank
    largest = min(max_components, rank - 1)
    if largest < 1:
        return None
    union = exact_union(matrix, largest, bool(estimator.affine), candidates[-1])
    if union is None or len(union[1]) not in candidates:
        return None
    labels, dimensions = union
    posed = {"n_clusters": len(dimensions), "n_components": dimensions}
    for start in (estimator.init, labels):
        model = quietly_fitted(estimator, X, **posed, init=start)
        if is_exact(model, matrix):
            return model.set_params(init=estimator.init)
    return None


def fit_automatic(estimator: Any, X: Any, matrix: Array) -> tuple[Any, dict[str, Any]]:
    """Return the model chosen for a `PSC` with "auto" parameters, and its ``selection_``.

    With ``n_clusters="auto"`` the candidates are 1 to ``max_clusters``, but at most n // 4.
    """
    most = min(estimator.max_clusters, max(len(matrix) // 4, 1))
    candidates = range(1, most + 1) if is_auto(estimator.n_clusters) else [estimator.n_clusters]
    if is_auto(estimator.n_components) and estimator.n_variables is None:
        exact = fit_exact(estimator, X, matrix, candidates, estimator.max_components)
        if exact is not None:
            table = selection_table([exact], matrix)
            return exact, {**table, "verdict": choosing.verdict_on_exact(len(exact.subspaces_))}
    free = len(candidates) > 1 and default_criterion(estimator) == "free"
    models = []
    for n_clusters in candidates:
        posed = clone(estimator).set_params(n_clusters=n_clusters)
        models.append(fit_free(posed, X, matrix) if free else _fit_one(posed, X, matrix))
        estimator._tell(Step("candidate", len(models), len(candidates), f"{n_clusters} clusters"))
    table = selection_table(models, matrix)
    best = models[int(np.argmin(table["likelihood"]))]
    if free:
        n_clusters = len(best.subspaces_)
        best = _fit_one(clone(estimator).set_params(n_clusters=n_clusters), X, matrix)
    return best, table


def compared_likelihoods(models: Sequence[Any], matrix: Array) -> tuple[Array, int | None]:
    """Return -log leave-one-out density of each sample under each model, (m, n); a dimension.

    Where the first model has one cluster, one subspace is compared with the best model of several
    clusters by `choosing.against_one_subspace`. The first row is then the row of that best model
    plus the difference found, and the dimension is that of the one subspace, or None where it is
    not larger than the first model's. Otherwise the dimension is None.
    """
    shares = np.array([likelihood(model, matrix) for model in models])
    if len(models) == 1 or len(models[0].subspaces_) > 1:
        return shares, None
    totals = shares[1:].sum(axis=1)
    rival = 1 + int(np.argmin(np.where(np.isfinite(totals), totals, np.inf)))
    labels, dimensions = models[rival].labels_, models[rival].n_components_.tolist()
    own, affine = int(models[0].n_components_[0]), bool(models[0].affine)
    worse, dimension = choosing.against_one_subspace(matrix, labels, dimensions, own, affine)
    shares[0] = shares[rival] + worse
    return shares, dimension if dimension > own else None


def selection_table(models: Sequence[Any], matrix: Array) -> dict[str, Any]:
    """Return ``selection_`` of `PSC`, a dict with one list entry per model, and the verdict.

    The lists are K, likelihoods, dimensions, differences from the best and standard errors.
    """
    numbers = [len(model.subspaces_) for model in models]
    shares, dimension = compared_likelihoods(models, matrix)
    behind, errors = choosing.differences(shares)
    return {
        "n_clusters": numbers,
        "likelihood": shares.sum(axis=1).tolist(),
        "n_components": [model.n_components_.tolist() for model in models],
        "difference": behind.tolist(),
        "standard_error": errors.tolist(),
        "verdict": choosing.verdict_on_clusters(numbers, behind, errors, dimension),
    }


def _fit_one(estimator: Any, X: Any, matrix: Array) -> Any:
    """Return a model of given K, with dimensions and variables chosen where they are "auto"."""

    def fitted(posed: Any) -> Any:
        if not is_auto(posed.n_components):
            return quietly_fitted(posed, X)
        method: DimensionsCriterion = "noise" if posed.n_variables is None else "press"
        return fit_dimensions(posed, X, matrix, posed.max_components, method)

    if not is_auto(estimator.n_variables):
        return fitted(estimator)
    candidates = choosing.variable_candidates(matrix.shape[1])
    m = min(first_guess_of_variables(matrix, estimator.n_clusters), matrix.shape[1])
    for _ in range(MAX_ROUNDS):
        model = fitted(clone(estimator).set_params(n_variables=m))
        chosen = best_by_gap(model, matrix, candidates)
        if chosen == m:
            break
        m = chosen
    return model


def warn_of_largest_dimension(model: Any, matrix: Array, max_components: int) -> None:
    """Warn of clusters of dimension ``max_components`` whose size and p allow for more."""
    sizes = np.bincount(model.labels_, minlength=len(model.subspaces_))
    most = np.minimum(matrix.shape[1], sizes - 2)
    reached = np.flatnonzero((model.n_components_ >= max_components) & (most > max_components))
    if not len(reached) or is_exact(model, matrix):
        return
    which = f"cluster{'s' if len(reached) > 1 else ''} {', '.join(map(str, reached))}"
    warn(
        f"{which} reached max_components={max_components}, the largest dimension tried, so that "
        f"more may suit better. Use a max_components above {max_components}",
        above=3,
    )


def warn_of_one_subspace(model: Any, X: Any, matrix: Array, max_components: int) -> None:
    """Warn of what is doubtful about the dimension of a single cluster, chosen by its noise."""
    if len(model.subspaces_) > 1:
        return
    rows, affine = members_of(model, matrix)[0], bool(model.affine)
    most = choosing.largest_dimension(rows, max_components)
    found = choosing.components_of_members(rows, most, affine)
    if found is None:
        return
    is_dense = getattr(model, "n_variables", None) is None
    if found.count == 0 and is_dense and not affine:
        warn(
            "no component was found, and 1 is the smallest dimension of a subspace through the "
            "origin. Use affine=True, where 0 is possible",
            above=3,
        )
    given = row_names(X)
    names = [str(name) for name in (range(len(matrix)) if given is None else given)]
    # Of the largest dimension `warn_of_largest_dimension` warns.
    for doubt in doubts_about_components(found, 0, names, principal_axes(rows)):
        warn(doubt, above=3)


def warn_of_what_passes_for_clusters(model: Any, matrix: Array) -> None:
    """Warn of several clusters if the table has what can look like clusters; one warning at most.

    That is samples which depend on their neighbours, columns of few values, or heavy tails.
    """
    n_clusters = len(model.subspaces_)
    if n_clusters == 1:
        return
    residuals = residuals_of(model, matrix)
    kurtosis = choosing.excess_kurtosis(residuals)
    if neighbours_depend(residuals):
        warn(
            "neighbouring samples depend on each other, as in a time series, and stretches of "
            f"such a series can look like {n_clusters} clusters. Use the differences between "
            "neighbours, or one sample out of several, to see whether they stay",
            above=3,
        )
    elif choosing.values_of_columns(matrix) <= FEW_VALUES:
        warn(
            f"most variables have {FEW_VALUES} different values or fewer, and such a table can "
            "look like clusters where there are none. Use diagnostics.stability to see whether "
            f"the {n_clusters} clusters hold",
            above=3,
        )
    elif kurtosis > HEAVY:
        warn(
            f"the values have heavy tails or are skewed (excess kurtosis {kurtosis:.1f} around the "
            f"{n_clusters} clusters), and such a table can look like clusters where "
            "there are none. Use margins='normal' in select_n_clusters to see whether they stay",
            above=3,
        )


def is_rather_one(model: Any, labels: Labels, matrix: Array) -> bool:
    """Whether samples are likelier under one subspace than under the clusters of a model.

    labels (n,): the model's clusters for the samples. False where a cluster is too small to tell.
    """
    dimensions = model.n_components_.tolist()
    sizes = np.bincount(labels, minlength=len(dimensions))
    if len(dimensions) == 1 or np.any(sizes < model.n_components_ + 2):
        return False
    affine, smallest = bool(model.affine), min(dimensions)
    worse, _ = choosing.against_one_subspace(matrix, labels, dimensions, smallest, affine)
    return bool(worse.sum() <= 0.0)


def cuts_a_continuum(model: Any, labels: Labels, matrix: Array) -> bool:
    """Whether clusters that are mean profiles may be parts of one cloud without gaps.

    K centres span K - 1 directions. If one subspace of up to so many dimensions is as likely, up to
    two standard errors, the samples vary along them without lying near any of the centres. labels
    (n,): the model's clusters for the samples. False where clusters have axes, or are too small.
    """
    k = len(model.n_components_)
    sizes = np.bincount(labels, minlength=k)
    if k == 1 or not model.affine or np.any(model.n_components_) or np.any(sizes < 2):
        return False
    worse, _ = choosing.against_one_subspace(matrix, labels, [0] * k, 0, True, k - 1)
    return bool(worse.sum() <= 2.0 * np.sqrt(len(worse)) * worse.std(ddof=1))


def is_auto(value: Any) -> bool:
    """Whether a parameter is "auto"."""
    return isinstance(value, str) and value == "auto"
