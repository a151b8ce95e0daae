# Many rows known by their inner products: read in single precision, and again in double precision
# only where rounding leaves open which cluster is the nearest.

cdef double FAINTEST = 2.0 ** -50  # length, against the longest: products of longer ones are normal
cdef double STEEPEST = 1e15        # weight, against the longest length, in single precision


cdef class ShortGramLooker(GramLooker):
    """`GramLooker` of many rows: the same labels and objective for half the reading.

    rounded (n, n): the inner products over ``unit``, a power of four near the largest. From them a
    score ``sum_a w_a <x_a, x_i>`` of m members is off by no more than the slack of its axis, which
    is ``(m + 3) ROUNDING sum_a |w_a| |x_a|`` and a little, times the row's length. So every cost of
    an outsider lies between two bounds; costs holds the lower one. The members' own scores are
    ``sqrt(lambda) u``, and their costs as exact as elsewhere.
    """

    cdef const float[:, ::1] rounded
    cdef double root                          # of the unit
    cdef double[:, ::1] loads                 # (n, q): the weights of every row, under its cluster
    cdef double[:, ::1] slack, all_values     # (K, q)
    cdef double[::1] lengths, exact           # (n,), of one row (q,)
    cdef float[::1] short_scores, short_weights
    cdef int[::1] founds, ends
    cdef Py_ssize_t[::1] order                # the rows, cluster by cluster

    def __init__(self, gram, rounded, unit, squared_norms, dimensions, least, criterion):
        GramLooker.__init__(self, gram, squared_norms, dimensions, least, criterion, False)
        n, k, q = self.n, self.n_clusters, self.most_axes
        self.rounded, self.root = rounded, sqrt(unit)
        self.lengths = np.sqrt(squared_norms) + FAINTEST * self.root
        self.loads, self.exact = np.empty((n, q)), np.empty(q)
        self.slack, self.all_values = np.empty((2, k, q))
        self.short_scores, self.short_weights = np.empty((2, q * n), np.float32)
        self.founds, self.ends = np.zeros(k, np.intc), np.zeros(k + 1, np.intc)
        self.order = np.empty(n, np.intp)

    cdef void _score(
        self, int k, int m, int found, const double* weights, double* scores
    ) noexcept nogil:
        cdef int a, r
        cdef double score, longest
        if not self._weigh(k, m, found, weights) * self.root < STEEPEST:
            memset(&self.slack[k, 0], 0, found * sizeof(double))
            GramLooker._score(self, k, m, found, weights, scores)
            return
        shorten(found * m, self.root, weights, &self.short_weights[0])
        combine_float(
            self.n, m, found, &self.rounded[0, 0], &self.members[0], m, &self.short_weights[0],
            &self.short_scores[0],
        )
        lengthen(<Py_ssize_t> found * self.n, self.root, &self.short_scores[0], scores)
        for r in range(found):
            for a in range(m):
                # No score is longer than its row: a row of zeros has none.
                longest = sqrt(self.squared_norms[self.members[a]])
                score = sqrt(self.values[r]) * self.axes[r * m + a]
                scores[r * self.n + self.members[a]] = min(max(score, -longest), longest)

    cdef double _weigh(self, int k, int m, int found, const double* weights) noexcept nogil:
        """Keep what exact costs and bounds need of a cluster; its largest weight."""
        cdef double rounding = (m + 3) * ROUNDING / (1.0 - (m + 3) * ROUNDING)
        cdef double total, weight, largest = 0.0
        cdef int a, r
        for r in range(found):
            total = 0.0
            for a in range(m):
                weight = weights[r * m + a]
                self.loads[self.members[a], r] = weight
                total += fabs(weight) * self.lengths[self.members[a]]
                largest = max(largest, fabs(weight))
            self.slack[k, r], self.all_values[k, r] = rounding * total, self.values[r]
        self.founds[k] = found
        return largest

    cdef void _charge_outsiders(self, int k, int found) noexcept nogil:
        lowest_costs(
            self.n, found, &self.guess[k, 0, 0], &self.values[0], &self.slack[k, 0],
            &self.lengths[0], &self.squared_norms[0], self.criterion == INFLUENCE,
            &self.costs[k, 0],
        )

    cdef double _assign(self, Py_ssize_t[::1] new) noexcept nogil:
        cdef double objective = 0.0
        cdef Py_ssize_t i
        self._sort()
        for i in range(self.n):
            objective += self.costs[self.labels[i], i]
            new[i] = self._nearest(i)
        return objective

    cdef void _sort(self) noexcept nogil:
        """The rows' order by cluster, and where each cluster's end."""
        cdef int k
        cdef Py_ssize_t i
        memset(&self.ends[0], 0, (self.n_clusters + 1) * sizeof(int))
        for i in range(self.n):
            self.ends[self.labels[i] + 1] += 1
        for k in range(self.n_clusters):
            self.ends[k + 1] += self.ends[k]
        for i in range(self.n):
            self.order[self.ends[self.labels[i]]] = i
            self.ends[self.labels[i]] += 1

    cdef Py_ssize_t _nearest(self, Py_ssize_t i) noexcept nogil:
        """The cluster of least cost, the own where that ties with it."""
        cdef Py_ssize_t own = self.labels[i], best = own
        cdef double least = self.costs[own, i], most
        cdef int k, rivals = 0
        for k in range(self.n_clusters):
            if self.costs[k, i] < self.costs[best, i]:
                best = k
        if best == own:
            return own
        most = min(least, self._highest_cost(best, i))
        for k in range(self.n_clusters):
            rivals += k != best and self.costs[k, i] <= most
        if not rivals:
            return best
        most, best = max(most, self.costs[best, i]), own
        for k in range(self.n_clusters):
            if k != own and self.costs[k, i] <= most:
                self.costs[k, i] = self._exact_cost(k, i)
                if self.costs[k, i] < least:
                    best, least = k, self.costs[k, i]
        return best

    cdef double _highest_cost(self, int k, Py_ssize_t i) noexcept nogil:
        """What row i costs at most under cluster k: each term where it is largest."""
        cdef double total = 0.0, energy = 0.0, residual = self.squared_norms[i], off, high, low
        cdef double* values = &self.all_values[k, 0]
        cdef int r
        for r in range(self.founds[k]):
            off = self.slack[k, r] * self.lengths[i]
            high = fabs(self.guess[k, r, i]) + off
            low = max(high - 2.0 * off, 0.0)
            residual -= low * low
            total += high * high / values[r]
        residual = max(residual, 0.0)
        if self.criterion != INFLUENCE:
            return residual
        for r in range(self.founds[k]):
            high = fabs(self.guess[k, r, i]) + self.slack[k, r] * self.lengths[i]
            energy += (total - high * high / values[r]) ** 4 * (high * high)
        return (1.0 + total) ** 4 * residual + energy

    cdef double _exact_cost(self, int k, Py_ssize_t i) noexcept nogil:
        """What row i, no member, costs under cluster k, in double precision."""
        cdef double residual = self.squared_norms[i], product
        cdef double* scores = &self.exact[0]
        cdef const double* load
        cdef int found = self.founds[k], first = self.ends[k - 1] if k else 0, a, r
        memset(scores, 0, found * sizeof(double))
        for a in range(first, self.ends[k]):
            product = self.gram[i, self.order[a]]
            load = &self.loads[self.order[a], 0]
            for r in range(found):
                scores[r] += product * load[r]
        for r in range(found):
            residual -= scores[r] * scores[r]
        residual = max(residual, 0.0)
        if self.criterion != INFLUENCE:
            return residual
        return influence_cost(scores, 1, &self.all_values[k, 0], found, residual, False)
