"""Pages of results: the public door of `subspaces.app.report`."""

from subspaces.app.report import render, render_pca, report, write, write_pca

__all__ = ["render", "render_pca", "report", "write", "write_pca"]
