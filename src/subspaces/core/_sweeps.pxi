# The sweeps of a run without the interpreter: what the lookers of few rows share.

cdef class Sweeps:
    """Labels, their changes, and the loop over looks; a looker says what a look is.

    dimensions (K,); least (K,): a cluster whose last eigenvalue is below this, for each member, does
    not span its axes; keeps_last: whether the last partition of a run is its best.
    """

    cdef const double[::1] least
    cdef const int[::1] dimensions
    cdef int n, n_clusters
    cdef bint keeps_last
    cdef double[:, ::1] costs                 # (K, n)
    cdef Py_ssize_t[::1] labels, members
    cdef int[::1] changed, degenerate, sizes, guessed
    cdef uint64_t[::1] keys                   # of the partitions looked at
    cdef int n_keys

    def __init__(self, int n, dimensions, least):
        self.dimensions, self.least = np.asarray(dimensions, dtype=np.intc), least
        self.n, self.n_clusters, self.keeps_last = n, len(dimensions), False
        self.costs = np.empty((self.n_clusters, n))
        self.labels, self.members = np.empty((2, n), np.intp)
        self.changed, self.degenerate, self.sizes, self.guessed = np.empty(
            (4, self.n_clusters), np.intc
        )
        self.keys = np.empty(0, np.uint64)
        self.begin()

    def begin(self):
        """Forget all partitions looked at: nothing of one run is seen in the next."""
        self.labels[:] = -1
        self.guessed[:] = False
        self.n_keys = 0

    def look(self, const Py_ssize_t[::1] labels):
        """Objective, clusters that do not span their axes, and where every row would go."""
        path, _, _, bad, assigned = self.run(labels, 1)
        return path[0], bad, assigned

    def run(self, const Py_ssize_t[::1] labels, int most):
        """Sweep on while all is well: `look.Stretch`.

        Ends where no label moves, a partition returns, a cluster is too small or does not span its
        axes, or after so many sweeps.
        """
        here, assigned, kept = (np.array(labels) for _ in range(3))
        cdef Py_ssize_t[::1] now = here, new = assigned, best = kept
        cdef double[::1] path = np.empty(most)
        cdef double lowest = INFINITY
        cdef int done = 0
        cdef bint well = True, found = False
        if self.n_keys + most > len(self.keys):
            self.keys = np.resize(self.keys, self.n_keys + most)
        with nogil:
            while well and done < most:
                if done:
                    now[:] = new
                self.keys[self.n_keys] = key_of(self.n, &now[0])
                self.n_keys += 1
                path[done] = self._look(now, new)
                well = not self._any_degenerate()
                if well and (self.keeps_last or path[done] <= lowest):
                    lowest, found = path[done], True
                    best[:] = now
                done += 1
                well = well and self._large_enough(new) and not self._known(key_of(self.n, &new[0]))
                with gil:
                    PyErr_CheckSignals()
        best_seen = (0.0 if self.keeps_last else lowest, lowest, kept) if found else None
        bad = [k for k in range(self.n_clusters) if self.degenerate[k]]
        return np.asarray(path)[:done].tolist(), best_seen, here, bad, assigned

    def knows(self, const Py_ssize_t[::1] labels):
        """Whether a sweep began at this partition."""
        return self._known(key_of(self.n, &labels[0]))

    cdef double _look(self, const Py_ssize_t[::1] labels, Py_ssize_t[::1] new) except? -1 nogil:
        """The objective of a partition; new: where every row would go."""
        return 0.0

    cdef bint _any_degenerate(self) noexcept nogil:
        cdef int k
        for k in range(self.n_clusters):
            if self.degenerate[k]:
                return True
        return False

    cdef bint _large_enough(self, const Py_ssize_t[::1] labels) noexcept nogil:
        """Whether every cluster has R + 2 members, or one where R is 0: partition.py."""
        cdef int k
        cdef Py_ssize_t i
        memset(&self.sizes[0], 0, self.n_clusters * sizeof(int))
        for i in range(self.n):
            self.sizes[labels[i]] += 1
        for k in range(self.n_clusters):
            if self.sizes[k] < (self.dimensions[k] + 2 if self.dimensions[k] else 1):
                return False
        return True

    cdef bint _known(self, uint64_t key) noexcept nogil:
        cdef int s
        for s in range(self.n_keys):
            if self.keys[s] == key:
                return True
        return False

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
