"""Generalised PCA (GPCA): from the polynomials that vanish on all subspaces to labels.

Hyperplanes: one polynomial vanishes, and its gradient at a row is the normal of the row's
hyperplane. The affinity of two rows, the ``cos^2`` between their normals b and c, is
``<b b^T, c c^T>``, so the graph is cut from a factor (n, D(D+1)/2), without an n x n matrix
[Vidal, Ma & Sastry 2005].

Subspaces of any dimensions are found by votes: at each row the leading directions of all gradients
are a candidate for the normals of the row's subspace. Each row votes for the candidates near its
own; the winner takes its voters, and the next is sought among the other rows, the smallest
dimension first [Ma, Yang, Derksen & Fossum 2008].

A row and its multiples lie in one linear subspace, so each row is scaled to unit length. A zero row
lies in every subspace.

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

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations, combinations_with_replacement
from math import comb, factorial, prod

import numpy as np
from scipy import linalg

from subspaces._types import Array, Indices, Labels
from subspaces.starts.self_expression import unit_rows
from subspaces.starts.spectral import rows_to_labels

# Most rows whose normals are candidates. If there are more, this many are drawn.
CANDIDATES = 500
# Most numbers held at a time while rows are embedded: 32 MiB.
BLOCK = 2**22


def homogeneous(rows: Array) -> Array:
    """Return centred rows with a constant appended, (n, p + 1): affine subspaces become linear.

    Their dimension grows by one. The constant is the root mean square length of the rows, so that
    units do not matter.
    """
    length = np.sqrt(np.mean(np.sum(rows**2, axis=1)))
    return np.column_stack([rows, np.full(len(rows), length)])


def hyperplane_labels(rows: Array, n_clusters: int, random: np.random.Generator) -> Labels:
    """Return labels (n,) of rows that lie on K hyperplanes through the origin."""
    return cut_by_normals(hyperplane_normals(rows, n_clusters), n_clusters, random)


def hyperplane_normals(rows: Array, n_clusters: int) -> Array:
    """Return the unit gradient of the one vanishing polynomial at each row, (n, D)."""
    return unit_rows(_at_each_row(rows, n_clusters, 1, lambda gradient: gradient[:, 0]))


def cut_by_normals(normals: Array, n_clusters: int, random: np.random.Generator) -> Labels:
    """Return labels (n,) by spectral clustering with the ``cos^2`` between normals as affinity."""
    factor = projectors(normals[:, :, None])
    degrees = factor @ factor.sum(axis=0)
    scaled = factor / np.sqrt(np.where(degrees > 0, degrees, 1.0))[:, None]
    left = linalg.svd(scaled, full_matrices=False, check_finite=False)[0]
    return rows_to_labels(left[:, :n_clusters], n_clusters, random)


def projectors(bases: Array) -> Array:
    """Return ``B B^T`` of bases (n, D, c) as vectors (n, D(D+1)/2).

    The inner product of two vectors is the trace of the product of their matrices.
    """
    upper, lower = np.triu_indices(bases.shape[1])
    entries = np.einsum("nic,nic->ni", bases[:, upper], bases[:, lower])
    return entries * np.where(upper == lower, 1.0, np.sqrt(2.0))


def vote_labels(
    rows: Array, dimensions: Sequence[int], tolerance: float, random: np.random.Generator
) -> Labels:
    """Return labels (n,) of rows on subspaces of any dimensions; cluster k has ``dimensions[k]``.

    A cluster as large as the space has no polynomial: it gets the rows that lie further than half
    the tolerance from all other subspaces.
    """
    rows = unit_rows(rows)
    smaller = [k for k, r in enumerate(dimensions) if r < rows.shape[1]]
    sizes = [dimensions[k] for k in smaller]
    elected = elect(*normal_directions(rows, sizes), sizes, tolerance, random)
    sines = np.full((len(rows), len(dimensions)), np.sin(tolerance / 2))
    for k, normals in zip(smaller, elected, strict=True):
        sines[:, k] = np.linalg.norm(rows @ normals, axis=1)
    return np.argmin(sines, axis=1)


def normal_directions(rows: Array, dimensions: Sequence[int]) -> tuple[Array, Array]:
    """Return principal directions of the gradients at each row, (n, D, D), and lengths (n, D).

    Directions are columns, the longest first.
    """
    count = n_vanishing(dimensions, rows.shape[1])
    scatter = _at_each_row(rows, len(dimensions), count, lambda g: g.transpose(0, 2, 1) @ g)
    values, vectors = np.linalg.eigh(scatter)
    return vectors[:, :, ::-1], np.sqrt(np.maximum(values[:, ::-1], 0.0))


def elect(
    directions: Array,
    lengths: Array,
    dimensions: Sequence[int],
    tolerance: float,
    random: np.random.Generator,
) -> list[Array]:
    """Return the normals (D, c) of each cluster, in the order of ``dimensions``.

    They are elected one after the other, the smallest dimension first. directions, lengths: from
    `normal_directions`; tolerance: the angle from which on a row gives no vote.
    """
    elected: dict[int, Array] = {}
    free = np.ones(len(lengths), dtype=bool)
    for k in np.argsort(dimensions, kind="stable"):
        codimension = lengths.shape[1] - int(dimensions[k])
        bases = directions[:, :, :codimension]
        weights = free * clearness(lengths, codimension)
        weights = weights if weights.any() else np.ones(len(lengths))
        votes = _votes_for_winner(projectors(bases), weights, codimension, tolerance, random)
        elected[int(k)] = mean_space(bases, weights * votes)
        free &= votes == 0
    return [elected[k] for k in range(len(dimensions))]


def clearness(lengths: Array, codimension: int) -> Array:
    """Return how clearly each row's gradients span ``codimension`` directions, (n,): 0 to 1.

    It is the gap in their lengths after that many directions, over the longest.
    """
    gap, longest = lengths[:, codimension - 1] - lengths[:, codimension], lengths[:, 0]
    return np.divide(gap, longest, out=np.zeros_like(gap), where=longest > 0)


def mean_space(bases: Array, weights: Array) -> Array:
    """Return the leading directions (D, c) of the weighted mean projector on bases (n, D, c)."""
    mean = np.tensordot(bases * weights[:, None, None], bases, axes=((0, 2), (0, 2)))
    return np.linalg.eigh(mean)[1][:, ::-1][:, : bases.shape[2]]


def _votes_for_winner(
    spaces: Array, weights: Array, codimension: int, tolerance: float, random: np.random.Generator
) -> Array:
    """Return each row's vote (n,) for the candidate space that gets the largest weighted sum.

    spaces: rows of `projectors`; candidates are up to 500 of them.
    """
    candidates = np.flatnonzero(weights)
    if len(candidates) > CANDIDATES:
        candidates = random.choice(candidates, CANDIDATES, replace=False)
    width = len(candidates)
    totals = sum(
        weight @ _votes(part, spaces[candidates], codimension, tolerance)
        for part, weight in zip(blocks(spaces, width), blocks(weights, width), strict=True)
    )
    winner = spaces[candidates[[np.argmax(totals)]]]
    return _votes(spaces, winner, codimension, tolerance)[:, 0]


def _votes(spaces: Array, candidates: Array, codimension: int, tolerance: float) -> Array:
    """Return each space's vote for each candidate: 1 if they coincide, 0 from the tolerance on.

    Both are rows of `projectors`. The squared sine of the angle between two spaces is the sum over
    their principal angles.
    """
    squared_sines = codimension - spaces @ candidates.T
    return np.clip(1.0 - squared_sines / np.sin(tolerance) ** 2, 0.0, 1.0)


def _at_each_row(
    rows: Array, degree: int, n_polynomials: int, summary: Callable[[Array], Array]
) -> Array:
    """Return ``summary`` of the gradients (b, m, D) of the vanishing polynomials, for all rows.

    It is applied block by block, and the results (b, ...) are joined.
    """
    rows = unit_rows(rows)
    coefficients = vanishing(rows, degree, n_polynomials)
    width = max(len(coefficients), n_polynomials * rows.shape[1])
    parts = [summary(gradients(block, coefficients, degree)) for block in blocks(rows, width)]
    return np.concatenate(parts)


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
    # LAPACK's faster driver may fail to converge if many singular values are rounding.
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
