"""Ensemble K-subspaces: the co-association graph of many partitions, and its cut.

``A_ij`` is the share of B partitions in which rows i and j are together: ``A = (1/B) Z Z^T`` with Z
the sparse indicators of all clusters of all partitions side by side, (n, clusters). The q largest
entries of each row, and those of each column, are kept, and the two results averaged [Lipor, Hong,
Tan & Balzano 2021]. A is symmetric, so this is ``(R + R^T) / 2`` with R the thinned rows.

A is formed some rows at a time, with at most `BLOCK` entries at once: above 2048 rows the whole of
A never exists. Among equal entries the rows of lowest number are kept. So the rows of a cluster
that always stay together all point to the same q rows and are connected, however small q is.
"""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from subspaces._types import Labels
from subspaces.core.partition import assign, refill, sizes
from subspaces.core.problem import Problem
from subspaces.starts.spectral import cut, match_dimensions

# Most entries of A that are formed at once: 32 MiB.
BLOCK = 2**22
# Least and largest default of q, the entries kept in each row.
FEWEST_KEPT, MOST_KEPT = 3, 200


def random_subspaces(problem: Problem, random: np.random.Generator) -> Labels:
    """Return labels (n,): the nearest of K random subspaces, each through as few rows as fix it."""
    n = len(problem.rows.squared_norms)
    residuals = []
    for dimension in problem.dimensions:
        chosen = random.choice(n, min(max(dimension + problem.affine, 1), n), replace=False)
        view = problem.rows.view(chosen, dimension, problem.affine)
        residuals.append(view.squared_residual)
    return assign(np.column_stack(residuals))


def entries_to_keep(n_samples: int, n_clusters: int) -> int:
    """Return the default q: half of n / K, at least 3 and at most 200.

    Fewer would cut the graph along small groups of rows that are together in every partition.
    """
    half = -(-n_samples // (2 * n_clusters))
    return min(max(FEWEST_KEPT, min(half, MOST_KEPT)), n_samples)


def indicators(partitions: Sequence[Labels]) -> sparse.csr_array:
    """Return Z, (n, clusters): 1 if a row is in a cluster; the partitions side by side."""
    offsets = np.cumsum([0] + [int(labels.max()) + 1 for labels in partitions])
    columns = np.column_stack([labels + o for labels, o in zip(partitions, offsets, strict=False)])
    n, b = columns.shape
    ones = np.ones(n * b, dtype=np.int32)
    return sparse.csr_array((ones, columns.ravel(), np.arange(0, n * b + 1, b)), (n, offsets[-1]))


def co_association(partitions: Sequence[Labels], kept: int, block: int = BLOCK) -> sparse.csr_array:
    """Return the graph (n, n): the ``kept`` largest entries of A in each row and column."""
    Z = indicators(partitions)
    n = Z.shape[0]
    step = max(block // n, 1)
    rows = [_largest(Z[i : i + step] @ Z.T, kept) for i in range(0, n, step)]
    cut = sparse.vstack(rows, format="csr") / len(partitions)
    return sparse.csr_array((cut + cut.T) / 2)


def graph_labels(
    problem: Problem, graph: sparse.csr_array, random: np.random.Generator
) -> tuple[Labels, int]:
    """Cut the graph into K clusters; return labels (n,) and the number of clusters not found.

    A cluster that the cut did not yield is filled with the angular neighbours of a random row. Each
    cluster has the dimension that the problem gives it.
    """
    parts = cut(graph, problem.n_clusters, random)
    missing = np.flatnonzero(sizes(parts, problem.n_clusters) == 0)
    for cluster in missing:
        parts = refill(parts, int(cluster), problem.dimensions, random, problem.rows.closeness)
    return match_dimensions(problem, parts), len(missing)


def _largest(counts: sparse.csr_array, kept: int) -> sparse.csr_array:
    """Return the ``kept`` largest entries of each row, sparse; of equal ones the first columns."""
    dense = counts.toarray().astype(np.int64)
    m, n = dense.shape
    if kept < n:
        order = dense * n - np.arange(n)
        columns = np.argpartition(-order, kept - 1, axis=1)[:, :kept]
    else:
        columns = np.broadcast_to(np.arange(n), (m, n))
    values = np.take_along_axis(dense, columns, axis=1)
    i, j = np.nonzero(values)
    return sparse.csr_array((values[i, j].astype(float), (i, columns[i, j])), (m, n))
