"""Rows in memory: rows, problem, starts, runs, refinement, and what is measured at the end."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from subspaces._types import Array, Counts, Indices, Labels
from subspaces.core import influence, partition
from subspaces.core.criteria import costs, objective, own_costs
from subspaces.core.leave_one_out import left_out
from subspaces.core.likelihood import as_divisor, capped_variance, median, positive
from subspaces.core.loop import Clustering, descend, objective_of
from subspaces.core.low_rank import Coordinates, in_few_coordinates, n_directions
from subspaces.core.partition import Partition, unit_of
from subspaces.core.ppca_mixture import refine_labels
from subspaces.core.problem import Problem, view_clusters
from subspaces.core.rows import ClusterView, DenseRows
from subspaces.core.secular import Downdate, copy_of
from subspaces.core.sparse_view import SparseView, loadings_of, seen_through, union_of_supports
from subspaces.core.which_run import Run
from subspaces.psc.best_partition import best_partition, warn_of_a_poor_end
from subspaces.psc.doubts import (
    warn_of_empty_clusters,
    warn_of_infinite_objective,
    warn_of_repulsion,
)
from subspaces.psc.probabilities import with_probabilities
from subspaces.psc.result import Fit, course_of, criterion_of_new, orthonormal
from subspaces.psc.settings import Settings, pose
from subspaces.runtime.threads import one_blas_thread
from subspaces.starts.screening import screened_rows
from subspaces.subspace import (
    PrincipalAxes,
    Subspace,
    dimensions_of,
    energy_off_subspaces,
    subspaces_of,
    weighted_sum,
)

# Runs that EM of a mixture begins at.
BEST_RUNS = 5


@dataclass(frozen=True)
class Found:
    """The end of a search: the problem, the best run, refined, and all runs.

    few: the rows in as many coordinates as their rank, if that is far less than p.
    """

    problem: Problem
    best: Run
    runs: list[Run]
    few: Coordinates | None

    @property
    def labels(self) -> Labels:
        """The labels (n,); clusters of one kind are numbered in the order of their first row."""
        labels = self.best.clustering.labels
        return partition.canonical(labels) if self.problem.interchangeable else labels


@dataclass(frozen=True)
class Measured:
    """The subspaces of the labels, and what leaving out every sample in turn says.

    energies (K,): the squared residuals of each cluster's members, summed; noise: the variance per
    direction; influence (n,); press: the mean left-out error; objective: if it is another than that
    of the best run; removed: the members of each cluster under the PCA of the others; directions:
    those in which samples can differ. None is what was not measured.
    """

    subspaces: list[Subspace]
    energies: list[float] | None = None
    noise: float | None = None
    score_variance: float | None = None
    influence: Array | None = None
    press: float | None = None
    objective: float | None = None
    removed: Sequence[Downdate] = ()
    directions: int | None = None


def fit_dense(X: Array, settings: Settings, weights: Array | None = None) -> Fit:
    """Return the fit of a matrix (n, p) without missing cells, all numbers given.

    weights (n,): of the rows, positive, None if all count one.
    """
    found = search_rows(X, settings, weights)
    problem, labels, result = found.problem, found.labels, found.best.clustering
    if not settings.measures:
        numbers = problem.dimensions, problem.affine, weights
        measured = Measured(subspaces_of(X, labels, *numbers)[0])
    elif problem.sparsity is None:
        measured = _by_principal_axes(X, found)
    else:
        measured = _by_sparse_loadings(X, found)
    subspaces, data = measured.subspaces, problem.data
    sizes = Partition(labels, problem.n_clusters, weights).sizes.astype(float)
    cell_noise, scored_by = np.nan, problem.criterion
    if measured.noise is not None:
        scored_by = criterion_of_new(problem.criterion, subspaces, data.rank)
        noise, widths = as_divisor(measured.noise, data), dimensions_of(subspaces)
        cell_noise = noise_of_cells(noise, sizes, widths, data.rank, X.shape[1])
    warn_of_repulsion(problem.criterion, subspaces, measured.energies, sizes)
    reached = result.objective if measured.objective is None else measured.objective
    fit = Fit(
        labels,
        tuple(subspaces),
        sizes,
        problem.affine,
        problem.criterion,
        scored_by,
        data,
        reached,
        course_of(result, found.runs),
        cell_noise,
        settings.n_variables,
        measured.noise,
        measured.score_variance,
        measured.influence,
        measured.press,
        directions=measured.directions,
        weights=weights,
    )
    if not settings.measures:
        return _as_predicted(X, fit)
    return with_probabilities(X, fit, measured.removed)


def _as_predicted(X: Array, fit: Fit) -> Fit:
    """Return the fit with the labels that `predict` finds: rows may still have moved."""
    scores = fit.scores(X)
    order = partition.order_of_appearance(partition.assign(scores), len(fit.subspaces))
    if is_another_order(fit, order):
        fit = replace(fit, subspaces=tuple(fit.subspaces[k] for k in order))
        scores = fit.scores(X)
    labels = partition.assign(scores)
    sizes = Partition(labels, len(fit.subspaces), fit.weights).sizes.astype(float)
    return with_labels_of_new(fit, labels, sizes, weighted_sum(scores.min(axis=1), fit.weights))


def is_another_order(fit: Fit, order: Indices) -> bool:
    """Whether clusters of one dimension stand in another order than the one given, (K,)."""
    return len(set(fit.dimensions.tolist())) == 1 and not np.all(order[:-1] < order[1:])


def with_labels_of_new(fit: Fit, labels: Any, sizes: Array, objective: float) -> Fit:
    """Return the fit with the labels of new rows, their sizes (K,) and their objective.

    Warn of empty clusters.
    """
    warn_of_empty_clusters(int(np.count_nonzero(sizes)), len(sizes))
    if fit.course is not None and fit.course.stop_reason == "converged":
        objective = fit.objective
    if not np.isfinite(objective):
        warn_of_infinite_objective(fit.subspaces)
    p, spent = len(fit.subspaces[0].centre), fit.affine * unit_of(fit.weights)
    noise = noise_variance(objective, sizes, fit.dimensions, p, spent)
    noise = max(noise, np.finfo(float).tiny)
    return replace(fit, labels=labels, sizes=sizes, objective=objective, cell_noise=noise)


def search_rows(X: Array, settings: Settings, weights: Array | None = None) -> Found:
    """Search X for the best partition, refine it, and warn if the search ended badly."""
    few = None
    if settings.measures and settings.n_variables is None:
        few = in_few_coordinates(X, bool(settings.affine), weights)
    problem = pose(settings, X, None if few is None else DenseRows(few.points, weights), weights)
    by_likelihood = settings.compares_by_likelihood(problem)
    best, runs = best_partition(X, problem, settings, by_likelihood=by_likelihood)
    refined = _refined(problem, best, runs, settings)
    ended = refined if best.clustering.stop_reason == "cycle" else best  # refining settles it
    warn_of_a_poor_end(settings, ended.clustering, runs, len(X), alike=problem.alike)
    return Found(problem, refined, runs, few)


def _refined(problem: Problem, best: Run, runs: Sequence[Run], settings: Settings) -> Run:
    if settings.refine == "descent":
        result = descend(problem, best.clustering, max_iter=settings.max_iter)
        return replace(best, clustering=result)
    return _by_mixture(problem, best, runs) if settings.refine == "ppca" else best


def _by_mixture(problem: Problem, best: Run, runs: Sequence[Run]) -> Run:
    """Return the best run with a PPCA mixture's labels; unchanged if a cluster is lost."""
    labels, reached = _mixture_labels(problem, best, runs), best.clustering
    if partition.too_small(labels, problem.dimensions):
        return best
    views = view_clusters(problem, labels)
    value = objective_of(problem, labels, views)
    if not np.isfinite(value):
        return best
    numbered = partition.canonical if problem.interchangeable else np.asarray
    stays = np.array_equal(numbered(labels), numbered(reached.labels))
    result = replace(
        reached,
        labels=labels,
        objective=value,
        stop_reason=reached.stop_reason if stays else "refined",
        subspaces=loadings_of(views),
    )
    return replace(best, clustering=result)


def _mixture_labels(problem: Problem, best: Run, runs: Sequence[Run]) -> Labels:
    """Return the labels (n,) of EM of a mixture of PPCA, begun at the best runs.

    With sparse loadings it also begins at the first partitions of all runs.
    """
    whole = [run for run in runs if len(run.first) == len(best.first)]
    ranked = sorted(whole or [best], key=lambda run: run.selection_cost)[:BEST_RUNS]
    first = [run.clustering.labels for run in ranked]
    if problem.sparsity is None:
        rows = problem.rows.coordinates
    else:
        rows = screened_rows(problem).matrix
        first += [run.first for run in runs]
    with one_blas_thread():
        numbers = problem.dimensions, problem.affine
        return refine_labels(rows, first, *numbers, problem.rows.weights)


def _by_principal_axes(X: Array, found: Found) -> Measured:
    """Fit a PCA to each cluster, and leave every sample out of it in turn."""
    problem, labels, data = found.problem, found.labels, found.problem.data
    points, weights = X if found.few is None else found.few.points, problem.rows.weights
    clusters = Partition(labels, problem.n_clusters, weights)
    numbers = problem.dimensions, problem.affine, weights
    subspaces, all_axes = subspaces_of(points, labels, *numbers)
    removed, pulls, residual = _left_out(points, clusters, problem, all_axes)
    energies = clusters.sums(residual)
    sizes, widths = clusters.sizes, dimensions_of(subspaces)
    rank = n_directions(points, problem.affine, data.rank)
    noise = noise_variance(sum(energies), sizes, widths, rank, problem.affine * unit_of(weights))
    inside = clusters.is_counted
    score_variance = None
    if problem.criterion == "distance":
        free = max(data.rank - int(min(widths)), 1)
        capped = capped_variance(median(residual[inside], clusters.counts), free, data)
        score_variance = min(as_divisor(noise, data), capped)
    if found.few is not None:
        subspaces = list(map(found.few.among_the_rows, subspaces))
    press = _press(removed, clusters)
    directions = _directions(points, rank, affine=problem.affine)
    return Measured(
        subspaces, energies, noise, score_variance, pulls, press, None, removed, directions
    )


def _press(removed: Sequence[Downdate], clusters: Partition) -> float:
    """Return the mean left-out error of the members of all clusters, by weight."""
    errors = np.concatenate([each.squared_error for each in removed])
    return float(np.average(errors, weights=clusters.in_order))


def _directions(X: Array, rank: int, *, affine: bool) -> int:
    """Return in how many directions samples can differ: p, or the rank if X could span more."""
    n, p = X.shape
    return p if rank >= min(n - affine, p) else rank


def _left_out(
    X: Array, clusters: Partition, problem: Problem, all_axes: Sequence[PrincipalAxes]
) -> tuple[list[Downdate], Array, Array]:
    """Return the members of each cluster left out, squared influence and squared residuals (n,)."""
    removed, pulls, residual = list[Downdate](), np.zeros(len(X)), np.zeros(len(X))
    for k, (axes, dimension) in enumerate(zip(all_axes, problem.dimensions, strict=True)):
        members = clusters.members(k)
        weights = clusters.subset(members).weights
        removed.append(
            left_out(X[members], dimension, axes, affine=problem.affine, weights=weights)
        )
        kept, rest, spectrum = axes.split(dimension)
        energies, copy = kept**2, None
        if weights is not None:
            energies, rest, copy = energies / weights[:, None], rest / weights, copy_of(weights)
        residual[members] = rest
        pulls[members] = influence.squared_influence_of(energies, rest, spectrum, True, copy)
    return removed, pulls, residual


def _by_sparse_loadings(X: Array, found: Found) -> Measured:
    """Take the loadings of the best run, and leave every sample out of them in turn.

    The influence is on the union of the supports, and PRESS is by leave-one-out projection.
    """
    problem, labels, data = found.problem, found.labels, found.problem.data
    views, total = _sparse_views(problem, labels, found.best.clustering), None
    clusters = Partition(labels, len(views), problem.rows.weights)
    if found.best.clustering.subspaces is None:
        total = objective(costs(problem.criterion, views, data), labels, clusters.weights)
    shift = np.zeros(X.shape[1])
    if problem.affine:
        shift = np.average(X, 0, clusters.weights)
    sparse = [view for view in views if isinstance(view, SparseView)]
    subspaces = [Subspace(view.centre + shift, view.basis, view.spectrum) for view in sparse]
    pulls, errors = (
        own_costs(costs(name, views, data), labels)
        for name in ("union_influence", "loo_projection")
    )
    energy = energy_off_subspaces(X, labels, subspaces, clusters.weights)
    rank = n_directions(X, problem.affine, data.rank)
    widths, spent = dimensions_of(subspaces), problem.affine * unit_of(clusters.weights)
    noise = noise_variance(energy, clusters.sizes, widths, rank, spent)
    shared = np.flatnonzero(union_of_supports(views))
    part = X[:, shared] - shift[shared]
    lengths = [view.squared_norms_on(part, shared) for view in sparse]
    energies = [
        weighted_sum(np.maximum(length - view.captured, 0.0)[view.members], view.weights)
        for length, view in zip(lengths, sparse, strict=True)
    ]
    removed = _sparse_left_out(X, labels, subspaces, errors)
    press = float(np.average(errors, weights=clusters.weights))
    directions = _directions(X, rank, affine=problem.affine)
    return Measured(subspaces, energies, noise, None, pulls, press, total, removed, directions)


def _sparse_left_out(
    X: Array, labels: Labels, subspaces: Sequence[Subspace], errors: Array
) -> list[Downdate]:
    """Return the members of each cluster with their left-out errors (n,) off sparse loadings.

    Energies along the axes are those of the fitted loadings, which few of the members determine.
    """
    removed = []
    for k, subspace in enumerate(subspaces):
        own = labels == k
        along = (X[own] - subspace.centre) @ orthonormal(subspace.basis)
        spectrum = np.broadcast_to(subspace.spectrum, along.shape)
        removed.append(Downdate(spectrum, along**2, errors[own]))
    return removed


def noise_variance(
    energy: float, sizes: Array | Counts, widths: Counts, rank: int, spent: float
) -> float:
    """Return the residual energy over ``sum_k n_k (rank - R_k)``, the variance per direction.

    A cluster with a mean has ``n_k - 1`` in place of ``n_k``. widths (K,): the dimensions; spent:
    what a mean has used up, the weight of one sample, or 0.
    """
    return energy / positive(float((sizes - spent) @ (rank - widths)))


def noise_of_cells(noise: float, sizes: Array, widths: Counts, rank: int, p: int) -> float:
    """Return the variance of the noise in a cell from that per direction.

    Of fewer samples than variables few directions hold the noise of all cells.
    """
    directions, free = float(sizes @ (rank - widths)), float(sizes @ (p - widths))
    return noise * directions / free if directions else noise


def _sparse_views(problem: Problem, labels: Labels, result: Clustering) -> list[ClusterView]:
    """Return a view of each cluster, with the loadings that gave the objective.

    Loadings fitted to the labels alone would begin their iteration elsewhere and differ.
    """
    if result.subspaces is None:  # no partition of the run had clusters that span their axes
        return view_clusters(problem, labels)
    before = np.empty(problem.n_clusters, dtype=np.intp)
    clusters = Partition(labels, problem.n_clusters)
    before[labels[clusters.is_counted]] = result.labels[clusters.is_counted]
    return [
        seen_through(result.subspaces[k], problem.rows, clusters.members(j), problem.affine)
        for j, k in enumerate(before)
    ]
