"""Fits of many rows: a sample is searched, its best partition swept on over all rows, in passes."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from subspaces._validation import as_generator, as_matrix, check_magnitude, not_finite
from subspaces.core import block_pass, starts
from subspaces.core.block_pass import Pass
from subspaces.core.blocks import ArrayBlocks, Blocks
from subspaces.core.bulk import Bulk, BulkResult, flats_of_sample, sweep
from subspaces.core.criteria import Data
from subspaces.core.flats import Flats, from_subspaces, take, to_subspaces
from subspaces.core.problem import Problem
from subspaces.core.record import Record
from subspaces.core.result import Clustering
from subspaces.core.search import Run
from subspaces.core.survey import Survey, survey
from subspaces.core.threads import one_blas_thread
from subspaces.estimators._alternating import AlternatingClusterer
from subspaces.estimators._shell import Array

# Up to so many rows all are in view at once.
FEW_ROWS = 10_000


class ManyRowsClusterer(AlternatingClusterer):
    """Base of the estimators that know both ways; not for use on its own.

    A method has ``_problem``, ``_choice`` and ``_fit_few``, and ``_measure`` for what it alone says
    of every row.
    """

    def _fit(self, X: Any) -> None:
        if isinstance(X, np.ndarray):
            self._fit_few(X)
        else:
            with one_blas_thread():
                self._fit_many(X)

    def _fit_few(self, X: Array) -> None:
        raise NotImplementedError

    def _problem(self, X: Array) -> Problem:
        raise NotImplementedError

    @property
    def _choice(self) -> str:
        return "objective"

    def _takes_passes(self) -> bool:
        """Whether what is asked for can be had in passes."""
        return True

    def _measure(self, bulk: Bulk, labels: Any, flats: Flats) -> None:
        """What the method says of every row beyond its label."""

    @property
    def _scoring(self) -> str:
        """The criterion that new rows are scored by."""
        return "residual"

    def _validate(self, X: Any) -> Any:
        blocks = blocks_of(X, self.n_jobs) if self._takes_passes() else None
        if blocks is None:
            return super()._validate(X)
        validate_data(self, X, skip_check_array=True)
        self._survey = surveyed(blocks)
        self._scale = self._survey.largest
        return blocks

    def _fit_many(self, blocks: Blocks) -> None:
        n = blocks.shape[0]
        random = as_generator(self.random_state)
        dimensions = self._dimensions(blocks, low=0 if self.affine else 1)
        origin = self._survey.totals / n if self.affine else None
        enough = min(starts.n_landmarks(dimensions), n)
        chosen = np.sort(random.choice(n, enough, replace=False))
        sample = blocks.sample(chosen)
        problem = self._problem(sample)
        bulk = Bulk(
            blocks,
            dimensions,
            problem.criterion if problem.identified else "likelihood",
            problem.affine,
            len(problem.rows.spectrum),
            sample if origin is None else sample - origin,
            origin,
        )
        start, runs = self._start_many(sample, problem, bulk)
        result = sweep(bulk, start, max_iter=self.max_iter, random=random, tell=self._tell)
        self._store_many(bulk, problem, result, runs)

    def _start_many(
        self, sample: Array, problem: Problem, bulk: Bulk
    ) -> tuple[Flats | Any, list[Run]]:
        """Flats of the sample's best partition; labels where they are given."""
        if isinstance(self.init, str):
            best, runs = self._search(sample, problem, self._choice)
            return flats_of_sample(bulk, best.clustering.labels), runs
        labels, n = self.init, bulk.blocks.shape[0]
        if callable(labels):
            seed = int(as_generator(self.random_state).integers(2**31))
            labels = labels(bulk.blocks.array, self.n_clusters, random_state=seed)
        return bulk.blocks.split(self._given_labels(labels, n)), []

    def _store_many(
        self, bulk: Bulk, problem: Problem, result: BulkResult, runs: list[Run]
    ) -> None:
        course = Clustering(
            result.labels, result.objective, result.path, result.stop_reason, result.repairs
        )
        given = Run("labels", result.labels, 0, 0.0, course, result.objective)
        self._store_course(course, runs or [given])
        self._warn_of_a_poor_end(problem, result.stop_reason, runs)
        numbers = np.arange(self.n_clusters)
        if problem.interchangeable:
            numbers = np.argsort(np.argsort(result.first, kind="stable"))
        self.labels_ = bulk.blocks.join(result.labels, numbers)
        flats = take(result.flats, np.argsort(numbers))
        self.subspaces_ = to_subspaces(flats, bulk.origin)
        self.n_components_ = np.array([flat.basis.shape[1] for flat in self.subspaces_])
        n, origin, whole = bulk.blocks.shape[0], bulk.origin, self._survey.energy
        around = whole if origin is None else whole - n * float(origin @ origin)
        self._data = Data(n, bulk.rank, around / (n * bulk.rank))
        self._measure(bulk, result.labels, result.flats)
        del self._survey

    def _recorded(
        self, X: Any, names: NDArray[Any] | None, seconds: float, heard: Iterable[Warning]
    ) -> Record:
        if isinstance(X, np.ndarray):
            return super()._recorded(X, names, seconds, heard)
        messages = tuple(dict.fromkeys(str(warning) for warning in heard))
        return Record(seconds, messages, None, None, None, None)

    def predict(self, X: Any) -> Any:
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
        blocks = self._new_blocks(X)
        if blocks is None:
            return super().predict(X)
        labels, _ = blocks.fold(partial(block_pass.nearest, plan=self._pass(blocks)), None)
        return blocks.join(labels, np.arange(len(self.subspaces_)))

    def transform(self, X: Any) -> Any:
        """Score of each sample under each cluster; lower is nearer.

        Parameters
        ----------
        X : array-like of shape (n, p)
            New samples.

        Returns
        -------
        ndarray of shape (n, n_clusters)
        """
        blocks = self._new_blocks(X)
        if blocks is None:
            return super().transform(X)
        return blocks.fold(partial(block_pass.score, plan=self._pass(blocks)), None)[0]

    def _new_blocks(self, X: Any) -> Blocks | None:
        """New rows in blocks; None where they are few."""
        check_is_fitted(self)
        blocks = blocks_of(X, self.n_jobs) if self._takes_passes() else None
        if blocks is not None:
            validate_data(self, X, reset=False, skip_check_array=True)
            self._check_scale(surveyed(blocks).largest)
        return blocks

    def _pass(self, blocks: Blocks) -> Pass:
        """What new rows are scored with."""
        clusters = range(len(self.subspaces_))
        sizes = np.array([float((self.labels_ == k).sum()) for k in clusters])
        noise = float(getattr(self, "noise_variance_", 1.0))
        origin = np.mean([flat.centre for flat in self.subspaces_], axis=0) if self.affine else None
        shifted = [
            flat if origin is None else replace(flat, centre=flat.centre - origin)
            for flat in self.subspaces_
        ]
        flats = from_subspaces(shifted, sizes, noise)
        return Pass(flats, self._scoring, self._data.rank, self._data.n_samples, origin)


def blocks_of(X: Any, n_jobs: int | None) -> Blocks | None:
    """X in blocks; None where the rows are few."""
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) != 2 or shape[0] <= FEW_ROWS or shape[1] == 0:
        return None
    as_it_is = isinstance(X, np.ndarray) and X.dtype in (np.float32, np.float64)
    return ArrayBlocks(X if as_it_is else as_matrix(X), n_jobs)


def surveyed(blocks: Blocks) -> Survey:
    """The first pass; says which value is in the way."""
    found: Survey = blocks.fold(survey, None)[1]
    if found.bad is not None:
        raise not_finite("X", *found.bad, found.n_bad)
    check_magnitude(found.largest)
    return found
