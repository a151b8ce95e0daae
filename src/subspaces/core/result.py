"""What a run of the loop leaves behind."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Clustering:
    """A partition with the way it was reached.

    labels (n,); objective, of this partition; path, the objective at every sweep; stop_reason,
    "converged" (no label of this partition moves), "overshot" (no label moved any more, in a worse
    partition than this, which was met before), "cycle" (a partition returned), "max_iter",
    "infeasible" (a cluster could not be kept alive), "local minimum" (after a descent), "refined"
    (a mixture moved labels at the end) or "not swept"; repairs, how often a cluster was refilled on
    the way, after the first partition; moving, how many rows would leave their cluster next;
    subspaces, those that the objective is under: flats in passes, the basis (p, R) of every cluster
    with sparse loadings, None where the labels tell.
    """

    labels: Any
    objective: float
    path: tuple[float, ...]
    stop_reason: str
    repairs: int
    moving: int = 0
    subspaces: Any = None

    @property
    def n_iter(self) -> int:
        """Number of sweeps."""
        return len(self.path)
