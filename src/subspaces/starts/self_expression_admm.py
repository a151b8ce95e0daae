"""Self-expression by the lasso, linear or affine, with ADMM [Elhamifar & Vidal 2013].

    min_C  ||C||_1 + g/2 ||X - C X||^2,   diag(C) = 0,   and C 1 = 1 if affine

C is split into Z, which meets the data (and the affine constraint), and C, which is sparse. With
``X = U S V^T``, the penalty r of the split, ``w = g S^2 / (g S^2 + r)`` and the scaled dual D:

    T = C - D,   Z = T + (U_i - T U) w U^T,   C = soft(Z + D, 1/r),   D = D + Z - C

so a step costs two products with the thin U and nothing of size (n, n) is inverted: the rows of C
are independent and go by blocks. The affine constraint moves Z along ``m = 1 - U w U^T 1``. Where U
is not thin, of more than n/2 columns, one product is enough: ``Z - I_i = (T - I_i) Q`` with ``Q = I
- U w U^T - m m^T / sum(m)``, the last term if affine; Q is dense, (n, n). A published run ends
after 200 steps, converged or not, and so does this one: with affine subspaces, little noise and the
published g its objective is then still some per cent above the optimum.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from subspaces._types import Array, Indices
from subspaces.starts.self_expression import Sparse, largest_products, row_blocks
from subspaces.subspace import principal_axes

# Few enough numbers that the arrays of one block stay in the processor's cache.
CACHED = 2**15
# Steps between two tests of convergence, each of which reads all numbers of a block.
CHECK_EVERY = 10
# The entries of a block of rows that belong to the rows themselves: rows of the block, columns.
Own = tuple[Indices, Indices]


@dataclass(frozen=True)
class Split:
    """The maps of the Z step: U and its transpose (thin, see `_split`), or ``whole``, the matrix Q.

    weights: w; target: U without the column of ones.
    """

    left: Array
    right: Array
    weights: Array
    target: Array
    affine: bool
    whole: Array | None = None


def admm_fidelity(rows: Array, alpha: float) -> float:
    """Return the fidelity ``g = alpha / min_i max_{j != i} |<x_i, x_j>|``.

    Rows that are orthogonal to all others are left out of the minimum.
    """
    top = largest_products(rows)
    top = top[top > 0]
    return alpha / float(top.min()) if len(top) else alpha


def admm_coefficients(
    rows: Array,
    fidelity: float,
    *,
    penalty: float,
    affine: bool = False,
    tolerance: float = 2e-4,
    max_iter: int = 200,
) -> Sparse:
    """Return the coefficients C of all rows, sparse, (n, n).

    fidelity: g; penalty: r. A block of rows stops when the largest change of C, and the largest
    difference of C from Z, is at most ``tolerance``.
    """
    split = _split(rows, fidelity, penalty, affine)
    blocks = [
        _iterate(split, block, 1.0 / penalty, tolerance, max_iter)
        for block in row_blocks(len(rows), CACHED)
    ]
    return sparse.csr_array(sparse.vstack(blocks))


def _split(rows: Array, fidelity: float, penalty: float, affine: bool) -> Split:
    """Return the maps: ``left`` = U, ``right`` = U^T; and ``whole`` = Q where U is not thin.

    If affine, ``left`` has a column of ones more, and ``right`` a row m / sum(m).
    """
    axes = principal_axes(rows, 0)
    basis = axes.coordinates / np.sqrt(axes.eigenvalues)
    weights = fidelity * axes.eigenvalues / (fidelity * axes.eigenvalues + penalty)
    whole = np.eye(len(rows)) - (basis * weights) @ basis.T if 2 * axes.rank > len(rows) else None
    if not affine:
        return Split(basis, np.ascontiguousarray(basis.T), weights, basis, False, whole)
    sums = basis.sum(axis=0)
    move = 1.0 - basis @ (weights * sums)
    ones, total = np.ones((len(rows), 1)), float(move.sum())
    # Rows of full rank, fitted without error but for rounding: any move to sum one will do.
    share = move / total if total > 0.0 else np.full(len(rows), 1.0 / len(rows))
    if whole is not None:
        whole -= np.outer(move, share)
    return Split(np.hstack([basis, ones]), np.vstack([basis.T, share]), weights, basis, True, whole)


def _meet(split: Split, start: Array, spare: Array, own: Own) -> tuple[Array, Array]:
    """Return Z computed from T, which is overwritten, and the array of the two that is now free.

    start: T; spare: an array to write to; own: the entries that belong to the rows themselves.
    """
    if split.whole is None:
        np.matmul(_thin_step(split, start, own[1]), split.right, out=spare)
        start += spare
        return start, spare
    start[own] -= 1.0
    np.matmul(start, split.whole, out=spare)
    spare[own] += 1.0
    return spare, start


def _thin_step(split: Split, start: Array, block: Indices) -> Array:
    """Return the coordinates of ``Z - T`` on the rows of ``right``."""
    seen = start @ split.left
    rank = len(split.weights)
    step = (split.target[block] - seen[:, :rank]) * split.weights
    if not split.affine:
        return step
    excess = seen[:, rank] + step @ split.target.sum(axis=0) - 1.0
    return np.column_stack([step, -excess])


def _iterate(
    split: Split, block: Indices, threshold: float, tolerance: float, max_iter: int
) -> Sparse:
    own: Own = np.arange(len(block)), block
    room: Array = np.zeros((5, len(block), len(split.target)))
    met, spare, dual, sparse_part, before = room
    for step in range(1, max_iter + 1):
        np.subtract(sparse_part, dual, out=met)
        met, spare = _meet(split, met, spare, own)
        dual += met
        diagonal = dual[own]
        # soft(v, t) = v - clip(v, -t, t), and the new dual is what was clipped off
        np.clip(dual, -threshold, threshold, out=spare)
        sparse_part, before = before, sparse_part
        np.subtract(dual, spare, out=sparse_part)
        sparse_part[own] = 0.0
        spare[own] = diagonal
        dual, spare = spare, dual
        if step % CHECK_EVERY == 0:
            gap = max(np.abs(met - sparse_part).max(), np.abs(before - sparse_part).max())
            if gap <= tolerance:
                break
    return sparse.csr_array(sparse_part)
