"""How well clusters lie on subspaces: the error by which SCC and SLBF choose among partitions."""

import numpy as np
from scipy import linalg

from subspaces._types import Array, Labels
from subspaces.core.partition import Partition

# Squared distances come from inner products: below this share of the squared lengths they are 0.
DISTANCE_ROUNDING = 1e-13


def mean_squared_distance(points: Array, labels: Labels, dimension: int, *, affine: bool) -> float:
    """Return the mean squared distance of the points from the subspaces fitted to their clusters.

    It comes from the eigenvalues of the smaller of the two Gram matrices of each cluster, so its
    rounding error is about 1e-16 of the mean squared length. Points in no cluster do not count.
    """
    clusters, left = Partition(labels, int(labels.max()) + 1), 0.0
    for k in np.flatnonzero(clusters.sizes).tolist():
        members = points[clusters.members(k)]
        members = members - members.mean(axis=0) if affine else members
        wide = members.shape[1] > len(members)
        spectrum = linalg.eigvalsh(members @ members.T if wide else members.T @ members)
        left += float(spectrum[: max(len(spectrum) - dimension, 0)].sum())
    return max(left, 0.0) / float(clusters.sizes.sum())
