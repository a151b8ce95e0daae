/* The loops of `_passes.h` for one precision. Scores are (n_scores, n): all rows on one axis lie
   side by side. */

/* Largest absolute value, sum of squares; the sums of the columns are added to totals. */
FOR_EACH_PROCESSOR
static double NAME(survey)(ptrdiff_t n, ptrdiff_t p, const REAL *rows, double *restrict totals,
                           double *energy)
{
    double largest = 0.0, squares = 0.0;
    for (ptrdiff_t i = 0; i < n; i++) {
        const REAL *row = rows + i * p;
        REAL top = 0, sum = 0;
#pragma omp simd reduction(max : top) reduction(+ : sum)
        for (ptrdiff_t j = 0; j < p; j++) {
            const REAL size = row[j] < 0 ? -row[j] : row[j];
            top = size > top ? size : top;
            sum += row[j] * row[j];
            totals[j] += row[j];
        }
        squares += sum;
        largest = top > largest ? top : largest;
    }
    *energy = squares;
    return largest;
}

/* Rows less the origin. */
FOR_EACH_PROCESSOR
static void NAME(shift)(ptrdiff_t n, ptrdiff_t p, const REAL *rows, const REAL *restrict origin,
                        REAL *restrict out)
{
    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t j = 0; j < p; j++)
            out[i * p + j] = rows[i * p + j] - origin[j];
}

/* Squared length of every row. */
FOR_EACH_PROCESSOR
static void NAME(square)(ptrdiff_t n, ptrdiff_t p, const REAL *rows, REAL *restrict out)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        const REAL *row = rows + i * p;
        REAL sum = 0;
#pragma omp simd reduction(+ : sum)
        for (ptrdiff_t j = 0; j < p; j++)
            sum += row[j] * row[j];
        out[i] = sum;
    }
}

/* Squared residual of every row under flat k, and sum_r d_r^2 weight_r; the smallest difference
   between a residual and what cancellation leaves of it. */
FOR_EACH_PROCESSOR
static REAL NAME(project)(const PassFlats *flats, ptrdiff_t k, ptrdiff_t n, const REAL *scores,
                          const REAL *squared, REAL *restrict residual, REAL *restrict total)
{
    const ptrdiff_t n_axes = flats->n_axes;
    const REAL length = (REAL)flats->lengths[k], share = (REAL)flats->share;
    REAL lowest = 1;
    if (flats->n_scores > n_axes) {
        const REAL *along = scores + n_axes * n;
        for (ptrdiff_t i = 0; i < n; i++)
            residual[i] = squared[i] - 2 * along[i] + length;
    } else {
        memcpy(residual, squared, n * sizeof(REAL));
    }
    memset(total, 0, n * sizeof(REAL));
    for (ptrdiff_t r = 0; r < n_axes; r++) {
        const REAL weight = (REAL)flats->weights[k * n_axes + r];
        const REAL shift = (REAL)flats->shifts[k * n_axes + r];
        for (ptrdiff_t i = 0; i < n; i++) {
            const REAL score = scores[r * n + i] - shift;
            residual[i] -= score * score;
            total[i] += score * score * weight;
        }
    }
#pragma omp simd reduction(min : lowest)
    for (ptrdiff_t i = 0; i < n; i++) {
        const REAL large = squared[i] > length ? squared[i] : length;
        const REAL spare = residual[i] - share * large;
        lowest = spare < lowest ? spare : lowest;
    }
    return lowest;
}

/* The residual itself, of one row; axes (n_scores, p), the centre last. */
FOR_EACH_PROCESSOR
static REAL NAME(rest)(const PassFlats *flats, ptrdiff_t k, ptrdiff_t n, const REAL *row,
                       const REAL *axes, const REAL *scores, REAL *restrict left)
{
    const ptrdiff_t p = flats->n_variables, n_axes = flats->n_axes;
    REAL sum = 0;
    memcpy(left, row, p * sizeof(REAL));
    for (ptrdiff_t r = 0; r < flats->n_scores; r++) {
        const REAL *axis = axes + r * p;
        const REAL score =
            r == n_axes ? 1 : scores[r * n] - (REAL)flats->shifts[k * n_axes + r];
        for (ptrdiff_t j = 0; j < p; j++)
            left[j] -= score * axis[j];
    }
#pragma omp simd reduction(+ : sum)
    for (ptrdiff_t j = 0; j < p; j++)
        sum += left[j] * left[j];
    return sum;
}

/* Residuals and totals under flat k, with no digits lost; of the rows which, all if that is NULL. */
static void NAME(residuals)(const PassFlats *flats, ptrdiff_t k, ptrdiff_t n, const REAL *rows,
                            const int *which, const REAL *axes, const REAL *scores,
                            const REAL *squared, REAL *residual, REAL *total, REAL *left)
{
    const REAL length = (REAL)flats->lengths[k];
    if (NAME(project)(flats, k, n, scores, squared, residual, total) > 0)
        return;
    for (ptrdiff_t i = 0; i < n; i++) {
        const REAL large = squared[i] > length ? squared[i] : length;
        const REAL *row = rows + (which ? which[i] : i) * flats->n_variables;
        if (!(residual[i] > (REAL)flats->share * large))
            residual[i] = NAME(rest)(flats, k, n, row, axes, scores + i, left);
    }
}

/* Costs of rows that are not members. */
FOR_EACH_PROCESSOR
static void NAME(outside)(const PassFlats *flats, ptrdiff_t k, ptrdiff_t n, const REAL *scores,
                          const REAL *residual, const REAL *total, REAL *restrict cost)
{
    const REAL noise = (REAL)(0.5 / flats->noise), scale = (REAL)flats->scales[k];
    if (flats->criterion == BY_LIKELIHOOD) {
        for (ptrdiff_t i = 0; i < n; i++)
            cost[i] = scale + (residual[i] * noise + (REAL)0.5 * total[i]);
        return;
    }
    if (flats->criterion != BY_INFLUENCE) {
        memcpy(cost, residual, n * sizeof(REAL));
        return;
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        const REAL a = (1 + total[i]) * (1 + total[i]);
        cost[i] = a * a * residual[i];
    }
    for (ptrdiff_t r = 0; r < flats->n_axes; r++) {
        const REAL weight = (REAL)flats->weights[k * flats->n_axes + r];
        const REAL shift = (REAL)flats->shifts[k * flats->n_axes + r];
        for (ptrdiff_t i = 0; i < n; i++) {
            const REAL score = scores[r * n + i] - shift, energy = score * score;
            const REAL others = (total[i] - energy * weight) * (total[i] - energy * weight);
            cost[i] += others * others * energy;
        }
    }
}

static double NAME(energy)(const PassFlats *flats, ptrdiff_t k, ptrdiff_t n, ptrdiff_t r,
                           const REAL *scores)
{
    const double score = scores[r * n] - flats->shifts[k * flats->n_axes + r];
    return score * score;
}

/* Influence of a member: a^4 ||x_perp||^2 + sum_r (a - w_r)^4 d_r^2. */
static double NAME(member_influence)(const PassFlats *flats, ptrdiff_t k, ptrdiff_t n,
                                     const REAL *scores, double residual)
{
    const double *spectra = flats->spectra + k * flats->n_axes;
    double total = 0.0, sum = 0.0;
    for (ptrdiff_t r = 0; r < flats->n_axes; r++) {
        const double energy = NAME(energy)(flats, k, n, r, scores);
        if (energy >= LEVERAGE_OF_ONE * spectra[r])
            return INFINITY;
        total += energy / (spectra[r] - energy);
    }
    for (ptrdiff_t r = 0; r < flats->n_axes; r++) {
        const double energy = NAME(energy)(flats, k, n, r, scores);
        const double others = total - energy / (spectra[r] - energy);
        sum += others * others * others * others * energy;
    }
    total = (1.0 + total) * (1.0 + total);
    return total * total * residual + sum;
}

/* Squared error of a member left out, to first order: ||x_perp||^2 / (1 - sum h)^2, the leverage
   of the mean among the h. */
static double NAME(member_error)(const PassFlats *flats, ptrdiff_t k, ptrdiff_t n,
                                 const REAL *scores, double residual)
{
    double total = flats->mean_leverages[k];
    for (ptrdiff_t r = 0; r < flats->n_axes; r++)
        total += NAME(energy)(flats, k, n, r, scores) / flats->spectra[k * flats->n_axes + r];
    return total >= LEVERAGE_OF_ONE ? INFINITY : residual / ((1.0 - total) * (1.0 - total));
}

static double NAME(member)(const PassFlats *flats, ptrdiff_t k, ptrdiff_t n, const REAL *scores,
                           double residual, double total)
{
    switch (flats->criterion) {
    case BY_INFLUENCE:
        return NAME(member_influence)(flats, k, n, scores, residual);
    case BY_HAT:
        return NAME(member_error)(flats, k, n, scores, residual);
    case BY_LIKELIHOOD:
        residual = NAME(member_error)(flats, k, n, scores, residual);
        return flats->scales[k] + 0.5 * (residual / flats->noise + total);
    default:
        return residual;
    }
}

/* The least costs so far, whose they are, and the second least. */
FOR_EACH_PROCESSOR
static void NAME(compare)(ptrdiff_t n, int k, const REAL *cost, REAL *restrict least,
                          REAL *restrict second, int *restrict chosen)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        const REAL larger = cost[i] < least[i] ? least[i] : cost[i];
        second[i] = larger < second[i] ? larger : second[i];
        chosen[i] = cost[i] < least[i] ? k : chosen[i];
        least[i] = cost[i] < least[i] ? cost[i] : least[i];
    }
}

/* The cluster of least cost of every row, staying where the own ties with it; the sum of the own
   costs, of the least where there are no labels. order, ends: the rows by label; work: 6 n + p
   numbers, the least costs first and then the second least. */
static double NAME(choose)(const PassFlats *flats, ptrdiff_t n, const REAL *rows, const REAL *axes,
                           const REAL *scores, const REAL *squared, const int *labels,
                           const int *order, const int *ends, REAL *work, int *chosen)
{
    const ptrdiff_t q = flats->n_scores;
    REAL *least = work, *second = least + n, *own = second + n;
    REAL *residual = own + n, *total = residual + n, *cost = total + n, *left = cost + n;
    double objective = 0.0;
    for (ptrdiff_t i = 0; i < n; i++) {
        least[i] = second[i] = INFINITY;
        chosen[i] = 0;
    }
    for (int k = 0; k < flats->n_clusters; k++) {
        const REAL *mine = scores + k * q * n;
        NAME(residuals)(flats, k, n, rows, NULL, axes + k * q * flats->n_variables, mine, squared,
                        residual, total, left);
        NAME(outside)(flats, k, n, mine, residual, total, cost);
        for (ptrdiff_t j = ends[k]; labels && j < ends[k + 1]; j++) {
            const ptrdiff_t i = order[j];
            own[i] = cost[i] = (REAL)NAME(member)(flats, k, n, mine + i, residual[i], total[i]);
        }
        NAME(compare)(n, k, cost, least, second, chosen);
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        objective += labels ? own[i] : least[i];
        if (labels && own[i] <= least[i])
            chosen[i] = labels[i];
    }
    return objective;
}

/* Influence of some members of cluster k; the sum of their squared errors when left out.
   work: 2 n + p numbers. */
static double NAME(measure)(const PassFlats *flats, ptrdiff_t k, ptrdiff_t n, const REAL *rows,
                            const int *which, const REAL *axes, const REAL *scores,
                            const REAL *squared, REAL *work, REAL *influence)
{
    REAL *residual = work, *total = work + n, *left = total + n;
    double errors = 0.0;
    NAME(residuals)(flats, k, n, rows, which, axes, scores, squared, residual, total, left);
    for (ptrdiff_t i = 0; i < n; i++) {
        influence[which[i]] = (REAL)NAME(member_influence)(flats, k, n, scores + i, residual[i]);
        errors += NAME(member_error)(flats, k, n, scores + i, residual[i]);
    }
    return errors;
}

/* Inner products of four rows with some axes, all of p numbers; out (count, 4). */
INLINE void NAME(score_some)(const int count, ptrdiff_t p, const REAL *const *rows, const REAL *axes,
                             REAL *out)
{
    const REAL *a = rows[0], *b = rows[1], *c = rows[2], *d = rows[3];
    REAL sums[4 * AXES][SPAN] = {{0}};
    ptrdiff_t j = 0;
    for (; j + SPAN <= p; j += SPAN)
#pragma GCC unroll 5
        for (int r = 0; r < count; r++)
#pragma omp simd
            for (int i = 0; i < SPAN; i++) {
                const REAL axis = axes[r * p + j + i];
                sums[4 * r][i] += a[j + i] * axis;
                sums[4 * r + 1][i] += b[j + i] * axis;
                sums[4 * r + 2][i] += c[j + i] * axis;
                sums[4 * r + 3][i] += d[j + i] * axis;
            }
    for (int l = 0; l < 4 * count; l++) {
        out[l] = 0;
        for (int i = 0; i < SPAN; i++)
            out[l] += sums[l][i];
        for (ptrdiff_t i = j; i < p; i++)
            out[l] += rows[l % 4][i] * axes[l / 4 * p + i];
    }
}

FOR_EACH_PROCESSOR
static void NAME(score_all)(ptrdiff_t p, ptrdiff_t q, const REAL *const *rows, const REAL *axes,
                            REAL *out)
{
    for (ptrdiff_t r = 0; r < q; r += AXES)
        if (q - r >= 5)
            NAME(score_some)(5, p, rows, axes + r * p, out + 4 * r);
        else if (q - r == 4)
            NAME(score_some)(4, p, rows, axes + r * p, out + 4 * r);
        else if (q - r == 3)
            NAME(score_some)(3, p, rows, axes + r * p, out + 4 * r);
        else if (q - r == 2)
            NAME(score_some)(2, p, rows, axes + r * p, out + 4 * r);
        else
            NAME(score_some)(1, p, rows, axes + r * p, out + 4 * r);
}

/* Scores (n_scores, n) of some rows on the axes (n_scores, p) of one flat; four rows at a time, the
   last ones together with one that is there already. found: room for the scores of four. */
static void NAME(scores_of)(ptrdiff_t n, ptrdiff_t p, ptrdiff_t n_scores, const REAL *rows,
                            const int *which, const REAL *axes, REAL *scores, REAL *found)
{
    for (ptrdiff_t i = 0; i < n; i += 4) {
        const ptrdiff_t several = n - i < 4 ? n - i : 4;
        const REAL *four[4];
        for (ptrdiff_t l = 0; l < 4; l++)
            four[l] = rows + which[l < several ? i + l : i] * p;
        NAME(score_all)(p, n_scores, four, axes, found);
        for (ptrdiff_t r = 0; r < n_scores; r++)
            memcpy(scores + r * n + i, found + 4 * r, several * sizeof(REAL));
    }
}

/* Some lines, that are p apart, += weights (count, 4) @ four rows. */
INLINE void NAME(add_some)(const int count, ptrdiff_t n, const REAL *weights, const REAL *const *rows,
                           ptrdiff_t p, REAL *lines)
{
    const REAL *first = rows[0], *second = rows[1], *third = rows[2], *fourth = rows[3];
    REAL w[4 * AXES];
    memcpy(w, weights, 4 * count * sizeof(REAL));
#pragma omp simd
    for (ptrdiff_t j = 0; j < n; j++) {
        const REAL a = first[j], b = second[j], c = third[j], d = fourth[j];
#pragma GCC unroll 5
        for (int r = 0; r < count; r++)
            lines[r * p + j] = lines[r * p + j] + w[4 * r] * a + w[4 * r + 1] * b + w[4 * r + 2] * c
                + w[4 * r + 3] * d;
    }
}

FOR_EACH_PROCESSOR
static void NAME(add_all)(ptrdiff_t n, ptrdiff_t q, const REAL *weights, const REAL *const *rows,
                          ptrdiff_t p, REAL *lines)
{
    for (ptrdiff_t r = 0; r < q; r += AXES)
        if (q - r >= 5)
            NAME(add_some)(5, n, weights + 4 * r, rows, p, lines + r * p);
        else if (q - r == 4)
            NAME(add_some)(4, n, weights + 4 * r, rows, p, lines + r * p);
        else if (q - r == 3)
            NAME(add_some)(3, n, weights + 4 * r, rows, p, lines + r * p);
        else if (q - r == 2)
            NAME(add_some)(2, n, weights + 4 * r, rows, p, lines + r * p);
        else
            NAME(add_some)(1, n, weights + 4 * r, rows, p, lines + r * p);
}

/* The sum of some rows (totals, if not NULL), and of the rows times their scores: images
   (n_axes, p) += scores^T rows. The score of row which[j] on axis r is at
   scores[r * stride + at[j]]. Rows go four at a time, the last ones with others of no weight;
   weights: room for those of four. */
static void NAME(image)(ptrdiff_t n, ptrdiff_t p, ptrdiff_t n_axes, const REAL *rows,
                        const int *which, const int *at, const REAL *scores, ptrdiff_t stride,
                        REAL sign, REAL *weights, REAL *totals, REAL *images)
{
    for (ptrdiff_t from = 0; from < p; from += TILE) {
        const ptrdiff_t width = p - from < TILE ? p - from : TILE;
        for (ptrdiff_t j = 0; j < n; j += 4) {
            const REAL *row[4];
            REAL weight[4];
            for (ptrdiff_t l = 0; l < 4; l++) {
                const ptrdiff_t member = j + l < n ? j + l : j;
                weight[l] = j + l < n ? sign : 0;
                row[l] = rows + which[member] * p + from;
                for (ptrdiff_t r = 0; r < n_axes; r++)
                    weights[4 * r + l] = weight[l] * scores[r * stride + at[member]];
            }
            if (totals)
                NAME(add_all)(width, 1, weight, row, p, totals + from);
            NAME(add_all)(width, n_axes, weights, row, p, images + from);
        }
    }
}
