"""EM for a mixture of common factor analysers; `factor_mixture` has the notation.

A step has two cycles, each of which raises the likelihood [AECM, Meng & van Dyk 1997]. First pi,
xi, Omega and nu for given A and D: xi and S are the weighted mean and scatter of u, and the
likeliest Omega is ``S - I`` with its negative eigenvalues set to 0. Then A and D, with the factors
as missing data. No entry of D is below 1e-10 of its variable's mean square.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from subspaces._types import Array
from subspaces.core import em
from subspaces.rivals.factor_mixture import (
    FactorMixture,
    Reduced,
    log_joint_at,
    normalised,
    posterior,
    reduce,
    squared_distances,
    variable_blocks,
)
from subspaces.rivals.student import tails, update_df

# Least noise of a variable, as a share of its mean square.
NOISE_FLOOR = 1e-10
# Rows of weight that an empty component counts as, so that its share has a logarithm.
LEAST_WEIGHT = 1e-10
# Growth of the stride, its limit, and the largest rise of log D at once.
GROWTH, MOST_STRIDE, MOST_RISE = 1.2, 100.0, 10.0


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
    blocks = variable_blocks(rows.shape[1])
    residuals = (rows[:, block] - factors @ loadings[block].T for block in blocks)
    return np.concatenate([weights @ residual**2 for residual in residuals])


def floors(rows: Array) -> Array:
    """Return the least noise of each variable, (p,): 1e-10 of its mean square.

    The mean square is taken to be at least a millionth of the mean over all variables.
    """
    squares = np.einsum("ij,ij->j", rows, rows) / len(rows)
    least = max(1e-6 * float(squares.mean()), np.finfo(float).tiny / NOISE_FLOOR)
    return NOISE_FLOOR * np.maximum(squares, least)
