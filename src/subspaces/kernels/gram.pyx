# cython: language_level=3, cdivision=True
# cython: freethreading_compatible=True
"""The leading principal axes of every cluster, from the inner products of the rows.

With ``U, lambda`` the leading eigenvectors of the members' block of the inner products G, less the
members' mean where subspaces are affine, the scores of all rows are ``G[:, C] U / sqrt(lambda)``.
Only clusters whose members changed are fitted again, and their last scores are the first guess of a
subspace iteration: rows that join a cluster have theirs already.
"""

from libc.float cimport DBL_EPSILON, DBL_MIN
from libc.math cimport acosh, log, sqrt
from libc.string cimport memcpy
from scipy.linalg.cython_blas cimport daxpy, ddot, dgemm, dnrm2, dsyrk
from scipy.linalg.cython_lapack cimport dpotrf, dsyev, dsyevr, dsygv

import numpy as np

include "_address.pxi"
include "_changes.pxi"

cdef extern from "vectors.h" nogil:
    void add_four(
        Py_ssize_t n, const double* weights, const double* first, const double* second,
        const double* third, const double* fourth, double* out,
    )

ctypedef double* numbers

cdef double TOLERANCE = 1e-11    # of an axis' residual, against the largest eigenvalue
cdef double SPREAD = 16.0        # log of how far a filter may pull the axes apart: beyond, they are
                                 # too nearly parallel for the Cholesky factor of their overlap
cdef double LEAST_EDGE = 1e-3    # up to which a filter flattens, against the last value wanted
cdef double CERTAIN = 1e-10      # more than the rounding of a sum of squares
cdef int TOGETHER = 4            # axes that BLAS multiplies as quickly as one
cdef int FEW = 16                # members of whom LAPACK finds all axes sooner than an iteration some
cdef int MOST_ROUNDS = 8         # of filter and rotation; three are usual
cdef int MOST_DEGREES = 100      # of all filters together: more take longer than LAPACK


cdef class GramSubspaces(FollowedClusters):
    """Leading principal axes of every cluster; follows the labels from sweep to sweep.

    Every fit overwrites the results: scores (K, R, n) of all rows on each cluster's axes, from its
    mean if affine, and zero on axes beyond those found; residual (K, n), the squared distances of
    all rows from each subspace; spectra (K, R), eigenvalues, largest first, and 1 beyond those
    found; found (K,), the number of axes whose eigenvalue is more than rounding; sizes (K,).
    """

    cdef readonly object scores, residual, spectra, found
    cdef object kept, room                    # arrays that the addresses below lie in
    cdef bint affine
    cdef numbers gram, squared_norms          # (n, n), (n,)
    cdef numbers _scores, _residual, _spectra
    cdef int* _found
    cdef numbers guards                       # (K, TOGETHER, n): members on the next axes
    cdef numbers mean                         # (n,): <x_i, mean> - <mean, mean> / 2
    cdef numbers block, spare                 # (m, m): inner products over their trace; scratch
    cdef numbers axes, images, rotated        # (q, m)
    cdef numbers values, small, work          # (q,), (3, q, q)
    cdef int* int_work

    def __init__(self, gram, squared_norms, dimensions, affine):
        gram = np.ascontiguousarray(gram, dtype=float)
        squared_norms = np.ascontiguousarray(squared_norms, dtype=float)
        self._follow(len(gram), dimensions)
        cdef Py_ssize_t n = self.n, k = self.n_clusters, r = self.most_axes
        self.affine = affine
        self.scores, self.residual = np.zeros((k, r, n)), np.zeros((k, n))
        self.spectra, self.found = np.ones((k, r)), np.zeros(k, np.intc)
        guards = np.zeros((k * TOGETHER + 1, n))
        self.kept = gram, squared_norms, guards
        self.gram, self.squared_norms = <numbers> address(gram), <numbers> address(squared_norms)
        self._scores, self._residual = <numbers> address(self.scores), <numbers> address(self.residual)
        self._spectra, self._found = <numbers> address(self.spectra), <int*> address(self.found)
        self.guards = <numbers> address(guards)
        self.mean = self.guards + k * TOGETHER * n
        self.forget()

    def forget(self):
        """Forget labels and axes, so that nothing of one run is seen in the next."""
        FollowedClusters.forget(self)
        memset(self.guards, 0, <size_t> self.n_clusters * TOGETHER * self.n * sizeof(double))

    cdef int _reserve(self, Py_ssize_t m) except -1:
        """Make room for a cluster of m members."""
        cdef Py_ssize_t q = self.most_axes + TOGETHER
        if m <= self.capacity:
            return 0
        self.capacity = m = min(m + m // 4, self.n)
        room = np.empty((2 * m + 3 * q) * m + (3 * q + 1) * q + WORK * (m + q))
        integers = np.empty(14 * m, np.intc)
        self.room = room, integers
        self.block, self.int_work = <numbers> address(room), <int*> address(integers)
        self.spare, self.axes = self.block + m * m, self.block + 2 * m * m
        self.images, self.rotated = self.axes + q * m, self.axes + 2 * q * m
        self.values = self.axes + 3 * q * m
        self.small, self.work = self.values + q, self.values + q + 3 * q * q
        return 0

    cdef int _fit_cluster(self, int k) noexcept nogil:
        """Axes of one cluster, and where all rows lie; not 0 where LAPACK fails."""
        cdef numbers squared = self._residual + <Py_ssize_t> self.n * k
        cdef numbers spectrum = self._spectra + self.most_axes * k
        cdef int m = self._centre(k, squared), wanted = min(self.dimensions[k], m)
        cdef int q = min((wanted + TOGETHER) // TOGETHER * TOGETHER, m), found = 0, info = 0, r
        cdef double trace = self._take_block(m, squared) if wanted else 0.0
        if trace > 0.0:
            info = self._decompose(k, m, wanted, q)
            while found < wanted and self.values[found] > m * DBL_EPSILON * self.values[0]:
                found += 1
        for r in range(self.most_axes):
            spectrum[r] = trace * self.values[r] if r < found else 1.0
        self._found[k] = found
        self._project(k, m, found, spectrum, squared)
        return info

    cdef int _centre(self, int k, numbers squared) noexcept nogil:
        """Squared distances of all rows from the members' mean, or the origin; how many they are."""
        cdef double share, total = 0.0
        cdef int i, a, m = 0
        for i in range(self.n):
            squared[i], self.mean[i] = self.squared_norms[i], 0.0
            if self.labels[i] == k:
                self.members[m] = i
                m += 1
        if self.affine and m:
            share = 1.0 / m
            for a in range(m):
                self.axes[a] = share
            self._add_rows(m, 1, self.axes, self.mean)
            for a in range(m):
                total += share * self.mean[self.members[a]]
            # Less half of <mean, mean>: <x_i - mean, x_j - mean> is <x_i, x_j> less two numbers.
            for i in range(self.n):
                self.mean[i] -= 0.5 * total
                squared[i] -= 2.0 * self.mean[i]
        return m

    cdef numbers _row(self, int a) noexcept nogil:
        """Inner products of all rows with a member."""
        return self.gram + self.members[a] * self.n

    cdef void _add_rows(self, int m, int q, const double* weights, numbers out) noexcept nogil:
        """``out (q, n) += weights (q, m) @ G[members]``, four rows at a time."""
        cdef int a, r, one = 1
        for a in range(0, m - 3, 4):
            for r in range(q):
                add_four(
                    self.n, weights + r * m + a, self._row(a), self._row(a + 1), self._row(a + 2),
                    self._row(a + 3), out + <Py_ssize_t> r * self.n,
                )
        for a in range(m - m % 4, m):
            for r in range(q):
                daxpy(
                    &self.n, <numbers> weights + r * m + a, self._row(a), &one,
                    out + <Py_ssize_t> r * self.n, &one,
                )

    cdef double _take_block(self, int m, const double* squared) noexcept nogil:
        """Inner products of the members, from their mean, over their trace: that is returned."""
        cdef double trace = 0.0, share
        cdef numbers row
        cdef int a, b
        for a in range(m):
            trace += squared[self.members[a]]
        if not trace > DBL_MIN:
            return 0.0
        share = 1.0 / trace
        for a in range(m):
            row = self._row(a)
            for b in range(a + 1):
                self.block[a * m + b] = self.block[b * m + a] = share * (
                    row[self.members[b]] - (self.mean[self.members[a]] + self.mean[self.members[b]])
                )
        return trace

    cdef int _decompose(self, int k, int m, int wanted, int q) noexcept nogil:
        """The q leading eigenvalues and axes; those beyond the wanted ones are the next guards.

        By iteration where there is a guess and the result is sure, otherwise by LAPACK.
        """
        cdef numbers guess = self._scores + <Py_ssize_t> self.n * self.most_axes * k
        cdef numbers guards = self.guards + <Py_ssize_t> self.n * TOGETHER * k
        cdef int a, j, info = 0
        cdef bint sure
        for j in range(q):
            for a in range(m):
                self.axes[j * m + a] = (
                    guess[j * self.n + self.members[a]] if j < wanted
                    else guards[(j - wanted) * self.n + self.members[a]]
                )
        sure = self.guessed[k] and m > FEW and self._iterate(m, wanted, q)
        if not (sure and self._nothing_missed(m, wanted)):
            info = self._decompose_by_lapack(m, q)
        for j in range(wanted, q):
            for a in range(m):
                guards[(j - wanted) * self.n + self.members[a]] = self.axes[j * m + a]
        self.guessed[k] = m > FEW
        return info

    cdef bint _iterate(self, int m, int wanted, int q) noexcept nogil:
        """Filter and rotate the axes until the residuals of those wanted vanish.

        False where that takes too long. After Zhou and Saad (2007), SIAM J. Matrix Anal. 29, 954.
        """
        cdef numbers values = self.values
        cdef double residual, edge, needed
        cdef int turn, degree, degrees = 0
        for turn in range(MOST_ROUNDS):
            residual = self._rotate(m, wanted, q)
            if residual < 0.0 or residual <= TOLERANCE:
                return residual >= 0.0
            edge = max(values[q - 1], LEAST_EDGE * values[wanted - 1])
            if not edge < values[wanted - 1]:
                return False
            needed = log(residual / TOLERANCE) / acosh(2.0 * values[wanted - 1] / edge - 1.0) + 1.0
            if turn and degrees + needed > MOST_DEGREES:
                return False
            # Ritz vectors are rid of one another up to the squares of their residuals.
            degree = <int> min(
                needed, (SPREAD - 2.0 * log(residual)) / acosh(2.0 * values[0] / edge - 1.0),
                MOST_DEGREES,
            )
            degree = max(degree, 2)
            degrees += degree
            self._filter(m, q, degree, 0.5 * edge)
        return False

    cdef double _rotate(self, int m, int wanted, int q) noexcept nogil:
        """Make the axes Ritz vectors, largest value first.

        The largest ``||block u - lambda u||`` of those wanted, against the largest value; -1 where
        the axes do not span as many directions.
        """
        cdef double one = 1.0, zero = 0.0, minus, residual = 0.0
        cdef numbers overlap = self.small + q * q, turned = self.small + 2 * q * q
        cdef int j, kind = 1, step = 1, size = WORK * q, info = 0
        dgemm(b"N", b"N", &m, &q, &m, &one, self.block, &m, self.axes, &m, &zero, self.images, &m)
        dgemm(b"T", b"N", &q, &q, &m, &one, self.axes, &m, self.images, &m, &zero, self.small, &q)
        dgemm(b"T", b"N", &q, &q, &m, &one, self.axes, &m, self.axes, &m, &zero, overlap, &q)
        dsygv(&kind, b"V", b"L", &q, self.small, &q, overlap, &q, turned, self.work, &size, &info)
        if info or not turned[q - 1] > 0.0:
            return -1.0
        reverse(turned, q, 1, self.values)
        reverse(self.small, q, q, turned)
        dgemm(b"N", b"N", &m, &q, &q, &one, self.axes, &m, turned, &q, &zero, self.rotated, &m)
        self.axes, self.rotated = self.rotated, self.axes
        dgemm(b"N", b"N", &m, &q, &q, &one, self.images, &m, turned, &q, &zero, self.rotated, &m)
        for j in range(wanted):
            minus = -self.values[j]
            daxpy(&m, &minus, self.axes + j * m, &step, self.rotated + j * m, &step)
            residual = max(residual, dnrm2(&m, self.rotated + j * m, &step))
        return residual / self.values[0]

    cdef void _filter(self, int m, int q, int degree, double centre) noexcept nogil:
        """``axes <- T_degree(block / centre - I) axes``: only what lies above 2 centre grows.

        By the recurrence ``T_{j+1}(x) = 2 x T_j(x) - T_{j-1}(x)``.
        """
        cdef double scale = 1.0 / centre, share = 0.0
        cdef int j
        for j in range(m):
            self.spare[j] = self.block[j * m + j]
            self.block[j * m + j] -= centre
        for j in range(degree):
            dgemm(
                b"N", b"N", &m, &q, &m, &scale, self.block, &m, self.axes, &m, &share, self.images, &m
            )
            self.axes, self.images = self.images, self.axes
            scale, share = 2.0 / centre, -1.0
        for j in range(m):
            self.block[j * m + j] = self.spare[j]

    cdef bint _nothing_missed(self, int m, int wanted) noexcept nogil:
        """Whether every other eigenvalue lies below those found.

        It does where the squares of all others together are below that of the last one found, and
        wherever ``values[-1] I - block + U diag(values) U^T`` has a Cholesky factor.
        """
        cdef double bound = self.values[wanted - 1], one = 1.0
        cdef int j, a, step = 1, square = m * m, info = 0
        cdef double whole = ddot(&square, self.block, &step, self.block, &step)
        cdef double known = ddot(&wanted, self.values, &step, self.values, &step)
        if whole * (1.0 + CERTAIN) - known < bound * bound:
            return True
        for j in range(square):
            self.spare[j] = -self.block[j]
        for j in range(m):
            self.spare[j * m + j] += bound
        for j in range(wanted):
            for a in range(m):
                self.rotated[j * m + a] = sqrt(self.values[j]) * self.axes[j * m + a]
        dsyrk(b"L", b"N", &m, &wanted, &one, self.rotated, &m, &one, self.spare, &m)
        dpotrf(b"L", &m, self.spare, &m, &info)
        return info == 0

    cdef int _decompose_by_lapack(self, int m, int q) noexcept nogil:
        """The same by LAPACK: some eigenvectors or, should that fail, all of them."""
        cdef int first = m - q + 1, n_found = 0, info = 1
        cdef int size = WORK * m, int_size = 12 * m
        cdef double zero = 0.0
        cdef numbers values = self.images, vectors = self.rotated
        if m > FEW:
            memcpy(self.spare, self.block, <size_t> m * m * sizeof(double))
            dsyevr(
                b"V", b"I", b"L", &m, self.spare, &m, &zero, &zero, &first, &m, &zero, &n_found,
                values, vectors, &m, self.int_work + int_size, self.work, &size, self.int_work,
                &int_size, &info,
            )
        if info or n_found < q:
            memcpy(self.spare, self.block, <size_t> m * m * sizeof(double))
            dsyev(b"V", b"L", &m, self.spare, &m, values, self.work, &size, &info)
            values, vectors = values + m - q, self.spare + <Py_ssize_t> m * (m - q)
        reverse(values, q, 1, self.values)
        reverse(vectors, q, m, self.axes)
        return info

    cdef void _project(
        self, int k, int m, int found, const double* spectrum, numbers squared
    ) noexcept nogil:
        """Scores of all rows, ``G[:, C] U / sqrt(lambda)``, and their squared residuals."""
        cdef numbers scores = self._scores + <Py_ssize_t> self.n * self.most_axes * k, weights
        cdef double scale, shift, drift
        cdef int a, r, i
        memset(scores, 0, <size_t> self.n * self.most_axes * sizeof(double))
        for r in range(found):
            weights, scale, shift, drift = self.axes + r * m, 1.0 / sqrt(spectrum[r]), 0.0, 0.0
            for a in range(m):
                weights[a] *= scale
                shift += weights[a] * self.mean[self.members[a]]
                drift += weights[a]
            for i in range(self.n):
                scores[r * self.n + i] = -(shift + drift * self.mean[i])
        self._add_rows(m, found, self.axes, scores)
        for r in range(found):
            for i in range(self.n):
                squared[i] -= scores[r * self.n + i] * scores[r * self.n + i]
        for i in range(self.n):
            squared[i] = max(squared[i], 0.0)


cdef void reverse(const double* rows, int count, int width, numbers out) noexcept nogil:
    """Copy rows, the last one first."""
    cdef int j
    for j in range(count):
        memcpy(out + j * width, rows + (count - 1 - j) * width, width * sizeof(double))
