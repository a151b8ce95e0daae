"""A fit that is timed and heard, the record it leaves, prediction from scores, and `save`."""

import os
import warnings
from collections.abc import Iterable
from inspect import signature
from pathlib import Path
from time import perf_counter
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted, validate_data

from subspaces import model_file, progress
from subspaces._memory import no_room
from subspaces._validation import as_matrix, check_squares, is_named, row_names
from subspaces.core import partition
from subspaces.core.array_namespace import to_host
from subspaces.core.contrast import Contrast, contrast, means_and_spread
from subspaces.core.hearing import hearing, warn
from subspaces.core.plain import is_plain
from subspaces.core.record import Record, is_too_large, own_coordinates
from subspaces.core.step import Step
from subspaces.core.subspace import Subspace
from subspaces.estimators import _callbacks
from subspaces.estimators._fitted_state import fitted_state, in_memory
from subspaces.model_file import SavedModel
from subspaces.preparation import Preparation, check_present, prepare_rows

Array = NDArray[np.floating]
# Of 32 bits once a fit has ended, as scikit-learn's KMeans has them.
Labels = NDArray[np.signedinteger[Any]]

# The influence has the eighth power of a score: beyond this it would overflow.
FURTHEST = 1e25


class RecordedClusterer(
    _callbacks.CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
):
    """Base of all estimators; not for use on its own.

    A method has ``_fit``, which takes a checked matrix and sets the attributes, and ``_scores``.
    """

    labels_: Labels
    record_: Record
    cluster_means_: Array
    within_std_: Array
    _sizes: Array
    preparation_: Preparation

    def fit(self, X: Any, y: Any = None, **unknown: Any) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Samples in rows. `PSC` and `KSubspaces` take sparse matrices and Dask arrays, too, and
            under scikit-learn's array API dispatch torch and CuPy arrays on their device.
        y : ignored
            For compatibility.
        **unknown
            Refused: samples have no weights, and there is nothing else to be told.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._refuse(unknown)
        began = perf_counter()
        try:
            with hearing() as heard:
                matrix = self._validate(X)
                self.__dict__.pop("preparation_", None)  # X is taken as it is
                self._fit_with_callbacks(X, matrix)
                if isinstance(matrix, np.ndarray):
                    self.labels_ = self.labels_.astype(np.int32, copy=False)
                    self._store_means(matrix)
                self._warn_of_single_samples(row_names(X))
            seconds = perf_counter() - began
            self.record_ = self._recorded(matrix, row_names(X), seconds, heard)
            self._settle_in(X)
        finally:
            for warning in heard:
                warn(warning, above=2)
        return self

    def fit_predict(self, X: Any, y: Any = None, **unknown: Any) -> Labels:
        """Fit and return ``labels_``.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Samples in rows.
        y : ignored
            For compatibility.
        **unknown
            Refused, as by `fit`.

        Returns
        -------
        ndarray of shape (n,)
            ``labels_``.
        """
        return self.fit(X, y, **unknown).labels_

    def _refuse(self, unknown: Iterable[str]) -> None:
        """TypeError for what `fit` is given beside X and y, by the name of the public class."""
        for name in unknown:
            use = (
                "all samples count alike. Use rows of X several times to give them more weight"
                if name == "sample_weight"
                else "Use X and y alone"
            )
            raise TypeError(f"{type(self).__name__}.fit takes no {name}: {use}")

    def predict(self, X: Any) -> Labels:
        """Give each row to the cluster under which it scores least.

        Parameters
        ----------
        X : array-like of shape (n, p)
            New samples.

        Returns
        -------
        ndarray of shape (n,)
            Cluster of each sample.
        """
        return partition.assign(self._scores(self._validate_new(X))).astype(np.int32)

    def transform(self, X: Any) -> Array:
        """Score of each sample under each cluster; lower is nearer.

        Parameters
        ----------
        X : array-like of shape (n, p)
            New samples.

        Returns
        -------
        ndarray of shape (n, n_clusters)
        """
        return self._scores(self._validate_new(X))

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the mean score of the samples under the cluster they are predicted to be in.

        Higher is better, as model selection in scikit-learn expects it. Squared errors fall with
        every further dimension or cluster, on new samples, too: to choose among those, use
        ``criterion="likelihood"``, or `subspaces.selection`.

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
        return -float(self._scores(self._validate_new(X)).min(axis=1).mean())

    def report(self, X: Any = None, path: str | Path = "report.html", **options: Any) -> Path:
        """Write what was found as one interactive HTML page that works offline.

        Parameters
        ----------
        X : array-like of shape (n, p), optional
            The data of fit. Not needed, but with it the distances from the subspaces are shown.
        path : str or Path, default "report.html"
            Where to write; a file that is there is replaced once the page is complete.
        **options
            ``title``, ``classes`` (known ones), ``sample_names``, ``variable_names``,
            ``stability`` and ``selection``: see `subspaces.report.render`.

        Returns
        -------
        Path
            Where the page is.
        """
        from subspaces.report import write

        return write(in_memory(self), X, path, **options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model as plain arrays and JSON, for `subspaces.load`.

        Parameters
        ----------
        path : str or path
            The file, written exactly where it is named; ``.npz`` suits it. It appears when it is
            complete, in place of an earlier one.

        Notes
        -----
        Parameters, attributes and ``record_`` are stored; what `set_output` was told is not. A
        parameter that is neither number, text nor array (a function as ``init``, a RandomState) is
        stored as its default, with a warning: it is of no use to `predict`.
        """
        check_is_fitted(self)
        if not type(self).__module__.startswith("subspaces."):
            raise TypeError(
                f"{type(self).__name__} is not an estimator of this library, so `load` would not "
                "know it. Use pickle or joblib"
            )
        parameters = self.get_params(deep=False)
        for name, value in parameters.items():
            if not is_plain(value):
                parameters[name] = signature(type(self)).parameters[name].default
                warnings.warn(
                    f"{name}={value!r} cannot be written to a file; its default, "
                    f"{parameters[name]!r}, is stored instead",
                    UserWarning,
                    stacklevel=2,
                )
        saved = SavedModel(type(self).__name__, parameters, fitted_state(self))
        model_file.write(path, saved)

    @_callbacks.managed
    def _fit_with_callbacks(self, X: Any, matrix: Array) -> None:
        _callbacks.begin(self, X)
        self._fit(matrix)
        _callbacks.end(self, X)

    @property
    def _is_heard(self) -> bool:
        return _callbacks.are_set(self) or progress.is_heard()

    def _tell(self, step: Step) -> None:
        """Pass a step of the fit on to the callbacks, and to whoever listens."""
        _callbacks.pass_on(self, step)
        progress.tell(step)

    def _fit(self, X: Array) -> None:
        """Set ``labels_`` and all else that the method finds."""
        raise NotImplementedError

    def _settle_in(self, X: Any) -> None:
        """Bring what was found to where X is; where that is main memory, nothing is to be done."""

    def _scores(self, X: Array) -> Array:
        """Score of rows that are not members, (n, K)."""
        raise NotImplementedError

    def _validate(self, X: Any) -> Array:
        self._check_room(X)
        matrix = as_matrix(X)
        validate_data(self, X, skip_check_array=True)
        check_squares(matrix)
        self._scale = float(np.abs(matrix).max())
        return matrix

    def _check_room(self, X: Any) -> None:
        """Refuse what would not fit into memory, while all is well."""
        shape: tuple[int, ...] = getattr(X, "shape", ())
        if len(shape) == 2:
            self._refuse_beyond_room(shape, self._numbers_held(shape[0], shape[1]))

    def _refuse_beyond_room(self, shape: tuple[int, ...], n_numbers: int) -> None:
        too_large = no_room(8 * n_numbers)
        if too_large:
            raise MemoryError(
                f"{type(self).__name__} of {shape[0]} samples x {shape[1]} variables {too_large}. "
                "Use fewer samples or variables"
            )

    def _numbers_held(self, n: int, p: int) -> int:
        """How many numbers a fit holds at once, at least: the rows and a copy of them."""
        return 2 * n * p

    def _validate_new(self, X: Any) -> Array:
        check_is_fitted(self)
        matrix = self._prepared(X)
        if not hasattr(self, "preparation_"):
            validate_data(self, X, reset=False, skip_check_array=True)
        check_squares(matrix)
        self._check_scale(float(np.abs(matrix).max()))
        return matrix

    def _prepared(self, X: Any, *, min_samples: int = 1) -> Array:
        """The samples as the clusters see them: raw ones go through ``preparation_``, if any."""
        preparation: Preparation | None = getattr(self, "preparation_", None)
        if preparation is None:
            return as_matrix(X, min_samples=min_samples)
        if is_named(X):
            check_present(list(X.columns), preparation.needed)
            X = X[preparation.needed]
        matrix = as_matrix(X, min_samples=min_samples)
        validate_data(self, X, reset=False, skip_check_array=True)
        return prepare_rows(matrix, preparation.needed, preparation, row_names(X))

    def _store_means(self, rows: Array) -> None:
        """Keep what tells the clusters apart: the means of their members, the spread around them.

        Rows that span no more directions than the clusters' flats were projected before; then no
        variable has a spread of its own, and it is nan.
        """
        self.cluster_means_, self.within_std_ = means_and_spread(
            rows, self.labels_, self._n_features_out
        )
        flats: list[Subspace] = getattr(self, "subspaces_", [])
        enough = min(len(rows) - 1, rows.shape[1], 1 + sum(f.basis.shape[1] + 1 for f in flats))
        if hasattr(self, "_data") and self._data.rank < enough:
            self.within_std_ = np.full(rows.shape[1], np.nan)

    @property
    def _knows_differences(self) -> bool:
        """Whether there are other clusters, and means to compare."""
        return hasattr(self, "cluster_means_") and self._n_features_out > 1

    def _contrast(self, cluster: int) -> Contrast:
        """How a cluster differs from the samples of all others."""
        if self._n_features_out == 1:
            raise ValueError(
                "the model has one cluster, so there are no other samples to differ from. Use "
                "by='axes', or more clusters"
            )
        if not hasattr(self, "cluster_means_"):
            raise ValueError(
                "the model does not know the means of its clusters: files of earlier versions and "
                "partial_fit keep none. Use fit again"
            )
        if isinstance(self.labels_, np.ndarray):
            sizes = np.bincount(self.labels_, minlength=self._n_features_out).astype(float)
        else:
            sizes = to_host(self._sizes)
        return contrast(cluster, sizes, to_host(self.cluster_means_), to_host(self.within_std_))

    @property
    def _variable_names(self) -> NDArray[Any] | None:
        """Names of the variables that were clustered; None where X had none."""
        if hasattr(self, "preparation_"):
            return np.array(self.preparation_.variable_names, dtype=object)
        return getattr(self, "feature_names_in_", None)

    @property
    def _n_variables(self) -> int:
        """How many variables were clustered."""
        names = self._variable_names
        return int(self.n_features_in_) if names is None else len(names)

    def _check_scale(self, largest: float) -> None:
        """Refuse rows too far away from those of fit to be scored."""
        if largest > FURTHEST * self._scale:
            raise ValueError(
                f"X has values up to {largest:.3g}, the data of fit up to {self._scale:.3g}: too "
                "far apart to score. Use data of like scale"
            )

    def _warn_of_single_samples(self, names: NDArray[Any] | None) -> None:
        """Say which clusters hold a sample each, where that is not what was to be expected."""

    def _recorded(
        self,
        X: Array,
        names: NDArray[Any] | None,
        seconds: float,
        heard: Iterable[Warning],
    ) -> Record:
        messages = tuple(dict.fromkeys(str(warning) for warning in heard))
        flats: list[Subspace] = getattr(self, "subspaces_", [])
        widest = max((flat.basis.shape[1] for flat in flats), default=0)
        if is_too_large(len(X), self._n_features_out, widest):
            return Record(seconds, messages, None, None, None, None)
        return Record(
            seconds,
            messages,
            sample_names=names,
            scores=self._scores(X),
            coordinates=own_coordinates(X, self.labels_, flats) if flats else None,
            influence=getattr(self, "influence_", None),
        )
