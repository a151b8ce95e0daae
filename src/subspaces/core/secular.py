"""The exact PCA of all rows but one, for each row, from one decomposition of all rows.

The rows of the data, in their own principal axes, are ``y_i``; the scatter matrix there is
``diag(lambda)``. Without row i it is ``diag(lambda) - y_i y_i^T``, a rank-one down-date. Its
eigenvalues ``mu_1 >= ... >= mu_L`` interlace with the old ones and solve the secular equation

    1 = sum_l y_l^2 / (lambda_l - mu),        lambda_{r+1} <= mu_r <= lambda_r,

its eigenvectors are ``q_r ~ (diag(lambda) - mu_r)^-1 y``, with ``(q_r . y)^2 = e_r`` where
``1 / e_r = sum_l y_l^2 / (lambda_l - mu_r)^2``. So the leave-one-out error of row i has the
coordinates

    epsilon_l = y_l (1 - sum_{r <= R} e_r / (lambda_l - mu_r)),

a form in which the large terms cancel before they are squared, not after.

If the rows are centred on their own mean, that is refitted without row i, too. It moves by
``-y_i/(n - 1)``, so the row is ``n/(n - 1) y_i`` away from it, and what the scatter loses is
``n/(n - 1) y_i y_i^T``: everything above with ``sqrt(f) y_i`` for ``y_i``, ``f = n/(n - 1)``, and
lengths from the mean without the row ``sqrt(f)`` times as large again.

A row of weight w counts as w equal rows. One copy is left out, ``u = min(w, 1)``, so that a weight
below 1 goes as a whole. The scatter loses ``f u y_i y_i^T`` with ``f = W/(W - u)``, W the sum of
the weights, or ``f = 1`` without a mean: everything above with ``sqrt(f u) y_i`` for ``y_i``, and
energies and error ``f/u`` times as large.

==============  ===============  ========  ==============================================
symbol          name             shape     meaning
==============  ===============  ========  ==============================================
y sqrt(w)       coordinates      (n, L)    rows in their principal axes, by their weights
lambda          eigenvalues      (L,)      of the scatter matrix, positive, descending
mu              eigenvalues      (n, R)    the R largest without row i
e               energies         (n, R)    squared length of row i along each new axis
epsilon^2       squared_error    (n,)      squared leave-one-out error of row i
==============  ===============  ========  ==============================================
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from subspaces._types import Array, Indices, Mask
from subspaces.kernels import compiled

EPS = float(np.finfo(np.float64).eps)
# Coordinates below this share of the largest singular value stand for "exactly zero": the weight
# of a pole must be positive for the interlacing to be strict, and 1e-60 moves nothing else.
SMALLEST_WEIGHT = 1e-60
# A row whose leverages sum to one is the only one in some direction; the sum is known to ~1e-14.
LEVERAGE_ONE = 1.0 - 1e-10
# Most steps of the root search. Bisection guards it, and this many halvings reach rounding.
MAX_STEPS = 64
# The steps shrink quadratically: after one of this relative size the root is exact to rounding.
ROOT_TOLERANCE = 1e-9
# Poles nearer to each other than this share have roots between them that rounding may misplace.
RESOLVED = 1e-8
# Numbers in a block of rows: one megabyte, which stays in the cache.
BLOCK_ELEMENTS = 1 << 17


@dataclass(frozen=True)
class Downdate:
    """Each row i under the PCA of the other rows.

    eigenvalues (n, R): the R largest of the scatter without row i; energies (n, R): squared scores
    of row i on those axes; squared_error (n,): its squared distance off them.
    """

    eigenvalues: Array
    energies: Array
    squared_error: Array


def refit_factor(n_rows: int, affine: bool) -> float:
    """Return ``f = n/(n - 1)`` if affine, for the mean that is refitted without a row; else 1.

    Infinite for a single row: without it there is no mean.
    """
    if not affine:
        return 1.0
    return n_rows / (n_rows - 1) if n_rows > 1 else np.inf


def removal(n_rows: int, affine: bool, weights: Array | None = None) -> tuple[Array, Array]:
    """Return ``f u/w`` and ``f/u``, (n,): what a squared row is multiplied by, before and after.

    weights (n,): positive, None if all rows count one. Infinite for a row without which there is
    no mean.
    """
    if weights is None:
        f = np.full(n_rows, refit_factor(n_rows, affine))
        return f, f
    copy, total = copy_of(weights), float(weights.sum())
    with np.errstate(divide="ignore"):
        f = total / np.maximum(total - copy, 0.0) if affine else np.ones(n_rows)
    return f * (copy / weights), f / copy


def copy_of(weights: Array) -> Array:
    """``u = min(w, 1)``, (n,): as much of each row as is left out, one copy or all of it."""
    return np.minimum(weights, 1.0)


def downdate(
    coordinates: Array,
    eigenvalues: Array,
    n_components: int,
    affine: bool = False,
    weights: Array | None = None,
) -> Downdate:
    """Return the PCA without each row in turn, and that row's energies and error under it.

    coordinates (n, L), eigenvalues (L,): of all rows in their principal axes. affine: whether the
    rows are centred on their mean, which then is refitted without the row. weights (n,): positive,
    None if all rows count one; the coordinates are those of rows times the root of their weight.
    Without a row of leverage one the last axis is lost: its eigenvalue, and the row's energy along
    it, are zero.
    """
    if weights is None and not affine:
        return _downdate(coordinates, eigenvalues, n_components)
    before, after = removal(len(coordinates), affine, weights)
    alone = np.isinf(after)
    before, after = np.where(alone, 1.0, before), np.where(alone, 0.0, after)
    found = _downdate(np.sqrt(before)[:, None] * coordinates, eigenvalues, n_components)
    return Downdate(
        np.where(alone[:, None], 0.0, found.eigenvalues),
        after[:, None] * found.energies,
        np.where(alone, np.inf, after * found.squared_error),
    )


def _downdate(coordinates: Array, eigenvalues: Array, n_components: int) -> Downdate:
    """`downdate` without a mean to refit, by the compiled kernel if it was built."""
    module = compiled("secular")
    if module is None or coordinates.dtype != np.float64:
        return plain_downdate(coordinates, eigenvalues, n_components)
    return Downdate(*module.downdate(coordinates, eigenvalues, n_components))


def plain_downdate(coordinates: Array, eigenvalues: Array, n_components: int) -> Downdate:
    """`downdate` without a mean to refit, in numpy, in blocks of rows."""
    n, rank = coordinates.shape
    n_roots = min(n_components, rank)
    result = Downdate(np.zeros((n, n_components)), np.zeros((n, n_components)), np.zeros(n))
    if rank == 0:
        return result
    # Scaling by a power of two is exact, so nothing depends on the units of the data.
    scale = 2.0 ** np.round(np.log2(np.sqrt(eigenvalues[0])))
    poles = _separate(np.append(eigenvalues / scale**2, 0.0))
    rows = np.column_stack([coordinates / scale, np.zeros(n)])
    step = max(1, BLOCK_ELEMENTS // (rank + 1))
    for start in range(0, n, step):
        block = slice(start, start + step)
        mu, energy, error = _downdate_block(rows[block], poles, n_roots)
        result.eigenvalues[block, :n_roots] = mu * scale**2
        result.energies[block, :n_roots] = energy * scale**2
        result.squared_error[block] = error * scale**2
    return result


def axes_without(
    coordinates: Array, eigenvalues: Array, roots: Array, which: Sequence[int]
) -> Array:
    """Return axes ``which`` without each row, in the old axes, (n, len(which), L).

    roots (n, R): the eigenvalues that `downdate` found. Each axis is ``(diag(lambda) - mu)^-1 y``,
    with mu as its distance from the nearest lambda: the rounded mu has lost what the small
    differences need. Its own entry is positive.
    """
    scale = 2.0 ** np.round(np.log2(np.sqrt(eigenvalues[0])))
    poles = _separate(np.append(eigenvalues / scale**2, 0.0))
    rows = np.column_stack([coordinates / scale, np.zeros(len(coordinates))])
    weights = np.maximum(rows * rows, SMALLEST_WEIGHT)
    lengths = np.copysign(np.sqrt(weights), rows)[:, :-1]
    axes = np.empty((len(rows), len(which), len(eigenvalues)))
    for place, r in enumerate(which):
        origin, offset = _root_between(weights, poles, r, roots[:, r] / scale**2)
        axis = lengths / ((poles[:-1] - poles[origin][:, None]) - offset[:, None])
        length = np.copysign(np.linalg.norm(axis, axis=1), axis[:, r])
        np.divide(axis, length[:, None], out=axes[:, place])
    return axes


def _separate(poles: Array) -> Array:
    """Return the poles with ties moved apart by units in the last place: no empty interval."""
    closest = 1.0 - 4.0 * EPS
    separated = poles.copy()
    tied = np.flatnonzero(poles[1:-1] > closest * poles[:-2])
    for index in range(tied[0] + 1, len(poles) - 1) if len(tied) else ():
        separated[index] = min(separated[index], separated[index - 1] * closest)
    return separated


def _downdate_block(y: Array, poles: Array, n_roots: int) -> tuple[Array, Array, Array]:
    """Return eigenvalues (b, R), energies (b, R) and squared errors (b,) of rows y (b, L + 1).

    The last pole, 0, stands for the null space.
    """
    n, rank = y.shape[0], len(poles) - 1
    weights = np.maximum(y * y, SMALLEST_WEIGHT)
    remainder = np.ones_like(y)
    roots, energies = np.empty((n, n_roots)), np.empty((n, n_roots))
    for r in range(n_roots):
        origin, offset = _root_between(weights, poles, r)
        distance = (poles - poles[origin][:, None]) - offset[:, None]
        roots[:, r] = poles[origin] + offset
        energies[:, r] = 1.0 / np.sum(weights / distance**2, axis=1)
        if r == rank - 1:
            alone = np.sum(y[:, :-1] ** 2 / poles[:-1], axis=1) > LEVERAGE_ONE
            roots[alone, r], energies[alone, r] = 0.0, 0.0
        remainder -= energies[:, r, None] / distance
    return np.maximum(roots, 0.0), energies, np.sum((y * remainder) ** 2, axis=1)


def _root_between(
    weights: Array, poles: Array, r: int, rounded: Array | None = None
) -> tuple[Indices, Array]:
    """Solve the secular equation between poles r + 1 and r, for every row of weights.

    rounded (n,): the roots as numbers, if they are known. One step then gives their distances.

    Returns the nearer pole and the root's distance from it: the distance, not the root, is
    what has full relative precision. Each step fits ``c + s/(p_r - t) + S/(p_{r+1} - t)`` to the
    function's value and to the slopes of its two halves (the "middle way" of R.-C. Li, LAPACK
    Working Note 89) and solves that for t; a bracket guards it.
    """
    gap = poles[r] - poles[r + 1]
    middle = poles[r + 1] + 0.5 * gap
    if rounded is not None and gap > RESOLVED * poles[r]:
        lower_half = rounded <= middle
        t = rounded - np.where(lower_half, poles[r + 1], poles[r])
        reach = gap  # a root near the middle may have been rounded across it
    else:
        terms = weights / (poles - middle)
        at_middle = terms.sum(axis=1) - 1.0
        lower_half, reach = at_middle >= 0.0, 0.5 * gap
        t = _first_guess(at_middle - terms[:, r] - terms[:, r + 1], weights, r, gap, lower_half)
    origin = np.where(lower_half, r + 1, r)
    low = np.where(lower_half, 0.0, -reach)
    high = np.where(lower_half, reach, 0.0)
    t = np.where((t > low) & (t < high), t, 0.5 * (low + high))
    active = np.arange(len(weights))
    for _ in range(MAX_STEPS):
        now = t[active]
        distance = (poles - poles[origin[active]][:, None]) - now[:, None]
        value, step = _middle_way(weights[active], distance, r)
        low[active] = np.where(value < 0.0, now, low[active])
        high[active] = np.where(value < 0.0, high[active], now)
        new = now + step
        inside = (new >= low[active]) & (new <= high[active]) & (new != 0.0)
        new = np.where(inside, new, 0.5 * (low[active] + high[active]))
        t[active] = new
        active = active[np.abs(new - now) > ROOT_TOLERANCE * np.abs(new)]
        if not len(active):
            break
    return origin, t


def _first_guess(rest: Array, weights: Array, r: int, gap: float, lower_half: Mask) -> Array:
    """Return a first root (n,): two nearest poles exact, the others' sum as at the middle."""
    total = weights[:, r] + weights[:, r + 1]
    linear = np.where(lower_half, rest * gap, -rest * gap) + total
    constant = np.where(lower_half, gap * weights[:, r + 1], -gap * weights[:, r])
    return _quadratic_root(rest, linear, constant)


def _middle_way(weights: Array, distance: Array, r: int) -> tuple[Array, Array]:
    """Return the secular function's value (n,) and the step (n,) to a two-pole model's root."""
    inverse = 1.0 / distance
    terms = weights * inverse
    value = terms.sum(axis=1) - 1.0
    slopes = terms * inverse
    slope_above = slopes[:, : r + 1].sum(axis=1)
    slope_below = slopes[:, r + 1 :].sum(axis=1)
    above, below = distance[:, r], distance[:, r + 1]
    constant = above * below * value
    linear = (above + below) * value - above * below * (slope_above + slope_below)
    return value, _quadratic_root(
        value - above * slope_above - below * slope_below, linear, constant
    )


def _quadratic_root(square: Array, linear: Array, constant: Array) -> Array:
    """The root of ``square t^2 - linear t + constant`` that lies between the poles."""
    discriminant = np.sqrt(np.maximum(linear**2 - 4.0 * square * constant, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(
            linear <= 0.0,
            (linear - discriminant) / (2.0 * square),
            2.0 * constant / (linear + discriminant),
        )
