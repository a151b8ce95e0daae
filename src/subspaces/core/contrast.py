"""What sets a cluster apart: its mean against that of all other samples, variable by variable.

==========  ===========  ========  ============================================================
symbol      name         shape     meaning
==========  ===========  ========  ============================================================
m_k         means        (K, p)    mean of the members of a cluster
s           within_std   (p,)      sqrt(sum_k sum_{i in k} (x_i - m_k)^2 / (n - K))
d           difference   (p,)      m_k - mean of the samples of all other clusters
d / s       effect       (p,)      the difference in standard deviations
==========  ===========  ========  ============================================================
"""

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from subspaces.core.array_namespace import like, membership, namespace, to_host
from subspaces.core.subspace import centre_of

Array = NDArray[np.floating]

# What is below this share of the numbers it was computed from is rounding: ten thousand units in
# the last place, more than sums over 1e8 rows collect.
ROUNDING = 1e4 * np.finfo(np.float64).eps
# In main memory so many numbers, or rows, are made double precision at a time: copies of them stay
# in the cache, and small beside the rows.
FEW_NUMBERS, FEW_ROWS = 1 << 15, 64


@dataclass(frozen=True)
class Contrast:
    """How one cluster differs from all other samples.

    difference, effect (p,): in units of the variables, and in standard deviations; order (m,): the
    variables that differ, the largest effect first; by_chance: the effect that the largest of so
    many reaches about where none differs, ``sqrt(2 log 2p (1/n_k + 1/(n - n_k)))``.
    """

    difference: Array
    effect: Array
    order: NDArray[np.intp]
    by_chance: float


def contrast(cluster: int, sizes: Array, means: Array, within_std: Array) -> Contrast:
    """Compare a cluster with the samples of all others.

    A variable that differs and is constant within every cluster has an infinite effect, one that
    does not differ has 0. Equal effects are ordered by their differences, and so are all variables
    where no standard deviations are known (nan).
    """
    weights = np.where(np.arange(len(sizes)) == cluster, 0.0, sizes)
    # Differences are averaged, not means: where all clusters agree this is 0 without rounding.
    difference = (weights / weights.sum()) @ (means[cluster] - means)
    with np.errstate(divide="ignore", invalid="ignore"):
        effect = np.where(difference == 0.0, 0.0, difference / within_std)
    size = np.where(np.isnan(effect), 0.0, np.abs(effect))
    order = np.lexsort((-np.abs(difference), -size))
    own, others = max(sizes[cluster], 1.0), max(weights.sum(), 1.0)
    by_chance = float(np.sqrt(2 * np.log(2 * len(difference)) * (1 / own + 1 / others)))
    return Contrast(difference, effect, order[difference[order] != 0.0], by_chance)


def means_and_spread(
    rows: Array, labels: NDArray[np.integer], n_clusters: int
) -> tuple[Array, Array]:
    """The means (K, p) of the clusters' members, and the standard deviations (p,) around them.

    A cluster without members has the mean of all rows.
    """
    means = np.tile(centre_of(rows, True), (n_clusters, 1))
    squares = np.zeros(rows.shape[1])
    for k in np.unique(labels).tolist():
        members = rows[labels == k]
        means[k] = centre_of(members, True)
        away = members - means[k]
        squares += np.einsum("ij,ij->j", away, away)
    return means, _deviation(squares, len(rows), len(np.unique(labels)))


@dataclass(frozen=True)
class Sums:
    """Sums over rows seen from one point per cluster; those of two blocks add.

    sizes (K,); totals (K, p): the rows of each cluster; squares (p,): all squared values.
    """

    sizes: Array
    totals: Array
    squares: Array

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(
            self.sizes + other.sizes, self.totals + other.totals, self.squares + other.squares
        )


def sums_from(rows: Any, labels: Any, start: int, points: Array) -> tuple[None, Sums]:
    """The sums of a block, each row seen from the point (K, p) of its cluster."""
    if sparse.issparse(rows):
        return None, _sparse_sums(rows, np.asarray(labels), points)
    step = max(FEW_NUMBERS // rows.shape[1], FEW_ROWS)
    if isinstance(rows, np.ndarray) and len(rows) > step:
        parts = [slice(begin, begin + step) for begin in range(0, len(rows), step)]
        found = (sums_from(rows[part], labels[part], start, points)[1] for part in parts)
        return None, reduce(add, found)
    xp = namespace(rows)
    rows = xp.astype(rows, xp.float64)
    own = xp.astype(membership(labels, len(points)), xp.float64)
    seen = rows - xp.take(like(points, rows), labels, axis=0)
    sizes, totals = xp.sum(own, axis=0), own.T @ seen
    seen *= seen
    squares = xp.sum(seen, axis=0)
    return None, Sums(to_host(sizes), to_host(totals), to_host(squares))


def _sparse_sums(rows: Any, labels: NDArray[np.integer], points: Array) -> Sums:
    """The same without writing out the zeros: each is as far away as its cluster's point."""
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
    """Means (K, p) and standard deviations (p,), as of `means_and_spread`."""
    counts = np.maximum(sums.sizes, 1.0)[:, None]
    means = points + sums.totals / counts
    means[sums.sizes == 0] = sums.sizes @ means / sums.sizes.sum()
    # A variable that is the same everywhere must not differ by the rounding of its sums.
    unit = ROUNDING * np.abs(means).max(axis=0)
    means = np.where(np.ptp(means, axis=0) > unit, means, means[:1])
    squares = sums.squares - (sums.totals**2 / counts).sum(axis=0)
    seen = (squares > ROUNDING * sums.squares) & (squares > sums.sizes.sum() * unit**2)
    squares = np.where(seen, squares, 0.0)
    return means, _deviation(squares, int(sums.sizes.sum()), int((sums.sizes > 0).sum()))


def _deviation(squares: Array, n_rows: int, n_clusters: int) -> Array:
    return np.sqrt(squares / max(n_rows - n_clusters, 1))
