"""Consensus over preparations: many partitions of the same samples, averaged.

Each run r keeps some genes, scales the samples or not, keeps some axes and fits a Gaussian mixture
whose clusters share one covariance. With c_r(i) the cluster of sample i in run r,

    A_ij = mean over r of [c_r(i) = c_r(j)],    support_i = mean of A_ij over the cluster of i.

Average linkage on 1 - A gives the clusters (Monti et al. 2003).
"""

import warnings
from itertools import product
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn import config_context
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from sklearn.utils.validation import check_is_fitted, validate_data

from subspaces._types import Array, Data, Labels, Seed
from subspaces.core.dimensions import nothing_to_cluster
from subspaces.core.partition import Partition, canonical
from subspaces.data.validation import as_matrix
from subspaces.messages import FEWER_CLUSTERS, NotConvergedWarning
from subspaces.psc.doubts import warn_of_empty_clusters, warn_of_single_samples
from subspaces.runtime.fitted import fits_a_draft
from subspaces.runtime.memory import no_room
from subspaces.runtime.parameters import as_count
from subspaces.runtime.threads import changed_filters
from subspaces.runtime.warning import doubt
from subspaces.starts.self_expression import unit_rows
from subspaces.subspace import leading_axes

# What the runs differ in: genes kept, whether samples are brought to unit length, and axes kept for
# each cluster.
GENES, COSINE, AXES = (500, 2000, 5000), (False, True), (1, 2)
MOST_GENES = max(GENES)
# Starts of each mixture, and what is added to the variance of each axis.
STARTS, LEAST_VARIANCE = 3, 1e-6
# Rounds of each start, as many as scikit-learn gives.
MOST_ROUNDS = 100
# Samples are equal if they differ by at most this share of the largest value.
EQUAL_SAMPLES = 1e-13


class ConsensusProfiles(ClusterMixin, BaseEstimator):
    """Consensus of the clusters after many different preparations.

    Parameters
    ----------
    n_clusters : int, default 2
        Number of clusters.
    random_state : int, RandomState or None
        Seed.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Cluster of each sample.
    support_ : ndarray of shape (n,)
        How often the sample was together with the rest of its cluster, from 0 to 1.
    centres_ : ndarray of shape (n_clusters, p)
        Mean of each cluster.

    Examples
    --------
    >>> import numpy as np
    >>> from subspaces.recipes import ConsensusProfiles
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(60, 40)) + 9 * np.repeat(np.eye(3), 20, axis=0) @ np.eye(3, 40)
    >>> np.bincount(ConsensusProfiles(3, random_state=0).fit(X).labels_).tolist()
    [20, 20, 20]
    """

    def __init__(self, n_clusters: int = 2, *, random_state: Seed = None) -> None:
        self.n_clusters = n_clusters
        self.random_state = random_state

    @fits_a_draft
    def fit(self, X: Data, y: ArrayLike | None = None) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Samples in rows, prepared by `ExpressionScaler` with all axes.
        y : ignored
            For compatibility.

        Returns
        -------
        self
            The fitted estimator.
        """
        matrix = as_matrix(X)
        validate_data(self, X, skip_check_array=True)
        _check_room(*matrix.shape)
        k = as_count(self.n_clusters, "n_clusters", low=1, high=len(matrix))
        if not np.ptp(matrix, axis=0).any():
            raise nothing_to_cluster("All samples are identical")
        together = _together(matrix, k, self.random_state)
        np.fill_diagonal(together, 1.0)
        tree = linkage(squareform(1.0 - together, checks=False), "average")
        self.labels_ = canonical(fcluster(tree, k, "maxclust") - 1)
        clusters = Partition(self.labels_, int(self.labels_.max()) + 1)
        parts = [clusters.members(c) for c in range(clusters.n_clusters)]
        self.centres_ = np.array([matrix[own].mean(axis=0) for own in parts])
        self.support_ = np.empty(len(matrix))
        for own in parts:
            mates = together[np.ix_(own, own)].sum(axis=1) - 1.0
            self.support_[own] = mates / max(len(own) - 1, 1)
        warn_of_empty_clusters(len(parts), k)
        if len(parts) < len(self.labels_):
            warn_of_single_samples(self.labels_, np.bincount(self.labels_), None)
        return self

    def predict(self, X: Data) -> Labels:
        """Assign each sample to the cluster with the nearest mean.

        Parameters
        ----------
        X : array-like of shape (n, p)
            New samples.

        Returns
        -------
        ndarray of shape (n,)
            Cluster of each sample.
        """
        check_is_fitted(self)
        matrix = as_matrix(X, min_samples=1)
        validate_data(self, X, reset=False, skip_check_array=True)
        distances = -2.0 * matrix @ self.centres_.T + np.sum(self.centres_**2, axis=1)
        return np.argmin(distances, axis=1)


def _check_room(n: int, p: int) -> None:
    """Raise MemoryError if X, a copy of it, and three times n x n numbers do not fit."""
    too_large = no_room(8 * (2 * n * p + 3 * n * n))
    if too_large:
        raise MemoryError(
            f"A consensus of {n} samples x {p} variables {too_large}. Use fewer samples, or set "
            "consensus=False."
        )


def _together(matrix: Array, k: int, seed: Seed) -> Array:
    """Return the share of the runs in which two samples are in one cluster, (n, n).

    Runs to which all samples are equal, as samples of one direction are at unit length, are left
    out.
    """
    n, p = matrix.shape
    order = np.argsort(-matrix.var(axis=0), kind="stable")
    together = np.zeros((n, n))
    used, unfinished = 0, 0
    for genes, cosine, axes in product(sorted({min(genes, p) for genes in GENES}), COSINE, AXES):
        points = _points(matrix[:, order[:genes]], axes * k, cosine=cosine)
        if not points.any():
            continue
        # Scale the axes to one size, so that the regularisation is small compared with the
        # variances.
        labels, converged = _mixture_labels(points / points.std(), k, seed)
        members = Partition(labels, k).indicator
        together += members @ members.T
        used, unfinished = used + 1, unfinished + (not converged)
    if unfinished:
        doubt(
            NotConvergedWarning,
            "overlap",
            "{unfinished} of {used} mixtures did not converge, so clusters may overlap.",
            FEWER_CLUSTERS,
            unfinished=unfinished,
            used=used,
        )
    return together / used


def _points(rows: Array, n_axes: int, *, cosine: bool) -> Array:
    """Return the samples along the leading axes, at most (n, n_axes)."""
    if cosine:
        rows = unit_rows(rows)
    size = np.abs(rows).max()
    rows = rows - rows.mean(axis=0)
    # What rounding leaves of equal rows is no difference.
    if np.abs(rows).max() <= EQUAL_SAMPLES * size:
        return np.zeros((len(rows), 1))
    return rows @ leading_axes(rows, n_axes).T


def _mixture_labels(points: Array, k: int, seed: Seed) -> tuple[Labels, bool]:
    """Return the labels of a Gaussian mixture of one covariance, and whether it came to rest."""
    mixture = GaussianMixture(
        k,
        covariance_type="tied",
        n_init=STARTS,
        max_iter=MOST_ROUNDS,
        reg_covar=LEAST_VARIANCE,
        random_state=seed,
    )
    # `fit` warns once of coinciding samples and iterations, so scikit-learn need not. Its starts
    # fail with other array libraries' dispatch, even on numpy rows.
    with changed_filters(), config_context(array_api_dispatch=False):
        warnings.simplefilter("ignore", ConvergenceWarning)
        return mixture.fit_predict(points), bool(mixture.converged_)
