"""Penalised loadings: each axis of a cluster on a few variables of its own.

One loading after the other by regularised low-rank approximation [Shen & Huang 2008; MM2014, eq.
it_penalty and it_penalty2]: with the members' rows X,

    v <- soft(X^T u, gamma),    u <- X v / ||X v||,

until v settles; then X <- X - u v^T, with v before it is scaled to length one. The threshold gamma
is the (m + 1)-th largest of |X^T u|, so that m variables stay. Such loadings are not orthogonal.

==========  ============  ==========  ==================================================
symbol      name          shape       meaning
==========  ============  ==========  ==================================================
X           rows          (n, p)      the members, from their mean if the cluster has one
u           left          (n,)        unit scores of the members on one loading
v           loading       (p,)        one loading, before it is scaled to length one
V           basis         (p, R)      unit loadings, at most m non-zero values each
S           overlap       (R, R)      V^T V
d           scores        (n, R)      X V
==========  ============  ==========  ==================================================
"""

from dataclasses import dataclass

import numpy as np

from subspaces._types import Array, Penalty
from subspaces.subspace import inverse_overlap, largest_eigenpairs, principal_axes

# A loading is found if no value moves by more than this share of the largest in a step.
LOADING_TOLERANCE, MAX_STEPS = 1e-4, 100
# Against rows whose largest value is 1, a loading of this length is rounding.
NOTHING_LEFT = 1e-12
# Magnitudes within this share of each other are equal up to rounding.
TIED = 1e-9


@dataclass(frozen=True)
class Sparsity:
    """Number of variables per loading, for each cluster, and the kind of penalty."""

    n_variables: tuple[int, ...]
    penalty: Penalty


def captured_energy(scores: Array, overlap: Array) -> Array:
    """``d^T S^+ d`` of each row, (n,): squared length of its projection on the loadings' span."""
    return np.maximum(np.einsum("ir,ir->i", scores @ inverse_overlap(overlap), scores), 0.0)


def sparse_loadings(
    rows: Array, n_components: int, n_variables: int, penalty: Penalty, start: Array | None = None
) -> Array:
    """Unit loadings (p, R) of rows (n, p), with at most ``n_variables`` non-zero values each.

    A column is zero if nothing is left to explain. penalty: "l1" or "nonnegative"; start (p, R):
    loadings that the iteration starts from.
    """
    if n_variables >= rows.shape[1] and penalty == "l1":
        return _padded(principal_axes(rows).basis, n_components)
    basis = np.zeros((rows.shape[1], n_components))
    scale = max(float(rows.max(initial=0.0)), -float(rows.min(initial=0.0)))
    if scale == 0.0:
        return basis
    rest = rows / scale
    for r in range(n_components):
        left = rest @ start[:, r] if start is not None else _leading_left(rest)
        left, loading = _one_loading(rest, left, n_variables, penalty)
        used = np.flatnonzero(loading)
        rest[:, used] -= np.outer(left, loading[used])
        length = np.linalg.norm(loading)
        if length > NOTHING_LEFT:
            basis[:, r] = loading / length
    return basis


def _padded(basis: Array, n_components: int) -> Array:
    """Return the first ``n_components`` columns of a basis, padded by zero columns: (p, R)."""
    missing = max(n_components - basis.shape[1], 0)
    return np.pad(basis[:, :n_components], ((0, 0), (0, missing)))


def _one_loading(
    rows: Array, left: Array, n_variables: int, penalty: Penalty
) -> tuple[Array, Array]:
    """Return the scores u (n,) and loading v (p,) at which the iteration from ``left`` settles."""
    shrink = _soft_nonnegative if penalty == "nonnegative" else _soft
    left = _unit(left) if left.any() else _unit(_leading_left(rows))
    if penalty == "nonnegative":
        left = _better_sign(rows, left, n_variables)
    loading = shrink(rows.T @ left, n_variables)
    for _ in range(MAX_STEPS):
        left = _unit(rows @ loading)
        new = shrink(rows.T @ left, n_variables)
        moved = np.abs(new - loading).max()
        loading = new
        if moved <= LOADING_TOLERANCE * np.abs(new).max():
            break
    return left, loading


def _soft(values: Array, n_variables: int) -> Array:
    """Return values (p,) soft-thresholded so that the ``n_variables`` largest magnitudes stay."""
    return np.sign(values) * _shrink(np.abs(values), n_variables)


def _soft_nonnegative(values: Array, n_variables: int) -> Array:
    """Return values (p,) soft-thresholded so that the ``n_variables`` largest positive stay."""
    return _shrink(np.maximum(values, 0.0), n_variables)


def _shrink(magnitudes: Array, n_variables: int) -> Array:
    """Return the magnitudes less the (m + 1)-th largest, at least 0, so that the m largest stay.

    If the m-th and the (m + 1)-th tie, the first columns of the tie stay and the next smaller
    magnitude is subtracted.
    """
    place = len(magnitudes) - n_variables
    if place <= 0:
        return magnitudes
    ordered = np.partition(magnitudes, (place - 1, place))
    gamma, smallest = ordered[place - 1], ordered[place]
    if gamma < smallest * (1.0 - TIED):
        return np.maximum(magnitudes - gamma, 0.0)
    above = magnitudes > smallest * (1.0 + TIED)
    below = magnitudes[magnitudes < smallest * (1.0 - TIED)]
    tied = ~above & (magnitudes >= smallest * (1.0 - TIED))
    chosen = np.r_[np.flatnonzero(above), np.flatnonzero(tied)][:n_variables]
    shrunk = np.zeros_like(magnitudes)
    shrunk[chosen] = magnitudes[chosen] - below.max(initial=0.0)
    return shrunk


def _better_sign(rows: Array, left: Array, n_variables: int) -> Array:
    """Return u or -u, whichever gives the non-negative loading of more energy."""
    values = rows.T @ left
    energies = [np.sum(_soft_nonnegative(sign * values, n_variables) ** 2) for sign in (1.0, -1.0)]
    return left if energies[0] >= energies[1] else -left


def _leading_left(rows: Array) -> Array:
    """First left singular vector of the rows, (n,), up to its length."""
    n, p = rows.shape
    if n <= p:
        return _leading_eigenvector(rows @ rows.T)
    return rows @ _leading_eigenvector(rows.T @ rows)


def _leading_eigenvector(matrix: Array) -> Array:
    return np.ascontiguousarray(largest_eigenpairs(matrix, 1)[1][:, 0])


def _unit(vector: Array) -> Array:
    length = np.linalg.norm(vector)
    return vector / length if length > 0 else vector
