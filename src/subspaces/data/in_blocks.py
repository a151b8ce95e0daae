"""Rows in blocks, visited once a sweep, for the loop of loop.py.

A pass gives every row its next label and sums what the next subspace of each cluster needs of its
new members. With few variables the sums are scatter matrices, every subspace is exact, and rows
that keep their cluster are not summed again. With many variables a pass is one step of subspace
iteration; when no label moves, the subspaces are made exact, and the run ends only if no label
moves under these either.
"""

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from subspaces._types import AnyArray, Array, Labels
from subspaces.core.array import is_foreign, like, namespace
from subspaces.core.criteria import CRITERIA
from subspaces.core.likelihood import VARIANCE_FLOOR, Data, as_divisor, capped_variance, positive
from subspaces.core.loop import Assignment, Fitted, Samples
from subspaces.core.partition import (
    DEGENERATE,
    Draw,
    angular_closeness,
    refill_size,
    smallest_size,
    unit_of,
)
from subspaces.core.rows import CANCELLATION
from subspaces.data import block_pass
from subspaces.data.blocks import ArrayBlocks, Blocks, Visit, at_once, least_divisor
from subspaces.data.exact_axes import leading_axes
from subspaces.data.pass_plan import Pass
from subspaces.data.subspaces import (
    FAINTEST,
    MOST_VARIABLES,
    ClusterSums,
    Subspaces,
    at_least,
    centred_images,
    from_axes,
    from_images,
    from_scatter,
    left_singular,
    nearest_residuals,
    squared_lengths,
    with_one,
)
from subspaces.subspace import centre_of

# After this many passes, sum scatter matrices from all rows, so that rounding does not build up.
REFRESH = 10
# If more than this share of the rows moved in the last pass, it is quicker to sum all of them.
MANY = 0.4
# So many steps of subspace iteration lead from random axes near enough to those of given labels.
FIRST_STEPS = 3
# Rows from whose residuals the median is taken.
WITNESSES = 500
# Partitions of equal sizes whose energies agree in this many digits are taken to be the same.
SAME_DIGITS = 10


@dataclass(frozen=True)
class BlockProblem:
    """The data and settings that all passes of a fit share.

    rank: of the data; usual_energy: the mean energy of a row along one direction; sample_rows:
    returns a sample of the rows (m, p), less the origin, from which an empty cluster is refilled;
    origin (p,): subtracted from every row first, None for nothing; weights (n,): of the rows, None
    if all count one; cache: some of the sample rows, which are drawn by weight, once they were
    asked for.
    """

    blocks: Blocks
    dimensions: tuple[int, ...]
    criterion: str
    affine: bool
    rank: int
    usual_energy: float
    sample_rows: Callable[[], Array]
    origin: Array | None = None
    weights: Array | None = None
    cache: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def total(self) -> float:
        """Weight of all rows: their number if all count one."""
        return self.blocks.shape[0] if self.weights is None else float(self.weights.sum())

    @property
    def by_scatter(self) -> bool:
        """Whether scatter matrices are kept: p is at most 200, or 4 times the largest R_k."""
        return self.blocks.shape[1] <= max(MOST_VARIABLES, 4 * max(self.dimensions))

    @property
    def exact_passes(self) -> bool:
        """Whether every pass ends with the exact subspaces of its labels."""
        return self.by_scatter and not self.blocks.rounded

    def plan(self, subspaces: Subspaces, criterion: str, *, only_moved: bool = False) -> Pass:
        """Return the plan of a pass with these subspaces, their noise raised to a safe divisor."""
        floor = max(VARIANCE_FLOOR * self.usual_energy, least_divisor(self.blocks))
        if not CRITERIA[criterion].is_density:
            subspaces = replace(subspaces, noise=self.robust_noise(subspaces))
        return Pass(
            at_least(subspaces, floor),
            criterion,
            self.rank,
            self.total,
            self.origin,
            self.by_scatter,
            only_moved,
            in_float64=not self.blocks.rounded,
            affine=self.affine,
            weights=self.weights,
        )

    def robust_noise(self, subspaces: Subspaces) -> float:
        """`likelihood.robust_variance`, with the median over a fixed sample of the rows.

        Each of them is taken to be a member of the subspace nearest to it.
        """
        residuals = nearest_residuals(self._witnesses(), subspaces)
        freedom = max(self.rank - int(subspaces.dimensions.min()), 1)
        data = Data(self.blocks.shape[0], self.rank, self.usual_energy)
        capped = capped_variance(float(np.median(residuals)), freedom, data)
        return min(as_divisor(subspaces.noise, data), capped)

    def _witnesses(self) -> Any:
        """Return the sample rows, at most WITNESSES, in float64, on the device of the rows."""
        if "witnesses" not in self.cache:
            rows: AnyArray = self.sample_rows()
            rows = rows[:: -(-len(rows) // WITNESSES)]
            array = self.blocks.array
            if is_foreign(array):
                rows = like(rows, array, namespace(array).float64)
            self.cache["witnesses"] = rows
        return self.cache["witnesses"]

    def fold(self, visit: Callable[..., Any], plan: Pass, labels: Any | None) -> tuple[Any, Any]:
        """Visit all rows by a plan; return joined values and the sum (`Blocks.fold`).

        Blocks are as large as the code for these rows can take.
        """
        bound: Visit = partial(visit, plan=plan)
        return self._blocks_for(plan).fold(bound, labels)

    def _blocks_for(self, plan: Pass) -> Blocks:
        blocks = self.blocks
        return at_once(blocks) if block_pass.takes_all_rows(blocks.array, plan) else blocks

    def sums(self, labels: Any, subspaces: Subspaces) -> ClusterSums:
        """Return the `ClusterSums` of a partition; images, if any, of these subspaces' axes."""
        plan = replace(self.plan(subspaces, "residual"), in_float64=True)
        return self.fold(block_pass.partition_sums, plan, labels)[1]

    def next_subspaces(self, sums: ClusterSums, before: Subspaces) -> Subspaces:
        """Return the subspaces of sums: exact from scatter matrices, a step nearer from images."""
        step = from_scatter if self.by_scatter else from_images
        return self._with_noise(step(sums, before, self.dimensions, self.rank, self.affine))

    def _with_noise(self, found: Subspaces) -> Subspaces:
        """Return subspaces with their noise; if rows have weights, by the weight of one row."""
        if self.weights is None:
            return found
        left = found.sizes - self.affine * unit_of(self.weights)
        freedom = float(np.maximum(left, 0.0) @ np.maximum(self.rank - found.dimensions, 0))
        return replace(found, noise=float(found.residual.sum()) / positive(freedom))

    def exact_subspaces(
        self, labels: Any, guess: Subspaces, sums: ClusterSums | None = None
    ) -> tuple[ClusterSums, Subspaces]:
        """Return the sums of a partition, and its exact subspaces.

        guess: subspaces to begin with; sums: those of the partition with the guess's axes, None if
        they are to be found.
        """
        sums = self.sums(labels, guess) if sums is None else sums
        found = self.next_subspaces(sums, guess)
        if self.by_scatter:
            return sums, found

        def product(axes: Any) -> Any:
            images = self.sums(labels, replace(guess, axes=axes))
            return centred_images(images, axes, self.affine)

        axes, spectra = leading_axes(product, found.axes, found.in_use)
        exact = from_axes(sums, axes, spectra, self.dimensions, self.rank, self.affine)
        return sums, self._with_noise(exact)


class LastPass(NamedTuple):
    """The labels and sums that a pass found, its plan, and the subspaces it began with."""

    labels: Any
    sums: ClusterSums
    plan: Pass
    subspaces: Subspaces


class RowsInBlocks(Samples):
    """Rows reached a block at a time, for one run of the loop.

    An assignment is one pass, which also sums what the next fit needs; only labels that come from
    elsewhere need a pass of their own. With ``finishes=False`` a run may end with subspaces that
    are near the exact ones.
    """

    def __init__(self, problem: BlockProblem, finishes: bool = True) -> None:
        self.problem, self.dimensions, self.finishes = problem, problem.dimensions, finishes
        self._n_passes = 0
        self._last: LastPass | None = None
        self._sums: ClusterSums  # over the members of the partition that was fitted last

    def begin(self, start: Subspaces | Any) -> Fitted:
        """Begin a run at given labels, or at subspaces with every row at the nearest one."""
        self._n_passes, self._last = 0, None
        problem = self.problem
        if isinstance(start, Subspaces):
            plan = problem.plan(start, "residual")
            labels, self._sums = problem.fold(block_pass.assign_and_sum, plan, None)
            subspaces = problem.next_subspaces(self._sums, start)
        else:
            labels, (self._sums, subspaces) = start, self._first_subspaces(start)
        return Fitted(labels, problem.exact_passes, subspaces)

    def _first_subspaces(self, labels: Any) -> tuple[ClusterSums, Subspaces]:
        problem, subspaces = self.problem, _random_subspaces(self.problem)
        if self.finishes or problem.by_scatter:
            return problem.exact_subspaces(labels, subspaces)
        for _ in range(FIRST_STEPS):
            sums = problem.sums(labels, subspaces)
            subspaces = problem.next_subspaces(sums, subspaces)
        return sums, subspaces

    def assign(self, here: Fitted) -> Assignment:
        """Return every row's next label and the objective; the pass also sums the new clusters."""
        problem = self.problem
        many = self._n_passes > 0 and self._sums.moved > MANY * problem.blocks.shape[0]
        refresh = self._n_passes % REFRESH == REFRESH - 1
        only_moved = problem.by_scatter and not refresh and not many
        plan = problem.plan(here.subspaces, problem.criterion, only_moved=only_moved)
        labels, sums = problem.fold(block_pass.assign_and_sum, plan, here.labels)
        self._n_passes += 1
        self._last = LastPass(labels, sums, plan, here.subspaces)
        return Assignment(labels, sums.objective, sums.objective, int(sums.moved))

    def fit(self, labels: Any) -> Fitted:
        """Return labels with their subspaces; if the last pass gave the labels, from its sums."""
        problem, last = self.problem, self._last
        if last is None or last.labels is not labels:
            guess = _random_subspaces(problem)
            self._sums, subspaces = problem.exact_subspaces(labels, guess)
            return Fitted(labels, True, subspaces)
        if last.sums.moved == 0:
            # Scatter matrices are summed anew: those of the pass may be rounded, or of moved rows.
            known = None if problem.by_scatter else last.sums
            self._sums, subspaces = problem.exact_subspaces(labels, last.subspaces, known)
            return Fitted(labels, True, subspaces)
        self._sums = _changed(self._sums, last.sums) if last.plan.only_moved else last.sums
        subspaces = problem.next_subspaces(self._sums, last.subspaces)
        return Fitted(labels, problem.exact_passes, subspaces)

    def too_small(self, here: Fitted) -> list[int]:
        """Return the indices of clusters with fewer members than their dimension needs.

        If rows have weights, of clusters that weigh less than so many of the lightest rows.
        """
        weights = self.problem.weights
        least = 1.0 if weights is None else float(weights[weights > 0.0].min())
        needed = least * np.array([smallest_size(r) for r in self.dimensions])
        return np.flatnonzero(here.subspaces.sizes < needed).tolist()

    def is_empty(self, here: Fitted, cluster: int) -> bool:
        """Whether a cluster has no members."""
        return bool(here.subspaces.sizes[cluster] == 0)

    def degenerate(self, here: Fitted) -> list[int]:
        """Return the indices of clusters whose members do not span as many axes as they have."""
        subspaces: Subspaces = here.subspaces
        weakest = np.where(subspaces.in_use, subspaces.spectra, np.inf).min(axis=1)
        faint = weakest < DEGENERATE * self.problem.usual_energy * subspaces.sizes
        return np.flatnonzero(subspaces.dead | faint).tolist()

    def refill(self, here: Fitted, cluster: int, random: Draw) -> Fitted:
        """Return the subspaces with one cluster's through the neighbours of a random sample row."""
        return replace(here, subspaces=_refilled(self.problem, here.subspaces, cluster, random))

    def key(self, here: Fitted) -> Hashable:
        """Return sizes and energies to 10 digits, by which a partition is recognised.

        Different partitions agree in all of them by chance only. If a pass brings subspaces only
        nearer to the exact ones, energies settle slowly, and a partition that comes back is
        recognised late.
        """
        subspaces: Subspaces = here.subspaces
        energies = np.concatenate([subspaces.energy, subspaces.spectra.ravel()]).tolist()
        return (*subspaces.sizes.tolist(), *[f"{value:.{SAME_DIGITS}g}" for value in energies])

    def finished(self, here: Fitted, found: Assignment) -> tuple[float, Subspaces]:
        """Return the objective and the subspaces, in main memory; exact if ``finishes``."""
        if here.is_exact_pca or not self.finishes:
            return found.objective, here.subspaces.to_host()
        problem = self.problem
        _, subspaces = problem.exact_subspaces(here.labels, here.subspaces)
        visit = partial(block_pass.own_cost, plan=problem.plan(subspaces, problem.criterion))
        return float(problem.blocks.fold(visit, here.labels)[1]), subspaces.to_host()


def _changed(before: ClusterSums, changes: ClusterSums) -> ClusterSums:
    """Return the sums after a pass that summed only moved rows: those before plus the changes."""
    return replace(
        changes,
        energy=before.energy + changes.energy,
        totals=before.totals + changes.totals,
        products=before.products + changes.products,
    )


def _random_subspaces(problem: BlockProblem) -> Subspaces:
    """Return subspaces with axes of entries +-1 / sqrt(p), to begin subspace iteration with."""
    p, k, r = problem.blocks.shape[1], len(problem.dimensions), max(*problem.dimensions, 1)
    shape = (k, p, min(r, p))
    bits = np.frombuffer(np.random.default_rng(0).bytes(-(-math.prod(shape) // 8)), np.uint8)
    signs = 2.0 * np.unpackbits(bits)[: math.prod(shape)].reshape(shape) - 1.0
    counts = np.asarray(problem.dimensions, dtype=np.intp)
    alive = np.arange(r) < counts[:, None]
    ones, axes = np.ones(k), signs / np.sqrt(p)
    return Subspaces(np.zeros((k, p)), axes, np.ones((k, r)), alive, counts, ones, ones, 1.0)


def _refilled(problem: BlockProblem, subspaces: Subspaces, k: int, random: Draw) -> Subspaces:
    """Return the subspaces with cluster k's through the neighbours of a random sample row."""
    rows = problem.sample_rows()
    centred = rows - centre_of(rows, problem.affine)
    squared = np.einsum("ij,ij->i", centred, centred)
    possible = np.flatnonzero(squared > 0.0)
    seed = int(possible[random.integers(len(possible))])
    closeness = angular_closeness(centred @ centred[seed], squared, seed)
    wanted = refill_size(problem.dimensions, k, len(rows))
    near = rows[np.argsort(-closeness, kind="stable")[:wanted]]
    centre = centre_of(near, problem.affine)
    found, values = left_singular((near - centre).T[None])
    more = problem.total / len(rows)
    energies = more * values[0, : problem.dimensions[k]] ** 2
    r = np.count_nonzero(energies > FAINTEST)
    axes, spectra = np.zeros(subspaces.axes.shape[1:]), np.ones(subspaces.axes.shape[2])
    axes[:, :r], spectra[:r] = found[0, :, :r], energies[:r]
    return replace(
        subspaces,
        centres=with_one(subspaces.centres, k, centre),
        axes=with_one(subspaces.axes, k, axes),
        spectra=with_one(subspaces.spectra, k, spectra),
        alive=with_one(subspaces.alive, k, np.arange(len(spectra)) < r),
        sizes=with_one(subspaces.sizes, k, more * wanted),
    )


def subspaces_of_sample(problem: BlockProblem, labels: Labels) -> Subspaces:
    """Return the exact subspaces of a partition of the sample rows; labels (m,)."""
    blocks = ArrayBlocks(problem.sample_rows())
    small = replace(problem, blocks=blocks, origin=None, weights=None)
    return small.exact_subspaces(small.blocks.split(labels), _random_subspaces(small))[1]


def first_rows(problem: BlockProblem, labels: Any) -> Array:
    """Return the least row number in every cluster, (K,); infinite if a cluster is empty."""
    k, weights = len(problem.dimensions), problem.weights
    visit = partial(block_pass.first_rows, n_clusters=k, weights=weights)
    blocks = at_once(problem.blocks)
    blocks = blocks.in_one_thread() if isinstance(blocks, ArrayBlocks) else blocks
    return blocks.fold(visit, labels)[1].first


def residual_energy(problem: BlockProblem, labels: Any, subspaces: Subspaces) -> float:
    """Return the squared distances of all rows from their own subspaces, summed.

    It is what sums of squares leave, unless that is little: then one more pass forms residuals.
    """
    left, lengths = float(subspaces.residual.sum()), squared_lengths(subspaces.centres)
    if left > CANCELLATION * float(subspaces.energy.sum() + subspaces.sizes @ lengths):
        return left
    plan = problem.plan(subspaces, "residual")
    return float(problem.blocks.fold(partial(block_pass.residual_energy, plan=plan), labels)[1])


def influence_and_press(
    problem: BlockProblem, labels: Any, subspaces: Subspaces
) -> tuple[Any, float]:
    """Return every row's influence (n,), and the mean squared leave-one-out error (PRESS).

    A row of weight 0 has none.
    """
    plan = problem.plan(subspaces, "influence")
    influence, errors = problem.fold(block_pass.influence_and_errors, plan, labels)
    if problem.weights is not None:
        influence[problem.weights == 0.0] = np.nan
    return influence, float(errors) / problem.total
