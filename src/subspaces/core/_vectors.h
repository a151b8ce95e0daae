/* The innermost loops, compiled for several generations of processors; the loader takes the best. */
#ifndef SUBSPACES_VECTORS_H
#define SUBSPACES_VECTORS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define FOR_EACH_PROCESSOR __attribute__((target_clones("default", "avx2,fma", "avx512f")))
#else
#define FOR_EACH_PROCESSOR
#endif

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#define FETCH(address) __builtin_prefetch(address, 0, 2)
#else
#define INLINE static inline
#define FETCH(address)
#endif

#define AXES 5          /* that are multiplied at once: their sums stay in registers */
#define AHEAD 3         /* blocks of columns fetched before their turn */
#define WIDE 1024       /* columns of a matrix that no cache holds; of it */
#define SIDE_BY_SIDE 16 /* rows are read at a time */

#define REAL double
#define NAME(stem) stem##_double
#define COLUMNS 16
#include "_combine_of.h"
#undef REAL
#undef NAME
#undef COLUMNS

#define REAL float
#define NAME(stem) stem##_float
#define COLUMNS 32
#include "_combine_of.h"
#undef REAL
#undef NAME
#undef COLUMNS

/* out = scale * given, in single precision */
FOR_EACH_PROCESSOR
static void shorten(ptrdiff_t n, double scale, const double *restrict given, float *restrict out)
{
    for (ptrdiff_t i = 0; i < n; i++)
        out[i] = (float)(scale * given[i]);
}

/* axis += change */
FOR_EACH_PROCESSOR
static void add_short(ptrdiff_t n, const float *restrict change, double *restrict axis)
{
    for (ptrdiff_t i = 0; i < n; i++)
        axis[i] += change[i];
}

/* before <- 2 growth (scale product - now + force) - fade before: see `chebyshev` */
FOR_EACH_PROCESSOR
static void filter_axis(ptrdiff_t n, float scale, float growth, float fade,
                        const float *restrict product, const float *restrict now,
                        const float *restrict force, float *restrict before)
{
    for (ptrdiff_t i = 0; i < n; i++)
        before[i] = 2 * growth * (scale * product[i] - now[i] + force[i]) - fade * before[i];
}

#define TOGETHER 64 /* rows whose sums stay in the innermost cache */

/* `influence_cost` of n outsiders; scores (q, n). */
FOR_EACH_PROCESSOR
static void influence_costs(ptrdiff_t n, ptrdiff_t q, const double *scores, const double *values,
                            const double *restrict residual, double *restrict out)
{
    for (ptrdiff_t start = 0; start < n; start += TOGETHER) {
        const ptrdiff_t width = n - start < TOGETHER ? n - start : TOGETHER;
        double total[TOGETHER] = {0.0}, energy[TOGETHER] = {0.0};
        for (ptrdiff_t r = 0; r < q; r++) {
            const double *score = scores + r * n + start, weight = 1.0 / values[r];
            for (ptrdiff_t i = 0; i < width; i++)
                total[i] += weight * (score[i] * score[i]);
        }
        for (ptrdiff_t r = 0; r < q; r++) {
            const double *score = scores + r * n + start, weight = 1.0 / values[r];
            for (ptrdiff_t i = 0; i < width; i++) {
                const double d = score[i] * score[i], others = total[i] - weight * d;
                energy[i] += (others * others) * (others * others) * d;
            }
        }
        for (ptrdiff_t i = 0; i < width; i++) {
            const double all = (1.0 + total[i]) * (1.0 + total[i]);
            out[start + i] = all * all * residual[start + i] + energy[i];
        }
    }
}

/* out += a first + b second + c third + d fourth, each of length n */
FOR_EACH_PROCESSOR
static void add_four(ptrdiff_t n, const double *restrict weights, const double *restrict first,
                     const double *restrict second, const double *restrict third,
                     const double *restrict fourth, double *restrict out)
{
    const double a = weights[0], b = weights[1], c = weights[2], d = weights[3];
    for (ptrdiff_t i = 0; i < n; i++)
        out[i] += (a * first[i] + b * second[i]) + (c * third[i] + d * fourth[i]);
}

/* sum of weights / (poles - origin - shift) and, at once, of its derivative; the two differences
   must be taken in this order, so sums alone may be reordered (omp simd, not -ffast-math) */
FOR_EACH_PROCESSOR
static void secular_sums(ptrdiff_t n, const double *restrict weights, const double *restrict poles,
                         double origin, double shift, double *value, double *slope)
{
    double sum = 0.0, derivative = 0.0;
#pragma omp simd reduction(+ : sum, derivative)
    for (ptrdiff_t l = 0; l < n; l++) {
        const double inverse = 1.0 / ((poles[l] - origin) - shift);
        const double term = weights[l] * inverse;
        sum += term;
        derivative += term * inverse;
    }
    *value = sum;
    *slope = derivative;
}

/* remainder -= energy / (poles - origin - shift) */
FOR_EACH_PROCESSOR
static void take_axis(ptrdiff_t n, double energy, const double *restrict poles, double origin,
                      double shift, double *restrict remainder)
{
    for (ptrdiff_t l = 0; l < n; l++)
        remainder[l] -= energy / ((poles[l] - origin) - shift);
}

/* first . second */
FOR_EACH_PROCESSOR
static double inner(ptrdiff_t n, const double *first, const double *second)
{
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (ptrdiff_t i = 0; i < n; i++)
        sum += first[i] * second[i];
    return sum;
}

/* The same of numbers in single precision. */
FOR_EACH_PROCESSOR
static double inner_short(ptrdiff_t n, const float *first, const float *second)
{
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (ptrdiff_t i = 0; i < n; i++)
        sum += (double)first[i] * second[i];
    return sum;
}

/* out += weight * given */
FOR_EACH_PROCESSOR
static void add_one(ptrdiff_t n, double weight, const double *restrict given, double *restrict out)
{
    for (ptrdiff_t i = 0; i < n; i++)
        out[i] += weight * given[i];
}

/* weights = y^2, at least so much; remainder = 1 */
FOR_EACH_PROCESSOR
static void begin_row(ptrdiff_t n, const double *restrict y, double least,
                      double *restrict weights, double *restrict remainder)
{
    for (ptrdiff_t l = 0; l < n; l++) {
        const double square = y[l] * y[l];
        weights[l] = square > least ? square : least;
        remainder[l] = 1.0;
    }
}

/* sum of (y remainder)^2 */
FOR_EACH_PROCESSOR
static double end_row(ptrdiff_t n, const double *restrict y, const double *restrict remainder)
{
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (ptrdiff_t l = 0; l < n; l++)
        sum += (y[l] * remainder[l]) * (y[l] * remainder[l]);
    return sum;
}

/* A number that two partitions share once in 2^64: a sum, over rows, of splitmix64's finaliser. */
FOR_EACH_PROCESSOR
static uint64_t key_of(ptrdiff_t n, const ptrdiff_t *labels)
{
    uint64_t key = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        uint64_t word = ((uint64_t)i << 20) + (uint64_t)labels[i] + 0x9E3779B97F4A7C15u;
        word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9u;
        word = (word ^ (word >> 27)) * 0x94D049BB133111EBu;
        key += word ^ (word >> 31);
    }
    return key;
}

/* out += given^2 */
FOR_EACH_PROCESSOR
static void add_squares(ptrdiff_t n, const double *restrict given, double *restrict out)
{
    for (ptrdiff_t i = 0; i < n; i++)
        out[i] += given[i] * given[i];
}

/* The pivots of T - shift from its first row on, for LANES shifts at once: T is tridiagonal with a
   diagonal and the squares of what is beside it, step 1; from the last row on where both pointers
   are to the last and step is -1. above: how many are positive, as are as many eigenvalues of
   T - shift. pivots, unless NULL: (m, LANES), in the order taken. */
#define LANES 16
FOR_EACH_PROCESSOR
static void take_pivots(ptrdiff_t m, const double *diagonal, const double *squares, ptrdiff_t step,
                        const double *restrict shift, double *restrict above,
                        double *restrict pivots)
{
    double pivot[LANES], count[LANES];
    for (ptrdiff_t l = 0; l < LANES; l++) {
        pivot[l] = 1.0;
        count[l] = 0.0;
    }
    for (ptrdiff_t k = 0; k < m; k++) {
        const double here = diagonal[k * step], square = k ? squares[(k - 1) * step] : 0.0;
#pragma omp simd
        for (ptrdiff_t l = 0; l < LANES; l++) {
            const double next = (here - shift[l]) - square / pivot[l];
            pivot[l] = fabs(next) > 1e-20 ? next : 1e-20;
            count[l] += pivot[l] > 0.0 ? 1.0 : 0.0;
        }
        if (pivots)
            for (ptrdiff_t l = 0; l < LANES; l++)
                pivots[k * LANES + l] = pivot[l];
    }
    for (ptrdiff_t l = 0; l < LANES; l++)
        above[l] = count[l];
}

/* z_i^T (t - T)^{-1} z_i for all columns of z (m, m), from the factors (4, m) of t - T
   (`_nodes.pxi`), ABREAST columns at a time, of which m has no fewer */
#define ABREAST 32
FOR_EACH_PROCESSOR
static void quadratic_forms(ptrdiff_t m, const double *restrict z, const double *restrict factors,
                            double *restrict forms)
{
    const double *square = factors, *cross = square + m, *last = cross + m, *earlier = last + m;
    for (ptrdiff_t start = 0; start < m; start += ABREAST) {
        const ptrdiff_t first = start + ABREAST <= m ? start : m - ABREAST;
        double sum[ABREAST] = {0.0}, one[ABREAST] = {0.0}, two[ABREAST] = {0.0};
        for (ptrdiff_t k = 0; k < m; k++) {
            const double *restrict row = z + k * m + first;
            const double a = square[k], b = cross[k], c = last[k], d = earlier[k];
#pragma omp simd
            for (ptrdiff_t i = 0; i < ABREAST; i++) {
                const double now = row[i] - c * one[i] - d * two[i];
                sum[i] += now * (a * now + b * one[i]);
                two[i] = one[i];
                one[i] = now;
            }
        }
        for (ptrdiff_t i = 0; i < ABREAST; i++)
            forms[first + i] = sum[i];
    }
}

/* f_i(t) of `_moments.pxi`: moments (count, m), a series in (x - centre) / width; at (5, m) is
   scratch */
typedef struct {
    double bound, centre, width;
    ptrdiff_t count;
    const double *moments;
    double *at;
} Series;

/* The secular function at origin + shift for m members at once, and its slopes on both sides of
   the interval: by the poles up to r, and by those below it with the rest. */
FOR_EACH_PROCESSOR
static void secular_values(ptrdiff_t m, const double *restrict weights, const double *poles,
                           ptrdiff_t q, ptrdiff_t r, const Series *rest,
                           const double *restrict origin, const double *restrict shift,
                           double *restrict value, double *restrict above, double *restrict below)
{
    double *restrict place = rest->at + 3 * m, *restrict slope = rest->at + 4 * m;
    const double unit = 2.0 / rest->bound, centre = rest->centre, width = rest->width;
    const double narrow = 1.0 / width;
    const double *moments = rest->moments + (rest->count - 1) * m;
    for (ptrdiff_t i = 0; i < m; i++) {
        const double z = unit * (origin[i] + shift[i]) - 1.0, square = z * z - 1.0;
        place[i] = (1.0 / (z + sqrt(square > 1e-6 ? square : 1e-6)) - centre) * narrow;
        value[i] = moments[i];
        slope[i] = 0.0;
    }
    for (ptrdiff_t j = rest->count - 2; j >= 0; j--) {
        moments -= m;
        for (ptrdiff_t i = 0; i < m; i++) {
            slope[i] = slope[i] * place[i] + value[i];
            value[i] = value[i] * place[i] + moments[i];
        }
    }
    for (ptrdiff_t i = 0; i < m; i++) {
        const double x = centre + width * place[i];
        const double inverse = 2.0 * x / (1.0 - x * x);  /* 1 / sqrt(z^2 - 1) */
        const double middle = 0.5 * (x + 1.0 / x), fall = x * slope[i] * narrow;
        const double sum = unit * inverse * value[i];
        below[i] = unit * inverse * (unit * inverse * fall + sum * middle * inverse);
        value[i] = -1.0 - sum;
        above[i] = 0.0;
    }
    for (ptrdiff_t l = 0; l < q; l++) {
        double *restrict side = l <= r ? above : below;
        const double *restrict w = weights + l * m;
        for (ptrdiff_t i = 0; i < m; i++) {
            const double inverse = 1.0 / ((poles[l] - origin[i]) - shift[i]);
            const double term = w[i] * inverse;
            value[i] += term;
            side[i] += term * inverse;
        }
    }
}

/* the root of square t^2 - linear t + constant that lies between the poles */
static inline double between(double square, double linear, double constant)
{
    const double inside = linear * linear - 4.0 * square * constant;
    const double root = sqrt(inside > 0.0 ? inside : 0.0);
    return linear <= 0.0 ? (linear - root) / (2.0 * square) : 2.0 * constant / (linear + root);
}

/* Brackets and first guesses between poles r + 1 and r: `root_between`, all members at once. The
   last entry, poles[q], is no pole but a bound from below on all roots. */
FOR_EACH_PROCESSOR
static void begin_roots(ptrdiff_t m, const double *restrict weights, const double *poles,
                        ptrdiff_t q, ptrdiff_t r, const Series *rest, double *restrict origin,
                        double *restrict shift, double *restrict low, double *restrict high)
{
    const double gap = poles[r] - poles[r + 1], middle = poles[r + 1] + 0.5 * gap;
    const int last = r + 1 == q;
    const double *upper = weights + r * m, *lower = last ? upper : upper + m;
    double *restrict value = rest->at;
    for (ptrdiff_t i = 0; i < m; i++) {
        origin[i] = middle;
        shift[i] = 0.0;
    }
    secular_values(m, weights, poles, q, r, rest, origin, shift, value, value + m, value + 2 * m);
    for (ptrdiff_t i = 0; i < m; i++) {
        const int lower_half = !last && value[i] >= 0.0;
        const double faint = last ? 0.0 : lower[i];
        const double frozen = value[i] - 2.0 * (upper[i] - faint) / gap;
        const double linear = (lower_half ? frozen : -frozen) * gap + upper[i] + faint;
        const double guess = between(frozen, linear, gap * (lower_half ? faint : -upper[i]));
        origin[i] = lower_half ? poles[r + 1] : poles[r];
        low[i] = lower_half ? 0.0 : (last ? -gap : -0.5 * gap);
        high[i] = lower_half ? 0.5 * gap : 0.0;
        shift[i] = guess > low[i] && guess < high[i] ? guess : 0.5 * (low[i] + high[i]);
    }
}

/* One step of the "middle way" within the brackets; returns the largest relative change. */
FOR_EACH_PROCESSOR
static double step_roots(ptrdiff_t m, const double *restrict weights, const double *poles,
                         ptrdiff_t q, ptrdiff_t r, const Series *rest,
                         const double *restrict origin, double *restrict shift,
                         double *restrict low, double *restrict high)
{
    double *restrict value = rest->at, *restrict above = value + m, *restrict below = above + m;
    double largest = 0.0;
    secular_values(m, weights, poles, q, r, rest, origin, shift, value, above, below);
    for (ptrdiff_t i = 0; i < m; i++) {
        const double up = (poles[r] - origin[i]) - shift[i];
        const double down = (poles[r + 1] - origin[i]) - shift[i];
        const double linear = (up + down) * value[i] - up * down * (above[i] + below[i]);
        const double step = between(value[i] - up * above[i] - down * below[i], linear,
                                    up * down * value[i]);
        low[i] = value[i] < 0.0 ? shift[i] : low[i];
        high[i] = value[i] < 0.0 ? high[i] : shift[i];
        double next = shift[i] + step;
        next = next >= low[i] && next <= high[i] && next != 0.0 ? next : 0.5 * (low[i] + high[i]);
        const double change = fabs(next - shift[i]) / fabs(next);
        largest = change > largest ? change : largest;
        shift[i] = next;
    }
    return largest;
}

/* errors -= the energies along the r-th axis left */
FOR_EACH_PROCESSOR
static void end_roots(ptrdiff_t m, const double *restrict weights, const double *poles,
                      ptrdiff_t q, ptrdiff_t r, const Series *rest, const double *restrict origin,
                      const double *restrict shift, double *restrict errors)
{
    double *restrict value = rest->at, *restrict above = value + m, *restrict below = above + m;
    secular_values(m, weights, poles, q, r, rest, origin, shift, value, above, below);
    for (ptrdiff_t i = 0; i < m; i++)
        errors[i] -= 1.0 / (above[i] + below[i]);
}

#endif
