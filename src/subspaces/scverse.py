"""The library on AnnData: the public door of `subspaces.app.scverse`."""

from subspaces.app.scverse import pca_components, psc

__all__ = ["pca_components", "psc"]
