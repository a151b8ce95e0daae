"""One pass over a block of numpy rows by compiled loops; returns what `block_pass` returns.

Rows are taken a chunk at a time, so that their scores stay in the processor's cache. Products of
matrices are numpy's, hence BLAS's; costs and labels are found by compiled loops
(`kernels/block_pass.pyx`). The tables that the loops read are made from the subspaces once for all
blocks of a pass, and kept in the cache of its plan.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subspaces.data.pass_plan import Pass
from subspaces.kernels import compiled

Array = NDArray[np.floating]

# Rows of a chunk: their scores under ten clusters of five axes take half a megabyte, and calls
# of numpy cost little beside the work on so many.
CHUNK_ROWS = 1024
# Members of a cluster that are copied side by side at a time.
GATHERED_ROWS = 512


class ScoredRows(NamedTuple):
    """Rows that were assigned: their labels (n,), squared lengths (n,) and own scores (n, R).

    The scores are those on the axes of the new cluster; None where scatter matrices are summed.
    """

    labels: Any
    squared: Array
    own_scores: Any


def knows(rows: Any, criterion: str = "residual") -> bool:
    """Whether compiled loops take these rows and criterion: numpy arrays of float32 or float64."""
    dense = isinstance(rows, np.ndarray) and rows.dtype in (np.float32, np.float64)
    loops = compiled("block_pass") if dense and 0 not in rows.shape else None
    return loops is not None and criterion in loops.CRITERIA


def influence_and_errors(rows: Any, labels: Any, plan: Pass) -> tuple[Any, float]:
    """Return each row's influence (b,), and the sum of the squared leave-one-out errors."""
    clusters, axes, _ = _tables(plan, rows.dtype)
    influence, errors = np.empty(len(rows), rows.dtype), 0.0
    for k, own in _members(labels, None, plan.n_clusters):
        members = _centred(rows, own, plan)
        squared = np.einsum("ij,ij->i", members, members)
        given = members, axes[k] @ members.T, squared, axes[k], k, clusters
        influence[own], error = _loops().influence_and_errors(*given)
        errors += error
    return influence, errors


def assigned(
    rows: Array, labels: Any | None, plan: Pass
) -> tuple[Any, float, Callable[..., tuple[Array, Array, Array, Array]]]:
    """Return the next labels, the objective, and a function that sums the clusters.

    labels: the present ones, None for outsiders. The objective is the sum of the costs under them.
    The function is `cluster_sums` with these rows, their scores and the plan filled in.
    """
    clusters, axes, _ = _tables(plan, rows.dtype)
    k, n_scores, p = axes.shape
    lines = axes.reshape(-1, p)
    new, squared = np.empty(len(rows), plan.label_type), np.empty(len(rows), rows.dtype)
    n_axes = plan.subspaces.axes.shape[2]
    own = None if plan.by_scatter else np.empty((len(rows), n_axes), rows.dtype)
    present = None if labels is None else np.ascontiguousarray(labels, dtype=np.intc)
    objective = 0.0
    for start in range(0, len(rows), CHUNK_ROWS):
        part = slice(start, start + CHUNK_ROWS)
        chunk = _centred(rows, part, plan)
        squared[part] = np.einsum("ij,ij->i", chunk, chunk)
        old = None if present is None else present[part]
        scores = lines @ chunk.T
        new[part], cost = _loops().assign(chunk, scores, squared[part], lines, old, clusters)
        objective += cost
        if own is not None:
            by_cluster = scores.reshape(k, n_scores, -1)[:, : own.shape[1]]
            own[part] = by_cluster[new[part], :, np.arange(len(chunk))]
    return new, objective, partial(cluster_sums, rows, ScoredRows(new, squared, own), plan)


def cluster_sums(
    rows: Array, known: ScoredRows | None, plan: Pass, labels: Any, chosen: Any = None
) -> tuple[Array, Array, Array, Array]:
    """Return sizes, energy, totals and products, as `block_pass.cluster_sums` does.

    known: what `assigned` found; where `labels` are its labels, lengths and scores are taken from
    it.
    """
    known = known if known is not None and known.labels is labels else None
    n_clusters, p, r = plan.subspaces.axes.shape
    energy, totals = np.zeros(n_clusters), np.zeros((n_clusters, p))
    products = np.zeros((n_clusters, p, p if plan.by_scatter else r))
    axes = _tables(plan, rows.dtype)[1]
    for k, own in _members(labels, chosen, n_clusters):
        members = _centred(rows, own, plan)
        squared = np.einsum("ij,ij->i", members, members) if known is None else known.squared[own]
        energy[k] += squared.sum(dtype=np.float64)
        if plan.affine:
            totals[k] += members.sum(axis=0)
        if plan.by_scatter:
            products[k] += members.T @ members
        else:
            scores = members @ axes[k, :r].T if known is None else known.own_scores[own]
            products[k] += members.T @ scores
    summed = labels if chosen is None else labels[chosen]
    return np.bincount(summed, minlength=n_clusters) + 0.0, energy, totals, products


def _centred(rows: Array, which: Any, plan: Pass) -> Array:
    """Return the rows selected by ``which``, less the origin of the pass, as a contiguous array."""
    origin = _tables(plan, rows.dtype)[2]
    return np.ascontiguousarray(rows[which] if origin is None else rows[which] - origin)


def _members(labels: Any, chosen: Any, n_clusters: int) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Yield pairs of a cluster and up to 512 row indices of its members among the chosen rows.

    chosen: row indices, None for all rows. A large cluster comes in several pairs.
    """
    # Short numbers are sorted quickest.
    short = labels.astype(np.min_scalar_type(n_clusters), copy=False)
    if chosen is None:
        order = np.argsort(short, kind="stable")
    else:
        order = chosen[np.argsort(short[chosen], kind="stable")]
    ends = np.searchsorted(short[order], np.arange(n_clusters + 1))
    for k, (first, end) in enumerate(pairwise(ends.tolist())):
        for start in range(first, end, GATHERED_ROWS):
            yield k, order[start : min(start + GATHERED_ROWS, end)]


def _loops() -> Any:
    return compiled("block_pass")


def _tables(plan: Pass, dtype: Any) -> tuple[Any, Array, Array | None]:
    """Return a kernel's `Clusters`, the axes (K, R, p), and the origin (p,); made once a pass.

    With affine subspaces the centre of each cluster follows its axes as one more line.
    """
    key = ("compiled", dtype)
    if key not in plan.cache:
        plan.cache[key] = _make_tables(plan, dtype)
    return plan.cache[key]


def _make_tables(plan: Pass, dtype: Any) -> tuple[Any, Array, Array | None]:
    subspaces = plan.subspaces
    axes, has_centres = np.swapaxes(subspaces.axes, 1, 2), not subspaces.linear
    if has_centres:
        axes = np.concatenate([axes, subspaces.centres[:, None, :]], axis=1)
    places = *subspaces.shift_and_lengths, has_centres
    clusters = _loops().Clusters(plan.criterion, *plan.tables.for_loops, *places)
    origin = None if plan.origin is None else np.asarray(plan.origin, dtype=dtype)
    return clusters, np.ascontiguousarray(axes, dtype=dtype), origin
