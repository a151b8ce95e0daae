"""Markers: the variables that set each cluster apart from all other samples, with tests of each.

==========  ===========  ========  ============================================================
symbol      name         shape     meaning
==========  ===========  ========  ============================================================
m_k, o_k    means        (K, p)    mean of the members of a cluster, and of all other samples
d_k         difference   (K, p)    m_k - o_k
s_k         spread       (K, p)    sqrt((squares about m_k inside + about o_k outside) / (n - 2))
d_k / s_k   effect       (K, p)    Cohen's d
==========  ===========  ========  ============================================================

A variable that is high in two clusters is in the spread s_k of each: it marks neither as well as a
variable that is high in one alone. (`core.contrast`, which describes a model, measures spread
within all clusters.) A variable is compared among the samples that have it: n, and the members, are
its own. The tests are those of `_rank_test` and, if the clusters' own part in the
p-values is to be taken out, of `_split_half`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from subspaces._types import Array, ClusterName, Codes, Data, Estimator, Indices, Labels, Mask, Seed
from subspaces.core.array import to_host
from subspaces.core.contrast import means_and_spread
from subspaces.core.partition import Partition
from subspaces.diagnostics._composition import SHIFTED, common_shift
from subspaces.diagnostics._measured import Measured, as_clustered, as_tested, data_of_fit
from subspaces.diagnostics._rank_test import (
    FEWEST,
    alike_observed,
    false_discovery_rates,
    rank_test,
)
from subspaces.diagnostics._split_half import split_half_p_values
from subspaces.estimators._base import SubspaceClusterer
from subspaces.estimators.psc import with_choices
from subspaces.messages import (
    Advice,
    DataWarning,
    Grade,
    ParameterError,
    ParameterTypeError,
    TrustWarning,
    Verdict,
)
from subspaces.preparation import Preparation
from subspaces.psc.one_group import one_group_p_value
from subspaces.runtime.parameters import as_count, as_generator
from subspaces.runtime.result import WithVerdict, as_frame
from subspaces.runtime.warning import collect_warnings, doubt

# How many variables of each cluster a notebook shows first.
FIRST = 3
# The rate of false discoveries at which markers are counted in sentences.
LEVEL = 0.05
# How many times as large the median total of one cluster may be as that of another without a word.
# Of simulated genes that do not differ 5 % are called at 1.75 times, 10 % at 2, 29 % at 2.7.
UNEQUAL = 1.75
OPTIMISTIC = "The p-values are too small, because the same values were used to find the clusters."
TRUST_THE_ORDER = Advice("trust the order of the variables more than the p-values")
# For labels of unknown origin.
OF_LABELS = "The p-values are too small if the same values were used to find the clusters."
PASS_THE_MODEL = Advice(
    "pass the model that found them as <estimator> to get valid p-values", "estimator", command=""
)


@dataclass(frozen=True, repr=False)
class Markers(WithVerdict):
    """The variables that set each cluster apart, with their tests, strongest first.

    Attributes
    ----------
    columns : dict of ndarray
        Columns of the table:

        - ``cluster``, ``variable``: the cluster, and the name of the variable.
        - ``rank``: place of the variable in the cluster, from 1.
        - ``difference``: mean of the cluster minus mean of all other samples.
        - ``effect``: the difference in pooled standard deviations (Cohen's d).
        - ``auc``: probability that a sample of the cluster has a larger value than another sample
          (Mann-Whitney).
        - ``p_value``, ``fdr``: its p-value, and the false discovery rate among all variables.
        - ``share_in``, ``share_out``: shares of samples that express the variable inside and
          outside the cluster. NaN if unknown.
        - ``p_split``, ``fdr_split``: p-value and false discovery rate from the split into halves,
          if there was one.
    one_group : float
        P-value of the hypothesis that all samples are one group, Gaussian or as skewed as they are.
        NaN without a split. No ``p_split`` or ``fdr_split`` is smaller.
    conclusion : Verdict
        The verdict as a value. Its ``grade`` is:

        - SURE: there was a split, and the samples are more than one group.
        - NO: one group would give clusters that are as far apart.
        - DOUBTFUL: there was no split, or it was not possible.
    notes : tuple of str
        What was done to the table before the tests: samples scaled, missing values left out.
    """

    columns: dict[str, NDArray[Any]]
    one_group: float
    conclusion: Verdict
    notes: tuple[str, ...] = ()

    def _first_rows(self) -> Indices:
        return np.flatnonzero(self.columns["rank"] <= FIRST)

    @property
    def table(self) -> Any:
        """The columns as a pandas DataFrame, or a dict of arrays if pandas is missing."""
        return as_frame(self.columns)

    def of(self, cluster: ClusterName) -> dict[str, NDArray[Any]]:
        """Return the columns of one cluster.

        Parameters
        ----------
        cluster : int or str
            One of the clusters in ``columns["cluster"]``.

        Returns
        -------
        dict of ndarray
            ``columns`` of this cluster only.
        """
        own = self.columns["cluster"] == cluster
        return {name: column[own] for name, column in self.columns.items()}


def markers(
    X: Data,
    labels: ArrayLike,
    cluster: ClusterName | None = None,
    *,
    names: Sequence[str] | None = None,
    expressed: ArrayLike | None = None,
    estimator: Estimator | None = None,
    n_nulls: int = 99,
    random_state: Seed = None,
) -> Markers:
    """Test which variables set clusters apart from all other samples.

    Values must be comparable between samples: pass logarithms of normalised counts or intensities.
    The p-values are optimistic, because the clusters were found in the same samples. If you pass
    ``estimator``, there are also p-values that are not. Half of the variables give the clusters,
    and the other half is tested. No p-value is smaller than the probability that K-means cuts one
    group as sharply. That group has any covariance, and is Gaussian or as skewed as the samples
    ("Markers that are more than the cut", https://subspaces.readthedocs.io).

    Parameters
    ----------
    X : array-like of shape (n, p) or AnnData
        Samples in rows. Missing values (NaN) are left out. Do not fill them first, because filled
        values look like markers.
    labels : array-like of shape (n,) or str
        Cluster of each sample. For an AnnData, it can be the name of a column of ``obs``. Samples
        with the number -1 are in no cluster, and left out.
    cluster : int or str, optional
        The cluster to test. By default all clusters.
    names : sequence of length p, optional
        Names of the variables. By default the columns of X, or x0, x1 and so on. If a name occurs
        twice, the second becomes NAME-1.
    expressed : array-like of bool of shape (n, p), optional
        Which sample expresses which variable. By default the values above 0, if the smallest value
        is 0. Otherwise the shares are unknown.
    estimator : clusterer or Pipeline, optional
        The model that found the labels. Copies of it are fitted to each half of the variables.
    n_nulls : int, default 99
        How many tables of one group to draw, if you pass ``estimator``. ``p_split`` and
        ``fdr_split`` are at least 1 / (n_nulls + 1).
    random_state : int, RandomState or None
        Seed of the halves and of these tables.

    Returns
    -------
    Markers
        ``.table``, ``.columns``, ``.verdict``, ``.grade``, ``.notes`` and ``.one_group``.

    Examples
    --------
    >>> import numpy as np
    >>> from subspaces import PSC, diagnostics
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(60, 200))
    >>> X[:20, :5] += 4
    >>> model = PSC(2, n_components=0, affine=True, random_state=0)
    >>> labels = model.fit_predict(X)
    >>> own = labels[0]
    >>> found = diagnostics.markers(X, labels, own, estimator=model, random_state=0)
    >>> sorted(found.columns["variable"][:5].tolist())
    ['x0', 'x1', 'x2', 'x3', 'x4']
    >>> int((found.columns["fdr_split"][:5] <= 0.05).sum())
    5
    """
    tested = as_tested(X, names, expressed)
    labels = _of_obs(X, labels) if isinstance(labels, str) else labels
    cluster_half = None
    if estimator is not None:
        if not hasattr(estimator, "fit_predict"):
            raise ParameterTypeError(
                "estimator",
                f"{type(estimator).__name__} has no fit_predict. Pass the clusterer or the "
                "pipeline that found the labels.",
            )

        def cluster_half(half: Indices) -> Any:
            return clone(estimator).fit_predict(tested.clustered[:, half])

    worth = OF_LABELS if estimator is None else OPTIMISTIC
    return _markers(tested, labels, cluster, cluster_half, n_nulls, random_state, worth)


def markers_of_model(
    model: SubspaceClusterer,
    X: Data,
    cluster: ClusterName | None,
    n_nulls: int,
    random_state: Seed,
    preparation: Preparation | None = None,
    *,
    split_half: bool,
) -> Markers:
    """Return the `Markers` of a fitted model, as its method ``markers`` does.

    A preparation, by default ``model.preparation_`` if there is one, is followed up to its scale:
    all variables that it needs are tested, not only those that it keeps.
    """
    check_is_fitted(model)
    labels = to_host(model.labels_)
    preparation = preparation or getattr(model, "preparation_", None)
    raw, tested = data_of_fit(model, labels, X, preparation)

    def cluster_half(half: Indices) -> Any:
        rows = tested.clustered[:, half]
        if preparation is not None:
            rows = as_clustered(preparation, tested, half)
        return with_choices(model).fit_predict(rows)

    if preparation is None:
        _warn_of_few_directions(model)
    elif preparation.total is not None:
        _warn_of_scaling(raw, tested, labels)
    use = cluster_half if split_half else None
    return _markers(tested, labels, cluster, use, n_nulls, random_state, OPTIMISTIC)


def _markers(
    tested: Measured,
    labels: ArrayLike,
    cluster: ClusterName | None,
    cluster_half: Callable[[Indices], Any] | None,
    n_nulls: int,
    random_state: Seed,
    worth: str,
) -> Markers:
    """Return the `Markers` of a table; cluster_half: as `split_half_p_values` takes it, or None.

    worth: the sentence on what the p-values of the rank test are worth.
    """
    clusters, codes, inside = _checked_labels(labels, len(tested.values))
    if not inside.all():
        tested, codes = tested.of(inside), codes[inside]
    asked = _asked(cluster, clusters)
    _warn_of_small(clusters, codes, asked)
    rows = _statistics(tested, codes, len(clusters))
    one_group, failed = np.nan, ""
    if cluster_half is not None:
        n_nulls, random = as_count(n_nulls, "n_nulls", low=1), as_generator(random_state)
        try:
            one_group, split = _split(
                tested, codes, len(clusters), _among(inside, cluster_half), n_nulls, random
            )
            split[np.isnan(rows["p_value"])] = np.nan
        except ValueError as error:
            if not tested.n_missing or getattr(error, "parameter", None) == "split_half":
                raise
            failed = str(error).partition("\n")[0].partition(". ")[0].rstrip(".")
            split = np.full_like(rows["p_value"], np.nan)
        # Adjusted first: thousands of p-values at the least possible one would be adjusted away.
        rows["p_split"] = np.maximum(split, one_group)
        rows["fdr_split"] = np.maximum(false_discovery_rates(split), one_group)
    columns = _long_form(rows, clusters, asked, tested.names)
    rates = None if failed else columns.get("fdr_split")
    conclusion = _verdict(worth, one_group, rates, failed)
    if len(tested.names) == 1:  # which have no order, and no halves
        conclusion = replace(conclusion, advice=())
    return Markers(columns, one_group, conclusion, tuple(_of_table(tested, columns)))


def _split(
    tested: Measured,
    codes: Codes,
    n_clusters: int,
    cluster_half: Callable[[Indices], Any],
    n_nulls: int,
    random: np.random.Generator,
) -> tuple[float, Array]:
    """Return the p-value of one group, and the split-half p-values (K, p).

    Of one group a missing cell is the mean of its variable, which no cut gains by.
    """
    clustered = tested.clustered
    if tested.n_missing:
        clustered = np.where(np.isnan(clustered), np.nanmean(clustered, axis=0), clustered)
    one_group = one_group_p_value(clustered, codes, n_clusters, n_nulls, random)
    return one_group, split_half_p_values(tested.values, codes, n_clusters, cluster_half, random)


def _statistics(tested: Measured, codes: Codes, n_clusters: int) -> dict[str, Array]:
    """Return the columns of a `Markers` by name, without a split, each (K, p)."""
    auc, p_values = rank_test(tested.values, codes, n_clusters)
    difference, effect, shares_in, shares_out = np.full((4, *auc.shape), np.nan)
    for seen, columns in alike_observed(tested.values):
        clusters = Partition(codes[seen], n_clusters)
        values = tested.values[np.ix_(seen, columns)]
        difference[:, columns], effect[:, columns] = _effects(values, clusters)
        if tested.expressed is not None:
            expressed = tested.expressed[np.ix_(seen, columns)]
            shares_in[:, columns], shares_out[:, columns] = _shares(expressed, clusters)
    return {
        "difference": difference,
        "effect": effect,
        "auc": auc,
        "p_value": p_values,
        "fdr": false_discovery_rates(p_values),
        "share_in": shares_in,
        "share_out": shares_out,
    }


def _effects(values: Array, clusters: Partition) -> tuple[Array, Array]:
    """Return d_k and d_k / s_k, (K, p) each; 0 / 0 is 0, and a difference without spread infinite.

    A cluster that is empty, or all there is, has nan.

    The squares outside are summed over clusters about their means, and of these about o_k: if
    nothing varies the sum is 0 without rounding.
    """
    sizes, n, n_clusters = clusters.sizes, clusters.sizes.sum(), clusters.n_clusters
    means, _ = means_and_spread(values, clusters)
    squares = np.zeros(values.shape[1])
    for k in range(n_clusters):
        own = clusters.members(k)
        squares += clusters.row_weights[own] @ np.square(values[own] - means[k])
    difference, spread = np.full((2, *means.shape), np.nan)
    for k in np.flatnonzero((sizes > 0) & (sizes < n)).tolist():
        weights = np.where(np.arange(n_clusters) == k, 0.0, sizes)
        # Average differences and not means: if all clusters agree, this is 0 without rounding.
        difference[k] = (weights / weights.sum()) @ (means[k] - means)
        outside = weights @ np.square(means - (means[k] - difference[k]))
        spread[k] = np.sqrt((squares + outside) / max(n - 2, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        return difference, np.where(difference == 0.0, 0.0, difference / spread)


def _shares(expressed: Mask, clusters: Partition) -> tuple[Array, Array]:
    """Return the shares of samples that express each variable in and outside clusters, (K, p)."""
    counts, sizes = clusters.indicator.T @ expressed, clusters.sizes[:, None]
    others = counts.sum(axis=0) - counts
    with np.errstate(invalid="ignore"):
        return counts / sizes, others / (sizes.sum() - sizes)


def _long_form(
    rows: dict[str, Array], clusters: NDArray[Any], asked: Sequence[int], names: list[str]
) -> dict[str, NDArray[Any]]:
    """Return columns with a row per cluster and variable, by the absolute effect in each."""
    order = [
        np.lexsort((-np.abs(rows["difference"][k]), -np.abs(rows["effect"][k]))) for k in asked
    ]
    p = len(names)
    labels = np.array(names, dtype=object)
    return {
        "cluster": np.repeat(clusters[list(asked)], p),
        "variable": np.concatenate([labels[each] for each in order]),
        "rank": np.tile(np.arange(1, p + 1), len(asked)),
        **{
            name: np.concatenate([found[k][each] for k, each in zip(asked, order, strict=True)])
            for name, found in rows.items()
        },
    }


def _verdict(worth: str, one_group: float, rates: Array | None, failed: str) -> Verdict:
    """Return how far to trust the p-values.

    worth: the sentence on those of the rank test; rates: false discovery rates of the split-half
    test, if there was one; failed: why it could not be made, if it could not.
    """
    if failed:
        fact = "The split-half test failed ({why}), so the p-values may be too optimistic."
        without = Advice("try without the variables that have missing values")
        return Verdict("no_halves", fact, {"why": failed}, (without,), grade=Grade.DOUBTFUL)
    if rates is None:
        advice = TRUST_THE_ORDER if worth == OPTIMISTIC else PASS_THE_MODEL
        return Verdict("optimistic", worth, advice=(advice,), grade=Grade.DOUBTFUL)
    found, tested = int(np.count_nonzero(rates <= LEVEL)), int(np.count_nonzero(np.isfinite(rates)))
    figures = {"one_group": one_group, "found": found, "tested": tested, "level": LEVEL}
    if one_group > LEVEL:
        fact = (
            "K-means would split a single group into clusters as different as these (p = "
            "{one_group:.2g}). So these differences do not show that the clusters are real."
        )
        return Verdict("one_group", fact, figures, grade=Grade.NO)
    some, are = "{found:,}" if found else "None", "are" if found > 1 else "is"
    use = "Use their p-values" if found else "Do not use the other p-values"
    others = "the others" if found else "they"
    fact = (
        f"{some} of {{tested:,}} split-half tests {are} significant (false discovery rate "
        f"{{level:%}}). {use}, because {others} are too optimistic."
    )
    return Verdict("split_half", fact, figures, grade=Grade.SURE)


def _of_table(tested: Measured, columns: dict[str, NDArray[Any]]) -> list[str]:
    """Return sentences on what was done to the table: samples brought to one size, cells left out.

    Clusters too small to test in any variable have a warning of their own.
    """
    said = []
    if tested.sized:
        said.append("The samples were scaled by genes that nearly all of them express.")
    if tested.n_missing:
        cells = f"{tested.n_missing:,} missing value{'s were' if tested.n_missing > 1 else ' was'}"
        said.append(f"{cells} skipped. Each variable is tested on the samples with a value.")
        untested = np.isnan(columns["p_value"])
        clusters = columns["cluster"]
        small = [k for k in np.unique(clusters) if untested[clusters == k].all()]
        count = np.count_nonzero(untested & ~np.isin(clusters, small))
        if count:
            pairs = f"{count:,} difference{'s were' if count > 1 else ' was'} not tested"
            said.append(
                f"{pairs}, because fewer than {FEWEST} samples inside or outside the cluster have "
                "a value."
            )
    return said


def _of_obs(X: Data, name: str) -> Any:
    """Return the column of ``obs`` of an AnnData that has this name."""
    if not hasattr(X, "obs"):
        raise ParameterTypeError(
            "labels",
            "<labels={value!r}> is a column name, which only works for an AnnData. Pass one "
            "label for each sample.",
            value=name,
        )
    if name not in X.obs:
        known = ", ".join(map(repr, X.obs))
        instead = "Choose from {known}" if known else "Pass one label for each sample"
        raise ParameterError(
            "labels", f"adata.obs has no {{value!r}}. {instead}.", value=name, known=known
        )
    return X.obs[name].to_numpy()


def _checked_labels(labels: ArrayLike, n: int) -> tuple[NDArray[Any], Codes, Mask]:
    """Return the clusters, the place of each sample's among them, and who is in any cluster."""
    given = np.asarray(labels)
    if given.shape != (n,):
        raise ParameterError(
            "labels",
            f"<labels> has shape {given.shape}, but <X> has {n} samples. Pass one label for "
            "each sample.",
        )
    if given.dtype.kind == "f" and not np.array_equal(given, np.rint(given)):
        raise ParameterError(
            "labels",
            "<labels> has fractions or NaN. Pass whole numbers, with -1 for samples in no cluster.",
        )
    unknown = [i for i, label in enumerate(given.tolist()) if label is None or label != label]
    if unknown:
        raise ParameterError(
            "labels",
            f"labels[{unknown[0]}] is missing. Leave out the samples without a label.",
        )
    inside = np.ones(n, dtype=bool) if given.dtype.kind not in "iuf" else given != -1
    clusters = np.unique(given[inside])
    if len(clusters) < 2:
        raise ParameterError(
            "labels", "<labels> has fewer than two clusters, so there is nothing to compare."
        )
    return clusters, np.searchsorted(clusters, given).astype(np.intp), inside


def _asked(cluster: ClusterName | None, clusters: NDArray[Any]) -> Sequence[int]:
    """Return the places of the clusters asked for: all of them for None."""
    if cluster is None:
        return range(len(clusters))
    # A text among numbers, or a number among texts, equals none of them.
    places = [k for k, each in enumerate(clusters.tolist()) if each == cluster]
    if not places or isinstance(cluster, bool):
        # Clusters named '0' and '1' are shown so to somebody who asks for the number.
        shown = repr if str(cluster) in map(str, clusters.tolist()) else str
        known = ", ".join(map(shown, clusters[:10].tolist())) + ", ..." * (len(clusters) > 10)
        fact = "<cluster={value!r}> has no samples. Choose from {known}."
        raise ParameterError("cluster", fact, value=cluster, known=known)
    return places


def _warn_of_small(clusters: NDArray[Any], codes: Codes, asked: Sequence[int]) -> None:
    """Warn of clusters too small to test, or with too few samples outside."""
    sizes = Partition(codes, len(clusters)).sizes
    n = len(codes)
    small = [k for k in asked if sizes[k] < FEWEST]
    large = [k for k in asked if n - sizes[k] < FEWEST]
    if small or large:
        merge = Advice("merge it with another, so that it has at least {fewest} samples")
        if len(small) > 1:
            merge = Advice("merge them with others, so that each has at least {fewest} samples")
        which = f"cluster{'s' * (len(small or large) > 1)} {{clusters}}"
        few = "Too few samples to test" if small else "Too few samples are left to compare with"
        doubt(
            DataWarning,
            "small_clusters",
            f"{few} {which}.",
            merge
            if small and len(clusters) > 2
            else Advice("fit again with another number of clusters"),
            clusters=[f"{clusters[k]} ({sizes[k]} of {n} samples)" for k in small or large],
            fewest=FEWEST,
        )


def _warn_of_few_directions(model: SubspaceClusterer) -> None:
    """Warn if the rows of fit span few directions, so that ``within_std_`` is not known."""
    if np.isnan(to_host(getattr(model, "within_std_", 0.0))).all():
        doubt(
            TrustWarning,
            "projected",
            "The table was projected to a few axes, so tests of single variables are misleading.",
            Advice("pass the values from before the projection"),
            Advice("call markers(X) on the recipe", command=""),
        )


def _warn_of_scaling(counts: Array, tested: Measured, labels: Labels) -> None:
    """Warn if clusters differ in their totals, to which rare genes owe a bias, or in most genes.

    counts (n, p): before they were scaled.
    """
    totals = counts.sum(axis=1)
    medians = [float(np.median(totals[labels == k])) for k in np.unique(labels[labels >= 0])]
    if max(medians) > UNEQUAL * min(medians):
        doubt(
            TrustWarning,
            "unequal_totals",
            "One cluster has {ratio:.1f} times the counts per sample of another, so scaling all "
            "samples to the same total creates small false differences.",
            Advice("trust only large differences"),
            ratio=max(medians) / min(medians),
        )
    elif len(medians) > 1:
        k, (shift, in_errors) = common_shift(tested.values, counts > 0, labels)
        if abs(in_errors) >= SHIFTED:
            doubt(
                TrustWarning,
                "shifted",
                "Most genes are {higher} in cluster {cluster} (median difference {shift:.2g}), "
                "perhaps because the samples were scaled to the same total.",
                Advice("trust only differences much larger than {shift:.2g}"),
                higher="higher" if shift > 0 else "lower",
                cluster=k,
                shift=abs(shift),
            )


def _among(inside: Mask, cluster_half: Callable[[Indices], Any]) -> Callable[[Indices], Labels]:
    """Return cluster_half with its warnings kept, labels from 0 up, of the samples inside alone.

    The whole number -1, for samples in no cluster, stays.
    """

    def found(half: Indices) -> Labels:
        with collect_warnings():
            labels = np.asarray(to_host(cluster_half(half)))[inside]
        names, codes = np.unique(labels, return_inverse=True)
        numbers = np.arange(len(names))
        if names.dtype.kind in "iuf" and names[0] == -1:
            numbers -= 1
        return numbers[codes]

    return found
