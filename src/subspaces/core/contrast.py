"""What sets a cluster apart: its mean against that of all other samples, variable by variable.

==========  ===========  ========  ============================================================
symbol      name         shape     meaning
==========  ===========  ========  ============================================================
m_k         means        (K, p)    mean of the members of a cluster
s           within_std   (p,)      sqrt(sum_k sum_{i in k} (x_i - m_k)^2 / (n - K))
d           difference   (p,)      m_k - mean of the samples of all other clusters
d / s       effect       (p,)      the difference in standard deviations
==========  ===========  ========  ============================================================

Where nothing differs and noise is Gaussian, d / s over sqrt(1 / n_k + 1 / (n - n_k)) has Student's
t distribution with n - K degrees of freedom. So with a probability of at least 1 - LEVEL none of p
effects is beyond its quantile at LEVEL / 2p. That takes the clusters as given: a cut of one group
goes beyond it along the cut.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from subspaces.core.array import Array, Indices
from subspaces.subspace import centre_of

# The probability that any effect is beyond chance where none differs.
LEVEL = 0.05


@dataclass(frozen=True)
class Contrast:
    """How the mean of one cluster differs from the mean of all other samples, variable by variable.

    difference (p,): in units of the variables; effect (p,): in standard deviations; order (m,): the
    variables that differ, the largest effect first; by_chance: the effect up to which none of p
    variables differs beyond chance.
    """

    difference: Array
    effect: Array
    order: Indices
    by_chance: float

    @property
    def beyond_chance(self) -> Indices:
        """The variables of ``order`` that differ beyond chance; all where effects are nan."""
        effect = self.effect[self.order]
        return self.order[np.isnan(effect) | (np.abs(effect) > self.by_chance)]


def contrast(cluster: int, sizes: Array, means: Array, within_std: Array) -> Contrast:
    """Return the `Contrast` of a cluster's mean with the mean of the samples of all other clusters.

    sizes (K,), means (K, p) and within_std (p,): of the clusters.

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
    freedom = max(sizes.sum() - np.count_nonzero(sizes), 1.0)
    quantile = stats.t.isf(LEVEL / (2 * len(difference)), freedom)
    by_chance = float(quantile * np.sqrt(1 / own + 1 / others))
    return Contrast(difference, effect, order[difference[order] != 0.0], by_chance)


def means_and_spread(
    rows: Array, labels: NDArray[np.integer], n_clusters: int
) -> tuple[Array, Array]:
    """Return each cluster's mean (K, p), and the standard deviations (p,) around these means.

    A cluster without members has the mean of all rows.
    """
    means = np.tile(centre_of(rows, True), (n_clusters, 1))
    squares = np.zeros(rows.shape[1])
    for k in np.unique(labels).tolist():
        members = rows[labels == k]
        means[k] = centre_of(members, True)
        away = members - means[k]
        squares += np.einsum("ij,ij->j", away, away)
    return means, pooled_deviation(squares, len(rows), len(np.unique(labels)))


def pooled_deviation(squares: Array, n_rows: int, n_clusters: int) -> Array:
    """``sqrt(squares / (n - K))``, (p,); squares: summed squared deviations from cluster means."""
    return np.sqrt(squares / max(n_rows - n_clusters, 1))
