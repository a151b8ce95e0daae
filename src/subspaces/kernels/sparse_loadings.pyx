# cython: language_level=3, cdivision=True
# cython: freethreading_compatible=True
"""Sparse loadings of every cluster and the costs of rows under them, in compiled loops.

The twin of `core.sparse_loadings`, but for two things. What the loadings found so far explain is
not subtracted from the rows X: ``X - sum_s u_s v_s^T`` stays a sum of products, a few numbers more
in each step. And products run over the variables that a loading uses.
"""

from libc.float cimport DBL_EPSILON, DBL_MIN
from libc.math cimport INFINITY, copysign, fabs, sqrt
from libc.string cimport memcpy
from scipy.linalg.cython_blas cimport dnrm2, dsyr, dsyr2
from scipy.linalg.cython_lapack cimport dsyev, dsyevr

import numpy as np

include "_address.pxi"
include "_changes.pxi"

cdef extern from "vectors.h" nogil:
    double inner(Py_ssize_t n, const double* first, const double* second)
    double inner_at(Py_ssize_t n, const int* places, const double* first, const double* second)
    double squared_distance(Py_ssize_t n, const double* first, const double* second)
    double squared_distance_at(
        Py_ssize_t n, const int* places, const double* first, const double* second
    )
    void add_one(Py_ssize_t n, double weight, const double* given, double* out)
    void add_four(
        Py_ssize_t n, const double* weights, const double* first, const double* second,
        const double* third, const double* fourth, double* out,
    )

ctypedef double* numbers
ctypedef int* places

cdef int ONE = 1
cdef double PLUS = 1.0, MINUS = -1.0
cdef double LEVERAGE_ONE = 1.0 - 1e-10        # of `core.secular`
cdef double NO_DIRECTION = 1e-15              # of numpy's pinv: smaller eigenvalues count as zero

cdef enum:
    UNION_INFLUENCE, SPARSE_INFLUENCE, RESIDUAL, LOO_PROJECTION

CRITERIA = {
    "union_influence": UNION_INFLUENCE,
    "sparse_influence": SPARSE_INFLUENCE,
    "residual": RESIDUAL,
    "loo_projection": LOO_PROJECTION,
}


cdef class SparseSubspaces(FollowedClusters):
    """Sparse loadings of every cluster; follows the labels from sweep to sweep.

    rows (n, p), gram (n, n): their inner products, or None; dimensions and n_variables (K,):
    loadings of a cluster, and variables of each, fewer than p unless they are nonnegative;
    constants: LOADING_TOLERANCE, MAX_STEPS, TIED, NOTHING_LEFT of `core.sparse_loadings`.

    Every fit overwrites the results: loadings (K, R, p) of unit length, zero where nothing is left
    to explain; scores (K, R, n) of all rows, from the centres (K, p); captured (K, n), what least
    squares on the loadings explains of each row; spectra (K, R), the members' energy along them;
    found (K,), how many loadings there are, with those that are zero; sizes (K,).
    """

    cdef readonly object loadings, scores, captured, spectra, centres, found
    cdef object kept, room                    # arrays that the addresses below lie in
    cdef int p, n_united, max_steps
    cdef bint affine, nonnegative
    cdef double settled, tied, nothing_left
    cdef numbers rows, squared_norms, gram    # (n, p), (n,), (n, n) or NULL
    cdef numbers peaks                        # (n,): the largest magnitude in each row
    cdef int* n_variables                     # (K,)
    cdef numbers _loadings, _scores, _captured, _spectra, _centres
    cdef places used                          # (K, R, p): the variables of each loading,
    cdef int* n_used                          # (K, R): and how many
    cdef numbers squared                      # (K, n): squared distances from the centres
    cdef numbers overlap, inverse             # (K, R, R): V^T V, and its pseudo-inverse
    cdef numbers raw                          # (R, p): v_s, before they are scaled to length one
    cdef numbers values, heap                 # (p,), (p + 1,)
    cdef numbers norms                        # (n,): squared, on the union of the supports
    cdef places united                        # (p,): its variables
    cdef numbers few                          # scratch for (R, R) matrices
    cdef double** at                          # (m,): the members' rows, from the centre
    cdef numbers own                          # (m, p): the same where they had to be copied
    cdef numbers lefts                        # (R, m): u_s
    cdef numbers matrix, copy, vector, work   # (d, d), (d, d), (d,), d = min(m, p)
    cdef int* int_work

    def __init__(
        self, rows, squared_norms, gram, dimensions, n_variables, affine, nonnegative, constants
    ):
        rows = np.ascontiguousarray(rows, dtype=float)
        squared_norms = np.ascontiguousarray(squared_norms, dtype=float)
        gram = None if gram is None or affine else np.ascontiguousarray(gram, dtype=float)
        n_variables = np.ascontiguousarray(n_variables, dtype=np.intc)
        self._follow(len(rows), dimensions)
        cdef Py_ssize_t n = self.n, p = rows.shape[1], k = self.n_clusters, r = self.most_axes
        self.p, self.affine, self.nonnegative = p, affine, nonnegative
        self.settled, self.max_steps, self.tied, self.nothing_left = constants
        self.loadings, self.scores = np.zeros((k, r, p)), np.zeros((k, r, n))
        self.captured, self.spectra = np.zeros((k, n)), np.zeros((k, r))
        self.centres, self.found = np.zeros((k, p)), np.array(dimensions, dtype=np.intc)
        peaks = np.maximum(rows.max(axis=1), -rows.min(axis=1))
        sizes = k * n, 2 * k * r * r, r * p, 2 * p + 1, n, (7 * r + WORK + 8) * r
        parts = [np.zeros(size) for size in sizes]
        integers = np.zeros(k * r + k * r * p + p, np.intc)
        self.kept = rows, squared_norms, gram, n_variables, peaks, parts, integers
        self.rows, self.squared_norms = <numbers> address(rows), <numbers> address(squared_norms)
        self.gram = NULL if gram is None else <numbers> address(gram)
        self.peaks, self.n_variables = <numbers> address(peaks), <int*> address(n_variables)
        self.n_used = <int*> address(integers)
        self.used = self.n_used + k * r
        self.united = self.used + k * r * p
        self._loadings, self._scores = <numbers> address(self.loadings), <numbers> address(self.scores)
        self._captured, self._spectra = <numbers> address(self.captured), <numbers> address(self.spectra)
        self._centres = <numbers> address(self.centres)
        self.squared, self.overlap = <numbers> address(parts[0]), <numbers> address(parts[1])
        self.inverse, self.raw = self.overlap + k * r * r, <numbers> address(parts[2])
        self.values, self.norms = <numbers> address(parts[3]), <numbers> address(parts[4])
        self.heap, self.few = self.values + p, <numbers> address(parts[5])
        self.forget()

    def costs(self, criterion):
        """Cost of every row under every cluster of the last fit, (n, K)."""
        costs = np.empty((self.n_clusters, self.n))
        cdef numbers out = <numbers> address(costs)
        cdef int k, wanted = CRITERIA[criterion]
        with nogil:
            if wanted == UNION_INFLUENCE:
                self._unite()
            for k in range(self.n_clusters):
                self._charge(k, wanted, out + <Py_ssize_t> k * self.n)
        return costs.T

    cdef int _reserve(self, Py_ssize_t m) except -1:
        """Make room for a cluster of m members."""
        cdef Py_ssize_t d, p = self.p, r = self.most_axes
        if m <= self.capacity:
            return 0
        self.capacity = m = min(m + m // 4, self.n)
        d = min(m, p)
        room = np.empty(r * m + 2 * d * d + (1 + WORK) * d + (m * p if self.affine else 0))
        integers, pointers = np.empty(14 * d, np.intc), np.empty(m, np.intp)
        self.room = room, integers, pointers
        self.lefts, self.int_work = <numbers> address(room), <int*> address(integers)
        self.at, self.matrix = <double**> address(pointers), self.lefts + r * m
        self.copy, self.vector = self.matrix + d * d, self.matrix + 2 * d * d
        self.work, self.own = self.vector + d, self.vector + (1 + WORK) * d
        return 0

    cdef numbers _loading(self, int k, int r) noexcept nogil:
        return self._loadings + (<Py_ssize_t> k * self.most_axes + r) * self.p

    cdef numbers _scores_on(self, int k, int r) noexcept nogil:
        return self._scores + (<Py_ssize_t> k * self.most_axes + r) * self.n

    cdef places _used(self, int k, int r) noexcept nogil:
        """The variables of a loading, in ascending order."""
        return self.used + (<Py_ssize_t> k * self.most_axes + r) * self.p

    cdef int* _n_used(self, int k) noexcept nogil:
        return self.n_used + k * self.most_axes

    cdef int _fit_cluster(self, int k) noexcept nogil:
        """Loadings of one cluster, and where all rows lie; not 0 where LAPACK fails."""
        cdef int r, m, info = 0
        cdef double scale
        m = self._take_rows(k)
        scale = self._measure(k, m)
        for r in range(self.dimensions[k]):
            if scale > 0.0:
                info = max(info, self._find_loading(k, m, r))
            else:
                self._n_used(k)[r] = 0
            self._keep_loading(k, r, self.nothing_left * scale)
        self.guessed[k] = True
        self._project(k, m)
        return info

    cdef int _take_rows(self, int k) noexcept nogil:
        """Where the members' rows are, copied where they have a mean; how many there are."""
        cdef numbers centre = self._centres + <Py_ssize_t> k * self.p
        cdef int a, i, m = 0
        for i in range(self.n):
            if self.labels[i] == k:
                self.members[m], self.at[m] = i, self.rows + <Py_ssize_t> i * self.p
                m += 1
        if self.affine:
            memset(centre, 0, self.p * sizeof(double))
            for a in range(m):
                add_one(self.p, 1.0 / m, self.at[a], centre)
            for a in range(m):
                memcpy(self.own + <Py_ssize_t> a * self.p, self.at[a], self.p * sizeof(double))
                self.at[a] = self.own + <Py_ssize_t> a * self.p
                add_one(self.p, -1.0, centre, self.at[a])
        return m

    cdef double _measure(self, int k, int m) noexcept nogil:
        """Squared distances of all rows from the centre; the largest magnitude in a member's row."""
        cdef numbers squared = self.squared + <Py_ssize_t> k * self.n
        cdef const double* centre = self._centres + <Py_ssize_t> k * self.p
        cdef double largest = 0.0
        cdef int a, j
        if self.affine:
            for a in range(self.n):
                squared[a] = squared_distance(self.p, self.rows + <Py_ssize_t> a * self.p, centre)
        else:
            memcpy(squared, self.squared_norms, self.n * sizeof(double))
        for a in range(m):
            if self.affine:
                for j in range(self.p):
                    largest = max(largest, fabs(self.at[a][j]))
            else:
                largest = max(largest, self.peaks[self.members[a]])
        return largest

    cdef int _find_loading(self, int k, int m, int r) noexcept nogil:
        """One loading by alternating products, into ``raw``; not 0 where LAPACK fails."""
        cdef numbers left = self.lefts + r * m, raw = self.raw + <Py_ssize_t> r * self.p
        cdef places used = self._used(k, r)
        cdef int* n_used = self._n_used(k) + r
        cdef numbers values = self.values
        cdef double value, moved, largest, length = 0.0
        cdef int info = 0, step, j, count
        if self.guessed[k]:
            self._left_of(k, m, r, self._loading(k, r), used, n_used[0], left)
            length = make_unit(left, m)
        if not length > 0.0:
            info = self._leading_left(k, m, r, left)
            make_unit(left, m)
            n_used[0] = 0
        if self.nonnegative:
            self._turn(k, m, r, left)
        memset(raw, 0, self.p * sizeof(double))
        for step in range(self.max_steps + 1):
            self._right_of(k, m, r, left)
            self._shrink(self.n_variables[k], used, n_used[0])
            moved, largest, count = 0.0, 0.0, 0
            for j in range(self.p):
                value = values[j]
                if value != 0.0 or raw[j] != 0.0:
                    moved, largest = max(moved, fabs(value - raw[j])), max(largest, fabs(value))
                    raw[j] = value
                if value != 0.0:
                    used[count] = j
                    count += 1
            n_used[0] = count
            if (step and moved <= self.settled * largest) or step == self.max_steps:
                break
            self._left_of(k, m, r, raw, used, n_used[0], left)
            make_unit(left, m)
        return info

    cdef void _keep_loading(self, int k, int r, double shortest) noexcept nogil:
        """The loading at unit length; nothing where it is no more than rounding."""
        cdef numbers loading = self._loading(k, r), raw = self.raw + <Py_ssize_t> r * self.p
        cdef const int* used = self._used(k, r)
        cdef double largest = 0.0, length = 0.0
        cdef int j, n_used = self._n_used(k)[r]
        memset(loading, 0, self.p * sizeof(double))
        for j in range(n_used):
            largest = max(largest, fabs(raw[used[j]]))
        for j in range(n_used):
            length += (raw[used[j]] / largest) * (raw[used[j]] / largest)
        length = largest * sqrt(length)
        if length > shortest:
            for j in range(n_used):
                loading[used[j]] = raw[used[j]] / length

    cdef void _right_of(self, int k, int m, int r, const double* left) noexcept nogil:
        """``values = (X - sum_{s < r} u_s v_s^T)^T left``, four rows of X at a time."""
        cdef numbers values = self.values
        cdef const double* raw
        cdef const int* used
        cdef double shared
        cdef int s, j, a
        memset(values, 0, self.p * sizeof(double))
        for a in range(0, m - 3, 4):
            add_four(
                self.p, left + a, self.at[a], self.at[a + 1], self.at[a + 2], self.at[a + 3], values
            )
        for a in range(m - m % 4, m):
            add_one(self.p, left[a], self.at[a], values)
        for s in range(r):
            shared, used = inner(m, self.lefts + s * m, left), self._used(k, s)
            raw = self.raw + <Py_ssize_t> s * self.p
            for j in range(self._n_used(k)[s]):
                values[used[j]] -= shared * raw[used[j]]

    cdef void _left_of(
        self, int k, int m, int r, const double* loading, const int* used, int n_used, numbers left
    ) noexcept nogil:
        """``left = (X - sum_{s < r} u_s v_s^T) loading``, over the variables in use."""
        cdef double shared
        cdef int s, a
        for a in range(m):
            left[a] = inner_at(n_used, used, self.at[a], loading)
        for s in range(r):
            shared = inner_at(n_used, used, self.raw + <Py_ssize_t> s * self.p, loading)
            add_one(m, -shared, self.lefts + s * m, left)

    cdef void _turn(self, int k, int m, int r, numbers left) noexcept nogil:
        """Of u and -u the one whose positive part explains more."""
        cdef double energy = 0.0, sign = 1.0
        cdef int a, turned
        for turned in range(2):
            self._right_of(k, m, r, left)
            self._shrink(self.n_variables[k], self._used(k, r), self._n_used(k)[r])
            energy += sign * inner(self.p, self.values, self.values)
            for a in range(m):
                left[a] = -left[a]
            sign = -sign
        if energy < 0.0:
            for a in range(m):
                left[a] = -left[a]

    cdef int _leading_left(self, int k, int m, int r, numbers left) noexcept nogil:
        """First left singular vector of what is left of the rows, from the smaller scatter matrix."""
        cdef int d = min(m, self.p), a, b, s, info
        cdef places everything = self._used(k, r)
        if m <= self.p:
            for a in range(m):
                for b in range(a + 1):
                    self.matrix[a * m + b] = (
                        self.gram[self.members[a] * self.n + self.members[b]] if self.gram
                        else inner(self.p, self.at[a], self.at[b])
                    )
        else:
            memset(self.matrix, 0, <size_t> d * d * sizeof(double))
            for a in range(m):
                dsyr(b"U", &d, &PLUS, self.at[a], &ONE, self.matrix, &d)
        for s in range(r):
            self._take_out(k, m, s, d)
        info = self._leading_eigenvector(d)
        if m <= self.p:
            memcpy(left, self.vector, m * sizeof(double))
            return info
        for a in range(d):
            everything[a] = a
        self._left_of(k, m, r, self.vector, everything, d, left)
        return info

    cdef void _take_out(self, int k, int m, int s, int d) noexcept nogil:
        """Take the product of one loading, ``u v^T``, out of the scatter matrix of the rows Y before.

        Either ``Y Y^T - z u^T - u z^T`` with ``z = Y v - ||v||^2 u / 2``, or ``Y^T Y - z v^T - v z^T``
        with ``z = Y^T u - ||u||^2 v / 2``.
        """
        cdef numbers left = self.lefts + s * m, raw = self.raw + <Py_ssize_t> s * self.p
        cdef numbers z = self.vector, same = left if d == m else raw
        if d == m:
            self._left_of(k, m, s, raw, self._used(k, s), self._n_used(k)[s], z)
            add_one(m, -0.5 * inner(self.p, raw, raw), left, z)
        else:
            self._right_of(k, m, s, left)
            memcpy(z, self.values, d * sizeof(double))
            add_one(d, -0.5 * inner(m, left, left), raw, z)
        dsyr2(b"U", &d, &MINUS, z, &ONE, same, &ONE, self.matrix, &d)

    cdef int _leading_eigenvector(self, int d) noexcept nogil:
        """The eigenvector of the largest eigenvalue, into ``vector``; not 0 where LAPACK fails."""
        cdef int found = 0, info = 0, size = WORK * d, int_size = 12 * d
        cdef double zero = 0.0
        memcpy(self.copy, self.matrix, <size_t> d * d * sizeof(double))
        dsyevr(
            b"V", b"I", b"U", &d, self.copy, &d, &zero, &zero, &d, &d, &zero, &found, self.heap,
            self.vector, &d, self.int_work + int_size, self.work, &size, self.int_work, &int_size,
            &info,
        )
        if info or found == 0:
            # Eigenvalues in a cluster may defeat it; then all are found, by another method.
            dsyev(b"V", b"U", &d, self.matrix, &d, self.heap, self.work, &size, &info)
            memcpy(self.vector, self.matrix + <Py_ssize_t> d * (d - 1), d * sizeof(double))
        return info

    cdef void _shrink(self, int n_variables, const int* used, int n_used) noexcept nogil:
        """Soft threshold that leaves the largest of ``values``: `core.sparse_loadings._shrink`.

        heap: the n_variables + 1 largest magnitudes, the least of them, the threshold, on top. It
        begins with those of the variables in use, so that few others find a place in it.
        """
        cdef numbers values = self.values, heap = self.heap
        cdef int j, s, start = 0, stop, size = n_variables + 1
        cdef double threshold, magnitude, least
        if self.nonnegative:
            for j in range(self.p):
                values[j] = max(values[j], 0.0)
        if self.p < size:
            return
        for j in range(size):
            heap[j] = fabs(values[used[j]]) if j < n_used else -1.0
        for j in range(size // 2 - 1, -1, -1):
            sink(heap, j, size)
        threshold = heap[0]
        for s in range(n_used + 1):
            stop = used[s] if s < n_used else self.p
            for j in range(start, stop):
                if fabs(values[j]) > threshold:
                    heap[0] = fabs(values[j])
                    sink(heap, 0, size)
                    threshold = heap[0]
            start = stop + 1
        least = heap[1] if size < 3 else min(heap[1], heap[2])
        if not threshold < least * (1.0 - self.tied):
            self._break_tie(n_variables, least)
            return
        for j in range(self.p):
            magnitude = fabs(values[j]) - threshold
            values[j] = copysign(magnitude, values[j]) if magnitude > 0.0 else 0.0

    cdef void _break_tie(self, int n_variables, double least) noexcept nogil:
        """The largest and the first that tie with the least stay, less the next smaller one."""
        cdef numbers values = self.values
        cdef double highest = least * (1.0 + self.tied), lowest = least * (1.0 - self.tied)
        cdef double below = 0.0, magnitude
        cdef int j, left = n_variables
        for j in range(self.p):
            magnitude = fabs(values[j])
            left -= magnitude > highest
            if magnitude < lowest:
                below = max(below, magnitude)
        for j in range(self.p):
            magnitude = fabs(values[j])
            if lowest <= magnitude <= highest and left > 0:
                left -= 1
            elif not magnitude > highest:
                magnitude = below
            magnitude -= below
            values[j] = magnitude if values[j] > 0.0 else -magnitude

    cdef void _project(self, int k, int m) noexcept nogil:
        """Scores of all rows, the energy that the loadings capture, and that of the members."""
        cdef int found = self.dimensions[k], width = self.most_axes, r, s, i, a
        cdef numbers spectrum = self._spectra + k * width, loading, scores
        cdef numbers overlap = self.overlap + k * width * width
        cdef numbers inverse = self.inverse + k * width * width
        cdef const int* used
        cdef double shift, total
        cdef int n_used
        for r in range(found):
            loading, scores = self._loading(k, r), self._scores_on(k, r)
            used, n_used = self._used(k, r), self._n_used(k)[r]
            shift = inner_at(n_used, used, self._centres + <Py_ssize_t> k * self.p, loading)
            for i in range(self.n):
                scores[i] = inner_at(n_used, used, self.rows + <Py_ssize_t> i * self.p, loading) - shift
            spectrum[r] = 0.0
            for a in range(m):
                spectrum[r] += scores[self.members[a]] * scores[self.members[a]]
            for s in range(r + 1):
                total = inner_at(n_used, used, loading, self._loading(k, s))
                overlap[r * found + s] = overlap[s * found + r] = total
        memcpy(inverse, overlap, found * found * sizeof(double))
        invert(inverse, found, found * DBL_EPSILON, self.few)
        scores = self._scores_on(k, 0)
        for i in range(self.n):
            total = 0.0
            for r in range(found):
                for s in range(found):
                    total += scores[r * self.n + i] * inverse[r * found + s] * scores[s * self.n + i]
            self._captured[k * self.n + i] = max(total, 0.0)

    cdef void _unite(self) noexcept nogil:
        """List the variables of any loading."""
        cdef int k, r, j
        memset(self.values, 0, self.p * sizeof(double))
        for k in range(self.n_clusters):
            for r in range(self.dimensions[k]):
                for j in range(self._n_used(k)[r]):
                    if self._loading(k, r)[self._used(k, r)[j]] != 0.0:
                        self.values[self._used(k, r)[j]] = 1.0
        self.n_united = 0
        for j in range(self.p):
            if self.values[j] != 0.0:
                self.united[self.n_united] = j
                self.n_united += 1

    cdef void _charge(self, int k, int criterion, numbers out) noexcept nogil:
        """Costs of all rows under a cluster, (n,)."""
        cdef int found = self.dimensions[k], width = self.most_axes, i
        cdef const double* centre = self._centres + <Py_ssize_t> k * self.p
        cdef const double* captured = self._captured + <Py_ssize_t> k * self.n
        cdef numbers norms = self.squared + <Py_ssize_t> k * self.n
        if criterion == UNION_INFLUENCE:
            norms = self.norms
            if self.affine or k == 0:
                for i in range(self.n):
                    norms[i] = squared_distance_at(
                        self.n_united, self.united, self.rows + <Py_ssize_t> i * self.p, centre
                    )
        for i in range(self.n):
            out[i] = max(norms[i] - captured[i], 0.0)
        if criterion == LOO_PROJECTION:
            self._charge_members(k, out)
        elif criterion != RESIDUAL:
            for i in range(self.n):
                out[i] = oblique_cost(
                    self._scores_on(k, 0) + i, self.n, self._spectra + k * width, found, out[i],
                    self.overlap + k * width * width, self.inverse + k * width * width,
                    self.labels[i] == k, self.few,
                )

    cdef void _charge_members(self, int k, numbers out) noexcept nogil:
        """Leave-one-out projection of the members: `core.loo_projection.sparse_errors`."""
        cdef int found = self.dimensions[k], square = found * found, width = self.most_axes
        cdef numbers cross = self.few + (1 + WORK + found) * found, shared = cross + square
        cdef const double* centre = self._centres + <Py_ssize_t> k * self.p
        cdef const double* row
        cdef const double* loading
        cdef const int* used
        cdef double value, refit = 1.0
        cdef int i, r, s, j
        if self.affine:
            refit = self._sizes[k] / (self._sizes[k] - 1.0) if self._sizes[k] > 1 else INFINITY
        for i in range(self.n):
            if self.labels[i] != k or refit == INFINITY:
                out[i] = INFINITY if self.labels[i] == k else out[i]
                continue
            row = self.rows + <Py_ssize_t> i * self.p
            memset(cross, 0, 2 * square * sizeof(double))
            for s in range(found):
                used = self._used(k, s)
                for r in range(found):
                    loading = self._loading(k, r)
                    for j in range(self._n_used(k)[s]):
                        value = sqrt(refit) * (row[used[j]] - centre[used[j]])
                        cross[r * found + s] += value * loading[used[j]]
                        if loading[used[j]] != 0.0 and self._loading(k, s)[used[j]] != 0.0:
                            shared[r * found + s] += value * value
            out[i] = refit * projection_cost(
                refit * self.squared[<Py_ssize_t> k * self.n + i], self._spectra + k * width,
                self.overlap + k * width * width, cross, shared, found, self.few,
            )


cdef double oblique_cost(
    const double* scores, Py_ssize_t stride, const double* spectrum, int found, double residual,
    const double* overlap, const double* inverse, bint member, numbers weights,
) noexcept nogil:
    """``a^4 ||x_perp||^2 + u^T S u``: `core.influence.squared_influence_oblique`, of one row."""
    cdef numbers u = weights + found
    cdef double total = 1.0, energy = 0.0, squared, others, along, c
    cdef int r, s
    for r in range(found):
        squared = scores[r * stride] * scores[r * stride]
        weights[r] = 1.0
        if squared > 0.0:
            others = squared if member else 0.0
            others = spectrum[r] - others if others < LEVERAGE_ONE * spectrum[r] else 0.0
            if squared / others == INFINITY:
                return INFINITY
            weights[r] += squared / others
            total += squared / others
    for r in range(found):
        c, along = 0.0, 0.0
        for s in range(found):
            c += weights[s] * scores[s * stride] * overlap[s * found + r]
            along += scores[s * stride] * inverse[s * found + r]
        u[r] = total * total * along - weights[r] * (2.0 * total * scores[r * stride] - c)
    for r in range(found):
        for s in range(found):
            energy += u[r] * overlap[r * found + s] * u[s]
    energy += (total * total) * (total * total) * residual
    return energy if energy == energy else INFINITY


cdef double projection_cost(
    double squared_norm, const double* spectrum, const double* overlap, const double* cross,
    const double* shared, int found, numbers scratch,
) noexcept nogil:
    """``||x||^2 - m^T G^+ m``: `core.loo_projection.projection_errors`, of one row."""
    cdef numbers gram = <numbers> shared + found * found, m = gram + found * found
    cdef double unit = DBL_MIN, root, explained = 0.0, d_r, d_s
    cdef int r, s
    for r in range(found):
        unit = max(unit, spectrum[r])
    root = sqrt(unit)
    for r in range(found):
        d_r = cross[r * found + r] / root
        m[r] = max(spectrum[r] - shared[r * found + r], 0.0) / unit * d_r
        for s in range(found):
            d_s = cross[s * found + s] / root
            gram[r * found + s] = 0.0
            if spectrum[r] > shared[r * found + r] and spectrum[s] > shared[s * found + s]:
                gram[r * found + s] = (
                    spectrum[r] / unit * (spectrum[s] / unit) * overlap[r * found + s]
                    - spectrum[r] / unit * d_s * (cross[r * found + s] / root)
                    - spectrum[s] / unit * d_r * (cross[s * found + r] / root)
                    + d_r * d_s * (shared[r * found + s] / unit)
                )
    invert(gram, found, NO_DIRECTION, scratch)
    for r in range(found):
        for s in range(found):
            explained += m[r] * gram[r * found + s] * m[s]
    return max(squared_norm - unit * explained, 0.0)


cdef void invert(numbers matrix, int q, double cut, numbers scratch) noexcept nogil:
    """Pseudo-inverse of a small symmetric matrix, in its place; scratch: (q (q + 1 + WORK),).

    Eigenvalues up to ``cut`` times the largest count as zero.
    """
    cdef numbers axes = scratch, values = scratch + q * q
    cdef int r, s, j, size = WORK * q, info = 0
    memcpy(axes, matrix, q * q * sizeof(double))
    dsyev(b"V", b"U", &q, axes, &q, values, values + q, &size, &info)
    memset(matrix, 0, q * q * sizeof(double))
    for j in range(q):
        if values[j] > cut * values[q - 1]:
            for r in range(q):
                for s in range(q):
                    matrix[r * q + s] += axes[j * q + r] * axes[j * q + s] / values[j]


cdef double make_unit(numbers vector, int m) noexcept nogil:
    """Scale to length one unless it is zero; the length it had."""
    cdef double length = dnrm2(&m, vector, &ONE)
    cdef int a
    if length > 0.0:
        for a in range(m):
            vector[a] /= length
    return length


cdef void sink(numbers heap, int place, int size) noexcept nogil:
    """Restore the order of a heap below a place."""
    cdef int child
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[place] <= heap[child]:
            return
        heap[place], heap[child] = heap[child], heap[place]
        place = child
