# The leading axes of many scatter matrices, each from a guess.


def leading_axes_of(
    const double[:, :, ::1] matrices, const double[:, :, ::1] guesses, int wanted
):
    """Eigenvalues (K, wanted), the largest first, and axes (K, wanted, p) of matrices (K, p, p).

    guesses (K, p, wanted): axes of matrices like these.
    """
    cdef int n = matrices.shape[0], m = matrices.shape[1], q = wanted + GUARDS, k, j, i, info = 0
    cdef double[:, :, ::1] axes = np.empty((n, q, m))
    cdef double[:, ::1] values = np.empty((n, q))
    cdef double[::1] whole = np.empty(m * m), spare = np.empty(spare_room(m))
    cdef double[::1] work = np.empty(40 * (m + q))
    cdef double[::1] images = np.empty(q * m), rotated = np.empty(2 * q * whole_vectors(m))
    cdef double[::1] small = np.empty(2 * q * q), all_values = np.empty(m)
    cdef int[::1] int_work = np.empty(12 * m + 10, np.intc), support = np.empty(2 * m, np.intc)
    cdef Scratch at = Scratch(
        &images[0], &rotated[0], &small[0], &all_values[0], &work[0], &int_work[0], &support[0],
        len(int_work),
    )
    with nogil:
        for k in range(n):
            memcpy(&whole[0], &matrices[k, 0, 0], m * m * sizeof(double))
            for j in range(q):
                for i in range(m):
                    axes[k, j, i] = (
                        guesses[k, i, j] if j < wanted else matrices[k, (7 * j + 1) % m, i]
                    )
            info = max(
                info,
                leading_axes(
                    &whole[0], &spare[0], m, wanted, q, &axes[k, 0, 0], &values[k, 0], &at
                ),
            )
    if info:
        raise np.linalg.LinAlgError("the eigenvalues of a cluster did not converge")
    return np.asarray(values)[:, :wanted], np.asarray(axes)[:, :wanted]
