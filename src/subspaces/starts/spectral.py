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

from subspaces._types import Array, Labels, Sparse
from subspaces.core.criteria import costs
from subspaces.core.likelihood import Data
from subspaces.core.partition import Partition, smallest_size
from subspaces.core.problem import Problem
from subspaces.runtime.threads import changed_filters, one_blas_thread
from subspaces.starts.self_expression import unit_rows
from subspaces.subspace import largest_eigenpairs

# A dense array or a scipy sparse one, (n, n), symmetric, no entry below 0.
Affinity: TypeAlias = Array | Sparse

# Up to this many vertices, LAPACK decomposes the dense matrix. Above it Lanczos iteration is
# faster, until residuals are this share of their eigenvalue. That is enough, because the rows of
# the embedding are only clustered.
DIRECT, LANCZOS_TOLERANCE = 300, 1e-8
# Least runs of `k_means`. They end after MOST_STEPS, or once the centres move less than the share
# SETTLED of the variance, as scikit-learn's do.
KMEANS_STARTS, MOST_STEPS, SETTLED = 5, 300, 1e-4


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
    distinct, labels = np.unique(unit.round(12), axis=0, return_inverse=True)
    return labels if len(distinct) <= n_clusters else k_means(unit, n_clusters, random)


def k_means(
    rows: Array, n_clusters: int, random: np.random.Generator, n_starts: int | None = None
) -> Labels:
    """Return the labels (n,) of the best of some runs of K-means, which go on side by side.

    n_starts: how many. By default as many as there are clusters, at least KMEANS_STARTS: of few
    runs for many clusters the best one too often leaves two clusters together.

    For some thousand rows this takes a fraction of scikit-learn's time, most of which goes to
    checks.
    """
    rows = rows - rows.mean(axis=0)
    n_starts = max(KMEANS_STARTS, n_clusters) if n_starts is None else n_starts
    centres = spread_centres(rows, n_clusters, random, n_starts)
    return settled(rows, centres, SETTLED * float(rows.var(axis=0).mean()))


def settled(rows: Array, centres: Array, still: float) -> Labels:
    """Return the labels (n,) of the best end of Lloyd's steps from centres (s, K, q).

    Steps end once the squared moves of the centres sum to at most ``still``. A row as near to two
    centres moves both. A cluster without rows keeps its centre.
    """
    centres, moving = centres.copy(), np.arange(len(centres))
    for _ in range(MOST_STEPS):
        held = centres[moving]
        distances = _offset_distances(rows, held)
        nearest = (distances == distances.min(axis=1, keepdims=True)).astype(float)
        sizes = nearest.sum(axis=2, keepdims=True)
        means = np.where(sizes > 0, nearest @ rows / np.maximum(sizes, 1.0), held)
        centres[moving] = means
        moving = moving[((means - held) ** 2).sum(axis=(1, 2)) > still]
        if not len(moving):
            break
    distances = _offset_distances(rows, centres)
    best = int(np.argmin(distances.min(axis=1).sum(axis=1)))
    return distances[best].argmin(axis=0)


def spread_centres(
    rows: Array, n_clusters: int, random: np.random.Generator, n_starts: int
) -> Array:
    """Return K rows as centres for each start, (n_starts, K, q), by greedy k-means++.

    Each is the best of a few draws [Arthur & Vassilvitskii 2007].
    """
    n, each = len(rows), np.arange(n_starts)
    squared = np.einsum("ij,ij->i", rows, rows)
    drawn, nearest = random.integers(n, size=(n_starts, 1)), np.full((n_starts, n), np.inf)
    chosen: list[Array] = []
    while len(chosen) < n_clusters:
        if chosen:
            cumulated = np.cumsum(nearest, axis=1)
            places = random.random((n_starts, 2 + int(np.log(n_clusters)))) * cumulated[:, -1:]
            pairs = zip(cumulated, places, strict=True)
            drawn = np.array([np.searchsorted(*pair) for pair in pairs]).clip(max=n - 1)
        distances = _offset_distances(rows, rows[drawn]) + squared
        distances = np.minimum(distances, nearest[:, None]).clip(min=0.0)
        best = np.argmin(distances.sum(axis=2), axis=1)
        nearest = distances[each, best]
        chosen.append(rows[drawn[each, best]])
    return np.stack(chosen, axis=1)


def _offset_distances(rows: Array, centres: Array) -> Array:
    """Return squared distances (s, K, n) of rows from centres (s, K, q), less ``|row|^2``."""
    return (centres**2).sum(axis=2, keepdims=True) - 2.0 * (centres @ rows.T)


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
        return vectors / np.linalg.norm(vectors, axis=0)
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
    """Return the largest eigenvalues (q,), ascending, and their eigenvectors (n, q)."""
    n = scaled.shape[0]
    if n > max(DIRECT, n_vectors):
        first = np.asarray(random.normal(size=n), scaled.dtype)
        tolerance = max(LANCZOS_TOLERANCE, 8.0 * float(np.finfo(scaled.dtype).eps))
        # Lanczos iteration may not settle if many eigenvalues nearly coincide.
        with suppress(ArpackNoConvergence):
            return eigsh(scaled, k=n_vectors, which="LA", v0=first, tol=tolerance)
    dense = scaled if isinstance(scaled, np.ndarray) else scaled.toarray()
    return largest_eigenpairs(dense, n_vectors)


# Up to this many numbers, threads wait longer than they work.
SMALL = 1 << 20
# K-means runs per start, which keeps the best.
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
        return estimator.fit(rows, sample_weight=weights).labels_.astype(np.intp)


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
