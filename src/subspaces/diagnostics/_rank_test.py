"""The Mann-Whitney test of each cluster against all other samples, for all variables at once.

One ranking of each variable serves all clusters. Tied values share their mean rank.

==========  ========  ==================================================================
symbol      shape     meaning
==========  ========  ==================================================================
r           (n, p)    rank of each sample within each variable, from 1 up, less (n + 1) / 2
W_k         (K, p)    sum of r in cluster k, or of all others if these are fewer
U_k / n_k m_k  (K, p)  "auc": probability that a member exceeds another sample; m_k = n - n_k
var W_k     (K, p)    n_k m_k / (n (n - 1)) * sum_i r_i^2
==========  ========  ==================================================================

The variance is that of a sum of n_k ranks drawn without replacement. With T the sum of t^3 - t over
groups of t ties, sum_i r_i^2 = (n^3 - n - T) / 12, so that it is the usual one corrected for ties
(Lehmann 1975, eq. 1.36).

The normal approximation fails in small clusters, and by many orders of magnitude if few samples
exceed a value that most share, as genes do that few cells express. There p-values are those of
`_exact_ranks`.

A cell that was not observed is nan, and each variable is tested among the samples that have it:
n, n_k and m_k are then its own.
"""

from collections.abc import Iterator

import numpy as np
from scipy import stats

from subspaces._types import Array, Codes, Counts, Indices, Mask
from subspaces.diagnostics._exact_ranks import exact_p_values, tied_pairs

# Most values to rank at once, which limits the memory on top of the table.
BLOCK = 1 << 22
# Smallest cluster to test. With two samples among forty, no p-value is below 0.01.
FEWEST = 3
# Tests are exact if fewer samples than this of a cluster are expected to differ from the most
# common value. At 16, with 40 to 600 samples, normal p-values down to 1e-5 are at most twice too
# small, and those down to 1e-8 seven times. At 4 it is 10 and 200 times.
FEW_EXPECTED = 16


def rank_test(values: Array, codes: Codes, n_clusters: int) -> tuple[Array, Array]:
    """Return the probability that a member exceeds another sample, and its two-sided p-value.

    values (n, p), nan if not observed; codes (n,): the cluster of each sample, 0 to K - 1. Both
    results are (K, p). A variable without two different values has .5 and 1; clusters of fewer than
    ``FEWEST`` samples that have the variable, or with fewer outside, have p-values of nan. Samples
    with the code -1 are in no cluster, and not tested.
    """
    if (codes < 0).any():
        values, codes = values[codes >= 0], codes[codes >= 0]
    p = values.shape[1]
    auc, p_values = np.full((2, n_clusters, p), np.nan)
    excess, sizes = np.zeros((2, n_clusters, p), dtype=int)
    above, n = np.zeros((2, p), dtype=int)
    rough = np.zeros((n_clusters, p), dtype=bool)
    for seen, columns in alike_observed(values):
        step = max(BLOCK // len(seen), 1)
        for first in range(0, len(columns), step):
            at = columns[first : first + step]
            found = _of_block(values[np.ix_(seen, at)], codes[seen], n_clusters)
            auc[:, at], p_values[:, at], excess[:, at], above[at], sizes[:, at], rough[:, at] = (
                found
            )
            n[at] = len(seen)
    if rough.any():
        exact = exact_p_values(excess, above, sizes, n, rough)
        p_values = np.where(rough, exact, p_values)
    return auc, p_values


def alike_observed(values: Array) -> Iterator[tuple[Indices, Indices]]:
    """Yield the samples, and the variables that were observed in these and in no others.

    Variables that no sample has are left out.
    """
    n, p = values.shape
    holes = np.isnan(values)
    if not holes.any():
        yield np.arange(n), np.arange(p)
        return
    _, group, counts = np.unique(
        np.packbits(holes, axis=0), axis=1, return_inverse=True, return_counts=True
    )
    for columns in np.split(np.argsort(group.ravel(), kind="stable"), np.cumsum(counts)[:-1]):
        seen = np.flatnonzero(~holes[:, columns[0]])
        if len(seen):
            yield seen, columns


def _of_block(
    values: Array, codes: Codes, n_clusters: int
) -> tuple[Array, Array, Counts, Counts, Counts, Mask]:
    """Return the results of `rank_test` by the normal distribution, and what exact ones need.

    That is |2 W|, less the tied pairs (K, p); how many samples are beyond the value that most share
    (p,); the samples inside or outside, the fewer (K, 1); and where exact tests are wanted (K, p).
    """
    n = len(values)
    members = np.arange(n_clusters)[:, None] == codes
    sizes = members.sum(axis=1)
    fewer = np.minimum(sizes, n - sizes)
    ranks = stats.rankdata(values, axis=0) - (n + 1) / 2
    excess = members @ ranks
    with np.errstate(divide="ignore", invalid="ignore"):
        auc = 0.5 + excess / (sizes * (n - sizes))[:, None]
    p_values = _normal_p_values(ranks, excess, sizes)
    p_values[fewer < FEWEST] = np.nan
    beyond = _turn_shared_value_down(ranks)
    rough = np.outer(fewer, beyond) < FEW_EXPECTED * n
    rough[fewer < FEWEST] = False
    doubled = np.rint(2 * np.abs(excess)).astype(int) - _tied_pairs(ranks, members, rough)
    return auc, p_values, doubled, beyond, fewer[:, None], rough


def _normal_p_values(ranks: Array, excess: Array, sizes: Counts) -> Array:
    """Return the two-sided p-values (K, p) of the normal distribution with the variance of W_k."""
    n = len(ranks)
    share = sizes * (n - sizes) / max(n * (n - 1.0), 1.0)
    spread = np.sqrt(np.outer(share, np.square(ranks).sum(axis=0)))
    with np.errstate(divide="ignore", invalid="ignore"):
        # Half a rank is the correction of a distribution on whole numbers to the normal one.
        z = np.where(spread > 0, (np.abs(excess) - 0.5) / spread, 0.0)
    return np.minimum(2 * stats.norm.sf(z), 1.0)


def _turn_shared_value_down(ranks: Array) -> Counts:
    """Return how many samples are beyond the lowest rank, or the highest if more samples share it.

    The ranks (n, p) of the latter variables change their sign, which the size of W_k does not see.
    """
    lowest = (ranks == ranks.min(axis=0)).sum(axis=0)
    highest = (ranks == ranks.max(axis=0)).sum(axis=0)
    np.negative(ranks, out=ranks, where=highest > lowest)
    return len(ranks) - np.maximum(lowest, highest)


def _tied_pairs(ranks: Array, members: Mask, wanted: Mask) -> Counts:
    """Return `tied_pairs`, (K, p), of the clusters and variables that are wanted; 0 elsewhere."""
    pairs = np.zeros(wanted.shape, dtype=int)
    some = np.ix_(wanted.any(axis=1), wanted.any(axis=0))
    pairs[some] = tied_pairs(ranks[:, wanted.any(axis=0)], members[wanted.any(axis=1)])
    return pairs


def false_discovery_rates(p_values: Array) -> Array:
    """Return Benjamini and Hochberg's adjusted p-values, (K, p), each row on its own; nan stays."""
    rates = np.full_like(p_values, np.nan)
    for row, known in zip(range(len(p_values)), np.isfinite(p_values), strict=True):
        if known.any():
            rates[row, known] = stats.false_discovery_control(p_values[row, known])
    return rates
