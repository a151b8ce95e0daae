"""Compiled versions of the core's slowest loops; `compiled` chooses between them and numpy.

If they were not built the numpy code ("plain") runs, with the same results.
``SUBSPACES_PURE=1`` in the environment selects the plain code.
"""

import os
import warnings
from functools import cache
from importlib import import_module
from types import ModuleType


@cache
def compiled(name: str) -> ModuleType | None:
    """Return the compiled module ``subspaces.kernels.<name>``, or None to run the plain code."""
    if os.environ.get("SUBSPACES_PURE", "0") not in ("", "0"):
        return None
    try:
        return import_module(f"{__name__}.{name}")
    except ImportError as reason:
        # If one module is missing, so are the others, so one warning is enough.
        _missing.append(reason)
        if len(_missing) == 1:
            warnings.warn(
                f"The compiled part of subspaces is missing ({reason}), so fits take longer. "
                "Install subspaces again with a C compiler, or set SUBSPACES_PURE=1 to hide "
                "this warning.",
                RuntimeWarning,
                stacklevel=2,
            )
        return None


_missing: list[ImportError] = []
