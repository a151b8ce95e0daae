"""`Fit`: what a fit found, as a frozen value, and how it scores samples."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from subspaces._types import Array, Counts, FittedLabels, Indices, Labels, Mask
from subspaces.core import incomplete, influence
from subspaces.core.array import in_main_memory
from subspaces.core.bulk import Bulk
from subspaces.core.contrast import means_and_spread
from subspaces.core.criteria import CRITERIA, ClusterStats, ScoreInputs
from subspaces.core.incomplete import NOTHING, IncompleteMixture, as_gaussian
from subspaces.core.likelihood import Data, as_divisor
from subspaces.core.loop import Clustering
from subspaces.core.partition import Partition
from subspaces.core.which_run import Run, best_run, start_margin
from subspaces.data.blocks import Blocks, as_held, least_divisor
from subspaces.data.pass_plan import Pass
from subspaces.data.subspaces import from_subspaces
from subspaces.runtime.serialise import serialisable
from subspaces.runtime.threads import cached_property
from subspaces.subspace import Subspace, dimensions_of, scores_and_residuals


@dataclass(frozen=True)
class Clusters:
    """Labels (n,), the subspaces that were fitted to them, and whether these have centres.

    weights (n,): of the samples, None if all count one.
    """

    labels: Labels
    subspaces: Sequence[Subspace]
    affine: bool
    weights: Array | None = None

    @property
    def dimensions(self) -> list[int]:
        """The dimension of each subspace, K integers."""
        return dimensions_of(self.subspaces).tolist()

    @property
    def partition(self) -> Partition:
        """The labels with their number of clusters, and weights."""
        return Partition(self.labels, len(self.subspaces), self.weights)

    def members(self, X: Array) -> list[Array]:
        """Return each cluster's members less the centre of its subspace: K arrays (n_k, p)."""
        return [X[self.labels == k] - f.centre for k, f in enumerate(self.subspaces)]


@serialisable
@dataclass(frozen=True)
class Course:
    """How the best start went, and the starts that it was compared with.

    start: its kind. path: the objective after every iteration. starts: a dict for each start.
    start_margin: how far the best start is ahead of the best one with other clusters.
    """

    start: str
    path: Annotated[Array, "*"]
    n_iter: int
    stop_reason: str
    starts: list[dict[str, Any]]
    start_margin: float


@serialisable
@dataclass(frozen=True)
class Fit:
    """What a fit found.

    Attributes
    ----------
    labels : array of shape (n,)
        Cluster of each sample, as an array of numpy, Dask or a device.
    subspaces : tuple of Subspace
        Subspace of each cluster.
    sizes : ndarray of shape (K,)
        Size of each cluster that its spectrum was summed over, by weight.
    affine : bool
        Whether each cluster has its own centre.
    criterion, scored_by : str
        The criterion of the fit, and the criterion of new samples.
    data : Data
        Number, rank and variance of the samples.
    objective : float
        Sum of the scores of all samples in their own clusters.
    course : Course or None
        How the best start went. None after batches.
    cell_noise : float
        Noise variance of a value, which scores samples with missing values.
    n_variables : None, int or list of int
        How many variables each axis uses. None is all.
    noise_variance, score_variance, press : float or None
        As the attributes of `PSC`.
    influence : array of shape (n,) or None
        As the attribute of `PSC`.
    means, within_std : ndarray of shape (K, p) and (p,), or None
        Means of the clusters, and standard deviations within them.
    missing_share : float
        Share of the values that were missing.
    observed : ndarray of shape (K, p) or None
        Number of observed values, if some are missing.
    selection : dict or None
        The candidates, if a number was chosen.
    left_out_noise, directions : float or None, int or None
        s2 and D of `probabilities.py`.
    probabilities : ndarray of shape (n, K) or None
        Probabilities of the clusters, with each sample left out.
    weights : ndarray of shape (n,) or None
        Weights of the samples. None if all are 1.
    p_values, bulk : ndarray of shape (n,) or None, Bulk or None
        P-values of the samples as outliers, and what they come from.
    """

    labels: Annotated[FittedLabels, "n"]
    subspaces: Annotated[tuple[Subspace, ...], "K"]
    sizes: Annotated[Array, "K"]
    affine: bool
    criterion: str
    scored_by: str
    data: Data
    objective: float
    course: Course | None = None
    cell_noise: float = np.nan
    n_variables: Any = None
    noise_variance: float | None = None
    score_variance: float | None = None
    influence: Annotated[Array, "n"] | None = None
    press: float | None = None
    means: Annotated[Array, "K", "p"] | None = None
    within_std: Annotated[Array, "p"] | None = None
    missing_share: float = 0.0
    observed: Annotated[Array, "*", "p"] | None = None
    selection: dict[str, Any] | None = None
    left_out_noise: float | None = None
    directions: int | None = None
    probabilities: Annotated[Array, "n", "K"] | None = None
    weights: Annotated[Array, "n"] | None = None
    p_values: Annotated[Array, "n"] | None = None
    bulk: Bulk | None = None

    @cached_property
    def dimensions(self) -> Counts:
        """The dimension of each subspace, (K,)."""
        return dimensions_of(self.subspaces)

    @property
    def leaves_noise(self) -> bool:
        """Whether each of several subspaces leaves a direction in which its samples can differ."""
        directions = self.directions or self.data.rank
        return len(self.subspaces) == 1 or bool(max(self.dimensions) < directions)

    @property
    def clusters(self) -> Clusters:
        """Labels and subspaces alone."""
        return Clusters(self.labels, self.subspaces, self.affine, self.weights)

    @cached_property
    def mixture(self) -> IncompleteMixture:
        """The clusters as Gaussians, by which samples with missing cells are judged."""
        sizes = np.maximum(self.sizes, NOTHING)
        clusters = tuple(
            as_gaussian(subspace, self.cell_noise, size)
            for subspace, size in zip(self.subspaces, sizes.tolist(), strict=True)
        )
        noise, known = np.full(len(sizes), self.cell_noise), None
        if self.observed is not None:
            known = incomplete.known_columns(self.observed.sum(axis=0), self.dimensions.tolist())
        return IncompleteMixture(clusters, sizes / sizes.sum(), noise, known)

    def scores(self, X: Array) -> Array:
        """Return the score of each row under each cluster, (n, K), whether it has holes or not.

        All rows are scored in one unit: by the likelihood of their observed cells if the model was
        fitted to a table with holes, and otherwise as complete rows are, at the squares that are
        expected of a row with holes.
        """
        if self.missing_share:
            return incomplete.scored(X, self.mixture)
        criterion = CRITERIA[self.scored_by]
        if criterion.dense and (self.n_variables is None or not criterion.sparse):
            return self.scores_at(self.places(X))
        if self.criterion == "union_influence":
            return self._union_influence(X)
        return np.column_stack([far for _, far in self.places(X)])

    def scores_at(self, places: Sequence[tuple[Array, Array]]) -> Array:
        """Return the scores (n, K) of rows at these `places`, by a criterion of principal axes."""
        return CRITERIA[self.scored_by].outsider(self._inputs(places))

    def places(self, X: Array) -> list[tuple[Array, Array]]:
        """Return scores (n, r) and squared residuals (n,) of the rows for each subspace.

        Of a row with holes, those that are expected.
        """
        if not np.isnan(np.sum(X)):
            return scores_and_residuals(X, self.subspaces)
        return incomplete.expected(X, self.subspaces, self.cell_noise, self.sizes.tolist())

    def p_values_of(self, X: Array) -> Array:
        """Return the p-values (n,) of new rows as outliers, with the residuals expected of holes.

        The fit has a ``bulk``.
        """
        assert self.bulk is not None
        return self.bulk.p_values(np.column_stack([far for _, far in self.places(X)]))

    def outside(self, X: Array) -> Mask:
        """Return which new rows (n,) are in no cluster."""
        if self.bulk is None:
            return np.zeros(len(X), dtype=bool)
        return self.p_values_of(X) <= self.bulk.threshold

    def pass_over(self, blocks: Blocks) -> Pass:
        """Return the plan by which rows in blocks are scored."""
        shifted = self.affine and not blocks.stays_sparse
        middle = np.mean([subspace.centre for subspace in self.subspaces], axis=0)
        origin = as_held(middle, blocks) if shifted else None
        criterion = CRITERIA[self.scored_by].passes or "residual"
        noise = max(self._noise(criterion), least_divisor(blocks))
        seen = self.subspaces if origin is None else moved(self.subspaces, -origin)
        batched = from_subspaces(seen, self.sizes, noise)
        return Pass(batched, criterion, self.data.rank, self.data.n_samples, origin)

    def in_memory(self) -> "Fit":
        """Return the fit with the arrays of Dask or of a device as numpy arrays."""
        labels, pulls = in_main_memory(self.labels), in_main_memory(self.influence)
        return replace(self, labels=labels, influence=pulls)

    def _noise(self, criterion: str) -> float:
        """Return the variance of the noise that a criterion divides by."""
        if criterion == "distance" and self.score_variance is not None:
            return self.score_variance
        return 1.0 if self.noise_variance is None else as_divisor(self.noise_variance, self.data)

    def _inputs(self, places: Sequence[tuple[Array, Array]]) -> ScoreInputs:
        """Return rows as criteria take them: squared scores, residuals, cluster tables."""
        criterion = CRITERIA[self.scored_by]
        energies = np.zeros((len(places[0][1]), len(places), max(*self.dimensions, 1)))
        spectra = np.ones(energies.shape[1:])
        for k, (along, _) in enumerate(places):
            energies[:, k, : along.shape[1]] = along**2
            spectra[k, : along.shape[1]] = self.subspaces[k].spectrum
        noise = self._noise(criterion.passes or "residual")
        facts = self.affine, noise, self.data.rank, self.data.n_samples, criterion.is_density
        stats = ClusterStats(spectra, self.dimensions, self.sizes, *facts)
        return ScoreInputs(energies, np.column_stack([far for _, far in places]), stats)

    def _union_influence(self, X: Array) -> Array:
        """Return the influence of the rows on the union of the clusters' variables, (n, K)."""
        kept = support(self.subspaces)
        parts = [replace(f, centre=f.centre[kept], basis=f.basis[kept]) for f in self.subspaces]
        columns = [
            influence.squared_influence_oblique(
                *places, subspace.spectrum, subspace.basis.T @ subspace.basis, False
            )
            for subspace, places in zip(parts, scores_and_residuals(X[:, kept], parts), strict=True)
        ]
        return np.column_stack(columns)


def attributes(fit: Fit) -> dict[str, Any]:
    """Return the fitted attributes of an estimator by name; what was not measured has none."""
    found = {
        "labels_": fit.labels,
        "subspaces_": list(fit.subspaces),
        "n_components_": fit.dimensions,
        "objective_": fit.objective,
        "noise_variance_": fit.noise_variance,
        "score_variance_": fit.score_variance,
        "influence_": fit.influence,
        "press_": fit.press,
        "cluster_means_": fit.means,
        "within_std_": fit.within_std,
        "missing_share_": fit.missing_share or None,
        "selection_": fit.selection,
        "probabilities_": fit.probabilities,
        "p_values_": fit.p_values,
        "outlier_threshold_": None if fit.bulk is None else fit.bulk.threshold,
        "_observed": fit.observed,
    }
    if fit.course is not None:
        found |= {
            "objective_path_": fit.course.path,
            "n_iter_": fit.course.n_iter,
            "stop_reason_": fit.course.stop_reason,
            "starts_": fit.course.starts,
            "start_margin_": fit.course.start_margin,
        }
    return {name: value for name, value in found.items() if value is not None}


def with_means(X: Array, fit: Fit) -> Fit:
    """Return the fit of rows in memory (n, p) with the means of its clusters.

    Rows that span no more directions than the clusters' subspaces, and fewer than there are
    variables that vary, were projected before. No variable has a deviation of its own then, and
    ``within_std`` is nan.
    """
    labels = fit.labels.astype(np.int32)
    clusters = Partition(labels, len(fit.subspaces), fit.weights)
    whole, holes, observed = X, None, None
    if fit.missing_share:
        holes = np.isnan(X)
        whole = incomplete.imputed(X, fit.mixture)
        observed = clusters.indicator.T @ ~holes
    means, within_std = means_and_spread(whole, clusters, holes)
    varying = np.count_nonzero((within_std > 0) | (np.ptp(means, axis=0) > 0))
    if fit.data.rank < min(len(X) - 1, varying, 1 + sum(r + 1 for r in fit.dimensions.tolist())):
        within_std = np.full(X.shape[1], np.nan)
    return replace(fit, labels=labels, means=means, within_std=within_std, observed=observed)


def course_of(result: Clustering, runs: Sequence[Run]) -> Course:
    """Return the `Course` of the best run's end among all runs."""
    margin = start_margin(runs) if len(runs) > 1 else np.inf
    starts = [
        {
            "start": run.start,
            "promise": run.promise,
            "merit": run.selection_cost if run.swept else None,
            "objective": run.clustering.objective if run.swept else None,
            "n_iter": run.clustering.n_iter,
            "stop_reason": run.clustering.stop_reason,
        }
        for run in runs
    ]
    start, path = best_run(runs).start, np.array(result.path)
    return Course(start, path, result.n_iter, result.stop_reason, starts, margin)


def criterion_of_new(criterion: str, subspaces: Sequence[Subspace], rank: int) -> str:
    """Return the criterion of new samples: "likelihood" if a subspace holds all of the data."""
    is_identified = max(subspace.basis.shape[1] for subspace in subspaces) < rank
    return criterion if is_identified else "likelihood"


def moved(subspaces: Sequence[Subspace], by: Array) -> tuple[Subspace, ...]:
    """Return the subspaces with their centres moved by a vector (p,)."""
    return tuple(replace(subspace, centre=subspace.centre + by) for subspace in subspaces)


def orthonormal(basis: Array) -> Array:
    """Return the orthonormal axes (p, r) that are nearest to sparse loadings, of the same span."""
    left, _, right = np.linalg.svd(basis, full_matrices=False)
    return left @ right


def support(subspaces: Sequence[Subspace]) -> Indices:
    """Return the variables with a non-zero loading in any subspace."""
    return np.flatnonzero(np.any([subspace.basis.any(axis=1) for subspace in subspaces], axis=0))
