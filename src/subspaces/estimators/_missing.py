"""Missing cells: NaN is a cell that was not observed, in `fit` and in every prediction.

A fit fills the holes by regularised iterative PCA, clusters the filled table as any other, and then
fits a mixture of probabilistic PCA to the observed cells from these clusters, and from those of
angles over common cells: the likelihood of what was observed decides; where what it expects in the
holes is far from what was filled in, the search is made again on that
(`core/incomplete.py`). Predictions go by the same likelihood.

A model of a complete table scores a row with holes by its own criterion, at the squares that are
expected of the row (`expected`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from subspaces._types import Array, Labels
from subspaces.core import incomplete
from subspaces.core.incomplete import Cells, Fit, Gaussian, IncompleteMixture
from subspaces.runtime.warning import warn
from subspaces.starts.graphs import OBSERVED_MOST_ROWS, observed_pairs
from subspaces.subspace import Subspace, scores_and_residuals

# Fitted values in the holes are told to be low where they are so many standard deviations below the
# others, and so many standard errors (benchmarks/missing.py prints both).
TOO_LOW, SURELY = -0.05, -5.0
# What a fit expects in the holes is so many standard deviations of the noise from what PCA filled
# in where the clusters that were found in the filled table are not to be trusted.
FAR = 3.0


def has_holes(X: Any) -> bool:
    """Whether an array in memory has a missing cell."""
    is_real = isinstance(X, np.ndarray) and X.dtype.kind == "f" and X.ndim == 2
    return bool(is_real and np.isnan(np.sum(X)) and np.isnan(X).any())


@dataclass(frozen=True)
class FilledTable:
    """A table with holes: its cells and the filled table (n, p), both less ``origin`` (p,)."""

    cells: Cells
    table: Array
    origin: Array


def fill(X: Array, dimensions: Sequence[int], affine: bool) -> FilledTable:
    """Return the table with its holes filled by as many axes as all clusters have together.

    Warn where values seem to be missing because they are low, and of samples and variables with few
    values.
    """
    n, p = X.shape
    cells = incomplete.observed_cells(X)
    origin = incomplete.observed_means(cells) if affine else np.zeros(p)
    known = incomplete.known_columns(cells.observed.sum(axis=0), dimensions)
    cells = cells.of_columns(known)
    shifted = Cells((cells.values - origin) * cells.observed, cells.observed)
    together = sum(dimensions) + (len(dimensions) - 1) * affine
    rank = max(min(together, p // 2, n // 3), 1)
    found = incomplete.filled_by_pca(shifted, rank, affine)
    warn_of_low_values(cells, found.image)
    if known is not None:
        warn(
            f"{int(np.sum(known == 0))} of {p} variables have fewer than {max(dimensions) + 2} "
            f"values, too few for n_components={max(dimensions)}, and count for nothing. Leave "
            "them out, or use a smaller n_components"
        )
    few = int(np.count_nonzero(cells.counts <= max(dimensions)))
    if few:
        warn(
            f"{few} of {n} samples have no more values than their cluster has dimensions, so that "
            "hardly anything places them. Use smaller n_components, or leave them out"
        )
    return FilledTable(shifted, found.table, origin)


def fitted(
    filled: FilledTable, labels: Labels, dimensions: Sequence[int], affine: bool,
    shared: bool, max_iter: int,
) -> Fit:  # fmt: skip
    """Return the mixture that the observed cells are likeliest under, from the labels (n,).

    Where clusters are of equal dimension, a second start compares rows over their common cells; the
    likelier end is returned.
    """
    starts = [labels]
    if len(dimensions) > 1 and len(set(dimensions)) == 1 and len(labels) <= OBSERVED_MOST_ROWS:
        starts.append(observed_pairs(filled.cells, len(dimensions), np.random.default_rng(0)))
    ends = [
        incomplete.fit_mixture(
            filled.cells, start, dimensions, affine, filled.table, shared, max_iter
        )
        for start in starts
    ]
    return max(ends, key=lambda end: end.path[-1])


def refilled(filled: FilledTable, found: Fit) -> FilledTable | None:
    """Return the table filled by a mixture, if PCA had filled it too badly to search; else None.

    That is so where the two differ by far more than the noise of a cell: clusters with little
    noise, and more axes among them than PCA can find through holes.
    """
    holes = filled.cells.observed == 0
    expected = incomplete.predicted(filled.cells, found.mixture)
    away = float(np.sqrt(np.mean((expected - filled.table)[holes] ** 2)))
    if away <= FAR * np.sqrt(found.mixture.shares @ found.mixture.noise):
        return None
    return replace(filled, table=np.where(holes, expected, filled.table))


def seems_low(lower: float, z: float) -> bool:
    """Whether values seem to be missing because they are low, by `lower_in_holes`."""
    return bool(lower < TOO_LOW and z < SURELY)


def warn_of_low_values(cells: Cells, image: Array, above: int = 1) -> None:
    """Warn where values seem to be missing because they are low; image (n, p): their fit by PCA."""
    if seems_low(*incomplete.lower_in_holes(cells, image)):
        warn(
            "values seem to be missing because they are low: those expected in the holes are below "
            "the others, so that all that follows is biased. Use the variables that few samples "
            "lack, np.isnan(X).mean(axis=0) <= 0.2, and see whether the answer stays",
            above=above,
        )


def scored(X: Array, mixture: IncompleteMixture) -> Array:
    """-log joint density of each row and cluster, by the observed cells of the row, (n, K)."""
    return incomplete.joint_costs(incomplete.observed_cells(X), mixture)


def expected(
    X: Array, subspaces: Sequence[Subspace], noise: float, sizes: Sequence[float]
) -> list[tuple[Array, Array]]:
    """Return `scores_and_residuals` of rows with holes or without, of each subspace.

    Of a row with holes the residual (n,) is the squared residual that is expected of it in that
    cluster, and the scores (n, r) are the roots of the squared scores that are expected. noise: the
    variance of the noise in a cell; sizes (K,): the numbers of samples behind the spectra.
    """
    holes = np.asarray(np.isnan(X).any(axis=1))
    places = scores_and_residuals(np.where(holes[:, None], 0.0, X), subspaces)
    cells = incomplete.observed_cells(X[holes])
    for (along, residual), subspace, size in zip(places, subspaces, sizes, strict=True):
        squares, residual[holes] = incomplete.expected_squares(cells, subspace, noise, size)
        along[holes] = np.sqrt(squares)
    return places


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
    shares, noise = mixture.shares[list(order)], mixture.noise[list(order)]
    return IncompleteMixture(clusters, shares, noise)
