"""Leave-one-out densities: each cluster is a Gaussian, or a t, around its subspace.

Every function called likelihood or costs returns -log density: less is better.

Without a member, the Gaussian of its cluster has the variance ``l_r = mu_r/(n - 1)`` along the
axes of the others (``lambda_r/n`` for outsiders), and the noise ``sigma^2``, one number for all
clusters, in the other D - R_k directions.

==========  =====================  ========  ================================================
symbol      name                   shape     meaning
==========  =====================  ========  ================================================
n           size                   number    members of the cluster
N           data.n_samples         number    rows of all clusters
D           data.rank              number    rank of all rows
sigma^2     variance, noise        number    variance off the subspaces, of all clusters
l_r         variances              (n, R)    variances along the axes
e_r         energies               (n, R)    squared scores along the axes
eps^2       squared_residual       (n,)      squared distance off the axes
Q           distance               (n,)      ``eps^2/sigma^2 + sum_r e_r/l_r``
nu          T_DEGREES              number    degrees of freedom of a t
==========  =====================  ========  ================================================
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from subspaces._types import Array
from subspaces.core.rows import ClusterView
from subspaces.runtime.serialise import serialisable
from subspaces.subspace import weighted_sum

Views = Sequence[ClusterView]

# What densities and distances divide by is at least this share of the rows' mean variance along one
# direction: rows exactly on their subspaces have costs, too.
VARIANCE_FLOOR = 1e-10
# Degrees of freedom of Student tails: the fewest whole ones with a finite variance.
T_DEGREES = 3.0
# Relative tolerance of the fixed-point iteration for the scale of a t, and the most steps.
SCALE_TOLERANCE, MOST_STEPS = 1e-9, 100


@serialisable
@dataclass(frozen=True)
class Data:
    """Weight of all rows, their rank, and their mean variance per direction, for likelihoods.

    n_samples: the number of rows if all count one.
    """

    n_samples: float
    rank: int
    mean_variance: float


def of_members(views: Views, data: Data) -> Data:
    """Return the data with the weight of the members of all clusters as that of the rows.

    Rows in no cluster have no part in the clusters' shares.
    """
    n_members = sum(view.size for view in views)
    return data if n_members == data.n_samples else replace(data, n_samples=n_members)


def pooled_variance(views: Views, data: Data) -> float:
    """Noise variance ``sigma^2``: the members' residual energy over ``sum_k n_k (D - R_k)``.

    A cluster with a mean has ``n_k - 1`` in place of ``n_k``. It is a divisor: see `as_divisor`.
    """
    energy = sum(weighted_sum(view.squared_residual[view.members], view.weights) for view in views)
    freedom = sum((view.size - view.spent) * (data.rank - view.n_components) for view in views)
    return as_divisor(energy / positive(freedom), data)


def positive(freedom: float) -> float:
    """Return degrees of freedom to divide by: 1 if there are none."""
    return freedom if freedom > 0.0 else 1.0


def as_divisor(variance: float, data: Data) -> float:
    """Return a variance, but at least VARIANCE_FLOOR times the mean variance of the rows."""
    return max(variance, VARIANCE_FLOOR * data.mean_variance)


def robust_variance(views: Views, data: Data) -> float:
    """`pooled_variance`, but at most twice what the median squared residual of a member says."""
    own = np.concatenate([view.squared_residual[view.members] for view in views])
    freedom = max(data.rank - min(view.n_components for view in views), 1)
    middle = median(own, weights_of(views))
    return min(pooled_variance(views, data), capped_variance(middle, freedom, data))


def weights_of(views: Views) -> Array | None:
    """Return the weights of the members, cluster by cluster, (n,); None if all count one."""
    found = [view.weights for view in views if view.weights is not None]
    return np.concatenate(found) if found else None


def median(values: Array, weights: Array | None) -> float:
    """Return the median of values (n,), each counted as often as its weight says."""
    if weights is None:
        return float(np.median(values))
    order = np.argsort(values)
    below = np.cumsum(weights[order])
    middle = np.searchsorted(below, 0.5 * below[-1], side="left")
    following = np.searchsorted(below, 0.5 * below[-1], side="right")
    return float(np.mean(values[order[[middle, min(following, len(order) - 1)]]]))


def capped_variance(median: float, freedom: int, data: Data) -> float:
    """``2 median / freedom``, a divisor: see `as_divisor`."""
    return as_divisor(2.0 * median / freedom, data)


def t_likelihood(views: Views, data: Data) -> float:
    """-log leave-one-out density of a partition, summed over all members, with Student tails.

    One number, less is better: what finished runs and first partitions are compared by.

    ``.5 (D + nu) log(1 + Q/nu)`` in place of ``.5 Q``, nu = 3, so that a few far samples do not
    decide; sigma^2 is `robust_variance`.
    """
    data = of_members(views, data)
    variance, total = robust_variance(views, data), 0.0
    for view in views:
        log_scale, distance = gaussian_without(view, data, variance)
        tails = 0.5 * (data.rank + T_DEGREES) * np.log1p(distance / T_DEGREES)
        total += weighted_sum(log_scale + tails, view.weights)
    return total


def student_costs(views: Views, data: Data) -> Array:
    """-log leave-one-out density of every row under its own cluster, with Student tails, (n,).

    A row in no cluster has 0.

    ``.5 D log c + .5 (D + nu) log(1 + Q/(nu c))`` in place of ``.5 Q``, nu = 3. The variances are
    moments; c, one number for all rows, turns them into the scale of a t: 1/3 if the rows are
    drawn from a t, near 1 if they are Gaussian. c has the greatest likelihood, found by EM.
    """
    n = len(views[0].squared_residual)
    (costs, log_scale, distance), data = np.zeros((3, n)), of_members(views, data)
    members = np.sort(np.concatenate([view.members for view in views]))
    variance = pooled_variance(views, data)
    for view in views:
        own = view.members
        log_scale[own], distance[own] = gaussian_without(view, data, variance)
    scale = _likeliest_scale(distance[members], data.rank)
    tails = 0.5 * (data.rank + T_DEGREES) * np.log1p(distance / (T_DEGREES * scale))
    costs[members] = (log_scale + 0.5 * data.rank * np.log(scale) + tails)[members]
    return costs


def _likeliest_scale(distance: Array, rank: int) -> float:
    """Return the scale c of `student_costs`: the fixed point of ``c = mean(w Q)/D``, from c = 1.

    ``w = (D + nu)/(nu + Q/c)``; distance (n,): Q of every row; rank: D.
    """
    scale = 1.0
    for _ in range(MOST_STEPS):
        weights = (rank + T_DEGREES) / (T_DEGREES + distance / scale)
        before = scale
        scale = max(float(np.mean(weights * distance)) / max(rank, 1), VARIANCE_FLOOR)
        if abs(scale - before) <= SCALE_TOLERANCE * scale:
            break
    return scale


def classification_likelihood(views: Views, data: Data) -> float:
    """-log classification likelihood, summed over rows, of a mixture of PPCA with shared noise.

    Each row counts under its own cluster, fitted with it: nothing is left out.
    """
    data = of_members(views, data)
    variance = pooled_variance(views, data)
    total = 0.0
    for view in views:
        log_scale, distance = _gaussian_of_members(view, data, variance)
        total += weighted_sum((log_scale + 0.5 * distance)[view.members], view.weights)
    return total


def gaussian_without(view: ClusterView, data: Data, variance: float) -> tuple[Array, Array]:
    """Return the terms (n,) and Q (n,) of ``-log density = term + .5 Q`` of each member left out.

    The density is the Gaussian of the cluster's other members; n: members of the cluster.
    """
    rest = view.leave_one_out
    size = np.asarray(view.size - view.copy)
    size = np.where(size > 0.0, size, view.copy)  # a sample that is alone
    variances = rest.eigenvalues / size.reshape(-1, 1)
    return gaussian(variances, rest.energies, rest.squared_error, size, data, variance)


def _gaussian_of_members(view: ClusterView, data: Data, variance: float) -> tuple[Array, Array]:
    """Return the terms and Q, (N,) each, of ``-log density = term + .5 Q`` of all rows.

    The density is the Gaussian of all members of the cluster.
    """
    variances = np.broadcast_to(view.spectrum / view.size, view.scores.shape)
    residual = view.squared_residual
    return gaussian(variances, view.scores**2, residual, view.size, data, variance)


def gaussian(
    variances: Array,
    energies: Array,
    squared_residual: Array,
    size: Array | float,
    data: Data,
    noise: float,
) -> tuple[Array, Array]:
    """Return ``-log(n/N) + .5 ((D - R) log s2 + sum log l_r)`` and ``Q = eps^2/s2 + sum e_r/l_r``.

    Both per row; s2 is ``noise``, and no l_r counts as less than s2.
    """
    variances = np.maximum(variances, noise)
    free = data.rank - variances.shape[1]
    log_scale = 0.5 * (free * np.log(noise) + np.log(variances).sum(axis=1))
    log_scale -= np.log(size / data.n_samples)
    return log_scale, squared_residual / noise + (energies / variances).sum(axis=1)
