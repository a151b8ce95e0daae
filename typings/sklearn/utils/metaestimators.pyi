from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

def available_if(check: Callable[[Any], bool]) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
