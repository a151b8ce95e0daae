# One block of rows in one pass: the twin of block_pass.py, in single and in double precision.

from scipy.linalg.cython_blas cimport dgemv, sgemm, sgemv, ssyrk

cdef extern from "_passes.h" nogil:
    ctypedef struct PassFlats:
        int criterion, n_clusters, n_axes, n_scores, n_variables
        const double *spectra
        const double *weights
        const double *shifts
        const double *lengths
        const double *scales
        const double *mean_leverages
        double noise
        double share
    enum:
        BY_INFLUENCE, BY_RESIDUAL, BY_HAT, BY_LIKELIHOOD

    double survey_float(Py_ssize_t, Py_ssize_t, const float*, double*, double*)
    double survey_double(Py_ssize_t, Py_ssize_t, const double*, double*, double*)
    void shift_float(Py_ssize_t, Py_ssize_t, const float*, const float*, float*)
    void shift_double(Py_ssize_t, Py_ssize_t, const double*, const double*, double*)
    void square_float(Py_ssize_t, Py_ssize_t, const float*, float*)
    void square_double(Py_ssize_t, Py_ssize_t, const double*, double*)
    double choose_float(
        const PassFlats*, Py_ssize_t, const float*, const float*, const float*, const float*,
        const int*, const int*, const int*, float*, int*,
    )
    double choose_double(
        const PassFlats*, Py_ssize_t, const double*, const double*, const double*, const double*,
        const int*, const int*, const int*, double*, int*,
    )
    double measure_float(
        const PassFlats*, Py_ssize_t, Py_ssize_t, const float*, const int*, const float*,
        const float*, const float*, float*, float*,
    )
    double measure_double(
        const PassFlats*, Py_ssize_t, Py_ssize_t, const double*, const int*, const double*,
        const double*, const double*, double*, double*,
    )
    void scores_of_float(
        Py_ssize_t, Py_ssize_t, Py_ssize_t, const float*, const int*, const float*, float*, float*
    )
    void scores_of_double(
        Py_ssize_t, Py_ssize_t, Py_ssize_t, const double*, const int*, const double*, double*, double*
    )
    void image_float(
        Py_ssize_t, Py_ssize_t, Py_ssize_t, const float*, const int*, const int*, const float*,
        Py_ssize_t, float, float*, float*, float*,
    )
    void image_double(
        Py_ssize_t, Py_ssize_t, Py_ssize_t, const double*, const int*, const int*, const double*,
        Py_ssize_t, double, double*, double*, double*,
    )

cdef enum:
    CHUNK_ROWS = 1024              # looked at together: their scores stay in the cache
    GATHERED = 128                 # members of one cluster that are multiplied together, at most,
    NEAR = 1 << 18                 # and such that they take no more bytes: they stay in the cache
    FEW_VARIABLES = 64             # up to so many gemm is quicker than syrk
    LINE = 64                      # bytes of a line of the cache

cdef double SHARES[2]
SHARES[:] = [1e-3, 1e-6]           # of a squared length, in single and double precision: less is
                                   # taken of the row itself, lest digits cancel

PASS_CRITERIA = {
    "influence": BY_INFLUENCE, "residual": BY_RESIDUAL, "hat": BY_HAT, "loo": BY_HAT,
    "likelihood": BY_LIKELIHOOD,
}


cdef class FlatTables:
    """The flats of a pass, but for their axes; see `PassFlats` in _passes.h."""

    cdef PassFlats flats
    cdef list kept

    def __init__(
        self, criterion, dtype, n_variables, affine, spectra, weights, shifts, lengths, scales,
        mean_leverages, noise,
    ):
        cdef const double[:, ::1] a = spectra, b = weights, c = shifts
        cdef const double[::1] d = lengths, e = scales, f = mean_leverages
        self.kept = [spectra, weights, shifts, lengths, scales, mean_leverages]
        self.flats = PassFlats(
            PASS_CRITERIA[criterion], a.shape[0], a.shape[1], a.shape[1] + bool(affine),
            n_variables, &a[0, 0], &b[0, 0], &c[0, 0], &d[0], &e[0], &f[0], noise,
            SHARES[dtype == np.float64],
        )


cdef void multiply(
    char* first, char* second, int m, int n, int k, real scale, const real* a, int p,
    const real* b, real keep, real* c, int row,
) noexcept nogil:
    """BLAS's gemm of two matrices whose columns have p numbers."""
    if real is float:
        sgemm(first, second, &m, &n, &k, &scale, <float*> a, &p, <float*> b, &p, &keep, c, &row)
    else:
        dgemm(first, second, &m, &n, &k, &scale, <double*> a, &p, <double*> b, &p, &keep, c, &row)


cdef struct Work:
    # Room for one chunk, and the sums of a block; numbers are of the block's precision.
    void* centred
    void* squared
    void* scores
    void* costs
    void* members      # (GATHERED, p)
    void* lengths      # (GATHERED,)
    void* along        # (q, GATHERED)
    void* ones         # (GATHERED,)
    void* few          # (4 q,)
    void* products     # (K, p or R, p)
    void* totals       # (K, p)
    double* energy     # (K,)
    int* keys
    int* places        # (GATHERED,)
    int* order
    int* ends          # (K + 1,)
    bint by_scatter, totalled


def aligned(shape, dtype):
    """Zeros that begin where a line of the cache does: no vector of them lies in two."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    room = np.zeros(size + LINE, np.uint8)
    start = -room.ctypes.data % LINE
    return room[start : start + size].view(dtype).reshape(shape)


cdef class Room:
    """What a block needs beside its rows."""

    cdef Work work
    cdef list kept
    cdef readonly object products, totals, energy, sizes

    def __init__(
        self, FlatTables tables, dtype, n, all_scores, centred, by_scatter, summed, totalled,
    ):
        k, r, p = tables.flats.n_clusters, tables.flats.n_axes, tables.flats.n_variables
        q = tables.flats.n_scores
        self.kept = []
        self.work.by_scatter, self.work.totalled = by_scatter, totalled
        self.work.centred = self._new(n * p if centred else 0, dtype)
        self.work.squared = self._new(n, dtype)
        self.work.scores = self._new(n * k * q if all_scores else 0, dtype)
        self.work.costs = self._new(6 * max(n, GATHERED) + p, dtype)
        self.work.members = self._new(GATHERED * p, dtype)
        self.work.lengths = self._new(GATHERED, dtype)
        self.work.along = self._new(GATHERED * q, dtype)
        self.work.ones = self._new(GATHERED, dtype)
        self.kept[len(self.kept) - 1][:] = 1
        self.work.few = self._new(4 * q, dtype)
        self.work.places = <int*> self._new(GATHERED, np.intc)
        self.work.keys = <int*> self._new(n, np.intc)
        self.work.order = <int*> self._new(n, np.intc)
        self.work.ends = <int*> self._new(k + 1, np.intc)
        wide = (p if by_scatter else r) if summed else 0
        self.work.products = self._new(k * wide * p, dtype)
        self.products = self.kept[len(self.kept) - 1].reshape(k, wide, p)
        self.work.totals = self._new(k * p, dtype)
        self.totals = self.kept[len(self.kept) - 1].reshape(k, p)
        self.work.energy = <double*> self._new(k, np.float64)
        self.energy = self.kept[len(self.kept) - 1]
        self.sizes = np.zeros(k)

    cdef void* _new(self, size, dtype):
        array = aligned(size, dtype)
        self.kept.append(array)
        return <void*> <Py_ssize_t> array.ctypes.data

    def tally(self):
        """Sizes, energies, totals and products, as a Tally has them."""
        products = self.products.swapaxes(1, 2)
        if self.work.by_scatter and products.shape[1] > FEW_VARIABLES:
            rows, columns = np.triu_indices(products.shape[1], 1)
            products[:, rows, columns] = products[:, columns, rows]
        return (
            self.sizes, self.energy, self.totals.astype(np.float64, copy=False),
            products.astype(np.float64, copy=False),
        )


cdef const real* see(
    const real* rows, const real[::1] origin, int n, int p, Work* work,
) noexcept nogil:
    """A chunk seen from the origin, with its squared lengths."""
    cdef const real* seen = rows
    if origin is not None:
        if real is float:
            shift_float(n, p, rows, &origin[0], <float*> work.centred)
        else:
            shift_double(n, p, rows, &origin[0], <double*> work.centred)
        seen = <const real*> work.centred
    if real is float:
        square_float(n, p, seen, <float*> work.squared)
    else:
        square_double(n, p, seen, <double*> work.squared)
    return seen


cdef void sort(const int* keys, int n, int n_clusters, Work* work) noexcept nogil:
    """Numbers of the rows by cluster, those of cluster k up to ends[k + 1]; below 0 for none."""
    cdef int i, k
    memset(work.ends, 0, (n_clusters + 1) * sizeof(int))
    for i in range(n):
        if keys[i] >= 0:
            work.ends[keys[i] + 1] += 1
    for k in range(n_clusters):
        work.ends[k + 1] += work.ends[k]
    for i in range(n):
        if keys[i] >= 0:
            work.order[work.ends[keys[i]]] = i
            work.ends[keys[i]] += 1
    for k in range(n_clusters, 0, -1):
        work.ends[k] = work.ends[k - 1]
    work.ends[0] = 0


cdef int together(int p, int size) noexcept nogil:
    """How many members of a cluster are multiplied together; a row has p numbers of this size."""
    return max(8, min(GATHERED, NEAR // (p * size)))


cdef void gather(const real* seen, const int* which, int held, int p, Work* work) noexcept nogil:
    cdef real* members = <real*> work.members
    cdef int j
    for j in range(held):
        memcpy(members + <Py_ssize_t> j * p, seen + <Py_ssize_t> which[j] * p, p * sizeof(real))


cdef void add_sums(
    const real* seen, const real* scores, const int* keys, int n, real sign,
    const PassFlats* flats, const real* axes, Work* work,
) noexcept nogil:
    """Add what a chunk tells of the clusters its rows have; scores: NULL if not at hand."""
    cdef int k, j, held, start, p = flats.n_variables
    cdef Py_ssize_t first
    sort(keys, n, flats.n_clusters, work)
    for k in range(flats.n_clusters):
        first = <Py_ssize_t> k * flats.n_scores
        for j in range(work.ends[k], work.ends[k + 1]):
            work.energy[k] += sign * (<real*> work.squared)[work.order[j]]
        if scores != NULL and not work.by_scatter:
            add_images(
                k, work.ends[k + 1] - work.ends[k], seen, work.order + work.ends[k],
                work.order + work.ends[k], scores + first * n, n, sign, flats, work,
            )
            continue
        start = work.ends[k]
        while start < work.ends[k + 1]:
            held = min(together(p, sizeof(real)), work.ends[k + 1] - start)
            if work.by_scatter:
                gather(seen, work.order + start, held, p, work)
                if work.totalled:
                    add_totals(k, held, p, sign, <real*> work.members, work)
                add_scatter(k, held, p, sign, <real*> work.members, work)
            else:
                scores_under(
                    k, held, seen, work.order + start, flats, axes, work, <real*> work.along
                )
                for j in range(held):
                    work.places[j] = j
                add_images(
                    k, held, seen, work.order + start, work.places, <real*> work.along, held,
                    sign, flats, work,
                )
            start += held


cdef void add_images(
    int k, int held, const real* seen, const int* which, const int* at, const real* scores,
    int stride, real sign, const PassFlats* flats, Work* work,
) noexcept nogil:
    cdef Py_ssize_t p = flats.n_variables
    cdef real* totals = <real*> work.totals + k * p if work.totalled else NULL
    cdef real* images = <real*> work.products + k * flats.n_axes * p
    if real is float:
        image_float(
            held, p, flats.n_axes, seen, which, at, scores, stride, sign, <float*> work.few,
            totals, images,
        )
    else:
        image_double(
            held, p, flats.n_axes, seen, which, at, scores, stride, sign, <double*> work.few,
            totals, images,
        )


cdef void add_totals(int k, int held, int p, real sign, real* members, Work* work) noexcept nogil:
    cdef real one = 1.0
    cdef int step = 1
    cdef real* totals = <real*> work.totals + <Py_ssize_t> k * p
    if real is float:
        sgemv(b"N", &p, &held, &sign, members, &p, <float*> work.ones, &step, &one, totals, &step)
    else:
        dgemv(b"N", &p, &held, &sign, members, &p, <double*> work.ones, &step, &one, totals, &step)


cdef void add_scatter(int k, int held, int p, real sign, real* members, Work* work) noexcept nogil:
    """The lower triangle, and where that is quicker the whole matrix."""
    cdef real one = 1.0
    cdef real* sums = <real*> work.products + <Py_ssize_t> k * p * p
    if p <= FEW_VARIABLES:
        multiply(b"N", b"T", p, p, held, sign, members, p, members, one, sums, p)
    elif real is float:
        ssyrk(b"L", b"N", &p, &held, &sign, members, &p, &one, sums, &p)
    else:
        dsyrk(b"L", b"N", &p, &held, &sign, members, &p, &one, sums, &p)


cdef void scores_under(
    int k, int held, const real* seen, const int* which, const PassFlats* flats, const real* axes,
    Work* work, real* scores,
) noexcept nogil:
    """Scores of some rows on the axes of a flat, and along its centre; their squared lengths."""
    cdef Py_ssize_t q = flats.n_scores, p = flats.n_variables
    cdef int j
    for j in range(held):
        (<real*> work.lengths)[j] = (<real*> work.squared)[which[j]]
    if real is float:
        scores_of_float(
            held, p, q, seen, which, axes + k * q * p, scores, <float*> work.few
        )
    else:
        scores_of_double(
            held, p, q, seen, which, axes + k * q * p, scores, <double*> work.few
        )


cdef double choose(
    const PassFlats* flats, int n, const real* seen, const real* axes, const int* labels,
    Work* work, int* chosen,
) noexcept nogil:
    """Scores of a chunk on all axes, and where its rows go."""
    cdef int q = flats.n_clusters * flats.n_scores, p = flats.n_variables
    multiply(
        b"T", b"N", n, q, p, <real> 1.0, seen, p, axes, <real> 0.0, <real*> work.scores, n
    )
    if labels != NULL:
        sort(labels, n, flats.n_clusters, work)
    if real is float:
        return choose_float(
            flats, n, seen, axes, <float*> work.scores, <float*> work.squared, labels, work.order,
            work.ends, <float*> work.costs, chosen,
        )
    else:
        return choose_double(
            flats, n, seen, axes, <double*> work.scores, <double*> work.squared, labels, work.order,
            work.ends, <double*> work.costs, chosen,
        )
