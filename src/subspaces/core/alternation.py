"""Fit, score, assign, until no label moves: the one loop of K-means, K-subspaces and PSC.

Except for `residual` the objective need not fall at every sweep ("Does it converge?",
https://subspaces.readthedocs.io). So the loop stops when no label moves, when a partition returns,
or at the cap, and returns the best partition that it met, with the reason why it stopped. The
reason is "converged" only if no label of that partition moves, and "overshot" if the loop met it on
the way to a worse one where no label moves. The best partition of a run has the lowest
`Assignment.iteration_cost`: as a rule the objective. It is constant with sparse loadings, whose
objectives cannot be compared between sweeps, and the last partition is kept.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from subspaces._types import StopReason
from subspaces.core.partition import Draw
from subspaces.core.samples import Assignment, Fitted, Samples
from subspaces.progress import Step, Tell, silence

# Refills of clusters in one run, all clusters together: a run that needs more has lost a cluster
# that the data do not hold.
MAX_REPAIRS = 5


@dataclass(frozen=True)
class Clustering:
    """The partition that a run returns, its objective, and how the run reached it.

    labels (n,); objective: of this partition; path: the objective at every sweep; stop_reason:
    "converged" (no label of this partition moves), "overshot" (the loop met this partition on its
    way to a worse one, where no label moves), "cycle" (a partition returned), "max_iter",
    "infeasible" (a cluster could not be kept alive), "local minimum" (after a descent), "refined"
    (a mixture moved labels at the end) or "not swept"; repairs: how often a cluster was refilled
    after the first partition; moving: how many rows the next sweep would move to another cluster;
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


def alternate(
    samples: Samples, start: Any, *, max_iter: int, random: Draw, tell: Tell = silence
) -> Clustering:
    """Sweep from the labels ``start``; return the best partition on the way, as a `Clustering`."""
    fitted, repairs = repair(samples, samples.begin(start), 0, random, first=True)
    at_first, path, seen = repairs, list[float](), set[Hashable]()
    best: tuple[Fitted, Assignment] | None = None
    reason: StopReason = "max_iter"
    degenerate = list[int]()
    while len(path) < max_iter:
        key = samples.key(fitted)
        returned = key in seen
        seen.add(key)
        degenerate = samples.degenerate(fitted)
        found = samples.assign(fitted)
        path.append(found.objective)
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
        following, repairs = repair(samples, samples.fit(found.labels), repairs, random, degenerate)
        at_first = repairs if len(path) == 1 else at_first
        if samples.too_small(following):
            reason = "infeasible"
            break
        # With subspaces that are not exact, a partition that came back may still move on.
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
