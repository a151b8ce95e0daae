"""`WeightedClusterer`, the base of the estimators whose samples may have weights."""

from typing import Any, Self

from subspaces._types import Array, FittedLabels
from subspaces.estimators._base import SubspaceClusterer


class WeightedClusterer(SubspaceClusterer):
    """Base of the estimators that take ``sample_weight``; not for use on its own.

    A subclass implements ``_fit_any``, which takes the checked data and weights (n,), or None.
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **unknown: Any) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Samples in rows. `PSC` and `KSubspaces` take sparse matrices and Dask arrays, too, and
            under scikit-learn's array API dispatch torch and CuPy arrays on their device. `PSC`
            without ``n_variables``, `KSubspaces` and `MPPCA` take NaN in a dense table for a cell
            that was not observed.
        y : ignored
            For compatibility.
        sample_weight : array-like of shape (n,), optional
            What each sample counts; 1 by default. A sample of weight 2 counts as two equal samples,
            and one of weight 0 is only given a label. The leave-one-out errors leave out one copy,
            or all of a sample of weight below 1.
        **unknown
            Refused.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._refuse(unknown)
        return self._fit_at_once(X, sample_weight)

    def fit_predict(
        self, X: Any, y: Any = None, sample_weight: Any = None, **unknown: Any
    ) -> FittedLabels:
        """Fit and return ``labels_``.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Samples in rows.
        y : ignored
            For compatibility.
        sample_weight : array-like of shape (n,), optional
            What each sample counts, as in `fit`.
        **unknown
            Refused, as by `fit`.

        Returns
        -------
        ndarray of shape (n,)
            ``labels_``.
        """
        return self.fit(X, y, sample_weight, **unknown).labels_

    def _fit(self, X: Any) -> None:
        self._fit_any(X, None)

    def _fit_weighted(self, X: Any, weights: Array) -> None:
        self._fit_any(X, weights)

    def _fit_any(self, X: Any, weights: Array | None) -> None:
        """Fit checked data, with weights (n,) of the samples or None if all count one."""
        raise NotImplementedError
