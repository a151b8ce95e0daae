"""The message that a fit or a selection sends each time it finishes one step."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """A finished step of a fit or a selection, as sent to progress bars.

    Attributes
    ----------
    stage : str
        "start", "run", "sweep", "batch", "candidate" or "halving".
    done : int
        How many steps of this stage are done.
    total : int
        How many steps the stage has in all; 0 where that is not known.
    detail : str
        A line for people to read.
    """

    stage: str
    done: int
    total: int
    detail: str


Tell = Callable[[Step], None]


def silence(step: Step) -> None:
    """Do nothing with the step: the listener where progress is not reported."""
