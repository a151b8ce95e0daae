"""All clusterers; scikit-learn's own checks of an estimator, on this machine."""

from importlib.util import find_spec
from inspect import signature

from sklearn.utils import estimator_checks

from subspaces import all_estimators
from subspaces.estimators._base import SubspaceClusterer

CLUSTERERS = {n: kind for n, kind in all_estimators() if issubclass(kind, SubspaceClusterer)}


def made(kind, n_clusters=2, **wanted):
    """An estimator of this kind with those of the parameters that it has."""
    known = signature(kind).parameters
    return kind(n_clusters, **{name: value for name, value in wanted.items() if name in known})


def check_as_scikit_learn_does(estimator, expected=None):
    """Run all checks and return what they found; expected: those that fail, and why they may.

    Some try torch on a GPU wherever torch was built for one.
    """
    excused = {}
    if find_spec("torch"):
        import torch

        if torch.backends.cuda.is_built() and not torch.cuda.is_available():
            why = "torch was built for a GPU that is not here"
            excused = {name: why for name in dir(estimator_checks) if "array_api" in name}
    return estimator_checks.check_estimator(
        estimator, on_skip=None, expected_failed_checks={**excused, **(expected or {})}
    )
