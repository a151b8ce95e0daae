"""What the loop asks of data: fit subspaces to labels, and assign every row to one of them.

Each kind of data is one implementation: rows in view (`data/in_view.py`), and rows in blocks, which
lie in memory, in a file, in a sparse matrix, on a device or with Dask's workers
(`data/in_blocks.py`). An implementation may start a fit from the last one, or fit only the clusters
that changed.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from subspaces._types import Array
from subspaces.core import partition


@dataclass(frozen=True)
class Fitted:
    """Labels and the subspaces fitted to them.

    labels (n,): one array, or one per block where rows come in blocks; is_exact_pca: whether the
    subspaces are the PCA of the clusters, False if an iteration has only come near it; subspaces:
    None where `assign` finds them from the labels.
    """

    labels: Any
    is_exact_pca: bool = True
    subspaces: Any = None


@dataclass(frozen=True)
class Assignment:
    """The next label of every row, and the objective of the partition that was scored.

    labels (n,): the cluster of least cost of every row; objective: the rows' costs under their own
    clusters, summed; iteration_cost: what partitions within one run are compared by, lowest is
    best, as a rule the objective; moved: how many rows leave their cluster; subspaces: those that
    the objective was computed with, None if the labels determine them.
    """

    labels: Any
    objective: float
    iteration_cost: float
    moved: int
    subspaces: Any = None


class Samples(ABC):
    """Interface of the rows to the loop: fit subspaces to labels, assign rows, refill clusters.

    dimensions (K,): of the clusters' subspaces; finishes: whether a run ends with subspaces that
    are exactly those of its labels.
    """

    dimensions: tuple[int, ...]
    finishes: bool = True

    @abstractmethod
    def fit(self, labels: Any) -> Fitted:
        """Return labels, as a rule those of the last `assign`, with subspaces fitted to them."""

    @abstractmethod
    def assign(self, fitted: Fitted) -> Assignment:
        """Return each row's cluster of least cost as an `Assignment`; a tie keeps the label."""

    def begin(self, start: Any) -> Fitted:
        """Return the fit of a run's first labels, without any state of earlier runs."""
        return self.fit(start)

    def too_small(self, fitted: Fitted) -> list[int]:
        """Return the indices of the clusters with fewer members than their dimension needs."""
        return partition.too_small(fitted.labels, self.dimensions)

    def is_empty(self, fitted: Fitted, cluster: int) -> bool:
        """Return whether a cluster has no members."""
        return not np.any(fitted.labels == cluster)

    def degenerate(self, fitted: Fitted) -> list[int]:
        """Return the indices of the clusters whose members do not span their axes."""
        return []

    def refill(self, fitted: Fitted, cluster: int, random: partition.Draw) -> Fitted:
        """Return the fit with a cluster's members replaced by neighbours of a random row."""
        labels = partition.refill(fitted.labels, cluster, self.dimensions, random, self.closeness)
        return self.fit(labels)

    def closeness(self, row: int) -> Array:
        """How near every row is to the row of this number, (n,): larger is nearer."""
        raise NotImplementedError

    def key(self, fitted: Fitted) -> Hashable:
        """Return a hashable key, equal for equal labels, by which the loop finds cycles."""
        return fitted.labels.tobytes()

    def finished(self, fitted: Fitted, found: Assignment) -> tuple[float, Any]:
        """Return the objective and the subspaces of the partition that a run ends with."""
        return found.objective, found.subspaces
