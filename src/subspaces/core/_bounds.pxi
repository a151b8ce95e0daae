# A chunk of rows whose residuals are known from below: few of its scores are needed.
#
# The square of a residual changes by at most sin(theta) ||x||^2 when a flat turns by theta at most,
# and a row that is no member costs no less than its residual.

cdef enum:
    SPARED = 3                     # below one in so many, scores of single rows are quicker
    TILED_SPARED = 4               # the same beside products by tiles, the rows' own counted


cdef void stay(
    int k, int held, const real* seen, const int* which, const PassFlats* flats, const real* axes,
    Work* work, real* own, real* room, real* bounds, int n,
) noexcept nogil:
    cdef const real* mine = axes + <Py_ssize_t> k * flats.n_scores * flats.n_variables
    if real is float:
        stay_float(
            flats, k, held, seen, which, mine, <float*> work.along, <float*> work.lengths, room, own,
            bounds, n, <float*> work.scores,
        )
    else:
        stay_double(
            flats, k, held, seen, which, mine, <double*> work.along, <double*> work.lengths, room, own,
            bounds, n, <double*> work.scores,
        )


cdef void leave(
    int k, int held, const real* seen, const int* which, const PassFlats* flats, const real* axes,
    Work* work, real* least, real* room, int* chosen, real* bounds, int n,
) noexcept nogil:
    cdef const real* mine = axes + <Py_ssize_t> k * flats.n_scores * flats.n_variables
    if real is float:
        leave_float(
            flats, k, held, seen, which, mine, <float*> work.along, <float*> work.lengths, room, least,
            chosen, bounds, n, <float*> work.scores,
        )
    else:
        leave_double(
            flats, k, held, seen, which, mine, <double*> work.along, <double*> work.lengths, room, least,
            chosen, bounds, n, <double*> work.scores,
        )


cdef int tempted(
    const PassFlats* flats, int k, int n, const int* labels, const real* own, const real* bounds,
    int* which,
) noexcept nogil:
    if real is float:
        return tempted_float(flats, k, n, labels, own, bounds, which)
    else:
        return tempted_double(flats, k, n, labels, own, bounds, which)


cdef bint choose_some(
    const PassFlats* flats, int n, const real* seen, const real* axes, const int* labels,
    Work* work, int* chosen, const real* sines, real* bounds, double* objective,
) noexcept nogil:
    """Where the rows of a chunk go, by few scores, which are kept; whether few were enough."""
    cdef int k, i, held, start, wanted, n_clusters = flats.n_clusters
    cdef Py_ssize_t needed = 0
    cdef real* own = <real*> work.costs
    cdef real* least = own + n
    cdef real* room = least + n
    if real is float:
        lower_float(n, n_clusters, <float*> work.squared, sines, bounds)
    else:
        lower_double(n, n_clusters, <double*> work.squared, sines, bounds)
    sort(labels, n, n_clusters, work)
    for k in range(n_clusters):
        start = work.ends[k]
        while start < work.ends[k + 1]:
            held = min(GATHERED, work.ends[k + 1] - start)
            scores_under(k, held, seen, work.order + start, flats, axes, work)
            stay(k, held, seen, work.order + start, flats, axes, work, own, room, bounds, n)
            start += held
    for k in range(n_clusters):
        needed += tempted(flats, k, n, labels, own, bounds, work.order)
    if work.tiles != NULL:
        needed = (needed + n) * TILED_SPARED
    else:
        needed *= SPARED
    if needed > <Py_ssize_t> n * n_clusters:
        return False
    for i in range(n):
        objective[0] += own[i]
        least[i] = own[i]
        chosen[i] = labels[i]
    for k in range(n_clusters):
        wanted = tempted(flats, k, n, labels, own, bounds, work.order)
        start = 0
        while start < wanted:
            held = min(GATHERED, wanted - start)
            scores_under(k, held, seen, work.order + start, flats, axes, work)
            leave(
                k, held, seen, work.order + start, flats, axes, work, least, room, chosen, bounds, n
            )
            start += held
    return True
