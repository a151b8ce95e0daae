"""Whatever the table: a valid result, or an error of our own that says what was wrong."""

import time
import traceback
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from sklearn.base import clone

import subspaces
from subspaces import PSC, SSC, EnsembleKSubspaces, SparseKMeans
from tests.properties.models import OPTIONS, models
from tests.properties.tables import EXACT, Draw, draws

HOME = str(Path(subspaces.__file__).parent)
VALIDATION = str(Path("sklearn") / "utils" / "validation.py")
LONGEST = 60.0

EACH = pytest.mark.parametrize("kind", OPTIONS, ids=lambda kind: kind.__name__)


def attempted(work, *arguments):
    """What a call returns, or None where our own checks refuse; all else fails the test."""
    began = time.perf_counter()
    result, refusal = None, ""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            result = work(*arguments)
        except (ValueError, TypeError) as error:
            where = traceback.extract_tb(error.__traceback__)[-1].filename
            if not (where.startswith(HOME) or where.endswith(VALIDATION)):
                raise
            refusal = str(error)
            note(f"refused: {refusal}")
    assert len(refusal.splitlines()) <= 1
    assert time.perf_counter() - began < LONGEST
    for entry in heard:
        said = f"{entry.category.__name__} from {entry.filename}: {entry.message}"
        assert not issubclass(entry.category, (RuntimeWarning, DeprecationWarning)), said
        assert entry.filename == __file__, said
    return result


def assert_valid(model, n, p):
    """What holds of every fitted model."""
    k = model._n_features_out
    assert model.labels_.shape == (n,)
    assert model.labels_.dtype.kind == "i"
    assert model.labels_.min() >= 0
    assert model.labels_.max() < k
    assert not np.isnan(model.objective_)
    assert np.isfinite(model.objective_) or model.record_.messages, "infinite, and not a word of it"
    for flat in getattr(model, "subspaces_", []):
        assert flat.centre.shape == (p,)
        assert all(np.isfinite(part).all() for part in (flat.centre, flat.basis, flat.spectrum))
        lengths = np.linalg.norm(flat.basis, axis=0)
        # A sparse loading is zero where nothing is left to explain.
        used = lengths > 0 if getattr(model, "n_variables", None) else slice(None)
        np.testing.assert_allclose(lengths[used], 1.0, atol=1e-6)


@EACH
@given(data=st.data())
def test_a_valid_result_or_an_error_of_our_own(kind, data):
    drawn, model = data.draw(draws()), data.draw(models(kind))
    table, before = drawn.table(), drawn.table()
    fitted = attempted(model.fit, table)
    np.testing.assert_array_equal(np.asarray(table), np.asarray(before))
    if fitted is None:
        return
    n, p = np.shape(table)
    assert_valid(fitted, n, p)
    scores = attempted(fitted.transform, table)
    assert scores is not None
    assert scores.shape == (n, fitted._n_features_out)
    assert np.isfinite(scores).all()
    labels = attempted(fitted.predict, table)
    assert labels.min() >= 0
    assert labels.max() < fitted._n_features_out


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
    with pytest.raises(ValueError, match="no sample of X is expressed by others"):
        SSC(1, affine=True, solver="admm").fit(X)
