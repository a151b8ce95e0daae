"""Whatever the table: a valid result, or an error of our own that says what was wrong."""

import time
import traceback
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import subspaces
from tests.properties.models import OPTIONS, models
from tests.properties.tables import draws

HOME = str(Path(subspaces.__file__).parent)
VALIDATION = str(Path("sklearn") / "utils" / "validation.py")
LONGEST = 60.0

EACH = pytest.mark.parametrize("kind", OPTIONS, ids=lambda kind: kind.__name__)


def attempted(work, *arguments):
    """What a call returns, or None where our own validation refused; all else fails the test."""
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            result = work(*arguments)
        except (ValueError, TypeError) as error:
            where = traceback.extract_tb(error.__traceback__)[-1].filename
            if not (where.startswith(HOME) or where.endswith(VALIDATION)):
                raise
            assert len(str(error).splitlines()) == 1, f"more than one line: {error}"
            note(f"refused: {error}")
            result = None
    assert time.perf_counter() - began < LONGEST
    for entry in heard:
        assert not issubclass(
            entry.category, (RuntimeWarning, DeprecationWarning, FutureWarning)
        ), f"{entry.category.__name__}: {entry.message}"
        assert entry.filename == __file__, f"{entry.filename} warns: {entry.message}"
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
    table = drawn.table()
    before = drawn.table()
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
