/* Rows under all flats of a pass, a chunk at a time, in single and in double precision. */
#ifndef SUBSPACES_PASSES_H
#define SUBSPACES_PASSES_H

#include <math.h>
#include <string.h>
#include "_vectors.h"

enum { BY_INFLUENCE, BY_RESIDUAL, BY_HAT, BY_LIKELIHOOD };

#define TILE 512 /* columns of a sum that stay in the innermost cache */
#define LEVERAGE_OF_ONE (1.0 - 1e-10)

/* K flats with R axes each. Of every cluster there are R scores, and where the flats have centres
   one more, along the centre. weights: 1 / spectra; for the likelihood 1 / variances. */
typedef struct {
    int criterion, n_clusters, n_axes, n_scores, n_variables;
    const double *spectra, *weights, *shifts; /* (K, R) */
    const double *lengths, *scales;           /* (K,): squared lengths of the centres, -log */
    const double *mean_leverages;             /* (K,): 1 / n_k; 0 where a cluster has no mean */
    double noise;
    double share; /* of a squared length: what is left of it keeps three digits down to this */
} PassFlats;

#define REAL float
#define NAME(stem) stem##_float
#define SPAN 16
#include "_passes_of.h"
#undef REAL
#undef NAME
#undef SPAN

#define REAL double
#define NAME(stem) stem##_double
#define SPAN 8
#include "_passes_of.h"
#undef REAL
#undef NAME
#undef SPAN

#endif
