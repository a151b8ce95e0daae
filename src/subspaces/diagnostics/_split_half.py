"""P-values of markers that stay valid although the clusters were found in the same samples.

Two steps, each fixing what the other cannot ("Markers that are more than the cut",
https://subspaces.readthedocs.io):

1. Variables are halved at random. A variable is tested between the clusters that its own half had
   no part in finding, so that its noise is not in the labels.
2. If variables are correlated, the other half still carries their common noise, and a cut of one
   group through that noise looks like markers. So neither a p-value nor a false discovery rate may
   be below the p-value of a test of one group (`psc/one_group.py`).
"""

from collections.abc import Callable

import numpy as np

from subspaces._types import Array, Codes, Indices
from subspaces.diagnostics._rank_test import rank_test
from subspaces.messages import ParameterError
from subspaces.metrics import matched_labels


def split_half_p_values(
    values: Array,
    codes: Codes,
    n_clusters: int,
    cluster_half: Callable[[Indices], Codes],
    random: np.random.Generator,
) -> Array:
    """Return the p-values of the rank test, (K, p), between clusters of the other half.

    cluster_half returns the labels (n,), from 0 up, that the variables with the given places lead
    to. They are named after the clusters that they match best; a cluster that the other half does
    not find has p-values of 1. Samples with the label -1 are in no cluster, and not tested.
    """
    p = values.shape[1]
    if p < 2:
        raise ParameterError("split_half", "The split-half test needs two variables or more.")
    halves = np.array_split(random.permutation(p), 2)
    p_values = np.ones((n_clusters, p))
    for half, other in (halves, halves[::-1]):
        labels = cluster_half(np.sort(other))
        inside = labels >= 0
        if not inside.any():
            continue
        found = matched_labels(codes[inside], labels[inside])
        rows = values[np.ix_(inside, half)]
        tested = rank_test(rows, found, max(n_clusters, int(found.max()) + 1))[1]
        p_values[:, half] = np.nan_to_num(tested[:n_clusters], nan=1.0)
    return p_values
