"""Leave-one-out PCA: leverage, PRESS, and the predictive influence, in O(R) per sample.

Everything here is computed from a sample's scores on the R axes of one PCA and its squared
residual; no P-vector is formed unless it is the answer.

=============  ================  ========  ==================================================
symbol         name              shape     meaning
=============  ================  ========  ==================================================
d_r            scores            (n, R)    x v_r
||x_perp||^2   squared_residual  (n,)      squared distance from the span of the axes
s_r            spectrum          (R,)      sum over the members of d_r^2
h_r            leverage          (n, R)    d_r^2 / s_r
w_r            1 + pull          (n, R)    1 / (1 - h_r) for a member
g_r            pull              (n, R)    w_r - 1 = d_r^2 / (s_r - [i is a member] d_r^2)
a              1 + A             (n, 1)    sum_r w_r - (R - 1), so A = sum_r g_r
S              overlap           (R, R)    V^T V for sparse, non-orthogonal loadings
pi             influence         (n, P)    predictive influence [MM2014, eq. final_press]
=============  ================  ========  ==================================================

[MM2014] B. McWilliams and G. Montana, "Subspace clustering of high-dimensional data: a
predictive approach", Data Mining and Knowledge Discovery 28 (2014) 736-772.
"""

from typing import Any

import numpy as np

from subspaces._types import Array, Mask
from subspaces.core.array import namespace
from subspaces.core.secular import LEVERAGE_ONE
from subspaces.subspace import Subspace, inverse_overlap


def leverage(scores: Array, spectrum: Array) -> Array:
    """Leverages ``h_r = d_r^2 / s_r`` of rows on each axis, (n, R); 0 on an axis without energy."""
    return np.divide(scores**2, spectrum, out=np.zeros_like(scores), where=spectrum > 0)


def pull(scores: Array, spectrum: Array, member: Mask | bool, copy: Array | None = None) -> Array:
    """``g_r = d_r^2 / (s_r - [member] d_r^2)``, (..., R): leverage against the sums of other rows.

    For a member ``1 + g = 1/(1 - h)``; an outsider is treated as if it had just joined. Infinite
    for a member that alone has energy along an axis. copy (...): how much of each row leaves or
    joins, ``u d_r^2`` in place of d_r^2; None for all of it.
    """
    squared = scores**2 if copy is None else scores**2 * copy[..., None]
    own = np.where(np.asarray(member)[..., None], squared, 0.0)
    others = np.where(own < LEVERAGE_ONE * spectrum, spectrum - own, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = squared / others
    return np.where(squared > 0.0, ratio, 0.0)


def paper_errors(
    scores: Array, squared_residual: Array, spectrum: Array, member: Mask | bool = True
) -> Array:
    """Squared leave-one-out errors in the paper's closed form, (n,) [MM2014, eq. pca_press].

    ``||e_-i||^2 = a^2 ||x_perp||^2 + sum_r (a - w_r)^2 d_r^2``. Infinite if a leverage is one.
    """
    w, a, alone = _weights(pull(scores, spectrum, member))
    with np.errstate(over="ignore", invalid="ignore"):
        energy = a[:, 0] ** 2 * squared_residual + np.sum((a - w) ** 2 * scores**2, axis=1)
    return np.where(alone | np.isnan(energy), np.inf, energy)


def paper_errors_oblique(
    scores: Array, squared_residual: Array, spectrum: Array, overlap: Array
) -> Array:
    """`paper_errors` of members under unit loadings that need not be orthogonal, ``S = V^T V``.

    ``e_-i = a x - V W d = a x_perp + V u`` with ``u = a S^+ d - W d``, so
    ``||e_-i||^2 = a^2 ||x_perp||^2 + u^T S u``.
    """
    w, a, alone = _weights(pull(scores, spectrum, True))
    with np.errstate(over="ignore", invalid="ignore"):
        u = a * (scores @ inverse_overlap(overlap)) - w * scores
        energy = a[:, 0] ** 2 * squared_residual + np.einsum("ir,rs,is->i", u, overlap, u)
    return np.where(alone | np.isnan(energy), np.inf, energy)


def hat_errors(
    scores: Array, squared_residual: Array, spectrum: Array, affine: bool = False
) -> Array:
    """Squared leave-one-out errors of members to first order, (n,), all R axes down-dated jointly.

    ``||x_perp||^2 / (1 - sum_r h_r)^2``. Infinite if the leverages sum to one. A mean that is
    refitted without the row has a leverage of its own, ``1/n`` for every row.
    """
    claimed = 1.0 / len(scores) if affine else 0.0
    return hat_errors_of(scores**2, squared_residual, spectrum, claimed)


def hat_errors_of(energies: Any, squared_residual: Any, spectrum: Any, claimed: Any) -> Any:
    """`hat_errors`, (...), from energies ``d_r^2`` (..., R), in any array library.

    claimed: the leverage of the mean, of the shape of the residuals or one number.
    """
    xp = namespace(energies)
    left = 1.0 - claimed - xp.sum(energies / spectrum, axis=-1)
    least = 1.0 - LEVERAGE_ONE
    return infinite_where(left <= least, squared_residual / xp.clip(left, least, None) ** 2)


def squared_influence(
    scores: Array, squared_residual: Array, spectrum: Array, member: Mask | bool = True
) -> Array:
    """Squared influence ``||pi||^2`` of rows, (n,), orthonormal axes [MM2014, eq. final_press].

    ``a^4 ||x_perp||^2 + sum_r (a - w_r)^4 d_r^2``; outsiders as if they had joined (`pull`).
    """
    return squared_influence_of(scores**2, squared_residual, spectrum, member)


def squared_influence_of(
    energies: Any, squared_residual: Any, spectrum: Any, member: Any = True, copy: Any = None
) -> Any:
    """`squared_influence`, (...), from energies ``d_r^2`` (..., R), in any array library.

    member: which rows are members, a mask of the shape of the residuals or one bool for all rows;
    copy: how much of each row leaves or joins, of the shape of the residuals, None for all of it.
    """
    xp = namespace(energies)
    leaving = energies if copy is None else energies * copy[..., None]
    if isinstance(member, bool):
        own = leaving if member else 0.0 * spectrum
    else:
        own = xp.where(member[..., None], leaving, xp.zeros_like(energies))
    alone, others = own >= LEVERAGE_ONE * spectrum, spectrum - own
    g = leaving / xp.where(alone, xp.ones_like(others), others)
    total = xp.sum(g, axis=-1)
    with np.errstate(over="ignore", invalid="ignore"):
        # Squares of squares: powers of four take ten times as long.
        whole, rest = (1.0 + total) ** 2, (total[..., None] - g) ** 2
        influence = whole * whole * squared_residual + xp.sum(rest * rest * energies, axis=-1)
    # An axis that no member has any energy along says nothing of a row that has none either.
    alone = xp.any(alone & (energies > 0.0), axis=-1)
    return infinite_where(alone | xp.isnan(influence), influence)


def infinite_where(condition: Any, values: Any) -> Any:
    """Return the values, replaced by infinity if ``condition`` is true."""
    xp = namespace(values)
    return xp.where(condition, xp.full_like(values, np.inf), values)


def squared_influence_oblique(
    scores: Array,
    squared_residual: Array,
    spectrum: Array,
    overlap: Array,
    member: Mask | bool = True,
    inverse: Array | None = None,
    copy: Array | None = None,
) -> Array:
    """``||pi||^2`` of rows, (n,) or (n, K), for unit loadings that need not be orthogonal.

    scores: (n, R) under one cluster, or (n, K, R) under several; overlap: ``S = V^T V``; inverse:
    ``S^+`` if it is known; copy: as in `pull`.

    ``pi = a^2 x - V b`` with ``c_r = a d_r - sum_s w_s d_s S_rs`` and ``b_r = w_r (a d_r + c_r)``.
    With ``x = x_perp + V S^+ d`` this is ``a^4 ||x_perp||^2 + u^T S u``, ``u = a^2 S^+ d - b``,
    where nothing large cancels; ``squared_residual`` is the distance from the span of V.
    """
    w, a, alone = _weights(pull(scores, spectrum, member, copy))
    inverse = inverse_overlap(overlap) if inverse is None else inverse
    with np.errstate(over="ignore", invalid="ignore"):
        c = a * scores - _turned(w * scores, overlap)
        u = a**2 * _turned(scores, inverse) - w * (a * scores + c)
        whole = a[..., 0] ** 2
        energy = whole * whole * squared_residual + np.sum(u * _turned(u, overlap), axis=-1)
    return np.where(alone | np.isnan(energy), np.inf, energy)


def _turned(rows: Array, matrices: Array) -> Array:
    """Each row (..., R) times its matrix (..., R, R), or all rows times one matrix: (..., R)."""
    return np.einsum("...r,...rs->...s", rows, matrices)


def gradient(rows: Array, subspace: Subspace) -> Array:
    """Gradient (n, p) of half the squared leave-one-out error of each row, axes and sums fixed.

    rows (n, p): the members that the subspace was fitted to; derivatives are by the row itself.

    ``pi + sum_r 2 w_r^2 (d_r / s_r) <e_-i, x - d_r v_r> v_r``: the paper's appendix drops the
    second term ("The paper's mistakes and our reading", https://subspaces.readthedocs.io). Infinite
    if a leverage is one: there is no gradient there.
    """
    centred = rows - subspace.centre
    d = centred @ subspace.basis
    perpendicular = centred - d @ subspace.basis.T
    squared_perpendicular = np.einsum("ij,ij->i", perpendicular, perpendicular)[:, None]
    w, a, alone = _weights(pull(d, subspace.spectrum, True))
    in_plane = (a - w) * d**2
    # <e_-i, x - d_r v_r> = a ||x_perp||^2 + sum_{s != r} (a - w_s) d_s^2
    along = a * squared_perpendicular + in_plane.sum(axis=1, keepdims=True) - in_plane
    weights = (a - w) ** 2 + 2.0 * w**2 * along / subspace.spectrum
    vectors = a**2 * perpendicular + (weights * d) @ subspace.basis.T
    return np.where(alone[:, None], np.inf, vectors)


def _weights(g: Array) -> tuple[Array, Array, Mask]:
    """Return ``w`` (..., R), ``a`` (..., 1), and the mask of rows with infinite g (w = a = 1)."""
    alone: Mask = np.any(np.isinf(g), axis=-1)
    g = np.where(alone[..., None], 0.0, g)
    return 1.0 + g, 1.0 + g.sum(axis=-1, keepdims=True), alone
