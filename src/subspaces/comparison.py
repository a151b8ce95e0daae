"""`compare`: fit several methods to one data set and tabulate how well they agree."""

import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import KMeans

from subspaces import plots
from subspaces._types import Array, Axes, Clusterer, Data, Labels, PerCluster, Seed
from subspaces.data.validation import as_matrix, place_of
from subspaces.estimators._all import ESTIMATORS
from subspaces.estimators._base import SubspaceClusterer
from subspaces.messages import (
    FILL,
    Advice,
    Message,
    ParameterError,
    ParameterTypeError,
    in_a_row,
    message_of,
)
from subspaces.metrics import adjusted_rand_score, matched_accuracy, rand_score
from subspaces.runtime.parameters import as_count, as_flag
from subspaces.runtime.result import InNotebook, as_frame, lined_up
from subspaces.runtime.threads import changed_filters
from subspaces.runtime.warning import collect_warnings

__all__ = ["METHODS", "Comparison", "compare"]


@dataclass(frozen=True)
class Setting:
    """The arguments of `compare`, and the parameters of each kind of estimator made from them.

    rank: the largest rank that the data can have, min(n - 1, p).
    """

    n_clusters: int
    dimensions: list[int]
    affine: bool
    random_state: Seed
    rank: int

    @property
    def own(self) -> dict[str, Any]:
        """Parameters of estimators that take one dimension per cluster."""
        same = len(set(self.dimensions)) == 1
        return {**self.bare, "n_components": self.dimensions[0] if same else self.dimensions}

    @property
    def bare(self) -> dict[str, Any]:
        """Parameters of estimators without dimensions."""
        return {"n_clusters": self.n_clusters, "random_state": self.random_state}

    def made(self, kind: type[SubspaceClusterer]) -> SubspaceClusterer:
        """Return an estimator of this kind, with those of the parameters that it has."""
        given = {**self.own, "affine": self.affine, "linear": not self.affine}
        compared = getattr(kind, "_dimension_to_compare", "each")
        if compared == "largest":  # one for all clusters
            given["n_components"] = max(self.dimensions)
        elif compared == "sum":  # all clusters share one space
            given["n_components"] = min(sum(self.dimensions), self.rank)
        known = signature(kind).parameters
        return kind(**{name: value for name, value in given.items() if name in known})


# All clusterers but those of streams, which are for what does not fit into memory.
METHODS: dict[str, Callable[[Setting], Clusterer]] = {
    kind.__name__: partial(Setting.made, kind=kind)
    for kind in ESTIMATORS
    if issubclass(kind, SubspaceClusterer) and not hasattr(kind, "partial_fit")
} | {"KMeans": lambda setting: KMeans(n_init=10, **setting.bare)}


@dataclass(frozen=True, repr=False)
class Comparison(InNotebook):
    """The table, labels, models and warnings of the methods that `compare` fitted.

    Attributes
    ----------
    columns : dict of lists
        One entry per method:

        - ``method``: its name.
        - ``ari``, ``rand``, ``accuracy``: agreement with ``labels``, if you passed them.
        - ``agreement``: otherwise, the mean adjusted Rand index with the other methods.
        - ``objective``: you cannot compare it between methods.
        - ``seconds``: wall time of the fit.
        - ``warnings``: number of warnings.
        - ``error``: why the method failed, or empty.
    labels : dict of ndarray
        Labels from each method.
    models : dict of estimators
        The fitted models.
    warned : dict of list of Message
        Warnings of each method, as values. ``messages`` has the sentences.
    failed : dict of Message
        Why methods failed, by their names.
    """

    columns: dict[str, list[Any]]
    labels: dict[str, Labels]
    models: dict[str, Any]
    warned: dict[str, list[Message]]
    failed: dict[str, Message]

    def __repr__(self) -> str:
        columns = {name: column for name, column in self.columns.items() if name != "error"}
        table = [[name, *map(_as_cell, column)] for name, column in columns.items()]
        failed = zip(self.columns["method"], self.columns["error"], strict=True)
        errors = [f"{method}: {error}" for method, error in failed if error]
        see = "(see .table, .labels, .models, .messages, .agreement, .plot())"
        return "\n".join([*lined_up(table), *errors, see])

    @property
    def table(self) -> Any:
        """The columns as a pandas DataFrame, or ``columns`` if pandas is missing."""
        return as_frame(self.columns, index="method")

    @property
    def messages(self) -> dict[str, list[str]]:
        """Warnings of each method, as sentences."""
        return {name: list(map(str, warned)) for name, warned in self.warned.items()}

    @property
    def agreement(self) -> Array:
        """Adjusted Rand index between the methods that did not fail, (m, m)."""
        found = list(self.labels.values())
        return np.array([[adjusted_rand_score(one, other) for other in found] for one in found])

    def plot(self, ax: Axes | None = None) -> Any:
        """Draw the agreement between the methods.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw. By default a new figure.

        Returns
        -------
        matplotlib Axes
        """
        return plots.comparison(self, ax=ax)


def compare(
    X: Data,
    n_clusters: int = 2,
    n_components: PerCluster = 1,
    *,
    methods: Iterable[str] | Mapping[str, Clusterer] | None = None,
    labels: ArrayLike | None = None,
    affine: bool = False,
    random_state: Seed = 0,
    progress: Callable[[str], None] | None = None,
) -> Comparison:
    """Cluster one table by several methods.

    If a method fails, its row has the error, and the others continue.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Samples in rows. NaN is a missing value, which only PSC, KSubspaces and MPPCA accept.
    n_clusters : int, default 2
        Number of clusters.
    n_components : int or one int per cluster, default 1
        Dimension of the subspaces. Methods with one dimension for all clusters (SCC, SLBF, RSIM)
        get the largest. MCFA and MCtFA get the sum, because their common factors must span all
        clusters, or the largest number that the data allow.
    methods : iterable of str, or mapping of str to estimator, optional
        Names from ``METHODS``, by default all. Or your own estimators with a ``fit_predict``, which
        are cloned.
    labels : array-like of shape (n,), optional
        Known classes. Samples with "" have no class and do not count.
    affine : bool, default False
        Whether each cluster has its own centre, for methods with this option. Mixtures always have
        means.
    random_state : int, RandomState or None, default 0
        Seed of every method.
    progress : callable, optional
        A function of the name of each method, called before the method runs.

    Returns
    -------
    Comparison
        ``.table``, ``.labels``, ``.models``, ``.agreement``, ``.plot()``.

    Examples
    --------
    >>> from subspaces import compare
    >>> from subspaces.datasets import make_scenario
    >>> planes = make_scenario("c", random_state=0)
    >>> found = compare(planes.data, 2, 2, methods=["PSC", "KMeans"], labels=planes.target)
    >>> found.table["ari"].round(1).abs().to_dict()
    {'PSC': 1.0, 'KMeans': 0.0}
    """
    matrix = as_matrix(X, missing=True)
    truth = _checked_labels(labels, len(matrix))
    setting = _checked_setting(matrix, n_clusters, n_components, random_state, affine=affine)
    chosen = _chosen_estimators(methods, setting)
    _check_gaps(matrix, X, chosen)
    runs = {}
    for name, estimator in chosen.items():
        if progress is not None:
            progress(name)
        runs[name] = _timed_fit(estimator, X)
    found = {name: run.labels for name, run in runs.items() if run.error is None}
    failed = {name: run.error for name, run in runs.items() if run.error is not None}
    columns: dict[str, list[Any]] = {
        "method": list(runs),
        **_agreements(truth, found, list(runs)),
        "objective": [_objective(run.model) for run in runs.values()],
        "seconds": [run.seconds for run in runs.values()],
        "warnings": [len(run.warned) for run in runs.values()],
        "error": [_first_line(run.error) for run in runs.values()],
    }
    models = {name: runs[name].model for name in found}
    warned = {name: run.warned for name, run in runs.items()}
    reasons = {name: message_of(error) for name, error in failed.items()}
    return Comparison(columns, found, models, warned, reasons)


def _first_line(error: Exception | None) -> str:
    return "" if error is None else f"{type(error).__name__}: {error}".splitlines()[0]


def _as_cell(value: str | float) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


class _Run(NamedTuple):
    """One method's model and labels, its time, what it warned of, and its error if it failed."""

    model: Any
    labels: Any
    seconds: float
    warned: list[Message]
    error: Exception | None


def _timed_fit(estimator: Clusterer, X: Data) -> _Run:
    start = time.perf_counter()
    model, labels, error = None, None, None
    with collect_warnings() as ours, changed_filters(record=True) as others:
        warnings.simplefilter("always")
        try:
            model = clone(estimator)
            labels = np.asarray(model.fit_predict(X))
        except Exception as failure:
            error = failure
    raised = [*ours, *(other.message for other in others if isinstance(other.message, Warning))]
    warned = list({str(each): message_of(each) for each in raised}.values())
    return _Run(model, labels, time.perf_counter() - start, warned, error)


def _objective(model: Clusterer | None) -> float:
    """Return what a model minimised, ``objective_`` or ``inertia_``; nan if it has neither."""
    return float(getattr(model, "objective_", getattr(model, "inertia_", np.nan)))


def _agreements(
    truth: Labels | None, found: Mapping[str, Labels], names: list[str]
) -> dict[str, list[float]]:
    """Return the columns that say how well each method agrees, one value per name.

    With known classes they are "ari", "rand" and "accuracy"; otherwise "agreement", the mean
    adjusted Rand index with the other methods. nan for a method that failed.
    """

    def column(
        measure: Callable[[Any, Labels], float], others: Labels | list[Labels]
    ) -> list[float]:
        return [float(measure(others, found[name])) if name in found else np.nan for name in names]

    def of_known(measure: Callable[[Any, Labels], float]) -> Callable[[Any, Labels], float]:
        return lambda classes, own: measure(classes[classes >= 0], own[classes >= 0])

    def mean_agreement(partitions: list[Labels], own: Labels) -> float:
        scores = [adjusted_rand_score(each, own) for each in partitions if each is not own]
        return float(np.mean(scores)) if scores else np.nan

    if truth is None:
        return {"agreement": column(mean_agreement, list(found.values()))}
    measures = {"ari": adjusted_rand_score, "rand": rand_score, "accuracy": matched_accuracy}
    return {name: column(of_known(measure), truth) for name, measure in measures.items()}


def _chosen_estimators(
    methods: Iterable[str] | Mapping[str, Clusterer] | None, setting: Setting
) -> dict[str, Clusterer]:
    """Return the estimators to fit, by name: the caller's own, or those of ``METHODS``."""
    if isinstance(methods, Mapping):
        chosen = dict(methods)
    else:
        if isinstance(methods, str):
            raise ParameterTypeError(
                "methods", "<methods={value!r}> is a string. Pass a list of names.", value=methods
            )
        names = list(METHODS if methods is None else methods)
        unknown = [name for name in names if name not in METHODS]
        if unknown:
            raise ParameterError(
                "methods",
                f"Method {{value!r}} is unknown. Choose from {', '.join(METHODS)}, or pass a "
                "dict of names and estimators.",
                value=unknown[0],
            )
        chosen = {name: METHODS[name](setting) for name in names}
    if not chosen:
        raise ParameterError("methods", "<methods> is empty. Name at least one method.")
    return chosen


def _check_gaps(matrix: Array, X: Data, chosen: Mapping[str, Clusterer]) -> None:
    """Raise ValueError for missing cells that a chosen method does not take; name those that do."""
    holes = np.argwhere(np.isnan(matrix))
    refusing = [name for name, estimator in chosen.items() if not _takes_gaps(estimator)]
    if not len(holes) or not refusing:
        return
    taking = [name for name in chosen if name not in refusing] or ["PSC", "KSubspaces", "MPPCA"]
    row, column = holes[0].tolist()
    raise ParameterError(
        "X",
        "{methods} cannot handle missing values (the first is at {place}).",
        Advice(f"choose methods that can, such as {in_a_row(taking)}", "methods"),
        FILL,
        methods=refusing,
        holes=len(holes),
        place=place_of(X, row, column),
    )


def _takes_gaps(estimator: Clusterer) -> bool:
    """Whether an estimator says of itself that it takes NaN."""
    return isinstance(estimator, BaseEstimator) and bool(
        estimator.__sklearn_tags__().input_tags.allow_nan
    )


def _checked_setting(
    matrix: Array, n_clusters: int, n_components: PerCluster, random_state: Seed, *, affine: bool
) -> Setting:
    n, p = matrix.shape
    k = as_count(n_clusters, "n_clusters", low=1, high=n, why=" for {n:#sample}", n=n)
    given = np.atleast_1d(n_components).tolist()
    given = given * k if np.ndim(n_components) == 0 else given
    if len(given) != k:
        raise ParameterError(
            "n_components",
            f"<n_components> has {{n:#entry|entries}} for <n_clusters={k}>. Give one number "
            "for all clusters, or one for each.",
            value=n_components,
            n=len(given),
        )
    why = " for {p:#variable}"
    dimensions = [as_count(r, "n_components", low=1, high=p, why=why, p=p) for r in given]
    return Setting(k, dimensions, as_flag(affine, "affine"), random_state, min(n - 1, p))


def _checked_labels(labels: ArrayLike | None, n_samples: int) -> Labels | None:
    """Return the known classes as integers from 0 up, (n,), -1 for ""; None if labels is."""
    if labels is None:
        return None
    known = np.asarray(labels)
    if known.shape != (n_samples,):
        raise ParameterError(
            "labels",
            f"<labels> has shape {known.shape}, but there are {n_samples} samples. Pass one "
            "label per sample.",
        )
    missing = [i for i, label in enumerate(known.tolist()) if label is None or label != label]
    if missing:
        raise ParameterError(
            "labels",
            f"labels[{missing[0]}] is missing. Leave out the samples without a label.",
        )
    texts = known.astype(str)
    if not (texts != "").any():
        raise ParameterError(
            "labels", "All <labels> are empty. Pass the known classes, or leave out <labels>."
        )
    return np.where(texts == "", -1, np.unique(texts, return_inverse=True)[1])
