"""Spectral clustering of a graph, dense or sparse, and K-means: the last step of several methods.

The K leading eigenvectors of ``D^-1/2 A D^-1/2``, rows scaled to unit length, K-means on these
[Ng, Jordan & Weiss 2002]. A sparse graph of up to 300 vertices is made dense.
"""

import warnings
from contextlib import nullcontext, suppress
from typing import TypeAlias

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from sklearn import config_context
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from subspaces._types import Array, Indices, Labels, Sparse
from subspaces.core.criteria import costs
from subspaces.core.likelihood import Data
from subspaces.core.partition import Partition, smallest_size
from subspaces.core.problem import Problem
from subspaces.runtime.threads import changed_filters, one_blas_thread
from subspaces.starts.self_expression import unit_rows
from subspaces.subspace import largest_eigenpairs

# A dense array or a scipy sparse one, (n, n), symmetric, no entry below 0.
Affinity: TypeAlias = Array | Sparse

# Up to so many vertices LAPACK takes the dense matrix; beyond, Lanczos' method is quicker, until
# residuals are this share of their eigenvalue: the rows of the embedding are clustered, not read.
DIRECT, LANCZOS_TOLERANCE = 300, 1e-8
# Starts of K-means on the rows of an embedding, as in scikit-learn's spectral clustering.
KMEANS_STARTS = 10


def cut(
    graph: Affinity, n_clusters: int, random: np.random.Generator, n_vectors: int | None = None
) -> Labels:
    """Return labels (n,) that cut a graph (n, n) by its K leading eigenvectors, or ``n_vectors``.

    More than K tell clusters apart that share a leading one.
    """
    n = graph.shape[0]
    if n_clusters >= n:
        return np.arange(n)
    vectors = embedding(graph, min(n_vectors or n_clusters, n - 1), random)
    return rows_to_labels(vectors, n_clusters, random)


def normalised(graph: Affinity) -> Affinity:
    """Return the normalised graph ``D^-1/2 A D^-1/2``, D the row sums of A."""
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    scale = 1.0 / np.sqrt(np.where(degrees > 0, degrees, 1.0))
    if not sparse.issparse(graph):
        return graph * scale * scale[:, None]
    diagonal = sparse.diags_array(scale)
    return sparse.csr_array(diagonal @ graph @ diagonal)


def rows_to_labels(vectors: Array, n_clusters: int, random: np.random.Generator) -> Labels:
    """Return K-means labels (n,) of the rows of an embedding, scaled to unit length.

    A zero row stays zero.
    """
    unit = unit_rows(vectors)
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


def _squared_distances(rows: Array, squared: Array, chosen: Indices | list[int]) -> Array:
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
    scaled = normalised(affinity)
    if not sparse.issparse(scaled):
        return leading_eigenpairs(scaled, n_vectors, random)[1]
    n_pieces, piece = connected_components(scaled, directed=False)
    if n_pieces == 1:
        return leading_eigenpairs(scaled, n_vectors, random)[1]
    degrees = np.asarray(affinity.sum(axis=1)).ravel()
    joined = np.flatnonzero(np.bincount(piece, degrees) > 0)
    if len(joined) >= n_vectors:
        sizes = np.bincount(piece)[joined]
        largest = joined[np.argsort(-sizes, kind="stable")[:n_vectors]]
        vectors: Array = np.sqrt(degrees)[:, None] * (piece[:, None] == largest)
        found: Array = vectors / np.linalg.norm(vectors, axis=0)
        return found
    return _by_pieces(scaled, piece, n_vectors, random)


def _by_pieces(scaled: Sparse, piece: Labels, n_vectors: int, random: np.random.Generator) -> Array:
    sizes = np.bincount(piece)
    by_piece = np.split(np.argsort(piece, kind="stable"), np.cumsum(sizes)[:-1])
    found = []
    for members in by_piece:
        block = scaled[members][:, members]
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
    scaled: Affinity, n_vectors: int, random: np.random.Generator
) -> tuple[Array, Array]:
    """Return the largest eigenvalues (n_vectors,) and their eigenvectors (n, n_vectors)."""
    n = scaled.shape[0]
    if n > max(DIRECT, n_vectors):
        first = random.normal(size=n)
        # Lanczos' method may not settle where many eigenvalues nearly coincide.
        with suppress(ArpackNoConvergence):
            found: tuple[Array, Array] = eigsh(
                scaled, k=n_vectors, which="LA", v0=first, tol=LANCZOS_TOLERANCE
            )
            return found
    dense = scaled if isinstance(scaled, np.ndarray) else scaled.toarray()
    return largest_eigenpairs(dense, n_vectors)


# Up to so many numbers threads wait for each other longer than they work.
SMALL = 1 << 20
# Runs of K-means of which a start takes the best.
RUNS = 10


def k_means_labels(rows: Array, estimator: KMeans, weights: Array | None = None) -> Labels:
    """Return the labels (n,) that a scikit-learn `KMeans` finds for numpy rows.

    weights (n,): of the rows, None if all count one. Its warning that fewer clusters were found
    than asked for is silenced. Array API dispatch is off, whatever the caller's configuration:
    scikit-learn 1.7 fails under it.
    """
    with (
        one_blas_thread() if rows.size <= SMALL else nullcontext(),
        config_context(array_api_dispatch=False),
        changed_filters(),
    ):
        warnings.simplefilter("ignore", ConvergenceWarning)
        found: Labels = estimator.fit(rows, sample_weight=weights).labels_.astype(np.intp)
        return found


def best_of_ten(problem: Problem, random: np.random.Generator) -> Labels:
    """Return the labels (n,) of the best of ten runs of K-means; the dimensions are not used."""
    seed = int(random.integers(2**31))
    estimator = KMeans(problem.n_clusters, n_init=RUNS, random_state=seed)
    return k_means_labels(problem.rows.coordinates, estimator, problem.rows.weights)


def match_dimensions(problem: Problem, parts: Labels) -> Labels:
    """Return the partition with its parts renumbered, so that each gets the dimension it fits best.

    Best is the least sum of the influence costs of all rows. The sum separates over the clusters,
    so the assignment is exact. Rows in no part stay so.
    """
    if len(set(problem.dimensions)) == 1:
        return parts
    partition = Partition(parts, problem.n_clusters)
    unused = Data(len(parts), 0, 0.0)
    unfit = 1e3 * float(problem.rows.squared_norms.sum())
    price = np.empty((problem.n_clusters, problem.n_clusters))
    for j in range(problem.n_clusters):
        members = partition.members(j)
        for r in set(problem.dimensions):
            value = unfit
            if len(members) >= smallest_size(r):
                view = problem.rows.view(members, r, problem.affine)
                value = min(float(costs("influence", [view], unused)[members, 0].sum()), unfit)
            price[j, np.equal(problem.dimensions, r)] = value
    return partition.of_own(linear_sum_assignment(price)[1], -1)
