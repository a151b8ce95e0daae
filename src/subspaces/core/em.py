"""EM (expectation maximisation) from many first states, and when to stop.

A state is a model with the log joint density ``log pi_k f_k(x_i)`` of the rows under it, (n, K); a
step takes a state to a likelier one. A climb is a sequence of steps. It ends when both the rise of
the log-likelihood over the last five steps and the rise still to come are at most the tolerance
times the number of rows, a rule that does not depend on the units of the data. The rise to come is
extrapolated by Aitken's formula for a geometric sequence

    rise * ratio / (1 - ratio),    ratio = rise / (that of the five steps before)

[Boehning et al. 1994]. Five steps are taken together because single rises vary if steps differ
in length.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from scipy.special import logsumexp, softmax

from subspaces._types import Array, StopReason
from subspaces.subspace import weighted_sum

BRIEF = 10
WINDOW = 5
FINISHED = 3


class Mixed(Protocol):
    """The two properties that every state must have."""

    @property
    def log_joint(self) -> Array:
        """``log pi_k f_k(x_i)``, (n, K)."""

    @property
    def alive(self) -> bool:
        """Whether every component has enough rows to be fitted to."""


State = TypeVar("State", bound=Mixed)


@dataclass(frozen=True)
class Climb(Generic[State]):
    """One run of EM: its last state, the log-likelihood after every step, and why it stopped.

    path: log-likelihoods, that of the first state first; stop_reason: "converged", "max_iter",
    "brief" (not among the best after a few steps) or "infeasible" (a component lost its rows);
    weights (n,): of the rows, None if all count one.
    """

    start: str
    state: State
    path: tuple[float, ...]
    stop_reason: StopReason
    weights: Array | None = None

    @property
    def log_likelihood(self) -> float:
        """Log-likelihood of the last state."""
        return self.path[-1]

    @property
    def n_iter(self) -> int:
        """Number of steps taken."""
        return len(self.path) - 1

    @property
    def n_rows(self) -> float:
        """Weight of all rows: their number if all count one."""
        return len(self.state.log_joint) if self.weights is None else float(self.weights.sum())


def log_likelihood(log_joint: Array, weights: Array | None = None) -> float:
    """Return the log-likelihood of all rows, by weight, from log joint densities (n, K)."""
    return weighted_sum(logsumexp(log_joint, axis=1), weights)


def responsibilities(log_joint: Array) -> Array:
    """Return the probability of each component given the row, (n, K)."""
    return softmax(log_joint, axis=1)


def begin(start: str, state: State, weights: Array | None = None) -> Climb[State]:
    """Return a climb of no steps: the first state and its log-likelihood."""
    return Climb(start, state, (log_likelihood(state.log_joint, weights),), "brief", weights)


def climb(
    begun: Climb[State],
    step: Callable[[State], State],
    max_iter: int,
    tolerance: float,
    at_most: StopReason = "max_iter",
    ends: Collection[float] = (),
) -> Climb[State]:
    """Return the climb continued until the likelihood settles, or to ``max_iter`` steps in all.

    at_most: the stop reason if it did not settle; ends: heights at which other climbs settled. One
    that comes to such a height is on the same hill, and has converged, too.
    """
    state, path = begun.state, list(begun.path)
    least = tolerance * begun.n_rows
    reason = at_most
    while len(path) <= max_iter:
        state = step(state)
        path.append(log_likelihood(state.log_joint, begun.weights))
        if _settled(path, least) or any(abs(path[-1] - end) <= least for end in ends):
            reason = "converged"
            break
    ended = reason if state.alive else "infeasible"
    return replace(begun, state=state, path=tuple(path), stop_reason=ended)


def search(
    begun: Sequence[Climb[State]], step: Callable[[State], State], max_iter: int, tolerance: float
) -> list[Climb[State]]:
    """Return one climb per start: ten steps each, and the best three continued to their end."""
    runs: list[Climb[State]] = []
    for start in begun:
        few = min(BRIEF, max_iter)
        runs.append(climb(start, step, few, tolerance, "brief", _ends(runs)))
    for i in _promising(runs, tolerance * runs[0].n_rows):
        others = _ends([*runs[:i], *runs[i + 1 :]])
        runs[i] = climb(runs[i], step, max_iter, tolerance, ends=others)
    return runs


def _ends(runs: Sequence[Climb[State]]) -> list[float]:
    return [run.log_likelihood for run in runs if run.stop_reason == "converged"]


def _promising(runs: Sequence[Climb[State]], least: float) -> list[int]:
    """Return the indices of the three best climbs, whose heights differ by more than ``least``."""
    chosen: list[int] = []
    for i in sorted(range(len(runs)), key=lambda i: _rank(runs[i])):
        heights = [runs[j].log_likelihood for j in chosen]
        if all(abs(runs[i].log_likelihood - height) > least for height in heights):
            chosen.append(i)
    return chosen[:FINISHED]


def best_climb(runs: Sequence[Climb[State]]) -> Climb[State]:
    """Return the likeliest climb among those that kept their components; the first of equals."""
    return min(runs, key=_rank)


def _rank(run: Climb[State]) -> tuple[bool, float]:
    return (not run.state.alive, -run.log_likelihood)


def _settled(path: Sequence[float], least: float) -> bool:
    late = path[-1] - path[max(len(path) - 1 - WINDOW, 0)]
    if len(path) <= WINDOW or late > least:
        return False
    early = path[-1 - WINDOW] - path[max(len(path) - 1 - 2 * WINDOW, 0)]
    return late <= 0.0 or (late < early and late * late / (early - late) <= least)
