"""Missing cells: NaN is a cell that was not observed, in `fit` and in every prediction.

A fit fills the holes by regularised iterative PCA, clusters the filled table as any other, and then
fits a mixture of probabilistic PCA to the observed cells from these clusters: the likelihood of
what was observed decides (`core/incomplete.py`). Predictions go by the same likelihood.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subspaces.core import incomplete
from subspaces.core.incomplete import Cells, Gaussian, IncompleteMixture
from subspaces.runtime.warning import warn

Array = NDArray[np.floating]

# Fitted values in the holes so many standard deviations below the others are told: where cells are
# missing at random it is within .03, where low values are missing -.29 and less. Of few holes it
# has to be so many standard errors of their mean.
TOO_LOW, SURELY = -0.2, 4.0


def has_holes(X: Any) -> bool:
    """Whether an array in memory has a missing cell."""
    is_real = isinstance(X, np.ndarray) and X.dtype.kind == "f" and X.ndim == 2
    return bool(is_real and np.isnan(np.sum(X)) and np.isnan(X).any())


@dataclass(frozen=True)
class Filled:
    """A table with holes: its cells and the filled table (n, p), both less ``origin`` (p,)."""

    cells: Cells
    table: Array
    origin: Array


def fill(X: Array, dimensions: Sequence[int], affine: bool) -> Filled:
    """Return the table with its holes filled by as many axes as all clusters have together.

    Warn where values seem to be missing because they are low, and of samples with few values.
    """
    n, p = X.shape
    cells = incomplete.observed_cells(X)
    origin = incomplete.observed_means(cells) if affine else np.zeros(p)
    shifted = Cells((cells.values - origin) * cells.observed, cells.observed)
    together = sum(dimensions) + (len(dimensions) - 1) * affine
    rank = max(min(together, p // 2, n // 3), 1)
    table = incomplete.filled_by_pca(shifted, rank, affine)
    _warn_of_low_values(cells, rank)
    few = int(np.count_nonzero(cells.counts <= max(dimensions)))
    if few:
        warn(
            f"{few} of {n} samples have no more values than their cluster has dimensions, so that "
            "hardly anything places them. Use smaller n_components, or leave them out"
        )
    return Filled(shifted, table, origin)


def _warn_of_low_values(cells: Cells, rank: int) -> None:
    lower = incomplete.missing_not_at_random(cells, incomplete.filled_by_pca(cells, rank, True))
    n_holes = cells.observed.size - float(cells.observed.sum())
    if lower < min(TOO_LOW, -SURELY / np.sqrt(n_holes)):
        warn(
            "values seem to be missing because they are low (fitted values in the holes are "
            f"{-lower:.2g} standard deviations below the others), so that all that follows is "
            "biased. Use what is known of the limit of detection"
        )


def scored(X: Array, mixture: IncompleteMixture) -> Array:
    """-log joint density of each row and cluster, by the observed cells of the row, (n, K)."""
    return incomplete.joint_costs(incomplete.observed_cells(X), mixture)


def imputed(X: Array, mixture: IncompleteMixture) -> Array:
    """Return X with what the mixture expects in its holes; observed cells are as they were."""
    cells = incomplete.observed_cells(X)
    return np.where(cells.observed == 0, incomplete.predicted(cells, mixture), X)


def placed(X: Array, cluster: Gaussian, noise: float) -> tuple[Array, Array]:
    """Return where rows are expected in a cluster's subspace: points (n, p) and scores (n, R)."""
    found = incomplete.posterior(incomplete.observed_cells(X), cluster, noise)
    return cluster.centre + found.scores @ cluster.loadings.T, found.scores


def moved(mixture: IncompleteMixture, origin: Array, order: Sequence[int]) -> IncompleteMixture:
    """Return the mixture with ``origin`` added to the centres, its clusters in another order."""
    chosen = [mixture.clusters[k] for k in order]
    clusters = tuple(Gaussian(each.loadings, each.centre + origin) for each in chosen)
    return IncompleteMixture(clusters, mixture.shares[list(order)], mixture.noise[list(order)])
