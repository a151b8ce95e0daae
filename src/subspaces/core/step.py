"""A part of long work that is done."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """So much is done at a stage.

    Attributes
    ----------
    stage : str
        "start", "run", "sweep", "batch", "candidate" or "halving".
    done : int
        How many of them.
    total : int
        Of how many; 0 where that is not known.
    detail : str
        A line for people.
    """

    stage: str
    done: int
    total: int
    detail: str


Tell = Callable[[Step], None]


def silence(step: Step) -> None:
    """Tell nobody."""
