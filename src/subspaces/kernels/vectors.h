/* Sums and inner products of vectors, in loops that compilers vectorise. */
#ifndef SUBSPACES_VECTORS_H
#define SUBSPACES_VECTORS_H

#include <stddef.h>

#ifdef OMP_SIMD /* the compiler knows the pragma; elsewhere the terms are added one by one */
#define ANY_ORDER _Pragma("omp simd reduction(+ : sum)")
#else
#define ANY_ORDER
#endif

/* first . second */
static inline double inner(ptrdiff_t n, const double *first, const double *second)
{
    double sum = 0.0;
    ANY_ORDER
    for (ptrdiff_t i = 0; i < n; i++)
        sum += first[i] * second[i];
    return sum;
}

/* first . second over the n given places of the vectors */
static inline double inner_at(ptrdiff_t n, const int *places, const double *first,
                              const double *second)
{
    double sum = 0.0;
    ANY_ORDER
    for (ptrdiff_t i = 0; i < n; i++)
        sum += first[places[i]] * second[places[i]];
    return sum;
}

/* ||first - second||^2 */
static inline double squared_distance(ptrdiff_t n, const double *first, const double *second)
{
    double sum = 0.0;
    ANY_ORDER
    for (ptrdiff_t i = 0; i < n; i++)
        sum += (first[i] - second[i]) * (first[i] - second[i]);
    return sum;
}

/* ||first - second||^2 over the n given places of the vectors */
static inline double squared_distance_at(ptrdiff_t n, const int *places, const double *first,
                                         const double *second)
{
    double sum = 0.0;
    ANY_ORDER
    for (ptrdiff_t i = 0; i < n; i++) {
        const double apart = first[places[i]] - second[places[i]];
        sum += apart * apart;
    }
    return sum;
}

/* out += weight * given */
static inline void add_one(ptrdiff_t n, double weight, const double *restrict given,
                           double *restrict out)
{
    for (ptrdiff_t i = 0; i < n; i++)
        out[i] += weight * given[i];
}

/* out += weights @ [first, second, third, fourth] */
static inline void add_four(ptrdiff_t n, const double *restrict weights,
                            const double *restrict first, const double *restrict second,
                            const double *restrict third, const double *restrict fourth,
                            double *restrict out)
{
    const double a = weights[0], b = weights[1], c = weights[2], d = weights[3];
    for (ptrdiff_t i = 0; i < n; i++)
        out[i] += (a * first[i] + b * second[i]) + (c * third[i] + d * fourth[i]);
}

#endif
