"""The findings on one PCA that its page and the command ``pca`` show, gathered as frozen values."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from subspaces._types import Array, Auto, Data, Indices, Seed
from subspaces.app.report._findings import one_each
from subspaces.app.report._names import as_text
from subspaces.core import influence
from subspaces.core.incomplete import observed_cells
from subspaces.core.leave_one_out import centred
from subspaces.data.validation import as_table_to_fit, row_names
from subspaces.diagnostics import PCAComponents, PCAOutliers, pca_components, pca_outliers
from subspaces.messages import Message, message_of
from subspaces.named_table import MissingValues, missing_values
from subspaces.pca.components import all_axes
from subspaces.pca.intervals import StandardErrors, jackknife, t_intervals
from subspaces.pca.missing import fit_pca, squared_influence
from subspaces.runtime.parameters import as_count, as_flag
from subspaces.runtime.warning import collect_warnings
from subspaces.subspace import PrincipalAxes

# How often an interval holds the true loading.
LEVEL = 0.95
# Fewer samples leave nothing to tell a component from noise by.
FEWEST_SAMPLES = 5


@dataclass(frozen=True)
class PCAFindings:
    """One PCA: how many components there are, its samples, its variables, what is doubtful.

    components, outliers: as `diagnostics` finds them; asked: whether the number of components shown
    was given, not found. Of the r components shown: scores (n, r), loadings (p, r), explained (r,),
    their shares of the variance. leverage, influence (n,): of the samples on these components.
    warned: what is doubtful; taken_for, preparation: what kind of values these
    were taken for, and what was done to them before, "" if nothing; missing: how much of the table
    is missing, None if nothing is. errors: how sure the loadings are, None if values are missing.
    """

    components: PCAComponents
    outliers: PCAOutliers
    asked: bool
    scores: Array
    loadings: Array
    explained: Array
    leverage: Array
    influence: Array
    sample_names: list[str]
    variable_names: list[str]
    classes: list[str] | None
    warned: tuple[Message, ...]
    taken_for: str = ""
    preparation: str = ""
    missing: MissingValues | None = None
    errors: StandardErrors | None = None

    @property
    def intervals(self) -> tuple[Array, Array, Array] | None:
        """Low and high ends of 95 % intervals of the loadings, and p-values, (p, r) each."""
        known = self.errors
        if known is None:
            return None
        return t_intervals(self.loadings, known.loadings, known.degrees, LEVEL)

    @property
    def mixed(self) -> list[int]:
        """The components, from 0, that may have turned into a neighbour of like variance."""
        return [] if self.errors is None else np.flatnonzero(self.errors.mixed).tolist()

    @property
    def n_shown(self) -> int:
        """How many components are shown: as many as were found, or asked for."""
        return self.scores.shape[1]

    @property
    def n_axes(self) -> int:
        """How many axes were set beside the noise; of others only the variance is known."""
        return len(self.components.ratio)

    @property
    def alone(self) -> list[int]:
        """The components, from 0, that noise would reach without the sample that they rest on."""
        found = self.components
        return np.flatnonzero(found.alone[: found.n_components]).tolist()

    @property
    def most_influential(self) -> Indices:
        """Rows of the samples, the most influential first."""
        return np.argsort(-self.influence, kind="stable")

    @property
    def highest_leverage(self) -> Indices:
        """Rows of the samples, those of the highest leverage first."""
        return np.argsort(-self.leverage, kind="stable")

    def share(self, r: int) -> float:
        """Return the share of the variance that axis r, from 0, has: one number for all to show."""
        return float((self.components if r < self.n_axes else self).explained[r])

    def strongest(self, r: int) -> Indices:
        """Return the columns of the variables, the strongest on component r, from 0, first."""
        return np.argsort(-np.abs(self.loadings[:, r]), kind="stable")

    def is_off(self, i: int) -> bool:
        """Whether sample i is rather off the components than far out within them."""
        return bool(self.outliers.q_p_value[i] <= self.outliers.t2_p_value[i])


def gather_pca(
    X: Data,
    n_components: int | Auto = "auto",
    *,
    center: bool = True,
    scale: bool = False,
    level: float = 0.05,
    max_components: int | None = None,
    random_state: Seed = None,
    classes: Iterable[object] | None = None,
) -> PCAFindings:
    """Return the findings on a PCA of X; the parameters are those of `report.render_pca`."""
    matrix = as_table_to_fit(X, min_samples=FEWEST_SAMPLES)
    center = as_flag(center, "center")
    if as_flag(scale, "scale"):
        spread = np.nanstd(matrix, axis=0, ddof=1)
        matrix = matrix / np.where(spread > 0.0, spread, 1.0)
    named = _with_names_of(X, matrix)
    with collect_warnings() as caught:
        components = pca_components(
            named, center=center, max_components=max_components, random_state=random_state
        )
    missing = missing_values(matrix)
    whole = matrix if missing is None else np.where(np.isnan(matrix), np.nanmean(matrix, 0), matrix)
    axes = all_axes(centred(whole, center))
    asked = not (isinstance(n_components, str) and n_components == "auto")
    r = _checked(n_components, axes, center=center) if asked else components.n_components
    with collect_warnings():
        outliers = pca_outliers(named, r, center=center, level=level)
    if missing is None:
        scores, squared_residual, spectrum = axes.split(r)
        pulls = influence.squared_influence(scores, squared_residual, spectrum)
    else:
        pca = fit_pca(observed_cells(matrix), r, center)
        axes = all_axes(centred(pca.completed, center))
        scores, _, spectrum = axes.split(r)
        pulls = squared_influence(pca)
    signs = _signs(axes, r)
    rows = row_names(X)
    return PCAFindings(
        components=components,
        outliers=outliers,
        asked=asked,
        scores=scores * signs,
        loadings=axes.basis[:, :r] * signs,
        explained=spectrum / axes.eigenvalues.sum(),
        leverage=influence.leverage(scores, spectrum).sum(axis=1),
        influence=pulls,
        # The verdicts call samples without names by their numbers, too.
        sample_names=[as_text(name) for name in (range(len(matrix)) if rows is None else rows)],
        variable_names=_variable_names(X, matrix.shape[1]),
        classes=None if classes is None else one_each(classes, len(matrix), "classes"),
        warned=tuple(map(message_of, caught)),
        preparation="each variable divided by its standard deviation" if scale else "",
        missing=missing,
        errors=None if missing is not None else jackknife(axes, r, affine=center),
    )


def _checked(n_components: int | Auto, axes: PrincipalAxes, *, center: bool) -> int:
    """Return the number of components; raise an error for more than the samples span.

    One of the samples is left out when the others are to predict it.
    """
    n, span = len(axes.coordinates), f"{axes.rank} direction{'s' * (axes.rank != 1)}"
    why = f" for {n} samples that span {span}, with one sample left out"
    most = min(n - 2 - center, axes.rank)
    return as_count(n_components, "n_components", low=0, high=most, why=why)


def _with_names_of(X: Any, matrix: Array) -> Any:
    """Return the matrix as a pandas frame with the index of X; as it is if X has no row names."""
    return matrix if row_names(X) is None else type(X)(matrix, X.index, X.columns)


def _variable_names(X: Data, count: int) -> list[str]:
    columns = list(getattr(X, "columns", ()))
    return [as_text(name) for name in columns] or [f"x{j}" for j in range(count)]


def _signs(axes: PrincipalAxes, r: int) -> Array:
    """Return the signs (r,) that make the strongest loading of each axis positive."""
    basis = axes.basis[:, :r]
    return np.sign(basis[np.abs(basis).argmax(axis=0), np.arange(r)])
