"""Leave-one-out densities: each cluster a Gaussian, or a t, around its subspace.

The Gaussian of a cluster of n members has variance ``l_r = mu_r/(n - 1)`` along the axes left when
the member is out (``lambda_r/n`` for outsiders) and one variance ``sigma^2`` shared by all clusters
in the other D - R_k directions, D the rank of the data.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subspaces.core.rows import ClusterView

Array = NDArray[np.floating]
Views = Sequence[ClusterView]

# What counts as no variance, against that of a row along one direction in the mean.
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
        log_scale, distance = gaussian_without(view, data, min(variance, robust))
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
        log_scale[own], distance[own] = gaussian_without(view, data, variance)
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
        log_scale, distance = _gaussian_of_members(view, data, variance)
        total += float(np.sum((log_scale + 0.5 * distance)[view.members]))
    return total


def gaussian_without(view: ClusterView, data: Data, variance: float) -> tuple[Array, Array]:
    """Members under the others' Gaussian: -log of its scale, and the squared distance Q."""
    rest = view.leave_one_out
    size = max(view.size - 1, 1)
    return _gaussian(
        rest.eigenvalues / size, rest.energies, rest.squared_error, size, data, variance
    )


def _gaussian_of_members(view: ClusterView, data: Data, variance: float) -> tuple[Array, Array]:
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
