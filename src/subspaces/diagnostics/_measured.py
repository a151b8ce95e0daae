"""The table that markers test: its values, its names, and who expresses what.

Cells that were not observed are nan, and stay so: what fills them would be tested as if it had been
measured, and was made from the clusters.

A model is tested on the data of its fit, and on no other: `data_of_fit` compares the means of the
clusters. If values were prepared, they are tested on the scale of the preparation, all variables
that it needs and not only those that it keeps.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils.validation import validate_data

from subspaces._types import Array, Data, Indices, Labels, Mask
from subspaces.core.array import to_host
from subspaces.core.contrast import means_and_spread
from subspaces.core.partition import Partition
from subspaces.data.validation import as_table_to_fit, check_squares, is_named
from subspaces.diagnostics._composition import at_one_size
from subspaces.estimators._base import SubspaceClusterer
from subspaces.expression_values import counts_hint
from subspaces.messages import Advice, ParameterError, ParameterTypeError
from subspaces.pca.table import column_names
from subspaces.preparation import Preparation, check_present, prepare_rows, scaled_to_total
from subspaces.runtime.warning import warn
from subspaces.subspace import principal_axes

# If means of clusters differ by more than this share of the largest value, the samples are not
# those of fit. Single precision and files of five digits stay below. Samples in another order
# exceed it even if clusters share a mean, because means of n_k samples differ by about s /
# sqrt(n_k).
ROUNDED = 1e-4
# What to use in place of data that are not those of fit; the first for a model without preparation.
USE_PREPARED = "Pass that table, or call recipe.markers(X) if a recipe prepared it"
USE_RAW = "Pass that table, unchanged and in the same order"
USE_GAPS = "Leave the missing values empty, because filled values can look like markers"


@dataclass(frozen=True)
class Measured:
    """A table to be tested.

    values (n, p): what is tested, nan if not observed; clustered (n, p): the same as it is
    clustered, with samples of counts centred; names of the p variables; expressed (n, p): who
    expresses what, or None; sized: whether counts were brought to one size by common genes.
    """

    values: Array
    clustered: Array
    names: list[str]
    expressed: Mask | None
    sized: bool = False

    @property
    def n_missing(self) -> int:
        """How many cells were not observed."""
        return int(np.count_nonzero(np.isnan(self.values)))

    def of(self, inside: Mask) -> "Measured":
        """Return the samples inside, (n,) True or False, alone."""
        expressed = None if self.expressed is None else self.expressed[inside]
        return replace(
            self, values=self.values[inside], clustered=self.clustered[inside], expressed=expressed
        )


def as_tested(X: Data, names: Sequence[str] | None, expressed: ArrayLike | None) -> Measured:
    """Return a table as it is tested, checked, with names that are all different.

    Counts in an AnnData, which are to be logged first, get a warning.
    """
    if hasattr(X, "fit") and hasattr(X, "get_params"):
        raise ParameterTypeError(
            "X",
            f"The first argument is a {type(X).__name__}, not a table. Call markers(X, "
            "model.labels_), or model.markers(X).",
        )
    if hasattr(X, "var_names") and hasattr(X, "X"):
        if X.X is None:
            raise ParameterError(
                "X", "The AnnData has no X. Pass adata.layers[...] and names=adata.var_names."
            )
        hint = counts_hint(X.X, "adata.X")
        if hint:
            warn(hint)
        names = X.var_names if names is None else names
        X = X.X.toarray() if sparse.issparse(X.X) else X.X
    matrix = _checked(X)
    p = matrix.shape[1]
    if names is None:
        names = column_names(X, p)
    if len(names) != p:
        raise ParameterError(
            "names",
            "<names> has {n:#entry|entries} for {p:#variable}. Pass one name per variable.",
            n=len(names),
            p=p,
        )
    if expressed is None:
        expressed = matrix > 0 if np.nanmin(matrix) == 0 else None
    else:
        expressed = np.asarray(expressed)
        if expressed.shape != matrix.shape or expressed.dtype != bool:
            raise ParameterError(
                "expressed",
                f"<expressed> has type {expressed.dtype} and shape {expressed.shape}. Pass "
                f"booleans of shape {matrix.shape}.",
            )
    return Measured(matrix, matrix, told_apart([str(name) for name in names]), expressed)


def data_of_fit(
    model: SubspaceClusterer, labels: Labels, X: Data, preparation: Preparation | None
) -> tuple[Array, Measured]:
    """Return X as a matrix and as it is tested; ValueError if it is not the data of fit."""
    if preparation is None:
        needed = model.n_features_in_
        names = getattr(model, "feature_names_in_", None)
        tested = as_tested(X, None if hasattr(X, "columns") else names, None)
        raw = tested.values
    else:
        needed = len(preparation.needed)
        raw = _needed_part(X, preparation)
    if raw.shape != (len(labels), needed):
        raise ParameterError(
            "X",
            f"<X> has shape ({len(raw)}, {raw.shape[1]}), but the model was fitted to a table "
            f"of shape ({len(labels)}, {needed}). "
            f"{USE_PREPARED if preparation is None else USE_RAW}.",
        )
    if preparation is not None:
        tested = _on_scale_of(preparation, raw)
    elif hasattr(X, "columns") and hasattr(model, "feature_names_in_"):
        validate_data(model, X, reset=False, skip_check_array=True)  # the same names, in order
    _check_means(model, labels, raw, tested.names, preparation)
    return raw, tested


def _needed_part(X: Data, preparation: Preparation) -> Array:
    """Return the columns of X that a preparation needs, found by name if X has names."""
    if is_named(X):
        check_present(list(X.columns), preparation.needed)
        X = X[preparation.needed]
    return _checked(X)


def _check_means(
    model: SubspaceClusterer,
    labels: Labels,
    raw: Array,
    names: list[str],
    preparation: Preparation | None,
) -> None:
    """Raise ValueError if the clusters of raw (n, p), prepared, have other means than in fit.

    A model that was fitted to a table with gaps is asked how many these were instead, and one that
    knows no means is not asked.
    """
    rows, use = raw, USE_PREPARED if preparation is None else USE_RAW
    if preparation is not None:
        rows, names = prepare_rows(raw, names, preparation), list(preparation.variable_names)
    before, now = getattr(model, "missing_share_", 0.0), float(np.isnan(rows).mean())
    if not np.isclose(before, now):
        raise ParameterError(
            "X",
            f"{100 * now:.3g} % of the values in <X> are missing, but the model was fitted to a "
            f"table with {100 * before:.3g} % missing. {USE_GAPS if before > now else use}.",
        )
    known = getattr(model, "cluster_means_", getattr(model, "centres_", None))
    if known is None or before > 0.0:
        return
    known = np.asarray(to_host(known))
    if preparation is not None and preparation.axes is not None:
        # The means may have been measured before the projection.
        known = known @ preparation.axes.T @ preparation.axes
    means, _ = means_and_spread(rows, Partition(labels, len(known)))
    apart = np.abs(means - known)
    k, j = np.unravel_index(np.argmax(apart), apart.shape)
    if apart[k, j] > ROUNDED * np.abs(rows).max():
        raise ParameterError(
            "X",
            f"<X> is not the table the model was fitted to, because the mean of {{name!r}} in "
            f"cluster {k} differs. {use}.",
            name=names[j],
        )


def _on_scale_of(preparation: Preparation, raw: Array) -> Measured:
    """Return raw values on the scale of a preparation, all variables that it needs, none left out.

    Samples that were scaled to one total are not centred for tests: zeros would differ by the mean
    of their sample, so that a gene that nobody expresses would differ between clusters. They are
    tested `at_one_size` instead if that is possible. Nor does a variable differ that was one
    value before samples were centred.
    """
    needed = preparation.needed
    if preparation.inputs is not None:
        preparation = replace(
            preparation, variable_names=tuple(needed), centre=None, spread=None, axes=None
        )
    clustered = prepare_rows(raw, needed, preparation)
    uncentred = replace(preparation, centre_samples=False)
    values = prepare_rows(raw, needed, uncentred)
    if preparation.total is not None:
        sized = at_one_size(scaled_to_total(raw, preparation.total, range(len(raw))))
        if sized is not None:
            values = prepare_rows(sized, needed, replace(uncentred, total=None))
    else:
        sized = None
        varies = np.nanmax(values, axis=0) > np.nanmin(values, axis=0)
        values = np.where(varies | np.isnan(values), clustered, 0.0)
    expressed = None
    if preparation.floor is not None:
        expressed = raw > preparation.floor
    elif preparation.total is not None or np.nanmin(raw) == 0:
        expressed = raw > 0
    return Measured(values, clustered, list(needed), expressed, sized is not None)


def as_clustered(preparation: Preparation, tested: Measured, half: Indices) -> Array:
    """Return the values of a half of the variables as the preparation hands them to a clusterer.

    The variables that are not kept are left out, and those that were centred are. If axes are
    kept, the samples are given by their coordinates along as many leading axes of the half.
    """
    kept = set(preparation.variable_names)
    places = [j for j in half if tested.names[j] in kept]
    if not places:
        raise ParameterError(
            "split_half",
            "The split-half test needs more selected variables.",
            Advice("increase <n_genes>", "n_genes"),
        )
    rows = tested.clustered[:, places]
    if preparation.centre is not None:
        rows = rows - np.nanmean(rows, axis=0)
    if preparation.axes is None:
        return rows
    return rows @ principal_axes(rows).basis[:, : len(preparation.axes)]


def _checked(X: Data) -> Array:
    """Return X as a matrix; every variable has some value."""
    matrix = as_table_to_fit(X)
    check_squares(matrix)
    return matrix


def told_apart(names: Sequence[str]) -> list[str]:
    """Return names that are all different: of several equal ones the later get -1, -2 and so on."""
    taken, seen, found = set(names), Counter[str](), []
    for name in names:
        unique = name
        while seen[name] and unique in taken:
            unique = f"{name}-{seen[name]}"
            seen[name] += 1
        seen[name] = max(seen[name], 1)
        taken.add(unique)
        found.append(unique)
    return found
