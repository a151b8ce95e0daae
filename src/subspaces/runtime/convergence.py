"""The warning that is scikit-learn's, too, which takes longer to import than a wrong path may."""

from sklearn.exceptions import ConvergenceWarning

from subspaces.messages import SubspacesWarning


class NotConvergedWarning(SubspacesWarning, ConvergenceWarning):
    """A fit stopped too early, or found fewer clusters than you asked for."""
