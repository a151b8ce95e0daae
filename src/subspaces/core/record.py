"""What a fit leaves on record about itself and its samples, so that no report needs the data."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subspaces.core.subspace import Subspace, coordinates

Array = NDArray[np.floating]
Labels = NDArray[np.intp]

# Above this many numbers, n * (K + R), nothing is kept of the single samples.
MOST_NUMBERS = 5_000_000


@dataclass(frozen=True)
class Record:
    """How a fit went, and its samples as the fitted model sees them.

    Of more than ``MOST_NUMBERS`` = 5e6 scores and coordinates nothing is kept: what has one entry
    per sample is None then.

    Attributes
    ----------
    seconds : float
        Wall time of the fit.
    messages : tuple of str
        The text of every warning raised during it.
    sample_names : ndarray of shape (n,) or None
        The index of a data frame, if X had one.
    scores : ndarray of shape (n, K) or None
        As ``transform`` gives.
    coordinates : ndarray of shape (n, R) or None
        Of each sample in the subspace of its label, with nan beyond that subspace's dimension; None
        where the method has no subspaces.
    influence : ndarray of shape (n,) or None
        Of `PSC`.
    verdicts : tuple of str
        Sentences on how far to trust the clusters, from whoever measured that after the fit.
    """

    seconds: float
    messages: tuple[str, ...]
    sample_names: NDArray[Any] | None
    scores: Array | None
    coordinates: Array | None
    influence: Array | None
    verdicts: tuple[str, ...] = ()


def is_too_large(n_samples: int, n_clusters: int, n_components: int) -> bool:
    """Whether the single samples are too many to be kept on record."""
    return n_samples * (n_clusters + n_components) > MOST_NUMBERS


def own_coordinates(rows: Array, labels: Labels, flats: Sequence[Subspace]) -> Array:
    """Coordinates of each row in the flat of its label, (n, R), with nan beyond its dimension."""
    widest = max(flat.basis.shape[1] for flat in flats)
    padded = np.full((len(rows), widest), np.nan)
    for k, flat in enumerate(flats):
        members = labels == k
        padded[members, : flat.basis.shape[1]] = coordinates(rows[members], flat)
    return padded
