"""Axes rounded to bytes, as `_bytes.h` takes them, and how much of them rounding hides."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]

# The largest whole number, what is added to all of them, what axes and variables are multiples of,
# and the shape of a panel: as in `_bytes.h`.
LARGEST, OFFSET = 127, 128
AXES, VARIABLES = 32, 64
PANEL, TOGETHER = 16, 4


def rounded_axes(
    axes: Array, n_axes: int
) -> tuple[NDArray[np.uint8], NDArray[np.float32], Array, Array]:
    """Panels of bytes, the unit of every axis, and what rounding hides of axes and of centres.

    axes (K, q, p): of every cluster n_axes, and its centre if q is more. What is hidden, (K,): the
    spectral norm of the difference, so that no score is off by more than that times the length.
    """
    scales = (np.abs(axes).max(axis=2, keepdims=True) / LARGEST).astype(np.float32)
    scales[scales == 0.0] = 1.0
    whole = np.rint(axes / scales)
    rest = axes - whole * scales
    turned = rest[:, :n_axes] @ rest[:, :n_axes].mT
    slacks = np.sqrt(np.maximum(np.linalg.eigvalsh(turned)[:, -1], 0.0))
    centre_slacks = np.sqrt(np.sum(rest[:, n_axes:] ** 2, axis=(1, 2)))
    return _panels(whole.reshape(-1, axes.shape[2])), scales.reshape(-1), slacks, centre_slacks


def _panels(whole: Array) -> NDArray[np.uint8]:
    """(axes / 16, variables / 4, 16, 4), zeros behind the last axis and the last variable."""
    n_axes, p = whole.shape
    shape = (-(-n_axes // AXES) * AXES, -(-p // VARIABLES) * VARIABLES)
    padded = np.full(shape, OFFSET, dtype=np.uint8)
    padded[:n_axes, :p] = whole + OFFSET
    split = padded.reshape(shape[0] // PANEL, PANEL, shape[1] // TOGETHER, TOGETHER)
    return np.ascontiguousarray(split.swapaxes(1, 2))
