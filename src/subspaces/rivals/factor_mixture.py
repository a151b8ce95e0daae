"""A mixture of common factor analysers, Gaussian or t: its parameters, densities and scores.

    y ~ sum_i pi_i t_p(A xi_i, A Omega_i A^T + D, nu_i)

with loadings A and diagonal noise D common to all components; nu = inf is the Gaussian mixture
[Baek, McLachlan & Flack 2010; Baek & McLachlan 2011]. A is free up to a change of coordinates of
the factors; here it is kept so that ``A^T D^-1 A = I``. Woodbury's identity and the determinant
lemma then leave nothing but the q factor coordinates ``u = A^T D^-1 y`` and the energy off them:

    (y - A xi)^T Sigma^-1 (y - A xi) = |D^-1/2 (y - A u)|^2 + (u - xi)^T (I + Omega)^-1 (u - xi)
    log |Sigma| = sum log D + log |I + Omega|

EM fits it. A step has two cycles, each of which raises the likelihood [AECM, Meng & van Dyk 1997].
First pi, xi, Omega and nu for given A and D: xi and S are the weighted mean and scatter of u, and
the likeliest Omega is ``S - I`` with its negative eigenvalues set to 0. Then A and D, with the
factors as missing data. No entry of D is below 1e-10 of its variable's mean square.

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

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg
from scipy.optimize import brentq
from scipy.special import betaln, digamma, gammaln

from subspaces._types import Array, Indices
from subspaces.core import em
from subspaces.core.array import slices
from subspaces.runtime.serialise import serialisable

# Variables at a time when computing the residuals of all rows.
BLOCK = 256
# Least noise of a variable, as a share of its mean square.
NOISE_FLOOR = 1e-10
# Rows of weight that an empty component counts as, so that its share has a logarithm.
LEAST_WEIGHT = 1e-10
# Growth of the stride, its limit, and the largest rise of log D at once.
GROWTH, MOST_STRIDE, MOST_RISE = 1.2, 100.0, 10.0
# Bounds and first value of the degrees of freedom. From 200 up a t is almost Gaussian.
LEAST_DF, MOST_DF, FIRST_DF = 1e-4, 200.0, 30.0
LOG_TWO_PI = float(np.log(2.0 * np.pi))


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
    for block in slices(rows.shape[1], BLOCK):
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


def _axes(model: FactorMixture) -> tuple[Array, Array]:
    """Return the eigenvectors (K, q, q) and eigenvalues (K, q) of Omega."""
    vectors, singular, _ = np.linalg.svd(model.roots)
    return vectors, singular**2


# The multivariate t as a function of squared distance.


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


# EM.


@dataclass(frozen=True)
class State:
    """A model, the reduced rows, and their squared distances and log joint densities, (n, K).

    stride: the length of the next step of A and D, in EM steps.
    """

    model: FactorMixture
    reduced: Reduced
    distances: Array
    log_joint: Array
    stride: float = 1.0

    @property
    def alive(self) -> bool:
        """Whether every component has the weight of at least one row."""
        return bool(np.all(self.model.weights * len(self.log_joint) >= 1.0))


def first_state(rows: Array, responsibilities: Array, loadings: Array, df: float) -> State:
    """Return the state of responsibilities (n, K) and orthonormal loadings (p, q).

    What the loadings leave of the rows is taken for noise; df: of every component.
    """
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
    return observe(update_factors(model, reduced, responsibilities, responsibilities), reduced)


def step(rows: Array, floor: Array, state: State, *, estimate_df: bool) -> State:
    """Return the state after both cycles: first pi, xi, Omega and nu, then A and D.

    floor (p,): the least noise of each variable.
    """
    return loading_cycle(rows, floor, factor_cycle(state, estimate_df))


def factor_cycle(state: State, estimate_df: bool) -> State:
    """Return the state with new pi, xi and Omega, and new nu if ``estimate_df``; A and D stay."""
    model, shares = state.model, em.responsibilities(state.log_joint)
    if estimate_df:
        df = update_df(state.distances, len(model.noise), shares, model.df)
        model = replace(model, df=df)
    tail_weights = shares * tails(state.distances, len(model.noise), model.df)
    reached = observe(update_factors(model, state.reduced, shares, tail_weights), state.reduced)
    return replace(reached, stride=state.stride)


def loading_cycle(rows: Array, floor: Array, state: State) -> State:
    """Return the state after a step of A and D, up to 100 times as long as an EM step.

    EM is slow if the noise is small, so its step is extrapolated: multiplied by the stride,
    which grows by a fifth each time while the longer step does not lower the likelihood. If it
    does, the plain EM step is taken, which never lowers it, and the stride falls back to 1.2
    [Salakhutdinov & Roweis 2003].
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
    """Return the model after a step of A and log D that is ``stride`` times that to ``after``."""
    log_noise = np.log(before.noise) + stride * np.log(after.noise / before.noise)
    noise = np.exp(np.clip(log_noise, np.log(floor), np.log(before.noise) + MOST_RISE))
    loadings = before.loadings + stride * (after.loadings - before.loadings)
    return replace(after, loadings=loadings, noise=noise)


def observe(model: FactorMixture, reduced: Reduced) -> State:
    """Return the state of a model: the distances and densities (n, K) of the reduced rows."""
    distances = squared_distances(model, reduced)
    return State(model, reduced, distances, log_joint_at(model, distances))


def update_factors(
    model: FactorMixture, reduced: Reduced, shares: Array, tail_weights: Array
) -> FactorMixture:
    """Return the model with new pi, xi and Omega.

    shares (n, K): responsibilities; tail_weights (n, K): responsibilities times tails.
    """
    sizes = np.maximum(shares.sum(axis=0), LEAST_WEIGHT)
    means, roots = np.empty_like(model.means), np.zeros_like(model.roots)
    for k, (size, weight) in enumerate(zip(sizes, tail_weights.T, strict=True)):
        means[k] = weight @ reduced.factors / max(weight.sum(), LEAST_WEIGHT)
        centred = (reduced.factors - means[k]) * np.sqrt(weight / size)[:, None]
        _, singular, axes = linalg.svd(centred, full_matrices=False, check_finite=False)
        roots[k, :, : len(axes)] = axes.T * np.sqrt(np.maximum(singular**2 - 1.0, 0.0))
    return replace(model, weights=sizes / len(shares), means=means, roots=roots)


def update_loadings(rows: Array, floor: Array, state: State) -> FactorMixture:
    """Return the model with new A and D, from the moments of the factors given the rows.

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
    # C = unknown^T unknown; its root from a QR keeps digits that the product would lose.
    unknown = linalg.qr(np.vstack([away.reshape(-1, q), unsure.reshape(-1, q)]), mode="r")[0][:q]
    loadings = _regress(rows, mean, np.sqrt(total), unknown)
    noise = _weighted_square(rows, mean, loadings, total) + np.sum((loadings @ unknown.T) ** 2, 1)
    return replace(model, loadings=loadings, noise=np.maximum(noise / len(rows), floor))


def _regress(rows: Array, factors: Array, scale: Array, penalty: Array) -> Array:
    """Return the A (p, q) of least ``sum_j (scale_j |y_j - A m_j|)^2 + |A penalty^T|^2``."""
    stacked = np.vstack([factors * scale[:, None], penalty])
    left, singular, right = linalg.svd(stacked, full_matrices=False, check_finite=False)
    kept = singular > np.finfo(float).eps * singular[0]
    inverse = np.divide(1.0, singular, out=np.zeros_like(singular), where=kept)
    return (rows.T @ (left[: len(rows)] * scale[:, None])) @ (inverse[:, None] * right)


def _weighted_square(rows: Array, factors: Array, loadings: Array, weights: Array) -> Array:
    """Return the weighted sum over the rows of each variable's squared residual, (p,)."""
    blocks = slices(rows.shape[1], BLOCK)
    residuals = (rows[:, block] - factors @ loadings[block].T for block in blocks)
    return np.concatenate([weights @ residual**2 for residual in residuals])


def floors(rows: Array) -> Array:
    """Return the least noise of each variable, (p,): 1e-10 of its mean square.

    The mean square is taken to be at least a millionth of the mean over all variables.
    """
    squares = np.einsum("ij,ij->j", rows, rows) / len(rows)
    least = max(1e-6 * float(squares.mean()), np.finfo(float).tiny / NOISE_FLOOR)
    return NOISE_FLOOR * np.maximum(squares, least)
