"""Subspaces of rows in view by compiled code, which updates its last fit when a few labels change.

`kernels/gram.pyx` if leading principal axes are enough and inner products are known,
`kernels/sparse_loadings.pyx` for sparse loadings.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from subspaces._types import Array, Labels
from subspaces.core import sparse_loadings
from subspaces.core.criteria import CRITERIA, ClusterStats, ScoreInputs, own_costs
from subspaces.core.problem import Problem
from subspaces.core.rows import DenseRows, GramRows
from subspaces.kernels import compiled


class CompiledSubspaces(ABC):
    """The subspaces of all clusters of a problem, held by a compiled object.

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

    @abstractmethod
    def costs(self, labels: Labels) -> Array:
        """Cost of every row under every cluster, (n, K); labels: those of the last fit."""

    def loadings(self) -> tuple[Array, ...] | None:
        """Sparse loadings (p, R_k) of every cluster; None if the axes are principal axes."""
        return None


class GramAxes(CompiledSubspaces):
    """Leading principal axes of all clusters, found from inner products of the rows."""

    def costs(self, labels: Labels) -> Array:
        """Cost of every row under every cluster, (n, K); labels: those of the last fit."""
        found, name = self.kernel, self.problem.criterion
        energies, facts = np.square(found.scores), (1.0, self.problem.data.rank, len(labels))
        stats = ClusterStats(found.spectra, found.found, found.sizes, self.problem.affine, *facts)
        loops = compiled("block_pass")
        if loops is not None and name in loops.CRITERIA:
            # No criterion that comes here asks for the Gaussians of the clusters.
            clusters = loops.Clusters(name, found.spectra, None, None, stats.mean_leverage, 1.0)
            result: Array = loops.costs(energies, found.residual, labels, clusters).T
            return result
        criterion, rows = CRITERIA[name], np.arange(len(labels))
        energies, residual = energies.transpose(2, 0, 1), found.residual.T
        matrix = np.array(criterion.outsider(ScoreInputs(energies, residual, stats)))
        own = ScoreInputs(energies[rows, labels], residual[rows, labels], stats, labels)
        matrix[rows, labels] = criterion.member(own)
        return matrix


class SparseLoadings(CompiledSubspaces):
    """Sparse loadings of all clusters, found from the rows themselves."""

    def costs(self, labels: Labels) -> Array:
        """Cost of every row under every cluster, (n, K); labels: those of the last fit."""
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


def compiled_subspaces(problem: Problem) -> CompiledSubspaces | None:
    """Return the compiled subspaces of a problem; None if no compiled code can take it."""
    if problem.rows.weights is not None:  # compiled code counts rows as one
        return None
    if problem.sparsity is None:
        return _principal(problem)
    return _sparse(problem, problem.sparsity)


def _principal(problem: Problem) -> GramAxes | None:
    rows, enough = problem.rows, not CRITERIA[problem.criterion].needs_full_spectrum
    if not (enough and isinstance(rows, GramRows) and problem.identified):
        return None
    module = compiled("gram")
    if module is None:
        return None
    given = rows.gram, rows.squared_norms, problem.dimensions, problem.affine
    return GramAxes(problem, module.GramSubspaces(*given))


def _sparse(problem: Problem, sparsity: sparse_loadings.Sparsity) -> SparseLoadings | None:
    rows, nonnegative = problem.rows, sparsity.penalty == "nonnegative"
    module = compiled("sparse_loadings")
    if module is None or not isinstance(rows, DenseRows) or rows.matrix.dtype != np.float64:
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
