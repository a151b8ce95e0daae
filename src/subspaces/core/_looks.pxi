# One block of rows in one pass: what `compiled_pass.py` calls.

cdef int note(
    const int* labels, const int* chosen, int n, bint only_moved, double* sizes, Work* work
) noexcept nogil:
    """Sizes of the chosen clusters; the keys of what is still to be summed. How many moved."""
    cdef int i, moved = 0
    cdef int* keys = work.keys
    for i in range(n):
        sizes[chosen[i]] += 1.0
        keys[i] = chosen[i]
        if labels == NULL or labels[i] != chosen[i]:
            moved += 1
        elif only_moved:
            keys[i] = -1
    return moved


def look_block(
    const real[:, ::1] rows, const int[::1] labels, FlatTables tables,
    const real[:, ::1] axes, const real[::1] origin, bint by_scatter, bint only_moved, bint summed,
    bint totalled,
):
    """Next labels, objective, how many moved, and the sums; see `block_pass.look`."""
    cdef int n, p = rows.shape[1], i, moved = 0
    cdef Py_ssize_t start = 0, size = rows.shape[0]
    cdef double objective = 0.0
    cdef const real* seen
    cdef const int* old
    cdef const PassFlats* flats = &tables.flats
    new = np.empty(size, dtype=np.intc)
    cdef int[::1] chosen = new
    cdef Room room = Room(
        tables, np.asarray(rows).dtype, min(size, CHUNK_ROWS), True, origin is not None,
        by_scatter, summed, totalled,
    )
    cdef double[::1] sizes = room.sizes
    cdef Work* work = &room.work
    with nogil:
        while start < size:
            n = <int> min(CHUNK_ROWS, size - start)
            old = NULL if labels is None else &labels[start]
            seen = see(&rows[start, 0], origin, n, p, work)
            objective += choose(flats, n, seen, &axes[0, 0], old, work, &chosen[start])
            moved += note(old, &chosen[start], n, only_moved, &sizes[0], work)
            if summed:
                add_sums(
                    seen, <real*> work.scores, work.keys, n, <real> 1.0, flats, &axes[0, 0], work
                )
                if only_moved and old != NULL:
                    for i in range(n):
                        work.keys[i] = -1 if old[i] == chosen[start + i] else old[i]
                    add_sums(
                        seen, <real*> work.scores, work.keys, n, <real> -1.0, flats, &axes[0, 0],
                        work,
                    )
            start += n
    return new, objective, moved, room.tally() if summed else None


def count_block(
    const real[:, ::1] rows, const int[::1] labels, FlatTables tables,
    const real[:, ::1] axes, const real[::1] origin, bint by_scatter, bint totalled,
):
    """The sums under given labels; see `block_pass.count`."""
    cdef int n, p = rows.shape[1]
    cdef Py_ssize_t start = 0, size = rows.shape[0]
    cdef const real* seen
    cdef Room room = Room(
        tables, np.asarray(rows).dtype, min(size, CHUNK_ROWS), False, origin is not None,
        by_scatter, True, totalled,
    )
    cdef double[::1] sizes = room.sizes
    cdef Work* work = &room.work
    with nogil:
        while start < size:
            n = <int> min(CHUNK_ROWS, size - start)
            seen = see(&rows[start, 0], origin, n, p, work)
            note(NULL, &labels[start], n, False, &sizes[0], work)
            add_sums(
                seen, <const real*> NULL, &labels[start], n, <real> 1.0, &tables.flats,
                &axes[0, 0], work,
            )
            start += n
    return room.tally()


def measure_block(
    const real[:, ::1] rows, const int[::1] labels, FlatTables tables, const real[:, ::1] axes,
    const real[::1] origin,
):
    """Influence of every row, and the sum of the squared errors; see `block_pass.measure`."""
    cdef int n, p = rows.shape[1], k, held, at
    cdef Py_ssize_t start = 0, size = rows.shape[0]
    cdef double errors = 0.0
    cdef const real* seen
    cdef const real* mine
    cdef const PassFlats* flats = &tables.flats
    dtype = np.asarray(rows).dtype
    found = np.empty(size, dtype=dtype)
    cdef real[::1] influence = found
    cdef Room room = Room(
        tables, dtype, min(size, CHUNK_ROWS), False, origin is not None, False, False, False
    )
    cdef Work* work = &room.work
    with nogil:
        while start < size:
            n = <int> min(CHUNK_ROWS, size - start)
            seen = see(&rows[start, 0], origin, n, p, work)
            sort(&labels[start], n, flats.n_clusters, work)
            for k in range(flats.n_clusters):
                at = work.ends[k]
                mine = &axes[k * flats.n_scores, 0]
                while at < work.ends[k + 1]:
                    held = min(together(p, sizeof(real)), work.ends[k + 1] - at)
                    scores_under(
                        k, held, seen, work.order + at, flats, &axes[0, 0], work,
                        <real*> work.along,
                    )
                    if real is float:
                        errors += measure_float(
                            flats, k, held, seen, work.order + at, mine, <float*> work.along,
                            <float*> work.lengths, <float*> work.costs, &influence[start],
                        )
                    else:
                        errors += measure_double(
                            flats, k, held, seen, work.order + at, mine, <double*> work.along,
                            <double*> work.lengths, <double*> work.costs, &influence[start],
                        )
                    at += held
            start += n
    return found, errors


def survey_block(const real[:, ::1] rows):
    """Largest absolute value, sums of the columns, sum of squares; see survey.py."""
    cdef double energy = 0.0, largest
    sums = np.zeros(rows.shape[1])
    cdef double[::1] totals = sums
    with nogil:
        if real is float:
            largest = survey_float(rows.shape[0], rows.shape[1], &rows[0, 0], &totals[0], &energy)
        else:
            largest = survey_double(rows.shape[0], rows.shape[1], &rows[0, 0], &totals[0], &energy)
    return largest, sums, energy
