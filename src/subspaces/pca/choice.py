"""How many components a PCA has, and how many of them predict."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subspaces._types import Array, Axes, Data, FoundNoise, Indices, Mask, NoiseKind, Seed
from subspaces.data.validation import row_names
from subspaces.messages import Verdict, shown
from subspaces.pca.components import KINDS_OF_NOISE, Components, squares_times
from subspaces.pca.leave_one_cell_out import cell_errors
from subspaces.pca.missing import warn_of_low_values
from subspaces.pca.table import VaryingTable, varying_table
from subspaces.pca.verdict import (
    AxisKind,
    doubts_about_components,
    kinds_of_axes,
    verdict_on_components,
)
from subspaces.runtime.parameters import as_choice, as_generator
from subspaces.runtime.result import WithVerdict, as_frame
from subspaces.runtime.warning import collect_warnings, warn
from subspaces.subspace import PrincipalAxes

# Cells whose left-out errors are computed: of larger tables those of random rows.
MOST_CELLS = 1 << 20
# Beyond the axes that were tried, further ones are tried as predictors until the error has not
# fallen for so many of them, but no more axes than this in all.
PATIENCE, MOST_PREDICTORS = 3, 50


@dataclass(frozen=True, repr=False)
class PCAComponents(WithVerdict):
    """How many components a PCA has, how sure this number is, and why.

    Attributes
    ----------
    n_components : int
        How many components stand out of the noise; 0 is possible.
    low, high : int or None
        How many stand out beyond all doubt (noise reaches as far once in 1000 tables), and how many
        might (one time in two). None where the variables are correlated.
    n_predictive : int
        How many axes predict a left-out cell best. Of components near the edge some are there and
        yet make the prediction worse.
    ratio : ndarray of shape (m,)
        Strength of each axis: its eigenvalue over the edge of the noise; above 1 it is a component,
        unless the noise is correlated. Before it may lie the axis of a loud variable, below 1.
    ratio_without : ndarray of shape (m,)
        The same without the sample that the axis rests on most.
    rests_on : ndarray of shape (m,)
        Row of that sample; ``table`` has its name.
    alone : ndarray of shape (m,), of bool
        Whether the axis stands out by that sample alone.
    noise : {"none", "equal", "unequal", "unequal_samples", "heavy", "correlated", "unknown"}
        Kind of the noise: none, variables of equal or unequal variance, samples of unequal
        variance, heavy tails, correlated variables, where the count is that of the break in the
        spectrum, or unknown in a table that is too small.
    correlation : float
        z value of the correlation among the columns beyond the components.
    hidden : float
        Share of the variance below which a component would not be seen.
    explained : ndarray of shape (m,)
        Share of the variance along each axis.
    loco : ndarray of shape (m + 1,) or more
        Mean squared leave-one-cell-out error with 0, 1, ..., m axes, and beyond while it falls.
    kinds : list of AxisKind
        What each axis is, such as "component", "perhaps" or "noise". An axis within the count that
        is weaker than noise, or has next to no variance, is not called a component.
    conclusion : Verdict
        How many components there are and the gravest doubt, as a value. Its ``grade`` says how sure
        the number is: SURE, DOUBTFUL, or NO if there is no number to find.
    sample_names : ndarray of shape (n,) or None
        The index of the data frame, if X had one.
    """

    n_components: int
    low: int | None
    high: int | None
    n_predictive: int
    ratio: Array
    ratio_without: Array
    rests_on: Indices
    alone: Mask
    noise: FoundNoise
    correlation: float
    hidden: float
    explained: Array
    loco: Array
    kinds: list[AxisKind]
    conclusion: Verdict
    sample_names: NDArray[Any] | None = None

    @property
    def table(self) -> Any:
        """One row per axis, as a pandas DataFrame; as a dict of columns where pandas is missing."""
        names = self.sample_names
        rests_on = self.rests_on if names is None else names[self.rests_on]
        columns = {
            "component": np.arange(1, len(self.ratio) + 1),
            "kind": self.kinds,
            "explained": self.explained,
            "ratio": self.ratio,
            "ratio_without": self.ratio_without,
            "rests_on": rests_on,
            "alone": self.alone,
            "loco": self.loco[1 : len(self.ratio) + 1],
        }
        return as_frame(columns)

    def plot(self, ax: Sequence[Axes] | None = None) -> Any:
        """Draw the strength of each component, and the error of values that were left out.

        Parameters
        ----------
        ax : pair of matplotlib Axes, optional
            Where to draw the two panels; by default a new figure.

        Returns
        -------
        pair of matplotlib Axes
        """
        from subspaces import plots

        return plots.components(self, ax=ax)


def pca_components(
    X: Data,
    *,
    center: bool = True,
    scale: bool = False,
    method: NoiseKind = "auto",
    max_components: int | None = None,
    random_state: Seed = None,
) -> PCAComponents:
    """Find how many components a PCA has, and how many help to predict missing values.

    An axis is a component if its eigenvalue is above what noise alone stays below in 99 of 100
    tables, given the noise that the axes before it leave. If samples or variables have unequal
    noise, each is divided by its own before the components are counted. Variables may be parts of a
    whole that sum to a constant. Heavy tails and correlated columns are recognised. If tails are
    heavy, the level is 95 of 100 tables, and the eigenvalue has to reach it without its most
    influential sample. Samples that depend on their neighbours, as in a time series, are warned of.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Samples in rows. NaN is a cell that was not observed. In fewer than five samples or three
        variables nothing can be told from noise: the first axis is the answer, graded NO.
    center : bool, default True
        Whether the PCA has a mean.
    scale : bool, default False
        Whether each variable is divided by its standard deviation first.
    method : {"auto", "equal", "unequal", "heavy", "correlated"}, default "auto"
        What the noise is taken for: columns of equal or unequal variance; heavy tails, where a
        component has to stay without its most influential sample; correlated columns, where the
        spectrum has to break. "auto" finds out.
    max_components : int, optional
        Most components to count; by default half of the smaller side of the table, and all that
        can be told from noise if there are few variables. Twelve axes are looked at first, and
        twice as many while all of them are components.
    random_state : int, RandomState or None
        Seed. Of tables of more than a million cells the leave-one-cell-out error is that of random
        rows; otherwise nothing is random.

    Returns
    -------
    PCAComponents
        ``.n_components``, ``.low``, ``.high``, ``.n_predictive``, ``.verdict``, ``.table``,
        ``.plot()``, and what they rest on.

    Notes
    -----
    At https://subspaces.readthedocs.io "One PCA you can trust" shows one table of each kind, "The
    edge of noise" and "A left-out cell" have the formulas. Variables that do not vary are left out.
    With missing cells, whether there are more than r components is asked of the table whose holes r
    axes have filled; a cell that was not observed counts neither as noise nor as predicted. If
    samples or variables differ in their noise, the strengths are those after each was divided by
    its own. Loud variables may still lead the axes of the table: use ``scale=True`` then.

    References
    ----------
    N. El Karoui, "Tracy-Widom limit for the largest eigenvalue of a large class of complex sample
    covariance matrices", Annals of Probability 35 (2007) 663-714.

    B. Nadler, "On the distribution of the ratio of the largest eigenvalue to the trace of a Wishart
    matrix", Journal of Multivariate Analysis 102 (2011) 363-371.

    A. Onatski, "Determining the number of factors from empirical distribution of eigenvalues",
    Review of Economics and Statistics 92 (2010) 1004-1016.

    B. Landa and Y. Kluger, "The Dyson equalizer: adaptive noise stabilization for low-rank signal
    detection and recovery", Information and Inference 14 (2025).

    J. Josse and F. Husson, "Selecting the number of components in principal component analysis
    using cross-validation approximations", Computational Statistics & Data Analysis 56 (2012)
    1869-1879.

    Examples
    --------
    >>> import numpy as np
    >>> from subspaces.diagnostics import pca_components
    >>> random = np.random.default_rng(0)
    >>> signal = random.normal(size=(100, 3)) @ random.normal(size=(3, 30))
    >>> found = pca_components(signal + random.normal(size=(100, 30)))
    >>> found.n_components, found.low, found.high
    (3, 3, 3)
    >>> found.verdict
    '3 components are stronger than noise. We cannot see components below 0.77 % of the variance.'
    """
    method = as_choice(method, "method", KINDS_OF_NOISE)
    random = as_generator(random_state)
    with collect_warnings() as doubts:
        table = varying_table(X, center=center, scale=scale, counting=True)
        most = table.checked_maximum(max_components)
        found, axes = table.components(most, method)
        if table.cells is not None:
            r = max(found.count, 1)
            warn_of_low_values(table.cells, axes.coordinates[:, :r] @ axes.basis[:, :r].T)
    choice = choice_of(table, found, axes, random, row_names(X))
    more = table.has_more_than(most)
    doubts += doubts_about_components(found, table.names, axes, choice.n_predictive, more=more)
    for each in shown(doubts):
        warn(each)
    return choice


def choice_of(
    table: VaryingTable,
    found: Components,
    axes: PrincipalAxes,
    random: np.random.Generator,
    sample_names: NDArray[Any] | None,
) -> PCAComponents:
    """Return what was counted in a table with these axes, and how many of them predict."""
    counted = table.weighted(axes)
    loco = _left_out_cells(counted, len(found.ratio), random, table.observed, center=table.center)
    predictive = int(np.argmin(loco))
    explained = axes.eigenvalues / max(axes.eigenvalues.sum(), 1e-300)
    explained = explained[: len(found.ratio) or found.count]
    energies = squares_times(axes.basis, axes.eigenvalues)
    loudest = "", 0.0
    if energies.any():
        share = float(energies.max() / energies.sum())
        loudest = table.variables[int(energies.argmax())], share
    conclusion = verdict_on_components(found, explained, table.shape, predictive, loudest)
    return PCAComponents(
        n_components=found.count,
        low=found.low,
        high=found.high,
        n_predictive=predictive,
        ratio=found.ratio,
        ratio_without=found.ratio_without,
        rests_on=found.rests_on,
        alone=found.alone,
        noise=found.noise,
        correlation=found.correlation,
        hidden=found.hidden,
        explained=explained,
        loco=loco,
        kinds=kinds_of_axes(found, explained),
        conclusion=conclusion,
        sample_names=sample_names,
    )


def _left_out_cells(
    axes: PrincipalAxes,
    most: int,
    random: np.random.Generator,
    observed: Array | None = None,
    *,
    center: bool,
) -> Array:
    """Return the mean squared leave-one-cell-out error with 0, 1, ... axes, ``most`` at least.

    observed (n, p): 1 at the cells that count, by default all.
    """
    n, p = len(axes.coordinates), len(axes.basis)
    if axes.rank == 0:
        return np.zeros(1)
    n_rows = max(MOST_CELLS // p, 1)
    rows = np.sort(random.choice(n, n_rows, replace=False)) if n > n_rows else None
    limit = max(min(MOST_PREDICTORS, min(n - center, p) // 2, axes.rank), most)
    weights = observed if observed is None or rows is None else observed[rows]
    curve: list[float] = []
    for errors in cell_errors(axes, limit, rows, center=center):
        curve.append(float(np.average(errors**2, weights=weights)))
        if len(curve) > most and int(np.argmin(curve)) < len(curve) - PATIENCE:
            break
    return np.array(curve)
