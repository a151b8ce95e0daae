"""Polynomials that vanish on a union of subspaces, and their gradients.

A product of K linear forms, one normal to each of K subspaces, is zero on all of them. So the
homogeneous polynomials of degree K that vanish on the rows are the null space of their Veronese
embedding, and at a row of one subspace their gradients span its normals [Vidal, Ma & Sastry 2005].

The monomials carry the roots of the multinomial coefficients,

    nu(x)_e = sqrt(K! / (e_1! ... e_D!)) x_1^e_1 ... x_D^e_D,     <nu(x), nu(y)> = <x, y>^K,

so that the least squares answer does not depend on the axes.

==========  =============  =============  ==================================================
symbol      name           shape          meaning
==========  =============  =============  ==================================================
K           degree                        number of subspaces
D           dimension                     of the space
e           factors        (M, K)         variables multiplied in each monomial, sorted
nu          veronese       (n, M)         M = C(K + D - 1, K) monomials of the rows
c           coefficients   (M, m)         one column per vanishing polynomial, orthonormal
==========  =============  =============  ==================================================
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations, combinations_with_replacement
from math import comb, factorial, prod

import numpy as np
from scipy import linalg

from subspaces._types import Array, Indices

# Most numbers held at a time while rows are embedded: 32 MiB.
BLOCK = 2**22


def n_monomials(degree: int, dimension: int) -> int:
    """Return the number of monomials of degree K in D variables, ``C(K + D - 1, K)``."""
    return comb(degree + dimension - 1, degree)


def n_vanishing(dimensions: Sequence[int], dimension: int) -> int:
    """Return the number of independent polynomials of degree K that vanish on K subspaces.

    In general position it is the Hilbert function of the product ideal: over the sets S of clusters
    whose codimensions sum to ``c_S < D``, ``sum_S (-1)^|S| C(K + D - 1 - c_S, D - 1 - c_S)`` [Ma,
    Yang, Derksen & Fossum 2008].
    """
    codimensions = [dimension - r for r in dimensions]
    degree = len(codimensions)
    total = 0
    for size in range(degree + 1):
        for chosen in combinations(codimensions, size):
            left = dimension - 1 - sum(chosen)
            total += (-1) ** size * comb(degree + left, degree) if left >= 0 else 0
    return total


def veronese(rows: Array, degree: int) -> Array:
    """Return all weighted monomials of this degree at each row, (n, M)."""
    factors, weights = _enumerate(degree, rows.shape[1])
    embedded = np.tile(weights, (len(rows), 1))
    for variable in factors.T:
        embedded *= rows[:, variable]
    return embedded


def vanishing(rows: Array, degree: int, n_polynomials: int) -> Array:
    """Return the coefficients (M, m) of the m polynomials that are least on the rows.

    They are the right singular vectors of the embedded rows with the smallest singular values, from
    the triangle of a thin QR.
    """
    size = n_monomials(degree, rows.shape[1])
    triangle = np.zeros((0, size))
    for block in blocks(rows, size):
        stacked = np.vstack([triangle, veronese(block, degree)])
        triangle = linalg.qr(stacked, mode="r", overwrite_a=True, check_finite=False)[0][:size]
    # LAPACK's quicker driver may fail to converge where many singular values are rounding.
    right = linalg.svd(triangle, lapack_driver="gesvd", check_finite=False)[2]
    return np.ascontiguousarray(right[size - n_polynomials :].T)


def gradients(rows: Array, coefficients: Array, degree: int) -> Array:
    """Return the gradients of the polynomials at the rows, (n, m, D)."""
    n, dimension = rows.shape
    m = coefficients.shape[1]
    parents, scale = _derivatives(degree, dimension)
    # (D, M') gathers of (M, m) -> (M', m, D): the derivatives as polynomials of degree K - 1
    lower = (scale[:, :, None] * coefficients[parents]).transpose(1, 2, 0)
    return (veronese(rows, degree - 1) @ lower.reshape(len(lower), -1)).reshape(n, m, dimension)


def blocks(rows: Array, width: int) -> Iterator[Array]:
    """Yield blocks of rows whose embedding, ``width`` numbers a row, has at most BLOCK numbers."""
    step = max(BLOCK // width, 1)
    return (rows[start : start + step] for start in range(0, len(rows), step))


@lru_cache(maxsize=16)
def _enumerate(degree: int, dimension: int) -> tuple[Indices, Array]:
    """Return the variables multiplied in each monomial, (M, K), and its weight, (M,)."""
    listed = list(combinations_with_replacement(range(dimension), degree))
    weights = [
        (factorial(degree) / prod(factorial(e.count(v)) for v in set(e))) ** 0.5 for e in listed
    ]
    return np.array(listed, dtype=np.intp).reshape(len(listed), degree), np.array(weights)


@lru_cache(maxsize=16)
def _derivatives(degree: int, dimension: int) -> tuple[Indices, Array]:
    """Return indices and scales (D, M') that differentiate polynomials of degree K.

    For variable v and a monomial of degree K - 1, the index is that of the monomial times x_v. ``d
    nu_e / d x_v = sqrt(K e_v) nu_(e less one v)``, the weights of both sides included.
    """
    upper, _ = _enumerate(degree, dimension)
    lower, _ = _enumerate(degree - 1, dimension)
    place = {tuple(e): index for index, e in enumerate(upper.tolist())}
    parents = [
        [place[tuple(sorted([*e, variable]))] for e in lower.tolist()]
        for variable in range(dimension)
    ]
    exponents = [[e.count(variable) + 1 for e in lower.tolist()] for variable in range(dimension)]
    return np.array(parents, dtype=np.intp), np.sqrt(degree * np.array(exponents))
