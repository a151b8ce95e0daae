# A chunk of rows whose residuals are known from below: few of its scores are needed.
#
# A row that is no member costs no less than its residual, and the last pass bounds that: its square
# changes by at most sin(theta) ||x||^2 when a flat turns by theta at most.

cdef enum:
    SPARED = 3                     # below one in so many, scores of single rows are quicker


cdef void lower(int n, int n_clusters, const real* sines, Work* work, real* bounds) noexcept nogil:
    """Bounds of the last pass as bounds of this one."""
    if real is float:
        lower_float(n, n_clusters, <float*> work.squared, sines, bounds)
    else:
        lower_double(n, n_clusters, <double*> work.squared, sines, bounds)


cdef int tempted(
    const PassFlats* flats, int k, int n, const int* which, const int* now, const real* least,
    const real* bounds, int* found,
) noexcept nogil:
    """Which of some rows may cost less in cluster k than where they are."""
    if real is float:
        return tempted_float(flats, k, n, which, now, least, bounds, found)
    else:
        return tempted_double(flats, k, n, which, now, least, bounds, found)


cdef void temptations(
    const PassFlats* flats, int n, const int* which, const int* now, const real* least,
    const real* bounds, int* counts,
) noexcept nogil:
    """In how many clusters each of some rows may cost less than where it is."""
    if real is float:
        temptations_float(flats, n, which, now, least, bounds, counts)
    else:
        temptations_double(flats, n, which, now, least, bounds, counts)


cdef double choose_some(
    const PassFlats* flats, int n, const real* seen, const real* axes, const int* labels,
    Work* work, int* chosen, real* bounds, bint summed, Py_ssize_t* scored,
) noexcept nogil:
    """Where the rows of a chunk go, by scores under few clusters; scored: how many were needed.

    Some members of a cluster at a time, which meanwhile stay in the cache, and are summed at once
    if they are sure to stay; then the others, some at a time that one cluster tempts.
    """
    cdef int k, i, held, start, n_open = 0
    cdef int most = together(flats.n_variables, sizeof(real))
    cdef double objective = 0.0
    cdef real* own = <real*> work.costs
    cdef real* least = own + n
    scored[0] = 0
    memcpy(chosen, labels, n * sizeof(int))
    sort(labels, n, flats.n_clusters, work)
    for k in range(flats.n_clusters):
        start = work.ends[k]
        while start < work.ends[k + 1]:
            held = min(most, work.ends[k + 1] - start)
            stay(k, held, seen, work.order + start, flats, axes, work, n, bounds)
            temptations(flats, held, work.order + start, labels, least, bounds, work.counts)
            n_open += part(
                k, held, seen, work.order + start, summed and not work.by_scatter, flats, work, n,
                work.open + n_open,
            )
            start += held
    for k in range(flats.n_clusters):
        scored[0] += leave(k, n_open, most, seen, flats, axes, labels, work, n, chosen, bounds)
    for i in range(n):
        objective += own[i]
    return objective


cdef void stay(
    int k, int held, const real* seen, const int* which, const PassFlats* flats, const real* axes,
    Work* work, int n, real* bounds,
) noexcept nogil:
    """What some rows cost as members of their cluster."""
    cdef const real* mine = axes + <Py_ssize_t> k * flats.n_scores * flats.n_variables
    cdef real* own = <real*> work.costs
    cdef int j
    scores_under(k, held, seen, which, flats, axes, work, <real*> work.along)
    if real is float:
        stay_float(
            flats, k, held, seen, which, mine, <float*> work.along, <float*> work.lengths,
            own + 2 * n, own, bounds,
        )
    else:
        stay_double(
            flats, k, held, seen, which, mine, <double*> work.along, <double*> work.lengths,
            own + 2 * n, own, bounds,
        )
    for j in range(held):
        own[n + which[j]] = own[which[j]]


cdef int part(
    int k, int held, const real* seen, const int* which, bint summed, const PassFlats* flats,
    Work* work, int n, int* open,
) noexcept nogil:
    """Add, if they are to be summed, those of some rows of a cluster that are sure to stay.

    The others are left open, and their scores kept; how many they are.
    """
    cdef Py_ssize_t q = flats.n_scores, r
    cdef real* kept = <real*> work.scores + k * q * n
    cdef int j, sure = 0, n_open = 0
    for j in range(held):
        if work.counts[j]:
            open[n_open] = which[j]
            n_open += 1
            for r in range(q):
                kept[r * n + which[j]] = (<real*> work.along)[r * held + j]
        elif summed:
            work.summed[which[j]] = True
            work.energy[k] += (<real*> work.squared)[which[j]]
            work.keys[sure] = which[j]
            work.places[sure] = j
            sure += 1
    if summed:
        add_images(
            k, sure, seen, work.keys, work.places, <real*> work.along, held, <real> 1.0, flats,
            work,
        )
    return n_open


cdef int leave(
    int k, int n_open, int most, const real* seen, const PassFlats* flats, const real* axes,
    const int* labels, Work* work, int n, int* chosen, real* bounds,
) noexcept nogil:
    """Those of the open rows that cost less in cluster k choose it; how many were tempted.

    The scores of those that leave are kept.
    """
    cdef const real* mine = axes + <Py_ssize_t> k * flats.n_scores * flats.n_variables
    cdef real* least = <real*> work.costs + n
    cdef int wanted = tempted(flats, k, n_open, work.open, labels, least, bounds, work.keys)
    cdef int start = 0, held
    while start < wanted:
        held = min(most, wanted - start)
        scores_under(k, held, seen, work.keys + start, flats, axes, work, <real*> work.along)
        if real is float:
            leave_float(
                flats, k, held, seen, work.keys + start, mine, <float*> work.along,
                <float*> work.lengths, least + n, least, chosen, bounds, n, <float*> work.scores,
            )
        else:
            leave_double(
                flats, k, held, seen, work.keys + start, mine, <double*> work.along,
                <double*> work.lengths, least + n, least, chosen, bounds, n, <double*> work.scores,
            )
        start += held
    return wanted
