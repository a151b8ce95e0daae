import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from subspaces import GPCA
from subspaces.core.partition import canonical
from subspaces.datasets import make_scenario, make_subspaces
from subspaces.metrics import matched_accuracy, rand_score, subspace_angles
from subspaces.subspace import squared_residual
from tests.plain import generic
from tests.warned import codes_of, refuses, warns

NOISY = make_subspaces([60, 60], 6, [1, 2], noise=0.02, shuffle=True, random_state=0)
PLANES = make_subspaces([60, 60, 60], 3, [2, 2, 2], noise=0.01, shuffle=True, random_state=1)
AFFINE = make_subspaces([80, 80], 3, [1, 2], offset=1.0, shuffle=True, random_state=2)
BOTH = pytest.mark.parametrize(
    ("parts", "method"), [(NOISY, "voting"), (PLANES, "codimension_one")]
)


def fitted(parts, X=None, **options):
    dimensions = parts.n_components
    options = {"n_components": dimensions, "random_state": 0, **options}
    return GPCA(len(dimensions), **options).fit(parts.data if X is None else X)


def mean_rand(name, seeds, **options):
    scenarios = [make_scenario(name, random_state=seed) for seed in seeds]
    return np.mean([rand_score(s.target, fitted(s, **options).labels_) for s in scenarios])


@pytest.mark.parametrize("polish", [False, True])
@pytest.mark.parametrize("name", list("abce"))
def test_noise_free_scenarios_are_exact(name, polish):
    assert mean_rand(name, range(4), polish=polish) == 1.0


@pytest.mark.filterwarnings("ignore::subspaces.messages.ChoiceWarning")
@pytest.mark.filterwarnings("ignore::subspaces.messages.NotConvergedWarning")
def test_a_cluster_as_large_as_the_space_is_found_in_part():
    assert mean_rand("d", range(20)) > 0.75


def test_the_same_cluster_is_found_in_a_larger_space():
    parts = make_scenario("d", n_features=10, random_state=0)
    assert rand_score(parts.target, fitted(parts).labels_) == 1.0


@pytest.mark.parametrize(("dimension", "n_clusters"), [(3, 3), (4, 2), (5, 3)])
def test_hyperplanes_in_a_larger_space(dimension, n_clusters):
    dimensions = [dimension - 1] * n_clusters
    parts = make_subspaces([100] * n_clusters, dimension, dimensions, random_state=1)
    lift = np.linalg.qr(np.random.default_rng(0).normal(size=(9, dimension)))[0]
    model = fitted(parts, parts.data @ lift.T)
    assert model.method_ == "codimension_one"
    assert model.n_projected_ == dimension
    assert_array_equal(model.labels_, canonical(parts.target))
    for flat, truth in zip(model.subspaces_, parts.subspaces, strict=True):
        assert_allclose(flat.basis @ (flat.basis.T @ lift @ truth.basis), lift @ truth.basis)


def test_flats_and_dimensions_go_together():
    X = NOISY.data[np.argsort(-NOISY.target)]
    model = fitted(NOISY, X)
    assert model.labels_[0] == 1
    assert_array_equal(model.n_components_, [1, 2])
    for k, flat in enumerate(model.subspaces_):
        assert subspace_angles(flat, NOISY.subspaces[k])[0] < 0.1
    own = [squared_residual(X, flat) for flat in model.subspaces_]
    plain = sum(own[k][i] for i, k in enumerate(model.labels_))
    assert model.objective_ == pytest.approx(plain)


@pytest.mark.parametrize("dimensions", [[1, 2], 2], ids=["voting", "hyperplanes"])
def test_the_leading_principal_axes_are_used(dimensions):
    model = fitted(NOISY, n_components=dimensions, polish=False)
    left, singular, _ = np.linalg.svd(NOISY.data, full_matrices=False)
    assert model.n_projected_ == 3
    projected = fitted(NOISY, (left * singular)[:, :3], n_components=dimensions, polish=False)
    assert_array_equal(model.labels_, projected.labels_)


def test_affine_flats():
    model = fitted(AFFINE, affine=True)
    assert matched_accuracy(AFFINE.target, model.labels_) == 1.0
    assert matched_accuracy(AFFINE.target, fitted(AFFINE, polish=False, affine=True).labels_) == 1.0
    assert matched_accuracy(AFFINE.target, fitted(AFFINE).labels_) < 1.0
    for flat, truth in zip(model.subspaces_, AFFINE.subspaces, strict=True):
        assert subspace_angles(flat, truth)[0] < 1e-6
        assert squared_residual(truth.centre[None], flat)[0] < 1e-12


def test_affine_hyperplanes():
    parts = make_subspaces([60, 60], 2, [1, 1], offset=1.0, random_state=4)
    model = fitted(parts, affine=True, polish=False)
    assert (model.method_, model.n_projected_) == ("codimension_one", 3)
    assert_array_equal(model.labels_, parts.target)


@BOTH
def test_the_method_and_the_polish(parts, method):
    model, plain = fitted(parts), fitted(parts, polish=False)
    assert model.method_ == plain.method_ == method
    assert model.n_iter_ > plain.n_iter_ == 1
    assert_array_equal(model.labels_, model.predict(parts.data))
    assert model.objective_ <= plain.objective_


@BOTH
def test_the_polish_mends_noisy_labels(parts, method):
    model, plain = fitted(parts), fitted(parts, polish=False)
    found, before = (matched_accuracy(parts.target, m.labels_) for m in (model, plain))
    assert found > 0.85
    assert found >= before


@BOTH
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("scale", [1e-120, 1e120])
def test_units(parts, method, affine, scale):
    X = parts.data[:, :3] + 0.1
    one, other = (
        fitted(parts, s * X, affine=affine, n_components=1, method=method) for s in (1.0, scale)
    )
    assert_array_equal(one.labels_, other.labels_)
    assert_array_equal(one.predict(X), other.predict(scale * X))


def test_wide_data():
    parts = make_subspaces([40, 40], 500, [1, 2], noise=0.01, random_state=0)
    assert matched_accuracy(parts.target, fitted(parts).labels_) > 0.9


@pytest.mark.parametrize("n_components", [2, 3])
def test_one_cluster_is_a_pca(n_components):
    X = generic(30, 3)
    model = GPCA(1, n_components=n_components).fit(X)
    assert_array_equal(model.labels_, 0)
    right = np.linalg.svd(X)[2][:n_components]
    assert_allclose(model.subspaces_[0].basis @ model.subspaces_[0].basis.T, right.T @ right)


@pytest.mark.parametrize(
    ("dimensions", "p", "n", "projected"),
    [
        ([1, 1], 9, 50, 2),  # hyperplanes: one more than the dimension
        ([5, 4, 1, 1], 20, 400, 7),  # others: two more
        ([1, 2], 9, 50, 3),  # but not more than they span together
        ([1, 3], 4, 50, 4),
        ([1, 2, 3], 9, 34, 4),  # nor more monomials than samples
    ],
)
def test_the_dimension_of_the_projection(dimensions, p, n, projected):
    parts = make_subspaces(n, p, dimensions, noise=0.01, random_state=0)
    assert fitted(parts).n_projected_ == projected


def test_a_given_projection_is_used_up_to_the_rank():
    parts = make_subspaces([50, 50], 9, [1, 1], noise=0.01, random_state=0)
    model = fitted(parts, n_projected=4)
    assert (model.n_projected_, model.method_) == (4, "voting")
    clean = make_subspaces([50, 50], 9, [1, 2], random_state=0)
    assert fitted(clean, n_projected=8).n_projected_ == 3


def test_a_cluster_that_fills_the_space_is_announced():
    parts = make_scenario("d", random_state=0)
    with warns("full_rank"):
        model = fitted(parts)
    assert model.n_iter_ == 1


def test_too_few_sweeps_are_announced():
    parts = make_subspaces([100, 100], 3, [1, 2], noise=0.05, random_state=1)
    with warns("max_iter", kind=ConvergenceWarning):
        fitted(parts, max_iter=1)


def test_clusters_that_are_not_there_are_filled_up():
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 1)) * [1.0, 2.0, 2.0]
    X[0] += [0.5, 0.0, 0.0]
    with warns("filled_up", kind=ConvergenceWarning):
        model = GPCA(3, n_components=1, polish=False, random_state=0).fit(X)
    assert (np.bincount(model.labels_, minlength=3) >= 3).all()
    with pytest.warns(ConvergenceWarning) as caught:
        GPCA(3, n_components=1, random_state=0).fit(X)
    assert "infeasible" in codes_of(w.message for w in caught)


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        ({"method": "svd"}, "method"),
        ({"method": "codimension_one"}, "method"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"tolerance": 2.0}, "tolerance"),
        ({"n_projected": 2}, "n_projected"),
        ({"n_components": 7}, "n_components"),
        ({"n_components": 6}, "n_components"),
        ({"max_iter": 0}, "max_iter"),
    ],
)
def test_bad_options(options, refused):
    with refuses(refused):
        fitted(NOISY, **options)


@pytest.mark.parametrize(
    "options", [{"n_projected": "many"}, {"n_projected": 2.5}, {"polish": 1}, {"affine": "yes"}]
)
def test_options_of_the_wrong_type(options):
    with pytest.raises(TypeError, match=next(iter(options))):
        fitted(NOISY, **options)


def test_more_dimensions_than_the_rank():
    X = generic(30, 2) @ np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    with refuses("n_components", 3):
        GPCA(2, n_components=3).fit(X)


@pytest.mark.parametrize("affine", [False, True])
def test_nothing_to_cluster(affine):
    with refuses("X"):
        GPCA(2, affine=affine).fit(np.ones((20, 3)) * affine)


def test_too_many_monomials():
    X = generic(600, 12, decay=1.0)
    with refuses("n_clusters", 6) as raised:
        GPCA(6, n_components=3, n_projected=12).fit(X)
    assert raised.value.parameters["size"] == 12376
    assert raised.value.advice[0].parameter == "n_projected"
    with refuses("n_clusters", 6) as raised:
        GPCA(6, n_components=10).fit(X)
    assert raised.value.parameters["size"] == 8008
    assert raised.value.advice[0].parameter == "n_clusters"


def test_too_few_samples():
    X = generic(60, 12, decay=1.0)
    with refuses("n_clusters", 4) as raised:
        GPCA(4, n_components=5).fit(X)
    assert raised.value.parameters["needed"] == 125
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        GPCA(3, n_components=4).fit(X)


def test_one_dimension_more_than_the_largest_is_projected_on():
    parts = make_subspaces([80, 80], 9, [1, 4], noise=0.01, random_state=0)
    assert fitted(parts).n_projected_ == 5
    parts = make_subspaces([80, 80, 80], 9, [2, 1, 4], noise=0.01, random_state=0)
    assert fitted(parts).n_projected_ == 6
