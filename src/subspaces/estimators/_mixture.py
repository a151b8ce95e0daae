"""What the mixtures share: densities, posterior probabilities, the record of the search."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning

from subspaces._validation import as_count, as_generator, as_real
from subspaces.core import em, partition
from subspaces.core.hearing import warn
from subspaces.core.subspace import Subspace, scores
from subspaces.estimators._shell import Array, Labels, SubspaceClusterer


class MixtureClusterer(SubspaceClusterer):
    """Base of the mixture models; not for use on its own."""

    n_init: int
    max_iter: int
    tol: float
    random_state: Any

    scores_are_likelihoods_ = True

    def predict_proba(self, X: Any) -> Array:
        """Probability of each cluster given the sample.

        Parameters
        ----------
        X : array-like of shape (n, p)
            New samples.

        Returns
        -------
        ndarray of shape (n, n_clusters)
            Rows sum to 1.
        """
        return em.responsibilities(self._log_joint(self._validate_new(X)))

    def score_samples(self, X: Any) -> Array:
        """Log density of each sample.

        Parameters
        ----------
        X : array-like of shape (n, p)
            New samples.

        Returns
        -------
        ndarray of shape (n,)
        """
        return logsumexp(self._log_joint(self._validate_new(X)), axis=1)

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log density of the samples.

        Parameters
        ----------
        X : array-like of shape (n, p)
            New samples.
        y : ignored
            For compatibility.

        Returns
        -------
        float
        """
        return float(self.score_samples(X).mean())

    def bic(self, X: Any) -> float:
        """Bayesian information criterion on some samples; lower is better.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Samples.

        Returns
        -------
        float
            -2 log-likelihood + log(n) times the number of free parameters.
        """
        return self._bic(self.score_samples(X))

    def _bic(self, log_density: Array) -> float:
        return float(-2.0 * log_density.sum() + self._n_parameters * np.log(len(log_density)))

    def _log_joint(self, X: Array) -> Array:
        """``log pi_k f_k(x)`` of every row under every cluster, (n, K)."""
        raise NotImplementedError

    def _scores(self, X: Array) -> Array:
        return -self._log_joint(X)

    def _check_search(self, X: Array) -> tuple[int, np.random.Generator]:
        """Number of starts and a generator; what is common to all parameters is checked."""
        as_count(self.max_iter, "max_iter", low=1)
        as_real(self.tol, "tol")
        if not np.ptp(X, axis=0).any():
            raise ValueError("X has nothing to cluster: all rows are equal. Use other data")
        return as_count(self.n_init, "n_init", low=1), as_generator(self.random_state)

    def _store_search(self, best: em.Climb, runs: Sequence[em.Climb]) -> None:
        self.log_likelihood_path_ = np.array(best.path)
        self.n_iter_ = best.n_iter
        self.stop_reason_ = best.stop_reason
        self.starts_ = [
            {
                "start": run.start,
                "log_likelihood": run.log_likelihood,
                "n_iter": run.n_iter,
                "stop_reason": run.stop_reason,
            }
            for run in runs
        ]

    def _store_flats_of(self, X: Array, bases: Sequence[Array]) -> None:
        """Labels by a last E step; flats with the energy of their members, by probability."""
        joint = self._log_joint(X)
        self.labels_ = partition.assign(-joint)
        shares = em.responsibilities(joint)
        self.subspaces_ = []
        for centre, basis, share in zip(self.means_, bases, shares.T, strict=True):
            flat = Subspace(centre, basis, np.zeros(basis.shape[1]))
            self.subspaces_.append(Subspace(centre, basis, share @ scores(X, flat) ** 2))
        self.n_components_ = np.array([flat.basis.shape[1] for flat in self.subspaces_])
        log_density = logsumexp(joint, axis=1)
        self.log_likelihood_ = float(log_density.sum())
        self.objective_ = -self.log_likelihood_
        self.bic_ = self._bic(log_density)

    def _warn(self) -> None:
        """Say what is wrong with the fit."""
        for message in self._complaints():
            warn(message, ConvergenceWarning)

    def _complaints(self) -> list[str]:
        found = []
        if self.stop_reason_ == "max_iter":
            found.append(
                f"the likelihood still rose after max_iter={self.max_iter} steps. Use a larger "
                "max_iter or tol"
            )
        empty = self.n_clusters - len(np.unique(self.labels_))
        if empty:
            found.append(
                f"{empty} of n_clusters={self.n_clusters} clusters are the likeliest of no sample. "
                "Use fewer clusters, or another n_components"
            )
        elif self.stop_reason_ == "infeasible":
            found.append(
                "from every start a cluster kept too few samples for its dimension. Use fewer "
                "clusters or a smaller n_components"
            )
        return found


def order_of_appearance(labels: Labels, n_clusters: int) -> Labels:
    """Clusters as they first appear among the labels; those that do not, last."""
    first = [np.flatnonzero(labels == k)[:1] for k in range(n_clusters)]
    places = [int(place[0]) if len(place) else len(labels) for place in first]
    return np.argsort(places, kind="stable")
