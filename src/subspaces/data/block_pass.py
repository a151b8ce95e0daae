"""One pass over a block of rows: costs under every subspace, next labels, and sums of the clusters.

Written against the array API, so that the block may be of numpy, torch or CuPy; only small sums
leave its device. A scipy sparse block is multiplied without writing out its zeros. Dense numpy rows
take the compiled loops if they are built, rows on a GPU with Triton take Triton kernels
(`pass_kernels.py`).

A visit is a function of the rows of a block, their labels or None, the number of the block's first
row, and the plan of the pass. It returns two things: an array with one value per row (or None), and
an object whose sum over the blocks is wanted (or None).

In passes over many rows a member is scored without itself to first order: the errors of "loo" and
"hat" are equal here, ``||x_perp||^2 / (1 - sum h)^2``, the leverage of a mean, 1/n_k, included,
which differs from the exact leave-one-out error by a share of about 5 / n_k ("Big data: passes,
chunks, zeros and streams", https://subspaces.readthedocs.io).

`assign_rows`, `own_coordinates` and `nearest_points` are what a fitted model says of rows, each
scored as an outsider, since the rows need not be those that the model was fitted to.
"""

from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np
from scipy import sparse

from subspaces._types import AnyArray, Array, Block
from subspaces.core.array import is_sparse, like, membership, namespace, slices, to_host, zeros_like
from subspaces.core.criteria import CRITERIA, ScoreInputs
from subspaces.core.secular import copy_of
from subspaces.data import pass_kernels
from subspaces.data.blocks import working_memory
from subspaces.data.pass_kernels import FourSums, SumClusters
from subspaces.data.pass_plan import Pass, PassArrays
from subspaces.data.subspaces import BlockSums

# The scores of all rows of a device may take 1 / SCORES_SHARE of the memory of the rows; more are
# found block by block.
SCORES_SHARE = 4
# Compute residuals in pieces of this many numbers (2 MB).
FEW_NUMBERS = 1 << 18
# Every cluster usually has a member among this many leading rows, so the search for the first ends
# there.
LEADING_ROWS = 4096


def assign_and_sum(
    rows: Block, labels: AnyArray | None, start: int, plan: Pass
) -> tuple[AnyArray, BlockSums]:
    """Return the next labels (b,) of a block, and its `BlockSums` under those labels.

    Without labels every row is scored as an outsider of every cluster, and the objective is the sum
    of the costs under the next labels.
    """
    weights = plan.weights_of(rows, start)
    if weights is None and pass_kernels.has_loops(rows, plan.criterion):
        found, objective, sums = pass_kernels.assigned(rows, labels, plan)
        return found, _summed(labels, found, objective, plan, sums)
    if _is_scored_in_place(rows, plan):
        return _assign_in_place(rows, labels, plan)
    rows = centred(rows, plan)
    scores, squared = _scores_and_distances(rows, plan)
    if pass_kernels.sums_in_place(rows, plan) and not plan.by_scatter:
        return _assign_by_images(rows, scores, squared, labels, plan)
    new, own = _assigned(scores, squared, labels, plan, weights)
    sums = partial(cluster_sums, rows, scores, plan, weights=weights)
    return new, _summed(labels, new, grand_total(own, weights), plan, sums, weights)


def _summed(
    labels: AnyArray | None,
    new: AnyArray,
    objective: AnyArray | float,
    plan: Pass,
    sums: SumClusters,
    weights: Array | None = None,
) -> BlockSums:
    """Return the `BlockSums` of a block under its next labels.

    sums(labels, chosen): sizes, energy, totals and products of the chosen rows (None: all rows). If
    the plan says ``only_moved``, all but the sizes are changes: rows that joined less rows that
    left.
    """
    if labels is None or not plan.only_moved:
        moved = new.shape[0] if labels is None else _n_true(new != labels)
        return BlockSums(objective, moved, *sums(new, None))
    chosen = namespace(new).nonzero(new != labels)[0]
    joined, left = sums(new, chosen), sums(labels, chosen)
    changes = [now - before for now, before in zip(joined[1:], left[1:], strict=True)]
    sizes = cluster_sizes(new, plan.n_clusters, weights)
    return BlockSums(objective, chosen.shape[0], sizes, *changes)


def _n_true(values: AnyArray) -> AnyArray:
    xp = namespace(values)
    return xp.sum(xp.astype(values, xp.int64))


def takes_all_rows(rows: Block, plan: Pass) -> bool:
    """Whether a pass over all rows of a device as one block needs little memory beside the rows."""
    if plan.by_scatter or plan.origin is not None or not pass_kernels.sums_in_place(rows, plan):
        return _is_scored_in_place(rows, plan)
    scores = rows.nbytes // rows.shape[1] * plan.subspaces.spectra.size
    return scores <= min(rows.nbytes // SCORES_SHARE, working_memory())


def _is_scored_in_place(rows: Block, plan: Pass) -> bool:
    """Whether GPU kernels go from rows to labels and scatter matrices without storing scores."""
    return plan.by_scatter and pass_kernels.scores_in_place(rows, plan)


def _assign_in_place(
    rows: Block, labels: AnyArray | None, plan: Pass
) -> tuple[AnyArray, BlockSums]:
    """`assign_and_sum` by GPU kernels that never store the scores; sums scatter matrices."""
    scoring, kernels = pass_kernels.score_kernels(rows), pass_kernels.sum_kernels()
    new, _, (objective, moved, sizes, _) = scoring.from_rows(rows, labels, plan)
    if labels is None or not plan.only_moved:
        return new, BlockSums(objective, moved, *kernels.scatter_sums(rows, new, plan))
    changes = kernels.scatter_changes(rows, labels, new, plan)
    return new, BlockSums(objective, moved, sizes, *changes)


def _assign_by_images(
    rows: Block, scores: AnyArray, squared: AnyArray, labels: AnyArray | None, plan: Pass
) -> tuple[AnyArray, BlockSums]:
    """`assign_and_sum` by GPU kernels that sum images ``S_k V_k``, not scatter matrices.

    Of each row only the scores on the axes of its new cluster are stored.
    """
    lengths = squared if plan.subspaces.linear else squared_lengths(rows)
    own = zeros_like(scores, (scores.shape[0], scores.shape[2]))
    kernels = pass_kernels.score_kernels(scores)
    new, _, facts = kernels.from_scores(scores, squared, labels, plan, lengths, own)
    sums = pass_kernels.sum_kernels().images(rows, own, new, plan.n_clusters)
    return new, BlockSums(*facts, *sums)


def _scores_and_distances(rows: Block, plan: Pass) -> tuple[AnyArray, AnyArray]:
    """Return scores (b, K, R) and squared distances (b, K) from the centres, of a centred block."""
    return scores_on(rows, plan), squared_distances(rows, plan)


def partition_sums(
    rows: Block, labels: AnyArray, start: int, plan: Pass
) -> tuple[AnyArray, BlockSums]:
    """Return the given labels unchanged, and the `BlockSums` of a block under them."""
    found: FourSums
    weights = plan.weights_of(rows, start)
    if weights is None and pass_kernels.has_loops(rows):
        found = pass_kernels.cluster_sums(rows, None, plan, labels)
    elif _is_scored_in_place(rows, plan):
        found = pass_kernels.sum_kernels().scatter_sums(rows, labels, plan)
    else:
        rows = centred(rows, plan)
        if pass_kernels.sums_in_place(rows, plan) and not plan.by_scatter:
            found = pass_kernels.sum_kernels().image_sums(rows, labels, plan)
        else:
            scores = None if plan.by_scatter else scores_on(rows, plan)
            found = cluster_sums(rows, scores, plan, labels, weights=weights)
    return labels, BlockSums(0.0, labels.shape[0], *found)


def score(rows: Block, labels: AnyArray | None, start: int, plan: Pass) -> tuple[AnyArray, None]:
    """Return the costs of a block under every cluster, (b, K), and None: nothing is summed."""
    return costs(*_scores_and_distances(centred(rows, plan), plan), labels, plan), None


def nearest(rows: Block, labels: AnyArray | None, start: int, plan: Pass) -> tuple[AnyArray, None]:
    """Return each row's cluster of least cost (b,), every row scored as an outsider, and None."""
    if pass_kernels.has_loops(rows, plan.criterion):
        return pass_kernels.assigned(rows, None, plan)[0], None
    return _assigned(*_scores_and_distances(centred(rows, plan), plan), None, plan)[0], None


def own_cost(rows: Block, labels: AnyArray, start: int, plan: Pass) -> tuple[AnyArray, AnyArray]:
    """Return the cost of each row under its own cluster, (b,), and the sum of these costs."""
    weights, scored = plan.weights_of(rows, start), _scores_and_distances(centred(rows, plan), plan)
    own = _assigned(*scored, labels, plan, weights)[1]
    return own, grand_total(own, weights)


def influence_and_errors(
    rows: Block, labels: AnyArray, start: int, plan: Pass
) -> tuple[AnyArray, AnyArray | float]:
    """Return the influence of each row, (b,), and the sum of the squared leave-one-out errors."""
    weights = plan.weights_of(rows, start)
    if weights is None and pass_kernels.has_loops(rows):
        return pass_kernels.influence_and_errors(rows, labels, plan)
    plans = [replace(plan, criterion=name) for name in ("influence", "loo")]
    if _is_scored_in_place(rows, plan):
        kernels = pass_kernels.score_kernels(rows)
        influence, errors = (kernels.from_rows(rows, labels, each)[1] for each in plans)
    else:
        scored = _scores_and_distances(centred(rows, plan), plan)
        influence, errors = (_assigned(*scored, labels, each, weights)[1] for each in plans)
    return influence, grand_total(errors, weights)


def residual_energy(rows: Block, labels: AnyArray, start: int, plan: Pass) -> tuple[None, float]:
    """Return None, and the squared distances of the rows from their own subspaces, summed.

    The residuals themselves are formed, in double precision: few rows at a time.
    """
    step, energy = max(FEW_NUMBERS // rows.shape[1], 1), 0.0
    for part in slices(rows.shape[0], step):
        some = rows[part].toarray() if is_sparse(rows) else rows[part, ...]
        xp = namespace(some)
        some = centred(xp.astype(some, xp.float64), plan)
        for k in range(plan.n_clusters):
            own = _take(some, xp.nonzero(labels[part] == k)[0])
            axes = like(plan.subspaces.axes[k], own)
            own = own - like(plan.subspaces.centres[k], own)
            rest = own - (own @ axes) @ axes.T
            squares = xp.sum(rest * rest, axis=1)
            weights = plan.weights_of(some, start + part.start)
            weights = None if weights is None else weights[labels[part] == k]
            energy += float(grand_total(squares, weights))
    return None, energy


@dataclass(frozen=True)
class Assigned:
    """What is summed over the blocks while rows are assigned; the `Assigned` of two blocks add.

    first (K,): the least row number in every cluster, infinite if it has no row; objective: the
    sum of the least costs.
    """

    first: AnyArray
    objective: float = 0.0

    def __add__(self, other: "Assigned") -> "Assigned":
        first = np.minimum(self.first, other.first)
        return Assigned(first, self.objective + other.objective)


def first_rows(
    rows: Block, labels: AnyArray, start: int, n_clusters: int, weights: Array | None = None
) -> tuple[None, Assigned]:
    """Return None, and an `Assigned` with the least row number in every cluster of a block.

    weights (n,): of the rows of all blocks, those of weight 0 are not there; None for none such.
    """
    first = np.full(n_clusters, np.inf)
    front = min(LEADING_ROWS, labels.shape[0])
    for begin, end in ((0, front), (front, labels.shape[0])):
        some, places = to_host(labels[begin:end]), np.arange(start + begin, start + end)
        if weights is not None:
            counted = weights[start + begin : start + end] > 0.0
            some, places = some[counted], places[counted]
        there, where = np.unique(some, return_index=True)
        first[there] = np.minimum(first[there], places[where])
        if np.isfinite(first).all():
            break
    return None, Assigned(first)


def centred(rows: Block, plan: Pass) -> AnyArray:
    """Return the rows (b, p) less the origin of the pass; the rows themselves without an origin."""
    return rows if plan.origin is None else rows - plan.arrays_like(rows).origin


def scores_on(rows: Block, plan: Pass) -> AnyArray:
    """Return the scores ``x V_k`` of a centred block, (b, K, R); on a GPU with rows innermost."""
    shape, axes = plan.subspaces.spectra.shape, plan.arrays_like(rows).axes
    if pass_kernels.has_triton(rows):
        xp = namespace(rows)
        return xp.permute_dims(xp.reshape(axes.T @ rows.T, (*shape, -1)), (2, 0, 1))
    product = rows @ axes
    return namespace(product).reshape(product, (rows.shape[0], *shape))


def squared_distances(rows: Block, plan: Pass) -> AnyArray:
    """Return ``||x - c_k||^2``, (b, K); (b, 1) if all centres are the origin."""
    squared = squared_lengths(rows)[:, None]
    if plan.subspaces.linear:
        return squared
    arrays = plan.arrays_like(rows)
    return squared - 2.0 * (rows @ arrays.centres.T) + arrays.lengths[None, :]


def squared_lengths(rows: Block) -> AnyArray:
    """Return the squared length of every row of a block, (b,)."""
    found: AnyArray
    if is_sparse(rows):
        squares = (rows.data * rows.data, rows.indices, rows.indptr)
        found = sparse.csr_array(squares, shape=rows.shape).sum(axis=1)
    elif isinstance(rows, np.ndarray):
        found = np.einsum("ij,ij->i", rows, rows)
    else:
        found = namespace(rows).linalg.vector_norm(rows, axis=1) ** 2
    return found


def costs(
    scores: AnyArray,
    squared: AnyArray,
    labels: AnyArray | None,
    plan: Pass,
    weights: Array | None = None,
) -> AnyArray:
    """Return costs (b, K) by the plan's criterion, from scores (b, K, R) and squared distances.

    weights (b,): of the rows, None if all count one.
    """
    arrays = plan.arrays_like(scores)
    xp = namespace(scores)
    energies = (scores - arrays.shift[None, ...]) ** 2
    residual = xp.clip(squared - xp.sum(energies, axis=2), 0.0, None)
    copy = None if weights is None else copy_of(weights)
    if not isinstance(energies, np.ndarray):
        return _costs(energies, residual, labels, plan.criterion, arrays, copy)
    # Powers leave the range of single precision long before that of double.
    energies, residual = energies.astype(np.float64), to_host(residual, np.float64)
    with np.errstate(over="ignore"):
        cost = _costs(energies, residual, labels, plan.criterion, arrays, copy)
    largest = np.minimum(cost, np.finfo(scores.dtype).max)
    return np.where(np.isinf(cost), cost, largest).astype(scores.dtype)


def _costs(
    energies: AnyArray,
    residual: AnyArray,
    labels: AnyArray | None,
    name: str,
    arrays: PassArrays,
    copy: Array | None,
) -> AnyArray:
    """Return costs (b, K): a member's under its own cluster, an outsider's under all others.

    copy (b,): how much of each row is left out or joins, None for all of it.
    """
    criterion = CRITERIA[name]
    joins = None if copy is None else copy[:, None]
    cost: AnyArray = criterion.outsider(ScoreInputs(energies, residual, arrays, copy=joins))
    if labels is None:
        return cost
    xp, member = namespace(energies), membership(labels, residual.shape[1])
    own = ScoreInputs(
        xp.sum(xp.where(member[..., None], energies, xp.zeros_like(energies)), axis=1),
        xp.sum(xp.where(member, residual, xp.zeros_like(residual)), axis=1),
        arrays,
        xp.astype(labels, xp.int64),
        copy=copy,
    )
    return xp.where(member, criterion.member(own)[:, None], cost)


def _assigned(
    scores: AnyArray,
    squared: AnyArray,
    labels: AnyArray | None,
    plan: Pass,
    weights: Array | None = None,
) -> tuple[AnyArray, AnyArray]:
    """Return the next labels (b,) and the costs (b,) under the present ones; rows that tie stay.

    Without labels: the cluster of least cost of every row, and that cost.
    """
    if pass_kernels.has_triton(scores, plan.criterion):
        return pass_kernels.score_kernels(scores).from_scores(scores, squared, labels, plan)[:2]
    cost = costs(scores, squared, labels, plan, weights)
    xp = namespace(cost)
    short = plan.label_type if xp is np else xp.int32
    best, least = xp.astype(xp.argmin(cost, axis=1), short), xp.min(cost, axis=1)
    if labels is None:
        return best, least
    own = xp.take_along_axis(cost, xp.astype(labels, xp.int64)[:, None], axis=1)[:, 0]
    return xp.where(own <= least, xp.astype(labels, short), best), own


def grand_total(values: AnyArray, weights: Array | None = None) -> AnyArray:
    """Return the sum of all values of an array, by weight, in double precision."""
    if weights is not None:
        return weights @ to_host(values, np.float64)
    xp = namespace(values)
    return xp.sum(values, dtype=xp.float64)


def cluster_sizes(labels: AnyArray, n_clusters: int, weights: Array | None = None) -> AnyArray:
    """Return the number of rows in every cluster, or their weight, (K,), as floats."""
    if isinstance(labels, np.ndarray):
        return np.bincount(labels, weights, n_clusters) + 0.0
    xp = namespace(labels)
    return xp.sum(xp.astype(membership(labels, n_clusters), xp.float64), axis=0)


def cluster_sums(
    rows: Block,
    scores: AnyArray | None,
    plan: Pass,
    labels: AnyArray,
    chosen: AnyArray | None = None,
    weights: Array | None = None,
) -> FourSums:
    """Return sizes (K,), energy (K,), totals (K, p) and products of the members of each cluster.

    The rows are centred, and scores are theirs on all axes. If `chosen` holds row indices, only
    these rows are summed. weights (b,): of the rows, None if all count one. For products see
    `BlockSums`.
    """
    if chosen is not None:
        rows, labels = _take(rows, chosen), _take(labels, chosen)
        scores = None if scores is None else _take(scores, chosen)
        weights = None if weights is None else weights[chosen]
    if scores is None or plan.by_scatter:
        return _scatter_sums(rows, labels, plan, weights)
    lengths = squared_lengths(rows)
    xp = namespace(lengths)
    counts = xp.astype(membership(labels, plan.n_clusters), lengths.dtype)
    counts = counts if weights is None else counts * weights[:, None]
    sizes = xp.sum(xp.astype(counts, xp.float64), axis=0)
    energy = xp.astype(counts.T @ lengths, xp.float64)
    totals: AnyArray = np.zeros((plan.n_clusters, rows.shape[1]))
    if plan.affine:
        totals = xp.astype(counts.T @ rows, xp.float64)
    own = scores * xp.astype(counts, scores.dtype)[..., None]
    return sizes, energy, totals, _images(rows, own)


def _images(rows: Block, own: AnyArray) -> AnyArray:
    """Return ``sum x (x V_k)`` over the members of each cluster, (K, p, R).

    own (b, K, R): the scores of each row, zero for all clusters but its own.
    """
    xp = namespace(own)
    if xp is np:
        product = rows.T @ xp.reshape(own, (len(own), -1))
        shape = (rows.shape[1], *own.shape[1:])
        return np.moveaxis(to_host(product, np.float64).reshape(shape), 1, 0)
    columns = xp.reshape(xp.permute_dims(own, (1, 2, 0)), (-1, own.shape[0]))
    product = xp.reshape(xp.astype(columns @ rows, xp.float64), (*own.shape[1:], -1))
    return xp.permute_dims(product, (0, 2, 1))


def _scatter_sums(
    rows: Block, labels: AnyArray, plan: Pass, weights: Array | None = None
) -> FourSums:
    """`cluster_sums` with scatter matrices; rows are sorted by label, each cluster is a slice."""
    xp, n_clusters = namespace(labels), plan.n_clusters
    order = xp.argsort(labels, stable=True)
    ends = to_host(xp.searchsorted(_take(labels, order), like(np.arange(n_clusters + 1), labels)))
    rows = _take(rows, order)
    if plan.in_float64 and not is_sparse(rows):
        rows = xp.astype(rows, xp.float64)
    sizes: AnyArray = np.diff(ends) + 0.0
    if weights is not None:
        sizes, roots = cluster_sizes(labels, n_clusters, weights), np.sqrt(weights)[order]
        rows = rows * roots[:, None] if not is_sparse(rows) else sparse.diags_array(roots) @ rows
    parts = [rows[int(a) : int(b), :] for a, b in pairwise(ends)]
    products = xp.astype(xp.stack([_square(part) for part in parts]), xp.float64)
    energy = xp.sum(xp.linalg.diagonal(products), axis=1)
    totals: AnyArray = np.zeros((n_clusters, rows.shape[1]))
    if plan.affine and weights is None:
        totals = xp.stack([_column_sums(part) for part in parts])
    elif plan.affine:
        each = zip(np.split(roots, ends[1:-1]), parts, strict=True)
        totals = np.stack([own @ part for own, part in each])
    return sizes, energy, totals, products


def _square(rows: Block) -> AnyArray:
    product = rows.T @ rows
    return product.toarray() if is_sparse(product) else product


def _take(array: AnyArray, chosen: AnyArray) -> AnyArray:
    if isinstance(array, np.ndarray) or is_sparse(array):
        return array[chosen]
    return namespace(array).take(array, chosen, axis=0)


def total(rows: Block) -> np.ndarray:
    """Return the sums of the columns, (p,), in main memory."""
    return to_host(_column_sums(rows), np.float64)


def _column_sums(rows: Block) -> AnyArray:
    if is_sparse(rows):
        return np.asarray(rows.sum(axis=0)).ravel()
    if isinstance(rows, np.ndarray):
        return rows.sum(axis=0, dtype=np.float64)
    xp = namespace(rows)
    return xp.astype(xp.sum(rows, axis=0), xp.float64)  # with dtype= torch would copy the rows


def assign_rows(
    rows: Block, labels: AnyArray | None, start: int, plan: Pass
) -> tuple[AnyArray, Assigned]:
    """Return each row's cluster of least cost, (b,), and an `Assigned` (objective, first rows)."""
    cost, _ = score(rows, labels, start, plan)
    xp = namespace(cost)
    best = xp.astype(xp.argmin(cost, axis=1), xp.int32)
    _, found = first_rows(rows, best, start, cost.shape[1], plan.weights)
    least = grand_total(xp.min(cost, axis=1), plan.weights_of(rows, start))
    return best, Assigned(found.first, float(least))


def own_coordinates(
    rows: Block, labels: AnyArray | None, start: int, plan: Pass
) -> tuple[AnyArray, None]:
    """Return each row's coordinates in its subspace of least cost, (b, R), and None as the sum.

    Columns beyond the dimension of that subspace are nan.
    """
    weights, own = _own_scores(rows, plan)
    xp = namespace(own)
    used = weights @ like(plan.subspaces.in_use, own) > 0.0
    return xp.where(used, own, xp.full_like(own, np.nan)), None


def nearest_points(
    rows: Block, labels: AnyArray | None, start: int, plan: Pass
) -> tuple[AnyArray, None]:
    """Return the nearest point to each row in its subspace of least cost, (b, p), and None."""
    weights, own = _own_scores(rows, plan)
    xp, arrays = namespace(own), plan.arrays_like(own)
    spread = weights[..., None] * own[:, None, :]
    points = xp.reshape(spread, (own.shape[0], arrays.axes.shape[1])) @ arrays.axes.T
    return points + weights @ arrays.centres + arrays.origin, None


def _own_scores(rows: Block, plan: Pass) -> tuple[AnyArray, AnyArray]:
    """Return each row's cluster of least cost, one-hot (b, K), and its coordinates there (b, R)."""
    rows = centred(rows, plan)
    scores = scores_on(rows, plan)
    cost = costs(scores, squared_distances(rows, plan), None, plan)
    xp = namespace(cost)
    weights = xp.astype(membership(xp.argmin(cost, axis=1), cost.shape[1]), scores.dtype)
    along = scores - plan.arrays_like(scores).shift[None, ...]
    return weights, xp.sum(along * weights[..., None], axis=1)
