"""A part of long work that is done."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """``done`` of ``total`` (0: not known) at a stage, and a line for people."""

    stage: str
    done: int
    total: int
    detail: str


Tell = Callable[[Step], None]


def silence(step: Step) -> None:
    """Tell nobody."""
