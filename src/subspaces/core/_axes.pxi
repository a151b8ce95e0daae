# The leading eigenvectors of a symmetric positive matrix: quickly where a good guess is at hand.

cdef double TOLERANCE = 1e-11      # of a residual, against the largest eigenvalue
cdef double ROUNDING = 2.0 ** -24  # of a number in single precision, against itself
cdef double MOST_SLACK = 0.25      # in single precision, of a bound on eigenvalues
cdef double PRECISION = 13.0       # log of what one filter may gain in single precision,
cdef double SPREAD = 16.0          # and of how far it may pull the axes apart
cdef double CERTAIN = 1e-10        # rounding of a sum of squares is less,
cdef double LEAST_SQUARES = 1e-250 # unless it is so small that some squares are none
cdef int VECTOR = 16               # numbers in single precision of 64 bytes
cdef int WORK = 40                 # times as many numbers as rows, and no more though there be
                                   # room: LAPACK's rounding depends on it
cdef int SMALL = 4                # below this a decomposition is quicker
cdef int WHOLE = 24                # up to this all eigenvectors are as quick as a few
cdef int GUARDS = 2                # axes iterated beyond those wanted: in a matrix of usual size,
cdef int FEW_GUARDS = 1            # of fewer than so many rows,
cdef int FEW_ROWS = 64
cdef int MANY_GUARDS = 4           # of more than so many; at most as many as SMALL
cdef int MANY_ROWS = 160
cdef int MOST_ROUNDS = 8
cdef int MOST_TURNS = 30           # sweeps of Jacobi's rotations; five or six are usual
cdef int MOST_DEGREES = 60         # a filter that would need more is slower than a decomposition,
cdef int ROWS_A_DEGREE = 6         # of a large matrix than so many rows a degree


cdef int leading_axes(
    double* matrix, double* spare, int m, int wanted, int q, double* axes, double* values,
    Scratch* at,
) noexcept nogil:
    """The ``wanted`` largest eigenvalues of a matrix (m, m), largest first, with their axes.

    axes: (q, m), a guess on entry, with some axes to guard those wanted. Subspace iteration with
    Chebyshev filters; its result counts only if a Cholesky factor proves that no larger eigenvalue
    was missed, otherwise LAPACK decides. spare: (m, m), overwritten. Returns 0, or what LAPACK
    complains of.
    """
    cdef bint apart
    if m > SMALL + wanted and iterate(matrix, spare, m, wanted, q, axes, values, at):
        apart = q > wanted and values[wanted] < (1.0 - 2.0 * factor_slack(m)) * values[wanted - 1]
        if nothing_missed(
            matrix, spare, m, wanted, axes, values, values[wanted - 1] * (1.0 + 1e-7), apart,
            at.work,
        ):
            return 0
    return decompose_leading(matrix, spare, m, wanted, axes, values, at)


cdef int guards_for(int m) noexcept nogil:
    """How many axes to iterate beyond those wanted: products cost more the larger the matrix."""
    if m < FEW_ROWS:
        return FEW_GUARDS
    return MANY_GUARDS if m > MANY_ROWS else GUARDS


cdef bint iterate(
    double* matrix, double* spare, int m, int wanted, int q, double* axes, double* values,
    Scratch* at,
) noexcept nogil:
    """Filter and rotate q axes until the residuals of those wanted vanish.

    False where that takes too long.
    """
    cdef int rounds, degree, j, s
    cdef float* rounded = NULL
    cdef int most = max(MOST_DEGREES, m // ROWS_A_DEGREE)
    cdef double residual, edge, gain, needed, unit = 0.0, scale, degrees = 0.0
    for rounds in range(MOST_ROUNDS):
        if not orthonormalise(axes, m, q):
            return False
        rotate(matrix, m, q, axes, values, at)
        if not values[0] > 0.0:
            return False
        residual, scale = 0.0, 1.0 / values[0]
        for j in range(q):
            add_one(m, -values[j], axes + j * m, at.images + j * m)
            # The squares of small numbers are none.
            for s in range(m):
                at.images[j * m + s] *= scale
            if j < wanted:
                residual = max(residual, inner(m, at.images + j * m, at.images + j * m))
        residual = sqrt(residual)
        if residual <= TOLERANCE:
            return True
        edge = values[q - 1]
        if not (0.0 < edge < values[wanted - 1]):
            return False
        gain = acosh(2.0 * values[wanted - 1] / edge - 1.0)
        needed = log(residual / TOLERANCE)
        degree = <int> min(
            min(needed, PRECISION) / gain + 1.0,
            (SPREAD - log(residual)) / acosh(2.0 * values[0] / edge - 1.0),
            most,
        )
        degree = max(degree, 2)
        if rounds and needed / gain + degrees > most:
            return False
        degrees += degree
        if not rounds:
            unit = values[0]
            rounded = shorten_rows(matrix, m, 1.0 / unit, spare)
        chebyshev(rounded, m, q, degree, unit, 0.5 * edge, values, axes, at)
    return False


cdef int whole_vectors(int m) noexcept nogil:
    """Numbers in single precision that vectors of 64 bytes hold m of."""
    return (m + VECTOR - 1) // VECTOR * VECTOR


cdef int spare_room(int m) noexcept nogil:
    """Numbers in double precision of room for a matrix (m, m), and `shorten_rows` of it."""
    return m * m + VECTOR * VECTOR // 2


cdef float* shorten_rows(const double* matrix, int m, double scale, double* room) noexcept nogil:
    """A matrix in single precision, its rows in whole vectors, zero beyond their end."""
    cdef float* start = <float*> ((<size_t> room + 63) // 64 * 64)
    cdef int wide = whole_vectors(m), a
    for a in range(m):
        shorten(m, scale, matrix + <Py_ssize_t> a * m, start + <Py_ssize_t> a * wide)
        memset(start + <Py_ssize_t> a * wide + m, 0, (wide - m) * sizeof(float))
    return start


cdef bint orthonormalise(double* axes, int m, int q) noexcept nogil:
    """Gram-Schmidt, twice where much is lost; False where vectors do not span as many directions."""
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
            if length > 0.5 * before:
                break
    return True


cdef void rotate(
    double* matrix, int m, int q, double* axes, double* values, Scratch* at
) noexcept nogil:
    """Make the axes Ritz vectors, the largest value first; at.images becomes matrix @ axes."""
    cdef double one = 1.0, zero = 0.0
    cdef int j, s
    dgemm(b"N", b"N", &m, &q, &m, &one, matrix, &m, axes, &m, &zero, at.images, &m)
    for j in range(q):
        for s in range(j + 1):
            at.small[j * q + s] = inner(m, axes + j * m, at.images + s * m)
            at.small[s * q + j] = at.small[j * q + s]
    jacobi(at.small, q, values, at.small + q * q)
    dgemm(b"N", b"N", &m, &q, &q, &one, axes, &m, at.small, &q, &zero, at.rotated, &m)
    memcpy(axes, at.rotated, q * m * sizeof(double))
    dgemm(b"N", b"N", &m, &q, &q, &one, at.images, &m, at.small, &q, &zero, at.rotated, &m)
    memcpy(at.images, at.rotated, q * m * sizeof(double))


cdef void jacobi(double* matrix, int q, double* values, double* turned) noexcept nogil:
    """Eigenvalues of a small matrix, largest first; the matrix becomes their axes, a row each."""
    cdef int j, s, l, largest, rounds
    cdef double off, angle, tangent, cosine, sine, first, second
    memset(turned, 0, q * q * sizeof(double))
    for j in range(q):
        turned[j * q + j] = 1.0
    for rounds in range(MOST_TURNS):
        off = 0.0
        for j in range(q):
            for s in range(j):
                first = matrix[j * q + s]
                if fabs(first) <= EPS * sqrt(fabs(matrix[j * q + j] * matrix[s * q + s])):
                    continue
                off = 1.0
                angle = 0.5 * (matrix[s * q + s] - matrix[j * q + j]) / first
                tangent = (1.0 if angle >= 0.0 else -1.0) / (fabs(angle) + sqrt(1.0 + angle * angle))
                cosine = 1.0 / sqrt(1.0 + tangent * tangent)
                sine = tangent * cosine
                matrix[j * q + j] -= tangent * first
                matrix[s * q + s] += tangent * first
                matrix[j * q + s] = matrix[s * q + j] = 0.0
                for l in range(q):
                    if l != j and l != s:
                        first, second = matrix[j * q + l], matrix[s * q + l]
                        matrix[j * q + l] = matrix[l * q + j] = cosine * first - sine * second
                        matrix[s * q + l] = matrix[l * q + s] = sine * first + cosine * second
                    first, second = turned[j * q + l], turned[s * q + l]
                    turned[j * q + l] = cosine * first - sine * second
                    turned[s * q + l] = sine * first + cosine * second
        if off == 0.0:
            break
    for j in range(q):
        values[j] = matrix[j * q + j]
    for j in range(q):
        largest = j
        for s in range(j + 1, q):
            if values[s] > values[largest]:
                largest = s
        values[j], values[largest] = values[largest], values[j]
        for l in range(q):
            matrix[j * q + l] = turned[largest * q + l]
            turned[largest * q + l] = turned[j * q + l]


cdef void chebyshev(
    const float* matrix, int m, int q, int degree, double unit, double centre, double* values,
    double* axes, Scratch* at,
) noexcept nogil:
    """axes v <- T_degree(B) v / T_degree(t), B = unit / centre matrix - I, t = value / centre - 1.

    What lies above 2 centre grows. ``T_j(B) v / T_j(t) = v + z_j`` with z as small as the residual
    ``f = B v - t v``, so that single precision gains seven digits each time:

        z_1 = s_1 f,  z_{j+1} = 2 s_{j+1} (B z_j + f) - s_j s_{j+1} z_{j-1},
        s_j = T_{j-1}(t) / T_j(t),  s_{j+1} = 1 / (2 t - s_j).

    matrix: of `shorten_rows`; at.images: the residuals over values[0].
    """
    cdef int wide = whole_vectors(m), j, s
    cdef float* now = <float*> at.rotated
    cdef float* before = now + q * wide
    cdef float* force = before + q * wide
    cdef float* product = force + q * wide
    cdef double* shares = at.small
    cdef double t, next
    memset(before, 0, q * wide * sizeof(float))
    for j in range(q):
        shares[j] = centre / (values[j] - centre)
        shorten(m, values[0] / centre, at.images + j * m, force + j * wide)
        shorten(m, shares[j] * values[0] / centre, at.images + j * m, now + j * wide)
    for s in range(degree - 1):
        combine_float(wide, m, q, matrix, NULL, wide, now, product)
        for j in range(q):
            t = (values[j] - centre) / centre
            next = 1.0 / (2.0 * t - shares[j])
            filter_axis(
                m, unit / centre, next, next * shares[j], product + j * wide, now + j * wide,
                force + j * wide, before + j * wide,
            )
            shares[j] = next
        before, now = now, before
    for j in range(q):
        add_short(m, now + j * wide, axes + j * m)


cdef bint nothing_missed(
    double* matrix, double* spare, int m, int wanted, double* axes, double* values, double bound,
    bint roughly, double* row,
) noexcept nogil:
    """Whether all eigenvalues but those found lie below a bound; roughly: not if just below.

    Then, and only then, ``bound I - (matrix - V diag(values) V^T)`` is positive definite. Where the
    squares of all others together are below the square of the bound, that need not be tried.
    row: (m,), scratch.
    """
    cdef double whole = inner(<Py_ssize_t> m * m, matrix, matrix), slack = factor_slack(m)
    if bound > 0.0 and whole > LEAST_SQUARES:
        if whole * (1.0 + CERTAIN) - inner(wanted, values, values) < bound * bound:
            return True
    if roughly and slack < MOST_SLACK:
        bound *= 1.0 - slack
        return has_factor(matrix, <float*> spare, m, wanted, axes, values, bound, row)
    return has_factor(matrix, spare, m, wanted, axes, values, bound, row)


cdef double factor_slack(int m) noexcept nogil:
    """What a Cholesky factor in single precision leaves open, against the largest entry.

    It is that of a matrix which differs in no entry by more than (m + 2) roundings (Higham, 2002,
    theorem 10.3), nor in its eigenvalues by more than m times that.
    """
    return 1.1 * m * (m + 2.0) * ROUNDING


cdef bint has_factor(
    double* matrix, real* spare, int m, int wanted, double* axes, double* values, double bound,
    double* row,
) noexcept nogil:
    """Whether Cholesky's method ends; one triangle will do, a row at a time, in the cache."""
    cdef int j, s, info = 0
    for s in range(m):
        for j in range(s, m):
            row[j] = -matrix[s * m + j]
        for j in range(wanted):
            add_one(m - s, values[j] * axes[j * m + s], axes + j * m + s, row + s)
        row[s] += bound
        if real is float:
            shorten(m - s, 1.0 / bound, row + s, spare + s * m + s)
        else:
            memcpy(spare + s * m + s, row + s, (m - s) * sizeof(double))
    if real is float:
        spotrf(b"L", &m, spare, &m, &info)
    else:
        dpotrf(b"L", &m, spare, &m, &info)
    return info == 0


cdef int decompose_leading(
    double* matrix, double* spare, int m, int wanted, double* axes, double* values, Scratch* at
) noexcept nogil:
    """The same by LAPACK."""
    cdef int first = m - wanted + 1, found = 0, info = 0, j, size = WORK * m
    cdef double zero = 0.0
    memcpy(spare, matrix, <size_t> m * m * sizeof(double))
    if m <= WHOLE:
        info = decompose(spare, m, at.all_values, at)
        for j in range(wanted):
            values[j] = at.all_values[m - 1 - j]
            memcpy(axes + j * m, spare + (m - 1 - j) * m, m * sizeof(double))
        return info
    dsyevr(
        b"V", b"I", b"L", &m, spare, &m, &zero, &zero, &first, &m, &zero, &found, at.all_values,
        at.rotated, &m, at.support, at.work, &size, at.int_work, &at.int_work_size, &info,
    )
    for j in range(wanted):
        values[j] = at.all_values[wanted - 1 - j]
        memcpy(axes + j * m, at.rotated + (wanted - 1 - j) * m, m * sizeof(double))
    return info


cdef int decompose(double* matrix, int m, double* values, Scratch* at) noexcept nogil:
    """All eigenvalues, smallest first; the matrix becomes their axes, a row each."""
    cdef int info = 0, size = WORK * m
    if m <= 48:
        dsyev(b"V", b"L", &m, matrix, &m, values, at.work, &size, &info)
    else:
        size += 2 * m * m
        dsyevd(
            b"V", b"L", &m, matrix, &m, values, at.work, &size, at.int_work, &at.int_work_size,
            &info,
        )
    return info
