"""The compiled kernels, where they were built.

Elsewhere the plain code runs, with the same results. ``SUBSPACES_PURE=1`` in the environment asks
for the plain code.
"""

import os
import warnings
from functools import cache
from importlib import import_module
from typing import Any


@cache
def kernels() -> Any | None:
    """The compiled module, or None; says once that it is missing."""
    if os.environ.get("SUBSPACES_PURE", "0") not in ("", "0"):
        return None
    try:
        return import_module("subspaces.core._kernels")
    except ImportError as reason:
        warnings.warn(
            f"the compiled kernels of subspaces are not at hand ({reason}), and fits take longer. "
            "Use pip install again where there is a C compiler, or SUBSPACES_PURE=1 in the "
            "environment to stop this warning",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
