"""The exact axes of every cluster from few passes: block Lanczos, all of it kept.

Each pass gives the images ``S_k Q`` of one more block of directions; the best axes within the span
of all blocks so far are those of ``Q^T S_k Q``. The span grows by what of the last images lies
outside it, so that m passes do what subspace iteration does in about m^2.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]


@dataclass(frozen=True)
class Span:
    """Directions (K, p, m), orthonormal in every cluster, and their images (K, p, m)."""

    directions: Array
    images: Array

    def grown(self, directions: Array, images: Array) -> "Span":
        """With one more block."""
        return Span(
            np.concatenate([self.directions, directions], axis=2),
            np.concatenate([self.images, images], axis=2),
        )

    def axes(self, n_axes: int) -> tuple[Array, Array]:
        """The axes of most energy within the span, (K, p, R), and their energies, (K, R)."""
        inner = np.swapaxes(self.directions, 1, 2) @ self.images
        values, vectors = np.linalg.eigh((inner + np.swapaxes(inner, 1, 2)) / 2.0)
        best = vectors[:, :, ::-1][:, :, :n_axes]
        return self.directions @ best, values[:, ::-1][:, :n_axes]

    def outside(self, n_axes: int) -> Array:
        """What of the last images lies outside the span, orthonormal, (K, p, R)."""
        block = self.images[:, :, -n_axes:]
        for _ in range(2):
            block = np.linalg.qr(block - self.directions @ self._within(block))[0]
        return np.linalg.qr(block - self.directions @ self._within(block))[0]

    def _within(self, block: Array) -> Array:
        return np.swapaxes(self.directions, 1, 2) @ block
