"""The costs of a row and its next label in one kernel, where the rows are on a GPU with Triton."""

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np


def fused_assignment(
    scores: Any, squared: Any, labels: Any | None, plan: Any
) -> tuple[Any, Any] | None:
    """Next labels and costs under the present ones; None where there is no such kernel."""
    if isinstance(scores, np.ndarray) or not _is_on_gpu(scores):
        return None
    kernel = _kernel()
    return None if kernel is None else kernel.assignment(scores, squared, labels, plan)


def _is_on_gpu(array: Any) -> bool:
    return type(array).__module__.startswith("torch") and array.is_cuda


@cache
def _kernel() -> Any | None:
    return import_module("subspaces.core._triton") if find_spec("triton") else None
