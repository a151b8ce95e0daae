/* Sums of rows of a matrix, for one precision. */

/* Some columns of `combine`, for some axes: rows from a first one to before a last. */
INLINE void NAME(combine_some)(const int count, const ptrdiff_t width, ptrdiff_t n,
                               ptrdiff_t first, ptrdiff_t last, const REAL *matrix,
                               const ptrdiff_t *rows, ptrdiff_t apart, const REAL *weights,
                               REAL *restrict out)
{
    REAL sums[AXES][COLUMNS] = {{0}};
    if (first)
        for (int r = 0; r < count; r++)
            for (ptrdiff_t i = 0; i < width; i++)
                sums[r][i] = out[r * n + i];
    for (ptrdiff_t a = first; a < last; a++) {
        const REAL *row = matrix + (rows ? rows[a] : a) * n;
        FETCH(row + AHEAD * COLUMNS);
        FETCH(row + AHEAD * COLUMNS + COLUMNS / 2);
#pragma GCC unroll 5
        for (int r = 0; r < count; r++)
#pragma omp simd
            for (ptrdiff_t i = 0; i < width; i++)
                sums[r][i] += weights[r * apart + a] * row[i];
    }
    for (int r = 0; r < count; r++)
        for (ptrdiff_t i = 0; i < width; i++)
            out[r * n + i] = sums[r][i];
}

/* Some columns of `combine`, for all axes. */
INLINE void NAME(combine_columns)(const ptrdiff_t width, ptrdiff_t n, ptrdiff_t q,
                                  ptrdiff_t first, ptrdiff_t last, const REAL *matrix,
                                  const ptrdiff_t *rows, ptrdiff_t apart, const REAL *weights,
                                  REAL *restrict out)
{
    for (ptrdiff_t r = 0; r < q; r += AXES) {
        const REAL *some = weights + r * apart;
        REAL *to = out + r * n;
        if (q - r >= 5)
            NAME(combine_some)(5, width, n, first, last, matrix, rows, apart, some, to);
        else if (q - r == 4)
            NAME(combine_some)(4, width, n, first, last, matrix, rows, apart, some, to);
        else if (q - r == 3)
            NAME(combine_some)(3, width, n, first, last, matrix, rows, apart, some, to);
        else if (q - r == 2)
            NAME(combine_some)(2, width, n, first, last, matrix, rows, apart, some, to);
        else
            NAME(combine_some)(1, width, n, first, last, matrix, rows, apart, some, to);
    }
}

/* out (q, n) = weights @ the m rows named, or the first m, of a matrix (., n). Weights: (q, m), the
   axes so many numbers apart. Where the matrix is large, a few rows at a time are read from one end
   to the other, which the processor foresees. The last columns may be summed twice, hence all their
   rows at once. */
FOR_EACH_PROCESSOR
static void NAME(combine)(ptrdiff_t n, ptrdiff_t m, ptrdiff_t q, const REAL *matrix,
                          const ptrdiff_t *rows, ptrdiff_t apart, const REAL *weights,
                          REAL *restrict out)
{
    const ptrdiff_t few = COLUMNS / 2, some = n < WIDE ? m : SIDE_BY_SIDE;
    ptrdiff_t i = n / COLUMNS * COLUMNS;
    for (ptrdiff_t first = 0; first < m; first += some) {
        const ptrdiff_t last = first + some < m ? first + some : m;
        for (ptrdiff_t j = 0; j < i; j += COLUMNS)
            NAME(combine_columns)(COLUMNS, n, q, first, last, matrix + j, rows, apart, weights,
                                  out + j);
    }
    for (; i < n && few <= n; i += few) {
        i = i < n - few ? i : n - few;
        NAME(combine_columns)(few, n, q, 0, m, matrix + i, rows, apart, weights, out + i);
    }
    if (n < few)
        NAME(combine_columns)(n, n, q, 0, m, matrix, rows, apart, weights, out);
}
