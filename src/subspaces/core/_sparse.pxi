# Looks at partitions through sparse loadings: `sparse_basis.py`, and of `criteria.py` those that know
# such loadings. What is taken away after a loading is kept as a product, not subtracted from the rows.

cdef enum SparseCriterion:
    UNION_INFLUENCE, SPARSE_RESIDUAL, LOO_PROJECTION

SPARSE_CRITERIA = {
    "union_influence": UNION_INFLUENCE,
    "residual": SPARSE_RESIDUAL,
    "loo_projection": LOO_PROJECTION,
}


cdef class SparseLooker(Sweeps):
    """Looks at partitions of rows (n, p), each axis of a cluster on its own n_variables (K,).

    gram: the inner products of the rows, or nothing where those are too many or flats are affine;
    steps: settled, most steps, tied, nothing left, as in sparse_basis.py.
    """

    cdef const double[:, ::1] rows, gram
    cdef const double[::1] squared_norms
    cdef const int[::1] n_variables
    cdef int criterion, p, most_axes, capacity, max_steps
    cdef double settled, tied, nothing_left
    cdef bint affine, nonnegative, by_gram
    cdef double[:, :, ::1] loadings           # (K, R, p), unit
    cdef double[:, :, ::1] best_loadings      # those of the best partition of a run
    cdef int[:, :, ::1] places                # (K, R, p): the variables of each loading
    cdef int[:, ::1] n_places                 # (K, R)
    cdef double[:, :, ::1] scores             # (K, R, n)
    cdef double[:, ::1] captured              # (K, n)
    cdef double[:, ::1] spectra, centres      # (K, R), (K, p)
    cdef double[:, :, ::1] overlap, inverse   # (K, R, R)
    cdef double[:, ::1] raw                   # (R, p): loadings before they are scaled
    cdef double[::1] values, magnitudes, few  # (p,), (p + 1,), (10 R R + 10 R,)
    cdef double[::1] lefts, own, block, spare, axes
    cdef double[::1] norms                    # (n,): on the union of the supports
    cdef int[::1] union_places                # (p,)
    cdef double** at                          # (m,): the members' rows
    cdef list kept
    cdef object pointers
    cdef Scratch scratch

    def __init__(
        self, rows, squared_norms, gram, dimensions, least, n_variables, criterion, affine,
        nonnegative, steps,
    ):
        Sweeps.__init__(self, len(squared_norms), dimensions, least)
        self.rows, self.squared_norms, self.gram = rows, squared_norms, gram
        self.n_variables = np.asarray(n_variables, dtype=np.intc)
        self.criterion, self.affine = SPARSE_CRITERIA[criterion], affine
        self.nonnegative = nonnegative
        self.settled, self.max_steps, self.tied, self.nothing_left = steps
        self.keeps_last, self.by_gram, self.capacity = True, len(gram) > 0, -1
        n, p, k, r = self.n, rows.shape[1], self.n_clusters, max(dimensions)
        self.p, self.most_axes = p, r
        self.loadings, self.best_loadings = np.zeros((2, k, r, p))
        self.places = np.empty((k, r, p), np.intc)
        self.n_places, self.scores = np.zeros((k, r), np.intc), np.zeros((k, r, n))
        self.captured, self.costs = np.zeros((k, n)), np.empty((k, n))
        self.spectra, self.centres = np.zeros((k, r)), np.zeros((k, p))
        self.overlap, self.inverse = np.zeros((2, k, r, r))
        self.raw, self.values, self.magnitudes = np.zeros((r, p)), np.empty(p), np.empty(p + 1)
        self.few, self.norms = np.empty(10 * r * r + 10 * r), np.zeros(n)
        self.union_places = np.empty(p, np.intc)

    def energy(self, const Py_ssize_t[::1] labels):
        """Energy of the members along their own loadings, fitted afresh; ends a run."""
        cdef double total = 0.0
        cdef Py_ssize_t i
        self.begin()
        with nogil:
            self._fit_all(labels)
        for i in range(self.n):
            total += self.captured[labels[i], i]
        return total

    cdef void _keep_loadings(self) noexcept nogil:
        self.best_loadings[...] = self.loadings

    cdef object _kept_loadings(self):
        found = zip(np.asarray(self.best_loadings), self.dimensions, strict=True)
        return tuple(rows[:r].T.copy() for rows, r in found)

    cdef double _look(self, const Py_ssize_t[::1] labels, Py_ssize_t[::1] new) except? -1 nogil:
        cdef int k, count
        self._fit_all(labels)
        if self.criterion == UNION_INFLUENCE:
            count = self._unite()
            for k in range(self.n_clusters):
                self._charge_influence(k, count)
        return self._assign(new)

    cdef int _fit_all(self, const Py_ssize_t[::1] labels) except -1 nogil:
        """Fit the clusters that changed."""
        cdef int k, m, info = 0
        self._note_changes(labels)
        for k in range(self.n_clusters):
            if self.changed[k]:
                m = self._gather(k)
                if m > self.capacity:
                    with gil:
                        self._reserve(min(m + m // 4, self.n))
                info = max(info, self._fit(k, m))
        if info:
            with gil:
                raise np.linalg.LinAlgError("the eigenvalues of a cluster did not converge")
        return 0

    def _reserve(self, int m):
        """Room for a cluster of m members."""
        d, q = min(m, self.p), 1 + GUARDS
        self.capacity = m
        self.pointers = np.empty(m + 1, np.intp)
        cdef Py_ssize_t[::1] pointers = self.pointers
        self.at = <double**> &pointers[0]
        self.lefts = np.empty(self.most_axes * m + 1)
        self.own = np.empty(m * self.p + 1 if self.affine else 1)
        self.block, self.spare = np.empty((2, spare_room(d)))
        self.axes = np.empty(q * d + 1)
        sizes = q * d, 2 * q * whole_vectors(d), 2 * q * q, d
        self.kept = [np.empty(size + 1) for size in sizes]
        self.kept += [np.empty(40 * (d + q)), np.empty(14 * d + 20, np.intc)]
        cdef double[::1] images = self.kept[0], rotated = self.kept[1], small = self.kept[2]
        cdef double[::1] all_values = self.kept[3], work = self.kept[4]
        cdef int[::1] integers = self.kept[5]
        self.scratch = Scratch(
            &images[0], &rotated[0], &small[0], &all_values[0], &work[0], &integers[0],
            &integers[12 * d + 10], 12 * d + 10,
        )

    cdef int _fit(self, int k, int m) noexcept nogil:
        """Loadings of a cluster, scores of all rows, and their costs but for the influence."""
        cdef int r, info = 0
        cdef double longest
        self._take_rows(k, m)
        longest = self._longest(m)
        for r in range(self.dimensions[k]):
            info = max(info, self._find_loading(k, m, r, longest))
        self.guessed[k] = True
        self._project(k, m)
        r = self.dimensions[k] - 1
        self.degenerate[k] = self.spectra[k, r] < self.least[k] * m
        if self.criterion != UNION_INFLUENCE:
            self._charge_residual(k, m)
        return info

    cdef void _take_rows(self, int k, int m) noexcept nogil:
        """Where the members' rows are; centred ones are copied."""
        cdef int a
        cdef double* centre = &self.centres[k, 0]
        if self.affine:
            memset(centre, 0, self.p * sizeof(double))
            for a in range(m):
                add_one(self.p, 1.0 / m, &self.rows[self.members[a], 0], centre)
        for a in range(m):
            self.at[a] = <double*> &self.rows[self.members[a], 0]
            if self.affine:
                memcpy(&self.own[a * self.p], self.at[a], self.p * sizeof(double))
                self.at[a] = &self.own[a * self.p]
                add_one(self.p, -1.0, centre, self.at[a])

    cdef double _longest(self, int m) noexcept nogil:
        """The length of the longest of the members' rows."""
        cdef double longest = 0.0
        cdef int a
        for a in range(m):
            longest = max(
                longest,
                inner(self.p, self.at[a], self.at[a]) if self.affine
                else self.squared_norms[self.members[a]],
            )
        return sqrt(longest)

    cdef int _find_loading(self, int k, int m, int r, double longest) noexcept nogil:
        """One loading by alternating products; the last one known is the first guess."""
        cdef double* left = &self.lefts[r * m]
        cdef double* raw = &self.raw[r, 0]
        cdef int* used = &self.places[k, r, 0]
        cdef double moved, largest, length = 0.0
        cdef int info = 0, step, j, n_used = self.n_places[k, r]
        if self.guessed[k]:
            self._left_of(k, m, r, &self.loadings[k, r, 0], used, n_used, left)
            length = make_unit(left, m)
        if not length > 0.0:
            info = self._leading_left(k, m, r, left)
            make_unit(left, m)
        if self.nonnegative:
            self._turn(k, m, r, left)
        memset(raw, 0, self.p * sizeof(double))
        n_used = 0
        for step in range(self.max_steps + 1):
            self._right_of(k, m, r, left)
            shrink(
                &self.values[0], self.p, self.n_variables[k], self.nonnegative, self.tied,
                &self.magnitudes[0],
            )
            moved, largest, n_used = 0.0, 0.0, 0
            for j in range(self.p):
                moved = max(moved, fabs(self.values[j] - raw[j]))
                raw[j] = self.values[j]
                if raw[j] != 0.0:
                    largest = max(largest, fabs(raw[j]))
                    used[n_used] = j
                    n_used += 1
            if step and moved <= self.settled * largest or step == self.max_steps:
                break
            self._left_of(k, m, r, raw, used, n_used, left)
            make_unit(left, m)
        self._keep_loading(k, r, n_used, largest, self.nothing_left * longest)
        return info

    cdef void _keep_loading(
        self, int k, int r, int n_used, double largest, double shortest
    ) noexcept nogil:
        """The loading at unit length; nothing where it is no more than rounding."""
        cdef double* loading = &self.loadings[k, r, 0]
        cdef const double* raw = &self.raw[r, 0]
        cdef const int* used = &self.places[k, r, 0]
        cdef double length = 0.0
        cdef int j
        memset(loading, 0, self.p * sizeof(double))
        for j in range(n_used):
            length += (raw[used[j]] / largest) * (raw[used[j]] / largest)
        length = largest * sqrt(length)
        self.n_places[k, r] = n_used
        if length > shortest:
            for j in range(n_used):
                loading[used[j]] = raw[used[j]] / length

    cdef void _right_of(self, int k, int m, int r, const double* left) noexcept nogil:
        """``values = (X - sum_s u_s v_s^T)^T left``."""
        cdef double* values = &self.values[0]
        cdef const int* used
        cdef double shared
        cdef int s, j
        self._sum_rows(m, left, values)
        for s in range(r):
            shared, used = inner(m, &self.lefts[s * m], left), &self.places[k, s, 0]
            for j in range(self.n_places[k, s]):
                values[used[j]] -= shared * self.raw[s, used[j]]

    cdef void _sum_rows(self, int m, const double* left, double* out) noexcept nogil:
        cdef int a
        memset(out, 0, self.p * sizeof(double))
        for a in range(0, m - 3, 4):
            add_four(
                self.p, <double*> left + a, self.at[a], self.at[a + 1], self.at[a + 2],
                self.at[a + 3], out,
            )
        for a in range(m - m % 4, m):
            add_one(self.p, left[a], self.at[a], out)

    cdef void _left_of(
        self, int k, int m, int r, const double* loading, const int* used, int n_used, double* left
    ) noexcept nogil:
        """``left = (X - sum_s u_s v_s^T) loading``, only the columns in use."""
        cdef double shared
        cdef int s, j, a
        for a in range(m):
            left[a] = 0.0
            for j in range(n_used):
                left[a] += self.at[a][used[j]] * loading[used[j]]
        for s in range(r):
            shared = 0.0
            for j in range(n_used):
                shared += self.raw[s, used[j]] * loading[used[j]]
            add_one(m, -shared, &self.lefts[s * m], left)

    cdef void _turn(self, int k, int m, int r, double* left) noexcept nogil:
        """Of u and -u the one whose positive part explains more."""
        cdef double energy = 0.0, sign
        cdef int a, j, turned
        for turned in range(2):
            sign = -1.0 if turned else 1.0
            for a in range(m):
                left[a] *= sign
            self._right_of(k, m, r, left)
            shrink(
                &self.values[0], self.p, self.n_variables[k], True, self.tied, &self.magnitudes[0]
            )
            energy += sign * inner(self.p, &self.values[0], &self.values[0])
        if energy >= 0.0:
            for a in range(m):
                left[a] = -left[a]

    cdef int _leading_left(self, int k, int m, int r, double* left) noexcept nogil:
        """First left singular vector of what is left of the rows, by the smaller scatter matrix."""
        cdef int d = min(m, self.p), j, s, info
        if m <= self.p:
            self._products(m)
        else:
            self._scatter(m)
        for s in range(r):
            self._take_out(k, m, r, s, d)
        for j in range(1 + GUARDS):
            memcpy(&self.axes[j * d], &self.block[(7 * j % d) * d], d * sizeof(double))
        info = leading_axes(
            &self.block[0], &self.spare[0], d, 1, 1 + GUARDS, &self.axes[0], &self.few[0],
            &self.scratch,
        )
        if m <= self.p:
            memcpy(left, &self.axes[0], m * sizeof(double))
            return info
        for j in range(d):
            self.union_places[j] = j
        self._left_of(k, m, r, &self.axes[0], &self.union_places[0], d, left)
        return info

    cdef void _products(self, int m) noexcept nogil:
        """Inner products of the members, (m, m)."""
        cdef int a, b
        for a in range(m):
            for b in range(a + 1):
                self.block[a * m + b] = (
                    self.gram[self.members[a], self.members[b]] if self.by_gram
                    else inner(self.p, self.at[a], self.at[b])
                )
                self.block[b * m + a] = self.block[a * m + b]

    cdef void _scatter(self, int m) noexcept nogil:
        """Scatter matrix of the members, (p, p)."""
        cdef int a, j
        memset(&self.block[0], 0, <size_t> self.p * self.p * sizeof(double))
        for a in range(m):
            for j in range(self.p):
                add_one(self.p, self.at[a][j], self.at[a], &self.block[j * self.p])

    cdef void _take_out(self, int k, int m, int r, int s, int d) noexcept nogil:
        """Take the product of one loading, ``u_s v_s^T``, out of ``block``.

        With Y the rows before, either ``Y Y^T - z u^T - u z^T``, ``z = Y v - ||v||^2 u / 2``, or
        ``Y^T Y - z v^T - v z^T``, ``z = Y^T u - v / 2``.
        """
        cdef const double* left = &self.lefts[s * m]
        cdef const double* raw = &self.raw[s, 0]
        cdef const double* same = left if d == m else raw
        cdef double* z = &self.spare[0]
        cdef int j
        if d == m:
            self._left_of(k, m, s, raw, &self.places[k, s, 0], self.n_places[k, s], z)
            add_one(m, -0.5 * inner(self.p, raw, raw), left, z)
        else:
            self._right_of(k, m, s, left)
            memcpy(z, &self.values[0], d * sizeof(double))
            add_one(d, -0.5 * inner(m, left, left), raw, z)
        for j in range(d):
            add_one(d, -same[j], z, &self.block[j * d])
            add_one(d, -z[j], same, &self.block[j * d])

    cdef void _project(self, int k, int m) noexcept nogil:
        """Scores of all rows, the energy that the loadings capture, and that of the members."""
        cdef int found = self.dimensions[k], r, s, j, a
        cdef Py_ssize_t i
        cdef double shift, total
        cdef double* inverse = &self.inverse[k, 0, 0]
        cdef const double* loading
        cdef const int* used
        for r in range(found):
            loading, used, shift = &self.loadings[k, r, 0], &self.places[k, r, 0], 0.0
            for j in range(self.n_places[k, r]):
                shift += self.centres[k, used[j]] * loading[used[j]]
            for i in range(self.n):
                total = -shift
                for j in range(self.n_places[k, r]):
                    total += self.rows[i, used[j]] * loading[used[j]]
                self.scores[k, r, i] = total
            total = 0.0
            for a in range(m):
                total += self.scores[k, r, self.members[a]] * self.scores[k, r, self.members[a]]
            self.spectra[k, r] = total
            for s in range(r + 1):
                total = 0.0
                for j in range(self.n_places[k, r]):
                    total += loading[used[j]] * self.loadings[k, s, used[j]]
                self.overlap[k, r, s] = self.overlap[k, s, r] = total
        for r in range(found):
            for s in range(found):
                inverse[r * found + s] = self.overlap[k, r, s]
        invert(inverse, found, found * EPS, &self.few[0])
        for i in range(self.n):
            total = 0.0
            for r in range(found):
                for s in range(found):
                    total += self.scores[k, r, i] * inverse[r * found + s] * self.scores[k, s, i]
            self.captured[k, i] = max(total, 0.0)

    cdef void _charge_residual(self, int k, int m) noexcept nogil:
        """Squared residual on all variables; of members perhaps that by leave-one-out projection."""
        cdef double* centre = &self.centres[k, 0]
        cdef double length = inner(self.p, centre, centre) if self.affine else 0.0
        cdef double squared
        cdef Py_ssize_t i
        for i in range(self.n):
            squared = self.squared_norms[i]
            if self.affine:
                squared += length - 2.0 * inner(self.p, &self.rows[i, 0], centre)
            self.costs[k, i] = max(squared - self.captured[k, i], 0.0)
        if self.criterion == LOO_PROJECTION:
            self._charge_members(k, m)

    cdef int _unite(self) noexcept nogil:
        """The variables of any loading, how many, and the squared norms on them."""
        cdef int* united = &self.union_places[0]
        cdef double* marks = &self.values[0]
        cdef int k, r, j, count = 0
        cdef Py_ssize_t i
        memset(marks, 0, self.p * sizeof(double))
        for k in range(self.n_clusters):
            for r in range(self.dimensions[k]):
                for j in range(self.n_places[k, r]):
                    if self.loadings[k, r, self.places[k, r, j]] != 0.0:
                        marks[self.places[k, r, j]] = 1.0
        for j in range(self.p):
            if marks[j] != 0.0:
                united[count] = j
                count += 1
        if not self.affine:
            for i in range(self.n):
                self.norms[i] = self._norm_on(i, 0, count)
        return count

    cdef double _norm_on(self, Py_ssize_t i, int k, int count) noexcept nogil:
        """Squared norm of a row, seen from a centre, on the union of the supports."""
        cdef const double* row = &self.rows[i, 0]
        cdef const double* centre = &self.centres[k, 0]
        cdef const int* united = &self.union_places[0]
        cdef double total = 0.0, value
        cdef int j
        for j in range(count):
            value = row[united[j]] - centre[united[j]]
            total += value * value
        return total

    cdef void _charge_influence(self, int k, int count) noexcept nogil:
        cdef double norm
        cdef Py_ssize_t i
        for i in range(self.n):
            norm = self._norm_on(i, k, count) if self.affine else self.norms[i]
            self.costs[k, i] = oblique_cost(
                &self.scores[k, 0, i], self.n, &self.spectra[k, 0], self.dimensions[k],
                max(norm - self.captured[k, i], 0.0), &self.overlap[k, 0, 0], self.most_axes,
                &self.inverse[k, 0, 0], self.labels[i] == k, &self.few[0],
            )

    cdef void _charge_members(self, int k, int m) noexcept nogil:
        """Leave-one-out projection: `loo_projection.sparse_errors`."""
        cdef int found = self.dimensions[k], a, r, s, j
        cdef double* cross = &self.few[4 * found * found]
        cdef double* shared = cross + found * found
        cdef double* scores = shared + found * found
        cdef const double* row
        cdef const double* loading
        cdef const int* used
        cdef double value, refit = refit_factor(m, self.affine), root = sqrt(refit)
        for a in range(m):
            if refit == INFINITY:
                self.costs[k, self.members[a]] = INFINITY
                continue
            row = self.at[a]
            for s in range(found):
                used = &self.places[k, s, 0]
                for r in range(found):
                    loading = &self.loadings[k, r, 0]
                    cross[r * found + s], shared[r * found + s] = 0.0, 0.0
                    for j in range(self.n_places[k, s]):
                        value = root * row[used[j]]
                        cross[r * found + s] += value * loading[used[j]]
                        if loading[used[j]] != 0.0 and self.loadings[k, s, used[j]] != 0.0:
                            shared[r * found + s] += value * value
            for r in range(found):
                scores[r] = cross[r * found + r]
            self.costs[k, self.members[a]] = refit * projection_cost(
                refit * inner(self.p, row, row), scores, &self.spectra[k, 0], &self.overlap[k, 0, 0],
                self.most_axes, cross, shared, found, &self.few[0],
            )


cdef double make_unit(double* vector, int m) noexcept nogil:
    """Scale to length one unless it is zero; the largest magnitude it had."""
    cdef double largest = 0.0, length
    cdef int a
    for a in range(m):
        largest = max(largest, fabs(vector[a]))
    if largest > 0.0:
        for a in range(m):
            vector[a] /= largest
        length = sqrt(inner(m, vector, vector))
        for a in range(m):
            vector[a] /= length
    return largest


cdef void invert(double* matrix, int q, double cut, double* scratch) noexcept nogil:
    """Pseudo-inverse of a small symmetric matrix, in its place; scratch: (3 q q + q,).

    Eigenvalues up to ``cut`` times the largest count as zero.
    """
    cdef double* turned = scratch
    cdef double* axes = turned + q * q
    cdef double* values = axes + q * q
    cdef int r, s, l
    memcpy(axes, matrix, q * q * sizeof(double))
    jacobi(axes, q, values, turned)
    memset(matrix, 0, q * q * sizeof(double))
    for l in range(q):
        if values[l] > cut * values[0]:
            for r in range(q):
                for s in range(q):
                    matrix[r * q + s] += axes[l * q + r] * axes[l * q + s] / values[l]


cdef double oblique_cost(
    const double* scores, Py_ssize_t stride, const double* spectrum, int found, double residual,
    const double* overlap, int width, const double* inverse, bint member, double* weights,
) noexcept nogil:
    """``a^4 ||x_perp||^2 + u^T S u``: `influence.squared_influence_oblique`, of one row."""
    cdef double* u = weights + found
    cdef double total = 1.0, energy = 0.0, d, squared, others, along, c
    cdef int r, s
    for r in range(found):
        squared = scores[r * stride] * scores[r * stride]
        weights[r] = 1.0
        if squared > 0.0:
            others = squared if member else 0.0
            others = spectrum[r] - others if others < LEVERAGE_ONE * spectrum[r] else 0.0
            if squared / others == INFINITY:
                return INFINITY
            weights[r] += squared / others
            total += squared / others
    for r in range(found):
        d, c, along = scores[r * stride], 0.0, 0.0
        for s in range(found):
            c += weights[s] * scores[s * stride] * overlap[s * width + r]
            along += scores[s * stride] * inverse[s * found + r]
        u[r] = total * total * along - weights[r] * (2.0 * total * d - c)
    for r in range(found):
        for s in range(found):
            energy += u[r] * overlap[r * width + s] * u[s]
    energy += total * total * total * total * residual
    return energy if energy == energy else INFINITY


cdef double projection_cost(
    double squared_norm, const double* scores, const double* spectrum, const double* overlap,
    int width, const double* cross, const double* shared, int found, double* scratch,
) noexcept nogil:
    """``||x||^2 - m^T G^+ m``: `loo_projection.projection_errors`, of one row."""
    cdef double* gram = scratch + 3 * found * found
    cdef double* credit = scratch + 6 * found * found + 2 * found
    cdef double unit = 2.2250738585072014e-308, root, explained = 0.0
    cdef int r, s
    for r in range(found):
        unit = max(unit, spectrum[r])
    root = sqrt(unit)
    for r in range(found):
        credit[r] = max(spectrum[r] - shared[r * found + r], 0.0) / unit * scores[r] / root
    for r in range(found):
        for s in range(found):
            gram[r * found + s] = 0.0
            if spectrum[r] > shared[r * found + r] and spectrum[s] > shared[s * found + s]:
                gram[r * found + s] = (
                    spectrum[r] / unit * (spectrum[s] / unit) * overlap[r * width + s]
                    - spectrum[r] / unit * (scores[s] / root) * (cross[r * found + s] / root)
                    - spectrum[s] / unit * (scores[r] / root) * (cross[s * found + r] / root)
                    + scores[r] / root * (scores[s] / root) * (shared[r * found + s] / unit)
                )
    invert(gram, found, 1e-15, scratch)
    for r in range(found):
        for s in range(found):
            explained += credit[r] * gram[r * found + s] * credit[s]
    return max(squared_norm - unit * explained, 0.0)


cdef void shrink(
    double* values, int p, int n_variables, bint nonnegative, double tied, double* heap
) noexcept nogil:
    """Soft threshold that leaves so many of the largest.

    heap (n_variables + 1,): the largest magnitudes, the least of them on top. Where the next one
    ties with those, the first of the tie stay.
    """
    cdef int j, size = n_variables + 1, held = 0
    cdef double magnitude, least
    if nonnegative:
        for j in range(p):
            values[j] = max(values[j], 0.0)
    if p <= n_variables:
        return
    for j in range(p):
        magnitude = fabs(values[j])
        if held < size:
            heap[held] = magnitude
            held += 1
            if held == size:
                heapify(heap, size)
        elif magnitude > heap[0]:
            heap[0] = magnitude
            sink(heap, 0, size)
    least = heap[1] if size < 3 else min(heap[1], heap[2])
    if not heap[0] < least * (1.0 - tied):
        break_tie(values, p, n_variables, least, tied)
        return
    for j in range(p):
        magnitude = max(fabs(values[j]) - heap[0], 0.0)
        values[j] = magnitude if values[j] > 0.0 else -magnitude


cdef void break_tie(
    double* values, int p, int n_variables, double least, double tied
) noexcept nogil:
    """The largest and the first of those that tie with the least stay, less the next smaller one."""
    cdef double below = 0.0, highest = least * (1.0 + tied), lowest = least * (1.0 - tied), magnitude
    cdef int j, left = n_variables
    for j in range(p):
        magnitude = fabs(values[j])
        left -= magnitude > highest
        if magnitude < lowest:
            below = max(below, magnitude)
    for j in range(p):
        magnitude = fabs(values[j])
        if lowest <= magnitude <= highest and left > 0:
            left -= 1
        elif not magnitude > highest:
            magnitude = below
        magnitude -= below
        values[j] = magnitude if values[j] > 0.0 else -magnitude


cdef void heapify(double* heap, int size) noexcept nogil:
    cdef int place
    for place in range(size // 2 - 1, -1, -1):
        sink(heap, place, size)


cdef void sink(double* heap, int place, int size) noexcept nogil:
    cdef int child
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[place] <= heap[child]:
            return
        heap[place], heap[child] = heap[child], heap[place]
        place = child
