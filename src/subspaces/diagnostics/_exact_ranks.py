"""The exact distribution of a sum of ranks, if the lowest value may be shared by many samples.

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
from scipy import stats

from subspaces._types import Array, Counts, Mask

# Above this many samples with more than the lowest value, u / j (e - j) is taken to have the
# distribution for this many. For 4000 samples, p-values down to 1e-5 are then at most 1.2 times too
# large, and none is too small.
MOST_ABOVE = 1000
# Compute the distribution up to this many members with more than the lowest value. If 16 are
# expected, more have a probability of 1e-17 and count as the most extreme.
MOST_INSIDE = 64


def exact_p_values(excess: Counts, above: Counts, sizes: Counts, n: Counts, wanted: Mask) -> Array:
    """Return P(|2 W| >= excess), (K, p), where it is wanted; nan elsewhere.

    excess (K, p): |2 W|, less 1 for each pair of `tied_pairs`; above (p,): e; sizes (K, p): m, of
    the cluster or of all others; n (p,): the samples that have the variable; wanted (K, p).
    """
    p_values = np.full(excess.shape, np.nan)
    # The most members of any requested cluster among at least this many samples with more than the
    # lowest value.
    largest = int(n.max())
    most = np.zeros(largest + 1, dtype=int)
    np.maximum.at(most, above, np.where(wanted, sizes, 0).max(axis=0))
    most = np.minimum(np.maximum.accumulate(most[::-1])[::-1], MOST_INSIDE)
    last = min(int(above.max()), MOST_ABOVE)
    order = np.argsort(above, kind="stable")
    ends = np.searchsorted(above[order], np.arange(largest + 2))
    for computed, f in enumerate(_distributions(most[: last + 1])):
        tails = None
        for e in range(computed, largest + 1) if computed == MOST_ABOVE else (computed,):
            at = order[ends[e] : ends[e + 1]]
            for k in np.flatnonzero(wanted[:, at].any(axis=1)):
                tails = tails or [np.concatenate([[0.0], np.cumsum(of_j)]) for of_j in f]
                own = at[wanted[k, at]]
                for n_each, m in sorted(set(zip(n[own], sizes[k, own], strict=True))):
                    places = own[(n[own] == n_each) & (sizes[k, own] == m)]
                    p_values[k, places] = _two_sided(excess[k, places], n_each, m, e, tails)
    return p_values


def _distributions(most: Counts) -> Iterator[list[Array]]:
    """Yield f for e = 0, 1, ...: an array of f_{e,j}(u) over u for each j up to most[e]."""
    f: list[Array] = [np.ones(1)]
    yield f
    for e in range(1, len(most)):
        found: list[Array] = []
        for j in range(min(e, int(most[e])) + 1):
            of_j = np.zeros(j * (e - j) + 1)
            if j < e:
                of_j[: j * (e - 1 - j) + 1] = (e - j) / e * f[j]
            if j > 0:
                of_j[e - j :] += j / e * f[j - 1]
            found.append(of_j)
        f = found
        yield f


def _two_sided(least: Counts, n: int, m: int, e: int, tails: list[Array]) -> Array:
    """Return P(|2 W| >= least) for clusters of m of n samples, e of them above the lowest.

    tails: P(u < x), an array over x for each j.
    """
    z = n - e
    last = min(m, e, len(tails) - 1)
    counts = range(max(0, m - z), last + 1)
    total = np.full(len(least), stats.hypergeom.sf(last, n, e, m))
    for j, chance in zip(counts, stats.hypergeom.pmf(counts, n, e, m), strict=True):
        shift = (m - j) * (z + 1) + 2 * j * z + j * (j + 1) - m * (n + 1)
        low = (-least - shift) // 2 + 1
        high = j * (e - j) + (shift - least) // 2 + 1  # u is symmetric
        total += chance * (_below(low, j * (e - j), tails[j]) + _below(high, j * (e - j), tails[j]))
    return np.where(least <= 0, 1.0, np.minimum(total, 1.0))


def _below(x: Counts, largest: int, tail: Array) -> Array:
    """Return P(u < x) for u from 0 to largest; tail: the same at its own scale."""
    if len(tail) == largest + 2:
        return tail.take(x, mode="clip")
    places = (x - 0.5) * (len(tail) - 1) / (largest + 1) + 0.5
    whole = np.floor(places).astype(int)
    first, second = tail.take(whole, mode="clip"), tail.take(whole + 1, mode="clip")
    return np.where(x > 0, first + (places - whole) * (second - first), 0.0)


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
