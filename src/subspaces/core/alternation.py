"""Fit, score, assign, until no label moves: the one loop of K-means, K-subspaces and PSC.

Except for `residual` the objective need not fall at every sweep (docs/convergence.md). So the loop
stops when no label moves, when a partition returns, or at the cap, and gives the best partition it
has seen, with the reason why it stopped: "converged" only if that partition is the one where no
label moves, "overshot" if it was met on the way there. Best is the lowest merit, as a rule the
objective; where objectives of different sweeps are not comparable, the merit is constant, and the
last partition is kept.
"""

from collections.abc import Hashable, Sequence
from typing import Any

from subspaces.core.partition import Draw
from subspaces.core.result import Clustering
from subspaces.core.samples import Assignment, Fitted, Samples
from subspaces.core.step import Step, Tell, silence

# A cluster is begun again so often in a run, all clusters together.
MAX_REPAIRS = 5


def alternate(
    samples: Samples, start: Any, *, max_iter: int, random: Draw, tell: Tell = silence
) -> Clustering:
    """Sweep from a first partition to the best that is met on the way."""
    here, repairs = mend(samples, samples.begin(start), 0, random, first=True)
    at_first, path, seen = repairs, list[float](), set[Hashable]()
    best: tuple[Fitted, Assignment] | None = None
    reason, degenerate = "max_iter", list[int]()
    while len(path) < max_iter:
        key = samples.key(here)
        returned = key in seen
        seen.add(key)
        degenerate = samples.degenerate(here)
        found = samples.assign(here)
        path.append(found.objective)
        if tell is not silence:
            tell(Step("sweep", len(path), max_iter, f"objective {found.objective:.6g}"))
        if not degenerate and _is_better(here, found, best):
            best = here, found
        still = not found.moved
        mendable = bool(degenerate) and repairs < MAX_REPAIRS
        if still and not mendable and (here.exact or not samples.finishes):
            reason = "converged"
            break
        if returned:
            reason = "cycle"
            break
        there, repairs = mend(samples, samples.fit(found.labels), repairs, random, degenerate)
        at_first = repairs if len(path) == 1 else at_first
        if samples.too_small(there):
            reason = "infeasible"
            break
        # Near the exact subspaces one more sweep tells more of a partition that came back.
        if here.exact and there.exact and samples.key(there) in seen:
            reason = "cycle"
            break
        here = there
    if reason == "converged" and best is not None and best[0] is not here:
        reason = "infeasible" if degenerate else "overshot"
    here, found = (here, found) if best is None else best
    objective, subspaces = samples.finished(here, found)
    return Clustering(
        here.labels, objective, tuple(path), reason, repairs - at_first, found.moved, subspaces
    )


def _is_better(here: Fitted, found: Assignment, best: tuple[Fitted, Assignment] | None) -> bool:
    """Whether a partition is at least as good as the best so far.

    An objective under subspaces that are not exact is no measure for one under those that are.
    """
    if best is None or not (here.exact and best[0].exact):
        return True
    return found.merit <= best[1].merit


def mend(
    samples: Samples,
    here: Fitted,
    repairs: int,
    random: Draw,
    also: Sequence[int] = (),
    *,
    first: bool = False,
) -> tuple[Fitted, int]:
    """Begin clusters again that are too small, and others that are named, while repairs are left.

    Of a first partition an empty cluster is begun again in any case: it has nothing to begin with.
    The partition, and how many repairs there were.
    """
    small = samples.too_small(here)
    for k in [*small, *(k for k in also if k not in small)]:
        if repairs < MAX_REPAIRS or (first and samples.is_empty(here, k)):
            here, repairs = samples.refill(here, k, random), repairs + 1
    return here, repairs
