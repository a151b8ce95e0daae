"""What residuals are at least, from pass to pass, so that few scores are needed.

A row leaves its cluster only for one whose flat is nearer than what it costs to stay; between two
passes the square of a residual falls by at most ``sin(theta) ||x||^2``, theta the largest angle
that the flat has turned by. After the idea of Elkan (2003) for K-means.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subspaces.core import compiled_pass
from subspaces.core.blocks import ArrayBlocks, Blocks

Array = NDArray[np.floating]

# Bounds may take this share of the memory of the rows.
SHARE = 20
# Axes are orthonormal up to this (`flats.left_singular`).
ORTHONORMAL = 1e-7


@dataclass
class Bounds:
    """Squared residuals from below, (n, K), under these axes (K, p, R); None before a pass.

    squared (n,): the squared lengths of the rows.
    """

    values: Array
    squared: Array
    axes: Array | None = None

    def sines(self, axes: Array) -> Array | None:
        """How far flats have turned since the last pass, with room for rounding; (K,)."""
        if self.axes is None:
            return None
        rest = axes - self.axes @ (self.axes.mT @ axes)
        largest = np.linalg.eigvalsh(rest.mT @ rest)[:, -1]
        # An axis that is there in one of the two alone is a right angle.
        changed = (self.axes.any(axis=1) != axes.any(axis=1)).any(axis=1)
        sines = np.where(changed, 1.0, np.sqrt(np.maximum(largest, 0.0)))
        least = max(100 * float(np.finfo(self.values.dtype).eps), ORTHONORMAL)
        return (np.minimum(sines, 1.0) + least).astype(self.values.dtype)


def bounds_for(blocks: Blocks, n_clusters: int, affine: bool) -> Bounds | None:
    """Bounds for rows in main memory whose flats go through one point, where they take little.

    A file that is mapped into memory may be larger than that, and so may be its bounds.
    """
    n, p = blocks.shape
    if affine or not isinstance(blocks, ArrayBlocks) or not compiled_pass.knows(blocks.array):
        return None
    if n_clusters * SHARE > p or isinstance(blocks.array, np.memmap):
        return None
    dtype = blocks.array.dtype
    return Bounds(np.empty((n, n_clusters), dtype=dtype), np.empty(n, dtype=dtype))
