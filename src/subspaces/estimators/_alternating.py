"""`AlternatingClusterer`: base of `PSC`, `KSubspaces`, `MiniBatchPSC`, for few rows or many."""

from contextlib import nullcontext
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from subspaces._types import Array, Auto, Indices, Init, Labels, Seed
from subspaces.core import partition
from subspaces.core.alternation import Clustering
from subspaces.core.array import is_dask, to_host
from subspaces.core.incomplete import (
    NOTHING,
    IncompleteMixture,
    as_gaussian,
    as_subspace,
    fit_mixture,
)
from subspaces.core.likelihood import Data
from subspaces.core.problem import Problem
from subspaces.core.rows import Rows
from subspaces.core.search import Run, start_margin
from subspaces.core.sparse_loadings import Sparsity
from subspaces.data.blocks import Blocks, least_divisor
from subspaces.data.devices import check_device, device_of, moved_attributes
from subspaces.data.in_blocks import BlockProblem
from subspaces.data.pass_plan import Pass
from subspaces.data.subspaces import Subspaces, from_subspaces, take, to_subspaces
from subspaces.data.validation import check_survey
from subspaces.estimators import _many_rows, _missing
from subspaces.estimators._base import NewRows, SubspaceClusterer
from subspaces.estimators._level import warn_of_constant_columns, warn_of_far_mean
from subspaces.estimators._many_rows import ManyRows, NewBlocks, SurveyedBlocks
from subspaces.estimators._search import Search, table_of_starts
from subspaces.estimators._subspaces import dimensions_of, order_of_appearance, pose, widths
from subspaces.runtime.parameters import as_count, as_jobs
from subspaces.runtime.step import Step, silence
from subspaces.runtime.threads import one_blas_thread
from subspaces.runtime.warning import collect_warnings, warn
from subspaces.starts.landmarks import REFILL_ROWS

# A step of EM moves less than a sweep: there are up to so many of them for each sweep.
STEPS_A_SWEEP = 10
# In a matrix of up to so many numbers threads of BLAS wait for each other longer than they work.
SMALL = 1 << 21


class AlternatingClusterer(SubspaceClusterer):
    """Base of the estimators that fit subspaces and assign labels in turn; not for use alone.

    A subclass implements ``_problem`` and ``_fit_few``. It overrides ``_measure`` to set attributes
    of its own after a fit of many rows, which are read in blocks.
    """

    affine: bool
    init: Init
    n_init: int | Auto
    max_iter: int
    random_state: Seed
    n_jobs: int | None
    verbose: int

    # An array without rows, of the library, device and type of the data of fit; None for numpy.
    _home: Any = None

    def move_to(self, X: Any) -> Self:
        """Bring the fitted attributes to the library, device and type of X, to predict there.

        Parameters
        ----------
        X : array
            Of numpy, or under scikit-learn's array API dispatch of torch or CuPy.

        Returns
        -------
        self
            The same estimator.
        """
        check_is_fitted(self)
        self.__dict__.update(moved_attributes(self.__dict__, device_of(X)))
        self._bring_attributes_to(X)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._beyond_passes() is None
        tags.array_api_support = True
        return tags

    # What a method says for itself.

    def _problem(self, X: Any, rows: Rows | None = None) -> Problem:
        """Return the `Problem` that the sweeps solve for X: rows, dimensions and criterion.

        rows: X as `_subspaces.centred_rows` returns it; None where that is still to be computed.
        """
        raise NotImplementedError

    def _fit_few(self, X: Array) -> None:
        """Fit X (n, p), held in memory as one matrix: set ``labels_`` and all other attributes."""
        raise NotImplementedError

    def _measure(self, problem: BlockProblem, result: Clustering, subspaces: Subspaces) -> None:
        """Set the attributes that only a subclass has, after a fit in blocks; by default none."""

    def _beyond_passes(self) -> str | None:
        """Return the first parameter that needs all rows in memory as ``name=value``, or None."""
        return None

    def _choice(self, problem: Problem) -> str:
        """Return what runs are compared by, "objective" or "t_likelihood"."""
        return "objective"

    @property
    def _scoring_noise(self) -> float:
        """Variance of the noise that new rows are scored with, where the criterion has one."""
        return getattr(self, "noise_variance_", 1.0)

    @property
    def _scoring(self) -> str:
        """Name of the criterion by which new rows are scored."""
        return "residual"

    # The problem and the search.

    def _pose(
        self,
        X: Any,
        criterion: str,
        sparsity: Sparsity | None = None,
        rows: Rows | None = None,
    ) -> Problem:
        """Return the `Problem` of X under a criterion, with its sizes checked against X.

        Warn where a dimension equals the rank of X. rows: as in `_problem`.
        """
        as_count(self.max_iter, "max_iter", low=1)
        problem = pose(self, X, criterion, sparsity, rows)
        if not problem.identified and self.n_clusters > 1:
            warn(
                f"n_components={max(problem.dimensions)} equals the rank of X: such a cluster fits "
                "every sample without error, so a Gaussian likelihood decides among the partitions "
                "visited; a smaller dimension would let the score decide",
            )
        return problem

    @property
    def _search(self) -> Search:
        # Where nobody listens, a run need not stop at every sweep.
        tell = self._tell if self.verbose or self._has_listeners else silence
        return Search(
            self.n_clusters, self.init, self.n_init, self.max_iter, self.random_state,
            as_jobs(self.n_jobs), tell,
        )  # fmt: skip

    def _best_run(self, X: Array, problem: Problem) -> tuple[Run, list[Run]]:
        best, runs = self._search.run(X, problem, self._choice(problem))
        if self.verbose:
            print(f"[{type(self).__name__}] best: {best.start}")  # noqa: T201
        return best, runs

    def _tell(self, step: Step) -> None:
        """Pass a step to all listeners; print runs, and with ``verbose=2`` starts and sweeps."""
        super()._tell(step)
        if self.verbose > 1 or (self.verbose and step.stage == "run"):
            count = f"{step.stage} {step.done} of {step.total}"
            print(f"[{type(self).__name__}] {count}, {step.detail}")  # noqa: T201

    def _store(self, problem: Problem, best: Run, runs: list[Run]) -> None:
        """Set ``labels_`` and ``objective_`` from the best run, ``starts_`` from all runs."""
        labels = best.clustering.labels
        self.labels_ = partition.canonical(labels) if problem.interchangeable else labels
        self._store_course(best.clustering, runs)

    def _store_course(self, result: Clustering, runs: list[Run]) -> None:
        self.objective_ = result.objective
        self.objective_path_ = np.array(result.path)
        self.n_iter_ = result.n_iter
        self.stop_reason_ = result.stop_reason
        self.starts_ = table_of_starts(runs)
        self.start_margin_ = start_margin(runs) if len(runs) > 1 else np.inf

    # Few rows or many.

    def _numbers_held(self, n: int, p: int) -> int:
        """Return how many numbers a fit holds: twice X, and n^2 inner products if n < p K."""
        n_clusters = int(self.n_clusters) if isinstance(self.n_clusters, Integral) else 1
        by_products = n < p * n_clusters and getattr(self, "n_variables", None) is None
        return super()._numbers_held(n, p) + (n**2 if by_products else 0)

    def _validate(self, X: Any) -> Any:
        blocks = self._blocks(X)
        if blocks is None:
            return super()._validate(_many_rows.in_memory(X))
        return self._surveyed(X, blocks)

    def _surveyed(self, X: Any, blocks: Blocks) -> Any:
        """Return rows that are read in passes, after one pass that checks them.

        Where it finds missing cells that may be missing, the rows as one matrix.
        """
        validate_data(self, X, skip_check_array=True)
        # The search holds at least REFILL_ROWS rows and a copy of them.
        n, p = blocks.shape
        self._refuse_beyond_room(blocks.shape, 2 * min(n, REFILL_ROWS) * p)
        found = _many_rows.survey_of(blocks)
        if self._takes_missing and found.has_holes and isinstance(blocks.array, np.ndarray):
            return super()._validate(X)
        check_survey(found, blocks.array.dtype)
        self._scale = found.largest
        return SurveyedBlocks(blocks, found)

    def _blocks(self, X: Any) -> Blocks | None:
        """Return X as `Blocks`, which are read in passes; None if X is to be fitted as one matrix.

        Raise ValueError for a Dask array or a sparse matrix with a parameter that needs all rows in
        memory.
        """
        beyond = self._beyond_passes()
        if beyond is None:
            if _many_rows.is_copied(X):
                self._refuse_beyond_room(X.shape, X.shape[0] * X.shape[1])
            return _many_rows.blocks_of(X, missing=self._takes_missing)
        if _many_rows.in_blocks_only(X):
            kind, fetch = ("Dask array", "compute") if is_dask(X) else ("sparse matrix", "toarray")
            raise ValueError(
                f"{beyond} needs all rows in memory at once, and a {kind} is read in passes. Use "
                f"X.{fetch}(), or leave it out"
            )
        return None

    def _fit(self, X: Any) -> None:
        if isinstance(X, np.ndarray):
            with one_blas_thread() if X.size <= SMALL else nullcontext():
                self._fit_few(X)
            self._sizes = partition.sizes(self.labels_, len(self.subspaces_)).astype(float)
            if not self.affine and len(self.subspaces_) > 1:
                warn_of_far_mean(X.mean(axis=0), float(np.einsum("ij,ij->", X, X)) / len(X))
                warn_of_constant_columns(X, getattr(self, "feature_names_in_", None))
        else:
            with one_blas_thread():
                self._fit_many(X)

    def _fit_with_holes(self, X: Array) -> None:
        """Cluster the filled table, and fit a mixture to the observed cells from its clusters."""
        self._refuse_with_holes()
        affine = bool(self.affine)
        dimensions = dimensions_of(self, X, low=0 if affine else 1)
        filled = _missing.fill(X, dimensions, affine)
        most = STEPS_A_SWEEP * self.max_iter
        found = _missing.fitted(filled, self._searched(filled), dimensions, affine, True, most)
        again = _missing.refilled(filled, found)
        if again is not None:
            labels = self._searched(again)
            found = fit_mixture(again.cells, labels, dimensions, affine, again.table, True, most)
        k = len(dimensions)
        is_alike = len(set(dimensions)) == 1
        order = order_of_appearance(found.labels, k) if is_alike else np.arange(k)
        mixture = _missing.moved(found.mixture, filled.origin, order.tolist())
        self.missing_share_ = float(np.isnan(X).mean())
        self._observed = filled.cells.observed.sum(axis=0, keepdims=True)
        self._store_mixture(X, mixture)
        self.objective_path_ = -np.array(found.path)
        self.n_iter_ = len(found.path)
        self.stop_reason_ = "converged" if found.has_converged else "max_iter"
        if not found.has_converged:
            warn(
                f"the likelihood of the observed cells still rose after {most} steps, "
                f"{STEPS_A_SWEEP} times max_iter. Use a larger max_iter",
                ConvergenceWarning,
            )

    def _searched(self, filled: _missing.FilledTable) -> Labels:
        """Return the labels (n,) that the search finds in a filled table."""
        table = filled.table + filled.origin
        blocks = self._blocks(table)
        rows = table if blocks is None else SurveyedBlocks(blocks, _many_rows.survey_of(blocks))
        with collect_warnings() as raised:
            self._fit(rows)
        for warning in raised:  # whether labels still moved does not matter: EM goes on from them
            if not isinstance(warning, ConvergenceWarning) or self.stop_reason_ == "infeasible":
                warn(warning)
        return to_host(self.labels_).astype(np.intp)

    def _refuse_with_holes(self) -> None:
        """Raise ValueError for parameters that need every cell."""

    def _store_mixture(self, X: Array, mixture: IncompleteMixture) -> None:
        """Set subspaces, and labels and objective as `predict` and `transform` have them."""
        self._sizes = len(X) * mixture.shares
        self.noise_variance_ = float(mixture.noise[0])
        self.subspaces_ = [
            as_subspace(cluster, self.noise_variance_, size)
            for cluster, size in zip(mixture.clusters, self._sizes.tolist(), strict=True)
        ]
        scores = self._row_scores(X)
        self.labels_ = partition.assign(scores)
        self.objective_ = float(scores[np.arange(len(X)), self.labels_].sum())

    def _mixture(self) -> IncompleteMixture:
        sizes = np.maximum(to_host(self._sizes), NOTHING)
        noise = float(self._noise_of_cells)
        clusters = tuple(
            as_gaussian(subspace, noise, size)
            for subspace, size in zip(self.subspaces_, sizes.tolist(), strict=True)
        )
        shares, noises = sizes / sizes.sum(), np.full(len(sizes), noise)
        return IncompleteMixture(clusters, shares, noises, self._known_columns)

    def _fit_many(self, X: SurveyedBlocks) -> None:
        found = ManyRows(self, X.blocks, X.survey).fit()
        problem, result, n = found.problem, found.result, X.blocks.shape[0]
        # Labels that are given are a single run.
        given = Run("labels", result.labels, 0, 0.0, result, result.objective)
        self._store_course(result, found.runs or [given])
        order = np.argsort(found.numbers)
        subspaces = take(result.subspaces, order)
        self._sizes = subspaces.sizes
        self.subspaces_ = to_subspaces(subspaces, problem.origin)
        self.n_components_ = widths(self.subspaces_)
        self._data = Data(n, problem.rank, problem.usual_energy)
        self._store_labels_in_passes(X.blocks, result.labels, found.points, order)
        self._measure(problem, result, subspaces)
        self._search.warn_of_a_poor_end(result, found.runs, n, found.alike)
        if not self.affine and self.n_clusters > 1:
            warn_of_far_mean(to_host(X.survey.totals) / n, float(X.survey.energy) / n)

    def _store_labels_in_passes(
        self, blocks: Blocks, labels: Any, points: Array, order: Indices
    ) -> None:
        """Set ``labels_`` and the means of the clusters, which get the numbers of their order.

        labels: in blocks, before they are renumbered; points (K, p): near the clusters' means.
        """
        self.labels_ = blocks.join(labels, np.argsort(order))
        sizes, means, self.within_std_ = _many_rows.sizes_means_and_spread(blocks, labels, points)
        self._sizes, self.cluster_means_ = sizes[order], means[order]

    def _warn_of_odd_samples(self, rows: Array | None, names: NDArray[Any] | None) -> None:
        super()._warn_of_odd_samples(rows, names)
        if not self._warned_of_single_samples(rows is not None, names) and not np.isfinite(
            self.objective_
        ):
            warn(
                "the objective is infinite: some sample is alone along an axis of its cluster. Use "
                "fewer clusters or dimensions",
                ConvergenceWarning,
            )

    def _warned_of_single_samples(self, few: bool, names: NDArray[Any] | None) -> bool:
        """Warn of clusters with one sample each, and return whether there are any.

        few: whether there are few samples; names (n,): of the samples, None for none. The base
        class warns of none.
        """
        return False

    # New rows.

    def _bring_attributes_to(self, X: Any) -> None:
        home = device_of(X)
        self.__dict__.pop("_home", None)
        if home is not None:
            self._home = home
            self.__dict__.update(moved_attributes(self.__dict__, home))

    def _new_rows(self, X: Any, method: str) -> NewRows | NewBlocks:
        check_is_fitted(self)
        check_device(X, self._home, f"{type(self).__name__}.{method}")
        # Samples are prepared in memory, all at once.
        blocks = None if hasattr(self, "preparation_") else self._blocks(X)
        if blocks is None:
            return NewRows(self, self._validate_new(_many_rows.in_memory(X)), self._home)
        validate_data(self, X, reset=False, skip_check_array=True)
        if not is_dask(X):  # those of Dask are checked as they come
            found = _many_rows.survey_of(blocks)
            if self._takes_missing and found.has_holes and isinstance(blocks.array, np.ndarray):
                return NewRows(self, self._validate_new(X), self._home)
            check_survey(found, blocks.array.dtype)
            self._check_scale(found.largest)
        return NewBlocks(blocks, self._pass(blocks), self._home)

    def _pass(self, blocks: Blocks) -> Pass:
        """Return the plan by which new rows are scored: subspaces, criterion, rank and origin."""
        shifted = self.affine and not blocks.stays_sparse
        middle = np.mean([subspace.centre for subspace in self.subspaces_], axis=0)
        origin = _many_rows.as_held(middle, blocks) if shifted else None
        seen = [
            subspace if origin is None else replace(subspace, centre=subspace.centre - origin)
            for subspace in self.subspaces_
        ]
        noise = max(float(self._scoring_noise), least_divisor(blocks))
        subspaces = from_subspaces(seen, to_host(self._sizes), noise)
        return Pass(subspaces, self._scoring, self._data.rank, self._data.n_samples, origin)
