"""What the loop asks of data: fit subspaces to labels, and assign every row to one of them.

Each kind of data is one implementation: rows in view (`data/in_view.py`); rows in blocks, in
memory, in a file, sparse, on a device or with Dask's workers (`data/in_blocks.py`). How it gets
from one fit to the next, by a warm start, or by looking only at what changed, is its own affair.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subspaces.core import partition

Array = NDArray[np.floating]


@dataclass(frozen=True)
class Fitted:
    """Labels and the subspaces that belong to them.

    labels (n,), in whatever form the data keep them; exact: whether the subspaces are those of the
    labels, not only near them; subspaces: of data that hold them, None where the labels tell.
    """

    labels: Any
    exact: bool = True
    subspaces: Any = None


@dataclass(frozen=True)
class Assignment:
    """Where every row goes, and what the partition costs that it comes from.

    labels (n,): the cluster of least cost of every row; objective: the rows' costs under their own
    clusters, summed; merit: what the partitions of a run are compared by, lowest best; moved: how
    many rows leave their cluster; subspaces: those that the objective is under, None where the
    labels tell.
    """

    labels: Any
    objective: float
    merit: float
    moved: int
    subspaces: Any = None


class Samples(ABC):
    """The rows as the loop reaches them.

    dimensions (K,): of the clusters' subspaces; finishes: whether a run ends with subspaces that
    are exactly those of its labels.
    """

    dimensions: tuple[int, ...]
    finishes: bool = True

    @abstractmethod
    def fit(self, labels: Any) -> Fitted:
        """The subspaces of a partition; the one of the last assignment is the usual case."""

    @abstractmethod
    def assign(self, here: Fitted) -> Assignment:
        """The cluster of least cost of every row; a row that ties with it stays."""

    def begin(self, start: Any) -> Fitted:
        """Begin a run at first labels; nothing of an earlier run is seen."""
        return self.fit(start)

    def too_small(self, here: Fitted) -> list[int]:
        """Clusters with fewer members than their dimension needs."""
        return partition.too_small(here.labels, self.dimensions)

    def is_empty(self, here: Fitted, cluster: int) -> bool:
        """Whether a cluster has no members."""
        return not np.any(here.labels == cluster)

    def degenerate(self, here: Fitted) -> list[int]:
        """Clusters whose members do not span their axes."""
        return []

    def refill(self, here: Fitted, cluster: int, random: partition.Draw) -> Fitted:
        """Begin a cluster again, with the neighbours of a random row."""
        labels = partition.refill(here.labels, cluster, self.dimensions, random, self.closeness)
        return self.fit(labels)

    def closeness(self, row: int) -> Array:
        """How near every row is to one, (n,): the larger the nearer."""
        raise NotImplementedError

    def key(self, here: Fitted) -> Hashable:
        """What a partition is known by when it comes back."""
        return here.labels.tobytes()

    def finished(self, here: Fitted, found: Assignment) -> tuple[float, Any]:
        """Objective and subspaces of the partition that a run ends with."""
        return found.objective, found.subspaces
