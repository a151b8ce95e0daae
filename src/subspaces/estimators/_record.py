"""`Record`: time and warnings of a fit, and its samples' scores, so that reports need no data."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subspaces._types import Array, Labels
from subspaces.messages import Advice, Message, Verdict
from subspaces.runtime.result import InShort
from subspaces.runtime.serialise import serialisable
from subspaces.subspace import Subspace, coordinates, project, squared_residual

# If scores and coordinates, n * (K + R) numbers, are more than this (40 MB), keep none.
MOST_NUMBERS = 5_000_000


# What the warnings of a record are made of.
serialisable(Advice)
serialisable(Message)
serialisable(Verdict)


@serialisable
@dataclass(frozen=True, repr=False)
class Record(InShort):
    """Time and warnings of a fit, and the scores and coordinates of its samples.

    If scores and coordinates would be more than 5 million numbers, all attributes with one entry
    per sample are None.

    Attributes
    ----------
    seconds : float
        Wall time of the fit.
    warned : tuple of Message
        All warnings of the fit, as values.
    messages : tuple of str
        All warnings of the fit, as sentences.
    sample_names : ndarray of shape (n,) or None
        Index of the data frame, if X was one.
    scores : ndarray of shape (n, K) or None
        Score of each sample under each cluster, as ``transform`` returns it.
    coordinates : ndarray of shape (n, R) or None
        Coordinates of each sample in the subspace of its cluster, filled up with NaN. Outliers have
        NaN only. None if the method has no subspaces.
    influence : ndarray of shape (n,) or None
        ``influence_`` of `PSC`. None for other estimators.
    distances : ndarray of shape (n,) or None
        Distance of each sample from the subspace of its cluster, or from the nearest one for an
        outlier. If the method has no subspaces, the square root of the score.
    verdicts : tuple of str or Verdict
        How far to trust the clusters, if this was measured after the fit.
    """

    seconds: float
    warned: tuple[Message, ...]
    sample_names: NDArray[Any] | None
    scores: Array | None
    coordinates: Array | None
    influence: Array | None
    verdicts: tuple[str | Verdict, ...] = ()
    distances: Array | None = None

    @property
    def messages(self) -> tuple[str, ...]:
        """All warnings of the fit, as sentences."""
        return tuple(map(str, self.warned))


def is_too_large(n_samples: int, n_clusters: int, n_components: int) -> bool:
    """Whether the scores and coordinates of all samples are more than ``MOST_NUMBERS`` numbers."""
    return n_samples * (n_clusters + n_components) > MOST_NUMBERS


def nearest_clusters(labels: Labels, scores: Array) -> Labels:
    """Return the labels (n,), those of outliers by the least of their scores (n, K)."""
    return np.where(labels < 0, scores.argmin(axis=1), labels) if np.any(labels < 0) else labels


def own_coordinates(rows: Array, labels: Labels, subspaces: Sequence[Subspace]) -> Array:
    """Return each row's coordinates in its label's subspace, (n, R); nan beyond its dimension."""
    widest = max(subspace.basis.shape[1] for subspace in subspaces)
    padded = np.full((len(rows), widest), np.nan)
    for k, subspace in enumerate(subspaces):
        members = labels == k
        padded[members, : subspace.basis.shape[1]] = coordinates(rows[members], subspace)
    return padded


def own_distances(
    rows: Array, placed: Array, labels: Labels, subspaces: Sequence[Subspace], scores: Array
) -> Array:
    """Return each row's distance from its label's subspace, (n,); as `squared_distances`.

    Without subspaces the scores (n, K) are squared distances.
    """
    found = np.maximum(scores[np.arange(len(rows)), labels], 0.0)
    for k, subspace in enumerate(subspaces):
        members = labels == k
        found[members] = squared_distances(rows[members], placed[members], subspace)
    return np.sqrt(found)


def squared_distances(rows: Array, placed: Array, subspace: Subspace) -> Array:
    """Return the squared distance of each row from a subspace, (m,); nan is a hole.

    placed (m, p): the rows without holes, as the model places them. A row with holes has the
    distance of its observed cells from its place, times p over their number.
    """
    holes = np.isnan(rows)
    if not holes.any():
        return squared_residual(rows, subspace)
    rest = np.where(holes, 0.0, rows - project(placed, subspace))
    whole = rows.shape[1] / np.maximum(np.count_nonzero(~holes, axis=1), 1)
    return whole * np.sum(rest**2, axis=1)
