# The leading eigenvectors of a symmetric matrix by way of its tridiagonal form.

cdef int PANEL = 32                # reflections that are applied at once
cdef int HALVINGS = 27             # of where an eigenvalue may lie, before it is refined
cdef int MOST_TWISTS = 4
cdef double EXACT = 1e-14          # of a residual, against the largest eigenvalue


cdef int tridiagonalise(
    double* matrix, int m, double* diagonal, double* beside, Scratch* at
) noexcept nogil:
    """matrix (m, m) = Q T Q^T, T having a diagonal (m,) and m - 1 entries beside, then a zero.

    The matrix becomes Q, a column after the other.
    """
    cdef int info = 0, size = (WORK - 1) * m
    cdef double* reflections = at.work
    dsytrd(
        b"L", &m, matrix, &m, diagonal, beside, reflections, reflections + m, &size, &info
    )
    beside[m - 1] = 0.0
    if info == 0:
        multiply_reflections(matrix, m, reflections, reflections + m)
    return info


cdef void multiply_reflections(
    double* matrix, int m, double* scales, double* work
) noexcept nogil:
    """LAPACK's dorgtr in panels to the end, where that goes on vector by vector.

    Below the diagonal of the matrix, a column after the other: the vectors of m - 1 reflections,
    of which it becomes the product. work: room for (m + PANEL) PANEL numbers.
    """
    cdef int n = m - 1, size = PANEL, start = (n - 1) // PANEL * PANEL, count, rows, rest, j, info
    cdef double* panel
    for j in range(m - 1, 0, -1):
        memset(matrix + j * m, 0, (j + 1) * sizeof(double))
        memcpy(matrix + j * m + j + 1, matrix + (j - 1) * m + j + 1, (m - j - 1) * sizeof(double))
    memset(matrix, 0, m * sizeof(double))
    matrix[0] = 1.0
    while start >= 0:
        rows, count = n - start, min(PANEL, n - start)
        rest, panel = rows - count, matrix + (start + 1) * (m + 1)
        if rest:
            dlarft(b"F", b"C", &rows, &count, panel, &m, scales + start, work, &size)
            dlarfb(
                b"L", b"N", b"F", b"C", &rows, &rest, &count, panel, &m, work, &size,
                panel + count * m, &m, work + PANEL * PANEL, &rest,
            )
        dorg2r(&rows, &count, &count, panel, &m, scales + start, work, &info)
        start -= PANEL


cdef int leading_of_tridiagonal(
    double* diagonal, double* beside, int m, int wanted, double* axes, double* values, Scratch* at
) noexcept nogil:
    """Its largest eigenvalues, largest first, and their axes (wanted, m).

    Bisection finds where they lie, as many at once as the processor has lanes for, and twisted
    factors (Parlett and Dhillon, 1997) the axes. Those count only if they are orthogonal, with
    residuals of rounding size and eigenvalues where bisection says; otherwise LAPACK decides.
    """
    cdef double low[LANES]
    cdef double high[LANES]
    cdef double shift[LANES]
    cdef double* squares = at.work
    cdef double before = 0.0, most = 0.0
    cdef int start = 0, j, count
    for j in range(m):
        squares[j] = beside[j] * beside[j]
        most = max(most, diagonal[j] + fabs(beside[j]) + before)
        before = fabs(beside[j])
    while start < wanted:
        count = min(wanted - start, LANES)
        bisect(diagonal, squares, m, start, count, most, low, high, shift)
        twist(diagonal, beside, squares, m, count, shift, axes + start * m, at)
        for j in range(count):
            values[start + j] = shift[j]
            if not (low[j] - EXACT * most <= shift[j] <= high[j] + EXACT * most):
                return leading_by_lapack(diagonal, beside, m, wanted, axes, values, at)
        start += count
    if orthonormalise(axes, m, wanted) and all_exact(diagonal, beside, m, wanted, axes, values):
        return 0
    return leading_by_lapack(diagonal, beside, m, wanted, axes, values, at)


cdef void bisect(
    double* diagonal, double* squares, int m, int first, int count, double most, double* low,
    double* high, double* shift,
) noexcept nogil:
    """Halve intervals around eigenvalues, from the first-th largest on; shift: their middles."""
    cdef double above[LANES]
    cdef int j, halvings
    for j in range(LANES):
        low[j], high[j], shift[j] = 0.0, most, 0.5 * most
    for halvings in range(HALVINGS):
        take_pivots(m, diagonal, squares, 1, shift, above, NULL)
        for j in range(count):
            if above[j] > first + j:
                low[j] = shift[j]
            else:
                high[j] = shift[j]
            shift[j] = 0.5 * (low[j] + high[j])


cdef void twist(
    double* diagonal, double* beside, double* squares, int m, int count, double* shift,
    double* axes, Scratch* at,
) noexcept nogil:
    """Refine eigenvalues by Rayleigh's quotients; axes (count, m), at any length and angle."""
    cdef double above[LANES]
    cdef double* down = squares + m
    cdef double* up = down + LANES * m
    cdef double change, largest
    cdef int j, rounds
    for rounds in range(MOST_TWISTS):
        take_pivots(m, diagonal, squares, 1, shift, above, down)
        take_pivots(m, diagonal + m - 1, squares + m - 2, -1, shift, above, up)
        largest = 0.0
        for j in range(count):
            change = twisted_axis(diagonal, beside, m, shift[j], down + j, up + j, axes + j * m)
            shift[j] += change
            largest = max(largest, fabs(change))
        if not largest > 4.0 * EPS * shift[0]:
            break


cdef double twisted_axis(
    double* diagonal, double* beside, int m, double shift, double* down, double* up, double* axis
) noexcept nogil:
    """Solve (T - shift) axis = gamma e_r with the smallest gamma; how far off the shift is."""
    cdef double gamma, smallest = INFINITY, squares = 1.0
    cdef int k, r = 0
    for k in range(m):
        gamma = down[k * LANES] + up[(m - 1 - k) * LANES] - (diagonal[k] - shift)
        if fabs(gamma) < fabs(smallest):
            smallest, r = gamma, k
    memset(axis, 0, m * sizeof(double))
    axis[r] = 1.0
    # Far from r entries may vanish; those that nearly do would slow all products.
    k = r - 1
    while k >= 0 and fabs(axis[k + 1]) > SMALLEST_WEIGHT:
        axis[k] = -beside[k] / down[k * LANES] * axis[k + 1]
        squares += axis[k] * axis[k]
        k -= 1
    k = r + 1
    while k < m and fabs(axis[k - 1]) > SMALLEST_WEIGHT:
        axis[k] = -beside[k - 1] / up[(m - 1 - k) * LANES] * axis[k - 1]
        squares += axis[k] * axis[k]
        k += 1
    return smallest / squares


cdef bint all_exact(
    double* diagonal, double* beside, int m, int count, double* axes, double* values
) noexcept nogil:
    """Whether T axis = value axis, up to rounding."""
    cdef double off, squares
    cdef double* axis
    cdef int j, k
    for j in range(count):
        axis, squares = axes + j * m, 0.0
        for k in range(m):
            off = (diagonal[k] - values[j]) * axis[k]
            if k > 0:
                off += beside[k - 1] * axis[k - 1]
            if k < m - 1:
                off += beside[k] * axis[k + 1]
            squares += off * off
        if not sqrt(squares) <= EXACT * values[0]:
            return False
    return True


cdef int leading_by_lapack(
    double* diagonal, double* beside, int m, int wanted, double* axes, double* values, Scratch* at
) noexcept nogil:
    """The same by LAPACK."""
    cdef int first = m - wanted + 1, found = 0, info = 0, size = 18 * m, j
    cdef bint accurate = False
    cdef double none = 0.0
    cdef double* copies = at.work + 18 * m
    memcpy(copies, diagonal, m * sizeof(double))
    memcpy(copies + m, beside, m * sizeof(double))
    dstemr(
        b"V", b"I", &m, copies, copies + m, &none, &none, &first, &m, &found, at.all_values,
        at.images, &m, &wanted, at.support, &accurate, at.work, &size, at.int_work,
        &at.int_work_size, &info,
    )
    if info == 0 and found < wanted:
        info = -1
    for j in range(wanted):
        values[j] = at.all_values[wanted - 1 - j]
        memcpy(axes + j * m, at.images + (wanted - 1 - j) * m, m * sizeof(double))
    return info
