"""`WeightedClusterer`, the base of the estimators whose samples may have weights."""

from typing import Any, Self

from subspaces._types import Array, FittedLabels
from subspaces.estimators._base import SubspaceClusterer


class WeightedClusterer(SubspaceClusterer):
    """Base of the estimators that take ``sample_weight``. Do not use it on its own.

    A subclass implements ``_fit_any``, which takes the checked data and weights (n,), or None.
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **unknown: Any) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Samples in rows. In a dense table, NaN is a missing value. `PSC` does not accept missing
            values if ``n_variables`` is set. `PSC` and `KSubspaces` also take sparse matrices and
            Dask arrays. If array API dispatch of scikit-learn is on, they take torch and CuPy
            arrays.
        y : ignored
            For compatibility.
        sample_weight : array-like of shape (n,), optional
            How much each sample counts, 1 by default. A sample of weight 2 counts as two equal
            samples. A sample of weight 0 only gets a label. Leave-one-out errors leave out one
            copy, or the whole sample if its weight is below 1.
        **unknown
            Not supported.

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
            How much each sample counts, as in `fit`.
        **unknown
            Not supported.

        Returns
        -------
        ndarray of shape (n,)
            Cluster of each sample, ``labels_``.
        """
        return self.fit(X, y, sample_weight, **unknown).labels_

    def _fit(self, X: Any) -> None:
        self._fit_any(X, None)

    def _fit_weighted(self, X: Any, weights: Array) -> None:
        self._fit_any(X, weights)

    def _fit_any(self, X: Any, weights: Array | None) -> None:
        """Fit checked data, with weights (n,) of the samples or None if all count one."""
        raise NotImplementedError
