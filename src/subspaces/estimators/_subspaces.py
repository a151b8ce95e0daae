"""Checks of dimensions, the `Problem` of an estimator, and the subspaces of given labels."""

from collections.abc import Sequence
from typing import Any, get_args

from sklearn.exceptions import ConvergenceWarning

from subspaces._types import Array, Labels, VariableList
from subspaces.core import partition
from subspaces.core.dimensions import check_rank, dimensions_of
from subspaces.core.problem import Problem
from subspaces.core.rows import centred_rows
from subspaces.estimators._base import SubspaceClusterer
from subspaces.runtime.parameters import as_choice, as_flag
from subspaces.runtime.warning import warn
from subspaces.subspace import Subspace, centre_of, principal_axes, subspaces_of
from subspaces.subspace import dimensions_of as widths

# The two lists of a cluster's variables that `get_variables` and the plots can give.
LISTS: tuple[VariableList, ...] = get_args(VariableList)


def as_list_name(by: VariableList | None, subspace: Subspace) -> VariableList:
    """Return "axes" or "difference": ``by``, or by default "axes" if the subspace has axes."""
    if by is None:
        return "axes" if subspace.basis.shape[1] else "difference"
    return as_choice(by, "by", LISTS)


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


def pose(model: Any, X: Array) -> Problem:
    """Return the `Problem` of an estimator with ``affine``, with its sizes checked against X."""
    affine = bool(as_flag(model.affine, "affine"))
    dimensions = dimensions_of(model, X, low=0 if affine else 1)
    rows = centred_rows(X, affine, len(dimensions))
    check_rank(rows.rank, max(dimensions), affine)
    return Problem(rows, dimensions, "residual", affine)


def principal_coordinates(X: Array, affine: bool) -> Array:
    """Return X in its principal axes, (n, rank), which keeps the distances between samples."""
    points = principal_axes(X - centre_of(X, affine)).coordinates
    check_rank(points.shape[1], 0, affine)
    return points


def store_subspaces(
    model: SubspaceClusterer, X: Array, dimensions: Sequence[int], affine: bool
) -> None:
    """Set ``subspaces_`` and ``n_components_`` by a PCA of each cluster."""
    model.subspaces_, _ = subspaces_of(X, model.labels_, dimensions, affine)
    model.n_components_ = widths(model.subspaces_)


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
