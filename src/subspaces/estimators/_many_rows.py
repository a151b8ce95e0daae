"""Fits of many rows: a sample is searched, its best partition swept on over all rows, in passes."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from subspaces._validation import as_generator, as_matrix, check_magnitude, not_finite
from subspaces.core import block_pass, starts
from subspaces.core.array_namespace import as_floating, is_foreign, namespace, to_host
from subspaces.core.block_pass import Pass
from subspaces.core.blocks import ArrayBlocks, Blocks, device_rows
from subspaces.core.bulk import Bulk, BulkResult, first_rows, flats_of_sample, sweep
from subspaces.core.criteria import Data
from subspaces.core.flats import Flats, from_subspaces, take, to_subspaces
from subspaces.core.problem import Problem
from subspaces.core.record import Record
from subspaces.core.result import Clustering
from subspaces.core.search import Run
from subspaces.core.survey import Survey, survey
from subspaces.core.threads import one_blas_thread
from subspaces.estimators._alternating import AlternatingClusterer
from subspaces.estimators._devices import check_home, home_of, moved, sent
from subspaces.estimators._shell import Array

# Up to so many rows all are in view at once.
FEW_ROWS = 10_000


class ManyRowsClusterer(AlternatingClusterer):
    """Base of the estimators that know both ways; not for use on its own.

    A method has ``_problem``, ``_choice`` and ``_fit_few``, and ``_measure`` for what it alone says
    of every row.
    """

    # No rows of the data of fit: their library, device and type; None for numpy.
    _home: Any = None

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

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Samples in rows. Under scikit-learn's array API dispatch, torch and CuPy arrays stay on
            their device.
        y : ignored
            For compatibility.

        Returns
        -------
        self
            The fitted estimator.
        """
        super().fit(X, y)
        self._home = home_of(X)
        if self._home is not None:
            self.__dict__.update(moved(self.__dict__, self._home))
        return self

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
        self._home = home_of(X)
        self.__dict__.update(moved(self.__dict__, self._home))
        return self

    def _validate(self, X: Any) -> Any:
        blocks = blocks_of(X, self.n_jobs) if self._takes_passes() else None
        if blocks is None:
            return super()._validate(in_memory(X))
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
        if is_foreign(labels):
            self._check_labels(labels, n)
        else:
            labels = self._given_labels(labels, n)
        return bulk.blocks.split(labels), []

    def _check_labels(self, labels: Any, n_samples: int) -> None:
        """Labels on a device, checked there; wrong ones are fetched to be named."""
        xp = namespace(labels)
        right = tuple(labels.shape) == (n_samples,) and xp.isdtype(labels.dtype, "integral")
        if not right or int(xp.min(labels)) < 0 or int(xp.max(labels)) >= self.n_clusters:
            self._given_labels(labels, n_samples)
            raise TypeError(f"init has the type {labels.dtype}; whole numbers would do")

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
            numbers = np.argsort(np.argsort(first_rows(bulk, result.labels), kind="stable"))
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
        blocks = self._new_blocks(X, "predict")
        if blocks is None:
            return sent(super().predict(in_memory(X)), self._home)
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
        blocks = self._new_blocks(X, "transform")
        if blocks is None:
            return sent(super().transform(in_memory(X)), self._home)
        return blocks.fold(partial(block_pass.score, plan=self._pass(blocks)), None)[0]

    def project(self, X: Any) -> list[Any]:
        """Coordinates of each sample in the subspace of the cluster it is predicted to be in.

        Parameters
        ----------
        X : array-like of shape (n, p)
            New samples.

        Returns
        -------
        list of n arrays
            As long as the own subspace has dimensions, so possibly ragged.
        """
        blocks = self._new_blocks(X, "project")
        if blocks is None:
            return sent(super().project(in_memory(X)), self._home)
        plan = self._pass(blocks)
        found = blocks.fold(partial(block_pass.own_scores, plan=plan), None)[0]
        lengths = plan.flats.dimensions[to_host(found[:, -1]).astype(np.intp)].tolist()
        return [found[i, :length] for i, length in enumerate(lengths)]

    def reconstruct(self, X: Any) -> Any:
        """Nearest point to each sample in the subspace of the cluster it is predicted to be in.

        Parameters
        ----------
        X : array-like of shape (n, p)
            New samples.

        Returns
        -------
        array of shape (n, p)
        """
        blocks = self._new_blocks(X, "reconstruct")
        if blocks is None:
            return sent(super().reconstruct(in_memory(X)), self._home)
        return blocks.fold(partial(block_pass.nearest_points, plan=self._pass(blocks)), None)[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        return tags

    def _size(self, k: int) -> int:
        """Number of members of a cluster, wherever the labels are."""
        xp = namespace(self.labels_)
        return int(xp.sum(xp.astype(self.labels_ == k, xp.int64)))

    def _new_blocks(self, X: Any, method: str) -> Blocks | None:
        """New rows in blocks; None where they are few."""
        check_is_fitted(self)
        check_home(X, self._home, f"{type(self).__name__}.{method}")
        blocks = blocks_of(X, self.n_jobs) if self._takes_passes() else None
        if blocks is not None:
            validate_data(self, X, reset=False, skip_check_array=True)
            self._check_scale(surveyed(blocks).largest)
        return blocks

    def _pass(self, blocks: Blocks) -> Pass:
        """What new rows are scored with."""
        clusters = range(len(self.subspaces_))
        sizes = np.array([self._size(k) for k in clusters], dtype=float)
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
    if home_of(X) is not None:
        return ArrayBlocks(as_floating(X), block_rows=device_rows(shape))
    as_it_is = isinstance(X, np.ndarray) and X.dtype in (np.float32, np.float64)
    return ArrayBlocks(X if as_it_is else as_matrix(X), n_jobs)


def in_memory(X: Any) -> Any:
    """Few rows: those of a device are fetched, since the host is quicker with them."""
    return X if home_of(X) is None else to_host(X)


def surveyed(blocks: Blocks) -> Survey:
    """The first pass; says which value is in the way."""
    found: Survey = blocks.fold(survey, None)[1]
    if found.bad is not None:
        raise not_finite("X", *found.bad, found.n_bad)
    check_magnitude(found.largest)
    return found
