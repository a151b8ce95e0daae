import inspect
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

from subspaces import PSC, KSubspaces, SparseKMeans
from subspaces.datasets import make_subspaces
from subspaces.estimators import _record as record
from tests.estimators.checks import CLUSTERERS
from tests.warned import warns

TUNED = {"n_init": 3, "n_runs": 10, "bound": 1.5}


@pytest.fixture(scope="module")
def lines():
    return make_subspaces([20, 25], 5, [1, 1], noise=0.1, random_state=0).data


def small(estimator):
    """An instance that does not take long."""
    known = inspect.signature(estimator).parameters
    given = {name: value for name, value in TUNED.items() if name in known}
    return estimator(2, random_state=0, **given)


@pytest.mark.parametrize("estimator", CLUSTERERS.values(), ids=CLUSTERERS)
def test_the_record_is_what_the_model_says_of_its_samples(estimator, lines):
    model = small(estimator).fit(lines)
    kept = model.record_
    assert kept.seconds > 0
    assert kept.sample_names is None
    np.testing.assert_array_equal(kept.scores, model.transform(lines))
    if estimator is SparseKMeans:
        assert kept.coordinates is None
        return
    for row, k, found in zip(lines, model.labels_, kept.coordinates, strict=True):
        flat = model.subspaces_[k]
        nearest = flat.centre + flat.basis @ found[: model.n_components_[k]]
        error = row - nearest
        np.testing.assert_allclose(flat.basis.T @ error, 0, atol=1e-9)


def test_coordinates_are_padded_where_dimensions_differ():
    union = make_subspaces([30, 30], 8, [1, 3], noise=0.05, random_state=1)
    model = PSC(2, n_components=[1, 3], random_state=0).fit(union.data)
    missing = np.isnan(model.record_.coordinates)
    assert model.record_.coordinates.shape == (60, 3)
    np.testing.assert_array_equal(missing[model.labels_ == 0], [[False, True, True]] * 30)
    assert not missing[model.labels_ == 1].any()


def test_the_influence_is_on_record(lines):
    model = PSC(2, random_state=0).fit(lines)
    np.testing.assert_array_equal(model.record_.influence, model.influence_)
    assert KSubspaces(2, random_state=0).fit(lines).record_.influence is None


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        ([f"s{i}" for i in range(45)], [f"s{i}" for i in range(45)]),
        (range(100, 145), None),
        (list(range(45, 0, -1)), list(range(45, 0, -1))),
        ([("a", i) for i in range(45)], [f"('a', {i})" for i in range(45)]),
    ],
)
def test_names_of_samples(index, expected, lines):
    frame = pd.DataFrame(lines, index=index, columns=list("abcde"))
    names = KSubspaces(2, n_init=1, random_state=0).fit(frame).record_.sample_names
    assert names is None if expected is None else names.tolist() == expected


def test_names_survive_the_automatic_choice(lines):
    frame = pd.DataFrame(lines, index=[f"s{i}" for i in range(45)], columns=list("abcde"))
    model = PSC(n_components="auto", max_components=2, random_state=0).fit(frame)
    assert model.record_.sample_names[3] == "s3"
    assert model.get_variables(0)[0] in "abcde"


def test_a_warning_is_shown_once_at_the_callers_line_and_kept(lines):
    model = KSubspaces(2, n_init=1, max_iter=1, init="random", random_state=0)
    with warns("max_iter") as shown:
        model.fit(lines)
    assert [warning.filename for warning in shown] == [__file__]
    assert model.record_.messages == tuple(str(w.message) for w in shown)


def test_an_ignored_warning_is_kept(lines):
    model = KSubspaces(2, n_init=1, max_iter=1, init="random", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(lines)
    assert "max_iter=1" in model.record_.messages[0]
    assert model.set_params(max_iter=50).fit(lines).record_.messages == ()


def test_a_warning_is_shown_though_the_fit_fails(lines):
    def doubtful(X, n_clusters, random_state):
        warnings.warn("doubtful", UserWarning, stacklevel=2)
        raise ValueError("and wrong")

    with pytest.warns(UserWarning, match="doubtful"), pytest.raises(ValueError, match="and wrong"):
        KSubspaces(2, init=doubtful, n_init=1).fit(lines)


@pytest.mark.filterwarnings("ignore::subspaces.messages.NotConvergedWarning")
def test_of_very_many_samples_nothing_is_kept():
    """Five million numbers are kept, two scores and a coordinate a sample."""
    lines = np.random.default_rng(0).normal(size=(1_700_000, 2)) * [9.0, 1.0]
    model = KSubspaces(2, init=np.arange(len(lines)) % 2, max_iter=1)
    kept = model.fit(lines).record_
    assert (kept.sample_names, kept.scores, kept.coordinates, kept.influence) == (None,) * 4
    assert not record.is_too_large(1_666_666, 2, 1)


def test_a_list_needs_no_pandas(lines, monkeypatch):
    monkeypatch.delitem(sys.modules, "pandas")
    assert KSubspaces(2, n_init=1).fit(lines.tolist()).record_.sample_names is None
