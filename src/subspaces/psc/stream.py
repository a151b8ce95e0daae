"""Batches: subspaces from a sample of the first rows, which then follow one batch after another."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

import numpy as np

from subspaces._types import Array
from subspaces.core.dimensions import dimensions_of
from subspaces.core.likelihood import VARIANCE_FLOOR, Data
from subspaces.core.low_rank import n_directions
from subspaces.core.problem import Problem
from subspaces.data.block_pass import assign_rows
from subspaces.data.blocks import ArrayBlocks, Blocks
from subspaces.data.in_blocks import BlockProblem, subspaces_of_sample
from subspaces.data.stream import SUMS, Stream, follow, reordered
from subspaces.data.subspaces import ClusterSums, Subspaces, from_subspaces, take, to_subspaces
from subspaces.psc.best_partition import best_partition
from subspaces.psc.blocks import sizes_means_and_spread
from subspaces.psc.result import Fit, moved
from subspaces.psc.settings import Settings, pose
from subspaces.runtime.parameters import as_generator
from subspaces.runtime.serialise import serialisable
from subspaces.starts import landmarks
from subspaces.subspace import centre_of


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
    """The subspaces after some batches, and the sums of these; None before the first."""

    stream: Stream
    data: Data
    subspaces: Subspaces
    sums: ClusterSums | None = None

    def after(self, blocks: Blocks) -> tuple["Batches", Any]:
        """Return what follows from one more batch, and the labels that it had before."""
        subspaces, sums, labels = follow(self.stream, blocks, self.subspaces, self.sums)
        return replace(self, subspaces=subspaces, sums=sums), labels

    @property
    def past(self) -> Past:
        """What the next batch needs beside the subspaces."""
        return Past(self.stream.origin, **{name: getattr(self.sums, name) for name in SUMS})

    def fit(self, labels: Any, objective: float) -> Fit:
        """Return the fit with the labels of some rows."""
        subspaces, stream = self.subspaces, self.stream
        return Fit(
            labels,
            tuple(to_subspaces(subspaces, stream.origin)),
            subspaces.sizes,
            stream.affine,
            stream.criterion,
            stream.criterion,
            self.data,
            objective,
            noise_variance=subspaces.noise,
        )


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
    least = VARIANCE_FLOOR * data.mean_variance
    stream = Stream(dimensions, criterion, affine, rank, forgetting, least, origin)
    return Batches(stream, data, subspaces_of_sample(in_passes, best.clustering.labels))


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
    least, origin = VARIANCE_FLOOR * fit.data.mean_variance, past.origin
    given = tuple(dimensions)
    stream = Stream(given, fit.criterion, fit.affine, fit.data.rank, forgetting, least, origin)
    seen = moved(fit.subspaces, -origin)
    subspaces = from_subspaces(seen, fit.sizes, fit.noise_variance, given)
    sums = ClusterSums(0.0, 0, **{name: getattr(past, name) for name in SUMS})
    return Batches(stream, fit.data, subspaces, sums)


def labelled(batches: Batches, blocks: Blocks) -> tuple[Batches, Fit]:
    """Return the batches, and the fit with the labels that their subspaces give to all rows.

    Clusters of equal dimension are numbered in the order in which rows first belong to them.
    """
    assert batches.sums is not None
    plan = batches.fit(None, np.nan).pass_over(blocks)
    labels, summary = blocks.fold(partial(assign_rows, plan=plan), None)
    order = np.arange(len(batches.stream.dimensions))
    if len(set(batches.subspaces.dimensions)) == 1:
        order = np.argsort(summary.first, kind="stable")
    centres = to_subspaces(batches.subspaces, batches.stream.origin)
    points = np.array([subspace.centre for subspace in centres])
    _, means, within_std = sizes_means_and_spread(blocks, labels, points)
    batches = replace(
        batches,
        subspaces=take(batches.subspaces, order),
        sums=reordered(batches.sums, order),
    )
    fit = batches.fit(blocks.join(labels, np.argsort(order)), summary.objective)
    return batches, replace(fit, means=means[order], within_std=within_std)


def _near(point: Array) -> Array:
    """Return a point (p,) near the given one, rounded to single precision if that is close.

    Batches in single precision can then be moved by it without further rounding.
    """
    with np.errstate(over="ignore", under="ignore"):
        single = point.astype(np.float32).astype(np.float64)
    return np.where(np.isclose(single, point, rtol=1e-6, atol=0.0), single, point)
