"""`fit`: which of the four ways is gone."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np

from subspaces._types import Array, Mask
from subspaces.core.array import is_dask, is_foreign
from subspaces.core.dimensions import check_enough, dimensions_of
from subspaces.core.partition import assign
from subspaces.data.kinds import FEW_ROWS, SurveyedBlocks, blocks_of, survey_of
from subspaces.data.validation import has_holes
from subspaces.messages import UNWEIGHTED, ParameterError, use
from subspaces.named_table import marks_of_missing
from subspaces.psc.auto import fit_sparse, warn_of_choice
from subspaces.psc.blocks import fit_blocks
from subspaces.psc.choice import choose
from subspaces.psc.dense import fit_dense
from subspaces.psc.doubts import warn_of_level, warn_of_units
from subspaces.psc.incomplete import filled_in, fit_incomplete
from subspaces.psc.outliers import find_outliers, warn_of_outliers
from subspaces.psc.probabilities import probabilities_of
from subspaces.psc.result import Fit, with_means
from subspaces.psc.settings import Settings, check, no_outliers, numbers_of
from subspaces.runtime.threads import one_blas_thread
from subspaces.runtime.warning import warn

# In a matrix of up to this many numbers, BLAS threads wait longer than they work.
SMALL = 1 << 21


def fit(X: Array | SurveyedBlocks, weights: Array | None, settings: Settings) -> Fit:
    """Return the `Fit` of checked data: a matrix (n, p), NaN for missing cells, or rows in blocks.

    weights (n,): of the samples, none negative, None if all count one.
    """
    check(settings)
    if weights is not None:
        _check_takes_weights(X, settings)
    if isinstance(X, SurveyedBlocks):
        with one_blas_thread():
            return fit_blocks(X, settings, weights)
    if settings.refine == "descent" and len(X) > FEW_ROWS:
        fact = f"<refine='descent'> works for up to {FEW_ROWS} samples, but there are {len(X)}."
        others = use("refine", "ppca"), use("refine", None)
        raise ParameterError("refine", fact, *others, value="descent")
    for found in marks_of_missing(X, settings.variable_names):
        warn(found)
    if settings.n_variables is None:  # of sparse loadings some variables are louder
        warn_of_units(X)
    with one_blas_thread() if X.size <= SMALL or has_holes(X) else nullcontext():
        if settings.outliers is not None:
            return with_means(X, _fit_without_outliers(X, settings))
        return with_means(X, _fit_weighted(X, weights, settings))


def _check_takes_weights(X: Array | SurveyedBlocks, settings: Settings) -> None:
    """Raise ParameterError if a fit cannot weight its samples."""
    reason = None
    if settings.outliers is not None:
        reason = "<outliers>"
    elif settings.left_open:
        reason = f"<{settings.left_open[0]}='auto'>"
    elif isinstance(X, SurveyedBlocks):
        array = X.blocks.array
        if is_dask(array):
            reason = "Dask arrays"
        elif is_foreign(array):
            reason = "a large table on a GPU"
    elif has_holes(X):
        reason = "missing values"
    if reason:
        raise no_weights(reason)


def no_weights(reason: str) -> ParameterError:
    """Return the error of a fit that cannot weight samples; reason: what weights do not go with."""
    fact = f"<sample_weight> does not work with {reason}."
    return ParameterError("sample_weight", fact, UNWEIGHTED)


def _fit_weighted(X: Array, weights: Array | None, settings: Settings) -> Fit:
    """Return the fit of the rows of positive weight; the others get the labels of new rows."""
    if weights is None or weights.all():
        return _fit_matrix(X, settings, weights)
    kept = weights > 0.0
    check_enough(weights, dimensions_of(settings, X, low=0 if settings.affine else 1))
    if not isinstance(settings.init, str) and not callable(settings.init):
        settings = replace(settings, init=np.asarray(settings.init)[kept])
    found = _fit_matrix(X[kept], settings, weights[kept])
    found = _with_others(X, found, kept)
    return replace(found, weights=weights)


def _with_others(X: Array, found: Fit, kept: Mask) -> Fit:
    """Return the fit of the kept ones of the rows (n, p) with the others, as new rows."""
    labels = np.empty(len(X), dtype=found.labels.dtype)
    labels[kept], labels[~kept] = found.labels, assign(found.scores(X[~kept]))
    influence = probabilities = None
    if found.influence is not None:
        influence = np.full(len(X), np.nan)
        influence[kept] = found.influence
    if found.probabilities is not None:
        probabilities = np.empty((len(X), len(found.subspaces)))
        probabilities[kept] = found.probabilities
        probabilities[~kept] = probabilities_of(X[~kept], found, labels[~kept])
    return replace(found, labels=labels, influence=influence, probabilities=probabilities)


def _fit_without_outliers(X: Array, settings: Settings) -> Fit:
    """Return the fit of the rows in clusters; the others have the label -1.

    Numbers that are left open are chosen from all rows, and again from those in clusters. If these
    give others, the outliers are found anew.
    """
    if has_holes(X):
        raise no_outliers(settings.outliers, "missing values")
    chosen, selection = settings, None
    if settings.left_open:
        chosen, selection = choose(X, settings)

    def fit_some(kept: Mask, settings: Settings) -> Fit:
        return _fit_given(X[kept], settings, None)

    found = find_outliers(X, chosen, fit_some)
    if settings.left_open and not found.kept.all():
        again, selection = choose(X[found.kept], settings)
        if numbers_of(again) != numbers_of(chosen):
            found = find_outliers(X, replace(again, init=settings.init), fit_some)
    warn_of_outliers(found)
    if settings.left_open:
        warn_of_choice(replace(found.fit, selection=selection), X[found.kept], settings)
    fit = _with_others(X, found.fit, found.kept)
    labels = np.where(found.kept, fit.labels, -1)
    p_values, bulk = found.p_values, found.bulk
    return replace(fit, labels=labels, selection=selection, p_values=p_values, bulk=bulk)


def _fit_matrix(X: Array, settings: Settings, weights: Array | None) -> Fit:
    if not settings.left_open:
        return _fit_given(X, settings, weights)
    if settings.n_variables is not None:
        found = fit_sparse(X, settings)
    else:
        chosen, selection = choose(X, settings)
        found = replace(_fit_given(X, chosen, weights), selection=selection)
    warn_of_choice(found, filled_in(X) if has_holes(X) else X, settings)
    return found


def _fit_given(X: Array, settings: Settings, weights: Array | None) -> Fit:
    """Return the fit of a matrix with all numbers given."""
    if has_holes(X):
        return fit_incomplete(X, settings)
    blocks = blocks_of(X) if settings.needs_memory is None else None
    if blocks is not None:  # many rows, some of which the numbers were chosen from
        return fit_blocks(SurveyedBlocks(blocks, survey_of(blocks)), settings, weights)
    found = fit_dense(X, settings, weights)
    if not found.affine and len(found.subspaces) > 1:
        warn_of_level(X, settings.variable_names)
    return found
