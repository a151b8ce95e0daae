"""The facts of a fitted model: the one place where others look into a model.

`facts_of` has what a model knows of its clusters and variables, `samples_of` how it sees the
samples of a table, and `with_facts` returns a model that knows more.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_n_features, check_is_fitted

from subspaces._types import Array, Data, Estimator, Labels
from subspaces.core.contrast import Contrast, means_and_spread
from subspaces.core.partition import Partition
from subspaces.data.validation import as_matrix
from subspaces.estimators._base import SubspaceClusterer
from subspaces.estimators._new_rows import NewRows
from subspaces.estimators._record import nearest_clusters, own_coordinates, own_distances
from subspaces.messages import Message, Verdict, note
from subspaces.preparation import Preparation, attach_preparation
from subspaces.psc.probabilities import probabilities_of
from subspaces.runtime.threads import cached_property

__all__ = ["Facts", "Samples", "facts_of", "samples_of", "with_facts"]

Model = TypeVar("Model", bound=SubspaceClusterer)
# Distances below this share of the largest value of a table are rounding errors.
ROUNDING = 1e-9


@dataclass(frozen=True, repr=False)
class Facts:
    """What a fitted model knows about its clusters and variables.

    Attributes
    ----------
    model : fitted estimator
        Any estimator of this library.
    """

    model: SubspaceClusterer

    @property
    def n_clusters(self) -> int:
        """Number of clusters, K."""
        return self.model._n_features_out

    @property
    def n_variables(self) -> int:
        """Number of clustered variables, p."""
        return self.model._n_variables

    @property
    def variable_names(self) -> NDArray[Any] | None:
        """Names of the clustered variables, (p,), or None if X had no names."""
        return self.model._variable_names

    @property
    def names(self) -> list[str]:
        """Names of the clustered variables as text, or x0, x1 and so on if X had no names."""
        known = self.variable_names
        return [f"x{j}" for j in range(self.n_variables)] if known is None else [*map(str, known)]

    @property
    def sizes(self) -> Array:
        """Number of samples of each cluster, (K,)."""
        if isinstance(self.model.labels_, np.ndarray):
            return Partition(self.model.labels_, self.n_clusters).sizes.astype(float)
        return self.model.fit_.sizes

    @cached_property
    def contrasts(self) -> tuple[Contrast, ...] | None:
        """How each cluster differs from all other samples, K values.

        None if there is one cluster, or if the means of the clusters are unknown.
        """
        if not self.model._knows_differences:
            return None
        return tuple(map(self.contrast, range(self.n_clusters)))

    @property
    def squares_before_axes(self) -> float | None:
        """Sum of squares about the means of the prepared table, before its projection.

        None if the preparation keeps all axes, or if the means of the clusters are unknown.
        """
        preparation: Preparation | None = getattr(self.model, "preparation_", None)
        if preparation is None or preparation.axes is None or not self.model._knows_differences:
            return None
        sizes, means = self.sizes, self.model.cluster_means_
        between = sizes @ np.square(means - sizes @ means / sizes.sum())
        freedom = sizes.sum() - np.count_nonzero(sizes)
        return float(np.sum(between + freedom * np.square(self.model.within_std_)))

    def contrast(self, cluster: int) -> Contrast:
        """Return how a cluster differs from all other samples.

        Parameters
        ----------
        cluster : int
            Number of the cluster.

        Returns
        -------
        Contrast
            The difference. If the means of the clusters are unknown, this raises a ValueError.
        """
        return self.model._contrast(cluster)


@dataclass(frozen=True, repr=False)
class Samples:
    """The samples of a table as a fitted model sees them.

    Attributes
    ----------
    model : fitted estimator
        Any estimator of this library. For other models only ``rows`` is known.
    rows : ndarray of shape (n, p)
        The clustered variables, after the model's preparation, with NaN for missing values.
    """

    model: Any
    rows: Array

    @cached_property
    def placed(self) -> Array:
        """Prepared samples, (n, p). Those with missing values are where the model expects them."""
        return NewRows(self.model, self.rows).placed()

    @cached_property
    def completed(self) -> Array:
        """Prepared samples, (n, p), with missing values filled in by the model."""
        return NewRows(self.model, self.rows).imputed()

    @cached_property
    def scores(self) -> Array:
        """Score of each sample under each cluster, (n, K)."""
        return self.model._scores(self.rows)

    @cached_property
    def probabilities(self) -> Array:
        """Probability of each cluster for each training sample, (n, K), left out if possible.

        The model is a `PSC` or a `KSubspaces`.
        """
        kept: Array | None = getattr(self.model, "probabilities_", None)
        if kept is not None:
            return kept
        return probabilities_of(self.rows, self.model.fit_, self.model.labels_)

    @cached_property
    def coordinates(self) -> Array | None:
        """Coordinates of each training sample in the subspace of its cluster, (n, R).

        They are filled up with NaN. None if the method has no subspaces.
        """
        if not hasattr(self.model, "subspaces_"):
            return None
        return own_coordinates(self.placed, self.model.labels_, self.model.subspaces_)

    def distances(self, labels: Labels) -> Array:
        """Return the distance of each sample from its own cluster, (n,), as in ``record_``.

        An outlier has the distance from the nearest cluster.
        """
        labels = nearest_clusters(labels, self.scores)
        subspaces = getattr(self.model, "subspaces_", [])
        return own_distances(self.rows, self.placed, labels, subspaces, self.scores)

    def distance_ratios(self, labels: Labels) -> Array | None:
        """Return each distance divided by the median distance in its cluster, (n,).

        None if the model has no distances of its samples. Rounding errors count as no distance.
        """
        members = self.model.record_.distances
        if members is None:
            return None
        known = np.asarray(self.model.labels_)
        usual = np.array([np.median(members[known == k]) for k in range(known.max() + 1)])
        labels = nearest_clusters(labels, self.scores)
        rounding = ROUNDING * max(np.nanmax(np.abs(self.rows)), usual.max())
        return (self.distances(labels) + rounding) / (usual[labels] + rounding)


def facts_of(model: SubspaceClusterer) -> Facts:
    """Return what a fitted model knows about its clusters and variables.

    Parameters
    ----------
    model : fitted estimator
        Any estimator of this library.

    Returns
    -------
    Facts
        Clusters and variables of the model.

    Examples
    --------
    >>> from subspaces import PSC
    >>> from subspaces.datasets import make_scenario
    >>> from subspaces.facts import facts_of
    >>> model = PSC(2, n_components=2, random_state=0).fit(make_scenario("c", random_state=0).data)
    >>> facts = facts_of(model)
    >>> facts.names, facts.sizes.tolist(), facts.contrast(0).order.shape
    (['x0', 'x1', 'x2'], [100.0, 100.0], (3,))
    """
    check_is_fitted(model)
    return Facts(model)


def check_variables(model: Estimator, X: Data) -> None:
    """Raise NotFittedError or ValueError unless a model was fitted to the variables of X."""
    check_is_fitted(model)
    if getattr(model, "preparation_", None) is None:  # otherwise `samples_of` picks them by name
        _check_n_features(model, X, reset=False)


def samples_of(model: Estimator, X: Data, *, min_samples: int = 1) -> Samples:
    """Return the samples of a table as a model sees them.

    Parameters
    ----------
    model : estimator
        Any estimator of this library. For other clusterers only the rows are known.
    X : array-like of shape (n, p)
        Samples in rows, as the model takes them.
    min_samples : int, default 1
        Smallest number of samples.

    Returns
    -------
    Samples
        The samples, and what the model knows about them.

    Examples
    --------
    >>> from subspaces import PSC
    >>> from subspaces.datasets import make_scenario
    >>> from subspaces.facts import samples_of
    >>> X = make_scenario("c", random_state=0).data
    >>> samples = samples_of(PSC(2, n_components=2, random_state=0).fit(X), X)
    >>> samples.scores.shape, samples.coordinates.shape
    ((200, 2), (200, 2))
    """
    if isinstance(model, SubspaceClusterer):
        return Samples(model, model._prepared(X, min_samples=min_samples))
    return Samples(model, as_matrix(X, min_samples=min_samples))


def rows_before_axes(model: SubspaceClusterer, X: Data) -> Array:
    """Return the samples (n, p) after the model's preparation, but before it keeps a few axes."""
    preparation: Preparation | None = getattr(model, "preparation_", None)
    if preparation is None or preparation.axes is None:
        return model._prepared(X)
    before = copy(model)
    attach_preparation(before, replace(preparation, axes=None))
    return before._prepared(X)


def with_facts(
    model: Model,
    *,
    preparation: Preparation | None = None,
    X: Data | None = None,
    variable_names: NDArray[Any] | None = None,
    sample_names: NDArray[Any] | None = None,
    selection: dict[str, Any] | None = None,
    messages: Sequence[str | Message] | None = None,
    verdicts: Sequence[str | Verdict] | None = None,
) -> Model:
    """Return a copy of a fitted model with more facts. The model does not change.

    Parameters
    ----------
    model : fitted estimator
        Any estimator of this library.
    preparation : Preparation, optional
        How the samples were prepared. The copy then takes raw samples.
    X : array-like of shape (n, p), optional
        The raw training data. If the preparation projects samples on axes, means and standard
        deviations of the clusters are measured before that.
    variable_names, sample_names : ndarray of shape (p,) and (n,), optional
        Names, if the training data had none.
    selection : dict, optional
        How the number of clusters was chosen, for ``selection_``.
    messages, verdicts : sequence of str, `messages.Message` or `messages.Verdict`, optional
        All warnings, and how far to trust the clusters, for ``record_``.

    Returns
    -------
    fitted estimator
        The copy.

    Examples
    --------
    >>> from subspaces import PSC
    >>> from subspaces.datasets import make_scenario
    >>> from subspaces.facts import with_facts
    >>> model = PSC(2, n_components=2, random_state=0).fit(make_scenario("c", random_state=0).data)
    >>> with_facts(model, verdicts=["Solid."]).record_.verdicts, model.record_.verdicts
    (('Solid.',), ())
    """
    copied = copy(model)
    if preparation is not None:
        attach_preparation(copied, preparation)
        if X is not None and preparation.axes is not None:
            clusters = Partition(model.labels_, len(model.cluster_means_))
            means, within_std = means_and_spread(rows_before_axes(copied, X), clusters)
            copied.cluster_means_, copied.within_std_ = means, within_std
            if "fit_" in vars(copied):
                copied.fit_ = replace(copied.fit_, means=means, within_std=within_std)
    record = copied.record_
    copied.record_ = replace(
        record,
        warned=record.warned
        if messages is None
        else tuple(note(each) if isinstance(each, str) else each for each in messages),
        verdicts=record.verdicts if verdicts is None else tuple(verdicts),
        sample_names=record.sample_names if sample_names is None else sample_names,
    )
    if selection is not None and "fit_" in vars(copied):
        copied.fit_ = replace(copied.fit_, selection=selection)
    known = {"selection_": selection, "_names_handed_on": variable_names}
    copied.__dict__.update({name: value for name, value in known.items() if value is not None})
    return copied
