import os
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans

from subspaces import load, recipes
from subspaces.app.expression_scaler import as_preparation
from subspaces.messages import percent
from subspaces.metrics import adjusted_rand_score
from subspaces.named_table import Table
from subspaces.plots._picture import standardised
from subspaces.preparation import prepare
from subspaces.recipes import ExpressionScaler
from subspaces.subspace import principal_axes
from tests.report.outline import figures_of, numbers
from tests.warned import refuses, warns

CLASSES = np.repeat([0, 1, 2], [18, 25, 12])
OWN_GENES = [range(first, first + 10) for first in (45, 60, 101)]


def intensities(seed=0, p=120):
    """Three classes, each with ten genes of its own; some values negative, as scanners give."""
    random = np.random.default_rng(seed)
    logs = random.normal(7.0, 1.0, (len(CLASSES), p)) + random.normal(0, 1, (len(CLASSES), 1))
    for k in range(3):
        logs[np.ix_(k == CLASSES, OWN_GENES[k])] += 3.0
    return 2.0**logs - 30.0


X = intensities()


def molecules(seed=0, p=400, depth=300.0):
    """The same classes in counts of molecules: many zeros, depths differ."""
    random = np.random.default_rng(seed)
    rates = 2.0 ** np.tile(np.random.default_rng(0).normal(0, 2, p), (len(CLASSES), 1))
    for k in range(3):
        rates[np.ix_(k == CLASSES, OWN_GENES[k])] = 20.0
    rates[:, -40:] = 0.0  # genes that are silent in all
    cells = random.uniform(0.3, 3.0, (len(CLASSES), 1)) * depth
    return random.poisson(cells * rates / rates.sum(axis=1, keepdims=True)).astype(float)


def plain_preparation(X, n_axes, n_genes, floor):
    """The same the long way."""
    logs = np.array([[np.log2(max(value, floor)) for value in row] for row in X])
    centred = np.array([row - row.mean() for row in logs])
    order = sorted(range(X.shape[1]), key=lambda j: -centred[:, j].var())[:n_genes]
    kept = centred[:, sorted(order)]
    ratios = kept - kept.mean(axis=0)
    left, values, right = np.linalg.svd(ratios, full_matrices=False)
    return (left[:, :n_axes] * values[:n_axes]) @ right[:n_axes]


@pytest.mark.parametrize(("n_axes", "n_genes"), [(3, 40), (5, 120), (2, 7)])
def test_the_preparation_is_what_it_says(n_axes, n_genes):
    prepared = ExpressionScaler(n_axes=n_axes, n_genes=n_genes).fit_transform(X)
    assert_allclose(prepared, plain_preparation(X, n_axes, n_genes, 20.0), atol=1e-10)


def test_new_samples_are_prepared_by_what_fit_learned():
    scaler = ExpressionScaler(n_axes=3, n_genes=50).fit(X)
    assert_allclose(scaler.transform(X[4:5]), scaler.transform(X)[4:5], atol=1e-12)


def test_a_sample_measured_brighter_is_the_same_sample():
    bright = np.maximum(X, 20.0)
    factor = np.random.default_rng(1).uniform(1.0, 9.0, (len(X), 1))
    scaler = ExpressionScaler(floor=1e-9)
    assert_allclose(scaler.fit_transform(bright), scaler.fit_transform(bright * factor), atol=1e-9)


def test_data_already_logged_is_said_to_be_and_left_alone():
    logs = np.log2(np.maximum(X, 20.0))
    scaler = ExpressionScaler().fit(logs)
    assert not scaler.logged_
    assert re.fullmatch(
        r"The values were treated as logarithms \(none above 1\S+\): they were kept as they are\.",
        scaler.verdict_,
    )
    assert_allclose(scaler.transform(logs), ExpressionScaler().fit_transform(X), atol=1e-9)
    assert not ExpressionScaler(log="no").fit(logs).logged_
    assert ExpressionScaler(log="yes", floor=1.0).fit(logs).logged_


@pytest.mark.parametrize("depth", [300.0, 2e6], ids=["cells", "tissue"])
def test_counts_are_scaled_to_one_total_and_not_floored(depth):
    counts = molecules(depth=depth)
    model = recipes.expression(3, random_state=0).fit(counts)
    assert adjusted_rand_score(CLASSES, model[-1].labels_) == 1.0
    assert adjusted_rand_score(CLASSES, model.predict(molecules(5, depth=depth))) == 1.0
    scaler = ExpressionScaler(n_genes=None).fit(counts)
    total = min(np.median(counts.sum(axis=1)), 1e6)
    logs = np.log2(1 + counts / counts.sum(axis=1, keepdims=True) * total)
    centred = logs - logs.mean(axis=1, keepdims=True)
    assert_allclose(scaler.transform(counts), centred - centred.mean(axis=0), atol=1e-10)
    assert scaler.verdict_.startswith("The values were treated as counts (whole numbers")
    assert f"each sample was scaled to a total of {total:,.0f} and log2(1 + x)" in scaler.verdict_


def test_a_cell_sequenced_deeper_is_the_same_cell():
    counts = molecules(depth=1e5)
    scaler = ExpressionScaler(kind="counts").fit(counts)
    assert_allclose(scaler.transform(7 * counts), scaler.transform(counts), atol=1e-10)


def test_positive_ratios_are_logged_and_log_ratios_are_not():
    logs = ExpressionScaler(n_genes=None).fit_transform(X) / 1.5
    both = [ExpressionScaler().fit(logs), ExpressionScaler().fit(2.0**logs)]
    assert [scaler.logged_ for scaler in both] == [False, True]
    assert_allclose(both[0].transform(logs), both[1].transform(2.0**logs), atol=1e-9)
    assert "treated as log ratios" in both[0].verdict_
    assert "treated as ratios" in both[1].verdict_
    assert np.isfinite(both[1].transform(np.zeros_like(logs))).all()


def test_a_floor_that_replaces_most_values_is_warned_of():
    dark = np.maximum(X, 1.0)
    with warns("floor"):
        scaler = ExpressionScaler(floor=300).fit(dark)
    done = "values below 300 (79 % of all) were raised to 300 and log2(x) was taken."
    assert scaler.verdict_.endswith(f": {done}")
    with warns("floor"):
        ExpressionScaler(kind="intensities").fit(molecules())
    with warns("floor"):
        ExpressionScaler(floor=20).fit(molecules())


def test_what_the_user_says_overrules_what_the_table_looks_like():
    counts = molecules()
    with warns("floor"):
        as_arrays = ExpressionScaler(kind="intensities", floor=0.5).fit(counts)
    logs = np.log2(np.maximum(counts, 0.5))
    centred = (logs - logs.mean(axis=1, keepdims=True))[:, as_arrays.genes_]
    assert_allclose(as_arrays.transform(counts), centred - centred.mean(axis=0), atol=1e-10)
    assert as_arrays.verdict_.startswith("The values were treated as intensities, as asked:")
    assert ExpressionScaler(kind="log").fit(counts).total_ is None
    assert not ExpressionScaler(log="no").fit(counts).logged_


def test_a_sample_without_counts_is_named():
    counts = molecules()
    scaler = ExpressionScaler().fit(counts)
    counts[7] = 0
    with refuses("X", sample=7):
        scaler.transform(counts)
    with refuses("X", sample=7):
        ExpressionScaler().fit(counts)


def test_samples_and_genes_have_their_names_in_errors():
    names = [f"s{i}" for i in range(55)], [f"gene{j}" for j in range(400)]
    counts = pd.DataFrame(molecules(), *names).astype(float)
    scaler = ExpressionScaler().fit(counts)
    empty = counts.copy()
    empty.iloc[[7, 9]] = 0.0
    for fails in (scaler.transform, ExpressionScaler().fit):
        with refuses("X", sample="s7"):
            fails(empty)
    counts.iloc[3, 14] = np.nan
    for fails in (scaler.transform, ExpressionScaler().fit, recipes.expression(2).fit):
        with refuses("X", gap="sample 's3' has no value for 'gene14'"):
            fails(counts)
    with refuses("X", gap="sample 3 has no value for 'x14'"):
        ExpressionScaler().fit(counts.to_numpy())
    counts.iloc[3, 14] = -1.0
    with refuses("log", -5.71875) as raised:
        scaler.transform(counts)
    facts = raised.value.parameters
    assert (facts["sample"], facts["variable"]) == ("s3", "gene14")


def test_leading_axes_alone_are_those_of_the_whole_decomposition():
    random = np.random.default_rng(0)
    table = random.normal(size=(700, 5)) @ random.normal(size=(5, 600)) + 8.0
    table += 0.3 * random.normal(size=table.shape)
    found = ExpressionScaler(n_axes=5, kind="log").fit(table)
    ratios = ExpressionScaler(kind="log").fit_transform(table)
    expected = principal_axes(ratios).basis[:, :5]
    assert_allclose(found.axes_.T @ found.axes_, expected @ expected.T, atol=1e-10)
    assert_allclose(ExpressionScaler(n_axes=5, kind="log").fit(table).axes_, found.axes_, atol=0)
    flat = np.outer(random.normal(size=700), random.normal(size=600))
    assert ExpressionScaler(n_axes=5, kind="log").fit(flat).axes_.shape == (1, 600)


def test_the_classes_are_found_and_new_samples_placed():
    model = recipes.expression(3, random_state=0).fit(X)
    assert adjusted_rand_score(CLASSES, model[-1].labels_) == 1.0
    assert adjusted_rand_score(CLASSES, model.predict(intensities(seed=5))) > 0.9
    assert_array_equal(clone(model).fit(X)[-1].labels_, model[-1].labels_)


@pytest.mark.parametrize("options", [{}, {"centre_samples": False}, {"floor": 0.5}])
@pytest.mark.parametrize("logs", [False, True], ids=["counts", "logarithms"])
@pytest.mark.filterwarnings("ignore::subspaces.messages.DataWarning")
def test_a_sparse_table_is_prepared_as_the_dense_one_is(options, logs):
    counts = np.log1p(molecules()) if logs else molecules()
    dense = ExpressionScaler(n_genes=60, n_axes=3, **options).fit(counts)
    found = ExpressionScaler(n_genes=60, n_axes=3, **options).fit(sparse.csr_matrix(counts))
    assert_array_equal(found.genes_, dense.genes_)
    assert found.verdict_ == dense.verdict_
    assert_allclose(found.transform(sparse.coo_array(counts)), dense.transform(counts), atol=1e-9)
    assert_allclose(dense.project(counts) @ dense.axes_, dense.transform(counts), atol=1e-12)


def test_bad_sparse_tables_are_refused():
    counts = sparse.csr_matrix(molecules())
    with refuses("X", n=1, needed=2):
        ExpressionScaler().fit(counts[:1])
    counts.data[3] = np.nan
    with refuses("X", naming=["NaN"]):
        ExpressionScaler().fit(counts)
    empty = sparse.csr_matrix(np.vstack([molecules(), np.zeros(400)]))
    with refuses("X", sample=55):
        ExpressionScaler().fit(empty)


def logarithms(counts):
    return np.log1p(300 * counts / counts.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix, logarithms])
def test_types_of_cells_are_found_and_new_cells_placed(make):
    model = recipes.single_cell(3, random_state=0).fit(make(molecules()))
    assert adjusted_rand_score(CLASSES, model[-1].labels_) == 1.0
    assert adjusted_rand_score(CLASSES, model.predict(make(molecules(5)))) == 1.0
    assert model["prepare"].n_axes == 3
    assert model["prepare"].kind_ == ("log" if make is logarithms else "counts")


def test_cells_may_have_small_subspaces_and_few_genes():
    model = recipes.single_cell(4, n_components=1, n_genes=50)
    assert (model["prepare"].n_axes, model["prepare"].n_genes) == (8, 50)
    assert model["cluster"].criterion == "likelihood"


def test_percentages_and_shares_are_left_alone():
    shares = 1 / (1 + 2.0 ** (6 - np.log2(np.maximum(X, 20.0))))
    for factor, name in ((1, "shares"), (100, "percentages")):
        scaler = ExpressionScaler().fit(factor * shares)
        assert f"treated as {name} (" in scaler.verdict_
        assert scaler.verdict_.endswith("they were kept as they are.")
        assert not scaler.logged_


def test_names_that_are_no_genes_are_warned_of():
    table = pd.DataFrame(X, columns=[f"gene{j}" for j in range(X.shape[1])])
    with warns("batch"):
        ExpressionScaler().fit(table.assign(Batch=np.arange(len(X)) % 2))
    with warns("swapped"):
        ExpressionScaler().fit(pd.DataFrame(X.T, table.columns, [f"s{i}" for i in range(len(X))]))
    twice = table.rename(columns={"gene3": "gene7"})
    with refuses("X", twice="gene7"):
        ExpressionScaler().fit(twice)


def test_scaled_counts_are_called_so():
    counts = molecules()
    tpm = 1e6 * counts / counts.sum(axis=1, keepdims=True)
    assert "were treated as scaled counts such as TPM (" in ExpressionScaler().fit(tpm).verdict_


def test_genes_that_are_silent_in_all_change_nothing():
    counts = molecules()
    silent = np.hstack([counts, np.zeros((len(counts), 30))])
    options = {"kind": "counts", "centre_samples": False, "n_genes": None}
    found = ExpressionScaler(**options).fit(silent)
    expected = ExpressionScaler(**options).fit_transform(counts)
    assert_allclose(found.transform(silent)[:, :400], expected, atol=1e-12)


def test_genes_are_named():
    table = pd.DataFrame(X, columns=[f"gene{j}" for j in range(X.shape[1])])
    model = recipes.expression(3, random_state=0).set_params(prepare__n_genes=40).fit(table)
    names = model[:-1].get_feature_names_out()
    assert len(names) == 40
    for k in range(3):
        centre = model[-1].subspaces_[model[-1].labels_[k == CLASSES][0]].centre
        furthest = names[np.argsort(-centre)[:10]]
        assert set(furthest) == {f"gene{j}" for j in OWN_GENES[k]}


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_sparse_loadings_name_genes_too():
    table = pd.DataFrame(X, columns=[f"gene{j}" for j in range(X.shape[1])])
    model = recipes.expression(3, n_variables=10, random_state=0).set_output(transform="pandas")
    model.fit(table)
    assert model["prepare"].axes_ is None
    assert not model[-1].affine
    for k in range(3):
        own = model[-1].get_variables(np.bincount(model[-1].labels_[k == CLASSES]).argmax())
        assert sum(int(name.removeprefix("gene")) in OWN_GENES[k] for name in own) >= 9


def test_the_axes_are_as_many_as_the_flats_can_span():
    assert recipes.expression(4)["prepare"].n_axes == 4
    assert recipes.expression(4, n_components=2)["prepare"].n_axes == 12
    assert recipes.expression(4, n_variables=9)["prepare"].n_axes is None
    assert recipes.expression(4, n_variables=9)["cluster"].n_components == 1
    assert recipes.expression(3, n_components=[0, 1, 2])["prepare"].n_axes == 6


def test_mean_profiles_go_by_distance_and_flats_by_likelihood():
    assert recipes.expression(4)["cluster"].criterion == "loo"
    assert recipes.expression(4, n_components=2)["cluster"].criterion == "likelihood"
    assert recipes.expression(2, n_components=[0, 1])["cluster"].criterion == "likelihood"
    assert recipes.expression(4, n_variables=9)["cluster"].criterion == "auto"


@pytest.mark.parametrize("options", [{"n_clusters": "auto"}, {"n_components": "auto"}])
def test_what_the_axes_depend_on_is_given(options):
    with pytest.raises(ValueError, match="='auto' does not work in a recipe"):
        recipes.expression(**options)


def test_the_callers_array_is_not_changed():
    before = X.copy()
    ExpressionScaler(n_axes=2).fit(X).transform(X)
    assert_array_equal(X, before)


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        ({"floor": 1e9}, "floor"),
        ({"floor": 0.0}, "floor"),
        ({"kind": "genes"}, "kind"),
        ({"kind": "ratios", "log": "yes"}, "kind"),
        ({"kind": "counts"}, "kind"),
        ({"log": "maybe"}, "log"),
        ({"n_genes": 0}, "n_genes"),
        ({"n_axes": 0}, "n_axes"),
    ],
)
def test_bad_settings(options, refused):
    with refuses(refused):
        ExpressionScaler(**options).fit(X)


FOLDER = os.environ.get("SUBSPACES_DATA")
FILES = ("leukemia", "novartis", "lung_cancer", "cns_tumors")


@pytest.mark.skipif(not FOLDER, reason="SUBSPACES_DATA names no folder with gene_expression/")
@pytest.mark.parametrize("name", FILES)
# Most values of the CNS tumours were floored at 10.
@pytest.mark.filterwarnings("ignore::subspaces.messages.DataWarning")
def test_real_samples_are_placed_as_well_as_by_k_means(name):
    data = np.load(Path(FOLDER) / "gene_expression" / f"{name}.npz")
    n_clusters = len(np.unique(data["y"]))
    model = recipes.expression(n_clusters, random_state=0).fit(data["X"])
    means = KMeans(n_clusters, n_init=20, random_state=0).fit(model[0].transform(data["X"]))
    reached = adjusted_rand_score(data["y"], means.labels_) - 0.01
    assert adjusted_rand_score(data["y"], model[-1].labels_) >= reached


@pytest.mark.skipif(not FOLDER, reason="SUBSPACES_DATA names no folder with omics/")
@pytest.mark.parametrize("name", ["laiho", "tomlins"])
def test_no_single_sample_is_cut_off(name):
    data = np.load(Path(FOLDER) / "omics" / f"{name}.npz")
    model = recipes.expression(len(np.unique(data["y"])), random_state=0).fit(data["X"])
    assert np.bincount(model[-1].labels_).min() > 1


OMICS = {"sc_celseq2": 0.9, "rnamix_celseq2": 0.9, "risinger": 0.2}


@pytest.mark.skipif(not FOLDER, reason="SUBSPACES_DATA names no folder with omics/")
@pytest.mark.parametrize("name", OMICS)
def test_real_counts_and_ratios(name):
    data = np.load(Path(FOLDER) / "omics" / f"{name}.npz")
    model = recipes.expression(len(np.unique(data["y"])), random_state=0).fit(data["X"])
    assert adjusted_rand_score(data["y"], model[-1].labels_) >= OMICS[name]


@pytest.mark.parametrize("data", [X, np.log2(np.maximum(X, 1.0)), molecules()])
def test_a_model_file_can_hold_what_the_scaler_does(data):
    names = tuple(f"g{j}" for j in range(data.shape[1]))
    scaler = ExpressionScaler(n_axes=3, n_genes=40).fit(data)
    table = Table(data, tuple(map(str, range(len(data)))), names)
    prepared = prepare(table, as_preparation(scaler, names))
    assert_allclose(prepared.data, scaler.transform(data), atol=1e-12)
    assert list(prepared.variable_names) == scaler.get_feature_names_out(names).tolist()


@pytest.fixture(scope="module")
def frame():
    counts = molecules()
    genes = [f"g{j}" for j in range(counts.shape[1])]
    return pd.DataFrame(counts, [f"c{i}" for i in range(len(counts))], genes)


@pytest.fixture(scope="module")
def recipe(frame):
    return recipes.single_cell(3, n_genes=200, random_state=0).fit(frame)


class TestTheRecipeAsOneModel:
    def test_the_last_step_knows_the_names_of_the_genes_and_samples(self, recipe, frame, tmp_path):
        unnamed = recipes.single_cell(3, n_genes=200, random_state=0).fit(frame.to_numpy())
        places = unnamed[0].genes_[unnamed[-1].get_variables(0, by="difference")]
        assert_array_equal(recipe[-1].get_variables(0, by="difference"), frame.columns[places])
        assert recipe[-1].record_.sample_names[3] == "c3"
        page = recipe[-1].report(path=tmp_path / "page.html").read_text()
        assert "g45" in page
        assert re.search(r"\bx45\b", re.sub(r"[\w+/=]{200,}", "", page)) is None
        assert "c3" in page

    def test_names_warn_of_nothing_and_go_with_the_next_fit(self, frame):
        recipe = recipes.expression(3, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert_array_equal(recipe.fit_predict(frame), recipe.labels_)
            assert_array_equal(recipe.predict(frame), recipe.labels_)
        assert recipe[-1].get_variables(0)[0].startswith("g")
        assert recipe.fit(frame.to_numpy())[-1].get_variables(0).dtype.kind == "i"
        assert recipe[-1].record_.sample_names is None

    def test_names_of_the_last_step_are_in_its_file(self, recipe, tmp_path):
        recipe[-1].save(tmp_path / "last.npz")
        same = load(tmp_path / "last.npz")
        assert_array_equal(same.get_variables(1), recipe[-1].get_variables(1))

    def test_its_labels_are_those_of_its_last_step(self, recipe):
        assert recipe.labels_ is recipe[-1].labels_
        with pytest.raises(AttributeError, match="labels_"):
            _ = recipes.expression(3).labels_

    def test_its_page_has_the_preparation_and_the_names(self, recipe, frame, tmp_path):
        without = recipe.report(path=tmp_path / "one.html").read_text()
        page = recipe.report(frame, tmp_path / "two.html").read_text()
        for text in (without, page):
            assert "amples scaled to a total of" in text
            assert "g45" in text
        assert "differ by more than chance" in page  # effects need the deviations of all axes
        assert not hasattr(recipe[-1], "preparation_")

    def test_the_heat_map_of_its_page_has_the_values_before_the_axes(self, recipe, frame, tmp_path):
        step = clone(recipe[0]).set_params(n_axes=None).fit(frame)
        scaled = standardised(step.transform(frame))
        whole = pd.DataFrame(scaled, frame.index, step.get_feature_names_out())
        heat = figures_of(recipe.report(frame, tmp_path / "page.html").read_text())["heat-map"]
        cells = heat["data"][-1]
        expected = whole.loc[heat["layout"]["meta"]["samples"], cells["meta"]].T.to_numpy()
        assert_allclose(numbers(cells["z"]), expected.ravel(), atol=0.0051)

    def test_its_page_has_shares_of_the_whole_prepared_table(self, recipe, frame, tmp_path):
        whole = clone(recipe[0]).set_params(n_axes=None).fit(frame).transform(frame)
        rows = recipe[0].transform(frame)
        kept = np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False)[:2] ** 2
        shares = kept / np.sum((whole - whole.mean(axis=0)) ** 2)
        page = recipe.report(frame, tmp_path / "page.html").read_text()
        for r in (0, 1):
            assert f"axis {r + 1} ({percent(shares[r])} of the variance)" in page

    @pytest.mark.parametrize("kind", ["frame", "array", "sparse"])
    def test_its_file_keeps_the_preparation(self, frame, kind, tmp_path):
        table = {
            "frame": frame, "array": frame.to_numpy(), "sparse": sparse.csr_matrix(frame.to_numpy())
        }[kind]  # fmt: skip
        recipe = recipes.single_cell(3, n_genes=200, random_state=0).fit(table)
        recipe.save(tmp_path / "recipe.npz")
        same = load(tmp_path / "recipe.npz")
        dense = frame if kind == "frame" else frame.to_numpy()
        new = dense[::2]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert_array_equal(same.predict(new), recipe.predict(new))
        assert_array_equal(same.labels_, recipe.labels_)
        ours, theirs = recipe.markers(dense, 1).table, same.markers(dense, 1).table
        assert ours["variable"].tolist() == theirs["variable"].tolist()
        if kind == "frame":
            shuffled = frame[frame.columns[::-1]]
            assert_array_equal(same.predict(shuffled), recipe.labels_)

    def test_other_clusterers_have_no_file_and_no_page(self):
        recipe = recipes.expression(3, random_state=0).set_params(cluster=KMeans(3, n_init=1))
        recipe.fit(X)
        with refuses("cluster", kind=TypeError):
            recipe.save("nowhere.npz")
        with refuses("cluster", kind=TypeError):
            recipe.report()


def test_complex_tables_are_refused_sparse_ones_too():
    values = np.exp(np.random.default_rng(1).normal(size=(20, 6)))
    for table in (values * 1j, sparse.csr_array(values * (1 + 1j))):
        with refuses("X"):
            ExpressionScaler(kind="log").fit(table)
