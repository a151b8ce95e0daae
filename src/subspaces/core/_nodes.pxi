# The leave-one-out errors of all members of a PCA whose leading axes do not stand out.
#
# The members' inner products are Q T Q^T with T tridiagonal. What the secular equation asks of the
# axes beyond the first q (`_moments.pxi`) is then, z_i being row i of Q less its part on those q,
#
#     f_i(t) = t z_i^T (t - T)^{-1} z_i - z_i^T z_i,
#
# a few operations a number of z_i once t - T is factored. In the variable x of `_moments.pxi` the
# bracket there is analytic in the unit disc, so that a polynomial through its values at Chebyshev's
# nodes between x(lambda_1) and x(lowest) serves for all t that roots can lie at. A pole on the unit
# circle is missed by at most 2 / ((1 - x) T_n(s)), s being where x = 1 lies when the nodes fill
# [-1, 1]: few nodes do even where many moments would not.

cdef int MANY_MEMBERS = 48         # of more, this is quicker than all eigenvectors
cdef int MOST_NODES = 40
cdef double APART = 1e-4           # the lowest root and the bound, against the largest eigenvalue
cdef double FAINT = 1e-6           # share of the squares below which differences tell too little
cdef double PIVOT = 0.6180339887498949  # of Bunch's choice between pivots of one row and of two


cdef int nodes_needed(double largest, double lowest, double bound, Series* rest) noexcept nogil:
    """How many nodes give the rest to rounding for t between the two; 0 where too many would."""
    cdef double low, high, n
    if not (lowest - bound > APART * largest):
        return 0
    high = place(lowest, bound)
    low = min(place(largest, bound), 0.9 * high)
    rest.bound, rest.centre, rest.width = bound, 0.5 * (high + low), 0.5 * (high - low)
    n = log(4.0 / (CUT * (1.0 - high))) / acosh((1.0 - rest.centre) / rest.width) + 1.0
    return <int> n if n < MOST_NODES else 0


cdef double place(double t, double bound) noexcept nogil:
    """x, of a t above the bound."""
    cdef double z = 2.0 * t / bound - 1.0
    return 1.0 / (z + sqrt(z * z - 1.0))


cdef void take_nodes(
    double* remains, double* diagonal, double* beside, int m, int n, double* moments, Series* rest,
    double* work,
) noexcept nogil:
    """moments (n, m): the polynomials through the values at n nodes, of all members.

    remains: (m, m), the z_i side by side; work: n (m + 2 n) + 5 m, scratch.
    """
    cdef double* values = work
    cdef double* to_chebyshev = values + n * m
    cdef double* to_powers = to_chebyshev + n * n
    cdef double* factors = to_powers + n * n
    cdef double* lengths = factors + 4 * m
    cdef double x, t, unit, one = 1.0, zero = 0.0
    cdef int j, a
    memset(lengths, 0, m * sizeof(double))
    for j in range(m):
        add_squares(m, remains + j * m, lengths)
    for j in range(n):
        x = rest.centre + rest.width * cos(M_PI * (j + 0.5) / n)
        t = 0.25 * rest.bound * (x + 1.0 / x + 2.0)
        factor(diagonal, beside, m, t, factors)
        quadratic_forms(m, remains, factors, values + j * m)
        unit = 0.25 * rest.bound * (1.0 / x - x)
        for a in range(m):
            values[j * m + a] = unit * (t * values[j * m + a] - lengths[a])
    set_transforms(n, to_chebyshev, to_powers)
    dgemm(b"N", b"N", &m, &n, &n, &one, values, &m, to_chebyshev, &n, &zero, moments, &m)
    dgemm(b"N", b"T", &m, &n, &n, &one, moments, &m, to_powers, &n, &zero, values, &m)
    memcpy(moments, values, n * m * sizeof(double))


cdef void set_transforms(int n, double* to_chebyshev, double* to_powers) noexcept nogil:
    """Two (n, n): from values at nodes to coefficients of T_j, and from those to powers."""
    cdef double* before
    cdef int j, k
    for j in range(n):
        for k in range(n):
            to_chebyshev[j * n + k] = (2.0 if j else 1.0) / n * cos(M_PI * j * (k + 0.5) / n)
    memset(to_powers, 0, n * n * sizeof(double))
    # T_{j+1} = 2 s T_j - T_{j-1}
    to_powers[0] = 1.0
    if n > 1:
        to_powers[n + 1] = 1.0
    for j in range(2, n):
        before = to_powers + (j - 1) * n
        for k in range(j + 1):
            to_powers[j * n + k] = (2.0 * before[k - 1] if k else 0.0) - before[k - n]


cdef void factor(
    double* diagonal, double* beside, int m, double t, double* factors
) noexcept nogil:
    """t - T as `quadratic_forms` takes it: pivots of one row or, where those are small, of two.

    Bunch's choice (1974) keeps the entries from growing, wherever t lies among the eigenvalues.
    """
    cdef double* square = factors
    cdef double* cross = factors + m
    cdef double* last = factors + 2 * m
    cdef double* earlier = factors + 3 * m
    cdef double largest = 0.0, pivot, next, across, onward, determinant
    cdef int j, width
    for j in range(m):
        largest = max(largest, fabs(t - diagonal[j]))
        if j < m - 1:
            largest = max(largest, fabs(beside[j]))
    memset(factors, 0, 4 * m * sizeof(double))
    pivot = t - diagonal[0]
    j = 0
    while j < m:
        across = -beside[j] if j < m - 1 else 0.0
        if largest * fabs(pivot) >= PIVOT * across * across:
            if fabs(pivot) < EPS * largest:
                pivot = EPS * largest
            square[j] = 1.0 / pivot
            if j + 1 < m:
                last[j + 1] = across / pivot
                pivot = (t - diagonal[j + 1]) - across * across / pivot
            j += 1
            continue
        next = t - diagonal[j + 1]
        determinant = pivot * next - across * across
        square[j], square[j + 1] = next / determinant, pivot / determinant
        cross[j + 1] = -2.0 * across / determinant
        if j + 2 < m:
            onward = -beside[j + 1]
            last[j + 2] = onward * pivot / determinant
            earlier[j + 2] = -onward * across / determinant
            pivot = (t - diagonal[j + 2]) - onward * last[j + 2]
        j += 2
