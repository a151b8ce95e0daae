"""What all subspace clusterers share: validation, restarts, attributes, prediction."""

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from subspaces._validation import as_count, as_flag, as_matrix, check_squares
from subspaces.core import partition, starts
from subspaces.core.problem import Problem
from subspaces.core.rows import DenseRows, choose_rows
from subspaces.core.search import Run, best_run, search, start_margin
from subspaces.core.sparse_basis import Sparsity
from subspaces.core.subspace import (
    PrincipalAxes,
    Subspace,
    centre_of,
    coordinates,
    leading,
    principal_axes,
    project,
    squared_residual,
)

Array = NDArray[np.floating]
Labels = NDArray[np.intp]

NAMED_STARTS: dict[str, starts.Start] = {
    "random": starts.random_labels,
    "k-means++": starts.on_landmarks(starts.spread_flats),
    "local": starts.on_landmarks(starts.local_flats),
}
# The influence has the eighth power of a score: beyond this it would overflow.
FURTHEST = 1e25
DEFAULT_STARTS, DEFAULT_SPARSE_STARTS = 10, 20


class SubspaceClusterer(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    """Base of the estimators that fit one flat per cluster; not for use on its own."""

    n_clusters: int
    n_components: Any
    affine: bool
    init: Any
    n_init: Any
    max_iter: int
    random_state: Any
    n_jobs: int | None
    verbose: int
    subspaces_: list[Subspace]

    def predict(self, X: Any) -> Labels:
        """Give each row to the cluster under which it scores least.

        Parameters
        ----------
        X : array-like of shape (n, p)
            New samples.

        Returns
        -------
        ndarray of shape (n,)
            Cluster of each sample.
        """
        return partition.assign(self._scores(self._validate_new(X)))

    def transform(self, X: Any) -> Array:
        """Score of each sample under each cluster; lower is nearer.

        Parameters
        ----------
        X : array-like of shape (n, p)
            New samples.

        Returns
        -------
        ndarray of shape (n, n_clusters)
        """
        return self._scores(self._validate_new(X))

    def project(self, X: Any) -> list[Array]:
        """Coordinates of each sample in the subspace of the cluster it is predicted to be in.

        Parameters
        ----------
        X : array-like of shape (n, p)
            New samples.

        Returns
        -------
        list of n ndarrays
            As long as the own subspace has dimensions, so possibly ragged.
        """
        X = self._validate_new(X)
        labels = partition.assign(self._scores(X))
        own = [coordinates(X[labels == k], flat) for k, flat in enumerate(self.subspaces_)]
        place = [iter(block) for block in own]
        return [next(place[k]) for k in labels]

    def reconstruct(self, X: Any) -> Array:
        """Nearest point to each sample in the subspace of the cluster it is predicted to be in.

        Parameters
        ----------
        X : array-like of shape (n, p)
            New samples.

        Returns
        -------
        ndarray of shape (n, p)
        """
        X = self._validate_new(X)
        labels = partition.assign(self._scores(X))
        nearest = np.empty_like(X)
        for k, flat in enumerate(self.subspaces_):
            nearest[labels == k] = project(X[labels == k], flat)
        return nearest

    def fit_predict(self, X: Any, y: Any = None) -> Labels:
        """Fit and return ``labels_``.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Samples in rows.
        y : ignored
            For compatibility.

        Returns
        -------
        ndarray of shape (n,)
            ``labels_``.
        """
        return self.fit(X, y).labels_

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clusters."""
        raise NotImplementedError

    def _scores(self, X: Array) -> Array:
        """Score of rows that are not members, (n, K): the distance from the flat, squared."""
        return np.column_stack([squared_residual(X, flat) for flat in self.subspaces_])

    def _validate_new(self, X: Any) -> Array:
        check_is_fitted(self)
        matrix = as_matrix(X, min_samples=1)
        validate_data(self, X, reset=False, skip_check_array=True)
        check_squares(matrix)
        largest = float(np.abs(matrix).max())
        if largest > FURTHEST * self._scale:
            raise ValueError(
                f"X has values up to {largest:.3g}, the data of fit up to {self._scale:.3g}: too "
                "far apart to score; data of like scale would do"
            )
        return matrix

    def _validate(self, X: Any) -> Array:
        matrix = as_matrix(X)
        validate_data(self, X, skip_check_array=True)
        check_squares(matrix)
        self._scale = float(np.abs(matrix).max())
        return matrix

    def _pose(self, X: Array, criterion: str, sparsity: Sparsity | None = None) -> Problem:
        """Check the sizes against the data and hold what does not change from start to start."""
        as_count(self.max_iter, "max_iter", low=1)
        as_flag(self.affine, "affine")
        dimensions = self._dimensions(X)
        centred = X - X.mean(axis=0) if self.affine else X
        rows = DenseRows(centred) if sparsity else choose_rows(centred, self.n_clusters)
        rank = len(rows.spectrum)
        if rank == 0:
            kind = "all rows are equal" if self.affine else "all values are zero"
            raise ValueError(
                f"X has nothing to cluster: {kind}, its rank is 0; other data would do"
            )
        if max(dimensions) > rank:
            raise ValueError(
                f"n_components={max(dimensions)} is more than the rank of X, {rank}"
                f"{' after centring' if self.affine else ''}; at most {rank} would do, or columns "
                "of like scale (a direction below 1e-7 of the largest does not count)"
            )
        problem = Problem(rows, dimensions, criterion, bool(self.affine), sparsity)
        if not problem.identified and self.n_clusters > 1:
            warnings.warn(
                f"n_components={max(dimensions)} equals the rank of X: such a cluster fits every "
                "sample without error, so a Gaussian likelihood decides among the partitions "
                "visited; a smaller dimension would let the score decide",
                UserWarning,
                stacklevel=3,
            )
        return problem

    def _dimensions(self, X: Array) -> tuple[int, ...]:
        n, p = X.shape
        low = 0 if self.affine else 1
        dimensions = self._per_cluster("n_components", n, low=low, high=p)
        needed = sum(partition.smallest_size(r) for r in dimensions)
        if n < needed:
            raise ValueError(
                f"n_samples={n} is too few for n_clusters={self.n_clusters} of "
                f"n_components={max(dimensions)}: a cluster needs n_components + 2 samples, "
                f"{needed} in all; fewer clusters or dimensions would do"
            )
        return dimensions

    def _per_cluster(self, name: str, n: int, *, low: int, high: int) -> tuple[int, ...]:
        """A parameter that is one number, or one per cluster."""
        n_clusters = as_count(self.n_clusters, "n_clusters", low=1, high=n, why=f" for {n} samples")
        given = getattr(self, name)
        given = [given] * n_clusters if np.ndim(given) == 0 else list(given)
        if len(given) != n_clusters:
            raise ValueError(
                f"{name} has {len(given)} entries for n_clusters={n_clusters}; "
                "an int, or one per cluster, would do"
            )
        why = f" for {high} variables"
        return tuple(as_count(value, name, low=low, high=high, why=why) for value in given)

    def _starts(self, X: Array, problem: Problem) -> list[tuple[str, starts.Start]]:
        automatic = DEFAULT_STARTS if problem.sparsity is None else DEFAULT_SPARSE_STARTS
        given = self.n_init if self.n_init != "auto" else automatic
        n_starts = as_count(given, "n_init", low=1)
        if isinstance(self.init, str):
            if self.init == "portfolio":
                if problem.sparsity is not None:
                    screened = starts.on_screened_variables(starts.energetic_flats)
                    return [("screened", screened)] * n_starts
                chosen = starts.portfolio(n_starts)
                return [(name, starts.on_landmarks(start)) for name, start in chosen]
            if self.init in NAMED_STARTS:
                return [(self.init, NAMED_STARTS[self.init])] * n_starts
            names = ", ".join(["portfolio", *NAMED_STARTS])
            raise ValueError(
                f"init={self.init!r} is unknown; one of {names}, labels or a function would do"
            )
        if callable(self.init):
            return [("callable", self._called(X))] * n_starts
        labels = self._given_labels(self.init, len(X))
        return [("labels", lambda problem, random: labels)]

    def _called(self, X: Array) -> starts.Start:
        def start(problem: Problem, random: np.random.Generator) -> Labels:
            seed = int(random.integers(2**31))
            return self._given_labels(self.init(X, self.n_clusters, random_state=seed), len(X))

        return start

    def _given_labels(self, labels: Any, n_samples: int) -> Labels:
        given = np.asarray(labels)
        if given.ndim == 0:
            names = ", ".join(["portfolio", *NAMED_STARTS])
            raise ValueError(
                f"init={labels!r} is unknown; one of {names}, labels or a function would do"
            )
        if given.shape != (n_samples,):
            raise ValueError(
                f"init has shape {given.shape} for {n_samples} samples; one label each would do"
            )
        outside = given[~np.isin(given, np.arange(self.n_clusters))]
        if len(outside):
            raise ValueError(
                f"init has the label {outside[0]!r}; 0 to {self.n_clusters - 1} would do"
            )
        return given.astype(np.intp)

    def _search(self, X: Array, problem: Problem, choice: str) -> tuple[Run, list[Run]]:
        chosen = self._starts(X, problem)
        random = check_random_state(self.random_state)
        seeds = random.randint(0, 2**31 - 1, size=len(chosen)).tolist()
        runs = search(
            problem, chosen, seeds, choice=choice, max_iter=self.max_iter, n_jobs=self.n_jobs
        )
        best = best_run(runs)
        if self.verbose:
            for run in runs:
                self._report(run, run is best)
        return best, runs

    def _report(self, run: Run, best: bool) -> None:
        result = run.clustering
        mark = "  <- best" if best else ""
        print(  # noqa: T201
            f"[{type(self).__name__}] {run.start}: {result.stop_reason} after {result.n_iter} "
            f"sweeps, objective {result.objective:.6g}, merit {run.merit:.6g}{mark}"
        )

    def _warn_of_a_poor_end(self, run: Run) -> None:
        reason = run.clustering.stop_reason
        if reason == "max_iter":
            warnings.warn(
                f"labels still moved after max_iter={self.max_iter} sweeps; a larger max_iter "
                "would do",
                ConvergenceWarning,
                stacklevel=3,
            )
        if reason == "infeasible":
            warnings.warn(
                f"a cluster kept emptying: the data may not hold n_clusters={self.n_clusters} "
                "clusters of these dimensions; fewer clusters or dimensions would do",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _store(self, problem: Problem, best: Run, runs: list[Run]) -> None:
        """Set the labels and how they were reached."""
        result = best.clustering
        same = len({*zip(problem.dimensions, problem.allowed_variables, strict=True)}) == 1
        self.labels_ = partition.canonical(result.labels) if same else result.labels
        self.objective_ = result.objective
        self.objective_path_ = np.array(result.path)
        self.n_iter_ = result.n_iter
        self.stop_reason_ = result.stop_reason
        self.starts_ = _table(runs)
        self.start_margin_ = start_margin(runs)
        self._n_features_out = problem.n_clusters

    def _store_dense(self, X: Array, problem: Problem) -> list[PrincipalAxes]:
        """Set the subspaces; returns all axes of each cluster."""
        self.subspaces_, all_axes = [], []
        for k, dimension in enumerate(problem.dimensions):
            members = X[self.labels_ == k]
            centre = centre_of(members, problem.affine)
            all_axes.append(principal_axes(members - centre))
            self.subspaces_.append(leading(centre, all_axes[k], dimension))
        self.n_components_ = np.array([flat.basis.shape[1] for flat in self.subspaces_])
        return all_axes


def _table(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """One row per start: where it came from, where it ended."""
    return [
        {
            "start": run.start,
            "merit": run.merit,
            "objective": run.clustering.objective,
            "n_iter": run.clustering.n_iter,
            "stop_reason": run.clustering.stop_reason,
        }
        for run in runs
    ]
