"""New rows: what a fitted model says of them, whether they are in memory or read in blocks."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from subspaces._types import Array, FittedLabels
from subspaces.core import partition
from subspaces.core.array import is_dask, namespace, to_host
from subspaces.core.incomplete import imputed, placed
from subspaces.data import block_pass
from subspaces.data.blocks import Blocks
from subspaces.data.devices import brought, to_device
from subspaces.data.pass_plan import Pass
from subspaces.preparation import in_raw_units
from subspaces.psc.probabilities import (
    as_density,
    check_leaves_noise,
    log_densities,
    probabilities_of,
    visit_log_densities,
    visit_probabilities,
)
from subspaces.psc.result import Fit
from subspaces.runtime.threads import cached_property
from subspaces.subspace import coordinates, project


@dataclass(frozen=True)
class NewRows:
    """New rows in memory, checked; its methods return a fitted model's answers for them.

    device: where the answers are sent, as `data.devices.device_of` returns it; None for main
    memory.
    """

    model: Any
    matrix: Array
    device: Any = None

    def labels(self) -> Any:
        """Return the cluster under which each row scores least, (n,), or -1 for an outlier."""
        labels = self._labels()
        if self.model._finds_outliers:
            labels = np.where(self.model.fit_.outside(self.matrix), -1, labels)
        return to_device(labels.astype(np.int32), self.device)

    def p_values(self) -> Any:
        """Return the p-value of each row as an outlier, (n,)."""
        return to_device(self.model.fit_.p_values_of(self.matrix), self.device)

    def scores(self) -> Any:
        """Return the score of each row under each cluster, (n, K)."""
        return to_device(self.model._scores(self.matrix), self.device)

    def mean_score(self) -> float:
        """Return the mean over the rows of each row's lowest score."""
        return float(self.model._scores(self.matrix).min(axis=1).mean())

    def probabilities(self) -> Any:
        """Return the probability of each cluster for each row, (n, K)."""
        return to_device(probabilities_of(self.matrix, self.model.fit_), self.device)

    def log_densities(self) -> Any:
        """Return the log density of each row, (n,)."""
        return to_device(log_densities(self.matrix, self.model.fit_), self.device)

    def coordinates(self) -> Any:
        """Return a list of n arrays (r,): each row's coordinates in its cluster's subspace."""
        labels, rows = self._labels(), self.placed()
        own = [
            iter(coordinates(rows[labels == k], subspace))
            for k, subspace in enumerate(self.model.subspaces_)
        ]
        return to_device([next(own[k]) for k in labels], self.device)

    def nearest_points(self) -> Any:
        """Return the point of its cluster's subspace that is nearest to each row, (n, p)."""
        labels, rows = self._labels(), self.placed()
        nearest = np.full_like(rows, np.nan)
        for k, subspace in enumerate(self.model.subspaces_):
            nearest[labels == k] = project(rows[labels == k], subspace)
        if hasattr(self.model, "preparation_"):
            nearest = in_raw_units(nearest, self.model.preparation_)
        return to_device(nearest, self.device)

    def imputed(self) -> Any:
        """Return the rows with what the model expects in cells that were not observed, (n, p)."""
        holes = np.isnan(self.matrix)
        filled = self.matrix
        if holes.any():
            filled = imputed(self.matrix, self.model._mixture())
        return to_device(filled, self.device)

    def placed(self) -> Array:
        """Return the rows, (n, p); one with holes as the point of its subspace expected of it."""
        holes = np.isnan(self.matrix).any(axis=1)
        if not holes.any():
            return self.matrix
        rows, labels, mixture = self.matrix.copy(), self._labels(), self.model._mixture()
        for k, cluster in enumerate(mixture.clusters):
            own = holes & (labels == k)
            noise = float(mixture.noise[k])
            rows[own] = placed(self.matrix[own], cluster, noise)[0]
        return rows

    def _labels(self) -> FittedLabels:
        return partition.assign(self.model._scores(self.matrix))


@dataclass(frozen=True)
class NewBlocks:
    """New rows in blocks; its methods return a fitted model's answers for them.

    The methods are those of `NewRows`, which holds rows in memory. device: where the answers are
    sent, as there; None if they stay beside the blocks.
    """

    blocks: Blocks
    fit: Fit
    device: Any = None

    @cached_property
    def plan(self) -> Pass:
        """The plan by which rows are scored."""
        return self.fit.pass_over(self.blocks)

    @property
    def density(self) -> Pass:
        """The plan by which minus the log joint densities are found."""
        return as_density(self.fit).pass_over(self.blocks)

    def probabilities(self) -> Any:
        """Return the probability of each cluster for each row, (n, K)."""
        check_leaves_noise(self.fit)
        return self._each(partial(visit_probabilities, density=self.density))

    def log_densities(self) -> Any:
        """Return the log density of each row, (n,)."""
        visit = partial(visit_log_densities, density=self.density)
        return self._sent(self.blocks.each(visit))

    def labels(self) -> Any:
        """Return the cluster under which each row scores least, (n,)."""
        labels = self._found(block_pass.nearest)
        numbers = np.arange(len(self.plan.subspaces.dimensions))
        return self._sent(self.blocks.join(labels, numbers))

    def scores(self) -> Any:
        """Return the score of each row under each cluster, (n, K)."""
        return self._each(block_pass.score)

    def mean_score(self) -> float:
        """Return the mean over the rows of each row's lowest score."""
        scores = self.scores()
        if is_dask(scores):
            return float(scores.min(axis=1).mean().compute())
        xp = namespace(scores)
        return float(xp.mean(xp.min(scores, axis=1)))

    def coordinates(self) -> Any:
        """Return a list of n arrays (r,): each row's coordinates in its cluster's subspace.

        For Dask rows return a Dask array (n, R) instead, with nan beyond a row's own dimension.
        """
        padded = self._each(block_pass.own_coordinates)
        if is_dask(padded):
            return padded
        xp = namespace(padded)
        lengths = to_host(xp.sum(xp.astype(~xp.isnan(padded), xp.int64), axis=1)).tolist()
        return [padded[i, :length] for i, length in enumerate(lengths)]

    def nearest_points(self) -> Any:
        """Return the point of its cluster's subspace that is nearest to each row, (n, p)."""
        return self._each(block_pass.nearest_points)

    def imputed(self) -> Any:
        """Return the rows (n, p): those that are read in blocks have no missing cells."""
        return self.blocks.checked

    def _each(self, function: Callable[..., Any]) -> Any:
        return self._sent(self._found(function))

    def _found(self, function: Callable[..., Any]) -> Any:
        return self.blocks.each(partial(function, plan=self.plan))

    def _sent(self, values: Any) -> Any:
        """Return values that were found beside the blocks on the device of the answers."""
        return values if self.device is None else brought(values, self.device)
