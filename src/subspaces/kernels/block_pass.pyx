# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Costs of a chunk of rows under every cluster, and their next labels, in one pass.

The twin of `costs` and `_assigned` in `data.block_pass`, for numpy arrays of single and double
precision. Products of matrices are BLAS's and are taken in `data.compiled_pass`; here are the loops
over single numbers, for which numpy would fill one array after the other. Scores are (R, n): all
rows on one axis lie side by side, so that the loops over rows use the vectors of any processor.
Costs of members are taken in double precision whatever the rows are, as in the plain code.
"""

from libc.math cimport INFINITY

import numpy as np

include "_address.pxi"

ctypedef fused real:
    float
    double

cdef enum Criterion:
    INFLUENCE, RESIDUAL, HAT, LIKELIHOOD

CRITERIA = {
    "influence": INFLUENCE, "residual": RESIDUAL, "hat": HAT, "loo": HAT, "likelihood": LIKELIHOOD,
}
# A row whose leverage is one is the only one along some axis; see `core.secular`.
cdef double LEVERAGE_ONE = 1.0 - 1e-10


cdef class Clusters:
    """What costs need of the subspaces of K clusters, beside their R axes.

    spectra, variances, shifts (K, R): energies of the members along the axes, variances there in a
    likelihood, and coordinates of the centres; lengths, scales, mean_leverages (K,): squared lengths
    of the centres, -log densities at them, and 1 / n_k where the cluster has a mean; has_centres:
    whether scores come with one more line per cluster, the inner products with its centre.
    """

    cdef Criterion criterion
    cdef Py_ssize_t n_clusters, n_axes, n_scores
    cdef double noise
    cdef double *spectra
    cdef double *variances
    cdef double *shifts
    cdef double *lengths
    cdef double *scales
    cdef double *mean_leverages
    cdef list kept

    def __init__(
        self, criterion, spectra, variances, scales, mean_leverages, noise, shifts=None,
        lengths=None, has_centres=False,
    ):
        self.criterion = CRITERIA[criterion]
        self.n_clusters, self.n_axes = spectra.shape
        self.n_scores = self.n_axes + bool(has_centres)
        self.noise = noise
        arrays = spectra, variances, shifts, lengths, scales, mean_leverages
        self.kept = [
            None if array is None else np.ascontiguousarray(array, dtype=np.float64)
            for array in arrays
        ]
        spectra, variances, shifts, lengths, scales, mean_leverages = self.kept
        self.spectra = <double*> numbers_of(spectra)
        self.variances = <double*> numbers_of(variances)
        self.shifts = <double*> numbers_of(shifts)
        self.lengths = <double*> numbers_of(lengths)
        self.scales = <double*> numbers_of(scales)
        self.mean_leverages = <double*> numbers_of(mean_leverages)


cdef void* numbers_of(array) except? NULL:
    """Where the numbers of a contiguous array lie; nowhere for None."""
    return NULL if array is None else address(array)


cdef struct Chunk:
    # Some rows (n, p), their scores (.., n) on axes (.., p), and their squared lengths (n,).
    Py_ssize_t n, p
    void* rows
    void* scores
    void* squared
    void* axes


cdef Chunk chunk_of(rows, scores, squared, axes):
    return Chunk(
        rows.shape[0], rows.shape[1], numbers_of(rows), numbers_of(scores), numbers_of(squared),
        numbers_of(axes),
    )


def assign(rows, scores, squared, axes, labels, Clusters clusters):
    """Next labels (n,) of some rows, and the sum of their costs under the present ones.

    rows (n, p), their scores (K n_scores, n) on the axes (K n_scores, p), and their squared lengths
    (n,) are contiguous and of one precision; labels (n,) of type intc, or None: then every row is
    an outsider, and the sum is that of the least costs. A row stays where its own cluster ties.
    """
    cdef Chunk chunk = chunk_of(rows, scores, squared, axes)
    new = np.zeros(chunk.n, dtype=np.intc)
    work = np.empty((clusters.n_axes + 5) * chunk.n + chunk.p, dtype=rows.dtype)
    members = np.empty((clusters.n_axes + 3) * chunk.n)
    which = np.empty(chunk.n, dtype=np.intc)
    cdef bint single = rows.dtype == np.float32
    cdef const int* present = <int*> numbers_of(labels)
    cdef void* room = numbers_of(work)
    cdef double* own = <double*> numbers_of(members)
    cdef int* places = <int*> numbers_of(which)
    cdef int* found = <int*> numbers_of(new)
    cdef double objective
    with nogil:
        if single:
            objective = choose(clusters, &chunk, present, <float*> room, own, places, found)
        else:
            objective = choose(clusters, &chunk, present, <double*> room, own, places, found)
    return new, objective


def costs(energies, residual, labels, Clusters clusters):
    """Costs (K, n) of rows that are all in view, members of the cluster of their label.

    energies (K, R, n): squared scores, and residual (K, n), contiguous and of double precision;
    labels (n,).
    """
    labels = np.ascontiguousarray(labels, dtype=np.intc)
    cdef Py_ssize_t n = residual.shape[1], n_axes = clusters.n_axes
    cdef int k
    priced, total = np.empty((clusters.n_clusters, n)), np.empty(n)
    members, which = np.empty((n_axes + 3) * n), np.empty(n, dtype=np.intc)
    cdef const double* energy = <double*> numbers_of(energies)
    cdef const double* rest = <double*> numbers_of(residual)
    cdef const int* label = <int*> numbers_of(labels)
    cdef double* cost = <double*> numbers_of(priced)
    cdef double* room = <double*> numbers_of(total)
    cdef double* own = <double*> numbers_of(members)
    cdef int* places = <int*> numbers_of(which)
    with nogil:
        for k in range(<int> clusters.n_clusters):
            price_all(clusters, k, n, energy, rest, label, room, own, places, cost)
            energy, rest, cost = energy + n_axes * n, rest + n, cost + n
    return priced


def influence_and_errors(rows, scores, squared, axes, int k, Clusters clusters):
    """Influence (n,) of some members of cluster k, and the sum of their squared errors without each.

    rows (n, p), their scores (n_scores, n) on the axes (n_scores, p) of this cluster, and their
    squared lengths (n,) are contiguous and of one precision.
    """
    cdef Chunk chunk = chunk_of(rows, scores, squared, axes)
    work = np.empty((clusters.n_axes + 1) * chunk.n + chunk.p, dtype=rows.dtype)
    members = np.empty((clusters.n_axes + 2) * chunk.n)
    which = np.arange(chunk.n, dtype=np.intc)
    influence, errors = np.empty(chunk.n), np.empty(chunk.n)
    cdef bint single = rows.dtype == np.float32
    cdef void* room = numbers_of(work)
    cdef double* own = <double*> numbers_of(members)
    cdef int* all_rows = <int*> numbers_of(which)
    cdef double* first = <double*> numbers_of(influence)
    cdef double* second = <double*> numbers_of(errors)
    with nogil:
        if single:
            measure_members(clusters, k, &chunk, <float*> room, all_rows, first, second, own)
        else:
            measure_members(clusters, k, &chunk, <double*> room, all_rows, first, second, own)
    return influence.astype(rows.dtype), float(errors.sum())


cdef double choose(
    Clusters clusters, const Chunk* chunk, const int* labels, real* work, double* own, int* which,
    int* new,
) noexcept nogil:
    """The cluster of least cost of every row, and the sum of the costs under the labels."""
    cdef Py_ssize_t n = chunk.n, i, j, n_members, step = clusters.n_scores
    cdef real* energies = work
    cdef real* residual = energies + clusters.n_axes * n
    cdef real* total = residual + n
    cdef real* cost = total + n
    cdef real* least = cost + n
    cdef real* present = least + n
    cdef double objective = 0.0
    cdef int k
    for i in range(n):
        least[i] = INFINITY
    for k in range(<int> clusters.n_clusters):
        project(
            clusters, k, chunk, <real*> chunk.scores + k * step * n,
            <real*> chunk.axes + k * step * chunk.p, energies, residual, present + n,
        )
        n_members = price_all(
            clusters, k, n, energies, residual, labels, total, own, which, cost
        )
        for j in range(n_members):
            present[which[j]] = cost[which[j]]
        for i in range(n):
            new[i] = k if cost[i] < least[i] else new[i]
            least[i] = cost[i] if cost[i] < least[i] else least[i]
    for i in range(n):
        if labels == NULL:
            objective += least[i]
        else:
            objective += present[i]
            if present[i] <= least[i]:
                new[i] = labels[i]
    return objective


cdef void measure_members(
    Clusters clusters, int k, const Chunk* chunk, real* work, const int* all_rows,
    double* influence, double* errors, double* own,
) noexcept nogil:
    """Influences and squared errors without them of rows that are all members of cluster k."""
    cdef Py_ssize_t n = chunk.n
    cdef real* residual = work + clusters.n_axes * n
    project(
        clusters, k, chunk, <real*> chunk.scores, <real*> chunk.axes, work, residual, residual + n
    )
    member_costs(clusters, INFLUENCE, k, n, work, residual, n, all_rows, influence, own)
    member_costs(clusters, HAT, k, n, work, residual, n, all_rows, errors, own)


cdef void project(
    Clusters clusters, Py_ssize_t k, const Chunk* chunk, const real* scores, const real* axes,
    real* energies, real* residual, real* left,
) noexcept nogil:
    """Squared scores (R, n) and squared residuals (n,) of all rows under cluster k.

    A residual that is small beside what it is a difference of has lost its digits, and is taken of
    the row itself. left: room for a row.
    """
    cdef Py_ssize_t n = chunk.n, n_axes = clusters.n_axes, r, i, n_lost = 0
    cdef const real* squared = <real*> chunk.squared
    cdef real length = <real> clusters.lengths[k], shift, score, bound
    cdef real share = 1e-3 if real is float else 1e-6
    for i in range(n):
        residual[i] = squared[i]
    if clusters.n_scores > n_axes:
        for i in range(n):
            residual[i] += length - 2 * scores[n_axes * n + i]
    for r in range(n_axes):
        shift = <real> clusters.shifts[k * n_axes + r]
        for i in range(n):
            score = scores[r * n + i] - shift
            energies[r * n + i] = score * score
            residual[i] -= score * score
    for i in range(n):
        bound = share * (squared[i] if squared[i] > length else length)
        n_lost += not residual[i] > bound
    for i in range(n if n_lost else 0):
        bound = share * (squared[i] if squared[i] > length else length)
        if not residual[i] > bound:
            residual[i] = squared_residual(
                clusters, k, chunk.p, n, <real*> chunk.rows + i * chunk.p, scores + i, axes, left
            )


cdef real squared_residual(
    Clusters clusters, Py_ssize_t k, Py_ssize_t p, Py_ssize_t n, const real* row,
    const real* scores, const real* axes, real* left,
) noexcept nogil:
    """``||x - c_k - V_k z||^2`` of one row; its score on axis r is scores[r n]."""
    cdef Py_ssize_t n_axes = clusters.n_axes, r, j
    cdef real score, total = 0
    for j in range(p):
        left[j] = row[j] - axes[n_axes * p + j] if clusters.n_scores > n_axes else row[j]
    for r in range(n_axes):
        score = scores[r * n] - <real> clusters.shifts[k * n_axes + r]
        for j in range(p):
            left[j] -= score * axes[r * p + j]
    for j in range(p):
        total += left[j] * left[j]
    return total


cdef Py_ssize_t price_all(
    Clusters clusters, int k, Py_ssize_t n, const real* energies, const real* residual,
    const int* labels, real* total, double* own, int* which, real* cost,
) noexcept nogil:
    """Costs (n,) of all rows under cluster k, its members left out of it; how many they are.

    which: the members; total, own: room for n and (R + 3) n numbers.
    """
    cdef Py_ssize_t i, n_members = 0
    price(clusters, clusters.criterion, k, n, energies, residual, False, total, cost)
    if labels == NULL:
        return 0
    for i in range(n):
        if labels[i] == k:
            which[n_members] = <int> i
            n_members += 1
    member_costs(
        clusters, clusters.criterion, k, n, energies, residual, n_members, which, own, own + n
    )
    for i in range(n_members):
        cost[which[i]] = <real> own[i]
    return n_members


cdef void member_costs(
    Clusters clusters, Criterion criterion, Py_ssize_t k, Py_ssize_t n, const real* energies,
    const real* residual, Py_ssize_t n_members, const int* which, double* cost, double* room,
) noexcept nogil:
    """Costs of the rows ``which`` as members of cluster k; room: for R + 2 numbers a member."""
    cdef double* total = room
    cdef double* rest = total + n_members
    cdef double* squares = rest + n_members
    cdef Py_ssize_t r, j
    for j in range(n_members):
        rest[j] = residual[which[j]]
    for r in range(clusters.n_axes):
        for j in range(n_members):
            squares[r * n_members + j] = energies[r * n + which[j]]
    price(clusters, criterion, k, n_members, squares, rest, True, total, cost)


cdef void price(
    Clusters clusters, Criterion criterion, Py_ssize_t k, Py_ssize_t n, const real* energies,
    const real* residual, bint member, real* total, real* cost,
) noexcept nogil:
    """Costs (n,) of rows under cluster k, of which all or none are members; total: room."""
    cdef Py_ssize_t n_axes = clusters.n_axes, i
    cdef const double* spectra = clusters.spectra + k * n_axes
    cdef real left, scale, half
    if criterion == INFLUENCE:
        influence(n, n_axes, energies, residual, spectra, member, total, cost)
        return
    for i in range(n):
        cost[i] = residual[i]
    if member and criterion != RESIDUAL:
        # ||x_perp||^2 / (1 - 1/n_k - sum h)^2
        add_ratios(n, n_axes, energies, spectra, <real> clusters.mean_leverages[k], total)
        for i in range(n):
            left = 1 - total[i]
            cost[i] = <real> INFINITY if total[i] >= LEVERAGE_ONE else residual[i] / (left * left)
    if criterion == LIKELIHOOD:
        add_ratios(n, n_axes, energies, clusters.variances + k * n_axes, <real> 0, total)
        scale, half = <real> clusters.scales[k], <real> (0.5 / clusters.noise)
        for i in range(n):
            cost[i] = scale + (half * cost[i] + <real> 0.5 * total[i])


cdef void add_ratios(
    Py_ssize_t n, Py_ssize_t n_axes, const real* energies, const double* scales, real start,
    real* total,
) noexcept nogil:
    """``start + sum_r d_r^2 / scale_r`` of every row."""
    cdef Py_ssize_t r, i
    cdef real weight
    for i in range(n):
        total[i] = start
    for r in range(n_axes):
        weight = <real> (1.0 / scales[r])
        for i in range(n):
            total[i] += weight * energies[r * n + i]


cdef inline real leverage(real energy, real spectrum, real weight, bint member) noexcept nogil:
    """Energy along an axis over that of the others along it."""
    return energy / (spectrum - energy) if member else energy * weight


cdef void influence(
    Py_ssize_t n, Py_ssize_t n_axes, const real* energies, const real* residual,
    const double* spectra, bint member, real* total, real* cost,
) noexcept nogil:
    """``(1 + A)^4 ||x_perp||^2 + sum_r (A - g_r)^4 d_r^2``, A = sum_r g_r; infinite if alone."""
    cdef Py_ssize_t r, i
    cdef const real* energy
    cdef real spectrum, weight, others, all_of
    for i in range(n):
        total[i] = 0
    for r in range(n_axes):
        spectrum, weight, energy = <real> spectra[r], <real> (1.0 / spectra[r]), energies + r * n
        for i in range(n):
            total[i] += leverage(energy[i], spectrum, weight, member)
    for i in range(n):
        all_of = (1 + total[i]) * (1 + total[i])
        cost[i] = all_of * all_of * residual[i]
    for r in range(n_axes):
        spectrum, weight, energy = <real> spectra[r], <real> (1.0 / spectra[r]), energies + r * n
        for i in range(n):
            others = total[i] - leverage(energy[i], spectrum, weight, member)
            cost[i] += (others * others) * (others * others) * energy[i]
    for r in range(n_axes if member else 0):
        for i in range(n):
            if energies[r * n + i] >= LEVERAGE_ONE * spectra[r]:
                cost[i] = <real> INFINITY
