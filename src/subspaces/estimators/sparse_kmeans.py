"""Sparse K-means."""

from dataclasses import asdict
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from subspaces._types import Array, Counts, Indices, Seed, StopReason
from subspaces.core import partition
from subspaces.core.dimensions import nothing_to_cluster
from subspaces.estimators._base import SubspaceClusterer
from subspaces.messages import Advice, ParameterError
from subspaces.psc.doubts import warn_of_an_early_end, warn_of_empty_clusters
from subspaces.rivals import sparse_kmeans
from subspaces.rivals.sparse_kmeans import Rule, WeightedClustering, gap_table
from subspaces.runtime.parameters import as_count, as_generator, as_real
from subspaces.runtime.threads import one_blas_thread


class SparseKMeans(SubspaceClusterer):
    """Sparse K-means, which finds clusters that differ in few variables, and weights each variable.

    It maximises the weighted between-cluster sum of squares, ``sum_j w_j a_j``, with ``||w||_2 <=
    1``, ``||w||_1 <= bound`` and ``w >= 0``. Scale the variables first. A variable with a large
    variance gets a large weight even if it does not separate clusters.

    Parameters
    ----------
    n_clusters : int, default 2
        Number of clusters. If it is 1, all weights are equal.
    bound : None, float or "gap", default None
        Largest sum of the weights, from 1 (one variable) to ``sqrt(p)`` (no constraint). "gap"
        chooses the best of ten by the permutation gap. So does None, unless ``n_variables`` is set.
    n_variables : int, optional
        Number of variables with a weight above zero, instead of ``bound``. It can be fewer, because
        a variable that does not differ between the clusters gets no weight.
    n_init : int, default 10
        Number of starts. The largest objective wins. The paper continues only the best start of
        K-means.
    max_iter : int, default 50
        Largest number of iterations of a start.
    tol : float, default 1e-4
        A start has converged if the weights change by less than this share of their sum.
    random_state : int, RandomState or None
        Seed.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Cluster of each sample, the same as ``predict(X)``.
    weights_ : ndarray of shape (p,)
        Weight of each variable.
    variables_ : ndarray
        Column numbers of the variables with a weight above zero. `get_variables` gives their names.
    cluster_centers_ : ndarray of shape (n_clusters, p)
        Mean of each cluster, on all variables.
    bound_ : float
        The bound that the fit used. If ``n_variables`` is set, the sum of the weights.
    objective_ : float
        Weighted between-cluster sum of squares.
    objective_path_ : ndarray of shape (``n_iter_`` + 1,)
        Objective after each iteration of the best start, and at its end. For a given bound it never
        falls. If ``n_variables`` is set, it can fall, because the bound changes.
    n_iter_ : int
        Number of iterations of the best start.
    stop_reason_ : str
        Why the best start stopped: "converged" or "max_iter".
    selection_ : dict of ndarrays
        The ``bounds`` that the gap compared, their ``objectives``, ``gaps``, ``standard_errors``
        and ``counts`` (of weights above zero). Only fits that chose the bound have it.
    record_ : Record
        Seconds, warnings, and the samples as the model sees them. See `estimators._record.Record`.

    Notes
    -----
    The gap of a bound is the log of its objective, minus the mean log over five copies of the data
    with permuted variables. Each copy has two starts. The smallest bound within one standard error
    of the largest gap wins. It often keeps too many variables, because many small weights cost
    little. Set ``n_variables`` if their number matters.

    Each start begins with K-means. If ``bound=sqrt(p)``, the weights are ``a / ||a||_2``. They are
    equal only if all variables separate the clusters equally well. In general the labels are those
    of K-means on variables scaled by ``sqrt(w)``.

    References
    ----------
    D. M. Witten and R. Tibshirani, "A framework for feature selection in clustering", J. Amer.
    Statist. Assoc. 105 (2010) 713-726.

    Examples
    --------
    >>> import numpy as np
    >>> from subspaces import SparseKMeans
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(60, 40))
    >>> X[30:, [3, 17, 25]] += 4
    >>> model = SparseKMeans(2, n_variables=3, random_state=0).fit(X)
    >>> model.variables_
    array([ 3, 17, 25])
    >>> int(model.labels_[:30].max()), int(model.labels_[30:].min())
    (0, 1)
    """

    weights_: Annotated[Array, "p"]
    variables_: Annotated[Indices, "*"]
    cluster_centers_: Annotated[Array, "K", "p"]
    bound_: float
    objective_path_: Annotated[Array, "*"]
    n_iter_: int
    stop_reason_: StopReason
    selection_: dict[str, Array | Counts]

    _has_subspaces = False

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        bound: float | Literal["gap"] | None = None,
        n_variables: int | None = None,
        n_init: int = 10,
        max_iter: int = 50,
        tol: float = 1e-4,
        random_state: Seed = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.bound = bound
        self.n_variables = n_variables
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _fit(self, X: Array) -> None:
        self._check_parameters(X)
        centred = _centred(X)
        random = as_generator(self.random_state)
        # Hundreds of small K-means: threads would wait for each other longer than they work.
        with one_blas_thread():
            rule = self._rule(centred, random)
            starts = sparse_kmeans.first_partitions(centred, self.n_clusters, self.n_init, random)
            best = sparse_kmeans.best_of_starts(centred, starts, rule, self.max_iter, self.tol)
        self._store(X, best)
        warn_of_an_early_end(self.stop_reason_, self.max_iter, self.n_clusters)
        warn_of_empty_clusters(len(self.cluster_centers_), self.n_clusters)

    def get_variables(self) -> NDArray[Any]:
        """Return the variables with a weight above zero, largest first.

        Returns
        -------
        ndarray
            Names of the variables, or column numbers if X had no names.
        """
        check_is_fitted(self)
        ordered = self.variables_[np.argsort(-self.weights_[self.variables_], kind="stable")]
        names = self._variable_names
        return ordered if names is None else names[ordered]

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def _check_parameters(self, X: Array) -> None:
        n, p = X.shape
        as_count(self.n_clusters, "n_clusters", low=1, high=n, why=" for {n:#sample}", n=n)
        as_count(self.n_init, "n_init", low=1)
        as_count(self.max_iter, "max_iter", low=1)
        as_real(self.tol, "tol")
        if self.bound is not None and self.n_variables is not None:
            fact = "<bound> and <n_variables> set the same thing. Leave out one of them."
            raise ParameterError("bound", fact, value=self.bound)
        if self.n_variables is not None:
            as_count(self.n_variables, "n_variables", low=1, high=p, why=" for {p:#variable}", p=p)
            if self.n_clusters == 1:
                fact = "<n_variables={value}> needs more than one cluster."
                more = Advice("set <n_clusters> to 2 or more", "n_clusters")
                raise ParameterError("n_variables", fact, more, value=self.n_variables)
        if not np.ptp(X, axis=0).any():
            raise nothing_to_cluster("All samples are identical")

    def _rule(self, X: Array, random: np.random.Generator) -> Rule:
        """Return the function from between-cluster sums of squares (p,) to weights (p,)."""
        if self.n_clusters == 1:
            p = X.shape[1]
            self.bound_ = np.sqrt(p) if self._asks_for_the_gap() else self._given_bound(X)
            equal = np.full(p, min(1.0 / np.sqrt(p), self.bound_ / p))
            return lambda between: equal
        if self.n_variables is not None:
            return partial(sparse_kmeans.counted_weights, n_variables=self.n_variables)
        bound = self._gap_bound(X, random) if self._asks_for_the_gap() else self._given_bound(X)
        self.bound_ = bound
        return partial(sparse_kmeans.bounded_weights, bound=bound)

    def _asks_for_the_gap(self) -> bool:
        return self.bound is None or (isinstance(self.bound, str) and self.bound == "gap")

    def _gap_bound(self, X: Array, random: np.random.Generator) -> float:
        table = gap_table(X, self.n_clusters, max_iter=self.max_iter, tol=self.tol, random=random)
        self.selection_ = asdict(table)
        return table.chosen

    def _given_bound(self, X: Array) -> float:
        largest = float(np.sqrt(X.shape[1])) * (1.0 + 1e-12)
        return as_real(self.bound, "bound", low=1.0, high=largest)

    def _store(self, X: Array, best: WeightedClustering) -> None:
        labels = partition.canonical(best.labels)
        self.weights_ = best.weights
        self.variables_ = np.flatnonzero(best.weights)
        if self.n_variables is not None:
            self.bound_ = float(best.weights.sum())
        self.cluster_centers_ = sparse_kmeans.cluster_means(X, labels)[1]
        self.labels_ = partition.assign(self._scores(X))
        self.objective_ = best.path[-1]
        self.objective_path_ = np.array(best.path)
        self.n_iter_ = len(best.path) - 1
        self.stop_reason_ = best.stop_reason

    def _scores(self, X: Array) -> Array:
        """Return weighted squared distances, ``sum_j w_j (x_j - c_kj)^2``, (n, K)."""
        used, weights = self.variables_, self.weights_[self.variables_]
        centres = self.cluster_centers_[:, used]
        return np.column_stack([(X[:, used] - centre) ** 2 @ weights for centre in centres])


def _centred(X: Array) -> Array:
    """Return X less its column means, (n, p); constant columns become exactly zero."""
    return np.where(np.ptp(X, axis=0) > 0, X - X.mean(axis=0), 0.0)
