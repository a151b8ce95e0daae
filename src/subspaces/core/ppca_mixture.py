"""A mixture of probabilistic PCA with one noise variance, by EM.

Cluster k has covariance ``V_k (L_k - sigma^2) V_k^T + sigma^2 I``: variances L_k along R_k axes and
sigma^2, the same for all clusters, elsewhere [Tipping & Bishop 1999, with the noise shared]. The M
step is the eigendecomposition of each cluster's weighted scatter matrix.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.special import logsumexp, softmax

Array = NDArray[np.floating]
Labels = NDArray[np.intp]

NOISE_FLOOR = 1e-10
SETTLED = 1e-7


@dataclass(frozen=True)
class Mixture:
    """Responsibilities (n, K) and the log-likelihood that belongs to them."""

    responsibilities: Array
    log_likelihood: float

    @property
    def labels(self) -> Labels:
        """The likeliest cluster of each row."""
        return np.argmax(self.responsibilities, axis=1)


def refine_labels(
    matrix: Array, starts: Sequence[Labels], dimensions: Sequence[int], affine: bool
) -> Labels:
    """EM from several partitions, briefly; the three best to the end; labels of the likeliest."""
    first = [np.eye(len(dimensions))[labels] for labels in starts]
    brief = [fit_mixture(matrix, weights, dimensions, affine, 10) for weights in first]
    brief.sort(key=lambda mixture: -mixture.log_likelihood)
    finished = [
        fit_mixture(matrix, mixture.responsibilities, dimensions, affine, 300)
        for mixture in brief[:3]
    ]
    return max(finished, key=lambda mixture: mixture.log_likelihood).labels


def fit_mixture(
    matrix: Array, responsibilities: Array, dimensions: Sequence[int], affine: bool, max_iter: int
) -> Mixture:
    """EM from given responsibilities."""
    floor = NOISE_FLOOR * float(np.mean(matrix**2))
    mixture = Mixture(responsibilities, -np.inf)
    for _ in range(max_iter):
        before = mixture.log_likelihood
        mixture = _step(matrix, mixture.responsibilities, dimensions, affine, floor)
        if mixture.log_likelihood - before <= SETTLED * abs(mixture.log_likelihood):
            break
    return mixture


def _step(
    matrix: Array, responsibilities: Array, dimensions: Sequence[int], affine: bool, floor: float
) -> Mixture:
    """One M step and the E step after it."""
    p = matrix.shape[1]
    weights = np.maximum(responsibilities.sum(axis=0), 1e-10)
    fits, energy = [], 0.0
    for k, dimension in enumerate(dimensions):
        share = responsibilities[:, k] / weights[k]
        centre = share @ matrix if affine else np.zeros(p)
        centred = matrix - centre
        values, vectors = linalg.eigh((centred.T * share) @ centred, check_finite=False)
        values, vectors = values[::-1][:dimension], vectors[:, ::-1][:, :dimension]
        total = float(share @ np.einsum("ij,ij->i", centred, centred))
        energy += weights[k] * max(total - float(values.sum()), 0.0)
        fits.append((centred, values, vectors))
    freedom = sum(w * (p - r) for w, r in zip(weights, dimensions, strict=True))
    noise = max(energy / max(freedom, 1e-10), floor)
    log_density = np.column_stack([_log_density(*fit, noise) for fit in fits])
    joint = log_density + np.log(weights / len(matrix))
    return Mixture(softmax(joint, axis=1), float(logsumexp(joint, axis=1).sum()))


def _log_density(centred: Array, variances: Array, basis: Array, noise: float) -> Array:
    """Log density of centred rows, without the constant."""
    variances = np.maximum(variances, noise)
    scores = centred @ basis
    outside = np.maximum(np.einsum("ij,ij->i", centred, centred) - np.sum(scores**2, axis=1), 0.0)
    distance = outside / noise + np.sum(scores**2 / variances, axis=1)
    free = centred.shape[1] - len(variances)
    return -0.5 * (distance + free * np.log(noise) + np.log(variances).sum())
