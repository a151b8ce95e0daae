"""Flats that follow a stream of batches: every row is seen once, and the past fades.

A batch is given to the flats that were there before it, so that every row is scored by flats it
had no part in; then its sums join those of the past, which lose a share of their weight::

    S_k <- beta S_k + sum over the batch's members x x^T

With many variables the past is known by its axes alone (projection approximation): what S_k of the
past does to the axes V_k is taken to be ``V_k diag(spectrum) + n_k c_k c_k^T V_k``, which joins the
images ``sum x (x^T V_k)`` of the batch, and one step of subspace iteration gives the next axes.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subspaces.core.array_namespace import to_host
from subspaces.core.partition import smallest_size
from subspaces.data import block_pass
from subspaces.data.block_pass import Pass
from subspaces.data.blocks import Blocks
from subspaces.data.flats import MOST_VARIABLES, Flats, Tally, at_least, from_images, from_scatter

# What is kept of the past.
SUMS = ("sizes", "energy", "totals", "products")


@dataclass(frozen=True)
class Stream:
    """What stays the same from batch to batch.

    rank: of the first rows; forgetting: the weight that the past keeps at every batch, beta;
    least_noise: what counts as no variance around the flats; origin (p,): what is taken from every
    row before anything else, so that far from zero the sums keep their digits.
    """

    dimensions: tuple[int, ...]
    criterion: str
    affine: bool
    rank: int
    forgetting: float
    least_noise: float
    origin: NDArray[np.floating]


def follow(
    stream: Stream, blocks: Blocks, flats: Flats, sums: Tally | None
) -> tuple[Flats, Tally, Any]:
    """The flats and sums after a batch, and the labels it was given before."""
    plan = plan_of(stream, flats)
    labels, told = blocks.fold(partial(block_pass.look, plan=plan), None)
    told = replace(told, totals=to_host(told.totals), products=to_host(told.products))
    if sums is not None:
        told = told + _faded(_past(sums, flats, plan), stream.forgetting)
    return _fed(stream, told, flats), told, labels


def plan_of(stream: Stream, flats: Flats) -> Pass:
    """What the rows of a batch are looked at with."""
    by_scatter = flats.axes.shape[1] <= MOST_VARIABLES
    n_rows = max(int(flats.sizes.sum()), 1)
    flats = at_least(flats, stream.least_noise)
    origin = stream.origin if stream.origin.any() else None
    return Pass(
        flats, stream.criterion, stream.rank, n_rows, origin, by_scatter, affine=stream.affine
    )


def _past(sums: Tally, flats: Flats, plan: Pass) -> Tally:
    """The sums of the past, seen by the present axes."""
    if plan.by_scatter:
        return sums
    energies = np.where(flats.in_use, flats.spectra, 0.0)
    along = np.einsum("kp,kpr->kr", sums.sizes[:, None] * flats.centres, flats.axes)
    images = flats.axes * energies[:, None, :] + flats.centres[:, :, None] * along[:, None, :]
    return replace(sums, products=images)


def _faded(sums: Tally, weight: float) -> Tally:
    """The sums at a lower weight; of single rows nothing is remembered."""
    lower = {name: weight * getattr(sums, name) for name in SUMS}
    return replace(sums, objective=0.0, moved=0, **lower)


def reordered(sums: Tally, order: NDArray[np.intp]) -> Tally:
    """The sums of the clusters in another order."""
    return replace(sums, **{name: getattr(sums, name)[order] for name in SUMS})


def _fed(stream: Stream, sums: Tally, before: Flats) -> Flats:
    """The flats of the sums; those with too little in them stay as they are."""
    if before.axes.shape[1] <= MOST_VARIABLES:
        flats = from_scatter(sums, before, stream.dimensions, stream.rank, stream.affine)
    else:
        flats = from_images(sums, before, stream.dimensions, stream.rank, stream.affine)
    needed = np.array([smallest_size(r) for r in stream.dimensions])
    stays = (sums.sizes < needed) | flats.dead

    def kept(old: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
        return np.where(stays.reshape(-1, *(1,) * (new.ndim - 1)), old, new)

    return replace(
        flats,
        centres=kept(before.centres, flats.centres),
        axes=kept(before.axes, flats.axes),
        spectra=kept(before.spectra, flats.spectra),
        alive=kept(before.alive, flats.alive),
        sizes=kept(before.sizes, flats.sizes),
    )
