"""The exact distribution of a sum of ranks, where the lowest value may be shared by many samples.

Of n samples e exceed the lowest value, which the z = n - e others share; the e differ. A cluster of
m samples drawn at random has J of the e, hypergeometrically distributed, and given J = j these are
any j of the e. So the sum of its ranks, less m (n + 1) / 2, is

    W = (c_j + 2 u) / 2,    c_j = (m - j)(z + 1) + 2 j z + j (j + 1) - m (n + 1),

with u Mann and Whitney's count for j of e samples. Its probabilities f follow from whether the
highest of the e is among the j (Mann & Whitney 1947):

    f_{e,j}(u) = (e - j) / e * f_{e-1,j}(u) + j / e * f_{e-1,j-1}(u - (e - j)).

All terms are positive, so that the smallest p-values are as precise as the largest. With z = 1 this
is the test without ties.

Other ties are counted against a difference: a pair of equal values inside and outside adds 1/2 to
|W| at most, whichever way the tie is broken, and the p-value is that of |W| less 1/2 for each such
pair. The p-value of ties broken at random is exact, and this one is not below it.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Array = NDArray[np.floating]
Counts = NDArray[np.integer]
Mask = NDArray[np.bool_]


def exact_p_values(excess: Counts, beyond: Counts, sizes: Counts, n: int, wanted: Mask) -> Array:
    """Return P(|2 W| >= excess), (K, p), where it is wanted; nan elsewhere.

    excess (K, p): |2 W|, less 1 for each pair of `tied_pairs`; beyond (p,): e; sizes (K,): m, of
    the cluster or of all others; wanted (K, p).
    """
    p_values = np.full(excess.shape, np.nan)
    # The most members, of any cluster wanted, among so many samples or more beyond the lowest.
    most = np.zeros(n + 1, dtype=int)
    np.maximum.at(most, beyond, np.where(wanted, sizes[:, None], 0).max(axis=0))
    most = np.maximum.accumulate(most[::-1])[::-1]
    order = np.argsort(beyond, kind="stable")
    ends = np.searchsorted(beyond[order], np.arange(n + 2))
    for e, tails in _tails(most[: int(beyond.max()) + 1]):
        at = order[ends[e] : ends[e + 1]]
        for k in np.flatnonzero(wanted[:, at].any(axis=1)):
            places = at[wanted[k, at]]
            p_values[k, places] = _two_sided(excess[k, places], n, int(sizes[k]), e, tails)
    return p_values


def _tails(most: Counts) -> Iterator[tuple[int, list[Array]]]:
    """Yield e and P(u < x | e, j), an array over x from 0 for each j up to most[e]; e from 0 up."""
    f = [np.ones(1)]
    yield 0, [np.array([0.0, 1.0])]
    for e in range(1, len(most)):
        found = []
        for j in range(min(e, int(most[e])) + 1):
            of_j = np.zeros(j * (e - j) + 1)
            if j < e:
                of_j[: j * (e - 1 - j) + 1] = (e - j) / e * f[j]
            if j > 0:
                of_j[e - j :] += j / e * f[j - 1]
            found.append(of_j)
        f = found
        yield e, [np.concatenate([[0.0], np.cumsum(of_j)]) for of_j in f]


def _two_sided(least: Counts, n: int, m: int, e: int, tails: list[Array]) -> Array:
    """Return P(|2 W| >= least) for clusters of m of n samples, e of them beyond the lowest."""
    z = n - e
    total = np.zeros(len(least))
    counts = range(max(0, m - z), min(m, e) + 1)
    for j, chance in zip(counts, stats.hypergeom.pmf(counts, n, e, m).tolist(), strict=True):
        shift = (m - j) * (z + 1) + 2 * j * z + j * (j + 1) - m * (n + 1)
        below = (-least - shift) // 2 + 1
        above = j * (e - j) + (shift - least) // 2 + 1  # u is symmetric
        total += chance * (tails[j].take(below, mode="clip") + tails[j].take(above, mode="clip"))
    return np.where(least <= 0, 1.0, np.minimum(total, 1.0))


def tied_pairs(ranks: Array, members: Mask) -> Counts:
    """Return the number of pairs of equal values inside and outside a cluster, (K, p).

    ranks (n, p): less (n + 1) / 2; members (K, n). Pairs of the lowest value are left out.
    """
    n, p = ranks.shape
    # Twice a mean rank is a whole number, the same for tied values alone.
    level = np.rint(2 * (ranks + (n - 1) / 2)).astype(int)
    level[ranks == ranks.min(axis=0)] = 2 * n - 1
    flat = level + 2 * n * np.arange(p)
    shape = (p, 2 * n)
    every = np.bincount(flat.ravel(), minlength=2 * n * p).reshape(shape)[:, :-1]
    pairs = np.zeros((len(members), p), dtype=int)
    if every.max(initial=0) <= 1:
        return pairs
    for k, inside in enumerate(members):
        own = np.bincount(flat[inside].ravel(), minlength=2 * n * p).reshape(shape)[:, :-1]
        pairs[k] = (own * (every - own)).sum(axis=1)
    return pairs
