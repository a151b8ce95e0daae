"""Costs and scatter matrices by kernels of our own, where the rows are on a GPU with Triton."""

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np


def knows(rows: Any) -> bool:
    """Whether there are kernels for these rows."""
    return _kernels(rows) is not None


def fused_assignment(
    scores: Any, squared: Any, labels: Any | None, plan: Any
) -> tuple[Any, Any] | None:
    """Next labels and costs under the present ones; None where there is no such kernel."""
    kernels = _kernels(scores)
    return None if kernels is None else kernels.assignment(scores, squared, labels, plan)


def sums_where_they_are(rows: Any) -> bool:
    """Whether scatter matrices are summed without a sorted copy of the rows."""
    return knows(rows) and str(rows.dtype).endswith("float32") and rows.is_contiguous()


def fused_sums(rows: Any, labels: Any, plan: Any, chosen: Any = None) -> tuple[Any, Any, Any, Any]:
    """`block_pass.sums` with scatter matrices; of chosen rows alone, whose labels these are."""
    sizes, products, totals = _kernels(rows).scatter(rows, labels, chosen, plan)
    return sizes, products.diagonal(dim1=1, dim2=2).sum(1), totals, products


def sizes_of(labels: Any, plan: Any) -> Any:
    """Numbers of members."""
    return _kernels(labels).sizes(labels, len(plan.flats.sizes))


def _kernels(array: Any) -> Any:
    if isinstance(array, np.ndarray) or not type(array).__module__.startswith("torch"):
        return None
    return _module() if array.is_cuda else None


@cache
def _module() -> Any:
    return import_module("subspaces.core._triton") if find_spec("triton") else None
