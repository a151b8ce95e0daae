"""What a run of the loop leaves behind."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Clustering:
    """A partition with the way it was reached.

    labels (n,); objective, of this partition; path, the objective at every sweep; stop_reason,
    "converged" (no label of this partition moves), "overshot" (no label moved any more, in a worse
    partition than this, which was met before), "cycle" (a label vector returned), "max_iter",
    "infeasible" (a cluster could not be kept alive), "local minimum" (after a descent), "refined"
    (a mixture moved labels at the end) or "not swept"; repairs, how often a cluster was refilled on
    the way, after the first sweep; loadings, of sparse models, the
    basis (p, R) of every cluster that the objective is under, None where there is none.
    """

    labels: NDArray[np.intp]
    objective: float
    path: tuple[float, ...]
    stop_reason: str
    repairs: int
    loadings: tuple[NDArray[np.floating], ...] | None = None

    @property
    def n_iter(self) -> int:
        """Number of sweeps."""
        return len(self.path)
