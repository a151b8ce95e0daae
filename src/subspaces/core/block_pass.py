"""One block of rows in one pass: costs under every flat, the next labels, and the sums they give.

Written against the array API, so that the block may be of numpy, torch or CuPy; nothing but small
sums leaves it. A scipy sparse block is multiplied as it is. On a GPU with Triton the costs of a row
are found in one kernel (`fused.py`).

In passes over many rows a member is scored without itself to first order: the costs "loo" and
"hat" are the same here, ``||x_perp||^2 / (1 - sum h)^2``, which differs from the exact leave-one-
out error by a share of about 5 / n_k (docs/big_data.md).
"""

from dataclasses import dataclass, field, fields, replace
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from subspaces.core import compiled_pass
from subspaces.core.array_namespace import like, namespace, to_host
from subspaces.core.flats import Flats, Tally
from subspaces.core.fused import fused_assignment, fused_look, looks_at_all
from subspaces.core.secular import LEVERAGE_ONE

CRITERIA = ("influence", "loo", "hat", "residual", "likelihood")
# Where the first members of all clusters usually are.
FRONT = 4096
# All rows of a device are summed in so many parts, of so many rows at least.
PARTS, PART_ROWS = 8, 1 << 16


class Placed(NamedTuple):
    """The flats beside the rows: origin (p,), axes (p, K R), the rest (K, R) or (K,) or (K, p)."""

    origin: Any
    axes: Any
    centres: Any
    lengths: Any
    shift: Any
    spectra: Any
    weights: Any
    scale: Any


@dataclass(frozen=True)
class Pass:
    """What every block of one pass is looked at with.

    flats; criterion; rank: of the data; n_rows: of all blocks; origin (p,): taken from every row
    first, None for nothing; by_scatter: whether scatter matrices are summed rather than images;
    only_moved: whether of the rows that keep their cluster nothing is summed; exact: whether sums
    are taken in float64 whatever the rows are; affine: whether sums of rows are of any use.
    """

    flats: Flats
    criterion: str
    rank: int
    n_rows: int
    origin: Any = None
    by_scatter: bool = True
    only_moved: bool = False
    exact: bool = True
    affine: bool = True
    placed: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """A pass travels to other processes without what was placed here."""
        names = [field.name for field in fields(self) if field.name != "placed"]
        return Pass, tuple(getattr(self, name) for name in names)

    def beside(self, rows: Any) -> Placed:
        """The flats in the library, on the device and of the type of the rows; moved there once."""
        where = (rows.dtype, getattr(rows, "device", None))
        if where not in self.placed:
            self.placed[where] = _place(self, rows)
        return self.placed[where]

    @property
    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        """What squared scores count, (K, R), and the scale, (K,), of an outsider's cost."""
        flats = self.flats
        if self.criterion != "likelihood":
            return 1.0 / flats.spectra, np.zeros(len(flats.spectra))
        sizes = np.maximum(flats.sizes, 1.0)
        variances = np.maximum(flats.spectra / sizes[:, None], flats.noise)
        variances = np.where(flats.in_use, variances, 1.0)
        free = self.rank - flats.dimensions
        scale = 0.5 * (free * np.log(flats.noise) + np.log(variances).sum(axis=1))
        return 1.0 / variances, scale - np.log(sizes / self.n_rows)


def look(rows: Any, labels: Any | None, start: int, plan: Pass) -> tuple[Any, Tally]:
    """The next labels of a block whose first row has the number ``start``, and its tally.

    Without labels every row is an outsider, and the objective is that of the next labels.
    """
    if compiled_pass.knows(rows):
        return compiled_pass.look(rows, labels, start, plan)
    if looks_at_all(rows):
        return _look_at_all(rows, labels, plan)
    rows = centred(rows, plan)
    scores, squared = scores_on(rows, plan), squared_distances(rows, plan)
    new, own = fused_assignment(scores, squared, labels, plan) or _assignment(
        scores, squared, labels, plan
    )
    xp = namespace(own)
    objective = xp.sum(xp.astype(own, xp.float64))
    return new, tally(rows, scores, labels, new, objective, plan)


def _look_at_all(rows: Any, labels: Any | None, plan: Pass) -> tuple[Any, Tally]:
    """The same of all rows of a device at once, by one kernel; sums of all in some parts."""
    new, own, sizes = fused_look(rows, labels, plan)
    xp = namespace(own)
    objective = xp.sum(own, dtype=xp.float64)
    if not plan.only_moved or labels is None:
        moved = new.shape[0] if labels is None else xp.sum(xp.astype(new != labels, xp.int64))
        return new, replace(_sums_in_parts(rows, new, plan), objective=objective, moved=moved)
    (chosen,) = xp.nonzero(new != labels)
    own = centred(_take(rows, chosen), plan)
    changes = _changes(own, None, _take(labels, chosen), _take(new, chosen), plan)
    return new, Tally(objective, chosen.shape[0], xp.astype(sizes, xp.float64), *changes)


def _sums_in_parts(rows: Any, labels: Any, plan: Pass) -> Tally:
    """The sums of all rows of a device, some at a time, since they are sorted for that."""
    step = max(-(-rows.shape[0] // PARTS), PART_ROWS)
    parts = [slice(start, start + step) for start in range(0, rows.shape[0], step)]
    found = (
        tally(centred(rows[part, ...], plan), None, None, labels[part], 0.0, plan) for part in parts
    )
    return reduce(add, found)


def count(rows: Any, labels: Any, start: int, plan: Pass) -> tuple[Any, Tally]:
    """The tally of a block under the labels it has."""
    if compiled_pass.knows(rows):
        return compiled_pass.count(rows, labels, start, plan)
    if plan.by_scatter and looks_at_all(rows):
        return labels, _sums_in_parts(rows, labels, plan)
    rows = centred(rows, plan)
    scores = None if plan.by_scatter else scores_on(rows, plan)
    return labels, tally(rows, scores, None, labels, 0.0, plan)


def score(rows: Any, labels: Any | None, start: int, plan: Pass) -> tuple[Any, None]:
    """The costs of a block under every cluster, (b, K)."""
    rows = centred(rows, plan)
    return costs(scores_on(rows, plan), squared_distances(rows, plan), labels, plan), None


def nearest(rows: Any, labels: Any | None, start: int, plan: Pass) -> tuple[Any, None]:
    """The cluster of least cost of every row of a block."""
    if compiled_pass.knows(rows):
        return compiled_pass.nearest(rows, None, start, plan)
    cost, _ = score(rows, None, start, plan)
    xp = namespace(cost)
    return xp.astype(xp.argmin(cost, axis=1), xp.int32), None


def own_cost(rows: Any, labels: Any, start: int, plan: Pass) -> tuple[Any, Any]:
    """The cost of every row of a block under its own cluster, and their sum."""
    cost, _ = score(rows, labels, start, plan)
    xp = namespace(cost)
    own = _own(cost, labels)
    return own, xp.sum(xp.astype(own, xp.float64))


def measure(rows: Any, labels: Any, start: int, plan: Pass) -> tuple[Any, Any]:
    """The influence of every row, and the sum of the squared errors without each."""
    if compiled_pass.knows(rows):
        return compiled_pass.measure(rows, labels, start, plan)
    rows = centred(rows, plan)
    scores, squared = scores_on(rows, plan), squared_distances(rows, plan)
    influence = _own(costs(scores, squared, labels, replace(plan, criterion="influence")), labels)
    errors = _own(costs(scores, squared, labels, replace(plan, criterion="loo")), labels)
    xp = namespace(errors)
    return influence, xp.sum(xp.astype(errors, xp.float64))


@dataclass(frozen=True)
class First:
    """The least row number of every cluster, (K,)."""

    rows: Any

    def __add__(self, other: "First") -> "First":
        return First(np.minimum(self.rows, other.rows))


def first_rows(rows: Any, labels: Any, start: int, n_clusters: int) -> tuple[None, First]:
    """Where each cluster first appears; infinite where it does not."""
    first = np.full(n_clusters, np.inf)
    front = min(FRONT, labels.shape[0])
    for begin, end in ((0, front), (front, labels.shape[0])):
        there, where = np.unique(to_host(labels[begin:end]), return_index=True)
        first[there] = np.minimum(first[there], start + begin + where)
        if np.isfinite(first).all():
            break
    return None, First(first)


def centred(rows: Any, plan: Pass) -> Any:
    """The rows seen from the origin of the pass."""
    return rows if plan.origin is None else rows - plan.beside(rows).origin


def scores_on(rows: Any, plan: Pass) -> Any:
    """``x V_k`` of a block from the origin of the pass, (b, K, R)."""
    n_clusters, _, n_axes = plan.flats.axes.shape
    product = rows @ plan.beside(rows).axes
    return namespace(product).reshape(product, (rows.shape[0], n_clusters, n_axes))


def squared_distances(rows: Any, plan: Pass) -> Any:
    """``||x - c_k||^2``, (b, K); (b, 1) where all centres are the origin."""
    squared = squared_lengths(rows)[:, None]
    if not plan.flats.centres.any():
        return squared
    placed = plan.beside(rows)
    return squared - 2.0 * (rows @ placed.centres.T) + placed.lengths[None, :]


def squared_lengths(rows: Any) -> Any:
    """Squared length of every row of a block."""
    if sparse.issparse(rows):
        squares = (rows.data * rows.data, rows.indices, rows.indptr)
        return sparse.csr_array(squares, shape=rows.shape).sum(axis=1)
    if isinstance(rows, np.ndarray):
        return np.einsum("ij,ij->i", rows, rows)
    return namespace(rows).linalg.vector_norm(rows, axis=1) ** 2


def costs(scores: Any, squared: Any, labels: Any | None, plan: Pass) -> Any:
    """The costs (b, K) of rows with these scores and squared distances."""
    placed = plan.beside(scores)
    xp = namespace(scores)
    energies = (scores - placed.shift[None, ...]) ** 2
    residual = xp.clip(squared - xp.sum(energies, axis=2), 0.0, None)
    member = None if labels is None else membership(labels, len(plan.flats.sizes))
    return _COSTS[plan.criterion](energies, residual, member, plan)


def _assignment(scores: Any, squared: Any, labels: Any | None, plan: Pass) -> tuple[Any, Any]:
    """Next labels, and the cost under the present ones; a row that ties stays."""
    cost = costs(scores, squared, labels, plan)
    xp = namespace(cost)
    best, least = xp.astype(xp.argmin(cost, axis=1), xp.int32), xp.min(cost, axis=1)
    if labels is None:
        return best, least
    own = _own(cost, labels)
    return xp.where(own <= least, labels, best), own


def _own(cost: Any, labels: Any) -> Any:
    xp = namespace(cost)
    return xp.take_along_axis(cost, xp.astype(labels, xp.int64)[:, None], axis=1)[:, 0]


def membership(labels: Any, n_clusters: int) -> Any:
    """Who is a member of which cluster, (b, K)."""
    return labels[:, None] == like(np.arange(n_clusters), labels)[None, :]


def _influence(energies: Any, residual: Any, member: Any, plan: Pass) -> Any:
    """``(1 + A)^4 ||x_perp||^2 + sum_r (A - g_r)^4 d_r^2``, A = sum_r g_r."""
    xp = namespace(energies)
    spectra = plan.beside(energies).spectra[None, ...]
    own = energies * 0.0
    if member is not None:
        own = xp.where(member[..., None], energies, own)
    alone = own >= LEVERAGE_ONE * spectra
    g = energies / xp.where(alone, spectra, spectra - own)
    total = xp.sum(g, axis=2)
    cost = (1.0 + total) ** 4 * residual + xp.sum((total[..., None] - g) ** 4 * energies, axis=2)
    return _infinite(xp.any(alone, axis=2), cost)


def _residual(energies: Any, residual: Any, member: Any, plan: Pass) -> Any:
    return residual


def _hat(energies: Any, residual: Any, member: Any, plan: Pass) -> Any:
    """``||x_perp||^2 / (1 - sum h)^2``, of a member."""
    if member is None:
        return residual
    xp = namespace(energies)
    left = 1.0 - xp.sum(energies / plan.beside(energies).spectra[None, ...], axis=2)
    left = xp.where(member, left, xp.ones_like(left))
    least = 1.0 - LEVERAGE_ONE
    return _infinite(left <= least, residual / xp.clip(left, least, None) ** 2)


def _likelihood(energies: Any, residual: Any, member: Any, plan: Pass) -> Any:
    """-log density of a cluster's Gaussian, times its share of the rows."""
    placed = plan.beside(energies)
    distance = _hat(energies, residual, member, plan) / plan.flats.noise
    distance = distance + namespace(energies).sum(energies * placed.weights[None, ...], axis=2)
    return placed.scale[None, :] + 0.5 * distance


_COSTS = {
    "influence": _influence,
    "residual": _residual,
    "hat": _hat,
    "loo": _hat,
    "likelihood": _likelihood,
}


def _infinite(where: Any, cost: Any) -> Any:
    return namespace(cost).where(where, namespace(cost).full_like(cost, np.inf), cost)


def _place(plan: Pass, rows: Any) -> Placed:
    flats = plan.flats
    p = flats.axes.shape[1]
    weights, scale = plan.weights
    values = (
        np.zeros(p) if plan.origin is None else plan.origin,
        np.moveaxis(flats.axes, 0, 1).reshape(p, -1),
        flats.centres,
        np.vecdot(flats.centres, flats.centres),
        (flats.centres[:, None, :] @ flats.axes)[:, 0, :],
        flats.spectra,
        weights,
        scale,
    )
    return Placed(*(like(np.ascontiguousarray(value), rows) for value in values))


def tally(
    rows: Any, scores: Any, labels: Any | None, new: Any, objective: Any, plan: Pass
) -> Tally:
    """The sums of a block under its next labels; of the moved rows alone, signed, if so planned."""
    xp = namespace(new)
    moved = new.shape[0] if labels is None else xp.sum(xp.astype(new != labels, xp.int64))
    if labels is None or not plan.only_moved:
        return Tally(objective, moved, *sums(rows, scores, new, plan))
    sizes = xp.sum(xp.astype(membership(new, len(plan.flats.sizes)), xp.float64), axis=0)
    return Tally(objective, moved, sizes, *_changes(rows, scores, labels, new, plan))


def _changes(rows: Any, scores: Any, labels: Any, new: Any, plan: Pass) -> list[Any]:
    """What the rows that moved add to the sums of the clusters they join, and take from others."""
    (chosen,) = namespace(new).nonzero(new != labels)
    own, along = _take(rows, chosen), None if scores is None else _take(scores, chosen)
    joined = sums(own, along, _take(new, chosen), plan)
    left = sums(own, along, _take(labels, chosen), plan)
    return [a - b for a, b in zip(joined[1:], left[1:], strict=True)]


def sums(rows: Any, scores: Any, labels: Any, plan: Pass) -> tuple[Any, Any, Any, Any]:
    """Sizes (K,), energy (K,), totals (K, p) and products of the members of each cluster."""
    n_clusters = len(plan.flats.sizes)
    if plan.by_scatter:
        return _sorted_sums(rows, labels, n_clusters, plan)
    lengths = squared_lengths(rows)
    xp = namespace(lengths)
    member = membership(labels, n_clusters)
    weights = xp.astype(member, lengths.dtype).T
    energy, totals = weights @ lengths, weights @ rows
    sizes = xp.sum(xp.astype(weights, xp.float64), axis=1)
    products = _images(rows, scores, member)
    return sizes, xp.astype(energy, xp.float64), xp.astype(totals, xp.float64), products


def _images(rows: Any, scores: Any, member: Any) -> Any:
    """``sum x (x V_k)`` over the members of each cluster, (K, p, R)."""
    xp = namespace(scores)
    own = scores * xp.astype(member, scores.dtype)[..., None]
    product = rows.T @ xp.reshape(own, (own.shape[0], -1))
    product = xp.reshape(xp.astype(product, xp.float64), (rows.shape[1], *scores.shape[1:]))
    return xp.permute_dims(product, (1, 0, 2)) if xp is not np else np.moveaxis(product, 1, 0)


def _sorted_sums(rows: Any, labels: Any, n_clusters: int, plan: Pass) -> tuple[Any, Any, Any, Any]:
    """The same with scatter matrices; in sorted rows each cluster is a slice."""
    xp = namespace(labels)
    order = xp.argsort(labels, stable=True)
    ends = to_host(xp.searchsorted(_take(labels, order), like(np.arange(n_clusters + 1), labels)))
    rows = _take(rows, order)
    if plan.exact and not sparse.issparse(rows):
        rows = xp.astype(rows, xp.float64)
    parts = [rows[int(a) : int(b), :] for a, b in pairwise(ends)]
    products = xp.astype(xp.stack([_square(part) for part in parts]), xp.float64)
    energy = xp.sum(xp.linalg.diagonal(products), axis=1)
    totals = np.zeros((n_clusters, rows.shape[1]))
    if plan.affine:
        totals = xp.stack([_column_sums(part) for part in parts])
    return np.diff(ends) + 0.0, energy, totals, products


def _square(rows: Any) -> Any:
    product = rows.T @ rows
    return product.toarray() if sparse.issparse(product) else product


def _take(array: Any, chosen: Any) -> Any:
    if isinstance(array, np.ndarray) or sparse.issparse(array):
        return array[chosen]
    return namespace(array).take(array, chosen, axis=0)


def total(rows: Any) -> np.ndarray:
    """Sums of the columns, in main memory."""
    return to_host(_column_sums(rows), np.float64)


def _column_sums(rows: Any) -> Any:
    if sparse.issparse(rows):
        return np.asarray(rows.sum(axis=0)).ravel()
    return namespace(rows).sum(rows, axis=0)
