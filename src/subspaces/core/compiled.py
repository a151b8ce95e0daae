"""Which problems the compiled kernels know."""

from typing import Any

import numpy as np

from subspaces.core.kernels import kernels
from subspaces.core.problem import Problem
from subspaces.core.rows import DenseRows, GramRows

# Above so many variables the scatter matrices cost more than the pass over the rows.
MOST_VARIABLES = 200


def compiled_looker(problem: Problem) -> Any | None:
    """A fresh looker for one run of the loop, or None where the plain code must do."""
    if problem.sparsity is not None or not problem.identified:
        return None
    module, rows = kernels(), problem.rows
    if module is None or problem.criterion not in module.CRITERIA:
        return None
    dimensions, given = problem.dimensions, (problem.criterion, problem.affine)
    least = problem.faintest
    if isinstance(rows, GramRows):
        gram = np.ascontiguousarray(rows.gram)
        return module.GramLooker(gram, rows.squared_norms, dimensions, least, *given)
    if (
        isinstance(rows, DenseRows)
        and not problem.affine
        and rows.matrix.shape[1] <= MOST_VARIABLES
    ):
        matrix = np.ascontiguousarray(rows.matrix)
        return module.ScatterLooker(
            matrix, rows.squared_norms, dimensions, least, problem.criterion
        )
    return None
