"""A mixture of common factor analysers, Gaussian or t: its parameters, densities and scores.

    y ~ sum_i pi_i t_p(A xi_i, A Omega_i A^T + D, nu_i)

with loadings A and diagonal noise D common to all components; nu = inf is the Gaussian mixture
[Baek, McLachlan & Flack 2010; Baek & McLachlan 2011]. A is free up to a change of coordinates of
the factors; here it is kept so that ``A^T D^-1 A = I``. Woodbury's identity and the determinant
lemma then leave nothing but the q factor coordinates ``u = A^T D^-1 y`` and the energy off them:

    (y - A xi)^T Sigma^-1 (y - A xi) = |D^-1/2 (y - A u)|^2 + (u - xi)^T (I + Omega)^-1 (u - xi)
    log |Sigma| = sum log D + log |I + Omega|

`factor_mixture_em` fits it.

==========  ===========  ==========  ===============================================
symbol      name         shape       meaning
==========  ===========  ==========  ===============================================
y_j         rows         (n, p)      samples
pi          weights      (K,)        shares of the components
A           loadings     (p, q)      common to all
D           noise        (p,)        variances of the noise, common to all
xi_i        means        (K, q)      of the factors
Omega_i     roots        (K, q, q)   covariance of the factors, root @ root.T
nu_i        df           (K,)        degrees of freedom; inf for a Gaussian
u_j         factors      (n, q)      A^T D^-1 y
w           tails        (n, K)      (nu + p) / (nu + squared distance); 1 for a Gaussian
==========  ===========  ==========  ===============================================
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from subspaces._types import Array, Indices
from subspaces.core import em
from subspaces.rivals.student import log_t
from subspaces.runtime.serialise import serialisable

# Variables at a time when computing the residuals of all rows.
BLOCK = 256


@serialisable
@dataclass(frozen=True)
class FactorMixture:
    """The parameters of the mixture; see the notation table."""

    weights: Array
    loadings: Array
    noise: Array
    means: Array
    roots: Array
    df: Array

    @property
    def covariances(self) -> Array:
        """Covariances Omega of the factors, (K, q, q)."""
        return self.roots @ self.roots.transpose(0, 2, 1)


@dataclass(frozen=True)
class Reduced:
    """All that densities need of the rows: factors (n, q), squared distances off A's span (n,)."""

    factors: Array
    outside: Array


def reduce(model: FactorMixture, rows: Array) -> Reduced:
    """Return the factors ``u = A^T D^-1 y`` and ``|D^-1/2 (y - A u)|^2`` of the rows.

    The second is a sum of squares, not a difference that cancels.
    """
    factors = rows @ (model.loadings / model.noise[:, None])
    outside = np.zeros(len(rows))
    for block in variable_blocks(rows.shape[1]):
        residual = rows[:, block] - factors @ model.loadings[block].T
        outside += residual**2 @ (1.0 / model.noise[block])
    return Reduced(factors, outside)


def squared_distances(model: FactorMixture, reduced: Reduced) -> Array:
    """Return the squared Mahalanobis distances of the rows from the components, (n, K)."""
    vectors, values = _axes(model)
    along = (reduced.factors[:, None] - model.means).transpose(1, 0, 2) @ vectors
    return reduced.outside[:, None] + np.einsum("kjq,kq->jk", along**2, 1.0 / (1.0 + values))


def log_joint(model: FactorMixture, rows: Array) -> Array:
    """Return ``log pi_i + log t_p(y; A xi_i, A Omega_i A^T + D, nu_i)``, (n, K)."""
    return log_joint_at(model, squared_distances(model, reduce(model, rows)))


def log_joint_at(model: FactorMixture, distances: Array) -> Array:
    """Return the log joint densities (n, K) of rows at these squared distances (n, K)."""
    p = len(model.noise)
    log_det = np.log(model.noise).sum() + np.log1p(_axes(model)[1]).sum(axis=1)
    columns = [log_t(distance, p, df) for distance, df in zip(distances.T, model.df, strict=True)]
    return np.column_stack(columns) - 0.5 * log_det + np.log(model.weights)


def posterior(model: FactorMixture, reduced: Reduced) -> tuple[Array, Array]:
    """Return means m (n, K, q) of the factors given row and component, and roots of V, (K, q, q).

    ``V = (I + Omega^-1)^-1 = root^T root`` and ``m = xi + V (u - xi)``.
    """
    vectors, values = _axes(model)
    spreads = vectors.transpose(0, 2, 1) * np.sqrt(values / (1.0 + values))[:, :, None]
    offsets = (reduced.factors[:, None] - model.means).transpose(1, 0, 2)
    within = offsets @ spreads.transpose(0, 2, 1) @ spreads
    return model.means + within.transpose(1, 0, 2), spreads


def factor_scores(model: FactorMixture, rows: Array) -> Array:
    """Return the mean of the factors given the row, over all components, (n, q)."""
    reduced = reduce(model, rows)
    shares = em.responsibilities(log_joint_at(model, squared_distances(model, reduced)))
    return np.einsum("jk,jkq->jq", shares, posterior(model, reduced)[0])


def normalised(model: FactorMixture) -> FactorMixture:
    """Return the mixture in the coordinates in which ``A^T D^-1 A = I``."""
    return _with_orthonormal(model, np.sqrt(model.noise)[:, None])


def orthonormal(model: FactorMixture) -> FactorMixture:
    """Return the mixture with ``A^T A = I``, for reading; other functions need `normalised`."""
    return _with_orthonormal(model, np.ones((len(model.noise), 1)))


def _with_orthonormal(model: FactorMixture, scale: Array) -> FactorMixture:
    """Return the mixture in the coordinates in which ``A / scale`` has orthonormal columns."""
    frame, change = linalg.qr(model.loadings / scale, mode="economic", check_finite=False)
    means, roots = model.means @ change.T, change @ model.roots
    return replace(model, loadings=frame * scale, means=means, roots=roots)


def reordered(model: FactorMixture, order: Indices) -> FactorMixture:
    """Return the mixture with its components in another order."""
    parts = {name: getattr(model, name)[order] for name in ("weights", "means", "roots", "df")}
    return replace(model, **parts)


def n_parameters(n_clusters: int, n_factors: int, n_features: int) -> int:
    """Return the number of free parameters, without the degrees of freedom.

    Those of the weights, D, A up to a change of coordinates, xi and Omega.
    """
    within = n_factors + n_factors * (n_factors + 1) // 2
    return n_clusters - 1 + n_features + n_factors * (n_features - n_factors) + n_clusters * within


def variable_blocks(n_features: int) -> Iterator[slice]:
    """Yield slices of 256 variables each, which cover all variables."""
    return (slice(start, start + BLOCK) for start in range(0, n_features, BLOCK))


def _axes(model: FactorMixture) -> tuple[Array, Array]:
    """Return the eigenvectors (K, q, q) and eigenvalues (K, q) of Omega."""
    vectors, singular, _ = np.linalg.svd(model.roots)
    return vectors, singular**2
