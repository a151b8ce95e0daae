import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine

from subspaces import PSC
from subspaces.datasets import load_penguins
from subspaces.named_table import Table
from subspaces.preparation import (
    Preparation,
    attach_preparation,
    in_raw_units,
    learn_preparation,
    prepare,
)
from subspaces.psc.doubts import differ_in_units
from subspaces.runtime.serialise import fits as is_of_type
from tests.warned import refuses


@pytest.fixture
def table():
    data = np.array([[1.0, 100, 3, 700], [2, 10, 3, 900], [5, 1000, 3, 800]])
    return Table(data, ("A", "B", "C"), ("w", "x", "y", "z"))


def test_floor_log_top_scale_come_in_this_order(table):
    learned = learn_preparation(table, floor=2, log=True, top_variables=2, scale=True)
    assert learned.variable_names == ("w", "x")  # most variable after the logarithm
    done = prepare(table, learned)
    logs = np.log2(1 + np.maximum(table.data[:, :2], 2))
    np.testing.assert_allclose(done.data, (logs - logs.mean(0)) / logs.std(0))
    assert done.sample_names == table.sample_names
    assert table.data[0, 0] == 1


def test_nothing_asked_changes_nothing(table):
    np.testing.assert_array_equal(prepare(table, learn_preparation(table)).data, table.data)


def test_new_samples_are_scaled_as_the_old_ones_in_any_order(table):
    learned = learn_preparation(table, scale=True)
    turned = Table(table.data[:1, ::-1], ("D",), table.variable_names[::-1])
    np.testing.assert_allclose(prepare(turned, learned).data, prepare(table, learned).data[:1])


def test_a_variable_that_does_not_vary_becomes_zero(table):
    np.testing.assert_array_equal(
        prepare(table, learn_preparation(table, scale=True)).data[:, 2], 0
    )


def test_what_a_model_needs_goes_with_it(table):
    class Model:
        feature_names_in_ = np.array(["x", "w"], dtype=object)

    model = Model()
    attach_preparation(model, Preparation(("x", "w")))
    assert not hasattr(model, "preparation_")
    done = Preparation(("x", "w"), inputs=["w", "x", "y"], floor=0.0)
    attach_preparation(model, done)
    assert model.preparation_ == done
    assert model.feature_names_in_.tolist() == ["w", "x", "y"]
    assert model.n_features_in_ == 3


def test_a_preparation_is_said_str(table):
    assert str(learn_preparation(table)) == ""
    learned = learn_preparation(table, floor=2, log=True, top_variables=2, scale=True)
    assert str(learned) == (
        "values below 2 raised to 2, log2 of the value plus 1, kept the 2 of 4 variables that "
        "vary most, variables scaled to mean 0 and standard deviation 1"
    )
    of_recipe = Preparation(
        ("x", "z"), inputs=list("wxyz"), floor=20.0, log=True, offset=0.0, centre_samples=True,
        centre=np.zeros(2), axes=np.eye(2),
    )  # fmt: skip
    assert str(of_recipe) == (
        "values below 20 raised to 20, log2, samples centred, kept the 2 of 4 variables that "
        "vary most, variables centred, kept the first 2 principal axes"
    )
    assert repr(of_recipe) == f"<Preparation: {of_recipe}>"


def test_scaling_alone_is_undone(table):
    scaled = learn_preparation(table, scale=True)
    np.testing.assert_allclose(in_raw_units(prepare(table, scaled).data, scaled), table.data)
    for lossy in ({"floor": 2.0}, {"log": True}, {"top_variables": 2}):
        learned = learn_preparation(table, scale=True, **lossy)
        values = prepare(table, learned).data
        np.testing.assert_array_equal(in_raw_units(values, learned), values)


def test_samples_are_centred_over_all_inputs_before_the_screen(table):
    axes = np.array([[0.6, 0.8]])
    centre = np.array([1.0, -2.0])
    given = Preparation(
        ("x", "z"), inputs=["w", "x", "z"], log=True, offset=2.0, centre_samples=True,
        centre=centre, axes=axes,
    )  # fmt: skip
    logs = np.log2(2.0 + table.data[:, [0, 1, 3]])
    expected = (logs - logs.mean(axis=1, keepdims=True))[:, 1:] - centre
    expected = expected @ np.outer(axes[0], axes[0])
    done = prepare(table, given)
    np.testing.assert_allclose(done.data, expected)
    assert done.variable_names == ("x", "z")


def test_samples_are_brought_to_one_total_first(table):
    given = Preparation(("x", "z"), inputs=["w", "x", "y", "z"], total=100.0, floor=1.0, log=True)
    shares = table.data / table.data.sum(axis=1, keepdims=True)
    expected = np.log2(1 + np.maximum(100 * shares, 1.0))[:, [1, 3]]
    np.testing.assert_allclose(prepare(table, given).data, expected)
    empty = Table(0 * table.data, table.sample_names, table.variable_names)
    with refuses("X", sample="A"):
        prepare(empty, given)


def test_what_cannot_be_done_is_said(table):
    with refuses("top_variables", 5):
        learn_preparation(table, top_variables=5)
    with refuses("X", names=["p", "q"]):
        prepare(table, Preparation(("p", "w", "q")))
    below = Table(-table.data, table.sample_names, table.variable_names)
    with refuses("log", -1.0) as raised:
        learn_preparation(below, log=True)
    assert (raised.value.parameters["sample"], raised.value.parameters["variable"]) == ("A", "w")


GOOD = {
    "inputs": ["v", "w", "x", "y", "z"],
    "total": 5.0,
    "floor": 2.0,
    "log": True,
    "offset": 1.0,
    "centre_samples": False,
    "centre": np.zeros(4),
    "spread": np.ones(4),
    "axes": np.eye(4)[:2],
}


@pytest.mark.parametrize(
    ("state", "fits"),
    [
        (GOOD, True),
        ({**GOOD, **dict.fromkeys(["inputs", "total", "floor", "centre", "spread", "axes"])}, True),
        ({name: value for name, value in GOOD.items() if name != "total"}, True),
        ({**GOOD, "total": "5"}, False),
        ({**GOOD, "axes": np.eye(3)}, False),
        ({**GOOD, "inputs": [1, 2]}, False),
        ({**GOOD, "offset": None}, False),
        ({**GOOD, "centre": np.zeros(3)}, False),
        ({**GOOD, "log": 1}, False),
        ({**GOOD, "floor": "2"}, False),
        ({**GOOD, "n_seen": 9}, True),
        ({**GOOD, "n_seen": "9"}, False),
    ],
)
def test_a_model_file_has_a_preparation_of_this_form_or_none(state, fits):
    preparation = Preparation(("v", "w", "x", "y"), **state)
    assert is_of_type(preparation, Preparation, {"p": 4}) == fits


def test_what_was_left_out_does_not_change_the_units_of_an_answer():
    steps = {"centre": np.array([1.0, 2.0]), "spread": np.array([10.0, 100.0])}
    left_out = {"ignored": ["date"], "dropped": ["empty"]}
    values = np.array([[0.5, -1.0], [2.0, 0.0]])
    for more in ({}, left_out):
        raw = in_raw_units(values, Preparation(("x", "z"), **steps, **more))
        np.testing.assert_allclose(raw, [[6.0, -98.0], [21.0, 2.0]])
    many = Preparation(("x",), dropped=list("abcdefg"))
    assert str(many) == "left out a, b, c, d, e and 2 more (missing values)"


def pixels():
    return load_digits().data[:, :32]


def genes():
    """Raw intensities of more genes than there are units."""
    return np.exp(np.random.default_rng(0).normal(3, 2, size=(30, 150)))


def axes():
    return np.random.default_rng(0).normal(size=(400, 6)) * np.geomspace(1, 1000, 6)


@pytest.mark.parametrize(
    ("make", "differ"),
    [
        (lambda: load_wine().data, True),
        (lambda: load_penguins().data, True),  # with missing values
        (lambda: load_iris().data, False),
        (pixels, False),
        (genes, False),
        (axes, False),
        (lambda: 9 * np.geomspace(1, 1000, 6) + axes(), True),
        (lambda: np.ones((5, 3)), False),
    ],
)
def test_units_differ_by_one_rule(make, differ):
    X = make()
    assert differ_in_units(X) is differ
    assert differ_in_units(X[:, ::-1]) is differ
    spread = np.nanstd(X, axis=0)
    assert not differ_in_units(X / np.where(spread > 0, spread, 1.0))


@pytest.mark.parametrize("scaled", [False, True])
def test_psc_warns_of_units_that_differ_and_never_scales(scaled):
    X = load_wine().data / (load_wine().data.std(axis=0) if scaled else 1.0)
    model = PSC(2, n_components=2, affine=True, n_init=1, random_state=0)
    with warnings.catch_warnings(record=True, action="always"):
        model.fit(X)
    codes = [each.code for each in model.record_.warned]
    assert codes.count("unlike_scales") == (not scaled)
    np.testing.assert_allclose(model.cluster_means_[0], X[model.labels_ == 0].mean(axis=0))
