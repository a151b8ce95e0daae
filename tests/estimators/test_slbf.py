import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from subspaces import SLBF
from subspaces.datasets import make_scenario, make_subspaces
from subspaces.metrics import rand_score, subspace_angles
from tests.warned import refuses, warns

BOTH = pytest.mark.parametrize("spectral", [True, False])


def planes(seed=0, **options):
    return make_subspaces([60, 90], 5, [2, 2], offset=1, random_state=seed, **options)


@BOTH
@pytest.mark.parametrize(
    ("name", "reached"), [("a", (0.95, 0.95)), ("b", (0.9, 0.9)), ("c", (0.95, 0.95))]
)
def test_scenarios(name, reached, spectral):
    """With the largest dimension for all clusters."""
    for seed in range(3):
        scenario = make_scenario(name, random_state=seed)
        model = SLBF(
            2, n_components=int(max(scenario.n_components)), spectral=spectral, random_state=seed
        ).fit(scenario.data)
        assert rand_score(scenario.target, model.labels_) >= reached[not spectral]


@BOTH
@pytest.mark.parametrize("affine", [True, False])
def test_noise(affine, spectral):
    union = make_subspaces(240, 8, [2, 2], noise=0.02, offset=float(affine), random_state=1)
    model = SLBF(2, n_components=2, affine=affine, spectral=spectral, random_state=0)
    model.fit(union.data)
    assert rand_score(union.target, model.labels_) > 0.95
    assert np.mean(model.predict(union.data) == model.labels_) > 0.95
    for flat in model.subspaces_:
        angles = [subspace_angles(flat, truth).max() for truth in union.subspaces]
        assert min(angles) < 0.1
        assert flat.centre.any() == affine


@BOTH
def test_more_variables_than_samples(spectral):
    union = make_subspaces([40, 40], 300, [2, 2], noise=0.005, offset=0.1, random_state=0)
    labels = SLBF(2, n_components=2, spectral=spectral, random_state=0).fit(union.data).labels_
    assert rand_score(union.target, labels) == 1.0


@BOTH
def test_a_dimension_that_fills_the_space_is_lowered(spectral):
    X = planes(noise=0.05).data[:, :3]
    with warns("full_rank"):
        model = SLBF(2, n_components=3, spectral=spectral, random_state=0).fit(X)
    assert_array_equal(model.n_components_, [2, 2])


@BOTH
def test_samples_that_coincide(spectral):
    lines = np.array([[1.0, 2.0, 3.0], [-2.0, 1.0, 0.5]])
    X = np.vstack([np.outer(np.linspace(1, 2, 8), line) for line in lines])
    model = SLBF(2, spectral=spectral, random_state=0).fit(np.repeat(X, 4, axis=0))
    assert_array_equal(model.labels_, np.repeat([0, 1], 32))


@pytest.mark.filterwarnings("ignore::subspaces.messages.DataWarning")
def test_fewer_clusters_than_asked_for():
    X = np.repeat([[1.0, 2.0, 3.0], [-2.0, 1.0, 0.5]], 20, axis=0)
    with warns("empty_clusters", kind=ConvergenceWarning):
        model = SLBF(3, spectral=False, random_state=0).fit(X)
    assert len(model.subspaces_) == 2
    assert_array_equal(model.predict(X), model.labels_)


def test_the_number_of_samples_of_the_graph_is_bounded():
    X = np.random.default_rng(0).normal(size=(5001, 2))
    with refuses("spectral", True):
        SLBF(2).fit(X)
    assert len(SLBF(2, spectral=False, n_candidates=2, random_state=0).fit(X).labels_) == 5001


@pytest.mark.parametrize(
    ("options", "error", "refused"),
    [
        ({"n_components": [1, 2]}, ValueError, "n_components"),
        ({"n_components": 6}, ValueError, "n_components"),
        ({"affine": 1}, TypeError, "affine"),
        ({"spectral": "yes"}, TypeError, "spectral"),
        ({"n_candidates": 1}, ValueError, "n_candidates"),
        ({"n_candidates": "all"}, TypeError, "n_candidates"),
    ],
)
def test_what_is_refused(options, error, refused):
    with refuses(refused, kind=error):
        SLBF(**options).fit(planes().data)
