"""Checks of dimensions, the `Problem` of an estimator, and the subspaces of given labels."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any, get_args

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from subspaces._types import Array, Counts, Labels, VariableList
from subspaces.core import partition
from subspaces.core.problem import Problem
from subspaces.core.rows import DenseRows, Rows, choose_rows
from subspaces.core.sparse_loadings import Sparsity
from subspaces.data.validation import check_rank
from subspaces.estimators._base import SubspaceClusterer
from subspaces.runtime.parameters import as_choice, as_count, as_flag
from subspaces.runtime.warning import warn
from subspaces.subspace import (
    PrincipalAxes,
    Subspace,
    centre_of,
    leading,
    principal_axes,
    squared_residual,
)

# The two lists of a cluster's variables that `get_variables` and the plots can give.
LISTS: tuple[VariableList, ...] = get_args(VariableList)


def as_list_name(by: VariableList | None, subspace: Subspace) -> VariableList:
    """Return "axes" or "difference": ``by``, or by default "axes" if the subspace has axes."""
    if by is None:
        return "axes" if subspace.basis.shape[1] else "difference"
    return as_choice(by, "by", LISTS)


def per_cluster(
    model: SubspaceClusterer, name: str, n_samples: int, *, low: int, high: int
) -> tuple[int, ...]:
    """Return the parameter ``name`` as K integers from ``low`` to ``high``; one stands for all."""
    why, most = f" for {n_samples} samples", n_samples
    if isinstance(model.n_clusters, Integral) and not 1 <= int(model.n_clusters) <= n_samples:
        most = _most_clusters(model.n_components, n_samples)
    n_clusters = as_count(model.n_clusters, "n_clusters", low=1, high=most, why=why)
    given = getattr(model, name)
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


def dimensions_of(
    model: SubspaceClusterer, X: Any, *, low: int = 1, points: bool = True
) -> tuple[int, ...]:
    """Return the dimension of each cluster, checked against the number of samples and variables.

    points: whether the method takes dimension 0 where its subspaces are affine.
    """
    n, p = X.shape
    through_origin = low and points and getattr(model, "affine", None) is False
    given = model.n_components
    if through_origin and isinstance(given, Integral) and given <= 0:
        raise ValueError(
            f"n_components={given} is out of range for subspaces through the origin. Use 1 to {p}, "
            f"or {'0 with ' if given else ''}affine=True for clusters that are mean profiles"
        )
    dimensions = per_cluster(model, "n_components", n, low=low, high=p)
    needed = sum(partition.smallest_size(r) for r in dimensions)
    if n < needed:
        raise ValueError(
            f"n_samples={n} is too few for n_clusters={model.n_clusters} of "
            f"n_components={max(dimensions)}: a cluster needs n_components + 2 samples, "
            f"{needed} in all. Use fewer clusters or dimensions"
        )
    return dimensions


def common_dimension(model: SubspaceClusterer, X: Array) -> int:
    """Return the dimension that all clusters share; raise ValueError if they differ."""
    dimensions = dimensions_of(model, X, points=False)
    if len(set(dimensions)) > 1:
        raise ValueError(
            f"n_components={list(dimensions)} differ, and {type(model).__name__} has one "
            f"dimension for all clusters. Use n_components={max(dimensions)}, the largest"
        )
    return dimensions[0]


def identified_dimension(model: SubspaceClusterer, dimension: int, rank: int, affine: bool) -> int:
    """Return the dimension, lowered below the rank (with a warning) for several clusters.

    A subspace as large as the rank holds every sample and so tells none apart. Data of rank 1 leave
    points, or for subspaces through the origin the one line that holds all.
    """
    if model.n_clusters == 1:
        return min(dimension, rank)
    most = max(rank - 1, 0 if affine else 1)
    if dimension >= rank > 1:
        warn(
            f"n_components={dimension} equals the rank of X, {rank}, or exceeds it: one "
            f"subspace would hold every sample, so {most} is used. Use n_components of at most "
            f"{most}",
        )
    elif dimension >= rank:
        left = "clusters are points on it" if affine else "nothing tells clusters apart"
        warn(f"X has rank 1: one line holds every sample, so {left}. Use data of rank 2 or more")
    return min(dimension, most)


def warn_of_full_rank(model: SubspaceClusterer, largest: int, rank: int) -> None:
    """Warn if the largest dimension is the rank of X: all samples are then predicted alike."""
    if largest >= rank and model.n_clusters > 1:
        warn(
            f"n_components={largest} equals the rank of X: such a subspace is nearest to every "
            "sample, so predict is of no use; labels_ and a smaller dimension are",
        )


def centred_rows(X: Array, affine: bool, n_clusters: int, sparsity: Sparsity | None = None) -> Rows:
    """Return X, less its mean if affine, as `Rows`: a matrix or its inner products.

    The cheaper of the two to fit is taken; with sparse loadings, the matrix.
    """
    centred = X - centre_of(X, True) if affine else X
    return DenseRows(centred) if sparsity else choose_rows(centred, n_clusters)


def pose(
    model: Any,
    X: Any,
    criterion: str = "residual",
    sparsity: Sparsity | None = None,
    rows: Rows | None = None,
) -> Problem:
    """Return the `Problem` of an estimator with ``affine``, with its sizes checked against X.

    rows: X as `centred_rows` returns it; None where that is still to be computed.
    """
    affine = bool(as_flag(model.affine, "affine"))
    dimensions = dimensions_of(model, X, low=0 if affine else 1)
    if rows is None:
        rows = centred_rows(X, affine, model.n_clusters, sparsity)
    check_rank(rows.rank, max(dimensions), affine)
    return Problem(rows, dimensions, criterion, affine, sparsity)


def principal_coordinates(X: Array, affine: bool) -> Array:
    """Return X in its principal axes, (n, rank), which keeps the distances between samples."""
    points = principal_axes(X - centre_of(X, affine)).coordinates
    check_rank(points.shape[1], 0, affine)
    return points


def widths(subspaces: Sequence[Subspace]) -> Counts:
    """Return the dimension of each subspace, (K,)."""
    return np.array([subspace.basis.shape[1] for subspace in subspaces])


def store_subspaces(
    model: SubspaceClusterer, X: Array, dimensions: Sequence[int], affine: bool
) -> list[PrincipalAxes]:
    """Set ``subspaces_`` and ``n_components_`` by a PCA of each cluster; return the K PCAs."""
    model.subspaces_, all_axes = [], []
    for k, dimension in enumerate(dimensions):
        members = X[model.labels_ == k]
        centre = centre_of(members, affine)
        centred = members - centre if affine else members
        # Far from the origin a mean is rounded by more than the members differ.
        centred = centred - centre_of(centred, affine) if affine else centred
        all_axes.append(principal_axes(centred, dimension))
        model.subspaces_.append(leading(centre, all_axes[k], dimension))
    model.n_components_ = widths(model.subspaces_)
    return all_axes


def store_equal_subspaces(
    model: SubspaceClusterer, X: Array, labels: Labels, dimension: int, affine: bool
) -> None:
    """Set ``labels_``, and ``subspaces_`` that all have one dimension.

    Empty clusters are dropped, with a warning.
    """
    model.labels_ = partition.canonical(labels)
    found = int(model.labels_.max()) + 1
    if found < model.n_clusters:
        warn(
            f"only {found} of n_clusters={model.n_clusters} clusters have samples. Use fewer "
            "clusters or a smaller dimension",
            ConvergenceWarning,
        )
    store_subspaces(model, X, [dimension] * found, affine)


def distance_from_own_subspaces(model: SubspaceClusterer, X: Array) -> float:
    """Return the sum of the squared distances of the samples from their clusters' subspaces."""
    return sum(
        float(squared_residual(X[model.labels_ == k], subspace).sum())
        for k, subspace in enumerate(model.subspaces_)
    )


def order_of_appearance(labels: Labels, n_clusters: int) -> Labels:
    """Return the cluster numbers (K,) in the order of their first sample; empty clusters last."""
    first = [np.flatnonzero(labels == k)[:1] for k in range(n_clusters)]
    places = [int(place[0]) if len(place) else len(labels) for place in first]
    return np.argsort(places, kind="stable")
