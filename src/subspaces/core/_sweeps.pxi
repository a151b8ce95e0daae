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
    cdef double[:, ::1] costs                 # (K, n), of lookers that keep them
    cdef Py_ssize_t[::1] labels, members, now, new, best
    cdef int[::1] changed, degenerate, sizes, guessed, broken, spare
    cdef double lowest                        # the objective of the best, if any was found
    cdef bint any_kept
    cdef object partitions                    # now, new and best as an array
    cdef object path                          # of objectives
    cdef uint64_t[::1] keys                   # of the partitions looked at
    cdef int n_keys

    def __init__(self, int n, dimensions, least):
        self.dimensions, self.least = np.asarray(dimensions, dtype=np.intc), least
        self.n, self.n_clusters, self.keeps_last = n, len(dimensions), False
        self.labels, self.members = np.empty((2, n), np.intp)
        self.partitions = np.empty((3, n), np.intp)
        self.now, self.new, self.best = self.partitions
        self.changed, self.degenerate, self.sizes, self.guessed, self.broken, self.spare = np.empty(
            (6, self.n_clusters), np.intc
        )
        self.path, self.keys = np.empty(0), np.empty(0, np.uint64)
        self.begin()

    def begin(self):
        """Forget all partitions looked at: nothing of one run is seen in the next."""
        self.labels[:] = -1
        self.guessed[:] = False
        self.n_keys, self.lowest, self.any_kept = 0, INFINITY, False

    def look(self, const Py_ssize_t[::1] labels):
        """Objective, clusters that do not span their axes, and where every row would go."""
        with nogil:
            objective = self._look(labels, self.new)
        bad = [k for k in range(self.n_clusters) if self.degenerate[k]]
        return objective, bad, self.partitions[1].copy()

    def alternate(
        self, const Py_ssize_t[::1] first, most, int most_repairs, random, rows, hear
    ):
        """A whole run: `alternation.alternate`, and what a `Clustering` holds of it.

        most: sweeps, any number; rows: to refill clusters from; hear: called after every sweep,
        None for nobody.
        """
        cdef double objective = 0.0
        cdef int done = 0, repairs, refilled
        cdef bint well
        self.begin()
        self.now[:] = first
        repairs = self._mend(self.now, most_repairs, 0, True, random, rows)
        refilled = repairs
        reason = None
        while reason is None and done < most:
            if done == len(self.keys):
                self.path = np.resize(self.path, 2 * done + 64)
                self.keys = np.resize(self.keys, 2 * done + 64)
            with nogil:
                objective = self._sweep()
                well = not self._any_degenerate() and self._large_enough(self.new)
            self.path[done] = objective
            done += 1
            PyErr_CheckSignals()
            if hear is not None:
                hear(done, objective)
            if not well:
                repairs = self._mend(self.new, most_repairs, repairs, False, random, rows)
            if done == 1:
                refilled = repairs
            reason = self._why_end(well)
            if reason is None:
                memcpy(&self.now[0], &self.new[0], self.n * sizeof(Py_ssize_t))
        if reason == "converged" and self.any_kept and not self._kept_is_last():
            reason = "infeasible" if self._any_degenerate() else "overshot"
        kept = self.partitions[2 if self.any_kept else 0].copy()
        objective = self.lowest if self.any_kept else objective
        path = tuple(self.path[:done].tolist())
        loadings = self._kept_loadings() if self.any_kept else None
        return kept, objective, path, reason or "max_iter", repairs - refilled, loadings

    cdef bint _kept_is_last(self) noexcept nogil:
        """Whether the best partition is the one that was looked at last."""
        return memcmp(&self.best[0], &self.now[0], self.n * sizeof(Py_ssize_t)) == 0

    cdef double _sweep(self) except? -1 nogil:
        """Look at the present partition; remember it, and whether it is the best so far."""
        cdef double objective
        self.keys[self.n_keys] = key_of(self.n, &self.now[0])
        self.n_keys += 1
        objective = self._look(self.now, self.new)
        if not self._any_degenerate() and (self.keeps_last or objective <= self.lowest):
            self.lowest, self.any_kept = objective, True
            memcpy(&self.best[0], &self.now[0], self.n * sizeof(Py_ssize_t))
            self._keep_loadings()
        return objective

    cdef void _keep_loadings(self) noexcept nogil:
        """Remember what the best partition so far is seen through, where that cannot be refitted."""

    cdef object _kept_loadings(self):
        """What the best partition was seen through; None where its labels tell."""
        return None

    cdef object _why_end(self, bint well):
        """Why a run ends here; None where it goes on with the new partition."""
        if memcmp(&self.new[0], &self.now[0], self.n * sizeof(Py_ssize_t)) == 0:
            return "converged"
        if not well and not self._large_enough(self.new):
            return "infeasible"
        return "cycle" if self._known(key_of(self.n, &self.new[0])) else None

    cdef int _mend(
        self, Py_ssize_t[::1] labels, int most, int repairs, bint first, random, rows
    ) except -1:
        """Refill clusters that are too small, then those that do not span their axes.

        While repairs are left; of a first partition, of which only sizes are known, empty ones in
        any case. How many repairs there are now.
        """
        cdef int k, turn
        self._large_enough(labels)
        for k in range(self.n_clusters):
            self.broken[k] = 0 if self.sizes[k] < self._fewest(k) else 2
            if self.broken[k] and not first and self.degenerate[k]:
                self.broken[k] = 1
        for turn in range(2):
            for k in range(self.n_clusters):
                if self.broken[k] == turn:
                    self._large_enough(labels)
                    if repairs < most or (first and self.sizes[k] == 0):
                        self._refill(labels, k, random, rows)
                        repairs += 1
        return repairs

    cdef int _refill(self, Py_ssize_t[::1] labels, int cluster, random, rows) except -1:
        """`partition.refill`, in place; sizes are those of the labels."""
        cdef int k, heir = 0, donor = 0, left = self.sizes[cluster], turn
        cdef Py_ssize_t i, seed = 0
        self.sizes[cluster] = -1
        for k in range(self.n_clusters):
            if self.sizes[k] > self.sizes[heir]:
                heir = k
        for i in range(self.n):
            if labels[i] == cluster:
                labels[i] = heir
        self.sizes[cluster] = 0
        self.sizes[heir] += left
        for k in range(self.n_clusters):
            self.spare[k] = self.sizes[k] - self._fewest(k)
            if self.spare[k] > self.spare[donor]:
                donor = k
        turn = random.integers(self.sizes[donor])
        for i in range(self.n):
            if labels[i] == donor:
                if turn == 0:
                    seed = i
                    break
                turn -= 1
        take_neighbours(
            labels, cluster, seed, self._products_with(seed, rows), rows.squared_norms,
            self.spare, max(3 * self._fewest(cluster), self.n // (4 * self.n_clusters)),
        )
        return 0

    cdef object _products_with(self, Py_ssize_t row, rows):
        """Inner products of all rows with one."""
        return rows.inner(np.array([row]))[:, 0]

    cdef int _fewest(self, int k) noexcept nogil:
        """Members that a cluster needs: `partition.smallest_size`."""
        return self.dimensions[k] + 2 if self.dimensions[k] else 1

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
        """Whether every cluster has as many members as it needs; sizes become theirs."""
        cdef int k
        cdef Py_ssize_t i
        memset(&self.sizes[0], 0, self.n_clusters * sizeof(int))
        for i in range(self.n):
            self.sizes[labels[i]] += 1
        for k in range(self.n_clusters):
            if self.sizes[k] < self._fewest(k):
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
