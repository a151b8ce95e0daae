"""`PCA`: principal component analysis that says how sure it is."""

import os
from dataclasses import replace
from importlib.util import find_spec
from typing import Annotated, Any, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from subspaces._types import Array, Auto, Data, Indices, Rotation, Seed
from subspaces.core.array import in_main_memory, is_dask
from subspaces.data.blocks import Blocks
from subspaces.data.devices import check_device, device_of, moved_attributes, to_device
from subspaces.data.kinds import SurveyedBlocks, in_memory, surveyed
from subspaces.data.validation import as_matrix, as_weights, check_squares, has_holes, row_names
from subspaces.estimators._fitted_state import fitted_state
from subspaces.messages import FILL_BY_PCA, UNWEIGHTED, Advice, ParameterError, shown
from subspaces.pca.blocks import as_blocks, fit_blocks, scores_in_blocks, values_in_blocks
from subspaces.pca.choice import PCAComponents
from subspaces.pca.fit import PCAFit, checked_number, fit
from subspaces.pca.outliers import PCAOutliers, outliers_of
from subspaces.pca.press import PCAInfluence
from subspaces.pca.table import column_names, varying_table
from subspaces.runtime import model_file
from subspaces.runtime.extras import install
from subspaces.runtime.fitted import fits_a_draft
from subspaces.runtime.model_file import SavedModel
from subspaces.runtime.parameters import as_choice, as_flag, as_generator, as_real
from subspaces.runtime.result import as_set_output
from subspaces.runtime.warning import collect_warnings, warn

# How many components, and variables of each, a printed model shows.
SHOWN, STRONGEST = 3, 5


class PCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Principal component analysis (PCA) that chooses its number of components and checks it.

    You can use it like ``PCA`` of scikit-learn. It also chooses the number of components, gives
    intervals for loadings, finds outliers and influential samples, and accepts missing values (NaN)
    and weights.

    Parameters
    ----------
    n_components : "auto", int, float or None, default "auto"
        How many components to keep. "auto" keeps those that are stronger than noise, as
        `diagnostics.pca_components` finds them. There may be none. Noise alone is as strong in
        less than one of 100 tables. A float between 0 and 1 keeps as many as explain this share of
        the variance. None keeps all.
    center : bool, default True
        Whether to subtract the mean of each variable first.
    scale : bool, default False
        Whether to divide each variable by its standard deviation first.
    whiten : bool, default False
        Whether to divide the scores by their standard deviations.
    rotation : {"varimax"} or None, default None
        How to turn the components within their subspace.
    robust : bool, default False
        Whether `outliers` compares samples with a PCA that leaves outliers out. The components do
        not change.
    random_state : int, RandomState or None
        Seed. It only matters for large tables, in which ``choice_`` leaves out random values.

    Attributes
    ----------
    n_components_ : int
        Number of components, R.
    components_ : ndarray of shape (R, p)
        Axes, the strongest first. Each is a unit vector whose largest loading is positive.
        Variables that do not vary have loading 0.
    mean_ : ndarray of shape (p,)
        Mean of each variable, which is subtracted. Zero if ``center=False``.
    scale_ : ndarray of shape (p,) or None
        Standard deviation that each variable is divided by, or 1 if it does not vary. None if
        ``scale=False``.
    explained_variance_, explained_variance_ratio_, singular_values_ : ndarray of shape (R,)
        Variance along each axis, its share of the total, and the length of the scores. They refer
        to the scaled variables if ``scale=True``, and to the origin if ``center=False``.
    noise_variance_ : float
        Mean variance along the axes that are not kept.
    choice_ : PCAComponents
        How many components are stronger than noise, how sure this is, and how many help to predict.
        It has ``verdict``, ``low``, ``high``, ``n_predictive``, ``table`` and ``plot()``.
    influence_ : PCAInfluence
        How much each sample matters: the ``angle`` by which the subspace turns without it, its
        ``leverage`` and its leave-one-out error ``loo_error``.
    rests_on_ : ndarray of shape (R,)
        Row number of the most influential sample of each component.
    missing_share_ : float
        Share of the values that were missing.
    n_samples_, n_features_in_ : int
        Number of samples and of variables.
    feature_names_in_ : ndarray of shape (p,)
        Names of the variables, if X had names.

    See Also
    --------
    subspaces.diagnostics.pca_components : The number of components alone, with more options.

    Examples
    --------
    >>> import numpy as np
    >>> from subspaces import PCA
    >>> random = np.random.default_rng(0)
    >>> signal = random.normal(size=(100, 3)) @ random.normal(size=(3, 30))
    >>> model = PCA()
    >>> model.fit_transform(signal + random.normal(size=(100, 30))).shape
    (100, 3)
    >>> model.choice_.verdict
    '3 components are stronger than noise. Noise hides components below 0.77 % of the variance.'
    """

    n_components_: Annotated[int, "R"]
    components_: Annotated[NDArray[Any], "R", "p"]
    mean_: Annotated[NDArray[Any], "p"]
    scale_: Annotated[NDArray[Any], "p"] | None
    explained_variance_: Annotated[NDArray[Any], "R"]
    explained_variance_ratio_: Annotated[NDArray[Any], "R"]
    singular_values_: Annotated[NDArray[Any], "R"]
    noise_variance_: float
    rests_on_: Annotated[Indices, "*"]
    missing_share_: float
    n_samples_: int
    n_features_in_: Annotated[int, "p"]
    feature_names_in_: Annotated[NDArray[Any], "p"]
    fit_: PCAFit
    # An array without rows, of the library, device and type of the table of fit; None for numpy.
    _home: Any = None

    def __init__(
        self,
        n_components: int | float | Auto | None = "auto",
        *,
        center: bool = True,
        scale: bool = False,
        whiten: bool = False,
        rotation: Rotation | None = None,
        robust: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.n_components = n_components
        self.center = center
        self.scale = scale
        self.whiten = whiten
        self.rotation = rotation
        self.robust = robust
        self.random_state = random_state

    @fits_a_draft
    def fit(
        self, X: Data, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Find the components.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Samples in rows. In a dense table, NaN is a missing value. Sparse matrices, Dask arrays
            and memory-mapped files are read in blocks. If array API dispatch of scikit-learn is on,
            so are arrays on a GPU.
        y : ignored
            For compatibility.
        sample_weight : array-like of shape (n,), optional
            How often each sample counts. 2 counts it twice, and 0 leaves it out. Not supported with
            missing values.

        Returns
        -------
        PCA
            The fitted transformer.
        """
        self._check_parameters()
        weights = _weights(sample_weight, X)
        with collect_warnings() as doubts:
            self.fit_ = self._fitted(X, weights)
        validate_data(self, X, skip_check_array=True)
        self.__dict__ |= self._attributes_of_fit()
        home = device_of(X)
        if home is not None:
            self._home = home
            self.__dict__ |= moved_attributes(vars(self), home)
        for each in shown(doubts):
            warn(each)
        return self

    def _fitted(self, X: Any, weights: Array | None) -> PCAFit:
        number, random = checked_number(self.n_components), self.random_state
        blocks = as_blocks(X)
        seed = 0 if random is None else int(as_generator(random).integers(2**31))
        given, kept = X, dict[str, Any](seed=seed)
        if blocks is not None:
            many = SurveyedBlocks(blocks, surveyed(blocks))
            X = many.few_rows()
            if X is None:
                kept |= {"variables": column_names(X, many.shape[1]), "single": is_single(given)}
                how = {"center": self.center, "scale": self.scale}
                return fit_blocks(many, number, self.rotation, weights, **how, **kept)
        X = in_memory(X)
        table = varying_table(
            X, center=self.center, scale=self.scale, weights=weights, counting=number == "auto"
        )
        if weights is not None and table.observed is not None:
            fact = "<sample_weight> does not work with missing values."
            raise ParameterError("sample_weight", fact, FILL_BY_PCA, UNWEIGHTED)
        columns = column_names(X, len(table.varies))
        kept |= {"variables": columns, "sample_names": row_names(X), "single": is_single(given)}
        return fit(table, number, self.rotation, **kept)

    def _attributes_of_fit(self) -> dict[str, Any]:
        """Return the attributes that follow from ``fit_``, by name."""
        found = self.fit_
        variances = found.energies / found.freedom
        total = max(float(variances.sum()) + found.others / found.freedom, 1e-300)
        arrays = {
            "components_": np.ascontiguousarray(found.components),
            "mean_": found.mean,
            "explained_variance_": variances,
            "explained_variance_ratio_": variances / total,
            "singular_values_": np.sqrt(found.energies),
        }
        kind = np.float32 if found.single else np.float64
        scale = None if found.scale is None else found.scale.astype(kind)
        return {name: array.astype(kind) for name, array in arrays.items()} | {
            "scale_": scale,
            "n_components_": found.n_components,
            "noise_variance_": found.noise,
            "rests_on_": found.rests_on,
            "missing_share_": found.missing_share,
            "n_samples_": found.n_samples,
        }

    @property
    def choice_(self) -> PCAComponents:
        """How many components are stronger than noise, and how sure this is."""
        check_is_fitted(self)
        return self.fit_.choice

    @property
    def influence_(self) -> PCAInfluence:
        """How much each sample influences the components."""
        check_is_fitted(self)
        return self.fit_.influence

    def loadings(self, level: float = 0.95) -> Any:
        """Return the loadings of the variables, with intervals from the exact jackknife.

        The standard errors come from n fits, each without one sample. An interval is wide if the
        samples do not agree on an axis. If two components have nearly equal variances, their axes
        can turn into each other. ``mixed`` marks them: their intervals are too narrow, and only the
        plane of both axes is sure. If ``scale=True``, intervals are slightly too wide, because the
        scales do not change with the samples.

        Parameters
        ----------
        level : float, default 0.95
            Probability that an interval contains the true loading.

        Returns
        -------
        pandas.DataFrame
            One row per component and variable. Components count from 1. The columns are
            ``variable``, ``component``, ``loading``, ``low``, ``high``, ``p_value`` (of a loading
            of 0) and ``mixed``.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from subspaces import PCA
        >>> model = PCA(2, scale=True).fit(load_wine(as_frame=True).data)
        >>> print(model.loadings().round(2).head(3).to_string(index=False))
          variable  component  loading   low  high  p_value  mixed
           alcohol          1     0.14  0.03  0.26     0.01  False
        malic_acid          1    -0.25 -0.32 -0.17     0.00  False
               ash          1    -0.00 -0.09  0.08     0.96  False
        """
        check_is_fitted(self)
        level = as_real(level, "level", above=True, high=1.0)
        if find_spec("pandas") is None:
            raise ImportError(f"loadings() needs pandas. {install('cli')}")
        import pandas as pd

        found, (p, count) = self.fit_, self.components_.T.shape
        loadings = found.components.T, *found.intervals(level)
        columns = ("loading", "low", "high", "p_value")
        frame = {"variable": np.tile(found.variables, count)}
        frame["component"] = np.repeat(np.arange(1, count + 1), p)
        frame |= {c: table.T.ravel() for c, table in zip(columns, loadings, strict=True)}
        return pd.DataFrame(frame | {"mixed": np.repeat(found.standard_errors.mixed, p)})

    def outliers(self, X: Data | None = None, level: float = 0.05) -> PCAOutliers:
        """Find the samples that are far out along the components, or far from them.

        Parameters
        ----------
        X : array-like of shape (m, p), optional
            New samples, without missing values. By default the samples of `fit`, each left out in
            turn.
        level : float, default 0.05
            Probability that a table without outliers has a sample beyond the limits.

        Returns
        -------
        PCAOutliers
            ``.is_outlier``, ``.t2`` and ``.q`` with their limits, ``.contributions(sample)``,
            ``.verdict``, ``.table`` and ``.plot()``.
        """
        check_is_fitted(self)
        level = as_real(level, "level", above=True, high=1.0)
        found = self.fit_.members(level, robust=self.robust)
        if X is None:
            return outliers_of(found, level, self.fit_.sample_names, self.fit_.variables)
        rows = self.fit_.prepared(self._matrix(X, "outliers"))
        if has_holes(rows):
            fact = "New samples cannot have missing values, but <X> has some."
            raise ParameterError("X", fact, Advice("fill them first with model.impute(X)"))
        return outliers_of(replace(found, new=rows), level, row_names(X), self.fit_.variables)

    def transform(self, X: Any) -> Any:
        """Return the scores of samples on the components.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Samples in rows, with the variables of `fit`. Missing values are filled in as by
            `impute`.

        Returns
        -------
        ndarray of shape (n, n_components)
            Scores, in single precision if X is.
        """
        units = self._units if self.whiten else None
        blocks = self._blocks(X, "transform")
        if blocks is not None:
            return scores_in_blocks(blocks, self.fit_, units)
        scores = self.fit_.scores(self._matrix(X))
        return self._beside(X, scores if units is None else scores / units)

    def inverse_transform(self, X: Any) -> Any:
        """Return the samples that have these scores.

        Parameters
        ----------
        X : array-like of shape (n, n_components)
            Scores, as `transform` returns them.

        Returns
        -------
        ndarray of shape (n, p)
            Points in the subspace of the components, in the units of the variables.
        """
        check_is_fitted(self)
        width = self.n_components_
        given = tuple(X.shape if hasattr(X, "shape") else np.asarray(X).shape)
        if len(given) != 2 or given[1] != width:
            raise ParameterError(
                "X",
                f"<X> has shape {given}, but the model has {width} components. Pass one score per "
                "component.",
            )
        back = self.fit_.components * (self._units[:, None] if self.whiten else 1.0)
        back = back if self.fit_.scale is None else back * self.fit_.scale
        if is_dask(X):
            return X @ back + self.fit_.mean
        scores = as_matrix(in_memory(X), min_samples=1) if width else np.zeros(given)
        return self._beside(X, scores @ back + self.fit_.mean)

    def impute(self, X: Any) -> Any:
        """Fill in the missing values of X with the values that the components predict.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Samples in rows, with the variables of `fit`. NaN is a missing value.

        Returns
        -------
        array of shape (n, p)
            The table without missing values, in single precision if X is. Observed values stay the
            same. After ``set_output(transform="pandas")``, a data frame with the index and columns
            of X.
        """
        if is_dask(X):
            self._check_new(X, "impute")
            return X.map_blocks(self.fit_.imputed, dtype=X.dtype)
        if sparse.issparse(X):
            self._blocks(X, "impute")  # checks it
            return X  # its zeros are values
        return as_set_output(self._beside(X, self.fit_.imputed(self._matrix(X, "impute"))), X, self)

    def get_covariance(self) -> Any:
        """Return the covariance of the variables under probabilistic PCA.

        Returns
        -------
        ndarray of shape (p, p)
            Covariance, in the units of X.
        """
        check_is_fitted(self)
        return self._as_fitted(self.fit_.covariance())

    def get_precision(self) -> Any:
        """Return the inverse of `get_covariance`.

        Returns
        -------
        ndarray of shape (p, p)
            Inverse covariance.
        """
        check_is_fitted(self)
        self._check_density()
        return self._as_fitted(self.fit_.precision())

    def score_samples(self, X: Any) -> Any:
        """Return the log-likelihood of each sample under probabilistic PCA.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Samples in rows, with the variables of `fit`. Missing values are ignored.

        Returns
        -------
        ndarray of shape (n,)
            Log densities in the units of X, even if ``scale=True``.
        """
        blocks = self._blocks(X, "score_samples")
        self._check_density()
        if blocks is not None:
            return values_in_blocks(blocks, self.fit_, PCAFit.log_density)
        return to_device(self.fit_.log_density(self._matrix(X)), self._home)

    def score(self, X: Any, y: ArrayLike | None = None) -> float:
        """Return the mean log-likelihood of the samples under probabilistic PCA. Higher is better.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Samples in rows, with the variables of `fit`.
        y : ignored
            For compatibility.

        Returns
        -------
        float
            Mean log-likelihood per sample.
        """
        return float(in_main_memory(self.score_samples(X)).mean())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the fitted PCA to a file that `subspaces.load` reads.

        Parameters
        ----------
        path : str or path
            Name of the file, for example ``model.npz``. An existing file is replaced once the new
            one is complete.
        """
        check_is_fitted(self)
        parameters = self.get_params(deep=False)
        model_file.write(path, SavedModel(type(self).__name__, parameters, fitted_state(self)))

    def __str__(self) -> str:
        """Return the verdict and the first loadings; unfitted the parameters."""
        if not hasattr(self, "fit_"):
            return repr(self)
        counted = self.fit_.axes is not None or self.fit_.sampled is not None
        lines = [self.choice_.verdict] if counted else []
        if not lines or self.n_components_ != self.choice_.n_components:
            lines.append(f"The PCA kept {self.n_components_} of {len(self.mean_)} components.")
        names, components = self.fit_.variables, self.fit_.components
        for r, loadings in enumerate(components[:SHOWN]):
            strongest = np.argsort(-np.abs(loadings), kind="stable")[:STRONGEST]
            named = ", ".join(f"{names[j]} {loadings[j]:+.2f}" for j in strongest)
            share = 100 * float(self.explained_variance_ratio_[r])
            lines.append(f"Component {r + 1} ({share:.1f} % of the variance): {named}")
        return "\n".join(lines)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.array_api_support = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    @property
    def _units(self) -> Array:
        """Standard deviations (R,) of the scores, which `whiten` divides by."""
        deviations = np.sqrt(self.fit_.energies / self.fit_.freedom)
        return np.maximum(deviations, np.finfo(np.float32 if self.fit_.single else float).eps)

    def _check_parameters(self) -> None:
        """Raise an error for a parameter that no table allows."""
        checked_number(self.n_components)
        for name in ("center", "scale", "whiten", "robust"):
            as_flag(getattr(self, name), name)
        if self.rotation is not None:
            as_choice(self.rotation, "rotation", get_args(Rotation))

    def _check_density(self) -> None:
        if self.fit_.positive_noise == 0.0:
            fact = (
                "All variables were constant in the fit, so no density can be computed. Fit a "
                "table whose variables vary."
            )
            raise ParameterError("X", fact)

    def _check_new(self, X: Any, method: str) -> None:
        """Raise an error if X has other variables than the table of fit, or is elsewhere."""
        check_is_fitted(self)
        check_device(X, self._home, f"PCA.{method}")
        validate_data(self, X, reset=False, skip_check_array=True)

    def _blocks(self, X: Any, method: str) -> Blocks | None:
        """Return X, checked, if it is read in blocks; None for a table in memory."""
        check_is_fitted(self)
        blocks = as_blocks(X)
        if blocks is not None:
            self._check_new(X, method)
            if not is_dask(X):  # those of Dask are checked as they come
                surveyed(blocks)
        return blocks

    def _matrix(self, X: Data, method: str = "transform") -> Array:
        """Return X (n, p), checked; NaN for a missing value."""
        check_is_fitted(self)
        matrix = as_matrix(in_memory(X), min_samples=1, missing=True)
        self._check_new(X, method)
        check_squares(matrix)
        return matrix

    def _beside(self, X: Data, values: Array) -> Any:
        """Return values in the precision and on the device of X."""
        return to_device(values.astype(np.float32) if is_single(X) else values, device_of(X))

    def _as_fitted(self, values: Array) -> Any:
        """Return values in the precision and on the device of the table of fit."""
        kind = np.float32 if self.fit_.single else np.float64
        return to_device(values.astype(kind, copy=False), self._home)


def _weights(sample_weight: ArrayLike | None, X: Data) -> Array | None:
    """Return the weights (n,), None if all are one; raise an error unless they count samples."""
    weights = None if sample_weight is None else as_weights(sample_weight, _num_samples(X))
    if weights is not None and weights.sum() <= 1.0:
        fact = (
            "The weights in <sample_weight> add up to {value:g}, so all samples together count as "
            "one sample or less."
        )
        more = Advice("scale them to a sum above 1")
        raise ParameterError("sample_weight", fact, more, value=float(weights.sum()))
    return weights


def is_single(X: Any) -> bool:
    """Whether the values are of single precision."""
    dtype = getattr(X, "dtype", None)
    return "float32" in str(np.asarray(X).dtype if dtype is None else dtype)
