"""Rows that are too many to be looked at more than once a sweep, for the loop of alternation.py.

A pass gives every row its next label and sums, of the members each cluster then has, what its next
flat needs. With few variables the sums are scatter matrices and every flat is exact; of rows that
keep their cluster nothing is summed again. With many variables a pass is one step of subspace
iteration, and when no label moves the flats are first made exact, and the labels must hold.
"""

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subspaces.core.likelihood import VARIANCE_FLOOR
from subspaces.core.partition import (
    DEGENERATE,
    Draw,
    angular_closeness,
    how_many,
    smallest_size,
)
from subspaces.core.samples import Assignment, Fitted, Samples
from subspaces.core.subspace import centre_of
from subspaces.data import block_pass, compiled_pass
from subspaces.data.block_pass import Pass
from subspaces.data.blocks import ArrayBlocks, Blocks, at_once, in_large_blocks, least_divisor
from subspaces.data.exact_axes import leading_axes
from subspaces.data.flats import (
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

Array = NDArray[np.floating]

# Passes after which scatter matrices are summed afresh, so that rounding does not build up; and
# the share of rows moved in the last pass above which that is quicker.
REFRESH, MANY = 10, 0.4
# Subspace iteration from labels begins with a few steps.
FIRST_STEPS = 3
# Partitions of the same sizes whose energies agree in so many digits are the same.
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
class Summed:
    """Flats, and the sums over the members that they come from."""

    flats: Flats
    sums: Tally


class RowsInBlocks(Samples):
    """Rows reached a block at a time, for one run.

    An assignment is one pass, which sums as well what the next fit needs; so only labels that come
    from elsewhere need a pass of their own. finishes: without, flats near the exact ones will do.
    """

    def __init__(self, bulk: Bulk, finishes: bool = True) -> None:
        self.bulk, self.dimensions, self.finishes = bulk, bulk.dimensions, finishes
        self._passes = 0
        self._told: tuple[Any, Tally, Pass, Summed] | None = None

    def begin(self, start: Flats | Any) -> Fitted:
        """Begin at flats (of a sample), every row at the nearest, or at given labels."""
        self._passes, self._told = 0, None
        bulk = self.bulk
        if isinstance(start, Flats):
            labels, sums = _fold(bulk, _plan(bulk, start, "residual"), None)
            flats = _next(bulk, sums, start)
        else:
            labels, (sums, flats) = start, self._first_flats(start)
        return Fitted(labels, bulk.exact_passes, Summed(flats, sums))

    def _first_flats(self, labels: Any) -> tuple[Tally, Flats]:
        bulk, flats = self.bulk, _blank(self.bulk)
        if self.finishes or bulk.by_scatter:
            return settle(bulk, labels, flats)
        for _ in range(FIRST_STEPS):
            sums = _count(bulk, labels, flats)
            flats = _next(bulk, sums, flats)
        return sums, flats

    def assign(self, here: Fitted) -> Assignment:
        """One pass: the next label of every row, and the sums of the clusters they then are."""
        many = self._passes > 0 and here.subspaces.sums.moved > MANY * self.bulk.blocks.shape[0]
        refresh = self._passes % REFRESH == REFRESH - 1
        fresh = not self.bulk.by_scatter or refresh or many
        plan = _plan(self.bulk, here.subspaces.flats, self.bulk.criterion, only_moved=not fresh)
        labels, sums = _fold(self.bulk, plan, here.labels)
        self._passes, self._told = self._passes + 1, (labels, sums, plan, here.subspaces)
        return Assignment(labels, sums.objective, sums.objective, int(sums.moved))

    def fit(self, labels: Any) -> Fitted:
        """The flats of labels; of those of the last pass from its sums."""
        bulk = self.bulk
        if self._told is None or self._told[0] is not labels:
            sums, flats = settle(bulk, labels, _blank(bulk))
            return Fitted(labels, True, Summed(flats, sums))
        _, told, plan, before = self._told
        if told.moved == 0:
            # Scatter matrices are summed anew: those of the pass may be rounded, or of moved rows.
            counted = None if bulk.by_scatter else told
            sums, flats = settle(bulk, labels, before.flats, counted)
            return Fitted(labels, True, Summed(flats, sums))
        sums = _follow(before.sums, told, plan)
        return Fitted(labels, bulk.exact_passes, Summed(_next(bulk, sums, before.flats), sums))

    def too_small(self, here: Fitted) -> list[int]:
        """Clusters with fewer members than their dimension needs."""
        needed = np.array([smallest_size(r) for r in self.dimensions])
        return np.flatnonzero(here.subspaces.flats.sizes < needed).tolist()

    def is_empty(self, here: Fitted, cluster: int) -> bool:
        """Whether a cluster has no members."""
        return bool(here.subspaces.flats.sizes[cluster] == 0)

    def degenerate(self, here: Fitted) -> list[int]:
        """Clusters whose members do not span their axes."""
        flats = here.subspaces.flats
        weakest = np.where(flats.in_use, flats.spectra, np.inf).min(axis=1)
        faint = weakest < DEGENERATE * self.bulk.usual_energy * flats.sizes
        return np.flatnonzero(flats.dead | faint).tolist()

    def refill(self, here: Fitted, cluster: int, random: Draw) -> Fitted:
        """The flat of a cluster begun again, among the neighbours of a random row of the sample."""
        flats = _begun_again(self.bulk, here.subspaces.flats, cluster, random)
        return replace(here, subspaces=replace(here.subspaces, flats=flats))

    def key(self, here: Fitted) -> Hashable:
        """Sizes and energies: those of different partitions agree in all digits by chance only.

        Flats that a pass brings only nearer to the exact ones come back to a state slowly.
        """
        flats = here.subspaces.flats
        energies = np.concatenate([flats.energy, flats.spectra.ravel()]).tolist()
        return (*flats.sizes.tolist(), *[f"{value:.{SAME_DIGITS}g}" for value in energies])

    def finished(self, here: Fitted, found: Assignment) -> tuple[float, Flats]:
        """Objective and flats in main memory, made exact where they are not."""
        if here.exact or not self.finishes:
            return found.objective, here.subspaces.flats.at_home()
        _, flats = settle(self.bulk, here.labels, here.subspaces.flats)
        objective = own_costs_of(self.bulk, here.labels, flats, self.bulk.criterion)[1]
        return objective, flats.at_home()


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


def _begun_again(bulk: Bulk, flats: Flats, k: int, random: Draw) -> Flats:
    rows = bulk.fresh()
    seen = rows - centre_of(rows, bulk.affine)
    squared = np.einsum("ij,ij->i", seen, seen)
    possible = np.flatnonzero(squared > 0.0)
    seed = int(possible[random.integers(len(possible))])
    closeness = angular_closeness(seen @ seen[seed], squared, seed)
    wanted = how_many(bulk.dimensions, k, len(rows))
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


def measured(bulk: Bulk, labels: Any, flats: Flats) -> tuple[Any, float]:
    """The influence of every row, and the mean squared error of a row left out."""
    plan = _plan(bulk, flats, "influence")
    visit = partial(block_pass.measure, plan=plan)
    influence, errors = _for_looks(bulk, plan).fold(visit, labels)
    return influence, float(errors) / bulk.blocks.shape[0]
