"""Spectral clustering of a graph, dense or sparse: the last step of several methods.

The K leading eigenvectors of ``D^-1/2 A D^-1/2``, rows scaled to unit length, K-means on these
[Ng, Jordan & Weiss 2002]. A sparse graph of up to 300 vertices is made dense.
"""

from contextlib import suppress
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from sklearn.cluster import KMeans

from subspaces._types import Array, Labels
from subspaces.starts.k_means import k_means_labels
from subspaces.subspace import largest_eigenpairs

# A dense array or a scipy sparse one, (n, n), symmetric, no entry below 0.
Affinity = Any

# Up to so many vertices LAPACK takes the dense matrix; beyond, Lanczos' method is quicker, until
# residuals are this share of their eigenvalue: the rows of the embedding are clustered, not read.
DIRECT, LANCZOS_TOLERANCE = 300, 1e-8
# Starts of K-means on the rows of an embedding, as in scikit-learn's spectral clustering.
KMEANS_STARTS = 10


def spectral_labels(affinity: Affinity, n_clusters: int, random: np.random.Generator) -> Labels:
    """Return labels (n,) that cut a graph, given by symmetric non-negative affinities (n, n)."""
    n = affinity.shape[0]
    if n_clusters >= n:
        return np.arange(n)
    return rows_to_labels(embedding(affinity, n_clusters, random), n_clusters, random)


def rows_to_labels(vectors: Array, n_clusters: int, random: np.random.Generator) -> Labels:
    """Return K-means labels (n,) of the rows of an embedding, scaled to unit length.

    A zero row stays zero.
    """
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    seed = int(random.integers(2**31))
    distinct, labels = np.unique(unit.round(12), axis=0, return_inverse=True)
    if len(distinct) <= n_clusters:
        return labels
    k_means = KMeans(n_clusters, init=spread_centres, n_init=KMEANS_STARTS, random_state=seed)
    return k_means_labels(unit, k_means)


def spread_centres(rows: Array, n_clusters: int, *, random_state: np.random.RandomState) -> Array:
    """Return K rows as centres, by greedy k-means++ [Arthur & Vassilvitskii 2007].

    Each is the best of a few draws. The draws are scikit-learn's, without its checks at every step,
    which take longer than all else on a few hundred rows.
    """
    squared = np.einsum("ij,ij->i", rows, rows)
    trials = 2 + int(np.log(n_clusters))
    chosen = [int(random_state.random_sample() * len(rows))]
    nearest = _squared_distances(rows, squared, chosen)[0]
    while len(chosen) < n_clusters:
        places = random_state.uniform(size=trials) * nearest.sum()
        drawn = np.searchsorted(np.cumsum(nearest), places).clip(max=len(rows) - 1)
        distances = np.minimum(_squared_distances(rows, squared, drawn), nearest)
        best = int(np.argmin(distances.sum(axis=1)))
        nearest = distances[best]
        chosen.append(int(drawn[best]))
    return rows[chosen]


def _squared_distances(rows: Array, squared: Array, chosen: Any) -> Array:
    """Return the squared distances (m, n) of all rows from the m chosen ones."""
    products = rows[chosen] @ rows.T
    return np.maximum(squared[chosen][:, None] - 2.0 * products + squared, 0.0)


def embedding(affinity: Affinity, n_vectors: int, random: np.random.Generator) -> Array:
    """Return the leading eigenvectors of the normalised affinity, (n, n_vectors).

    A sparse graph in several pieces has the eigenvalue 1 once for each piece with an edge, which
    Lanczos' method may miss, so each piece is solved on its own; of equal eigenvalues those of
    larger pieces come first. To this eigenvalue belong the square roots of the degrees, so as many
    such pieces as vectors need no solving.
    """
    degrees = np.asarray(affinity.sum(axis=1)).ravel()
    scale = 1.0 / np.sqrt(np.where(degrees > 0, degrees, 1.0))
    if not sparse.issparse(affinity):
        return leading_eigenpairs(affinity * scale * scale[:, None], n_vectors, random)[1]
    diagonal = sparse.diags_array(scale)
    normalised = sparse.csr_array(diagonal @ affinity @ diagonal)
    n_pieces, piece = connected_components(normalised, directed=False)
    if n_pieces == 1:
        return leading_eigenpairs(normalised, n_vectors, random)[1]
    joined = np.flatnonzero(np.bincount(piece, degrees) > 0)
    if len(joined) >= n_vectors:
        sizes = np.bincount(piece)[joined]
        largest = joined[np.argsort(-sizes, kind="stable")[:n_vectors]]
        vectors: Array = np.sqrt(degrees)[:, None] * (piece[:, None] == largest)
        return vectors / np.linalg.norm(vectors, axis=0)
    return _by_pieces(normalised, piece, n_vectors, random)


def _by_pieces(
    normalised: Affinity, piece: Labels, n_vectors: int, random: np.random.Generator
) -> Array:
    sizes = np.bincount(piece)
    by_piece = np.split(np.argsort(piece, kind="stable"), np.cumsum(sizes)[:-1])
    found = []
    for members in by_piece:
        block = normalised[members][:, members]
        values, vectors = leading_eigenpairs(block, min(n_vectors, len(members)), random)
        found += [
            (round(float(value), 10), len(members), members, vector)
            for value, vector in zip(values, vectors.T, strict=True)
        ]
    found.sort(key=lambda pair: pair[:2], reverse=True)
    whole = np.zeros((len(piece), n_vectors))
    for column, (_, _, members, vector) in enumerate(found[:n_vectors]):
        whole[members, column] = vector
    return whole


def leading_eigenpairs(
    normalised: Affinity, n_vectors: int, random: np.random.Generator
) -> tuple[Array, Array]:
    """Return the largest eigenvalues (n_vectors,) and their eigenvectors (n, n_vectors)."""
    n = normalised.shape[0]
    if n > max(DIRECT, n_vectors):
        first = random.normal(size=n)
        # Lanczos' method may not settle where many eigenvalues nearly coincide.
        with suppress(ArpackNoConvergence):
            return eigsh(normalised, k=n_vectors, which="LA", v0=first, tol=LANCZOS_TOLERANCE)
    dense = normalised.toarray() if sparse.issparse(normalised) else normalised
    return largest_eigenpairs(dense, n_vectors)
