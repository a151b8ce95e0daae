"""Means and standard deviations of clusters (`core/contrast.py`), from sums over blocks."""

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from subspaces._types import AnyArray, Array, Block, Codes, Sparse
from subspaces.core.array import is_sparse, like, membership, namespace, to_host
from subspaces.core.contrast import pooled_deviation
from subspaces.core.partition import Partition, as_divisors
from subspaces.data import pass_kernels

# Relative rounding error of a sum over up to 1e8 rows, at most: ten thousand units in the last
# place. A difference of sums below this share of them is 0.
SUM_ROUNDING = 1e4 * np.finfo(np.float64).eps
# Convert this many numbers at a time to double precision, but no fewer rows than this, so that the
# copies stay in the cache and are small compared with all rows.
FEW_NUMBERS, FEW_ROWS = 1 << 15, 64


@dataclass(frozen=True)
class Sums:
    """Sums over rows, each measured from the point of its cluster; the `Sums` of two blocks add.

    sizes (K,); totals (K, p): sums of the rows of each cluster; squares (p,): of squared values.
    They stay on the device of the rows, since to fetch them waits for it.
    """

    sizes: AnyArray
    totals: AnyArray
    squares: AnyArray

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(
            self.sizes + other.sizes, self.totals + other.totals, self.squares + other.squares
        )


def sums_from(
    rows: Block, labels: AnyArray, start: int, points: Any, weights: Array | None = None
) -> tuple[None, Sums]:
    """Return None and the `Sums` of a block; points (K, p): what each cluster is measured from.

    weights (n,): of the rows of all blocks, None if all count one. In main memory, rows with the
    label -1 are left out; on a device there are none.
    """
    if weights is not None:
        some = weights[start : start + rows.shape[0]]
        return None, _weighted_sums(rows, to_host(labels, np.intp), points, some)
    if isinstance(labels, np.ndarray) and labels.min(initial=0) < 0:
        rows, labels = rows[labels >= 0], labels[labels >= 0]
    if is_sparse(rows):
        return None, _sparse_sums(rows, np.asarray(labels), points)
    step = max(FEW_NUMBERS // rows.shape[1], FEW_ROWS)
    if pass_kernels.has_loops(rows):
        return None, Sums(*pass_kernels.spread(rows, labels, points))
    if isinstance(rows, np.ndarray) and len(rows) > step:
        parts = [slice(begin, begin + step) for begin in range(0, len(rows), step)]
        found = (sums_from(rows[part], labels[part], start, points)[1] for part in parts)
        return None, reduce(add, found)
    xp = namespace(rows)
    seen = xp.astype(rows, xp.float64)  # a copy
    own = xp.astype(membership(labels, points.shape[0]), xp.float64)
    seen -= own @ like(points, seen)
    squares = xp.linalg.vector_norm(seen, axis=0) ** 2
    return None, Sums(xp.sum(own, axis=0), own.T @ seen, squares)


def _weighted_sums(rows: Block, labels: Codes, points: Array, weights: Array) -> Sums:
    """Return the `Sums` of a block whose rows have weights (b,), few rows at a time."""
    step, total = max(FEW_NUMBERS // rows.shape[1], FEW_ROWS), None
    for begin in range(0, len(labels), step):
        part = slice(begin, begin + step)
        some = rows[part].toarray() if is_sparse(rows) else rows[part]
        clusters = Partition(labels[part], len(points), weights[part])
        seen = some - points[labels[part]]
        squares = clusters.row_weights @ seen**2
        found = Sums(clusters.sizes, clusters.indicator.T @ seen, squares)
        total = found if total is None else total + found
    assert total is not None
    return total


def _sparse_sums(rows: Sparse, labels: Codes, points: Array) -> Sums:
    """Return the `Sums` of a sparse block; entries that are zero are counted, not written out."""
    n_clusters, p = points.shape
    of_entry = np.repeat(labels, np.diff(rows.indptr))
    cells = of_entry.astype(np.intp) * p + rows.indices
    shape = (n_clusters, p)
    values = rows.data.astype(np.float64)
    entries = np.bincount(cells, minlength=n_clusters * p).reshape(shape)
    sums = np.bincount(cells, values, n_clusters * p).reshape(shape)
    away = (values - points.ravel()[cells]) ** 2
    squares = np.bincount(rows.indices, away, p)
    sizes = np.bincount(labels, minlength=n_clusters).astype(np.float64)
    zeros = ((sizes[:, None] - entries) * points**2).sum(axis=0)
    return Sums(sizes, sums - sizes[:, None] * points, squares + zeros)


def from_sums(sums: Sums, points: Array) -> tuple[Array, Array]:
    """Return the means (K, p) and standard deviations (p,) that `means_and_spread` would find."""
    sizes, totals, squares = map(to_host, (sums.sizes, sums.totals, sums.squares))
    counts = as_divisors(sizes)[:, None]
    means = points + totals / counts
    means[sizes == 0] = sizes @ means / sizes.sum()
    # A variable that is the same everywhere must not differ by the rounding of its sums.
    unit = SUM_ROUNDING * np.abs(means).max(axis=0)
    means = np.where(np.ptp(means, axis=0) > unit, means, means[:1])
    around = squares - (totals**2 / counts).sum(axis=0)
    seen = (around > SUM_ROUNDING * squares) & (around > sizes.sum() * unit**2)
    around = np.where(seen, around, 0.0)
    return means, pooled_deviation(around, sizes.sum(), int((sizes > 0).sum()))
