"""Choice of the number of clusters, of dimensions and of variables, with a table and a model."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, get_args

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _num_samples

from subspaces import halving, plots, progress
from subspaces._types import (
    Array,
    Axes,
    ClustersCriterion,
    Data,
    Margins,
)
from subspaces.core import ppca_mixture
from subspaces.data.validation import as_matrix, row_names
from subspaces.estimators import PSC
from subspaces.estimators._base import SubspaceClusterer
from subspaces.estimators.mixtures import MixtureClusterer
from subspaces.messages import (
    FILL,
    Advice,
    ChoiceWarning,
    ParameterError,
    ParameterTypeError,
    Verdict,
    in_a_row,
    use,
)
from subspaces.psc import auto, choice, choosing
from subspaces.psc.result import Clusters
from subspaces.psc.settings import is_auto, no_outliers
from subspaces.runtime.parameters import as_choice, as_count
from subspaces.runtime.result import WithVerdict, as_frame, lined_up
from subspaces.runtime.warning import collect_warnings, doubt, warn
from subspaces.subspace import principal_axes

__all__ = ["Selection", "select_n_clusters", "select_n_components", "select_n_variables"]


CLUSTER_CRITERIA: tuple[ClustersCriterion, ...] = get_args(ClustersCriterion)
# Numbers of clusters to compare, if none are given.
FEW = range(1, 9)


@dataclass(frozen=True, repr=False)
class Selection(WithVerdict):
    """The result of a selection: the candidates, the choice, and how clear it is.

    Attributes
    ----------
    best_ : int or list of int
        The choice.
    best_estimator_ : estimator
        The model fitted with the choice.
    margin_ : float
        How far the second best is behind, as a share of the range of the criterion. Near 0, the
        choice is arbitrary. NaN if there is nothing to compare.
    columns : dict of ndarray
        One entry per candidate. For numbers of clusters, ``difference`` is how far each candidate
        is behind the best, and ``standard_error`` is the error of the difference.
    criterion : str
        Name of the column that decided.
    conclusion : Verdict
        The verdict as a value. Its ``grade`` is:

        - SURE: the choice is clear.
        - DOUBTFUL: other candidates are about as good.
        - NO: no number is stable.
        - UNKNOWN: there was nothing to compare.
    """

    best_: Any
    best_estimator_: Any
    margin_: float
    columns: dict[str, Array]
    criterion: str
    conclusion: Verdict

    def __repr__(self) -> str:
        return f"{_as_text(self)}\n{self.verdict}"

    @property
    def table(self) -> Any:
        """The columns as a pandas DataFrame, or ``columns`` if pandas is missing."""
        return as_frame(self.columns)

    def plot(self, ax: Axes | None = None) -> Any:
        """Draw the candidates, with a ring around the choice.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw. By default a new figure.

        Returns
        -------
        matplotlib Axes
        """
        return plots.selection(self, ax=ax)


@dataclass(frozen=True)
class FittedModel:
    """A fitted estimator, as a candidate to choose from."""

    model: Any

    @property
    def clusters(self) -> Clusters:
        """Its labels and subspaces."""
        affine = getattr(self.model, "affine_", self.model.affine)
        return Clusters(self.model.labels_, self.model.subspaces_, bool(affine))


def fitted(estimator: SubspaceClusterer, X: Data, **parameters: Any) -> FittedModel:
    """Return a clone of the estimator with these parameters, fitted to X; warnings are dropped."""
    outliers = getattr(estimator, "outliers", None)
    if outliers is not None:  # candidates would have other samples
        raise no_outliers(outliers, "the functions of subspaces.selection")
    with collect_warnings():
        return FittedModel(clone(estimator).set_params(**parameters).fit(X))


def select_n_clusters(
    estimator: SubspaceClusterer | Pipeline,
    X: Data,
    candidates: Iterable[int] | None = None,
    *,
    criterion: ClustersCriterion = "auto",
    margins: Margins = "data",
) -> Selection:
    """Choose the number of clusters.

    The candidate 1 is modelled as one subspace with heavy tails (Student's t). It may have as many
    dimensions as all clusters together, so correlated variables and unequal scales do not look like
    clusters. Heavy tails and skewness still can, above all with ``affine=True`` or
    n_components="auto". There is then a warning ("How many clusters, dimensions, variables?",
    https://subspaces.readthedocs.io). Another warning appears if the largest candidate wins and
    there are enough samples for more clusters.

    Parameters
    ----------
    estimator : PSC, KSubspaces or a recipe
        The model to fit for each candidate. Its ``n_components`` must be one int or "auto".
        Recipes, such as `recipes.expression`, use different axes for each number, so you cannot
        compare their likelihoods. Their stability decides.
    X : array-like of shape (n, p)
        Samples in rows.
    candidates : iterable of int, optional
        Numbers to try, ascending. By default 1 to 8. It is 1 to ``max_clusters`` for a PSC
        with ``n_variables``, or with ``n_components="auto"`` and ``affine="auto"``. Stability
        cannot choose 1.
    criterion : str, default "auto"
        - "auto": "stability" for a recipe. "icl" if dimensions and centre are "auto", or
          ``n_variables`` is set, and the candidates start at 1 without a gap. Otherwise
          "likelihood".
        - "icl": integrated completed likelihood, as ``PSC("auto", ...)`` uses it. The ICL of one
          cluster is NaN, because one cluster is compared in another way. With ``n_variables`` the
          candidates use all variables and learn their dimensions. If only ``n_components`` is set,
          the candidates are compared by their leave-one-out likelihood instead.
        - "likelihood": leave-one-out likelihood.
        - "stability": how well random halves of the samples agree. Only for recipes. There are ten
          splits, or fewer for more than 30 million values. Each half chooses its genes, axes and
          clusters. The choice is the largest number for which both halves find every cluster. A
          cluster counts as found if at least 0.8 of its pairs of samples stay together (Tibshirani
          & Walther 2005). If there is none, the smallest of the most stable numbers wins.
        - "press": mean leave-one-out error of each cluster (PRESS in the paper), averaged over
          clusters, so small clusters count as much as large ones.
        - "sod": second-order difference of the log residual. It cannot choose the first or last
          candidate.
        - "bic": Bayesian information criterion of a mixture of PCA, started from the clusters.
    margins : {"data", "normal"}, default "data"
        "normal" replaces the values of each variable by normal quantiles of their ranks while the
        number is chosen. If ``affine`` is False, signs are kept. Use it for heavy tails and
        skewness. Weak clusters can then be missed. ``best_estimator_`` is fitted to X itself.

    Returns
    -------
    Selection
        ``.best_``, ``.best_estimator_``, ``.verdict``, ``.grade``, ``.table``, ``.plot()``. The
        verdict calls a smaller number about as good if it is within two standard errors of the
        best, and a larger number if it is within one.

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
    '2 clusters fit best. 3 clusters are worse by 13 (standard error 6.7).'
    """
    criterion = as_choice(criterion, "criterion", CLUSTER_CRITERIA)
    margins = as_choice(margins, "margins", get_args(Margins))
    if isinstance(estimator, Pipeline):
        return _select_by_stability(estimator, X, candidates, criterion, margins)
    n = len(as_matrix(X, missing=True))
    _check_clusterer(estimator)
    _check_one_dimension(estimator)
    numbers = _check_candidates(_default(estimator, n) if candidates is None else candidates, n)
    criterion = _suited(criterion, estimator, numbers, margins)
    if criterion == "icl":
        return _select_as_a_fit(estimator, X, numbers, margins)
    matrix = _complete(X, "n_clusters")
    seen, parameters = X, estimator.get_params()
    if margins == "normal":
        seen = matrix = choosing.normal_scores(matrix, bool(parameters["affine"]))
    models = []
    for k in numbers:
        models.append(fitted(estimator, seen, n_clusters=k))
        progress.tell(
            progress.Step("candidate", len(models), len(numbers), f"{k} cluster{'s' * (k > 1)}")
        )

    likelihoods, dimension = _compared(models, matrix)
    errors = [auto.closed_form_errors(found.clusters, matrix) for found in models]
    pairs = zip(errors, models, strict=True)
    press = [choosing.press_of_clusters(each, found.clusters.labels) for each, found in pairs]
    shares = {"press": np.array(press), "likelihood": likelihoods}
    columns = {"n_clusters": np.array(numbers)}
    columns |= {name: each.sum(axis=1) for name, each in shares.items()}
    residuals = [auto.mean_residuals(found.clusters, matrix) for found in models]
    columns["sod"] = choosing.second_differences(residuals)
    if criterion == "bic":  # EM takes longer than all else
        fits = [(c.labels, c.dimensions, c.affine) for c in (m.clusters for m in models)]
        columns["bic"] = np.array([ppca_mixture.bic(matrix, *fit) for fit in fits])

    place, margin = _best(columns[criterion], largest=criterion == "sod")
    columns |= _differences(columns[criterion], shares.get(criterion), place)
    dimension = dimension if criterion == "likelihood" else None
    conclusion = choosing.verdict_on_clusters(
        numbers, columns["difference"], columns["standard_error"], dimension
    )
    best = models[place]
    learns = is_auto(estimator.n_components)
    if learns:
        auto.warn_of_largest_dimension(best.clusters, matrix, parameters["max_components"])
    # A cluster of dimension R needs R + 2 samples, which bounds the number of clusters.
    smallest = 1 if learns else int(estimator.n_components)
    others = [] if learns else [use("n_components", "auto")]
    _warn_of_the_last(numbers, place, "clusters", len(matrix) // (smallest + 2), *others)
    if margins == "normal":
        best = fitted(estimator, X, n_clusters=numbers[place])
    elif len(numbers) > 1:
        auto.warn_of_what_passes_for_clusters(best.clusters, matrix)
    return Selection(numbers[place], best.model, margin, columns, criterion, conclusion)


def _compared(models: Sequence[FittedModel], X: Array) -> tuple[Array, int | None]:
    """Return -log leave-one-out density of each sample by each model, (m, n); a dimension.

    If the first has one cluster, one subspace is compared with the best model of several clusters
    by `choosing.against_one_subspace`. The first row is then the row of that best one plus the
    difference found, and the dimension is that of the one subspace, or None if it is not larger
    than the first model's. Otherwise the dimension is None.
    """
    candidates = [found.clusters for found in models]
    shares = np.array([auto.likelihood(clusters, X) for clusters in candidates])
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


def _is_left_open(estimator: Any) -> bool:
    """Whether the number of clusters is chosen from candidates with dimensions of their own."""
    if not isinstance(estimator, PSC):
        return False
    dense_open = is_auto(estimator.n_components) and is_auto(estimator.affine)
    return dense_open or estimator.n_variables is not None


def _default(estimator: Any, n: int) -> Sequence[int]:
    """Return the numbers of clusters to try for n samples, if none are given."""
    most = estimator.max_clusters if _is_left_open(estimator) else FEW[-1]
    return range(1, min(most, n) + 1)


def _suited(
    criterion: ClustersCriterion, estimator: Any, numbers: list[int], margins: Margins
) -> ClustersCriterion:
    """Return the criterion, or what "auto" stands for."""
    if criterion == "stability":
        raise ParameterError(
            "criterion",
            "<criterion='stability'> only works with a recipe, such as <recipes.expression>. "
            "Choose another criterion.",
        )
    if criterion != "auto":
        return criterion
    every = numbers == [*range(1, numbers[-1] + 1)]
    as_a_fit = _is_left_open(estimator) and every and margins == "data"
    return "icl" if as_a_fit else "likelihood"


def _select_as_a_fit(estimator: Any, X: Data, numbers: list[int], margins: Margins) -> Selection:
    """Choose the number of clusters as a fit with ``n_clusters="auto"`` does."""
    if not isinstance(estimator, PSC) or margins != "data":
        fact = "<criterion='icl'> only works with PSC and <margins='data'>."
        raise ParameterError("criterion", fact, use("criterion", "auto"), value="icl")
    if numbers != [*range(1, numbers[-1] + 1)]:
        fact = (
            "<criterion='icl'> needs all numbers from 1 to the largest. Set "
            "<candidates=range(1, {end})>."
        )
        raise ParameterError("candidates", fact, value=numbers, end=numbers[-1] + 1)
    model = clone(estimator).set_params(n_clusters="auto", max_clusters=numbers[-1]).fit(X)
    table, best = model.selection_, int(model.n_clusters_)
    least = {1: np.nan}  # one cluster is compared in another way
    for k, cost in zip(table["n_clusters"], table["cost"], strict=True):
        least[k] = min(cost, least.get(k, np.inf))
    values = np.array([*least.values()])
    learns = is_auto(estimator.n_components) or estimator.n_variables is not None
    name: ClustersCriterion = "icl" if learns else "likelihood"
    columns = {"n_clusters": np.array([*least]), name: values}
    columns["difference"] = values - np.nanmin(values) if len(least) > 1 else values
    margin = np.nan if best == 1 else _best(values, largest=False)[1]
    return Selection(best, model, margin, columns, name, choice.verdict_of(table))


def _select_by_stability(
    recipe: Pipeline,
    X: Data,
    candidates: Iterable[int] | None,
    criterion: ClustersCriterion,
    margins: Margins,
) -> Selection:
    """Choose the number of clusters of a recipe by how far halves of the samples agree."""
    steps = dict(recipe.steps)
    if not hasattr(steps.get("prepare"), "project") or "cluster" not in steps:
        raise ParameterTypeError(
            "estimator", "This pipeline is not a recipe. Pass one, such as recipes.expression(3)."
        )
    if criterion not in ("auto", "stability"):
        raise ParameterError(
            "criterion",
            "You cannot compare likelihoods for a recipe, because each number of clusters uses "
            "different axes. Set <criterion='stability'>.",
        )
    if margins != "data":
        fact = "<margins={value!r}> does not work with a recipe."
        raise ParameterError("margins", fact, Advice("set <margins='data'>"), value=margins)
    if not isinstance(steps["cluster"], PSC):
        raise ParameterError(
            "estimator",
            "This recipe does not end with PSC. Pass one that does, such as recipes.expression(3).",
        )
    _check_one_dimension(steps["cluster"])
    if steps["cluster"].n_variables is not None:
        raise ParameterError(
            "n_variables",
            "For a recipe this function only works with all variables. Set <n_variables=None>.",
        )
    n = _num_samples(X)
    # Each half needs two samples a cluster.
    most = max(n // 4, 1)
    given = FEW if candidates is None else _check_candidates(candidates, n)
    numbers = [k for k in given if k <= most]
    if not numbers or numbers == [1]:
        if most == 1:
            fact = "{n:#sample is|samples are} too few to split into halves. Use 8 or more."
            raise ParameterError("candidates", fact, n=n)
        raise ParameterError(
            "candidates",
            f"The halves of {n} samples allow up to {most} clusters. Set "
            f"<candidates=range(1, {most + 1})>.",
        )
    found = halving.compare_numbers(recipe, X, numbers)
    if not found.is_doubted:
        _warn_of_the_last(numbers, found.best, "clusters", most)
    for warning in found.heard[found.best]:
        warn(warning)
    columns, conclusion = found.columns, halving.verdict_on_numbers(found)
    margin = _best(columns["stability"], largest=True)[1]
    model = found.models[found.best]
    return Selection(numbers[found.best], model, margin, columns, "stability", conclusion)


def _differences(values: Array, shares: Array | None, place: int) -> dict[str, Array]:
    """Return two columns (m,): each candidate's difference from the best, and its standard error.

    shares (m, n): the samples' terms in the criterion; without them the errors are nan.
    """
    if shares is None:
        behind, errors = np.abs(values - values[place]), np.full(len(values), np.nan)
    else:
        behind, errors = choosing.differences(shares)
    return {"difference": behind, "standard_error": errors}


def select_n_components(
    estimator: SubspaceClusterer,
    X: Data,
    max_components: int = 5,
) -> Selection:
    """Choose the dimension of each cluster for a given number of clusters.

    With ``n_variables``, PRESS of sparse loadings chooses ("press"). Otherwise the eigenvalues that
    are larger than noise are counted ("noise"), as `diagnostics.pca_components` does. If there are
    fewer than four variables per dimension, the noise is assumed to be equal.

    Parameters
    ----------
    estimator : PSC
        The model whose dimensions are chosen.
    X : array-like of shape (n, p)
        Samples in rows.
    max_components : int, default 5
        Largest dimension to try.

    Returns
    -------
    Selection
        ``.best_`` is a list with one dimension per cluster. ``.table`` has one row per cluster and
        dimension. A single cluster can have dimension 0, with ``affine=True`` and without
        ``n_variables``. Several clusters have at least 1 each.

    Examples
    --------
    >>> import numpy as np
    >>> from subspaces import PSC
    >>> from subspaces.selection import select_n_components
    >>> noise = np.random.default_rng(0).normal(size=(100, 30))
    >>> select_n_components(PSC(1, affine=True), noise).best_
    [0]
    """
    matrix = _complete(X, "n_components")
    _check_clusterer(estimator)
    _check_one_dimension(estimator)
    max_components = as_count(max_components, "max_components", low=1, high=matrix.shape[1])
    fit_with = partial(fitted, estimator, X)
    found = auto.fit_dimensions(fit_with, matrix, estimator, max_components)
    model = found.model.set_params(init=estimator.get_params()["init"])
    auto.warn_of_largest_dimension(found.clusters, matrix, max_components)
    values = _dimension_table(found, matrix, max_components)
    clusters, places = np.indices(values.shape)
    columns: dict[str, Any] = {"cluster": clusters, "n_components": places + 1}
    if getattr(estimator, "n_variables", None) is None:
        criterion, margin = "noise", float("nan")
        columns["eigenvalue"] = values
        names = row_names(X)
        samples = [str(name) for name in (range(len(matrix)) if names is None else names)]
        auto.warn_of_one_subspace(found.clusters, matrix, max_components, samples)
    else:
        criterion, margin = "press", min(_best(each, largest=False)[1] for each in values)
        columns["press"] = values
    columns["chosen"] = places + 1 == model.n_components_[:, None]
    columns = {name: table.ravel() for name, table in columns.items()}
    chosen = model.n_components_.tolist()
    best = "dimension is" if len(chosen) == 1 else "dimensions of the clusters are"
    fact = f"The best {best} {in_a_row(chosen)}."
    if chosen == [0]:
        fact = "No component was found, so the best dimension is 0 (only a mean)."
    conclusion = Verdict("dimensions", fact, {"chosen": chosen})
    return Selection(chosen, model, margin, columns, criterion, conclusion)


def _dimension_table(found: "FittedModel", matrix: Array, max_components: int) -> Array:
    """Return what chooses 1, 2, ... dimensions of each cluster, (K, max_components).

    That is PRESS of a sparse model, infinite if a cluster is too small for the dimension. Otherwise
    it is the eigenvalues of the scatter divided by the size, 0 beyond its rank.
    """
    clusters, model = found.clusters, found.model
    variables = auto.variables_per_cluster(model, len(clusters.subspaces))
    table = np.full((len(variables), max_components), 0.0 if variables[0] is None else np.inf)
    for own, rows, m in zip(table, clusters.members(matrix), variables, strict=True):
        if m is None:
            values: Array = principal_axes(rows).eigenvalues[:max_components] / len(rows)
        else:
            most = choosing.largest_dimension(rows, max_components)
            values = choosing.dimension_by_press(rows, most, m, model.penalty, clusters.affine)
        own[: len(values)] = values
    return table


def select_n_variables(
    estimator: SubspaceClusterer,
    X: Data,
    candidates: Iterable[int] | None = None,
) -> Selection:
    """Choose how many variables each axis of a cluster uses.

    The gap of a number is the log of the captured energy, minus that of permuted variables. The
    smallest number within half a per cent of the largest gap wins.

    Parameters
    ----------
    estimator : PSC
        Model with ``n_variables`` as a first guess.
    X : array-like of shape (n, p)
        Samples in rows.
    candidates : iterable of int, optional
        Numbers to try, ascending. By default 1 to 20, then about seven between 20 and 200, and so
        on.

    Returns
    -------
    Selection
        ``.best_``, the number of variables per axis.

    Examples
    --------
    >>> from subspaces import PSC
    >>> from subspaces.datasets import make_scenario
    >>> from subspaces.selection import select_n_variables
    >>> planes = make_scenario("c", sparse=True, random_state=0)  # 10 variables to a loading
    >>> model = PSC(2, n_components=2, n_variables=10, random_state=0)
    >>> select_n_variables(model, planes.data, [5, 8, 10, 15, 20]).best_
    15
    """
    matrix = as_matrix(X)
    _check_clusterer(estimator, "n_variables")
    if estimator.get_params()["n_variables"] is None:
        raise ParameterError(
            "n_variables",
            "<n_variables=None> leaves nothing to choose. Set a first guess, such as 10.",
        )
    most = matrix.shape[1]
    numbers = choosing.variable_candidates(most) if candidates is None else candidates
    tried = _check_candidates(numbers, most)
    found = fitted(estimator, X)
    model = found.model
    columns = {
        "n_variables": np.array(tried),
        "gap": auto.gap_table(found.clusters, matrix, tried, model.penalty),
    }
    place = choosing.smallest_of_the_best(columns["gap"])
    best = tried[place]
    _warn_of_the_last(tried, place, "variables", most)
    margin = _best(columns["gap"], largest=True)[1]
    final = fitted(estimator, X, n_variables=best).model
    fact = "{chosen:#variable per component fits|variables per component fit} best."
    conclusion = Verdict("variables", fact, {"chosen": best})
    return Selection(best, final, margin, columns, "gap", conclusion)


def _best(values: Array, *, largest: bool) -> tuple[int, float]:
    """Return the index of the best value, and the runner-up's distance over the spread."""
    signed = np.where(np.isfinite(values), -values if largest else values, np.inf)
    order = np.argsort(signed, kind="stable")
    finite = signed[order][np.isfinite(signed[order])]
    if not len(finite):
        raise ParameterError(
            "candidates", "This criterion needs at least three candidates. Add more."
        )
    place, spread = int(order[0]), finite[-1] - finite[0]
    if len(finite) < 2:
        return place, float("nan")
    return place, float((finite[1] - finite[0]) / spread) if spread else 0.0


def _as_text(found: Selection) -> str:
    """Return the columns that decided as text, one line per candidate, with the choice marked."""
    columns = found.columns
    parameter = next(iter(columns))
    names = [name for name in columns if name != "chosen"]
    if parameter == "n_clusters":
        shown = ("n_clusters", found.criterion, "difference", "standard_error")
        names = [name for name in shown if name in columns]
    chosen = columns["chosen"] if "chosen" in columns else columns[parameter] == found.best_
    table = [[name, *(f"{value:.5g}" for value in columns[name])] for name in names]
    marks = ["", *("  <- chosen" if mark else "" for mark in chosen)]
    return "\n".join(line + mark for line, mark in zip(lined_up(table), marks, strict=True))


def _warn_of_the_last(
    numbers: list[int], place: int, name: str, most: int, *others: Advice
) -> None:
    """Warn that the largest candidate was chosen, unless the data allow no larger one."""
    if len(numbers) > 1 and place == len(numbers) - 1 and numbers[-1] < most:
        fact = "{chosen} {name} is the largest number tried, so more may fit better."
        wider = Advice("try a wider range of candidates", command="increase <max_clusters>")
        doubt(ChoiceWarning, f"most_{name}", fact, wider, *others, chosen=numbers[-1], name=name)


def _check_candidates(candidates: Iterable[int], most: int) -> list[int]:
    """Return the candidates as a list of integers from 1 to ``most``; raise unless ascending."""
    if not isinstance(candidates, Iterable):
        last = max(candidates, 2) + 1 if isinstance(candidates, int) else 9
        fact = f"<candidates={{value!r}}> is not a list. Pass range(1, {last}), for example."
        raise ParameterTypeError("candidates", fact, value=candidates)
    numbers = [as_count(value, "candidates", low=1, high=most) for value in candidates]
    if not numbers:
        raise ParameterError("candidates", "<candidates> is empty. Pass at least one number.")
    if sorted(set(numbers)) != numbers:
        raise ParameterError(
            "candidates",
            f"<candidates={numbers}> must increase. Sort them, and keep each number once.",
        )
    return numbers


def _complete(X: Data, name: str) -> Array:
    """Return X as a matrix; raise ValueError for missing cells, which no number is chosen from."""
    matrix = as_matrix(X, missing=True)
    if np.isnan(matrix).any():
        fact = "<X> has missing values, which this function cannot handle."
        raise ParameterError("X", fact, Advice(f"use PSC with <{name}='auto'>", name), FILL)
    return matrix


def _check_clusterer(estimator: SubspaceClusterer, *further: str) -> None:
    """Raise TypeError for an estimator without the parameters of one subspace per cluster.

    further: names of other parameters that it must have.
    """
    if not isinstance(estimator, BaseEstimator):
        fact = "{value!r} is not an estimator. Pass an instance, such as PSC()."
        raise ParameterTypeError("estimator", fact, value=estimator)
    needed = ["n_clusters", "n_components", "affine", *further]
    missing = [name for name in needed if name not in estimator.get_params()]
    if missing:
        instead = "such as PSC" if further else "such as PSC or KSubspaces"
        if isinstance(estimator, MixtureClusterer):
            instead = "such as PSC, or compare the BIC of several fits"
        raise ParameterTypeError(
            "estimator",
            f"{type(estimator).__name__} has no parameter{'s' * (len(missing) > 1)} "
            f"{in_a_row(missing)}. Pass a clusterer with {'them' if len(missing) > 1 else 'it'}, "
            f"{instead}.",
        )


def _check_one_dimension(estimator: SubspaceClusterer) -> None:
    if np.ndim(estimator.n_components):
        raise ParameterError(
            "n_components",
            "<n_components={value!r}> is a list, which fits only one number of clusters. Set "
            "one number, or 'auto'.",
            value=estimator.n_components,
        )
