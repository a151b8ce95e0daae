"""Whole pipelines for one kind of data, with the settings that served it best.

A recipe is a scikit-learn Pipeline: a preparation that remembers what it did, so that new samples
are prepared alike, and an estimator of this library. docs/recipes.md says why, with figures.
"""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import svds
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from subspaces.data.validation import as_matrix, check_squares
from subspaces.estimators import PSC
from subspaces.expression_values import ARRAY_FLOOR, KINDS, Reading, percent, read_values
from subspaces.preparation import Preparation, log_above_floor, scaled_to_total
from subspaces.runtime.parameters import as_choice, as_count, as_flag, as_real
from subspaces.runtime.warning import warn
from subspaces.subspace import principal_axes

__all__ = ["ExpressionScaler", "expression"]

Array = NDArray[np.floating]

# The number of genes kept unless another is given; with 1,000 clusters are found less well
# (docs/recipes.md).
N_GENES = 2000
# Where a table has more samples and more genes than this, Lanczos iteration computes the leading
# axes alone; below, the whole decomposition takes a fraction of a second.
SMALL = 500
# The share of the smaller side up to which the iteration is the quicker one: it keeps some twice as
# many vectors as it is asked for axes.
FEW_AXES = 0.1
# The largest totals, in counts, to which samples of single cells and of bulk tissue are scaled by
# custom, and the median total above which samples are taken for tissue. The 1 in log2(1 + x) is
# then about the size of the noise: one to three molecules of a cell, some twenty reads of a tissue.
PER_CELL, PER_MILLION, DEEPEST_CELL = 1e4, 1e6, 1e5


class ExpressionScaler(TransformerMixin, BaseEstimator):
    """Bring expression values to the scale on which samples are compared.

    In this order: the values are brought to a log scale as their kind asks; each sample is centred;
    the genes that vary most are kept, and centred; of the samples so prepared, the part along the
    leading principal axes is kept. The columns are still genes: a value is a log2 ratio to the mean
    of all samples, less noise. ``verdict_`` says what X was taken for and what was done to it.

    Parameters
    ----------
    n_axes : int or None, default None
        Number of principal axes kept; None: all, nothing is taken away.
    n_genes : int or None, default 2000
        Number of genes kept; None, or more than there are: all.
    floor : float or None, default None
        Lower values are raised to it, before the logarithm where one is taken. None: as the kind
        asks, which is 20 for intensities (the least that arrays tell from noise) and nothing for
        the others.
    log : {"auto", "yes", "no"}, default "auto"
        Whether to take logarithms; "auto": as the kind asks.
    centre_samples : bool, default True
        Whether each sample's mean over the genes is subtracted.
    kind : {"auto", "intensities", "log", "ratios", "counts"}, default "auto"
        What the values are. "intensities" of arrays: floor and log2. "log", logarithms: nothing.
        "ratios": nothing where some are negative, for these are logged already; otherwise log2.
        "counts" of sequencing, and TPM, CPM or FPKM: each sample is scaled to one total, then
        log2(1 + x); the total is the samples' median, but at most 10,000, or 1,000,000 where the
        median is above 100,000. "auto": whichever X looks like (docs/recipes.md has the rules).

    Attributes
    ----------
    kind_ : str
        What X was taken for.
    verdict_ : str
        A sentence that says so, why, and what was done.
    logged_ : bool
        Whether logarithms were taken.
    total_, floor_, offset_ : float or None, float or None, float
        What each sample was scaled to, what low values were raised to, and what was added before
        the logarithm.
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
        floor: float | None = None,
        log: str = "auto",
        centre_samples: bool = True,
        kind: str = "auto",
    ) -> None:
        self.n_axes = n_axes
        self.n_genes = n_genes
        self.floor = floor
        self.log = log
        self.centre_samples = centre_samples
        self.kind = kind

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find out what the values are, which genes vary, and along which axes.

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
        self._decide(matrix, read_values(matrix))
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

    def _decide(self, matrix: Array, reading: Reading) -> None:
        """Set what is done to the values, and ``verdict_``, which says so.

        That is ``kind_``, ``logged_``, ``total_``, ``offset_`` and ``floor_``.
        """
        asked = as_choice(self.kind, "kind", ("auto", *KINDS))
        chosen = as_choice(self.log, "log", ("auto", "yes", "no"))
        self.kind_ = reading.kind if asked == "auto" else asked
        is_logged = self.kind_ == "log" or (self.kind_ == "ratios" and reading.negative > 0)
        self.logged_ = not is_logged if chosen == "auto" else chosen == "yes"
        self.total_ = _common_total(matrix, reading) if self.kind_ == "counts" else None
        self.offset_ = 1.0 if self.kind_ == "counts" else 0.0
        self.floor_ = self._chosen_floor(reading)
        because = f" ({reading.because})" if asked == "auto" else ", as asked"
        names = {"log": "logarithms", "ratios": "log ratios" if is_logged else "ratios"}
        name = names.get(self.kind_, self.kind_)
        self.verdict_ = f"The values were taken for {name}{because}: {self._in_words(matrix)}."

    def _chosen_floor(self, reading: Reading) -> float | None:
        """Return the floor to which lower values are raised, or None.

        It is ``floor`` or, where that is None, the default of the kind of values.
        """
        if self.floor is None:
            if not self.logged_ or self.kind_ not in ("intensities", "ratios"):
                return None
            # New samples may have ratios of 0: raise them to the least that was seen.
            floor = ARRAY_FLOOR if self.kind_ == "intensities" else reading.smallest
        else:
            floor = as_real(self.floor, "floor")
        if self.logged_ and self.offset_ == 0 and floor <= 0:
            if self.floor is None:
                raise ValueError(
                    f"{self.kind_} of 0 or less, down to {reading.smallest:g}, have no "
                    "logarithm. Use kind='counts' for counts, or log='no' where X is logged already"
                )
            raise ValueError(f"floor={floor:g} has no logarithm. Use a floor above 0")
        if reading.largest <= floor and self.total_ is None:
            raise ValueError(
                f"no value of X is above floor={floor:g} (largest {reading.largest:.3g}). Use a "
                "lower floor, or log='no' where X is logged already"
            )
        return floor

    def _in_words(self, matrix: Array) -> str:
        """Return what is done to the values, in words; warn of a floor that replaces most."""
        steps = []
        if self.total_ is not None:
            steps.append(f"each sample was scaled to a total of {_figure(self.total_)}")
        if self.floor_ is not None:
            values = scaled_to_total(matrix, self.total_, range(len(matrix)))
            share = np.count_nonzero(values < self.floor_) / values.size
            if share:
                low = f"the {percent(share)} of the values below {self.floor_:g}"
                steps.append(f"{low} were raised to {self.floor_:g}")
            if share > 0.5:
                self._warn_of_floor(share)
        if self.logged_:
            steps.append(f"log2({'1 + ' if self.offset_ else ''}x) was taken")
        *others, last = steps or ["they were left as they are"]
        return f"{', '.join(others)} and {last}" if others else last

    def _warn_of_floor(self, share: float) -> None:
        usual = "" if self.floor is not None else f", the usual one for {self.kind_},"
        counts = "" if self.kind_ == "counts" else ", or kind='counts' for counts, TPM or CPM"
        warn(
            f"floor={self.floor_:g}{usual} replaces {share:.0%} of the values, so that what they "
            f"say is lost. Use a lower floor{counts}",
            above=5,
        )

    def _sample_values(self, matrix: Array) -> Array:
        """Return the values on the log scale, (n, p), less each sample's mean if asked for."""
        samples, genes = (range(size) for size in matrix.shape)
        values = scaled_to_total(matrix, self.total_, samples)
        values = log_above_floor(
            values, samples, genes, floor=self.floor_, log=self.logged_, offset=self.offset_
        )
        if not as_flag(self.centre_samples, "centre_samples"):
            return values
        target = None if values is matrix else values  # never write into the caller's array
        return np.subtract(values, values.mean(axis=1, keepdims=True), out=target)

    def _leading_axes(self, ratios: Array) -> Array | None:
        """Return the principal axes to keep, (n_axes, genes), or None for all."""
        if self.n_axes is None:
            return None
        n_axes, smaller = as_count(self.n_axes, "n_axes", low=1), min(ratios.shape)
        if smaller <= SMALL or n_axes > FEW_AXES * smaller:
            return principal_axes(ratios).basis[:, :n_axes].T
        return _lanczos_axes(ratios, n_axes)


def expression(
    n_clusters: Any = 2,
    *,
    n_components: Any = None,
    n_variables: Any = None,
    random_state: Any = None,
) -> Pipeline:
    """Sub-types of samples in gene expression: the preparation and PSC, as one Pipeline.

    `ExpressionScaler` with as many principal axes as K subspaces of dimension R and their centres
    can span, K (R + 1); then `PSC` with affine subspaces. By default R is 0: a cluster is its mean
    profile, and a sample goes to the nearest, its own one refitted without it (criterion "loo").
    With R of 1 or more the leave-one-out likelihood decides.

    Parameters
    ----------
    n_clusters : int, default 2
        Number of clusters. It is not chosen here: the axes kept depend on it, and likelihoods of
        different axes do not compare. Try a few and look at `diagnostics.stability`.
    n_components : int or list of int, optional
        Dimension of the subspaces, R, one for all or one each; by default 0, or 1 where
        ``n_variables`` needs it.
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
                f"{name}={value!r} is not for expression data: the axes kept depend on it. Use a "
                "number; diagnostics.stability compares several"
            )
    dense = n_variables is None
    if n_components is None:
        n_components = 0 if dense else 1
    if not dense:
        n_axes = None
    elif np.ndim(n_components):
        n_axes = sum(n_components) + len(n_components)
    else:
        n_axes = n_clusters * (n_components + 1)
    criterion = "auto"
    if dense:
        # Measured on 28 data sets: the likelihood isolates single samples where clusters are mean
        # profiles; where they have axes, its adjusted Rand index is .07 better than that of "loo".
        criterion = "likelihood" if np.any(n_components) else "loo"
    cluster = PSC(
        n_clusters,
        n_components=n_components,
        n_variables=n_variables,
        affine=dense,
        criterion=criterion,
        random_state=random_state,
    )
    return Pipeline([("prepare", ExpressionScaler(n_axes=n_axes)), ("cluster", cluster)])


def as_preparation(scaler: ExpressionScaler, names: Sequence[str]) -> Preparation:
    """Return the `Preparation` with the steps of a fitted scaler, for a model file.

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
        total=scaler.total_,
        floor=scaler.floor_,
        log=scaler.logged_,
        offset=scaler.offset_,
        centre_samples=scaler.centre_samples,
        centre=scaler.mean_,
        axes=scaler.axes_,
        taken_for=scaler.verdict_,
    )


def _common_total(matrix: Array, reading: Reading) -> float:
    """Return the total to which all samples of counts are scaled: their median, up to a limit."""
    if reading.smallest < 0:
        raise ValueError(
            f"kind='counts' needs values from 0 up, and X has {reading.smallest:g}. Use "
            "kind='log' for logarithms, kind='ratios' for log ratios"
        )
    median = float(np.median(matrix.sum(axis=1)))
    return min(median, PER_CELL if median <= DEEPEST_CELL else PER_MILLION)


def _most_variable(values: Array, count: int | None) -> NDArray[np.intp]:
    """Return the numbers of the columns of largest variance, ascending; of equals, the first."""
    if count is None or as_count(count, "n_genes", low=1) >= values.shape[1]:
        return np.arange(values.shape[1])
    mean, spread = values.mean(axis=0), np.zeros(values.shape[1])
    for row in values:  # values - mean needs the memory of another whole table
        spread += np.square(row - mean)
    return np.sort(np.argsort(-spread, kind="stable")[:count])


def _figure(value: float) -> str:
    """Return a number as text for readers: 10,000 rather than 1e+04."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _lanczos_axes(ratios: Array, n_axes: int) -> Array:
    """Return the leading principal axes, (n_axes, genes), by Lanczos iteration.

    A fixed start makes them repeatable. Axes along which nothing varies are left out.
    """
    start = np.random.default_rng(0).normal(size=min(ratios.shape))
    _, singular, axes = svds(ratios, k=n_axes, v0=start, return_singular_vectors="vh")
    tolerance = max(ratios.shape) * np.finfo(ratios.dtype).eps * singular.max()
    # Drop axes along which nothing varies: they are arbitrary, and new samples may lie along them.
    return np.ascontiguousarray(axes[::-1][singular[::-1] > tolerance])
