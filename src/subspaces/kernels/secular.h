/* The innermost loop of the secular equation. */
#ifndef SUBSPACES_SECULAR_H
#define SUBSPACES_SECULAR_H

#include <stddef.h>

/* The sum of weights / (poles - origin - shift) and, at once, of its derivative. The two differences
   must be taken in this order: so the terms of the sums may change places, and nothing else may. */
static inline void secular_sums(ptrdiff_t n, const double *weights, const double *poles,
                                double origin, double shift, double *value, double *slope)
{
    double sum = 0.0, derivative = 0.0;
#ifdef OMP_SIMD /* defined where the compiler is told -fopenmp-simd, which only allows for this */
#pragma omp simd reduction(+ : sum, derivative)
#endif
    for (ptrdiff_t l = 0; l < n; l++) {
        const double inverse = 1.0 / ((poles[l] - origin) - shift);
        const double term = weights[l] * inverse;
        sum += term;
        derivative += term * inverse;
    }
    *value = sum;
    *slope = derivative;
}

#endif
