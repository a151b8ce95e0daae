"""What a type checker says of calls, so that an editor completes the options."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from subspaces import _types
from subspaces.core import criteria
from subspaces.datasets import SCENARIOS
from subspaces.starts.registry import STARTS

HOME = Path(__file__).parents[1]
CALLS = """
import numpy as np
from subspaces import GPCA, MPPCA, PSC, SSC, KSubspaces, MiniBatchPSC, PCA, SparseKMeans
from subspaces.datasets import make_scenario
from subspaces.diagnostics import markers, pca_press, stability

PSC("auto")
PSC(2, n_components=[1, 2], init="random")
PSC(2, n_components=np.array([1, 2]), n_variables="auto", n_init=3, random_state=0)
PSC(2, init=np.zeros(9, dtype=int), refine="ppca", penalty="nonnegative")
PSC(2, init=lambda X, n_clusters, random_state: [0, 1])
SSC(solver="omp"), GPCA(method="voting"), MPPCA(noise="shared"), PCA(0.9, rotation="varimax")
SparseKMeans(bound="gap"), SparseKMeans(bound=2.0)
make_scenario("a")
X = np.zeros((9, 3))
stability(PSC(2), X), pca_press(X, 1), pca_press([[1.0, 2.0], [2.0, 1.0]], 1)
markers(X, ["a", "b"] * 4 + ["a"], cluster="b")
PSC(criterion="mse")  # wrong
PSC("many")  # wrong
PSC(2, init="kmeans")  # wrong
PSC(2, refine="pca")  # wrong
KSubspaces("auto")  # wrong
MiniBatchPSC(criterion="loo")  # wrong
SSC(solver="ista")  # wrong
make_scenario("z")  # wrong
SparseKMeans(bound="sum")  # wrong
stability(3, X)  # wrong
pca_press("table.csv", 2)  # wrong
pca_press(X, 1, False)  # wrong
markers(X, [0, 1, 1], cluster=0.5)  # wrong
"""


def test_a_type_checker_knows_the_options(tmp_path):
    pytest.importorskip("mypy")
    snippet = tmp_path / "calls.py"
    snippet.write_text(CALLS)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", snippet],
        cwd=HOME, env={**os.environ, "MYPYPATH": "src"}, capture_output=True, text=True,
    )  # fmt: skip
    found = {int(line) for line in re.findall(r"calls\.py:(\d+): error", done.stdout)}
    lines = CALLS.splitlines()
    assert found == {i for i, line in enumerate(lines, 1) if "# wrong" in line}, done.stdout


def test_the_names_are_those_of_the_lists():
    """A checker reads the names in `_types`, a fit those of the lists."""
    assert get_args(_types.CriterionName) == ("auto", *criteria.names(public=True))
    assert get_args(_types.StreamCriterionName) == ("auto", *criteria.names_for_outsiders())
    assert get_args(_types.InitName) == tuple(STARTS)
    assert get_args(_types.ScenarioName) == tuple(SCENARIOS)
    assert get_args(_types.AskedKind) == ("auto", "cells", *get_args(_types.ExpressionKind))
