"""Everything the page tells, taken from a fitted model once and held as values."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subspaces._validation import row_names
from subspaces.core.contrast import Contrast
from subspaces.core.record import own_coordinates
from subspaces.core.subspace import Subspace, coordinates, squared_residual
from subspaces.diagnostics import BETWEEN
from subspaces.report._names import as_text

Array = NDArray[np.floating]
Places = NDArray[np.intp]


@dataclass(frozen=True)
class Rivalry:
    """Each sample under its own cluster and under the best of the others.

    own, other (n,): scores, lower is nearer; rival (n,): that other cluster; closeness (n,): 0 for
    a sample clearly in its cluster, 1 for one that is as near to the other, or nearer.
    """

    own: Array
    other: Array
    rival: Places
    closeness: Array

    @property
    def between(self) -> Places:
        """The samples that sit between clusters, the closest first."""
        order = np.argsort(-self.closeness, kind="stable")
        return order[self.closeness[order] > BETWEEN]


@dataclass(frozen=True)
class Loadings:
    """What varies within a cluster: its variables, the strongest first.

    places (m,): columns of X; strength (m,): shares that sum to 1; values (m, r): loadings on each
    axis, or the weights of a method without axes.
    """

    places: Places
    strength: Array
    values: Array


@dataclass(frozen=True)
class Cluster:
    """One cluster: its members, where they lie in its subspace, its variables.

    dimension and loadings are None for a method whose clusters are no subspaces, coordinates (m, r)
    too, and where neither the model nor the caller has kept the samples. height (m,) is the
    distance of the members from the subspace where X is at hand, else their score. energy (r,)
    is the share of each axis in what the subspace catches. apart is how the members differ from all
    other samples; None where there are none, or the model's file is too old to tell.
    """

    number: int
    members: Places
    dimension: int | None
    coordinates: Array | None
    height: Array | None
    energy: Array
    loadings: Loadings | None
    apart: Contrast | None

    @property
    def n_variables(self) -> int:
        """How many have a loading; of a point, how many set it apart."""
        if self.loadings is not None and self.dimension:
            return len(self.loadings.places)
        return 0 if self.apart is None else len(self.apart.order)


@dataclass(frozen=True)
class Findings:
    """What the page shows, but for what the caller may add to it."""

    model: Any
    labels: Places
    sample_names: list[str]
    variable_names: list[str]
    classes: list[str] | None
    clusters: list[Cluster]
    common: Loadings | None
    rivalry: Rivalry | None
    influence: Array | None
    likelihoods: bool
    has_data: bool

    @property
    def points(self) -> bool:
        """Whether all clusters are points, without axes."""
        return all(cluster.dimension == 0 for cluster in self.clusters)


def gather(model: Any, X: Any, classes: Any, sample_names: Any, variable_names: Any) -> Findings:
    """Take from the model, and from its data where given, what the page shows."""
    labels = np.asarray(model.labels_)
    matrix = None if X is None else _same_data(model, X)
    n, p = len(labels), model._n_variables
    likelihoods = bool(getattr(model, "scores_are_likelihoods_", False))
    scores, places = _scores(model, matrix), _coordinates(model, matrix)
    return Findings(
        model=model,
        labels=labels,
        sample_names=_sample_names(model, X, sample_names, n),
        variable_names=_variable_names(model, variable_names, p),
        classes=None if classes is None else _names(classes, n, "classes", "sample"),
        clusters=_clusters(model, matrix, scores, places),
        common=None if hasattr(model, "subspaces_") else _weights(model),
        rivalry=None if scores is None else rivalry(scores, labels, likelihoods),
        influence=getattr(model, "influence_", None),
        likelihoods=likelihoods,
        has_data=matrix is not None,
    )


def _scores(model: Any, matrix: Array | None) -> Array | None:
    kept: Array | None = model.record_.scores
    return model._scores(matrix) if kept is None and matrix is not None else kept


def _coordinates(model: Any, matrix: Array | None) -> Array | None:
    kept: Array | None = model.record_.coordinates
    if kept is not None or matrix is None or not hasattr(model, "subspaces_"):
        return kept
    return own_coordinates(matrix, model.labels_, model.subspaces_)


def rivalry(scores: Array, labels: Places, likelihoods: bool) -> Rivalry | None:
    """Own score against the best other; None where there is one cluster only."""
    if scores.shape[1] < 2:
        return None
    rows = np.arange(len(labels))
    own, others = scores[rows, labels], scores.copy()
    others[rows, labels] = np.inf
    rival, other = others.argmin(axis=1), others.min(axis=1)
    if likelihoods:
        closeness = np.exp(np.minimum(own - other, 0.0))
    else:
        closeness = np.divide(own, other, out=np.ones_like(own), where=(other > 0) & (own < np.inf))
    return Rivalry(own, other, rival, np.clip(closeness, 0.0, 1.0))


def loadings_of(flat: Subspace) -> Loadings:
    """Variables by the energy of the members that the loadings put on them."""
    weight = flat.spectrum if flat.spectrum.any() else np.ones_like(flat.spectrum)
    return _ranked(flat.basis**2 @ weight, flat.basis)


def _weights(model: Any) -> Loadings:
    return _ranked(model.weights_, model.weights_[:, None])


def _ranked(strength: Array, values: Array) -> Loadings:
    used = np.flatnonzero(strength > 0)
    order = used[np.argsort(-strength[used], kind="stable")]
    return Loadings(order, strength[order] / max(strength.sum(), 1e-300), values[order])


def _clusters(
    model: Any, matrix: Array | None, scores: Array | None, places: Array | None
) -> list[Cluster]:
    flats: Sequence[Subspace] | None = getattr(model, "subspaces_", None)
    n_clusters = model._n_features_out
    known = model._knows_differences
    differences = [model._contrast(k) if known else None for k in range(n_clusters)]
    if flats is None:
        groups = [np.flatnonzero(model.labels_ == k) for k in range(n_clusters)]
        nothing = np.zeros(0)
        return [
            Cluster(k, rows, None, None, None, nothing, None, apart)
            for k, (rows, apart) in enumerate(zip(groups, differences, strict=True))
        ]
    found = []
    for k, flat in enumerate(flats):
        members = np.flatnonzero(model.labels_ == k)
        dimension = flat.basis.shape[1]
        found.append(
            Cluster(
                number=k,
                members=members,
                dimension=dimension,
                coordinates=None if places is None else places[members, :dimension],
                height=_height(members, k, flat, matrix, scores),
                energy=flat.spectrum / max(flat.spectrum.sum(), 1e-300),
                loadings=loadings_of(flat),
                apart=differences[k],
            )
        )
    return found


def _height(
    members: Places, k: int, flat: Subspace, matrix: Array | None, scores: Array | None
) -> Array | None:
    if matrix is not None:
        return np.sqrt(squared_residual(matrix[members], flat))
    return None if scores is None else scores[members, k]


def _same_data(model: Any, X: Any) -> Array:
    """The samples of fit again, or an error that says they are others."""
    matrix = model._prepared(X)
    fitted = (len(model.labels_), model._n_variables)
    if matrix.shape != fitted:
        raise ValueError(
            f"X has shape {matrix.shape}, the data of fit {fitted}. Use the same data, or no X"
        )
    if model.record_.coordinates is not None:
        for k, flat in enumerate(model.subspaces_):
            _check_same(matrix, np.flatnonzero(model.labels_ == k), flat, model.record_.coordinates)
    return matrix


def _check_same(matrix: Array, members: Places, flat: Subspace, recorded: Array) -> None:
    kept = recorded[members, : flat.basis.shape[1]]
    found = coordinates(matrix[members], flat)
    tolerance = 1e-6 * float(np.abs(kept).max(initial=0.0))
    wrong = np.flatnonzero((np.abs(found - kept) > tolerance).any(axis=1))
    if len(wrong):
        raise ValueError(
            f"X is not the data of fit: row {members[wrong[0]]} differs. Use the same data in the "
            "same order, or no X"
        )


def _sample_names(model: Any, X: Any, given: Any, n: int) -> list[str]:
    """As given; else those of the frame that was fitted; else row numbers."""
    if given is not None:
        return _names(given, n, "sample_names", "sample")
    kept = model.record_.sample_names
    kept = row_names(X) if kept is None else kept
    return [f"sample {i}" for i in range(n)] if kept is None else [as_text(name) for name in kept]


def _variable_names(model: Any, given: Any, p: int) -> list[str]:
    if given is not None:
        return _names(given, p, "variable_names", "variable")
    kept = model._variable_names
    return [f"x{j}" for j in range(p)] if kept is None else [as_text(name) for name in kept]


def _names(given: Any, needed: int, parameter: str, thing: str) -> list[str]:
    names = [as_text(name) for name in given]
    if len(names) != needed:
        raise ValueError(
            f"{parameter} has {len(names)} entries for {needed} {thing}s. Use one for each"
        )
    return names
