"""Whatever the table: a valid result, or an error of our own that says what was wrong."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from subspaces import PSC, SSC, EnsembleKSubspaces, SparseKMeans
from subspaces.messages import ParameterError
from tests.estimators.checks import CLUSTERERS, made
from tests.properties.checks import assert_fits_or_refuses, assert_valid, attempted
from tests.properties.models import OPTIONS, models
from tests.properties.tables import EXACT, Draw, draws
from tests.warned import refuses

EACH = pytest.mark.parametrize("kind", OPTIONS, ids=lambda kind: kind.__name__)


@EACH
@given(data=st.data())
def test_a_valid_result_or_an_error_of_our_own(kind, data):
    drawn, model = data.draw(draws()), data.draw(models(kind))
    table, before = drawn.table(), drawn.table()
    assert_fits_or_refuses(model, table)
    np.testing.assert_array_equal(np.asarray(table), np.asarray(before))


@EACH
@given(data=st.data())
def test_how_a_table_is_stored_does_not_matter(kind, data):
    drawn, model = data.draw(draws()), data.draw(models(kind))
    other = replace(drawn, storage=data.draw(st.sampled_from(EXACT)))
    plain = replace(drawn, storage="C")
    one = attempted(clone(model).fit, plain.table())
    two = attempted(clone(model).fit, other.table())
    assert (one is None) == (two is None)
    if one is not None:
        np.testing.assert_array_equal(one.labels_, two.labels_)
        assert one.objective_ == two.objective_


# What earlier examples broke, so that CI need not find it again.
FOUND = [
    (Draw("two points", 40, 9, 0, 0, 0.0, "C"), SparseKMeans(max_iter=1, n_init=1, random_state=0)),
    (
        Draw("zero rows", 16, 4, 749497, 100, 0.0, "C"),
        PSC(
            affine=True, init="local", n_components=[1, 2], n_init=2, n_variables=2, random_state=4
        ),
    ),
    (
        Draw("collinear", 60, 30, 974173, -100, 0.0, "mixed pandas"),
        PSC(
            8, affine=True, criterion="residual", init="local", max_iter=1, n_init=2,
            n_variables=3, penalty="nonnegative", random_state=1, refine="ppca",
        ),
    ),
    (
        Draw("flats", 30, 4, 55850, 0, 1e15, "read-only"),
        EnsembleKSubspaces(24, affine=True, n_components=0, n_runs=3, random_state=0),
    ),
    (
        Draw("spike", 8, 9, 147191, 0, 0.0, "pandas"),
        PSC(max_iter=1, n_init=2, n_variables=2, random_state=5, refine="ppca"),
    ),
    (
        Draw("spike", 24, 30, 298061, 0, 0.0, "C"),
        PSC(8, criterion="hat", max_iter=1, n_init=3, random_state=4, refine="descent"),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("drawn", "model"), FOUND, ids=[drawn.kind for drawn, _ in FOUND])
def test_what_was_broken_once(drawn, model):
    table = drawn.table()
    fitted = attempted(clone(model).fit, table)
    assert_valid(fitted, *np.shape(table))


def test_a_refinement_that_does_not_span_its_axes_is_dropped():
    X = Draw("two points", 16, 5, 0, 0, 0.0, "C").matrix()
    model = PSC(2, n_init=2, affine=True, random_state=0, refine="ppca")
    assert np.isfinite(attempted(model.fit, X).objective_)


def test_rows_of_full_rank_are_not_divided_by_nothing():
    X = Draw("grid", 3, 30, 0, 139, 0.0, "C").matrix()
    with pytest.raises(ParameterError) as raised:
        SSC(1, affine=True, solver="admm").fit(X)
    assert raised.value.parameter == "alpha"


EQUAL = [
    *(made(kind, affine=True) for kind in CLUSTERERS.values()),
    PSC(2, affine=True, n_variables=2),
    SSC(2, affine=True, solver="admm"),
]


@pytest.mark.parametrize("value", [0.1, 1e-20, 1e100], ids=str)
@pytest.mark.parametrize("model", EQUAL, ids=str)
def test_equal_rows_do_not_differ_by_rounding(model, value):
    """The mean of twelve numbers 0.1 is another number."""
    with refuses("X", naming=["identical"]):
        model.fit(np.full((12, 3), value))
