# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Compiled twins: a look at a partition (the PCA of each cluster, costs, the next labels), and
the exact leave-one-out errors of one PCA.

What a look is, `look.py` says; what it computes, `rows.py`, `criteria.py` and `partition.py`. Clusters
that did not change since the last look are not fitted again, and the axes of the last look are the
first guess for those that did. Nothing here holds the interpreter's lock for long, so that starts
run side by side in threads; a looker belongs to one of them.
"""

from libc.math cimport INFINITY, acosh, exp2, fabs, log, log2, round, sqrt
from libc.string cimport memcpy, memset
from scipy.linalg.cython_blas cimport dgemm, dgemv, dsyrk
from scipy.linalg.cython_lapack cimport dpotrf, dsyev, dsyevd, dsyevr

import numpy as np

cdef extern from "_vectors.h" nogil:
    void add_four(
        Py_ssize_t n, double* weights, const double* first, const double* second,
        const double* third, const double* fourth, double* out,
    )
    void add_one(Py_ssize_t n, double weight, const double* given, double* out)
    void begin_row(
        Py_ssize_t n, const double* y, double least, double* weights, double* remainder
    )
    double end_row(Py_ssize_t n, const double* y, const double* remainder)
    double inner(Py_ssize_t n, const double* first, const double* second)
    void secular_sums(
        Py_ssize_t n, double* weights, double* poles, double origin, double shift, double* value,
        double* slope,
    )
    void take_axis(
        Py_ssize_t n, double energy, double* poles, double origin, double shift, double* remainder
    )


cdef struct Scratch:
    double* images        # (q, m): the matrix times the axes
    double* rotated       # (q, m)
    double* small         # (q, q)
    double* all_values    # (m,)
    double* work
    int* int_work
    int* support
    int work_size
    int int_work_size


include "_axes.pxi"
include "_secular.pxi"

cdef enum Criterion:
    INFLUENCE, RESIDUAL, HAT, LOO

CRITERIA = {"influence": INFLUENCE, "residual": RESIDUAL, "hat": HAT, "loo": LOO}


cdef double influence_cost(
    double* scores, Py_ssize_t stride, double* values, int found, double residual, bint member
) noexcept nogil:
    """``a^4 ||x_perp||^2 + sum_r (a - w_r)^4 d_r^2``."""
    cdef double total = 0.0, energy = 0.0, d, others
    cdef int r
    for r in range(found):
        d = scores[r * stride] * scores[r * stride]
        if member and d >= LEVERAGE_ONE * values[r]:
            return INFINITY
        total += d / (values[r] - d if member else values[r])
    for r in range(found):
        d = scores[r * stride] * scores[r * stride]
        others = total - d / (values[r] - d if member else values[r])
        energy += others * others * others * others * d
    total = (1.0 + total) * (1.0 + total)
    return total * total * residual + energy


cdef double hat_cost(
    double* scores, Py_ssize_t stride, double* values, int found, double residual
) noexcept nogil:
    """``||x_perp||^2 / (1 - sum h)^2``, of a member."""
    cdef double total = 0.0
    cdef int r
    for r in range(found):
        total += scores[r * stride] * scores[r * stride] / values[r]
    if total >= LEVERAGE_ONE:
        return INFINITY
    return residual / ((1.0 - total) * (1.0 - total))


cdef class GramLooker:
    """Looks at partitions of rows known by their inner products (n, n) alone.

    dimensions (K,); least (K,): a cluster whose last eigenvalue is below this, for each member, does
    not span its axes.
    """

    cdef const double[:, ::1] gram
    cdef const double[::1] squared_norms, least
    cdef const int[::1] dimensions
    cdef int criterion, n, n_clusters, most_axes, capacity
    cdef bint affine
    cdef double[:, ::1] costs                 # (K, n)
    cdef double[:, :, ::1] guess              # (K, q, n): scores, then guards, of every row
    cdef double[:, ::1] scores                # (R, n)
    cdef double[::1] squared, mean, values, left
    cdef double[::1] block, spare, axes, coordinates
    cdef Py_ssize_t[::1] labels, members
    cdef int[::1] changed, degenerate
    cdef list kept
    cdef Scratch scratch

    def __init__(self, gram, squared_norms, dimensions, least, criterion, affine):
        self.gram, self.squared_norms, self.least = gram, squared_norms, least
        self.dimensions = np.asarray(dimensions, dtype=np.intc)
        self.criterion, self.affine = CRITERIA[criterion], affine
        self.n, self.n_clusters = len(squared_norms), len(dimensions)
        self.most_axes, self.capacity = max(dimensions) + GUARDS, -1
        n, k, q = self.n, self.n_clusters, self.most_axes
        self.costs = np.empty((k, n))
        # The inner products with any row are one power step from it: a guess for a first look.
        self.guess = np.take(gram, np.arange(k * q) * 7 % n, axis=0).reshape(k, q, n)
        self.scores = np.empty((q, n))
        self.squared, self.mean, self.values = np.empty(n), np.empty(n), np.empty(q)
        self.left = np.empty(2 * q)
        self.labels, self.members = np.full(n, -1), np.empty(n, dtype=np.intp)
        self.changed, self.degenerate = np.empty(k, np.intc), np.empty(k, np.intc)

    def look(self, const Py_ssize_t[::1] labels):
        """Objective, clusters that do not span their axes, and where every row would go."""
        cdef int k, m, info = 0
        cdef double objective
        assigned = np.empty(self.n, dtype=np.intp)
        cdef Py_ssize_t[::1] new = assigned
        self._reserve(self._largest(labels))
        with nogil:
            self._note_changes(labels)
            for k in range(self.n_clusters):
                if self.changed[k]:
                    m = self._gather(k)
                    info = max(info, self._fit(k, m))
            objective = self._assign(new)
        if info:
            raise np.linalg.LinAlgError("the eigenvalues of a cluster did not converge")
        return objective, [k for k in range(self.n_clusters) if self.degenerate[k]], assigned

    cdef int _largest(self, const Py_ssize_t[::1] labels):
        cdef int[::1] counts = np.zeros(self.n_clusters, dtype=np.intc)
        cdef Py_ssize_t i
        for i in range(self.n):
            counts[labels[i]] += 1
        return max(counts)

    def _reserve(self, int m):
        """Room for a cluster of m members."""
        if m <= self.capacity:
            return
        q, full = self.most_axes, 2 * m * m if self.criterion == LOO else 0
        self.capacity = m
        self.block, self.spare = np.empty(m * m + 1), np.empty(m * m + 1)
        self.axes, self.coordinates = np.empty(q * m + 1), np.empty(4 * m + 4)
        sizes = {"images": q * m, "rotated": q * m, "small": q * q, "all_values": m}
        self.kept = [np.empty(size + 1) for size in sizes.values()]
        self.kept += [np.empty(full + 40 * m + 40 * q + 1), np.empty(20 * m + 20, dtype=np.intc)]
        cdef double[::1] images = self.kept[0], rotated = self.kept[1], small = self.kept[2]
        cdef double[::1] all_values = self.kept[3], work = self.kept[4]
        cdef int[::1] integers = self.kept[5]
        self.scratch = Scratch(
            &images[0], &rotated[0], &small[0], &all_values[0], &work[0], &integers[0],
            &integers[12 * m + 10], len(work), 12 * m + 10,
        )

    cdef void _note_changes(self, const Py_ssize_t[::1] labels) noexcept nogil:
        cdef bint first = self.labels[0] < 0
        cdef int k
        cdef Py_ssize_t i
        for k in range(self.n_clusters):
            self.changed[k] = first
        for i in range(self.n):
            if self.labels[i] != labels[i]:
                if not first:
                    self.changed[self.labels[i]] = True
                self.changed[labels[i]] = True
                self.labels[i] = labels[i]

    cdef int _gather(self, int k) noexcept nogil:
        cdef int m = 0
        cdef Py_ssize_t i
        for i in range(self.n):
            if self.labels[i] == k:
                self.members[m] = i
                m += 1
        return m

    cdef int _fit(self, int k, int m) noexcept nogil:
        """PCA of the members from their block of the inner products, and the costs of all rows."""
        cdef int wanted = min(self.dimensions[k], m), found = 0, info = 0
        cdef double floor
        self._centre(m)
        if wanted:
            self._take_block(m)
            info = self._decompose(k, m, wanted)
            floor = m * EPS * max(self.values[0], 0.0)
            while found < wanted and self.values[found] > floor:
                found += 1
        self._project(m, found)
        self.degenerate[k] = self.dimensions[k] > 0 and (
            found < self.dimensions[k] or self.values[found - 1] < self.least[k] * m
        )
        self._charge(k, found)
        if self.criterion == LOO and found:
            self._leave_out(k, m, found)
        elif wanted:
            self._remember(k, m, found)
        return info

    cdef void _centre(self, int m) noexcept nogil:
        """Squared distances of all rows from the members' mean, or from the origin."""
        cdef double total = 0.0
        cdef int a
        cdef Py_ssize_t i
        memcpy(&self.squared[0], &self.squared_norms[0], self.n * sizeof(double))
        if not self.affine or m == 0:
            return
        memset(&self.mean[0], 0, self.n * sizeof(double))
        for a in range(m):
            add_one(self.n, 1.0 / m, &self.gram[self.members[a], 0], &self.mean[0])
        for a in range(m):
            total += self.mean[self.members[a]] / m
        # <x_i, m> - <m, m> / 2, so that both <x_i - m, x_j - m> and its diagonal are one difference
        for i in range(self.n):
            self.mean[i] -= 0.5 * total
            self.squared[i] -= 2.0 * self.mean[i]

    cdef void _take_block(self, int m) noexcept nogil:
        cdef int a, b
        cdef const double* row
        for a in range(m):
            row = &self.gram[self.members[a], 0]
            for b in range(m):
                self.block[a * m + b] = row[self.members[b]]
            if self.affine:
                for b in range(m):
                    self.block[a * m + b] -= (
                        self.mean[self.members[a]] + self.mean[self.members[b]]
                    )

    cdef int _decompose(self, int k, int m, int wanted) noexcept nogil:
        """The leading axes; for the exact errors all of them, left in ``block``."""
        cdef int j, a, info
        cdef double* values = self.scratch.all_values
        if self.criterion == LOO:
            info = decompose(&self.block[0], m, values, &self.scratch)
            for j in range(wanted):
                self.values[j] = values[m - 1 - j]
                memcpy(&self.axes[j * m], &self.block[(m - 1 - j) * m], m * sizeof(double))
            return info
        for j in range(wanted + GUARDS):
            for a in range(m):
                self.axes[j * m + a] = self.guess[k, j, self.members[a]]
        return leading_axes(
            &self.block[0], &self.spare[0], m, wanted, &self.axes[0], &self.values[0],
            &self.scratch,
        )

    cdef void _project(self, int m, int found) noexcept nogil:
        """Scores of all rows, ``G[:, C] U / sqrt(lambda)``, and their squared residuals."""
        cdef double[4] weights
        cdef double scale, shift, drift
        cdef const double* row
        cdef int a, b, r
        cdef Py_ssize_t i
        memset(&self.scores[0, 0], 0, found * self.n * sizeof(double))
        for r in range(found):
            scale = 1.0 / sqrt(self.values[r])
            for a in range(m):
                self.axes[r * m + a] *= scale
        for a in range(0, m - 3, 4):
            for r in range(found):
                add_four(
                    self.n, &self.axes[r * m + a], &self.gram[self.members[a], 0],
                    &self.gram[self.members[a + 1], 0], &self.gram[self.members[a + 2], 0],
                    &self.gram[self.members[a + 3], 0], &self.scores[r, 0],
                )
        for a in range(m - m % 4, m):
            for r in range(found):
                add_one(
                    self.n, self.axes[r * m + a], &self.gram[self.members[a], 0],
                    &self.scores[r, 0],
                )
        for r in range(found):
            if self.affine:
                shift, drift = 0.0, 0.0
                for a in range(m):
                    shift += self.axes[r * m + a] * self.mean[self.members[a]]
                    drift += self.axes[r * m + a]
                for i in range(self.n):
                    self.scores[r, i] -= shift + drift * self.mean[i]
            for i in range(self.n):
                self.squared[i] -= self.scores[r, i] * self.scores[r, i]
        for i in range(self.n):
            self.squared[i] = max(self.squared[i], 0.0)

    cdef void _charge(self, int k, int found) noexcept nogil:
        """Cost of every row under cluster k; see criteria.py."""
        cdef Py_ssize_t i
        for i in range(self.n):
            if self.criterion == INFLUENCE:
                self.costs[k, i] = influence_cost(
                    &self.scores[0, i], self.n, &self.values[0], found, self.squared[i],
                    self.labels[i] == k,
                )
            elif self.criterion == HAT and self.labels[i] == k:
                self.costs[k, i] = hat_cost(
                    &self.scores[0, i], self.n, &self.values[0], found, self.squared[i]
                )
            else:
                self.costs[k, i] = self.squared[i]

    cdef void _leave_out(self, int k, int m, int found) noexcept nogil:
        """Exact leave-one-out errors of the members, by the secular equation."""
        cdef double* values = self.scratch.all_values
        cdef double* poles = &self.coordinates[0]
        cdef double* y = poles + m + 1
        cdef double* weights = y + m + 1
        cdef double* remainder = weights + m + 1
        cdef double scale = exp2(round(log2(sqrt(values[m - 1]))))
        cdef int rank = 0, a, l
        while rank < m and values[m - 1 - rank] > m * EPS * values[m - 1]:
            poles[rank] = values[m - 1 - rank] / (scale * scale)
            rank += 1
        for l in range(rank):
            for a in range(m):
                self.block[(m - 1 - l) * m + a] *= sqrt(poles[l])
        separate(poles, rank)
        poles[rank] = 0.0
        for a in range(m):
            for l in range(rank):
                y[l] = self.block[(m - 1 - l) * m + a]
            self.costs[k, self.members[a]] = scale * scale * leave_out(
                y, poles, rank, found, weights, remainder, &self.left[0], &self.left[found]
            )

    cdef void _remember(self, int k, int m, int found) noexcept nogil:
        """Scores of all rows as the next guess: members that join have theirs already."""
        cdef int j, a
        for j in range(found):
            memcpy(&self.guess[k, j, 0], &self.scores[j, 0], self.n * sizeof(double))
        for j in range(found, found + GUARDS):
            for a in range(m):
                self.guess[k, j, self.members[a]] = self.axes[j * m + a]

    cdef double _assign(self, Py_ssize_t[::1] new) noexcept nogil:
        """Each row to its least cost, staying where the own ties with it; the sum of the own."""
        cdef double objective = 0.0, own
        cdef Py_ssize_t i, best
        cdef int k
        for i in range(self.n):
            best = 0
            for k in range(1, self.n_clusters):
                if self.costs[k, i] < self.costs[best, i]:
                    best = k
            own = self.costs[self.labels[i], i]
            new[i] = self.labels[i] if own <= self.costs[best, i] else best
            objective += own
        return objective


include "_scatter.pxi"
