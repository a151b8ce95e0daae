"""The variables of a table that vary, prepared for one PCA."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subspaces.core.components import FEWEST_COLUMNS, FEWEST_ROWS, all_axes, most_axes
from subspaces.core.leave_one_out import centred
from subspaces.data.validation import as_matrix, check_squares, row_names
from subspaces.runtime.parameters import as_count, as_flag
from subspaces.subspace import PrincipalAxes, centre_of

Array = NDArray[np.floating]


@dataclass(frozen=True)
class VaryingTable:
    """A table without the variables that do not vary, from its mean and scaled if asked.

    rows (n, q): the values; varies (p,): which of all variables these are; center: whether the mean
    was subtracted; mean (p,): what was, zeros if nothing; scale (p,): by what variables were then
    divided, 1 for those that do not vary, or None; names (n,): of the samples.
    """

    rows: Array
    varies: NDArray[np.bool_]
    center: bool
    mean: Array
    scale: Array | None
    names: list[str]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of samples, and of variables that vary."""
        return self.rows.shape[0], self.rows.shape[1]

    @property
    def most_axes(self) -> int:
        """The largest number of axes beside which enough is left to tell the noise from."""
        return most_axes(*self.shape, self.center)

    def axes(self) -> PrincipalAxes:
        """Return all principal axes of the rows."""
        if not self.rows.shape[1]:
            return PrincipalAxes(self.rows, np.zeros(0), np.zeros((0, 0)))
        return all_axes(self.rows)

    def checked_maximum(self, max_components: Any) -> int | None:
        """Return ``max_components``; raise an error if it is more than `most_axes`."""
        if max_components is None:
            return None
        why = f" for {self.shape[0]} samples x {self.shape[1]} variables that vary"
        return as_count(max_components, "max_components", low=0, high=self.most_axes, why=why)


def varying_table(X: Any, center: bool, scale: bool) -> VaryingTable:
    """Return X as a `VaryingTable`; raise an error if it is too small to tell a component in."""
    matrix = as_matrix(X, min_samples=FEWEST_ROWS)
    check_squares(matrix)
    center, scale = as_flag(center, "center"), as_flag(scale, "scale")
    rows = centred(matrix, center)
    varies = np.any(rows != 0.0, axis=0)
    rows = rows[:, varies]
    if 0 < rows.shape[1] < FEWEST_COLUMNS:
        vary = "varies" if rows.shape[1] == 1 else "vary"
        raise ValueError(
            f"only {rows.shape[1]} of n_features={len(varies)} {vary}; at least {FEWEST_COLUMNS} "
            "are needed to tell a component from noise"
        )
    spread = None
    if scale:
        spread = np.ones(len(varies))
        spread[varies] = (rows - rows.mean(axis=0)).std(axis=0, ddof=1)
        spread[spread == 0.0] = 1.0  # equal values around an origin that is not their mean
        rows = rows / spread[varies]
    given = row_names(X)
    names = [str(name) for name in (range(len(rows)) if given is None else given)]
    return VaryingTable(rows, varies, center, centre_of(matrix, center), spread, names)
