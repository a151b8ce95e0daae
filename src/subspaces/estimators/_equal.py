"""What the estimators with one dimension for all clusters share."""

from typing import Any

from sklearn.exceptions import ConvergenceWarning

from subspaces._validation import check_rank
from subspaces.core import partition
from subspaces.core.hearing import warn
from subspaces.core.subspace import centre_of, principal_axes
from subspaces.estimators._shell import Array, Labels, SubspaceClusterer


class EqualDimensionClusterer(SubspaceClusterer):
    """Base of the estimators whose flats all have the same dimension; not for use on its own."""

    random_state: Any

    def _common_dimension(self, X: Array) -> int:
        dimensions = self._dimensions(X)
        if len(set(dimensions)) > 1:
            raise ValueError(
                f"n_components={list(dimensions)} differ, and {type(self).__name__} has one "
                f"dimension for all clusters. Use n_components={max(dimensions)}, the largest"
            )
        return dimensions[0]

    def _points(self, X: Array, affine: bool) -> Array:
        """The samples in their principal axes: the same distances in as few numbers as it takes."""
        points = principal_axes(X - centre_of(X, affine)).coordinates
        check_rank(points.shape[1], 0, affine)
        return points

    def _identified(self, dimension: int, rank: int, affine: bool) -> int:
        """The dimension to cluster with: a flat that holds every sample tells none apart."""
        if self.n_clusters == 1:
            return min(dimension, rank)
        most = max(rank - 1, 0 if affine else 1)
        if dimension >= rank:
            warn(
                f"n_components={dimension} equals the rank of X, {rank}, or exceeds it: one flat "
                f"would hold every sample, so {most} is used. Use less than the rank",
            )
        return min(dimension, most)

    def _store(self, X: Array, labels: Labels, dimension: int, affine: bool) -> None:
        """Labels and flats; fewer of them than asked for where the data give no more."""
        self.labels_ = partition.canonical(labels)
        found = int(self.labels_.max()) + 1
        if found < self.n_clusters:
            warn(
                f"only {found} of n_clusters={self.n_clusters} clusters have samples. Use fewer "
                "clusters or a smaller dimension",
                ConvergenceWarning,
            )
        self._store_flats(X, [dimension] * found, affine)
