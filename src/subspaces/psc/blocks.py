"""Many rows: search a sample of them, then sweep over all rows, block by block."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle, islice
from typing import Any

import numpy as np

from subspaces._types import Array, Indices
from subspaces.core.array import is_dask, is_foreign, like, namespace, to_host
from subspaces.core.criteria import CRITERIA
from subspaces.core.dimensions import check_enough, dimensions_of
from subspaces.core.likelihood import Data, as_divisor
from subspaces.core.loop import Clustering, alternate
from subspaces.core.low_rank import n_directions
from subspaces.core.partition import unit_of
from subspaces.core.problem import Problem
from subspaces.core.rows import GramRows, Rows, centred_rows
from subspaces.core.which_run import AGREEING, Run, agree
from subspaces.data.block_pass import Assigned, assign_rows
from subspaces.data.blocks import MOST_NUMBERS, ArrayBlocks, Blocks, as_held, at_once, rows_of
from subspaces.data.contrast_sums import from_sums, sums_from
from subspaces.data.in_blocks import (
    BlockProblem,
    RowsInBlocks,
    first_rows,
    influence_and_press,
    residual_energy,
    subspaces_of_sample,
)
from subspaces.data.kinds import SurveyedBlocks
from subspaces.data.subspaces import Subspaces, take, to_subspaces
from subspaces.messages import ParameterTypeError
from subspaces.progress import Step
from subspaces.psc.best_partition import best_partition, called, given_labels, warn_of_a_poor_end
from subspaces.psc.dense import is_another_order, noise_of_cells, noise_variance, with_labels_of_new
from subspaces.psc.doubts import warn_of_far_mean, warn_of_repulsion
from subspaces.psc.result import Fit, course_of, criterion_of_new
from subspaces.psc.settings import Settings, pose
from subspaces.runtime.parameters import as_count, as_generator
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

# A pass over weighted rows holds about this many copies of a block more than compiled loops do.
COPIES = 4
# Most starts on a device. In main memory there are more kinds.
DEVICE_STARTS = 6
# Samples of up to this many numbers (2 MB) are fetched from a device. Larger ones stay there.
FEW_NUMBERS = 1 << 18


@dataclass(frozen=True)
class Swept:
    """The end of the sweeps over all rows.

    result: labels in blocks, subspaces and objective; runs: of the search, empty if labels were
    given; alike: as `Problem.alike`; order (K,): the clusters of the result in their final order;
    points (K, p): one near the members of each cluster of the result.
    """

    problem: BlockProblem
    result: Clustering
    runs: list[Run]
    alike: bool
    order: Indices
    points: Array


def fit_blocks(rows: SurveyedBlocks, settings: Settings, weights: Array | None = None) -> Fit:
    """Return the fit of rows that are read in passes.

    weights (n,): of the rows, in main memory, as the rows are; None if all count one.
    """
    if weights is not None and isinstance(rows.blocks, ArrayBlocks):
        smaller = max(rows.blocks.usual_rows // COPIES, 256)
        rows = replace(rows, blocks=replace(rows.blocks, block_rows=smaller))
    swept = sweep_blocks(rows, settings, weights)
    n, problem, result, order = rows.shape[0], swept.problem, swept.result, swept.order
    given = Run("labels", result.labels, 0, 0.0, result, result.objective)
    batched = take(result.subspaces, order)
    fit = Fit(
        result.labels,  # in blocks, before they are renumbered
        tuple(to_subspaces(batched, problem.origin)),
        to_host(batched.sizes),
        problem.affine,
        problem.criterion,
        problem.criterion,
        Data(problem.total, problem.rank, problem.usual_energy),
        result.objective,
        course_of(result, swept.runs or [given]),
        cell_noise=np.nan,
        weights=weights,
    )
    if settings.measures:
        fit = _measured(_numbered(fit, rows.blocks, swept.points, order), problem, result, batched)
        if weights is not None and not weights.all():
            new, _ = _predicted(fit, rows.blocks)
            fit = replace(fit, labels=np.where(weights > 0.0, fit.labels, new))
    else:
        fit = _as_predicted(fit, rows.blocks, swept.points[order])
    warn_of_a_poor_end(settings, result, swept.runs, n, alike=swept.alike)
    if not fit.affine and len(fit.subspaces) > 1:
        warn_of_far_mean(to_host(rows.survey.totals) / n, float(rows.survey.energy) / n)
    return fit


def _numbered(fit: Fit, blocks: Blocks, points: Array, order: Indices) -> Fit:
    """Return the fit with labels in the order of the clusters, and their sizes and means.

    points (K, p): near the means of the clusters, as labels in blocks number them.
    """
    sizes, means, within_std = sizes_means_and_spread(blocks, fit.labels, points, fit.weights)
    labels = blocks.join(fit.labels, np.argsort(order))
    sizes, means = to_host(sizes)[order], to_host(means)[order]
    return replace(fit, labels=labels, sizes=sizes, means=means, within_std=to_host(within_std))


def _as_predicted(fit: Fit, blocks: Blocks, points: Array) -> Fit:
    """Return the fit with the labels that `predict` finds: rows may still have moved."""
    nearest, found = _predicted(fit, blocks)
    order = np.argsort(found.first, kind="stable")
    if is_another_order(fit, order):
        fit = replace(fit, subspaces=tuple(fit.subspaces[k] for k in order))
        points = points[order]
        nearest, found = _predicted(fit, blocks)
    fit = replace(fit, labels=nearest)
    fit = _numbered(fit, blocks, points, np.arange(len(points)))
    return with_labels_of_new(fit, fit.labels, fit.sizes, found.objective)


def _predicted(fit: Fit, blocks: Blocks) -> tuple[Any, Assigned]:
    """Return the cluster of least cost of each row, and their objective by weight."""
    plan = replace(fit.pass_over(blocks), weights=fit.weights)
    return blocks.fold(partial(assign_rows, plan=plan), None)


def _measured(fit: Fit, problem: BlockProblem, result: Clustering, batched: Subspaces) -> Fit:
    """Return the fit with noise, influence and PRESS, a sample left out to first order."""
    rank, p = fit.data.rank, problem.blocks.shape[1]
    energy = residual_energy(problem, result.labels, result.subspaces)
    widths, directions = fit.dimensions, directions_of_all(problem)
    spent = fit.affine * unit_of(fit.weights)
    noise = noise_variance(energy, batched.sizes, widths, directions, spent)
    pulls, press = influence_and_press(problem, result.labels, result.subspaces)
    by_distance = problem.criterion == "distance"
    warn_of_repulsion(fit.criterion, fit.subspaces, batched.residual, batched.sizes)
    return replace(
        fit,
        scored_by=criterion_of_new(fit.criterion, fit.subspaces, rank),
        cell_noise=noise_of_cells(as_divisor(noise, fit.data), fit.sizes, widths, rank, p),
        noise_variance=noise,
        score_variance=problem.robust_noise(batched) if by_distance else None,
        influence=pulls,
        press=press,
    )


def sweep_blocks(rows: SurveyedBlocks, settings: Settings, weights: Array | None = None) -> Swept:
    """Find subspaces on a sample of the rows, drawn by weight, and sweep them over all rows."""
    blocks, affine = rows.blocks, bool(settings.affine)
    random = as_generator(settings.random_state)
    dimensions = dimensions_of(settings, blocks, low=0 if affine else 1)
    n_chosen, shares = sample_size(blocks, dimensions), None
    if weights is not None:
        check_enough(weights, dimensions)
        n_chosen = min(n_chosen, int(np.count_nonzero(weights)))
        shares = weights / weights.sum()
    chosen = np.sort(random.choice(blocks.shape[0], n_chosen, replace=False, p=shares))
    on_device = _device_kinds(blocks, settings, dimensions)
    if isinstance(settings.init, str) and not on_device:
        sample = blocks.sample(chosen)
        posed = pose(settings, sample)
        again = _sampled_again(blocks, chosen, sample)
        problem = replace(_in_passes(rows, posed, again), weights=weights)
        alike, interchangeable = posed.alike, posed.interchangeable
        by_likelihood = settings.compares_by_likelihood(posed)
        best, runs = best_partition(sample, posed, settings, by_likelihood=by_likelihood)
        del posed, sample  # as large as much that comes after, with its inner products
        start = subspaces_of_sample(problem, best.clustering.labels)
    else:
        few = n_telling(dimensions)
        posed = _unsearched(blocks, settings, chosen, few)
        alike, interchangeable = posed.alike, posed.interchangeable
        some = thinned(chosen, max(REFILL_ROWS, few))
        problem = _in_passes(rows, posed, partial(blocks.sample, some))
        problem = replace(problem, weights=weights)
        if on_device:
            start, runs = _device_starts(problem, settings, chosen, on_device, random)
        else:
            start, runs = _given_start(blocks, settings), []
    result = alternate(
        RowsInBlocks(problem), start, max_iter=settings.max_iter, random=random, tell=settings.tell
    )
    order = np.arange(len(dimensions))
    if interchangeable:
        order = np.argsort(first_rows(problem, result.labels), kind="stable")
    points = _points_near(rows, problem, result.subspaces)
    return Swept(problem, result, runs, alike, order, points)


def _unsearched(blocks: Blocks, settings: Settings, chosen: Indices, few: int) -> Problem:
    """Return the `Problem` of all rows, with rank and energy from a few of the chosen rows.

    chosen (m,): row numbers; few: how many of them are read. All m are read if the few span
    fewer directions than their number allows.
    """
    affine, n_clusters = bool(settings.affine), int(settings.n_clusters)
    rows = _few_rows(blocks, thinned(chosen, few), affine, n_clusters)
    if rows.rank < min(spanned(rows, affine), blocks.shape[1]):
        rows = centred_rows(blocks.sample(chosen), affine, n_clusters)
    return pose(settings, blocks, rows)


def _few_rows(blocks: Blocks, chosen: Indices, affine: bool, n_clusters: int) -> Rows:
    """Return the chosen rows as `Rows`.

    Of many numbers on a device only the inner products, computed there, are fetched.
    """
    if not is_foreign(blocks.array) or len(chosen) * blocks.shape[1] <= FEW_NUMBERS:
        return centred_rows(blocks.sample(chosen), affine, n_clusters)
    found = rows_of(blocks.array, chosen)
    xp = namespace(found)
    found = xp.astype(found, xp.float64)
    found = found - xp.mean(found, axis=0) if affine else found
    return GramRows(to_host(found @ found.T))


def _in_passes(rows: SurveyedBlocks, posed: Problem, some: Callable[[], Array]) -> BlockProblem:
    """Return the `BlockProblem` of all rows; posed: the problem of a sample of them.

    The rank and the usual energy are estimated from the sample. some: returns rows (m, p), from
    which empty clusters are refilled.
    """
    blocks, sample = rows.blocks, posed.rows
    shifted = posed.affine and not blocks.stays_sparse
    origin = as_held(rows.survey.totals / blocks.shape[0], blocks) if shifted else None
    rank = rank_of_all(sample.rank, spanned(sample, posed.affine), blocks.shape[1])
    return BlockProblem(
        blocks,
        posed.dimensions,
        criterion_in_passes(posed),
        posed.affine,
        rank,
        sample.energy / (len(sample.squared_norms) * rank),
        some if origin is None else lambda: some() - origin,
        origin,
    )


def _device_kinds(
    blocks: Blocks, settings: Settings, dimensions: Sequence[int]
) -> list[tuple[str, DeviceStart]]:
    """Return the starts for the device of the rows; empty for rows in main memory."""
    if not isinstance(blocks, ArrayBlocks) or not is_foreign(blocks.array):
        return []
    return device_starts(settings.init, dimensions)


def _device_starts(
    problem: BlockProblem,
    settings: Settings,
    chosen: Indices,
    kinds: list[tuple[str, DeviceStart]],
    random: np.random.Generator,
) -> tuple[Subspaces, list[Run]]:
    """Sweep starts on the chosen rows, a sample; return the best one's subspaces, and all runs.

    kinds: names and functions of the starts, which take turns. If the number of starts is
    "auto", several kinds end as `search` does, once three starts agree, and of one kind one
    start is made.
    """
    rows = rows_of(problem.blocks.array, chosen)
    few = rows.shape[0] * rows.shape[1] <= FEW_NUMBERS
    rows = to_host(rows) if few else rows
    # From quick starts the plain error leads to the clusters more surely than "distance".
    quick = "hat" if problem.criterion == "distance" else problem.criterion
    small = replace(problem, blocks=at_once(ArrayBlocks(rows)), criterion=quick)
    points = rows if small.origin is None else rows - like(small.origin, rows)
    automatic = 1 if len(kinds) == 1 else DEVICE_STARTS
    given = automatic if settings.n_init == "auto" else settings.n_init
    n_starts = as_count(given, "n_init", low=1)
    found: list[Clustering] = []
    runs: list[Run] = []
    for done, (name, start) in enumerate(islice(cycle(kinds), n_starts), start=1):
        first = start(points, small.dimensions, small.affine, random)
        first = first if isinstance(first, Subspaces) else small.blocks.split(first)
        samples = RowsInBlocks(small, n_starts > 1)
        result = alternate(samples, first, max_iter=settings.max_iter, random=random)
        found.append(result)
        labels = to_host(result.labels, np.intp)
        course = replace(result, labels=labels, repairs=0, subspaces=None)
        runs.append(Run(name, labels, 0, 0.0, course, result.objective))
        settings.tell(Step("run", done, n_starts, f"{name}: objective {result.objective:.6g}"))
        if settings.n_init == "auto" and agree(runs, AGREEING):
            break
    return min(found, key=lambda result: result.objective).subspaces, runs


def _given_start(blocks: Blocks, settings: Settings) -> Any:
    """Return the labels that ``init`` is or returns, checked, as one array per block."""
    labels: Any = settings.init
    n = blocks.shape[0]
    if callable(labels):
        labels = called(settings, blocks.array, as_generator(settings.random_state))
    if not is_foreign(labels):
        return blocks.split(given_labels(settings, labels, n))
    # Labels on a device are checked there; wrong ones are fetched to be named.
    xp = namespace(labels)
    right = tuple(labels.shape) == (n,) and xp.isdtype(labels.dtype, "integral")
    if not right or int(xp.min(labels)) < 0 or int(xp.max(labels)) >= int(settings.n_clusters):
        given_labels(settings, labels, n)
        raise ParameterTypeError("init", f"<init> has type {labels.dtype}. Pass whole numbers.")
    return blocks.split(labels)


def _points_near(rows: SurveyedBlocks, problem: BlockProblem, subspaces: Subspaces) -> Array:
    """Return a point near the members of each cluster, (K, p).

    It is the centre of an affine subspace. For linear subspaces it is the mean of all rows, or
    the origin if rows stay sparse.
    """
    if not problem.affine:
        middle = rows.survey.totals / rows.shape[0]
        return np.tile(middle * (not rows.blocks.stays_sparse), (len(problem.dimensions), 1))
    return to_host(subspaces.centres) + (0.0 if problem.origin is None else problem.origin)


def criterion_in_passes(problem: Problem) -> str:
    """Return the name of the criterion that passes over all rows use for a problem.

    In place of "loo" it is "hat", which leaves a member out to first order; if a dimension
    equals the rank it is "likelihood". Raise ValueError for criteria that passes do not have.
    """
    name = CRITERIA[problem.criterion].passes if problem.identified else "likelihood"
    if name is None:
        raise ValueError(
            f"criterion={problem.criterion!r} needs the whole table in memory. Pass a numpy array, "
            "or choose another criterion."
        )
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
    blocks: Blocks, labels: Any, points: Array, weights: Array | None = None
) -> tuple[Array, Array, Array]:
    """Return the clusters' sizes (K,), means (K, p) and the deviation around them (p,).

    One pass. points (K, p): near the means; squares are summed around them, so that few digits
    are lost.
    """
    near: Any = points
    if isinstance(blocks, ArrayBlocks) and is_foreign(blocks.array):
        # Sums in double precision need memory in addition to the rows, small blocks many calls.
        rows, few = blocks.block_rows or blocks.shape[0], MOST_NUMBERS // 2 // blocks.shape[1]
        blocks = replace(blocks, block_rows=max(rows // 4, min(rows, few), 1))
        near = like(points, blocks.array, namespace(blocks.array).float64)
    sums = blocks.fold(partial(sums_from, points=near, weights=weights), labels)[1]
    return sums.sizes, *from_sums(sums, points)


def _sampled_again(blocks: Blocks, chosen: Indices, sample: Array) -> Callable[[], Array]:
    """Return a function without arguments that returns the chosen rows, (m, p).

    It reads them from the blocks when called, so that the sample need not stay in memory. For Dask
    arrays, which may compute other values at a second reading, it returns the sample itself.
    """
    return (lambda: sample) if is_dask(blocks.array) else partial(blocks.sample, chosen)
