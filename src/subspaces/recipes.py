"""Whole pipelines for one kind of data: the public door of `subspaces.app.recipes`."""

from subspaces.app.recipes import ExpressionScaler, Recipe, expression, single_cell

__all__ = ["ExpressionScaler", "Recipe", "expression", "single_cell"]
