# Which clusters have to be fitted again.


cdef Py_ssize_t note_changes(
    const Py_ssize_t* labels, Py_ssize_t n, int n_clusters, Py_ssize_t* known, int* changed,
    Py_ssize_t* sizes,
) noexcept nogil:
    """Mark the clusters whose members changed; the size of the largest.

    known (n,): the labels before, -1 at first; they become the new ones. changed, sizes (K,).
    """
    cdef bint first = known[0] < 0
    cdef Py_ssize_t i, largest = 0
    cdef int k
    for k in range(n_clusters):
        changed[k], sizes[k] = first, 0
    for i in range(n):
        sizes[labels[i]] += 1
        largest = max(largest, sizes[labels[i]])
        if known[i] != labels[i]:
            if not first:
                changed[known[i]] = True
            changed[labels[i]] = True
            known[i] = labels[i]
    return largest
