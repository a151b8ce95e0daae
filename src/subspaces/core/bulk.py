"""How unusual a sample is among the others of its cluster: p-values from the bulk of the residuals.

Ranks of n samples among themselves are 1/n ... 1 whatever the data are, so they name no outlier.
The bulk of the squared residuals can, continued by a shape. With eps^2_ik that of sample i off
cluster k, and off its own cluster that of the sample left out,

    u_i = min_k eps^2_ik / median_k,    v_i = u_i^(1/3),    p_i = P(t > (v_i - m) / s).

The cube root of a scaled chi-square is nearly normal [Wilson & Hilferty 1931]. Over the samples in
clusters, m is the median of v, and its spread s is the largest of

- m less the quantile of a normal deviate of -1, and
- the root mean square of v - m, if others were set aside as outliers, or if none was,
  two thirds of m less the quantile of a normal deviate of -1.5.

t has max(n/2 - 1, 3) degrees of freedom, n samples in clusters. If only the share c of smallest
residuals was kept, quantiles of all samples are those of the kept ones at levels 1/c times as high.
Samples whose p is small are found by the procedure of Benjamini and Hochberg [1995].

=========  =============  ========  ============================================================
symbol     name           shape     meaning
=========  =============  ========  ============================================================
eps^2      squares        (n, K)    squared residuals; infinite off other clusters for a member
median_k   medians        (K,)      of the left-out residuals of the members
u          ratios         (n,)      squared residual over the median of the cluster it suits best
m, s       middle,        numbers   of the cube roots of the members
           spread
=========  =============  ========  ============================================================
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy import stats

from subspaces._types import Array, Codes, Mask
from subspaces.core.leave_one_out import left_out
from subspaces.runtime.serialise import serialisable
from subspaces.subspace import Subspace, dimensions_of, squared_residuals

# Shares of a normal distribution below -1 and -1.5 standard deviations.
ONE_BELOW, FURTHER, FURTHER_BELOW = 0.159, 1.5, 0.067
# The fewest degrees of freedom of the tail, for bulks of few samples.
LEAST_FREEDOM = 3.0
# Squared residuals below this share of the mean square of a sample are rounding errors, far above
# the 1e-30 or so that they have.
ROUNDING = 1e-24
# A spread of cube roots below this is none: the residuals are all rounding errors.
LEAST_SPREAD = 1e-6


@serialisable
@dataclass(frozen=True)
class Bulk:
    """The residuals of the samples in clusters, and which p-values are those of outliers.

    floor: squared residuals below it are rounding errors; threshold: the largest p-value of an
    outlier. The rest is named in the module.
    """

    medians: Annotated[Array, "K"]
    floor: float
    middle: float
    spread: float
    freedom: float
    threshold: float

    def ratios(self, squares: Array) -> Array:
        """Return u, (n,), of squared residuals (n, K)."""
        return (np.maximum(squares, self.floor) / self.medians).min(axis=1)

    def p_values(self, squares: Array) -> Array:
        """Return p, (n,), of squared residuals (n, K); nan if a sample has none."""
        deviates = (np.cbrt(self.ratios(squares)) - self.middle) / self.spread
        return stats.t.sf(deviates, self.freedom)


def squares_of(rows: Array, labels: Codes, subspaces: Sequence[Subspace], *, affine: bool) -> Array:
    """Return the squared residuals of the rows (n, p) off each cluster, (n, K).

    labels (n,): -1 for an outlier. A member is left out of its own cluster, and infinitely far from
    all others, so that the least is that of its own.
    """
    found = squared_residuals(rows, subspaces)
    widths = dimensions_of(subspaces).tolist()
    for k, width in enumerate(widths):
        own = labels == k
        inside = found[own, k]
        found[own] = np.inf
        errors = left_out(rows[own], width, affine=affine).squared_error if own.any() else inside
        found[own, k] = np.where(np.isfinite(errors), errors, inside)
    return found


def bulk_of(
    squares: Array, labels: Codes, level: float, scale: float, share: float = 1.0
) -> tuple[Bulk, Array]:
    """Return the `Bulk` of the samples in clusters, and the p-values (n,) of all.

    squares (n, K): as `squares_of` returns them; level: false discovery rate; scale: mean square of
    a sample; share: if only this share was kept, that of the smallest residuals.
    """
    kept, floor = labels >= 0, ROUNDING * scale
    medians = np.array([_median(squares[labels == k, k], share) for k in range(squares.shape[1])])
    pooled = _median(squares[kept].min(axis=1), share)
    medians = np.maximum(np.where(np.isnan(medians), pooled, medians), floor)
    roots = np.cbrt((np.maximum(squares[kept], floor) / medians).min(axis=1))
    middle, lower, low = np.quantile(roots, np.array([0.5, ONE_BELOW, FURTHER_BELOW]) / share)
    if share == 1.0 and not kept.all():
        wide = np.sqrt(np.mean((roots - middle) ** 2))
    else:
        wide = (middle - low) / FURTHER
    spread = max(middle - lower, wide, LEAST_SPREAD)
    freedom = max(np.count_nonzero(kept) / 2.0 - 1.0, LEAST_FREEDOM)
    bulk = Bulk(medians, floor, float(middle), float(spread), float(freedom), level / len(labels))
    return bulk, bulk.p_values(squares)


def _median(values: Array, share: float) -> float:
    return float(np.quantile(values, 0.5 / share)) if len(values) else np.nan


def flagged(p_values: Array, level: float, most: int) -> Mask:
    """Return which samples (n,) are outliers at a false discovery rate, at most ``most``.

    The largest i with ``p_(i) <= level i / n`` says how many p-values, the smallest, are rejected.
    """
    order = np.argsort(p_values, kind="stable")
    n = len(p_values)
    below = np.flatnonzero(p_values[order] <= level * np.arange(1, n + 1) / n)
    found = np.zeros(n, dtype=bool)
    found[order[: min(int(below[-1]) + 1 if len(below) else 0, most)]] = True
    return found
