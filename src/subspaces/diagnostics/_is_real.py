"""Whether clusters are more than chance: the same search in tables that have no clusters.

Clusters explain a table by as much as samples are likelier under them than under one subspace,

    T = L(K subspaces) - max_r L(one subspace of r dimensions),    r in {R, R_1 + ... + R_K},

where L is the log density of all samples, each left out, with Student tails
(`choosing.against_one_subspace`). Any search finds some T > 0 in noise. So the same search is made
in B tables drawn without clusters, and

    p = (1 + #{T* >= T}) / (B + 1),    or h/l if the h-th T* >= T came with table l

[Besag & Clifford 1991]. With X = 1 m' + U diag(s) V', the tables are

- rotation: X* = 1 m' + Q diag(s) V', with Q uniform among orthonormal frames (n, r) of mean 0.
  Means and X'X stay, so p is exact for Gaussian samples of any covariance [Langsrud 2005].
- copula: the normal scores of each variable are rotated so, and its own values are put back in the
  order of the result. So every variable keeps its values, and their dependence nearly stays. A
  table of fewer directions than variables would get more of them, so it is drawn in its own axes.

Against K - 1 clusters, or fewer, the samples of each of these are drawn anew on their own.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from subspaces import progress
from subspaces._types import Array, Data, FittedClusterer, Indices, Labels, NullKind, Seed
from subspaces.core.array import is_dask
from subspaces.core.row_order import WALKING, neighbours_depend
from subspaces.data.kinds import in_memory
from subspaces.diagnostics._trust import FEWER_MISSING, _has_centres
from subspaces.estimators import PSC, KSubspaces
from subspaces.estimators.psc import with_choices, without_outliers
from subspaces.facts import check_variables, samples_of
from subspaces.messages import (
    FEWER_CLUSTERS,
    Advice,
    Grade,
    ParameterError,
    ParameterTypeError,
    Verdict,
)
from subspaces.psc import choosing
from subspaces.psc.auto import residuals_of
from subspaces.psc.choice import MOST_ROWS, MOSTLY_COMPLETE, rows_to_look_at
from subspaces.psc.one_group import drawn_frame
from subspaces.psc.result import Clusters
from subspaces.runtime.parameters import as_choice, as_count, as_generator
from subspaces.runtime.result import WithVerdict
from subspaces.runtime.threads import one_blas_thread, side_by_side, usable_threads
from subspaces.runtime.warning import collect_warnings
from subspaces.subspace import centre_of, principal_axes

# The p-value up to which clusters are more than chance, and up to which that is doubtful.
LEVEL, DOUBTFUL = 0.05, 0.2
# Fewer tables cannot reach LEVEL.
FEWEST_NULLS = 19

ONE_CLUSTER = Verdict("one_cluster", "There is only one cluster, so there is nothing to test.")
EVERY_THIRD = Advice("test every third sample, and see whether the clusters stay")


@dataclass(frozen=True, repr=False)
class IsReal(WithVerdict):
    """Whether clusters are more than chance.

    Attributes
    ----------
    p_value : float
        Share of the tables without clusters that gain at least as much. X counts as one of them.
        NaN for one cluster.
    gain : float
        Leave-one-out log-likelihood under the clusters, minus that under one subspace or under
        fewer clusters. It can be negative.
    z : float
        The gain minus the mean of ``null_gains``, in their standard deviations. Do not turn it into
        a p-value, because these gains can be skewed.
    null : str
        How the tables were drawn, "copula" or "rotation".
    null_gains : ndarray of shape (drawn,)
        Gain in each of the drawn tables.
    conclusion : Verdict
        The verdict as a value. Its ``grade`` is:

        - SURE: the clusters are more than chance.
        - DOUBTFUL: they may be.
        - NO: they are not.
        - UNKNOWN: there is one cluster.
    """

    p_value: float
    gain: float
    z: float
    null: NullKind
    null_gains: Array
    conclusion: Verdict


@dataclass(frozen=True)
class Cloud:
    """What samples without clusters are drawn from.

    members (m,): their places; mean (p,), spread (r, p): m and diag(s) V' of the module; values
    (m, p): each variable's own values, ascending, which replace the drawn ones; None for rotation.
    """

    members: Indices
    mean: Array
    spread: Array
    values: Array | None


@dataclass(frozen=True)
class Search:
    """The search whose gain is tested: unfitted models of K clusters, and of fewer.

    fewer: None for one subspace.
    """

    model: Any
    fewer: Any = None

    def __call__(self, rows: Array, seed: int) -> "Searched":
        """Return what the search finds in rows (n, p)."""
        with one_blas_thread():
            if rows.shape[1] > len(rows) and getattr(self.model, "n_variables", None) is None:
                rows = principal_axes(rows, 0).coordinates  # the same samples in fewer numbers
            fewer = None if self.fewer is None else clusters_in(rows, self.fewer, seed)
            return Searched(rows, clusters_in(rows, self.model, seed), fewer)


@dataclass(frozen=True)
class Searched:
    """What a search finds in rows (n, p): clusters, and fewer of them or None."""

    rows: Array
    clusters: Clusters
    fewer: Clusters | None

    @property
    def gain(self) -> float:
        """T, by which the clusters make the samples likelier than one subspace, or the fewer."""
        found, labels = self.clusters, self.clusters.labels
        numbers = found.dimensions, found.affine
        if self.fewer is not None:
            rival = self.fewer.labels, self.fewer.dimensions, self.fewer.affine
            costs = choosing.left_out_student(self.rows, *rival)
            return float(np.sum(costs - choosing.left_out_student(self.rows, labels, *numbers)))
        # K means span K - 1 directions.
        tried = sorted({min(numbers[0]), max(sum(numbers[0]), len(numbers[0]) - 1)})
        return float(choosing.against_one_subspace(self.rows, labels, *numbers, tried)[0].sum())


def is_real(
    model: FittedClusterer,
    X: Data,
    *,
    against: int = 1,
    null: NullKind = "copula",
    n_nulls: int = 99,
    n_init: int = 3,
    early_stop: int | None = 10,
    random_state: Seed = None,
) -> IsReal:
    """Test whether clusters are more than chance.

    The gain compares the leave-one-out likelihood of the samples under the clusters with that under
    one subspace. The one subspace may have as many dimensions as all clusters together. The same
    search runs on random tables without clusters. These have the means, the dependence and, by
    default, the values of each variable of X. The p-value is the share of tables that gain as much.
    So variables that are correlated, unscaled, skewed or discrete do not look like clusters.
    Samples that depend on their neighbours, as in a time series, still can, and the verdict is then
    "doubtful". If you chose the number of clusters or dimensions from the same samples, the p-value
    is slightly too small.

    Parameters
    ----------
    model : fitted PSC or KSubspaces, or Pipeline that ends in one
        The model, which is not changed. The test fits it again, with its numbers of clusters,
        dimensions and variables, and ignores weights.
    X : array-like or sparse matrix of shape (n, p), or array of Dask or of a GPU
        The data of ``fit``. If there are more than 1,000 samples, 1,000 are drawn at random.
        Outliers and samples with missing values are left out. If more than half have missing
        values, this raises a ValueError.
    against : int, default 1
        Number of clusters to test against. It must be smaller than the model's own. K - 1 asks
        whether the last cluster is more than chance. If the scores in a cluster are not Gaussian,
        the p-value is then too small, most of all with ``affine=True``.
    null : {"copula", "rotation"}, default "copula"
        How tables are drawn.

        - "copula": keeps means, dependence and the values of every variable. The p-value is nearly
          right for skewed, heavy-tailed and discrete variables. If discrete variables depend
          strongly on each other, it is too small.
        - "rotation": keeps means and covariances. The p-value is exact for Gaussian samples.
    n_nulls : int, default 99
        Number of tables, at least 19. The smallest possible p-value is 1 / (n_nulls + 1).
    n_init : int, default 3
        Number of starts of each search.
    early_stop : int or None, default 10
        Stop once this many tables gain as much as X. None draws all tables.
    random_state : int, RandomState or None
        Seed. The result does not depend on the number of threads. If ``n_jobs`` of the model is
        None, all cores are used.

    Returns
    -------
    IsReal
        ``.p_value``, ``.gain``, ``.z``, ``.null``, ``.null_gains``, ``.grade`` and ``.verdict``.

    Examples
    --------
    >>> from subspaces import PSC
    >>> from subspaces.datasets import make_subspaces
    >>> from subspaces.diagnostics import is_real
    >>> planes = make_subspaces([40, 40], 10, [2, 2], noise=0.1, random_state=0).data
    >>> model = PSC(2, n_components=2, random_state=0).fit(planes)
    >>> found = is_real(model, planes, n_nulls=19, n_init=1, random_state=0)
    >>> found.p_value, found.grade
    (0.05, <Grade.SURE: 'sure'>)
    """
    fitted, X = _last_step(model, X)
    least = 1.0 / (n_nulls + 1) if n_nulls in range(1, FEWEST_NULLS) else 1.0
    why = ", because p could not be below {least:.2g}" if least < 1.0 else ""
    n_nulls = as_count(n_nulls, "n_nulls", low=FEWEST_NULLS, why=why, least=least)
    null = as_choice(null, "null", get_args(NullKind))
    stop = n_nulls if early_stop is None else as_count(early_stop, "early_stop", low=1)
    n_clusters = len(fitted.n_components_)
    if n_clusters == 1:
        return IsReal(np.nan, 0.0, np.nan, null, np.zeros(0), ONE_CLUSTER)
    why = " for a model of {n_clusters} clusters"
    against = as_count(
        against, "against", low=1, high=n_clusters - 1, why=why, n_clusters=n_clusters
    )
    rows, first = _samples(fitted, X)
    if getattr(fitted, "n_variables", None) is None:
        rows = in_own_directions(rows, _has_centres(fitted))
    search = _search_of(fitted, against, as_count(n_init, "n_init", low=1))
    root = int(as_generator(random_state).integers(2**31))
    found = search(rows, root)
    clouds = clouds_of(rows, null, None if found.fewer is None else found.fewer.labels)

    def null_gain(i: int) -> float:
        random = np.random.default_rng([root, i])
        drawn = drawn_table(clouds, rows.shape, random)
        return search(drawn, int(random.integers(2**31))).gain

    n_jobs, gain = fitted.n_jobs, found.gain
    with side_by_side(usable_threads() if n_jobs is None else effective_n_jobs(n_jobs)) as each:
        p_value, gains = sequential_p_value(gain, each(null_gain, range(n_nulls)), n_nulls, stop)
    spread = float(np.std(gains, ddof=1)) if len(gains) > 1 else 0.0
    z = float(gain - np.mean(gains)) / spread if spread > 0.0 else np.nan
    residuals = residuals_of(found.clusters, found.rows)
    depend = neighbours_depend(residuals) or neighbours_depend(first, WALKING)
    as_good = int(np.sum(gains >= gain))
    said = verdict_on(p_value, as_good, len(gains), n_clusters, against, depend=depend)
    return IsReal(p_value, gain, z, null, gains, said)


# The table and the searches.


def _last_step(model: Any, X: Data) -> tuple[Any, Data]:
    """Return the fitted clusterer, and the samples as the steps before it prepare them."""
    if isinstance(model, Pipeline):
        X, model = model[:-1].transform(X) if len(model) > 1 else X, model[-1]
    if not isinstance(model, PSC | KSubspaces):
        fact = "The test works for PSC and KSubspaces, not for {name}."
        raise ParameterTypeError("model", fact, name=type(model).__name__)
    check_variables(model, X)
    return model, X


def _samples(model: Any, X: Data) -> tuple[Array, Array]:
    """Return the samples that are tested, (n, p), and the first ones in order, from their mean."""
    n = X.shape[0] if hasattr(X, "shape") else 0
    parts = [X]
    if n > MOST_ROWS:  # lists are not that long
        drawn = np.random.default_rng(0).choice(n, MOST_ROWS, replace=False)
        parts = [_safe_indexing(X, places) for places in (np.sort(drawn), np.arange(MOST_ROWS))]
    matrices = [samples_of(model, _on_host(part), min_samples=4).rows for part in parts]
    matrices = [matrix[~model.fit_.outside(matrix)] for matrix in matrices]
    whole = np.mean(~np.isnan(matrices[0]).any(axis=1))
    if whole < MOSTLY_COMPLETE:
        fact = (
            "Only {whole:%} of the samples have no missing values, which is too few for the test."
        )
        raise ParameterError("X", fact, FEWER_MISSING, whole=float(whole))
    rows, first = (rows_to_look_at(each)[1] for each in (matrices[0], matrices[-1]))
    return rows, first - first.mean(axis=0)


def _on_host(X: Any) -> Any:
    X = X.compute() if is_dask(X) else in_memory(X)
    return X.toarray() if sparse.issparse(X) else X


def _search_of(model: Any, against: int, n_init: int) -> Search:
    """Return the search with the numbers of a fitted model, and that with fewer clusters."""
    posed = without_outliers(with_choices(model)).set_params(n_init=n_init, n_jobs=1)
    if not isinstance(posed.init, str) and not callable(posed.init):
        posed.set_params(init="portfolio")  # labels of X are none of another table
    if against == 1:
        return Search(posed)
    largest = np.sort(model.n_components_)[::-1][:against].tolist()
    return Search(posed, clone(posed).set_params(n_clusters=against, n_components=largest))


def clusters_in(rows: Array, model: Any, seed: int) -> Clusters:
    """Return the clusters with samples that a search finds in rows (n, p)."""
    with collect_warnings():
        found = clone(model).set_params(random_state=seed).fit(rows)
    used, labels = np.unique(found.labels_, return_inverse=True)
    return Clusters(labels, [found.subspaces_[k] for k in used], _has_centres(found))


# Tables without clusters.


def in_own_directions(rows: Array, affine: bool) -> Array:
    """Return rows (n, p) in their principal axes if they span fewer directions than they could."""
    axes = principal_axes(rows - centre_of(rows, affine))
    return axes.coordinates if axes.rank < min(len(rows) - affine, rows.shape[1]) else rows


def clouds_of(rows: Array, null: NullKind, labels: Labels | None) -> list[Cloud]:
    """Return what the samples (n, p) of each label are drawn from; None: all have the same."""
    if labels is None:
        return [_cloud_of(np.arange(len(rows)), rows, null)]
    members = [np.flatnonzero(labels == k) for k in range(labels.max() + 1)]
    return [_cloud_of(own, rows[own], null) for own in members]


def _cloud_of(members: Indices, rows: Array, null: NullKind) -> Cloud:
    values = np.sort(rows, axis=0) if null == "copula" else None
    rotated = rows if values is None else choosing.normal_scores(rows, True)
    mean = rotated.mean(axis=0)
    axes = principal_axes(rotated - mean)
    return Cloud(members, mean, np.sqrt(axes.eigenvalues)[:, None] * axes.basis.T, values)


def drawn_table(
    clouds: Iterable[Cloud], shape: tuple[int, ...], random: np.random.Generator
) -> Array:
    """Return a table (n, p) without clusters inside the clouds."""
    table = np.empty(shape)
    for cloud in clouds:
        frame = drawn_frame(len(cloud.members), len(cloud.spread), random)
        rows = cloud.mean + frame @ cloud.spread
        if cloud.values is not None:
            np.put_along_axis(rows, np.argsort(rows, axis=0), cloud.values, axis=0)
        table[cloud.members] = rows
    return table


def sequential_p_value(
    gain: float, null_gains: Iterable[float], n_nulls: int, early_stop: int
) -> tuple[float, Array]:
    """Return p, and the gains that were drawn until so many were as large [Besag & Clifford]."""
    gains: list[float] = []
    as_good = 0
    for each in null_gains:
        gains.append(each)
        as_good += each >= gain
        progress.tell(progress.Step("null", len(gains), n_nulls, f"table {len(gains)}"))
        if as_good == early_stop:
            return as_good / len(gains), np.array(gains)
    return (1 + as_good) / (n_nulls + 1), np.array(gains)


def verdict_on(
    p_value: float, as_good: int, drawn: int, n_clusters: int, against: int, *, depend: bool
) -> Verdict:
    """Return whether clusters are more than chance.

    as_good: how many of the drawn tables gain as much; depend: whether samples are like their
    neighbours.
    """
    figures = {"p_value": p_value, "as_good": as_good, "drawn": drawn}
    figures |= {"n_clusters": n_clusters, "against": against}
    tables = "tables without clusters" if against == 1 else "tables with {against:#cluster}"
    some = "{as_good}" if as_good else "none"
    shown = f"{some} of {{drawn}} random {tables} gave an equally good fit (p = {{p_value:.2g}})"
    if p_value > DOUBTFUL:
        fact = f"The clusters look like chance: {shown}."
        return Verdict("chance", fact, figures, (FEWER_CLUSTERS,), grade=Grade.NO)
    if p_value > LEVEL:
        fact = f"The clusters may be due to chance: {shown}."
        return Verdict("perhaps_chance", fact, figures, grade=Grade.DOUBTFUL)
    if depend:
        fact = f"Neighbouring samples are alike, which may explain the result: {shown}."
        return Verdict("neighbours_depend", fact, figures, (EVERY_THIRD,), grade=Grade.DOUBTFUL)
    fact = f"The clusters are more than chance: {shown}."
    return Verdict("more_than_chance", fact, figures, grade=Grade.SURE)
