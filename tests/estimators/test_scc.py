import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from subspaces import SCC
from subspaces.datasets import make_scenario, make_subspaces
from subspaces.metrics import rand_score, subspace_angles
from tests.warned import refuses, warns


def planes(seed=0, **options):
    return make_subspaces([60, 90], 5, [2, 2], offset=1, random_state=seed, **options)


@pytest.mark.filterwarnings("ignore::subspaces.messages.ChoiceWarning")
@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize(
    ("name", "reached"), [("a", 0.95), ("b", 0.95), ("c", 0.95), ("d", 0.75), ("e", 0.9)]
)
def test_the_scenarios_of_the_paper(name, reached, linear):
    """With the largest dimension for all clusters."""
    scenario = make_scenario(name, random_state=0)
    model = SCC(
        len(scenario.n_components),
        n_components=int(max(scenario.n_components)),
        linear=linear,
        random_state=0,
    ).fit(scenario.data)
    assert rand_score(scenario.target, model.labels_) >= reached


@pytest.mark.parametrize("linear", [False, True])
def test_noise(linear):
    union = make_subspaces(
        200, 20, [3, 3], noise=0.03, offset=0.0 if linear else 1.0, random_state=1
    )
    model = SCC(2, n_components=3, linear=linear, random_state=0).fit(union.data)
    assert rand_score(union.target, model.labels_) > 0.97
    assert np.mean(model.predict(union.data) == model.labels_) > 0.97
    for flat in model.subspaces_:
        angles = [subspace_angles(flat, truth).max() for truth in union.subspaces]
        assert min(angles) < 0.1
        assert flat.centre.any() != linear


def test_order_of_the_rows_and_more_variables_than_samples():
    union = make_subspaces([40, 40], 300, [2, 2], noise=0.005, offset=0.1, random_state=0)
    order = np.random.default_rng(0).permutation(80)
    labels = SCC(2, n_components=2, random_state=0).fit(union.data[order]).labels_
    assert rand_score(union.target[order], labels) == 1.0


def test_objective_is_the_squared_distance_from_the_own_flats():
    X = make_subspaces(150, 8, [2, 2, 2], noise=0.1, random_state=0).data
    model = SCC(3, n_components=2, n_columns=30, random_state=0).fit(X)
    assert np.argmin(model.objective_path_) > 0
    own = model.transform(X)[np.arange(len(X)), model.labels_]
    assert_allclose(model.objective_, own.sum())
    assert model.objective_ == model.objective_path_.min()
    assert model.n_iter_ == len(model.objective_path_)


def test_a_dimension_that_fills_the_space_is_lowered():
    X = planes(noise=0.05).data[:, :3]
    with warns("full_rank"):
        model = SCC(2, n_components=3, random_state=0).fit(X)
    assert_array_equal(model.n_components_, [2, 2])
    assert_array_equal(model.labels_, SCC(2, n_components=2, random_state=0).fit(X).labels_)


def test_samples_that_coincide_and_zeros():
    lines = np.array([[1.0, 2.0, 3.0], [-2.0, 1.0, 0.5]])
    X = np.vstack([np.outer([-1.0, 0.0, 0.5, 0.5, 1.0, 2.0], line) for line in lines])
    truth = np.repeat([0, 1], 6)
    apart = np.linalg.norm(X, axis=1) > 0
    labels = SCC(2, linear=True, random_state=0).fit(np.repeat(X, 3, axis=0)).labels_[::3]
    assert rand_score(truth[apart], labels[apart]) == 1.0


@pytest.mark.filterwarnings("ignore::subspaces.messages.DataWarning")
def test_two_points_many_times():
    X = np.repeat([[1.0, 2.0, 3.0], [-2.0, 1.0, 0.5]], 20, axis=0)
    model = SCC(2, random_state=0).fit(X)
    assert_array_equal(model.labels_, np.repeat([0, 1], 20))
    assert_array_equal(model.n_components_, [0, 0])


@pytest.mark.parametrize(
    ("options", "error", "refused"),
    [
        ({"n_components": [1, 2]}, ValueError, "n_components"),
        ({"n_components": 0}, ValueError, "n_components"),
        ({"linear": 1}, TypeError, "linear"),
        ({"n_columns": 1}, ValueError, "n_columns"),
        ({"n_columns": "many"}, TypeError, "n_columns"),
        ({"max_iter": 0}, ValueError, "max_iter"),
        ({"n_clusters": 80}, ValueError, "n_clusters"),
    ],
)
def test_what_is_refused(options, error, refused):
    with refuses(refused, kind=error):
        SCC(**options).fit(planes().data)


@pytest.mark.parametrize(("linear", "refused"), [(False, "X"), (True, "X")])
def test_nothing_to_cluster(linear, refused):
    with refuses(refused):
        SCC(2, linear=linear).fit(np.full((20, 3), 0.0 if linear else 7.0))


def test_too_few_rounds():
    X = make_subspaces(200, 20, [3, 3, 3], noise=0.1, random_state=0).data
    with warns("max_iter", kind=ConvergenceWarning):
        SCC(3, n_components=3, max_iter=1, n_columns=30, random_state=0).fit(X)
