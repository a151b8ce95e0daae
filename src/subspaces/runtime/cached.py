"""A property that is kept after it was first read."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


class cached_property(Generic[Value]):
    """A property computed when it is first read, as `functools.cached_property` without its lock.

    Python 3.11 has one lock for all objects, and a process that is forked while another thread
    holds it waits for good.
    """

    def __init__(self, function: Callable[[Any], Value]) -> None:
        self.function, self.__doc__ = function, function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, holder: Any, owner: type | None = None) -> Value:
        known = holder.__dict__
        if self.name not in known:
            known[self.name] = self.function(holder)
        return known[self.name]
