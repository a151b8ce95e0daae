"""The estimators, with scikit-learn's interface, a list of all, and `load` for saved models."""

from subspaces.estimators import _all
from subspaces.estimators._all import *  # noqa: F403
from subspaces.estimators._loading import load

__all__ = ["load"]
__all__ += _all.__all__
