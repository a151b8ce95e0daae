"""Fit, score, assign, until no label moves: the one loop of K-means, K-subspaces and PSC.

Except for `residual` the objective need not fall at every sweep ("Does it converge?",
https://subspaces.readthedocs.io). So the loop stops when no label moves, when a partition returns,
when few labels have moved for some sweeps and little was gained (`Restless`), or at the cap. It
returns the best partition that it met, with the reason why it stopped. The reason is "converged"
only if no label of that partition moves, and "overshot" if the loop met it on the way to a worse
one if no label moves. The best partition of a run has the lowest `Assignment.iteration_cost`: as
a rule the objective. It is constant with sparse loadings, whose objectives cannot be compared
between sweeps, and the last partition is kept.

What the loop asks of data is `Samples`: fit subspaces to labels, and assign every row to one of
them. Each kind of data is one implementation: rows in view (`core/in_view.py`), and rows in blocks
(`data/in_blocks.py`). `descend` goes on from the end of a run, one row at a time.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from subspaces._types import Array, Labels, StopReason
from subspaces.core import partition
from subspaces.core.criteria import costs, objective, own_costs
from subspaces.core.partition import Draw
from subspaces.core.problem import Problem, degenerate, view_clusters
from subspaces.core.rows import ClusterView
from subspaces.progress import Step, Tell, silence

# Refills of clusters in one run, all clusters together: a run that needs more has lost a cluster
# that the data do not hold.
MAX_REPAIRS = 5


@dataclass(frozen=True)
class Fitted:
    """Labels and the subspaces fitted to them.

    labels (n,): one array, or one per block if rows come in blocks; is_exact_pca: whether the
    subspaces are the PCA of the clusters, False if an iteration has only come near it; subspaces:
    None if `assign` finds them from the labels.
    """

    labels: Any
    is_exact_pca: bool = True
    subspaces: Any = None


@dataclass(frozen=True)
class Assignment:
    """The next label of every row, and the objective of the partition that was scored.

    labels (n,): the cluster of least cost of every row; objective: the rows' costs under their own
    clusters, summed by weight; iteration_cost: what partitions within one run are compared by,
    lowest is best, as a rule the objective; moved: how many rows leave their cluster; subspaces:
    those that the objective was computed with, None if the labels determine them.
    """

    labels: Any
    objective: float
    iteration_cost: float
    moved: int
    subspaces: Any = None


class Samples(ABC):
    """Interface of the rows to the loop: fit subspaces to labels, assign rows, refill clusters.

    dimensions (K,): of the clusters' subspaces; finishes: whether a run ends with subspaces that
    are exactly those of its labels.
    """

    dimensions: tuple[int, ...]
    finishes: bool = True

    @abstractmethod
    def fit(self, labels: Any) -> Fitted:
        """Return labels, as a rule those of the last `assign`, with subspaces fitted to them."""

    @abstractmethod
    def assign(self, fitted: Fitted) -> Assignment:
        """Return each row's cluster of least cost as an `Assignment`; a tie keeps the label."""

    def begin(self, start: Any) -> Fitted:
        """Return the fit of a run's first labels, without any state of earlier runs."""
        return self.fit(start)

    def too_small(self, fitted: Fitted) -> list[int]:
        """Return the indices of the clusters with fewer members than their dimension needs."""
        return partition.too_small(fitted.labels, self.dimensions)

    def is_empty(self, fitted: Fitted, cluster: int) -> bool:
        """Return whether a cluster has no members."""
        return not np.any(fitted.labels == cluster)

    def degenerate(self, fitted: Fitted) -> list[int]:
        """Return the indices of the clusters whose members do not span their axes."""
        return []

    def refill(self, fitted: Fitted, cluster: int, random: partition.Draw) -> Fitted:
        """Return the fit with a cluster's members replaced by neighbours of a random row."""
        labels = partition.refill(fitted.labels, cluster, self.dimensions, random, self.closeness)
        return self.fit(labels)

    def closeness(self, row: int) -> Array:
        """How near every row is to the row of this number, (n,): larger is nearer."""
        raise NotImplementedError

    def key(self, fitted: Fitted) -> Hashable:
        """Return a hashable key, equal for equal labels, by which the loop finds cycles."""
        return fitted.labels.tobytes()

    def finished(self, fitted: Fitted, found: Assignment) -> tuple[float, Any]:
        """Return the objective and the subspaces of the partition that a run ends with."""
        return found.objective, found.subspaces


@dataclass(frozen=True)
class Clustering:
    """The partition that a run returns, its objective, and how the run reached it.

    labels (n,); objective: of this partition; path: the objective at every sweep; stop_reason:
    "converged" (no label of this partition moves), "overshot" (the loop met this partition on its
    way to a worse one, if no label moves), "cycle" (a partition returned), "restless" (few
    labels moved for some sweeps, and little was gained), "max_iter", "infeasible" (a cluster could
    not be kept alive), "local minimum" (after a descent), "refined"
    (a mixture moved labels at the end) or "not swept"; repairs: how often a cluster was refilled
    after the first sweep, which may have to mend what the start left; moving: how many rows the
    next sweep would move to another cluster;
    subspaces: those that the objective was computed with: `Subspaces` for rows in passes, a basis
    (p, R) per cluster for sparse loadings, otherwise None, since the labels determine them.
    """

    labels: Any
    objective: float
    path: tuple[float, ...]
    stop_reason: StopReason
    repairs: int
    moving: int = 0
    subspaces: Any = None

    @property
    def n_iter(self) -> int:
        """Number of sweeps."""
        return len(self.path)


@dataclass(frozen=True)
class Restless:
    """When the loop stops though labels move.

    In each of the last ``sweeps`` at most ``rows`` have moved, and all these sweeps together have
    lowered the least objective by at most the share ``gain``.
    """

    rows: int
    sweeps: int
    gain: float

    def reached(self, moved: Sequence[int], path: Sequence[float]) -> bool:
        """Whether to stop; moved: the rows that left their cluster in every sweep; path."""
        if len(path) <= self.sweeps or max(moved[-self.sweeps :]) > self.rows:
            return False
        least = min(path)
        return min(path[: -self.sweeps]) - least <= self.gain * abs(least)


def alternate(
    samples: Samples,
    start: Any,
    *,
    max_iter: int,
    random: Draw,
    tell: Tell = silence,
    restless: Restless | None = None,
) -> Clustering:
    """Sweep from the labels ``start``; return the best partition on the way, as a `Clustering`."""
    fitted, repairs = repair(samples, samples.begin(start), 0, random, first=True)
    at_first, path, seen = repairs, list[float](), set[Hashable]()
    best: tuple[Fitted, Assignment] | None = None
    reason: StopReason = "max_iter"
    degenerate, moved = list[int](), list[int]()
    while len(path) < max_iter:
        key = samples.key(fitted)
        returned = key in seen
        seen.add(key)
        degenerate = samples.degenerate(fitted)
        found = samples.assign(fitted)
        path.append(found.objective)
        moved.append(found.moved)
        if tell is not silence:
            tell(Step("sweep", len(path), max_iter, f"objective {found.objective:.6g}"))
        if not degenerate and _is_better(fitted, found, best):
            best = fitted, found
        repairable = bool(degenerate) and repairs < MAX_REPAIRS
        if not found.moved and not repairable and (fitted.is_exact_pca or not samples.finishes):
            reason = "converged"
            break
        if returned:
            reason = "cycle"
            break
        if restless is not None and restless.reached(moved, path):
            reason = "restless"
            break
        following, repairs = repair(samples, samples.fit(found.labels), repairs, random, degenerate)
        at_first = repairs if len(path) == 1 else at_first
        if samples.too_small(following):
            reason = "infeasible"
            break
        # If the subspaces are approximate, as in passes, seeing a partition twice does not mean a
        # cycle.
        if fitted.is_exact_pca and following.is_exact_pca and samples.key(following) in seen:
            reason = "cycle"
            break
        fitted = following
    if reason == "converged" and best is not None and best[0] is not fitted:
        reason = "infeasible" if degenerate else "overshot"
    fitted, found = (fitted, found) if best is None else best
    objective, subspaces = samples.finished(fitted, found)
    return Clustering(
        fitted.labels, objective, tuple(path), reason, repairs - at_first, found.moved, subspaces
    )


def _is_better(fitted: Fitted, found: Assignment, best: tuple[Fitted, Assignment] | None) -> bool:
    """Return whether a partition's iteration cost is at most that of the best partition so far.

    True if the subspaces of either are not exactly those of its labels (`Fitted.is_exact_pca`):
    their objectives cannot be compared, and the later partition is kept.
    """
    if best is None or not (fitted.is_exact_pca and best[0].is_exact_pca):
        return True
    return found.iteration_cost <= best[1].iteration_cost


def repair(
    samples: Samples,
    fitted: Fitted,
    repairs: int,
    random: Draw,
    also: Sequence[int] = (),
    *,
    first: bool = False,
) -> tuple[Fitted, int]:
    """Refill clusters that are too small, and those in ``also``, up to MAX_REPAIRS per run.

    An empty cluster of a first partition is refilled in any case: it has nothing to begin with.
    Returns the repaired partition, and ``repairs`` plus the number of refills made here.
    """
    small = samples.too_small(fitted)
    for k in [*small, *(k for k in also if k not in small)]:
        if repairs < MAX_REPAIRS or (first and samples.is_empty(fitted, k)):
            fitted, repairs = samples.refill(fitted, k, random), repairs + 1
    return fitted, repairs


def descend(problem: Problem, start: Clustering, *, max_iter: int) -> Clustering:
    """Return a partition whose objective no change of a single row's cluster lowers.

    From ``start``, one row at a time changes its cluster if that lowers the objective, until no
    change does, or for at most ``max_iter`` rounds through all rows. Rows in no cluster stay so.
    """
    labels, objective = start.labels.copy(), start.objective
    path = list(start.path)
    for _ in range(max_iter):
        before = objective
        views = view_clusters(problem, labels)
        matrix = costs(problem.criterion, views, problem.data)
        for i, k in _promising_moves(matrix, labels):
            trial = labels.copy()
            trial[i] = k
            if partition.too_small(trial, problem.dimensions):
                continue
            value = objective_of(problem, trial, views)
            if value < objective:
                labels, objective = trial, value
                views = view_clusters(problem, labels, views)
        path.append(objective)
        if objective == before:
            return Clustering(labels, objective, tuple(path), "local minimum", start.repairs)
    return Clustering(labels, objective, tuple(path), "max_iter", start.repairs)


def objective_of(problem: Problem, labels: Labels, known: Sequence[ClusterView] = ()) -> float:
    """Sum of the rows' costs under their own clusters; infinite if a cluster is degenerate."""
    views = view_clusters(problem, labels, known)
    if degenerate(problem, views):
        return np.inf
    matrix = costs(problem.criterion, views, problem.data)
    return objective(matrix, labels, problem.rows.weights)


def _promising_moves(matrix: Array, labels: Labels) -> list[tuple[int, int]]:
    """All pairs (row, other cluster), ordered by change of the row's cost, largest fall first."""
    assigned = np.flatnonzero(labels >= 0)
    matrix, labels = matrix[assigned], labels[assigned]
    own = own_costs(matrix, labels)[:, None]
    change = np.subtract(matrix, own, out=np.full_like(matrix, np.inf), where=np.isfinite(matrix))
    change[np.arange(len(labels)), labels] = np.inf
    order = np.argsort(change, axis=None, kind="stable")[: change.size - len(labels)]
    rows, clusters = np.unravel_index(order, change.shape)
    return list(zip(assigned[rows].tolist(), clusters.tolist(), strict=True))
