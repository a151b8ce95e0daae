"""The findings of a fitted model that the report shows, gathered once as frozen values."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from subspaces._types import Array, Data, Indices, Labels, Mask
from subspaces.app.report._names import as_text
from subspaces.data.validation import row_names
from subspaces.diagnostics import Markers
from subspaces.diagnostics._beyond_chance import Apart, apart_of
from subspaces.estimators._base import SubspaceClusterer
from subspaces.estimators._record import nearest_clusters
from subspaces.facts import Facts, Samples, facts_of, samples_of
from subspaces.messages import Advice, ParameterError, percent, refused
from subspaces.metrics import matched_labels
from subspaces.named_table import MissingValues, missing_values
from subspaces.plots._picture import Column, columns, leading_axes, uncertain
from subspaces.subspace import Subspace

# Keeps a share of nothing at 0 rather than nan: less than any sum of squares that counts.
TINY = 1e-300


@dataclass(frozen=True)
class Rivalry:
    """Each sample's score under its own cluster and under the best other cluster, the rival.

    own, other (n,): the two scores, lower is nearer; rival (n,): number of the rival; closeness
    (n,): 0 for a sample clearly in its cluster, 1 for one that is as near to its rival, or nearer.
    """

    own: Array
    other: Array
    rival: Indices
    closeness: Array


@dataclass(frozen=True)
class Loadings:
    """Variables with nonzero loadings (or weights), the strongest first.

    places (m,): columns of X; strength (m,): shares that sum to 1; values (m, r): loadings on each
    axis, or the weights of a method without axes.
    """

    places: Indices
    strength: Array
    values: Array


@dataclass(frozen=True)
class Cluster:
    """One cluster: the rows of X in it, their coordinates in its subspace, its variables.

    apart is how the members differ from all other samples; None if there are no other samples,
    or the model's file is too old to tell. For a method without subspaces the fields below apart
    keep their defaults. coordinates (m, r) are also None if neither the model nor the caller has
    kept the samples, and so is height (m,), the distance of the members from the subspace. energy
    (r,) is each axis' share of the sum of the spectrum.
    """

    number: int
    members: Indices
    apart: Apart | None
    dimension: int | None = None
    coordinates: Array | None = None
    height: Array | None = None
    energy: Array = field(default_factory=lambda: np.zeros(0))
    loadings: Loadings | None = None


@dataclass(frozen=True)
class Picture:
    """Where all samples lie: places (n, 2), and what the two axes are called."""

    places: Array
    titles: tuple[str, str]


@dataclass(frozen=True)
class Findings:
    """All that the report shows of a model, except stability and selection, which callers add.

    common: the weights that all clusters share, for a method without subspaces, else None;
    influence (n,), probabilities (n, K): None if the model has none; missing: how much of X is
    missing, None if nothing. names (K,): of the clusters; columns: known classes and metadata;
    picture: where the samples lie; rows (n, p): the clustered values, None if X was not given;
    p_values (n,): of the samples as outliers, None if these were not looked for.
    """

    model: Any
    labels: Labels
    sample_names: list[str]
    variable_names: list[str]
    classes: list[str] | None
    clusters: list[Cluster]
    common: Loadings | None
    rivalry: Rivalry | None
    influence: Array | None
    missing: MissingValues | None
    probabilities: Array | None
    names: list[str]
    columns: list[Column]
    picture: Picture | None
    rows: Array | None
    p_values: Array | None

    @property
    def outliers(self) -> Indices:
        """The places of the samples in no cluster, the most unusual first."""
        places = np.flatnonzero(self.labels < 0)
        if self.p_values is None:
            return places
        return places[np.argsort(self.p_values[places], kind="stable")]

    def called(self, k: int) -> str:
        """Return what cluster ``k`` is called within a sentence; "no cluster" for -1."""
        return self.names[k] if k >= 0 else "no cluster"

    @property
    def doubt(self) -> Array:
        """How uncertain the label of each sample is, (n,): larger for less certain ones."""
        if self.probabilities is not None:
            return -self.probabilities.max(axis=1)
        return np.zeros(len(self.labels)) if self.rivalry is None else self.rivalry.closeness

    @property
    def unsure(self) -> Mask:
        """Which samples (n,) have an uncertain label."""
        closeness = None if self.rivalry is None else self.rivalry.closeness
        return uncertain(self.labels, self.probabilities, closeness)

    @property
    def known(self) -> tuple[list[str], Indices]:
        """Classes and labels of the samples in clusters that have a class, which "" is not."""
        own = self.classes or []
        with_class = [i for i, name in enumerate(own) if name and self.labels[i] >= 0]
        return [own[i] for i in with_class], self.labels[with_class]

    @property
    def mismatched(self) -> Mask | None:
        """Which samples (n,) are not in the cluster that matches their class.

        None without classes, or if there are more of them than clusters.
        """
        own, labels = self.known
        if not 0 < len(set(own)) <= len(self.clusters):
            return None
        wrong = np.zeros(len(self.labels), dtype=bool)
        known = [i for i, name in enumerate(self.classes or []) if name and self.labels[i] >= 0]
        codes = np.unique(own, return_inverse=True)[1]
        wrong[known] = matched_labels(labels, codes) != labels
        return wrong

    @property
    def points(self) -> bool:
        """Whether all clusters have dimension 0, so that each is a mean profile without axes."""
        return all(cluster.dimension == 0 for cluster in self.clusters)

    def alone(self, cluster: Cluster) -> bool:
        """Whether a cluster is one sample of several, which tells nothing of a group."""
        return len(cluster.members) == 1 < len(self.labels)

    def others_are_one(self, cluster: Cluster) -> bool:
        """Whether one sample is all that a cluster can differ from."""
        return len(cluster.members) == np.count_nonzero(self.labels >= 0) - 1


def gather(
    model: SubspaceClusterer,
    X: Data | None,
    classes: Iterable[object] | None,
    sample_names: Iterable[object] | None,
    variable_names: Iterable[object] | None,
    names_of_clusters: Iterable[object] | None = None,
    metadata: Any = None,
    markers: Markers | None = None,
) -> Findings:
    """Return the findings of a fitted model for the report; all but the model may be None."""
    labels = np.asarray(model.labels_)
    facts = facts_of(model)
    samples = None if X is None else _data_of_fit(facts, X)
    own = None if classes is None else one_each(classes, len(labels), "classes")
    names: Collection[Any] | None = model.record_.sample_names
    names = row_names(X) if names is None else names
    names = [f"sample {i}" for i in range(len(labels))] if names is None else names
    likelihoods = bool(getattr(model, "scores_are_likelihoods_", False))
    scores, places = model.record_.scores, model.record_.coordinates
    distances = model.record_.distances
    if samples is not None:
        distances = samples.distances(labels) if distances is None else distances
        scores = samples.scores if scores is None else scores
        places = samples.coordinates if places is None else places
    weights = getattr(model, "weights_", None)
    shown = _names(sample_names, "sample_names", names)
    named = _names(variable_names, "variable_names", facts.names)
    called = [f"cluster {k}" for k in range(facts.n_clusters)]
    if names_of_clusters is not None:
        called = one_each(names_of_clusters, facts.n_clusters, "names", "cluster")
    known = columns({} if own is None or not any(own) else {"Class": own}, len(labels))
    return Findings(
        model=model,
        labels=labels,
        sample_names=shown,
        variable_names=named,
        classes=own if own and any(own) else None,
        clusters=list(_clusters(facts, places, distances, named, markers)),
        common=None if weights is None else _ranked(weights, weights[:, None]),
        rivalry=None if scores is None else rivalry(scores, labels, likelihoods=likelihoods),
        influence=getattr(model, "influence_", None),
        missing=None if samples is None else missing_values(samples.rows),
        probabilities=getattr(model, "probabilities_", None),
        names=called,
        columns=known + columns(_in_order(metadata, shown), len(labels)),
        picture=_picture(facts, samples, scores, likelihoods=likelihoods),
        rows=None if samples is None else samples.rows,
        p_values=getattr(model, "p_values_", None),
    )


def _in_order(metadata: Any, sample_names: Sequence[str]) -> Any:
    """Return metadata with a row for each sample, matched by name if it is a frame with names."""
    if not hasattr(metadata, "loc"):
        return metadata
    index = [as_text(name) for name in metadata.index]
    place = {name: i for i, name in enumerate(index)}
    if len(place) == len(index) and place.keys() >= set(sample_names):
        return metadata.iloc[[place[name] for name in sample_names]]
    if len(index) == len(sample_names):
        return metadata
    absent = next(name for name in sample_names if name not in place)
    fact = (
        "<metadata> has no row for the sample {absent}. Add this row, or pass one row per sample "
        "in the same order."
    )
    raise ParameterError("metadata", fact, absent=repr(absent))


def _picture(
    facts: Facts, samples: Samples | None, scores: Array | None, *, likelihoods: bool
) -> Picture | None:
    """Return where samples lie on the leading axes of the table, or of their distances."""
    if samples is not None:
        places, shares = leading_axes(samples.completed, facts.squares_before_axes)
        first, second = (
            f"axis {r + 1} ({percent(share)} of the variance)" for r, share in enumerate(shares)
        )
        return Picture(places, (first, second))
    if scores is None or scores.shape[1] < 2 or not np.isfinite(scores).all():
        return None
    distances = scores if likelihoods else np.sqrt(np.maximum(scores, 0.0))
    places, _ = leading_axes(distances)
    return Picture(places, ("distances from the clusters, axis 1", "axis 2"))


def rivalry(scores: Array, labels: Labels, *, likelihoods: bool) -> Rivalry | None:
    """Return own scores, best other scores and rivals from scores (n, K); None if K is 1.

    An outlier is not between clusters: its own score is that of the nearest.
    """
    if scores.shape[1] < 2:
        return None
    rows, inside = np.arange(len(labels)), labels >= 0
    labels = nearest_clusters(labels, scores)
    own, others = scores[rows, labels], scores.copy()
    others[rows, labels] = np.inf
    rival, other = others.argmin(axis=1), others.min(axis=1)
    if likelihoods:
        closeness = np.exp(np.minimum(own - other, 0.0))
    else:
        closeness = np.divide(own, other, out=np.ones_like(own), where=(other > 0) & (own < np.inf))
    return Rivalry(own, other, rival, np.where(inside, np.clip(closeness, 0.0, 1.0), 0.0))


def loadings_of(subspace: Subspace) -> Loadings:
    """Return a subspace's variables with loadings, ranked by their share of its energy."""
    weight = subspace.spectrum if subspace.spectrum.any() else np.ones_like(subspace.spectrum)
    return _ranked(subspace.basis**2 @ weight, subspace.basis)


def _ranked(strength: Array, values: Array) -> Loadings:
    used = np.flatnonzero(strength > 0)
    order = used[np.argsort(-strength[used], kind="stable")]
    return Loadings(order, strength[order] / max(strength.sum(), TINY), values[order])


def _clusters(
    facts: Facts,
    places: Array | None,
    distances: Array | None,
    names: list[str],
    markers: Markers | None,
) -> Iterator[Cluster]:
    model = facts.model
    for k in range(facts.n_clusters):
        members = np.flatnonzero(model.labels_ == k)
        apart = None
        if facts.contrasts is not None:
            apart = apart_of(facts.contrasts[k], names, k, markers)
        if not hasattr(model, "subspaces_"):
            yield Cluster(k, members, apart)
            continue
        subspace = model.subspaces_[k]
        dimension = subspace.basis.shape[1]
        yield Cluster(
            number=k,
            members=members,
            apart=apart,
            dimension=dimension,
            coordinates=None if places is None else places[members, :dimension],
            height=None if distances is None else distances[members],
            energy=subspace.spectrum / max(subspace.spectrum.sum(), TINY),
            loadings=loadings_of(subspace),
        )


def _data_of_fit(facts: Facts, X: Data) -> Samples:
    """Return the samples of X; raise ValueError if it is not the data of fit."""
    model, samples = facts.model, samples_of(facts.model, X)
    shape, fitted = samples.rows.shape, (len(model.labels_), facts.n_variables)
    if shape != fitted:
        raise refused(
            f"X has shape {shape}, but the model was fitted to a table of shape {fitted}. "
            "Pass that table, or leave out X.",
            "X",
        )
    recorded = model.record_.coordinates
    if recorded is None or samples.coordinates is None:
        return samples
    away = np.abs(samples.coordinates - recorded)
    for k in range(len(model.subspaces_)):
        members = np.flatnonzero(model.labels_ == k)
        tolerance = 1e-6 * np.nan_to_num(np.abs(recorded[members])).max(initial=0.0)
        wrong = members[(away[members] > tolerance).any(axis=1)]
        if len(wrong):
            raise refused(
                f"X is not the table the model was fitted to: row {wrong[0]} differs. Pass "
                "that table in the same order, or leave out X.",
                "X",
            )
    return samples


def _names(given: Iterable[Any] | None, parameter: str, kept: Collection[Any]) -> list[str]:
    """Return as many names as are kept: those given, or else ``kept``."""
    return one_each(kept if given is None else given, len(kept), parameter)


def one_each(given: Any, count: int, parameter: str, thing: str = "sample") -> list[str]:
    """Return the entries of ``given`` as text; raise ValueError unless they are ``count``."""
    names = [as_text(name) for name in given]
    if len(names) != count:
        thing = "variable" if parameter == "variable_names" else thing
        fact = f"{parameter} has {{n:#entry|entries}} for {{count:#{thing}}}."
        each = Advice("pass one for each")
        raise ParameterError(parameter, fact, each, n=len(names), count=count)
    return names
