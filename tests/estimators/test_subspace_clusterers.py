"""What PSC and KSubspaces share: attributes, prediction, starts, bad input."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from subspaces import PSC, RSIM, SCC, SLBF, SSC, EnsembleKSubspaces, KSubspaces
from subspaces.datasets import make_scenario, make_subspaces
from subspaces.diagnostics import pca_influence
from subspaces.messages import use
from subspaces.metrics import matched_accuracy, rand_score
from subspaces.subspace import project, scores
from tests.plain import generic, influence_vector, leave_one_out_weights, refitted_errors
from tests.warned import refuses, warns

pytestmark = pytest.mark.filterwarnings("ignore::subspaces.messages.TrustWarning")

UNION = make_subspaces([30, 40], 8, [1, 2], noise=0.1, random_state=0)
X = UNION.data
BOTH = pytest.mark.parametrize("cls", [PSC, KSubspaces])


@BOTH
def test_attributes(cls):
    model = cls(2, n_components=[1, 2], random_state=0).fit(X)
    assert model.labels_.shape == (70,)
    assert_array_equal(model.n_components_, [1, 2])
    for k, flat in enumerate(model.subspaces_):
        assert flat.centre.shape == (8,)
        assert flat.basis.shape == (8, model.n_components_[k])
        assert_allclose(flat.basis.T @ flat.basis, np.eye(model.n_components_[k]), atol=1e-12)
        members = X[model.labels_ == k]
        assert_allclose(np.sum((members @ flat.basis) ** 2, axis=0), flat.spectrum)
    assert len(model.objective_path_) == model.n_iter_
    assert model.stop_reason_ == "converged"
    assert model.objective_ == pytest.approx(model.objective_path_[-1])
    assert 3 <= len(model.starts_) <= 10
    assert rand_score(UNION.target, model.labels_) > 0.85


def test_influence_and_press_are_those_of_the_members():
    model = PSC(2, n_components=[1, 2], random_state=0).fit(X)
    errors = np.empty(70)
    for k, r in enumerate(model.n_components_):
        errors[model.labels_ == k] = refitted_errors(X[model.labels_ == k], r)
    assert model.press_ == pytest.approx(errors.mean())
    for k, r in enumerate(model.n_components_):
        plain = pca_influence(X[model.labels_ == k], int(r), center=False).influence
        assert_allclose(model.influence_[model.labels_ == k], plain, rtol=1e-9)


@pytest.mark.parametrize("criterion", ["influence", "loo", "hat", "residual", "likelihood"])
def test_predict_takes_the_least_score_of_transform(criterion):
    model = PSC(2, n_components=2, criterion=criterion, random_state=0).fit(X[::2])
    new = X[1::2]
    assert model.transform(new).shape == (35, 2)
    assert_array_equal(model.predict(new), model.transform(new).argmin(axis=1))


def test_a_new_row_has_the_influence_it_would_have_after_joining():
    model = PSC(2, n_components=[1, 2], criterion="influence", random_state=0).fit(X)
    new = generic(1, 8, seed=5)[0]
    for k, flat in enumerate(model.subspaces_):
        weights = leave_one_out_weights(new, flat.basis, flat.spectrum, False)
        plain = np.sum(influence_vector(new, flat.basis, weights) ** 2)
        assert_allclose(model.transform(new[None])[0, k], plain, rtol=1e-9)


def test_a_row_is_scored_alone():
    model = PSC(2, n_components=[1, 2], random_state=0).fit(X)
    assert_allclose(model.transform(X[3:4])[0], model.transform(X)[3], rtol=1e-12)


@BOTH
def test_project_and_reconstruct(cls):
    model = cls(2, n_components=[1, 2], affine=True, random_state=0).fit(X)
    labels, coordinates, nearest = model.predict(X), model.project(X), model.reconstruct(X)
    assert [len(row) for row in coordinates] == model.n_components_[labels].tolist()
    for i in (0, 33, 69):
        flat = model.subspaces_[labels[i]]
        assert_allclose(coordinates[i], scores(X[i : i + 1], flat)[0])
        assert_allclose(nearest[i], project(X[i : i + 1], flat)[0])


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_k_subspaces_predicts_its_own_labels(affine, seed):
    union = make_subspaces([30, 40, 35], 6, [2, 1, 2], noise=0.3, random_state=seed)
    model = KSubspaces(3, n_components=[2, 1, 2], affine=affine, n_init=3, random_state=seed)
    assert_array_equal(model.fit(union.data).labels_, model.predict(union.data))


@pytest.mark.filterwarnings("ignore::subspaces.messages.ChoiceWarning")
@pytest.mark.filterwarnings("ignore::subspaces.messages.NotConvergedWarning")
@pytest.mark.parametrize("criterion", ["auto", "influence"])
@pytest.mark.parametrize("name", list("abcde"))
@pytest.mark.parametrize(("noise", "n_features"), [(0.0, None), (0.02, 30)])
def test_psc_predicts_nearly_all_of_its_labels(name, criterion, noise, n_features):
    scenario = make_scenario(name, noise=noise, n_features=n_features, random_state=0)
    options = {"n_components": scenario.n_components, "n_init": 4, "random_state": 0}
    model = PSC(len(scenario.n_components), criterion=criterion, **options).fit(scenario.data)
    assert np.mean(model.predict(scenario.data) != model.labels_) < 0.01


def test_auto_is_distance_for_equal_and_likelihood_for_unequal_dimensions():
    assert PSC(2, n_components=2, random_state=0).fit(X).criterion_ == "distance"
    assert PSC(2, n_components=[1, 2], random_state=0).fit(X).criterion_ == "likelihood"
    flat = generic(40, 2)
    with warns("full_rank"):
        model = PSC(2, n_components=2, random_state=0).fit(flat)
    assert model.criterion_ == "likelihood"


@BOTH
@pytest.mark.parametrize("init", ["portfolio", "random", "k-means++", "local"])
def test_named_starts(cls, init):
    model = cls(2, n_components=2, init=init, n_init=4, random_state=0).fit(X)
    assert len(model.starts_) == 4
    assert set(model.labels_) == {0, 1}
    if init != "portfolio":
        assert {row["start"] for row in model.starts_} == {init}


@BOTH
def test_given_labels_and_callables(cls):
    model = cls(2, n_components=[1, 2], init=UNION.target).fit(X)
    assert [row["start"] for row in model.starts_] == ["labels"]

    def start(data, n_clusters, random_state):
        assert data.shape == X.shape
        return np.random.default_rng(random_state).integers(n_clusters, size=len(data))

    model = cls(2, n_components=2, init=start, n_init=3, random_state=0).fit(X)
    assert [row["start"] for row in model.starts_] == ["callable"] * 3


def test_refinements():
    union = make_scenario("b", noise=0.1, n_features=20, random_state=0)
    plain = PSC(2, n_components=[1, 2], criterion="influence", random_state=0).fit(union.data)
    mixture = clone(plain).set_params(refine="ppca").fit(union.data)
    descent = clone(plain).set_params(refine="descent").fit(union.data)
    truth = union.target
    assert rand_score(truth, mixture.labels_) > rand_score(truth, plain.labels_)
    assert descent.objective_ <= plain.objective_
    assert descent.stop_reason_ == "local minimum"


def test_a_descent_of_many_samples_is_refused():
    many = np.random.default_rng(3).normal(size=(10_001, 3))
    with refuses("refine", "descent"):
        PSC(2, refine="descent", random_state=0).fit(many)


def test_running_out_of_sweeps_warns():
    with warns("max_iter"):
        PSC(2, n_components=2, init="random", n_init=1, max_iter=1, random_state=0).fit(X)


def test_labels_that_come_back_are_said_to_unless_a_descent_settles_them():
    noise = np.random.default_rng(2).normal(size=(60, 10))
    model = PSC(3, n_components=2, criterion="loo", init="random", n_init=1, random_state=0)
    with warns("cycle", kind=ConvergenceWarning) as caught:
        model.fit(noise)
    assert caught[0].message.parameters == {"moving": 8, "n_samples": 60}
    assert model.stop_reason_ == "cycle"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(refine="descent").fit(noise)


def test_one_sample_between_clusters_is_no_alarm():
    union = make_scenario("c", noise=0.05, random_state=22)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = PSC(len(union.n_components), n_components=2, random_state=0).fit(union.data)
    assert model.stop_reason_ == "cycle"


def with_a_sample_far_off():
    rows = np.random.default_rng(0).normal(size=(60, 4))
    rows[:30, 0] += 6
    rows[7] = [3, 30, 0, 0]
    return rows


@pytest.mark.parametrize("criterion", ["residual", "influence"])
def test_a_cluster_of_one_sample_is_named(criterion):
    rows = with_a_sample_far_off()
    model = PSC(3, n_components=0, affine=True, criterion=criterion, random_state=0)
    with warns("single_samples") as caught:
        model.fit(rows)
    assert caught[0].message.parameters["samples"] == ["row 7"]
    assert caught[0].message.advice[-1] == use("criterion", "loo")
    frame = pd.DataFrame(rows, index=[f"patient {i}" for i in range(60)])
    with warns("single_samples"):
        model.fit(frame)
    assert model.record_.warned[0].parameters["samples"] == ["patient 7"]


@pytest.mark.filterwarnings("ignore::subspaces.messages.ChoiceWarning")
@pytest.mark.filterwarnings("ignore::subspaces.messages.NotConvergedWarning")
@pytest.mark.parametrize("criterion", ["loo", "hat", "likelihood"])
def test_no_sample_is_predicted_without_others(criterion):
    """Without its only sample a cluster predicts nothing, so none is cut off."""
    model = PSC(3, n_components=0, affine=True, criterion=criterion, random_state=0)
    assert np.bincount(model.fit(with_a_sample_far_off()).labels_).min() > 1


@pytest.mark.parametrize("n_clusters", [2, 3])
def test_a_warning_where_equal_samples_are_split(n_clusters):
    rows = np.random.default_rng(0).normal(size=(2, 6))
    rows[:, 0] = 0.0
    X = np.repeat(rows, 10, axis=0)
    X[::2, 0] = -0.0
    said = [w.message for w in warned(PSC(n_clusters, random_state=0), X)]
    split = [each.parameters for each in said if each.code == "few_distinct"]
    assert split == [{"distinct": 2, "n_clusters": 3}] * (n_clusters == 3)


@pytest.mark.filterwarnings("ignore::subspaces.messages.ChoiceWarning")
@pytest.mark.filterwarnings("ignore::subspaces.messages.DataWarning")
@pytest.mark.parametrize(
    "model",
    [
        RSIM(2, affine=False, random_state=0),
        SLBF(2, affine=False, random_state=0),
        SCC(2, linear=True, random_state=0),
        SSC(2, random_state=0),
        EnsembleKSubspaces(2, n_runs=5, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_graphs_warn_where_equal_samples_are_split(model):
    with warns("few_distinct"):
        model.fit(np.ones((30, 10)))
    assert len(set(model.labels_)) == 2


@pytest.mark.parametrize(
    ("rows", "error", "refused"),
    [
        ([["a", "b"], ["c", "d"]], ValueError, "X"),
        ([[1, 2], [3, "x"]], ValueError, "X"),
        ([[1, None], [{}, 2]], TypeError, "X"),
        ([[1, 2], [3]], ValueError, "X"),
    ],
)
def test_an_entry_that_is_no_number_is_named(rows, error, refused):
    with refuses(refused, kind=error):
        PSC().fit(rows)


def test_distances_of_unequal_dimensions_are_warned_of():
    union = make_subspaces([60, 60], 8, [1, 3], noise=0.1, random_state=0)
    asked = PSC(2, n_components=[1, 3], criterion="distance", n_init=3, random_state=0)
    with warns("unequal_dimensions"):
        asked.fit(union.data)
    with warns("unequal_dimensions"):
        chosen = clone(asked).set_params(n_components="auto").fit(union.data)
    assert chosen.n_components_.tolist() == [1, 3]
    default = clone(asked).set_params(criterion="auto").fit(union.data)
    right = [matched_accuracy(union.target, model.labels_) for model in (asked, default)]
    assert right[0] < right[1]
    clone(asked).set_params(n_components=2).fit(union.data)  # without a warning


def warned(model, X):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X)
    return caught


BAD = [
    ({"n_clusters": 0}, ValueError, "n_clusters"),
    ({"n_clusters": 71}, ValueError, "n_clusters"),
    ({"n_clusters": 2.0}, TypeError, "n_clusters"),
    ({"n_clusters": 20, "n_components": 3}, ValueError, "n_clusters"),
    ({"n_components": 9}, ValueError, "n_components"),
    ({"n_components": 0}, ValueError, "n_components"),
    ({"n_components": -1}, ValueError, "n_components"),
    ({"n_components": [1, 2, 1]}, ValueError, "n_components"),
    ({"n_components": "2"}, TypeError, "n_components"),
    ({"init": "best"}, ValueError, "init"),
    ({"init": [0, 1]}, ValueError, "init"),
    ({"init": np.full(70, 2)}, ValueError, "init"),
    ({"init": None}, ValueError, "init"),
    ({"affine": "no"}, TypeError, "affine"),
    ({"n_clusters": None}, TypeError, "n_clusters"),
    ({"n_init": 0}, ValueError, "n_init"),
    ({"n_init": "many"}, TypeError, "n_init"),
    ({"random_state": "a"}, ValueError, "random_state"),
    ({"random_state": np.random.default_rng(0)}, ValueError, "random_state"),
    ({"max_iter": 0}, ValueError, "max_iter"),
    ({"n_jobs": 0}, ValueError, "n_jobs"),
    ({"n_jobs": "two"}, TypeError, "n_jobs"),
]


@BOTH
@pytest.mark.parametrize(("parameters", "kind", "refused"), BAD)
def test_bad_parameters_get_one_line(cls, parameters, kind, refused):
    with refuses(refused, kind=kind) as caught:
        cls(**{"n_clusters": 2, **parameters}).fit(X)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("parameters", "refused"), [({"criterion": "press"}, "criterion"), ({"refine": "em"}, "refine")]
)
def test_unknown_choices(parameters, refused):
    with refuses(refused):
        PSC(2, **parameters).fit(X)


@BOTH
def test_more_dimensions_than_the_rank(cls):
    low_rank = generic(40, 2) @ np.random.default_rng(0).normal(size=(2, 9))
    with refuses("n_components", 3):
        cls(2, n_components=3).fit(low_rank)
    for n_components in (0, 1):
        with refuses("X", naming=["identical"]):
            cls(2, n_components=n_components, affine=True).fit(np.ones((10, 3)))
    with refuses("X", naming=["zero"]):
        cls(2).fit(np.zeros((10, 3)))


@BOTH
def test_bad_values_are_located(cls):
    bad = X.copy()
    bad[5, 3] = np.inf
    with refuses("X", place="row 5, column 3"):
        cls(2).fit(bad)
    model = cls(2, random_state=0).fit(X)
    with refuses("X", place="row 5, column 3"):
        model.predict(bad)


@pytest.mark.parametrize("criterion", ["influence", "loo", "hat", "residual", "likelihood"])
def test_points_and_lines_together(criterion):
    for dimensions in (0, [0, 1]):
        model = PSC(2, n_components=dimensions, affine=True, criterion=criterion, random_state=0)
        model.fit(X)
        assert np.mean(model.predict(X) != model.labels_) < 0.1


@BOTH
def test_as_many_clusters_as_samples(cls):
    few = generic(10, 3)
    model = cls(10, n_components=0, affine=True, n_init=3, random_state=0)
    if cls is PSC:  # no sample is predicted by the others of its cluster
        with refuses("n_clusters", 10):
            model.fit(few)
    else:
        assert model.fit(few).objective_ == 0.0
        assert sorted(model.labels_) == list(range(10))


def test_a_frame_is_fitted_without_a_warning():
    KSubspaces(2, random_state=0).fit(pd.DataFrame(X, columns=list("abcdefgh")))


def test_an_emptied_cluster_is_said():
    with warns("empty_clusters", "full_rank"):
        KSubspaces(2, random_state=0).fit(X[:, :1])


@pytest.mark.filterwarnings("ignore::subspaces.messages.DataWarning")
def test_columns_of_very_unlike_scale():
    wild = generic(60, 4) * np.array([1e9, 1, 1, 1])
    with refuses("n_components", 2) as raised:
        PSC(2, n_components=2).fit(wild)
    assert "scale the variables" in str(raised.value)


def test_rows_too_far_from_the_training_data():
    model = PSC(2, n_components=2, criterion="influence", random_state=0).fit(X)
    assert np.isfinite(model.transform(1e20 * X)).all()
    with refuses("X"):
        model.transform(1e60 * X)


def test_a_column_that_was_zero_in_training_counts_at_predict():
    padded = np.column_stack([X, np.zeros(70)])
    model = PSC(2, n_components=[1, 2], criterion="influence", random_state=0).fit(padded)
    moved = padded.copy()
    moved[:, -1] = 3.0
    assert np.all(model.transform(moved) > model.transform(padded))


def test_refilled_clusters_are_said():
    noise = np.random.default_rng(0).normal(size=(60, 20))
    with warns("refilled"):
        PSC(9, n_components=2, random_state=0).fit(noise)
