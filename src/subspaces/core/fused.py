"""The costs of a row and its next label in one kernel, where the rows are on a GPU with Triton."""

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

# Up to so many variables a row is held by the threads that score it.
MOST_VARIABLES = 128


def fused_assignment(
    scores: Any, squared: Any, labels: Any | None, plan: Any
) -> tuple[Any, Any] | None:
    """Next labels and costs under the present ones; None where there is no such kernel."""
    kernels = _kernels(scores)
    return None if kernels is None else kernels.assignment(scores, squared, labels, plan)


def looks_at_all(rows: Any) -> bool:
    """Whether rows are looked at without any array of their scores, all of them at once."""
    if _kernels(rows) is None or rows.shape[1] > MOST_VARIABLES:
        return False
    return str(rows.dtype).endswith("float32") and rows.is_contiguous()


def fused_look(rows: Any, labels: Any | None, plan: Any) -> tuple[Any, Any, Any]:
    """Next labels, costs under the present ones, and the sizes of the next clusters."""
    return _kernels(rows).looked(rows, labels, plan)


def _kernels(array: Any) -> Any:
    if isinstance(array, np.ndarray) or not type(array).__module__.startswith("torch"):
        return None
    return _module() if array.is_cuda else None


@cache
def _module() -> Any:
    return import_module("subspaces.core._triton") if find_spec("triton") else None
