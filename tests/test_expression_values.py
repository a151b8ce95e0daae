import re

import numpy as np
import pytest

from subspaces.expression_values import read_values

RANDOM = np.random.default_rng(0)
LOGS = RANDOM.normal(7.0, 2.0, (30, 200))
RATES = 2.0 ** RANDOM.normal(0.0, 2.0, (1, 200))
UMI = RANDOM.poisson(2 * RATES, (30, 200)).astype(float)
READS = RANDOM.poisson(300 * RATES, (30, 200)).astype(float)
READS[:, :20] = 0
TPM = np.where(READS > 30, READS * 1e6 / READS.sum(axis=1, keepdims=True), 0.0)


@pytest.mark.parametrize(
    ("values", "kind", "logged", "because"),
    [
        (2.0**LOGS + 1.0, "intensities", False, "no zeros"),
        (2.0**LOGS - 60.0, "intensities", False, r"beyond 30, with the negative values"),
        (np.maximum(np.rint(2.0**LOGS), 10.0), "intensities", False, "from 10 to"),
        (LOGS.clip(0.1), "log", True, "none above 1"),
        (LOGS - 1.0, "log", True, "hardly any negative"),
        (np.log1p(UMI), "log", True, "none above"),
        (1 / (1 + np.exp(-LOGS + 7)), "log", True, "none above"),
        (LOGS - 7.0, "ratios", True, r"\d\d% negative"),
        (2.0 ** (0.6 * LOGS - 4.2), "ratios", False, r"all positive, \d\d% below 1"),
        (UMI, "counts", False, "whole numbers, .*% zeros"),
        (np.minimum(UMI, 9.0), "counts", False, "whole numbers from 0 to 9"),
        (READS, "counts", False, "whole numbers, 1.% zeros"),
        (TPM, "counts", False, "none negative, up to .* zeros"),
        (np.maximum(2.0 ** (LOGS - 4), 0.01), "counts", False, "below 20, down to 0.0"),
    ],
)  # fmt: skip
def test_what_a_table_holds_is_recognised(values, kind, logged, because):
    found = read_values(values)
    assert (found.kind, found.logged) == (kind, logged), found
    assert pytest.approx(float(np.mean(values == 0))) == found.zero
    assert re.search(because, found.because), found.because


def test_the_order_of_rows_and_columns_says_nothing():
    assert read_values(UMI[::-1, ::-1]) == read_values(UMI)
