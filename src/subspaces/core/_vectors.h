/* The innermost loops, compiled for several generations of processors; the loader takes the best. */
#ifndef SUBSPACES_VECTORS_H
#define SUBSPACES_VECTORS_H

#include <stddef.h>
#include <stdlib.h>

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define FOR_EACH_PROCESSOR __attribute__((target_clones("default", "avx2,fma", "avx512f")))
#else
#define FOR_EACH_PROCESSOR
#endif

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

#endif
