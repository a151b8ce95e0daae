"""Leave-one-out errors of PCA and of least squares, and each sample's influence on a PCA."""

from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subspaces._types import Array, Data, PressMethod
from subspaces.core import influence
from subspaces.core.incomplete import observed_cells
from subspaces.core.leave_one_out import NEARLY_ALL, centred, graded_axes, left_out
from subspaces.core.secular import copy_of, refit_factor
from subspaces.data.validation import (
    as_matrix,
    as_table_to_fit,
    as_weights,
    check_squares,
    row_names,
    warn_of_copies,
)
from subspaces.messages import FILL_BY_PCA, UNWEIGHTED, Advice, DataWarning, ParameterError, use
from subspaces.pca.intervals import turns
from subspaces.pca.missing import (
    IncompletePCA,
    fit_pca,
    row_errors,
    squared_influence,
    warn_of_low_values,
)
from subspaces.runtime.parameters import as_choice, as_count, as_flag
from subspaces.runtime.result import InShort
from subspaces.runtime.threads import one_blas_thread
from subspaces.runtime.warning import doubt
from subspaces.subspace import (
    PrincipalAxes,
    Subspace,
    by_weight,
    centre_of,
    leading,
    principal_axes,
)

# If the mean holds this share of the sum of squares, warn.
MOSTLY = 0.5


@dataclass(frozen=True, repr=False)
class Press(InShort):
    """Predicted residual sum of squares (PRESS), divided by the number of samples.

    Attributes
    ----------
    press : float
        Mean squared leave-one-out error over the samples.
    per_sample : ndarray of shape (n,)
        Squared leave-one-out error of each sample.
    """

    press: float
    per_sample: Array


@dataclass(frozen=True, repr=False)
class PCAInfluence(InShort):
    """Leverage, leave-one-out error, influence and gradient of each sample of one PCA.

    Attributes
    ----------
    angle : ndarray of shape (n,)
        Largest angle, in radians, by which the subspace turns without the sample. NaN if values are
        missing.
    leverage : ndarray of shape (n,)
        How much the sample determines the axes, from 0 to R.
    loo_error : ndarray of shape (n,)
        Exact squared leave-one-out error: how badly the other samples predict this one. If values
        are missing, the approximation "hat" of `pca_press`.
    influence : ndarray of shape (n,)
        Squared predictive influence, the measure of the paper.
    gradient : ndarray of shape (n, p) or None
        Exact gradient of half the squared leave-one-out error with respect to the sample. None if
        samples have weights.
    sample_names : ndarray of shape (n,) or None
        Index of the data frame, if X was one.
    """

    angle: Array
    leverage: Array
    loo_error: Array
    influence: Array
    gradient: Array | None
    sample_names: NDArray[Any] | None = None


def pca_press(
    X: Data,
    n_components: int,
    *,
    center: bool = True,
    method: PressMethod = "exact",
    sample_weight: ArrayLike | None = None,
) -> Press:
    """Compute the leave-one-out error of a PCA from a single decomposition.

    Each sample is left out in turn, and projected on the PCA of the others. Its squared distance
    from that PCA is the error. The error keeps falling with R, so you cannot choose R with it. Use
    `pca_components` instead.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Samples in rows. NaN is a missing value, which only ``method="hat"`` accepts. The error of
        the o observed values is then multiplied by (p - R) / (o - R).
    n_components : int
        Number of axes, R.
    center : bool, default True
        Whether the PCA has a mean. The mean is also fitted without the sample. Otherwise the axes
        pass through the origin, as those of `PSC` do by default. To keep one mean for all samples,
        pass ``X - X.mean(axis=0)`` with ``center=False``.
    method : {"exact", "hat", "paper"}, default "exact"
        - "exact": equal to fitting n PCAs, up to rounding ("What you can rely on",
          https://subspaces.readthedocs.io).
        - "hat": the residual over one minus the leverage. It keeps the axes nearly fixed.
        - "paper": the closed form of the paper. It also keeps the axes nearly fixed.

        "hat" and "paper" are infinite for a sample of leverage 1.
    sample_weight : array-like of shape (n,), optional
        How often each sample counts. One copy is left out, or the whole sample if its weight is
        below 1. A sample of weight 0 is treated as new.

    Returns
    -------
    Press
        ``.press``, the weighted mean over the samples, and ``.per_sample``.

    Notes
    -----
    "Leave-one-out PCA and PRESS", https://subspaces.readthedocs.io, derives and compares the three
    methods. The exact error falls with every axis, even an axis of noise, because a sample's own
    values place it on the axes. The other two rise only if there are many variables.

    References
    ----------
    B. McWilliams and G. Montana, "Subspace clustering of high-dimensional data: a predictive
    approach", Data Mining and Knowledge Discovery 28 (2014) 736-772, eq. pca_press.

    Examples
    --------
    >>> import numpy as np
    >>> from subspaces.diagnostics import pca_press
    >>> X = np.random.default_rng(0).normal(size=(50, 8)) @ np.diag([9, 6, 1, 1, 1, 1, 1, 1])
    >>> round(pca_press(X, 2).press, 2)
    7.08
    """
    method = as_choice(method, "method", get_args(PressMethod))
    X, n_components, weights = _checked(X, n_components, sample_weight, center=center)
    if weights is not None and method != "exact":
        fact = "<method={value!r}> does not work with <sample_weight>."
        raise ParameterError("method", fact, use("method", "exact"), value=method)
    if method != "hat" and np.isnan(X).any():
        fact = "<X> has missing values, which <method={value!r}> cannot handle."
        raise ParameterError("method", fact, use("method", "hat"), value=method)
    if weights is None:
        errors = _errors(X, n_components, method, center=bool(center))
    else:
        axes, _ = _axes_and_mean(X, weights, center=bool(center))
        errors = _weighted_errors(axes, n_components, weights, center=bool(center))
    return Press(float(np.average(errors, weights=weights)), errors)


def pca_influence(
    X: Data, n_components: int, *, center: bool = True, sample_weight: ArrayLike | None = None
) -> PCAInfluence:
    """Find the samples that influence a PCA most.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Samples in rows. NaN is a missing value. See the notes.
    n_components : int
        Number of axes, R.
    center : bool, default True
        Whether the PCA has a mean. The mean is fitted without the sample for ``angle`` and
        ``loo_error``, and fixed for the other measures. Otherwise the axes pass through the origin,
        as those of `PSC` do by default.
    sample_weight : array-like of shape (n,), optional
        How often each sample counts. One copy is left out, or the whole sample if its weight is
        below 1. A sample of weight 0 is treated as new.

    Returns
    -------
    PCAInfluence
        ``.angle``, ``.leverage``, ``.loo_error``, ``.influence`` and ``.gradient``. Influence and
        gradient are infinite for the only sample along an axis.

    Notes
    -----
    The paper calls ``influence`` the gradient of the PRESS, but the two differ ("The paper's
    mistakes and our reading", https://subspaces.readthedocs.io). ``gradient`` is the true gradient.

    If values are missing, the PCA is fitted to the observed ones, and then fills in the others.
    ``loo_error`` is the approximation "hat" of `pca_press`. Residuals are multiplied by p over the
    number of observed values. ``gradient`` is NaN at missing values.

    Examples
    --------
    >>> import numpy as np
    >>> from subspaces.diagnostics import pca_influence
    >>> X = np.random.default_rng(0).normal(size=(50, 8))
    >>> X[17] *= 6
    >>> int(pca_influence(X, 2).loo_error.argmax())
    17
    """
    names = row_names(X)
    X, n_components, weights = _checked(X, n_components, sample_weight, center=center)
    if np.isnan(X).any():
        return incomplete_influence(X, n_components, names, center=bool(center))
    axes, mean = _axes_and_mean(X, weights, center=bool(center))
    return influence_of(axes, n_components, mean, names, center=bool(center), weights=weights)


def influence_of(
    axes: PrincipalAxes,
    n_components: int,
    mean: Array,
    names: NDArray[Any] | None = None,
    *,
    center: bool,
    weights: Array | None = None,
) -> PCAInfluence:
    """`pca_influence` of all axes of a complete table; mean (p,): what they start from.

    weights (n,): how often each sample counts, of which one is left out (`intervals`).
    """
    scores, squared_residual, spectrum = axes.split(n_components)
    rows, gradient, copy = axes.coordinates, None, None
    claimed = influence.leverage(scores, spectrum).sum(axis=1)
    if weights is None:
        place = leading(mean, axes, n_components)
        gradient = influence.gradient(mean + rows @ axes.basis.T, place)
        loo_error = left_out(rows, n_components, axes, affine=center).squared_error
    else:
        loo_error = _weighted_errors(axes, n_components, weights, center=center)
        claimed, copy = weights * claimed, copy_of(weights)
    return PCAInfluence(
        angle=turns(axes, n_components, affine=center, weights=weights),
        leverage=claimed,
        loo_error=loo_error,
        influence=influence.squared_influence_of(scores**2, squared_residual, spectrum, True, copy),
        gradient=gradient,
        sample_names=names,
    )


def _axes_and_mean(X: Array, weights: Array | None, *, center: bool) -> tuple[PrincipalAxes, Array]:
    """Return all axes of weighted samples, with the samples themselves along them, and the mean."""
    mean, rows = centre_of(X, center, weights), centred(X, center, weights)
    axes = graded_axes(by_weight(rows, weights))
    return axes if weights is None else replace(axes, coordinates=rows @ axes.basis), mean


def _weighted_errors(
    axes: PrincipalAxes, n_components: int, weights: Array, *, center: bool
) -> Array:
    """Squared errors (n,) of samples of which one copy, or a smaller part, is left out.

    axes: of the weighted samples, with the samples themselves along them. A sample of weight 0 has
    its distance from them.
    """
    errors, kept = axes.split(n_components)[1], weights > 0.0
    rows, own = axes.coordinates[kept], weights[kept]
    weighted = replace(axes, coordinates=by_weight(rows, own))
    errors[kept] = left_out(rows, n_components, weighted, affine=center, weights=own).squared_error
    return errors


def incomplete_influence(
    X: Array, n_components: int, names: NDArray[Any] | None, *, center: bool
) -> PCAInfluence:
    """`pca_influence` of a table with holes."""
    pca = incomplete_pca(X, n_components, center=center)
    place, scores = pca.subspace, pca.coordinates
    spectrum = np.sum(scores**2, axis=0)
    gradient = influence.gradient(pca.completed, Subspace(place.centre, place.basis, spectrum))
    return PCAInfluence(
        angle=np.full(len(X), np.nan),
        leverage=influence.leverage(scores, spectrum).sum(axis=1),
        loo_error=row_errors(pca)[1],
        influence=squared_influence(pca),
        gradient=np.where(np.isnan(X), np.nan, gradient),
        sample_names=names,
    )


def incomplete_pca(X: Array, n_components: int, *, center: bool) -> IncompletePCA:
    """Return the PCA of a table with holes; warn if low values seem to be missing."""
    with one_blas_thread():
        pca = fit_pca(observed_cells(X), n_components, center)
    warn_of_low_values(pca.cells, pca.image)
    return pca


def _checked(
    X: Data, n_components: int, sample_weight: ArrayLike | None, *, center: bool
) -> tuple[Array, int, Array | None]:
    """Return X as a matrix, the number of axes as an integer, and the weights (n,) or None.

    Raise ValueError for more axes than the samples span when one of them is left out.
    """
    matrix = as_table_to_fit(X)
    check_squares(matrix)
    warn_of_copies(matrix)
    weights = as_weights(sample_weight, len(matrix))
    if weights is not None and np.isnan(matrix).any():
        fact = "<sample_weight> does not work with missing values."
        raise ParameterError("sample_weight", fact, FILL_BY_PCA, UNWEIGHTED)
    n, p = len(matrix) if weights is None else int(np.count_nonzero(weights)), matrix.shape[1]
    limit = min(n - 1 - as_flag(center, "center"), p)
    if weights is not None and limit < 1:
        fact = "<sample_weight> is positive for only {n:#sample}, but at least {least} are needed."
        more = Advice("give more samples a positive weight")
        raise ParameterError("sample_weight", fact, more, n=n, least=2 + bool(center))
    why = " for {n:#sample} and {p:#variable}"
    n_components = as_count(n_components, "n_components", low=0, high=limit, why=why, n=n, p=p)
    if not center:
        _warn_of_mean(matrix)
    return matrix, n_components, weights


def _warn_of_mean(X: Array) -> None:
    """Warn if the mean of the samples holds most of the sum of squares of X, (n, p)."""
    observed = ~np.isnan(X)
    total = float(np.sum(X**2, where=observed))
    of_mean = float(observed.sum(axis=0) @ np.mean(X, axis=0, where=observed) ** 2)
    if of_mean > MOSTLY * total:
        doubt(
            DataWarning,
            "far_mean",
            "The samples are far from the origin, so the first axis only shows their mean "
            "({share:%} of the sum of squares).",
            use("center", True),
            share=of_mean / total,
        )


def _errors(X: Array, n_components: int, method: PressMethod, *, center: bool) -> Array:
    """Return the squared leave-one-out error of each sample, (n,); the mean is refitted, too."""
    if method == "exact":
        return left_out(X, n_components, affine=center).squared_error
    if np.isnan(X).any():
        return row_errors(incomplete_pca(X, n_components, center=center))[1]
    axes = graded_axes(centred(X, center))
    scores, squared_residual, spectrum = axes.split(n_components)
    if method == "hat":
        return influence.hat_errors(scores, squared_residual, spectrum, center)
    f = refit_factor(len(X), center)
    return f * influence.paper_errors(np.sqrt(f) * scores, f * squared_residual, spectrum)


def ols_press(X: Data, y: ArrayLike) -> Press:
    """Compute the leave-one-out error of ordinary least squares from a single fit.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Covariates. No intercept is added: append a column of ones if you want one.
    y : array-like of shape (n,)
        Response.

    Returns
    -------
    Press
        ``.press``, the mean over the samples, and ``.per_sample``, ``(y - X beta)^2/(1 - h)^2``.

    Examples
    --------
    >>> import numpy as np
    >>> from subspaces.diagnostics import ols_press
    >>> ols_press([[1.0], [2.0], [3.0]], [1.0, 2.0, 4.0]).per_sample.round(4)
    array([0.0533, 0.36  , 1.    ])
    """
    X = as_matrix(X)
    if np.ndim(y) != 1:
        raise ParameterError(
            "y",
            f"<y> has {np.ndim(y)} dimensions instead of 1. Pass a 1-D array, such as y.ravel().",
        )
    response = as_matrix(np.reshape(y, (-1, 1)), "y", min_samples=0)[:, 0]
    check_squares(X)
    check_squares(response, "y")
    if len(response) != len(X):
        raise ParameterError(
            "y",
            f"<y> has {len(response)} values, but X has {len(X)} samples. Pass one value "
            "per sample.",
        )
    axes = principal_axes(X)
    left = axes.coordinates / np.sqrt(axes.eigenvalues)
    leverage = np.einsum("ij,ij->i", left, left)
    claiming = np.flatnonzero(leverage > NEARLY_ALL)
    share = 1.0 - np.where(leverage > NEARLY_ALL, 0.0, leverage)
    errors = ((response - left @ (left.T @ response)) / share) ** 2
    # If the leverage h is nearly 1, 1 - h has lost its digits, so fit again without the row. The
    # leverages sum to the rank, so these rows are few.
    for i in claiming.tolist():
        errors[i] = _refitted_regression_error(X, response, i, axes.rank)
    return Press(float(errors.mean()), errors)


def _refitted_regression_error(X: Array, response: Array, i: int, rank: int) -> float:
    """Return the squared error of row i under the regression fitted to all other rows.

    Raise ValueError if the other rows have a lower rank than X, which is ``rank``.
    """
    others = np.delete(X, i, axis=0)
    axes = principal_axes(others)
    if axes.rank < rank:
        raise ParameterError(
            "X",
            f"Row {i} of <X> cannot be predicted from the other samples, because one axis depends "
            "on it alone. Add samples, or leave out variables.",
        )
    along = axes.coordinates.T @ np.delete(response, i) / axes.eigenvalues
    return float((response[i] - X[i] @ axes.basis @ along) ** 2)
