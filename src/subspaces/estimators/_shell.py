"""What all subspace clusterers share: flats, dimensions, projection."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from subspaces._validation import as_choice, as_count
from subspaces.core import partition
from subspaces.core.hearing import warn
from subspaces.core.subspace import (
    PrincipalAxes,
    Subspace,
    centre_of,
    coordinates,
    leading,
    principal_axes,
    project,
    scores_and_residuals,
    squared_residual,
)
from subspaces.estimators._recorded import Array, Labels, RecordedClusterer
from subspaces.preparation import in_raw_units

__all__ = ["Array", "Labels", "SubspaceClusterer", "as_list_name"]


LISTS = ("axes", "difference")


def as_list_name(by: str | None, flat: Subspace) -> str:
    """Which variables of a cluster are asked for: by default those along its axes, if any."""
    if by is None:
        return "axes" if flat.basis.shape[1] else "difference"
    return as_choice(by, "by", LISTS)


class SubspaceClusterer(RecordedClusterer):
    """Base of the estimators that fit one flat per cluster; not for use on its own."""

    n_clusters: int
    n_components: Any
    subspaces_: list[Subspace]

    def project(self, X: Any) -> list[Array]:
        """Coordinates of each sample in the subspace of the cluster it is predicted to be in.

        Parameters
        ----------
        X : array-like of shape (n, p)
            New samples.

        Returns
        -------
        list of n ndarrays
            As long as the own subspace has dimensions, so possibly ragged.
        """
        X = self._validate_new(X)
        labels = partition.assign(self._scores(X))
        own = [coordinates(X[labels == k], flat) for k, flat in enumerate(self.subspaces_)]
        place = [iter(block) for block in own]
        return [next(place[k]) for k in labels]

    def reconstruct(self, X: Any) -> Array:
        """Nearest point to each sample in the subspace of the cluster it is predicted to be in.

        A model with ``preparation_`` answers in raw units where that only scales variables, and
        otherwise in the values of the prepared variables.

        Parameters
        ----------
        X : array-like of shape (n, p)
            New samples.

        Returns
        -------
        ndarray of shape (n, p)
        """
        X = self._validate_new(X)
        labels = partition.assign(self._scores(X))
        nearest = np.empty_like(X)
        for k, flat in enumerate(self.subspaces_):
            nearest[labels == k] = project(X[labels == k], flat)
        if hasattr(self, "preparation_"):
            return in_raw_units(nearest, self.preparation_)
        return nearest

    @property
    def _n_features_out(self) -> int:
        return len(self.subspaces_)

    def _scores(self, X: Array) -> Array:
        """Score of rows that are not members, (n, K): the distance from the flat, squared."""
        return np.column_stack([far for _, far in scores_and_residuals(X, self.subspaces_)])

    def _dimensions(self, X: Any, *, low: int = 1) -> tuple[int, ...]:
        """The dimension of each cluster, checked against the data."""
        n, p = X.shape
        through_origin = low and getattr(self, "affine", None) is False
        if through_origin and np.array_equal(self.n_components, 0):
            raise ValueError(
                f"n_components=0 is out of range for subspaces through the origin. Use 1 to {p}, "
                "or affine=True for clusters that are mean profiles"
            )
        dimensions = self._per_cluster("n_components", n, low=low, high=p)
        needed = sum(partition.smallest_size(r) for r in dimensions)
        if n < needed:
            raise ValueError(
                f"n_samples={n} is too few for n_clusters={self.n_clusters} of "
                f"n_components={max(dimensions)}: a cluster needs n_components + 2 samples, "
                f"{needed} in all. Use fewer clusters or dimensions"
            )
        return dimensions

    def _warn_of_full_rank(self, largest: int, rank: int) -> None:
        """Say that a flat which holds all samples is of no use to predict with."""
        if largest >= rank and self.n_clusters > 1:
            warn(
                f"n_components={largest} equals the rank of X: such a flat is nearest to every "
                "sample, so predict is of no use; labels_ and a smaller dimension are",
            )

    def _per_cluster(self, name: str, n: int, *, low: int, high: int) -> tuple[int, ...]:
        """A parameter that is one number, or one per cluster."""
        n_clusters = as_count(self.n_clusters, "n_clusters", low=1, high=n, why=f" for {n} samples")
        given = getattr(self, name)
        given = [given] * n_clusters if np.ndim(given) == 0 else list(given)
        if len(given) != n_clusters:
            raise ValueError(
                f"{name} has {len(given)} entries for n_clusters={n_clusters}. Use "
                "an int, or one per cluster"
            )
        why = f" for {high} variables"
        return tuple(as_count(value, name, low=low, high=high, why=why) for value in given)

    def _store_flats(
        self, X: Array, dimensions: Sequence[int], affine: bool
    ) -> list[PrincipalAxes]:
        """Fit a flat to each cluster of ``labels_``; returns all coordinates of each."""
        self.subspaces_, all_axes = [], []
        for k, dimension in enumerate(dimensions):
            members = X[self.labels_ == k]
            centre = centre_of(members, affine)
            centred = members - centre if affine else members
            # Far from the origin a mean is rounded by more than the members differ.
            centred = centred - centre_of(centred, affine) if affine else centred
            all_axes.append(principal_axes(centred, dimension))
            self.subspaces_.append(leading(centre, all_axes[k], dimension))
        self.n_components_ = np.array([flat.basis.shape[1] for flat in self.subspaces_])
        return all_axes

    def _distance_from_own_flats(self, X: Array) -> float:
        """Sum of the squared distances of the samples from the flats of ``labels_``."""
        flats = enumerate(self.subspaces_)
        return sum(float(squared_residual(X[self.labels_ == k], flat).sum()) for k, flat in flats)
