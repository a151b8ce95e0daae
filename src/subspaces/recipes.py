"""Whole pipelines for one kind of data, with the settings that served it best.

A recipe is a scikit-learn Pipeline: a preparation that remembers what it did, so that new samples
are prepared alike, and an estimator of this library. docs/recipes.md says why, with figures.
"""

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from subspaces._validation import as_choice, as_count, as_flag, as_matrix, as_real, check_squares
from subspaces.core.subspace import principal_axes
from subspaces.estimators import PSC
from subspaces.preparation import Preparation

__all__ = ["ExpressionScaler", "expression"]

Array = NDArray[np.floating]

# A logarithm to base 2 beyond this would be of an intensity above 2^30.
LARGEST_LOGARITHM = 30.0
FLOOR, N_GENES = 20.0, 2000


class ExpressionScaler(TransformerMixin, BaseEstimator):
    """Bring expression values to the scale on which samples are compared.

    In this order: values below ``floor`` are raised to it and log2 taken, unless X is logged
    already; each sample is centred; the genes that vary most are kept, and centred; of the samples
    so prepared, the part along the leading principal axes is kept. The columns are still genes: a
    value is a log2 ratio to the mean of all samples, less noise.

    Parameters
    ----------
    n_axes : int or None, default None
        Number of principal axes kept; None: all, nothing is taken away.
    n_genes : int or None, default 2000
        Number of genes kept; None, or more than there are: all.
    floor : float, default 20
        Least intensity that is told from noise.
    log : {"auto", "yes", "no"}, default "auto"
        Whether to take logarithms. "auto": where the largest value is above 30; otherwise X is
        taken as logged already, and a warning says so.
    centre_samples : bool, default True
        Whether each sample's mean over the genes is subtracted.

    Attributes
    ----------
    logged_ : bool
        Whether logarithms were taken.
    genes_ : ndarray
        The columns kept, in their order.
    mean_ : ndarray
        Their means.
    axes_ : ndarray of shape (n_axes, genes) or None
        The principal axes kept.

    Examples
    --------
    >>> import numpy as np
    >>> from subspaces.recipes import ExpressionScaler
    >>> X = np.array([[5.0, 80.0, 320.0], [40.0, 20.0, 640.0], [20.0, 20.0, 80.0]])
    >>> scaler = ExpressionScaler(n_genes=2).fit(X)
    >>> scaler.get_feature_names_out(["a", "b", "c"]).tolist()
    ['b', 'c']
    >>> scaler.transform(X).round(2)
    array([[ 0.89, -0.11],
           [-1.11,  0.89],
           [ 0.22, -0.78]])
    """

    def __init__(
        self,
        *,
        n_axes: int | None = None,
        n_genes: int | None = N_GENES,
        floor: float = FLOOR,
        log: str = "auto",
        centre_samples: bool = True,
    ) -> None:
        self.n_axes = n_axes
        self.n_genes = n_genes
        self.floor = floor
        self.log = log
        self.centre_samples = centre_samples

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find out whether X is logged, which genes vary, and along which axes.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Samples in rows, genes in columns.
        y : ignored
            For compatibility.

        Returns
        -------
        ExpressionScaler
            The fitted transformer.
        """
        matrix = as_matrix(X)
        validate_data(self, X, skip_check_array=True)
        check_squares(matrix)
        self.logged_ = self._takes_logarithms(matrix)
        values = self._sample_values(matrix)
        self.genes_ = _most_variable(values, self.n_genes)
        self.mean_ = values[:, self.genes_].mean(axis=0)
        self.axes_ = self._leading_axes(values[:, self.genes_] - self.mean_)
        return self

    def transform(self, X: Any) -> Array:
        """Prepare samples as those of `fit` were.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Samples in rows, the genes of `fit` in columns.

        Returns
        -------
        ndarray of shape (n, genes kept)
            Log2 ratios to the mean sample of `fit`.
        """
        check_is_fitted(self)
        matrix = as_matrix(X, min_samples=1)
        validate_data(self, X, reset=False, skip_check_array=True)
        check_squares(matrix)
        ratios = self._sample_values(matrix)[:, self.genes_] - self.mean_
        return ratios if self.axes_ is None else ratios @ self.axes_.T @ self.axes_

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the genes kept.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of all genes; by default those that X had in `fit`, or x0, x1 and so on.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        return _check_feature_names_in(self, input_features)[self.genes_]

    def _takes_logarithms(self, matrix: Array) -> bool:
        floor = as_real(self.floor, "floor")
        largest = float(matrix.max())
        chosen = as_choice(self.log, "log", ("auto", "yes", "no"))
        if chosen == "auto" and largest <= LARGEST_LOGARITHM:
            warnings.warn(
                f"X looks logged already (largest value {largest:.3g}, not above "
                f"{LARGEST_LOGARITHM:g}), so no logarithms are taken; log='no' says that this is "
                "right, log='yes' takes them",
                UserWarning,
                stacklevel=3,
            )
            return False
        takes = chosen != "no"
        if takes and floor <= 0:
            raise ValueError(f"floor={floor:g} has no logarithm; a value above 0 would do")
        if takes and largest <= floor:
            raise ValueError(
                f"no value of X is above floor={floor:g} (largest {largest:.3g}); a lower floor "
                "would do, or log='no' where X is logged already"
            )
        return takes

    def _sample_values(self, matrix: Array) -> Array:
        """Logarithms, each sample centred."""
        values = np.log2(np.maximum(matrix, self.floor)) if self.logged_ else matrix
        if as_flag(self.centre_samples, "centre_samples"):
            return values - values.mean(axis=1, keepdims=True)
        return values

    def _leading_axes(self, ratios: Array) -> Array | None:
        if self.n_axes is None:
            return None
        n_axes = as_count(self.n_axes, "n_axes", low=1)
        return principal_axes(ratios).basis[:, :n_axes].T


def expression(
    n_clusters: Any = 2,
    *,
    n_components: Any = None,
    n_variables: Any = None,
    random_state: Any = None,
) -> Pipeline:
    """Sub-types of samples in gene expression: the preparation and PSC, as one Pipeline.

    `ExpressionScaler` with as many principal axes as K flats of dimension R and their centres can
    span, K (R + 1); then `PSC` with affine flats by the leave-one-out likelihood. By default R is
    0: a cluster is its mean profile, and a sample goes where it is most likely had it been left
    out, with one noise variance for all clusters and a cluster's size as its prior.

    Parameters
    ----------
    n_clusters : int, default 2
        Number of clusters. It is not chosen here: the axes kept depend on it, and likelihoods of
        different axes do not compare. Try a few and look at `diagnostics.stability`.
    n_components : int, optional
        Dimension of the flats, R; by default 0, or 1 where ``n_variables`` needs it.
    n_variables : None, int or "auto", default None
        Genes per loading, as in `PSC`. Sparse loadings look at single genes, so all axes are kept.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    Pipeline
        Steps "prepare" and "cluster". ``model[-1].labels_`` has the clusters, ``model.predict``
        places new samples, ``model[:-1].get_feature_names_out()`` names the genes kept, and
        ``model[-1].subspaces_[k].centre`` has cluster k's log2 ratio to the mean sample for each.
        With ``set_output(transform="pandas")`` the names also reach `PSC.get_variables`.

    Examples
    --------
    >>> import numpy as np
    >>> from subspaces import recipes
    >>> random = np.random.default_rng(0)
    >>> X = 2.0 ** random.normal(8, 1, (60, 300))
    >>> X[:20, :10] *= 30
    >>> X[20:45, 100:110] *= 30
    >>> model = recipes.expression(3, random_state=0).fit(X)
    >>> np.bincount(model[-1].labels_).tolist()
    [20, 25, 15]

    The genes that set the second cluster apart:

    >>> names = model[:-1].get_feature_names_out()
    >>> apart = model[-1].get_variables(1)[:10]
    >>> sorted(names[apart].tolist()) == [f"x{j}" for j in range(100, 110)]
    True
    """
    for name, value in (("n_clusters", n_clusters), ("n_components", n_components)):
        if isinstance(value, str):
            raise ValueError(
                f"{name}={value!r} is not for expression data: the axes kept depend on it; a "
                "number would do, and diagnostics.stability compares several"
            )
    dense = n_variables is None
    if n_components is None:
        n_components = 0 if dense else 1
    n_axes = n_clusters * (n_components + 1) if dense else None
    cluster = PSC(
        n_clusters,
        n_components=n_components,
        n_variables=n_variables,
        affine=dense,
        criterion="likelihood" if dense else "auto",
        random_state=random_state,
    )
    return Pipeline([("prepare", ExpressionScaler(n_axes=n_axes)), ("cluster", cluster)])


def as_preparation(scaler: ExpressionScaler, names: Sequence[str]) -> Preparation:
    """What a fitted scaler does, in the form that goes into a model file.

    Parameters
    ----------
    scaler : ExpressionScaler
        Fitted to a table.
    names : sequence of str
        The variables of that table.

    Returns
    -------
    Preparation
    """
    check_is_fitted(scaler)
    return Preparation(
        tuple(names[j] for j in scaler.genes_),
        inputs=list(names),
        floor=float(scaler.floor) if scaler.logged_ else None,
        log=scaler.logged_,
        offset=0.0,
        centre_samples=scaler.centre_samples,
        centre=scaler.mean_,
        axes=scaler.axes_,
    )


def _most_variable(values: Array, count: int | None) -> NDArray[np.intp]:
    """The columns of largest variance, in their order; the first of equals."""
    if count is None or as_count(count, "n_genes", low=1) >= values.shape[1]:
        return np.arange(values.shape[1])
    return np.sort(np.argsort(-values.var(axis=0), kind="stable")[:count])
