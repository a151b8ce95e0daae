"""What the user leaves to us: the number of clusters, their dimensions, their variables."""

from collections.abc import Iterable, Sequence
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from subspaces.core import choice
from subspaces.core.alternation import alternate
from subspaces.core.hearing import hearing, warn
from subspaces.core.search import first_partition
from subspaces.core.step import Step
from subspaces.core.subspace import centre_of, principal_axes, squared_residual
from subspaces.data.in_view import RowsInView, RowsOfUnknownDimension
from subspaces.starts.screening import screen_variables

Array = NDArray[np.floating]

MAX_ROUNDS = 4
EXACT = 1e-18
# Excess kurtosis around the clusters. Clear unions with Gaussian noise stay below .3; where noise
# with heavy tails was taken for clusters it is .6 and more (benchmarks/noise_families.py).
HEAVY = 0.5


def members_of(model: Any, X: Array) -> list[Array]:
    """The centred members of each cluster."""
    return [X[model.labels_ == k] - flat.centre for k, flat in enumerate(model.subspaces_)]


def closed_form_errors(model: Any, X: Array) -> Array:
    """The paper's squared leave-one-out error of each sample under its own cluster."""
    errors = np.empty(len(X))
    for k, rows in enumerate(members_of(model, X)):
        basis = model.subspaces_[k].basis
        errors[model.labels_ == k] = choice.closed_form_errors(rows, basis, bool(model.affine))
    return errors


def mean_residuals(model: Any, X: Array) -> float:
    """``W_K``: the mean over the clusters of their mean squared residual."""
    flats = enumerate(model.subspaces_)
    return float(np.mean([squared_residual(X[model.labels_ == k], f).mean() for k, f in flats]))


def quietly_fitted(estimator: Any, X: Any, **parameters: Any) -> Any:
    """A fitted copy; what it warns of is not news while candidates are being compared."""
    with hearing():
        return clone(estimator).set_params(**parameters).fit(X)


def variables_per_cluster(model: Any) -> Sequence[int | None]:
    """Number of variables per loading in force, for each cluster."""
    given: Any = getattr(model, "n_variables", None)
    return [given] * len(model.subspaces_) if np.ndim(given) == 0 else list(given)


def dimension_table(model: Any, X: Array, max_components: int) -> list[Array]:
    """PRESS of 1, 2, ... loadings in each cluster of a sparse model."""
    tables: list[Array] = []
    for rows, m in zip(members_of(model, X), variables_per_cluster(model), strict=True):
        most = max(min(max_components, len(rows) - 2, X.shape[1]), 1)
        values = choice.dimension_by_press(
            rows, most, m or X.shape[1], model.penalty, bool(model.affine)
        )
        tables.append(np.append(values, [np.inf] * (max_components - most)))
    return tables


def eigenvalue_table(model: Any, X: Array, max_components: int) -> list[Array]:
    """The largest eigenvalues of each cluster's scatter, per member."""
    tables: list[Array] = []
    for rows in members_of(model, X):
        values = principal_axes(rows).eigenvalues[:max_components] / len(rows)
        tables.append(np.append(values, np.zeros(max_components - len(values))))
    return tables


def best_dimensions(
    model: Any, X: Array, max_components: int, method: str, random: np.random.Generator
) -> list[int]:
    """Dimension of each cluster at the partition of a fitted model."""
    pairs = zip(members_of(model, X), variables_per_cluster(model), strict=True)
    penalty, affine = getattr(model, "penalty", "l1"), bool(model.affine)
    return [
        _dimension_of(rows, affine, max_components, method, m, penalty, random) for rows, m in pairs
    ]


def _dimension_of(
    rows: Array,
    affine: bool,
    max_components: int,
    method: str,
    n_variables: int | None,
    penalty: str,
    random: np.random.Generator,
) -> int:
    """Dimension of one cluster, from its members, which are from their mean if affine."""
    n, p = rows.shape
    most = max(min(max_components, n - 2, p), 1)
    if method == "press":
        values = choice.dimension_by_press(rows, most, n_variables or p, penalty, affine)
        return int(np.argmin(values)) + 1
    if method == "parallel":
        return choice.dimension_by_permutation(rows, most, random)
    if method == "exact":
        return int(np.argmin(choice.dimension_by_exact_press(rows, most, affine))) + 1
    return choice.dimension_by_noise_edge(rows, most, affine)


def fit_dimensions(estimator: Any, X: Any, matrix: Array, max_components: int, method: str) -> Any:
    """Fit and choose the dimensions in turn until they stay."""
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
    """The paper's joint scheme: from every start, dimensions chosen anew at each sweep.

    By PRESS with sparse loadings, by the noise edge without: there PRESS takes the largest. Each
    run is swept to its end with its last dimensions held; the least PRESS wins.
    """
    draft = clone(estimator).set_params(n_components=min(2, max_components))
    problem = draft._problem(matrix)
    starts, seeds = draft._seeded_starts(matrix, problem)
    method = "noise" if problem.sparsity is None else "press"
    variables = problem.allowed_variables

    def dimension_of(k: int, members: NDArray[np.intp]) -> int:
        affine = bool(estimator.affine)
        rows = matrix[members] - centre_of(matrix[members], affine)
        return _dimension_of(
            rows, affine, max_components, method, variables[k], draft.penalty, random
        )

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
    """PRESS of the paper, averaged over the clusters' means."""
    return float(choice.press_of_clusters(closed_form_errors(model, matrix), model.labels_).sum())


def likelihood(model: Any, matrix: Array) -> Array:
    """-log leave-one-out density of each sample under its cluster, (n,)."""
    dimensions = model.n_components_.tolist()
    return choice.left_out_likelihood(matrix, model.labels_, dimensions, bool(model.affine))


def default_criterion(estimator: Any) -> str:
    """What the number of clusters is chosen by.

    The leave-one-out likelihood; with sparse loadings of given dimension, that of a fit whose
    dimensions are learned, since one dimension for all clusters may fit none of them.
    """
    sparse = getattr(estimator, "n_variables", None) is not None
    return "free" if sparse and not is_auto(estimator.n_components) else "likelihood"


def fit_free(estimator: Any, X: Any, matrix: Array) -> Any:
    """With the dimension given or with learned ones: the likelier."""
    given, learned = _fit_one(estimator, X, matrix), fit_learned(estimator, X, matrix)
    return likelier(given, learned, matrix)


def likelier(given: Any, learned: Any, matrix: Array) -> Any:
    """Of two models with as many clusters, the likelier."""
    return min((given, learned), key=lambda model: likelihood(model, matrix).sum())


def fit_learned(estimator: Any, X: Any, matrix: Array) -> Any:
    """With learned dimensions, whatever dimension was given."""
    most = max(estimator.max_components, int(np.max(estimator.n_components)))
    learned = clone(estimator).set_params(n_components="auto", max_components=most)
    return _fit_one(learned, X, matrix)


def variable_candidates(n_features: int) -> list[int]:
    """Every number up to 20, then about seven a decade, up to all variables."""
    small = range(1, min(20, n_features) + 1)
    steps = int(7 * np.log10(max(n_features / 20, 1))) + 2
    large = np.unique(np.geomspace(20, max(n_features, 20), steps).round()).astype(int)
    return [*small, *[int(m) for m in large if 20 < m <= n_features]]


def first_guess_of_variables(matrix: Array, n_clusters: int) -> int:
    """As many variables as stand out from noise, shared among the clusters."""
    centred = matrix - matrix.mean(axis=0)
    return max(len(screen_variables(centred, fewest=2)) // max(n_clusters, 1), 2)


def gap_table(model: Any, matrix: Array, candidates: Sequence[int]) -> Array:
    """Permutation gap of each candidate at the partition of a fitted model."""
    random = np.random.default_rng(0)
    dimensions = model.n_components_.tolist()
    members = members_of(model, matrix)
    return choice.permutation_gap(members, dimensions, candidates, model.penalty, random)


def best_by_gap(model: Any, matrix: Array, candidates: Sequence[int]) -> int:
    """The smallest number whose gap is among the best."""
    return candidates[choice.smallest_of_the_best(gap_table(model, matrix, candidates))]


def fit_variables(estimator: Any, X: Any, matrix: Array) -> Any:
    """Fit and choose the number of variables in turn until it stays."""
    candidates = variable_candidates(matrix.shape[1])
    m = min(first_guess_of_variables(matrix, estimator.n_clusters), matrix.shape[1])
    for _ in range(MAX_ROUNDS):
        model = quietly_fitted(estimator, X, n_variables=m)
        chosen = best_by_gap(model, matrix, candidates)
        if chosen == m:
            break
        m = chosen
    return model


def is_exact(model: Any, matrix: Array) -> bool:
    """Whether every sample lies on the flat of its cluster, up to rounding."""
    worst = max(
        float(squared_residual(matrix[model.labels_ == k], flat).max(initial=0.0))
        for k, flat in enumerate(model.subspaces_)
    )
    return worst <= EXACT * float(np.sum(matrix**2))


def exact_union(
    estimator: Any, X: Any, matrix: Array, candidates: Iterable[int], max_components: int
) -> Any | None:
    """The simplest union of flats that holds every sample, if there is one.

    One cluster as large as the rank always fits; so among the exact fits the smallest largest
    dimension wins, below the rank, and then the fewest clusters.
    """
    centred = matrix - matrix.mean(axis=0) if estimator.affine else matrix
    rank = principal_axes(centred).rank
    if not _has_exact_flats(centred, min(max_components, rank - 1), estimator.affine):
        return None
    for largest in range(1, min(max_components, rank - 1) + 1):
        for n_clusters in candidates:
            for rest in combinations_with_replacement(range(1, largest + 1), n_clusters - 1):
                dimensions = [*rest, largest]
                if sum(r + 2 for r in dimensions) > len(matrix):
                    continue
                model = quietly_fitted(estimator, X, n_clusters=n_clusters, n_components=dimensions)
                if is_exact(model, matrix):
                    return model
    return None


def _has_exact_flats(matrix: Array, max_components: int, affine: bool) -> bool:
    """Whether some rows lie on a common flat without error: a cheap look before the search."""
    norms = np.linalg.norm(matrix, axis=1)
    rows = matrix if affine else matrix[norms > 0] / norms[norms > 0, None]
    random = np.random.default_rng(0)
    for seed in random.choice(len(rows), min(20, len(rows)), replace=False):
        if affine:
            order = np.argsort(np.sum((rows - rows[seed]) ** 2, axis=1), kind="stable")
        else:
            order = np.argsort(-np.abs(rows @ rows[seed]), kind="stable")
        for r in range(1, max_components + 1):
            near = rows[order[: r + 3 + affine]]
            if principal_axes(near - near.mean(axis=0) if affine else near).rank <= r:
                return True
    return False


def fit_automatic(estimator: Any, X: Any, matrix: Array) -> tuple[Any, dict[str, Any]]:
    """Fit a `PSC` some of whose parameters are "auto"; the model and the table of candidates."""
    most = min(estimator.max_clusters, max(len(matrix) // 4, 1))
    candidates = range(1, most + 1) if is_auto(estimator.n_clusters) else [estimator.n_clusters]
    if is_auto(estimator.n_components) and estimator.n_variables is None:
        exact = exact_union(estimator, X, matrix, candidates, estimator.max_components)
        if exact is not None:
            table = selection_table([exact], matrix)
            return exact, {**table, "verdict": choice.verdict_on_exact(len(exact.subspaces_))}
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
    """What each sample adds to the criterion for K of each model, (m, n): less is better.

    Several clusters are compared by their leave-one-out likelihood. One is compared with the best
    of them as `choice.against_one_subspace` has it, and its share is that of the best plus the
    difference. Also the dimension of that one subspace, where it is larger than the model's.
    """
    shares = np.array([likelihood(model, matrix) for model in models])
    if len(models) == 1 or len(models[0].subspaces_) > 1:
        return shares, None
    totals = shares[1:].sum(axis=1)
    rival = 1 + int(np.argmin(np.where(np.isfinite(totals), totals, np.inf)))
    labels, dimensions = models[rival].labels_, models[rival].n_components_.tolist()
    own, affine = int(models[0].n_components_[0]), bool(models[0].affine)
    worse, dimension = choice.against_one_subspace(matrix, labels, dimensions, own, affine)
    shares[0] = shares[rival] + worse
    return shares, dimension if dimension > own else None


def selection_table(models: Sequence[Any], matrix: Array) -> dict[str, Any]:
    """Each model's clusters, dimensions and likelihood as lists, and the verdict in a sentence."""
    numbers = [len(model.subspaces_) for model in models]
    shares, dimension = compared_likelihoods(models, matrix)
    behind, errors = choice.differences(shares)
    return {
        "n_clusters": numbers,
        "likelihood": shares.sum(axis=1).tolist(),
        "n_components": [model.n_components_.tolist() for model in models],
        "difference": behind.tolist(),
        "standard_error": errors.tolist(),
        "verdict": choice.verdict_on_clusters(numbers, behind, errors, dimension),
    }


def _fit_one(estimator: Any, X: Any, matrix: Array) -> Any:
    """One number of clusters: dimensions and variables where they are left to us."""
    most, n_clusters = estimator.max_components, estimator.n_clusters
    auto_dimensions = is_auto(estimator.n_components)
    if not is_auto(estimator.n_variables):
        if not auto_dimensions:
            return quietly_fitted(estimator, X)
        method = "noise" if estimator.n_variables is None else "press"
        return fit_dimensions(estimator, X, matrix, most, method)
    if not auto_dimensions:
        return fit_variables(estimator, X, matrix)
    guess = min(first_guess_of_variables(matrix, n_clusters), matrix.shape[1])
    for _ in range(MAX_ROUNDS):
        sparse = clone(estimator).set_params(n_variables=guess)
        model = fit_dimensions(sparse, X, matrix, most, "press")
        chosen = best_by_gap(model, matrix, variable_candidates(matrix.shape[1]))
        if chosen == guess:
            break
        guess = chosen
    return model


def warn_of_largest_dimension(model: Any, matrix: Array, max_components: int) -> None:
    """Say which clusters have the largest dimension tried, unless their data allow no more."""
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


def warn_of_heavy_tails(model: Any, matrix: Array) -> None:
    """Say that several clusters were chosen where tails alone can make them."""
    if len(model.subspaces_) == 1:
        return
    residuals = np.empty_like(matrix)
    for k, (rows, flat) in enumerate(zip(members_of(model, matrix), model.subspaces_, strict=True)):
        residuals[model.labels_ == k] = rows - rows @ flat.basis @ np.linalg.pinv(flat.basis)
    kurtosis = choice.excess_kurtosis(residuals)
    if kurtosis > HEAVY:
        warn(
            f"the values have heavy tails or are skewed (excess kurtosis {kurtosis:.1f} around the "
            f"{len(model.subspaces_)} clusters), and such a table can look like clusters where "
            "there are none. Use margins='normal' in select_n_clusters to see whether they stay",
            above=3,
        )


def is_rather_one(model: Any, labels: NDArray[np.intp], matrix: Array) -> bool:
    """Whether one subspace describes samples better than the clusters that a model gives them."""
    dimensions = model.n_components_.tolist()
    sizes = np.bincount(labels, minlength=len(dimensions))
    if len(dimensions) == 1 or np.any(sizes < model.n_components_ + 2):
        return False
    affine, smallest = bool(model.affine), min(dimensions)
    worse, _ = choice.against_one_subspace(matrix, labels, dimensions, smallest, affine)
    return bool(worse.sum() <= 0.0)


def is_auto(value: Any) -> bool:
    """Whether a parameter is left to us."""
    return isinstance(value, str) and value == "auto"
