"""A first partition of a table with holes: angles between rows over the cells that both have.

    |cos_ik| = |sum_j y_ij y_kj| / sqrt(sum_j M_kj y_ij^2 * sum_j M_ij y_kj^2),

y with zeros in the holes, M 1 where a cell was observed. A pair that shares few cells counts for
less, by the square root of its share of the usual number. The graph of nearest rows is then cut as
that of complete rows is (`graphs.py`). Nothing is filled, so that this errs in another way than the
search on a filled table does.
"""

import numpy as np

from subspaces._types import Array, Labels
from subspaces.core.incomplete import Cells
from subspaces.starts.graphs import angular_affinity, cut, normalised
from subspaces.starts.self_expression import largest

# Each row's neighbours in the graph.
NEIGHBOURS = 10
# More rows are not compared pair by pair.
MOST_ROWS = 2000


def observed_pairs(cells: Cells, n_clusters: int, random: np.random.Generator) -> Labels:
    """Return labels (n,) from the angles between rows over their common cells."""
    closeness = observed_cosines(cells)
    np.fill_diagonal(closeness, -1.0)
    columns = largest(closeness, min(NEIGHBOURS, len(closeness) - 1))
    nearest = np.take_along_axis(closeness, columns, axis=1).clip(0.0, 1.0)
    return cut(normalised(angular_affinity(columns, nearest)), n_clusters, random)


def observed_cosines(cells: Cells) -> Array:
    """``|cos|`` of every pair of rows over their common cells, (n, n), less where these are few."""
    common = cells.observed @ cells.observed.T
    lengths = cells.values**2 @ cells.observed.T
    product = np.sqrt(lengths * lengths.T)
    inner = np.abs(cells.values @ cells.values.T)
    cosines = np.divide(inner, product, out=np.zeros_like(inner), where=product > 0.0)
    usual = max(float(np.median(common)), 1.0)
    return cosines * np.sqrt(np.minimum(common / usual, 1.0))
