"""The leading axes of many scatter matrices that are known only through products ``S_k W``.

All clusters are solved at once, by one product each per step. A step finds the best axes in the
span of the present ones, their residuals, and the last step (the locally optimal block method of
Knyazev 2001), so that the error falls with the root of the gap in the spectrum, not with the gap.
"""

from collections.abc import Callable

import numpy as np

from subspaces._types import AnyArray, Array, Mask
from subspaces.core.array import like, namespace, to_host, transposed

# The largest residual at the end, against the largest eigenvalue; eigenvalues err by its square.
TOLERANCE = 1e-6
# In single precision rounding may come first: a residual below STALLED, against the largest
# eigenvalue, ends the steps once PATIENCE of them did not halve it.
STALLED, PATIENCE = 1e-4, 3
# Most steps. Each is a pass over the rows.
MOST_STEPS = 50
# Directions whose squared length is below this share of the largest are taken to be in the span.
DEPENDENT = 1e-13


def leading_axes(
    product: Callable[[AnyArray], AnyArray], guess: AnyArray, in_use: Mask
) -> tuple[AnyArray, Array]:
    """Return axes (K, p, R) and eigenvalues (K, R), the largest first; exact if ``in_use``.

    product: returns ``S_k W_k`` for any W (K, p, R) of orthonormal columns, R at most p / 3; guess
    (K, p, R): first axes; in_use (K, R): which axes must converge. Axes and images stay on the
    device of the guess; small matrices are solved in main memory.
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
        waited = 0 if error < 0.5 * smallest or error > STALLED else waited + 1
        smallest = min(smallest, error)
        if error <= TOLERANCE or waited == PATIENCE:
            break
        units = residual / like(np.where(lengths > 0.0, lengths, 1.0)[:, None, :], residual)
        added = _orthonormal(units, basis, np.ones((len(lengths), 1)))
        basis = xp.concat([basis, added], axis=2)
        images = xp.concat([images, product(added)], axis=2)
        values, coefficients = _best(basis, images, rank)
        both = like(_with_the_step(coefficients, rank), basis)
        basis, images = basis @ both, images @ both
    return basis[:, :, :rank], values


def _orthonormal(
    vectors: AnyArray, known: AnyArray | None = None, longest: Array | None = None
) -> AnyArray:
    """Return orthonormal columns (K, p, m) of the span of vectors (K, p, m) beyond the known ones.

    If the span has fewer than m dimensions, the columns left over are zero. longest (K, 1): the
    squared length of the longest vector before the known directions are subtracted; what is left of
    a vector in their span then counts as rounding. Everything is done twice, since one round leaves
    the rounding errors of directions that are nearly in the span.
    """
    for _ in range(2):
        if known is not None:
            vectors = vectors - known @ (transposed(known) @ vectors)
        squares, turned = np.linalg.eigh(to_host(transposed(vectors) @ vectors))
        there = squares > DEPENDENT * np.maximum(squares[:, -1:] if longest is None else longest, 0)
        roots = np.where(there, np.sqrt(np.where(there, squares, 1.0)), np.inf)
        vectors = vectors @ like(turned / roots[:, None, :], vectors)
    return vectors


def _best(basis: AnyArray, images: AnyArray, rank: int) -> tuple[Array, Array]:
    """Return the leading eigenvalues (K, R) within the span of a basis, and coefficients on it.

    The columns of the coefficients (K, m, R) combine the m columns of the basis into the best axes.
    """
    small = to_host(transposed(basis) @ images)
    values, vectors = np.linalg.eigh(0.5 * (small + small.mT))
    return values[:, ::-1][:, :rank], vectors[:, :, ::-1][:, :, :rank]


def _with_the_step(coefficients: Array, rank: int) -> Array:
    """Return the coefficients of the new axes and of the step to them, (K, m, 2 R).

    The step is the part of the new axes outside the span of the first R columns, the old axes; its
    columns are orthonormal, and orthogonal to the new axes.
    """
    step = coefficients.copy()
    step[:, :rank] = 0.0
    longest = np.sum(step**2, axis=1).max(axis=1, keepdims=True)
    return np.concatenate([coefficients, _orthonormal(step, coefficients, longest)], axis=2)


def _largest(lengths: Array, values: Array, in_use: Mask) -> float:
    """Return the largest residual of an axis in use over its cluster's largest eigenvalue."""
    top = np.maximum(values[:, :1], np.finfo(float).tiny)
    return float(np.where(in_use, lengths / top, 0.0).max(initial=0.0))
