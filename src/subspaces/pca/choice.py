"""How many components a PCA has, and how many of them predict."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from subspaces._types import Array, Axes, Data, FoundNoise, Indices, Mask, NoiseKind, Seed
from subspaces.data.validation import row_names
from subspaces.messages import Verdict, shown
from subspaces.pca.components import Components, squares_times
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
# Try more axes as predictors until the error has not fallen for this many of them, up to this many
# in all.
PATIENCE, MOST_PREDICTORS = 3, 50
# What the answer says as `Components` does.
COUNTED = (
    "low", "high", "ratio", "ratio_without", "rests_on", "alone", "noise", "correlation", "hidden",
)  # fmt: skip


@dataclass(frozen=True, repr=False)
class PCAComponents(WithVerdict):
    """How many components a PCA has, how sure this number is, and why.

    Attributes
    ----------
    n_components : int
        How many components are stronger than noise. It can be 0.
    low, high : int or None
        Smallest and largest plausible number. Noise alone reaches the components up to ``low`` in
        one of 1,000 tables, and those up to ``high`` in one of two. None if the variables are
        correlated.
    n_predictive : int
        How many axes predict left-out values best. It can be smaller than ``n_components``, because
        a weak component can make the prediction worse.
    ratio : ndarray of shape (m,)
        Strength of each axis: its eigenvalue over the largest one that noise reaches. An axis above
        1 is a component, unless the noise is correlated. Axes below 1 can come first if a single
        variable has a large variance.
    ratio_without : ndarray of shape (m,)
        Strength of each axis without its most influential sample.
    rests_on : ndarray of shape (m,)
        Row number of the most influential sample of each axis. ``table`` has its name.
    alone : ndarray of shape (m,), of bool
        Whether the axis is stronger than noise only because of that sample.
    noise : {"none", "equal", "unequal", "unequal_samples", "heavy", "correlated", "unknown"}
        Kind of noise.

        - "none": there is no noise.
        - "equal", "unequal": the variables have equal or unequal noise.
        - "unequal_samples": the samples have unequal noise.
        - "heavy": the noise has heavy tails.
        - "correlated": the variables are correlated. The number is where the eigenvalues drop.
        - "unknown": the table is too small.
    correlation : float
        Correlation among the variables beyond the components, as a z value.
    hidden : float
        Share of the variance below which we cannot see a component.
    explained : ndarray of shape (m,)
        Share of the variance along each axis.
    loco : ndarray of shape (m + 1,) or more
        Mean squared error of left-out values with 0, 1, ..., m axes. It continues as long as the
        error falls.
    kinds : list of AxisKind
        What each axis is, such as "component", "perhaps" or "noise".
    conclusion : Verdict
        The verdict as a value. Its ``grade`` tells you how sure the number is: SURE, DOUBTFUL, or
        NO if no number can be found.
    sample_names : ndarray of shape (n,) or None
        Index of the data frame, if X was one.
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
        """One row per axis, as a pandas DataFrame, or a dict of columns if pandas is missing."""
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
            Where to draw the two panels. By default a new figure.

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

    An axis is a component if its eigenvalue is larger than that of noise alone in 99 of 100 tables.
    If samples or variables have unequal noise, each is divided by its own noise first. Heavy tails
    and correlated variables are recognised. If tails are heavy, 95 of 100 tables are enough, but
    the axis must pass without its most influential sample. Variables may be parts of a whole that
    sum to a constant. If samples depend on their neighbours, as in a time series, there is a
    warning.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Samples in rows. NaN is a missing value. With fewer than five samples or three variables,
        the answer is the first axis, with the grade NO.
    center : bool, default True
        Whether to subtract the mean of each variable first.
    scale : bool, default False
        Whether to divide each variable by its standard deviation first.
    method : {"auto", "equal", "unequal", "heavy", "correlated"}, default "auto"
        Kind of noise to assume.

        - "auto": find out.
        - "equal", "unequal": variables of equal or unequal noise.
        - "heavy": heavy tails. A component must remain without its most influential sample.
        - "correlated": correlated variables. The components end where the eigenvalues drop.
    max_components : int, optional
        Largest number to find. By default half of the number of samples or variables, whichever is
        smaller. If there are few variables, it can be more.
    random_state : int, RandomState or None
        Seed. It only matters for more than a million values: the leave-out error then uses random
        rows.

    Returns
    -------
    PCAComponents
        ``.n_components``, ``.low``, ``.high``, ``.n_predictive``, ``.verdict``, ``.table``,
        ``.plot()`` and more.

    Notes
    -----
    "One PCA you can trust", https://subspaces.readthedocs.io, shows one table of each kind. "The
    edge of noise" and "A left-out cell" have the formulas. Variables that do not vary are left out.
    Missing values count neither as noise nor as predicted. To decide whether there are more than r
    components, missing values are filled in from r axes. If noise is unequal, ``ratio`` is the
    strength after each sample or variable was divided by its own noise. Variables with large noise
    can still lead the axes of the table, so use ``scale=True`` then.

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
    '3 components are stronger than noise. Noise hides components below 0.77 % of the variance.'
    """
    method = as_choice(method, "method", get_args(NoiseKind))
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
    scaled = table.scale is not None
    conclusion = verdict_on_components(
        found, explained, table.shape, predictive, loudest, scaled=scaled
    )
    return PCAComponents(
        **{name: getattr(found, name) for name in COUNTED},
        n_components=found.count,
        n_predictive=predictive,
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
