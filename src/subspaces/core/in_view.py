"""Rows that are all in memory at once: each cluster is a PCA with the scores of every row on it.

If compiled code can take a problem, it updates the subspaces from sweep to sweep when a few labels
change: `kernels/gram.pyx` if leading principal axes are enough and inner products are known,
`kernels/sparse_loadings.pyx` for sparse loadings. Otherwise the PCA of a cluster that was met
before, in this run or another, is looked up; sparse loadings start from those of the last sweep.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from subspaces._types import Array, Labels
from subspaces.core import partition, sparse_loadings, which_run
from subspaces.core.criteria import CRITERIA, ClusterStats, costs, objective, own_costs
from subspaces.core.likelihood import classification_likelihood
from subspaces.core.loop import Assignment, Clustering, Fitted, Samples
from subspaces.core.problem import Problem, degenerate, view_clusters
from subspaces.core.rows import ClusterView, DenseRows, GramRows
from subspaces.core.sparse_view import energy_on_loadings, loadings_of
from subspaces.core.which_run import ComparedBy
from subspaces.kernels import compiled

# Views of clusters met before take FEW_BYTES at most, or TIMES_THE_ROWS times what the rows take.
FEW_BYTES, TIMES_THE_ROWS = 2_000_000, 4


class RowsInView(Samples):
    """The rows of a problem, for the runs of one thread, one after the other."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.dimensions = problem, problem.dimensions
        self._met: dict[tuple[int, bytes], ClusterView] = {}
        self._bytes, self._values = 0, dict[bytes, float]()
        self._most_bytes = max(FEW_BYTES, TIMES_THE_ROWS * problem.rows.nbytes)
        self._labels: Labels | None = None
        self._views: list[ClusterView] = []
        self._compiled = compiled_subspaces(problem)

    def begin(self, start: Labels) -> Fitted:
        """Begin a run at first labels; forget the last run's subspaces."""
        self._labels, self._views = None, []
        if self._compiled is not None:
            self._compiled.kernel.forget()
        return self.fit(start.copy())

    def fit(self, labels: Labels) -> Fitted:
        """Return a `Fitted` that holds the labels only; `degenerate` and `assign` fit subspaces."""
        return Fitted(labels)

    def degenerate(self, here: Fitted) -> list[int]:
        """Fit the subspaces; return the clusters whose members do not span their axes."""
        if self._compiled is None:
            views = self._views_of(here.labels)
            return degenerate(self.problem, views)
        self._follow(here.labels)
        return self._compiled.degenerate()

    def assign(self, here: Fitted) -> Assignment:
        """Fit the subspaces; return each row's cluster of least cost, and the objective."""
        labels = here.labels
        if self._compiled is None:
            views = self._views_of(labels)
            matrix = costs(self.problem.criterion, views, self.problem.data)
            loadings = None if self.problem.sparsity is None else loadings_of(views)
        else:
            self._follow(labels)
            matrix, loadings = self._compiled.costs(labels), self._compiled.loadings()
        if loadings is not None and self.degenerate(here):
            loadings = None  # a cluster that does not span its axes has none to go on with
        value = objective(matrix, labels, self.problem.rows.weights)
        new = partition.assign(matrix, labels)
        moved = int(np.count_nonzero(new != labels))
        return Assignment(new, value, self._iteration_cost(value), moved, loadings)

    def closeness(self, row: int) -> Array:
        """Return ``|cos|`` of the angle between one row and every row, (n,)."""
        return self.problem.rows.closeness(row)

    def promise(self, labels: Labels) -> float:
        """Return the t-likelihood of a first partition; infinite if a cluster is degenerate."""
        return self._once(labels, lambda own: which_run.promise(self.problem, self.views(own)))

    def selection_cost(self, clustering: Clustering, compared_by: ComparedBy) -> float:
        """Return the number that finished runs are compared by; lower is better.

        With sparse loadings, the energy along refitted loadings, with its sign changed.
        """
        labels = clustering.labels
        if self.problem.sparsity is not None:
            return self._once(labels, self._lacking_energy)
        views = partial(self.views, labels)
        return which_run.selection_cost(self.problem, clustering.objective, views, compared_by)

    def _lacking_energy(self, labels: Labels) -> float:
        if isinstance(self._compiled, SparseLoadings):
            self._labels = None
            return -self._compiled.energy(labels)
        return -energy_on_loadings(self.views(labels))

    def _once(self, labels: Labels, value: Callable[[Labels], float]) -> float:
        """Return ``value(labels)``, stored by partition so that it is computed once.

        If clusters are interchangeable, partitions that differ only in cluster numbers share it.
        """
        labels = partition.canonical(labels) if self.problem.interchangeable else labels
        key = labels.tobytes()
        if key not in self._values:
            self._values[key] = value(labels)
        return self._values[key]

    def _iteration_cost(self, objective: float) -> float:
        """Return the number by which the partitions of one run are compared.

        The partition of the lowest number is kept, of equals the last.
        """
        if self.problem.sparsity is not None:
            # The union of the supports changes from iteration to iteration, and the objective with
            # it.
            return 0.0
        if self.problem.identified:
            return objective
        return classification_likelihood(self._views, self.problem.data)

    def _follow(self, labels: Labels) -> None:
        if self._compiled is not None and labels is not self._labels:
            self._compiled.fit(labels)
            self._labels = labels

    def _views_of(self, labels: Labels) -> list[ClusterView]:
        """Return the PCA of every cluster; sparse loadings start from those of the last sweep."""
        if labels is not self._labels:
            if self.problem.sparsity is None:
                self._views = self.views(labels)
            else:
                self._views = view_clusters(self.problem, labels, self._views)
            self._labels = labels
        return self._views

    def views(self, labels: Labels) -> list[ClusterView]:
        """Return the PCA of every cluster of any partition; clusters met before are looked up."""
        if self.problem.sparsity is not None:
            return view_clusters(self.problem, labels)
        return [self._view(k, np.flatnonzero(labels == k)) for k in range(len(self.dimensions))]

    def _view(self, k: int, members: Labels) -> ClusterView:
        key = self.dimensions[k], members.tobytes()
        view = self._met.get(key)
        if view is None:
            view = self.problem.view(k, members)
            size = view.scores.nbytes + view.coordinates.nbytes + 2 * view.squared_residual.nbytes
            self._bytes += size
            if self._bytes > self._most_bytes:
                self._met, self._bytes = {}, size
            self._met[key] = view
        return view


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
        loops: Any = compiled("block_pass")
        # No criterion that comes here asks for the Gaussians of the clusters.
        clusters = loops.Clusters(name, found.spectra, None, None, stats.mean_leverage, 1.0)
        return loops.costs(energies, found.residual, labels, clusters).T


class SparseLoadings(CompiledSubspaces):
    """Sparse loadings of all clusters, found from the rows themselves."""

    def costs(self, labels: Labels) -> Array:
        """Cost of every row under every cluster, (n, K); labels: those of the last fit."""
        return self.kernel.costs(self.problem.criterion)

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
    module, loops = compiled("gram"), compiled("block_pass")
    if module is None or loops is None or problem.criterion not in loops.CRITERIA:
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
