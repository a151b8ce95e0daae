"""What every fit must do, whatever it is given."""

import time
import traceback
import warnings
from pathlib import Path

import numpy as np
from hypothesis import currently_in_test_context, note

import subspaces

HOME = str(Path(subspaces.__file__).parent)
VALIDATION = str(Path("sklearn") / "utils" / "validation.py")
LONGEST = 60.0


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
            if currently_in_test_context():
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


def assert_fits_or_refuses(model, table):
    """A valid result that scores its own rows, or one line of our own checks."""
    fitted = attempted(model.fit, table)
    if fitted is None:
        return
    n, p = table.shape if hasattr(table, "shape") else np.shape(table)
    assert_valid(fitted, n, p)
    scores = attempted(fitted.transform, table)
    assert scores is not None
    assert scores.shape == (n, fitted._n_features_out)
    assert np.isfinite(scores).all()
    labels = attempted(fitted.predict, table)
    assert labels.min() >= 0
    assert labels.max() < fitted._n_features_out
