"""How well two partitions or two subspaces agree, and how likely new samples are."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, rand_score
from sklearn.metrics.cluster import contingency_matrix

from subspaces._types import Array, Codes, Data, Labels
from subspaces.messages import ParameterError
from subspaces.subspace import Subspace

__all__ = [
    "adjusted_rand_score",
    "likelihood_scorer",
    "matched_accuracy",
    "matched_labels",
    "rand_score",
    "subspace_angles",
]


def matched_accuracy(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Return the share of samples in the right cluster, after matching clusters to classes.

    ``1 - matched_accuracy`` is the misclassification rate of the subspace clustering literature. A
    cluster label of -1 means no cluster, such as an outlier. It is right only if the class is -1,
    too.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n,)
        Class and cluster of each sample.

    Returns
    -------
    float
        Share from 0 to 1.

    Examples
    --------
    >>> from subspaces.metrics import matched_accuracy
    >>> matched_accuracy([0, 0, 1, 1, 1], [7, 7, 3, 3, 7])
    0.8
    """
    shapes = np.shape(labels_true), np.shape(labels_pred)
    if shapes[0] != shapes[1] or len(shapes[0]) != 1 or shapes[0][0] == 0:
        raise ParameterError(
            "labels_pred",
            f"<labels_true> and <labels_pred> have shapes {shapes[0]} and {shapes[1]}. Pass one "
            "label per sample in each of them.",
        )
    true, found = np.asarray(labels_true), np.asarray(labels_pred)
    if found.dtype.kind not in "iuf" or not (found == -1).any():
        return _matched(true, found) / len(found)
    placed = found != -1
    right = np.count_nonzero(true[~placed] == -1)
    return (right + (_matched(true[placed], found[placed]) if placed.any() else 0)) / len(found)


def matched_labels(labels_true: ArrayLike, labels_pred: ArrayLike) -> Labels:
    """Rename each cluster after the class that it matches best, one to one.

    A cluster without a matching class gets a new number. The label -1 stays, and samples with -1 do
    not count in the matching.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n,)
        Class and cluster of each sample: integers from 0, or -1 for none.

    Returns
    -------
    ndarray of shape (n,)
        Renamed clusters.

    Examples
    --------
    >>> from subspaces.metrics import matched_labels
    >>> matched_labels([0, 0, 1, 1], [1, 1, 0, 0])
    array([0, 0, 1, 1])
    """
    true, found = np.asarray(labels_true), np.asarray(labels_pred)
    owner = owners(true, found, int(max(true.max(), found.max())) + 1)
    return np.append(owner, -1)[found]


def owners(true: Codes, found: Codes, n_clusters: int) -> Labels:
    """Return the true cluster that each found one matches best, one to one, (n_clusters,)."""
    table, both = np.zeros((n_clusters, n_clusters), dtype=int), (true >= 0) & (found >= 0)
    np.add.at(table, (found[both], true[both]), 1)
    return linear_sum_assignment(table, maximize=True)[1]


def likelihood_scorer(estimator: Any, X: Data, y: Any = None) -> float:
    """Return the mean log density of samples, as a score for ``GridSearchCV``.

    The default ``score`` is a squared error, which always improves with more clusters or
    dimensions. The log density does not.

    Parameters
    ----------
    estimator : fitted PSC, KSubspaces, mixture, or Pipeline that ends in one
        A model with ``score_samples``. `PSC` estimates its noise from samples that were left out.
    X : array-like of shape (n, p)
        New samples, which the estimator was not fitted to.
    y : ignored
        For compatibility.

    Returns
    -------
    float
        Mean log density. Higher is better.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from subspaces import PSC
    >>> from subspaces.datasets import make_scenario
    >>> from subspaces.metrics import likelihood_scorer
    >>> planes = make_scenario("c", noise=0.1, n_features=10, random_state=0)
    >>> offered = {"n_clusters": [1, 2, 3], "n_components": [1, 2, 3]}
    >>> model = PSC(n_init=3, random_state=0)
    >>> search = GridSearchCV(model, offered, scoring=likelihood_scorer, cv=3).fit(planes.data)
    >>> search.best_params_
    {'n_clusters': 2, 'n_components': 2}
    """
    return float(estimator.score_samples(X).mean())


def _matched(true: NDArray[Any], found: NDArray[Any]) -> int:
    """Return how many samples are labelled right under the best matching of the clusters."""
    table = contingency_matrix(true, found)
    return int(table[linear_sum_assignment(table, maximize=True)].sum())


def subspace_angles(first: Subspace, second: Subspace) -> Array:
    """Return the principal angles between two subspaces in radians, largest first.

    Parameters
    ----------
    first, second : Subspace
        Subspaces, for example from ``subspaces_`` of a fitted model.

    Returns
    -------
    ndarray
        One angle per dimension of the smaller subspace.

    Examples
    --------
    >>> import numpy as np
    >>> from subspaces.subspace import Subspace
    >>> from subspaces.metrics import subspace_angles
    >>> line = Subspace(np.zeros(2), np.array([[1.0], [0.0]]), np.ones(1))
    >>> diagonal = Subspace(np.zeros(2), np.array([[1.0], [1.0]]) / np.sqrt(2), np.ones(1))
    >>> np.degrees(subspace_angles(line, diagonal)).round(6)
    array([45.])
    """
    return linalg.subspace_angles(first.basis, second.basis)
