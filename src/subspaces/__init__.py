"""Groups of samples that each live near their own low-dimensional subspace."""

from importlib.metadata import version

from subspaces import datasets, diagnostics, metrics

__version__ = version("subspaces")

__all__ = ["datasets", "diagnostics", "metrics"]
