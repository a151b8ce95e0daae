"""The same where rows are looked at in passes, as are many rows and sparse matrices."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from subspaces import PSC, KSubspaces, MiniBatchPSC
from subspaces.data import kinds
from tests.properties.checks import assert_fits_or_refuses
from tests.properties.models import models
from tests.properties.tables import Draw, draws

KINDS = {
    "double": lambda values: values,
    "single": lambda values: values.astype(np.float32),
    "sparse": sparse.csr_array,
    "sparse single": lambda values: sparse.csc_array(values.astype(np.float32)),
}


@pytest.mark.parametrize("kind", [PSC, KSubspaces, MiniBatchPSC], ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_a_valid_result_or_an_error_of_our_own(kind, data):
    drawn, model = data.draw(draws()), data.draw(models(kind))
    with np.errstate(over="ignore"):
        table = KINDS[data.draw(st.sampled_from(sorted(KINDS)))](drawn.matrix())
    before = table.copy()
    with mock.patch.object(kinds, "FEW_ROWS", 0):
        assert_fits_or_refuses(model, table)
    assert (table != before).sum() == 0 or not np.isfinite(drawn.matrix()).all()


# What earlier examples broke, so that CI need not find it again.
FOUND = [
    (Draw("zero columns", 12, 3, 1, 0, 0.0, "C"), KSubspaces(n_init=1, random_state=0)),
    (Draw("noise", 12, 1, 1, 0, 1e8, "C"), PSC(affine=True, n_init=1, random_state=0)),
    (Draw("spike", 12, 5, 1, 0, 1e8, "C"), PSC(affine=True, n_init=1, random_state=0)),
    (Draw("two points", 40, 4, 0, -139, -1e3, "C"), KSubspaces(8, affine=True, random_state=0)),
    (Draw("copies", 8, 4, 254, 0, 0.0, "C"), KSubspaces(1, n_components=2, random_state=0)),
    (Draw("noise", 12, 3, 0, 150, -1e3, "C"), KSubspaces(random_state=0)),
    (Draw("zero rows", 16, 3, 0, 0, 0.0, "C"), PSC(affine=True, max_iter=1, n_init=1)),
    (
        Draw("zero rows", 12, 3, 0, 0, 0.0, "C"),
        PSC(max_iter=1, n_init=1, n_variables=1, random_state=0),
    ),
]


# The same in single precision: variances and powers that it has no number for.
FOUND_IN_SINGLE = [
    (
        Draw("zero rows", 40, 9, 188, 0, 0.0, "C"),
        PSC(
            8, affine=True, init="random", n_components=2, n_init=1, n_variables=2,
            penalty="nonnegative", random_state=1,
        ),
    ),
    (
        Draw("noise", 24, 3, 252, -20, 1e8, "C"),
        PSC(affine=True, max_iter=1, n_init=1, random_state=0),
    ),
    (
        Draw("exact flats", 16, 3, 0, 0, 0.0, "C"),
        MiniBatchPSC(
            batch_size=7, criterion="influence", forgetting=0.01, max_batches=1, n_components=2,
            n_init=1, random_state=0,
        ),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("drawn", "model"), FOUND_IN_SINGLE, ids=["loadings", "variance", "power"])
def test_what_was_broken_once_in_single_precision(drawn, model):
    with mock.patch.object(kinds, "FEW_ROWS", 0):
        assert_fits_or_refuses(clone(model), drawn.matrix().astype(np.float32))


@pytest.mark.parametrize(("drawn", "model"), FOUND, ids=[drawn.kind for drawn, _ in FOUND])
def test_what_was_broken_once(drawn, model):
    with mock.patch.object(kinds, "FEW_ROWS", 0):
        assert_fits_or_refuses(clone(model), drawn.matrix())
