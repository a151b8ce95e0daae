"""Eigenvalues of scatter matrices, and how many of them are more than rounding.

The scatter ``X^T X`` and the inner products ``X X^T`` have the same positive eigenvalues: the
smaller of the two matrices is decomposed. An eigenvalue counts as positive above ``size eps`` times
the largest, where size is the number of rows.
"""

import numpy as np
from scipy.linalg import lapack

from subspaces._types import Array

# Steps of the subspace iteration for eigenvalues, and axes beyond those asked for: enough for one
# digit.
STEPS, MORE_AXES = 2, 10
# The same for eigenpairs. Left-out errors of images are then right to 0.1 % (see `Problem.quick`).
PAIR_STEPS, MORE_PAIRS = 4, 20


def smaller_scatter(matrix: Array) -> Array:
    """``X X^T`` (n, n) if n < p, otherwise ``X^T X`` (p, p)."""
    n, p = matrix.shape
    return matrix @ matrix.T if n < p else matrix.T @ matrix


def positive_eigenpairs(matrix: Array, size: int) -> tuple[Array, Array]:
    """Eigenvalues (l,) above rounding of a symmetric matrix, largest first; eigenvectors (m, l)."""
    values, vectors = np.linalg.eigh(matrix)
    values, vectors = values[::-1], vectors[:, ::-1]
    rank = rank_of(values, size)
    return values[:rank], vectors[:, :rank]


def rank_of(values: Array, size: int) -> int:
    """Return how many eigenvalues, given largest first, exceed ``size eps`` times the largest."""
    tolerance = size * np.finfo(values.dtype).eps * max(values[0], 0.0) if len(values) else 0.0
    return int(np.count_nonzero(values > tolerance))


def counted_rank(gram: Array, size: int = 0) -> int:
    """Return the rank of a Gram matrix, as `rank_of` does, without computing all eigenvalues.

    It is the number of positive eigenvalues of ``gram - tolerance``. A Cholesky factorisation that
    fails only at the last row proves that all but one are positive (rows from their mean);
    otherwise the signs of a symmetric factorisation are those of the eigenvalues (Sylvester). The
    matrix is overwritten.
    """
    n, diagonal = len(gram), np.diag(gram).copy()
    diagonal -= max(n, size) * np.finfo(gram.dtype).eps * leading_eigenvalues(gram, 1)[0]
    np.fill_diagonal(gram, diagonal)
    failed = lapack.dpotrf(gram.T, lower=1, clean=0, overwrite_a=1)[1]
    if failed in (0, n):
        return n - bool(failed)
    np.fill_diagonal(gram, diagonal)
    return count_positive(gram.T)


def gram_factor(gram: Array) -> Array:
    """Return rows F (n, l) with these inner products, ``F F^T = gram``, l their rank.

    A Cholesky factorisation that takes the row farthest from those before as the next, until the
    rest is rounding: ten times as quick as eigenvectors.
    """
    n = len(gram)
    tolerance = n * np.finfo(gram.dtype).eps * np.diag(gram).max(initial=0.0)
    found, order, rank, _ = lapack.dpstrf(gram, tol=tolerance, lower=1)
    factor = np.empty((n, rank))
    factor[order - 1] = np.tril(found)[:, :rank]
    return factor


def count_positive(matrix: Array) -> int:
    """Return how many eigenvalues of a symmetric matrix are positive; overwrites one triangle."""
    size = int(lapack.dsytrf_lwork(len(matrix), lower=0)[0])
    factor, pivots, _ = lapack.dsytrf(matrix, lower=0, lwork=size, overwrite_a=1)
    # A negative pivot is half of a block of two rows: one eigenvalue of each sign.
    single = pivots > 0
    above = np.diag(factor)[single] > 0
    return int(np.count_nonzero(above) + np.count_nonzero(~single) // 2)


def leading_eigenvalues(gram: Array, count: int) -> Array:
    """The ``count`` largest eigenvalues, approximated from below by subspace iteration."""
    axes = _leading_space(gram, count + MORE_AXES, STEPS)
    return np.linalg.eigvalsh(axes.T @ (gram @ axes))[::-1][:count]


def leading_eigenpairs(matrix: Array, count: int) -> tuple[Array, Array]:
    """Approximate MORE_PAIRS more than the ``count`` largest eigenvalues, and their eigenvectors.

    Largest first, as `positive_eigenpairs` returns them.
    """
    axes = _leading_space(matrix, count + MORE_PAIRS, PAIR_STEPS)
    values, vectors = positive_eigenpairs(axes.T @ (matrix @ axes), len(matrix))
    return values, axes @ vectors


def _leading_space(matrix: Array, count: int, steps: int) -> Array:
    """Return axes (m, count) near the leading eigenvectors, by subspace iteration."""
    axes = np.random.default_rng(0).standard_normal((len(matrix), count))
    for _ in range(steps):
        axes = np.linalg.qr(matrix @ axes)[0]
    return axes
