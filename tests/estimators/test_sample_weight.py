"""Weights of samples: 2 is the sample twice, 0 its absence; and scikit-learn's tests of K-means."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.cluster.tests import test_k_means as peers
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from subspaces import MPPCA, PSC, SSC, KSubspaces, load
from subspaces.datasets import make_subspaces
from subspaces.messages import ParameterTypeError
from tests.warned import refuses

UNION = make_subspaces([30, 30, 30], 6, [1, 2, 1], noise=0.1, offset=1.0, random_state=0)
X, Y = UNION.data, UNION.target
WEIGHTS = np.random.default_rng(0).integers(0, 4, size=90).astype(float)
AGAIN = np.repeat(np.arange(90), WEIGHTS.astype(int))
# Some labels to begin with are wrong.
FIRST = np.where(np.random.default_rng(1).random(90) < 0.8, Y, 0)
KINDS = {
    "PSC": lambda init: PSC(3, n_components=[1, 2, 1], affine=True, init=init),
    "influence": lambda init: PSC(3, criterion="influence", init=init),
    "sparse": lambda init: PSC(3, n_components=2, n_variables=3, init=init),
    "refined": lambda init: PSC(3, affine=True, refine="ppca", init=init),
    "KSubspaces": lambda init: KSubspaces(3, n_components=[1, 2, 1], affine=True, init=init),
}
MEASURED = ("objective_", "press_", "noise_variance_", "cluster_means_", "within_std_")


@pytest.mark.filterwarnings("ignore::subspaces.messages.SubspacesWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_a_weight_counts_as_so_many_equal_samples(kind):
    weighted = KINDS[kind](FIRST).fit(X, sample_weight=WEIGHTS)
    repeated = KINDS[kind](FIRST[AGAIN]).fit(X[AGAIN])
    assert_array_equal(weighted.labels_[AGAIN], repeated.labels_)
    for name in MEASURED:
        if hasattr(repeated, name):
            assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-10)
    if hasattr(repeated, "influence_"):
        assert_allclose(weighted.influence_[AGAIN], repeated.influence_, rtol=1e-8)
        assert np.isnan(weighted.influence_[WEIGHTS == 0]).all()
        assert_allclose(weighted.probabilities_[AGAIN], repeated.probabilities_, atol=1e-9)
        absent = X[WEIGHTS == 0]
        assert_allclose(weighted.probabilities_[WEIGHTS == 0], weighted.predict_proba(absent))
        assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-9)
    assert_allclose(weighted.fit_.sizes, repeated.fit_.sizes)
    assert_array_equal(weighted.labels_[WEIGHTS == 0], weighted.predict(X[WEIGHTS == 0]))
    assert_array_equal(weighted.get_params()["init"], FIRST)


@pytest.mark.filterwarnings("ignore::subspaces.messages.SubspacesWarning")
@pytest.mark.parametrize("kind", ["many rows", "sparse", "wide and sparse"])
@pytest.mark.parametrize("criterion", ["influence", "hat", "likelihood", "residual"])
@pytest.mark.parametrize("affine", [False, True])
def test_a_weight_counts_as_so_many_equal_samples_in_passes(kind, criterion, affine):
    n, p = (3400, 5) if kind == "many rows" else (60, 5 if kind == "sparse" else 210)
    union = make_subspaces([n, n, n], p, [1, 2, 1], noise=0.1, offset=1.0, random_state=0)
    random, rows = np.random.default_rng(0), union.data
    weights = random.integers(0, 4, size=3 * n).astype(float)
    first = np.where(random.random(3 * n) < 0.9, union.target, 0)
    again = np.repeat(np.arange(3 * n), weights.astype(int))
    model = PSC(3, n_components=[1, 2, 1], affine=affine, criterion=criterion, random_state=0)
    if criterion == "residual":
        model = KSubspaces(3, n_components=[1, 2, 1], affine=affine, random_state=0)
    held = np.asarray if kind == "many rows" else sparse.csr_array
    weighted = clone(model).set_params(init=first).fit(held(rows), sample_weight=weights)
    repeated = clone(model).set_params(init=first[again]).fit(held(rows[again]))
    assert_array_equal(weighted.labels_[again], repeated.labels_)
    assert_allclose(weighted.fit_.sizes, repeated.fit_.sizes)
    names = {*MEASURED} - ({"noise_variance_", "objective_"} if p > 200 else set())  # by a sample
    for name in names & vars(repeated).keys():
        assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-7, atol=1e-12)
    if hasattr(repeated, "influence_"):
        assert_allclose(weighted.influence_[again], repeated.influence_, rtol=1e-5)
        assert np.isnan(weighted.influence_[weights == 0]).all()


def test_many_rows_are_searched_by_weight():
    """A cluster of light samples and one of samples that are not there."""
    union = make_subspaces([4000, 4000, 4000], 5, [1, 1, 1], noise=0.05, random_state=0)
    weights = np.array([1.0, 1e-3, 0.0])[union.target]
    model = PSC(2, random_state=0).fit(union.data, sample_weight=weights)
    assert np.mean(model.labels_[:8000] == union.target[:8000]) > 0.95
    assert_array_equal(model.labels_[8000:], model.predict(union.data[8000:]))
    assert_allclose(model.fit_.sizes.sum(), 4004.0)


@pytest.mark.parametrize("noise", ["own", "shared"])
def test_a_mixture_of_weighted_samples_is_that_of_equal_ones(noise):
    weighted, repeated = (
        MPPCA(3, n_components=1, noise=noise, tol=1e-9, random_state=0).fit(*data)
        for data in ((X, None, WEIGHTS), (X[AGAIN],))
    )
    names = ("log_likelihood_", "bic_", "weights_", "means_", "noise_variance_", "within_std_")
    for name in names:
        assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-6)
    assert_allclose(weighted.subspaces_[1].spectrum, repeated.subspaces_[1].spectrum, rtol=1e-6)
    assert_array_equal(weighted.labels_, repeated.predict(X))


@pytest.mark.parametrize("model", [PSC(3), KSubspaces(3, affine=True), MPPCA(3, n_init=2)])
def test_weights_of_one_are_no_weights_bit_for_bit(model):
    model.set_params(random_state=0)
    plain, found = clone(model).fit(X), clone(model).fit(X, sample_weight=np.ones(90, dtype=int))
    assert vars(plain).keys() == vars(found).keys()
    assert plain.labels_.tobytes() == found.labels_.tobytes()
    assert plain.transform(X).tobytes() == found.transform(X).tobytes()
    assert plain.objective_ == found.objective_


@pytest.mark.parametrize("model", [PSC(3), KSubspaces(3, affine=True), MPPCA(3, n_init=4)])
def test_a_search_with_weights_finds_the_clusters(model):
    """Of weights that sum to one, too, which say nothing of the number of samples."""
    union = make_subspaces([60, 60, 60], 8, [1, 1, 1], noise=0.02, random_state=0)
    weights = np.random.default_rng(0).uniform(size=180)
    model.set_params(random_state=0)
    for scale in (1.0, 1.0 / weights.sum(), 100.0):
        found = model.fit_predict(union.data, sample_weight=scale * weights)
        assert np.mean(found == union.target) > 0.98


def test_noise_does_not_depend_on_the_unit_of_small_weights():
    weights = np.random.default_rng(0).uniform(size=90)
    model = PSC(3, n_components=[1, 2, 1], affine=True, criterion="residual", init=Y)
    first = model.fit(X, sample_weight=0.1 * weights).noise_variance_
    assert model.fit(X, sample_weight=1e-3 * weights).noise_variance_ == pytest.approx(first)
    assert first == pytest.approx(model.fit(X).noise_variance_, rel=0.2)


def test_a_heavy_sample_moves_its_cluster():
    model = KSubspaces(2, n_components=0, affine=True, init=np.array([0, 0, 0, 1, 1]))
    points = np.array([[0.0], [0.1], [1.0], [9.0], [10.0]])
    model.fit(points, sample_weight=[1, 1, 98, 1, 1])
    assert_allclose(model.subspaces_[0].centre, [98.1 / 100])
    assert_allclose(model.objective_, 0.981**2 + 0.881**2 + 98 * 0.019**2 + 0.5)


WRONG = {
    "negative": np.where(np.arange(90) == 3, -1.0, 1.0),
    "nan": np.where(np.arange(90) == 3, np.nan, 1.0),
    "infinite": np.where(np.arange(90) == 3, np.inf, 1.0),
    "zero": np.zeros(90),
    "short": np.ones(89),
    "table": np.ones((90, 2)),
    "few": np.where(np.arange(90) < 5, 1.0, 0.0),
}


@pytest.mark.parametrize("cls", [PSC, KSubspaces, MPPCA])
@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_weights_are_refused(cls, wrong):
    with refuses("sample_weight"):
        cls(3).fit(X, sample_weight=WRONG[wrong])


def test_weights_that_are_no_numbers_are_refused():
    with refuses("sample_weight", kind=ParameterTypeError):
        PSC(3).fit(X, sample_weight=["one"] * 90)


@pytest.mark.parametrize(
    ("model", "rows"),
    [
        (PSC("auto"), X),
        (PSC(3), np.where(np.arange(6) == np.arange(90)[:, None], np.nan, X)),
        (MPPCA(3), np.where(np.arange(6) == np.arange(90)[:, None], np.nan, X)),
    ],
    ids=["auto", "missing", "missing in a mixture"],
)
def test_it_is_said_what_weights_do_not_go_with(model, rows):
    with refuses("sample_weight"):
        model.fit(rows, sample_weight=WEIGHTS)


def test_weights_do_not_go_with_dask():
    rows = pytest.importorskip("dask.array").from_array(X, chunks=(50, 6))
    with refuses("sample_weight"):
        PSC(3).fit(rows, sample_weight=WEIGHTS)


def test_weights_do_not_go_with_many_rows_on_a_device():
    rows = pytest.importorskip("torch").asarray(np.tile(X, (112, 1)))
    with config_context(array_api_dispatch=True), refuses("sample_weight"):
        PSC(3).fit(rows, sample_weight=np.tile(WEIGHTS, 112))


def test_other_methods_take_no_weights():
    with refuses("sample_weight", kind=TypeError):
        SSC(3).fit(X, sample_weight=WEIGHTS)


def test_the_callers_weights_are_not_changed():
    weights = WEIGHTS.copy()
    PSC(3, init=Y).fit(X, sample_weight=weights)
    assert_array_equal(weights, WEIGHTS)


def test_a_second_fit_and_a_saved_model_keep_no_other_weights(tmp_path):
    model = PSC(3, init=Y, affine=True).fit(X, sample_weight=WEIGHTS)
    model.save(tmp_path / "model.npz")
    again = load(tmp_path / "model.npz")
    assert_array_equal(again.fit_.weights, WEIGHTS)
    assert_array_equal(again.get_variables(0, "difference"), model.get_variables(0, "difference"))
    fresh = PSC(3, init=Y, affine=True).fit(X)
    assert vars(model.fit(X)).keys() == vars(fresh).keys()
    assert model.fit_.weights is None


def test_weights_reach_a_step_of_a_pipeline_and_a_search():
    model = make_pipeline(StandardScaler(), PSC(3, init=Y))
    direct = PSC(3, init=Y).fit(StandardScaler().fit_transform(X), sample_weight=WEIGHTS)
    model.fit(X, psc__sample_weight=WEIGHTS)
    assert_array_equal(model[-1].labels_, direct.labels_)
    with config_context(enable_metadata_routing=True):
        asks = KSubspaces(2, random_state=0, n_init=1).set_fit_request(sample_weight=True)
        search = GridSearchCV(asks, {"n_components": [1, 2]}, cv=2)
        search.fit(X, sample_weight=WEIGHTS)
    assert_array_equal(search.best_estimator_.fit_.weights, WEIGHTS)


class OurKMeans(KSubspaces):
    """`KSubspaces` of dimension 0 in the words of scikit-learn's K-means."""

    def __init__(self, n_clusters=8, *, init="k-means++", n_init=1, random_state=None,
                 algorithm="lloyd"):  # fmt: skip
        super().__init__(n_clusters, n_components=0, affine=True, init=init, n_init=n_init,
                         random_state=random_state)  # fmt: skip
        self.algorithm = algorithm

    def fit(self, X, y=None, sample_weight=None):
        given = self.init
        if not isinstance(given, str):  # centres
            points = X.toarray() if sparse.issparse(X) else np.asarray(X)
            self.init = np.square(points[:, None] - given).sum(axis=2).argmin(axis=1)
        try:
            super().fit(X, y, sample_weight)
        finally:
            self.init = given
        self.cluster_centers_ = np.array([each.centre for each in self.subspaces_])
        self.inertia_, self.n_iter_ = self.objective_, self.n_iter_ + 1
        return self


@pytest.fixture
def k_means(monkeypatch):
    """The module of scikit-learn's tests, with our estimator for its own."""
    monkeypatch.setattr(peers, "KMeans", OurKMeans)
    return SimpleNamespace(**vars(peers))


@pytest.mark.filterwarnings("ignore::subspaces.messages.SubspacesWarning")
def test_scikit_learns_results_by_hand(k_means):
    k_means.test_kmeans_results(np.array, "lloyd", np.float64)


@pytest.mark.filterwarnings("ignore::subspaces.messages.SubspacesWarning")
def test_scikit_learns_tests_of_weights(k_means):
    for seed in range(3):
        k_means.test_weighted_vs_repeated(seed)
        k_means.test_scaled_weights(OurKMeans, peers.X, seed)
        k_means.test_unit_weights_vs_no_weights(OurKMeans, peers.X, seed)
        k_means.test_scaled_weights(OurKMeans, sparse.csr_array(peers.X), seed)
        k_means.test_dense_sparse(OurKMeans, sparse.csr_array(peers.X), seed)
    k_means.test_sample_weight_unchanged(OurKMeans)
