"""What sets a cluster apart: its mean against that of all other samples, variable by variable.

==========  ===========  ========  ============================================================
symbol      name         shape     meaning
==========  ===========  ========  ============================================================
m_k         means        (K, p)    mean of the members of a cluster
s           within_std   (p,)      sqrt(sum_k sum_{i in k} (x_i - m_k)^2 / (n - K))
d           difference   (p,)      m_k - mean of the samples of all other clusters
d / s       effect       (p,)      the difference in standard deviations
==========  ===========  ========  ============================================================

If nothing differs and noise is Gaussian, d / s over sqrt(1 / n_k + 1 / (n - n_k)) has Student's
t distribution with n - K degrees of freedom. So with a probability of at least 1 - LEVEL none of p
effects is beyond its quantile at LEVEL / 2p. That takes the clusters as given: a cut of one group
goes beyond it along the cut.

If cells of a variable are missing, o_j of cluster j are observed. With s that of observed cells,
n = sum_j o_j, and with w_j the shares of the other clusters in the samples, the square root is that
of 1 / o_k + sum_j w_j^2 / o_j: the cells of a cluster are filled about the mean of those observed.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from subspaces._types import Array, Indices, Mask
from subspaces.core.partition import Partition
from subspaces.subspace import centre_of

# Probability of finding any effect by chance if there is none.
LEVEL = 0.05


@dataclass(frozen=True)
class Contrast:
    """How the mean of one cluster differs from the mean of all other samples, variable by variable.

    difference (p,): in units of the variables; effect (p,): in standard deviations; order (m,): the
    variables that differ, the largest effect first; limits (p,): the effects up to which none of p
    variables differs beyond chance, infinite if too few cells are observed to tell.
    """

    difference: Array
    effect: Array
    order: Indices
    limits: Array

    @property
    def by_chance(self) -> float:
        """The effect up to which none of p variables without missing cells is beyond chance."""
        return float(self.limits.min())

    @property
    def beyond_chance(self) -> Indices:
        """The variables of ``order`` that differ beyond chance; all if effects are nan."""
        effect = self.effect[self.order]
        return self.order[np.isnan(effect) | (np.abs(effect) > self.limits[self.order])]


def contrast(
    cluster: int, sizes: Array, means: Array, within_std: Array, observed: Array | None = None
) -> Contrast:
    """Return the `Contrast` of a cluster's mean with the mean of the samples of all other clusters.

    sizes (K,), means (K, p) and within_std (p,): of the clusters; observed (K, p): the numbers of
    their cells that are not missing, if any are.

    A variable that differs and is constant within every cluster has an infinite effect, one that
    does not differ has 0. Equal effects are ordered by their differences, and so are all variables
    if no standard deviations are known (nan).
    """
    weights = np.where(np.arange(len(sizes)) == cluster, 0.0, sizes)
    # Average differences and not means: if all clusters agree, this is 0 without rounding.
    difference = (weights / weights.sum()) @ (means[cluster] - means)
    with np.errstate(divide="ignore", invalid="ignore"):
        effect = np.where(difference == 0.0, 0.0, difference / within_std)
    size = np.where(np.isnan(effect), 0.0, np.abs(effect))
    order = np.lexsort((-np.abs(difference), -size))
    counts = np.broadcast_to(sizes[:, None], means.shape) if observed is None else observed
    limits = _limits(cluster, sizes, counts)
    return Contrast(difference, effect, order[difference[order] != 0.0], limits)


def _limits(cluster: int, sizes: Array, observed: Array) -> Array:
    """Return the effects (p,) up to which none is beyond chance; infinite if none can be."""
    others = np.where(np.arange(len(sizes)) == cluster, 0.0, sizes)
    squares = np.square(others / max(others.sum(), 1.0))
    squares[cluster] = 1.0
    there = squares > 0
    with np.errstate(divide="ignore"):
        variance = (squares[there, None] / observed[there]).sum(axis=0)
    freedom = observed.sum(axis=0) - np.count_nonzero(sizes)
    quantile = stats.t.isf(LEVEL / (2 * len(variance)), np.maximum(freedom, 1.0))
    return np.where(freedom >= 1.0, quantile * np.sqrt(variance), np.inf)


def means_and_spread(
    rows: Array, partition: Partition, holes: Mask | None = None
) -> tuple[Array, Array]:
    """Return each cluster's mean (K, p), and the standard deviations (p,) around these means.

    A cluster without members has the mean of all rows in clusters. holes (n, p): which cells of the
    rows were filled; what fills them has no deviation of its own, and counts for the means alone.
    """
    means, weights, sizes = partition.means(rows), partition.row_weights, partition.sizes
    if not sizes.all():
        kept = partition.is_counted
        means[sizes == 0] = centre_of(rows[kept], True, weights[kept])
    squares = np.zeros(rows.shape[1])
    for k in np.flatnonzero(sizes).tolist():
        own = partition.members(k)
        away = rows[own] - means[k]
        if holes is not None:
            away[holes[own]] = 0.0
        squares += weights[own] @ np.square(away, out=away)
    n_rows = sizes.sum() if holes is None else weights @ ~holes
    return means, pooled_deviation(squares, n_rows, int(np.count_nonzero(sizes)))


def pooled_deviation(squares: Array, n_rows: Any, n_clusters: int) -> Array:
    """``sqrt(squares / (n - K))``, (p,); squares: summed squared deviations from cluster means."""
    return np.sqrt(squares / np.maximum(n_rows - n_clusters, 1))
