"""Robust shape interaction matrix (RSIM) [Ji, Salzmann & Li 2015].

With ``X = U S V^T`` of rank r, the entry ``(U U^T)_ij`` is zero for rows of two different subspaces
if the subspaces are independent: that is the shape interaction matrix [Costeira & Kanade 1998]. It
breaks under noise, mostly because the rank r is then unknown. RSIM makes it a graph

    A_ij = max(<u_i, u_j>, 0)^gamma,   u_i the rows of U_r at unit length,   gamma = 3.5

for every rank r in a range, cuts each graph, and keeps the rank of the least

    cut(A) / (mu_K - mu_{K+1})

``cut(A)`` is the sum of the weights between rows of different clusters, each pair counted twice;
``mu_1 >= mu_2 >= ...`` are the eigenvalues of ``D^-1 A``, so the denominator is the eigengap of the
normalised Laplacian. This is the rule of the authors' program, which divides the plain cut, not the
normalised one. Its power of a negative product is imaginary for gamma = 3.5, and only real parts
count: that is the ``max`` above. A subspace through the origin holds the mirror image of each of
its points, too, so for linear subspaces ``|<u_i, u_j>|`` is taken instead.

The graph is cut by the leading eigenvectors of

    (D + I)^-1/2 (A + I / 2) (D + I)^-1/2

as in the program for normalised cuts that the authors use [Shi & Malik 2000]. The added terms keep
single rows with weak links from becoming clusters.

======  ============  ======  ======================================================
symbol  name          shape   meaning
======  ============  ======  ======================================================
U       left          (n, l)  left singular vectors; l is the rank of the rows
A       affinity      (n, n)  weights of the graph
D       degrees       (n,)    sums of the rows of A
gamma   power                 how much larger products are preferred to smaller ones
======  ============  ======  ======================================================
"""

from dataclasses import dataclass

import numpy as np

from subspaces._types import Array, Labels
from subspaces.starts.self_expression import unit_rows
from subspaces.starts.spectral import leading_eigenpairs, normalised, rows_to_labels
from subspaces.subspace import principal_axes

# What the program for normalised cuts adds to the diagonal of A; the degrees get twice as much.
REGULARISATION = 0.5
# If a gap between eigenvalues (at most 1) is below this, it is rounding of single precision: the
# graph has no K clusters.
SMALLEST_GAP = 1e-6


@dataclass(frozen=True)
class RankedCut:
    """The clusters (n,) found with one rank, and their cut relative to the eigengap."""

    rank: int
    labels: Labels
    relative_cut: float


def best_cut(
    points: Array,
    n_clusters: int,
    greatest_rank: int,
    power: float,
    random: np.random.Generator,
    *,
    mirrored: bool,
) -> RankedCut:
    """Return the cut of the rank, from K to ``greatest_rank``, that is least for its eigengap.

    points (n, p): the rows, with a constant column for affine subspaces. mirrored: whether a row
    and its mirror image belong together, as in linear subspaces.
    """
    left = left_singular_vectors(points)
    greatest = min(greatest_rank, left.shape[1])
    cuts = []
    for rank in range(min(n_clusters, greatest), greatest + 1):
        affinity = shape_interaction(left[:, :rank], power, mirrored=mirrored)
        labels = regularised_cut(affinity, n_clusters, random)
        gap = eigengap(affinity, n_clusters, random)
        relative = cut_weight(affinity, labels) / gap if gap > SMALLEST_GAP else np.inf
        cuts.append(RankedCut(rank, labels, relative))
    return min(cuts, key=lambda cut: cut.relative_cut)


def left_singular_vectors(points: Array) -> Array:
    """Return U, (n, l), of ``points = U S V^T`` cut at the numerical rank l."""
    axes = principal_axes(points)
    return axes.coordinates / np.sqrt(axes.eigenvalues)


def shape_interaction(left: Array, power: float, *, mirrored: bool) -> Array:
    """Return the weights A (n, n) of the graph, from singular vectors (n, r), in float32.

    Single precision is enough for a cut, and takes a third of the time.
    """
    unit = unit_rows(left).astype(np.float32)
    products = unit @ unit.T
    products = np.abs(products) if mirrored else np.maximum(products, 0.0)
    with np.errstate(divide="ignore"):  # of zeros
        return np.exp(power * np.log(products))


def eigengap(affinity: Array, n_clusters: int, random: np.random.Generator) -> float:
    """Return ``mu_K - mu_{K+1}``, between eigenvalues of ``D^-1 A``; those of D^-1/2 A D^-1/2."""
    values, _ = leading_eigenpairs(normalised(affinity), n_clusters + 1, random)
    return float(values[1] - values[0])


def regularised_cut(affinity: Array, n_clusters: int, random: np.random.Generator) -> Labels:
    """Return labels (n,) that cut the graph in K, no part being single rows with weak links."""
    _, vectors = leading_eigenpairs(regularised(affinity), n_clusters, random)
    return rows_to_labels(vectors, n_clusters, random)


def regularised(affinity: Array) -> Array:
    """Return ``(D + I)^-1/2 (A + I / 2) (D + I)^-1/2``, (n, n)."""
    scale = 1.0 / np.sqrt(affinity.sum(axis=1) + 2.0 * REGULARISATION)
    weights: Array = affinity * scale * scale[:, None]
    weights[np.diag_indices_from(weights)] += REGULARISATION * scale**2
    return weights


def cut_weight(affinity: Array, labels: Labels) -> float:
    """Return the sum of ``A_ij`` over all i and j in different clusters."""
    members = (labels[:, None] == np.unique(labels)).astype(affinity.dtype)
    others = affinity.sum(axis=1)[:, None] - affinity @ members
    return float(others[members > 0].sum(dtype=np.float64))
