"""The loop of alternation.py for rows that are too many to be looked at more than once a sweep.

A pass gives every row its next label and sums, of the members each cluster then has, what its next
flat needs. With few variables the sums are scatter matrices and every flat is exact; of rows that
keep their cluster nothing is summed again. With many variables a pass is one step of subspace
iteration, and when no label moves the flats are first made exact, and the labels must hold.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subspaces.core import block_pass, compiled_pass
from subspaces.core.block_pass import Pass
from subspaces.core.blocks import ArrayBlocks, Blocks, at_once, in_large_blocks, least_divisor
from subspaces.core.criteria import VARIANCE_FLOOR
from subspaces.core.exact_axes import leading_axes
from subspaces.core.flats import (
    FAINTEST,
    MOST_VARIABLES,
    Flats,
    Tally,
    at_least,
    centred_images,
    from_axes,
    from_images,
    from_scatter,
    left_singular,
    with_one,
)
from subspaces.core.partition import DEGENERATE, smallest_size
from subspaces.core.step import Step, Tell, silence
from subspaces.core.subspace import centre_of

Array = NDArray[np.floating]

# Passes after which scatter matrices are summed afresh, so that rounding does not build up; and
# the share of rows moved in the last pass above which that is quicker.
REFRESH, MANY = 10, 0.4
# Subspace iteration from labels begins with a few steps.
FIRST_STEPS = 3
MAX_REPAIRS = 5
# Partitions of the same sizes whose objectives agree in so many digits are the same: flats that a
# pass brings only nearer to the exact ones come back to a state slowly.
SAME_DIGITS = 10


@dataclass(frozen=True)
class Bulk:
    """What stays the same from pass to pass.

    rank: of the data; usual_energy: of a row along one direction, in the mean; fresh: gives some
    rows (m, p), from the origin, from which a cluster that empties is begun again; origin (p,):
    what is taken from every row before anything else, None for nothing.
    """

    blocks: Blocks
    dimensions: tuple[int, ...]
    criterion: str
    affine: bool
    rank: int
    usual_energy: float
    fresh: Callable[[], Array]
    origin: Array | None = None

    @property
    def by_scatter(self) -> bool:
        """Whether whole scatter matrices are kept: few variables, or few beside the dimensions."""
        return self.blocks.shape[1] <= max(MOST_VARIABLES, 4 * max(self.dimensions))

    @property
    def exact_passes(self) -> bool:
        """Whether every pass ends with the exact flats of its labels."""
        return self.by_scatter and not self.blocks.rounded


@dataclass(frozen=True)
class BulkResult:
    """The best partition seen, its flats, the path to it, and how many rows moved last."""

    labels: Any
    flats: Flats
    objective: float
    path: tuple[float, ...]
    stop_reason: str
    repairs: int
    moved: int = 0


def sweep(
    bulk: Bulk,
    start: Flats | Any,
    *,
    max_iter: int,
    random: np.random.Generator,
    tell: Tell = silence,
    finish: bool = True,
) -> BulkResult:
    """Sweep from flats (of a sample) or from labels; without a finish to flats near the exact."""
    labels, flats, state = begin(bulk, start, finish)
    flats, repairs = repair(bulk, flats, 0, random)
    path: list[float] = []
    best, settled = BulkResult(labels, flats, np.inf, (), "", 0), False
    seen: set[tuple[float, ...]] = set()
    reason = "max_iter"
    exact = bulk.exact_passes
    for sweep_number in range(max_iter):
        many = sweep_number > 0 and state.moved > MANY * bulk.blocks.shape[0]
        fresh = not bulk.by_scatter or sweep_number % REFRESH == REFRESH - 1 or many
        plan = _plan(bulk, flats, bulk.criterion, only_moved=not fresh)
        new, tally = _fold(bulk, plan, labels)
        path.append(tally.objective)
        tell(Step("sweep", sweep_number + 1, max_iter, f"objective {tally.objective:.6g}"))
        # An objective under flats that are not exact is no measure for one under those that are.
        if tally.objective <= best.objective or not (exact and settled):
            best, settled = BulkResult(labels, flats, tally.objective, (), "", repairs), exact
        if tally.moved == 0 and (exact or not finish):
            reason = "converged" if best.labels is labels else "overshot"
            break
        reached = tally.objective if exact else float(f"{tally.objective:.{SAME_DIGITS}g}")
        here = (reached, *state.sizes)
        if here in seen:
            reason = "cycle"
            break
        seen.add(here)
        labels, exact = new, bulk.exact_passes or tally.moved == 0
        if tally.moved == 0:
            # Scatter matrices are summed anew: those of the pass may be rounded, or of moved rows.
            state, flats = settle(bulk, labels, flats, None if bulk.by_scatter else tally)
        else:
            state = _follow(state, tally, plan)
            flats = _next(bulk, state, flats)
        if broken(bulk, flats):
            flats, repairs = repair(bulk, flats, repairs, random)
            if broken(bulk, flats):
                reason = "infeasible"
                break
    if finish and not settled:
        best = _finished(bulk, best)
    home, moved = best.flats.at_home(), int(tally.moved)
    return BulkResult(best.labels, home, best.objective, tuple(path), reason, repairs, moved)


def _finished(bulk: Bulk, result: BulkResult) -> BulkResult:
    """With exact flats, and the objective under them."""
    _, flats = settle(bulk, result.labels, result.flats)
    _, objective = own_costs_of(bulk, result.labels, flats, bulk.criterion)
    return replace(result, flats=flats, objective=objective)


def begin(bulk: Bulk, start: Flats | Any, exact: bool) -> tuple[Any, Flats, Tally]:
    """First labels, their flats and sums: every row to the nearest flat, or as it is given."""
    if isinstance(start, Flats):
        labels, state = _fold(bulk, _plan(bulk, start, "residual"), None)
        return labels, _next(bulk, state, start), state
    flats = _blank(bulk)
    if exact or bulk.by_scatter:
        state, flats = settle(bulk, start, flats)
        return start, flats, state
    for _ in range(FIRST_STEPS):
        state = _count(bulk, start, flats)
        flats = _next(bulk, state, flats)
    return start, flats, state


def settle(
    bulk: Bulk, labels: Any, flats: Flats, counted: Tally | None = None
) -> tuple[Tally, Flats]:
    """The sums, if they are not counted under these flats already, and the exact flats."""
    state = _count(bulk, labels, flats) if counted is None else counted
    if bulk.by_scatter:
        return state, _next(bulk, state, flats)
    found = _next(bulk, state, flats)

    def product(axes: Any) -> Any:
        counted = _count(bulk, labels, replace(flats, axes=axes))
        return centred_images(counted, axes, bulk.affine)

    axes, spectra = leading_axes(product, found.axes, found.in_use)
    return state, from_axes(state, axes, spectra, bulk.dimensions, bulk.rank, bulk.affine)


def _plan(bulk: Bulk, flats: Flats, criterion: str, only_moved: bool = False) -> Pass:
    n_rows = bulk.blocks.shape[0]
    return Pass(
        at_least(flats, max(VARIANCE_FLOOR * bulk.usual_energy, least_divisor(bulk.blocks))),
        criterion,
        bulk.rank,
        n_rows,
        bulk.origin,
        bulk.by_scatter,
        only_moved,
        exact=not bulk.blocks.rounded,
        affine=bulk.affine,
    )


def _fold(bulk: Bulk, plan: Pass, labels: Any | None) -> tuple[Any, Tally]:
    """A look at all rows."""
    return _for_looks(bulk, plan).fold(partial(block_pass.look, plan=plan), labels)


def _for_looks(bulk: Bulk, plan: Pass) -> Blocks:
    """The blocks as looks and counts take them: all rows at once, or many, where kernels do."""
    blocks = bulk.blocks
    if (
        not plan.by_scatter
        and compiled_pass.knows(blocks.array)
        and blocks.array.flags.c_contiguous
    ):
        return in_large_blocks(blocks)
    return at_once(blocks) if block_pass.looks_at_all(blocks.array, plan) else blocks


def _count(bulk: Bulk, labels: Any, flats: Flats) -> Tally:
    """The sums of a partition as it is."""
    plan = replace(_plan(bulk, flats, "residual"), exact=True)
    return _for_looks(bulk, plan).fold(partial(block_pass.count, plan=plan), labels)[1]


def _follow(state: Tally, now: Tally, plan: Pass) -> Tally:
    """The sums of the clusters after a pass."""
    if not plan.only_moved:
        return now
    return replace(
        now,
        energy=state.energy + now.energy,
        totals=state.totals + now.totals,
        products=state.products + now.products,
    )


def _next(bulk: Bulk, state: Tally, flats: Flats) -> Flats:
    if bulk.by_scatter:
        return from_scatter(state, flats, bulk.dimensions, bulk.rank, bulk.affine)
    return from_images(state, flats, bulk.dimensions, bulk.rank, bulk.affine)


def _blank(bulk: Bulk) -> Flats:
    """Axes of random signs, nearly orthonormal, to begin subspace iteration with."""
    p, k, r = bulk.blocks.shape[1], len(bulk.dimensions), max(*bulk.dimensions, 1)
    shape = (k, p, min(r, p))
    bits = np.frombuffer(np.random.default_rng(0).bytes(-(-math.prod(shape) // 8)), np.uint8)
    signs = 2.0 * np.unpackbits(bits)[: math.prod(shape)].reshape(shape) - 1.0
    counts = np.asarray(bulk.dimensions, dtype=np.intp)
    alive = np.arange(r) < counts[:, None]
    none = np.ones(k)
    axes = signs / np.sqrt(p)
    return Flats(np.zeros((k, p)), axes, np.ones((k, r)), alive, counts, none, none, 1.0)


def broken(bulk: Bulk, flats: Flats) -> list[int]:
    """Clusters with too few members, or whose members do not span their axes."""
    needed = np.array([smallest_size(r) for r in bulk.dimensions])
    weakest = np.where(flats.in_use, flats.spectra, np.inf).min(axis=1)
    faint = weakest < DEGENERATE * bulk.usual_energy * flats.sizes
    return np.flatnonzero((flats.sizes < needed) | flats.dead | faint).tolist()


def repair(
    bulk: Bulk, flats: Flats, repairs: int, random: np.random.Generator
) -> tuple[Flats, int]:
    """Begin clusters that cannot be fitted again, each among the neighbours of a random row."""
    for k in broken(bulk, flats)[: MAX_REPAIRS - repairs]:
        flats, repairs = _begun_again(bulk, flats, k, random), repairs + 1
    return flats, repairs


def _begun_again(bulk: Bulk, flats: Flats, k: int, random: np.random.Generator) -> Flats:
    rows = bulk.fresh()
    seen = rows - centre_of(rows, bulk.affine)
    lengths = np.sqrt(np.einsum("ij,ij->i", seen, seen))
    seed = seen[random.choice(np.flatnonzero(lengths > 0.0))]
    closeness = np.abs(seen @ seed) / np.where(lengths > 0.0, lengths, np.inf)
    wanted = max(3 * smallest_size(bulk.dimensions[k]), len(rows) // (4 * len(bulk.dimensions)))
    near = rows[np.argsort(-closeness, kind="stable")[:wanted]]
    centre = centre_of(near, bulk.affine)
    found, values = left_singular((near - centre).T[None])
    more = bulk.blocks.shape[0] / len(rows)
    energies = more * values[0, : bulk.dimensions[k]] ** 2
    r = np.count_nonzero(energies > FAINTEST)
    axes, spectra = np.zeros(flats.axes.shape[1:]), np.ones(flats.axes.shape[2])
    axes[:, :r], spectra[:r] = found[0, :, :r], energies[:r]
    return replace(
        flats,
        centres=with_one(flats.centres, k, centre),
        axes=with_one(flats.axes, k, axes),
        spectra=with_one(flats.spectra, k, spectra),
        alive=with_one(flats.alive, k, np.arange(len(spectra)) < r),
        sizes=with_one(flats.sizes, k, more * wanted),
    )


def flats_of_sample(bulk: Bulk, labels: NDArray[np.intp]) -> Flats:
    """The flats of a partition of the fresh rows."""
    small = replace(bulk, blocks=ArrayBlocks(bulk.fresh()), origin=None)
    return settle(small, small.blocks.split(labels), _blank(small))[1]


def own_costs_of(bulk: Bulk, labels: Any, flats: Flats, criterion: str) -> tuple[Any, float]:
    """The cost of every row under its own cluster, and their sum."""
    visit = partial(block_pass.own_cost, plan=_plan(bulk, flats, criterion))
    own, total = bulk.blocks.fold(visit, labels)
    return own, float(total)


def first_rows(bulk: Bulk, labels: Any) -> Array:
    """The least row number of every cluster."""
    visit = partial(block_pass.first_rows, n_clusters=len(bulk.dimensions))
    return at_once(bulk.blocks).fold(visit, labels)[1].rows


def measured(bulk: Bulk, result: BulkResult) -> tuple[Any, float]:
    """The influence of every row, and the mean squared error of a row left out."""
    plan = _plan(bulk, result.flats, "influence")
    visit = partial(block_pass.measure, plan=plan)
    influence, errors = _for_looks(bulk, plan).fold(visit, result.labels)
    return influence, float(errors) / bulk.blocks.shape[0]
