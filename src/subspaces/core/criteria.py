"""The criteria of PSC, the only list of them: what it costs a row to be in a cluster.

A member is scored as if the cluster had been fitted without it, an outsider as it is (`residual`
alone makes no difference). The centre of an affine cluster is refitted without the member, too, but
for `influence`, which the paper defines for axes alone.

==============  ==========================================  =================================
name            member                                      outsider
==============  ==========================================  =================================
influence       ||pi||^2, the paper's                       ||pi||^2 as if it had joined
residual        ||x_perp||^2                                the same
hat             ||x_perp||^2 / (1 - sum h)^2                ||x_perp||^2
loo             exact leave-one-out error epsilon^2         ||x_perp||^2
likelihood      -log density of the others' Gaussian        -log density of all members'
loo_projection  residual from loadings down-dated by it     ||x_perp||^2
==============  ==========================================  =================================

With sparse loadings: `residual`; `loo_projection`; `union_influence`, the influence computed on the
union of the supports of all clusters; `sparse_influence`, on all variables, as the paper has it.

In passes over many rows a member is left out to first order: the error without it is that of `hat`,
which differs from the exact one by a share of about 5 / n_k (docs/big_data.md), and its Gaussian is
that of all members. A criterion names the one that passes score by; without one it needs all rows
in view.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subspaces.core import influence, loo_projection
from subspaces.core.array_namespace import namespace
from subspaces.core.likelihood import Data, gaussian_without, pooled_variance
from subspaces.core.rows import ClusterView
from subspaces.core.sparse_basis import SparseView

Array = NDArray[np.floating]
Labels = NDArray[np.intp]
Views = Sequence[ClusterView]


@dataclass(frozen=True)
class Tables:
    """What costs need to know of the clusters themselves, one entry or row for each.

    spectra (K, R): the members' energy along the axes, 1 beyond those in use; dimensions and sizes
    (K,); affine: whether they have means; variance: the noise around the subspaces; rank and
    n_rows: of all data.
    """

    spectra: Array
    dimensions: NDArray[np.intp]
    sizes: NDArray[Any]
    affine: bool
    variance: float
    rank: int
    n_rows: int

    @cached_property
    def mean_leverage(self) -> Array:
        """What a member claims of its cluster's mean, (K,): 1/n_k, or nothing without a mean."""
        return 1.0 / np.maximum(self.sizes, 1.0) if self.affine else np.zeros(len(self.sizes))

    @cached_property
    def variances(self) -> Array:
        """Of the clusters' Gaussians along their axes, (K, R); 1 beyond."""
        in_use = np.arange(self.spectra.shape[1]) < self.dimensions[:, None]
        variances = self.spectra / np.maximum(self.sizes, 1.0)[:, None]
        return np.where(in_use, np.maximum(variances, self.variance), 1.0)

    @cached_property
    def weights(self) -> Array:
        """What squared scores count in a Gaussian, (K, R)."""
        return 1.0 / self.variances

    @cached_property
    def scale(self) -> Array:
        """-log of the scale of the clusters' Gaussians, times their share of the rows, (K,)."""
        noise = (self.rank - self.dimensions) * np.log(self.variance)
        scale = 0.5 * (noise + np.log(self.variances).sum(axis=1))
        return scale - np.log(np.maximum(self.sizes, 1.0) / self.n_rows)

    @property
    def for_loops(self) -> tuple[Any, ...]:
        """What compiled loops are given of the clusters."""
        return self.spectra, self.variances, self.scale, self.mean_leverage, float(self.variance)

    @cached_property
    def noise(self) -> Array:
        """The variance around the subspaces, as an array of one."""
        return np.array([self.variance])


@dataclass(frozen=True)
class Seen:
    """Rows as clusters see them: all rows under all clusters, or members under their own.

    energies (n, K, R) or (n, R): squared scores; residual (n, K) or (n,): squared distances from
    the subspaces; tables: of the clusters (`Tables`), beside the rows; labels (n,): the members'
    clusters, None for all rows under all clusters; views: the clusters with all rows in view, in
    whose order members come, None in passes; data: facts on all rows.
    """

    energies: Any
    residual: Any
    tables: Any
    labels: Any = None
    views: Views | None = None
    data: Data | None = None

    def table(self, name: str) -> Any:
        """A table of the clusters, as wide as what the rows are seen under."""
        values = getattr(self.tables, name)
        if self.labels is None:
            return values[None, ...]
        if isinstance(values, np.ndarray):
            return values[self.labels]
        return namespace(values).take(values, self.labels, axis=0)

    @property
    def clusters(self) -> Views:
        """The clusters with all rows in view."""
        if self.views is None or self.data is None:
            raise TypeError("this criterion needs all rows in view")
        return self.views

    def error_left_out(self) -> Any:
        """Squared error of members without themselves, exact or to first order, (n,)."""
        if self.views is not None:
            return np.concatenate([view.leave_one_out.squared_error for view in self.views])
        return _hat(self)

    def log_density_left_out(self) -> Any:
        """-log density of members under the others' Gaussian, exact or to first order, (n,)."""
        if self.views is None or self.data is None:
            return _gaussian(self, _hat(self))
        noise, parts = float(self.tables.noise[0]), []
        for view in self.views:
            log_scale, distance = gaussian_without(view, self.data, noise)
            parts.append(log_scale + 0.5 * distance)
        return np.concatenate(parts)


Cost = Callable[[Seen], Any]


@dataclass(frozen=True)
class Criterion:
    """What a row costs, and where that is defined.

    member(seen): the cost of members under their own cluster, (n,); outsider(seen): of all rows
    under all clusters, (n, K). dense, sparse: whether it knows principal axes, sparse loadings;
    passes: the name of the criterion that passes over many rows score by, None where there is none;
    exact: whether it asks for more than scores on the leading axes and residuals, of rows in view;
    gaussian: whether it asks for the noise around the subspaces; public: whether users may name it.
    """

    member: Cost
    outsider: Cost
    dense: bool = True
    sparse: bool = False
    passes: str | None = None
    exact: bool = False
    gaussian: bool = False
    public: bool = True


def _residual(seen: Seen) -> Any:
    return seen.residual


def _influence_of_members(seen: Seen) -> Any:
    spectra = seen.table("spectra")
    return influence.squared_influence_of(seen.energies, seen.residual, spectra, True)


def _influence_of_outsiders(seen: Seen) -> Any:
    spectra = seen.table("spectra")
    return influence.squared_influence_of(seen.energies, seen.residual, spectra, False)


def _hat(seen: Seen) -> Any:
    spectra, claimed = seen.table("spectra"), seen.table("mean_leverage")
    return influence.hat_errors_of(seen.energies, seen.residual, spectra, claimed)


def _density(seen: Seen) -> Any:
    return _gaussian(seen, seen.residual)


def _gaussian(seen: Seen, squared_error: Any) -> Any:
    """-log density of rows at so much squared distance off the axes of the clusters."""
    weighted = namespace(seen.energies).sum(seen.energies * seen.table("weights"), axis=-1)
    return seen.table("scale") + 0.5 * (squared_error / seen.tables.noise[0] + weighted)


def _projection_error(seen: Seen) -> Array:
    parts = []
    for view in seen.clusters:
        own = view.members
        if isinstance(view, SparseView):
            centred = view.matrix[own] - view.centre
            parts.append(
                loo_projection.sparse_errors(centred, view.basis, view.spectrum, view.affine)
            )
        else:
            scores = view.scores[own]
            squared_norm = view.squared_residual[own] + np.sum(scores**2, axis=1)
            parts.append(
                loo_projection.dense_errors(squared_norm, scores, view.spectrum, view.affine)
            )
    return np.concatenate(parts)


def _oblique(seen: Seen, everywhere: bool) -> Array:
    """The influence under sparse loadings, on all variables or on the union of the supports."""
    views = sparse_views(seen.clusters)
    support = np.full(len(views[0].centre), True) if everywhere else union_of_supports(views)
    lengths = squared_lengths_on(views, np.flatnonzero(support))
    n, n_axes = len(lengths), max(view.n_components for view in views)
    scores, spectra = np.zeros((n, len(views), n_axes)), np.ones((len(views), n_axes))
    overlap = np.tile(np.eye(n_axes), (len(views), 1, 1))
    inverse = overlap.copy()
    for k, view in enumerate(views):
        own = slice(view.n_components)
        scores[:, k, own], spectra[k, own] = view.scores, view.spectrum
        overlap[k, own, own], inverse[k, own, own] = view.overlap, view.inverse
    residual = np.maximum(lengths - np.column_stack([view.captured for view in views]), 0.0)
    if seen.labels is None:
        return influence.squared_influence_oblique(
            scores, residual, spectra, overlap, False, inverse
        )
    rows, own = np.concatenate([view.members for view in views]), seen.labels
    return influence.squared_influence_oblique(
        scores[rows, own], residual[rows, own], spectra[own], overlap[own], True, inverse[own]
    )


def _union_influence(seen: Seen) -> Array:
    return _oblique(seen, everywhere=False)


def _sparse_influence(seen: Seen) -> Array:
    return _oblique(seen, everywhere=True)


CRITERIA: dict[str, Criterion] = {
    "influence": Criterion(_influence_of_members, _influence_of_outsiders, passes="influence"),
    "loo": Criterion(Seen.error_left_out, _residual, passes="hat", exact=True),
    "hat": Criterion(_hat, _residual, passes="hat"),
    "residual": Criterion(_residual, _residual, sparse=True, passes="residual"),
    "likelihood": Criterion(
        Seen.log_density_left_out, _density, passes="likelihood", exact=True, gaussian=True
    ),
    "loo_projection": Criterion(_projection_error, _residual, sparse=True, exact=True),
    "union_influence": Criterion(
        _union_influence, _union_influence, dense=False, sparse=True, exact=True, public=False
    ),
    "sparse_influence": Criterion(
        _sparse_influence, _sparse_influence, dense=False, sparse=True, exact=True, public=False
    ),
}


def names(**properties: Any) -> tuple[str, ...]:
    """The criteria with some properties, in the order of the list."""
    return tuple(
        name
        for name, criterion in CRITERIA.items()
        if all(bool(getattr(criterion, key)) == value for key, value in properties.items())
    )


def names_for_outsiders() -> tuple[str, ...]:
    """The criteria of passes that differ for outsiders: each such cost once."""
    return tuple(
        name
        for name in names(passes=True)
        if name == "residual" or CRITERIA[name].outsider is not _residual
    )


def costs(criterion: str, views: Views, data: Data) -> Array:
    """Cost of every row under every cluster, (n, K)."""
    found = CRITERIA[criterion]
    everyone, members, rows = seen_by(views, data, criterion)
    matrix = np.array(found.outsider(everyone))
    matrix[rows, members.labels] = found.member(members)
    return matrix


def own_costs(matrix: Array, labels: Labels) -> Array:
    """Cost of every row under its own cluster."""
    return matrix[np.arange(len(labels)), labels]


def seen_by(views: Views, data: Data, criterion: str) -> tuple[Seen, Seen, Labels]:
    """All rows under all clusters, the members under their own, and which rows those are."""
    n_axes = max(view.n_components for view in views)
    n, n_clusters = len(views[0].squared_residual), len(views)
    # The rows innermost: sums over a few axes are then sums of long vectors.
    energies, spectra = np.zeros((n_clusters, n_axes, n)), np.ones((n_clusters, n_axes))
    for k, view in enumerate(views):
        np.square(view.scores.T, out=energies[k, : view.n_components])
        spectra[k, : view.n_components] = view.spectrum
    energies = energies.transpose(2, 0, 1)
    residual = np.stack([view.squared_residual for view in views]).T
    noise = pooled_variance(views, data) if CRITERIA[criterion].gaussian else 1.0
    found = np.array([view.n_components for view in views])
    sizes = np.array([view.size for view in views])
    tables = Tables(spectra, found, sizes, views[0].affine, noise, data.rank, data.n_samples)
    rows = np.concatenate([view.members for view in views])
    labels = np.repeat(np.arange(n_clusters), sizes)
    members = Seen(energies[rows, labels], residual[rows, labels], tables, labels, views, data)
    return Seen(energies, residual, tables, None, views, data), members, rows


def squared_lengths_on(views: Sequence[SparseView], variables: NDArray[np.intp]) -> Array:
    """Squared distances of all rows from the clusters' centres, on some variables, (n, K)."""
    part = views[0].matrix[:, variables]
    if views[0].affine:
        return np.column_stack([view.squared_norms_on(part, variables) for view in views])
    lengths = np.einsum("ij,ij->i", part, part)
    return np.broadcast_to(lengths[:, None], (len(part), len(views)))


def union_of_supports(views: Views) -> NDArray[np.bool_]:
    """Variables with a loading in any cluster, (p,)."""
    return np.any([view.support for view in sparse_views(views)], axis=0)


def sparse_views(views: Views) -> list[SparseView]:
    """The same clusters, which must be seen through sparse loadings."""
    sparse = [view for view in views if isinstance(view, SparseView)]
    if len(sparse) != len(views):
        raise TypeError("this criterion needs sparse loadings")
    return sparse


def energy_on_loadings(views: Views) -> float:
    """Energy of the members along their own sparse loadings, on all variables."""
    return sum(float(view.captured[view.members].sum()) for view in sparse_views(views))


def attraction(size: float, spectrum: Array, residual: float) -> float:
    """``n_k s_R / E``: the weakest axis' energy over the mean member's squared residual.

    E, ``residual``: the members' squared distances from their flat, summed. Below 4 the influence
    of a member grows as it fits better, and the cluster repels its own (docs/repulsion.md).
    """
    return float(size * spectrum.min() / residual) if len(spectrum) and residual > 0 else np.inf
