"""The Mann-Whitney test of each cluster against all other samples, for all variables at once.

One ranking of each variable serves all clusters. Tied values share their mean rank.

==========  ========  ==================================================================
symbol      shape     meaning
==========  ========  ==================================================================
r           (n, p)    rank of each sample within each variable, from 1 up
U_k         (K, p)    sum of the ranks in cluster k, less n_k (n_k + 1) / 2
U_k / n_k m_k  (K, p)  "auc": probability that a member exceeds another sample; m_k = n - n_k
var U_k     (K, p)    n_k m_k / (n (n - 1)) * sum_i (r_i - (n + 1) / 2)^2
==========  ========  ==================================================================

The variance is that of a sum of n_k ranks drawn without replacement. With T the sum of t^3 - t over
groups of t ties, sum_i (r_i - (n + 1) / 2)^2 = (n^3 - n - T) / 12, so that it is the usual one
corrected for ties (Lehmann 1975, eq. 1.36).
"""

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Array = NDArray[np.floating]
Codes = NDArray[np.integer]

# The most values that are ranked at once, which bounds the memory beside the table.
BLOCK = 1 << 22
# The smallest cluster that is tested: of two samples among forty, no p-value is below .01.
FEWEST = 3


def rank_test(values: Array, codes: Codes, n_clusters: int) -> tuple[Array, Array]:
    """Return the probability that a member exceeds another sample, and its two-sided p-value.

    values (n, p); codes (n,): the cluster of each sample, 0 to K - 1. Both results are (K, p). A
    variable without two different values has .5 and 1; clusters of fewer than ``FEWEST`` samples,
    or with fewer outside, have p-values of nan.
    """
    n, p = values.shape
    members = np.arange(n_clusters)[:, None] == codes
    sizes = members.sum(axis=1).astype(float)[:, None]
    others = n - sizes
    auc, p_values = np.empty((n_clusters, p)), np.empty((n_clusters, p))
    step = max(BLOCK // n, 1)
    for first in range(0, p, step):
        part = slice(first, first + step)
        ranks = stats.rankdata(values[:, part], axis=0) - (n + 1) / 2
        excess = members @ ranks  # U_k - n_k m_k / 2
        spread = np.sqrt(sizes * others / (n * (n - 1.0)) * np.square(ranks).sum(axis=0))
        with np.errstate(divide="ignore", invalid="ignore"):
            # Half a rank is the correction of a distribution on whole numbers to the normal one.
            z = np.where(spread > 0, (np.abs(excess) - 0.5) / spread, 0.0)
            auc[:, part] = 0.5 + excess / (sizes * others)
        p_values[:, part] = np.minimum(2 * stats.norm.sf(z), 1.0)
    p_values[(np.minimum(sizes, others) < FEWEST).ravel()] = np.nan
    return auc, p_values


def false_discovery_rates(p_values: Array) -> Array:
    """Return Benjamini and Hochberg's adjusted p-values, (K, p), each row on its own; nan stays."""
    rates = np.full_like(p_values, np.nan)
    known = np.isfinite(p_values).all(axis=1)
    if known.any():
        rates[known] = stats.false_discovery_control(p_values[known], axis=1)
    return rates
