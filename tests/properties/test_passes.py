"""The same where rows are looked at in passes, as are many rows and sparse matrices."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from subspaces import PSC, KSubspaces, MiniBatchPSC
from subspaces.estimators import _many_rows
from tests.properties.checks import assert_fits_or_refuses
from tests.properties.models import models
from tests.properties.tables import draws

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
    with mock.patch.object(_many_rows, "FEW_ROWS", 0):
        assert_fits_or_refuses(model, table)
    assert (table != before).sum() == 0 or not np.isfinite(drawn.matrix()).all()
