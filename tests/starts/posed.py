"""Simulated subspaces as a problem for the starts."""

from subspaces.core.problem import Problem
from subspaces.core.rows import DenseRows


def pose(union, affine=False):
    X = union.data - union.data.mean(axis=0) if affine else union.data
    return Problem(DenseRows(X), tuple(union.n_components.tolist()), "loo", affine)
