"""Fits of many rows: search a sample of the rows, then sweep over all rows, block by block."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle, islice
from typing import Any

import numpy as np
from scipy import sparse

from subspaces._types import Array, Indices
from subspaces.core.alternation import Clustering, alternate
from subspaces.core.array import as_floating, is_dask, is_foreign, like, namespace, place, to_host
from subspaces.core.criteria import CRITERIA
from subspaces.core.low_rank import n_directions
from subspaces.core.problem import Problem
from subspaces.core.rows import GramRows, Rows
from subspaces.core.search import AGREEING, Run, agree
from subspaces.data import block_pass, block_views, fused
from subspaces.data.blocks import (
    ArrayBlocks,
    Blocks,
    at_once,
    device_rows,
    in_single,
    rows_of,
)
from subspaces.data.contrast_sums import from_sums, sums_from
from subspaces.data.csr import SparseBlocks, canonical
from subspaces.data.devices import brought, device_of
from subspaces.data.in_blocks import BlockProblem, RowsInBlocks, first_rows, subspaces_of_sample
from subspaces.data.pass_plan import Pass
from subspaces.data.subspaces import Subspaces
from subspaces.data.survey import Survey, survey
from subspaces.data.validation import as_matrix, check_real, check_shape, check_survey
from subspaces.estimators._subspaces import centred_rows, dimensions_of
from subspaces.runtime.parameters import as_count, as_generator
from subspaces.runtime.step import Step
from subspaces.runtime.threads import usable_threads
from subspaces.starts.device import DeviceStart
from subspaces.starts.landmarks import (
    REFILL_ROWS,
    n_telling,
    rank_of_all,
    sample_size,
    spanned,
    thinned,
)
from subspaces.starts.registry import device_starts

# A dense array of up to so many rows is fitted as one matrix, which is quicker than passes.
FEW_ROWS = 10_000
# On a device the portfolio makes so many starts at most; in main memory there are more kinds.
DEVICE_STARTS = 6
# Samples of up to so many numbers (2 MB) are fetched from a device; larger ones are swept there.
FEW_NUMBERS = 1 << 18
# Sparse and Dask rows of up to this many numbers (128 MB), and of up to FEW_ROWS rows, are looked
# at for copies and single samples as dense ones are.
MOST_NUMBERS = 1 << 24


@dataclass(frozen=True)
class SurveyedBlocks:
    """Many rows in blocks, and the `Survey` of the first pass over them."""

    blocks: Blocks
    survey: Survey

    def few_rows(self) -> Array | None:
        """Return all rows (n, p) in main memory, to compare them; None if they are many."""
        n, p = self.blocks.shape
        few = n <= FEW_ROWS and n * p <= MOST_NUMBERS
        return self.blocks.sample(np.arange(n)) if few else None


@dataclass(frozen=True)
class ManyRowsFit:
    """What `ManyRows.fit` returns.

    result: labels in blocks, subspaces and objective; runs: of the search, empty where labels were
    given; alike: as `Problem.alike`; numbers (K,): the final number of each cluster of the result;
    points (K, p): one near the members of each cluster of the result.
    """

    problem: BlockProblem
    result: Clustering
    runs: list[Run]
    alike: bool
    numbers: Indices
    points: Array


@dataclass(frozen=True)
class ManyRows:
    """A fit of rows in blocks; model: the estimator, which has the parameters."""

    model: Any
    blocks: Blocks
    survey: Survey

    def fit(self) -> ManyRowsFit:
        """Find subspaces on a sample of the rows, sweep them over all rows, return the fit."""
        model, blocks = self.model, self.blocks
        random = as_generator(model.random_state)
        dimensions = dimensions_of(model, blocks, low=0 if model.affine else 1)
        n_chosen = sample_size(blocks, dimensions)
        chosen = np.sort(random.choice(blocks.shape[0], n_chosen, replace=False))
        on_device = self._device_kinds(dimensions)
        if isinstance(model.init, str) and not on_device:
            sample = blocks.sample(chosen)
            posed = model._problem(sample)
            problem = self._in_passes(posed, _sampled_again(blocks, chosen, sample))
            alike, interchangeable = posed.alike, posed.interchangeable
            best, runs = model._best_run(sample, posed)
            del posed, sample  # as large as much that comes after, with its inner products
            start = subspaces_of_sample(problem, best.clustering.labels)
        else:
            few = n_telling(dimensions)
            posed = self._unsearched(chosen, few)
            alike, interchangeable = posed.alike, posed.interchangeable
            some = thinned(chosen, max(REFILL_ROWS, few))
            problem = self._in_passes(posed, partial(blocks.sample, some))
            if on_device:
                start, runs = self._device_starts(problem, chosen, on_device, random)
            else:
                start, runs = self._given_start(), []
        result = alternate(
            RowsInBlocks(problem), start, max_iter=model.max_iter, random=random, tell=model._tell
        )
        numbers = np.arange(model.n_clusters)
        if interchangeable:
            numbers = np.argsort(np.argsort(first_rows(problem, result.labels), kind="stable"))
        points = self._points_near(problem, result.subspaces)
        return ManyRowsFit(problem, result, runs, alike, numbers, points)

    def _unsearched(self, chosen: Indices, few: int) -> Problem:
        """Return the `Problem` of all rows, with rank and energy from a few of the chosen rows.

        chosen (m,): row numbers; few: how many of them are read. All m are read where the few span
        fewer directions than their number allows.
        """
        rows = self._few_rows(thinned(chosen, few))
        if rows.rank < min(spanned(rows, self.model.affine), self.blocks.shape[1]):
            rows = centred_rows(
                self.blocks.sample(chosen), self.model.affine, self.model.n_clusters
            )
        return self.model._problem(self.blocks, rows)

    def _few_rows(self, chosen: Indices) -> Rows:
        """Return the chosen rows as `Rows`.

        Of many numbers on a device only the inner products, computed there, are fetched.
        """
        blocks, model = self.blocks, self.model
        if not is_foreign(blocks.array) or len(chosen) * blocks.shape[1] <= FEW_NUMBERS:
            return centred_rows(blocks.sample(chosen), model.affine, model.n_clusters)
        found = rows_of(blocks.array, chosen)
        xp = namespace(found)
        found = xp.astype(found, xp.float64)
        found = found - xp.mean(found, axis=0) if model.affine else found
        return GramRows(to_host(found @ found.T))

    def _in_passes(self, posed: Problem, some: Callable[[], Array]) -> BlockProblem:
        """Return the `BlockProblem` of all rows; posed: the problem of a sample of them.

        The rank and the usual energy are estimated from the sample. some: returns rows (m, p), from
        which empty clusters are refilled.
        """
        blocks, rows = self.blocks, posed.rows
        shifted = posed.affine and not blocks.stays_sparse
        origin = as_held(self.survey.totals / blocks.shape[0], blocks) if shifted else None
        rank = rank_of_all(rows.rank, spanned(rows, posed.affine), blocks.shape[1])
        return BlockProblem(
            blocks,
            posed.dimensions,
            criterion_in_passes(posed),
            posed.affine,
            rank,
            rows.energy / (len(rows.squared_norms) * rank),
            some if origin is None else lambda: some() - origin,
            origin,
        )

    def _device_kinds(self, dimensions: Sequence[int]) -> list[tuple[str, DeviceStart]]:
        """Return the starts for the device of the rows; empty for rows in main memory."""
        blocks = self.blocks
        if not isinstance(blocks, ArrayBlocks) or not is_foreign(blocks.array):
            return []
        library = place(blocks.array)[0].split(".")[-1]
        return device_starts(self.model.init, library, dimensions)

    def _device_starts(
        self,
        problem: BlockProblem,
        chosen: Indices,
        kinds: list[tuple[str, DeviceStart]],
        random: np.random.Generator,
    ) -> tuple[Subspaces, list[Run]]:
        """Sweep starts on the chosen rows, a sample; return the best one's subspaces, and all runs.

        kinds: names and functions of the starts, which take turns. Where the number of starts is
        "auto", several kinds end as `search` does, once three starts agree, and of one kind one
        start is made.
        """
        model = self.model
        rows = rows_of(problem.blocks.array, chosen)
        few = rows.shape[0] * rows.shape[1] <= FEW_NUMBERS
        rows = to_host(rows) if few else rows
        # From quick starts the plain error leads to the clusters more surely than "distance".
        quick = "hat" if problem.criterion == "distance" else problem.criterion
        small = replace(problem, blocks=at_once(ArrayBlocks(rows)), criterion=quick)
        points = rows if small.origin is None else rows - like(small.origin, rows)
        automatic = 1 if len(kinds) == 1 else DEVICE_STARTS
        given = automatic if model.n_init == "auto" else model.n_init
        n_starts = as_count(given, "n_init", low=1)
        found: list[Clustering] = []
        runs: list[Run] = []
        for done, (name, start) in enumerate(islice(cycle(kinds), n_starts), start=1):
            first = start(points, small.dimensions, small.affine, random)
            first = first if isinstance(first, Subspaces) else small.blocks.split(first)
            samples = RowsInBlocks(small, n_starts > 1)
            result = alternate(samples, first, max_iter=model.max_iter, random=random)
            found.append(result)
            labels = to_host(result.labels, np.intp)
            course = replace(result, labels=labels, repairs=0, subspaces=None)
            runs.append(Run(name, labels, 0, 0.0, course, result.objective))
            model._tell(Step("run", done, n_starts, f"{name}: objective {result.objective:.6g}"))
            if model.n_init == "auto" and agree(runs, AGREEING):
                break
        return min(found, key=lambda result: result.objective).subspaces, runs

    def _given_start(self) -> Any:
        """Return the labels that ``init`` is or returns, checked, as one array per block."""
        search, labels, n = self.model._search, self.model.init, self.blocks.shape[0]
        if callable(labels):
            labels = search.called(self.blocks.array, as_generator(self.model.random_state))
        if not is_foreign(labels):
            return self.blocks.split(search.given_labels(labels, n))
        # Labels on a device are checked there; wrong ones are fetched to be named.
        xp = namespace(labels)
        right = tuple(labels.shape) == (n,) and xp.isdtype(labels.dtype, "integral")
        if not right or int(xp.min(labels)) < 0 or int(xp.max(labels)) >= search.n_clusters:
            search.given_labels(labels, n)
            raise TypeError(f"init has the type {labels.dtype}. Use whole numbers")
        return self.blocks.split(labels)

    def _points_near(self, problem: BlockProblem, subspaces: Subspaces) -> Array:
        """Return a point near the members of each cluster, (K, p).

        It is the centre of an affine subspace. For linear subspaces it is the mean of all rows, or
        the origin where rows stay sparse.
        """
        if not self.model.affine:
            middle = self.survey.totals / self.blocks.shape[0]
            return np.tile(middle * (not self.blocks.stays_sparse), (self.model.n_clusters, 1))
        return to_host(subspaces.centres) + (0.0 if problem.origin is None else problem.origin)


@dataclass(frozen=True)
class NewBlocks:
    """New rows in blocks; its methods return a fitted model's answers for them.

    The methods are those of `NewRows`, which holds rows in memory. device: where the answers are
    sent, as there; None where they stay beside the blocks.
    """

    blocks: Blocks
    plan: Pass
    device: Any = None

    def labels(self) -> Any:
        """Return the cluster under which each row scores least, (n,)."""
        labels = self._found(block_pass.nearest)
        numbers = np.arange(len(self.plan.subspaces.dimensions))
        return self._sent(self.blocks.join(labels, numbers))

    def scores(self) -> Any:
        """Return the score of each row under each cluster, (n, K)."""
        return self._each(block_pass.score)

    def mean_score(self) -> float:
        """Return the mean over the rows of each row's lowest score."""
        scores = self.scores()
        if is_dask(scores):
            return float(scores.min(axis=1).mean().compute())
        xp = namespace(scores)
        return float(xp.mean(xp.min(scores, axis=1)))

    def coordinates(self) -> Any:
        """Return a list of n arrays (r,): each row's coordinates in its cluster's subspace.

        For Dask rows return a Dask array (n, R) instead, with nan beyond a row's own dimension.
        """
        padded = self._each(block_views.own_coordinates)
        if is_dask(padded):
            return padded
        xp = namespace(padded)
        lengths = to_host(xp.sum(xp.astype(~xp.isnan(padded), xp.int64), axis=1)).tolist()
        return [padded[i, :length] for i, length in enumerate(lengths)]

    def nearest_points(self) -> Any:
        """Return the point of its cluster's subspace that is nearest to each row, (n, p)."""
        return self._each(block_views.nearest_points)

    def _each(self, function: Callable[..., Any]) -> Any:
        return self._sent(self._found(function))

    def _found(self, function: Callable[..., Any]) -> Any:
        return self.blocks.each(partial(function, plan=self.plan))

    def _sent(self, values: Any) -> Any:
        """Return values that were found beside the blocks on the device of the answers."""
        return values if self.device is None else brought(values, self.device)


def criterion_in_passes(problem: Problem) -> str:
    """Return the name of the criterion that passes over all rows use for a problem.

    In place of "loo" it is "hat", which leaves a member out to first order; where a dimension
    equals the rank it is "likelihood". Raise ValueError for criteria that passes do not have.
    """
    name = CRITERIA[problem.criterion].passes if problem.identified else "likelihood"
    if name is None:
        raise ValueError(f"criterion={problem.criterion!r} needs all rows in view")
    return name


def directions_of_all(problem: BlockProblem) -> int:
    """Return the rank of all rows, estimated from the singular values of the sample rows.

    Unlike ``problem.rank`` it has directions that inner products lose (`n_directions`).
    """
    p = problem.blocks.shape[1]
    if problem.rank >= p:
        return problem.rank
    sample = problem.sample_rows()
    counted = n_directions(sample, problem.affine, problem.rank)
    return rank_of_all(counted, len(sample) - problem.affine, p)


def sizes_means_and_spread(
    blocks: Blocks, labels: Any, points: Array
) -> tuple[Array, Array, Array]:
    """Return the clusters' sizes (K,), means (K, p) and the deviation around them (p,).

    One pass. points (K, p): near the means; squares are summed around them, so that few digits
    are lost.
    """
    if isinstance(blocks, ArrayBlocks) and is_foreign(blocks.array):
        # Sums in double precision need room beside the rows.
        rows = blocks.block_rows or blocks.shape[0]
        blocks = replace(blocks, block_rows=max(rows // 4, 1))
    sums = blocks.fold(partial(sums_from, points=points), labels)[1]
    return sums.sizes, *from_sums(sums, points)


def blocks_of(X: Any, *, missing: bool = False) -> Blocks | None:
    """Return X as `Blocks`; None for a dense array of up to ``FEW_ROWS`` rows.

    missing: whether NaN is a cell that was not observed, for tables that are copied.
    """
    if is_dask(X):
        from subspaces.data.dask import as_blocks

        return as_blocks(X)
    if sparse.issparse(X):
        check_shape(X.shape)
        check_real(X)
        return SparseBlocks(canonical(X))
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) != 2 or shape[0] <= FEW_ROWS or shape[1] == 0:
        return None
    if device_of(X) is not None:
        X = fused.as_torch(X)
        return ArrayBlocks(as_floating(X), block_rows=device_rows(shape, fused.knows(X)))
    return ArrayBlocks(as_matrix(X, missing=missing) if is_copied(X) else X, usable_threads())


def is_copied(X: Any) -> bool:
    """Whether X must be copied into a new array of floats before its rows can be read in blocks."""
    if in_blocks_only(X) or len(getattr(X, "shape", ())) != 2 or device_of(X) is not None:
        return False
    is_plain = isinstance(X, np.ndarray) and not isinstance(X, np.ma.MaskedArray)
    return not (is_plain and X.dtype in (np.float32, np.float64))


def in_blocks_only(X: Any) -> bool:
    """Whether X is a Dask array or a sparse matrix, which is read in blocks, few rows or many."""
    return is_dask(X) or sparse.issparse(X)


def in_memory(X: Any) -> Any:
    """Return X as a numpy array if it is on a device, since few rows are quicker on the host."""
    return X if device_of(X) is None else to_host(X)


def as_held(origin: Array, blocks: Blocks) -> Array:
    """Return the origin (p,), rounded to single precision where the rows of the blocks have it."""
    return origin.astype(np.float32).astype(np.float64) if in_single(blocks) else origin


def survey_of(blocks: Blocks) -> Survey:
    """Return the `Survey` of all rows, whatever it finds."""
    found: Survey = at_once(blocks).fold(survey, None)[1]
    return found


def surveyed(blocks: Blocks) -> Survey:
    """Return the `Survey` of all rows; raise ValueError for values not finite or too large."""
    found = survey_of(blocks)
    check_survey(found, blocks.array.dtype)
    return found


def _sampled_again(blocks: Blocks, chosen: Indices, sample: Array) -> Callable[[], Array]:
    """Return a function without arguments that returns the chosen rows, (m, p).

    It reads them from the blocks when called, so that the sample need not stay in memory. For Dask
    arrays, which may compute other values at a second reading, it returns the sample itself.
    """
    return (lambda: sample) if is_dask(blocks.array) else partial(blocks.sample, chosen)
