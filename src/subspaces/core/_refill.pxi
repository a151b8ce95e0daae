# The angular neighbours of a row, from clusters that can spare them: the end of `partition.refill`.

cdef struct Near:
    double closeness
    Py_ssize_t row


cdef int nearer(const void* first, const void* second) noexcept nogil:
    """The closer one first, of equals the one before."""
    cdef Near a = (<Near*> first)[0], b = (<Near*> second)[0]
    if a.closeness != b.closeness:
        return -1 if a.closeness > b.closeness else 1
    return -1 if a.row < b.row else 1


def take_neighbours(
    Py_ssize_t[::1] labels, Py_ssize_t cluster, Py_ssize_t seed, const double[:] products,
    const double[::1] squared_norms, spare, int wanted,
):
    """Give a cluster so many rows nearest by angle to one, which comes first; in place.

    products: its inner products with all rows; spare (K,): how many each cluster can do without.
    """
    cdef Py_ssize_t n = labels.shape[0], i, row
    cdef Py_ssize_t[::1] left = np.array(spare, np.intp)
    cdef double scale, own = sqrt(squared_norms[seed])
    cdef Near* order = <Near*> malloc(n * sizeof(Near))
    if order == NULL:
        raise MemoryError
    with nogil:
        for i in range(n):
            scale = sqrt(squared_norms[i]) * own
            order[i].row = i
            order[i].closeness = fabs(products[i]) / scale if scale > 0.0 else 0.0
        order[seed].closeness = INFINITY
        qsort(order, n, sizeof(Near), nearer)
        for i in range(n):
            row = order[i].row
            if wanted == 0:
                break
            if left[labels[row]] > 0:
                left[labels[row]] -= 1
                labels[row] = cluster
                wanted -= 1
        free(order)
