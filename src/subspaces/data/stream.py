"""Subspaces that follow a stream of batches: every row is seen once, and older rows weigh less.

The rows of a batch are assigned by the subspaces before it, so that every row is scored by
subspaces it had no part in; then the sums of the batch join those of the past, multiplied by beta::

    S_k <- beta S_k + sum over the batch's members x x^T

With many variables the past is known by its axes alone (projection approximation): the product of
the past S_k with the axes V_k is taken to be ``V_k diag(spectrum) + n_k c_k c_k^T V_k``, to which
the images ``sum x (x^T V_k)`` of the batch are added, and one step of subspace iteration gives the
next axes.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subspaces._types import AnyArray, Array, Indices
from subspaces.core.array import to_host
from subspaces.core.partition import smallest_size
from subspaces.data import block_pass
from subspaces.data.blocks import Blocks
from subspaces.data.pass_plan import Pass
from subspaces.data.subspaces import (
    MOST_VARIABLES,
    ClusterSums,
    Subspaces,
    at_least,
    from_images,
    from_scatter,
)

# The sums that are kept of the past.
SUMS = ("sizes", "energy", "totals", "products")


@dataclass(frozen=True)
class Stream:
    """The settings that all batches share.

    rank: of the first rows; forgetting: the factor beta by which each batch multiplies the sums of
    the past; least_noise: a floor of the variance around the subspaces, which costs divide by;
    origin (p,): subtracted from every row first, so that sums of rows far from zero keep their
    digits.
    """

    dimensions: tuple[int, ...]
    criterion: str
    affine: bool
    rank: int
    forgetting: float
    least_noise: float
    origin: Array


def follow(
    stream: Stream, blocks: Blocks, subspaces: Subspaces, sums: ClusterSums | None
) -> tuple[Subspaces, ClusterSums, Any]:
    """Return the subspaces and sums after a batch, and the batch's labels (b,).

    The labels are those that the subspaces before the batch give. sums: of the past, None at first.
    """
    plan = plan_of(stream, subspaces)
    labels, new = blocks.fold(partial(block_pass.assign_and_sum, plan=plan), None)
    new = replace(new, totals=to_host(new.totals), products=to_host(new.products))
    if sums is not None:
        new = new + _faded(_past(sums, subspaces, plan), stream.forgetting)
    return _next_subspaces(stream, new, subspaces), new, labels


def plan_of(stream: Stream, subspaces: Subspaces) -> Pass:
    """Return the plan of the pass over a batch: what its rows are scored and summed with."""
    by_scatter = subspaces.axes.shape[1] <= MOST_VARIABLES
    n_rows = max(int(subspaces.sizes.sum()), 1)
    subspaces = at_least(subspaces, stream.least_noise)
    origin = stream.origin if stream.origin.any() else None
    return Pass(
        subspaces, stream.criterion, stream.rank, n_rows, origin, by_scatter, affine=stream.affine
    )


def _past(sums: ClusterSums, subspaces: Subspaces, plan: Pass) -> ClusterSums:
    """Return the sums of the past, whose products, if images, are those of the present axes."""
    if plan.by_scatter:
        return sums
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


def reordered(sums: ClusterSums, order: Indices) -> ClusterSums:
    """Return the sums with the clusters in another order."""
    return replace(sums, **{name: getattr(sums, name)[order] for name in SUMS})


def _next_subspaces(stream: Stream, sums: ClusterSums, before: Subspaces) -> Subspaces:
    """Return the subspaces of the sums; clusters with too few rows keep the subspace they had."""
    step = from_scatter if before.axes.shape[1] <= MOST_VARIABLES else from_images
    subspaces = step(sums, before, stream.dimensions, stream.rank, stream.affine)
    needed = np.array([smallest_size(r) for r in stream.dimensions])
    stays = (sums.sizes < needed) | subspaces.dead

    def kept(old: AnyArray, new: AnyArray) -> NDArray[Any]:
        return np.where(stays.reshape(-1, *(1,) * (len(new.shape) - 1)), old, new)

    return replace(
        subspaces,
        centres=kept(before.centres, subspaces.centres),
        axes=kept(before.axes, subspaces.axes),
        spectra=kept(before.spectra, subspaces.spectra),
        alive=kept(before.alive, subspaces.alive),
        sizes=kept(before.sizes, subspaces.sizes),
    )
