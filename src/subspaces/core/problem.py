"""The clustering problem: rows, dimensions and criterion, which all starts share."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from subspaces._types import Array, Indices, Labels
from subspaces.core.likelihood import Data
from subspaces.core.partition import DEGENERATE, Partition
from subspaces.core.rows import ClusterView, DenseRows, Rows, choose_rows
from subspaces.core.sparse_loadings import Sparsity
from subspaces.core.sparse_view import sparse_view
from subspaces.runtime.threads import cached_property


@dataclass(frozen=True)
class Problem:
    """Rows, the dimension of every cluster, the criterion, linear or affine, dense or sparse.

    quick: whether left-out errors may be approximate, since sweeps with exact ones follow.
    """

    rows: Rows
    dimensions: tuple[int, ...]
    criterion: str
    affine: bool
    sparsity: Sparsity | None = None
    quick: bool = False

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.dimensions)

    @property
    def allowed_variables(self) -> tuple[int | None, ...]:
        """Number of variables per loading of each cluster, (K,); None means all variables."""
        if self.sparsity is None:
            return (None,) * self.n_clusters
        return self.sparsity.n_variables

    @property
    def identified(self) -> bool:
        """Whether every dimension is below the rank of the rows: costs tell clusters apart.

        A cluster of as many dimensions as the rank fits every row without error.
        """
        return max(self.dimensions) < self.rows.rank

    @property
    def interchangeable(self) -> bool:
        """Whether all clusters have equal dimensions and numbers of variables."""
        return len({*zip(self.dimensions, self.allowed_variables, strict=True)}) == 1

    @property
    def of_means(self) -> bool:
        """Whether every cluster is its mean and nothing else: affine, of dimension 0."""
        return self.affine and not any(self.dimensions)

    @property
    def alike(self) -> bool:
        """Whether all clusters have the same dimension, and it is below the rank of the rows."""
        return len(set(self.dimensions)) == 1 and self.identified

    @cached_property
    def data(self) -> Data:
        """Weight, rank and mean variance per direction of all rows, for likelihoods."""
        n, rank = self.rows.total, self.rows.rank
        return Data(n, rank, self.rows.energy / (n * max(rank, 1)))

    @cached_property
    def least_energy(self) -> Array:
        """Least energy per member along a cluster's last axis, (K,); below it `degenerate`.

        It is the share DEGENERATE of the energy per row that all rows have along their axis of the
        same number.
        """
        found = self.rows.leading(max(*self.dimensions, 1))
        whole = np.zeros(max(self.dimensions) + 2)
        whole[1 : len(found) + 1] = found
        return DEGENERATE * whole[list(self.dimensions)] / self.rows.total

    def subset(self, indices: Indices) -> "Problem":
        """Return the same problem for the rows at ``indices`` only."""
        rows = self.rows.subset(indices)
        if isinstance(rows, DenseRows) and self.sparsity is None:
            rows = choose_rows(rows.matrix, self.n_clusters)
        return replace(self, rows=rows)

    def view(self, k: int, members: Indices, known: ClusterView | None = None) -> ClusterView:
        """Return the PCA, or sparse loadings, of cluster k fitted to rows ``members`` (m,).

        The iteration for sparse loadings starts from those of the view ``known``.
        """
        if self.sparsity is None:
            return self.rows.view(members, self.dimensions[k], self.affine, self.quick)
        return sparse_view(
            self.rows, members, self.dimensions[k], self.affine, self.sparsity, k, known
        )


def view_clusters(
    problem: Problem, labels: Labels, known: Sequence[ClusterView] = ()
) -> list[ClusterView]:
    """Return the `ClusterView` of every cluster; known views with equal members are reused.

    Rows with the label -1 are in none, and have scores and residuals in all.
    """
    views, partition = list[ClusterView](), Partition(labels, problem.n_clusters)
    for k in range(problem.n_clusters):
        members = partition.members(k)
        before = known[k] if k < len(known) else None
        if before is not None and np.array_equal(before.members, members):
            views.append(before)
        else:
            views.append(problem.view(k, members, before))
    return views


def degenerate(problem: Problem, views: Sequence[ClusterView]) -> list[int]:
    """Return the indices of clusters with less energy on an axis than ``problem.least_energy``."""
    needed = zip(views, problem.dimensions, problem.least_energy, strict=True)
    return [
        k
        for k, (view, r, least) in enumerate(needed)
        if r and (view.n_components < r or view.eigenvalues[r - 1] < least * view.size)
    ]
