"""Which problems the compiled kernels know."""

from typing import Any

import numpy as np

from subspaces.core.kernels import kernels
from subspaces.core.partition import DEGENERATE
from subspaces.core.problem import Problem
from subspaces.core.rows import GramRows


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
