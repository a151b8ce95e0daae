"""The leading axes of many scatter matrices that are known only by their products.

All clusters at once, one product each per step. A step looks for the best axes in the span of the
present ones, their residuals, and the last step (the locally optimal block method of Knyazev 2001),
so that the error falls with the root of the gap in the spectrum rather than with the gap.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subspaces.core.array_namespace import like, namespace, to_host, transposed

Array = NDArray[np.floating]

# A residual against the largest eigenvalue; the error of an eigenvalue is its square.
TOLERANCE = 1e-6
# In single precision rounding may come first: below this share, steps that did not halve it.
ROUNDING, PATIENCE = 1e-4, 3
MOST_STEPS = 50
# Squared lengths below this share of the largest are of directions that are there already.
DEPENDENT = 1e-13


def leading_axes(
    product: Callable[[Any], Any], guess: Any, in_use: NDArray[np.bool_]
) -> tuple[Any, Array]:
    """Axes (K, p, R) and eigenvalues (K, R), the largest first; those in use (K, R) are exact.

    product: ``S_k W_k`` for any W (K, p, R) of orthonormal columns, R at most p / 3. Axes and
    images stay where the guess is; what is small is solved in main memory.
    """
    xp, rank = namespace(guess), guess.shape[2]
    basis = _orthonormal(guess)
    images = product(basis)
    values, coefficients = _best(basis, images, rank)
    basis, images = basis @ like(coefficients, basis), images @ like(coefficients, images)
    smallest, waited = np.inf, 0
    for _ in range(MOST_STEPS):
        axes = basis[:, :, :rank]
        residual = images[:, :, :rank] - axes * like(values[:, None, :], axes)
        lengths = np.sqrt(to_host(xp.sum(residual**2, axis=1)))
        error = _largest(lengths, values, in_use)
        waited = 0 if error < 0.5 * smallest or error > ROUNDING else waited + 1
        smallest = min(smallest, error)
        if error <= TOLERANCE or waited == PATIENCE:
            break
        units = residual / like(np.where(lengths > 0.0, lengths, 1.0)[:, None, :], residual)
        fresh = _orthonormal(units, basis, np.ones((len(lengths), 1)))
        basis = xp.concat([basis, fresh], axis=2)
        images = xp.concat([images, product(fresh)], axis=2)
        values, coefficients = _best(basis, images, rank)
        both = like(_with_the_step(coefficients, rank), basis)
        basis, images = basis @ both, images @ both
    return basis[:, :, :rank], values


def _orthonormal(vectors: Any, known: Any = None, longest: Array | None = None) -> Any:
    """Orthonormal columns of their span, beyond what is known; zeros where it has fewer.

    longest (K, 1): the squared length of the longest, before the known is taken from it: of a
    vector within that, rounding is left. Twice, since once leaves the rounding of directions that
    are nearly there.
    """
    for _ in range(2):
        if known is not None:
            vectors = vectors - known @ (transposed(known) @ vectors)
        squares, turned = np.linalg.eigh(to_host(transposed(vectors) @ vectors))
        there = squares > DEPENDENT * np.maximum(squares[:, -1:] if longest is None else longest, 0)
        roots = np.where(there, np.sqrt(np.where(there, squares, 1.0)), np.inf)
        vectors = vectors @ like(turned / roots[:, None, :], vectors)
    return vectors


def _best(basis: Any, images: Any, rank: int) -> tuple[Array, Array]:
    """Eigenvalues of the best axes within a basis, and their coefficients."""
    small = to_host(transposed(basis) @ images)
    values, vectors = np.linalg.eigh(0.5 * (small + small.mT))
    return values[:, ::-1][:, :rank], vectors[:, :, ::-1][:, :, :rank]


def _with_the_step(coefficients: Array, rank: int) -> Array:
    """The new axes, and beside them, orthonormal, the part that is not of the old ones."""
    step = coefficients.copy()
    step[:, :rank] = 0.0
    longest = np.sum(step**2, axis=1).max(axis=1, keepdims=True)
    return np.concatenate([coefficients, _orthonormal(step, coefficients, longest)], axis=2)


def _largest(lengths: Array, values: Array, in_use: NDArray[np.bool_]) -> float:
    top = np.maximum(values[:, :1], np.finfo(float).tiny)
    return float(np.where(in_use, lengths / top, 0.0).max(initial=0.0))
