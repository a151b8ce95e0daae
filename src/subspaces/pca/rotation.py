"""Varimax: axes turned within their subspace so that each has few large loadings.

The axes V (p, R) stay orthonormal and span the same subspace. T (R, R) maximises

    sum_r [ sum_j h_jr^4 - (sum_j h_jr^2)^2/p ],    H = diag(1/|v_j|) V T,

v_j the rows of V: Kaiser's normalisation, as `factor_analyzer` and R's `varimax` do by default. It
depends on the subspace alone, so that eigenvalues within it may be equal.
"""

from itertools import combinations

import numpy as np

from subspaces._types import Array
from subspaces.subspace import signs_of_largest

# Most iterations over all pairs of axes. Ten or twenty are usual. If variables have no groups,
# there is hardly an optimum, and angles shrink slowly.
MOST_SWEEPS = 500
# The angle in radians below which a pair of axes counts as settled.
SETTLED = 1e-12


def varimax(axes: Array, start: Array | None = None) -> Array:
    """Return the rotations T (..., R, R) of axes (..., p, R), from ``start`` or the identity.

    Pairs of axes are turned in closed form [Kaiser 1958] until none turns any more.
    """
    count = axes.shape[-1]
    turned = np.broadcast_to(
        np.eye(count) if start is None else start, (*axes.shape[:-2], count, count)
    )
    length = np.linalg.norm(axes, axis=-1, keepdims=True)
    columns = (axes / np.where(length > 0.0, length, 1.0)) @ turned
    # One axis after the other, so that a pair of columns lies together in memory.
    columns, turned = (np.moveaxis(each, -1, 0).copy() for each in (columns, turned))
    for _ in range(MOST_SWEEPS):
        largest = 0.0
        for a, b in combinations(range(count), 2):
            angle = _best_angle(columns[a], columns[b])
            for each in (columns, turned):
                _turn(each, a, b, angle[..., None])
            largest = max(largest, float(np.abs(angle).max()))
        if largest < SETTLED:
            break
    return np.moveaxis(turned, 0, -1)


def rotated(axes: Array, eigenvalues: Array) -> Array:
    """Return varimax's T (R, R) with its columns by energy, each with a positive largest loading.

    eigenvalues (R,): energies along the axes (p, R); along column t of T, ``t' diag(lambda) t``.
    """
    turn = varimax(axes)
    turn = turn[:, np.argsort(-(eigenvalues @ turn**2), kind="stable")]
    return turn * signs_of_largest(axes @ turn)


def _best_angle(x: Array, y: Array) -> Array:
    """Return the angles (...) by which varimax turns columns x and y of loadings (..., p)."""
    u, v = x * x - y * y, 2.0 * x * y
    sums = u.sum(axis=-1), v.sum(axis=-1)
    sine = 2.0 * (np.vecdot(u, v) - sums[0] * sums[1] / u.shape[-1])
    cosine = np.vecdot(u, u) - np.vecdot(v, v) - (sums[0] ** 2 - sums[1] ** 2) / u.shape[-1]
    return np.arctan2(sine, cosine) / 4.0


def _turn(columns: Array, a: int, b: int, angle: Array) -> None:
    """Turn columns a and b (R, ..., m) by angles (..., 1), in place."""
    first, second = columns[a].copy(), columns[b]
    columns[a] = np.cos(angle) * first + np.sin(angle) * second
    columns[b] = np.cos(angle) * second - np.sin(angle) * first
