"""The variables of a table that vary, prepared for one PCA."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from subspaces._types import Array, Data, Indices, Mask, NoiseKind
from subspaces.core.incomplete import Cells
from subspaces.core.leave_one_out import centred
from subspaces.data.validation import (
    as_table_to_fit,
    check_squares,
    has_holes,
    row_names,
    warn_of_copies,
)
from subspaces.named_table import marks_of_missing
from subspaces.pca.components import (
    FEWEST_COLUMNS,
    FEWEST_ROWS,
    MOST_AXES,
    Components,
    all_axes,
    count_components,
    most_axes,
    too_small,
)
from subspaces.pca.missing import count_through_holes
from subspaces.pca.unequal_noise import count_in_equal_noise
from subspaces.runtime.parameters import as_count, as_flag
from subspaces.runtime.warning import warn
from subspaces.subspace import PrincipalAxes, by_weight, centre_of

# Samples with whole weights are repeated up to this many numbers (128 MB).
MOST_REPEATED = 1 << 24


@dataclass(frozen=True)
class VaryingTable:
    """A table without the variables that do not vary, from its mean and scaled if asked.

    axes: all axes of the values, with means in the holes; eigenvalues are those of the weights;
    filled (n, q): these values, None if none are missing: then the axes alone hold them; varies
    (p,): which of all variables these are; center: whether the mean was subtracted; mean (p,): what
    was, zeros if nothing; scale (p,): by what variables were then divided, 1 for those that do not
    vary, or None; names (n,): of the samples; observed (n, q): 1 if a cell was observed, or None
    if all were; variables (q,): names of the variables that vary; weights (n,): how often each
    sample counts, None for once.
    """

    axes: PrincipalAxes
    filled: Array | None
    varies: Mask
    center: bool
    mean: Array
    scale: Array | None
    names: list[str]
    observed: Array | None
    variables: list[str]
    weights: Array | None = None

    @property
    def cells(self) -> Cells | None:
        """The observed cells, if some are missing."""
        if self.filled is None or self.observed is None:
            return None
        return Cells(self.filled * self.observed, self.observed)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of samples that count, and of variables that vary."""
        n, q = len(self.axes.coordinates), len(self.axes.basis)
        if self.weights is None:
            return n, q
        return int(np.count_nonzero(self.weights)) if self.copies is None else len(self.copies), q

    @property
    def most_axes(self) -> int:
        """The largest number of axes beside which enough is left to tell the noise from."""
        return most_axes(*self.shape, center=self.center)

    def components(self, most: int | None, noise: NoiseKind) -> tuple[Components, PrincipalAxes]:
        """Return how many axes are components, by `count_components`, and all axes.

        Those of a table with holes are the axes of the table that the components filled. By default
        half of the directions are looked at. If all of these are components, and the others few,
        all are.
        """
        found, axes = self._counted(most, noise)
        if most is None and 0 < len(found.ratio) == found.count < self.most_axes <= MOST_AXES:
            return self._counted(self.most_axes, noise)
        return found, axes

    def _counted(self, most: int | None, noise: NoiseKind) -> tuple[Components, PrincipalAxes]:
        if self.cells is not None and not self.is_too_small:
            found, filled = count_through_holes(self.cells, self.center, most, noise)
            return found, all_axes(centred(filled, self.center))
        axes = self.axes
        if self.is_too_small and axes.rank:
            return too_small(axes), axes
        counted = self.weighted(axes)
        found = count_components(counted, most, noise, center=self.center)
        if noise == "auto":
            found = count_in_equal_noise(counted, found, most, center=self.center)
        if self.weights is not None:
            rows = np.flatnonzero(self.weights) if self.copies is None else self.copies
            found = replace(found, rests_on=rows[found.rests_on])
        return found, axes

    @property
    def is_too_small(self) -> bool:
        """Whether there are too few samples or variables to tell a component from noise."""
        n, q = self.shape
        return n < FEWEST_ROWS or q < FEWEST_COLUMNS

    @property
    def copies(self) -> Indices | None:
        """Rows of the samples, each as often as it counts; None if weights are no whole numbers."""
        if self.weights is None or self.weights.sum() * len(self.varies) > MOST_REPEATED:
            return None
        whole = self.weights.astype(np.intp)
        return np.repeat(np.arange(len(whole)), whole) if np.all(whole == self.weights) else None

    def weighted(self, axes: PrincipalAxes) -> PrincipalAxes:
        """Return the axes with every sample as often as it counts.

        If weights are no whole numbers, coordinates are multiplied by their roots.
        """
        if self.weights is None:
            return axes
        if self.copies is not None:
            return replace(axes, coordinates=axes.coordinates[self.copies])
        rows = np.sqrt(self.weights)[:, None] * axes.coordinates
        return replace(axes, coordinates=rows[self.weights > 0.0])

    def has_more_than(self, most: int | None) -> bool:
        """Whether more components could be looked for than up to this maximum."""
        return self.most_axes > (MOST_AXES if most is None else most)

    def checked_maximum(self, max_components: int | None) -> int | None:
        """Return ``max_components``; raise an error below 1 and above `most_axes`."""
        if max_components is None:
            return None
        (n, p), why = self.shape, " for {n:#sample} and {p:#variable} that vary"
        most = self.most_axes
        return as_count(max_components, "max_components", low=1, high=most, why=why, n=n, p=p)


def varying_table(
    X: Data, *, center: bool, scale: bool, weights: Array | None = None, counting: bool = False
) -> VaryingTable:
    """Return X as a `VaryingTable`.

    weights (n,): how often each sample counts; counting: whether components are to be counted, so
    that copies of samples are warned of.
    """
    matrix = as_table_to_fit(X)
    check_squares(matrix)
    center, scale = as_flag(center, "center"), as_flag(scale, "scale")
    given = row_names(X)
    names = [str(name) for name in (range(len(matrix)) if given is None else given)]
    columns = column_names(X, matrix.shape[1])
    for found in marks_of_missing(matrix, columns):
        warn(found)
    matrix, observed = _filled_with_means(matrix)
    mean = centre_of(matrix, center, weights)
    rows = centred(matrix, center, weights)
    varies = np.any(rows != 0.0, axis=0)
    rows = rows if varies.all() else rows[:, varies]
    spread = None
    if scale:
        spread = np.ones(len(varies))
        spread[varies] = _standard_deviations(rows, observed, varies, weights)
        spread[spread == 0.0] = 1.0  # equal values around an origin that is not their mean
        rows /= spread[varies]
    if counting:
        warn_of_copies(rows, of_components=True)
    if observed is not None:
        observed = observed[:, varies]
    variables = [name for name, kept in zip(columns, varies, strict=True) if kept]
    filled = None if observed is None else rows.copy()
    axes = all_axes(by_weight(rows, weights), overwrite=True)
    if weights is not None:
        axes = replace(axes, coordinates=rows @ axes.basis)
    return VaryingTable(
        axes, filled, varies, center, mean, spread, names, observed, variables, weights
    )


def column_names(X: Any, count: int) -> tuple[str, ...]:
    """Return the names of the columns as text; x0, x1 and so on if they have none."""
    return tuple(map(str, getattr(X, "columns", [f"x{j}" for j in range(count)])))


def _standard_deviations(
    rows: Array, observed: Array | None, varies: Mask, weights: Array | None
) -> Array:
    """Return the standard deviation (q,) of the variables that vary; means are in the holes."""
    if weights is not None:
        centre = np.average(rows, axis=0, weights=weights)
        return np.sqrt(weights @ (rows - centre) ** 2 / max(weights.sum() - 1.0, 1e-300))
    spread = (rows - rows.mean(axis=0)).std(axis=0, ddof=min(1, len(rows) - 1))
    if observed is not None:  # holes are at the mean and add nothing
        seen = observed[:, varies].sum(axis=0)
        spread = spread * np.sqrt((len(rows) - 1) / np.maximum(seen - 1.0, 1.0))
    return spread


def _filled_with_means(matrix: Array) -> tuple[Array, Array | None]:
    """Return the matrix with means in its holes, and 1 if a cell was observed; None if all."""
    if not has_holes(matrix):
        return matrix, None
    holes = np.isnan(matrix)
    # The mean of equal values is one of them, whatever the rounding.
    lowest, highest = np.nanmin(matrix, axis=0), np.nanmax(matrix, axis=0)
    means = np.clip(np.nanmean(matrix, axis=0), lowest, highest)
    return np.where(holes, means, matrix), 1.0 - holes
