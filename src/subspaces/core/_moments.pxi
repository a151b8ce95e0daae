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

cdef int EXTRA = 2                 # axes beyond those wanted that are taken out of the moments
cdef double CUT = 1e-12            # where the series ends
cdef int MOST_MOMENTS = 48         # beyond, a decomposition is as quick,
cdef int FEW_MOMENTS = 8           # and, of many members, the nodes of `_nodes.pxi`


cdef int moments_needed(
    double* axes, double* values, int m, int wanted, double bound, double* lowest
) noexcept nogil:
    """How many moments give the errors to rounding, 0 where they cannot; no root is below lowest."""
    cdef double leverage, most = 0.0, z, x
    cdef int a, l
    if not bound > m * EPS * values[0]:
        return 0
    for a in range(m):
        leverage = 0.0
        for l in range(wanted):
            leverage += axes[l * m + a] * axes[l * m + a]
        most = max(most, leverage)
    lowest[0] = max(values[wanted], values[wanted - 1] * (1.0 - most))
    z = 2.0 * lowest[0] / bound - 1.0
    if z < 1.01:
        return 0
    x = 1.0 / (z + sqrt(z * z - 1.0))
    z = (log(CUT) + log(1.0 - x)) / log(x) + 1.0
    return <int> z if z < (FEW_MOMENTS if m > MANY_MEMBERS else MOST_MOMENTS) else 0


cdef void take_moments(
    double* matrix, double* other, double* third, int m, int q, int n_moments, double* axes,
    double* values, double bound, double* moments,
) noexcept nogil:
    """moments (n_moments + 2, m): nu_0, 2 nu_1, 2 nu_2, ... of all members.

    The matrix becomes A; other and third, (m, m), are scratch.
    """
    cdef double two = 2.0, minus = -1.0, half = 0.5 * bound, below, here
    cdef double* before = other
    cdef double* now = matrix
    cdef int a, j, l
    for a in range(m):
        for l in range(q):
            add_one(m, -values[l] * axes[l * m + a], axes + l * m, matrix + a * m)
        for j in range(m):
            matrix[a * m + j] *= 2.0 / bound
        matrix[a * m + a] -= 1.0
    memset(other, 0, <size_t> m * m * sizeof(double))
    for a in range(m):
        other[a * m + a] = 1.0
        moments[a] = 1.0
        moments[m + a] = matrix[a * m + a]
    # diag T_2j = 2 diag T_j^2 - 1, diag T_{2j+1} = 2 diag T_j T_{j+1} - diag T_1
    for j in range(2, n_moments + 2):
        if j % 2 == 0:
            for a in range(m):
                moments[j * m + a] = 2.0 * inner(m, now + a * m, now + a * m) - 1.0
            continue
        if now == matrix:
            memcpy(third, matrix, <size_t> m * m * sizeof(double))
            now = third
        dgemm(b"N", b"N", &m, &m, &m, &two, matrix, &m, now, &m, &minus, before, &m)
        before, now = now, before
        for a in range(m):
            moments[j * m + a] = (
                2.0 * inner(m, now + a * m, before + a * m) - matrix[a * m + a]
            )
    # B T_j = bound / 2 (T_j + (T_{j-1} + T_{j+1}) / 2)
    for a in range(m):
        below = moments[m + a]
        for j in range(n_moments + 1):
            here = moments[j * m + a]
            moments[j * m + a] = half * (here + 0.5 * (below + moments[(j + 1) * m + a]))
            if j:
                moments[j * m + a] *= 2.0
            below = here


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
