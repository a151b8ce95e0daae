"""Expectation and maximisation, round and round, from many first states.

A state is a model with the log joint density ``log pi_k f_k(x_i)`` of the rows under it, (n, K); a
step takes a state to a likelier one. The climb ends when neither the rise of the log-likelihood
over the last five steps nor the rise still to come, by Aitken's formula for a geometric sequence

    rise * ratio / (1 - ratio),    ratio = rise / (that of the five steps before)

[Boehning et al. 1994], is more than the tolerance times the number of rows: a rule that does not
depend on the units of the data. Single steps would mislead where their length varies.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

Array = NDArray[np.floating]

BRIEF = 10
WINDOW = 5
FINISHED = 3


class Mixed(Protocol):
    """What a climb asks of a state."""

    @property
    def log_joint(self) -> Array:
        """``log pi_k f_k(x_i)``, (n, K)."""

    @property
    def alive(self) -> bool:
        """Whether every component still has rows enough to be fitted to."""


State = TypeVar("State", bound=Mixed)


@dataclass(frozen=True)
class Climb(Generic[State]):
    """Where one start led: the state, the log-likelihood at every step, why it stopped.

    stop_reason: "converged", "max_iter", "brief" (not among the best after a few steps) or
    "infeasible" (a component lost its rows).
    """

    start: str
    state: State
    path: tuple[float, ...]
    stop_reason: str

    @property
    def log_likelihood(self) -> float:
        """Of the last state."""
        return self.path[-1]

    @property
    def n_iter(self) -> int:
        """Number of steps."""
        return len(self.path) - 1


def log_likelihood(log_joint: Array) -> float:
    """Of all rows."""
    return float(logsumexp(log_joint, axis=1).sum())


def responsibilities(log_joint: Array) -> Array:
    """Probability of each component given the row, (n, K)."""
    return softmax(log_joint, axis=1)


def begin(start: str, state: State) -> Climb[State]:
    """A climb before its first step."""
    return Climb(start, state, (log_likelihood(state.log_joint),), "brief")


def climb(
    begun: Climb[State],
    step: Callable[[State], State],
    max_iter: int,
    tolerance: float,
    at_most: str = "max_iter",
) -> Climb[State]:
    """Continue until the likelihood settles, or for at most ``max_iter`` steps in all."""
    state, path = begun.state, list(begun.path)
    least = tolerance * len(state.log_joint)
    reason = at_most
    while len(path) <= max_iter:
        state = step(state)
        path.append(log_likelihood(state.log_joint))
        if _settled(path, least):
            reason = "converged"
            break
    return Climb(begun.start, state, tuple(path), reason if state.alive else "infeasible")


def search(
    begun: Sequence[Climb[State]], step: Callable[[State], State], max_iter: int, tolerance: float
) -> list[Climb[State]]:
    """A few steps from every start; the best of them to the end."""
    runs = [climb(run, step, min(BRIEF, max_iter), tolerance, "brief") for run in begun]
    for i in _promising(runs, tolerance * len(runs[0].state.log_joint)):
        runs[i] = climb(runs[i], step, max_iter, tolerance)
    return runs


def _promising(runs: Sequence[Climb[State]], least: float) -> list[int]:
    """Places of the best few that differ."""
    chosen: list[int] = []
    for i in sorted(range(len(runs)), key=lambda i: _rank(runs[i])):
        heights = [runs[j].log_likelihood for j in chosen]
        if all(abs(runs[i].log_likelihood - height) > least for height in heights):
            chosen.append(i)
    return chosen[:FINISHED]


def best_climb(runs: Sequence[Climb[State]]) -> Climb[State]:
    """The likeliest among those that kept their components; the first of equals."""
    return min(runs, key=_rank)


def _rank(run: Climb[State]) -> tuple[bool, float]:
    return (not run.state.alive, -run.log_likelihood)


def _settled(path: Sequence[float], least: float) -> bool:
    late = path[-1] - path[max(len(path) - 1 - WINDOW, 0)]
    if len(path) <= WINDOW or late > least:
        return False
    early = path[-1 - WINDOW] - path[max(len(path) - 1 - 2 * WINDOW, 0)]
    return late <= 0.0 or (late < early and late * late / (early - late) <= least)
