"""`PCA`: scikit-learn's PCA, with the number of components that `pca_components` finds."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal, norm
from sklearn import decomposition
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted

from subspaces import PCA, load
from subspaces.diagnostics import pca_components
from subspaces.runtime import model_file
from tests.warned import refuses, warns


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
    model = PCA().fit(X)
    theirs = decomposition.PCA(model.n_components_, svd_solver="full").fit(X)
    assert model.n_components_ == pca_components(X).n_components == 2
    for name in ("mean_", "explained_variance_", "explained_variance_ratio_", "singular_values_"):
        assert_allclose(getattr(model, name), getattr(theirs, name), rtol=1e-10)
    assert_allclose(model.noise_variance_, theirs.noise_variance_, rtol=1e-10)
    assert (model.n_samples_, model.n_features_in_, model.scale_) == (n, p, None)
    assert_allclose(model.components_, theirs.components_, atol=1e-10)
    assert_allclose(model.transform(new), theirs.transform(new), atol=1e-10)
    assert_allclose(model.get_covariance(), theirs.get_covariance(), atol=1e-10)
    assert_allclose(model.get_precision(), theirs.get_precision(), rtol=1e-8, atol=1e-9)
    back = theirs.inverse_transform(theirs.transform(new))
    assert_allclose(model.inverse_transform(model.transform(new)), back, atol=1e-10)


def test_scaled_it_is_the_pca_of_standardised_variables(X):
    X = X * np.geomspace(0.01, 100, 20)
    model = PCA(scale=True).fit(X)
    scaler = StandardScaler().fit(X)
    factor = np.sqrt(80 / 79)  # theirs divides by n
    theirs = decomposition.PCA(model.n_components_, svd_solver="full").fit(scaler.transform(X))
    assert model.n_components_ == pca_components(X, scale=True).n_components == 3
    assert_allclose(model.scale_, factor * scaler.scale_, rtol=1e-10)
    scores = theirs.transform(scaler.transform(X)) / factor
    assert_allclose(np.abs(model.transform(X)), np.abs(scores), atol=1e-10)
    assert_allclose(model.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-10)
    back = scaler.inverse_transform(theirs.inverse_transform(factor * scores))
    assert_allclose(model.inverse_transform(model.transform(X)), back, atol=1e-8)


def test_without_a_mean_the_axes_pass_through_the_origin(X):
    model = PCA(center=False).fit(X)
    singular, right = np.linalg.svd(X, full_matrices=False)[1:]
    kept = model.n_components_
    assert kept == pca_components(X, center=False).n_components == 4
    assert_array_equal(model.mean_, 0)
    assert_allclose(model.singular_values_, singular[:kept], rtol=1e-10)
    assert_allclose(model.explained_variance_, singular[:kept] ** 2 / 80, rtol=1e-10)
    assert_allclose(np.abs(model.components_), np.abs(right[:kept]), atol=1e-9)


@pytest.mark.parametrize("n_components", ["auto", 2, None])
def test_the_choice_is_what_pca_components_says(X, n_components):
    model, found = PCA(n_components).fit(X), pca_components(X)
    assert (model.choice_.verdict, model.choice_.grade) == (found.verdict, found.grade)
    assert_allclose(model.choice_.ratio, found.ratio, rtol=1e-9)
    assert_array_equal(model.choice_.rests_on, found.rests_on)
    assert_allclose(model.choice_.loco, found.loco, rtol=1e-9)
    assert str(model).startswith(found.verdict)


@pytest.mark.parametrize("n_components", [0, 1, 5, 0.3, 0.9, 0.999, None])
@pytest.mark.parametrize(("n", "p"), [(80, 20), (12, 30)])
def test_a_number_a_share_or_all(n, p, n_components):
    X = table(n, p)
    model, theirs = PCA(n_components).fit(X), decomposition.PCA(n_components).fit(X)
    assert model.n_components_ == theirs.n_components_
    assert model.components_.shape == theirs.components_.shape
    assert_allclose(model.explained_variance_, theirs.explained_variance_, rtol=1e-9, atol=1e-12)
    own = model.components_
    assert_allclose(own @ own.T, np.eye(len(own)), atol=1e-10)


def test_noise_has_no_component():
    with warns("no_component"):
        model = PCA().fit(NOISE)
    assert model.n_components_ == 0
    assert model.transform(NOISE).shape == (60, 0)
    assert model.components_.shape == (0, 12)
    assert model.get_feature_names_out().tolist() == []
    assert_allclose(model.inverse_transform(np.zeros((2, 0))), [model.mean_] * 2)
    variance = np.trace(np.cov(NOISE.T)) / 12
    assert_allclose(model.noise_variance_, variance, rtol=1e-10)


def test_one_axis_is_kept_if_it_is_asked_for():
    model = PCA(1).fit(NOISE)  # warnings are errors here
    assert_allclose(model.transform(NOISE), decomposition.PCA(1).fit_transform(NOISE), atol=1e-10)
    assert model.choice_.low == 0
    assert "kept 1 of 12" in str(model)


@pytest.mark.parametrize("shape", [(3, 30), (30, 2), (30, 1), (2, 2)])
def test_a_small_table_gets_an_answer_and_a_doubt(shape):
    X = table(30, 30)[: shape[0], : shape[1]]
    with warns("too_small"):
        model = PCA().fit(X)
    theirs = decomposition.PCA(1).fit(X)
    assert model.choice_.grade == "no"
    assert model.choice_.conclusion.code == "too_small"
    assert_allclose(model.transform(X), theirs.transform(X), atol=1e-10)
    assert PCA(1).fit(X).n_components_ == 1  # warnings are errors here


@pytest.mark.parametrize("options", [{}, {"scale": True}, {"center": False}])
@pytest.mark.parametrize(("n", "p"), [(40, 6), (15, 40)])
def test_a_weight_is_how_often_a_sample_counts(options, n, p):
    X = table(n, p, 2)
    weights = np.random.default_rng(0).integers(0, 4, n)
    model = PCA(2, **options).fit(X, sample_weight=weights)
    repeated = PCA(2, **options).fit(np.repeat(X, weights, axis=0))
    for name in ("mean_", "components_", "explained_variance_", "explained_variance_ratio_"):
        assert_allclose(getattr(model, name), getattr(repeated, name), atol=1e-9)
    assert_allclose(model.noise_variance_, repeated.noise_variance_, rtol=1e-9)
    errors = np.repeat(model.influence_.loo_error, weights)
    assert_allclose(errors, repeated.influence_.loo_error, rtol=1e-8)
    by_hand = PCA(2, **options).fit(X[weights > 0], sample_weight=weights[weights > 0])
    assert_allclose(model.components_, by_hand.components_, atol=1e-10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chosen = PCA(**options).fit(X, sample_weight=weights).choice_
        assert chosen.verdict == pca_components(np.repeat(X, weights, axis=0), **options).verdict
    ones = PCA(**options).fit(X, sample_weight=np.ones(n))
    assert_allclose(ones.components_, PCA(**options).fit(X).components_, atol=1e-10)


def test_whitened_scores_have_unit_variance(X):
    model = PCA(whiten=True).fit(X)
    theirs = decomposition.PCA(3, whiten=True).fit(X)
    scores = model.transform(X)
    assert_allclose(scores, theirs.transform(X), atol=1e-10)
    assert_allclose(model.inverse_transform(scores), theirs.inverse_transform(scores), atol=1e-10)
    assert_allclose(model.get_covariance(), PCA().fit(X).get_covariance(), atol=1e-10)


def test_the_sample_that_a_component_rests_on():
    X = table(60, 10, 2)
    X[17] += 60.0 * np.linalg.svd(X - X.mean(axis=0))[2][5]
    model = PCA(3).fit(X)
    assert model.rests_on_[0] == 17
    assert model.influence_.loo_error.argmax() == model.influence_.leverage.argmax() == 17


def test_variables_that_do_not_vary_have_no_loading(X):
    wide = np.insert(X, [4, 11], [7.0, -3.0], axis=1)
    plain, model = PCA(scale=True).fit(X), PCA(scale=True).fit(wide)
    still = [4, 12]
    assert_array_equal(model.components_[:, still], 0)
    assert_array_equal(model.scale_[still], 1)
    assert_array_equal(model.mean_[still], [7.0, -3.0])
    assert_allclose(model.transform(wide), plain.transform(X), atol=1e-10)
    assert_array_equal(model.inverse_transform(model.transform(wide))[:, still], wide[:, still])


def test_a_table_that_does_not_vary():
    with warns("no_component"):
        model = PCA().fit(np.ones((8, 4)))
    assert model.transform(np.ones((8, 4))).shape == (8, 0)
    assert model.noise_variance_ == 0.0


def test_doubts_are_warned_of(X):
    lonely = pd.DataFrame(NOISE.copy(), index=[f"sample{i}" for i in range(60)])
    lonely.iloc[7] += 5.0
    with warns("rests_on_one") as said:
        PCA().fit(lonely)
    assert said[0].filename == __file__
    smooth = np.cumsum(np.random.default_rng(0).normal(size=(120, 60)), axis=1)
    with warns("correlated_noise"):
        assert PCA().fit(smooth).choice_.low is None


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"center": "no"}, "center"),
        ({"scale": 1}, "scale"),
        ({"whiten": None}, "whiten"),
        ({"robust": "yes"}, "robust"),
        ({"rotation": "promax"}, "rotation"),
        ({"n_components": "mle"}, "n_components"),
        ({"n_components": -1}, "n_components"),
        ({"n_components": 13}, "n_components"),
        ({"n_components": 1.0}, "n_components"),
        ({"n_components": 0.0}, "n_components"),
        ({"n_components": True}, "n_components"),
    ],
)
def test_what_is_refused(options, parameter):
    with refuses(parameter):
        PCA(**options).fit(NOISE)


def test_samples_that_are_refused():
    with refuses("X"):
        PCA().fit(NOISE[:1])
    with refuses("X"):
        PCA().fit(np.where(NOISE > 2, np.inf, NOISE))
    with refuses("sample_weight"):
        PCA().fit(NOISE, sample_weight=np.full(60, 1 / 60))
    with refuses("sample_weight"):
        PCA().fit(np.where(NOISE > 2, np.nan, NOISE), sample_weight=np.full(60, 2.0))


def test_scores_of_another_width_are_refused(X):
    model = PCA().fit(X)
    with refuses("X", naming=["(5, 2)"]):
        model.inverse_transform(np.ones((5, 2)))
    with pytest.raises(ValueError, match="X has 19 features, but PCA is expecting 20"):
        model.transform(X[:, :-1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_precision_of_the_table_is_kept(X, dtype):
    given = X.astype(dtype)
    model = PCA().fit(given)
    scores = model.transform(given)
    assert scores.dtype == model.inverse_transform(scores).dtype == dtype
    assert model.transform(pd.DataFrame(given)).dtype == dtype
    assert model.components_.dtype == model.get_covariance().dtype == dtype
    assert_allclose(scores, PCA().fit_transform(X), atol=1e-4)


def test_frames_in_and_out(X):
    polars = pytest.importorskip("polars")
    genes, cells = [f"g{j}" for j in range(20)], [f"c{i}" for i in range(80)]
    frame = pd.DataFrame(X, columns=genes, index=cells)
    names = ["pca0", "pca1", "pca2"]
    model = PCA().set_output(transform="pandas").fit(frame)
    scores = model.transform(frame[::2])
    assert (scores.columns.tolist(), scores.index.tolist()) == (names, cells[::2])
    assert model.feature_names_in_.tolist() == genes
    assert model.get_feature_names_out().tolist() == names
    other = PCA().set_output(transform="polars").fit(polars.DataFrame(X, schema=genes))
    assert other.transform(polars.DataFrame(X[::2], schema=genes)).columns == names
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(frame[genes[::-1]])
    with warns("no_component"):
        empty = PCA().set_output(transform="pandas").fit_transform(pd.DataFrame(NOISE))
    assert empty.shape == (60, 0)


@pytest.mark.filterwarnings("ignore::subspaces.messages.ChoiceWarning")
@pytest.mark.filterwarnings("ignore::subspaces.messages.TrustWarning")
@pytest.mark.filterwarnings("ignore::subspaces.messages.DataWarning")
def test_scikit_learns_own_checks():
    check_estimator(PCA(), on_skip=None)


class TestItsFile:
    @pytest.mark.parametrize("options", [{}, {"scale": True}, {"center": False}])
    @pytest.mark.parametrize("gap", [0.0, np.nan])
    def test_what_is_loaded_is_the_same(self, options, gap, tmp_path):
        X = table()
        X[4, 7] += gap
        model = PCA(**options).fit(X)
        model.save(tmp_path / "pca.npz")
        same = load(tmp_path / "pca.npz")
        check_is_fitted(same)
        assert same.get_params() == model.get_params()
        assert_array_equal(same.transform(X), model.transform(X))
        assert_array_equal(same.impute(X), model.impute(X))
        assert set(vars(same)) == set(vars(model))
        assert same.choice_.verdict == model.choice_.verdict
        assert_array_equal(same.influence_.loo_error, model.influence_.loo_error)

    def test_names_and_tables_without_components(self, tmp_path):
        frame = pd.DataFrame(NOISE, columns=[f"v{j}" for j in range(12)])
        with warns("no_component"):
            PCA().fit(frame).save(tmp_path / "pca.npz")
        same = load(tmp_path / "pca.npz")
        assert same.feature_names_in_.tolist() == list(frame.columns)
        assert same.transform(frame).shape == (60, 0)

    @pytest.mark.parametrize("change", [{"n_features_in_": 3}, {"fit": 1}, {"fit_": None}])
    def test_what_does_not_fit_is_refused(self, X, change, tmp_path):
        path = tmp_path / "pca.npz"
        PCA().fit(X).save(path)
        saved = model_file.read(path)
        saved.state.update(change)
        model_file.write(path, saved)
        with pytest.raises(ValueError, match="damaged"):
            load(path)


class TestItsLikelihood:
    @pytest.mark.parametrize(("n", "p"), [(80, 20), (150, 25), (20, 60)])
    def test_it_is_scikit_learns(self, n, p):
        X, new = table(n, p, 2), table(30, p, 2, seed=1)
        model = PCA().fit(X)
        theirs = decomposition.PCA(model.n_components_, svd_solver="full").fit(X)
        assert_allclose(model.score_samples(new), theirs.score_samples(new), rtol=1e-9)
        assert_allclose(model.score(new), theirs.score(new), rtol=1e-9)

    def test_of_no_components_it_is_that_of_noise(self):
        with warns("no_component"):
            model = PCA().fit(NOISE)
        each = norm(NOISE.mean(axis=0), np.sqrt(model.noise_variance_)).logpdf(NOISE)
        assert_allclose(model.score_samples(NOISE), each.sum(axis=1), rtol=1e-9)

    def test_of_a_sample_with_holes_it_is_that_of_its_observed_cells(self, X):
        model = PCA().fit(X)
        held = X[:3].copy()
        held[0, 4:] = np.nan
        spread = model.explained_variance_ - model.noise_variance_
        covariance = (model.components_.T * spread) @ model.components_
        covariance += model.noise_variance_ * np.eye(20)
        expected = multivariate_normal(model.mean_[:4], covariance[:4, :4]).logpdf(X[0, :4])
        assert_allclose(model.score_samples(held)[0], expected, rtol=1e-9)
        assert_allclose(model.score_samples(held)[1:], model.score_samples(X)[1:3], rtol=1e-9)

    def test_scaled_variables_are_scored_in_the_units_of_the_table(self, X):
        scaled = PCA(scale=True).fit(X)
        by_hand = PCA().fit(X / scaled.scale_).score_samples(X / scaled.scale_)
        assert_allclose(scaled.score_samples(X), by_hand - np.log(scaled.scale_).sum(), rtol=1e-9)

    def test_a_table_without_noise_is_likelier_than_another(self):
        X = table(40, 10, 2)
        left, values, right = np.linalg.svd(X, full_matrices=False)
        plane = (left[:, :2] * values[:2]) @ right[:2]
        model = PCA(center=False).fit(plane)
        assert np.isfinite(model.score(plane))
        assert model.score(plane) > model.score(X)

    def test_a_table_that_does_not_vary_has_no_density(self):
        with warns("no_component"):
            model = PCA().fit(np.ones((8, 4)))
        with refuses("X"):
            model.score(np.ones((8, 4)))
