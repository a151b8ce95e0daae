# The leading eigenvectors of a symmetric positive matrix: quickly where a good guess is at hand.

cdef double TOLERANCE = 1e-11      # of a residual, against the largest eigenvalue
cdef double SPREAD = 16.0          # log of how far one filter may pull the axes apart
cdef int SMALL = 8                # below this a decomposition is quicker
cdef int GUARDS = 2                # axes iterated beyond those wanted
cdef int MOST_ROUNDS = 8
cdef int MOST_DEGREES = 60         # a filter that would need more is slower than a decomposition


cdef int leading_axes(
    double* matrix, double* spare, int m, int wanted, double* axes, double* values, Scratch* at
) noexcept nogil:
    """The ``wanted`` largest eigenvalues of a matrix (m, m), largest first, with their axes.

    axes: (wanted + GUARDS, m), a guess on entry. Subspace iteration with Chebyshev filters; its
    result counts only if a Cholesky factor proves that no larger eigenvalue was missed, otherwise
    LAPACK decides. spare: (m, m), overwritten. Returns 0, or what LAPACK complains of.
    """
    if m > SMALL + wanted and iterate(matrix, spare, m, wanted, axes, values, at):
        if nothing_missed(matrix, spare, m, wanted, axes, values):
            return 0
    return decompose_leading(matrix, spare, m, wanted, axes, values, at)


cdef bint iterate(
    double* matrix, double* spare, int m, int wanted, double* axes, double* values, Scratch* at
) noexcept nogil:
    """Filter and rotate until the residuals vanish; False where that takes too long."""
    cdef int q = wanted + GUARDS, rounds, degree, j
    cdef double residual, edge, gain, spread, degrees = 0.0
    for rounds in range(MOST_ROUNDS):
        if not orthonormalise(axes, m, q) or rotate(matrix, m, q, axes, values, at) != 0:
            return False
        residual = 0.0
        for j in range(wanted):
            add_one(m, -values[j], axes + j * m, at.images + j * m)
            residual = max(residual, inner(m, at.images + j * m, at.images + j * m))
        residual = sqrt(residual) / values[0]
        if residual <= TOLERANCE:
            return True
        edge = values[q - 1]
        if not (0.0 < edge < values[wanted - 1]):
            return False
        gain = acosh(2.0 * values[wanted - 1] / edge - 1.0)
        spread = acosh(2.0 * values[0] / edge - 1.0) - gain
        degree = <int> min(log(residual / TOLERANCE) / gain + 1.0, SPREAD / max(spread, 1e-3))
        degree = max(degree, 2)
        if rounds and log(residual / TOLERANCE) / gain + degrees > MOST_DEGREES:
            return False
        degrees += degree
        chebyshev(matrix, spare, m, q, degree, 0.5 * edge, axes, at.images)
    return False


cdef bint orthonormalise(double* axes, int m, int q) noexcept nogil:
    """Gram-Schmidt, twice; False where the vectors do not span as many directions."""
    cdef int j, s, again
    cdef double length, before
    for j in range(q):
        for again in range(2):
            before = sqrt(inner(m, axes + j * m, axes + j * m))
            for s in range(j):
                add_one(m, -inner(m, axes + s * m, axes + j * m), axes + s * m, axes + j * m)
            length = sqrt(inner(m, axes + j * m, axes + j * m))
            if not (length > 1e-12 * before):
                return False
            for s in range(m):
                axes[j * m + s] /= length
    return True


cdef int rotate(
    double* matrix, int m, int q, double* axes, double* values, Scratch* at
) noexcept nogil:
    """Make the axes Ritz vectors, the largest value first; at.images becomes matrix @ axes."""
    cdef double one = 1.0, zero = 0.0
    cdef int info = 0, j, s
    dgemm(b"N", b"N", &m, &q, &m, &one, matrix, &m, axes, &m, &zero, at.images, &m)
    for j in range(q):
        for s in range(q):
            # Minus the projected matrix, so that LAPACK's ascending order is ours.
            at.small[j * q + s] = -inner(m, axes + j * m, at.images + s * m)
    dsyev(b"V", b"L", &q, at.small, &q, values, at.work, &at.work_size, &info)
    for j in range(q):
        values[j] = -values[j]
    dgemm(b"N", b"N", &m, &q, &q, &one, axes, &m, at.small, &q, &zero, at.rotated, &m)
    memcpy(axes, at.rotated, q * m * sizeof(double))
    dgemm(b"N", b"N", &m, &q, &q, &one, at.images, &m, at.small, &q, &zero, at.rotated, &m)
    memcpy(at.images, at.rotated, q * m * sizeof(double))
    return info


cdef void chebyshev(
    double* matrix, double* shifted, int m, int q, int degree, double centre, double* axes,
    double* images,
) noexcept nogil:
    """axes <- T_degree((matrix - centre) / centre) axes: what lies above 2 centre grows."""
    cdef double* before = axes
    cdef double* now = images
    cdef double scale = 1.0 / centre, zero = 0.0, minus = -1.0
    cdef int j
    memcpy(shifted, matrix, <size_t> m * m * sizeof(double))
    for j in range(m):
        shifted[j * m + j] -= centre
    dgemm(b"N", b"N", &m, &q, &m, &scale, shifted, &m, before, &m, &zero, now, &m)
    scale = 2.0 / centre
    for j in range(degree - 1):
        dgemm(b"N", b"N", &m, &q, &m, &scale, shifted, &m, now, &m, &minus, before, &m)
        before, now = now, before
    if now != axes:
        memcpy(axes, now, q * m * sizeof(double))


cdef bint nothing_missed(
    double* matrix, double* spare, int m, int wanted, double* axes, double* values
) noexcept nogil:
    """Whether all eigenvalues but those found lie below the last of them.

    Then, and only then, ``s I - (matrix - V diag(values) V^T)`` is positive definite for an s just
    above the last one.
    """
    cdef double bound = values[wanted - 1] * (1.0 + 1e-7)
    cdef int j, s, info = 0
    for j in range(m * m):
        spare[j] = -matrix[j]
    for j in range(wanted):
        for s in range(m):
            add_one(m, values[j] * axes[j * m + s], axes + j * m, spare + s * m)
    for j in range(m):
        spare[j * m + j] += bound
    dpotrf(b"L", &m, spare, &m, &info)
    return info == 0


cdef int decompose_leading(
    double* matrix, double* spare, int m, int wanted, double* axes, double* values, Scratch* at
) noexcept nogil:
    """The same by LAPACK."""
    cdef int first = m - wanted + 1, found = 0, info = 0, j, s
    cdef double zero = 0.0
    memcpy(spare, matrix, <size_t> m * m * sizeof(double))
    dsyevr(
        b"V", b"I", b"L", &m, spare, &m, &zero, &zero, &first, &m, &zero, &found, at.all_values,
        at.rotated, &m, at.support, at.work, &at.work_size, at.int_work, &at.int_work_size, &info,
    )
    for j in range(wanted):
        values[j] = at.all_values[wanted - 1 - j]
        memcpy(axes + j * m, at.rotated + (wanted - 1 - j) * m, m * sizeof(double))
    return info


cdef int decompose(double* matrix, int m, double* values, Scratch* at) noexcept nogil:
    """All eigenvalues, smallest first; the matrix becomes their axes, a row each."""
    cdef int info = 0
    if m <= 48:
        dsyev(b"V", b"L", &m, matrix, &m, values, at.work, &at.work_size, &info)
    else:
        dsyevd(
            b"V", b"L", &m, matrix, &m, values, at.work, &at.work_size, at.int_work,
            &at.int_work_size, &info,
        )
    return info
