"""How far the eigenvalues of pure noise reach, whose columns may have unequal variances.

Noise of N rows and P columns of variances ``d_j`` has a scatter matrix whose largest eigenvalue is
``N mu + N^(1/3) tau s``, where s has the Tracy-Widom distribution of order one. With
``x_j = d_j c/(1 - d_j c)``, and c the root in (0, 1/max d) of ``sum_j x_j^2 = N`` [El Karoui 2007],

    mu = (1 + sum_j x_j/N)/c,        tau = (1 + sum_j x_j^3/N)^(1/3)/c.

``mu(d)`` is the least value of ``1/c + sum_j d_j/(1 - d_j c)/N`` over c, so that its elasticities
are ``eps_j = d_j mu'_j/mu = d_j/(1 - d_j c)^2/(N mu)``; they sum to 1. The variances are estimated
from the same rows, each with a relative variance of 2/N: the edge moves with the eigenvalue that it
is compared with, and of the variance of s only the share ``1 - (mu N^(2/3)/tau)^2 v/var(s)``
remains, with ``v = 2/N sum_j eps_j^2``. For equal columns that is the second-order correction of
[Nadler 2011]; without it the level of small tables is far below the one that was asked for
(`benchmarks/components.py`).
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import optimize, special

from subspaces._types import Array

# The Tracy-Widom distribution of order one as a shifted gamma distribution [Chiani 2014].
SHAPE, SCALE, SHIFT = 46.446, 0.186054, -9.84801
TRACY_WIDOM_MEAN, TRACY_WIDOM_VARIANCE = SHAPE * SCALE + SHIFT, SHAPE * SCALE**2
# The correction leaves at least this share of the variance. It is of first order, and left too
# little if a few columns with large noise determine the edge.
LEAST_SHARE = 0.4
# Variances below this share of the largest are those of columns without noise.
SMALLEST_VARIANCE = 1e-12


@dataclass(frozen=True)
class NoiseEdge:
    """The largest eigenvalue that noise alone reaches.

    centre, width: ``N mu`` and ``N^(1/3) tau``; share: of the variance of s, what remains if the
    variances are estimated; variances (p,), n_rows, weight: the noise itself, N rows, each column
    counted ``weight`` times.
    """

    centre: float
    width: float
    share: float
    variances: Array
    n_rows: int
    weight: float

    def at(self, level: float) -> float:
        """Return the eigenvalue that noise stays below with probability ``level``."""
        beyond = tracy_widom_quantile(level) - TRACY_WIDOM_MEAN
        near = TRACY_WIDOM_MEAN + np.sqrt(self.share) * beyond
        return float(self.centre + self.width * near)

    def hidden_strength(self, level: float) -> float:
        """Return the squared length of the strongest component that stays below the edge.

        A component of length theta along random directions makes an eigenvalue ``N z`` with
        ``theta^-2 = c (c z - 1 + P/N)/P``, where ``z = 1/c + sum_j d_j/(1 - d_j c)/N`` [Benaych-
        Georges & Nadakuditi 2012].
        """
        d, n, p = self.variances, self.n_rows, self.weight * len(self.variances)
        z = max(self.at(level), self.centre) / n

        def excess(c: float) -> float:
            return 1.0 / c + self.weight * float(np.sum(d / (1.0 - d * c))) / n - z

        most = _critical(d, n, self.weight)
        c = most if excess(most) >= 0.0 else optimize.brentq(excess, 1e-9 * most, most)
        return float(p / (c * (c * z - 1.0 + p / n)))


@cache
def tracy_widom_quantile(level: float) -> float:
    """Return what s stays below with probability ``level``."""
    return float(SCALE * special.gammaincinv(SHAPE, level) + SHIFT)


def edge_of_noise(variances: Array, n_rows: int, weight: float = 1.0) -> NoiseEdge:
    """Return how far the eigenvalues of the scatter of such noise reach.

    variances (p,): of the columns; weight: how much each counts, (p - r)/p if r axes were taken
    out. For equal variances with the constants of [Ma 2012], which suit small tables.
    """
    d = np.maximum(variances, SMALLEST_VARIANCE * variances.max())
    n_columns = weight * len(d)
    if np.ptp(d) == 0.0:
        rows, columns = np.sqrt(n_rows - 0.5), np.sqrt(max(n_columns - 0.5, 0.5))
        centre = float(d[0]) * (rows + columns) ** 2
        width = float(d[0]) * (rows + columns) * (1.0 / rows + 1.0 / columns) ** (1 / 3)
        spread = 2.0 / (n_rows * n_columns)
    else:
        c = _critical(d, n_rows, weight)
        x = d * c / (1.0 - d * c)
        centre = (n_rows + weight * float(x.sum())) / c
        width = float(np.cbrt(n_rows + weight * np.sum(x**3))) / c
        elasticities = weight * d / (1.0 - d * c) ** 2 / centre
        spread = 2.0 / n_rows * float(np.sum(elasticities**2)) / weight
    share = 1.0 - (centre / width) ** 2 * spread / TRACY_WIDOM_VARIANCE
    return NoiseEdge(centre, width, max(share, LEAST_SHARE), d, n_rows, weight)


def _critical(d: Array, n_rows: int, weight: float) -> float:
    """Return c in (0, 1/max d) with ``weight sum_j (d_j c/(1 - d_j c))^2 = n_rows``."""
    top = 1.0 / float(d.max())
    if np.ptp(d) == 0.0:
        x = np.sqrt(n_rows / (weight * len(d)))
        return float(top * x / (1.0 + x))

    def excess(c: float) -> float:
        return weight * float(np.sum((d * c / (1.0 - d * c)) ** 2)) - n_rows

    return float(optimize.brentq(excess, 1e-12 * top, (1.0 - 1e-12) * top, xtol=1e-15 * top))
