# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Compiled twins: a look at a partition (the PCA of each cluster, costs, the next labels), and
the exact leave-one-out errors of one PCA.

What a look is, `look.py` says; what it computes, `rows.py`, `sparse_basis.py`, `criteria.py` and
`partition.py`. Clusters that did not change since the last look are not fitted again, and the axes
of the last look are the first guess for those that did. Nothing here holds the interpreter's lock
for long, so that starts run side by side in threads; a looker belongs to one of them.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, M_PI, acosh, cos, exp2, fabs, log, log2, round, sqrt
from libc.stdint cimport uint64_t
from libc.stdlib cimport free, malloc, qsort
from libc.string cimport memcmp, memcpy, memset
from scipy.linalg.cython_blas cimport dgemm, dgemv, dsyrk, sgemm
from scipy.linalg.cython_lapack cimport (
    dlarfb, dlarft, dorg2r, dpotrf, dstemr, dsyev, dsyevd, dsyevr, dsytrd, spotrf,
)

import numpy as np

cdef extern from "_vectors.h" nogil:
    void add_four(
        Py_ssize_t n, double* weights, const double* first, const double* second,
        const double* third, const double* fourth, double* out,
    )
    void add_one(Py_ssize_t n, double weight, const double* given, double* out)
    void add_short(Py_ssize_t n, const float* change, double* axis)
    void add_squares(Py_ssize_t n, const double* given, double* out)
    void begin_row(
        Py_ssize_t n, const double* y, double least, double* weights, double* remainder
    )
    void combine_double(
        Py_ssize_t n, Py_ssize_t m, Py_ssize_t q, const double* matrix, const Py_ssize_t* rows,
        Py_ssize_t apart, const double* weights, double* out,
    )
    void combine_float(
        Py_ssize_t n, Py_ssize_t m, Py_ssize_t q, const float* matrix, const Py_ssize_t* rows,
        Py_ssize_t apart, const float* weights, float* out,
    )
    double end_row(Py_ssize_t n, const double* y, const double* remainder)
    void filter_axis(
        Py_ssize_t n, float scale, float growth, float fade, const float* product,
        const float* now, const float* force, float* before,
    )
    void influence_costs(
        Py_ssize_t n, Py_ssize_t q, const double* scores, const double* values,
        const double* residual, double* out,
    )
    double inner(Py_ssize_t n, const double* first, const double* second)
    double inner_short(Py_ssize_t n, const float* first, const float* second)
    void quadratic_forms(Py_ssize_t m, const double* z, const double* factors, double* forms)
    ctypedef struct Series:
        double bound, centre, width
        Py_ssize_t count
        const double* moments
        double* at
    void begin_roots(
        Py_ssize_t m, double* weights, double* poles, Py_ssize_t q, Py_ssize_t r, Series* rest,
        double* origin, double* shift, double* low, double* high,
    )
    double step_roots(
        Py_ssize_t m, double* weights, double* poles, Py_ssize_t q, Py_ssize_t r, Series* rest,
        double* origin, double* shift, double* low, double* high,
    )
    void end_roots(
        Py_ssize_t m, double* weights, double* poles, Py_ssize_t q, Py_ssize_t r, Series* rest,
        double* origin, double* shift, double* errors,
    )
    uint64_t key_of(Py_ssize_t n, const Py_ssize_t* labels)
    void secular_sums(
        Py_ssize_t n, double* weights, double* poles, double origin, double shift, double* value,
        double* slope,
    )
    void shorten(Py_ssize_t n, double scale, const double* given, float* out)
    void take_axis(
        Py_ssize_t n, double energy, double* poles, double origin, double shift, double* remainder
    )
    cdef enum:
        LANES
    void take_pivots(
        Py_ssize_t m, const double* diagonal, const double* squares, Py_ssize_t step,
        const double* shift, double* above, double* pivots,
    )


cdef struct Scratch:
    double* images        # (q, m): the matrix times the axes
    double* rotated       # (2, q, m)
    double* small         # (2, q, q)
    double* all_values    # (m,)
    double* work
    int* int_work
    int* support
    int int_work_size


ctypedef fused real:
    float
    double


include "_axes.pxi"
include "_secular.pxi"
include "_moments.pxi"
include "_tridiagonal.pxi"
include "_nodes.pxi"
include "_sweeps.pxi"

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


cdef double refit_factor(int m, bint affine) noexcept nogil:
    """``m / (m - 1)`` where the mean of m members is refitted without one: `secular.py`."""
    if not affine:
        return 1.0
    return m / (m - 1.0) if m > 1 else INFINITY


cdef double hat_cost(
    double* scores, Py_ssize_t stride, double* values, int found, double residual, double claimed
) noexcept nogil:
    """``||x_perp||^2 / (1 - sum h)^2``, of a member; claimed: the leverage of the mean."""
    cdef double total = claimed
    cdef int r
    for r in range(found):
        total += scores[r * stride] * scores[r * stride] / values[r]
    if total >= LEVERAGE_ONE:
        return INFINITY
    return residual / ((1.0 - total) * (1.0 - total))


cdef class GramLooker(Sweeps):
    """Looks at partitions of rows known by their inner products (n, n) alone."""

    cdef const double[:, ::1] gram
    cdef const double[::1] squared_norms
    cdef int criterion, most_axes, capacity, n_guards, n_extra, n_known, n_moments, n_nodes
    cdef double bound, lowest                 # of the eigenvalues beyond those known, of the roots
    cdef double effect                        # of `moments_needed`
    cdef double refit                         # `refit_factor` of the cluster that is fitted
    cdef bint affine
    cdef double[:, :, ::1] guess              # (K, q, n): scores, then guards, of every row
    cdef double[::1] squared, mean, values, left
    cdef double[::1] block, spare, axes, coordinates, errors, moments, tridiagonal
    cdef int[::1] stand_out                   # clusters whose axes did when last looked at
    cdef list kept
    cdef Series rest
    cdef Scratch scratch

    def __init__(self, gram, squared_norms, dimensions, least, criterion, affine):
        Sweeps.__init__(self, len(squared_norms), dimensions, least)
        self.gram, self.squared_norms = gram, squared_norms
        self.criterion, self.affine = CRITERIA[criterion], affine
        self.n_guards, self.n_extra = guards_for(self.n // self.n_clusters), 0
        if self.criterion == LOO:
            self.n_extra = extra_axes(self.n, self.n_clusters, max(dimensions))
            self.n_guards += self.n_extra
        self.most_axes, self.capacity = max(dimensions) + self.n_guards, -1
        n, k, q = self.n, self.n_clusters, self.most_axes
        self.guess, self.costs = np.empty((k, q, n)), np.empty((k, n))
        self.squared, self.mean, self.values = np.empty(n), np.empty(n), np.empty(q)
        self.left, self.stand_out = np.empty(2 * q), np.zeros(k, np.intc)

    cdef double _look(self, const Py_ssize_t[::1] labels, Py_ssize_t[::1] new) except? -1 nogil:
        cdef int k, m, info = 0
        self._note_changes(labels)
        for k in range(self.n_clusters):
            if self.changed[k]:
                m = self._gather(k)
                if m > self.capacity:
                    with gil:
                        self._reserve(min(m + m // 4, self.n))
                info = max(info, self._fit(k, m))
        if info:
            with gil:
                raise np.linalg.LinAlgError("the eigenvalues of a cluster did not converge")
        return self._assign(new)

    cdef object _products_with(self, Py_ssize_t row, rows):
        return self.gram[row]

    def _reserve(self, int m):
        """Room for a cluster of m members."""
        if m <= self.capacity:
            return
        q, full = self.most_axes, 2 * m * m if self.criterion == LOO else 0
        self.capacity = m
        self.block, self.spare = np.empty(m * m + 1), np.empty(spare_room(m))
        self.axes, self.coordinates = np.empty(q * m + 1), np.empty((10 + q) * m + q + 4)
        self.errors, self.moments = np.empty(m + 1), np.empty((MOST_MOMENTS + 2) * m + 1)
        self.tridiagonal = np.zeros(2 * m + 1)
        sizes = q * m, 2 * q * whole_vectors(m), 2 * q * q, m
        self.kept = [np.empty(size + 1) for size in sizes]
        self.kept += [np.empty(full + 40 * m + 40 * q + 1), np.empty(20 * m + 20, dtype=np.intc)]
        cdef double[::1] images = self.kept[0], rotated = self.kept[1], small = self.kept[2]
        cdef double[::1] all_values = self.kept[3], work = self.kept[4]
        cdef int[::1] integers = self.kept[5]
        self.scratch = Scratch(
            &images[0], &rotated[0], &small[0], &all_values[0], &work[0], &integers[0],
            &integers[12 * m + 10], 12 * m + 10,
        )

    cdef int _fit(self, int k, int m) noexcept nogil:
        """PCA of the members from their block of the inner products, and the costs of all rows."""
        cdef int wanted = min(self.dimensions[k], m), found = 0, info = 0
        cdef double floor
        self.refit = refit_factor(m, self.affine)
        self._centre(m)
        if wanted:
            self._take_block(m)
            info = self._decompose(k, m, wanted)
            floor = m * EPS * max(self.values[0], 0.0)
            while found < wanted and self.values[found] > floor:
                found += 1
        if self.criterion == LOO and found:
            self._leave_out(m, found)
        self._project(k, m, found)
        self.degenerate[k] = self.dimensions[k] > 0 and (
            found < self.dimensions[k] or self.values[found - 1] < self.least[k] * m
        )
        self._charge(k, m, found)
        if wanted:
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
        """Inner products of the members, less their mean: one triangle, and its mirror image."""
        cdef int a, b
        cdef double product
        cdef const double* row
        for a in range(m):
            row = &self.gram[self.members[a], 0]
            for b in range(a + 1):
                product = row[self.members[b]]
                if self.affine:
                    product -= self.mean[self.members[a]] + self.mean[self.members[b]]
                self.block[a * m + b] = self.block[b * m + a] = product

    cdef int _decompose(self, int k, int m, int wanted) noexcept nogil:
        """The leading axes; where the exact errors need them all of them, left in ``block``."""
        cdef int j, a, info
        cdef bint promising
        cdef double* values = self.scratch.all_values
        cdef const double* guess
        for j in range(wanted + self.n_guards):
            guess = &self.guess[k, j, 0]
            if not self.guessed[k]:
                guess = self._any_row(k, j)
            for a in range(m):
                self.axes[j * m + a] = guess[self.members[a]]
        if self.criterion != LOO:
            return leading_axes(
                &self.block[0], &self.spare[0], m, wanted, wanted + self.n_guards, &self.axes[0],
                &self.values[0], &self.scratch,
            )
        if not self.guessed[k]:
            self.stand_out[k] = m >= LARGE
        promising = m <= MANY_MEMBERS or self.stand_out[k]
        self.n_moments, self.n_nodes = self._iterate(m, wanted) if promising else 0, 0
        self.stand_out[k] = self.n_moments > 0
        if m > MANY_MEMBERS and not self.n_moments:
            self.n_nodes = self._tridiagonalise(k, m, wanted)
        if self.n_moments or self.n_nodes:
            return 0
        info = decompose(&self.block[0], m, values, &self.scratch)
        for j in range(min(wanted + self.n_guards, m)):
            self.values[j] = values[m - 1 - j]
            memcpy(&self.axes[j * m], &self.block[(m - 1 - j) * m], m * sizeof(double))
        return info

    cdef const double* _any_row(self, int k, int j) noexcept nogil:
        """A guess where there is none: the inner products with any row are one power step from it."""
        return &self.gram[(k * self.most_axes + j) * 7 % self.n, 0]

    cdef int _iterate(self, int m, int wanted) noexcept nogil:
        """Leading axes, a bound on all other eigenvalues, and how many moments those call for."""
        cdef int q = wanted, most = wanted + self.n_extra, n_moments
        cdef double* block = &self.block[0]
        cdef double* spare = &self.spare[0]
        cdef double* axes = &self.axes[0]
        cdef double* values = &self.values[0]
        if m <= SMALL + most:
            return 0
        # Where the axes wanted stand out, the next ones need not be known.
        while q <= most:
            if not iterate(
                block, spare, m, q, wanted + self.n_guards, axes, values, &self.scratch
            ):
                return 0
            n_moments = self._moments_beyond(q, m, wanted)
            if n_moments and nothing_missed(
                block, spare, m, q, axes, values, self.bound, True, self.scratch.work
            ):
                return n_moments
            q += 1
            while q <= most and not self._moments_beyond(q, m, wanted):
                q += 1
        return 0

    cdef int _moments_beyond(self, int q, int m, int wanted) noexcept nogil:
        """How many moments would do if q axes were known, as far as eigenvalues are."""
        cdef double slack = factor_slack(m)
        self.bound, self.n_known = 1.05 * self.values[q], q
        if slack < MOST_SLACK:
            self.bound *= 1.0 + 2.0 * slack
        return moments_needed(
            &self.axes[0], &self.values[0], m, wanted, self.bound, self.refit, &self.lowest,
            &self.effect,
        )

    cdef int _tridiagonalise(self, int k, int m, int wanted) noexcept nogil:
        """Leading axes, and how many nodes the rest calls for; 0 where nodes do not serve.

        ``spare`` becomes what `take_nodes` needs: row a of the inner products' tridiagonal form, in
        their unit, without the axes known.
        """
        cdef int q = wanted + self.n_extra + 1, known, n_nodes, j
        cdef double one = 1.0, minus = -1.0, zero = 0.0, unit = self._unit(m)
        cdef double* rows = &self.spare[0]
        cdef double* axes = &self.axes[0]
        cdef double* turned = self.scratch.rotated
        cdef double* diagonal = &self.tridiagonal[0]
        cdef double* beside = diagonal + m
        if m <= q or not (0.0 < unit < INFINITY):
            return 0
        for j in range(m * m):
            rows[j] = self.block[j] / unit
        if tridiagonalise(rows, m, diagonal, beside, &self.scratch):
            return 0
        if leading_of_tridiagonal(
            diagonal, beside, m, q, turned, &self.values[0], &self.scratch
        ):
            return 0
        dgemm(b"N", b"N", &m, &q, &m, &one, rows, &m, turned, &m, &zero, axes, &m)
        n_nodes = self._choose_nodes(k, m, wanted)
        if n_nodes:
            known = self.n_known
            dgemm(b"N", b"T", &m, &m, &known, &minus, axes, &m, turned, &m, &one, rows, &m)
            for j in range(q):
                self.values[j] *= unit
        return n_nodes

    cdef int _choose_nodes(self, int k, int m, int wanted) noexcept nogil:
        """How many axes are best known, and how many nodes the rest then calls for.

        Notes as well whether the axes stand out enough for few moments.
        """
        cdef int q, n, known = wanted, fewest = 0
        cdef double* values = &self.values[0]
        cdef double lowest, least = 0.0
        cdef Series rest
        for q in range(wanted, wanted + self.n_extra + 1):
            if not values[q] > m * EPS * values[0]:
                break
            if self._moments_beyond(q, m, wanted):
                self.stand_out[k] = True
            # Between two axes that are known roots are sought in the whole interval.
            lowest = self.lowest if q == wanted else values[wanted]
            n = nodes_needed(values[0], lowest, values[q] * (1.0 + 1e-12), &rest)
            if n and not 0 < fewest < n:
                fewest, known, least, self.rest = n, q, lowest, rest
        self.n_known, self.lowest = known, least
        return fewest if self._leaves_enough(m, wanted) else 0

    cdef bint _leaves_enough(self, int m, int wanted) noexcept nogil:
        """Whether the axes leave so much that errors may come from differences of squares."""
        cdef double whole = 0.0, left
        cdef int j
        for j in range(m):
            whole += self.tridiagonal[j]
        left = whole
        for j in range(wanted):
            left -= self.values[j]
        return left > FAINT * whole

    cdef double _unit(self, int m) noexcept nogil:
        """A power of two near the sum of the members' squares."""
        cdef double total = 0.0
        cdef int a
        for a in range(m):
            total += self.block[a * m + a]
        return exp2(round(log2(total)))

    cdef void _project(self, int k, int m, int found) noexcept nogil:
        """Scores of all rows, ``G[:, C] U / sqrt(lambda)``, and their squared residuals.

        The scores are the next guess: members that join have theirs already.
        """
        cdef double scale, shift, drift
        cdef double* scores = &self.guess[k, 0, 0]
        cdef double* weights = self.scratch.rotated
        cdef int a, r
        cdef Py_ssize_t i
        for r in range(found):
            scale = 1.0 / sqrt(self.values[r])
            for a in range(m):
                weights[r * m + a] = scale * self.axes[r * m + a]
        self._score(k, m, found, weights, scores)
        for r in range(found):
            if self.affine:
                shift, drift = 0.0, 0.0
                for a in range(m):
                    shift += weights[r * m + a] * self.mean[self.members[a]]
                    drift += weights[r * m + a]
                for i in range(self.n):
                    scores[i] -= shift + drift * self.mean[i]
            for i in range(self.n):
                self.squared[i] -= scores[i] * scores[i]
            scores += self.n
        for i in range(self.n):
            self.squared[i] = max(self.squared[i], 0.0)

    cdef void _score(
        self, int k, int m, int found, const double* weights, double* scores
    ) noexcept nogil:
        """The sums of the members' inner products with every row, weighted."""
        combine_double(
            self.n, m, found, &self.gram[0, 0], &self.members[0], m, weights, scores
        )

    cdef void _charge_outsiders(self, int k, int found) noexcept nogil:
        """Cost of every row under cluster k, as if none were a member."""
        if self.criterion == INFLUENCE:
            influence_costs(
                self.n, found, &self.guess[k, 0, 0], &self.values[0], &self.squared[0],
                &self.costs[k, 0],
            )
        else:
            memcpy(&self.costs[k, 0], &self.squared[0], self.n * sizeof(double))

    cdef void _charge(self, int k, int m, int found) noexcept nogil:
        """Cost of every row under cluster k; see criteria.py."""
        cdef double* scores = &self.guess[k, 0, 0]
        cdef double* values = &self.values[0]
        cdef double* costs = &self.costs[k, 0]
        cdef Py_ssize_t i
        cdef int a
        self._charge_outsiders(k, found)
        for a in range(m):
            i = self.members[a]
            if self.criterion == INFLUENCE:
                costs[i] = influence_cost(
                    scores + i, self.n, values, found, self.squared[i], True
                )
            elif self.criterion == HAT:
                costs[i] = hat_cost(
                    scores + i, self.n, values, found, self.squared[i], 1.0 / m if self.affine else 0.0
                )
            elif self.criterion == LOO and self.refit == INFINITY:
                costs[i] = INFINITY
            elif self.criterion == LOO and found:
                costs[i] = self.refit * self.errors[a]
            elif self.criterion == LOO:
                costs[i] = self.refit * self.refit * self.squared[i]
            else:
                costs[i] = self.squared[i]

    cdef void _leave_out(self, int m, int found) noexcept nogil:
        """Exact leave-one-out errors of the members, by the secular equation, over ``refit``."""
        if self.n_moments or self.n_nodes:
            self._leave_out_by_leading_axes(m, found)
        else:
            self._leave_out_by_all_axes(m, found)

    cdef void _leave_out_by_leading_axes(self, int m, int found) noexcept nogil:
        cdef int q = self.n_known, a, l
        cdef double* poles = &self.coordinates[0]
        cdef double* weights = poles + q + 1
        cdef double scale = self._unit(m)
        for a in range(m):
            self.errors[a] = self.refit * self.block[a * m + a] / scale
            for l in range(q):
                weights[l * m + a] = max(
                    self.refit * self.axes[l * m + a] * self.axes[l * m + a] * self.values[l] / scale,
                    SMALLEST_WEIGHT,
                )
        for l in range(q):
            poles[l] = self.values[l] / scale
        separate(poles, q)
        self._expand_rest(m, scale)
        poles[q] = self.lowest
        leave_out_all(
            weights, poles, q, found, m, &self.rest, weights + q * m, &self.errors[0]
        )
        for a in range(m):
            self.errors[a] = scale * max(self.errors[a], 0.0)

    cdef void _expand_rest(self, int m, double scale) noexcept nogil:
        """What the other axes add to the secular equation, in units of scale."""
        cdef int l
        cdef bint brief
        self.rest.moments = &self.moments[0]
        if self.n_nodes:
            self.rest.count = self.n_nodes
            take_nodes(
                &self.spare[0], &self.tridiagonal[0], &self.tridiagonal[m], m, self.n_nodes,
                &self.moments[0], &self.rest, self.scratch.work,
            )
            for l in range(self.n_nodes * m):
                self.moments[l] *= self.refit
            return
        brief = short_moments_do(m, place(self.lowest, self.bound), self.effect)
        take_moments(
            &self.block[0], &self.spare[0], self.scratch.work, m, self.n_known, self.n_moments,
            brief, &self.axes[0], &self.values[0], self.bound, &self.moments[0],
        )
        self.lowest /= scale
        self.rest.bound, self.rest.centre, self.rest.width = self.bound / scale, 0.0, 1.0
        self.rest.count = self.n_moments + 1
        for l in range((self.n_moments + 1) * m):
            self.moments[l] *= self.refit / scale

    cdef void _leave_out_by_all_axes(self, int m, int found) noexcept nogil:
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
                self.block[(m - 1 - l) * m + a] *= sqrt(self.refit * poles[l])
        separate(poles, rank)
        poles[rank] = 0.0
        for a in range(m):
            for l in range(rank):
                y[l] = self.block[(m - 1 - l) * m + a]
            self.errors[a] = scale * scale * leave_out(
                y, poles, rank, found, weights, remainder, &self.left[0], &self.left[found]
            )

    cdef void _remember(self, int k, int m, int found) noexcept nogil:
        """The guards as the next guess, beside the scores."""
        cdef int j, a
        for j in range(found, found + self.n_guards):
            if not self.guessed[k]:
                memset(&self.guess[k, j, 0], 0, self.n * sizeof(double))
            for a in range(m):
                self.guess[k, j, self.members[a]] = self.axes[j * m + a]
        if not self.guessed[k]:
            for j in range(found + self.n_guards, self.most_axes):
                memcpy(&self.guess[k, j, 0], self._any_row(k, j), self.n * sizeof(double))
        self.guessed[k] = True


include "_flats.pxi"
include "_scatter.pxi"
include "_passes.pxi"
include "_looks.pxi"
include "_sparse.pxi"
include "_refill.pxi"
