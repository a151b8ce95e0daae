"""The criteria of PSC: what it costs a row to be in a cluster, for members and outsiders.

Each takes the views of all clusters and returns the costs (n, K). A member is scored as if the
cluster had been fitted without it, an outsider as it is (`residual` alone makes no difference). The
centre of an affine cluster is refitted without the member, too, but for `influence`, which the
paper defines for axes alone.

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

The Gaussian of a cluster of n members has variance ``l_r = mu_r/(n - 1)`` along the axes left when
the member is out (``lambda_r/n`` for outsiders) and one variance ``sigma^2`` shared by all clusters
in the other D - R_k directions, D the rank of the data.

With sparse loadings: `residual`; `loo_projection`; `union_influence`, the influence computed on the
union of the supports of all clusters; `sparse_influence`, on all variables, as the paper has it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subspaces.core import influence, loo_projection
from subspaces.core.rows import ClusterView
from subspaces.core.sparse_basis import SparseView

Array = NDArray[np.floating]
Views = Sequence[ClusterView]

VARIANCE_FLOOR = 1e-10
T_DEGREES = 3.0
# The scale of a t is found to this share of itself; each step removes most of what is missing.
SETTLED, MOST_STEPS = 1e-9, 100


@dataclass(frozen=True)
class Data:
    """What the likelihoods need to know of all rows: how many, their rank, their mean variance."""

    n_samples: int
    rank: int
    mean_variance: float


def costs(criterion: str, views: Views, data: Data) -> Array:
    """Cost of every row under every cluster, (n, K)."""
    return CRITERIA[criterion](views, data)


def own_costs(matrix: Array, labels: NDArray[np.intp]) -> Array:
    """Cost of every row under its own cluster."""
    return np.take_along_axis(matrix, labels[:, None], axis=1)[:, 0]


def _each(column: Callable[[ClusterView], Array]) -> Callable[[Views, Data], Array]:
    return lambda views, data: np.column_stack([column(view) for view in views])


def _influence(view: ClusterView) -> Array:
    return influence.squared_influence(
        view.scores, view.squared_residual, view.spectrum, view.is_member
    )


def _residual(view: ClusterView) -> Array:
    return view.squared_residual


def _hat(view: ClusterView) -> Array:
    cost = view.squared_residual.copy()
    own = view.members
    cost[own] = influence.hat_errors(view.scores[own], cost[own], view.spectrum, view.affine)
    return cost


def _loo(view: ClusterView) -> Array:
    cost = view.squared_residual.copy()
    cost[view.members] = view.leave_one_out.squared_error
    return cost


def _likelihood(views: Views, data: Data) -> Array:
    variance = pooled_variance(views, data)
    columns = []
    for view in views:
        log_scale, distance = _gaussian_outside(view, data, variance)
        log_scale_own, distance_own = _gaussian_without(view, data, variance)
        cost = log_scale + 0.5 * distance
        cost[view.members] = log_scale_own + 0.5 * distance_own
        columns.append(cost)
    return np.column_stack(columns)


def _loo_projection(view: ClusterView) -> Array:
    cost, own = view.squared_residual.copy(), view.members
    if isinstance(view, SparseView):
        centred = view.matrix[own] - view.centre
        cost[own] = loo_projection.sparse_errors(centred, view.basis, view.spectrum, view.affine)
    else:
        squared_norm = cost[own] + np.sum(view.scores[own] ** 2, axis=1)
        cost[own] = loo_projection.dense_errors(
            squared_norm, view.scores[own], view.spectrum, view.affine
        )
    return cost


def _union_influence(views: Views, data: Data) -> Array:
    support = np.flatnonzero(union_of_supports(views))
    return _oblique(views, support)


def _sparse_influence(views: Views, data: Data) -> Array:
    return _oblique(views, np.arange(len(_sparse(views)[0].centre)))


def _oblique(views: Views, variables: NDArray[np.intp]) -> Array:
    """The influence on some variables."""
    part = _sparse(views)[0].matrix[:, variables]
    columns = []
    for view in _sparse(views):
        residual = np.maximum(view.squared_norms_on(part, variables) - view.captured, 0.0)
        columns.append(
            influence.squared_influence_oblique(
                view.scores, residual, view.spectrum, view.overlap, view.is_member
            )
        )
    return np.column_stack(columns)


def union_of_supports(views: Views) -> NDArray[np.bool_]:
    """Variables with a loading in any cluster, (p,)."""
    return np.any([view.support for view in _sparse(views)], axis=0)


def _sparse(views: Views) -> list[SparseView]:
    sparse = [view for view in views if isinstance(view, SparseView)]
    if len(sparse) != len(views):
        raise TypeError("this criterion needs sparse loadings")
    return sparse


CRITERIA: dict[str, Callable[[Views, Data], Array]] = {
    "influence": _each(_influence),
    "residual": _each(_residual),
    "hat": _each(_hat),
    "loo": _each(_loo),
    "likelihood": _likelihood,
    "loo_projection": _each(_loo_projection),
    "union_influence": _union_influence,
    "sparse_influence": _sparse_influence,
}


def energy_on_loadings(views: Views) -> float:
    """Energy of the members along their own sparse loadings, on all variables."""
    return sum(float(view.captured[view.members].sum()) for view in _sparse(views))


def attraction(size: float, spectrum: Array, residual: float) -> float:
    """``n_k s_R / E``: the weakest axis' energy over the mean member's squared residual.

    E, ``residual``: the members' squared distances from their flat, summed. Below 4 the influence
    of a member grows as it fits better, and the cluster repels its own (docs/repulsion.md).
    """
    return float(size * spectrum.min() / residual) if len(spectrum) and residual > 0 else np.inf


def pooled_variance(views: Views, data: Data) -> float:
    """``sigma^2``: the members' residual energy over ``sum_k n_k (D - R_k)``.

    A cluster with a mean has spent one member on it: ``n_k - 1`` there.
    """
    energy = sum(float(view.squared_residual[view.members].sum()) for view in views)
    freedom = sum((view.size - view.affine) * (data.rank - view.n_components) for view in views)
    return variance_of(energy, freedom, data)


def variance_of(energy: float, freedom: int, data: Data) -> float:
    """Energy per degree of freedom, not below what counts as nothing."""
    return max(energy / max(freedom, 1), VARIANCE_FLOOR * data.mean_variance)


def t_likelihood(views: Views, data: Data) -> float:
    """-log leave-one-out likelihood with Student tails: how good is a finished partition?

    ``.5 (D + nu) log(1 + Q/nu)`` in place of ``.5 Q``, nu = 3, so that a few far samples do not
    decide; sigma^2 is at most twice what the median residual says.
    """
    variance = pooled_variance(views, data)
    own = np.concatenate([view.squared_residual[view.members] for view in views])
    freedom = max(data.rank - min(view.n_components for view in views), 1)
    robust = max(2.0 * float(np.median(own)) / freedom, VARIANCE_FLOOR * data.mean_variance)
    total = 0.0
    for view in views:
        log_scale, distance = _gaussian_without(view, data, min(variance, robust))
        tails = 0.5 * (data.rank + T_DEGREES) * np.log1p(distance / T_DEGREES)
        total += float(np.sum(log_scale + tails))
    return total


def student_costs(views: Views, data: Data) -> Array:
    """-log leave-one-out density of every row under its own cluster, with Student tails, (n,).

    ``.5 D log c + .5 (D + nu) log(1 + Q/(nu c))`` in place of ``.5 Q``, nu = 3. The variances are
    moments; c, one number for all rows, turns them into the scale of a t: 1/3 where the rows are
    drawn from one, near 1 where they are Gaussian. It is the likeliest, by its fixed point (EM).
    """
    variance = pooled_variance(views, data)
    log_scale, distance = np.empty(data.n_samples), np.empty(data.n_samples)
    for view in views:
        own = view.members
        log_scale[own], distance[own] = _gaussian_without(view, data, variance)
    scale = _likeliest_scale(distance, data.rank)
    tails = np.log1p(distance / (T_DEGREES * scale))
    return log_scale + 0.5 * (data.rank * np.log(scale) + (data.rank + T_DEGREES) * tails)


def _likeliest_scale(distance: Array, rank: int) -> float:
    """``c = mean(w Q)/D`` with ``w = (D + nu)/(nu + Q/c)``, solved by repetition from c = 1."""
    scale = 1.0
    for _ in range(MOST_STEPS):
        weights = (rank + T_DEGREES) / (T_DEGREES + distance / scale)
        before, scale = (
            scale,
            max(float(np.mean(weights * distance)) / max(rank, 1), VARIANCE_FLOOR),
        )
        if abs(scale - before) <= SETTLED * scale:
            break
    return scale


def classification_likelihood(views: Views, data: Data) -> float:
    """-log classification likelihood of a mixture of probabilistic PCA with shared noise."""
    variance = pooled_variance(views, data)
    total = 0.0
    for view in views:
        log_scale, distance = _gaussian_outside(view, data, variance)
        total += float(np.sum((log_scale + 0.5 * distance)[view.members]))
    return total


def _gaussian_without(view: ClusterView, data: Data, variance: float) -> tuple[Array, Array]:
    """Members under the others' Gaussian: -log of its scale, and the squared distance Q."""
    rest = view.leave_one_out
    size = max(view.size - 1, 1)
    return _gaussian(
        rest.eigenvalues / size, rest.energies, rest.squared_error, size, data, variance
    )


def _gaussian_outside(view: ClusterView, data: Data, variance: float) -> tuple[Array, Array]:
    """All rows under the Gaussian of all members."""
    return gaussian_of_all(
        view.scores, view.squared_residual, view.spectrum, view.size, data, variance
    )


def gaussian_of_all(
    scores: Array, squared_residual: Array, spectrum: Array, size: int, data: Data, noise: float
) -> tuple[Array, Array]:
    """Rows under the Gaussian of a cluster: -log of its scale, and the squared distance Q."""
    variances = np.broadcast_to(spectrum / size, scores.shape)
    return _gaussian(variances, scores**2, squared_residual, size, data, noise)


def _gaussian(
    variances: Array, energies: Array, squared_residual: Array, size: int, data: Data, noise: float
) -> tuple[Array, Array]:
    """``-log(n/N) + .5 ((D - R) log s2 + sum log l_r)`` and ``Q = eps^2/s2 + sum e_r/l_r``."""
    variances = np.maximum(variances, noise)
    free = data.rank - variances.shape[1]
    log_scale = 0.5 * (free * np.log(noise) + np.log(variances).sum(axis=1))
    log_scale -= np.log(size / data.n_samples)
    return log_scale, squared_residual / noise + (energies / variances).sum(axis=1)
