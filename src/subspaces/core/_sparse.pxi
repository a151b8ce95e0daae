# One sparse loading: `sparse_basis._one_loading`, only the non-zero columns in every second product.

def sparse_loading(
    const double[:, ::1] rows, const double[::1] first, int n_variables, bint nonnegative,
    double settled, int max_steps, double tied,
):
    """Left vector and loading from a first left vector; None where magnitudes tie."""
    cdef int m = rows.shape[0], p = rows.shape[1], step, j, a, n_used
    cdef double length, moved, largest, one = 1.0, zero = 0.0
    cdef int unit = 1
    left_array, loading_array = np.array(first), np.empty(p)
    cdef double[::1] left = left_array, loading = loading_array
    cdef double[::1] values = np.empty(p), heap = np.empty(n_variables + 1)
    cdef Py_ssize_t[::1] used = np.empty(p, np.intp)
    cdef bint clear
    with nogil:
        for step in range(max_steps + 1):
            dgemv(
                b"N", &p, &m, &one, <double*> &rows[0, 0], &p, &left[0], &unit, &zero, &values[0],
                &unit,
            )
            clear = shrink(&values[0], p, n_variables, nonnegative, tied, &heap[0])
            if not clear:
                break
            moved, largest, n_used = INFINITY if step == 0 else 0.0, 0.0, 0
            for j in range(p):
                if step:
                    moved = max(moved, fabs(values[j] - loading[j]))
                loading[j] = values[j]
                if values[j] != 0.0:
                    largest = max(largest, fabs(values[j]))
                    used[n_used] = j
                    n_used += 1
            if moved <= settled * largest or step == max_steps:
                break
            length = 0.0
            for a in range(m):
                left[a] = 0.0
                for j in range(n_used):
                    left[a] += rows[a, used[j]] * loading[used[j]]
                length += left[a] * left[a]
            length = sqrt(length) if length > 0.0 else 1.0
            for a in range(m):
                left[a] /= length
    return (left_array, loading_array) if clear else None


cdef bint shrink(
    double* values, int p, int n_variables, bint nonnegative, double tied, double* heap
) noexcept nogil:
    """Soft threshold that leaves so many of the largest; False where the next one ties with them.

    heap (n_variables + 1,): the largest magnitudes, the least of them on top.
    """
    cdef int j, size = n_variables + 1, held = 0
    cdef double magnitude, least
    if nonnegative:
        for j in range(p):
            values[j] = max(values[j], 0.0)
    if p <= n_variables:
        return True
    for j in range(p):
        magnitude = fabs(values[j])
        if held < size:
            heap[held] = magnitude
            held += 1
            if held == size:
                heapify(heap, size)
        elif magnitude > heap[0]:
            heap[0] = magnitude
            sink(heap, 0, size)
    least = heap[1] if size < 3 else min(heap[1], heap[2])
    if not heap[0] < least * (1.0 - tied):
        return False
    for j in range(p):
        magnitude = max(fabs(values[j]) - heap[0], 0.0)
        values[j] = magnitude if values[j] > 0.0 else -magnitude
    return True


cdef void heapify(double* heap, int size) noexcept nogil:
    cdef int place
    for place in range(size // 2 - 1, -1, -1):
        sink(heap, place, size)


cdef void sink(double* heap, int place, int size) noexcept nogil:
    cdef int child
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[place] <= heap[child]:
            return
        heap[place], heap[child] = heap[child], heap[place]
        place = child
