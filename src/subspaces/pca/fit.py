"""`fit`: one PCA of a table, as a function that returns a frozen value.

==========  ==========  ========  =================================================================
symbol      name        shape     meaning
==========  ==========  ========  =================================================================
w_i, W      weights     (n,)      how often each sample counts, and their sum
V           basis       (p, R)    axes, orthonormal; 0 at variables that do not vary
lambda      spectrum    (R,)      weighted sum of the squared scores along each axis
T           rotation    (R, R)    how varimax turned the axes; None if they are as they were found
==========  ==========  ========  =================================================================
"""

from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from subspaces._types import Array, Auto, Indices, Mask, Rotation
from subspaces.core import incomplete
from subspaces.core.incomplete import VARIANCE_FLOOR, Gaussian, IncompleteMixture
from subspaces.messages import FILL_BY_PCA, Advice, ChoiceWarning, DataWarning, ParameterError
from subspaces.pca.choice import PCAComponents, choice_of
from subspaces.pca.components import Components
from subspaces.pca.intervals import StandardErrors, jackknife, t_intervals
from subspaces.pca.missing import fit_pca, warn_of_low_values
from subspaces.pca.outliers import Members, judge_samples
from subspaces.pca.press import PCAInfluence, incomplete_influence, influence_of
from subspaces.pca.rotation import rotated
from subspaces.pca.table import VaryingTable
from subspaces.pca.verdict import doubts_about_components
from subspaces.runtime.parameters import as_count
from subspaces.runtime.serialise import serialisable
from subspaces.runtime.threads import cached_property, one_blas_thread
from subspaces.runtime.warning import doubt, warn
from subspaces.subspace import PrincipalAxes, signs_of_largest

# A file keeps the axes of all samples, which intervals and outliers need, up to this many numbers
# (32 MB).
MOST_KEPT = 1 << 22


@serialisable
@dataclass(frozen=True)
class PCAFit:
    """One PCA of a table of n samples and p variables.

    total: sum of the weights; mean (p,) and scale (p,): subtracted from samples, and what they are
    then divided by, None for nothing; others: energy off the axes; missing_share: of the cells;
    axes: all axes of the samples, around the mean and scaled, None if they were not kept; weights,
    observed (n, p): None for ones; found: how many components were counted, None if nobody asked;
    single: whether the table was in single precision; seed: of the cells that are left out;
    sampled: the fit of a sample of many rows, in which components were counted.
    """

    n_samples: int
    total: float
    center: bool
    mean: Annotated[Array, "p"]
    scale: Annotated[Array, "p"] | None
    basis: Annotated[Array, "p", "R"]
    spectrum: Annotated[Array, "R"]
    others: float
    rotation: Annotated[Array, "R", "R"] | None = None
    missing_share: float = 0.0
    axes: PrincipalAxes | None = None
    weights: Annotated[Array, "n"] | None = None
    observed: Annotated[Array, "n", "q"] | None = None
    found: Components | None = None
    single: bool = False
    seed: int = 0
    variables: tuple[str, ...] = ()
    sample_names: Annotated[NDArray[Any], "n"] | None = None
    sampled: Any = None

    @property
    def n_components(self) -> int:
        """Number of axes, R."""
        return self.basis.shape[1]

    @property
    def freedom(self) -> float:
        """What energies are divided by to be variances: W, less one if the mean was fitted."""
        return max(self.total - self.center, np.finfo(float).tiny)

    @property
    def components(self) -> Array:
        """The axes (R, p), turned if a rotation was asked for."""
        return (self.basis if self.rotation is None else self.basis @ self.rotation).T

    @property
    def energies(self) -> Array:
        """Weighted sums of the squared scores on the `components`, (R,)."""
        return self.spectrum if self.rotation is None else self.spectrum @ self.rotation**2

    @property
    def noise(self) -> float:
        """Mean variance along the other axes; of no axis 0."""
        rest = min(self.total, len(self.mean)) - self.n_components
        return self.others / self.freedom / rest if rest > 0 else 0.0

    @property
    def positive_noise(self) -> float:
        """The same, but at least next to nothing, so that there is a density."""
        return max(self.noise, VARIANCE_FLOOR * float(self.spectrum.sum()) / self.freedom)

    @property
    def rests_on(self) -> Indices:
        """Row of the sample with the largest share of each component, (R,); (0,) if unknown."""
        if self.axes is None:
            return np.zeros(0, dtype=np.intp)
        shares = (self.axes.coordinates @ (self.components @ self.axes.basis).T) ** 2
        return (shares if self.weights is None else self.weights[:, None] * shares).argmax(axis=0)

    @property
    def table(self) -> VaryingTable:
        """The samples as they were decomposed; with missing cells as they were filled."""
        axes = self.all_axes
        varies = np.any(axes.basis != 0.0, axis=1)
        if not varies.all():
            axes = replace(axes, basis=axes.basis[varies])
        filled = None if self.observed is None else axes.coordinates @ axes.basis.T
        names = range(self.n_samples) if self.sample_names is None else self.sample_names
        return VaryingTable(
            axes, filled, varies, self.center, self.mean, self.scale,
            [str(name) for name in names], self.observed,
            np.array(self.variables)[varies].tolist(), self.weights,
        )  # fmt: skip

    @property
    def all_axes(self) -> PrincipalAxes:
        """All axes of the samples; an error if they were not kept."""
        if self.axes is None:
            fact = (
                "This function needs all axes, but a PCA fitted in blocks or to a large file only "
                "stores the first axes."
            )
            raise ParameterError("X", fact, Advice("fit it to a numpy array of up to 1 GB"))
        return self.axes

    @property
    def complete_axes(self) -> PrincipalAxes:
        """The same of a table without missing values; an error if it has some."""
        if self.observed is not None:
            fact = "<X> has missing values, which this function cannot handle."
            raise ParameterError("X", fact, FILL_BY_PCA)
        return self.all_axes

    @cached_property
    def choice(self) -> PCAComponents:
        """How many components there are, how sure that is, and how many predict."""
        if self.sampled is not None:
            return self.sampled.choice
        table, found = self.table, self.found
        axes = table.axes
        if found is None:
            found, axes = table.components(None, "auto")
        random = np.random.default_rng(self.seed)
        return choice_of(table, found, axes, random, self.sample_names)

    @cached_property
    def influence(self) -> PCAInfluence:
        """Which samples the axes rest on."""
        table = self.table
        if table.filled is None:
            return influence_of(
                self.all_axes, self.n_components, self.mean, self.sample_names,
                center=self.center, weights=self.weights,
            )  # fmt: skip
        held = np.where(table.observed == 0, np.nan, table.filled)
        return incomplete_influence(held, self.n_components, self.sample_names, center=self.center)

    def members(self, level: float, *, robust: bool) -> Members:
        """Return the samples as they are judged, by a PCA of all or of those that belong."""
        if self.weights is not None:
            fact = "A PCA with <sample_weight> cannot detect outliers."
            raise ParameterError("sample_weight", fact, Advice("fit it without weights"))
        holes = None
        if self.observed is not None:
            holes = np.zeros((self.n_samples, len(self.mean)), dtype=bool)
            holes[:, self.table.varies] = self.observed == 0
        return judge_samples(
            self.all_axes, self.n_components, level, holes, center=self.center, robust=robust
        )

    @cached_property
    def standard_errors(self) -> StandardErrors:
        """Standard errors of loadings, scores and variances, by the jackknife."""
        axes, count, turn = self.complete_axes, self.n_components, None
        if self.rotation is not None:
            some = min(count, axes.rank)
            turn = axes.basis[:, :some].T @ self.components[:some].T
        return jackknife(axes, count, affine=self.center, weights=self.weights, rotation=turn)

    def intervals(self, level: float) -> tuple[Array, Array, Array]:
        """Return low, high and p-value of each loading, (p, R) each."""
        errors = self.standard_errors
        return t_intervals(self.components.T, errors.loadings, errors.degrees, level)

    def prepared(self, X: Array) -> Array:
        """Return samples (n, p) around the mean, scaled; NaN stays."""
        rows = X - self.mean
        return rows if self.scale is None else rows / self.scale

    def completed(self, rows: Array) -> Array:
        """Return prepared samples (n, p) with what the components expect in place of NaN."""
        holes = np.isnan(rows)
        if not holes.any():
            return rows
        if self.n_components == 0:
            return np.where(holes, 0.0, rows)
        # If there are more variables than samples, few directions hold the noise of all cells.
        p, r = self.basis.shape
        per_cell = self.noise * (min(self.total, p) - r) / max(p - r, 1)
        floor = VARIANCE_FLOOR * float(self.spectrum.sum()) / self.freedom
        noise = max(per_cell, floor)
        return np.where(holes, incomplete.placed(rows, self._gaussian(noise), noise)[0], rows)

    def scores(self, X: Array) -> Array:
        """Return the scores (n, R) of samples (n, p) on the components; NaN is filled first."""
        return self.completed(self.prepared(X)) @ self.components.T

    def imputed(self, X: Array) -> Array:
        """Return samples (n, p) with what the components expect in place of NaN."""
        rows = self.completed(self.prepared(X))
        rows = (rows if self.scale is None else rows * self.scale) + self.mean
        return np.where(np.isnan(X), rows, X).astype(X.dtype, copy=False)

    def log_density(self, X: Array) -> Array:
        """Log-density (n,) of samples (n, p) by their observed cells, in the units of the table.

        The noise is that of `positive_noise`, which must be above 0.
        """
        rows = self.prepared(X)
        noise = self.positive_noise
        whole = IncompleteMixture((self._gaussian(noise),), np.ones(1), np.array([noise]))
        units = 0.0 if self.scale is None else ~np.isnan(rows) @ np.log(self.scale)
        return -incomplete.scored(rows, whole)[:, 0] - units

    def covariance(self) -> Array:
        """Return the covariance (p, p) of probabilistic PCA, in the units of the table."""
        more = np.maximum(self.spectrum / self.freedom - self.noise, 0.0)
        found = (self.basis * more) @ self.basis.T
        found[np.diag_indices_from(found)] += self.noise
        return found if self.scale is None else found * np.outer(self.scale, self.scale)

    def precision(self) -> Array:
        """Return the inverse (p, p) of the covariance, by the matrix inversion lemma."""
        noise, p = self.positive_noise, len(self.mean)
        variances = np.maximum(self.spectrum / self.freedom, noise)
        if self.n_components == p:
            found = (self.basis / variances) @ self.basis.T
        else:
            found = (self.basis * (1.0 / variances - 1.0 / noise)) @ self.basis.T
            found[np.diag_indices_from(found)] += 1.0 / noise
        return found if self.scale is None else found / np.outer(self.scale, self.scale)

    def _gaussian(self, noise: float) -> Gaussian:
        spread = np.sqrt(np.maximum(self.spectrum / self.freedom - noise, 0.0))
        return Gaussian(self.basis * spread, np.zeros(len(self.mean)))

    def in_memory(self) -> "PCAFit":
        """Return the same for a file: without all axes of the samples if they are large."""
        held = self.axes if self.sampled is None else self.sampled.axes
        if held is None or held.coordinates.size + held.basis.size <= MOST_KEPT:
            return self
        return replace(self, axes=None, observed=None, sampled=None)


def fit(
    table: VaryingTable,
    n_components: int | float | Auto | None,
    rotation: Rotation | None = None,
    **kept: Any,
) -> PCAFit:
    """Return the PCA of a table; warn of what is doubtful about a number that was left open.

    kept: names, precision and seed, which the fit holds for its methods.
    """
    n, p = len(table.axes.coordinates), len(table.varies)
    total = float(n if table.weights is None else table.weights.sum())
    found = None
    if isinstance(n_components, str):
        found, axes = table.components(None, "auto")
    else:
        axes = table.axes
    r = number_of_components(n_components, axes, n, p, found)
    whole = PrincipalAxes(axes.coordinates, axes.eigenvalues, _of_all(axes.basis, table.varies))
    others = max(float(axes.eigenvalues[r:].sum()), 0.0)
    result = PCAFit(
        n_samples=n,
        total=total,
        center=table.center,
        mean=table.mean,
        scale=table.scale,
        basis=with_further_axes(whole.basis, r),
        spectrum=np.append(axes.eigenvalues[:r], np.zeros(max(r - axes.rank, 0))),
        others=others if r < axes.rank else 0.0,
        axes=whole,
        weights=table.weights,
        found=found,
        **kept,
    )
    if table.cells is not None:
        result = _of_observed_cells(table, result)
    if found is not None:
        _warn_of_count(table, found, axes)
    return turned(result, rotation)


def number_of_components(
    n_components: int | float | Auto | None,
    axes: PrincipalAxes,
    n: int,
    p: int,
    found: Components | None,
) -> int:
    """Return how many axes to keep: as many as were found, asked for, or hold a share of variance.

    n, p: samples and variables; found: what was counted, with "auto".
    """
    if found is not None:
        return found.count
    if n_components is None:
        return min(n, p)
    if isinstance(n_components, Real) and not isinstance(n_components, Integral):
        held = np.cumsum(axes.eigenvalues) / max(float(axes.eigenvalues.sum()), 1e-300)
        return min(int(np.searchsorted(held, float(n_components), side="right")) + 1, min(n, p))
    why = " for {n:#sample} and {p:#variable}"
    return as_count(n_components, "n_components", low=0, high=min(n, p), why=why, n=n, p=p)


def checked_number(n_components: Any) -> int | float | Auto | None:
    """Return ``n_components``; raise an error unless it is "auto", a count, a share or None."""
    is_share = isinstance(n_components, Real) and not isinstance(n_components, Integral)
    if isinstance(n_components, str) and n_components == "auto":
        return "auto"
    if n_components is None:
        return None
    if isinstance(n_components, str) or (is_share and not 0.0 < float(n_components) < 1.0):
        instead = "use a whole number, a share of the variance between 0 and 1, or 'auto'"
        advice = Advice(instead, "n_components", "auto")
        fact = "<n_components={value!r}> is invalid."
        raise ParameterError("n_components", fact, advice, value=n_components)
    return float(n_components) if is_share else as_count(n_components, "n_components", low=0)


def turned(found: PCAFit, rotation: Rotation | None) -> PCAFit:
    """Return the fit with its axes turned as asked; axes without energy stay as they are."""
    if rotation is None or found.n_components == 0:
        return found
    turn, some = np.eye(found.n_components), np.count_nonzero(found.spectrum)
    turn[:some, :some] = rotated(found.basis[:, :some], found.spectrum[:some])
    return replace(found, rotation=turn)


def with_further_axes(basis: Array, count: int) -> Array:
    """Return the first ``count`` axes (p, count), with arbitrary ones beyond those that there are.

    Unit vectors of variables that do not pivot in the rows of the basis complete it to the space.
    """
    p, rank = basis.shape
    if count <= rank:
        kept = basis[:, :count]
        return kept * signs_of_largest(kept)
    pivots = linalg.qr(basis.T, mode="r", pivoting=True)[1] if rank else np.arange(p)
    free = np.sort(pivots[rank:])[: count - rank]
    units = np.zeros((p, len(free)))
    units[free, np.arange(len(free))] = 1.0
    complete = np.linalg.qr(np.hstack([basis, units]))[0]
    complete[:, :rank] = basis
    return complete * signs_of_largest(complete)


def _of_all(basis: Array, varies: Mask) -> Array:
    """Return the axes (q, l) of the variables that vary as axes of all p variables."""
    if varies.all():
        return basis
    found = np.zeros((len(varies), basis.shape[1]))
    found[varies] = basis
    return found


def _of_observed_cells(table: VaryingTable, found: PCAFit) -> PCAFit:
    """Return the PCA of the observed cells, with as many axes as ``found`` has."""
    cells, r = table.cells, found.n_components
    assert cells is not None
    with one_blas_thread():
        pca = fit_pca(cells, r, table.center)
    warn_of_low_values(cells, pca.image)
    moved = _of_all(pca.subspace.centre[:, None], table.varies)[:, 0]
    basis = _of_all(pca.subspace.basis, table.varies)
    return replace(
        found,
        mean=table.mean + (moved if table.scale is None else moved * table.scale),
        basis=basis * signs_of_largest(basis),
        spectrum=pca.subspace.spectrum,
        others=float(pca.noise) * (table.shape[1] - r) * found.freedom,
        missing_share=1.0 - float(cells.observed.mean()),
        observed=table.observed,
    )


def _warn_of_count(table: VaryingTable, found: Components, axes: PrincipalAxes) -> None:
    """Warn of what is doubtful about the number of components that was found."""
    more = table.has_more_than(None)
    for each in doubts_about_components(
        found, table.names, axes, more=more, maximum="n_components"
    ):
        warn(each)
    if found.noise == "unknown":
        n, q = table.shape
        few = "{n:#sample} and {q:#variable that varies|variables that vary} are too few to tell"
        fact = f"{few} a component from noise, so the PCA keeps one component."
        doubt(DataWarning, "too_small", fact, n=n, q=q)
    if found.count == 0:
        one = [Advice("use <n_components=1> to keep one anyway", "n_components", 1)]
        one = one if axes.rank else []
        none = "No component is stronger than noise, so the PCA keeps none."
        doubt(ChoiceWarning, "no_component", none, *one, rank=axes.rank)
