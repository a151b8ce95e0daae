"""The shape-interaction graph of rows on independent subspaces.

The left singular vectors U (n, r) of such rows give inner products ``u_i . u_j`` that are zero
between rows of different subspaces, if r is the sum S of their dimensions [Costeira & Kanade 1998].
With rows of U scaled to length 1, a power, and the r of the clearest gap it is robust to noise [Ji,
Salzmann & Li 2015]:

    A = |u_i . u_j|^3.5,  no diagonal,      r: of five from S/2 to S the one of least q

q is ``lambda_K / lambda_(K+1)`` of the eigenvalues lambda of the graph's normalised Laplacian,
smallest first. Rows are centred and get a constant, which makes affine subspaces linear ones; on
motion that helps linear ones, too.
"""

from dataclasses import dataclass

import numpy as np

from subspaces._types import Array
from subspaces.starts.self_expression import lifted_rows, unit_rows
from subspaces.subspace import largest_eigenpairs

N_RANKS = 5
# Eigenvalues of a normalised Laplacian, which lie in 0 to 2, are at least this: the rounding of
# single precision.
LEAST_EIGENVALUE = 1e-6


@dataclass(frozen=True)
class Interaction:
    """A graph (n, n), its K leading eigenvectors (n, K), and the quotient q of its gap, 0 to 1."""

    graph: Array
    vectors: Array
    quotient: float


def clearest(rows: Array, n_clusters: int, most: int) -> Interaction:
    """Return the graph of rows (n, p) for the rank r with the least quotient.

    most: the sum of the dimensions of the subspaces, the largest rank tried.
    """
    axes = left_vectors(lifted_rows(rows), most)
    ranks = np.linspace(-(-most // 2), most, N_RANKS).round().astype(int)
    tried = np.unique(np.minimum(ranks, axes.shape[1])).tolist()
    return min(
        (interaction(axes[:, :rank], n_clusters) for rank in tried), key=lambda each: each.quotient
    )


def interaction(axes: Array, n_clusters: int) -> Interaction:
    """Return the graph of left singular vectors (n, r), in single precision, enough for a cut."""
    unit = unit_rows(axes).astype(np.float32)
    cosines = np.abs(unit @ unit.T)
    graph = cosines**3 * np.sqrt(cosines)  # quicker than a power of 3.5
    np.fill_diagonal(graph, 0.0)
    degrees = graph.sum(axis=1)
    scale = 1.0 / np.sqrt(np.where(degrees > 0.0, degrees, 1.0))
    values, vectors = largest_eigenpairs(graph * scale * scale[:, None], n_clusters + 1)
    gap = np.maximum(1.0 - values[:2], LEAST_EIGENVALUE)  # ascending: the (K + 1)-th, the K-th
    return Interaction(graph, vectors[:, :0:-1], float(min(gap[1] / gap[0], 1.0)))


def left_vectors(rows: Array, count: int) -> Array:
    """Return the leading left singular vectors of rows (n, p), ``count`` or as many as the rank.

    From inner products: vectors whose singular value is below 1e-8 of the largest are lost.
    """
    n, p = rows.shape
    products = rows @ rows.T if n <= p else rows.T @ rows
    values, vectors = largest_eigenpairs(products, min(count, n, p))
    kept = values > max(n, p) * np.finfo(float).eps * values[-1]
    values, vectors = values[kept][::-1], vectors[:, kept][:, ::-1]
    return vectors if n <= p else rows @ vectors / np.sqrt(values)
