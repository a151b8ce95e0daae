"""Groups of samples that each live near their own low-dimensional subspace.

Names are imported when they are first asked for, so that the command line starts at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from subspaces import (
        datasets,
        diagnostics,
        facts,
        messages,
        metrics,
        plots,
        progress,
        recipes,
        scverse,
        selection,
    )
    from subspaces.app.report import report
    from subspaces.comparison import compare
    from subspaces.estimators import (
        GPCA,
        MCFA,
        MPPCA,
        PCA,
        PSC,
        RSIM,
        SCC,
        SLBF,
        SSC,
        EnsembleKSubspaces,
        KSubspaces,
        MCtFA,
        MiniBatchPSC,
        PCAOutlierDetector,
        SparseKMeans,
        all_estimators,
        load,
    )

    __version__: str

# The estimators first, in the order in which `compare` shows them.
__all__ = [  # noqa: RUF022
    "PSC",
    "MiniBatchPSC",
    "KSubspaces",
    "EnsembleKSubspaces",
    "SSC",
    "SCC",
    "SLBF",
    "RSIM",
    "GPCA",
    "MPPCA",
    "MCFA",
    "MCtFA",
    "SparseKMeans",
    "PCA",
    "PCAOutlierDetector",
    "all_estimators",
    "compare",
    "datasets",
    "diagnostics",
    "facts",
    "load",
    "messages",
    "metrics",
    "plots",
    "progress",
    "recipes",
    "report",
    "scverse",
    "selection",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("subspaces")
    if name not in __all__:
        raise AttributeError(f"module 'subspaces' has no attribute {name!r}")
    if name == "compare":
        return import_module("subspaces.comparison").compare
    if name == "report":
        return import_module("subspaces.app.report").report
    if name in ("all_estimators", "load") or name[0].isupper():  # all public classes are estimators
        return getattr(import_module("subspaces.estimators"), name)
    return import_module(f"subspaces.{name}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
