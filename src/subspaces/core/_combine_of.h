/* Sums of rows of a matrix, for one precision. */

/* Some columns of `combine`, for some axes. */
INLINE void NAME(combine_some)(const int count, const ptrdiff_t width, ptrdiff_t n, ptrdiff_t m,
                               const REAL *matrix, const ptrdiff_t *rows, const REAL *weights,
                               REAL *restrict out)
{
    REAL sums[AXES][COLUMNS] = {{0}};
    for (ptrdiff_t a = 0; a < m; a++) {
        const REAL *row = matrix + (rows ? rows[a] : a) * n;
        FETCH(row + AHEAD * COLUMNS);
        FETCH(row + AHEAD * COLUMNS + COLUMNS / 2);
#pragma GCC unroll 5
        for (int r = 0; r < count; r++)
#pragma omp simd
            for (ptrdiff_t i = 0; i < width; i++)
                sums[r][i] += weights[r * m + a] * row[i];
    }
    for (int r = 0; r < count; r++)
        for (ptrdiff_t i = 0; i < width; i++)
            out[r * n + i] = sums[r][i];
}

/* Some columns of `combine`, for all axes. */
INLINE void NAME(combine_columns)(const ptrdiff_t width, ptrdiff_t n, ptrdiff_t m, ptrdiff_t q,
                                  const REAL *matrix, const ptrdiff_t *rows, const REAL *weights,
                                  REAL *restrict out)
{
    for (ptrdiff_t r = 0; r < q; r += AXES) {
        const REAL *some = weights + r * m;
        REAL *to = out + r * n;
        if (q - r >= 5)
            NAME(combine_some)(5, width, n, m, matrix, rows, some, to);
        else if (q - r == 4)
            NAME(combine_some)(4, width, n, m, matrix, rows, some, to);
        else if (q - r == 3)
            NAME(combine_some)(3, width, n, m, matrix, rows, some, to);
        else if (q - r == 2)
            NAME(combine_some)(2, width, n, m, matrix, rows, some, to);
        else
            NAME(combine_some)(1, width, n, m, matrix, rows, some, to);
    }
}

/* out (q, n) = weights (q, m) @ the m rows named, or the first m, of a matrix (., n). That is read
   once: it may be large, and its rows lie apart, which no processor foresees. The last columns may
   be summed twice. */
FOR_EACH_PROCESSOR
static void NAME(combine)(ptrdiff_t n, ptrdiff_t m, ptrdiff_t q, const REAL *matrix,
                          const ptrdiff_t *rows, const REAL *weights, REAL *restrict out)
{
    const ptrdiff_t few = COLUMNS / 4;
    ptrdiff_t i = 0;
    for (; i + COLUMNS <= n; i += COLUMNS)
        NAME(combine_columns)(COLUMNS, n, m, q, matrix + i, rows, weights, out + i);
    for (; i < n && few <= n; i += few) {
        i = i < n - few ? i : n - few;
        NAME(combine_columns)(few, n, m, q, matrix + i, rows, weights, out + i);
    }
    if (n < few)
        NAME(combine_columns)(n, n, m, q, matrix, rows, weights, out);
}
