"""Which samples do not belong to a PCA: far within its axes, or far from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from subspaces._types import Array, Axes, Data, Indices
from subspaces.core.leave_one_out import centred, exact_errors
from subspaces.core.secular import downdate, refit_factor
from subspaces.data.validation import as_table_to_fit, check_squares, row_names
from subspaces.messages import Advice, Grade, ParameterError, Verdict, listed
from subspaces.pca.components import all_axes
from subspaces.pca.missing import hotelling, row_errors
from subspaces.pca.press import incomplete_pca
from subspaces.runtime.parameters import as_count, as_flag, as_real
from subspaces.runtime.result import WithVerdict, as_frame

# The standard deviation of a normal distribution over its median absolute deviation.
NORMAL_MAD = 1.4826
# A squared distance below this share of the mean squared length of a sample is 0.
LEAST_SQUARED_DISTANCE = 1e-20
# How many samples of each kind a verdict names.
NAMED = 3
# A larger share of the samples are rather a group, or a component more, than outliers.
TOO_MANY = 0.1


@dataclass(frozen=True, repr=False)
class PCAOutliers(WithVerdict):
    """How far each sample is within the axes of a PCA and from them, and who is too far.

    Attributes
    ----------
    t2, t2_limit : ndarray of shape (n,), float
        Hotelling's T2, the squared scores over their variances, and its limit.
    q, q_limit : ndarray of shape (n,), float
        Squared distance from the axes, and its limit.
    t2_left_out, t2_left_out_limit, q_left_out, q_left_out_limit
        The same under the PCA of all other samples, which the sample has not bent towards itself.
    t2_p_value, q_p_value : ndarray of shape (n,)
        How often a sample that belongs is as far, by the two left-out measures.
    outliers : ndarray of int
        Rows of the samples that do not belong, the clearest first: of them a share of ``level`` is
        expected to be a false alarm.
    level : float
        Level of the limits, and false discovery rate of the outliers.
    conclusion : Verdict
        Who does not belong, as a value. Its ``grade`` is SURE if all samples belong, DOUBTFUL if
        some do not, and NO if those are too many to be outliers.
    sample_names : ndarray of shape (n,) or None
        The index of the data frame, if X had one.
    """

    t2: Array
    t2_limit: float
    q: Array
    q_limit: float
    t2_left_out: Array
    t2_left_out_limit: float
    q_left_out: Array
    q_left_out_limit: float
    t2_p_value: Array
    q_p_value: Array
    outliers: Indices
    level: float
    conclusion: Verdict
    sample_names: NDArray[Any] | None = None

    @property
    def table(self) -> Any:
        """One row per sample, as a pandas DataFrame with the index of X.

        A dict of columns where pandas is missing.
        """
        names = ("t2", "t2_left_out", "t2_p_value", "q", "q_left_out", "q_p_value")
        columns = {name: getattr(self, name) for name in names}
        columns["outlier"] = np.isin(np.arange(len(self.t2)), self.outliers)
        if self.sample_names is None:
            return as_frame(columns)
        return as_frame({"sample": self.sample_names, **columns}, index="sample")

    def _first_rows(self) -> Indices:
        return self.outliers

    def plot(self, names: Sequence[str] | None = None, ax: Axes | None = None) -> Any:
        """Draw the two left-out distances against each other, with limits; outliers are named.

        Parameters
        ----------
        names : sequence of str of length n, optional
            Names of the samples; by default the index of the data frame, or row numbers.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib Axes
        """
        from subspaces import plots

        return plots.outliers(self, names=names, ax=ax)


def pca_outliers(
    X: Data, n_components: int, *, center: bool = True, level: float = 0.05
) -> PCAOutliers:
    """Find the samples that do not belong to a PCA.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Samples in rows. NaN is a cell that was not observed.
    n_components : int
        Number of axes, R.
    center : bool, default True
        Whether the PCA has a mean.
    level : float, default 0.05
        Level of the limits: the share of the samples that exceed each of them by chance. The
        ``outliers`` are found at that false discovery rate.

    Returns
    -------
    PCAOutliers
        ``.t2`` and ``.q`` with their limits, both left out as well, ``.outliers``, ``.verdict``,
        ``.grade``, ``.table`` and ``.plot()``.

    Notes
    -----
    The limit of T2 is that of [Tracy, Young & Mason 1992] for samples that the PCA was fitted to,
    and F for samples left out, scaled so that the medians agree: beside many noisy variables
    left-out scores are shorter than fitted ones. The cube root of Q is nearly normal [Wilson &
    Hilferty 1931]; its centre and spread are the median and the median absolute deviation, which
    outliers do not move. The p-values of both left-out measures are tested together [Benjamini &
    Hochberg 1995]. Scores that fall into clusters are not normal: T2 then says little.

    With missing cells the PCA is fitted to the observed ones. T2 allows for scores that fewer cells
    place, Q is that of the o observed cells times (p - r) / (o - r), and where a sample is left out
    the axes stay those of all samples ("hat").

    Examples
    --------
    >>> import numpy as np
    >>> from subspaces.diagnostics import pca_outliers
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(80, 2)) @ random.normal(size=(2, 12))
    >>> X += 0.1 * random.normal(size=X.shape)
    >>> X[17] += random.normal(size=12)
    >>> pca_outliers(X, 2).outliers
    array([17])
    """
    matrix = as_table_to_fit(X, min_samples=5)
    check_squares(matrix)
    center = as_flag(center, "center")
    level = as_real(level, "level")
    if not 0.0 < level < 1.0:
        raise ParameterError(
            "level", "<level={value:g}> is out of range. Set a share such as 0.05.", value=level
        )
    has_holes = bool(np.isnan(matrix).any())
    measured = _by_observed_cells if has_holes else _by_all_cells
    found = measured(matrix, n_components, center=center)
    n, r = len(matrix), found.n_axes

    # Distances that are rounding tell nothing.
    rounding = LEAST_SQUARED_DISTANCE * found.usual_energy
    t2_p, t2_left_out_limit = _judged_inside(found.t2_left_out, r, n - center - 1, level)
    # Of fewer cells Q spreads more, as a chi-square of fewer degrees of freedom does.
    seen = np.sqrt(np.mean(~np.isnan(matrix), axis=1))
    q_p, q_left_out_limit = _judged_outside(found.q_left_out, level, rounding, seen)
    rates = stats.false_discovery_control(np.column_stack([t2_p, q_p]).ravel()).reshape(n, 2)
    least = np.minimum(t2_p, q_p)
    order = np.argsort(least, kind="stable")
    outliers = order[(rates.min(axis=1) <= level)[order]]
    return PCAOutliers(
        t2=found.t2,
        t2_limit=_limit_of_fitted(n, r, level, center=center),
        q=found.q,
        q_limit=_judged_outside(found.q, level, rounding)[1],
        t2_left_out=found.t2_left_out,
        t2_left_out_limit=t2_left_out_limit,
        q_left_out=found.q_left_out,
        q_left_out_limit=q_left_out_limit,
        t2_p_value=t2_p,
        q_p_value=q_p,
        outliers=outliers,
        level=level,
        conclusion=_verdict(outliers, t2_p, q_p, level, row_names(X)),
        sample_names=row_names(X),
    )


@dataclass(frozen=True)
class _Distances:
    """T2 and Q of the samples, fitted and left out, (n,) each, with R = ``n_axes`` axes.

    usual_energy: the mean squared length of a sample.
    """

    n_axes: int
    t2: Array
    t2_left_out: Array
    q: Array
    q_left_out: Array
    usual_energy: float


def _by_all_cells(matrix: Array, n_components: int, *, center: bool) -> _Distances:
    axes = all_axes(centred(matrix, center))
    r = _checked_axes(matrix, n_components, axes.rank, center=center)
    freedom = len(matrix) - center
    scores, q, spectrum = axes.split(r)
    t2 = np.sum(scores**2 / spectrum, axis=1) * freedom
    removed = downdate(axes.coordinates, axes.eigenvalues, r, center)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = removed.energies / removed.eigenvalues
    t2_left_out = np.sum(np.where(removed.eigenvalues > 0.0, ratios, np.inf), axis=1)
    energy = float(np.mean(np.sum(axes.coordinates**2, axis=1)))
    left_out = exact_errors(matrix, r, axes, affine=center)
    return _Distances(r, t2, t2_left_out * (freedom - 1), q, left_out, energy)


def _by_observed_cells(matrix: Array, n_components: int, *, center: bool) -> _Distances:
    """Return the same of a table with holes: left-out samples do not turn the axes.

    With ``h = T2/(n - 1)``, or T2/n without a mean, and ``f = n/(n - 1)``, or 1, the scatter along
    the axes loses ``f d d'`` with sample d, and the mean moves away from it by f:
    ``T2_left_out/(n - 2) = f^2 h/(1 - f h)``.
    """
    holes = np.isnan(matrix)
    rows = centred(np.where(holes, np.nanmean(matrix, axis=0), matrix), center)
    r = _checked_axes(matrix, n_components, all_axes(rows).rank, center=center)
    pca = incomplete_pca(matrix, r, center=center)
    n, freedom = len(matrix), len(matrix) - center
    f = refit_factor(n, center)
    leverage = hotelling(pca) / n
    left = 1.0 - f * leverage
    t2_left_out = np.full(n, np.inf)
    np.divide((freedom - 1) * f**2 * leverage, left, out=t2_left_out, where=left > 0.0)
    q, q_left_out = row_errors(pca)
    energy = float(np.mean(np.sum(rows**2, axis=1)))
    return _Distances(r, freedom * leverage, t2_left_out, q, q_left_out, energy)


def _checked_axes(matrix: Array, n_components: int, rank: int, *, center: bool) -> int:
    n, p = matrix.shape
    why = f" for {n} samples x {p} variables of rank {rank}, one sample left out"
    high = min(n - 2 - center, rank)
    return as_count(n_components, "n_components", low=0, high=high, why=why)


def _limit_of_fitted(n: int, r: int, level: float, *, center: bool) -> float:
    """Return the limit of T2 for samples that the PCA was fitted to: a beta distribution."""
    freedom = n - center
    if r == 0 or freedom <= r:
        return 0.0
    largest = freedom**2 / n if center else float(n)
    return float(largest * stats.beta.isf(level, r / 2.0, (freedom - r) / 2.0))


def _judged_inside(t2: Array, r: int, freedom: int, level: float) -> tuple[Array, float]:
    """Return the p-values (n,) of left-out T2, and their limit at ``level``.

    ``T2 (f - r + 1)/(r f)`` is F distributed with r and f - r + 1 degrees of freedom for a sample
    that had no part in f degrees of freedom; the scale is matched at the median.
    """
    if r == 0:
        return np.ones(len(t2)), 0.0
    rest = max(freedom - r + 1, 1)
    scale = max(float(np.median(t2)), 1e-300) / stats.f.isf(0.5, r, rest)
    return stats.f.sf(t2 / scale, r, rest), float(scale * stats.f.isf(level, r, rest))


def _judged_outside(
    q: Array, level: float, rounding: float, seen: Array | float = 1.0
) -> tuple[Array, float]:
    """Return the p-values (n,) of squared residuals, and their limit at ``level``.

    Cube roots are compared with a normal distribution of their median and median deviation.
    rounding: what is no more than this is no distance; seen (n,): root of the share of the cells
    that were observed. The limit is that of a complete sample.
    """
    q = np.where(q > rounding, q, 0.0)
    if not q.any():
        return np.ones(len(q)), 0.0
    roots = np.cbrt(q)
    centre = float(np.median(roots[np.isfinite(roots)])) if np.isfinite(roots).any() else 0.0
    away = (roots - centre) * seen
    spread = NORMAL_MAD * float(np.median(np.abs(away)))
    spread = max(spread, 1e-6 * centre, 1e-100) if np.isfinite(spread) else 1.0
    p_values = stats.norm.sf(away / spread)
    return p_values, float((centre + spread * stats.norm.isf(level)) ** 3)


def _verdict(
    outliers: Indices, t2_p: Array, q_p: Array, level: float, given: NDArray[Any] | None
) -> Verdict:
    """Return who does not belong, and whether those are too many to be outliers."""
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
        fact = "All {samples} samples belong: none is farther out than expected by chance."
        return Verdict("none", fact, figures, grade=Grade.SURE)
    named = {f"named_{kind}": listed(figures[kind], NAMED) for kind in ("off", "far")}
    figures |= {**named, "clearest": [names[i] for i in outliers[:NAMED]]}
    if count > TOO_MANY * n:
        fact = "{count} of {samples} samples do not fit this PCA, among them {clearest}."
        advice = (Advice("try more components"), Advice("look for groups of samples"))
        return Verdict("too_many", fact, figures, advice, grade=Grade.NO)
    words = {"off": "{named_off} off the axes", "far": "{named_far} far out"}
    who = ", ".join(each for kind, each in words.items() if figures[kind])
    fact = (
        f"{{count}} of {{samples}} samples {'does' if count == 1 else 'do'} not belong: {who}. "
        "About {level:%} of these may be false alarms."
    )
    return Verdict("some", fact, figures, grade=Grade.DOUBTFUL)
