"""`SelectedPCA`: a PCA that finds how many components it has."""

import os
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from subspaces._types import Array, Data, FoundNoise, Indices, NoiseKind
from subspaces.core import incomplete
from subspaces.core.incomplete import VARIANCE_FLOOR, Gaussian, IncompleteMixture
from subspaces.data.validation import as_matrix, check_squares, warn_of_copies
from subspaces.estimators._fitted_state import fitted_state
from subspaces.messages import Advice, ChoiceWarning, ParameterError, shown, use
from subspaces.pca.components import KINDS_OF_NOISE, Components
from subspaces.pca.missing import fit_pca, warn_of_low_values
from subspaces.pca.table import VaryingTable, varying_table
from subspaces.pca.verdict import doubts_about_components, verdict_on_components
from subspaces.runtime import model_file
from subspaces.runtime.fitted import fits_a_draft
from subspaces.runtime.model_file import SavedModel
from subspaces.runtime.parameters import as_choice, as_count, as_flag
from subspaces.runtime.result import as_set_output
from subspaces.runtime.threads import one_blas_thread
from subspaces.runtime.warning import collect_warnings, doubt, warn
from subspaces.subspace import PrincipalAxes, signs_of_largest


class SelectedPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """PCA with the number of components that stand out of the noise.

    A transformer in the place of scikit-learn's ``PCA``, without a number to choose: an axis is
    kept if its eigenvalue is above what noise alone stays below in 99 of 100 tables (95 with heavy
    tails), as `diagnostics.pca_components` finds it. Doubts come as warnings: correlated variables,
    a component that rests on one sample, as many components as were tried.

    NaN is a cell that was not observed. The axes are then those of probabilistic PCA, fitted to the
    observed cells; `transform` gives the scores of samples whose holes `impute` has filled.

    Parameters
    ----------
    center : bool, default True
        Whether the PCA has a mean.
    scale : bool, default False
        Whether each variable is divided by its standard deviation first.
    method : {"auto", "equal", "unequal", "heavy", "correlated"}, default "auto"
        What the noise is taken for: columns of equal or unequal variance; heavy tails, where a
        component has to stay without its most influential sample; correlated columns, where the
        spectrum has to break. "auto" finds out.
    max_components : int, optional
        Most components to count; by default half of the smaller side of the table. Twelve axes are
        looked at first, and twice as many while all of them are components.
    min_components : int, default 0
        Axes that are kept even if noise reaches as far.

    Attributes
    ----------
    n_components_ : int
        Number of components, R. It may be 0, and then a warning says so.
    components_ : ndarray of shape (R, p)
        Axes, the strongest first: unit vectors, 0 at variables that do not vary. The score of
        largest magnitude along each is positive.
    mean_ : ndarray of shape (p,)
        What is subtracted from each variable; 0 with ``center=False``.
    scale_ : ndarray of shape (p,) or None
        What each is then divided by, 1 for those that do not vary; None with ``scale=False``.
    explained_variance_, explained_variance_ratio_, singular_values_ : ndarray of shape (R,)
        Variance along each axis, its share of the total, and the length of the scores; of the
        scaled variables with ``scale=True``, and around the origin with ``center=False``.
    noise_variance_ : float
        Mean variance along the other axes.
    low_, high_ : int or None
        How many components stand out beyond all doubt (noise reaches as far once in 1000 tables),
        and how many might (one time in two). None where the variables are correlated.
    noise_ : {"none", "equal", "unequal", "heavy", "correlated"}
        Kind of the noise.
    ratio_ : ndarray of shape (m,)
        Eigenvalue of each axis that was tried over the edge of the noise.
    rests_on_ : ndarray of shape (m,)
        Row of the sample that each of these axes rests on most.
    verdict_, grade_ : str
        All that in plain words, and how sure the number is, a `messages.Grade`.
    missing_share_ : float
        Share of the cells that were missing.
    n_samples_, n_features_in_ : int
        Size of the table.
    feature_names_in_ : ndarray of shape (p,)
        Names of the variables, where X had names.

    See Also
    --------
    subspaces.diagnostics.pca_components : The same number, how many axes predict, and a plot.

    Examples
    --------
    >>> import numpy as np
    >>> from subspaces import SelectedPCA
    >>> random = np.random.default_rng(0)
    >>> signal = random.normal(size=(100, 3)) @ random.normal(size=(3, 30))
    >>> model = SelectedPCA()
    >>> model.fit_transform(signal + random.normal(size=(100, 30))).shape
    (100, 3)
    >>> model.verdict_
    '3 components are stronger than noise. We cannot see components below 0.77 % of the variance.'
    """

    n_components_: Annotated[int, "R"]
    components_: Annotated[Array, "R", "p"]
    mean_: Annotated[Array, "p"]
    scale_: Annotated[Array, "p"] | None
    explained_variance_: Annotated[Array, "R"]
    explained_variance_ratio_: Annotated[Array, "R"]
    singular_values_: Annotated[Array, "R"]
    noise_variance_: float
    low_: int | None
    high_: int | None
    noise_: FoundNoise
    ratio_: Annotated[Array, "m"]
    rests_on_: Annotated[Indices, "m"]
    verdict_: str
    grade_: str
    missing_share_: float
    n_samples_: int
    n_features_in_: int
    feature_names_in_: Annotated[NDArray[Any], "p"]

    def __init__(
        self,
        *,
        center: bool = True,
        scale: bool = False,
        method: NoiseKind = "auto",
        max_components: int | None = None,
        min_components: int = 0,
    ) -> None:
        self.center = center
        self.scale = scale
        self.method = method
        self.max_components = max_components
        self.min_components = min_components

    @fits_a_draft
    def fit(self, X: Data, y: ArrayLike | None = None) -> Self:
        """Find the components.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Samples in rows, at least five of them, and three variables that vary. NaN is a cell
            that was not observed.
        y : ignored
            For compatibility.

        Returns
        -------
        SelectedPCA
            The fitted transformer.
        """
        table = varying_table(X, center=self.center, scale=self.scale)
        validate_data(self, X, skip_check_array=True)
        with collect_warnings() as doubts:
            self._find_components(table)
        for each in shown(doubts):
            warn(each)
        return self

    def _find_components(self, table: VaryingTable) -> None:
        """Store the components of a table, and warn of what is doubtful about them."""
        warn_of_copies(table.rows, of_components=True)
        method = as_choice(self.method, "method", KINDS_OF_NOISE)
        most = table.checked_maximum(self.max_components)
        found, axes = table.components(most, method)
        fewest = self._fewest(axes.rank)
        self._store_axes(table, axes, max(found.count, fewest))
        self._store_findings(table, found, axes)
        more = table.has_more_than(most)
        for each in doubts_about_components(found, table.names, axes, more=more):
            warn(each)
        if self.n_components_ == 0:
            one = [use("min_components", 1)] if axes.rank else []
            none = "No component is stronger than noise, so transform returns an empty table."
            doubt(ChoiceWarning, "no_component", none, *one, rank=axes.rank)

    def transform(self, X: Data) -> Array:
        """Scores of samples on the components.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Samples in rows, the variables of `fit` in columns. Holes are filled as by `impute`.

        Returns
        -------
        ndarray of shape (n, n_components)
            In single precision where X is.
        """
        rows = self._completed(self._prepared(X))
        return _of_the_precision_of(X, rows @ self.components_.T)

    def impute(self, X: Data) -> Any:
        """Fill the cells of X that are missing with what the components expect there.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Samples in rows, the variables of `fit` in columns; NaN where a cell is missing.

        Returns
        -------
        array of shape (n, p)
            Observed cells as they were; in single precision where X is. After
            ``set_output(transform="pandas")`` a frame with the index and the columns of X.
        """
        rows = self._prepared(X)
        filled = self._completed(rows)
        filled = (filled if self.scale_ is None else filled * self.scale_) + self.mean_
        values = as_matrix(X, min_samples=1, missing=True)
        whole = _of_the_precision_of(X, np.where(np.isnan(rows), filled, values))
        return as_set_output(whole, X, self)

    def inverse_transform(self, X: Data) -> Array:
        """Points of the space of the samples that have these scores.

        Parameters
        ----------
        X : array-like of shape (n, n_components)
            Scores, as `transform` returns them.

        Returns
        -------
        ndarray of shape (n, p)
            The points of the components' subspace, in the units of the variables.
        """
        check_is_fitted(self)
        width = self.n_components_
        given = np.asarray(X).shape
        if len(given) != 2 or given[1] != width:
            raise ParameterError(
                "X",
                f"<X> has shape {given}, but the model has {width} components. Pass their scores.",
            )
        scores = as_matrix(X, min_samples=1) if width else np.zeros(given)
        rows = scores @ self.components_
        rows = rows if self.scale_ is None else rows * self.scale_
        return _of_the_precision_of(X, rows + self.mean_)

    def score_samples(self, X: Data) -> Array:
        """Log-likelihood of each sample under probabilistic PCA, as scikit-learn's ``PCA`` has it.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Samples in rows, the variables of `fit` in columns. Of one with holes, the likelihood of
            its observed cells.

        Returns
        -------
        ndarray of shape (n,)
            Log-densities in the units of X, also with ``scale=True``.
        """
        rows = self._prepared(X)
        # A table without noise has next to none, so that there is a density.
        least = VARIANCE_FLOOR * float(self.explained_variance_.sum())
        noise = max(self.noise_variance_, least)
        if noise == 0.0:
            fact = (
                "The model was fitted to constant variables, so samples have no density. Fit "
                "another table."
            )
            raise ParameterError("X", fact)
        spread = np.sqrt(np.maximum(self.explained_variance_ - noise, 0.0))
        whole = Gaussian(self.components_.T * spread, np.zeros(rows.shape[1]))
        density = -incomplete.scored(
            rows, IncompleteMixture((whole,), np.ones(1), np.array([noise]))
        )
        units = 0.0 if self.scale_ is None else ~np.isnan(rows) @ np.log(self.scale_)
        return density[:, 0] - units

    def score(self, X: Data, y: ArrayLike | None = None) -> float:
        """Mean log-likelihood of the samples under probabilistic PCA; higher is better.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Samples in rows, the variables of `fit` in columns.
        y : ignored
            For compatibility.

        Returns
        -------
        float
        """
        return float(self.score_samples(X).mean())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted PCA as plain arrays and JSON, for `subspaces.load`.

        Parameters
        ----------
        path : str or path
            The file, written exactly where it is named; ``.npz`` suits it. It appears when it is
            complete, in place of an earlier one.
        """
        check_is_fitted(self)
        parameters = self.get_params(deep=False)
        model_file.write(path, SavedModel(type(self).__name__, parameters, fitted_state(self)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def _check_parameters(self) -> None:
        """Raise an error for a parameter that no table allows."""
        as_flag(self.center, "center")
        as_flag(self.scale, "scale")
        as_choice(self.method, "method", KINDS_OF_NOISE)
        as_count(self.min_components, "min_components", low=0)
        if self.max_components is not None:
            as_count(self.max_components, "max_components", low=1)

    def _fewest(self, rank: int) -> int:
        """Return ``min_components``, checked against ``max_components`` and the rank of X."""
        why = f" for X of rank {rank}"
        fewest = as_count(self.min_components, "min_components", low=0, high=rank, why=why)
        if self.max_components is not None and fewest > self.max_components:
            most = self.max_components
            fact = f"<min_components={{value}}> is more than <max_components={most}>."
            less = Advice(f"set it to {most} or less", "min_components")
            raise ParameterError("min_components", fact, less, value=fewest)
        return fewest

    def _prepared(self, X: Data) -> Array:
        """Return the samples (n, p) from the mean, scaled; NaN where a cell is missing."""
        check_is_fitted(self)
        matrix = as_matrix(X, min_samples=1, missing=True)
        validate_data(self, X, reset=False, skip_check_array=True)
        check_squares(matrix)
        rows = matrix - self.mean_
        return rows if self.scale_ is None else rows / self.scale_

    def _completed(self, rows: Array) -> Array:
        """Return prepared samples (n, p) with what the components expect in their holes."""
        holes = np.isnan(rows)
        if not holes.any():
            return rows
        if self.n_components_ == 0:
            return np.where(holes, 0.0, rows)
        # Of a table with more variables than samples few directions hold the noise of all cells.
        n, p, r = self.n_samples_, rows.shape[1], self.n_components_
        per_cell = self.noise_variance_ * (min(n, p) - r) / max(p - r, 1)
        noise = max(per_cell, VARIANCE_FLOOR * float(self.explained_variance_.sum()))
        spread = np.sqrt(np.maximum(self.explained_variance_ - noise, 0.0))
        cluster = Gaussian(self.components_.T * spread, np.zeros(rows.shape[1]))
        return np.where(holes, incomplete.placed(rows, cluster, noise)[0], rows)

    def _store_axes(self, table: VaryingTable, axes: PrincipalAxes, n_components: int) -> None:
        """Set the PCA itself: what its axes are, and the variance along them."""
        n, p, r = table.shape[0], len(table.varies), n_components
        self.n_samples_, self.n_components_ = n, r
        self.mean_, self.scale_ = table.mean, table.scale
        self.missing_share_ = 0.0
        spectrum, scores, basis = axes.eigenvalues, axes.coordinates[:, :r], axes.basis[:, :r]
        others = float(spectrum[r:].sum()) / (n - table.center)
        if table.cells is not None:
            with one_blas_thread():
                pca = fit_pca(table.cells, r, table.center)
            warn_of_low_values(table.cells, pca.image)
            spectrum, scores, basis = pca.subspace.spectrum, pca.coordinates, pca.subspace.basis
            others = float(pca.noise) * (table.shape[1] - r)
            moved = np.zeros(p)
            moved[table.varies] = pca.subspace.centre
            self.mean_ = table.mean + (moved if table.scale is None else moved * table.scale)
            self.missing_share_ = 1.0 - float(table.cells.observed.mean())
        variances = spectrum[:r] / (n - table.center)
        self.components_ = np.zeros((r, p))
        self.components_[:, table.varies] = (basis * signs_of_largest(scores)).T
        self.explained_variance_ = variances
        self.explained_variance_ratio_ = variances / max(float(variances.sum()) + others, 1e-300)
        self.singular_values_ = np.sqrt(spectrum[:r])
        self.noise_variance_ = others / max(min(n, p) - r, 1)

    def _store_findings(self, table: VaryingTable, found: Components, axes: PrincipalAxes) -> None:
        """Set what the number of components rests on."""
        self.low_, self.high_, self.noise_ = found.low, found.high, found.noise
        self.ratio_, self.rests_on_ = found.ratio, found.rests_on
        explained = axes.eigenvalues[: len(found.ratio)] / max(axes.eigenvalues.sum(), 1e-300)
        kept = self.n_components_ if self.n_components_ > found.count else None
        verdict = verdict_on_components(
            found, explained, table.shape, loudest=table.loudest, kept=kept
        )
        self.verdict_, self.grade_ = str(verdict), verdict.grade.value


def _of_the_precision_of(X: Data, values: Array) -> Array:
    """Return the values in single precision if X is, otherwise as they are."""
    return values.astype(np.float32) if np.asarray(X).dtype == np.float32 else values
