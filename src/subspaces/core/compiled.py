"""The compiled kernels, where they were built and the problem is one they know.

Elsewhere the plain code runs, with the same results. ``SUBSPACES_PURE=1`` in the environment asks
for the plain code.
"""

import os
import warnings
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from subspaces.core.partition import DEGENERATE
from subspaces.core.problem import Problem
from subspaces.core.rows import GramRows


@cache
def kernels() -> Any | None:
    """The compiled module, or None; says once that it is missing."""
    if os.environ.get("SUBSPACES_PURE", "0") not in ("", "0"):
        return None
    try:
        return import_module("subspaces.core._kernels")
    except ImportError as reason:
        warnings.warn(
            f"the compiled kernels of subspaces are not at hand ({reason}), and fits take longer; "
            "reinstalling where there is a C compiler would do, and SUBSPACES_PURE=1 in the "
            "environment stops this warning",
            RuntimeWarning,
            stacklevel=2,
        )
        return None


def compiled_looker(problem: Problem) -> Any | None:
    """A fresh looker for one run of the loop, or None where the plain code must do."""
    if problem.sparsity is not None or not problem.identified:
        return None
    module = kernels()
    if module is None or problem.criterion not in module.CRITERIA:
        return None
    rows = problem.rows
    if not isinstance(rows, GramRows):
        return None
    dimensions = np.array(problem.dimensions)
    # A cluster of m members must reach m times this on its last axis (look.degenerate).
    least = DEGENERATE * rows.spectrum[dimensions - 1] / len(rows.gram)
    gram = np.ascontiguousarray(rows.gram)
    return module.GramLooker(
        gram, rows.squared_norms, problem.dimensions, least, problem.criterion, problem.affine
    )
