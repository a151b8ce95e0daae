"""Which problems the compiled kernels know."""

from typing import Any

import numpy as np

from subspaces.core.kernels import kernels
from subspaces.core.problem import Problem
from subspaces.core.rows import DenseRows, GramRows
from subspaces.core.sparse_basis import MAX_STEPS, NOTHING_LEFT, SETTLED, TIED, Sparsity

# Above so many variables the scatter matrices cost more than the pass over the rows.
MOST_VARIABLES = 200
# Up to so many rows all inner products are held for sparse loadings to start from.
MOST_ROWS = 2000


def compiled_looker(problem: Problem) -> Any | None:
    """A fresh looker for one run of the loop, or None where the plain code must do."""
    module, rows = kernels(), problem.rows
    if module is None:
        return None
    dimensions, given = problem.dimensions, (problem.criterion, problem.affine)
    if problem.sparsity is not None:
        return _sparse_looker(module, problem, problem.sparsity)
    if problem.criterion not in module.CRITERIA or not problem.identified:
        return None
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


def _sparse_looker(module: Any, problem: Problem, sparsity: Sparsity) -> Any | None:
    rows, nonnegative = problem.rows, sparsity.penalty == "nonnegative"
    if not isinstance(rows, DenseRows) or problem.criterion not in module.SPARSE_CRITERIA:
        return None
    matrix = np.ascontiguousarray(rows.matrix)
    n, p = matrix.shape
    if max(sparsity.n_variables) >= p and not nonnegative:
        return None  # the loadings of such a cluster are its principal axes
    gram = matrix @ matrix.T if n <= MOST_ROWS and not problem.affine else np.empty((0, 0))
    return module.SparseLooker(
        matrix,
        rows.squared_norms,
        gram,
        problem.dimensions,
        problem.faintest,
        sparsity.n_variables,
        problem.criterion,
        problem.affine,
        nonnegative,
        (SETTLED, MAX_STEPS, TIED, NOTHING_LEFT),
    )
