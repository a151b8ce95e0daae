"""What stays the same from start to start."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from subspaces.core.likelihood import Data
from subspaces.core.partition import DEGENERATE
from subspaces.core.rows import ClusterView, Rows
from subspaces.core.sparse_basis import Sparsity, sparse_view

Array = NDArray[np.floating]
Labels = NDArray[np.intp]


@dataclass(frozen=True)
class Problem:
    """Rows, dimensions, criterion, linear or affine, dense or sparse."""

    rows: Rows
    dimensions: tuple[int, ...]
    criterion: str
    affine: bool
    sparsity: Sparsity | None = None

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.dimensions)

    @property
    def allowed_variables(self) -> tuple[int | None, ...]:
        """Number of variables per loading of each cluster; None for all."""
        if self.sparsity is None:
            return (None,) * self.n_clusters
        return self.sparsity.n_variables

    @property
    def identified(self) -> bool:
        """Whether the criterion can tell the clusters apart.

        A cluster as large as the space that holds all rows fits every row without error.
        """
        return max(self.dimensions) < self.rows.rank

    @property
    def interchangeable(self) -> bool:
        """Whether the numbers of the clusters mean nothing: same dimension, same variables."""
        return len({*zip(self.dimensions, self.allowed_variables, strict=True)}) == 1

    @property
    def alike(self) -> bool:
        """Whether all clusters have one dimension, below the rank of the data."""
        return len(set(self.dimensions)) == 1 and self.identified

    @cached_property
    def data(self) -> Data:
        """Facts on all rows."""
        n, rank = len(self.rows.squared_norms), self.rows.rank
        return Data(n, rank, self.rows.energy / (n * max(rank, 1)))

    @cached_property
    def faintest(self) -> Array:
        """Energy along its last axis that a cluster must have for each member, (K,).

        With less the members do not span their axes, against what all rows span.
        """
        found = self.rows.leading(max(*self.dimensions, 1))
        whole = np.zeros(max(self.dimensions) + 2)
        whole[1 : len(found) + 1] = found
        return DEGENERATE * whole[list(self.dimensions)] / len(self.rows.squared_norms)

    def subset(self, indices: Labels) -> "Problem":
        """The same problem on some of the rows."""
        return replace(self, rows=self.rows.subset(indices))

    def view(self, k: int, members: Labels, known: ClusterView | None = None) -> ClusterView:
        """The PCA of the members of cluster k; sparse loadings start from the known ones."""
        if self.sparsity is None:
            return self.rows.view(members, self.dimensions[k], self.affine)
        return sparse_view(
            self.rows, members, self.dimensions[k], self.affine, self.sparsity, k, known
        )


def view_clusters(
    problem: Problem, labels: Labels, known: Sequence[ClusterView] = ()
) -> list[ClusterView]:
    """The PCA of every cluster; those whose members did not change are taken over."""
    views = []
    for k in range(problem.n_clusters):
        members = np.flatnonzero(labels == k)
        before = known[k] if k < len(known) else None
        if before is not None and np.array_equal(before.members, members):
            views.append(before)
        else:
            views.append(problem.view(k, members, before))
    return views


def degenerate(problem: Problem, views: Sequence[ClusterView]) -> list[int]:
    """Clusters whose members do not span their axes, against what all rows span."""
    needed = zip(views, problem.dimensions, problem.faintest, strict=True)
    return [
        k
        for k, (view, r, least) in enumerate(needed)
        if r and (view.n_components < r or view.eigenvalues[r - 1] < least * view.size)
    ]
