"""Missing cells in PSC, KSubspaces and MPPCA: known answers, limits, laws, refusals."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import subspaces
from subspaces import GPCA, MCFA, MPPCA, PSC, SCC, SLBF, SSC, KSubspaces, MiniBatchPSC, SparseKMeans
from subspaces.core import incomplete
from subspaces.datasets import make_scenario, make_subspaces
from subspaces.metrics import matched_accuracy
from subspaces.runtime.warning import collect_warnings
from tests.warned import codes_of, refuses

UNION = make_subspaces([60, 60, 60], 16, [2, 2, 2], noise=0.06, random_state=0)
HOLES = np.random.default_rng(1).random(UNION.data.shape) < 0.2
X = np.where(HOLES, np.nan, UNION.data)
MODELS = {
    "PSC": PSC(3, n_components=2, random_state=0),
    "affine": PSC(3, n_components=2, affine=True, random_state=0),
    "KSubspaces": KSubspaces(3, n_components=2, random_state=0),
    "MPPCA": MPPCA(3, n_components=2, random_state=0),
}


def fitted(name, rows=X):
    with collect_warnings():
        return clone(MODELS[name]).fit(rows)


@pytest.fixture(scope="module")
def models():
    return {name: fitted(name) for name in MODELS}


@pytest.mark.parametrize("name", MODELS)
def test_clusters_and_cells_are_found_through_the_holes(name, models):
    model = models[name]
    assert matched_accuracy(UNION.target, model.labels_) > 0.93
    assert_array_equal(model.predict(X), model.labels_)
    assert model.missing_share_ == pytest.approx(HOLES.mean())
    filled = model.impute(X)
    assert_array_equal(filled[~HOLES], X[~HOLES])
    assert np.std((filled - UNION.data)[HOLES]) < 0.55 * np.std(UNION.data[HOLES])
    assert model.transform(X).shape == (180, 3)
    assert model.transform(X).argmin(axis=1).tolist() == model.labels_.tolist()
    assert np.all(np.isfinite(model.reconstruct(X)))
    assert [len(row) for row in model.project(X)] == [2] * 180


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_a_complete_table_predicts_rows_with_holes(name):
    model = fitted(name, UNION.data)
    assert model.missing_share_ == 0.0
    some = X.copy()
    some[::2] = UNION.data[::2]
    labels = model.predict(some)
    assert_array_equal(labels[::2], model.predict(UNION.data)[::2])
    assert np.mean(labels[1::2] == model.labels_[1::2]) > 0.9
    assert_allclose(model.transform(some)[::2], model.transform(UNION.data)[::2])
    assert_array_equal(model.impute(UNION.data), UNION.data)
    assert_allclose(model.reconstruct(some)[::2], model.reconstruct(UNION.data)[::2])


WIDE = make_subspaces([20, 20], 60, [2, 2], noise=0.1, random_state=5)


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("criterion", ["auto", "likelihood", "influence", "hat", None])
@pytest.mark.parametrize("union", [UNION, WIDE], ids=["long", "wide"])
def test_a_model_of_a_complete_table_scores_all_rows_in_one_unit(union, criterion, affine):
    n_clusters = len(union.n_components)
    if criterion is None:
        model = KSubspaces(n_clusters, n_components=2, affine=affine, random_state=0)
    else:
        model = PSC(n_clusters, n_components=2, affine=affine, criterion=criterion, random_state=0)
    model.fit(union.data)
    scores, score = model.transform(union.data), model.score(union.data)
    one = union.data.copy()
    one[7, 3] = np.nan
    assert model.score(one) == pytest.approx(score, rel=0.005)
    assert_allclose(model.transform(one)[7], scores[7], rtol=0.2)
    for share, near in ((0.1, 0.03), (0.4, 0.15)):
        holes = np.random.default_rng(2).random(one.shape) < share
        some = np.where(holes, np.nan, union.data)
        some[::5] = union.data[::5]
        found = model.transform(some)
        assert_array_equal(found.argmin(axis=1), model.predict(some))
        assert_allclose(found[::5], scores[::5])
        assert_allclose(model.transform(some[3:5]), found[3:5])
        assert model.score(some) == pytest.approx(score, rel=near)


@pytest.mark.parametrize("name", MODELS)
def test_answers_do_not_depend_on_the_other_rows(name, models):
    model = models[name]
    assert_allclose(model.transform(X[:5]), model.transform(X)[:5], rtol=1e-10)
    assert_allclose(model.impute(X[:5]), model.impute(X)[:5], rtol=1e-10)


@pytest.mark.parametrize("name", MODELS)
def test_a_saved_model_answers_as_before(name, models, tmp_path):
    model = models[name]
    model.save(tmp_path / "model.npz")
    again = subspaces.load(tmp_path / "model.npz")
    assert again.missing_share_ == model.missing_share_
    assert_array_equal(again.predict(X), model.labels_)
    assert_allclose(again.impute(X), model.impute(X))
    model.report(path=tmp_path / "page.html")


@pytest.mark.parametrize("name", MODELS)
def test_scores_are_the_densities_of_observed_cells(name, models):
    model = models[name]
    mixture = model._mixture()
    costs = incomplete.joint_costs(incomplete.observed_cells(X), mixture)
    assert_allclose(model.transform(X), costs, rtol=1e-8)
    chances = np.exp(-costs - (-costs).max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    assert_array_equal(chances.argmax(axis=1), model.labels_)


def test_unequal_dimensions_and_the_order_of_clusters():
    union = make_scenario("e", noise=0.05, n_features=60, random_state=0)
    holes = np.random.default_rng(0).random(union.data.shape) < 0.1
    dimensions = [int(r) for r in union.n_components]
    with collect_warnings():
        model = PSC(4, n_components=dimensions, random_state=0)
        model.fit(np.where(holes, np.nan, union.data))
    assert model.n_components_.tolist() == dimensions
    assert [f.basis.shape[1] for f in model.subspaces_] == dimensions
    assert matched_accuracy(union.target, model.labels_) > 0.9


def test_equal_clusters_are_numbered_by_their_first_sample(models):
    for model in models.values():
        first = [np.flatnonzero(model.labels_ == k)[0] for k in range(3)]
        assert first == sorted(first)


def test_attributes_of_psc(models):
    model = models["PSC"]
    assert model.criterion_ == "likelihood"
    assert model.scores_are_likelihoods_
    assert not hasattr(model, "score_variance_")
    assert model.influence_.shape == (180,)
    assert np.all(model.influence_ >= 0)
    whole = PSC(3, n_components=2, random_state=0).fit(UNION.data)
    assert model.press_ == pytest.approx(whole.press_, rel=0.25)
    assert model.noise_variance_ == pytest.approx(whole.noise_variance_, rel=0.15)
    own = model.transform(X)[np.arange(180), model.labels_]
    assert model.objective_ == pytest.approx(own.sum())
    assert np.all(np.diff(model.objective_path_) <= 1e-6 * np.abs(model.objective_path_[1:]))


@pytest.mark.parametrize("model", [PSC, KSubspaces])
@pytest.mark.parametrize("seed", [24, 28, 31])
def test_labels_are_predictions_for_samples_between_clusters_too(model, seed):
    union = make_subspaces([40, 40, 40], 12, [2, 2, 2], noise=0.15, random_state=seed)
    holes = np.random.default_rng(100 + seed).random(union.data.shape) < 0.3
    rows = np.where(holes, np.nan, union.data)
    with collect_warnings():
        found = model(3, n_components=2, n_init=2, random_state=0).fit(rows)
    assert_array_equal(found.predict(rows), found.labels_)


@pytest.mark.parametrize("name", MODELS)
def test_max_iter_counts_and_is_told(name):
    model = clone(MODELS[name]).set_params(max_iter=1)
    with collect_warnings() as caught:
        model.fit(X)
    assert model.n_iter_ <= 10
    assert model.stop_reason_ == "max_iter"
    told = [each for each in caught if isinstance(each, ConvergenceWarning)]
    assert "max_iter" in codes_of(told)
    with collect_warnings() as caught:
        clone(MODELS[name]).fit(X)
    assert "max_iter" not in codes_of(caught)


def test_the_error_left_out_is_that_of_all_cells():
    ratios = []
    for seed in range(8):
        union = make_subspaces([60, 60], 12, [2, 2], noise=0.05, random_state=seed)
        holes = np.random.default_rng(seed).random(union.data.shape) < 0.3
        model = PSC(2, n_components=2, random_state=0)
        whole = model.fit(union.data).press_
        with collect_warnings():
            ratios.append(model.fit(np.where(holes, np.nan, union.data)).press_ / whole)
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.06)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("value", [50.0, 1.0])
def test_a_variable_that_hardly_any_sample_has_is_not_believed(name, value):
    rows = np.column_stack([X / np.nanstd(X), np.full(180, np.nan)])
    rows[17, -1] = value
    with collect_warnings() as caught:
        model, without = clone(MODELS[name]).fit(rows), clone(MODELS[name]).fit(rows[:, :-1])
    assert "empty_variables" in codes_of(caught)
    assert_array_equal(model.labels_, without.labels_)
    assert_array_equal(model.predict(rows), model.labels_)
    assert_allclose(model.transform(rows), without.transform(rows[:, :-1]), rtol=0.01, atol=0.1)
    filled = model.impute(rows)
    assert_allclose(filled[:, :-1], without.impute(rows[:, :-1]), atol=0.01)
    expected = 0.0 if name in ("PSC", "KSubspaces") else value
    assert_allclose(np.delete(filled[:, -1], 17), expected, atol=1e-6)


def test_place_and_unit_do_not_matter_where_flats_have_centres():
    one, other = fitted("affine"), fitted("affine", 1e3 * X + 5e3)
    assert np.mean(one.labels_ == other.labels_) > 0.99
    assert_allclose(other.impute(1e3 * X + 5e3), 1e3 * one.impute(X) + 5e3, rtol=1e-3)


def test_the_same_seed_gives_the_same_answer(models):
    again = fitted("PSC")
    assert_array_equal(again.labels_, models["PSC"].labels_)
    assert_array_equal(again.impute(X), models["PSC"].impute(X))


def test_frames_masked_arrays_and_nullable_columns(models):
    labels = models["PSC"].labels_
    frame = pd.DataFrame(X).astype("Float64")
    masked = np.ma.masked_array(UNION.data, mask=HOLES)
    for table in (pd.DataFrame(X), frame, masked):
        assert_array_equal(fitted("PSC", table).labels_, labels)


def test_many_rows_are_filled_and_read_in_passes():
    union = make_subspaces([4000, 4000, 4000], 12, [2, 2, 2], noise=0.05, random_state=0)
    holes = np.random.default_rng(0).random(union.data.shape) < 0.1
    rows = np.where(holes, np.nan, union.data)
    names = [f"g{j}" for j in range(12)]
    frame, masked = pd.DataFrame(rows, columns=names), np.ma.masked_array(union.data, mask=holes)
    found = []
    for table in (rows, frame, masked):
        with collect_warnings():
            found.append(PSC(3, n_components=2, random_state=0).fit(table))
        assert_array_equal(found[-1].labels_, found[0].labels_)
        assert_array_equal(found[-1].predict(table), found[0].labels_)
        assert_array_equal(np.asarray(found[-1].impute(table))[~holes], union.data[~holes])
    assert matched_accuracy(union.target, found[0].labels_) > 0.95
    assert found[1].feature_names_in_.tolist() == names
    frame.loc[3, "g1"] = np.inf
    with refuses("X", place="row 3, column 'g1'"):
        PSC(3).fit(frame)
    with refuses("X", naming=["NaN"]):
        MiniBatchPSC(3).fit(frame)


def test_low_values_that_are_missing_are_told():
    chance = 1.0 / (1.0 + np.exp(12.0 * UNION.data + 2.0))
    low = np.random.default_rng(0).random(UNION.data.shape) < chance
    low[:, low.all(axis=0)] = False
    with collect_warnings() as caught:
        PSC(3, n_components=2, random_state=0).fit(np.where(low, np.nan, UNION.data))
    assert "missing_low" in codes_of(caught)
    with collect_warnings() as caught:
        PSC(3, n_components=2, random_state=0).fit(X)
    assert "missing_low" not in codes_of(caught)


def test_a_single_hole_is_not_told_as_low():
    for place in range(12):
        one = UNION.data.copy()
        one[place, 3] = np.nan
        with collect_warnings() as caught:
            KSubspaces(3, n_components=2, n_init=1, random_state=0).fit(one)
        assert "missing_low" not in codes_of(caught)


@pytest.mark.parametrize("missing", [2, 15])
def test_samples_that_were_not_measured_are_not_told_as_low(missing):
    random = np.random.default_rng(0)
    birds = np.column_stack([random.normal([40, 17, 200, 4000], size=(340, 4)), np.arange(340)])
    birds[random.choice(340, missing, replace=False), :4] = np.nan
    with collect_warnings() as caught:
        KSubspaces(3, n_components=1, n_init=1, random_state=0).fit(birds)
    assert "missing_low" not in codes_of(caught)


def test_samples_with_few_values_are_counted():
    sparse_rows = X.copy()
    sparse_rows[3, 2:] = np.nan
    sparse_rows[3, :2] = 0.1
    with collect_warnings() as caught:
        PSC(3, n_components=2, random_state=0).fit(sparse_rows)
    assert "empty_samples" in codes_of(caught)


def test_samples_with_values_enough_for_one_cluster_are_not_counted():
    few = UNION.data.copy()
    few[3, 2:] = np.nan
    with collect_warnings() as caught:
        PSC(3, n_components=[1, 2, 2], random_state=0).fit(few)
    assert "empty_samples" not in codes_of(caught)


@pytest.mark.parametrize("name", MODELS)
def test_rows_and_columns_without_values_are_refused(name):
    model, bad = clone(MODELS[name]), X.copy()
    bad[7] = np.nan
    with refuses("X", places="row 7"):
        model.fit(bad)
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(16)])
    frame["g4"] = np.nan
    with refuses("X", places="column 'g4'"):
        model.fit(frame)
    frame = frame.set_axis([f"s{i}" for i in range(len(X))])
    frame[["g6", "g9"]] = np.nan
    with refuses("X", naming=["'g4'", "'g6'", "X.dropna(axis=1, how='all')"]):
        model.fit(frame)
    assert model.fit(frame.dropna(axis=1, how="all")).n_features_in_ == 13
    frame.iloc[7] = np.nan
    with refuses("X", places="row 's7'"):
        model.fit(frame)
    with refuses("X", naming=["np.isnan(X)"]):
        model.fit(np.where(np.arange(16) < 8, np.nan, X))
    with refuses("X", naming=["row 0"]):
        model.fit(np.where(np.arange(16) == 0, np.inf, X))
    with refuses("X", naming=["Row 0"]):
        model.fit(np.full((10, 4), np.nan))
    with refuses("X", places="row 7"):
        model.fit(X).predict(bad)


@pytest.mark.parametrize("options", [{"refine": "descent"}, {"criterion": "loo_projection"}])
def test_what_needs_every_cell_is_refused(options):
    name = next(iter(options))
    with pytest.raises(ValueError, match=rf"{name}=.*impute"):
        PSC(**{"n_clusters": 3, "n_components": 2, **options}).fit(X)


def test_numbers_are_chosen_through_holes():
    union = make_subspaces([60, 50, 70], 12, [2, 1, 2], noise=0.1, offset=1.0, random_state=1)
    holes = np.random.default_rng(0).random(union.data.shape) < 0.05
    rows = np.where(holes, np.nan, union.data)
    model = PSC("auto", n_components="auto", affine="auto", random_state=0).fit(rows)
    assert sorted(model.n_components_) == [1, 2, 2]
    assert model.affine_
    assert matched_accuracy(union.target, model.labels_) > 0.95


@pytest.mark.parametrize(
    "model", [SSC(2), SCC(2), SLBF(2), GPCA(2), MCFA(2), SparseKMeans(2), MiniBatchPSC(2),
              PSC(2, n_variables=3)],
)  # fmt: skip
def test_others_refuse_holes_and_name_the_way_out(model):
    with refuses("X", naming=["NaN", "PSC"]):
        model.fit(X)
    assert not hasattr(model, "impute")


def test_sparse_matrices_refuse_holes():
    with refuses("X", naming=["NaN"]):
        PSC(2).fit(sparse.csr_array(X))


@pytest.mark.parametrize("name", MODELS)
def test_the_tag_says_that_holes_are_taken(name):
    assert MODELS[name].__sklearn_tags__().input_tags.allow_nan
    assert not PSC(2, n_variables=3).__sklearn_tags__().input_tags.allow_nan


@pytest.mark.parametrize("cls", [PSC, KSubspaces])
def test_a_fit_that_converged_is_not_told_to_go_on(cls):
    union = make_subspaces([60, 60], 12, [2, 2], noise=0.2, random_state=77)
    random = np.random.default_rng(7)
    rows = np.where(random.random(union.data.shape) < 0.4, np.nan, union.data)
    for max_iter in (2, 5, 50):
        with collect_warnings() as caught:
            model = cls(2, n_components=2, max_iter=max_iter, random_state=0).fit(rows)
        told = "max_iter" in codes_of(caught)
        assert told == (model.stop_reason_ == "max_iter")
