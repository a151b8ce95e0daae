"""How many clusters, dimensions, variables: a table, a choice, and the model that goes with it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from subspaces import plots, progress
from subspaces._validation import as_choice, as_count, as_matrix
from subspaces.core import choice
from subspaces.core.hearing import warn
from subspaces.estimators import _choosing

__all__ = ["Selection", "select_n_clusters", "select_n_components", "select_n_variables"]

Array = NDArray[np.floating]


@dataclass(frozen=True, repr=False)
class Selection:
    """What was tried, what was chosen, and by how much; printed, it is a table and a sentence.

    Attributes
    ----------
    best_ : int or list of int
        The choice.
    best_estimator_ : estimator
        The model fitted with it.
    margin_ : float
        How far the runner-up is behind, as a share of the spread of the criterion over the
        candidates: near 0 is a coin toss; nan where there is nothing to compare with.
    columns : dict of ndarray
        One entry per candidate. For numbers of clusters ``difference`` says how far each is behind
        the best, and ``standard_error`` how well that is known, since it rests on these samples.
    criterion : str
        The column that decided.
    verdict : str
        The choice and how clear it is, in one sentence.
    """

    best_: Any
    best_estimator_: Any
    margin_: float
    columns: dict[str, Array]
    criterion: str
    verdict: str

    def __repr__(self) -> str:
        return f"{_as_text(self)}\n{self.verdict}"

    @property
    def table(self) -> Any:
        """The columns as a pandas DataFrame, or as they are where pandas is missing."""
        if find_spec("pandas") is None:
            return self.columns
        import pandas as pd

        return pd.DataFrame(self.columns)

    def plot(self, ax: Any = None) -> Any:
        """Draw the criterion against the candidates.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib Axes
        """
        return plots.selection(self, ax=ax)


def select_n_clusters(
    estimator: Any,
    X: Any,
    candidates: Iterable[int] = range(1, 9),
    *,
    criterion: str = "auto",
    margins: str = "data",
) -> Selection:
    """Choose the number of clusters.

    One cluster is compared with the best larger number in a fair way: as one subspace that may have
    as many dimensions as all the clusters together, with Student tails. Correlated variables and
    unequal scales are then not taken for clusters; heavy tails and skewness still can be, with
    ``affine=True`` or n_components="auto" above all, and a warning says so (docs/choosing.md).

    Parameters
    ----------
    estimator : PSC or KSubspaces
        What is fitted for each candidate; an int (or "auto") as ``n_components``.
    X : array-like of shape (n, p)
        Samples in rows.
    candidates : iterable of int, default 1 to 8
        Numbers to try, ascending. 1 is a possible answer.
    criterion : str, default "auto"
        "press": the paper's PRESS, averaged over the clusters' means. "press_points": averaged over
        the samples. "press_sum": the sum of the clusters' means, the paper's text taken literally;
        it grows with the number of clusters and fails. "likelihood": leave-one-out likelihood.
        "sod": second-order difference of the log residual; cannot give the first or last
        candidate. "bic": of a mixture of probabilistic PCA, whose EM takes longer
        than all else and so runs only when asked for. "free": leave-one-out likelihood with
        the dimension given or with learned ones, whichever is likelier, for one dimension may not
        suit all clusters; the model returned has the dimension given. "auto": "free" for sparse
        loadings of given dimension, "likelihood" otherwise.
    margins : {"data", "normal"}, default "data"
        "normal": the number is chosen on normal scores, each column's values replaced by normal
        quantiles of their ranks (signs kept unless ``affine``). Advised for heavy tails and
        skewness; a weak union may then count as one cluster. ``best_estimator_`` is fitted to X as
        it is.

    Returns
    -------
    Selection
        ``.best_``, ``.best_estimator_``, ``.verdict``, ``.margin_``, ``.table``, ``.plot()``. Two
        numbers whose difference is less than its standard error are called nearly as good.

    Examples
    --------
    >>> from subspaces import PSC
    >>> from subspaces.datasets import make_scenario
    >>> from subspaces.selection import select_n_clusters
    >>> planes = make_scenario("c", noise=0.05, n_features=20, random_state=0)
    >>> found = select_n_clusters(PSC(n_components=2, random_state=0), planes.data, range(1, 5))
    >>> found.best_
    2
    >>> found.verdict
    '2 clusters; 3 are worse (difference 9.8, standard error 3.6)'
    """
    matrix = as_matrix(X)
    numbers = _check_candidates(candidates, "candidates", len(matrix))
    criterion = as_choice(criterion, "criterion", CLUSTER_CRITERIA)
    margins = as_choice(margins, "margins", ("data", "normal"))
    _check_clusterer(estimator)
    given = X
    if margins == "normal":
        X = matrix = choice.normal_scores(matrix, bool(estimator.affine))
    if criterion == "auto":
        criterion = _choosing.default_criterion(estimator)
    models = []
    for k in numbers:
        models.append(_choosing.quietly_fitted(estimator, X, n_clusters=k))
        progress.tell(progress.Step("candidate", len(models), len(numbers), f"{k} clusters"))
    columns = {"n_clusters": np.array(numbers)}
    shares = {name: np.array([f(m, matrix) for m in models]) for name, f in SHARES.items()}
    shares["likelihood"], dimension = _choosing.compared_likelihoods(models, matrix)
    if criterion == "free":
        learned = _learned_models(estimator, X, matrix, numbers)
        pairs = zip(models, learned, strict=True)
        likelier = [_choosing.likelier(*pair, matrix) for pair in pairs]
        shares["learned"], _ = _choosing.compared_likelihoods(learned, matrix)
        shares["free"], dimension = _choosing.compared_likelihoods(likelier, matrix)
    columns |= {name: each.sum(axis=1) for name, each in shares.items()}
    residuals = [_choosing.mean_residuals(model, matrix) for model in models]
    columns["sod"] = choice.second_differences(residuals)
    if criterion == "bic":
        columns["bic"] = np.array([_bic(model, matrix) for model in models])
    place, margin = _best(columns[criterion], largest=criterion == "sod")
    columns |= _differences(columns[criterion], shares.get(criterion), place)
    open_dimensions = _choosing.is_auto(estimator.n_components)
    if open_dimensions:
        _choosing.warn_of_largest_dimension(models[place], matrix, estimator.max_components)
    # A cluster of dimension R needs R + 2 samples: so many clusters the data have room for.
    smallest = 1 if open_dimensions else int(estimator.n_components)
    _warn_of_the_last(numbers, place, "clusters", len(matrix) // (smallest + 2))
    wide = dimension if criterion in ("likelihood", "free") else None
    verdict = choice.verdict_on_clusters(
        numbers, columns["difference"], columns["standard_error"], wide
    )
    best = models[place]
    if margins == "normal":
        best = _choosing.quietly_fitted(estimator, given, n_clusters=numbers[place])
    elif len(numbers) > 1:
        _choosing.warn_of_heavy_tails(best, matrix)
    return Selection(numbers[place], best, margin, columns, criterion, verdict)


def select_n_components(
    estimator: Any, X: Any, max_components: int = 5, *, criterion: str = "auto"
) -> Selection:
    """Choose the dimension of each cluster, the number of clusters given.

    Parameters
    ----------
    estimator : PSC
        Fitted and fitted again while its dimensions are chosen.
    X : array-like of shape (n, p)
        Samples in rows.
    max_components : int, default 5
        Largest dimension to try.
    criterion : {"auto", "press", "noise", "parallel", "exact", "joint"}, default "auto"
        "press": PRESS of sparse loadings (needs ``n_variables``). "noise": eigenvalues above what
        noise reaches. "parallel": eigenvalues above those of permuted columns. "exact": exact
        PRESS, which falls with every axis and so takes the largest dimension. "joint": as "press"
        or "noise", but chosen anew at every sweep of the clustering, which is the paper's scheme;
        the others alternate between whole fits and the choice. "auto": "press"
        with ``n_variables``, "noise" without.

    Returns
    -------
    Selection
        ``.best_``, a list with one dimension per cluster; the table has one row per cluster and
        dimension.
    """
    matrix = as_matrix(X)
    _check_clusterer(estimator)
    max_components = as_count(max_components, "max_components", low=1, high=matrix.shape[1])
    criterion = as_choice(criterion, "criterion", DIMENSION_CRITERIA)
    sparse = getattr(estimator, "n_variables", None) is not None
    if criterion == "auto":
        criterion = "press" if sparse else "noise"
    if criterion == "press" and not sparse:
        raise ValueError(
            "criterion='press' needs n_variables: with loadings on all variables it takes the "
            "largest dimension. Use 'noise' or 'parallel'"
        )
    judged_by = criterion
    if criterion == "joint":
        _check_clusterer(estimator, psc=True)
        model = _choosing.fit_jointly(estimator, X, matrix, max_components)
        judged_by = "press" if sparse else "noise"
    else:
        model = _choosing.fit_dimensions(estimator, X, matrix, max_components, criterion)
    if criterion != "exact":  # which takes the largest by its nature
        _choosing.warn_of_largest_dimension(model, matrix, max_components)
    columns = _dimension_columns(model, matrix, max_components, judged_by)
    margin = _dimension_margin(columns, judged_by)
    chosen = model.n_components_.tolist()
    verdict = f"Dimensions of the clusters: {', '.join(map(str, chosen))}"
    return Selection(chosen, model, margin, columns, criterion, verdict)


def select_n_variables(
    estimator: Any,
    X: Any,
    candidates: Iterable[int] | None = None,
    *,
    criterion: str = "gap",
    rate: float = 0.1,
) -> Selection:
    """Choose the number of variables per loading, at the partition that the estimator finds.

    Parameters
    ----------
    estimator : PSC
        With ``n_variables`` as a first guess.
    X : array-like of shape (n, p)
        Samples in rows.
    candidates : iterable of int, optional
        Numbers to try, ascending; by default 1 to 20, then about seven a decade.
    criterion : {"gap", "ftest", "stability"}, default "gap"
        "gap": log captured energy, less that of permuted columns; the smallest number within half a
        per cent of the largest gap. "ftest": variables that follow
        the axes found in the other half of the members, at a false discovery rate. "stability":
        variables chosen in at least half of random halves.
    rate : float, default 0.1
        False discovery rate of "ftest".

    Returns
    -------
    Selection
        ``.best_``, the number of variables per loading. For "ftest" and "stability" the table has
        one row per cluster, and ``best_`` is the median over the clusters.
    """
    matrix = as_matrix(X)
    _check_clusterer(estimator, sparse=True)
    criterion = as_choice(criterion, "criterion", ("gap", "ftest", "stability"))
    most = matrix.shape[1]
    numbers = _choosing.variable_candidates(most) if candidates is None else candidates
    tried = _check_candidates(numbers, "candidates", most)
    model = _choosing.quietly_fitted(estimator, X)
    if criterion == "gap":
        columns = {"n_variables": np.array(tried), "gap": _choosing.gap_table(model, matrix, tried)}
        place = choice.smallest_of_the_best(columns["gap"])
        best = tried[place]
        _warn_of_the_last(tried, place, "variables", most)
        margin = _best(columns["gap"], largest=True)[1]
    else:
        columns = _counted_variables(model, matrix, criterion, rate)
        per_loading = np.maximum(columns["n_variables"] / columns["n_components"], 1)
        best, margin = round(float(np.median(per_loading))), float("nan")
    final = _choosing.quietly_fitted(estimator, X, n_variables=best)
    verdict = f"Variables per loading: {best}"
    return Selection(best, final, margin, columns, criterion, verdict)


def _bic(model: Any, matrix: Array) -> float:
    dimensions = model.n_components_.tolist()
    return choice.mixture_bic(matrix, model.labels_, dimensions, bool(model.affine))


def _averaged(average: Callable[[Array, Any], Array]) -> Callable[[Any, Array], Array]:
    return lambda model, X: average(_choosing.closed_form_errors(model, X), model.labels_)


DIMENSION_CRITERIA = ("auto", "press", "noise", "parallel", "exact", "joint")
# What each sample adds to a criterion.
SHARES = {
    "press": _averaged(choice.press_of_clusters),
    "press_points": _averaged(choice.press_of_points),
    "press_sum": _averaged(choice.press_sum),
}
CLUSTER_CRITERIA = ("auto", *SHARES, "likelihood", "free", "sod", "bic")


def _differences(values: Array, shares: Array | None, place: int) -> dict[str, Array]:
    """How far the candidates are behind the best; with the standard error, where it is known."""
    if shares is None:
        return {
            "difference": np.abs(values - values[place]),
            "standard_error": np.full(len(values), np.nan),
        }
    behind, errors = choice.differences(shares)
    return {"difference": behind, "standard_error": errors}


def _learned_models(estimator: Any, X: Any, matrix: Array, numbers: list[int]) -> list[Any]:
    if "max_components" not in estimator.get_params():
        raise ValueError(
            f"criterion='free' learns the dimensions, which {type(estimator).__name__} does not. "
            "Use PSC, or criterion='likelihood'"
        )
    posed = (clone(estimator).set_params(n_clusters=k) for k in numbers)
    return [_choosing.fit_learned(candidate, X, matrix) for candidate in posed]


def _best(values: Array, *, largest: bool) -> tuple[int, float]:
    """Place of the best value and the runner-up's distance, as a share of the spread."""
    signed = np.where(np.isfinite(values), -values if largest else values, np.inf)
    if not np.isfinite(signed).any():
        raise ValueError("the criterion is not defined for these candidates. Use three or more")
    order = np.argsort(signed, kind="stable")
    finite = signed[np.isfinite(signed)]
    spread = float(np.ptp(finite))
    if len(finite) < 2 or spread == 0.0:
        return int(order[0]), 0.0 if len(finite) > 1 else float("nan")
    return int(order[0]), float((signed[order[1]] - signed[order[0]]) / spread)


def _as_text(found: Selection) -> str:
    """The columns that decided, one line per candidate, the choice marked."""
    columns = found.columns
    if "n_clusters" in columns:
        names = ["n_clusters", found.criterion, "difference", "standard_error"]
        chosen = columns["n_clusters"] == found.best_
    else:
        names = [name for name in columns if name != "chosen"]
        chosen = np.zeros(len(columns[names[0]]), dtype=bool)
        if "gap" in columns:
            chosen = columns["n_variables"] == found.best_
        chosen = columns.get("chosen", chosen)
    cells = [[name, *(f"{value:.5g}" for value in columns[name])] for name in names]
    widths = [max(map(len, column)) for column in cells]
    marks = ["", *("  <- chosen" if mark else "" for mark in chosen)]
    lines = zip(*cells, marks, strict=True)
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=False)) + line[-1]
        for line in lines
    )


def _dimension_columns(
    model: Any, matrix: Array, max_components: int, criterion: str
) -> dict[str, Array]:
    clusters, dimensions, values = [], [], []
    table = (
        _choosing.dimension_table(model, matrix, max_components)
        if criterion == "press"
        else _choosing.eigenvalue_table(model, matrix, max_components)
    )
    for k, row in enumerate(table):
        for r, value in enumerate(row, start=1):
            clusters.append(k)
            dimensions.append(r)
            values.append(value)
    chosen = [r == model.n_components_[k] for k, r in zip(clusters, dimensions, strict=True)]
    name = "press" if criterion == "press" else "eigenvalue"
    return {
        "cluster": np.array(clusters),
        "n_components": np.array(dimensions),
        name: np.array(values),
        "chosen": np.array(chosen),
    }


def _dimension_margin(columns: dict[str, Array], criterion: str) -> float:
    """The smallest margin over the clusters; not defined for eigenvalues."""
    if criterion != "press":
        return float("nan")
    clusters = np.unique(columns["cluster"])
    return min(_best(columns["press"][columns["cluster"] == k], largest=False)[1] for k in clusters)


def _counted_variables(model: Any, matrix: Array, criterion: str, rate: float) -> dict[str, Array]:
    random = np.random.default_rng(0)
    counts = []
    per_cluster = _choosing.variables_per_cluster(model)
    for k, rows in enumerate(_choosing.members_of(model, matrix)):
        r = int(model.n_components_[k])
        if criterion == "ftest":
            p_values = choice.cross_fitted_p_values(rows, r, random)
            chosen = choice.discoveries(p_values, rate)
        else:
            often = choice.selection_frequency(
                rows, r, per_cluster[k] or matrix.shape[1], model.penalty, 20, random
            )
            chosen = often >= 0.5
        counts.append(int(np.count_nonzero(chosen)))
    return {
        "cluster": np.arange(len(counts)),
        "n_components": model.n_components_,
        "n_variables": np.array(counts),
    }


def _warn_of_the_last(numbers: list[int], place: int, name: str, most: int) -> None:
    """Say that the largest candidate was chosen, unless the data allow no larger one."""
    if len(numbers) > 1 and place == len(numbers) - 1 and numbers[-1] < most:
        warn(
            f"{numbers[-1]} {name} were chosen, the largest candidate, so that more may "
            "suit better, or other dimensions. Use a wider range of candidates, or "
            "n_components='auto'",
            above=3,
        )


def _check_candidates(candidates: Iterable[int], name: str, most: int) -> list[int]:
    if not isinstance(candidates, Iterable):
        raise TypeError(f"{name}={candidates!r} is not a list. Use range(1, {candidates!r})")
    numbers = [as_count(value, name, low=1, high=most) for value in candidates]
    if not numbers:
        raise ValueError(f"{name} is empty. Use at least one number")
    if sorted(set(numbers)) != numbers:
        raise ValueError(f"{name}={numbers} is not ascending. Use each number once, sorted")
    return numbers


def _check_clusterer(estimator: Any, *, sparse: bool = False, psc: bool = False) -> None:
    """The selection needs labels_ and subspaces_ after fit, and knows them by their parameters."""
    if not isinstance(estimator, BaseEstimator):
        raise TypeError(f"{estimator!r} is not an estimator. Use an instance such as PSC()")
    needed = ["n_clusters", "n_components", "affine"]
    needed += ["n_variables"] if sparse or psc else []
    missing = [name for name in needed if name not in estimator.get_params()]
    if missing:
        raise TypeError(
            f"{type(estimator).__name__} has no {', '.join(missing)}. Use a clusterer with a "
            f"subspace per cluster, such as PSC{'' if sparse or psc else ' or KSubspaces'}"
        )
    if sparse and estimator.n_variables is None:
        raise ValueError("n_variables=None selects nothing. Use a first guess, such as 10")
    if np.ndim(estimator.n_components) and not sparse:
        raise ValueError(
            f"n_components={estimator.n_components!r} is a list, which fits one number of clusters "
            "only. Use an int or 'auto'"
        )
