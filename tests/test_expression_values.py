import re

import numpy as np
import pytest
from scipy import sparse

from subspaces.expression_values import doubt, read_cells, read_values
from subspaces.recipes import ExpressionScaler
from tests.warned import refuses, warns

RANDOM = np.random.default_rng(0)
LOGS = RANDOM.normal(7.0, 2.0, (30, 200))
RATES = 2.0 ** RANDOM.normal(0.0, 2.0, (1, 200))
UMI = RANDOM.poisson(2 * RATES, (30, 200)).astype(float)
READS = RANDOM.poisson(300 * RATES, (30, 200)).astype(float)
READS[:, :20] = 0
TPM = np.where(READS > 30, READS * 1e6 / READS.sum(axis=1, keepdims=True), 0.0)


@pytest.mark.parametrize(
    ("values", "kind", "because"),
    [
        (2.0**LOGS + 1.0, "intensities", "no zeros"),
        (2.0**LOGS - 60.0, "intensities", r"above 30 and some negative"),
        (np.maximum(np.rint(2.0**LOGS), 10.0), "intensities", "from 10 to"),
        (LOGS.clip(0.1), "log", "none above 1"),
        (LOGS - 1.0, "log", "few negative"),
        (np.log1p(UMI), "log", "none above"),
        (1 / (1 + np.exp(-LOGS + 7)), "shares", "from 0.0.* to 0.99"),
        (100 / (1 + np.exp(-LOGS + 7)), "shares", "from 0.0.* to 99"),
        (UMI / UMI.sum(axis=1, keepdims=True), "shares", "from 0 to 0."),
        (LOGS - 7.0, "ratios", r"\d\d % negative"),
        (2.0 ** (0.6 * LOGS - 4.2), "ratios", r"all positive, \d\d % below 1"),
        (UMI, "counts", "whole numbers, .*% zeros"),
        (np.minimum(UMI, 9.0), "counts", "whole numbers from 0 to 9"),
        (READS, "counts", "whole numbers, 1. % zeros"),
        (TPM, "counts", "none negative, up to .* zeros"),
        (np.maximum(2.0 ** (LOGS - 4), 0.01), "counts", "below 20, down to 0.0"),
    ],
)  # fmt: skip
def test_what_a_table_holds_is_recognised(values, kind, because):
    found = read_values(values)
    assert found.kind == kind, found
    assert pytest.approx(float(np.mean(values == 0))) == found.zero
    assert re.search(because, found.because), found.because


def test_the_order_of_rows_and_columns_says_nothing():
    assert read_values(UMI[::-1, ::-1]) == read_values(UMI)


@pytest.mark.parametrize("values", [UMI, np.log1p(UMI), TPM, UMI - 1.0, np.zeros((4, 5))])
def test_a_sparse_table_is_read_as_the_dense_one_is(values):
    assert read_values(sparse.csr_array(values)) == read_values(values)


@pytest.mark.parametrize(
    ("values", "kind", "because"),
    [
        (UMI, "counts", "whole numbers from 0 to"),
        (1.1 * UMI, "counts", "from 0 to"),
        (np.log1p(UMI), "log", "none above"),
        (UMI / UMI.max(), "log", "none above 1"),
        (np.log1p(UMI) - np.log1p(UMI).mean(axis=0), "ratios", "negative"),
    ],
)
def test_cells_hold_counts_or_logarithms(values, kind, because):
    found = read_cells(values)
    assert found.kind == kind
    assert because in found.because


def test_intensities_are_no_cells():
    with refuses("X"):
        read_cells(2.0**LOGS - 60.0)
    with refuses("X"):
        read_cells(np.rint(LOGS - 8.0))


def with_one(values, other):
    """Return a copy with one value replaced, as marks of missing ones are."""
    changed = values.copy()
    changed[3, 4] = other
    return changed


@pytest.mark.parametrize(
    ("values", "taken_for"),
    [
        (np.rint(LOGS - 7.0), "log ratios"),
        (with_one(np.minimum(UMI, 9.0), -1.0), "logarithms"),
        (with_one(READS, -999.0), "intensities"),
    ],
)
def test_negative_whole_numbers_are_doubtful(values, taken_for):
    with warns("negative_whole") as said:
        ExpressionScaler().fit(values)
    assert said[0].message.parameters["words"] == taken_for


@pytest.mark.parametrize(
    "values", [np.rint(2.0**LOGS - 60.0), LOGS - 7.0, LOGS - 1.0, UMI, READS, np.rint(LOGS.clip(0))]
)
def test_average_differences_log_ratios_and_counts_are_not_doubtful(values):
    assert doubt(read_values(values)) is None


@pytest.mark.filterwarnings("error")
def test_who_says_the_kind_is_not_asked_again():
    assert ExpressionScaler(kind="ratios").fit(np.rint(LOGS - 7.0)).kind_ == "ratios"
