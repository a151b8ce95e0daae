"""One block of rows in one pass: costs under every flat, the next labels, and the sums they give.

Written against the array API, so that the block may be of numpy, torch or CuPy; what leaves it is
small and goes to main memory. A scipy sparse block is multiplied as it is.

In passes over many rows a member is scored without itself to first order: the costs "loo" and
"hat" are the same here, ``||x_perp||^2 / (1 - sum h)^2``, which differs from the exact leave-one-
out error by a share of about 5 / n_k (docs/big_data.md).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from subspaces.core.array_namespace import like, namespace, to_host
from subspaces.core.flats import Flats, Tally
from subspaces.core.secular import LEVERAGE_ONE

CRITERIA = ("influence", "loo", "hat", "residual", "likelihood")


@dataclass(frozen=True)
class Pass:
    """What every block of one pass is looked at with.

    origin (p,): taken from every row first, None for nothing; criterion; flats; rank: of the data;
    n_rows: of all blocks; by_scatter: whether scatter matrices are summed rather than images;
    only_moved: whether of the rows that keep their cluster nothing is summed.
    """

    flats: Flats
    criterion: str
    rank: int
    n_rows: int
    origin: Any = None
    by_scatter: bool = True
    only_moved: bool = False


def look(rows: Any, labels: Any | None, start: int, plan: Pass) -> tuple[Any, Tally]:
    """The next labels of a block whose first row has the number ``start``, and its tally.

    Without labels every row is an outsider, the objective is that of the next labels.
    """
    rows = centred(rows, plan.origin)
    scores, cost = costs(rows, labels, plan)
    xp = namespace(scores)
    best = xp.argmin(cost, axis=1)
    least = xp.min(cost, axis=1)
    if labels is None:
        new, own = best, least
    else:
        own = _own(xp, cost, labels)
        new = xp.where(own <= least, xp.astype(labels, best.dtype), best)
    objective = float(xp.sum(own))
    new = xp.astype(new, xp.int32)
    return new, tally(rows, scores, labels, new, start, objective, plan)


def score(rows: Any, labels: Any | None, start: int, plan: Pass) -> tuple[Any, None]:
    """The costs of a block under every cluster, (b, K)."""
    return costs(centred(rows, plan.origin), labels, plan)[1], None


def nearest(rows: Any, labels: Any | None, start: int, plan: Pass) -> tuple[Any, None]:
    """The cluster of least cost of every row of a block."""
    cost, _ = score(rows, labels, start, plan)
    xp = namespace(cost)
    return xp.astype(xp.argmin(cost, axis=1), xp.int32), None


def own_cost(rows: Any, labels: Any, start: int, plan: Pass) -> tuple[Any, float]:
    """The cost of every row of a block under its own cluster, and their sum."""
    cost = costs(centred(rows, plan.origin), labels, plan)[1]
    own = _own(namespace(cost), cost, labels)
    return own, float(namespace(own).sum(own))


def count(rows: Any, labels: Any, start: int, plan: Pass) -> tuple[Any, Tally]:
    """The tally of a block under the labels it has."""
    rows = centred(rows, plan.origin)
    scores = None if plan.by_scatter else scores_on(rows, plan.flats)
    return labels, tally(rows, scores, None, labels, start, 0.0, plan)


def centred(rows: Any, origin: Any) -> Any:
    """The rows seen from the origin of the pass."""
    return rows if origin is None else rows - like(origin, rows)


def costs(rows: Any, labels: Any | None, plan: Pass) -> tuple[Any, Any]:
    """Scores (b, K, R) of a block on all axes, from the origin, and its costs (b, K)."""
    flats = plan.flats
    n_clusters = len(flats.axes)
    scores = scores_on(rows, flats)
    xp = namespace(scores)
    raw, squared = scores, squared_lengths(rows)[:, None]
    if np.any(flats.centres):
        centres = like(flats.centres, rows)
        shift = like(np.einsum("kp,kpr->kr", flats.centres, flats.axes), rows)
        lengths = like(np.einsum("kp,kp->k", flats.centres, flats.centres), rows)
        scores = scores - shift[None, ...]
        squared = squared - 2.0 * (rows @ centres.T) + lengths[None, :]
    energies = scores * scores
    residual = xp.clip(squared - xp.sum(energies, axis=2), 0.0, None)
    member = None
    if labels is not None:
        member = labels[:, None] == like(np.arange(n_clusters), labels)[None, :]
    return raw, _CRITERIA[plan.criterion](energies, residual, member, plan)


def scores_on(rows: Any, flats: Flats) -> Any:
    """``x V_k`` of a block, (b, K, R), from the origin."""
    n_clusters, p, n_axes = flats.axes.shape
    axes = like(np.moveaxis(flats.axes, 0, 1).reshape(p, -1), rows)
    product = rows @ axes
    return namespace(product).reshape(product, (rows.shape[0], n_clusters, n_axes))


def squared_lengths(rows: Any) -> Any:
    """Squared length of every row of a block."""
    if sparse.issparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    if isinstance(rows, np.ndarray):
        return np.einsum("ij,ij->i", rows, rows)
    return namespace(rows).sum(rows * rows, axis=1)


def _influence(energies: Any, residual: Any, member: Any, plan: Pass) -> Any:
    """``(1 + A)^4 ||x_perp||^2 + sum_r (A - g_r)^4 d_r^2``, A = sum_r g_r."""
    xp = namespace(energies)
    spectra = like(plan.flats.spectra, energies)[None, ...]
    own = energies * xp.astype(member, energies.dtype)[..., None] if member is not None else 0.0
    alone = xp.any(own >= LEVERAGE_ONE * spectra, axis=2) if member is not None else None
    g = energies / (spectra - own)
    if alone is not None:
        g = xp.where(alone[..., None], xp.asarray(0.0, dtype=g.dtype), g)
    total = xp.sum(g, axis=2)
    cost = (1.0 + total) ** 4 * residual + xp.sum((total[..., None] - g) ** 4 * energies, axis=2)
    return cost if alone is None else _infinite(xp, alone, cost)


def _infinite(xp: Any, where: Any, cost: Any) -> Any:
    return xp.where(where, xp.asarray(xp.inf, dtype=cost.dtype), cost)


def _residual(energies: Any, residual: Any, member: Any, plan: Pass) -> Any:
    return residual


def _hat(energies: Any, residual: Any, member: Any, plan: Pass) -> Any:
    if member is None:
        return residual
    xp = namespace(energies)
    spectra = like(plan.flats.spectra, energies)[None, ...]
    left = 1.0 - xp.sum(energies / spectra, axis=2)
    left = xp.where(member, left, xp.asarray(1.0, dtype=left.dtype))
    alone = left <= 1.0 - LEVERAGE_ONE
    return _infinite(xp, alone, residual / xp.clip(left, 1.0 - LEVERAGE_ONE, None) ** 2)


def _likelihood(energies: Any, residual: Any, member: Any, plan: Pass) -> Any:
    """-log density of a cluster's Gaussian, times its share of the rows."""
    flats = plan.flats
    sizes = np.maximum(flats.sizes, 1.0)
    variances = np.maximum(flats.spectra / sizes[:, None], flats.noise)
    variances = np.where(flats.in_use, variances, 1.0)
    free = plan.rank - flats.dimensions
    scale = 0.5 * (free * np.log(flats.noise) + np.log(variances).sum(axis=1))
    scale -= np.log(sizes / plan.n_rows)
    xp = namespace(energies)
    distance = _hat(energies, residual, member, plan) / flats.noise
    distance = distance + xp.sum(energies / like(variances, energies)[None, ...], axis=2)
    return like(scale, energies)[None, :] + 0.5 * distance


_CRITERIA = {
    "influence": _influence,
    "residual": _residual,
    "hat": _hat,
    "loo": _hat,
    "likelihood": _likelihood,
}


def _own(xp: Any, cost: Any, labels: Any) -> Any:
    index = xp.astype(labels, xp.int64)[:, None]
    return xp.take_along_axis(cost, index, axis=1)[:, 0]


def tally(
    rows: Any, scores: Any, labels: Any | None, new: Any, start: int, objective: float, plan: Pass
) -> Tally:
    """The sums of a block under its next labels; of the moved rows alone, signed, if so planned."""
    xp = namespace(new)
    n_clusters, p, n_axes = plan.flats.axes.shape
    moved = new.shape[0] if labels is None else int(xp.sum(xp.astype(new != labels, xp.int64)))
    first, sizes = np.full(n_clusters, np.inf), np.zeros(n_clusters)
    energy, totals = np.zeros(n_clusters), np.zeros((n_clusters, p))
    sums = np.zeros((n_clusters, p, p if plan.by_scatter else n_axes))
    for k in range(n_clusters):
        now = new == k
        sizes[k] = int(xp.sum(xp.astype(now, xp.int64)))
        if sizes[k]:
            first[k] = start + int(xp.argmax(xp.astype(now, xp.int8)))
        for sign, chosen in _signed(labels, now, k, plan.only_moved):
            own = rows[chosen]
            if own.shape[0]:
                along = own if plan.by_scatter else scores[chosen][:, k, :]
                energy[k] += sign * float(namespace(along).sum(squared_lengths(own)))
                totals[k] += sign * total(own)
                sums[k] += sign * _product(own, along)
    return Tally(objective, moved, first, sizes, energy, totals, sums)


def _signed(labels: Any, now: Any, k: int, only_moved: bool) -> list[tuple[float, Any]]:
    """The members to be added and those to be taken away."""
    if labels is None or not only_moved:
        return [(1.0, now)]
    before = labels == k
    return [(1.0, now & ~before), (-1.0, before & ~now)]


def total(rows: Any) -> np.ndarray:
    """Sums of the columns, in main memory."""
    if sparse.issparse(rows):
        return np.asarray(rows.sum(axis=0)).ravel()
    return to_host(namespace(rows).sum(rows, axis=0), np.float64)


def _product(rows: Any, along: Any) -> np.ndarray:
    """``rows^T along``, in main memory."""
    product = rows.T @ along
    return product.toarray() if sparse.issparse(product) else to_host(product, np.float64)
