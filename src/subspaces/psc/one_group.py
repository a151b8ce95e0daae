"""Whether samples are one group: a test whose p-value holds for clusters from any method.

Given the means and X'X, the left singular vectors of one Gaussian group are uniformly distributed,
whatever its covariance (Langsrud 2005). Tables drawn so are cut by K-means, and the p-value is the
share of those cuts, and of the clusters themselves, that separate as well as the clusters. A long
tail is cut more sharply than a Gaussian one, so each table is drawn a second time with scores as
skewed as those of the samples, and the larger of the two p-values counts.

With U of shape (n, a) the leading left singular vectors of the centred table, d their singular
values and Z = U diag(d), clusters separate as well as

    T(Z) = sum_k n_k |mean_k Z|^2,

and among B drawn tables Z* = U* diag(d), each cut into as many clusters, p = (1 + #{T(Z*) >= T(Z)})
/ (B + 1). K-means maximises T, so that p is valid for labels from any method. The columns of a
skewed U* have gamma distributions and the skewness g = sqrt(n) sum_i U_i^3 of those of U.
"""

import numpy as np
from scipy.sparse.linalg import svds
from scipy.special import ndtr
from scipy.stats import pearson3
from sklearn.cluster import KMeans

from subspaces import progress
from subspaces._types import Array, Codes
from subspaces.core.partition import Partition
from subspaces.starts.spectral import k_means_labels

# Starts of K-means on a drawn table of a few columns; more hardly find a better cut.
N_INIT = 5
# Bends of a drawn table. The third brings the skewness of 100 samples within 0.1 of the target.
BENDS = 3


def one_group_p_value(
    values: Array, codes: Codes, n_clusters: int, n_nulls: int, random: np.random.Generator
) -> float:
    """Return the p-value of the hypothesis that the samples (n, p) are one group.

    It is the share of tables of one group whose best cut separates as well as the clusters do: of
    Gaussian ones, or of ones as skewed as the samples if that is larger.
    """
    return max(null_p_values(values, codes, n_clusters, n_nulls, random))


def null_p_values(
    values: Array, codes: Codes, n_clusters: int, n_nulls: int, random: np.random.Generator
) -> tuple[float, float]:
    """Return the p-values of one Gaussian group, and of one group as skewed as the samples.

    Samples with the code -1 are left out.
    """
    if (codes < 0).any():
        values, codes = values[codes >= 0], codes[codes >= 0]
    left, singular = _leading_axes(values, n_clusters)
    found, skewness = separation(left * singular, codes), _skewness(left)
    as_good = [0, 0]
    for drawn in range(n_nulls):
        progress.tell(progress.Step("null", drawn, n_nulls, f"random table {drawn + 1}"))
        frame = drawn_frame(len(left), len(singular), random)
        seed = int(random.integers(2**31 - 1))
        for i, null in enumerate((frame * singular, _skewed(frame, skewness) * singular)):
            k_means = KMeans(n_clusters, n_init=N_INIT, random_state=seed)
            as_good[i] += separation(null, k_means_labels(null, k_means)) >= found
    gaussian, skewed = ((1 + count) / (n_nulls + 1) for count in as_good)
    return gaussian, skewed


def separation(scores: Array, codes: Codes) -> float:
    """T(Z) = sum_k n_k |mean_k Z|^2, the part of the sum of squares that lies between clusters."""
    clusters = Partition(codes, int(codes.max()) + 1)
    squares = np.square(clusters.indicator.T @ scores).sum(axis=1)
    return float((squares / np.maximum(clusters.sizes, 1)).sum())


def _leading_axes(values: Array, n_axes: int) -> tuple[Array, Array]:
    """Return U (n, a) and d (a,) of the centred table, along its leading axes."""
    centred = values - values.mean(axis=0)
    smaller = min(centred.shape)
    if n_axes < smaller and centred.any():
        start = np.random.default_rng(0).normal(size=smaller)
        left, singular, _ = svds(centred, k=n_axes, v0=start)
    else:
        left, singular, _ = np.linalg.svd(centred, full_matrices=False)
    return left, singular


def drawn_frame(n: int, width: int, random: np.random.Generator) -> Array:
    """Return orthonormal columns (n, width), uniformly distributed among those of mean 0."""
    return _orthonormal(random.normal(size=(n, width)))


def _skewed(frame: Array, skewness: Array) -> Array:
    """Return a drawn frame (n, a) whose columns are bent to gamma distributions of a skewness (a,).

    They are orthonormal and of mean 0 again. Few samples are less skewed than what they are drawn
    from, so the distributions follow the skewness that the columns come to have.
    """
    shares, drawn_from = ndtr(frame * np.sqrt(len(frame))), skewness
    for _ in range(BENDS):
        bent = _orthonormal(pearson3.ppf(shares, drawn_from))
        drawn_from = drawn_from + skewness - _skewness(bent)
    return bent


def _skewness(columns: Array) -> Array:
    """Return the skewness (a,) of columns (n, a) of mean 0 and length 1."""
    return np.sqrt(len(columns)) * np.sum(columns**3, axis=0)


def _orthonormal(columns: Array) -> Array:
    """Return columns (n, a) less their means, made orthonormal one after the other."""
    frame, triangle = np.linalg.qr(columns - columns.mean(axis=0))
    return frame * np.where(np.diag(triangle) < 0.0, -1.0, 1.0)
