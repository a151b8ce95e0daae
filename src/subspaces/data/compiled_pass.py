"""One block of numpy rows in one pass, with compiled loops: the twin of `block_pass`.

Rows are taken a chunk at a time, so that what is made of them stays in the processor's cache.
Products of matrices are numpy's, hence BLAS's; costs and labels are found by compiled loops
(`kernels/block_pass.pyx`). What the loops need of the flats is made once for all blocks of a pass,
and kept with it.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subspaces.data.flats import Flats, Tally
from subspaces.kernels import compiled

Array = NDArray[np.floating]

# Rows of a chunk: their scores under ten clusters of five axes take half a megabyte, and calls
# of numpy cost little beside the work on so many.
CHUNK_ROWS = 1024
# Members of a cluster that are copied side by side at a time.
GATHERED_ROWS = 512


def knows(rows: Any, criterion: str = "residual") -> bool:
    """Whether a block is for the compiled loops: a numpy array of single or double precision."""
    dense = isinstance(rows, np.ndarray) and rows.dtype in (np.float32, np.float64)
    loops = compiled("block_pass") if dense and 0 not in rows.shape else None
    return loops is not None and criterion in loops.CRITERIA


def look(rows: Any, labels: Any | None, start: int, plan: Any) -> tuple[Any, Tally]:
    """The twin of `block_pass.look`."""
    new, squared, objective = _assigned(rows, labels, plan)
    if labels is None or not plan.only_moved:
        moved = len(new) if labels is None else int(np.sum(new != labels))
        return new, _tally(objective, moved, new, _sums(rows, squared, new, None, plan))
    chosen = np.flatnonzero(new != labels)
    joined, left = (_sums(rows, squared, each, chosen, plan) for each in (new, labels))
    changes = [now - before for now, before in zip(joined, left, strict=True)]
    return new, _tally(objective, len(chosen), new, changes)


def nearest(rows: Any, labels: Any | None, start: int, plan: Any) -> tuple[Any, None]:
    """The twin of `block_pass.nearest`."""
    return _assigned(rows, None, plan)[0], None


def count(rows: Any, labels: Any, start: int, plan: Any) -> tuple[Any, Tally]:
    """The twin of `block_pass.count`."""
    return labels, _tally(0.0, len(labels), labels, _sums(rows, None, labels, None, plan))


def measure(rows: Any, labels: Any, start: int, plan: Any) -> tuple[Any, float]:
    """The twin of `block_pass.measure`."""
    influence, errors = np.empty(len(rows), rows.dtype), 0.0
    for k, own in _members(labels, None, len(plan.flats.sizes)):
        influence[own], error = _measured(_seen(rows, own, plan), k, plan)
        errors += error
    return influence, errors


def _measured(members: Array, k: int, plan: Any) -> tuple[Array, float]:
    """Influence of some members of cluster k, and the sum of their squared errors."""
    clusters, axes, _ = _tables(plan, members.dtype)
    squared = np.einsum("ij,ij->i", members, members)
    return _loops().measure(members, axes[k] @ members.T, squared, axes[k], k, clusters)


def _assigned(rows: Array, labels: Any | None, plan: Any) -> tuple[Any, Array, float]:
    """Next labels, squared lengths, and the sum of the costs under the present labels."""
    clusters, axes, _ = _tables(plan, rows.dtype)
    lines = axes.reshape(-1, axes.shape[2])
    new, squared = np.empty(len(rows), plan.label_type), np.empty(len(rows), rows.dtype)
    present = None if labels is None else np.ascontiguousarray(labels, dtype=np.intc)
    objective = 0.0
    for start in range(0, len(rows), CHUNK_ROWS):
        part = slice(start, start + CHUNK_ROWS)
        seen = _seen(rows, part, plan)
        squared[part] = np.einsum("ij,ij->i", seen, seen)
        old = None if present is None else present[part]
        new[part], cost = _loops().assign(seen, lines @ seen.T, squared[part], lines, old, clusters)
        objective += cost
    return new, squared, objective


def _sums(
    rows: Array, squared: Array | None, labels: Any, chosen: Any, plan: Any
) -> tuple[Array, Array, Array]:
    """Energy (K,), totals (K, p) and products of the chosen members of each cluster."""
    k, p, r = plan.flats.axes.shape
    energy, totals = np.zeros(k), np.zeros((k, p))
    products = np.zeros((k, p, p if plan.by_scatter else r))
    axes = _tables(plan, rows.dtype)[1]
    for k, own in _members(labels, chosen, len(axes)):
        members = _seen(rows, own, plan)
        lengths = np.einsum("ij,ij->i", members, members) if squared is None else squared[own]
        energy[k] += lengths.sum(dtype=np.float64)
        if plan.affine:
            totals[k] += members.sum(axis=0)
        products[k] += members.T @ (members if plan.by_scatter else members @ axes[k, :r].T)
    return energy, totals, products


def _tally(objective: float, moved: int, labels: Any, sums: Any) -> Tally:
    sizes = np.bincount(labels, minlength=len(sums[0])) + 0.0
    return Tally(objective, moved, sizes, *sums)


def _seen(rows: Array, which: Any, plan: Any) -> Array:
    """Some rows as seen from the origin of the pass, contiguous."""
    origin = _tables(plan, rows.dtype)[2]
    return np.ascontiguousarray(rows[which] if origin is None else rows[which] - origin)


def _members(labels: Any, chosen: Any, n_clusters: int) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Each cluster with its members among the chosen rows (None: all rows), some at a time."""
    short = labels.astype(np.min_scalar_type(n_clusters), copy=False)  # such are sorted quickest
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


def _tables(plan: Any, dtype: Any) -> tuple[Any, Array, Array | None]:
    """What costs need of the flats, axes (K, R, p) with the centre last, and the origin."""
    key = ("compiled", dtype)
    if key not in plan.placed:
        plan.placed[key] = _made(plan, dtype)
    return plan.placed[key]


def _made(plan: Any, dtype: Any) -> tuple[Any, Array, Array | None]:
    flats: Flats = plan.flats
    axes, has_centres = np.swapaxes(flats.axes, 1, 2), not flats.linear
    if has_centres:
        axes = np.concatenate([axes, flats.centres[:, None, :]], axis=1)
    places = *flats.shift_and_lengths, has_centres
    clusters = _loops().Clusters(plan.criterion, *plan.tables.for_loops, *places)
    origin = None if plan.origin is None else np.asarray(plan.origin, dtype=dtype)
    return clusters, np.ascontiguousarray(axes, dtype=dtype), origin
