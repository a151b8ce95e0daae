"""Markers: each figure against a plain loop, split-half p-values on one group, bad input."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans

from subspaces import PSC, KSubspaces, SparseKMeans, diagnostics, load
from subspaces.app.expression_scaler import as_preparation
from subspaces.diagnostics._composition import at_one_size
from subspaces.diagnostics._measured import told_apart
from subspaces.diagnostics._rank_test import false_discovery_rates, rank_test
from subspaces.diagnostics._split_half import split_half_p_values
from subspaces.messages import Grade
from subspaces.named_table import Table
from subspaces.preparation import attach_preparation, prepare
from subspaces.psc import one_group
from subspaces.recipes import ExpressionScaler, expression
from tests.warned import refuses, warns


def tied(n=30, p=12, seed=0):
    """Whole numbers from 0 to 5, so with many ties and zeros, a constant column, three labels."""
    random = np.random.default_rng(seed)
    X = random.integers(0, 6, (n, p)).astype(float)
    X[:, 3] = 2.0
    labels = np.repeat([0, 1, 2], [9, 5, n - 14])
    X[labels == 1, :2] += 3
    return X, labels


def shifted(n=60, p=80, n_markers=10, seed=0):
    """Two groups that differ in the first variables, and which is which."""
    random = np.random.default_rng(seed)
    kinds = np.repeat([0, 1], n // 2)
    X = random.normal(size=(n, p))
    X[:, :n_markers] += 5.0 * kinds[:, None]
    return X, kinds


@pytest.mark.parametrize("whole", [True, False])
def test_ranks_are_tested_as_scipy_tests_them_one_by_one(whole):
    X, _ = tied(n=90)
    labels = np.repeat([0, 1, 2], 30)
    X = X if whole else X + np.random.default_rng(1).normal(size=X.shape)
    auc, p_values = rank_test(X, labels, 3)
    for k in range(3):
        for j in range(X.shape[1]):
            if np.ptp(X[:, j]) == 0:
                assert (auc[k, j], p_values[k, j]) == (0.5, 1.0)
                continue
            inside, outside = X[labels == k, j], X[labels != k, j]
            plain = stats.mannwhitneyu(inside, outside, method="asymptotic")
            assert p_values[k, j] == pytest.approx(plain.pvalue, rel=1e-12)
            wins = np.mean([(a > b) + 0.5 * (a == b) for a in inside for b in outside])
            assert auc[k, j] == pytest.approx(wins, rel=1e-12)
            assert plain.statistic / (len(inside) * len(outside)) == pytest.approx(wins)


@pytest.mark.parametrize("sizes", [(3, 3), (3, 40), (7, 7, 9), (12, 5, 60), (15, 15)])
def test_p_values_of_small_clusters_are_scipys_exact_ones(sizes):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    X = np.random.default_rng(0).normal(size=(len(labels), 30))
    X[labels == 0, :10] += 5.0  # as far apart as ranks can be: the smallest p-values
    X[labels == 1, 10:20] -= 1.0
    p_values = rank_test(X, labels, len(sizes))[1]
    for k in range(len(sizes)):
        inside, outside = X[labels == k], X[labels != k]
        if min(len(inside), len(outside)) < 16:
            plain = stats.mannwhitneyu(inside, outside, method="exact", axis=0).pvalue
            np.testing.assert_allclose(p_values[k], plain, rtol=1e-9)


def all_splits(X, m):
    """P(|W| >= |w|) of the first m samples, for each variable, by drawing all sets of m samples."""
    ranks = stats.rankdata(X, axis=0) - (len(X) + 1) / 2
    drawn = [ranks[list(some)].sum(axis=0) for some in combinations(range(len(X)), m)]
    return np.mean(np.abs(drawn) >= np.abs(ranks[:m].sum(axis=0)) - 1e-9, axis=0)


@pytest.mark.parametrize("m", [3, 5, 8])
@pytest.mark.parametrize("sign", [1, -1])
def test_with_one_shared_value_p_values_are_those_of_all_splits(m, sign):
    """The lowest value shared, as zeros and floors are; with sign -1 the highest."""
    random = np.random.default_rng(m)
    X = np.where(random.uniform(size=(12, 60)) < np.linspace(0, 0.95, 60), 0.0, 1.0)
    X = sign * X * random.uniform(1, 2, size=X.shape)
    X[:m, ::2] *= 3
    labels = np.repeat([0, 1], [m, 12 - m])
    p_values = rank_test(X, labels, 2)[1]
    np.testing.assert_allclose(p_values[0], all_splits(X, m), rtol=1e-9)
    np.testing.assert_allclose(p_values[1], p_values[0], rtol=1e-9)


@pytest.mark.parametrize("n_values", [3, 5, 12])
def test_with_other_ties_p_values_are_valid_over_all_splits(n_values):
    """At most a share alpha of all splits has a p-value of at most alpha, for every alpha."""
    column = np.random.default_rng(n_values).integers(0, n_values, 11).astype(float)
    found = []
    for some in combinations(range(11), 4):
        labels = np.ones(11, dtype=int)
        labels[list(some)] = 0
        found.append(rank_test(column[:, None], labels, 2)[1][0, 0])
    found = np.sort(found)
    reached = np.searchsorted(found, found, side="right") / len(found)
    assert (reached <= found + 1e-12).all()
    assert found[0] < 0.2


def test_ties_on_one_side_alone_change_nothing():
    inside, outside = [1.0, 1.0, 2.0, 2.0], [0.0, 0.1, 0.5, 0.5, 0.7, 0.7, 0.7]
    X, labels = np.array([[*inside, *outside]]).T, np.repeat([0, 1], [4, 7])
    np.testing.assert_allclose(rank_test(X, labels, 2)[1][0], 2 / 330)


@pytest.mark.parametrize("m", [3, 8, 15])
def test_p_values_of_many_samples_are_hardly_above_the_exact_ones(m):
    X = np.random.default_rng(0).normal(size=(1600, 40))
    X[:m] += np.linspace(0, 6, 40)
    p_values = rank_test(X, np.repeat([0, 1], [m, 1600 - m]), 2)[1][0]
    plain = stats.mannwhitneyu(X[:m], X[m:], method="exact", axis=0).pvalue
    ratio = p_values / plain
    assert ratio.min() > 1 - 1e-9
    assert ratio[plain > 1e-5].max() < 1.11
    assert plain.min() < 1e-6


def test_members_too_many_to_count_are_counted_as_extreme(monkeypatch):
    random = np.random.default_rng(0)
    X = np.where(random.uniform(size=(60, 200)) < 0.7, 0.0, random.uniform(size=(60, 200)))
    labels = np.repeat([0, 1], 30)
    plain = rank_test(X, labels, 2)[1]
    monkeypatch.setattr("subspaces.diagnostics._exact_ranks.MOST_INSIDE", 14)
    cut = rank_test(X, labels, 2)[1]
    assert (cut >= plain - 1e-12).all()
    assert np.median(cut - plain) < 0.02


def test_a_gene_of_one_cell_is_hardly_significant():
    """The cell is in a cluster of 20 among 500: chance says .04, the normal approximation 1e-6."""
    X = np.zeros((500, 1))
    X[0] = 1.0
    p_value = rank_test(X, np.repeat([0, 1], [20, 480]), 2)[1][0, 0]
    assert p_value == pytest.approx(20 / 500)
    assert stats.mannwhitneyu(X[:20, 0], X[20:, 0], method="asymptotic").pvalue < 2e-6


def test_ranks_of_blocks_of_variables_are_those_of_all(monkeypatch):
    X, labels = tied()
    whole = rank_test(X, labels, 3)
    monkeypatch.setattr("subspaces.diagnostics._rank_test.BLOCK", 5 * len(X))
    for part, all_of_it in zip(rank_test(X, labels, 3), whole, strict=True):
        np.testing.assert_array_equal(part, all_of_it)


def test_false_discovery_rates_are_benjamini_and_hochbergs():
    p_values = np.vstack([np.random.default_rng(0).uniform(size=50) ** 3, np.full(50, np.nan)])
    rates = false_discovery_rates(p_values)
    order = np.argsort(p_values[0])
    plain, least = np.empty(50), 1.0
    for place in range(49, -1, -1):
        least = min(least, p_values[0, order[place]] * 50 / (place + 1))
        plain[order[place]] = least
    np.testing.assert_allclose(rates[0], plain, rtol=1e-12)
    assert np.isnan(rates[1]).all()


def test_the_table_has_what_a_loop_finds():
    X, labels = tied()
    names = [f"g{j}" for j in range(X.shape[1])]
    table = diagnostics.markers(pd.DataFrame(X, columns=names), labels).table
    assert len(table) == 3 * len(names)
    for row in table.itertuples():
        j, own = names.index(row.variable), labels == row.cluster
        difference = X[own, j].mean() - X[~own, j].mean()
        assert row.difference == pytest.approx(difference, abs=1e-12)
        squares = sum(((part - part.mean()) ** 2).sum() for part in (X[own, j], X[~own, j]))
        effect = 0.0 if j == 3 else difference / np.sqrt(squares / (len(X) - 2))
        assert row.effect == pytest.approx(effect, abs=1e-12)
        assert row.share_in == pytest.approx((X[own, j] > 0).mean())
        assert row.share_out == pytest.approx((X[~own, j] > 0).mean())
    for _, part in table.groupby("cluster"):
        assert part["rank"].tolist() == list(range(1, len(names) + 1))
        assert (part["effect"].abs().diff().dropna() <= 1e-12).all()
        plain = stats.false_discovery_control(part["p_value"])
        np.testing.assert_allclose(part["fdr"], plain, rtol=1e-12)


def test_one_cluster_is_a_part_of_all():
    X, labels = tied()
    whole = diagnostics.markers(X, labels)
    alone = diagnostics.markers(X, labels, 1)
    for name, column in whole.of(1).items():
        np.testing.assert_array_equal(alone.columns[name], column)


def test_clusters_may_have_names():
    X, labels = tied()
    named = np.array(["b", "a", "c"])[labels]
    found = diagnostics.markers(X, named, "a")
    np.testing.assert_array_equal(
        found.columns["difference"], diagnostics.markers(X, labels, 1).columns["difference"]
    )
    with refuses("cluster", 1):
        diagnostics.markers(X, named, 1)


def test_samples_in_no_cluster_are_left_out():
    X, labels = tied()
    some = np.where(labels == 2, -1, labels)
    found, plain = (
        diagnostics.markers(X, some),
        diagnostics.markers(X[labels < 2], labels[labels < 2]),
    )
    for name, column in plain.columns.items():
        np.testing.assert_array_equal(found.columns[name], column)
    split = diagnostics.markers(X, some, estimator=KMeans(2, random_state=0), n_nulls=4)
    assert np.isfinite(split.columns["fdr_split"]).all()


class FirstLeftOut(ClusterMixin, BaseEstimator):
    """K-means without the first samples, which are in no cluster: -1."""

    def __init__(self, n_out=5):
        self.n_out = n_out

    def fit(self, X, y=None):
        self.labels_ = np.full(len(X), -1)
        k_means = KMeans(2, n_init=3, random_state=0)
        self.labels_[self.n_out :] = k_means.fit_predict(X[self.n_out :])
        return self


def test_samples_that_a_half_puts_in_no_cluster_are_no_cluster_there():
    X, kinds = shifted()
    X[:5] += 50.0  # would be a cluster with markers everywhere
    labels = FirstLeftOut().fit_predict(X)
    found = diagnostics.markers(X, labels, estimator=FirstLeftOut(), n_nulls=4, random_state=0)
    whole = diagnostics.markers(
        X[5:], labels[5:], estimator=KMeans(2, n_init=3, random_state=0), n_nulls=4, random_state=0
    )
    np.testing.assert_array_equal(found.columns["p_split"], whole.columns["p_split"])
    # The labels name all samples, and a half leaves some out: these are not tested.
    halves = split_half_p_values(
        X, kinds, 2, lambda half: FirstLeftOut().fit_predict(X[:, half]), np.random.default_rng(0)
    )
    inside = split_half_p_values(
        X[5:], kinds[5:], 2, lambda half: kinds[5:], np.random.default_rng(0)
    )
    np.testing.assert_array_equal(halves, inside)
    none = split_half_p_values(X, kinds, 2, lambda half: np.full(60, -1), np.random.default_rng(0))
    assert (none == 1.0).all()


def test_shares_are_unknown_where_no_value_is_zero_and_can_be_given():
    X, labels = tied()
    unknown = diagnostics.markers(X + 5, labels).columns
    assert np.isnan(unknown["share_in"]).all()
    assert np.isnan(unknown["share_out"]).all()
    given = diagnostics.markers(X + 5, labels, expressed=X > 0).columns
    known = diagnostics.markers(X, labels).columns
    np.testing.assert_array_equal(given["share_in"], known["share_in"])


def test_a_small_cluster_has_differences_but_no_p_values():
    X, _ = tied()
    labels = np.repeat([0, 1, 2], [14, 14, 2])
    with warns("small_clusters") as said:
        found = diagnostics.markers(X, labels)
    assert said[0].message.parameters["clusters"] == ["2 (2 of 30 samples)"]
    assert np.isnan(found.of(2)["p_value"]).all()
    assert np.isnan(found.of(2)["fdr"]).all()
    assert np.isfinite(found.of(2)["difference"]).all()
    assert np.isfinite(found.of(0)["fdr"]).all()


def test_a_variable_that_is_constant_within_all_clusters_comes_first():
    X, labels = shifted()
    X[:, 70] = labels
    found = diagnostics.markers(X, labels, 1).columns
    assert found["variable"][0] == "x70"
    assert found["effect"][0] == np.inf


def test_equal_names_are_told_apart():
    assert told_apart(["A", "B", "A", "A-1", "A"]) == ["A", "B", "A-2", "A-1", "A-3"]
    X, labels = tied(p=4)
    found = diagnostics.markers(X, labels, 0, names=["A", "A", "B", "A"])
    assert sorted(found.columns["variable"].tolist()) == ["A", "A-1", "A-2", "B"]


def test_anndata_keeps_its_names_and_has_labels():
    anndata = pytest.importorskip("anndata")
    X, labels = tied()
    X = np.log1p(X)
    data = anndata.AnnData(sparse.csr_matrix(X))
    data.var_names = [f"g{j}" for j in range(X.shape[1])]
    data.obs["type"] = pd.Categorical.from_codes(labels, categories=["0", "1", "2"])
    found = diagnostics.markers(data, labels)
    assert set(found.columns["variable"]) == set(data.var_names)
    plain = diagnostics.markers(X, labels).columns["p_value"]
    np.testing.assert_array_equal(found.columns["p_value"], plain)
    np.testing.assert_array_equal(diagnostics.markers(data, "type").columns["p_value"], plain)
    with refuses("cluster", 1) as raised:
        diagnostics.markers(data, "type", 1)
    assert "'0', '1', '2'" in str(raised.value)
    with refuses("labels", "kind"):
        diagnostics.markers(data, "kind")
    with refuses("labels", "type", kind=TypeError):
        diagnostics.markers(X, "type")
    with refuses("X", naming=["AnnData"]):
        diagnostics.markers(anndata.AnnData(shape=X.shape), labels)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_counts_in_an_anndata_are_told(kind):
    anndata = pytest.importorskip("anndata")
    X, labels = tied()
    with warns("counts"):
        diagnostics.markers(anndata.AnnData(kind(X)), labels)
    X[0, 0] = np.nan
    with warns("counts"):
        diagnostics.markers(anndata.AnnData(X), labels)


def test_a_model_in_the_place_of_the_table_is_recognised():
    X, _ = shifted()
    model = PSC(2, n_components=0, affine=True, n_init=1, random_state=0).fit(X)
    with refuses("X", kind=TypeError, naming=["PSC", "model.lab"]):
        diagnostics.markers(model, X)


@pytest.mark.parametrize("build", [PSC, KSubspaces, SparseKMeans])
def test_models_have_markers_with_the_names_of_their_table(build):
    X, kinds = shifted()
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(X.shape[1])])
    model = build(2, random_state=0)
    if build is not SparseKMeans:
        model.set_params(n_components=0, affine=True)
    model.fit(frame)
    k = int(model.labels_[-1])
    found = model.markers(frame, k, split_half=True, n_nulls=19, random_state=0)
    assert {f"g{j}" for j in range(10)} == set(found.columns["variable"][:10])
    np.testing.assert_array_equal(model.labels_ == k, kinds == 1)
    assert found.one_group == 1 / 20
    assert (found.columns["fdr_split"][:10] == 1 / 20).all()
    plain = model.markers(X, k)
    assert plain.columns["variable"].tolist() == found.columns["variable"].tolist()
    assert "fdr_split" not in plain.columns


def logged_at_one_size(counts, total):
    """log2(1 + x) of samples scaled by their median ratio to the geometric mean of each gene."""
    counts = np.asarray(counts, dtype=float)
    scaled = counts * (total / counts.sum(axis=1, keepdims=True))
    common = scaled[:, (scaled > 0).mean(axis=0) >= 0.9]
    reference = np.array([stats.gmean(gene[gene > 0]) for gene in common.T])
    sizes = np.exp([np.median(np.log(sample / reference)) for sample in np.maximum(common, 1e-9)])
    return np.log2(1 + scaled / sizes[:, None] * stats.gmean(sizes))


def test_a_saved_model_tests_all_genes_on_the_log_scale(tmp_path):
    random = np.random.default_rng(0)
    X = random.poisson(20.0, (40, 60)).astype(float)
    X[:15, :5] *= 8
    names = tuple(f"g{j}" for j in range(60))
    scaler = ExpressionScaler(n_axes=2, n_genes=20, kind="counts").fit(X)
    preparation = as_preparation(scaler, names)
    table = Table(X, tuple(map(str, range(40))), names)
    model = PSC(2, n_components=0, affine=True, criterion="loo", random_state=0)
    model.fit(prepare(table, preparation).frame)
    attach_preparation(model, preparation)
    model.save(tmp_path / "model.npz")
    found = load(tmp_path / "model.npz").markers(table.frame, int(model.labels_[0]))
    assert len(found.columns["variable"]) == 60
    logged = logged_at_one_size(X, scaler.total_)
    plain = diagnostics.markers(logged, model.labels_, model.labels_[0], names=names)
    for name in ("variable", "rank"):
        np.testing.assert_array_equal(found.columns[name], plain.columns[name])
    np.testing.assert_allclose(found.columns["p_value"], plain.columns["p_value"], rtol=1e-12)
    np.testing.assert_allclose(found.columns["difference"], plain.columns["difference"], atol=1e-12)
    assert found.columns["share_in"].max() == 1.0
    split = model.markers(table.frame, split_half=True, n_nulls=19, random_state=0)
    marked = split.of(model.labels_[0])
    assert set(marked["variable"][:5]) == {f"g{j}" for j in range(5)}
    assert (marked["fdr_split"][:5] <= 0.05).all()


@pytest.mark.parametrize("kind", ["counts", "intensities"])
@pytest.mark.filterwarnings("ignore::subspaces.messages.TrustWarning")
def test_genes_that_nobody_expresses_are_no_markers(kind):
    """Their values differ by the means of the samples alone, which are centred."""
    random = np.random.default_rng(0)
    types = np.repeat([0, 1], 40)
    rates = np.tile(random.lognormal(1.0, 1.0, 150), (80, 1)) * (1 + 2 * types[:, None])
    rates[:40, :20] *= 6
    X = np.hstack([random.poisson(rates), np.zeros((80, 50))])
    X = X if kind == "counts" else 20.0 * X + 10.0  # the floor is 20
    names = tuple(f"g{j}" for j in range(200))
    scaler = ExpressionScaler(n_axes=2, kind=kind).fit(X)
    assert scaler.genes_.max() < 150
    preparation = as_preparation(scaler, names)
    table = Table(X, tuple(map(str, range(80))), names)
    model = PSC(2, n_components=0, affine=True, criterion="loo", random_state=0)
    model.fit(prepare(table, preparation).frame)
    attach_preparation(model, preparation)
    found = model.markers(table.frame, 0, split_half=True, n_nulls=19, random_state=0).columns
    silent = np.array([int(name[1:]) >= 150 for name in found["variable"]])
    assert (found["p_value"][silent] == 1.0).all()
    assert (found["difference"][silent] == 0.0).all()
    assert (found["fdr_split"][silent] > 0.05).all()
    assert np.count_nonzero(found["fdr_split"][~silent] <= 0.05) >= 20


def test_clusters_of_unequal_totals_are_told():
    random = np.random.default_rng(0)
    X = random.poisson(np.repeat([[3.0], [9.0]], 30, axis=0) * np.ones(80)).astype(float)
    X[:30, :20] *= 9
    scaler = ExpressionScaler(n_axes=2, kind="counts").fit(X)
    preparation = as_preparation(scaler, tuple(f"g{j}" for j in range(80)))
    table = Table(X, tuple(map(str, range(60))), preparation.needed)
    model = PSC(2, n_components=0, affine=True, criterion="loo", random_state=0)
    model.fit(prepare(table, preparation).frame)
    attach_preparation(model, preparation)
    deep = np.flatnonzero(model.labels_ == model.labels_[-1])
    X[deep] *= 4
    with warns("unequal_totals"):
        model.markers(pd.DataFrame(X, columns=preparation.needed), 0)


def genes_in_counts(n_genes=300):
    """Counts of two types of 20 and 40 samples; 10 genes are five times as high in the first."""
    random = np.random.default_rng(0)
    X = random.poisson(random.lognormal(2.0, 0.5, n_genes), (60, n_genes))
    X[:20, :10] *= 5
    return pd.DataFrame(X, columns=[f"g{j}" for j in range(n_genes)])


@pytest.mark.parametrize("options", [{}, {"n_components": 1}])
def test_a_recipe_tests_all_genes_of_its_raw_table_by_name(options):
    counts = genes_in_counts()
    recipe = expression(2, random_state=0, **options).set_params(prepare__n_genes=40).fit(counts)
    k = int(recipe[-1].labels_[0])
    found = recipe.markers(counts, k)
    assert len(found.columns["variable"]) == 300
    assert set(found.columns["variable"][:10]) == {f"g{j}" for j in range(10)}
    logged = logged_at_one_size(counts, recipe[0].total_)
    plain = diagnostics.markers(
        logged, recipe[-1].labels_, k, names=counts.columns, expressed=counts.to_numpy() > 0
    )
    for name in ("variable", "share_in", "share_out"):
        np.testing.assert_array_equal(found.columns[name], plain.columns[name])
    np.testing.assert_allclose(found.columns["p_value"], plain.columns["p_value"], rtol=1e-12)
    split = recipe.markers(counts, k, split_half=True, n_nulls=19, random_state=0)
    assert (split.columns["fdr_split"][:10] <= 0.05).all()


def test_names_of_genes_come_from_fit_or_from_the_frame_that_is_tested():
    counts = genes_in_counts()
    values = counts.to_numpy()
    named, unnamed = (expression(2, random_state=0).fit(X) for X in (counts, values))
    k = int(named[-1].labels_[0])
    first = named.markers(counts, k).columns["variable"]
    for recipe, X in ((named, values), (unnamed, counts), (named, counts.iloc[:, ::-1])):
        assert recipe.markers(X, k).columns["variable"].tolist() == first.tolist()
    numbered = unnamed.markers(sparse.csr_matrix(values), k).columns["variable"]
    assert numbered.tolist() == [name.replace("g", "x") for name in first]


def test_recipes_and_their_last_steps_refuse_what_they_were_not_fitted_to():
    counts = genes_in_counts()
    recipe = expression(2, random_state=0).fit(counts)
    for given in (counts, counts.to_numpy()):
        with refuses("X", naming=["recipe"]):
            recipe[-1].markers(given, 0)
    prepared = recipe[:-1].transform(counts)
    with warns("projected"):
        recipe[-1].markers(prepared, 0)
    for given in (np.log2(1.0 + counts), counts.iloc[::-1]):
        with refuses("X"):
            recipe.markers(given, 0)
    unnamed = expression(2, random_state=0).fit(counts.to_numpy())
    with refuses("X", naming=["(60, 7)", "(60, 300)"]):
        unnamed.markers(counts.iloc[:, :7], 0)
    assert not hasattr(recipe[:-1], "markers")


def test_halves_of_genes_are_centred_where_linear_subspaces_were_fitted(monkeypatch):
    """Sparse loadings are of subspaces through the mean sample, in halves as in the whole."""
    counts = genes_in_counts()
    recipe = expression(2, n_variables=10, random_state=0).fit(counts)
    seen = []
    fit_predict = PSC.fit_predict
    monkeypatch.setattr(
        PSC, "fit_predict", lambda model, X: (seen.append(X), fit_predict(model, X))[1]
    )
    recipe.markers(counts, split_half=True, n_nulls=4, random_state=0)
    assert len(seen) == 2
    for rows in seen:
        np.testing.assert_allclose(rows.mean(axis=0), 0.0, atol=1e-12)


def test_labels_of_a_pipeline_serve():
    random = np.random.default_rng(0)
    X = 2.0 ** random.normal(8, 1, (60, 300))
    X[:20, :10] *= 30
    pipeline = expression(2, random_state=0).fit(X)
    values = ExpressionScaler(n_genes=None).fit_transform(X)
    again = expression(2, random_state=0).set_params(prepare__kind="log")
    found = diagnostics.markers(
        values, pipeline[-1].labels_, pipeline[-1].labels_[0], estimator=again, random_state=0
    )
    assert set(found.columns["variable"][:10]) == {f"x{j}" for j in range(10)}
    assert (found.columns["fdr_split"][:10] <= 0.05).all()


def test_separation_is_the_sum_of_squares_between_clusters():
    X, labels = tied()
    Z = X - X.mean(axis=0)
    within = sum(((Z[labels == k] - Z[labels == k].mean(0)) ** 2).sum() for k in range(3))
    assert one_group.separation(Z, labels) == pytest.approx((Z**2).sum() - within)


def test_drawn_frames_are_orthonormal_of_mean_zero_and_uniform():
    random = np.random.default_rng(0)
    frames = np.array([one_group.drawn_frame(6, 2, random) for _ in range(4000)])
    np.testing.assert_allclose(frames.sum(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(np.einsum("bij,bik->bjk", frames, frames)[7], np.eye(2), atol=1e-12)
    # A uniform direction in the five dimensions left has second moments (I - 11'/6) / 5.
    second = np.einsum("bi,bj->ij", frames[..., 0], frames[..., 0]) / 4000
    np.testing.assert_allclose(second, (np.eye(6) - 1 / 6) / 5, atol=0.02)


def one_factor(scores, random):
    return np.outer(scores, random.normal(size=40)) + random.normal(size=(len(scores), 40))


def one_group_p_values(draw, n_tables=12):
    """P-values of one group for the three K-means clusters of tables of one factor."""
    found = []
    for seed in range(n_tables):
        random = np.random.default_rng([seed, 11])
        X = one_factor(draw(random), random)
        labels = KMeans(3, n_init=5, random_state=0).fit_predict(X)
        found.append(one_group.one_group_p_value(X, labels, 3, 19, random))
    return np.array(found)


def test_a_skewed_factor_is_no_group():
    """Its long tail is cut more sharply than a Gaussian one: 4 of these 12 tables passed for it."""
    assert np.sum(one_group_p_values(lambda random: random.exponential(size=100)) <= 0.05) <= 1


def test_groups_of_unequal_size_are_no_skewed_factor():
    def draw(random):
        return np.repeat([0.0, 6.0, 13.0], [70, 20, 10]) + random.normal(size=100)

    np.testing.assert_array_equal(one_group_p_values(draw), 0.05)


def test_skewed_frames_have_the_skewness_of_the_scores():
    random = np.random.default_rng(0)
    frame = one_group.drawn_frame(5000, 3, random)
    found = one_group._skewed(frame, np.array([1.5, -0.8, 0.0]))
    np.testing.assert_allclose(found.T @ found, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=0), 0.0, atol=1e-11)
    np.testing.assert_allclose(stats.skew(found), [1.5, -0.8, 0.0], atol=0.03)
    np.testing.assert_allclose(np.abs(found[:, 2] @ frame[:, 2]), 1.0, atol=1e-3)


@pytest.mark.parametrize("correlated", [False, True])
def test_one_group_has_no_markers_by_split_halves_though_the_naive_ones_find_some(correlated):
    naive, split = [], []
    for seed in range(20):
        random = np.random.default_rng(seed)
        X = random.normal(size=(80, 40)) * np.geomspace(0.3, 3, 40)
        if correlated:
            X += 2.0 * random.normal(size=(80, 1)) * random.normal(size=40)
        k_means = KMeans(2, n_init=3, random_state=0)
        found = diagnostics.markers(
            X, k_means.fit_predict(X), 0, estimator=k_means, n_nulls=19, random_state=seed
        )
        naive.append((found.columns["fdr"] <= 0.05).any())
        split.append((found.columns["fdr_split"] <= 0.05).any())
    assert np.mean(naive) == 1.0
    assert np.sum(split) <= 4  # of 20 at a rate of .05, with probability .997


def test_verdicts_say_what_the_split_found():
    X, kinds = shifted()
    k_means = KMeans(2, n_init=3, random_state=0)
    plain = diagnostics.markers(X, kinds)
    assert (plain.grade, plain.conclusion.code) == (Grade.DOUBTFUL, "optimistic")
    assert np.isnan(plain.one_group)
    real = diagnostics.markers(X, kinds, estimator=k_means, random_state=0)
    assert (real.grade, real.conclusion.code) == (Grade.SURE, "split_half")
    count = int((real.columns["fdr_split"] <= 0.05).sum())
    assert [real.conclusion.parameters[each] for each in ("found", "tested")] == [count, 160]
    noise = np.random.default_rng(1).normal(size=(40, 30))
    cut = k_means.fit_predict(noise)
    none = diagnostics.markers(noise, cut, estimator=k_means, random_state=0)
    assert none.one_group > 0.05
    assert (none.grade, none.conclusion.code) == (Grade.NO, "one_group")


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_equal_samples_have_no_markers():
    labels, k_means = np.arange(10) % 2, KMeans(2, n_init=1)
    found = diagnostics.markers(np.ones((10, 6)), labels, estimator=k_means, n_nulls=4)
    assert found.one_group == 1.0
    assert (found.columns["effect"] == 0).all()
    assert (found.columns["fdr_split"] == 1).all()


def test_a_seed_repeats_the_halves():
    X, kinds = shifted()
    k_means = KMeans(2, n_init=1, random_state=0)
    first, second = (
        diagnostics.markers(X, kinds, estimator=k_means, n_nulls=9, random_state=3)
        for _ in range(2)
    )
    np.testing.assert_array_equal(first.columns["p_split"], second.columns["p_split"])


@pytest.mark.parametrize(
    ("change", "error", "refused"),
    [
        ({"labels": [0, 1]}, ValueError, "labels"),
        ({"labels": np.zeros(30, int)}, ValueError, "labels"),
        ({"labels": np.full(30, 0.5)}, ValueError, "labels"),
        ({"cluster": 7}, ValueError, "cluster"),
        ({"names": ["a"]}, ValueError, "names"),
        ({"expressed": np.ones((30, 12))}, ValueError, "expressed"),
        ({"estimator": object()}, TypeError, "estimator"),
        ({"X": np.full((30, 12), np.nan)}, ValueError, "X"),
        ({"estimator": KMeans(2), "X": tied()[0][:, :1]}, ValueError, "split_half"),
        ({"estimator": KMeans(2), "n_nulls": 0}, ValueError, "n_nulls"),
    ],
)
def test_bad_input_is_refused(change, error, refused):
    X, labels = tied()
    with refuses(refused, kind=error):
        diagnostics.markers(**{"X": X, "labels": labels, **change})


def with_holes(X, share=0.3, seed=0):
    """X with cells missing at random, in every second variable."""
    holes = np.random.default_rng(seed).uniform(size=X.shape) < share
    holes[:, ::2] = False
    return np.where(holes, np.nan, X)


@pytest.mark.parametrize("whole", [True, False])
def test_with_missing_cells_ranks_are_tested_as_scipy_does_when_it_omits_them(whole):
    labels = np.repeat([0, 1, 2], 50)
    X = np.random.default_rng(1).normal(size=(150, 12))
    X[labels == 1, :6] += 0.5
    X = with_holes(np.rint(2 * X) if whole else X)
    auc, p_values = rank_test(X, labels, 3)
    for k in range(3):
        plain = stats.mannwhitneyu(
            X[labels == k], X[labels != k], method="asymptotic", nan_policy="omit"
        )
        np.testing.assert_allclose(p_values[k], plain.pvalue, rtol=1e-10)
        pairs = [(~np.isnan(part)).sum(axis=0) for part in (X[labels == k], X[labels != k])]
        np.testing.assert_allclose(auc[k], plain.statistic / (pairs[0] * pairs[1]), rtol=1e-12)


def test_with_missing_cells_small_clusters_have_scipys_exact_p_values():
    labels = np.repeat([0, 1], [9, 25])
    X = with_holes(
        np.random.default_rng(0).normal(size=(34, 40)) + np.repeat([1, 0], [9, 25])[:, None]
    )
    plain = stats.mannwhitneyu(X[:9], X[9:], method="exact", nan_policy="omit").pvalue
    np.testing.assert_allclose(rank_test(X, labels, 2)[1][0], plain, rtol=1e-9)


def test_a_variable_with_missing_cells_has_the_figures_of_the_samples_that_have_it():
    X, labels = tied(n=60)
    holed = with_holes(X)
    found = diagnostics.markers(holed, labels).table.set_index(["cluster", "variable"])
    names = ("difference", "effect", "auc", "p_value", "share_in", "share_out")
    for j in range(X.shape[1]):
        seen = ~np.isnan(holed[:, j])
        expressed = X[seen][:, [j]] > 0
        alone = diagnostics.markers(
            X[seen][:, [j]], labels[seen], expressed=expressed, names=[f"x{j}"]
        )
        alone = alone.table.set_index(["cluster", "variable"])
        for name in names:
            np.testing.assert_allclose(found.loc[alone.index, name], alone[name], rtol=1e-12)
    for _, part in found.groupby("cluster"):
        rates = stats.false_discovery_control(part["p_value"])
        np.testing.assert_allclose(part["fdr"], rates, rtol=1e-12)


def test_missing_cells_and_what_they_forbid_are_told():
    X, labels = shifted()
    assert diagnostics.markers(X, labels).notes == ()
    X[4, 5] = np.nan
    (note,) = diagnostics.markers(X, labels).notes
    assert note.startswith("1 missing value was skipped")
    X[labels == 0, 7] = np.nan  # no value at all in one cluster
    X[np.flatnonzero(labels == 1)[2:], 8] = np.nan  # two values are too few
    found = diagnostics.markers(X, labels)
    assert [note.split(" ")[0] for note in found.notes] == ["59", "4"]
    table = found.table.set_index(["cluster", "variable"])
    assert (
        table.loc[[(0, "x7"), (1, "x7"), (0, "x8"), (1, "x8")], ["p_value", "fdr"]].isna().all(None)
    )
    assert table.loc[[(0, "x7"), (1, "x7")], ["difference", "effect", "auc"]].isna().all(None)
    assert table.loc[[(0, "x8"), (1, "x8")], "difference"].notna().all()
    assert table["fdr"].notna().sum() == 2 * 78


def test_missing_cells_make_no_markers_and_filled_ones_are_refused():
    """Filled by the model, more than half of the variables that do not differ would be called."""
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 100))
    X[:40, :20] += 2
    X[:, 20:][random.uniform(size=(80, 80)) < 0.5] = np.nan
    model = PSC(2, n_components=0, affine=True, random_state=0).fit(X)
    found = model.markers(X, 0, split_half=True, n_nulls=19, random_state=0).columns
    null = np.array([int(name[1:]) >= 20 for name in found["variable"]])
    for rate in ("fdr", "fdr_split"):
        assert np.count_nonzero(found[rate][null] <= 0.05) <= 2
        assert (found[rate][~null] <= 0.05).all()
    filled = model.impute(X)
    called = diagnostics.markers(filled, model.labels_, 0).columns
    assert np.count_nonzero(called["fdr"] <= 0.05) > 60
    with refuses("X", naming=["39.5 %"]):
        model.markers(filled, 0)
    complete = PSC(2, n_components=0, affine=True, random_state=0).fit(filled)
    with refuses("X", naming=[" 0 %"]):
        complete.markers(X, 0)


def test_one_group_with_missing_cells_has_no_markers_by_split_halves():
    naive, split = [], []
    for seed in range(10):
        random = np.random.default_rng(seed)
        X = random.normal(size=(60, 30)) + 2.0 * random.normal(size=(60, 1)) * random.normal(
            size=30
        )
        X[random.uniform(size=X.shape) < 0.2] = np.nan
        model = PSC(2, n_components=0, affine=True, n_init=1, random_state=0).fit(X)
        found = model.markers(X, 0, split_half=True, n_nulls=19, random_state=seed).columns
        naive.append((found["fdr"] <= 0.05).any())
        split.append((found["fdr_split"] <= 0.05).any())
    assert np.mean(naive) == 1.0
    assert np.sum(split) <= 3  # of 10 at a rate of .05, with probability .999


def test_what_takes_no_missing_cells_leaves_the_columns_of_halves_empty():
    X, kinds = shifted()
    X[0, 0] = np.nan
    found = diagnostics.markers(X, kinds, estimator=KMeans(2, random_state=0))
    assert np.isnan(found.columns["fdr_split"]).all()
    assert np.isnan(found.one_group)
    assert (found.grade, found.conclusion.code) == (Grade.DOUBTFUL, "no_halves")
    assert np.isfinite(found.columns["fdr"]).all()


def composed(fold, n=60, p=500, depth=3.0):
    """Counts of two types; in the first 30 genes are so many times as high; no others differ."""
    random = np.random.default_rng(0)
    rates = np.tile(random.lognormal(depth, 1.5, p), (n, 1)) * random.lognormal(0, 0.2, (n, 1))
    rates[: n // 3, :30] *= fold
    return random.poisson(rates).astype(float)


def share_called(columns, rate="fdr"):
    """Shares that are called of the genes of `composed` that do not differ, and that do."""
    null = np.array([int(name[1:]) >= 30 for name in columns["variable"]])
    called = columns[rate] <= 0.05
    return called[null].mean(), called[~null].mean()


@pytest.mark.parametrize("fold", [2, 8])
def test_genes_that_do_not_differ_are_not_called_where_others_take_up_the_total(fold):
    X = composed(fold)
    recipe = expression(2, random_state=0).fit(X)
    labels, k = recipe[-1].labels_, int(recipe[-1].labels_[0])
    found = recipe.markers(X, k, split_half=True, n_nulls=19, random_state=0)
    for rate in ("fdr", "fdr_split"):
        wrong, right = share_called(found.columns, rate)
        assert wrong < 0.02
        assert right > 0.8
    assert any("scaled by genes" in note for note in found.notes)
    scaled = np.log2(1 + X * (recipe[0].total_ / X.sum(axis=1, keepdims=True)))
    assert share_called(diagnostics.markers(scaled, labels, k).columns)[0] > 0.03


def test_a_shift_that_most_genes_of_a_cluster_share_is_told_where_zeros_forbid_to_mend_it():
    X = composed(8, n=240, depth=-1.5)  # few genes that nearly all samples express
    recipe = expression(2, random_state=0).fit(X)
    k = int(recipe[-1].labels_[0])
    with warns("shifted") as said:
        found = recipe.markers(X, k)
    facts = said[0].message.parameters
    assert (facts["higher"], facts["cluster"]) == ("lower", k)
    assert 0 < facts["shift"] < 1
    assert found.notes == ()
    assert share_called(found.columns)[0] > 0.02


def test_samples_come_to_one_size_whatever_some_genes_do():
    X = composed(1)
    doubled = X * np.where(np.arange(60) < 30, 2.0, 1.0)[:, None]
    doubled[:, :40] *= np.linspace(1, 50, 60)[:, None]
    same, sized = at_one_size(X), at_one_size(doubled)
    ratio = (sized / np.maximum(same, 1e-9))[:, 40:][X[:, 40:] > 0].reshape(-1)
    np.testing.assert_allclose(ratio / np.median(ratio), 1.0, atol=0.15)
    assert at_one_size(X[:, X.mean(axis=0) < 2]) is None
    few = np.hstack([X[:, X.min(axis=0) > 0][:, :49], np.eye(60)])
    assert at_one_size(few) is None


def test_models_refuse_other_data_and_clusters():
    X, _ = shifted()
    model = PSC(2, n_components=0, affine=True, random_state=0).fit(X)
    said = r"X has shape \(59, 80\)"
    with pytest.raises(ValueError, match=said):
        model.markers(X[1:], 0)
    with refuses("X", naming=["(60, 80)"]):
        model.markers(X[:, 1:], 0)
    with refuses("cluster", 2):
        model.markers(X, 2)
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(80)])
    named = PSC(2, n_components=0, affine=True, n_init=1, random_state=0).fit(frame)
    with pytest.raises(ValueError, match="must be in the same order"):
        named.markers(frame.iloc[:, ::-1], 0)


@pytest.mark.parametrize("other", [lambda X: 2.0**X, lambda X: X[::-1], lambda X: X + 1.0])
def test_models_refuse_values_that_they_were_not_fitted_to(other):
    X, _ = shifted()
    model = PSC(2, n_components=0, affine=True, random_state=0).fit(X)
    k = int(model.labels_[0])
    said = r"not the table the model was fitted to, because the mean of 'x\d+' in cluster \d"
    with pytest.raises(ValueError, match=said):
        model.markers(other(X), k)
    rounded = model.markers(X.astype(np.float32), k)
    assert rounded.columns["variable"][0] == model.markers(X, k).columns["variable"][0]


@pytest.mark.parametrize("nothing", [None, np.nan])
def test_samples_without_a_label_are_named(nothing):
    labels = np.array(["a", "b"] * 10, dtype=object)
    labels[3] = nothing
    with refuses("labels"):
        diagnostics.markers(np.random.default_rng(0).normal(size=(20, 4)), labels)
