"""`SelectedPCA`: scikit-learn's PCA with the number of components that `pca_components` finds."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import multivariate_normal, norm
from sklearn import config_context
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted

from subspaces import SelectedPCA, load
from subspaces.data import varying
from subspaces.diagnostics import pca_components
from subspaces.runtime import model_file
from tests.warned import refuses, warns

# Scikit-learn's checks that fit tables of two columns.
OF_TWO_COLUMNS = (
    "check_estimators_overwrite_params", "check_estimators_fit_returns_self",
    "check_readonly_memmap_input", "check_fit_idempotent", "check_fit_check_is_fitted",
    "check_n_features_in",
)  # fmt: skip


def table(n=80, p=20, r=3, offset=5.0, seed=0):
    random = np.random.default_rng(seed)
    signal = random.normal(size=(n, r)) @ random.normal(size=(r, p))
    return signal + 0.5 * random.normal(size=(n, p)) + offset


NOISE = np.random.default_rng(0).normal(size=(60, 12))


@pytest.fixture
def X():
    return table()


@pytest.mark.parametrize(("n", "p"), [(80, 20), (150, 25), (20, 60)])
def test_it_is_scikit_learns_pca_with_the_number_chosen(n, p):
    X, new = table(n, p, 2), table(30, p, 2, seed=1)
    model = SelectedPCA().fit(X)
    theirs = PCA(model.n_components_, svd_solver="full").fit(X)
    assert model.n_components_ == pca_components(X).n_components == 2
    for name in ("mean_", "explained_variance_", "explained_variance_ratio_", "singular_values_"):
        assert_allclose(getattr(model, name), getattr(theirs, name), rtol=1e-10)
    assert_allclose(model.noise_variance_, theirs.noise_variance_, rtol=1e-10)
    assert (model.n_samples_, model.n_features_in_, model.scale_) == (n, p, None)
    ours, other = model.components_, theirs.components_
    assert_allclose(ours.T @ ours, other.T @ other, atol=1e-10)
    assert_allclose(np.abs(model.transform(new)), np.abs(theirs.transform(new)), atol=1e-10)
    back = theirs.inverse_transform(theirs.transform(new))
    assert_allclose(model.inverse_transform(model.transform(new)), back, atol=1e-10)


def test_scaled_it_is_the_pca_of_standardised_variables(X):
    X = X * np.geomspace(0.01, 100, 20)
    model = SelectedPCA(scale=True).fit(X)
    scaler = StandardScaler().fit(X)
    factor = np.sqrt(80 / 79)  # theirs divides by n
    theirs = PCA(model.n_components_, svd_solver="full").fit(scaler.transform(X))
    assert model.n_components_ == pca_components(X, scale=True).n_components == 3
    assert_allclose(model.scale_, factor * scaler.scale_, rtol=1e-10)
    scores = theirs.transform(scaler.transform(X)) / factor
    assert_allclose(np.abs(model.transform(X)), np.abs(scores), atol=1e-10)
    assert_allclose(model.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-10)
    back = scaler.inverse_transform(theirs.inverse_transform(factor * scores))
    assert_allclose(model.inverse_transform(model.transform(X)), back, atol=1e-8)


def test_without_a_mean_the_axes_pass_through_the_origin(X):
    model = SelectedPCA(center=False).fit(X)
    singular, right = np.linalg.svd(X, full_matrices=False)[1:]
    kept = model.n_components_
    assert kept == pca_components(X, center=False).n_components == 4
    assert_array_equal(model.mean_, 0)
    assert_allclose(model.singular_values_, singular[:kept], rtol=1e-10)
    assert_allclose(model.explained_variance_, singular[:kept] ** 2 / 80, rtol=1e-10)
    assert_allclose(np.abs(model.components_), np.abs(right[:kept]), atol=1e-9)


def test_what_is_said_is_what_pca_components_says(X):
    model, found = SelectedPCA().fit(X), pca_components(X)
    assert (model.low_, model.high_, model.noise_) == (found.low, found.high, found.noise)
    assert_array_equal(model.ratio_, found.ratio)
    assert_array_equal(model.rests_on_, found.rests_on)
    assert (model.verdict_, model.grade_) == (found.verdict, found.grade)


@pytest.mark.parametrize("shape", [(80, 20), (150, 25), (20, 60)])
def test_the_largest_score_of_each_axis_is_positive(shape):
    for seed in range(1, 5):
        X = table(*shape, seed=seed)
        scores = SelectedPCA().fit_transform(X)
        largest = scores[np.argmax(np.abs(scores), axis=0), np.arange(scores.shape[1])]
        assert np.all(largest > 0)
        assert_allclose(SelectedPCA().fit_transform(X[::-1])[::-1], scores, atol=1e-9)


def test_noise_has_no_component():
    with warns("no_component"):
        model = SelectedPCA().fit(NOISE)
    assert model.n_components_ == 0
    assert model.transform(NOISE).shape == (60, 0)
    assert model.components_.shape == (0, 12)
    assert model.get_feature_names_out().tolist() == []
    assert_allclose(model.inverse_transform(np.zeros((2, 0))), [model.mean_] * 2)
    variance = np.trace(np.cov(NOISE.T)) / 12
    assert_allclose(model.noise_variance_, variance, rtol=1e-10)


def test_one_axis_is_kept_where_it_is_asked_for():
    model = SelectedPCA(min_components=1).fit(NOISE)  # warnings are errors here
    assert (model.n_components_, model.low_) == (1, 0)
    assert_allclose(np.abs(model.transform(NOISE)), np.abs(PCA(1).fit_transform(NOISE)), atol=1e-10)
    assert model.grade_ == "doubtful"
    assert model.verdict_.endswith("min_components=1 keeps 1 axis anyway.")
    assert SelectedPCA(min_components=12).fit(NOISE).noise_variance_ == 0.0


def test_variables_that_do_not_vary_have_no_loading(X):
    wide = np.insert(X, [4, 11], [7.0, -3.0], axis=1)
    plain, model = SelectedPCA(scale=True).fit(X), SelectedPCA(scale=True).fit(wide)
    still = [4, 12]
    assert_array_equal(model.components_[:, still], 0)
    assert_array_equal(model.scale_[still], 1)
    assert_array_equal(model.mean_[still], [7.0, -3.0])
    assert_allclose(model.transform(wide), plain.transform(X), atol=1e-10)
    assert_array_equal(model.inverse_transform(model.transform(wide))[:, still], wide[:, still])


def test_a_table_that_does_not_vary():
    with warns("no_component"):
        model = SelectedPCA().fit(np.ones((8, 4)))
    assert model.transform(np.ones((8, 4))).shape == (8, 0)
    assert model.noise_variance_ == 0.0


def test_doubts_are_warned_of(X):
    lonely = pd.DataFrame(NOISE.copy(), index=[f"sample{i}" for i in range(60)])
    lonely.iloc[7] += 5.0
    with warns("rests_on_one") as said:
        SelectedPCA().fit(lonely)
    assert said[0].filename == __file__
    with warns("most_components"):
        SelectedPCA(max_components=2).fit(X)
    with warns("most_components"):
        SelectedPCA(max_components=1).fit(X)
    smooth = np.cumsum(np.random.default_rng(0).normal(size=(120, 60)), axis=1)
    with warns("correlated_noise"):
        assert SelectedPCA().fit(smooth).low_ is None


@pytest.mark.parametrize(
    ("options", "X", "kind", "message"),
    [
        ({}, NOISE[:4], ValueError, "X has 4 samples, but at least 5"),
        ({}, NOISE[:, :2], ValueError, "Only 2 of n_features=2 vary"),
        (
            {},
            np.where(NOISE > 2, np.inf, NOISE),
            ValueError,
            "X contains infinity: inf at .* Use np.nan",
        ),
        ({}, sparse.csr_array(NOISE), TypeError, "X is a sparse matrix. Convert it"),
        ({"center": "no"}, NOISE, TypeError, "center='no' is not a bool"),
        ({"scale": 1}, NOISE, TypeError, "scale=1 is not a bool"),
        ({"method": "loo"}, NOISE, ValueError, "method='loo' is unknown. Use one of auto, equal"),
        ({"max_components": 11}, NOISE, ValueError, "max_components=11 .* 60 samples and 12 var"),
        ({"min_components": -1}, NOISE, ValueError, "min_components=-1 is out of range"),
        ({"min_components": 13}, NOISE, ValueError, "=13 is out of range for X of rank 12"),
        ({"min_components": 3, "max_components": 2}, NOISE, ValueError, "3 is more than max_c"),
    ],
)
def test_what_is_refused(options, X, kind, message):
    with pytest.raises(kind, match=message):
        SelectedPCA(**options).fit(X)


def test_arrays_of_other_libraries_are_refused(X):
    dask_array = pytest.importorskip("dask.array")
    with pytest.raises(TypeError, match=r"X is a Dask array. Load it with X.compute\(\)"):
        SelectedPCA().fit(dask_array.from_array(X))
    torch = pytest.importorskip("torch")
    with config_context(array_api_dispatch=True):
        for call in (SelectedPCA().fit, SelectedPCA().fit(X).transform):
            with pytest.raises(TypeError, match="X is an array of torch"):
                call(torch.asarray(X))


def test_scores_of_another_width_are_refused(X):
    model = SelectedPCA().fit(X)
    with pytest.raises(ValueError, match=r"shape \(5, 2\), but the model has 3 components"):
        model.inverse_transform(np.ones((5, 2)))
    with pytest.raises(ValueError, match="X has 19 features, but SelectedPCA is expecting 20"):
        model.transform(X[:, :-1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_precision_of_the_table_is_kept(X, dtype):
    given = X.astype(dtype)
    model = SelectedPCA().fit(given)
    scores = model.transform(given)
    assert scores.dtype == model.inverse_transform(scores).dtype == dtype
    assert model.transform(pd.DataFrame(given)).dtype == dtype
    assert model.components_.dtype == np.float64
    assert_allclose(scores, SelectedPCA().fit_transform(X), atol=1e-4)


def test_frames_in_and_out(X):
    polars = pytest.importorskip("polars")
    genes, cells = [f"g{j}" for j in range(20)], [f"c{i}" for i in range(80)]
    frame = pd.DataFrame(X, columns=genes, index=cells)
    names = ["selectedpca0", "selectedpca1", "selectedpca2"]
    model = SelectedPCA().set_output(transform="pandas").fit(frame)
    scores = model.transform(frame[::2])
    assert (scores.columns.tolist(), scores.index.tolist()) == (names, cells[::2])
    assert model.feature_names_in_.tolist() == genes
    assert model.get_feature_names_out().tolist() == names
    other = SelectedPCA().set_output(transform="polars").fit(polars.DataFrame(X, schema=genes))
    assert other.transform(polars.DataFrame(X[::2], schema=genes)).columns == names
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(frame[genes[::-1]])
    with warns("no_component"):
        empty = SelectedPCA().set_output(transform="pandas").fit_transform(pd.DataFrame(NOISE))
    assert empty.shape == (60, 0)


def test_clones_pickles_and_pipelines(X):
    model = SelectedPCA(scale=True, max_components=6).fit(X)
    assert clone(model).get_params() == model.get_params()
    assert_array_equal(pickle.loads(pickle.dumps(model)).transform(X), model.transform(X))
    y = X @ np.arange(20.0)
    pipeline = make_pipeline(StandardScaler(), SelectedPCA(), LinearRegression()).fit(X, y)
    assert pipeline[-1].n_features_in_ == 3
    assert pipeline.score(X, y) > 0.9


def test_the_callers_table_is_not_changed(X):
    before = X.copy()
    SelectedPCA(scale=True).fit(X).transform(X)
    assert_array_equal(X, before)


@pytest.mark.filterwarnings("ignore::subspaces.messages.ChoiceWarning")
@pytest.mark.filterwarnings("ignore::subspaces.messages.TrustWarning")
class TestScikitLearnsOwnChecks:
    def test_all_pass_but_those_of_two_columns(self):
        reason = "fits a table of two columns, where no component can be told from noise"
        expected = dict.fromkeys(OF_TWO_COLUMNS, reason)
        results = check_estimator(SelectedPCA(), expected_failed_checks=expected, on_skip=None)
        failed = {each["check_name"] for each in results if each["status"] == "xfail"}
        assert failed == set(OF_TWO_COLUMNS)
        refused = {str(each["exception"]) for each in results if each["status"] == "xfail"}
        assert all(each.startswith("Only 2 of n_features=2 vary") for each in refused)

    def test_nothing_but_the_number_of_columns_fails(self, monkeypatch):
        monkeypatch.setattr(varying, "FEWEST_COLUMNS", 2)
        check_estimator(SelectedPCA(), on_skip=None)


class TestItsFile:
    @pytest.mark.parametrize("options", [{}, {"scale": True}, {"center": False}])
    @pytest.mark.parametrize("gap", [0.0, np.nan])
    def test_what_is_loaded_is_the_same(self, options, gap, tmp_path):
        X = table()
        X[4, 7] += gap
        model = SelectedPCA(**options).fit(X)
        model.save(tmp_path / "pca.npz")
        same = load(tmp_path / "pca.npz")
        check_is_fitted(same)
        assert same.get_params() == model.get_params()
        assert_array_equal(same.transform(X), model.transform(X))
        assert_array_equal(same.impute(X), model.impute(X))
        assert set(vars(same)) == set(vars(model))
        assert same.verdict_ == model.verdict_

    def test_names_and_tables_without_components(self, tmp_path):
        frame = pd.DataFrame(NOISE, columns=[f"v{j}" for j in range(12)])
        with warns("no_component"):
            SelectedPCA().fit(frame).save(tmp_path / "pca.npz")
        same = load(tmp_path / "pca.npz")
        assert same.feature_names_in_.tolist() == list(frame.columns)
        assert same.transform(frame).shape == (60, 0)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"mean_": np.zeros(3)}, "has the wrong type"),
            ({"n_components_": 2}, "components_ has the wrong type"),
            ({"rests_on_": np.full(10, 0.5)}, "its rests_on_ has the wrong"),
            ({"fit": 1}, "the attribute 'fit', which SelectedPCA does not have"),
            ({"n_samples_": None}, "has the wrong type"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, X, change, message, tmp_path):
        path = tmp_path / "pca.npz"
        SelectedPCA().fit(X).save(path)
        saved = model_file.read(path)
        saved.state.update(change)
        model_file.write(path, saved)
        with pytest.raises(ValueError, match=message):
            load(path)


class TestItsLikelihood:
    @pytest.mark.parametrize(("n", "p"), [(80, 20), (150, 25), (20, 60)])
    def test_it_is_scikit_learns(self, n, p):
        X, new = table(n, p, 2), table(30, p, 2, seed=1)
        model = SelectedPCA().fit(X)
        theirs = PCA(model.n_components_, svd_solver="full").fit(X)
        assert_allclose(model.score_samples(new), theirs.score_samples(new), rtol=1e-9)
        assert_allclose(model.score(new), theirs.score(new), rtol=1e-9)

    def test_of_no_components_it_is_that_of_noise(self):
        with warns("no_component"):
            model = SelectedPCA().fit(NOISE)
        each = norm(NOISE.mean(axis=0), np.sqrt(model.noise_variance_)).logpdf(NOISE)
        assert_allclose(model.score_samples(NOISE), each.sum(axis=1), rtol=1e-9)

    def test_of_a_sample_with_holes_it_is_that_of_its_observed_cells(self, X):
        model = SelectedPCA().fit(X)
        held = X[:3].copy()
        held[0, 4:] = np.nan
        spread = model.explained_variance_ - model.noise_variance_
        covariance = (model.components_.T * spread) @ model.components_
        covariance += model.noise_variance_ * np.eye(20)
        expected = multivariate_normal(model.mean_[:4], covariance[:4, :4]).logpdf(X[0, :4])
        assert_allclose(model.score_samples(held)[0], expected, rtol=1e-9)
        assert_allclose(model.score_samples(held)[1:], model.score_samples(X)[1:3], rtol=1e-9)

    def test_scaled_variables_are_scored_in_the_units_of_the_table(self, X):
        scaled = SelectedPCA(scale=True).fit(X)
        by_hand = SelectedPCA().fit(X / scaled.scale_).score_samples(X / scaled.scale_)
        assert_allclose(scaled.score_samples(X), by_hand - np.log(scaled.scale_).sum(), rtol=1e-9)

    def test_a_table_without_noise_is_likelier_than_another(self):
        X = table(40, 10, 2)
        left, values, right = np.linalg.svd(X, full_matrices=False)
        plane = (left[:, :2] * values[:2]) @ right[:2]
        model = SelectedPCA(center=False).fit(plane)
        assert np.isfinite(model.score(plane))
        assert model.score(plane) > model.score(X)

    def test_a_table_that_does_not_vary_has_no_density(self):
        with warns("no_component"):
            model = SelectedPCA().fit(np.ones((8, 4)))
        with refuses("X"):
            model.score(np.ones((8, 4)))
