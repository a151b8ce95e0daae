"""The criteria of PSC, all in this one list: what it costs a row to be in a cluster.

A member is scored as if the cluster had been fitted without it, an outsider under the cluster as
fitted to all its members; only `residual` treats both alike. The centre of an affine cluster is
refitted without the member, too, except for `influence`, which the paper defines for axes alone.

==============  ==========================================  =================================
name            member                                      outsider
==============  ==========================================  =================================
influence       ||pi||^2, the paper's                       ||pi||^2 as if it had joined
residual        ||x_perp||^2                                the same
hat             ||x_perp||^2 / (1 - sum h)^2                ||x_perp||^2
loo             exact leave-one-out error epsilon^2         ||x_perp||^2
distance        epsilon^2 + sum_r w_r e_r of the others'    ||x_perp||^2 + sum_r w_r d_r^2
likelihood      -log density of the others' Gaussian        -log density of all members'
loo_projection  residual from loadings down-dated by it     ||x_perp||^2
==============  ==========================================  =================================

In `distance`, e_r and d_r^2 are squared scores along the axes, l_r the variances there, and
``w_r = sigma^2 / max(l_r, sigma^2)``: sigma^2 times the squared Mahalanobis distance of
probabilistic PCA. Along a strong axis a row may lie far out and pays next to nothing, along one
that is hardly stronger than noise it pays as if it lay off the subspace. The two normalisers of the
density, log-determinant and share of the rows, are left out on purpose ("Where the search starts,
and which start wins", https://subspaces.readthedocs.io).

With sparse loadings: `residual`; `loo_projection`; `union_influence`, the influence computed on the
union of the supports of all clusters; `sparse_influence`, on all variables, as the paper has it.

In passes over many rows a member is left out to first order: the error without it is that of `hat`,
which differs from the exact one by a share of about 5 / n_k ("Big data: passes, chunks, zeros and
streams", https://subspaces.readthedocs.io), and its Gaussian is that of all members.
`Criterion.passes` names the criterion that scores rows in passes; if it is None, all rows must
be in view.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subspaces._types import Array, Counts, Labels
from subspaces.core import influence
from subspaces.core.array import namespace
from subspaces.core.likelihood import (
    Data,
    gaussian_without,
    of_members,
    pooled_variance,
    robust_variance,
    weights_of,
)
from subspaces.core.partition import Partition, as_divisors
from subspaces.core.rows import ClusterView
from subspaces.core.secular import copy_of
from subspaces.core.sparse_view import influence_on, union_of_supports
from subspaces.runtime.threads import cached_property
from subspaces.subspace import weighted_sum

Views = Sequence[ClusterView]


@dataclass(frozen=True)
class ClusterStats:
    """The sums and variances of K clusters that the costs of rows are computed from.

    spectra (K, R): the members' energy along the axes, 1 beyond those in use; dimensions and sizes
    (K,), the members' weights summed; affine: whether clusters have means; variance: that of the
    noise off the subspaces; rank and n_rows: of the rows of all clusters together, n_rows by
    weight; density: whether Gaussians are densities. Otherwise they have no normaliser, and
    variances in units of twice the noise's, so that half the exponent is the criterion `distance`.
    """

    spectra: Array
    dimensions: Counts
    sizes: NDArray[Any]
    affine: bool
    variance: float
    rank: int
    n_rows: float
    density: bool = True

    @cached_property
    def mean_leverage(self) -> Array:
        """A member's leverage on the mean of its cluster, (K,): 1/n_k, or 0 without a mean."""
        return 1.0 / as_divisors(self.sizes) if self.affine else np.zeros(len(self.sizes))

    @cached_property
    def variances(self) -> Array:
        """Variances of the clusters' Gaussians along their axes, (K, R); 1 for axes not in use."""
        in_use = np.arange(self.spectra.shape[1]) < self.dimensions[:, None]
        variances = self.spectra / as_divisors(self.sizes)[:, None]
        variances = np.maximum(variances, self.variance)
        return np.where(in_use, variances if self.density else 0.5 * variances / self.variance, 1.0)

    @cached_property
    def weights(self) -> Array:
        """``1 / variances``, (K, R): the weights of squared scores in the Gaussians' exponents."""
        return 1.0 / self.variances

    @cached_property
    def scale(self) -> Array:
        """``-log(n_k/N) + .5 log det`` of each Gaussian, (K,): a term of -log density, or 0."""
        if not self.density:
            return np.zeros(len(self.sizes))
        noise = (self.rank - self.dimensions) * np.log(self.variance)
        scale = 0.5 * (noise + np.log(self.variances).sum(axis=1))
        return scale - np.log(as_divisors(self.sizes) / self.n_rows)

    @property
    def for_loops(self) -> tuple[Any, ...]:
        """Spectra, variances, scale, mean_leverage, variance: as compiled loops expect them."""
        return self.spectra, self.variances, self.scale, self.mean_leverage, float(self.noise[0])

    @cached_property
    def noise(self) -> Array:
        """The Gaussians' variance off the subspaces, (1,), which can be moved to a device."""
        return np.array([self.variance if self.density else 0.5])


@dataclass(frozen=True)
class ScoreInputs:
    """Scores and residuals of all rows under all clusters, or of members under their own cluster.

    energies (n, K, R) or (n, R): squared scores; residual (n, K) or (n,): squared distances from
    the subspaces; stats: `ClusterStats`, in the array library of the rows; labels (n,): the
    members' clusters, None for all rows under all clusters; views: the PCA of every cluster, None
    in passes; members come cluster by cluster in the order of the views; data: weight, rank and
    mean variance of all rows, for likelihoods; copy (n,) or (n, 1): how much of each row is left
    out or joins, None for all of it.
    """

    energies: Any
    residual: Any
    stats: Any
    labels: Any = None
    views: Views | None = None
    data: Data | None = None
    copy: Any = None

    def stat(self, name: str) -> Any:
        """Return a statistic by name: its row for each member, (n, ...), or (1, K, ...)."""
        values = getattr(self.stats, name)
        if self.labels is None:
            return values[None, ...]
        if isinstance(values, np.ndarray):
            return values[self.labels]
        return namespace(values).take(values, self.labels, axis=0)

    @property
    def clusters(self) -> Views:
        """The views, one PCA per cluster. In passes there are none."""
        assert self.views is not None
        return self.views

    def error_left_out(self) -> Any:
        """Squared leave-one-out error of each member, (n,); to first order in passes."""
        if self.views is not None:
            return np.concatenate([view.leave_one_out.squared_error for view in self.views])
        return _hat(self)

    def log_density_left_out(self) -> Any:
        """-log density of each member under the others' Gaussian, (n,); first order in passes."""
        if self.views is None or self.data is None:
            return _gaussian(self, _hat(self))
        parts = []
        for view in self.views:
            log_scale, distance = gaussian_without(view, self.data, self.stats.variance)
            parts.append(log_scale + 0.5 * distance)
        return np.concatenate(parts)

    def distance_left_out(self) -> Any:
        """`distance` of each member from the others' subspace, (n,); first order in passes."""
        if self.views is None or self.data is None:
            return _gaussian(self, _hat(self))
        noise = self.stats.variance
        return noise * np.concatenate(
            [gaussian_without(view, self.data, noise)[1] for view in self.views]
        )


Cost = Callable[[ScoreInputs], Any]


@dataclass(frozen=True)
class Criterion:
    """The two functions that say what a row costs in a cluster, and where they can be used.

    member(inputs): the costs of members under their own cluster, (n,); outsider(inputs): those of
    all rows under all clusters, (n, K). dense, sparse: whether the criterion is defined for
    principal axes, for sparse loadings; passes: the name of the criterion that scores rows in
    passes in its place, None if all rows must be in view; needs_full_spectrum: whether costs of
    rows in view need more than scores on the leading axes and residuals, as exact leave-one-out
    does; gaussian: what costs take from the Gaussians of the clusters, their "density", their
    "distance" (`ClusterStats.density`), or None; public: whether users may name the criterion.
    """

    member: Cost
    outsider: Cost
    dense: bool = True
    sparse: bool = False
    passes: str | None = None
    needs_full_spectrum: bool = True
    gaussian: str | None = None
    public: bool = True

    @property
    def is_density(self) -> bool:
        """Whether the Gaussians of the clusters have normalisers (`ClusterStats.density`)."""
        return self.gaussian != "distance"


def _residual(inputs: ScoreInputs) -> Any:
    return inputs.residual


def _influence(inputs: ScoreInputs, *, member: bool) -> Any:
    parts = inputs.energies, inputs.residual, inputs.stat("spectra")
    return influence.squared_influence_of(*parts, member, inputs.copy)


def _hat(inputs: ScoreInputs) -> Any:
    energies, spectra = inputs.energies, inputs.stat("spectra")
    claimed = inputs.stat("mean_leverage")
    if inputs.copy is not None:
        energies, claimed = energies * inputs.copy[..., None], claimed * inputs.copy
    return influence.hat_errors_of(energies, inputs.residual, spectra, claimed)


def _density(inputs: ScoreInputs) -> Any:
    return _gaussian(inputs, inputs.residual)


def _gaussian(inputs: ScoreInputs, squared_error: Any) -> Any:
    """-log density, (n, K) or (n,), under the clusters' Gaussians; squared_error: off the axes."""
    weighted = namespace(inputs.energies).sum(inputs.energies * inputs.stat("weights"), axis=-1)
    return inputs.stat("scale") + 0.5 * (squared_error / inputs.stats.noise[0] + weighted)


def _projection_error(inputs: ScoreInputs) -> Array:
    return np.concatenate([view.projection_errors() for view in inputs.clusters])


def _union_influence(inputs: ScoreInputs) -> Array:
    support = union_of_supports(inputs.clusters)
    return influence_on(support, inputs.clusters, inputs.labels, inputs.copy)


def _sparse_influence(inputs: ScoreInputs) -> Array:
    everywhere = np.full_like(union_of_supports(inputs.clusters), True)
    return influence_on(everywhere, inputs.clusters, inputs.labels, inputs.copy)


CRITERIA: dict[str, Criterion] = {
    "influence": Criterion(
        partial(_influence, member=True),
        partial(_influence, member=False),
        passes="influence",
        needs_full_spectrum=False,
    ),
    "loo": Criterion(ScoreInputs.error_left_out, _residual, passes="hat"),
    "distance": Criterion(
        ScoreInputs.distance_left_out, _density, passes="distance", gaussian="distance"
    ),
    "hat": Criterion(_hat, _residual, passes="hat", needs_full_spectrum=False),
    "residual": Criterion(
        _residual, _residual, sparse=True, passes="residual", needs_full_spectrum=False
    ),
    "likelihood": Criterion(
        ScoreInputs.log_density_left_out, _density, passes="likelihood", gaussian="density"
    ),
    "loo_projection": Criterion(_projection_error, _residual, sparse=True),
    "union_influence": Criterion(
        _union_influence, _union_influence, dense=False, sparse=True, public=False
    ),
    "sparse_influence": Criterion(
        _sparse_influence, _sparse_influence, dense=False, sparse=True, public=False
    ),
}

# The variance of the noise that the Gaussians of a criterion have, by `Criterion.gaussian`.
VARIANCES = {"density": pooled_variance, "distance": robust_variance}


def names(**properties: Any) -> tuple[str, ...]:
    """Return the names of the criteria whose attributes have these truth values."""
    return tuple(
        name
        for name, criterion in CRITERIA.items()
        if all(bool(getattr(criterion, key)) == value for key, value in properties.items())
    )


def names_for_outsiders() -> tuple[str, ...]:
    """Return the names of one criterion for passes per distinct cost of outsiders.

    Without `distance`, whose noise is found from all rows at once or a fixed sample of them.
    """
    return tuple(
        name
        for name in names(passes=True)
        if name == "residual"
        or (CRITERIA[name].outsider is not _residual and CRITERIA[name].is_density)
    )


def costs(criterion: str, views: Views, data: Data) -> Array:
    """Cost of every row under every cluster, (n, K); under its own a row is scored as a member."""
    found = CRITERIA[criterion]
    everyone, members, rows = score_inputs(views, data, criterion)
    matrix = np.array(found.outsider(everyone))
    matrix[rows, members.labels] = found.member(members)
    return matrix


def own_costs(matrix: Array, labels: Labels) -> Array:
    """Cost of every row under its own cluster, (n,), from the costs (n, K); 0 if it has none."""
    return Partition(labels, matrix.shape[1]).own(matrix)


def objective(matrix: Array, labels: Labels, weights: Array | None) -> float:
    """Sum of the rows' costs (n, K) under their own clusters, each times its weight."""
    return weighted_sum(own_costs(matrix, labels), weights)


def score_inputs(
    views: Views, data: Data, criterion: str
) -> tuple[ScoreInputs, ScoreInputs, Labels]:
    """Return the inputs of all rows under all clusters, those of members, and row numbers (n,).

    The second holds each row under its own cluster only, cluster by cluster; the row numbers say
    which row of the data each of its entries is. A row in no cluster is an outsider to all.
    """
    data = of_members(views, data)
    n_axes = max(view.n_components for view in views)
    n, n_clusters = len(views[0].squared_residual), len(views)
    # The rows innermost: sums over a few axes are then sums of long vectors.
    energies, spectra = np.zeros((n_clusters, n_axes, n)), np.ones((n_clusters, n_axes))
    for k, view in enumerate(views):
        np.square(view.scores.T, out=energies[k, : view.n_components])
        spectra[k, : view.n_components] = view.spectrum
    energies = energies.transpose(2, 0, 1)
    residual = np.stack([view.squared_residual for view in views]).T
    gaussian = CRITERIA[criterion].gaussian
    noise = VARIANCES[gaussian](views, data) if gaussian else 1.0
    found = np.array([view.n_components for view in views])
    sizes = np.array([view.size for view in views])
    facts = noise, data.rank, data.n_samples, CRITERIA[criterion].is_density
    stats = ClusterStats(spectra, found, sizes, views[0].affine, *facts)
    rows = np.concatenate([view.members for view in views])
    labels = np.repeat(np.arange(n_clusters), [len(view.members) for view in views])
    weights = weights_of(views)
    copy = None if weights is None else copy_of(weights)
    members = ScoreInputs(
        energies[rows, labels], residual[rows, labels], stats, labels, views, data, copy
    )
    joins = None
    if copy is not None:  # of rows in no cluster all
        joins = np.ones((n, 1))
        joins[rows, 0] = copy
    return ScoreInputs(energies, residual, stats, None, views, data, joins), members, rows


def attraction(size: float, spectrum: Array, residual: float) -> float:
    """``n_k s_R / E``: the energy along the weakest axis over the mean squared residual.

    E, ``residual``: the members' squared distances from their subspace, summed. Below 4 the
    influence of a member grows as it fits better, and the cluster repels its own members
    ("When the influence repels", https://subspaces.readthedocs.io).
    """
    return float(size * spectrum.min() / residual) if len(spectrum) and residual > 0 else np.inf
