"""Warnings and errors as values."""

import pickle

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from subspaces import PSC
from subspaces.messages import (
    Advice,
    DataWarning,
    Message,
    NotConvergedWarning,
    ParameterError,
    ParameterTypeError,
    message_of,
    note,
    shown,
    silenced,
    simpler,
    use,
)
from tests.warned import warns


def doubt(code="far_mean", *advice, **parameters):
    return DataWarning(
        code, "{n:#sample has|samples have} <n_components={n}>.", *advice, **parameters
    )


def option(name, value):
    return f"--{name}" if value in (None, "True") else f"--{name} {value}"


def test_each_reader_has_its_own_terms():
    warning = doubt("far_mean", use("affine", True), Advice("centre X", command=""), n=3)
    assert str(warning) == "3 samples have n_components=3. Use affine=True, or centre X."
    spoken = warning.message.in_words(option, command=True)
    assert spoken == "3 samples have --n_components 3. Use --affine."
    assert warning.message.in_words(option, {"affine"}, command=True) == (
        "3 samples have --n_components 3."
    )
    assert (warning.code, warning.parameters, warning.advice[0].value) == (
        "far_mean", {"n": 3}, True,
    )  # fmt: skip


def test_names_from_a_table_are_no_tokens():
    said = DataWarning(
        "x",
        "Sample {name} and {names} of {share:%}.",
        name="<b=1>{0}",
        names=list("abcdefg"),
        share=0.999,
    )
    assert str(said) == "Sample <b=1>{0} and a, b, c, d, e and 2 more of more than 99 %."
    assert str(note("a <b> {c}")) == "a <b> {c}"


@pytest.mark.parametrize(
    ("names", "said"),
    [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (list("abcdef"), "a, b, c, d, e and 1 more")],
)
def test_names_are_listed_as_they_are_spoken(names, said):
    assert str(Message("x", "{names}", {"names": names})) == said


def test_nothing_impossible_is_advised():
    assert [each.parameter for each in simpler(2, 2)] == ["n_clusters", "n_components"]
    assert [each.parameter for each in simpler(2, 1)] == ["n_clusters"]
    assert [each.parameter for each in simpler(1, 1, affine=True)] == ["n_components"]
    assert simpler(1, 0, affine=True) == ()


def test_warnings_can_be_pickled():
    warning = doubt("far_mean", use("affine", True), n=1)
    again = pickle.loads(pickle.dumps(warning))
    assert (type(again), again.message) == (DataWarning, warning.message)
    error = pickle.loads(pickle.dumps(ParameterError("k", "<k={value}> is too many.", value=3)))
    assert (str(error), error.parameter, error.value) == ("k=3 is too many.", "k", 3)


def test_kinds_are_those_that_users_filter_by():
    assert issubclass(NotConvergedWarning, ConvergenceWarning)
    assert issubclass(ParameterError, ValueError)
    assert issubclass(ParameterTypeError, TypeError)


def test_at_most_three_doubts_are_shown_the_gravest_first():
    codes = ["unknown", "far_mean", "refilled", "infeasible", "max_iter", "far_mean"]
    foreign = UserWarning("from elsewhere")
    warnings = [foreign, *(doubt(code, n=n) for n, code in enumerate(codes))]
    seen = shown(warnings)
    assert [message_of(warning).code for warning in seen] == [
        "max_iter", "infeasible", "far_mean", "note",
    ]  # fmt: skip
    assert seen[-1] is foreign


def test_of_a_year_among_the_variables_one_doubt_is_shown():
    codes = ["far_mean", "unlike_scales", "holds_most", "identifiers"]
    assert [each.code for each in shown(list(map(doubt, codes)))] == ["identifiers"]


def test_a_suspected_mark_comes_first_and_leaves_nothing_stable():
    codes = ["constant_variables", "empty_samples", "marks", "heavy_tails"]
    seen = [each.code for each in shown(list(map(doubt, codes)))]
    assert seen == ["marks", "empty_samples", "constant_variables"]
    assert "solid" in silenced(["marks"])


def test_a_fit_warns_of_numbers_that_mark_missing_values():
    X = np.random.default_rng(0).normal(size=(40, 4))
    X[::7, 2] = -999
    with warns("marks") as said:
        PSC(2, random_state=0).fit(X)
    assert said[0].message.parameters["marks"] == ["-999"]


@pytest.mark.parametrize("text", ["<a=1>", "<a>", "<a.b=[1, 2]>"])
def test_python_shows_tokens_as_code(text):
    assert str(Message("a", text)) == text[1:-1]
