"""Checks of dimensions, the `Problem` of an estimator, and the subspaces of given labels."""

from collections.abc import Sequence
from typing import Any, get_args

import numpy as np

from subspaces._types import Array, Labels, VariableList
from subspaces.core import partition
from subspaces.core.dimensions import check_rank, dimensions_of
from subspaces.core.problem import Problem
from subspaces.core.rows import centred_rows
from subspaces.estimators._base import SubspaceClusterer
from subspaces.messages import Advice, ChoiceWarning, DataWarning, ParameterError, simpler, use
from subspaces.psc.doubts import warn_of_empty_clusters
from subspaces.runtime.parameters import as_choice, as_flag
from subspaces.runtime.warning import doubt
from subspaces.subspace import (
    Subspace,
    centre_of,
    energy_off_subspaces,
    principal_axes,
    subspaces_of,
)
from subspaces.subspace import dimensions_of as widths


def as_list_name(by: VariableList | None, subspace: Subspace) -> VariableList:
    """Return "axes" or "difference": ``by``, or by default "axes" if the subspace has axes."""
    if by is None:
        return "axes" if subspace.basis.shape[1] else "difference"
    return as_choice(by, "by", get_args(VariableList))


def common_dimension(model: SubspaceClusterer, X: Array) -> int:
    """Return the dimension that all clusters share; raise ValueError if they differ."""
    dimensions = dimensions_of(model, X, points=False)
    if len(set(dimensions)) > 1:
        fact = f"{type(model).__name__} uses the same dimension for all clusters."
        one = use("n_components", max(dimensions))
        raise ParameterError("n_components", fact, one, value=list(dimensions))
    return dimensions[0]


def coordinates_and_dimension(
    model: SubspaceClusterer, X: Array, dimension: int, affine: bool
) -> tuple[Array, int]:
    """Return X in its principal axes, (n, rank), and the dimension below the rank, or a warning.

    The axes keep the distances between samples. A subspace as large as the rank holds every sample
    and so tells none of several clusters apart. Data of rank 1 leave points, or for subspaces
    through the origin the one line that holds all.
    """
    points = principal_axes(X - centre_of(X, affine)).coordinates
    rank = points.shape[1]
    check_rank(rank, (), affine)
    if model.n_clusters == 1:
        return points, min(dimension, rank)
    most = max(rank - 1, 0 if affine else 1)
    if dimension >= rank > 1:
        doubt(
            ChoiceWarning,
            "full_rank",
            "<n_components={n_components}> is too large for a table of rank {rank}, so dimension "
            "{most} was used.",
            n_components=dimension,
            rank=rank,
            most=most,
        )
    elif dimension >= rank:
        doubt(
            DataWarning,
            "rank_one",
            "All samples are on one line, so there are no subspaces to find.",
            Advice("add variables, or check the table"),
        )
    return points, min(dimension, most)


def warn_of_full_rank(dimensions: Sequence[int], rank: int, affine: bool) -> None:
    """Warn if the largest dimension (K,) is the rank of X: new samples are then predicted alike."""
    largest = max(dimensions)
    if largest >= rank and len(dimensions) > 1:
        alike = "every subspace contains all samples and predict cannot tell the clusters apart"
        mixed = "predict puts all new samples into the largest subspace"
        doubt(
            ChoiceWarning,
            "full_rank",
            "<n_components={n_components}> equals the rank of the table, so "
            f"{alike if len(set(dimensions)) == 1 else mixed}.",
            *simpler(1, largest, affine),
            n_components=largest,
        )


def pose(model: Any, X: Array) -> Problem:
    """Return the `Problem` of an estimator with ``affine``, with its sizes checked against X."""
    affine = bool(as_flag(model.affine, "affine"))
    dimensions = dimensions_of(model, X, low=0 if affine else 1)
    rows = centred_rows(X, affine, len(dimensions))
    check_rank(rows.rank, dimensions, affine, X)
    return Problem(rows, dimensions, "residual", affine)


def store_subspaces(
    model: SubspaceClusterer, X: Array, labels: Labels, dimensions: Sequence[int], affine: bool
) -> None:
    """Set ``labels_``, and by a PCA of each cluster what follows; cluster k has ``dimensions[k]``.

    Clusters of one dimension are numbered in the order in which they first appear.
    """
    alike = len(set(dimensions)) == 1
    model.labels_ = partition.canonical(labels) if alike else labels
    model.subspaces_, _ = subspaces_of(X, model.labels_, dimensions, affine)
    model.n_components_ = widths(model.subspaces_)
    model.objective_ = energy_off_subspaces(X, model.labels_, model.subspaces_)


def store_equal_subspaces(
    model: SubspaceClusterer, X: Array, labels: Labels, dimension: int, affine: bool
) -> None:
    """Set ``labels_``, and ``subspaces_`` that all have one dimension.

    Empty clusters are dropped, with a warning.
    """
    found = len(np.unique(labels))
    warn_of_empty_clusters(found, model.n_clusters)
    store_subspaces(model, X, labels, [dimension] * found, affine)
