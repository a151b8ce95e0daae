"""A mixture of common factor analysers, Gaussian or t, by EM.

    y ~ sum_i pi_i t_p(A xi_i, A Omega_i A^T + D, nu_i)

with loadings A and diagonal noise D common to all components; nu = inf is the Gaussian mixture
[Baek, McLachlan & Flack 2010; Baek & McLachlan 2011]. A is free up to a change of coordinates of
the factors; here it is kept so that ``A^T D^-1 A = I``. Woodbury's identity and the determinant
lemma then leave nothing but the q factor coordinates ``u = A^T D^-1 y`` and the energy off them:

    (y - A xi)^T Sigma^-1 (y - A xi) = |D^-1/2 (y - A u)|^2 + (u - xi)^T (I + Omega)^-1 (u - xi)
    log |Sigma| = sum log D + log |I + Omega|

A step has two cycles, each of which raises the likelihood [AECM, Meng & van Dyk 1997]. First pi,
xi, Omega and nu for given A and D: xi and S are the weighted mean and scatter of u, and the
likeliest Omega is ``S - I`` with its negative eigenvalues set to 0. Then A and D, with the factors
as missing data. No entry of D is below 1e-10 of its variable's mean square.

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
from numpy.typing import NDArray
from scipy import linalg

from subspaces.core import em
from subspaces.core.student import log_t, tails, update_df

Array = NDArray[np.floating]

NOISE_FLOOR = 1e-10
# Rows of weight that an empty component counts as, so that its share has a logarithm.
NOTHING = 1e-10
# Variables taken at a time where residuals of all rows are formed.
BLOCK = 256
# Growth of the stride, its limit, and the largest rise of log D at once.
GROWTH, MOST_STRIDE, MOST_RISE = 1.2, 100.0, 10.0


@dataclass(frozen=True)
class FactorMixture:
    """The parameters; see the notation table."""

    weights: Array
    loadings: Array
    noise: Array
    means: Array
    roots: Array
    df: Array

    @property
    def covariances(self) -> Array:
        """Omega, (K, q, q)."""
        return self.roots @ self.roots.transpose(0, 2, 1)


@dataclass(frozen=True)
class Reduced:
    """All that a model sees of the rows: factors (n, q) and the squared distance off them (n,)."""

    factors: Array
    outside: Array


@dataclass(frozen=True)
class State:
    """A model, the rows as it sees them, and their distances and log joint densities, (n, K).

    stride: how many times the next EM step of A and D is to be taken.
    """

    model: FactorMixture
    reduced: Reduced
    distances: Array
    log_joint: Array
    stride: float = 1.0

    @property
    def alive(self) -> bool:
        """Whether every component has the weight of a row or more."""
        return bool(np.all(self.model.weights * len(self.log_joint) >= 1.0))


def first_state(rows: Array, responsibilities: Array, loadings: Array, df: float) -> State:
    """From a partition and loadings with orthonormal columns; the noise is what they leave out."""
    q, n_components = loadings.shape[1], responsibilities.shape[1]
    noise = _weighted_square(rows, rows @ loadings, loadings, np.ones(len(rows))) / len(rows)
    model = normalised(
        FactorMixture(
            np.full(n_components, 1.0 / n_components),
            loadings,
            np.maximum(noise, floors(rows)),
            np.zeros((n_components, q)),
            np.zeros((n_components, q, q)),
            np.full(n_components, df),
        )
    )
    reduced = reduce(model, rows)
    model = update_factors(model, reduced, responsibilities, responsibilities)
    return observe(model, reduced)


def step(rows: Array, floor: Array, state: State, *, estimate_df: bool) -> State:
    """Both cycles; the reduced rows serve the E steps of both."""
    return loading_cycle(rows, floor, factor_cycle(state, estimate_df))


def factor_cycle(state: State, estimate_df: bool) -> State:
    """E step; nu with the components alone as missing data; then pi, xi and Omega."""
    model, shares = state.model, em.responsibilities(state.log_joint)
    if estimate_df:
        df = update_df(state.distances, len(model.noise), shares, model.df)
        model = replace(model, df=df)
    tail_weights = shares * tails(state.distances, len(model.noise), model.df)
    reached = observe(update_factors(model, state.reduced, shares, tail_weights), state.reduced)
    return replace(reached, stride=state.stride)


def loading_cycle(rows: Array, floor: Array, state: State) -> State:
    """E step; A and D, several times the step where that raises the likelihood too.

    EM creeps where the noise is small. The stride grows while it pays, and falls back to the plain
    step, which never fails [Salakhutdinov & Roweis 2003].
    """
    plain = update_loadings(rows, floor, state)
    if state.stride > 1.0:
        bold = normalised(_stretched(state.model, plain, state.stride, floor))
        reached = observe(bold, reduce(bold, rows))
        if em.log_likelihood(reached.log_joint) >= em.log_likelihood(state.log_joint):
            return replace(reached, stride=min(GROWTH * state.stride, MOST_STRIDE))
    model = normalised(plain)
    return replace(observe(model, reduce(model, rows)), stride=GROWTH)


def _stretched(
    before: FactorMixture, after: FactorMixture, stride: float, floor: Array
) -> FactorMixture:
    """A and log D moved so many times as far."""
    log_noise = np.log(before.noise) + stride * np.log(after.noise / before.noise)
    noise = np.exp(np.clip(log_noise, np.log(floor), np.log(before.noise) + MOST_RISE))
    loadings = before.loadings + stride * (after.loadings - before.loadings)
    return replace(after, loadings=loadings, noise=noise)


def observe(model: FactorMixture, reduced: Reduced) -> State:
    """Distances and densities of reduced rows under a model."""
    distances = squared_distances(model, reduced)
    return State(model, reduced, distances, _log_joint(model, distances))


def reduce(model: FactorMixture, rows: Array) -> Reduced:
    """``u = A^T D^-1 y`` and ``|D^-1/2 (y - A u)|^2``: a sum, not a difference that cancels."""
    factors = rows @ (model.loadings / model.noise[:, None])
    outside = np.zeros(len(rows))
    for block in _blocks(rows.shape[1]):
        residual = rows[:, block] - factors @ model.loadings[block].T
        outside += residual**2 @ (1.0 / model.noise[block])
    return Reduced(factors, outside)


def squared_distances(model: FactorMixture, reduced: Reduced) -> Array:
    """Mahalanobis distances of the rows from the components, squared, (n, K)."""
    vectors, values = _axes(model)
    along = (reduced.factors[:, None] - model.means).transpose(1, 0, 2) @ vectors
    return reduced.outside[:, None] + np.einsum("kjq,kq->jk", along**2, 1.0 / (1.0 + values))


def _axes(model: FactorMixture) -> tuple[Array, Array]:
    """Eigenvectors (K, q, q) and eigenvalues (K, q) of Omega."""
    vectors, singular, _ = np.linalg.svd(model.roots)
    return vectors, singular**2


def log_joint(model: FactorMixture, rows: Array) -> Array:
    """``log pi_i + log t_p(y; A xi_i, A Omega_i A^T + D, nu_i)``, (n, K)."""
    return _log_joint(model, squared_distances(model, reduce(model, rows)))


def _log_joint(model: FactorMixture, distances: Array) -> Array:
    p = len(model.noise)
    log_det = np.log(model.noise).sum() + np.log1p(_axes(model)[1]).sum(axis=1)
    columns = [log_t(distance, p, df) for distance, df in zip(distances.T, model.df, strict=True)]
    return np.column_stack(columns) - 0.5 * log_det + np.log(model.weights)


def update_factors(
    model: FactorMixture, reduced: Reduced, shares: Array, tail_weights: Array
) -> FactorMixture:
    """pi, xi and Omega from responsibilities and responsibilities times tails, both (n, K)."""
    sizes = np.maximum(shares.sum(axis=0), NOTHING)
    means, roots = np.empty_like(model.means), np.zeros_like(model.roots)
    for k, (size, weight) in enumerate(zip(sizes, tail_weights.T, strict=True)):
        means[k] = weight @ reduced.factors / max(weight.sum(), NOTHING)
        centred = (reduced.factors - means[k]) * np.sqrt(weight / size)[:, None]
        _, singular, axes = linalg.svd(centred, full_matrices=False, check_finite=False)
        roots[k, :, : len(axes)] = axes.T * np.sqrt(np.maximum(singular**2 - 1.0, 0.0))
    return replace(model, weights=sizes / len(shares), means=means, roots=roots)


def update_loadings(rows: Array, floor: Array, state: State) -> FactorMixture:
    """A and D, with the factors' moments given the rows.

    With m_ij the mean of the factors given row j and component i, c_ij = tau_ij w_ij, c_j its sum
    and m_j the mean of m_ij by c_ij: ``A = sum_j c_j y_j m_j^T (sum_j c_j m_j m_j^T + C)^-1`` and
    ``D = diag(sum_j c_j (y_j - A m_j)(y_j - A m_j)^T + A C A^T) / n``, where C collects what is not
    known of the factors, ``sum_ij c_ij (m_ij - m_j)(m_ij - m_j)^T + tau_ij V_i``.
    """
    model = state.model
    shares = em.responsibilities(state.log_joint)
    tail_weights = shares * tails(state.distances, len(model.noise), model.df)
    moments, spreads = posterior(model, state.reduced)
    total = tail_weights.sum(axis=1)
    mean = np.einsum("jk,jkq->jq", tail_weights, moments) / total[:, None]
    away = (moments - mean[:, None]) * np.sqrt(tail_weights)[:, :, None]
    q = mean.shape[1]
    unsure = spreads * np.sqrt(shares.sum(axis=0))[:, None, None]
    unknown = linalg.qr(np.vstack([away.reshape(-1, q), unsure.reshape(-1, q)]), mode="r")[0][:q]
    loadings = _regress(rows, mean, np.sqrt(total), unknown)
    noise = _weighted_square(rows, mean, loadings, total) + np.sum((loadings @ unknown.T) ** 2, 1)
    noise = np.maximum(noise / len(rows), floor)
    return replace(model, loadings=loadings, noise=noise)


def _regress(rows: Array, factors: Array, scale: Array, penalty: Array) -> Array:
    """A of least ``sum_j (scale_j |y_j - A m_j|)^2 + |A penalty^T|^2``, (p, q)."""
    stacked = np.vstack([factors * scale[:, None], penalty])
    left, singular, right = linalg.svd(stacked, full_matrices=False, check_finite=False)
    kept = singular > np.finfo(float).eps * singular[0]
    inverse = np.divide(1.0, singular, out=np.zeros_like(singular), where=kept)
    return (rows.T @ (left[: len(rows)] * scale[:, None])) @ (inverse[:, None] * right)


def posterior(model: FactorMixture, reduced: Reduced) -> tuple[Array, Array]:
    """Means (n, K, q) of the factors given row and component, and roots of V, (K, q, q).

    ``V = (I + Omega^-1)^-1 = root^T root`` and ``m = xi + V (u - xi)``.
    """
    vectors, values = _axes(model)
    spreads = vectors.transpose(0, 2, 1) * np.sqrt(values / (1.0 + values))[:, :, None]
    offsets = (reduced.factors[:, None] - model.means).transpose(1, 0, 2)
    within = offsets @ spreads.transpose(0, 2, 1) @ spreads
    return model.means + within.transpose(1, 0, 2), spreads


def factor_scores(model: FactorMixture, rows: Array) -> Array:
    """Mean of the factors given the row, over all components, (n, q)."""
    reduced = reduce(model, rows)
    shares = em.responsibilities(_log_joint(model, squared_distances(model, reduced)))
    return np.einsum("jk,jkq->jq", shares, posterior(model, reduced)[0])


def normalised(model: FactorMixture) -> FactorMixture:
    """The same mixture with ``A^T D^-1 A = I``."""
    scale = np.sqrt(model.noise)[:, None]
    frame, change = linalg.qr(model.loadings / scale, mode="economic", check_finite=False)
    return _in_coordinates(model, frame * scale, change)


def orthonormal(model: FactorMixture) -> FactorMixture:
    """The same mixture with ``A^T A = I``, for reading; the other functions want `normalised`."""
    frame, change = linalg.qr(model.loadings, mode="economic", check_finite=False)
    return _in_coordinates(model, frame, change)


def _in_coordinates(model: FactorMixture, loadings: Array, change: Array) -> FactorMixture:
    return replace(
        model,
        loadings=loadings,
        means=model.means @ change.T,
        roots=change @ model.roots,
    )


def reordered(model: FactorMixture, order: NDArray[np.intp]) -> FactorMixture:
    """The same mixture with its components in another order."""
    return replace(
        model,
        weights=model.weights[order],
        means=model.means[order],
        roots=model.roots[order],
        df=model.df[order],
    )


def floors(rows: Array) -> Array:
    """Least noise of each variable: a share of its mean square, or of a millionth of the mean."""
    squares = np.einsum("ij,ij->j", rows, rows) / len(rows)
    least = max(1e-6 * float(squares.mean()), np.finfo(float).tiny / NOISE_FLOOR)
    return NOISE_FLOOR * np.maximum(squares, least)


def n_parameters(n_clusters: int, n_factors: int, n_features: int) -> int:
    """Weights, D, A up to a change of coordinates, xi, Omega; without the degrees of freedom."""
    within = n_factors + n_factors * (n_factors + 1) // 2
    return n_clusters - 1 + n_features + n_factors * (n_features - n_factors) + n_clusters * within


def _weighted_square(rows: Array, factors: Array, loadings: Array, weights: Array) -> Array:
    """Sum over the rows of their weight times the squared residual of each variable, (p,)."""
    return np.concatenate(
        [
            weights @ (rows[:, block] - factors @ loadings[block].T) ** 2
            for block in _blocks(rows.shape[1])
        ]
    )


def _blocks(n_features: int) -> Iterator[slice]:
    return (slice(start, start + BLOCK) for start in range(0, n_features, BLOCK))
