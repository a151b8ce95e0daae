# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: freethreading_compatible=True
"""Costs of a block of rows under every cluster, their next labels, and sums of the clusters.

The twin of `data.block_pass`, for numpy arrays of single and double precision, without Python's lock:
blocks run side by side in threads. Rows are taken a chunk at a time, so that their scores stay in the
processor's cache. Products of matrices are BLAS's. Scores are (R, n): all rows on one axis lie side
by side, so that the loops over rows use the vectors of any processor. Costs of members are taken in
double precision whatever the rows are, as in the plain code.
"""

from libc.math cimport INFINITY
from libc.string cimport memcpy
from scipy.linalg.cython_blas cimport dgemm, dsyrk, sgemm, ssyrk

import numpy as np

include "_address.pxi"

ctypedef fused real:
    float
    double

cdef enum Criterion:
    INFLUENCE, RESIDUAL, HAT, LIKELIHOOD

CRITERIA = {
    "influence": INFLUENCE, "residual": RESIDUAL, "hat": HAT, "loo": HAT, "likelihood": LIKELIHOOD,
    "distance": LIKELIHOOD,  # with other tables: `core.criteria.Tables.density`
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


# Rows of a chunk: their scores under ten clusters of five axes take half a megabyte.
cdef enum:
    CHUNK_ROWS = 1024
    # Members of a cluster that are copied side by side at a time.
    GATHERED_ROWS = 512


cdef struct Chunk:
    # Some rows (n, p), their scores (.., n) on axes (.., p), and their squared lengths (n,).
    Py_ssize_t n, p
    void* rows
    void* scores
    void* squared
    void* axes


def assign(rows, origin, axes, labels, own_scores, Clusters clusters):
    """Next labels (n,) of a block, its squared lengths (n,), and the sum of costs under the labels.

    rows (n, p), origin (p,) or None, which is subtracted from them, and axes (K, n_scores, p) are
    contiguous and of one precision; labels (n,) of type intc, or None: then every row is an
    outsider, and the sum is that of the least costs. A row stays where its own cluster ties.
    own_scores (n, R), or None: filled with the scores on the axes of the new clusters.
    """
    cdef Py_ssize_t n = rows.shape[0], p = rows.shape[1], room = min(n, CHUNK_ROWS)
    new, squared = np.zeros(n, dtype=np.intc), np.empty(n, dtype=rows.dtype)
    lines = clusters.n_clusters * clusters.n_scores
    work = np.empty((clusters.n_axes + 5 + lines + p) * room + p, dtype=rows.dtype)
    members, which = np.empty((clusters.n_axes + 3) * room), np.empty(room, dtype=np.intc)
    cdef bint single = rows.dtype == np.float32
    cdef void* first = numbers_of(rows)
    cdef void* middle = numbers_of(origin)
    cdef void* own = numbers_of(own_scores)
    cdef Chunk block = Chunk(n, p, first, numbers_of(work), numbers_of(squared), numbers_of(axes))
    cdef const int* present = <int*> numbers_of(labels)
    cdef double* left_out = <double*> numbers_of(members)
    cdef int* places = <int*> numbers_of(which)
    cdef int* found = <int*> numbers_of(new)
    cdef double objective
    with nogil:
        if single:
            objective = assign_chunks[float](
                clusters, &block, <float*> middle, present, left_out, places, found, <float*> own
            )
        else:
            objective = assign_chunks[double](
                clusters, &block, <double*> middle, present, left_out, places, found, <double*> own
            )
    return new, squared, objective


cdef double assign_chunks(
    Clusters clusters, const Chunk* block, const real* origin, const int* labels, double* left_out,
    int* which, int* new, real* own,
) noexcept nogil:
    """`assign`, chunk after chunk; the scores of the block are room for those of a chunk and more."""
    cdef Py_ssize_t p = block.p, step = clusters.n_scores, part, start, n, i, r
    cdef Py_ssize_t lines = clusters.n_clusters * step, room = min(block.n, <Py_ssize_t> CHUNK_ROWS)
    cdef real* scores = <real*> block.scores
    cdef real* copied = scores + lines * room
    cdef real* work = copied + p * room
    cdef real* squared = <real*> block.squared
    cdef const real* place
    cdef const int* present
    cdef double objective = 0.0
    cdef Chunk chunk = block[0]
    for part in range((block.n + CHUNK_ROWS - 1) // CHUNK_ROWS):
        start = part * CHUNK_ROWS
        chunk.n = n = min(<Py_ssize_t> CHUNK_ROWS, block.n - start)
        chunk.rows = <real*> block.rows + start * p
        if origin != NULL:
            gather(<real*> block.rows + start * p, NULL, n, p, origin, copied)
            chunk.rows = copied
        chunk.squared = squared + start
        square_lengths(<real*> chunk.rows, n, p, squared + start)
        multiply(True, False, n, lines, p, <real*> chunk.rows, p, <real*> block.axes, p, scores, n)
        present = labels if labels == NULL else labels + start
        objective += choose(clusters, &chunk, present, work, left_out, which, new + start)
        for i in range(n if own != NULL else 0):
            place = scores + new[start + i] * step * n + i
            for r in range(clusters.n_axes):
                own[(start + i) * clusters.n_axes + r] = place[r * n]
    return objective


def cluster_sums(
    rows, origin, order, ends, squared, own_scores, axes, Py_ssize_t n_axes, bint scatter, bint affine
):
    """Energy (K,), totals (K, p) and products of the members of every cluster of a block.

    rows, origin, axes: as in `assign`; order, of type intp: the rows of the first cluster, then of
    the second, and so on; ends (K + 1,), of type intp: where each begins, and the end; squared (n,)
    and own_scores (n, R): what `assign` found, or None. Products are scatter matrices (K, p, p), or
    images (K, p, R) of the axes. Totals are zero unless affine.
    """
    cdef Py_ssize_t p = rows.shape[1], k, n_clusters = len(ends) - 1
    width = p if scatter else n_axes
    energy, totals = np.zeros(n_clusters), np.zeros((n_clusters, p))
    products = np.zeros((n_clusters, p, width))
    work = np.empty(GATHERED_ROWS * (p + n_axes + 1) + p * width, dtype=rows.dtype)
    cdef bint single = rows.dtype == np.float32
    cdef Members members = Members(
        p, n_axes, axes.shape[1], numbers_of(rows), numbers_of(origin), numbers_of(axes),
        numbers_of(squared), numbers_of(own_scores), <Py_ssize_t*> numbers_of(order), scatter, affine,
    )
    cdef const Py_ssize_t* bounds = <Py_ssize_t*> numbers_of(ends)
    cdef double* first = <double*> numbers_of(energy)
    cdef double* second = <double*> numbers_of(totals)
    cdef double* third = <double*> numbers_of(products)
    cdef void* room = numbers_of(work)
    cdef Py_ssize_t size = p * width
    with nogil:
        for k in range(n_clusters):
            if single:
                sum_members[float](
                    &members, k, bounds[k], bounds[k + 1], <float*> room, first + k,
                    second + k * p, third + k * size,
                )
            else:
                sum_members[double](
                    &members, k, bounds[k], bounds[k + 1], <double*> room, first + k,
                    second + k * p, third + k * size,
                )
    return energy, totals, products


cdef struct Members:
    # Rows (n, p) of a block in the order of their clusters, and what is known of them.
    Py_ssize_t p, n_axes, n_scores
    void* rows
    void* origin
    void* axes
    void* squared
    void* own_scores
    const Py_ssize_t* order
    bint scatter, affine


cdef void sum_members(
    const Members* of, Py_ssize_t k, Py_ssize_t first, Py_ssize_t end, real* work, double* energy,
    double* totals, double* products,
) noexcept nogil:
    """Add up the members of one cluster, which are at the places first to end of the order."""
    cdef Py_ssize_t p = of.p, r = of.n_axes, part, start, n, i, j, width = p if of.scatter else r
    cdef real* copied = work
    cdef real* scores = copied + GATHERED_ROWS * p
    cdef real* lengths = scores + GATHERED_ROWS * r
    cdef real* product = lengths + GATHERED_ROWS
    cdef const real* known = <real*> of.own_scores
    cdef const real* axes = <real*> of.axes + k * of.n_scores * p
    cdef const Py_ssize_t* order
    for part in range((end - first + GATHERED_ROWS - 1) // GATHERED_ROWS):
        start = first + part * GATHERED_ROWS
        n, order = min(<Py_ssize_t> GATHERED_ROWS, end - start), of.order + start
        gather(<real*> of.rows, order, n, p, <real*> of.origin, copied)
        if of.squared == NULL:
            square_lengths(copied, n, p, lengths)
        for i in range(n):
            energy[0] += lengths[i] if of.squared == NULL else (<real*> of.squared)[order[i]]
        for i in range(n if of.affine else 0):
            for j in range(p):
                totals[j] += copied[i * p + j]
        if of.scatter:
            square(n, p, copied, product)
            for i in range(p):  # the other triangle is filled at the end
                for j in range(i, p):
                    products[i * p + j] += product[i * p + j]
            continue
        if known == NULL:
            multiply(True, False, r, n, p, axes, p, copied, p, scores, r)
        else:
            for i in range(n):
                memcpy(scores + i * r, known + order[i] * r, r * sizeof(real))
        multiply(False, True, r, p, n, scores, r, copied, p, product, r)
        for i in range(p * r):
            products[i] += product[i]
    for i in range(p if of.scatter else 0):
        for j in range(i):
            products[i * p + j] = products[j * p + i]


def influence_and_errors(rows, origin, order, ends, axes, Clusters clusters):
    """Influence (n,) of the rows of a block, and the sum of their squared errors without each.

    rows, origin, axes: as in `assign`; order, ends: as in `cluster_sums`.
    """
    cdef Py_ssize_t p = rows.shape[1], n_axes = clusters.n_axes, step = clusters.n_scores
    cdef Py_ssize_t room = GATHERED_ROWS, k
    found = np.empty(rows.shape[0], dtype=rows.dtype)
    work = np.empty((p + step + n_axes + 2) * room + p, dtype=rows.dtype)
    members = np.empty((n_axes + 4) * room)
    which = np.arange(room, dtype=np.intc)
    cdef bint single = rows.dtype == np.float32
    cdef Members block = Members(
        p, n_axes, step, numbers_of(rows), numbers_of(origin), numbers_of(axes), NULL, NULL,
        <Py_ssize_t*> numbers_of(order), False, False,
    )
    cdef const Py_ssize_t* bounds = <Py_ssize_t*> numbers_of(ends)
    cdef void* numbers = numbers_of(work)
    cdef void* influence = numbers_of(found)
    cdef double* own = <double*> numbers_of(members)
    cdef int* all_rows = <int*> numbers_of(which)
    cdef double errors = 0.0
    with nogil:
        for k in range(clusters.n_clusters):
            if single:
                errors += measure_cluster[float](
                    clusters, &block, <int> k, bounds[k], bounds[k + 1], <float*> numbers, own,
                    all_rows, <float*> influence,
                )
            else:
                errors += measure_cluster[double](
                    clusters, &block, <int> k, bounds[k], bounds[k + 1], <double*> numbers, own,
                    all_rows, <double*> influence,
                )
    return found, errors


cdef double measure_cluster(
    Clusters clusters, const Members* of, int k, Py_ssize_t first, Py_ssize_t end, real* work,
    double* own, const int* all_rows, real* influence,
) noexcept nogil:
    """Fill in the influence of the members of one cluster; the sum of their errors without each."""
    cdef Py_ssize_t p = of.p, step = of.n_scores, room = GATHERED_ROWS, part, start, i
    cdef real* copied = work
    cdef real* scores = copied + room * p
    cdef real* lengths = scores + room * step
    cdef real* axes = <real*> of.axes + k * step * p
    cdef double* found = own + (clusters.n_axes + 2) * room
    cdef double* errors = found + room
    cdef double total = 0.0
    cdef Chunk chunk = Chunk(0, p, copied, scores, lengths, axes)
    for part in range((end - first + GATHERED_ROWS - 1) // GATHERED_ROWS):
        start = first + part * GATHERED_ROWS
        chunk.n = min(room, end - start)
        gather(<real*> of.rows, of.order + start, chunk.n, p, <real*> of.origin, copied)
        square_lengths(copied, chunk.n, p, lengths)
        multiply(True, False, chunk.n, step, p, copied, p, axes, p, scores, chunk.n)
        measure_members(clusters, k, &chunk, lengths + room, all_rows, found, errors, own)
        for i in range(chunk.n):
            influence[of.order[start + i]] = <real> found[i]
            total += errors[i]
    return total


def spread(rows, labels, points):
    """Sums of the rows of each cluster (K, p), and of squares (p,), all from the cluster's point.

    rows (n, p), of either precision, labels (n,) of type intc and points (K, p) of double precision
    are contiguous.
    """
    cdef Py_ssize_t n = rows.shape[0], p = rows.shape[1]
    totals, squares = np.zeros(points.shape), np.zeros(p)
    cdef bint single = rows.dtype == np.float32
    cdef const void* first = numbers_of(rows)
    cdef const int* own = <int*> numbers_of(labels)
    cdef const double* point = <double*> numbers_of(points)
    cdef double* total = <double*> numbers_of(totals)
    cdef double* square = <double*> numbers_of(squares)
    with nogil:
        if single:
            add_spread(n, p, <const float*> first, own, point, total, square)
        else:
            add_spread(n, p, <const double*> first, own, point, total, square)
    return totals, squares


cdef void add_spread(
    Py_ssize_t n, Py_ssize_t p, const real* rows, const int* labels, const double* points,
    double* totals, double* squares,
) noexcept nogil:
    cdef Py_ssize_t i, j, first
    cdef double away
    for i in range(n):
        first = labels[i] * p
        for j in range(p):
            away = rows[i * p + j] - points[first + j]
            totals[first + j] += away
            squares[j] += away * away


cdef void gather(
    const real* rows, const Py_ssize_t* order, Py_ssize_t n, Py_ssize_t p, const real* origin,
    real* copied,
) noexcept nogil:
    """Copy n rows, those of the order or the first ones, less the origin where there is one."""
    cdef Py_ssize_t i, j
    cdef const real* row
    for i in range(n):
        row = rows + (i if order == NULL else order[i]) * p
        if origin == NULL:
            memcpy(copied + i * p, row, p * sizeof(real))
        else:
            for j in range(p):
                copied[i * p + j] = row[j] - origin[j]


cdef void square_lengths(const real* rows, Py_ssize_t n, Py_ssize_t p, real* squared) noexcept nogil:
    """Squared lengths of n rows, each by eight sums side by side."""
    cdef Py_ssize_t i, j, part
    cdef real sums[8]
    cdef const real* row
    for i in range(n):
        row = rows + i * p
        for part in range(8):
            sums[part] = 0
        for j in range(0, p - 7, 8):
            for part in range(8):
                sums[part] += row[j + part] * row[j + part]
        for j in range(p - p % 8, p):
            sums[0] += row[j] * row[j]
        squared[i] = (
            ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]))
        )


cdef void multiply(
    bint turn_first, bint turn_second, Py_ssize_t m, Py_ssize_t n, Py_ssize_t inner, const real* a,
    Py_ssize_t a_step, const real* b, Py_ssize_t b_step, real* product, Py_ssize_t step,
) noexcept nogil:
    """BLAS's gemm, in its order of columns: (m, n) = (m, inner) (inner, n), either one transposed."""
    cdef int rows = <int> m, columns = <int> n, length = <int> inner
    cdef int lda = <int> a_step, ldb = <int> b_step, ldc = <int> step
    cdef real one = 1, zero = 0
    cdef char* first = b"T" if turn_first else b"N"
    cdef char* second = b"T" if turn_second else b"N"
    if real is float:
        sgemm(
            first, second, &rows, &columns, &length, &one, <float*> a, &lda, <float*> b, &ldb, &zero,
            product, &ldc,
        )
    else:
        dgemm(
            first, second, &rows, &columns, &length, &one, <double*> a, &lda, <double*> b, &ldb,
            &zero, product, &ldc,
        )


cdef void square(Py_ssize_t n, Py_ssize_t p, const real* rows, real* product) noexcept nogil:
    """The scatter matrix of n rows, by BLAS's syrk; only the upper triangle of its rows is filled."""
    cdef int size = <int> p, count = <int> n
    cdef real one = 1, zero = 0
    if real is float:
        ssyrk(b"L", b"N", &size, &count, &one, <float*> rows, &size, &zero, product, &size)
    else:
        dsyrk(b"L", b"N", &size, &count, &one, <double*> rows, &size, &zero, product, &size)


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
