"""Numbers of clusters and their dimensions, checked against the data."""

from numbers import Integral
from typing import Any, Protocol

import numpy as np

from subspaces.core import partition
from subspaces.runtime.parameters import as_count


class HasSizes(Protocol):
    """Whatever asks for clusters: an estimator, or the settings of a fit."""

    @property
    def n_clusters(self) -> Any:
        """Number of clusters."""

    @property
    def n_components(self) -> Any:
        """Dimension of the subspaces, one for all or one for each."""


def per_cluster(
    asked: HasSizes, name: str, n_samples: int, *, low: int, high: int
) -> tuple[int, ...]:
    """Return the parameter ``name`` as K integers from ``low`` to ``high``; one stands for all."""
    why, most = f" for {n_samples} samples", n_samples
    if isinstance(asked.n_clusters, Integral) and not 1 <= int(asked.n_clusters) <= n_samples:
        most = _most_clusters(asked.n_components, n_samples)
    n_clusters = as_count(asked.n_clusters, "n_clusters", low=1, high=most, why=why)
    given = getattr(asked, name)
    given = [given] * n_clusters if np.ndim(given) == 0 else list(given)
    if len(given) != n_clusters:
        raise ValueError(
            f"{name} has {len(given)} entries for n_clusters={n_clusters}. Use "
            "an int, or one per cluster"
        )
    why = f" for {high} variables"
    return tuple(as_count(value, name, low=low, high=high, why=why) for value in given)


def _most_clusters(n_components: Any, n_samples: int) -> int:
    """Return how many clusters of a dimension so many samples allow, at least 1."""
    dimension = int(n_components) if isinstance(n_components, Integral) else 0
    return max(n_samples // partition.smallest_size(max(dimension, 0)), 1)


def dimensions_of(asked: HasSizes, X: Any, *, low: int = 1, points: bool = True) -> tuple[int, ...]:
    """Return the dimension of each cluster, checked against the number of samples and variables.

    points: whether the method takes dimension 0 where its subspaces are affine.
    """
    n, p = X.shape
    through_origin = low and points and getattr(asked, "affine", None) is False
    given = asked.n_components
    if through_origin and isinstance(given, Integral) and given <= 0:
        raise ValueError(
            f"n_components={given} is out of range for subspaces through the origin. Use 1 to {p}, "
            f"or {'0 with ' if given else ''}affine=True for clusters that are mean profiles"
        )
    dimensions = per_cluster(asked, "n_components", n, low=low, high=p)
    needed = sum(partition.smallest_size(r) for r in dimensions)
    if n < needed:
        raise ValueError(
            f"n_samples={n} is too few for n_clusters={asked.n_clusters} of "
            f"n_components={max(dimensions)}: a cluster needs n_components + 2 samples, "
            f"{needed} in all. Use fewer clusters or dimensions"
        )
    return dimensions


def check_rank(rank: int, largest: int, affine: bool) -> None:
    """Raise ValueError if the rank of X is 0, or less than the largest dimension asked for."""
    if rank == 0:
        kind = "all rows are equal" if affine else "all values are zero"
        raise ValueError(f"X has nothing to cluster: {kind}, its rank is 0. Use other data")
    if largest > rank:
        raise ValueError(
            f"n_components={largest} is more than the rank of X, {rank}"
            f"{' after centring' if affine else ''}. Use at most {rank}, or columns of like "
            "scale (a direction below 1e-7 of the largest does not count)"
        )
