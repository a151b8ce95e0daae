"""How often do two rows share a cluster? The graph of an ensemble of K-subspaces runs.

``A_ij`` is the share of B partitions in which rows i and j are together: ``A = (1/B) Z Z^T`` with Z
the indicators of all clusters of all partitions side by side, (n, clusters), sparse. Of each row
and of each column the q largest entries are kept, and the two averaged [Lipor, Hong, Tan & Balzano
2021]. A being symmetric, that is ``(R + R^T) / 2`` with R the rows so cut.

A is formed some rows at a time, so that beside R no more than `BLOCK` entries exist at once: above
2048 rows never the whole of it. Ties go to the rows of lowest number. So the rows of a cluster that
always stay together all point to the same q of them and hang together, however small q is.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from subspaces.core.matching import match_dimensions
from subspaces.core.partition import assign, refill, sizes
from subspaces.core.problem import Problem
from subspaces.core.spectral import spectral_labels

Array = NDArray[np.floating]
Labels = NDArray[np.intp]

BLOCK = 2**22
MOST_KEPT, FEWEST_KEPT = 200, 3


def random_flats(problem: Problem, random: np.random.Generator) -> Labels:
    """A start: flats through as few random rows as fix them; each row to the nearest."""
    n = len(problem.rows.squared_norms)
    residuals = []
    for dimension in problem.dimensions:
        chosen = random.choice(n, min(max(dimension + problem.affine, 1), n), replace=False)
        view = problem.rows.view(chosen, dimension, problem.affine)
        residuals.append(view.squared_residual)
    return assign(np.column_stack(residuals))


def entries_to_keep(n_samples: int, n_clusters: int) -> int:
    """Half as many as a cluster has rows if all are alike; from 3 to 200.

    Fewer cut the graph along the small groups that no run ever parts.
    """
    half = -(-n_samples // (2 * n_clusters))
    return min(max(FEWEST_KEPT, min(half, MOST_KEPT)), n_samples)


def indicators(partitions: Sequence[Labels]) -> sparse.csr_array:
    """Which cluster of which partition each row is in, (n, clusters)."""
    offsets = np.cumsum([0] + [int(labels.max()) + 1 for labels in partitions])
    columns = np.column_stack([labels + o for labels, o in zip(partitions, offsets, strict=False)])
    n, b = columns.shape
    ones = np.ones(n * b, dtype=np.int32)
    return sparse.csr_array((ones, columns.ravel(), np.arange(0, n * b + 1, b)), (n, offsets[-1]))


def co_association(partitions: Sequence[Labels], kept: int, block: int = BLOCK) -> sparse.csr_array:
    """The graph: the ``kept`` largest shares of each row and column, symmetric, (n, n)."""
    Z = indicators(partitions)
    n = Z.shape[0]
    step = max(block // n, 1)
    rows = [_largest(Z[i : i + step] @ Z.T, kept) for i in range(0, n, step)]
    cut = sparse.vstack(rows, format="csr") / len(partitions)
    return sparse.csr_array((cut + cut.T) / 2)


def graph_labels(
    problem: Problem, graph: sparse.csr_array, random: np.random.Generator
) -> tuple[Labels, int]:
    """Cut the graph into clusters and give them their dimensions; how many it did not yield.

    Those are filled with the angular neighbours of a random row.
    """
    parts = spectral_labels(graph, problem.n_clusters, random)
    missing = np.flatnonzero(sizes(parts, problem.n_clusters) == 0)
    for cluster in missing:
        parts = refill(parts, int(cluster), problem.dimensions, random, problem.rows.closeness)
    return match_dimensions(problem, parts), len(missing)


def _largest(counts: sparse.csr_array, kept: int) -> sparse.csr_array:
    """The largest entries of each row; of equal ones the first."""
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
