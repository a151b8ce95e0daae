import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, multivariate_t
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from subspaces import MCFA, MPPCA, MCtFA
from subspaces.datasets import make_scenario, make_subspaces
from subspaces.metrics import rand_score
from tests.plain import generic
from tests.warned import refuses, warns

MODELS = [
    MPPCA(3, n_components=2, random_state=0),
    MPPCA(3, n_components=2, noise="shared", random_state=0),
    MCFA(3, n_components=4, random_state=0),
    MCtFA(3, n_components=4, random_state=0),
    MCtFA(3, n_components=4, df=5.0, random_state=0),
]


def names(model):
    extra = getattr(model, "noise", getattr(model, "df", ""))
    return f"{type(model).__name__}-{extra}"


@pytest.fixture(scope="module")
def union():
    return make_subspaces([40, 50, 30], 8, [2, 1, 2], noise=0.1, offset=0.8, random_state=0)


@pytest.fixture(scope="module", params=MODELS, ids=names)
def fitted(request, union):
    return request.param.fit(union.data)


def dense_log_joint(model, X):
    """From the attributes alone."""
    columns = []
    for k, weight in enumerate(model.weights_):
        if isinstance(model, MPPCA):
            basis, noise = model.subspaces_[k].basis, model.noise_variance_[k]
            covariance = noise * np.eye(X.shape[1])
            covariance += (basis * (model.explained_variance_[k] - noise)) @ basis.T
            law = multivariate_normal(model.means_[k], covariance)
        else:
            covariance = model.loadings_ @ model.factor_covariances_[k] @ model.loadings_.T
            covariance += np.diag(model.noise_variance_)
            law = multivariate_t(model.means_[k], covariance, df=model.df_[k])
        columns.append(np.log(weight) + law.logpdf(X))
    return np.column_stack(columns)


def test_densities_are_those_of_the_attributes(fitted, union):
    X = union.data[::3] + 0.05
    plain = dense_log_joint(fitted, X)
    density = logsumexp(plain, axis=1)
    assert_allclose(fitted.transform(X), -plain, rtol=1e-9)
    assert_allclose(fitted.score_samples(X), density, rtol=1e-9)
    assert_allclose(fitted.score(X), density.mean(), rtol=1e-9)
    assert_allclose(fitted.predict_proba(X), np.exp(plain - density[:, None]), atol=1e-9)
    assert_array_equal(fitted.predict(X), plain.argmax(axis=1))


def test_the_record_of_the_fit(fitted, union):
    X = union.data
    path = fitted.log_likelihood_path_
    assert_array_equal(fitted.labels_, fitted.predict(X))
    assert np.diff(path).min() >= -1e-10 * abs(path[-1])
    assert (fitted.n_iter_, fitted.stop_reason_) == (len(path) - 1, "converged")
    assert_allclose([fitted.log_likelihood_, -fitted.objective_], path[-1], rtol=1e-9)
    assert_allclose(fitted.score(X) * len(X), path[-1], rtol=1e-9)
    assert fitted.bic_ == fitted.bic(X)
    reached = [row["log_likelihood"] for row in fitted.starts_ if row["stop_reason"] == "converged"]
    assert len(fitted.starts_) == 10
    assert_allclose(max(reached), path[-1])
    assert_allclose(fitted.weights_.sum(), 1.0)


def test_the_clusters_are_found(fitted, union):
    assert rand_score(union.target, fitted.labels_) > 0.97
    assert fitted.labels_[0] == 0


def test_flats_hold_their_members(fitted, union):
    X, shares = union.data, fitted.predict_proba(union.data)
    for k, flat in enumerate(fitted.subspaces_):
        r = fitted.n_components_[k]
        assert_allclose(flat.basis.T @ flat.basis, np.eye(r), atol=1e-10)
        energy = shares[:, k] @ ((X - flat.centre) @ flat.basis) ** 2
        assert_allclose(flat.spectrum, energy, rtol=1e-9)
        assert_allclose(flat.centre, fitted.means_[k])
    if isinstance(fitted, MPPCA):
        sizes = fitted.weights_ * len(X)
        assert_allclose(fitted.subspaces_[1].spectrum, sizes[1] * fitted.explained_variance_[1])
    assert np.mean((X - fitted.reconstruct(X)) ** 2) < 0.1 * X.var()
    assert [len(row) for row in fitted.project(X)] == fitted.n_components_[fitted.labels_].tolist()


@pytest.mark.parametrize("model", MODELS[:2], ids=names)
def test_order_and_scale_of_the_data_do_not_matter(model):
    X = make_subspaces([40, 50, 30], 6, [1, 1, 1], noise=0.2, offset=3.0, random_state=0).data
    order = np.random.default_rng(0).permutation(len(X))
    model = clone(model).set_params(n_init=4)
    whole = model.fit(X).score_samples(X)
    assert_allclose(model.fit(X[order]).score_samples(X), whole, atol=0.05)
    scaled = model.fit(X * 1e-3).score_samples(X * 1e-3)
    assert_allclose(scaled + 6 * np.log(1e-3), whole, atol=0.05)


def test_mppca_turns_and_moves_with_the_data(union):
    X = union.data
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(8, 8)))[0]
    model = MPPCA(3, n_components=2, random_state=0)
    before, labels = model.fit(X).score_samples(X), model.labels_
    after = model.fit(X @ turn + 7.0).score_samples(X @ turn + 7.0)
    assert_allclose(after, before, atol=1e-2)
    assert_array_equal(model.labels_, labels)


@pytest.mark.parametrize("shape", [(60, 7), (25, 40)])
def test_one_component_is_scikit_learns_pca(shape):
    n, p = shape
    X = generic(n, p, decay=0.9)
    model, pca = MPPCA(1, n_components=3, random_state=0).fit(X), PCA(3).fit(X)
    # scikit-learn divides by n - 1; it spreads the noise of wide data over min(n, p) directions
    directions = (min(n, p) - 3) / (p - 3)
    noise = pca.noise_variance_ * (n - 1) / n * directions
    assert_allclose(model.noise_variance_, [noise], rtol=1e-8)
    assert_allclose(model.explained_variance_[0], pca.explained_variance_ * (n - 1) / n, rtol=1e-8)
    pca.explained_variance_ = pca.explained_variance_ * (n - 1) / n
    pca.noise_variance_ = noise
    assert_allclose(model.score_samples(X), pca.score_samples(X), rtol=1e-8)
    assert_allclose(model.score(X), pca.score(X), rtol=1e-8)


def test_many_degrees_of_freedom_are_mcfa(union):
    X = union.data
    settings = {"n_components": 4, "n_init": 2, "random_state": 0}
    gaussian = MCFA(3, **settings).fit(X)
    nearly = MCtFA(3, df=1e8, **settings).fit(X)
    exactly = MCtFA(3, df=np.inf, **settings).fit(X)
    assert_allclose(nearly.log_likelihood_, gaussian.log_likelihood_, rtol=1e-6)
    assert_array_equal(nearly.labels_, gaussian.labels_)
    assert exactly.log_likelihood_ == gaussian.log_likelihood_
    assert_array_equal(exactly.labels_, gaussian.labels_)
    assert np.isinf(gaussian.df_).all()


def test_estimated_tails_are_likelier_than_given_ones_and_cost_parameters():
    X = generic(300, 6) * 3 / np.sqrt(np.random.default_rng(0).chisquare(3, size=(300, 1)))
    free = MCtFA(1, n_components=2, random_state=0, n_init=2).fit(X)
    given = MCtFA(1, n_components=2, df=30.0, random_state=0, n_init=2).fit(X)
    assert free.log_likelihood_ > given.log_likelihood_ + 10
    assert 1.5 < free.df_[0] < 6
    gap = free.bic_ + 2 * free.log_likelihood_ - given.bic_ - 2 * given.log_likelihood_
    assert_allclose(gap, np.log(300))


def test_factor_scores_give_back_the_samples(union):
    X = union.data
    model = MCFA(3, n_components=4, random_state=0).fit(X)
    scores = model.factor_scores(X)
    assert scores.shape == (120, 4)
    assert np.mean((scores @ model.loadings_.T - X) ** 2) < 1.5 * model.noise_variance_.mean()


def test_one_dimension_per_cluster():
    lines = make_subspaces([60, 60], 10, [1, 4], noise=0.1, offset=1.0, random_state=0)
    model = MPPCA(2, n_components=[1, 4], noise="shared", random_state=0).fit(lines.data)
    assert model.n_components_.tolist() == [1, 4]
    assert rand_score(lines.target, model.labels_) == 1.0


@pytest.mark.parametrize("name", list("abcde"))
def test_noise_free_scenarios_are_finite_and_found(name):
    scenario = make_scenario(name, random_state=3)
    dimensions = scenario.n_components
    q = min(int(dimensions.sum()), scenario.data.shape[1])
    for model in (
        MCtFA(len(dimensions), n_components=q, n_init=4, random_state=0),
        MPPCA(len(dimensions), n_components=dimensions.tolist(), n_init=4, random_state=0),
    ):
        model.fit(scenario.data)
        assert np.isfinite(model.log_likelihood_path_).all()
        assert rand_score(scenario.target, model.labels_) > 0.95


@pytest.mark.parametrize("model", [MPPCA(2), MCFA(2), MCtFA(2)], ids=names)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_awkward_data(model):
    model.set_params(n_init=4, random_state=0)
    random = np.random.default_rng(0)
    base = random.normal(size=(12, 4))
    constant = np.hstack([base, np.full((12, 1), 3.0), np.zeros((12, 1))])
    for X in (constant, np.repeat(base[:2], 6, axis=0), base[:, :1], np.vstack([base, 0 * base])):
        kept = X.copy()
        model.fit(X)
        assert np.isfinite(model.score_samples(X)).all()
        assert_array_equal(X, kept)
        assert_array_equal(model.labels_, model.predict(X))
    with refuses("X"):
        model.fit(np.ones((12, 3)))


@pytest.mark.parametrize(
    ("model", "refused"),
    [
        (MPPCA(noise="white"), "noise"),
        (MPPCA(n_components=9), "n_components"),
        (MPPCA(tol=-1), "tol"),
        (MCFA(n_components=[1, 2]), "n_components"),
        (MCFA(60), "n_clusters"),
        (MCtFA(df=0), "df"),
        (MCtFA(df="many"), "df"),
        (MCtFA(n_init=0), "n_init"),
    ],
)
def test_what_is_wrong_is_said(model, refused, union):
    with refuses(refused):
        model.fit(union.data)


def test_an_unfinished_climb_is_said(union):
    with warns("max_iter", kind=ConvergenceWarning):
        MCtFA(3, n_components=2, max_iter=2, random_state=0).fit(union.data)


def test_clusters_without_samples_are_said():
    # one factor cannot tell two of the three apart: both means are the same
    blobs, _ = make_blobs(n_samples=50, random_state=1)
    blobs = (blobs - blobs.mean(axis=0)) / blobs.std(axis=0)
    with warns("empty_clusters", kind=ConvergenceWarning):
        model = MCFA(3, n_components=1, random_state=0).fit(blobs)
    assert model.labels_.max() == 1


@pytest.mark.parametrize("model", [MCtFA(2, n_components=2), MPPCA(2, n_components=2)], ids=names)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_nothing_of_the_size_of_p_squared_is_formed(model):
    X = make_subspaces([20, 20], 3000, [2, 2], noise=0.1, random_state=0).data
    model.set_params(random_state=0, max_iter=5)
    tracemalloc.start()
    model.fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.1 * 8 * 3000**2
