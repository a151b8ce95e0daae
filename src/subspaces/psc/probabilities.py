"""How probable each cluster is for a sample: a Gaussian around each subspace, members left out.

The log of the joint density of sample i and cluster k is

    J_ik = log(n_k/N) - .5 ((D - R_k) log s2 + sum_r log v_r) - .5 (eps^2/s2 + sum_r e_r/v_r),

``v_r = max(mu_r/dof, s2)``. A member of k counts under the PCA of the others: mu_r, e_r and eps^2
are those of `core/secular.py`, n_k is one less and so are the degrees of freedom. The noise is the
mean left-out error per direction, ``s2 = sum_ik p_ik eps_ik^2 / sum_ik p_ik (D - R_k)``. It holds
the error of the estimated axes, as the error of a new sample does. The probabilities are
``p_ik = exp(J_ik) / sum_l exp(J_il)``. First p_ik is 1 for the label and 0 otherwise: these errors
are the least of each sample, so s2 is too small. One step of EM mends that.

==========  ================  ========  ==========================================================
symbol      name              shape     meaning
==========  ================  ========  ==========================================================
D           directions        number    directions in which samples can differ: p, or the rank
s2          noise             number    variance per direction off the subspaces
dof         freedom           number    n_k, or n_k - 1 with a mean; one less for a member
-J          costs             (n, K)    minus the log joint density
==========  ================  ========  ==========================================================
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import logsumexp

from subspaces._types import AnyArray, Array, Block, Codes, Counts
from subspaces.core import incomplete
from subspaces.core.array import like, namespace, slices, to_host
from subspaces.core.likelihood import as_divisor, gaussian
from subspaces.core.partition import assign, unit_of
from subspaces.core.secular import Downdate, copy_of
from subspaces.data.block_pass import nearest, score
from subspaces.data.pass_plan import Pass
from subspaces.messages import ParameterError, simpler
from subspaces.psc.result import Fit, orthonormal

# By how much the label's probability is above an equal one, so that it is the largest in any order.
STEP = 1e-9
# What variances of rows without any variance are set to.
SMALLEST = float(np.finfo(float).tiny)
# Rows of new samples whose scores are held at once.
MOST_ROWS = 4096


def with_probabilities(X: Array, fit: Fit, removed: Sequence[Downdate]) -> Fit:
    """Return the fit with s2 and the probabilities of its samples X (n, p).

    removed: the members of each cluster under the PCA of the others.
    """
    clusters, data, fallback = fit.clusters.partition, fit.data, fit.noise_variance
    assert fit.directions is not None
    assert fallback is not None
    places = as_density(fit).places(X)
    squares = np.column_stack([far for _, far in places])
    for k, each in enumerate(removed):
        squares[clusters.members(k), k] = each.squared_error
    freedom, shares = fit.directions - fit.dimensions, clusters.indicator
    for _ in range(2):  # by the labels, and then by the probabilities that they give
        noise = shared_noise(squares, freedom, shares)
        noise = fallback if np.isnan(noise) else noise
        fit = replace(fit, left_out_noise=max(as_divisor(noise, data), SMALLEST))
        if not fit.leaves_noise:
            return fit
        probabilities = by_density(_left_out_costs(places, fit, removed))
        shares = clusters.row_weights[:, None] * probabilities
    return replace(fit, probabilities=with_largest(probabilities, fit.labels))


def _left_out_costs(
    places: Sequence[tuple[Array, Array]], fit: Fit, removed: Sequence[Downdate]
) -> Array:
    """Return -J (n, K) of the samples of a fit, members under the PCA of the others.

    places: scores and squared residuals of the samples under each subspace of the density.
    """
    clusters, spent = fit.clusters.partition, fit.affine * unit_of(fit.weights)
    density, noise = as_density(fit), fit.left_out_noise
    assert noise is not None
    costs = density.scores_at(places)
    for k, (each, size) in enumerate(zip(removed, clusters.sizes.tolist(), strict=True)):
        members = clusters.members(k)
        copy = copy_of(clusters.row_weights[members])
        left = np.where(size > copy, size - copy, copy)
        freedom = np.where(left > spent, left - spent, left)[:, None]
        own = each.eigenvalues / freedom, each.energies, each.squared_error
        log_scale, distance = gaussian(*own, left, density.data, noise)
        costs[members, k] = log_scale + 0.5 * distance
    return costs


def check_leaves_noise(fit: Fit) -> None:
    """Raise ParameterError for clusters that leave no noise to compute probabilities from."""
    if not fit.leaves_noise:
        largest = int(max(fit.dimensions))
        fact = (
            "<n_components={value}> equals the rank of the table, so there is no noise to compute "
            "probabilities from."
        )
        raise ParameterError("n_components", fact, *simpler(1, largest, fit.affine), value=largest)


def as_density(fit: Fit) -> Fit:
    """Return the fit whose scores are -J of samples that are members of no cluster."""
    if fit.missing_share:
        return fit
    known = fit.left_out_noise, fit.noise_variance, fit.cell_noise
    noise = max(next(each for each in known if each is not None), SMALLEST)
    # Scores divide a spectrum by n_k, but a variance around a mean is the energy over n_k - 1.
    one = unit_of(fit.weights)
    more = np.maximum(fit.sizes, one) / np.maximum(fit.sizes - fit.affine * one, one)
    subspaces = tuple(
        replace(
            each,
            basis=each.basis if fit.n_variables is None else orthonormal(each.basis),
            spectrum=factor * each.spectrum,
        )
        for each, factor in zip(fit.subspaces, more.tolist(), strict=True)
    )
    directions = fit.directions or len(subspaces[0].centre)
    return replace(
        fit,
        subspaces=subspaces,
        scored_by="likelihood",
        data=replace(fit.data, rank=directions, n_samples=max(float(fit.sizes.sum()), one)),
        n_variables=None,
        noise_variance=noise,
        cell_noise=noise,
    )


def probabilities_of(X: Array, fit: Fit, labels: Codes | None = None) -> Array:
    """Return the probabilities (n, K) of new rows X (n, p), the largest that of the label.

    labels (n,): by default those of the least scores.
    """
    check_leaves_noise(fit)
    density, found = as_density(fit), np.empty((len(X), len(fit.subspaces)))
    for part in slices(len(X), MOST_ROWS):
        own = assign(fit.scores(X[part])) if labels is None else labels[part]
        found[part] = from_costs(_costs(X[part], density), own)
    return found


def log_densities(X: Array, fit: Fit) -> Array:
    """Return the log density (n,) of new rows X (n, p), summed over the clusters."""
    density, found = as_density(fit), np.empty(len(X))
    for part in slices(len(X), MOST_ROWS):
        found[part] = logsumexp(-_costs(X[part], density), axis=1)
    return found


def _costs(X: Array, density: Fit) -> Array:
    """Return minus the log joint density (n, K) of rows, by their observed cells."""
    holes = np.isnan(X).any(axis=1)
    if density.missing_share or holes.all():
        return incomplete.scored(X, density.mixture)
    costs = np.empty((len(X), len(density.subspaces)))
    costs[~holes] = density.scores(X[~holes]) + constant(density.data.rank)
    if holes.any():
        costs[holes] = incomplete.scored(X[holes], density.mixture)
    return costs


def constant(directions: int) -> float:
    """Return the term of minus the log of a Gaussian density that is the same for all."""
    return 0.5 * directions * np.log(2.0 * np.pi)


def shared_noise(squares: Array, freedom: Counts, shares: Array) -> float:
    """Return s2: the mean left-out error per direction; nan if no sample has one.

    squares (n, K): squared errors, infinite if the others of a cluster span nothing; freedom (K,):
    the directions off each subspace; shares (n, K): how much of each sample is in each cluster.
    """
    shares = np.where(np.isfinite(squares) & (freedom > 0), shares, 0.0)
    directions = np.sum(shares * freedom)
    return float(np.sum(shares * np.nan_to_num(squares)) / directions) if directions else np.nan


def from_costs(costs: Array, labels: Codes) -> Array:
    """Return the probabilities (n, K) of costs -J, the largest of each row that of its label.

    The label -1 demands nothing.
    """
    return with_largest(by_density(costs), labels)


def by_density(costs: Array) -> Array:
    """Return the probabilities (n, K) of costs -J, all equal if no cluster has a finite cost."""
    least = np.fmin.reduce(costs, axis=1)[:, None]
    weights = np.where(
        costs == least, 1.0, np.exp(-np.abs(np.nan_to_num(costs, nan=np.inf) - least))
    )
    return weights / weights.sum(axis=1, keepdims=True)


def with_largest(probabilities: Array, labels: Codes) -> Array:
    """Return the nearest probabilities (n, K) by which each label is the most probable cluster.

    A label below others is pooled with them, the largest first, as long as they are above the mean
    of the pool. All in the pool get this mean, and the label `STEP` more, at their expense.
    """
    n, n_clusters = probabilities.shape
    others = np.where(np.arange(n_clusters) == labels[:, None], -np.inf, probabilities)
    own = probabilities[np.arange(n), labels]
    rows = np.flatnonzero((labels >= 0) & (others.max(axis=1) >= own))
    if not len(rows):
        return probabilities
    found, own = probabilities.copy(), own[rows]
    order = np.argsort(-others[rows], axis=1, kind="stable")[:, :-1]  # the label itself is last
    ranked = np.take_along_axis(others[rows], order, axis=1)
    sums = own[:, None] + np.pad(np.cumsum(ranked, axis=1), ((0, 0), (1, 0)))
    means = sums / np.arange(1, n_clusters + 1)  # of the label with 0, 1, 2 ... others
    joins = np.logical_and.accumulate(ranked >= means[:, :-1], axis=1)
    count = joins.sum(axis=1)
    mean = means[np.arange(len(rows)), count]
    ranked = np.where(joins, (mean - STEP / count)[:, None], ranked)
    found[rows[:, None], order] = ranked
    found[rows, labels[rows]] = mean + STEP
    return found


def visit_probabilities(
    rows: Block, labels: AnyArray | None, start: int, plan: Pass, density: Pass
) -> tuple[AnyArray, None]:
    """Return the probabilities (b, K) of a block of new rows, and None: nothing is summed.

    plan: by which labels are given; density: whose scores are -J.
    """
    own = to_host(nearest(rows, None, start, plan)[0])
    costs = score(rows, None, start, density)[0]
    found = from_costs(to_host(costs, np.float64), own)
    return like(found, costs, namespace(costs).float64), None


def visit_log_densities(
    rows: Block, labels: AnyArray | None, start: int, density: Pass
) -> tuple[AnyArray, None]:
    """Return the log density (b,) of a block of new rows, and None: nothing is summed."""
    costs = score(rows, None, start, density)[0]
    found = logsumexp(-to_host(costs, np.float64), axis=1) - constant(density.rank)
    return like(found, costs, namespace(costs).float64), None
