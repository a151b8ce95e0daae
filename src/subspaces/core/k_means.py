"""K-means of scikit-learn, as several methods call it: for the labels alone."""

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from subspaces.core.hearing import PROCESS

Array = NDArray[np.floating]
Labels = NDArray[np.intp]


def k_means_labels(rows: Array, estimator: KMeans) -> Labels:
    """Labels of numpy rows; that fewer clusters were found than asked for is no warning here.

    Whatever the caller's configuration: with ``array_api_dispatch`` scikit-learn 1.7 fails in it.
    """
    with PROCESS, config_context(array_api_dispatch=False), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator.fit(rows).labels_.astype(np.intp)
