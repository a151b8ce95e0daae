"""The Mann-Whitney test of each cluster against all other samples, for all variables at once.

One ranking of each variable serves all clusters. Tied values share their mean rank.

==========  ========  ==================================================================
symbol      shape     meaning
==========  ========  ==================================================================
r           (n, p)    rank of each sample within each variable, from 1 up, less (n + 1) / 2
W_k         (K, p)    sum of r in cluster k, or of all others where these are fewer
U_k / n_k m_k  (K, p)  "auc": probability that a member exceeds another sample; m_k = n - n_k
var W_k     (K, p)    n_k m_k / (n (n - 1)) * sum_i r_i^2
==========  ========  ==================================================================

The variance is that of a sum of n_k ranks drawn without replacement. With T the sum of t^3 - t over
groups of t ties, sum_i r_i^2 = (n^3 - n - T) / 12, so that it is the usual one corrected for ties
(Lehmann 1975, eq. 1.36).

The normal approximation fails in small clusters, and by many orders of magnitude where few samples
exceed a value that most share, as genes do that few cells express. There p-values are those of
`_exact_ranks`.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from subspaces.diagnostics._exact_ranks import exact_p_values, tied_pairs

Array = NDArray[np.floating]
Codes = NDArray[np.integer]

# The most values that are ranked at once, which bounds the memory beside the table.
BLOCK = 1 << 22
# The smallest cluster that is tested: of two samples among forty, no p-value is below .01.
FEWEST = 3
# Below so many expected samples of a cluster beyond the value that most share, tests are exact.
# At 16 and 40 to 600 samples, normal p-values down to 1e-5 are at most twice too small, and those
# down to 1e-8 seven times; at 4 it is 10 and 200 times.
FEW_EXPECTED = 16


def rank_test(values: Array, codes: Codes, n_clusters: int) -> tuple[Array, Array]:
    """Return the probability that a member exceeds another sample, and its two-sided p-value.

    values (n, p); codes (n,): the cluster of each sample, 0 to K - 1. Both results are (K, p). A
    variable without two different values has .5 and 1; clusters of fewer than ``FEWEST`` samples,
    or with fewer outside, have p-values of nan.
    """
    n, p = values.shape
    members = np.arange(n_clusters)[:, None] == codes
    sizes = members.sum(axis=1)
    fewer = np.minimum(sizes, n - sizes)
    auc, p_values = np.empty((n_clusters, p)), np.empty((n_clusters, p))
    doubled, beyond = np.zeros((n_clusters, p), dtype=int), np.zeros(p, dtype=int)
    rough = np.zeros((n_clusters, p), dtype=bool)
    step = max(BLOCK // n, 1)
    for first in range(0, p, step):
        part = slice(first, first + step)
        ranks = stats.rankdata(values[:, part], axis=0) - (n + 1) / 2
        excess = members @ ranks
        with np.errstate(divide="ignore", invalid="ignore"):
            auc[:, part] = 0.5 + excess / (sizes * (n - sizes))[:, None]
        p_values[:, part] = _normal_p_values(ranks, excess, sizes)
        beyond[part] = _turn_shared_value_down(ranks)
        rough[:, part] = np.outer(fewer, beyond[part]) < FEW_EXPECTED * n
        rough[fewer < FEWEST] = False
        doubled[:, part] = np.rint(2 * np.abs(excess))
        doubled[:, part] -= _tied_pairs(ranks, members, rough[:, part])
    if rough.any():
        exact = exact_p_values(doubled, beyond, fewer, n, rough)
        p_values = np.where(rough, exact, p_values)
    p_values[fewer < FEWEST] = np.nan
    return auc, p_values


def _normal_p_values(ranks: Array, excess: Array, sizes: Codes) -> Array:
    """Return the two-sided p-values (K, p) of the normal distribution with the variance of W_k."""
    n = len(ranks)
    spread = np.sqrt(np.outer(sizes * (n - sizes) / (n * (n - 1.0)), np.square(ranks).sum(axis=0)))
    with np.errstate(divide="ignore", invalid="ignore"):
        # Half a rank is the correction of a distribution on whole numbers to the normal one.
        z = np.where(spread > 0, (np.abs(excess) - 0.5) / spread, 0.0)
    return np.minimum(2 * stats.norm.sf(z), 1.0)


def _turn_shared_value_down(ranks: Array) -> Codes:
    """Return how many samples are beyond the lowest rank, or the highest if more samples share it.

    The ranks (n, p) of the latter variables change their sign, which the size of W_k does not see.
    """
    lowest = (ranks == ranks.min(axis=0)).sum(axis=0)
    highest = (ranks == ranks.max(axis=0)).sum(axis=0)
    np.negative(ranks, out=ranks, where=highest > lowest)
    return len(ranks) - np.maximum(lowest, highest)


def _tied_pairs(ranks: Array, members: NDArray[np.bool_], wanted: NDArray[np.bool_]) -> Codes:
    """Return `tied_pairs`, (K, p), of the clusters and variables that are wanted; 0 elsewhere."""
    pairs = np.zeros(wanted.shape, dtype=int)
    some = np.ix_(wanted.any(axis=1), wanted.any(axis=0))
    pairs[some] = tied_pairs(ranks[:, wanted.any(axis=0)], members[wanted.any(axis=1)])
    return pairs


def false_discovery_rates(p_values: Array) -> Array:
    """Return Benjamini and Hochberg's adjusted p-values, (K, p), each row on its own; nan stays."""
    rates = np.full_like(p_values, np.nan)
    known = np.isfinite(p_values).all(axis=1)
    if known.any():
        rates[known] = stats.false_discovery_control(p_values[known], axis=1)
    return rates
