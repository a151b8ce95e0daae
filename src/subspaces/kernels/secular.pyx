# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: freethreading_compatible=True
# cython: initializedcheck=False
"""The leave-one-out error of every row of a PCA: `core.secular.downdate`, one row at a time.

The module `core.secular` has the equations and the notation.
"""

from libc.math cimport exp2, fabs, log2, round, sqrt

import numpy as np

include "_address.pxi"

cdef extern from "secular.h" nogil:
    void secular_sums(
        Py_ssize_t n, const double* weights, const double* poles, double origin, double shift,
        double* value, double* slope,
    )

cdef double SMALLEST_WEIGHT = 1e-60
cdef double LEVERAGE_ONE = 1.0 - 1e-10
cdef double SETTLED = 1e-7         # the error after a step is the square of this
cdef double EPS = 2.220446049250313e-16
cdef int MAX_STEPS = 64


def downdate(coordinates, eigenvalues, int n_components):
    """Eigenvalues, energies (n, n_components) and squared errors (n,) of rows left out in turn.

    coordinates (n, L) and eigenvalues (L,), numpy arrays of double precision.
    """
    cdef int n = coordinates.shape[0], rank = coordinates.shape[1], i
    cdef int n_roots = min(n_components, rank)
    roots, energies = np.zeros((n, n_components)), np.zeros((n, n_components))
    if n == 0 or n_roots == 0:
        return roots, energies, np.einsum("ij,ij->i", coordinates, coordinates)
    # Scaling by a power of two is exact, so nothing depends on the units of the data.
    cdef double scale = exp2(round(log2(sqrt(eigenvalues[0]))))
    scaled = np.ascontiguousarray(coordinates / scale)
    poles = np.append(eigenvalues / scale**2, 0.0)
    scratch, errors = np.empty((2, rank + 1)), np.empty(n)
    cdef double* y = <double*> address(scaled)
    cdef double* pole = <double*> address(poles)
    cdef double* work = <double*> address(scratch)
    cdef double* root = <double*> address(roots)
    cdef double* energy = <double*> address(energies)
    cdef double* error = <double*> address(errors)
    with nogil:
        separate(pole, rank)
        for i in range(n):
            error[i] = leave_out(
                y + <Py_ssize_t> i * rank, pole, rank, n_roots, work, work + rank + 1,
                root + <Py_ssize_t> i * n_components, energy + <Py_ssize_t> i * n_components,
            )
    return roots * scale**2, energies * scale**2, errors * scale**2


cdef void separate(double* poles, int rank) noexcept nogil:
    """Move exact ties apart by a few units in the last place, so that each interval is open."""
    cdef double closest = 1.0 - 4.0 * EPS
    cdef int l
    for l in range(1, rank):
        poles[l] = min(poles[l], closest * poles[l - 1])


cdef double leave_out(
    const double* y, const double* poles, int rank, int n_roots, double* weights,
    double* remainder, double* roots, double* energies,
) noexcept nogil:
    """Squared error of the row with coordinates y when the axes are fitted without it.

    poles: the eigenvalues and a last zero, the null space; weights and remainder are scratch, of
    length rank + 1. roots and energies (n_roots,): the eigenvalues without the row, and its squared
    lengths along their axes.
    """
    cdef int l, r
    cdef double origin, shift, value, slope, leverage, error = 0.0
    for l in range(rank):
        weights[l], remainder[l] = max(y[l] * y[l], SMALLEST_WEIGHT), 1.0
    weights[rank], remainder[rank] = SMALLEST_WEIGHT, 1.0
    for r in range(n_roots):
        root_between(weights, poles, rank, r, &origin, &shift)
        secular_sums(rank + 1, weights, poles, origin, shift, &value, &slope)
        roots[r], energies[r] = max(origin + shift, 0.0), 1.0 / slope
        if r == rank - 1:
            leverage = 0.0
            for l in range(rank):
                leverage += y[l] * y[l] / poles[l]
            if leverage > LEVERAGE_ONE:
                roots[r], energies[r] = 0.0, 0.0
        for l in range(rank + 1):
            remainder[l] -= energies[r] / ((poles[l] - origin) - shift)
    for l in range(rank):
        error += (y[l] * remainder[l]) * (y[l] * remainder[l])
    return error


cdef void root_between(
    const double* weights, const double* poles, int rank, int r, double* origin, double* shift
) noexcept nogil:
    """The nearer pole and the root's distance from it, between poles r + 1 and r."""
    cdef double gap = poles[r] - poles[r + 1]
    cdef double middle = poles[r + 1] + 0.5 * gap
    cdef double value, slope, rest, total, now, new, step, low, high
    cdef bint lower_half
    cdef int steps
    secular_sums(rank + 1, weights, poles, 0.0, middle, &value, &slope)
    value -= 1.0
    lower_half = value >= 0.0
    origin[0] = poles[r + 1] if lower_half else poles[r]
    low = 0.0 if lower_half else -0.5 * gap
    high = 0.5 * gap if lower_half else 0.0
    # The first guess has the two nearest poles exact, and all others frozen at the middle.
    rest = value - weights[r] / (poles[r] - middle) - weights[r + 1] / (poles[r + 1] - middle)
    total = weights[r] + weights[r + 1]
    now = quadratic_root(
        rest,
        (rest * gap if lower_half else -rest * gap) + total,
        gap * weights[r + 1] if lower_half else -gap * weights[r],
    )
    if not (low < now < high):
        now = 0.5 * (low + high)
    for steps in range(MAX_STEPS):
        step = middle_way(weights, poles, rank, r, origin[0], now, &value)
        if value < 0.0:
            low = now
        else:
            high = now
        new = now + step
        if not (low <= new <= high) or new == 0.0:
            new = 0.5 * (low + high)
        step, now = new - now, new
        if fabs(step) <= SETTLED * fabs(new):
            break
    shift[0] = now


cdef double middle_way(
    const double* weights, const double* poles, int rank, int r, double origin, double now,
    double* value,
) noexcept nogil:
    """The step to the root of the two-pole model with the slopes of the two halves."""
    cdef double above = (poles[r] - origin) - now, below = (poles[r + 1] - origin) - now
    cdef double value_below, slope_above, slope_below, constant, linear
    secular_sums(r + 1, weights, poles, origin, now, value, &slope_above)
    secular_sums(rank - r, weights + r + 1, poles + r + 1, origin, now, &value_below, &slope_below)
    value[0] += value_below - 1.0
    constant = above * below * value[0]
    linear = (above + below) * value[0] - above * below * (slope_above + slope_below)
    return quadratic_root(
        value[0] - above * slope_above - below * slope_below, linear, constant
    )


cdef double quadratic_root(double square, double linear, double constant) noexcept nogil:
    """The root of ``square t^2 - linear t + constant`` that lies between the poles."""
    cdef double discriminant = sqrt(max(linear * linear - 4.0 * square * constant, 0.0))
    if linear <= 0.0:
        return (linear - discriminant) / (2.0 * square)
    return 2.0 * constant / (linear + discriminant)
