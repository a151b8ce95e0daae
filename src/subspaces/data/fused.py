"""Which rows are on a GPU with Triton, and the Triton kernels that score and sum them there."""

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from subspaces.data.pass_plan import Pass

# One program of a kernel holds rows of up to MOST_VARIABLES numbers, and their scores on fewer than
# MOST_AXES axes of a cluster, in its registers.
MOST_VARIABLES, MOST_AXES = 256, 64


def as_torch(array: Any) -> Any:
    """Return a CuPy array as a torch tensor of the same memory, where Triton has kernels for it.

    Other arrays are returned unchanged, and CuPy arrays where torch and Triton are not installed.
    """
    if not type(array).__module__.startswith("cupy") or _module("_triton") is None:
        return array
    return import_module("torch").from_dlpack(array)


def score_kernels(array: Any) -> Any:
    """Return the module `kernels._triton` for torch arrays on a GPU with Triton, else None."""
    if isinstance(array, np.ndarray) or not type(array).__module__.startswith("torch"):
        return None
    return _module("_triton") if array.is_cuda else None


def sum_kernels() -> Any:
    """Return the module `kernels._triton_sums`; None without Triton."""
    return _module("_triton_sums")


@cache
def _module(name: str) -> Any:
    return import_module(f"subspaces.kernels.{name}") if find_spec("triton") else None


def knows(rows: Any, criterion: str = "residual") -> bool:
    """Whether Triton kernels exist for these rows and for the costs of this criterion."""
    kernels = score_kernels(rows)
    return kernels is not None and criterion in kernels.NAMES


def sums_in_place(rows: Any, plan: Pass) -> bool:
    """Whether kernels can sum these rows without a sorted copy of them or storing all scores."""
    if not knows(rows, plan.criterion) or plan.subspaces.spectra.shape[1] >= MOST_AXES:
        return False
    return str(rows.dtype).endswith("float32") and rows.is_contiguous()


def scores_in_place(rows: Any, plan: Pass) -> bool:
    """Whether kernels can score these rows, of at most 256 variables, without storing scores."""
    return rows.shape[1] <= MOST_VARIABLES and sums_in_place(rows, plan)
