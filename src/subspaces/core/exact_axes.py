"""The leading axes of many scatter matrices that are known only by their products.

All clusters at once, one product each per step. A step looks for the best axes in the span of the
present ones, their residuals, and the last step (the locally optimal block method of Knyazev 2001),
so that the error falls with the root of the gap in the spectrum rather than with the gap.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]

# A residual against the largest eigenvalue; the error of an eigenvalue is its square.
TOLERANCE = 1e-6
# In single precision rounding may come first: below this share, steps that did not halve it.
ROUNDING, PATIENCE = 1e-4, 3
MOST_STEPS = 50


def leading_axes(
    product: Callable[[Array], Array],
    guess: Array,
    in_use: NDArray[np.bool_],
) -> tuple[Array, Array]:
    """Axes (K, p, R) and eigenvalues (K, R), the largest first; those in use (K, R) are exact.

    product: ``S_k W_k`` for any W (K, p, R) of orthonormal columns, R at most p / 3.
    """
    rank = guess.shape[2]
    basis = np.linalg.qr(guess)[0]
    images, values, coefficients = _best(basis, product(basis), rank)
    axes, step, smallest, waited = basis @ coefficients, None, np.inf, 0
    for _ in range(MOST_STEPS):
        residual = images[:, :, :rank] - axes * values[:, None, :]
        error = _largest(residual, values, in_use)
        waited = 0 if error < 0.5 * smallest or error > ROUNDING else waited + 1
        smallest = min(smallest, error)
        if error <= TOLERANCE or waited == PATIENCE:
            break
        known = axes if step is None else np.concatenate([axes, step], axis=2)
        basis, triangle = np.linalg.qr(np.concatenate([known, _unit(residual)], axis=2))
        width = known.shape[2]
        signs = np.sign(np.diagonal(triangle, axis1=1, axis2=2)[:, None, :width])
        fresh = product(np.ascontiguousarray(basis[:, :, width:]))
        all_images = np.concatenate([images * signs, fresh], axis=2)
        _, values, coefficients = _best(basis, all_images, rank)
        both = _with_the_step(coefficients, rank)
        moved, images = basis @ both, all_images @ both
        axes, step = moved[:, :, :rank], moved[:, :, rank:]
    return axes, values


def _best(basis: Array, images: Array, rank: int) -> tuple[Array, Array, Array]:
    """Images of the best axes within a basis, their eigenvalues, and their coefficients."""
    small = np.swapaxes(basis, 1, 2) @ images
    values, vectors = np.linalg.eigh(0.5 * (small + np.swapaxes(small, 1, 2)))
    coefficients = vectors[:, :, ::-1][:, :, :rank]
    return images @ coefficients, values[:, ::-1][:, :rank], coefficients


def _with_the_step(coefficients: Array, rank: int) -> Array:
    """The new axes, and beside them, orthonormal, the part that is not of the old ones."""
    step = coefficients.copy()
    step[:, :rank] = 0.0
    both, triangle = np.linalg.qr(np.concatenate([coefficients, step], axis=2))
    signs = np.sign(np.diagonal(triangle, axis1=1, axis2=2)[:, None, :rank])
    both[:, :, :rank] *= signs
    return both


def _largest(residual: Array, values: Array, in_use: NDArray[np.bool_]) -> float:
    lengths = np.sqrt(np.einsum("kpr,kpr->kr", residual, residual))
    top = np.maximum(values[:, :1], np.finfo(float).tiny)
    return float(np.where(in_use, lengths / top, 0.0).max(initial=0.0))


def _unit(vectors: Array) -> Array:
    lengths = np.sqrt(np.einsum("kpr,kpr->kr", vectors, vectors))[:, None, :]
    return vectors / np.where(lengths > 0.0, lengths, 1.0)
