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

/* Squared error of a member left out, to first order: ||x_perp||^2 / (1 - sum h)^2. */
static double NAME(member_error)(const PassFlats *flats, ptrdiff_t k, ptrdiff_t n,
                                 const REAL *scores, double residual)
{
    double total = 0.0;
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
   numbers, the least costs first and then the second least; bounds (n, K): the squared residuals,
   if they are to be kept. */
static double NAME(choose)(const PassFlats *flats, ptrdiff_t n, const REAL *rows, const REAL *axes,
                           const REAL *scores, const REAL *squared, const int *labels,
                           const int *order, const int *ends, REAL *work, int *chosen,
                           REAL *restrict bounds)
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
        for (ptrdiff_t i = 0; bounds && i < n; i++)
            bounds[i * flats->n_clusters + k] = residual[i];
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

/* Rows whose two least costs differ by no more than a share of what they are made of, and how many
   there are; costs: least and second least. */
FOR_EACH_PROCESSOR
static int NAME(doubtful)(const PassFlats *flats, int n, const REAL *squared, const REAL *costs,
                          REAL share, int *restrict which)
{
    const REAL unit = flats->criterion == BY_LIKELIHOOD ? (REAL)(0.5 / flats->noise) : 1;
    REAL longest = 0;
    int found = 0;
    for (int k = 0; k < flats->n_clusters; k++)
        longest = flats->lengths[k] > longest ? (REAL)flats->lengths[k] : longest;
    for (int i = 0; i < n; i++) {
        const REAL large = squared[i] > longest ? squared[i] : longest;
        const REAL size = unit * large + (costs[i] < 0 ? -costs[i] : costs[i]);
        which[found] = i;
        found += costs[n + i] - costs[i] <= share * size;
    }
    return found;
}

/* Bounds (n, K) from below on squared residuals, after flats have turned by angles of these sines:
   a residual changes by at most that share of the squared length. */
FOR_EACH_PROCESSOR
static void NAME(lower)(ptrdiff_t n, ptrdiff_t n_clusters, const REAL *squared, const REAL *sines,
                        REAL *restrict bounds)
{
    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t k = 0; k < n_clusters; k++)
            bounds[i * n_clusters + k] -= sines[k] * squared[i];
}

/* Rows that may cost less in cluster k than where they are, and how many there are. */
FOR_EACH_PROCESSOR
static int NAME(tempted)(const PassFlats *flats, int k, int n, const int *labels, const REAL *own,
                         const REAL *bounds, int *restrict which)
{
    const int likelihood = flats->criterion == BY_LIKELIHOOD;
    const REAL scale = likelihood ? (REAL)flats->scales[k] : 0;
    const REAL weight = likelihood ? (REAL)(0.5 / flats->noise) : 1;
    int found = 0;
    for (int i = 0; i < n; i++) {
        which[found] = i;
        found += labels[i] != k && scale + weight * bounds[i * flats->n_clusters + k] < own[i];
    }
    return found;
}

/* Scores (n_scores, n) under flat k of some of m rows, to their places among all, (K, n_scores, m). */
static void NAME(keep)(const PassFlats *flats, ptrdiff_t k, ptrdiff_t n, const REAL *scores,
                       const int *which, ptrdiff_t m, REAL *restrict all)
{
    for (ptrdiff_t r = 0; r < flats->n_scores; r++)
        for (ptrdiff_t j = 0; j < n; j++)
            all[(k * flats->n_scores + r) * m + which[j]] = scores[r * n + j];
}

/* Costs of some members of cluster k, and their residuals as bounds; work: 3 n + p numbers. */
static void NAME(stay)(const PassFlats *flats, ptrdiff_t k, ptrdiff_t n, const REAL *rows,
                       const int *which, const REAL *axes, const REAL *scores,
                       const REAL *squared, REAL *work, REAL *own, REAL *bounds, ptrdiff_t m,
                       REAL *all)
{
    REAL *residual = work, *total = work + n, *left = total + 2 * n;
    NAME(keep)(flats, k, n, scores, which, m, all);
    NAME(residuals)(flats, k, n, rows, which, axes, scores, squared, residual, total, left);
    for (ptrdiff_t j = 0; j < n; j++) {
        own[which[j]] = (REAL)NAME(member)(flats, k, n, scores + j, residual[j], total[j]);
        bounds[which[j] * flats->n_clusters + k] = residual[j];
    }
}

/* The same of some rows that are no members; those that cost less there choose it. */
static void NAME(leave)(const PassFlats *flats, int k, ptrdiff_t n, const REAL *rows,
                        const int *which, const REAL *axes, const REAL *scores,
                        const REAL *squared, REAL *work, REAL *least, int *chosen, REAL *bounds,
                        ptrdiff_t m, REAL *all)
{
    REAL *residual = work, *total = work + n, *cost = total + n, *left = cost + n;
    NAME(keep)(flats, k, n, scores, which, m, all);
    NAME(residuals)(flats, k, n, rows, which, axes, scores, squared, residual, total, left);
    NAME(outside)(flats, k, n, scores, residual, total, cost);
    for (ptrdiff_t j = 0; j < n; j++) {
        const ptrdiff_t i = which[j];
        bounds[i * flats->n_clusters + k] = residual[j];
        chosen[i] = cost[j] < least[i] ? k : chosen[i];
        least[i] = cost[j] < least[i] ? cost[j] : least[i];
    }
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

/* Inner products of four rows with four axes, out (4, 4): those of one axis side by side. */
FOR_EACH_PROCESSOR
static void NAME(four_scores)(ptrdiff_t p, const REAL *const *rows, const REAL *const *axes,
                              REAL *out)
{
    const REAL *a = rows[0], *b = rows[1], *c = rows[2], *d = rows[3];
    const REAL *s = axes[0], *t = axes[1], *u = axes[2], *v = axes[3];
    REAL as = 0, bs = 0, cs = 0, ds = 0, at = 0, bt = 0, ct = 0, dt = 0;
    REAL au = 0, bu = 0, cu = 0, du = 0, av = 0, bv = 0, cv = 0, dv = 0;
#pragma omp simd reduction(+ : as, bs, cs, ds, at, bt, ct, dt, au, bu, cu, du, av, bv, cv, dv)
    for (ptrdiff_t j = 0; j < p; j++) {
        as += a[j] * s[j], bs += b[j] * s[j], cs += c[j] * s[j], ds += d[j] * s[j];
        at += a[j] * t[j], bt += b[j] * t[j], ct += c[j] * t[j], dt += d[j] * t[j];
        au += a[j] * u[j], bu += b[j] * u[j], cu += c[j] * u[j], du += d[j] * u[j];
        av += a[j] * v[j], bv += b[j] * v[j], cv += c[j] * v[j], dv += d[j] * v[j];
    }
    out[0] = as, out[1] = bs, out[2] = cs, out[3] = ds;
    out[4] = at, out[5] = bt, out[6] = ct, out[7] = dt;
    out[8] = au, out[9] = bu, out[10] = cu, out[11] = du;
    out[12] = av, out[13] = bv, out[14] = cv, out[15] = dv;
}

/* Scores (n_scores, n) of some rows on the axes (n_scores, p) of one flat; four at a time, the last
   ones together with one that is there already. */
static void NAME(scores_of)(ptrdiff_t n, ptrdiff_t p, ptrdiff_t n_scores, const REAL *rows,
                            const int *which, const REAL *axes, REAL *scores)
{
    for (ptrdiff_t i = 0; i < n; i += 4) {
        const ptrdiff_t several = n - i < 4 ? n - i : 4;
        const REAL *four[4], *along[4];
        REAL found[16];
        for (ptrdiff_t l = 0; l < 4; l++)
            four[l] = rows + which[l < several ? i + l : i] * p;
        for (ptrdiff_t r = 0; r < n_scores; r += 4) {
            const ptrdiff_t these = n_scores - r < 4 ? n_scores - r : 4;
            for (ptrdiff_t l = 0; l < 4; l++)
                along[l] = axes + (l < these ? r + l : r) * p;
            NAME(four_scores)(p, four, along, found);
            for (ptrdiff_t l = 0; l < these; l++)
                memcpy(scores + (r + l) * n + i, found + 4 * l, several * sizeof(REAL));
        }
    }
}

/* out += a first + b second + c third + d fourth */
FOR_EACH_PROCESSOR
static void NAME(four)(ptrdiff_t n, const REAL *weights, const REAL *const *rows,
                       REAL *restrict out)
{
    const REAL a = weights[0], b = weights[1], c = weights[2], d = weights[3];
    const REAL *first = rows[0], *second = rows[1], *third = rows[2], *fourth = rows[3];
    for (ptrdiff_t j = 0; j < n; j++)
        out[j] += (a * first[j] + b * second[j]) + (c * third[j] + d * fourth[j]);
}

/* The same with four sets of weights, (4, 4), for four lines that are p apart. */
FOR_EACH_PROCESSOR
static void NAME(four_by_four)(ptrdiff_t n, const REAL *weights, const REAL *const *rows,
                               ptrdiff_t p, REAL *out)
{
    const REAL *first = rows[0], *second = rows[1], *third = rows[2], *fourth = rows[3];
    REAL *s = out, *t = out + p, *u = out + 2 * p, *v = out + 3 * p, w[16];
    memcpy(w, weights, sizeof w);
#pragma omp simd
    for (ptrdiff_t j = 0; j < n; j++) {
        const REAL a = first[j], b = second[j], c = third[j], d = fourth[j];
        s[j] += (w[0] * a + w[1] * b) + (w[2] * c + w[3] * d);
        t[j] += (w[4] * a + w[5] * b) + (w[6] * c + w[7] * d);
        u[j] += (w[8] * a + w[9] * b) + (w[10] * c + w[11] * d);
        v[j] += (w[12] * a + w[13] * b) + (w[14] * c + w[15] * d);
    }
}

/* The sum of some rows (totals, if not NULL), and of the rows times their scores: images
   (n_axes, p) += scores^T rows. The score of row which[j] on axis r is at
   scores[r * stride + which[j]], or at j if they come in this order. Rows go four at a time, the
   last ones with others of no weight. */
static void NAME(image)(ptrdiff_t n, ptrdiff_t p, ptrdiff_t n_axes, const REAL *rows,
                        const int *which, const REAL *scores, ptrdiff_t stride, int in_order,
                        REAL sign, REAL *totals, REAL *images)
{
    for (ptrdiff_t from = 0; from < p; from += TILE) {
        const ptrdiff_t width = p - from < TILE ? p - from : TILE;
        for (ptrdiff_t j = 0; j < n; j += 4) {
            const REAL *row[4];
            REAL weight[4], weights[16];
            ptrdiff_t at[4], r = 0;
            for (int l = 0; l < 4; l++) {
                const ptrdiff_t member = j + l < n ? j + l : j;
                weight[l] = j + l < n ? sign : 0;
                at[l] = in_order ? member : which[member];
                row[l] = rows + which[member] * p + from;
            }
            if (totals)
                NAME(four)(width, weight, row, totals + from);
            while (r < n_axes) {
                const ptrdiff_t these = n_axes - r < 4 ? 1 : 4;
                for (ptrdiff_t l = 0; l < 4 * these; l++)
                    weights[l] = weight[l % 4] * scores[(r + l / 4) * stride + at[l % 4]];
                if (these == 4)
                    NAME(four_by_four)(width, weights, row, p, images + r * p + from);
                else
                    NAME(four)(width, weights, row, images + r * p + from);
                r += these;
            }
        }
    }
}
