import numpy as np
import pytest
from numpy.testing import assert_array_equal

from subspaces import RSIM, SCC, SLBF
from subspaces.datasets import make_subspaces
from subspaces.metrics import matched_accuracy, subspace_angles
from tests.warned import refuses, warns

AFFINE = pytest.mark.parametrize("affine", [True, False])


def planes(affine=True, seed=0, noise=0.02, dimensions=(2, 2)):
    return make_subspaces(
        [60, 90], 10, list(dimensions), offset=float(affine), noise=noise, random_state=seed
    )


@AFFINE
@pytest.mark.parametrize("seed", range(5))
def test_planes_are_found(affine, seed):
    union = planes(affine, seed)
    model = RSIM(2, n_components=2, affine=affine, random_state=seed).fit(union.data)
    assert matched_accuracy(union.target, model.labels_) >= 0.98
    assert 2 <= model.rank_ <= (6 if affine else 4)
    assert_array_equal(model.n_components_, [2, 2])
    for flat in model.subspaces_:
        angles = [subspace_angles(flat, truth).max() for truth in union.subspaces]
        assert min(angles) < 0.1
        assert flat.centre.any() == affine


def test_five_clusters_off_the_origin():
    union = make_subspaces([30] * 5, 40, [3] * 5, noise=0.02, offset=2, random_state=1)
    model = RSIM(5, n_components=3, random_state=0).fit(union.data + 50)
    assert matched_accuracy(union.target, model.labels_) == 1.0


def test_unequal_dimensions_with_the_largest_for_all():
    union = planes(dimensions=(1, 3))
    model = RSIM(2, n_components=3, random_state=0).fit(union.data)
    assert matched_accuracy(union.target, model.labels_) >= 0.98


def test_parallel_lines_need_a_constant_variable():
    along = np.random.default_rng(0).normal(size=(60, 1))
    truth = np.repeat([0, 1], 30)
    rows = along * [1.0, 2.0, 0.5] + np.outer(truth, [4.0, -3.0, 1.0])
    assert matched_accuracy(truth, RSIM(2, random_state=0).fit(rows).labels_) == 1.0


def test_more_variables_than_samples():
    union = make_subspaces([30, 30], 300, [2, 2], noise=0.005, offset=0.1, random_state=0)
    labels = RSIM(2, n_components=2, random_state=0).fit(union.data).labels_
    assert matched_accuracy(union.target, labels) == 1.0


@pytest.mark.parametrize("kind", [RSIM, SCC, SLBF])
def test_one_dimension_for_each_cluster_may_be_given(kind):
    X = planes(noise=0.3).data
    first = kind(2, n_components=[2, 2], random_state=3).fit(X)
    again = kind(2, n_components=2, random_state=3).fit(X)
    assert_array_equal(first.labels_, again.labels_)
    assert first.labels_[0] == 0


def test_new_samples_go_to_the_nearest_subspace():
    union = planes()
    model = RSIM(2, n_components=2, random_state=0).fit(union.data[::2])
    assert matched_accuracy(union.target[1::2], model.predict(union.data[1::2])) >= 0.97


def test_a_dimension_that_fills_the_space_is_lowered():
    with warns("full_rank"):
        model = RSIM(2, n_components=3, random_state=0).fit(planes().data[:, :3])
    assert_array_equal(model.n_components_, [2, 2])


@pytest.mark.parametrize(("affine", "dimension"), [(True, 0), (False, 1)])
def test_one_variable_leaves_points_or_one_line(affine, dimension):
    with warns("rank_one"):
        model = RSIM(2, affine=affine, random_state=0).fit(planes().data[:, :1])
    assert_array_equal(model.n_components_, [dimension] * 2)


def test_samples_that_coincide():
    lines = np.array([[1.0, 2.0, 3.0], [-2.0, 1.0, 0.5]])
    X = np.vstack([np.outer(np.linspace(1, 2, 8), line) for line in lines])
    model = RSIM(2, affine=False, random_state=0).fit(np.repeat(X, 4, axis=0))
    assert_array_equal(model.labels_, np.repeat([0, 1], 32))


def test_the_number_of_samples_is_bounded():
    X = np.random.default_rng(0).normal(size=(5001, 2))
    with refuses("X", naming=["5000", "5001"]):
        RSIM(2).fit(X)


@pytest.mark.parametrize(
    ("options", "error", "refused"),
    [
        ({"n_clusters": 0}, ValueError, "n_clusters"),
        ({"n_components": [1, 2]}, ValueError, "n_components"),
        ({"n_components": 0}, ValueError, "n_components"),
        ({"n_components": 0, "affine": False}, ValueError, "n_components"),
        ({"n_components": 11}, ValueError, "n_components"),
        ({"affine": 1}, TypeError, "affine"),
        ({"power": 0}, ValueError, "power"),
        ({"power": -1.0}, ValueError, "power"),
        ({"power": np.nan}, ValueError, "power"),
        ({"power": "high"}, TypeError, "power"),
        ({"random_state": "x"}, ValueError, "random_state"),
    ],
)
def test_what_is_refused(options, error, refused):
    with refuses(refused, kind=error):
        RSIM(**options).fit(planes().data)


@pytest.mark.parametrize(
    ("affine", "rows", "refused"),
    [
        (True, np.ones((20, 3)), "X"),
        (False, np.zeros((20, 3)), "X"),
        (True, np.full((20, 3), np.nan), "X"),
    ],
)
def test_data_without_anything_to_cluster(affine, rows, refused):
    with refuses(refused):
        RSIM(2, affine=affine).fit(rows)
