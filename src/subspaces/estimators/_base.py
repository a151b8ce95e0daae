"""`SubspaceClusterer`, the base of all estimators: `fit`, `predict`, `report`, `save` and more."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import fields
from inspect import signature
from numbers import Integral
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from subspaces import progress
from subspaces._types import Array, Counts, FittedLabels, Seed
from subspaces.core.array import in_main_memory, is_dask, to_host
from subspaces.core.contrast import Contrast, contrast, means_and_spread
from subspaces.core.incomplete import IncompleteMixture, known_columns
from subspaces.core.partition import Partition
from subspaces.data.blocks import Blocks
from subspaces.data.devices import check_device, device_of, moved_attributes
from subspaces.data.kinds import (
    SurveyedBlocks,
    blocks_of,
    in_blocks_only,
    in_memory,
    is_copied,
    survey_of,
)
from subspaces.data.validation import (
    as_matrix,
    as_table_to_fit,
    as_weights,
    check_squares,
    check_survey,
    count_distinct_rows,
    is_named,
    row_names,
)
from subspaces.estimators._fitted_state import fitted_state, with_arrays_in_memory
from subspaces.estimators._new_rows import NewBlocks, NewRows
from subspaces.estimators._record import (
    Record,
    is_too_large,
    nearest_clusters,
    own_coordinates,
    own_distances,
)
from subspaces.messages import (
    Advice,
    ChoiceWarning,
    DataWarning,
    ParameterError,
    ParameterTypeError,
    message_of,
    shown,
    use,
)
from subspaces.preparation import Preparation, check_present, filled_in_raw_units, prepare_rows
from subspaces.progress import Step, silence
from subspaces.psc.result import Fit, attributes
from subspaces.psc.settings import Settings
from subspaces.runtime import model_file
from subspaces.runtime.fitted import draft_of, take_fit
from subspaces.runtime.memory import no_room
from subspaces.runtime.model_file import SavedModel
from subspaces.runtime.result import as_set_output
from subspaces.runtime.serialise import is_serialisable
from subspaces.runtime.warning import collect_warnings, doubt, warn
from subspaces.starts.landmarks import REFILL_ROWS
from subspaces.subspace import Subspace, squared_residual

# New rows may be this many times as large as those of fit: the influence has the eighth power of a
# score, and beyond this it would overflow.
FURTHEST = 1e25
# Names of the estimator's parameters that a fit uses.
SETTINGS = [setting.name for setting in fields(Settings)]


class SubspaceClusterer(
    progress.CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
):
    """Base of all estimators. Do not use it on its own.

    A subclass implements ``_fit``, which takes a checked matrix and sets the fitted attributes. If
    the subclass ``_takes_missing``, the matrix has NaN for missing values. If it ``_reads_blocks``,
    it may get `SurveyedBlocks`. A subclass overrides ``_scores`` if a score is not the squared
    distance from ``subspaces_``.
    """

    n_clusters: Any  # an int; of PSC, until it has chosen, perhaps "auto"
    n_components: Any
    n_features_in_: Annotated[int, "p"]
    feature_names_in_: Annotated[NDArray[Any], "p"]
    labels_: Annotated[FittedLabels, "n"]
    objective_: float
    subspaces_: Annotated[list[Subspace], "K"]
    n_components_: Annotated[Counts, "K"]
    fit_: Fit
    record_: Record
    cluster_means_: Annotated[Array, "K", "p"]
    within_std_: Annotated[Array, "p"]
    selection_: dict[str, Any]
    preparation_: Preparation
    _scale: float  # the largest absolute value of the data of fit
    _names_handed_on: Annotated[NDArray[Any], "p"]

    # Whether each cluster has a subspace, so that there is something to project on.
    _has_subspaces = True
    # Whether many rows, sparse matrices, Dask arrays and arrays on devices are read in blocks.
    _reads_blocks = False
    # Whether NaN means a missing value. Otherwise it is an error.
    _takes_missing = False
    # An array without rows, of the library, device and type of the data of fit; None for numpy.
    _home: Any = None
    # The share of the cells of fit that were missing.
    missing_share_: float = 0.0
    # What the samples of fit count; None if all count one.
    _weights: Annotated[Array, "n"] | None = None
    # Numbers of observed cells of each cluster and variable, if some are missing.
    _observed: Annotated[Array, "K", "p"] | None = None

    def fit(self, X: Any, y: Any = None, **unknown: Any) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Samples in rows. `MiniBatchPSC` also takes sparse matrices and Dask arrays.
        y : ignored
            For compatibility.
        **unknown
            Not supported. `PSC`, `KSubspaces` and `MPPCA` take ``sample_weight``.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._refuse(unknown)
        return self._fit_at_once(X)

    def _fit_at_once(self, X: Any, sample_weight: Any = None) -> Self:
        """Fit a draft, and take its fitted attributes once it has succeeded."""
        draft, raised = draft_of(self), list[Warning]()
        try:
            with collect_warnings() as raised:
                draft._fit_and_record(X, sample_weight, raised)
        finally:
            for warning in shown(raised):
                warn(warning)
        take_fit(self, draft)
        return self

    def _fit_and_record(self, X: Any, sample_weight: Any, raised: Sequence[Warning]) -> None:
        """Fit X and set all fitted attributes; raised: collects the warnings of the fit."""
        began = perf_counter()
        rows = self._validate(X)
        weights = as_weights(sample_weight, rows.shape[0])
        self._fit_with_callbacks(X, rows, weights)
        if weights is not None:
            self._weights = weights
        if isinstance(rows, np.ndarray):
            whole = NewRows(self, rows).imputed() if self.missing_share_ else rows
            self.labels_ = self.labels_.astype(np.int32, copy=False)
            self._store_means(whole, rows)
        else:
            whole = rows.few_rows()
        self._warn_of_odd_samples(whole, row_names(X))
        seconds = perf_counter() - began
        self.record_ = self._recorded(rows, row_names(X), seconds, raised)
        self._bring_attributes_to(X)

    def fit_predict(self, X: Any, y: Any = None, **unknown: Any) -> FittedLabels:
        """Fit and return ``labels_``.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Samples in rows.
        y : ignored
            For compatibility.
        **unknown
            Not supported.

        Returns
        -------
        ndarray of shape (n,)
            Cluster of each sample, ``labels_``.
        """
        return self.fit(X, y, **unknown).labels_

    def _refuse(self, unknown: Iterable[str]) -> None:
        """Raise TypeError that names an argument of `fit` beyond X and y, if there is one."""
        for name in unknown:
            advice = Advice("leave it out")
            if name == "sample_weight":
                advice = Advice("choose PSC, KSubspaces or MPPCA to weight samples")
            fact = f"{type(self).__name__}.fit does not accept {name}."
            raise ParameterTypeError(name, fact, advice)

    def predict(self, X: Any) -> Any:
        """Put each sample into the cluster under which it has the lowest score.

        Parameters
        ----------
        X : array-like of shape (n, p)
            New samples.

        Returns
        -------
        ndarray of shape (n,)
            Cluster of each sample. An outlier gets -1 if the model was fitted with ``outliers``.
        """
        return self._new_rows(X, "predict").labels()

    @available_if(lambda model: model._reads_blocks)
    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each cluster for each sample.

        `predict` gives the most probable cluster. Each cluster is a Gaussian around its subspace,
        and all have the same noise. `PSC` estimates the noise from samples that were left out.
        `diagnostics.label_confidence` shows how far to trust the probabilities.

        Parameters
        ----------
        X : array-like of shape (n, p)
            New samples. If values are missing, the observed ones decide.

        Returns
        -------
        array of shape (n, n_clusters)
            Probabilities, which sum to 1 for each sample. A Dask array if X is one.
        """
        return self._new_rows(X, "predict_proba").probabilities()

    @available_if(lambda model: model._reads_blocks)
    def score_samples(self, X: Any) -> Any:
        """Return the log density of each sample under the Gaussians of `predict_proba`.

        Parameters
        ----------
        X : array-like of shape (n, p)
            New samples.

        Returns
        -------
        array of shape (n,)
            Log densities.
        """
        return self._new_rows(X, "score_samples").log_densities()

    def transform(self, X: Any) -> Any:
        """Return the score of each sample under each cluster. `predict` takes the lowest.

        Parameters
        ----------
        X : array-like of shape (n, p)
            New samples. If values are missing, the score is the one expected from the observed
            values. A model that was fitted to missing values returns minus the log density of the
            observed values, for complete samples too.

        Returns
        -------
        ndarray of shape (n, n_clusters)
            Scores. Lower is nearer.
        """
        return self._new_rows(X, "transform").scores()

    def score(self, X: Any, y: Any = None) -> float:
        """Return minus the mean score of the samples under their predicted clusters.

        Higher is better, as in scikit-learn. Do not use it to choose the number of clusters or
        dimensions, because squared errors always fall with more of them. Use `subspaces.selection`
        or `metrics.likelihood_scorer` instead.

        Parameters
        ----------
        X : array-like of shape (n, p)
            New samples. `transform` scores missing values the same way.
        y : ignored
            For compatibility.

        Returns
        -------
        float
            Minus the mean score.
        """
        return -self._new_rows(X, "score").mean_score()

    @available_if(lambda model: model._has_subspaces)
    def project(self, X: Any) -> Any:
        """Return the coordinates of each sample in the subspace of its predicted cluster.

        Parameters
        ----------
        X : array-like of shape (n, p)
            New samples.

        Returns
        -------
        list of n arrays
            One coordinate per dimension of the sample's own subspace, so lengths can differ. For a
            Dask array, a Dask array that is as wide as the largest dimension and filled up with
            NaN.
        """
        return self._new_rows(X, "project").coordinates()

    @available_if(lambda model: model._has_subspaces)
    def reconstruct(self, X: Any) -> Any:
        """Return the nearest point to each sample in the subspace of its predicted cluster.

        If the model has ``preparation_`` and that only scales variables, the points are in raw
        units. Other preparations give points in the prepared variables.

        Parameters
        ----------
        X : array-like of shape (n, p)
            New samples.

        Returns
        -------
        array of shape (n, p)
            The points. A Dask array if X is one. After ``set_output(transform="pandas")``, a data
            frame with the index of X and the names of the variables.
        """
        return as_set_output(self._new_rows(X, "reconstruct").nearest_points(), X, self)

    @available_if(lambda model: model._takes_missing)
    def impute(self, X: Any) -> Any:
        """Fill in the missing values of X with the values that the model expects.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Samples, with NaN for missing values. Each needs at least one observed value.

        Returns
        -------
        array of shape (n, p)
            The table without missing values. Observed values stay the same. Each filled value is
            the mean over the clusters, weighted by their probabilities. A model with
            ``preparation_`` returns the variables that it keeps, in the units of X. After
            ``set_output(transform="pandas")``, a data frame with the index and columns of X.
        """
        filled = self._new_rows(X, "impute").imputed()
        preparation: Preparation | None = getattr(self, "preparation_", None)
        if preparation is None:
            return as_set_output(filled, X, self)
        kept = [preparation.needed.index(name) for name in preparation.variable_names]
        raw = X[preparation.needed] if is_named(X) else X
        raw = as_matrix(raw, min_samples=1, missing=True)[:, kept]
        return as_set_output(filled_in_raw_units(raw, filled, preparation), X, self)

    def markers(
        self,
        X: Any,
        cluster: int | None = None,
        *,
        split_half: bool = False,
        n_nulls: int = 99,
        random_state: Seed = None,
    ) -> Any:
        """Test which variables set clusters apart from all other samples.

        Parameters
        ----------
        X : array-like of shape (n, p)
            The data of `fit`, in the same order and with the same missing values, which are left
            out. A model with ``preparation_`` takes raw values. It tests all variables on the
            prepared scale, including those that it does not keep. If the model is the last step of
            a recipe, use `markers` of the recipe.
        cluster : int, optional
            The cluster to test. By default all clusters.
        split_half : bool, default False
            Whether to add p-values that are not optimistic. The model then also clusters each half
            of the variables. See `subspaces.diagnostics.markers`.
        n_nulls : int, default 99
            How many tables of one group to draw, if ``split_half`` is True.
        random_state : int, RandomState or None
            Seed of the halves and of these tables.

        Returns
        -------
        Markers
            ``.table`` has the difference, effect, rank statistic, p-value, false discovery rate and
            shares of each variable. ``.verdict`` tells you how far to trust the p-values.
        """
        from subspaces.diagnostics._markers import markers_of_model

        return markers_of_model(self, X, cluster, n_nulls, random_state, split_half=split_half)

    def report(self, X: Any = None, path: str | Path = "report.html", **options: Any) -> Path:
        """Write the result as one interactive HTML page that works offline.

        Parameters
        ----------
        X : array-like of shape (n, p), optional
            The data of `fit`. If you pass them, the page also shows the distances from the
            subspaces.
        path : str or Path, default "report.html"
            Where to write the page. An existing file is replaced once the page is complete.
        **options
            ``title``, ``classes`` (known ones), ``metadata``, ``names`` (of the clusters),
            ``sample_names``, ``variable_names``, ``stability``, ``selection`` and ``markers``. See
            `subspaces.pages.render`.

        Returns
        -------
        Path
            Path of the page.
        """
        from subspaces.pages import write

        return write(with_arrays_in_memory(self), X, path, **options)

    @available_if(lambda model: model._reads_blocks)
    def move_to(self, X: Any) -> Self:
        """Move the fitted attributes to the library, device and type of X, to predict there.

        Parameters
        ----------
        X : array
            A numpy array. If array API dispatch of scikit-learn is on, also a torch or CuPy array.

        Returns
        -------
        self
            The same estimator.
        """
        check_is_fitted(self)
        self.__dict__.update(moved_attributes(self.__dict__, device_of(X)))
        self._bring_attributes_to(X)
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the fitted model to a file that `subspaces.load` reads.

        Parameters
        ----------
        path : str or path
            Name of the file, for example ``model.npz``. An existing file is replaced once the new
            one is complete.

        Notes
        -----
        The file has plain arrays and JSON: the parameters, the attributes and ``record_``. It does
        not keep what you passed to `set_output`. Functions and RandomState objects as parameters
        are replaced by the default, with a warning. `predict` does not need them.
        """
        check_is_fitted(self)
        if not type(self).__module__.startswith("subspaces."):
            raise TypeError(
                f"{type(self).__name__} is not part of this library, so `load` cannot read "
                "it. Save it with pickle or joblib."
            )
        parameters = self.get_params(deep=False)
        for name, value in parameters.items():
            if not is_serialisable(value):
                parameters[name] = signature(type(self)).parameters[name].default
                doubt(
                    ChoiceWarning,
                    "not_saved",
                    f"<{name}> cannot be written to a file, so its default was saved instead.",
                    name=name,
                    default=parameters[name],
                )
        saved = SavedModel(type(self).__name__, parameters, fitted_state(self))
        model_file.write(path, saved)

    @progress.managed
    def _fit_with_callbacks(
        self, X: Any, rows: Array | SurveyedBlocks, weights: Array | None
    ) -> None:
        progress.begin(self, X)
        if weights is None:
            self._fit(rows)
        else:
            self._fit_weighted(rows, weights)
        if self._verbosity and "fit_" in vars(self) and self.fit_.course is not None:
            print(f"[{type(self).__name__}] best: {self.fit_.course.start}")  # noqa: T201
        progress.end(self, X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._takes_missing
        tags.input_tags.sparse = self._reads_blocks and self._settings().needs_memory is None
        tags.array_api_support = self._reads_blocks
        return tags

    def _attributes_of_fit(self) -> dict[str, Any]:
        """Return the attributes that follow from ``fit_``, by name, if the method has one."""
        return attributes(self.fit_)

    # What a method says for itself.

    def _fit(self, X: Any) -> None:
        """Fit checked data: set ``labels_`` and the other attributes."""
        raise NotImplementedError

    def _fit_weighted(self, X: Any, weights: Array) -> None:
        """As `_fit`, if the method takes weights (n,) of the samples, some of them not one."""
        raise NotImplementedError

    def _scores(self, X: Array) -> Array:
        """Return the score of each row under each cluster, (n, K), if a `Fit` has none.

        It is the squared distance.
        """
        if self._reads_blocks:
            return self.fit_.scores(X)
        return np.column_stack([squared_residual(X, subspace) for subspace in self.subspaces_])

    def _mixture(self) -> IncompleteMixture:
        """Return the clusters as Gaussians, by which rows with missing cells are judged."""
        return self.fit_.mixture

    def _settings(self, **further: Any) -> Settings:
        """Return the parameters as the `Settings` of a fit, and what reports its progress."""
        parameters = {name: vars(self)[name] for name in SETTINGS if name in vars(self)}
        heard = self._verbosity or progress.are_set(self) or progress.has_listeners()
        tell = self._tell if heard else silence
        return Settings(**parameters, **further, tell=tell, variable_names=self._variable_names)

    # Reports the progress of a fit.

    @property
    def _verbosity(self) -> int:
        return int(getattr(self, "verbose", 0))

    def _tell(self, step: Step) -> None:
        """Pass a step of the fit to scikit-learn's callbacks and to the listeners of `progress`.

        Print runs with ``verbose=1``, and starts and sweeps, too, with ``verbose=2``.
        """
        progress.pass_on(self, step)
        progress.tell(step)
        if self._verbosity > 1 or (self._verbosity and step.stage == "run"):
            print(f"[{type(self).__name__}] {step.words}, {step.detail}")  # noqa: T201

    @property
    def _known_columns(self) -> Array | None:
        """As `incomplete.known_columns` of the table of fit."""
        if self._observed is None:
            return None
        return known_columns(self._observed.sum(axis=0), self.n_components_.tolist())

    @property
    def _finds_outliers(self) -> bool:
        """Whether samples can have the label -1."""
        return "fit_" in vars(self) and self.fit_.bulk is not None

    def _bring_attributes_to(self, X: Any) -> None:
        """Move the fitted attributes to the device of X."""
        home = device_of(X) if self._reads_blocks else None
        self.__dict__.pop("_home", None)
        if home is not None:
            self._home = home
            self.__dict__.update(moved_attributes(self.__dict__, home))

    @property
    def _n_features_out(self) -> int:
        return len(self.subspaces_)

    # Data, checked.

    def _new_rows(self, X: Any, method: str) -> NewRows | NewBlocks:
        """Return X, checked, as an object whose methods return the answers.

        method: the public method that asks, to be named in messages.
        """
        check_is_fitted(self)
        if not self._reads_blocks:
            return NewRows(self, self._validate_new(X))
        check_device(X, self._home, f"{type(self).__name__}.{method}")
        # Samples are prepared in memory, all at once.
        blocks = None if hasattr(self, "preparation_") else self._blocks(X)
        if blocks is None:
            return NewRows(self, self._validate_new(in_memory(X)), self._home)
        validate_data(self, X, reset=False, skip_check_array=True)
        if not is_dask(X):  # those of Dask are checked as they come
            found = survey_of(blocks)
            if self._takes_missing and found.has_holes and isinstance(blocks.array, np.ndarray):
                return NewRows(self, self._validate_new(X), self._home)
            check_survey(found, blocks.array.dtype, dense=isinstance(blocks.array, np.ndarray))
            self._check_scale(found.largest)
        return NewBlocks(blocks, self.fit_, self._home)

    def _blocks(self, X: Any) -> Blocks | None:
        """Return X as `Blocks`, which are read in passes; None if X is to be one matrix.

        Raise ValueError for a Dask array or a sparse matrix with a parameter that needs all rows in
        memory.
        """
        if not self._reads_blocks:
            return None
        needs_memory = self._settings().needs_memory
        if needs_memory is None:
            if is_copied(X):
                self._refuse_beyond_room(X.shape, X.shape[0] * X.shape[1])
            return blocks_of(X, missing=self._takes_missing)
        if in_blocks_only(X):
            kind, fetch = ("Dask array", "compute") if is_dask(X) else ("sparse matrix", "toarray")
            raise ParameterError(
                needs_memory.partition("=")[0],
                f"<{needs_memory}> does not work with a {kind}.",
                Advice(f"pass X.{fetch}()", command="save a dense table"),
                Advice(f"leave out <{needs_memory.partition('=')[0]}>"),
            )
        return None

    def _validate(self, X: Any) -> Array | SurveyedBlocks:
        """Return the data of fit, checked: a matrix, or rows that are read in passes."""
        blocks = self._blocks(X)
        if blocks is None:
            return self._validate_matrix(in_memory(X) if self._reads_blocks else X)
        validate_data(self, X, skip_check_array=True)
        # The search holds at least REFILL_ROWS rows and a copy of them.
        n, p = blocks.shape
        self._refuse_beyond_room(blocks.shape, 2 * min(n, REFILL_ROWS) * p)
        found = survey_of(blocks)
        if self._takes_missing and found.has_holes and isinstance(blocks.array, np.ndarray):
            return self._validate_matrix(X)
        check_survey(found, blocks.array.dtype, dense=isinstance(blocks.array, np.ndarray))
        self._scale = found.largest
        return SurveyedBlocks(blocks, found)

    def _validate_matrix(self, X: Any) -> Array:
        shape: tuple[int, ...] = getattr(X, "shape", ())
        if len(shape) == 2:
            self._refuse_beyond_room(shape, self._numbers_held(shape[0], shape[1]))
        matrix = as_table_to_fit(X) if self._takes_missing else as_matrix(X)
        validate_data(self, X, skip_check_array=True)
        self._scale = check_squares(matrix)
        return matrix

    def _refuse_beyond_room(self, shape: tuple[int, ...], n_numbers: int) -> None:
        too_large = no_room(8 * n_numbers)
        if too_large:
            raise MemoryError(
                f"{type(self).__name__} for {shape[0]} samples x {shape[1]} variables "
                f"{too_large}. Use fewer samples or variables."
            )

    def _numbers_held(self, n: int, p: int) -> int:
        """Return how many numbers a fit holds at once, at least: X and a copy of it, 2 n p.

        If rows are fitted from their inner products, n < p K, n^2 more.
        """
        n_clusters = int(self.n_clusters) if isinstance(self.n_clusters, Integral) else 1
        dense = getattr(self, "n_variables", None) is None
        by_products = self._reads_blocks and n < p * n_clusters and dense
        return 2 * n * p + (n**2 if by_products else 0)

    def _validate_new(self, X: Any) -> Array:
        check_is_fitted(self)
        matrix = self._prepared(X)
        if not hasattr(self, "preparation_"):
            validate_data(self, X, reset=False, skip_check_array=True)
        self._check_scale(check_squares(matrix))
        return matrix

    def _prepared(self, X: Any, *, min_samples: int = 1) -> Array:
        """Return X as a matrix of the clustered variables: after ``preparation_``, if any."""
        preparation: Preparation | None = getattr(self, "preparation_", None)
        if preparation is None:
            return as_matrix(X, min_samples=min_samples, missing=self._takes_missing)
        found_by_name = is_named(X)
        if found_by_name:
            check_present(list(X.columns), preparation.needed)
            X = X[preparation.needed]
        matrix = as_matrix(X, min_samples=min_samples, missing=self._takes_missing)
        if not found_by_name:
            validate_data(self, X, reset=False, skip_check_array=True)
        return prepare_rows(matrix, preparation.needed, preparation, row_names(X))

    def _warn_of_odd_samples(self, rows: Array | None, names: NDArray[Any] | None) -> None:
        """Warn of more clusters with samples than there are distinct samples.

        rows (n, p): those of the fit, without holes, None if they are many; names (n,): of the
        samples, None for none.
        """
        if rows is None:
            return
        held = len(np.setdiff1d(in_main_memory(self.labels_), -1))
        distinct = count_distinct_rows(rows, held)
        if distinct < held:
            doubt(
                DataWarning,
                "few_distinct",
                "The table has only {distinct:#distinct sample} for <n_clusters={n_clusters}>, so "
                "identical samples are in different clusters.",
                use("n_clusters", distinct),
                distinct=distinct,
                n_clusters=self._n_features_out,
            )

    def _store_means(self, whole: Array, rows: Array) -> None:
        """Set ``cluster_means_`` (K, p) and ``within_std_`` (p,), unless the fit has found them.

        whole (n, p): the rows with their holes filled.
        """
        if "cluster_means_" in vars(self):
            return
        holes = np.isnan(rows) if self.missing_share_ else None
        clusters = Partition(self.labels_, self._n_features_out, self._weights)
        self.cluster_means_, self.within_std_ = means_and_spread(whole, clusters, holes)
        if holes is not None:
            self._observed = clusters.indicator.T @ ~holes

    @property
    def _knows_differences(self) -> bool:
        """Whether `_contrast` can answer: the means are known, of two clusters or more."""
        return hasattr(self, "cluster_means_") and self._n_features_out > 1

    def _contrast(self, cluster: int) -> Contrast:
        """Return the `Contrast` of a cluster's mean with the mean of all other samples."""
        if self._n_features_out == 1:
            raise ParameterError(
                "by",
                "The model has only one cluster, so there is nothing to compare. Set "
                "<by='axes'>, or fit more clusters.",
            )
        if not hasattr(self, "cluster_means_"):
            raise ParameterError(
                "by",
                "The model was fitted with partial_fit, which does not keep cluster means. "
                "Call fit instead, or set <by='axes'>.",
            )
        if isinstance(self.labels_, np.ndarray):
            clusters = Partition(self.labels_, self._n_features_out, self._weights)
            sizes = clusters.sizes.astype(float)
        else:
            sizes = self.fit_.sizes
        means, within_std = to_host(self.cluster_means_), to_host(self.within_std_)
        return contrast(cluster, sizes, means, within_std, self._observed)

    @property
    def _variable_names(self) -> NDArray[Any] | None:
        """Names of the clustered variables, (p,); None if X had no names.

        A recipe hands on the names of a frame, whose prepared values come as an array.
        """
        if hasattr(self, "preparation_"):
            return np.array(self.preparation_.variable_names, dtype=object)
        return getattr(self, "feature_names_in_", getattr(self, "_names_handed_on", None))

    @property
    def _n_variables(self) -> int:
        """Number of clustered variables, p."""
        names = self._variable_names
        return int(self.n_features_in_) if names is None else len(names)

    def _check_scale(self, largest: float) -> None:
        """Raise ValueError if new rows are so large that scores overflow.

        largest: the largest absolute value of the new rows.
        """
        if largest > FURTHEST * self._scale:
            raise ParameterError(
                "X",
                f"<X> has values up to {largest:.3g}, but the model was fitted to values up "
                f"to {self._scale:.3g}. Check <X> for wrong values.",
            )

    def _recorded(
        self, X: Any, names: NDArray[Any] | None, seconds: float, raised: Iterable[Warning]
    ) -> Record:
        """Return the `Record` of a fit to X; raised: the warnings of the fit.

        If X is large or in blocks, the record has no entries per sample.
        """
        warned = tuple({str(warning): message_of(warning) for warning in raised}.values())
        subspaces: list[Subspace] = getattr(self, "subspaces_", [])
        widest = max((subspace.basis.shape[1] for subspace in subspaces), default=0)
        in_passes = not isinstance(X, np.ndarray)
        if in_passes or is_too_large(len(X), self._n_features_out, widest):
            return Record(seconds, warned, None, None, None, None)
        whole, scores = NewRows(self, X).placed(), self._scores(X)
        nearest = nearest_clusters(self.labels_, scores)
        return Record(
            seconds,
            warned,
            sample_names=names,
            scores=scores,
            coordinates=own_coordinates(whole, self.labels_, subspaces) if subspaces else None,
            influence=getattr(self, "influence_", None),
            distances=own_distances(X, whole, nearest, subspaces, scores),
        )


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
