"""Which samples do not belong to a PCA: far within its axes (T2), or far from them (Q).

Each sample is judged by the PCA of the others. Let ``x_i = mu + V s_i + noise_i``, with the
eigenvalues omega of the noise's covariance and ``t_k = sum_l omega_l^k``.

- T2 is the sum over the axes of the squared left-out score over the mean of those of the other m
  samples. Each quotient has an F distribution of 1 and m degrees. Their sum is taken as ``b F(R,
  nu)`` with the same mean and variance: ``nu = ((m - 4)(R - 2) + 4(m - 1))/3``.
- Axes are regressions of the variables on the scores. So their errors have the covariance of the
  noise times the leverage ``s_i' (S'S)^-1 s_i = T2_i/m``, and Q is the squared distance from the
  axes over ``1 + T2_i/m``: a sum of ``omega_l chi2_1``, whatever the scores.
- With the same three moments, ``1 + a (Q/t_1 - 1)`` with ``a = t_1 t_3/t_2^2`` is a chi2 of
  ``t_2^3/t_3^2`` degrees over their number [Imhof 1961], and its cube root z nearly normal [Wilson
  & Hilferty 1931]. The power ``h_0 = 1 - 2a/3`` of [Jackson & Mudholkar 1979] uses the same a. It
  is bounded if h_0 < 0, so that nobody exceeds its limit.
- Sums of powers of sample eigenvalues are too large. With the traces w_k of powers of a Wishart
  matrix of f degrees, ``t_2 = (w_2 - w_1^2/f)/((f - 1)(f + 2))`` and ``t_3 = f (w_3 - 3 w_1 w_2/f +
  2 w_1^3/f^2)/((f - 1)(f - 2)(f + 2)(f + 4))`` are unbiased [Srivastava 2005].
- z is compared with the mean and the standard deviation of the other samples: Student's t.

The m samples are those that belong. They are found by starting from the nearest half, and taking in
those within the limits until nobody comes or goes. Limits are those of n samples and two distances:
``level/(2 n)`` each [Bonferroni]. A few samples that were chosen for being near are too near: in a
small table, whoever is within the limits once taken in belongs, too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from subspaces._types import Array, Axes, Data, Indices, Mask
from subspaces.core.leave_one_out import centred, left_out
from subspaces.core.secular import refit_factor
from subspaces.data.validation import as_table_to_fit, check_squares, row_names
from subspaces.messages import (
    FILL_BY_PCA,
    Advice,
    Grade,
    ParameterError,
    TrustWarning,
    Verdict,
    listed,
    use,
)
from subspaces.pca.components import all_axes
from subspaces.pca.missing import column_regressions, hotelling, row_errors
from subspaces.pca.press import incomplete_pca
from subspaces.pca.table import column_names
from subspaces.runtime.parameters import as_count, as_flag, as_real
from subspaces.runtime.result import WithVerdict, as_frame
from subspaces.runtime.threads import cached_property
from subspaces.runtime.warning import doubt
from subspaces.subspace import PrincipalAxes, centre_of, principal_axes

# A squared distance below this share of the mean squared length of a sample is 0.
LEAST_SQUARED_DISTANCE = 1e-20
# The same for a table with gaps, whose iterations end before distances are exact.
LEAST_WITH_GAPS = 1e-12
# How many samples of each kind a verdict names.
NAMED = 3
# A larger share of the samples are rather a group, or a component more, than outliers.
TOO_MANY = 0.1
# Lines through pairs of samples that show who is outlying: ROBPCA's number.
LINES = 250
# Above this many samples, all within the limits join at once. Below it, an eighth per step.
MANY = 400
# Up to this many samples each is also judged by the PCA of those that belong and itself.
FEW = 100
# A cap on the steps that take them in. Mostly there are two to six.
MOST_STEPS = 30
# The transformed Q is near 1. It spreads by at least this.
LEAST_SPREAD = 1e-6
SMALLEST = float(np.finfo(float).tiny)


@dataclass(frozen=True, repr=False)
class PCAOutliers(WithVerdict):
    """How far each sample is from the rest of a PCA, and which samples are outliers.

    Attributes
    ----------
    is_outlier : ndarray of bool of shape (n,)
        Whether the sample is an outlier: its T2 or Q is beyond the limit.
    t2, t2_limit : ndarray of shape (n,), float
        Distance along the axes, Hotelling's T2, and its limit. The axes are those of all other
        samples.
    q, q_limit : ndarray of shape (n,), float
        Squared distance from those axes, corrected for the errors of the axes, and its limit.
    t2_p_value, q_p_value : ndarray of shape (n,)
        Probability that a sample which is no outlier is as far.
    error : ndarray of shape (n,)
        Squared distance from the axes of all other samples, without the correction: the
        leave-one-out error.
    level : float
        Probability that a table without outliers has a sample beyond the limits.
    conclusion : Verdict
        The verdict as a value. Its ``grade`` is SURE if there are no outliers, DOUBTFUL if there
        are some, and NO if there are too many.
    sample_names : ndarray of shape (n,) or None
        Index of the data frame, if X was one.
    variable_names : tuple of str
        Names of the variables.
    """

    is_outlier: Mask
    t2: Array
    t2_limit: float
    q: Array
    q_limit: float
    t2_p_value: Array
    q_p_value: Array
    error: Array
    level: float
    conclusion: Verdict
    sample_names: NDArray[Any] | None
    variable_names: tuple[str, ...]
    members: "Members"

    @property
    def outliers(self) -> Indices:
        """Row numbers of the outliers, the clearest first."""
        order = np.argsort(np.minimum(self.t2_p_value, self.q_p_value), kind="stable")
        return order[self.is_outlier[order]]

    @property
    def table(self) -> Any:
        """One row per sample, as a pandas DataFrame with the index of X.

        A dict of columns if pandas is missing.
        """
        names = ("t2", "t2_p_value", "q", "q_p_value")
        columns = {name: getattr(self, name) for name in names}
        columns["outlier"] = self.is_outlier
        if self.sample_names is None:
            return as_frame(columns)
        return as_frame({"sample": self.sample_names, **columns}, index="sample")

    def _first_rows(self) -> Indices:
        return self.outliers

    def contributions(self, sample: int | str) -> Any:
        """Return how much each variable adds to the distances of a sample.

        Parameters
        ----------
        sample : int or str
            Row number of the sample, or its name in the index of X.

        Returns
        -------
        DataFrame with a row per variable, or a dict of columns if pandas is missing
            ``q`` is the signed residual of the variable, in standard deviations of the residuals of
            samples that are no outliers. ``t2`` is the share of the variable in T2. Shares sum to
            one, and some can be negative.
        """
        q, t2 = self.members.contributions(self.row_of(sample))
        return as_frame({"variable": self.variable_names, "q": q, "t2": t2}, index="variable")

    def reasons(self, i: int, count: int = 3) -> list[str]:
        """Return the variables that make sample i an outlier, strongest first.

        They have at least half of the strongest contribution to the clearer distance. Other samples
        have none.
        """
        if not self.is_outlier[i]:
            return []
        parts = np.abs(self.members.contributions(i)[int(self.t2_p_value[i] < self.q_p_value[i])])
        order = np.argsort(-parts, kind="stable")[:count]
        return [self.variable_names[j] for j in order if parts[j] >= 0.5 * parts[order[0]]]

    def row_of(self, sample: int | str) -> int:
        """Return the row number of a sample, from its name or its row number."""
        names = range(len(self.t2)) if self.sample_names is None else self.sample_names.tolist()
        if sample in names:
            return list(names).index(sample)
        return as_count(sample, "sample", low=0, high=len(self.t2) - 1)

    def plot(self, names: Sequence[str] | None = None, ax: Sequence[Axes] | None = None) -> Any:
        """Draw a control chart: both distances of each sample, with their limits.

        Parameters
        ----------
        names : sequence of str of length n, optional
            Names of the samples. By default the index of the data frame, or row numbers.
        ax : pair of matplotlib Axes, optional
            Where to draw. By default a new figure.

        Returns
        -------
        pair of matplotlib Axes
        """
        from subspaces import plots

        return plots.control_chart(self, names=names, ax=ax)


@dataclass(frozen=True)
class Reference:
    """What samples that belong look like: a PCA, and the laws of both distances from it.

    centre (p,), basis (p, R): of the PCA; energies (R,): mean squared left-out scores; count: how
    many samples belong; law_of_t2: b and nu; usual, bend: t_1 and a of Q; z_mean, z_std:
    of the transformed Q.
    """

    centre: Array
    basis: Array
    energies: Array
    count: int
    law_of_t2: tuple[float, float]
    usual: float
    bend: float
    z_mean: float = 0.0
    z_std: float = 1.0

    def bent(self, q: Array) -> Array:
        """Return z (m,), the transformed Q; if Q is 0 for all that belong, infinite above it."""
        if self.usual == 0.0:
            return np.where(q > 0.0, np.inf, 0.0)
        return np.cbrt(1.0 + self.bend * (q / self.usual - 1.0))

    def p_values(self, t2: Array, z: Array) -> Array:
        """Return how often samples that belong are as far, by T2 and by Q, (m, 2)."""
        r, found = len(self.basis.T), np.ones((len(t2), 2))
        if r:
            scale, freedom = self.law_of_t2
            found[:, 0] = stats.f.sf(t2 / scale, r, freedom)
        if self.usual == 0.0:
            found[z > 0.0, 1] = 0.0
        else:
            t = (z - self.z_mean) / (self.z_std * np.sqrt(1.0 + 1.0 / self.count))
            found[:, 1] = stats.t.sf(t, self.count - 1)
        return found

    def limits(self, chance: float) -> tuple[float, float]:
        """Return the T2 and the Q that a sample that belongs exceeds with this chance."""
        r, t2 = len(self.basis.T), 0.0
        if r:
            t2 = self.law_of_t2[0] * float(stats.f.isf(chance, r, self.law_of_t2[1]))
        t = float(stats.t.isf(chance, self.count - 1)) * np.sqrt(1.0 + 1.0 / self.count)
        z = self.z_mean + self.z_std * t
        return t2, float(self.usual * (1.0 + (z**3 - 1.0) / self.bend))

    def judge(self, rows: Array) -> "Judged":
        """Judge samples (m, p) that had no part in the PCA."""
        away = rows - self.centre
        scores = away @ self.basis
        t2 = quotients(scores**2, self.energies).sum(axis=1)
        errors = np.sum((away - scores @ self.basis.T) ** 2, axis=1)
        q = errors / (1.0 + t2 / self.count)
        p = self.p_values(t2, self.bent(q))
        return Judged(t2, q, errors, p, np.zeros(len(rows), dtype=bool), self)


@dataclass(frozen=True)
class Judged:
    """T2, Q and squared distances (n,), p-values (n, 2); inside (n,): who the reference is of."""

    t2: Array
    q: Array
    errors: Array
    p: Array
    inside: Mask
    reference: Reference


@dataclass(frozen=True)
class Members:
    """The samples that a PCA was fitted to, by their axes, and how they are judged.

    new (m, p): samples to judge that the PCA was not fitted to, from the same origin.
    """

    axes: PrincipalAxes
    center: bool
    judged: Judged
    new: Array | None = None

    @cached_property
    def place(self) -> tuple[Array, Array, Array]:
        """Mean (p,), axes (p, R) and spread of the residuals (p,) of the samples that belong."""
        return self._place(self.judged.inside)

    def _place(self, kept: Mask) -> tuple[Array, Array, Array]:
        members, v, reference = self.axes.coordinates[kept], self.axes.basis, self.judged.reference
        centre = centre_of(members, self.center)
        rest = members - centre
        basis = all_axes(rest).basis[:, : len(reference.energies)]
        fitted = np.mean(((rest - (rest @ basis) @ basis.T) @ v.T) ** 2, axis=0)
        # Residuals of samples that the axes were fitted to are too short.
        spread = np.sqrt(fitted * reference.usual / max(float(fitted.sum()), SMALLEST))
        return v @ centre, v @ basis, spread

    def contributions(self, i: int) -> tuple[Array, Array]:
        """Return what each variable (p,) adds to Q and to T2 of sample i.

        It is judged by the PCA of those that belong, without itself.
        """
        kept = self.judged.inside.copy()
        if self.new is None and kept[i]:
            kept[i] = False
            centre, basis, spread = self._place(kept)
        else:
            centre, basis, spread = self.place
        own = self.axes.basis @ self.axes.coordinates[i] if self.new is None else self.new[i]
        away = own - centre
        scores = away @ basis
        weights = quotients(scores, self.judged.reference.energies[: len(scores)])
        parts = away * (basis @ weights)
        return quotients(away - basis @ scores, spread), quotients(parts, parts.sum())


@dataclass(frozen=True)
class Measured:
    """Samples under a PCA of some of them: each of these is left out as it is measured.

    energies (n, R): squared scores, or (n, 1) their sum in units of the variances; errors (n,):
    squared distances from the axes; centre (p,), basis (p, R): of the PCA; tail: eigenvalues that
    the axes leave, of ``freedom`` degrees in ``directions``; variances (R,): of the scores, if
    their energies are not known one by one; seen (n,): root of the share of observed cells.
    """

    energies: Array
    errors: Array
    centre: Array
    basis: Array
    tail: Array
    freedom: int
    directions: int
    variances: Array | None = None
    seen: Array | float = 1.0


def pca_outliers(
    X: Data, n_components: int, *, center: bool = True, level: float = 0.05, robust: bool = False
) -> PCAOutliers:
    """Find the outliers of a PCA.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Samples in rows. NaN is a missing value.
    n_components : int
        Number of axes, R.
    center : bool, default True
        Whether the PCA has a mean.
    level : float, default 0.05
        Probability that a table without outliers has a sample beyond the limits.
    robust : bool, default False
        Whether to fit the axes without the outliers. Otherwise many similar outliers can hide each
        other, and there is a warning.

    Returns
    -------
    PCAOutliers
        ``.is_outlier``, ``.t2`` and ``.q`` with their limits, ``.contributions(sample)``,
        ``.verdict``, ``.grade``, ``.table`` and ``.plot()``.

    Notes
    -----
    Each sample is compared with the PCA of all others. The limits hold for normal scores and noise,
    and need at least 15 samples. If the scores fall into clusters, T2 means little.

    If values are missing, the PCA is fitted to the observed ones, and the axes are those of all
    samples. Q is the distance of the o observed values, times (p - r) / (o - r). T2 allows for
    scores that are less certain.

    Examples
    --------
    >>> import numpy as np
    >>> from subspaces.diagnostics import pca_outliers
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(80, 2)) @ random.normal(size=(2, 12))
    >>> X += 0.1 * random.normal(size=X.shape)
    >>> X[17, 5] += 2
    >>> found = pca_outliers(X, 2)
    >>> found.outliers
    array([17])
    >>> found.contributions(17)["q"].abs().idxmax()
    'x5'
    """
    matrix = as_table_to_fit(X, min_samples=5)
    check_squares(matrix)
    center, robust = as_flag(center, "center"), as_flag(robust, "robust")
    level = as_real(level, "level", above=True, high=1.0)
    gaps = np.isnan(matrix)
    holes = gaps if gaps.any() else None
    filled = matrix if holes is None else np.where(gaps, np.nanmean(matrix, axis=0), matrix)
    members = judge_samples(
        all_axes(centred(filled, center)), n_components, level, holes, center=center, robust=robust
    )
    return outliers_of(members, level, row_names(X), column_names(X, matrix.shape[1]))


def judge_samples(
    axes: PrincipalAxes,
    n_components: int,
    level: float,
    holes: Mask | None = None,
    *,
    center: bool,
    robust: bool,
) -> Members:
    """Judge the samples with these principal axes by a PCA of R of them.

    holes (n, p): missing cells, or None. robust: whether the PCA is that of the samples that
    belong, and not of all. If not, warn if that names others.
    """
    v, n = axes.basis, len(axes.coordinates)
    r = _checked_number(n_components, axes, center=center)
    # In a small table, half of the samples are too few for R axes and their spread.
    half = min(n // 2 + 1 + 2 * (r + 1), n)
    varying = int(np.count_nonzero(v.any(axis=1))) if axes.rank == n - center else axes.rank

    def measured(inside: Mask) -> Measured:
        return _measured(axes, inside, r, varying - r, center=center)

    def judge(inside: Mask) -> Judged:
        return _judged(measured(inside), inside)

    def found_robustly() -> Judged:
        start = _least_outlying(axes.coordinates, half)
        found = _settled(judge, start, level)
        return _rejoined(judge, found, level) if n <= FEW else found

    if robust:
        if holes is not None:
            fact = "<robust=True> does not work with missing values."
            raise ParameterError("robust", fact, FILL_BY_PCA, use("robust", False), value=robust)
        return Members(axes, center, _in_variables(found_robustly(), v))
    if holes is None:
        together = measured(np.ones(n, dtype=bool))
    else:
        table = np.where(holes, np.nan, axes.coordinates @ v.T)
        together = _measured_with_gaps(table, r, center=center)
    t2 = quotients(together.energies, np.median(together.energies, axis=0)).sum(axis=1)
    start = _nearest(t2, together.errors, half)
    found = _settled(lambda inside: _judged(together, inside), start, level)
    if holes is not None:
        return Members(axes, center, found)
    _warn_of_masking(found.inside, found_robustly().inside)
    return Members(axes, center, _in_variables(found, v))


def _checked_number(n_components: int, axes: PrincipalAxes, *, center: bool) -> int:
    n = len(axes.coordinates)
    why = f" for a table of rank {axes.rank} with {n} samples, of which one is left out"
    high = min(n - 2 - center, axes.rank)
    return as_count(n_components, "n_components", low=0, high=high, why=why)


def _in_variables(found: Judged, v: Array) -> Judged:
    """Return the same with the PCA in terms of the variables, whose axes are v (p, l)."""
    place = found.reference
    reference = replace(place, centre=v @ place.centre, basis=v @ place.basis)
    return replace(found, reference=reference)


def _warn_of_masking(inside: Mask, robustly: Mask) -> None:
    """Warn if the PCA of the samples that belong names samples that the PCA of all does not."""
    hidden = int(np.count_nonzero(inside & ~robustly))
    if hidden:
        doubt(
            TrustWarning,
            "masked_outliers",
            "{hidden:#sample looks like an outlier only if you fit the PCA without it|samples look "
            "like outliers only if you fit the PCA without them}.",
            use("robust", True, ""),
            hidden=hidden,
        )


def _settled(judge: Callable[[Mask], Judged], inside: Mask, level: float) -> Judged:
    """Judge by the samples inside, take in those within the limits, until nobody comes or goes.

    There are never fewer inside than at the start.
    """
    n, least = len(inside), int(inside.sum())
    for _ in range(MOST_STEPS):
        found = judge(inside)
        chances = found.p.min(axis=1)
        # The nearest come first: judged by more samples, others may turn out to be beyond.
        most = int(inside.sum()) + max(n // 8, n - MANY, 1)
        count = int(np.clip(np.count_nonzero(chances > level / (2 * n)), least, most))
        within = _smallest(-chances, count)
        if np.array_equal(within, inside):
            break
        inside = within
    return found


def _rejoined(judge: Callable[[Mask], Judged], found: Judged, level: float) -> Judged:
    """Take in the samples that belong by the PCA of those inside and themselves, nearest first.

    The PCA of few others fits these too well, and names the next sample too often.
    """
    n, order = len(found.t2), np.argsort(-found.p.min(axis=1), kind="stable")
    for i in order[~found.inside[order]].tolist():
        together = found.inside | (np.arange(n) == i)
        joined = judge(together)
        if joined.p[i].min() > level / (2 * n):
            found = joined
    return found


def _nearest(t2: Array, q: Array, count: int) -> Mask:
    """Which ``count`` samples are nearest by both distances, (n,)."""
    return _smallest(np.maximum(stats.rankdata(t2), stats.rankdata(q)), count)


def _smallest(values: Array, count: int) -> Mask:
    """Which ``count`` values are the smallest, (n,)."""
    inside = np.zeros(len(values), dtype=bool)
    inside[np.argsort(values, kind="stable")[:count]] = True
    return inside


def _least_outlying(rows: Array, count: int) -> Mask:
    """Which ``count`` samples (n, l) are least outlying along the lines through pairs of samples.

    A sample is as far out as its worst deviation from the median, in units of the median deviation
    [Stahel 1981, Donoho 1982]. A crowd is far out along each line from it to the others.
    """
    n = len(rows)
    random = np.random.default_rng(0)
    ends = np.array([random.choice(n, 2, replace=False) for _ in range(LINES)])
    lines = rows[ends[:, 0]] - rows[ends[:, 1]]
    # A line's places lie side by side in memory: medians of many samples take the time.
    places = quotients(lines, np.linalg.norm(lines, axis=1)[:, None]) @ rows.T
    away = np.abs(places - np.median(places, axis=1, keepdims=True))
    worst = quotients(away, np.median(away, axis=1, keepdims=True)).max(axis=0)
    return _smallest(worst, count)


def quotients(values: Array, by: Array | float) -> Array:
    """Return ``values/by``, with 0/0 = 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(values == 0.0, 0.0, values / by)


def _measured(
    axes: PrincipalAxes, inside: Mask, r: int, directions: int, *, center: bool
) -> Measured:
    """Measure the samples by the PCA of those inside, each of them by that of the others."""
    rows, n = axes.coordinates, len(axes.coordinates)
    if inside.all():
        axes = replace(axes, basis=np.eye(axes.rank, r))
    else:
        axes = all_axes(centred(rows[inside], center))
    fitted = rows[inside]
    centre, basis = centre_of(fitted, center), axes.basis[:, :r]
    energies, errors = np.zeros((n, r)), np.zeros(n)
    without = left_out(fitted, r, axes, affine=center)
    energies[inside], errors[inside] = without.energies, without.squared_error
    away = rows[~inside] - centre
    scores = away @ basis
    energies[~inside, : basis.shape[1]] = scores**2
    errors[~inside] = np.sum((away - scores @ basis.T) ** 2, axis=1)
    # Distances that are rounding carry no information.
    errors[errors <= LEAST_SQUARED_DISTANCE * axes.eigenvalues.sum() / len(fitted)] = 0.0
    tail, freedom = axes.eigenvalues[r:], len(fitted) - center - r
    return Measured(energies, errors, centre, basis, tail, freedom, directions)


def _measured_with_gaps(table: Array, r: int, *, center: bool) -> Measured:
    """Measure samples by the PCA of the observed cells, whose axes a left-out sample does not turn.

    With ``h = T2/(n - 1)``, or T2/n without a mean, and ``f = n/(n - 1)``, or 1, the scatter along
    the axes loses ``f d d'`` with sample d, and the mean moves away from it by f:
    ``T2_left_out/(n - 2) = f^2 h/(1 - f h)``.
    """
    pca = incomplete_pca(table, r, center=center)
    n, p = table.shape
    f = refit_factor(n, center)
    leverage = hotelling(pca) / n
    left = 1.0 - f * leverage
    energies = np.full((n, 1), np.inf)
    np.divide(f**2 * leverage, left, out=energies[:, 0], where=left > 0.0)
    place, freedom = pca.subspace, n - center - r
    tail = principal_axes(column_regressions(pca)[0]).eigenvalues
    seen = np.sqrt(np.mean(~np.isnan(table), axis=1))
    plane, errors = (place.centre, place.basis), row_errors(pca)[1]
    errors[errors <= LEAST_WITH_GAPS * place.spectrum.sum() / n] = 0.0
    return Measured(energies, errors, *plane, tail, freedom, p - r, place.spectrum / n, seen)


def _judged(measured: Measured, inside: Mask) -> Judged:
    """Judge all samples by those inside, each of these by the others."""
    energies, r, count = measured.energies, len(measured.basis.T), int(inside.sum())
    others, total = (count - inside)[:, None], energies[inside].sum(axis=0)
    left = np.maximum(total - np.where(inside[:, None], energies, 0.0), 0.0)
    t2 = quotients(energies, left / others).sum(axis=1)
    pooled = measured.variances is not None
    variances = total / count if measured.variances is None else measured.variances
    t2 = r * t2 if pooled else t2
    q = measured.errors / (1.0 + t2 / others[:, 0])
    usual, bend = _law_of_q(measured, q[inside])
    law = _law_of_t2(r, count, pooled=pooled)
    plane = measured.centre, measured.basis, variances
    reference = Reference(*plane, count, law, usual, bend)
    z = reference.bent(q)
    middle = float(np.median(z[inside]))
    z = middle + (z - middle) * measured.seen
    mean = float(z[inside].mean())
    std = max(float(z[inside].std(ddof=1)), LEAST_SPREAD)
    reference = replace(reference, z_mean=mean, z_std=std)
    p = reference.p_values(t2, z)
    own = replace(reference, law_of_t2=_law_of_t2(r, count - 1, pooled=pooled))
    p[inside, 0] = own.p_values(t2[inside], z[inside])[:, 0]
    if usual > 0.0:
        p[inside, 1] = _chance_among_others((z[inside] - mean) / std)
    return Judged(t2, q, measured.errors, p, inside, reference)


def _chance_among_others(deviates: Array) -> Array:
    """Return the p-values (m,) of standardised normal values, each judged by the others."""
    m = len(deviates)
    left = np.maximum(m - 1 - deviates**2 * m / (m - 1), 0.0) / (m - 2)
    return stats.t.sf(quotients(deviates * np.sqrt(m / (m - 1)), np.sqrt(left)), m - 2)


def _law_of_t2(r: int, m: int, *, pooled: bool = False) -> tuple[float, float]:
    """Return b and nu: the sum of R quotients F(1, m) is about b F(R, nu).

    pooled: it is R times the quotient of sums over all axes, F(R, R m).
    """
    if pooled or m <= 4:  # F(1, m) has no variance
        return float(r), float(r * m if pooled else m)
    nu = ((m - 4) * (r - 2) + 4 * (m - 1)) / 3
    return r * m / (m - 2) * (nu - 2) / nu, nu


def _law_of_q(measured: Measured, q: Array) -> tuple[float, float]:
    """Return t_1, from the median of Q (m,) of samples that belong, and a."""
    f, d = measured.freedom, measured.directions
    middle = float(np.median(q))
    if middle == 0.0 or d < 1:
        return 0.0, 1.0
    w1, w2, w3 = (float(np.sum((measured.tail / measured.tail.sum()) ** k)) for k in (1, 2, 3))
    t1, t2, t3 = 1.0, 1.0 / d, 1.0 / d**2
    if f > 2:
        t1 = w1 / f
        t2 = np.clip((w2 - w1**2 / f) / ((f - 1) * (f + 2)), t1**2 / d, t1**2)
        t3 = f * (w3 - 3 * w1 * w2 / f + 2 * w1**3 / f**2) / ((f - 1) * (f - 2) * (f + 2) * (f + 4))
        t3 = np.clip(t3, t2**2 / t1, t1 * t2)
    bend, h = t1 * t3 / t2**2, t2**3 / t3**2
    return middle / (1.0 + ((1.0 - 2.0 / (9.0 * h)) ** 3 - 1.0) / bend), float(bend)


def outliers_of(
    members: Members,
    level: float,
    sample_names: NDArray[Any] | None,
    variable_names: tuple[str, ...],
) -> PCAOutliers:
    """Return the judged samples, or the new ones, as the value that users see."""
    judged = members.judged
    if members.new is not None:
        judged = judged.reference.judge(members.new)
    chance = level / (2 * len(judged.t2))
    t2_limit, q_limit = judged.reference.limits(chance)
    is_outlier = judged.p.min(axis=1) <= chance
    t2_p, q_p = judged.p.T
    return PCAOutliers(
        is_outlier=is_outlier,
        t2=judged.t2,
        t2_limit=t2_limit,
        q=judged.q,
        q_limit=q_limit,
        t2_p_value=t2_p,
        q_p_value=q_p,
        error=judged.errors,
        level=level,
        conclusion=_verdict(is_outlier, t2_p, q_p, level, sample_names),
        sample_names=sample_names,
        variable_names=variable_names,
        members=members,
    )


def _verdict(
    is_outlier: Mask, t2_p: Array, q_p: Array, level: float, given: NDArray[Any] | None
) -> Verdict:
    """Return who does not belong, and whether those are too many to be outliers."""
    order = np.argsort(np.minimum(t2_p, q_p), kind="stable")
    outliers = order[is_outlier[order]]
    n, count = len(t2_p), len(outliers)
    names = [str(name) for name in (range(n) if given is None else given)]
    inside = t2_p[outliers] < q_p[outliers]
    figures: dict[str, Any] = {
        "samples": n,
        "count": count,
        "level": level,
        "off": [names[i] for i in outliers[~inside]],
        "far": [names[i] for i in outliers[inside]],
    }
    if not count:
        fact = "All {samples:,} samples fit this PCA. None is farther out than expected by chance."
        return Verdict("none", fact, figures, grade=Grade.SURE)
    named = {f"named_{kind}": _named(figures[kind]) for kind in ("off", "far") if figures[kind]}
    figures |= {**named, "clearest": [names[i] for i in outliers[:NAMED]]}
    if count > TOO_MANY * n:
        fact = "{count:,} of {samples:,} samples do not fit this PCA, among them {clearest}."
        advice = (Advice("try more components"), Advice("look for groups of samples"))
        return Verdict("too_many", fact, figures, advice, grade=Grade.NO)
    words = {
        "off": "{named_off} far from the components",
        "far": f"{{named_far}} far out along {'them' if figures['off'] else 'the components'}",
    }
    who = ", and ".join(each for kind, each in words.items() if figures[kind])
    do = "does" if count == 1 else "do"
    fact = f"{{count:,}} of {{samples:,}} samples {do} not fit this PCA: {who}."
    check = Advice(f"check {'this sample' if count == 1 else 'these samples'} for errors")
    return Verdict("some", fact, figures, (check,), grade=Grade.DOUBTFUL)


def _named(samples: list[str]) -> str:
    """Return the subject and the verb of a sentence on samples, of which the first are named."""
    kind, are = ("sample ", "is") if len(samples) == 1 else ("samples ", "are")
    kind = "" if samples[0].lower().startswith("sample") else kind
    return f"{kind}{listed(samples, NAMED)} {are}"
