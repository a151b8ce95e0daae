# The leave-one-out errors of all members of a PCA from its leading axes and the moments of the rest.
#
# What the secular equation (secular.py) asks of the axes beyond the first q is, for member i,
#
#     f_i(t) = sum_{l > q} y_l^2 / (t - lambda_l),        t > bound >= lambda_{q+1}.
#
# With B the members' inner products less their part on the q axes, and A = 2 B / bound - 1, whose
# eigenvalues lie in [-1, 1], this is a power series in x = z - sqrt(z^2 - 1), z = 2 t / bound - 1,
#
#     f_i(t) = 2 / (bound sqrt(z^2 - 1)) (nu_0 + 2 sum_j nu_j x^j),    nu_j = (B T_j(A))_ii,
#
# T_j Chebyshev's polynomials. A matrix product gives two more moments of every member, and few are
# needed: no root lies below max(lambda_{R+1}, lambda_R (1 - h_i)), h_i the leverage on the R axes.

cdef int FEW_EXTRA = 2             # axes beyond those wanted that are taken out of the moments,
cdef int MOST_EXTRA = 16           # of large clusters as many as the other clusters have
cdef int LARGE = 400               # members of a large cluster
cdef double CUT = 1e-12            # where the series ends: share of an error
cdef int MOST_MOMENTS = 48         # beyond, a decomposition is as quick,
cdef int FEW_MOMENTS = 8           # and, of many members, the nodes of `_nodes.pxi`


cdef int extra_axes(int n, int n_clusters, int dimension) noexcept nogil:
    """How many axes beyond a cluster's own may have to be known.

    A cluster that mixes several groups has axes of all of them. Those of large clusters are few
    enough to be taken out, and moments of what is left are far quicker than a decomposition.
    """
    cdef int others = (n_clusters - 1) * dimension
    if n < LARGE * n_clusters or others > MOST_EXTRA:
        return FEW_EXTRA
    return max(others, FEW_EXTRA)


cdef int moments_needed(
    double* axes, double* values, int m, int wanted, double bound, double refit, double* lowest,
    double* effect,
) noexcept nogil:
    """How many moments give the errors to rounding, 0 where they cannot; no root is below lowest.

    refit: how much more of the scatter a member takes along than its own square; effect: what an
    error of the rest means to the error of a member, both against themselves.
    """
    cdef double leverage, most = 0.0, z, x
    cdef int a, l
    if not bound > m * EPS * values[0]:
        return 0
    for a in range(m):
        leverage = 0.0
        for l in range(wanted):
            leverage += axes[l * m + a] * axes[l * m + a]
        most = max(most, refit * leverage)
    lowest[0] = max(values[wanted], values[wanted - 1] * (1.0 - most))
    z = 2.0 * lowest[0] / bound - 1.0
    if z < 1.01:
        return 0
    # The energy along an axis, y^2 = h lambda, falls by 2 y^2 for what the rest gains, and the
    # rest is at most the error over (root - bound).
    effect[0] = min(2.0 * most * values[wanted - 1] / (lowest[0] - bound), 1.0)
    x = 1.0 / (z + sqrt(z * z - 1.0))
    z = max((log(CUT / effect[0]) + log(1.0 - x)) / log(x), 1.0)
    return <int> z if z < (FEW_MOMENTS if m > MANY_MEMBERS else MOST_MOMENTS) else 0


cdef bint short_moments_do(int m, double x, double effect) noexcept nogil:
    """Whether products in single precision give the moments, from x^2 on, well enough."""
    return 4.0 * sqrt(<double> m) * ROUNDING * x * x * effect < 10.0 * CUT


cdef void take_moments(
    double* matrix, double* other, double* third, int m, int q, int n_moments, bint brief,
    double* axes, double* values, double bound, double* moments,
) noexcept nogil:
    """moments (n_moments + 2, m): nu_0, 2 nu_1, 2 nu_2, ... of all members.

    The matrix becomes A; other and third, (m, m), are scratch. brief: by products in single
    precision.
    """
    cdef double half = 0.5 * bound, below, here
    cdef int a, j, l
    for a in range(m):
        for l in range(q):
            add_one(m, -values[l] * axes[l * m + a], axes + l * m, matrix + a * m)
        for j in range(m):
            matrix[a * m + j] *= 2.0 / bound
        matrix[a * m + a] -= 1.0
        moments[a], moments[m + a] = 1.0, matrix[a * m + a]
        moments[2 * m + a] = 2.0 * inner(m, matrix + a * m, matrix + a * m) - 1.0
    if n_moments > 1 and brief:
        shorten(<Py_ssize_t> m * m, 1.0, matrix, <float*> third)
        take_products(
            <float*> third, <float*> other, <float*> other + <Py_ssize_t> m * m, m, n_moments,
            moments,
        )
    elif n_moments > 1:
        take_products(matrix, other, third, m, n_moments, moments)
    # B T_j = bound / 2 (T_j + (T_{j-1} + T_{j+1}) / 2)
    for a in range(m):
        below = moments[m + a]
        for j in range(n_moments + 1):
            here = moments[j * m + a]
            moments[j * m + a] = half * (here + 0.5 * (below + moments[(j + 1) * m + a]))
            if j:
                moments[j * m + a] *= 2.0
            below = here


cdef void take_products(
    real* matrix, real* before, real* now, int m, int n_moments, double* moments
) noexcept nogil:
    """moments from the third on: the diagonals of T_3, T_4, ... of the matrix.

    diag T_2j = 2 diag T_j^2 - 1, diag T_{2j+1} = 2 diag T_j T_{j+1} - diag T_1.
    """
    cdef real two = 2.0, minus = -1.0
    cdef int a, j
    memset(before, 0, <size_t> m * m * sizeof(real))
    memcpy(now, matrix, <size_t> m * m * sizeof(real))
    for a in range(m):
        before[a * m + a] = 1.0
    for j in range(3, n_moments + 2):
        if j % 2:
            if real is float:
                sgemm(b"N", b"N", &m, &m, &m, &two, matrix, &m, now, &m, &minus, before, &m)
            else:
                dgemm(b"N", b"N", &m, &m, &m, &two, matrix, &m, now, &m, &minus, before, &m)
            before, now = now, before
        for a in range(m):
            if j % 2:
                moments[j * m + a] = 2.0 * product_of(m, now + a * m, before + a * m)
                moments[j * m + a] -= moments[m + a]
            else:
                moments[j * m + a] = 2.0 * product_of(m, now + a * m, now + a * m) - 1.0


cdef double product_of(int m, const real* first, const real* second) noexcept nogil:
    if real is float:
        return inner_short(m, first, second)
    else:
        return inner(m, first, second)


cdef void leave_out_all(
    double* weights, double* poles, int q, int n_roots, int m, Series* rest, double* lines,
    double* errors,
) noexcept nogil:
    """errors (m,) <- errors less the energies along the axes left: see `leave_out`.

    weights (q, m), y_l^2; poles (q + 1,), apart, then a bound from below on all roots; lines (9, m), scratch.
    """
    cdef double* origin = lines
    cdef double* shift = lines + m
    cdef double* low = lines + 2 * m
    cdef double* high = lines + 3 * m
    cdef int r, steps
    rest.at = lines + 4 * m
    for r in range(n_roots):
        begin_roots(m, weights, poles, q, r, rest, origin, shift, low, high)
        for steps in range(MAX_STEPS):
            if step_roots(m, weights, poles, q, r, rest, origin, shift, low, high) <= SETTLED:
                break
        end_roots(m, weights, poles, q, r, rest, origin, shift, errors)
