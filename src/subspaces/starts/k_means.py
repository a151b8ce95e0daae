"""K-means of scikit-learn, as several methods call it: for the labels alone; and as a start."""

import warnings
from contextlib import nullcontext

import numpy as np
from sklearn import config_context
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from subspaces._types import Array, Labels
from subspaces.core.problem import Problem
from subspaces.runtime.threads import one_blas_thread
from subspaces.runtime.warning import changed_filters

# Up to so many numbers threads wait for each other longer than they work.
SMALL = 1 << 20
# Runs of K-means of which a start takes the best.
RUNS = 10


def k_means_labels(rows: Array, estimator: KMeans) -> Labels:
    """Return the labels (n,) that a scikit-learn `KMeans` finds for numpy rows.

    Its warning that fewer clusters were found than asked for is silenced. Array API dispatch is
    off, whatever the caller's configuration: scikit-learn 1.7 fails under it.
    """
    with (
        one_blas_thread() if rows.size <= SMALL else nullcontext(),
        config_context(array_api_dispatch=False),
        changed_filters(),
    ):
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator.fit(rows).labels_.astype(np.intp)


def best_of_ten(problem: Problem, random: np.random.Generator) -> Labels:
    """Return the labels (n,) of the best of ten runs of K-means; the dimensions are not used."""
    seed = int(random.integers(2**31))
    estimator = KMeans(problem.n_clusters, n_init=RUNS, random_state=seed)
    return k_means_labels(problem.rows.coordinates, estimator)
