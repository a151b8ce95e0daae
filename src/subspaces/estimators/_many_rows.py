"""Fits of many rows: a sample is searched, its best partition swept on over all rows, in passes."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from subspaces._validation import as_count, as_generator, as_matrix, check_shape, check_survey
from subspaces.core import partition
from subspaces.core.alternation import alternate
from subspaces.core.array_namespace import (
    as_floating,
    is_dask,
    is_foreign,
    like,
    namespace,
    to_host,
)
from subspaces.core.contrast import from_sums, sums_from
from subspaces.core.criteria import CRITERIA
from subspaces.core.hearing import warn
from subspaces.core.likelihood import Data
from subspaces.core.problem import Problem
from subspaces.core.record import Record
from subspaces.core.result import Clustering
from subspaces.core.rows import GramRows, Rows
from subspaces.core.search import Run
from subspaces.core.step import Step
from subspaces.core.survey import Survey
from subspaces.core.threads import one_blas_thread
from subspaces.data import block_pass, block_views, fused
from subspaces.data.block_pass import Pass
from subspaces.data.blocks import (
    ArrayBlocks,
    Blocks,
    at_once,
    device_rows,
    in_single,
    least_divisor,
    rows_of,
)
from subspaces.data.csr import SparseBlocks, canonical
from subspaces.data.flats import Flats, from_subspaces, take, to_subspaces
from subspaces.data.in_blocks import Bulk, RowsInBlocks, first_rows, flats_of_sample
from subspaces.data.survey import survey
from subspaces.estimators._alternating import AlternatingClusterer
from subspaces.estimators._devices import check_home, home_of, moved, sent
from subspaces.estimators._samples import (
    FRESH_ROWS,
    n_telling,
    rank_of_all,
    sample_size,
    spanned,
    thinned,
)
from subspaces.estimators._shell import Array
from subspaces.starts.registry import begins_on_device, first_flats

# Up to so many rows all are in view at once.
FEW_ROWS = 10_000
# Starts of so many numbers are swept in main memory, of more on the device.
FEW_NUMBERS = 1 << 18


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
            self._sizes = partition.sizes(self.labels_, len(self.subspaces_)).astype(float)
        else:
            with one_blas_thread():
                self._fit_many(X)

    def _fit_few(self, X: Array) -> None:
        raise NotImplementedError

    def _problem(self, X: Any, rows: Rows | None = None) -> Problem:
        raise NotImplementedError

    @property
    def _choice(self) -> str:
        return "objective"

    def _beyond_passes(self) -> str | None:
        """What is asked for and cannot be had in passes."""
        return None

    def _measure(self, bulk: Bulk, result: Clustering, flats: Flats) -> None:
        """What the method says of every row beyond its label; the flats are in their last order."""

    @property
    def _scoring(self) -> str:
        """The criterion that new rows are scored by."""
        return "residual"

    def _settle_in(self, X: Any) -> None:
        """Arrays of a fit to rows of another library or device go there."""
        home = home_of(X)
        self.__dict__.pop("_home", None)
        if home is not None:
            self._home = home
            self.__dict__.update(moved(self.__dict__, home))

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
        self.__dict__.update(moved(self.__dict__, home_of(X)))
        self._settle_in(X)
        return self

    def _validate(self, X: Any) -> Any:
        blocks = self._blocks(X)
        if blocks is None:
            return super()._validate(in_memory(X))
        validate_data(self, X, skip_check_array=True)
        # At least so many rows are searched, beside a copy of them.
        self._refuse_beyond_room(
            blocks.shape, 2 * min(blocks.shape[0], FRESH_ROWS) * blocks.shape[1]
        )
        self._survey = surveyed(blocks)
        self._scale = self._survey.largest
        return blocks

    def _blocks(self, X: Any) -> Blocks | None:
        """X in blocks; None where its rows are few or something needs them all in view."""
        beyond = self._beyond_passes()
        if beyond is None:
            if is_copied(X):
                self._refuse_beyond_room(X.shape, X.shape[0] * X.shape[1])
            return blocks_of(X, self.n_jobs)
        if in_blocks_only(X):
            kind, fetch = ("Dask array", "compute") if is_dask(X) else ("sparse matrix", "toarray")
            raise ValueError(
                f"{beyond} needs all rows in memory at once, and a {kind} is read in passes. Use "
                f"X.{fetch}(), or leave it out"
            )
        return None

    def _fit_many(self, blocks: Blocks) -> None:
        random = as_generator(self.random_state)
        dimensions = self._dimensions(blocks, low=0 if self.affine else 1)
        enough = sample_size(blocks, dimensions)
        chosen = np.sort(random.choice(blocks.shape[0], enough, replace=False))
        searched = isinstance(self.init, str) and not self._starts_on_device(blocks)
        if searched:
            sample = blocks.sample(chosen)
            problem = self._problem(sample)
            bulk = self._bulk(blocks, problem, again(blocks, chosen, sample))
        else:
            few = n_telling(dimensions)
            problem = self._unsearched(blocks, chosen, few)
            some = thinned(chosen, max(FRESH_ROWS, few))
            bulk = self._bulk(blocks, problem, lambda: blocks.sample(some))
        alike, interchangeable = problem.alike, problem.interchangeable
        if self._starts_on_device(blocks):
            start, runs = self._device_starts(bulk, chosen, random)
        elif isinstance(self.init, str):
            best, runs = self._search(sample, problem, self._choice)
            del problem, sample  # as large as much that comes after, with its inner products
            start = flats_of_sample(bulk, best.clustering.labels)
        else:
            start, runs = self._given_start(bulk), []
        result = alternate(
            RowsInBlocks(bulk), start, max_iter=self.max_iter, random=random, tell=self._tell
        )
        self._store_many(bulk, result, runs, interchangeable)
        self._warn_of_a_poor_end(alike, result, runs, bulk.blocks.shape[0])
        if not np.isfinite(result.objective):
            warn(
                "the objective is infinite: some sample is alone along an axis of its cluster. Use "
                "fewer clusters or dimensions",
                ConvergenceWarning,
            )

    def _unsearched(self, blocks: Blocks, chosen: NDArray[np.intp], few: int) -> Problem:
        """The problem as a few of the chosen rows tell it if they span all, or all of them."""
        rows = self._few_rows(blocks, thinned(chosen, few))
        if rows.rank < min(spanned(rows, self.affine), blocks.shape[1]):
            rows = self._rows(blocks.sample(chosen))
        return self._problem(blocks, rows)

    def _few_rows(self, blocks: Blocks, chosen: NDArray[np.intp]) -> Rows:
        """Some rows; of many numbers on a device only their inner products are fetched."""
        if not is_foreign(blocks.array) or len(chosen) * blocks.shape[1] <= FEW_NUMBERS:
            return self._rows(blocks.sample(chosen))
        found = rows_of(blocks.array, chosen)
        xp = namespace(found)
        found = xp.astype(found, xp.float64)
        found = found - xp.mean(found, axis=0) if self.affine else found
        return GramRows(to_host(found @ found.T))

    def _bulk(self, blocks: Blocks, problem: Problem, some: Callable[[], Array]) -> Bulk:
        """What the passes need to know; the rank, and the usual energy, from the problem's rows."""
        shifted = self.affine and not blocks.stays_sparse
        origin = as_held(self._survey.totals / blocks.shape[0], blocks) if shifted else None
        rows = problem.rows
        rank = rank_of_all(rows, self.affine, blocks.shape[1])
        return Bulk(
            blocks,
            problem.dimensions,
            _in_passes(problem),
            problem.affine,
            rank,
            rows.energy / (len(rows.squared_norms) * rank),
            some if origin is None else lambda: some() - origin,
            origin,
        )

    def _starts_on_device(self, blocks: Blocks) -> bool:
        """Whether the starts are found and swept on the device of the rows."""
        away = isinstance(blocks, ArrayBlocks) and is_foreign(blocks.array)
        return away and begins_on_device(self.init, blocks.array)

    def _device_starts(
        self, bulk: Bulk, chosen: NDArray[np.intp], random: np.random.Generator
    ) -> tuple[Flats, list[Run]]:
        """The best flats of partitions of some rows; beside them, unless those are few."""
        rows = rows_of(bulk.blocks.array, chosen)
        few = rows.shape[0] * rows.shape[1] <= FEW_NUMBERS
        rows = to_host(rows) if few else rows
        small = replace(bulk, blocks=at_once(ArrayBlocks(rows)))
        n_starts = as_count(1 if self.n_init == "auto" else self.n_init, "n_init", low=1)
        found, runs = [], []
        for done in range(1, n_starts + 1):
            samples, first = RowsInBlocks(small, n_starts > 1), self._device_start(small, random)
            result = alternate(samples, first, max_iter=self.max_iter, random=random)
            found.append(result)
            labels = to_host(result.labels, np.intp)
            course = replace(result, labels=labels, repairs=0, subspaces=None)
            runs.append(Run(self.init, labels, 0, 0.0, course, result.objective))
            self._tell(
                Step("run", done, n_starts, f"{self.init}: objective {result.objective:.6g}")
            )
        return min(found, key=lambda result: result.objective).subspaces, runs

    def _device_start(self, small: Bulk, random: np.random.Generator) -> Any:
        """The flats, or the labels of the rows, that the start of a name finds."""
        rows = small.blocks.array
        points = rows if small.origin is None else rows - like(small.origin, rows)
        found = first_flats(self.init, points, small.dimensions, small.affine, random)
        return found if isinstance(found, Flats) else small.blocks.split(found)

    def _given_start(self, bulk: Bulk) -> Any:
        """The labels that are given."""
        labels, n = self.init, bulk.blocks.shape[0]
        if callable(labels):
            seed = int(as_generator(self.random_state).integers(2**31))
            labels = labels(bulk.blocks.array, self.n_clusters, random_state=seed)
        if is_foreign(labels):
            self._check_labels(labels, n)
        else:
            labels = self._given_labels(labels, n)
        return bulk.blocks.split(labels)

    def _check_labels(self, labels: Any, n_samples: int) -> None:
        """Labels on a device, checked there; wrong ones are fetched to be named."""
        xp = namespace(labels)
        right = tuple(labels.shape) == (n_samples,) and xp.isdtype(labels.dtype, "integral")
        if not right or int(xp.min(labels)) < 0 or int(xp.max(labels)) >= self.n_clusters:
            self._given_labels(labels, n_samples)
            raise TypeError(f"init has the type {labels.dtype}. Use whole numbers")

    def _store_many(
        self, bulk: Bulk, result: Clustering, runs: list[Run], interchangeable: bool
    ) -> None:
        given = Run("labels", result.labels, 0, 0.0, result, result.objective)
        self._store_course(result, runs or [given])
        numbers = np.arange(self.n_clusters)
        if interchangeable:
            numbers = np.argsort(np.argsort(first_rows(bulk, result.labels), kind="stable"))
        self.labels_ = bulk.blocks.join(result.labels, numbers)
        order = np.argsort(numbers)
        centres = self._points_near(bulk, result.subspaces)
        self._store_means_in_passes(bulk.blocks, result.labels, centres, order)
        flats = take(result.subspaces, order)
        self._sizes = flats.sizes
        self.subspaces_ = to_subspaces(flats, bulk.origin)
        self.n_components_ = np.array([flat.basis.shape[1] for flat in self.subspaces_])
        self._data = Data(bulk.blocks.shape[0], bulk.rank, bulk.usual_energy)
        self._measure(bulk, result, flats)
        del self._survey

    def _points_near(self, bulk: Bulk, flats: Flats) -> Array:
        """A point near the members of each cluster, (K, p): their mean, or that of all rows."""
        if not self.affine:
            middle = self._survey.totals / bulk.blocks.shape[0]
            return np.tile(middle * (not bulk.blocks.stays_sparse), (self.n_clusters, 1))
        return to_host(flats.centres) + (0.0 if bulk.origin is None else bulk.origin)

    def _store_means_in_passes(
        self, blocks: Blocks, labels: Any, points: Array, order: NDArray[np.intp]
    ) -> None:
        """`_store_means` in one pass: seen from points near them, sums of squares keep digits."""
        if isinstance(blocks, ArrayBlocks) and is_foreign(blocks.array):
            # Sums in double precision need room beside the rows.
            rows = blocks.block_rows or blocks.shape[0]
            blocks = replace(blocks, block_rows=max(rows // 4, 1))
        sums = blocks.fold(partial(sums_from, points=points), labels)[1]
        means, self.within_std_ = from_sums(sums, points)
        self.cluster_means_ = means[order]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._beyond_passes() is None
        tags.array_api_support = True
        return tags

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
        labels = blocks.each(partial(block_pass.nearest, plan=self._pass(blocks)))
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
        return blocks.each(partial(block_pass.score, plan=self._pass(blocks)))

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the mean score of the samples under the cluster they are predicted to be in.

        Higher is better, as model selection in scikit-learn expects it. Squared errors fall with
        every further dimension or cluster, on new samples, too: to choose among those, use
        ``PSC(criterion="likelihood")``, or `subspaces.selection`.

        Parameters
        ----------
        X : array-like of shape (n, p)
            New samples.
        y : ignored
            For compatibility.

        Returns
        -------
        float
        """
        blocks = self._new_blocks(X, "score")
        if blocks is None:
            return super().score(in_memory(X))
        scores = blocks.each(partial(block_pass.score, plan=self._pass(blocks)))
        if is_dask(scores):
            return -float(scores.min(axis=1).mean().compute())
        xp = namespace(scores)
        return -float(xp.mean(xp.min(scores, axis=1)))

    def project(self, X: Any) -> Any:
        """Coordinates of each sample in the subspace of the cluster it is predicted to be in.

        Parameters
        ----------
        X : array-like of shape (n, p)
            New samples.

        Returns
        -------
        list of n arrays
            As long as the own subspace has dimensions, so possibly ragged. Of a Dask array a Dask
            array, as wide as the largest dimension, with nan beyond the own.
        """
        blocks = self._new_blocks(X, "project")
        if blocks is None:
            return sent(super().project(in_memory(X)), self._home)
        padded = blocks.each(partial(block_views.own_coordinates, plan=self._pass(blocks)))
        return padded if is_dask(X) else _ragged(padded)

    def reconstruct(self, X: Any) -> Any:
        """Nearest point to each sample in the subspace of the cluster it is predicted to be in.

        A model with ``preparation_`` answers in raw units where that only scales variables, and
        otherwise in the values of the prepared variables.

        Parameters
        ----------
        X : array-like of shape (n, p)
            New samples.

        Returns
        -------
        array of shape (n, p)
            Of a Dask array a Dask array.
        """
        blocks = self._new_blocks(X, "reconstruct")
        if blocks is None:
            return sent(super().reconstruct(in_memory(X)), self._home)
        return blocks.each(partial(block_views.nearest_points, plan=self._pass(blocks)))

    def _new_blocks(self, X: Any, method: str) -> Any:
        """New rows in blocks; None where they are few. Those of Dask are checked as they come."""
        check_is_fitted(self)
        check_home(X, self._home, f"{type(self).__name__}.{method}")
        if hasattr(self, "preparation_"):
            return None  # samples are prepared in memory, all at once
        blocks = self._blocks(X)
        if blocks is not None:
            validate_data(self, X, reset=False, skip_check_array=True)
        if blocks is not None and not is_dask(X):
            self._check_scale(surveyed(blocks).largest)
        return blocks

    def _pass(self, blocks: Blocks) -> Pass:
        """What new rows are scored with."""
        noise = float(getattr(self, "noise_variance_", 1.0))
        shifted = self.affine and not blocks.stays_sparse
        middle = np.mean([flat.centre for flat in self.subspaces_], axis=0)
        origin = as_held(middle, blocks) if shifted else None
        seen = [
            flat if origin is None else replace(flat, centre=flat.centre - origin)
            for flat in self.subspaces_
        ]
        noise = max(noise, least_divisor(blocks))
        flats = from_subspaces(seen, to_host(self._sizes), noise)
        return Pass(flats, self._scoring, self._data.rank, self._data.n_samples, origin)


def _in_passes(problem: Problem) -> str:
    """The criterion that passes score by; a member is left out to first order, which is "hat"."""
    name = CRITERIA[problem.criterion].passes if problem.identified else "likelihood"
    if name is None:
        raise ValueError(f"criterion={problem.criterion!r} needs all rows in view")
    return name


def blocks_of(X: Any, n_jobs: int | None) -> Blocks | None:
    """X in blocks; None where it is in memory, dense, and its rows are few."""
    if is_dask(X):
        from subspaces.data.dask import as_blocks

        return as_blocks(X)
    if sparse.issparse(X):
        check_shape(X.shape)
        return SparseBlocks(canonical(X))
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) != 2 or shape[0] <= FEW_ROWS or shape[1] == 0:
        return None
    if home_of(X) is not None:
        return ArrayBlocks(as_floating(X), block_rows=device_rows(shape, fused.knows(X)))
    return ArrayBlocks(as_matrix(X) if is_copied(X) else X, n_jobs)


def is_copied(X: Any) -> bool:
    """Whether rows cannot be looked at where they are, of the type they have."""
    if in_blocks_only(X) or len(getattr(X, "shape", ())) != 2 or home_of(X) is not None:
        return False
    return not (isinstance(X, np.ndarray) and X.dtype in (np.float32, np.float64))


def again(blocks: Blocks, chosen: NDArray[np.intp], sample: Array) -> Callable[[], Array]:
    """Gives the sample once more: read from the rows, but held of Dask, who may make them anew."""
    return (lambda: sample) if is_dask(blocks.array) else partial(blocks.sample, chosen)


def as_held(origin: Array, blocks: Blocks) -> Array:
    """A point near the origin that rows of this type can hold, so that they see it exactly."""
    return origin.astype(np.float32).astype(np.float64) if in_single(blocks) else origin


def in_memory(X: Any) -> Any:
    """Few rows: those of a device are fetched, since the host is quicker with them."""
    return X if home_of(X) is None else to_host(X)


def in_blocks_only(X: Any) -> bool:
    """Whether X is of a kind that is never seen as a whole."""
    return is_dask(X) or sparse.issparse(X)


def surveyed(blocks: Blocks) -> Survey:
    """The first pass; says which value is in the way."""
    found: Survey = at_once(blocks).fold(survey, None)[1]
    check_survey(found, blocks.array.dtype)
    return found


def _ragged(padded: Any) -> list[Any]:
    """Rows without the nan at their ends."""
    xp = namespace(padded)
    lengths = to_host(xp.sum(xp.astype(~xp.isnan(padded), xp.int64), axis=1)).tolist()
    return [padded[i, :length] for i, length in enumerate(lengths)]
