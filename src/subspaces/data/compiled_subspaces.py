"""Sparse loadings of rows in view by compiled code, which updates its last fit when labels change.

The code is `kernels/sparse_loadings.pyx`.
"""

from typing import Any

import numpy as np

from subspaces._types import Array, Labels
from subspaces.core import sparse_loadings
from subspaces.core.criteria import own_costs
from subspaces.core.problem import Problem
from subspaces.core.rows import DenseRows
from subspaces.kernels import compiled


class SparseLoadings:
    """Sparse loadings of all clusters of a problem, held by a compiled object.

    kernel: the compiled object, with `fit(labels)`, `forget()` and the results of the last fit.
    """

    def __init__(self, problem: Problem, kernel: Any) -> None:
        self.problem, self.kernel = problem, kernel

    def degenerate(self) -> list[int]:
        """Return the numbers of clusters whose members do not span as many axes as they have.

        An axis counts if its energy reaches the problem's least energy times the cluster's size.
        """
        found, spectra = self.kernel.found, self.kernel.spectra
        least = self.problem.least_energy * self.kernel.sizes
        return [
            k
            for k, r in enumerate(self.problem.dimensions)
            if r and (found[k] < r or spectra[k, r - 1] < least[k])
        ]

    def fit(self, labels: Labels) -> None:
        """Fit the clusters whose members are not those of the last fit."""
        assert labels.min(initial=0) >= 0  # the compiled code has no place for rows in no cluster
        self.kernel.fit(labels)

    def costs(self) -> Array:
        """Cost of every row under every cluster, (n, K), by the last fit."""
        found: Array = self.kernel.costs(self.problem.criterion)
        return found

    def loadings(self) -> tuple[Array, ...]:
        """Sparse loadings (p, R_k) of every cluster."""
        found = zip(self.kernel.loadings.copy(), self.problem.dimensions, strict=True)
        return tuple(basis[:r].T for basis, r in found)

    def energy(self, labels: Labels) -> float:
        """Sum of the members' energy along their own loadings, refitted without the last fit's."""
        self.kernel.forget()
        self.fit(labels)
        return float(own_costs(self.kernel.captured.T, labels).sum())


def compiled_subspaces(problem: Problem) -> SparseLoadings | None:
    """Return the compiled subspaces of a problem; None if no compiled code can take it."""
    rows, sparsity = problem.rows, problem.sparsity
    # Compiled code counts rows as one.
    if sparsity is None or not isinstance(rows, DenseRows) or rows.weights is not None:
        return None
    nonnegative, module = sparsity.penalty == "nonnegative", compiled("sparse_loadings")
    if module is None or rows.matrix.dtype != np.float64:
        return None
    if problem.criterion not in module.CRITERIA:
        return None
    if max(sparsity.n_variables) >= rows.matrix.shape[1] and not nonnegative:
        return None  # the loadings of such a cluster are its principal axes
    names = "LOADING_TOLERANCE", "MAX_STEPS", "TIED", "NOTHING_LEFT"
    kernel = module.SparseSubspaces(
        rows.matrix,
        rows.squared_norms,
        None if problem.affine else rows.products,
        problem.dimensions,
        sparsity.n_variables,
        problem.affine,
        nonnegative,
        [getattr(sparse_loadings, name) for name in names],
    )
    return SparseLoadings(problem, kernel)
