"""Scikit-learn's own checks of an estimator, on this machine."""

from importlib.util import find_spec

from sklearn.utils.estimator_checks import check_estimator


def check_as_scikit_learn_does(estimator):
    """Run all checks; one tries torch on a GPU wherever torch was built for one."""
    excused = {}
    if find_spec("torch"):
        import torch

        if torch.backends.cuda.is_built() and not torch.cuda.is_available():
            excused["check_array_api_input"] = "torch was built for a GPU that is not here"
    check_estimator(estimator, on_skip=None, expected_failed_checks=excused)
