"""Batches: subspaces from a sample of the first rows, which then follow one batch after another.

Every row is seen once, and older rows weigh less. The rows of a batch are assigned by the subspaces
before it, so that every row is scored by subspaces it had no part in; then the sums of the batch
join those of the past, multiplied by beta::

    S_k <- beta S_k + sum over the batch's members x x^T

With many variables the past is known by its axes alone (projection approximation): the product of
the past S_k with the axes V_k is taken to be ``V_k diag(spectrum) + n_k c_k c_k^T V_k``, to which
the images ``sum x (x^T V_k)`` of the batch are added, and one step of subspace iteration gives the
next axes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from subspaces._types import AnyArray, Array
from subspaces.core.array import to_host
from subspaces.core.dimensions import dimensions_of
from subspaces.core.likelihood import VARIANCE_FLOOR, Data
from subspaces.core.low_rank import n_directions
from subspaces.core.partition import smallest_size
from subspaces.core.problem import Problem
from subspaces.data import block_pass
from subspaces.data.blocks import ArrayBlocks, Blocks
from subspaces.data.in_blocks import BlockProblem, subspaces_of_sample
from subspaces.data.pass_plan import Pass
from subspaces.data.subspaces import (
    MOST_VARIABLES,
    ClusterSums,
    Subspaces,
    at_least,
    from_images,
    from_scatter,
    from_subspaces,
    take,
    to_subspaces,
)
from subspaces.psc.best_partition import best_partition
from subspaces.psc.blocks import sizes_means_and_spread
from subspaces.psc.result import Fit, moved
from subspaces.psc.settings import Settings, pose
from subspaces.runtime.parameters import as_generator
from subspaces.runtime.serialise import serialisable
from subspaces.starts import landmarks
from subspaces.subspace import centre_of

# The sums that are kept of the past.
SUMS = ("sizes", "energy", "totals", "products")


@serialisable
@dataclass(frozen=True)
class Past:
    """The sums over earlier batches, each with its weight, and the origin they are summed from."""

    origin: Annotated[Array, "p"]
    sizes: Annotated[Array, "K"]
    energy: Annotated[Array, "K"]
    totals: Annotated[Array, "K", "p"]
    products: Annotated[Array, "K", "p", "*"]


@dataclass(frozen=True)
class Batches:
    """The subspaces after some batches, and the sums of these; None before the first.

    forgetting: the factor beta by which each batch multiplies the sums of the past; origin (p,):
    subtracted from every row first, so that sums of rows far from zero keep their digits.
    """

    dimensions: tuple[int, ...]
    criterion: str
    affine: bool
    forgetting: float
    origin: Array
    data: Data
    subspaces: Subspaces
    sums: ClusterSums | None = None

    def after(self, blocks: Blocks) -> tuple["Batches", Any]:
        """Return what follows from one more batch, and the labels (b,) that it had before."""
        plan = self._plan
        labels, new = blocks.fold(partial(block_pass.assign_and_sum, plan=plan), None)
        new = replace(new, totals=to_host(new.totals), products=to_host(new.products))
        if self.sums is not None:
            past = self.sums if plan.by_scatter else _with_images(self.sums, self.subspaces)
            new = new + _faded(past, self.forgetting)
        return replace(self, subspaces=self._next_subspaces(new), sums=new), labels

    @property
    def _plan(self) -> Pass:
        """What the rows of a batch are scored and summed with."""
        subspaces = at_least(self.subspaces, VARIANCE_FLOOR * self.data.mean_variance)
        by_scatter = subspaces.axes.shape[1] <= MOST_VARIABLES
        n_rows = max(int(subspaces.sizes.sum()), 1)
        origin = self.origin if self.origin.any() else None
        return Pass(
            subspaces, self.criterion, self.data.rank, n_rows, origin, by_scatter,
            affine=self.affine,
        )  # fmt: skip

    def _next_subspaces(self, sums: ClusterSums) -> Subspaces:
        """Return the subspaces of the sums; clusters with too few rows keep the one they had."""
        before = self.subspaces
        step = from_scatter if before.axes.shape[1] <= MOST_VARIABLES else from_images
        found = step(sums, before, self.dimensions, self.data.rank, self.affine)
        needed = np.array([smallest_size(r) for r in self.dimensions])
        stays = (sums.sizes < needed) | found.dead

        def kept(old: AnyArray, new: AnyArray) -> NDArray[Any]:
            return np.where(stays.reshape(-1, *(1,) * (len(new.shape) - 1)), old, new)

        names = ("centres", "axes", "spectra", "alive", "sizes")
        merged: dict[str, Any] = {n: kept(getattr(before, n), getattr(found, n)) for n in names}
        return replace(found, **merged)

    @property
    def past(self) -> Past:
        """What the next batch needs beside the subspaces."""
        return Past(self.origin, **{name: getattr(self.sums, name) for name in SUMS})

    def fit(self, labels: Any, objective: float) -> Fit:
        """Return the fit with the labels of some rows."""
        return Fit(
            labels,
            tuple(to_subspaces(self.subspaces, self.origin)),
            self.subspaces.sizes,
            self.affine,
            self.criterion,
            self.criterion,
            self.data,
            objective,
            noise_variance=self.subspaces.noise,
        )


def _with_images(sums: ClusterSums, subspaces: Subspaces) -> ClusterSums:
    """Return the sums of the past with the images of the present axes as products."""
    energies = np.where(subspaces.in_use, subspaces.spectra, 0.0)
    along = np.einsum("kp,kpr->kr", sums.sizes[:, None] * subspaces.centres, subspaces.axes)
    images = (
        subspaces.axes * energies[:, None, :] + subspaces.centres[:, :, None] * along[:, None, :]
    )
    return replace(sums, products=images)


def _faded(sums: ClusterSums, weight: float) -> ClusterSums:
    """Return the sums multiplied by a weight; objective and moves are set to 0."""
    lower = {name: weight * getattr(sums, name) for name in SUMS}
    return replace(sums, objective=0.0, moved=0, **lower)


def begin(blocks: Blocks, settings: Settings, forgetting: float) -> Batches:
    """Return the first subspaces: those of the best partition of a sample of the rows."""
    affine = bool(settings.affine)
    dimensions = dimensions_of(settings, blocks, low=0 if affine else 1)
    random, n = as_generator(settings.random_state), blocks.shape[0]
    enough = min(landmarks.n_landmarks(dimensions), n)
    sample = blocks.sample(np.sort(random.choice(n, enough, replace=False)))
    problem, criterion, by_default = _posed(settings, sample)
    rank = n_directions(sample, affine, problem.rows.rank)
    data = Data(n, rank, problem.data.mean_variance)
    by_likelihood = by_default and not problem.of_means
    best, _ = best_partition(sample, problem, settings, by_likelihood=by_likelihood)
    shifted = affine and not blocks.stays_sparse
    origin = _near(centre_of(sample, True)) if shifted else np.zeros(sample.shape[1])
    seen = sample - origin
    in_passes = BlockProblem(
        ArrayBlocks(seen), dimensions, "residual", affine, rank, data.mean_variance, lambda: seen
    )
    subspaces = subspaces_of_sample(in_passes, best.clustering.labels)
    return Batches(dimensions, criterion, affine, forgetting, origin, data, subspaces)


def _posed(settings: Settings, sample: Array) -> tuple[Problem, str, bool]:
    """Return the problem of a sample, the criterion of the batches, and whether it is the default.

    By default the sample is searched with "loo", and batches, which no subspace has seen, are
    scored by their residual; by the likelihood if dimensions differ.
    """
    problem = pose(replace(settings, criterion="loo"), sample)
    default = "residual" if problem.alike else "likelihood"
    if settings.criterion in ("auto", default):
        return problem, default, True
    return replace(problem, criterion=settings.criterion), settings.criterion, False


def resume(fit: Fit, past: Past, dimensions: Sequence[int], forgetting: float) -> Batches:
    """Return the subspaces and sums as the last batch left them."""
    assert fit.noise_variance is not None
    seen = moved(fit.subspaces, -past.origin)
    subspaces = from_subspaces(seen, fit.sizes, fit.noise_variance, dimensions)
    sums = ClusterSums(0.0, 0, **{name: getattr(past, name) for name in SUMS})
    shared = tuple(dimensions), fit.criterion, fit.affine, forgetting, past.origin
    return Batches(*shared, fit.data, subspaces, sums)


def labelled(batches: Batches, blocks: Blocks) -> tuple[Batches, Fit]:
    """Return the batches, and the fit with the labels that their subspaces give to all rows.

    Clusters of equal dimension are numbered in the order in which rows first belong to them.
    """
    assert batches.sums is not None
    plan = batches.fit(None, np.nan).pass_over(blocks)
    labels, summary = blocks.fold(partial(block_pass.assign_rows, plan=plan), None)
    order = np.arange(len(batches.dimensions))
    if len(set(batches.subspaces.dimensions)) == 1:
        order = np.argsort(summary.first, kind="stable")
    centres = to_subspaces(batches.subspaces, batches.origin)
    points = np.array([subspace.centre for subspace in centres])
    _, means, within_std = sizes_means_and_spread(blocks, labels, points)
    sums = replace(batches.sums, **{name: getattr(batches.sums, name)[order] for name in SUMS})
    batches = replace(batches, subspaces=take(batches.subspaces, order), sums=sums)
    fit = batches.fit(blocks.join(labels, np.argsort(order)), summary.objective)
    return batches, replace(fit, means=means[order], within_std=within_std)


def _near(point: Array) -> Array:
    """Return a point (p,) near the given one, rounded to single precision if that is close.

    Batches in single precision can then be moved by it without further rounding.
    """
    with np.errstate(over="ignore", under="ignore"):
        single = point.astype(np.float32).astype(np.float64)
    return np.where(np.isclose(single, point, rtol=1e-6, atol=0.0), single, point)
