"""Several methods on one data set, one table."""

import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.cluster import KMeans

from subspaces import plots
from subspaces._validation import as_count, as_flag, as_matrix
from subspaces.core.hearing import PROCESS, hearing
from subspaces.estimators import (
    GPCA,
    MCFA,
    MPPCA,
    PSC,
    SCC,
    SLBF,
    SSC,
    EnsembleKSubspaces,
    KSubspaces,
    MCtFA,
    SparseKMeans,
)
from subspaces.metrics import adjusted_rand_score, matched_accuracy, rand_score

__all__ = ["METHODS", "Comparison", "compare"]

Labels = NDArray[np.intp]


@dataclass(frozen=True)
class Setting:
    """What is asked of every method."""

    n_clusters: int
    dimensions: list[int]
    affine: bool
    random_state: Any
    rank: int

    @property
    def own(self) -> dict[str, Any]:
        """For methods that take one dimension per cluster."""
        same = len(set(self.dimensions)) == 1
        return {**self.common, "n_components": self.dimensions[0] if same else self.dimensions}

    @property
    def common(self) -> dict[str, Any]:
        """For methods with one dimension: the largest."""
        return {**self.bare, "n_components": max(self.dimensions)}

    @property
    def union(self) -> dict[str, Any]:
        """For methods whose clusters share one space: it has to hold all of them."""
        return {**self.bare, "n_components": min(sum(self.dimensions), self.rank)}

    @property
    def bare(self) -> dict[str, Any]:
        """For methods without dimensions."""
        return {"n_clusters": self.n_clusters, "random_state": self.random_state}


METHODS: dict[str, Callable[[Setting], Any]] = {
    "PSC": lambda s: PSC(affine=s.affine, **s.own),
    "KSubspaces": lambda s: KSubspaces(affine=s.affine, **s.own),
    "EnsembleKSubspaces": lambda s: EnsembleKSubspaces(affine=s.affine, **s.own),
    "SSC": lambda s: SSC(affine=s.affine, **s.own),
    "SCC": lambda s: SCC(linear=not s.affine, **s.common),
    "SLBF": lambda s: SLBF(affine=s.affine, **s.common),
    "GPCA": lambda s: GPCA(affine=s.affine, **s.own),
    "MPPCA": lambda s: MPPCA(**s.own),
    "MCFA": lambda s: MCFA(**s.union),
    "MCtFA": lambda s: MCtFA(**s.union),
    "SparseKMeans": lambda s: SparseKMeans(**s.bare),
    "KMeans": lambda s: KMeans(n_init=10, **s.bare),
}


@dataclass(frozen=True, repr=False)
class Comparison:
    """What each method made of the data.

    Attributes
    ----------
    columns : dict of lists
        One entry per method: ``method``; ``ari``, ``rand`` and ``accuracy`` against the given
        labels, or ``agreement``, the mean adjusted Rand index with the other methods;
        ``objective``, each method's own, so not comparable; ``seconds``; ``warnings``, their
        number; ``error``, empty where the method came to an end.
    labels : dict of ndarray
        The partition each method found.
    models : dict of estimators
        The fitted ones.
    messages : dict of list of str
        What each method warned of.
    """

    columns: dict[str, list[Any]]
    labels: dict[str, Labels]
    models: dict[str, Any]
    messages: dict[str, list[str]]

    def __repr__(self) -> str:
        names = ", ".join(self.columns["method"])
        return f"Comparison({names}; see .table, .labels, .models, .messages, .agreement)"

    @property
    def table(self) -> Any:
        """The columns as a pandas DataFrame, or as they are where pandas is missing."""
        if find_spec("pandas") is None:
            return self.columns
        import pandas as pd

        return pd.DataFrame(self.columns).set_index("method")

    @property
    def agreement(self) -> NDArray[np.floating]:
        """Adjusted Rand index between the methods that came to an end, (m, m)."""
        found = list(self.labels.values())
        return np.array([[adjusted_rand_score(one, other) for other in found] for one in found])

    def plot(self, ax: Any = None) -> Any:
        """Draw the agreement between the methods.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib Axes
        """
        return plots.comparison(self, ax=ax)


def compare(
    X: Any,
    n_clusters: int = 2,
    n_components: Any = 1,
    *,
    methods: Iterable[str] | Mapping[str, Any] | None = None,
    labels: Any = None,
    affine: bool = False,
    random_state: Any = 0,
    progress: Callable[[str], None] | None = None,
) -> Comparison:
    """Cluster one data set by several methods.

    A method that fails is reported in its row, with what it said; the others go on.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Samples in rows.
    n_clusters : int, default 2
        Number of clusters.
    n_components : int or one int per cluster, default 1
        Dimensions. Methods with one dimension for all clusters (SCC, SLBF) get the largest. The
        common factors of MCFA and MCtFA have to hold all clusters: they get the sum, or what the
        data allow.
    methods : iterable of str, or mapping of str to estimator, optional
        Names of ``METHODS``, by default all of them; or estimators of your own with a
        ``fit_predict``, which are cloned and fitted as they are.
    labels : array-like of shape (n,), optional
        Known classes.
    affine : bool, default False
        Whether flats have a centre of their own, for the methods that leave the choice. The
        mixtures always have means.
    random_state : int, RandomState or None, default 0
        Seed of every method.
    progress : callable, optional
        Called with the name of each method before it runs.

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
    matrix = as_matrix(X)
    truth = _known(labels, len(matrix))
    setting = _setting(matrix, n_clusters, n_components, affine, random_state)
    rows, found, models, messages = [], {}, {}, {}
    for name, estimator in _chosen(methods, setting).items():
        if progress is not None:
            progress(name)
        model, partition, seconds, said, error = _timed_fit(estimator, X)
        messages[name] = said
        rows.append([name, _objective(model), seconds, len(said), error])
        if not error:
            found[name], models[name] = partition, model
    names, *others = map(list, zip(*rows, strict=True))
    kept = dict(zip(("objective", "seconds", "warnings", "error"), others, strict=True))
    columns = {"method": names, **_against(truth, found, names), **kept}
    return Comparison(columns, found, models, messages)


def _timed_fit(estimator: Any, X: Any) -> tuple[Any, Any, float, list[str], str]:
    """Model, labels, the seconds it took, what it warned of, and its error if it failed."""
    start = time.perf_counter()
    model, labels, error = None, None, ""
    with hearing() as ours, PROCESS, warnings.catch_warnings(record=True) as others:
        warnings.simplefilter("always")
        try:
            model = clone(estimator)
            labels = np.asarray(model.fit_predict(X))
        except Exception as failure:
            error = f"{type(failure).__name__}: {failure}".splitlines()[0]
    said = list(dict.fromkeys(map(str, [*ours, *(other.message for other in others)])))
    return model, labels, time.perf_counter() - start, said, error


def _objective(model: Any) -> float:
    """What the method made least, by the names that estimators have for it."""
    return float(getattr(model, "objective_", getattr(model, "inertia_", np.nan)))


def _against(
    truth: Labels | None, found: Mapping[str, Labels], names: list[str]
) -> dict[str, list[float]]:
    """How well each method agrees with the known classes, or else with the others."""

    def column(measure: Callable[[Labels, str], float]) -> list[float]:
        return [measure(found[name], name) if name in found else np.nan for name in names]

    if truth is None:
        return {"agreement": column(lambda own, name: _with_others(own, name, found))}
    return {
        "ari": column(lambda own, _: float(adjusted_rand_score(truth, own))),
        "rand": column(lambda own, _: float(rand_score(truth, own))),
        "accuracy": column(lambda own, _: float(matched_accuracy(truth, own))),
    }


def _with_others(own: Labels, name: str, found: Mapping[str, Labels]) -> float:
    others = [adjusted_rand_score(labels, own) for key, labels in found.items() if key != name]
    return float(np.mean(others)) if others else np.nan


def _chosen(methods: Any, setting: Setting) -> dict[str, Any]:
    if isinstance(methods, Mapping):
        chosen = dict(methods)
    else:
        if isinstance(methods, str):
            raise TypeError(f"methods={methods!r} is one string. Use a list of names")
        names = list(METHODS if methods is None else methods)
        unknown = [name for name in names if name not in METHODS]
        if unknown:
            raise ValueError(
                f"methods has {unknown[0]!r}, which is unknown. Use one of {', '.join(METHODS)}, "
                "or a mapping of names to estimators"
            )
        chosen = {name: METHODS[name](setting) for name in names}
    if not chosen:
        raise ValueError("methods is empty. Use at least one")
    return chosen


def _setting(
    matrix: Any, n_clusters: Any, n_components: Any, affine: Any, random_state: Any
) -> Setting:
    n, p = matrix.shape
    k = as_count(n_clusters, "n_clusters", low=1, high=n, why=f" for {n} samples")
    given = [n_components] * k if np.ndim(n_components) == 0 else list(n_components)
    if len(given) != k:
        raise ValueError(
            f"n_components has {len(given)} entries for n_clusters={k}. Use an int, or one per "
            "cluster"
        )
    why = f" for {p} variables"
    dimensions = [as_count(r, "n_components", low=1, high=p, why=why) for r in given]
    return Setting(k, dimensions, as_flag(affine, "affine"), random_state, min(n - 1, p))


def _known(labels: Any, n_samples: int) -> Labels | None:
    if labels is None:
        return None
    known = np.asarray(labels)
    if known.shape != (n_samples,):
        raise ValueError(
            f"labels has shape {known.shape} for {n_samples} samples. Use one label each"
        )
    missing = [i for i, label in enumerate(known.tolist()) if label is None or label != label]
    if missing:
        raise ValueError(
            f"labels has no value at row {missing[0]} (and {len(missing) - 1} more). Use one label "
            "each"
        )
    return np.unique(known.astype(str), return_inverse=True)[1]
