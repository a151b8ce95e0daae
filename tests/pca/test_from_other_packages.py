"""The page for users of other PCA packages: every call of its last column runs."""

import re
from pathlib import Path

import numpy as np
import pytest

from subspaces import PCA, plots

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "pca_from_other_packages.md"
ROWS = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
CALLS = {call for row in ROWS[1:] for call in re.findall("`([^`]+)`", row.split("|")[-2])}


def test_the_page_has_calls():
    assert len(CALLS) > 12


@pytest.mark.parametrize("call", sorted(CALLS))
def test_the_call_runs(call):
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 2)) @ random.normal(size=(2, 6)) + random.normal(size=(40, 6))
    model, w = PCA(2).fit(X), np.arange(1.0, 41.0)
    known = {"PCA": PCA, "plots": plots, "model": model, "X": X, "w": w, "fit": PCA(2).fit}
    assert call == "NaN in X" or eval(call, known) is not None
