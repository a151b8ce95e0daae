"""The multivariate t as a function of squared distance: density, weights, degrees of freedom.

A t variable is Gaussian with its covariance divided by a Gamma variable w of mean 1; nu = inf is
the Gaussian itself.
"""

import numpy as np
from scipy.optimize import brentq
from scipy.special import betaln, digamma, gammaln

from subspaces._types import Array

# Bounds and first value of the degrees of freedom. From 200 up a t is almost Gaussian.
LEAST_DF, MOST_DF, FIRST_DF = 1e-4, 200.0, 30.0
LOG_TWO_PI = float(np.log(2.0 * np.pi))


def log_t(distance: Array, p: int, df: float) -> Array:
    """Return the log density (n,) of a standard t in p dimensions at squared distances (n,).

    Gaussian for df = inf. ``Gamma((nu+p)/2) / Gamma(nu/2)`` comes from the beta function, whose
    logarithm stays exact for large nu.
    """
    if np.isinf(df):
        return -0.5 * (p * LOG_TWO_PI + distance)
    log_ratio = gammaln(0.5 * p) - betaln(0.5 * df, 0.5 * p)
    tail = 0.5 * (df + p) * np.log1p(distance / df)
    return log_ratio - 0.5 * p * np.log(df * np.pi) - tail


def tails(distances: Array, p: int, df: Array) -> Array:
    """Return the weight of each row under the t of each component, (n, K): small for outliers.

    ``(nu + p) / (nu + squared distance)``, the expected weight of the t as a mixture of Gaussians;
    distances (n, K): squared Mahalanobis distances; df (K,): the degrees of freedom nu.
    """
    return (1.0 + p / df) / (1.0 + distances / df)


def update_df(distances: Array, p: int, shares: Array, df: Array) -> Array:
    """Return for each component the nu of greatest ``sum_j tau_ij log t(y_j; nu)``, (K,).

    A component keeps its nu if no other is likelier. shares (n, K): tau. The weights w are
    integrated out [ECME, Liu & Rubin 1995], which takes a few steps; with w as missing data EM
    takes hundreds.
    """
    columns = zip(distances.T, shares.T, df, strict=True)
    return np.array([_likeliest(distance, p, share, before) for distance, share, before in columns])


def _likeliest(distance: Array, p: int, share: Array, before: float) -> float:
    def slope(df: float) -> float:
        heavier = (df + p) / df * distance / (df + distance) - np.log1p(distance / df)
        level = digamma(0.5 * (df + p)) - digamma(0.5 * df) - p / df
        return float(share @ heavier + share.sum() * level)

    if slope(MOST_DF) >= 0.0:
        found = MOST_DF
    elif slope(LEAST_DF) <= 0.0:
        found = LEAST_DF
    else:
        found = float(brentq(slope, LEAST_DF, MOST_DF, rtol=1e-8))
    rise = share @ (log_t(distance, p, found) - log_t(distance, p, before))
    return found if rise > 0.0 else before
