"""Leave-one-out projection: the residual of a row from loadings down-dated by that row.

A loading is a weighted sum of the members' rows, ``s_r v_r = sum_i d_ir x_i``. Without row i, the
scores held, it is ``B_r = s_r v_r - d_r x``, on the support of v_r. The row's cost is its squared
distance from the span of those B_r,

    ||x||^2 - m^T G^+ m,    m = B^T x,    G = B^T B,

and an outsider's its squared distance from the span of V. If ``s_r < q_rr`` the row alone made that
direction, and gets no credit for it. Unlike the influence this never repels ("When the influence
repels", https://subspaces.readthedocs.io). A mean is refitted without the row, and weights count,
as in `secular.py`: all of this with ``sqrt(f u) x`` for x, and the cost ``f/u`` times as large.

==========  ============  ============  ================================================
symbol      name          shape         meaning
==========  ============  ============  ================================================
d           scores        (n, R)        x V
s           spectrum      (R,)          sum over the members of d^2
S           overlap       (R, R)        V^T V
D_rs        cross         (n, R, R)     x v_r over the support of v_s
q_rs        shared        (n, R, R)     ||x||^2 over the supports of both v_r and v_s
==========  ============  ============  ================================================
"""

import numpy as np

from subspaces._types import Array
from subspaces.core.secular import removal


def projection_errors(
    squared_norm: Array, scores: Array, spectrum: Array, overlap: Array, cross: Array, shared: Array
) -> Array:
    """Squared residuals of members from the span of the down-dated loadings, (n,)."""
    # In units of the largest s, so that its square neither overflows nor vanishes.
    unit = max(float(spectrum.max(initial=0.0)), np.finfo(float).tiny)
    d, s = scores / np.sqrt(unit), spectrum / unit
    cross, shared = cross / np.sqrt(unit), shared / unit
    own = np.diagonal(shared, axis1=1, axis2=2)
    credit = s > own
    m = np.where(credit, d * (s - own), 0.0)
    mixed = s[:, None] * d[:, None, :] * cross
    gram = np.outer(s, s) * overlap - mixed - np.swapaxes(mixed, 1, 2)
    gram = gram + d[:, :, None] * d[:, None, :] * shared
    both = credit[:, :, None] & credit[:, None, :]
    gram = np.where(both, gram, 0.0)
    explained = np.einsum("ir,irs,is->i", m, np.linalg.pinv(gram, hermitian=True), m)
    return np.maximum(squared_norm - unit * explained, 0.0)


def dense_errors(
    squared_norm: Array,
    scores: Array,
    spectrum: Array,
    affine: bool = False,
    weights: Array | None = None,
) -> Array:
    """`projection_errors` (n,) for orthonormal axes; affine: whether rows are from their mean.

    weights (n,): the rows are times the root of their weight, None if all count one.
    """
    n, r = scores.shape
    before, after = removal(n, affine, weights)
    if np.isinf(after).any():
        return np.full(n, np.inf)
    scores, squared_norm = np.sqrt(before)[:, None] * scores, before * squared_norm
    cross = np.broadcast_to(scores[:, :, None], (n, r, r))
    shared = np.broadcast_to(squared_norm[:, None, None], (n, r, r))
    return after * projection_errors(squared_norm, scores, spectrum, np.eye(r), cross, shared)


def sparse_errors(
    rows: Array, basis: Array, spectrum: Array, affine: bool = False, weights: Array | None = None
) -> Array:
    """`projection_errors` (n,) for sparse loadings (p, R); the rest as in `dense_errors`."""
    support = (basis != 0.0).astype(rows.dtype)
    r = basis.shape[1]
    before, after = removal(len(rows), affine, weights)
    if np.isinf(after).any():
        return np.full(len(rows), np.inf)
    rows = np.sqrt(before)[:, None] * rows
    cross = np.stack([rows @ (basis * support[:, [t]]) for t in range(r)], axis=2)
    squared = rows**2
    shared = np.stack([squared @ (support * support[:, [t]]) for t in range(r)], axis=2)
    return after * projection_errors(
        squared.sum(axis=1), rows @ basis, spectrum, basis.T @ basis, cross, shared
    )
