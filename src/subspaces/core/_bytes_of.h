/* What bytes tell of residuals, for one precision.

   With x = s (y + e), y whole numbers, and axes V = W + F, W in bytes, V' x = s (W'y + F'y + V'e): the
   scores are no longer than s (|W'y| + |F| |y| + |e|), and the residual is at least what that leaves of
   the squared length. */

#define ROUNDING 1e-5f /* share of a squared length: more than single precision loses in these sums */

/* A row to bytes, zeros behind it. One whose numbers have no unit in single precision, as a row of
   zeros, is all error. */
#if HAS_BYTE_CODE
ON_VECTORS
static Rounded NAME(to_bytes)(ptrdiff_t p, ptrdiff_t along, const REAL *row, int8_t *bytes)
{
    const ptrdiff_t whole = p / SIDE * SIDE;
    const __mmask16 all = 0xFFFF, last = (__mmask16)((1u << (p - whole)) - 1);
    __m512 top = _mm512_abs_ps(NAME(numbers)(row + whole, last));
    __m512 error = _mm512_setzero_ps(), length = error;
    __m512i total = _mm512_setzero_si512();
    for (ptrdiff_t j = 0; j < whole; j += SIDE)
        top = _mm512_max_ps(top, _mm512_abs_ps(NAME(numbers)(row + j, all)));
    const float unit = _mm512_reduce_max_ps(top) / LARGEST, inverse = 1 / unit;
    const __m512 scale = _mm512_set1_ps(inverse);
    memset(bytes + whole, 0, along - whole);
    if (!(inverse > 0 && isfinite(inverse))) {
        memset(bytes, 0, whole);
        return (Rounded){1, 0, INFINITY, 0};
    }
    for (ptrdiff_t j = 0; j < whole; j += SIDE)
        round_sixteen(_mm512_mul_ps(scale, NAME(numbers)(row + j, all)), bytes + j, &error, &length,
                      &total);
    if (last)
        round_sixteen(_mm512_mul_ps(scale, NAME(numbers)(row + whole, last)), bytes + whole, &error,
                      &length, &total);
    const float size = sqrtf(_mm512_reduce_add_ps(length));
    const float lost = 1.0001f * sqrtf(_mm512_reduce_add_ps(error)) + 1e-6f * size;
    return (Rounded){unit, size, lost, _mm512_reduce_add_epi32(total)};
}
#else
static Rounded NAME(to_bytes)(ptrdiff_t p, ptrdiff_t along, const REAL *row, int8_t *bytes)
{
    (void)p, (void)along, (void)row, (void)bytes;
    return (Rounded){1, 0, INFINITY, 0};
}
#endif

/* Squared residuals of a row from below, (K,), by its sums (across,); scores: room for all of them. */
FOR_EACH_PROCESSOR
static void NAME(residuals_by_bytes)(const PassFlats *flats, const ByteAxes *axes, const int *sums,
                                     const Rounded *rounded, REAL squared, REAL *restrict scores,
                                     REAL *restrict least)
{
    const ptrdiff_t q = flats->n_scores, n_axes = flats->n_axes, n_clusters = flats->n_clusters;
    const int offset = OFFSET * rounded->total;
    const REAL unit = rounded->unit, hidden = unit * rounded->error, length = unit * rounded->length;
    for (ptrdiff_t a = 0; a < n_clusters * q; a++)
        scores[a] = unit * axes->scales[a] * (REAL)(sums[a] - offset);
    for (ptrdiff_t k = 0; k < n_clusters; k++) {
        REAL seen = 0;
        for (ptrdiff_t r = 0; r < n_axes; r++) {
            const REAL score = scores[k * q + r] - (REAL)flats->shifts[k * n_axes + r];
            seen += score * score;
        }
        least[k] = seen;
    }
#pragma omp simd
    for (ptrdiff_t k = 0; k < n_clusters; k++) {
        const REAL far = (REAL)flats->lengths[k], large = squared > far ? squared : far;
        const REAL seen = NAME(root)(least[k]) + hidden + (REAL)axes->slacks[k] * length;
        const REAL most = NAME(root)(far) * hidden + (REAL)axes->centre_slacks[k] * length;
        const REAL along = q > n_axes ? 2 * (scores[k * q + q - 1] + most) : 0;
        least[k] = squared - ROUNDING * large + far - along - seen * seen;
    }
    if (isinf(rounded->error))
        for (ptrdiff_t k = 0; k < n_clusters; k++)
            least[k] = -INFINITY;
}

/* Bounds (m, K) from below on squared residuals of some rows, which (n,) of m: set to what bytes
   tell, with the squared lengths (m,) (fresh), or raised to it. bytes, sums, scores, least: room for
   GROUP rows, their sums, and the scores and bounds of one. */
static void NAME(bound_by_bytes)(const PassFlats *flats, const ByteAxes *axes, ptrdiff_t n,
                                 const int *which, const REAL *rows, int fresh, int8_t *bytes,
                                 int *sums, REAL *scores, REAL *least, REAL *squared, REAL *bounds)
{
    const ptrdiff_t p = flats->n_variables, n_clusters = flats->n_clusters;
    Rounded rounded[GROUP];
    for (ptrdiff_t i = 0; i < n; i += GROUP) {
        const ptrdiff_t several = n - i < GROUP ? n - i : GROUP;
        for (ptrdiff_t l = 0; l < several; l++) {
            const REAL *row = rows + which[i + l] * p;
            if (fresh)
                NAME(square)(1, p, row, squared + which[i + l]);
            rounded[l] = NAME(to_bytes)(p, axes->along, row, bytes + l * byte_stride(axes));
        }
        multiply_bytes(axes, several, bytes, sums);
        for (ptrdiff_t l = 0; l < several; l++) {
            REAL *bound = bounds + which[i + l] * n_clusters;
            NAME(residuals_by_bytes)(flats, axes, sums + l * axes->across, rounded + l,
                                     squared[which[i + l]], scores, least);
            for (ptrdiff_t k = 0; k < n_clusters; k++)
                bound[k] = fresh || least[k] > bound[k] ? least[k] : bound[k];
        }
    }
}
