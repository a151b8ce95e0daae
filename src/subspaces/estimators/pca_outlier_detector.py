"""`PCAOutlierDetector`: samples that do not belong to a PCA, by scikit-learn's outlier API."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from subspaces._types import Array, Auto, Data, Labels
from subspaces.data.validation import as_matrix
from subspaces.estimators.pca import PCA
from subspaces.messages import code_of
from subspaces.pca.outliers import PCAOutliers, quotients
from subspaces.runtime.fitted import fits_a_draft
from subspaces.runtime.warning import collect_warnings, warn


class PCAOutlierDetector(OutlierMixin, BaseEstimator):
    """Find outliers of a PCA among the samples of the fit and among new samples.

    A sample is an outlier if it is far out within the components (T2) or far from them (Q). The PCA
    and the limits come from the other samples, as in ``PCA(robust=True).outliers``.

    Parameters
    ----------
    n_components : "auto", int, float or None, default "auto"
        Number of components, as in `PCA`.
    center, scale : bool, default True and False
        Whether to subtract the mean of each variable, and whether to divide it by its standard
        deviation.
    level : float, default 0.05
        Probability that a table without outliers, of the size of the training data, has a sample
        beyond the limits. You do not need to guess the share of outliers.

    Attributes
    ----------
    outliers_ : PCAOutliers
        Result for the training samples, each compared with the PCA of the others: ``is_outlier``,
        ``verdict``, ``contributions(sample)``, ``plot()``.
    pca_ : PCA
        The PCA of all samples.
    offset_ : float
        -1. ``decision_function`` is ``score_samples`` minus this.
    n_features_in_ : int
        Number of variables.
    feature_names_in_ : ndarray of shape (p,)
        Names of the variables, if X had names.

    Notes
    -----
    pyod uses the opposite sign. Its ``decision_function`` is ``-score_samples(X)`` here, and its
    ``labels_`` are ``outliers_.is_outlier``.

    Examples
    --------
    >>> import numpy as np
    >>> from subspaces import PCAOutlierDetector
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(90, 2)) @ random.normal(size=(2, 8))
    >>> X += 0.1 * random.normal(size=X.shape)
    >>> X[:18, 3] += 2
    >>> np.flatnonzero(PCAOutlierDetector(2).fit_predict(X) == -1).max()
    np.int64(17)
    """

    outliers_: PCAOutliers
    pca_: PCA
    offset_: float
    n_features_in_: int

    def __init__(
        self,
        n_components: int | float | Auto | None = "auto",
        *,
        center: bool = True,
        scale: bool = False,
        level: float = 0.05,
    ) -> None:
        self.n_components = n_components
        self.center = center
        self.scale = scale
        self.level = level

    @fits_a_draft
    def fit(self, X: Data, y: ArrayLike | None = None) -> Self:
        """Fit the PCA and the limits of the distances without the outliers.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Samples in rows, without missing values.
        y : ignored
            For compatibility.

        Returns
        -------
        PCAOutlierDetector
            The fitted detector.
        """
        as_matrix(X)
        model = PCA(self.n_components, center=self.center, scale=self.scale, robust=True)
        with collect_warnings() as doubts:
            self.pca_ = model.fit(X)
        for each in doubts:
            if code_of(each) != "no_component":  # then Q is the distance from the mean
                warn(each)
        self.outliers_ = model.outliers(level=self.level)
        self.offset_ = -1.0
        validate_data(self, X, skip_check_array=True)
        return self

    def score_samples(self, X: Data) -> Array:
        """Return minus the larger of T2 and Q of each sample, each divided by its limit.

        Parameters
        ----------
        X : array-like of shape (m, p)
            Samples in rows, with the variables of `fit`.

        Returns
        -------
        ndarray of shape (m,)
            Scores. Outliers have less than -1.
        """
        check_is_fitted(self)
        matrix = as_matrix(X, min_samples=1)
        validate_data(self, X, reset=False, skip_check_array=True)
        known = self.outliers_
        found = known.members.judged.reference.judge(self.pca_.fit_.prepared(matrix))
        return -np.maximum(quotients(found.t2, known.t2_limit), quotients(found.q, known.q_limit))

    def decision_function(self, X: Data) -> Array:
        """Return `score_samples` minus ``offset_``, which is negative for outliers.

        Parameters
        ----------
        X : array-like of shape (m, p)
            Samples in rows, with the variables of `fit`.

        Returns
        -------
        ndarray of shape (m,)
            Scores. Outliers have less than 0.
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: Data) -> Labels:
        """Return 1 for samples that fit the PCA, and -1 for outliers.

        Parameters
        ----------
        X : array-like of shape (m, p)
            Samples in rows, with the variables of `fit`. Training samples are treated as new. To
            compare each with the others, use ``outliers_``.

        Returns
        -------
        ndarray of int of shape (m,)
            1 or -1.
        """
        return np.where(self.decision_function(X) >= 0.0, 1, -1)
