# Fits that follow the labels from iteration to iteration: refit only clusters whose members
# changed.

from libc.string cimport memset

cdef int WORK = 40               # numbers of room for LAPACK, for each row of a matrix


cdef class FollowedClusters:
    """The clusters of n rows, fitted one by one when their members change.

    sizes (K,): of the clusters of the last fit.
    """

    cdef readonly object sizes
    cdef object followed                      # arrays that the addresses below lie in
    cdef int n, n_clusters, most_axes, capacity
    cdef int* dimensions                      # (K,)
    cdef int* changed                         # (K,): since the last fit
    cdef int* guessed                         # (K,): whether axes of the last fit are known
    cdef Py_ssize_t* labels                   # (n,): of the last fit, -1 at first
    cdef Py_ssize_t* members                  # (m,): of the cluster in hand
    cdef Py_ssize_t* _sizes

    cdef int _follow(self, Py_ssize_t n, dimensions) except -1:
        """Make room for the labels of n rows in clusters of these dimensions."""
        dimensions = np.ascontiguousarray(dimensions, dtype=np.intc)
        cdef Py_ssize_t k = len(dimensions)
        self.n, self.n_clusters, self.capacity = n, k, -1
        self.most_axes = max(dimensions.max(), 1)
        self.sizes, rows = np.zeros(k, np.intp), np.empty((2, n), np.intp)
        flags = np.empty((2, k), np.intc)
        self.followed = dimensions, flags, rows
        self.dimensions, self._sizes = <int*> address(dimensions), <Py_ssize_t*> address(self.sizes)
        self.changed, self.labels = <int*> address(flags), <Py_ssize_t*> address(rows)
        self.guessed, self.members = self.changed + k, self.labels + n
        return 0

    def forget(self):
        """Forget labels and axes, so that nothing of one run is seen in the next."""
        cdef int i
        for i in range(self.n):
            self.labels[i] = -1
        memset(self.guessed, 0, self.n_clusters * sizeof(int))

    def fit(self, labels):
        """Fit the clusters whose members are not those of the last fit; labels (n,)."""
        labels = np.ascontiguousarray(labels, dtype=np.intp)
        cdef const Py_ssize_t* given = <Py_ssize_t*> address(labels)
        cdef int k, info = 0
        self._reserve(self._note_changes(given))
        with nogil:
            for k in range(self.n_clusters):
                if self.changed[k]:
                    info = max(info, self._fit_cluster(k))
        if info:
            self.forget()
            raise np.linalg.LinAlgError("the eigenvalues of a cluster did not converge")

    cdef Py_ssize_t _note_changes(self, const Py_ssize_t* given) noexcept nogil:
        """Keep the given labels and mark the clusters that changed; the size of the largest one."""
        cdef bint first = self.labels[0] < 0
        cdef Py_ssize_t i, largest = 0
        cdef int k
        for k in range(self.n_clusters):
            self.changed[k], self._sizes[k] = first, 0
        for i in range(self.n):
            self._sizes[given[i]] += 1
            largest = max(largest, self._sizes[given[i]])
            if self.labels[i] != given[i]:
                if not first:
                    self.changed[self.labels[i]] = True
                self.changed[given[i]] = True
                self.labels[i] = given[i]
        return largest

    cdef int _reserve(self, Py_ssize_t m) except -1:
        """Make room for a cluster of m members."""

    cdef int _fit_cluster(self, int k) noexcept nogil:
        """Fit one cluster; not 0 where LAPACK fails."""
