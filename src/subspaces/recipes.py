"""Whole pipelines for one kind of data: the public door of `subspaces.app.recipes`."""

from subspaces.app.recipes import (
    ConsensusProfiles,
    ExpressionScaler,
    Recipe,
    expression,
    single_cell,
)

__all__ = ["ConsensusProfiles", "ExpressionScaler", "Recipe", "expression", "single_cell"]
