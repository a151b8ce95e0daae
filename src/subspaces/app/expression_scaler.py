"""`ExpressionScaler`: from expression values of any kind to the scale on which samples compare."""

from collections.abc import Sequence
from typing import Any, Self, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from subspaces._types import Array, AskedKind, Data, Indices, Sparse, TakeLog
from subspaces.app.tables import seem_swapped
from subspaces.data.validation import as_matrix, check_real, check_squares, row_names
from subspaces.expression_values import (
    ARRAY_FLOOR,
    WHOLE,
    Reading,
    batch_hint,
    doubt,
    read_cells,
    read_values,
)
from subspaces.messages import (
    Advice,
    DataWarning,
    ParameterError,
    SubspacesWarning,
    in_a_row,
    percent,
)
from subspaces.named_table import Table, first_gap
from subspaces.preparation import (
    SAME_UNITS,
    Preparation,
    as_figure,
    check_totals,
    log_above_floor,
    scaled_to_total,
)
from subspaces.runtime.fitted import fits_a_draft
from subspaces.runtime.parameters import as_choice, as_count, as_flag, as_real
from subspaces.runtime.warning import warn
from subspaces.subspace import leading_axes

# Names of the samples and of the genes.
Names = tuple[tuple[Any, ...], tuple[Any, ...]]

# The number of genes kept unless another is given; with 1,000 clusters are found less well
# (docs/guide/prepare.md).
N_GENES = 2000
# The largest totals, in counts, to which samples of single cells and of bulk tissue are scaled by
# custom, and the median total above which samples are taken for tissue. The 1 in log2(1 + x) is
# then about the size of the noise: one to three molecules of a cell, some twenty reads of a tissue.
PER_CELL, PER_MILLION, DEEPEST_CELL = 1e4, 1e6, 1e5
FLOOR_ABOVE_0 = Advice("set a <floor> above 0", "floor")
LOGGED_ALREADY = Advice("set <log='no'> if the values are already logarithms", "log", "no")


class ExpressionScaler(TransformerMixin, BaseEstimator):
    """Prepare gene expression values for clustering.

    It takes logarithms if the values need them, and centres each sample. It keeps the most variable
    genes, and centres them. Then it keeps only the part along the leading principal axes. The
    columns are still genes: each value is a log2 ratio to the mean of all samples, with less noise.
    ``verdict_`` tells you what kind of values X has and what was done.

    Parameters
    ----------
    n_axes : int or None, default None
        Number of principal axes to keep. None keeps all.
    n_genes : int or None, default 2000
        Number of genes to keep. Genes with one value in all samples do not count. None keeps all.
    floor : float or None, default None
        Lower values are raised to it, before logarithms. None is 20 for intensities, the smallest
        value that arrays can measure, and no floor for other kinds.
    log : {"auto", "yes", "no"}, default "auto"
        Whether to take logarithms. "auto" decides by the kind.
    centre_samples : bool, default True
        Whether to subtract the mean of each sample.
    kind : {"auto", "cells", "intensities", "log", "ratios", "shares", "counts"}, default "auto"
        Kind of the values ("Prepare expression data", https://subspaces.readthedocs.io).

        - "auto": recognise the kind.
        - "intensities": intensities of arrays. They get a floor and log2.
        - "log": logarithms. They are not changed.
        - "ratios": ratios. They get log2, unless some are negative, because these are logarithms.
        - "shares": from 0 to 1, or percentages, such as methylation. They are not changed.
        - "counts": counts of sequencing, or TPM, CPM or FPKM. Each sample is scaled to one total,
          then log2(1 + x). The total is the median of the samples, but at most 10,000. If the
          median is above 100,000, it is at most 1,000,000.
        - "cells": counts of single cells, their logarithms or scaled logarithms. Recognise which.

    Attributes
    ----------
    kind_ : str
        Kind of the values.
    verdict_ : str
        The kind, the reason for it, and what was done.
    taken_for_ : str
        The kind and the reason for it.
    logged_ : bool
        Whether logarithms were taken.
    total_, floor_, offset_ : float or None, float or None, float
        Total that each sample was scaled to, floor of low values, and number added before the
        logarithm.
    genes_ : ndarray
        Column numbers of the genes kept.
    mean_ : ndarray
        Mean of each gene kept.
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
        log: TakeLog = "auto",
        centre_samples: bool = True,
        kind: AskedKind = "auto",
    ) -> None:
        self.n_axes = n_axes
        self.n_genes = n_genes
        self.floor = floor
        self.log = log
        self.centre_samples = centre_samples
        self.kind = kind

    @fits_a_draft
    def fit(self, X: Data, y: Any = None) -> Self:
        """Recognise the values, and learn which genes and axes to keep.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, p)
            Samples in rows, genes in columns. A sparse matrix stays sparse until the genes are
            chosen.
        y : ignored
            For compatibility.

        Returns
        -------
        ExpressionScaler
            The fitted transformer.
        """
        table = as_table(X)
        validate_data(self, X, skip_check_array=True)
        for hint in _hints(X, table):
            warn(hint)
        names = _names(X, table.shape)
        self._decide(table, names)
        values, means = self._log_values(table, names, FLOOR_ABOVE_0, LOGGED_ALREADY)
        self.genes_ = _most_variable(values, means, self.n_genes)
        ratios = _dense_part(values, means, self.genes_)
        self.mean_ = ratios.mean(axis=0)
        self.axes_ = self._leading_axes(ratios - self.mean_)
        return self

    def transform(self, X: Data) -> Array:
        """Prepare samples in the same way as those of `fit`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, p)
            Samples in rows, with the genes of `fit`.

        Returns
        -------
        ndarray of shape (n, genes kept)
            Log2 ratios to the mean sample of `fit`.
        """
        ratios = self._ratios(X)
        return ratios if self.axes_ is None else ratios @ self.axes_.T @ self.axes_

    def project(self, X: Data) -> Array:
        """Return coordinates along the kept axes, with the same distances as in `transform`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, p)
            Samples in rows, with the genes of `fit`.

        Returns
        -------
        ndarray of shape (n, n_axes)
            Coordinates. If all axes are kept, the result of `transform`.
        """
        ratios = self._ratios(X)
        return ratios if self.axes_ is None else ratios @ self.axes_.T

    def _ratios(self, X: Data) -> Array:
        """Return log2 ratios of samples to the mean sample, (n, genes kept), along all axes."""
        check_is_fitted(self)
        table = as_table(X, min_samples=1)
        validate_data(self, X, reset=False, skip_check_array=True)
        values, means = self._log_values(table, _names(X, table.shape), SAME_UNITS)
        return _dense_part(values, means, self.genes_) - self.mean_

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the genes that are kept.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of all genes. By default the names that X had in `fit`, or x0, x1 and so on.

        Returns
        -------
        ndarray of str
            Names of the genes kept.
        """
        check_is_fitted(self)
        return _check_feature_names_in(self, input_features)[self.genes_]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _decide(self, table: Array | Sparse, names: Names) -> None:
        """Set what is done to the values, and ``verdict_``, which says so.

        That is ``kind_``, ``logged_``, ``total_``, ``offset_`` and ``floor_``.
        """
        asked = as_choice(self.kind, "kind", get_args(AskedKind))
        chosen = as_choice(self.log, "log", get_args(TakeLog))
        reading = read_cells(table) if asked == "cells" else read_values(table)
        found_out = asked in ("auto", "cells")
        if found_out and (doubtful := doubt(reading)):
            warn(doubtful)
        self.kind_ = reading.kind if found_out else asked
        is_logged = self.kind_ == "log" or (self.kind_ == "ratios" and reading.negative > 0)
        as_they_are = is_logged or self.kind_ == "shares"
        self.logged_ = not as_they_are if chosen == "auto" else chosen == "yes"
        self.total_ = _common_total(table, reading) if self.kind_ == "counts" else None
        self.offset_ = 1.0 if self.kind_ == "counts" else 0.0
        self.floor_ = self._chosen_floor(reading)
        because = f" ({reading.because})" if found_out else ", as asked"
        words = {
            "log": "logarithms",
            "ratios": "log ratios or z-scores" if is_logged else "ratios",
            "shares": "percentages" if reading.largest > 1 else "shares",
            "counts": "counts" if reading.whole >= WHOLE else "scaled counts such as TPM",
        }
        taken = f"{words.get(self.kind_, self.kind_)}{because}"
        below = self._share_below_floor(table, names)
        self.verdict_ = f"The values were treated as {taken}: {self._in_words(below)}."
        low = f" {percent(below)} of them are below {self.floor_:g}." if below else ""
        self.taken_for_ = f"The values were treated as {taken}.{low}"

    def _chosen_floor(self, reading: Reading) -> float | None:
        """Return the floor to which lower values are raised, or None.

        It is ``floor`` or, if that is None, the default of the kind of values.
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
                raise ParameterError(
                    "kind",
                    "Some {kind} are 0 or negative (smallest: {smallest:g}), so their "
                    "logarithm does not exist.",
                    FLOOR_ABOVE_0,
                    LOGGED_ALREADY,
                    kind=self.kind_,
                    smallest=reading.smallest,
                )
            fact = "<floor={value:g}> is not positive, so its logarithm does not exist."
            raise ParameterError("floor", fact, FLOOR_ABOVE_0, value=floor)
        if reading.largest <= floor and self.total_ is None:
            raise ParameterError(
                "floor",
                "No value is above <floor={value:g}> (largest: {largest:g}).",
                Advice("set a lower <floor>", "floor"),
                *([LOGGED_ALREADY] if self.logged_ else []),
                value=floor,
                largest=reading.largest,
            )
        return floor

    def _share_below_floor(self, table: Array | Sparse, names: Names) -> float:
        """Return the share of the values that the floor replaces; warn if it is most of them."""
        if self.floor_ is None:
            return 0.0
        values = scaled_to_total(as_dense(table), self.total_, names[0])
        share = float(np.count_nonzero(values < self.floor_) / values.size)
        if share > 0.5:
            self._warn_of_floor(share)
        return share

    def _in_words(self, below: float) -> str:
        """Return what is done to the values, in words; below: the share that a floor raises."""
        steps = []
        if self.total_ is not None:
            steps.append(f"each sample was scaled to a total of {as_figure(self.total_)}")
        if below:
            low = f"values below {self.floor_:g} ({percent(below)} of all)"
            steps.append(f"{low} were raised to {self.floor_:g}")
        if self.logged_:
            steps.append(f"log2({'1 + ' if self.offset_ else ''}x) was taken")
        return in_a_row(steps or ["they were kept as they are"])

    def _warn_of_floor(self, share: float) -> None:
        as_counts = Advice("set <kind='counts'> for counts, TPM or CPM", "kind", "counts")
        warn(
            DataWarning(
                "floor",
                "<floor={floor:g}> replaces {share:%} of the values.",
                Advice("set a lower <floor>", "floor"),
                *([] if self.kind_ == "counts" else [as_counts]),
                floor=self.floor_,
                share=share,
            )
        )

    def _log_values(
        self, table: Array | Sparse, names: Names, *advice: Advice
    ) -> tuple[Any, Array]:
        """Return the values on the log scale, (n, p), and each sample's mean of them, (n,).

        advice: what to do about values that have no logarithm.
        The means are 0 if samples are not to be centred. A sparse table stays sparse if its
        zeros stay zeros.
        """
        zeros_stay = self.floor_ is None and (self.offset_ == 1.0 or not self.logged_)
        if sparse.issparse(table) and zeros_stay:
            values = _sparse_logs(table, self.total_, log=self.logged_)
        else:
            values = scaled_to_total(as_dense(table), self.total_, names[0])
            steps: dict[str, Any] = {"floor": self.floor_, "log": self.logged_}
            values = log_above_floor(values, *names, *advice, offset=self.offset_, **steps)
        if not as_flag(self.centre_samples, "centre_samples"):
            return values, np.zeros(table.shape[0])
        return values, np.asarray(values.mean(axis=1)).ravel()

    def _leading_axes(self, ratios: Array) -> Array | None:
        """Return the principal axes to keep, (n_axes, genes), or None for all."""
        if self.n_axes is None:
            return None
        return leading_axes(ratios, as_count(self.n_axes, "n_axes", low=1))


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
        taken_for=scaler.taken_for_,
    )


def as_table(X: Data, min_samples: int = 2) -> Any:
    """Return X as a matrix of float64, dense or CSR, after the checks of its values."""
    if not sparse.issparse(X):
        matrix = as_matrix(X, min_samples=min_samples, missing=True)
        gap = first_gap(Table(matrix, *_names(X, matrix.shape)))
        if gap is not None:
            raise ParameterError(
                "X",
                "This preparation cannot handle missing values: {gap} (NaN).",
                Advice(
                    "leave out genes with missing values",
                    command="add <drop_missing=0> to leave out genes with missing values",
                ),
                Advice(
                    "fill them with PCA().fit(X).impute(X) on logarithms",
                    command="fill them with subspaces fit --imputed",
                ),
                gap=gap,
            )
        check_squares(matrix)
        return matrix
    check_real(X)
    table = sparse.csr_array(X, dtype=np.float64)
    if table.shape[0] < min_samples:
        fact = "<X> has only {n:#sample}. You need at least {needed}."
        raise ParameterError("X", fact, n=table.shape[0], needed=min_samples)
    if not np.isfinite(table.data).all():
        raise ParameterError(
            "X", "<X> contains NaN or infinite values. Replace them, or leave out their genes."
        )
    if table.nnz:
        check_squares(table.data[None])
    return table


def _names(X: Data, shape: tuple[int, int]) -> Names:
    """Return the names of the samples and genes of X, for errors; numbers if it has none."""
    rows, columns = row_names(X), getattr(X, "columns", ())
    samples = range(shape[0]) if rows is None else rows.tolist()
    genes = columns if len(columns) else (f"x{j}" for j in range(shape[1]))
    return tuple(samples), tuple(genes)


def _hints(X: Data, table: Any) -> list[SubspacesWarning]:
    """Return warnings on the names of a frame: genes in rows, a batch among the genes."""
    names = list(map(str, getattr(X, "columns", ())))
    rows = row_names(X)
    found = [batch_hint(names)]
    as_read = Table(table, tuple(map(str, () if rows is None else rows)), tuple(names))
    if rows is not None and names and seem_swapped(as_read):
        transpose = Advice("transpose the table if the genes are in its rows")
        found.append(
            DataWarning("swapped", "The samples have names that look like genes.", transpose)
        )
    return [hint for hint in found if hint]


def as_dense(table: Any) -> Any:
    """Return a sparse matrix as a dense one; anything else as it is."""
    return table.toarray() if sparse.issparse(table) else table


def _common_total(table: Any, reading: Reading) -> float:
    """Return the total to which all samples of counts are scaled: their median, up to a limit."""
    if reading.smallest < 0:
        raise ParameterError(
            "kind",
            "Counts cannot be negative, but <X> has {smallest:g}.",
            Advice("set <kind='log'> for logarithms", "kind", "log"),
            Advice("<kind='ratios'> for log ratios", "kind", "ratios"),
            smallest=reading.smallest,
        )
    median = float(np.median(table.sum(axis=1)))
    return min(median, PER_CELL if median <= DEEPEST_CELL else PER_MILLION)


def _sparse_logs(table: Any, total: float | None, *, log: bool) -> Any:
    """Return a CSR table scaled to one total, if any, and as log2(1 + x) if asked for."""
    values = table.copy()
    if total is not None:
        sums = np.asarray(table.sum(axis=1))
        check_totals(sums, total, range(len(sums)))
        values.data *= np.repeat(total / sums, np.diff(table.indptr))
    if log:
        values.data = np.log2(1.0 + values.data)
    return values


def _dense_part(values: Any, means: Array, genes: Indices) -> Array:
    """Return some columns of the values, each row less its mean, as a dense matrix."""
    return as_dense(values[:, genes]) - means[:, None]


def _most_variable(values: Any, means: Array, count: int | None) -> Indices:
    """Return the columns of largest variance of ``values - means``, ascending; of equals, first.

    Columns of one value are left out if others are not: they vary by the means of samples alone.
    """
    n, p = values.shape
    if count is None:
        return np.arange(p)
    count = as_count(count, "n_genes", low=1)
    varying = _row(values.max(axis=0)) > _row(values.min(axis=0))
    varying = varying if varying.any() else ~varying
    if count >= np.count_nonzero(varying):
        return np.flatnonzero(varying)
    centre = np.asarray(values.mean(axis=0)).ravel() - means.mean()
    if sparse.issparse(values):
        # sum (v - m - c)^2 with v mostly 0: of the squares, of v (m + c), and of (m + c)^2
        squares = np.asarray(values.power(2).sum(axis=0)).ravel()
        crossed = values.T @ means + centre * np.asarray(values.sum(axis=0)).ravel()
        spread = squares - 2 * crossed + means @ means + 2 * centre * means.sum() + n * centre**2
    else:
        spread = np.zeros(p)
        for row, mean in zip(values, means, strict=True):  # all at once need another whole table
            spread += np.square(row - mean - centre)
    spread[~varying] = -np.inf
    return np.sort(np.argsort(-spread, kind="stable")[:count])


def _row(values: Any) -> Array:
    """Return one row, dense or sparse, as an array (p,)."""
    return np.asarray(values.toarray() if sparse.issparse(values) else values).ravel()
