from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

class CallbackSupportMixin: ...

def with_callbacks(method: Callable[P, R]) -> Callable[P, R]: ...
