"""The variables of a table that vary, prepared for one PCA."""

from dataclasses import dataclass

import numpy as np

from subspaces._types import Array, Data, Mask, NoiseKind
from subspaces.core.incomplete import Cells
from subspaces.core.leave_one_out import centred
from subspaces.data.validation import as_table_to_fit, check_squares, row_names
from subspaces.messages import ParameterError
from subspaces.pca.components import (
    FEWEST_COLUMNS,
    FEWEST_ROWS,
    MOST_AXES,
    Components,
    all_axes,
    count_components,
    most_axes,
)
from subspaces.pca.missing import count_through_holes
from subspaces.pca.unequal_noise import count_in_equal_noise
from subspaces.runtime.parameters import as_count, as_flag
from subspaces.subspace import PrincipalAxes, centre_of


@dataclass(frozen=True)
class VaryingTable:
    """A table without the variables that do not vary, from its mean and scaled if asked.

    rows (n, q): the values, with means in the holes; varies (p,): which of all variables these are;
    center: whether the mean was subtracted; mean (p,): what was, zeros if nothing; scale (p,): by
    what variables were then divided, 1 for those that do not vary, or None; names (n,): of the
    samples; observed (n, q): 1 where a cell was observed, or None where all were; variables (q,):
    names of the variables that vary.
    """

    rows: Array
    varies: Mask
    center: bool
    mean: Array
    scale: Array | None
    names: list[str]
    observed: Array | None
    variables: list[str]

    @property
    def loudest(self) -> tuple[str, float]:
        """The variable with the largest share of the variance, and that share."""
        energy = np.einsum("ij,ij->j", self.rows, self.rows)
        if not energy.any():
            return "", 0.0
        return self.variables[int(energy.argmax())], float(energy.max() / energy.sum())

    @property
    def cells(self) -> Cells | None:
        """The observed cells, where some are missing."""
        return None if self.observed is None else Cells(self.rows * self.observed, self.observed)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of samples, and of variables that vary."""
        return self.rows.shape[0], self.rows.shape[1]

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
        rows = self.rows
        if not rows.shape[1]:
            axes = PrincipalAxes(rows, np.zeros(0), np.zeros((0, 0)))
        elif self.cells is not None:
            found, filled = count_through_holes(self.cells, self.center, most, noise)
            return found, all_axes(centred(filled, self.center))
        else:
            axes = all_axes(rows)
        found = count_components(axes, most, noise, center=self.center)
        if noise == "auto":
            found = count_in_equal_noise(axes, found, most, center=self.center)
        return found, axes

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


def varying_table(X: Data, *, center: bool, scale: bool) -> VaryingTable:
    """Return X as a `VaryingTable`; raise an error if it is too small to tell a component in."""
    matrix = as_table_to_fit(X, min_samples=FEWEST_ROWS)
    check_squares(matrix)
    center, scale = as_flag(center, "center"), as_flag(scale, "scale")
    given = row_names(X)
    names = [str(name) for name in (range(len(matrix)) if given is None else given)]
    matrix, observed = _filled_with_means(matrix)
    rows = centred(matrix, center)
    varies = np.any(rows != 0.0, axis=0)
    rows = rows[:, varies]
    if 0 < rows.shape[1] < FEWEST_COLUMNS:
        vary = "varies" if rows.shape[1] == 1 else "vary"
        raise ParameterError(
            "X",
            f"Only {rows.shape[1]} of <n_features={len(varies)}> {vary}, but you need at "
            f"least {FEWEST_COLUMNS} to tell a component from noise.",
        )
    spread = None
    if scale:
        spread = np.ones(len(varies))
        spread[varies] = (rows - rows.mean(axis=0)).std(axis=0, ddof=1)
        if observed is not None:  # holes are at the mean and add nothing
            seen = observed[:, varies].sum(axis=0)
            spread[varies] *= np.sqrt((len(rows) - 1) / np.maximum(seen - 1.0, 1.0))
        spread[spread == 0.0] = 1.0  # equal values around an origin that is not their mean
        rows = rows / spread[varies]
    if observed is not None:
        observed = observed[:, varies]
    columns = getattr(X, "columns", [f"x{j}" for j in range(len(varies))])
    variables = [str(name) for name, kept in zip(columns, varies, strict=True) if kept]
    mean = centre_of(matrix, center)
    return VaryingTable(rows, varies, center, mean, spread, names, observed, variables)


def _filled_with_means(matrix: Array) -> tuple[Array, Array | None]:
    """Return the matrix with means in its holes, and 1 where a cell was observed; None if all."""
    holes = np.isnan(matrix)
    if not holes.any():
        return matrix, None
    # The mean of equal values is one of them, whatever the rounding.
    lowest, highest = np.nanmin(matrix, axis=0), np.nanmax(matrix, axis=0)
    means = np.clip(np.nanmean(matrix, axis=0), lowest, highest)
    return np.where(holes, means, matrix), 1.0 - holes
