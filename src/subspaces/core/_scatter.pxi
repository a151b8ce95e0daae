# Looks at partitions of many rows of few variables, by the scatter matrix of each cluster.

cdef enum:
    CHUNK = 256
    REFRESH = 10                   # looks after which a scatter matrix is summed afresh

cdef double CANCELLATION = 1e-6    # as in rows.py


cdef class ScatterLooker(Sweeps):
    """Looks at partitions of rows (n, p), linear flats only; otherwise as `GramLooker`.

    A scatter matrix follows the rows that join and leave. Costs are found a chunk of rows at a
    time and not kept.
    """

    cdef const double[:, ::1] rows
    cdef const double[::1] squared_norms
    cdef int criterion, p, n_axes, looks
    cdef double[:, :, ::1] scatter, axes      # (K, p, p); axes in rows, the weakest first
    cdef double[:, ::1] values, poles         # (K, p + 1), the largest first
    cdef double[:, ::1] leading               # (sum R, p)
    cdef double[:, ::1] scores, buffer        # (CHUNK, sum R), (CHUNK, p)
    cdef double[::1] scales, work, line, coordinates, weights, remainder, left
    cdef int[::1] ranks, found, offsets, int_work
    cdef Scratch scratch

    def __init__(self, rows, squared_norms, dimensions, least, criterion):
        Sweeps.__init__(self, len(squared_norms), dimensions, least)
        self.rows, self.squared_norms = rows, squared_norms
        self.criterion = CRITERIA[criterion]
        self.p, self.n_axes = rows.shape[1], sum(dimensions)
        k, p, total = self.n_clusters, self.p, self.n_axes
        self.scatter, self.axes = np.zeros((k, p, p)), np.empty((k, p, p))
        self.values, self.poles = np.zeros((k, p + 1)), np.zeros((k, p + 1))
        self.leading, self.scales = np.zeros((total, p)), np.ones(k)
        self.scores, self.buffer = np.empty((CHUNK, total)), np.empty((CHUNK, p))
        self.line, self.coordinates, self.left = np.empty(p), np.zeros(p + 1), np.empty(2 * p + 2)
        self.weights, self.remainder = np.empty(p + 1), np.empty(p + 1)
        self.ranks, self.found = np.zeros(k, np.intc), np.zeros(k, np.intc)
        self.offsets = (np.cumsum(dimensions) - dimensions).astype(np.intc)
        self.work, self.int_work = np.empty(2 * p * p + 40 * p + 40), np.empty(12 * p + 10, np.intc)
        self.scratch.work = &self.work[0]
        self.scratch.int_work, self.scratch.int_work_size = &self.int_work[0], len(self.int_work)

    def begin(self):
        """Forget all partitions looked at, and their scatter matrices."""
        Sweeps.begin(self)
        self.looks = 0

    cdef double _look(self, const Py_ssize_t[::1] labels, Py_ssize_t[::1] new) except? -1 nogil:
        cdef int k, size, info = 0
        cdef Py_ssize_t start = 0
        cdef double objective = 0.0
        for k in range(self.n_clusters):
            size = self._follow(k, labels)
            info = max(info, self._fit(k, size))
        if info:
            with gil:
                raise np.linalg.LinAlgError("the eigenvalues of a cluster did not converge")
        memcpy(&self.labels[0], &labels[0], self.n * sizeof(Py_ssize_t))
        self.looks += 1
        while start < self.n:
            objective += self._assign_some(start, min(CHUNK, self.n - start), new)
            start += CHUNK
        return objective

    cdef int _follow(self, int k, const Py_ssize_t[::1] labels) noexcept nogil:
        """Add the rows that joined, take away those that left, or sum afresh; the new size."""
        cdef int size = 0, moved = 0
        cdef Py_ssize_t i
        for i in range(self.n):
            size += labels[i] == k
            moved += (labels[i] == k) != (self.labels[i] == k)
        if 2 * moved > size or self.looks % REFRESH == 0:
            memset(&self.scatter[k, 0, 0], 0, self.p * self.p * sizeof(double))
            self._sum(k, labels, True, False, 1.0)
        elif moved:
            self._sum(k, labels, True, True, 1.0)
            self._sum(k, labels, False, True, -1.0)
        return size

    cdef void _sum(
        self, int k, const Py_ssize_t[::1] labels, bint member, bint only_moved, double sign
    ) noexcept nogil:
        cdef int held = 0
        cdef Py_ssize_t i
        for i in range(self.n):
            if (labels[i] == k) != member:
                continue
            if only_moved and (self.labels[i] == k) == member:
                continue
            memcpy(&self.buffer[held, 0], &self.rows[i, 0], self.p * sizeof(double))
            held += 1
            if held == CHUNK:
                self._flush(k, held, sign)
                held = 0
        self._flush(k, held, sign)

    cdef void _flush(self, int k, int held, double sign) noexcept nogil:
        cdef double one = 1.0
        if held:
            dsyrk(
                b"L", b"N", &self.p, &held, &sign, &self.buffer[0, 0], &self.p, &one,
                &self.scatter[k, 0, 0], &self.p,
            )

    cdef int _fit(self, int k, int size) noexcept nogil:
        """Axes of a cluster, cut at their numerical rank."""
        cdef int p = self.p, wanted = self.dimensions[k], l, info
        cdef double floor, scale
        memcpy(&self.axes[k, 0, 0], &self.scatter[k, 0, 0], p * p * sizeof(double))
        info = decompose(&self.axes[k, 0, 0], p, &self.line[0], &self.scratch)
        floor = max(size, p) * EPS * max(self.line[p - 1], 0.0)
        self.ranks[k] = 0
        for l in range(p):
            self.values[k, l] = self.line[p - 1 - l]
            self.ranks[k] += self.values[k, l] > floor
        self.found[k] = min(wanted, self.ranks[k])
        self.degenerate[k] = self.found[k] < wanted or (
            self.values[k, wanted - 1] < self.least[k] * size
        )
        memset(&self.leading[self.offsets[k], 0], 0, wanted * p * sizeof(double))
        for l in range(self.found[k]):
            memcpy(
                &self.leading[self.offsets[k] + l, 0], &self.axes[k, p - 1 - l, 0],
                p * sizeof(double),
            )
        if self.ranks[k]:
            scale = exp2(round(log2(sqrt(self.values[k, 0]))))
            self.scales[k] = scale
            for l in range(self.ranks[k]):
                self.poles[k, l] = self.values[k, l] / (scale * scale)
            self.poles[k, self.ranks[k]] = 0.0
            separate(&self.poles[k, 0], self.ranks[k])
        return info

    cdef double _assign_some(self, Py_ssize_t start, int count, Py_ssize_t[::1] new) noexcept nogil:
        """The least cost of each row of a chunk; the sum of their own."""
        cdef double one = 1.0, zero = 0.0, objective = 0.0, cost, own, best
        cdef int i, k, at
        dgemm(
            b"T", b"N", &self.n_axes, &count, &self.p, &one, &self.leading[0, 0], &self.p,
            <double*> &self.rows[start, 0], &self.p, &zero, &self.scores[0, 0], &self.n_axes,
        )
        for i in range(count):
            own, best, at = INFINITY, INFINITY, 0
            for k in range(self.n_clusters):
                cost = self._cost(start + i, i, k)
                if cost < best:
                    best, at = cost, k
                if k == self.labels[start + i]:
                    own = cost
            new[start + i] = self.labels[start + i] if own <= best else at
            objective += own
        return objective

    cdef double _cost(self, Py_ssize_t row, int i, int k) noexcept nogil:
        """Cost of a row under cluster k; see criteria.py."""
        cdef bint member = self.labels[row] == k
        cdef double* scores = &self.scores[i, self.offsets[k]]
        cdef double* values = &self.values[k, 0]
        cdef double residual
        if member and self.criterion == LOO and self.found[k]:
            return self._left_out(row, k)
        residual = self._residual(row, k, scores)
        if self.criterion == INFLUENCE:
            return influence_cost(scores, 1, values, self.found[k], residual, member)
        if member and self.criterion == HAT:
            return hat_cost(scores, 1, values, self.found[k], residual, 0.0)
        return residual

    cdef double _residual(self, Py_ssize_t row, int k, double* scores) noexcept nogil:
        """``||x||^2 - sum d^2``, from the residual itself where that would cancel."""
        cdef double squared = self.squared_norms[row]
        cdef double residual = squared
        cdef int r
        for r in range(self.found[k]):
            residual -= scores[r] * scores[r]
        if residual > CANCELLATION * squared:
            return residual
        memcpy(&self.line[0], &self.rows[row, 0], self.p * sizeof(double))
        for r in range(self.found[k]):
            add_one(self.p, -scores[r], &self.leading[self.offsets[k] + r, 0], &self.line[0])
        return inner(self.p, &self.line[0], &self.line[0])

    cdef double _left_out(self, Py_ssize_t row, int k) noexcept nogil:
        cdef double scale = 1.0 / self.scales[k], zero = 0.0
        cdef int rank = self.ranks[k], one = 1, l
        # The axes from the strongest to the weakest of the rank.
        dgemv(
            b"T", &self.p, &rank, &scale, &self.axes[k, self.p - rank, 0], &self.p,
            <double*> &self.rows[row, 0], &one, &zero, &self.line[0], &one,
        )
        for l in range(rank):
            self.coordinates[l] = self.line[rank - 1 - l]
        return self.scales[k] * self.scales[k] * leave_out(
            &self.coordinates[0], &self.poles[k, 0], rank, self.found[k], &self.weights[0],
            &self.remainder[0], &self.left[0], &self.left[self.p],
        )
