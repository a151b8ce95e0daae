"""First partitions from graphs: angular neighbours, self-expression, and the sum of two graphs.

- angular: each row's nearest rows by angle, weighted ``exp(-2 arccos |cos|)`` (TSC, Heckel &
  Boelcskei 2015);
- self-expression (`self_expression`): each row written by few others (OMP), by ridge regression
  (LSR), or by the lasso with coefficients that sum to 1 (ADMM).

Each graph errs in its own way, and so the sum of two, each normalised to ``D^-1/2 A D^-1/2``, is
often cut better than either. Nothing of size (n, n) is held dense.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from subspaces.core.landmarks import Start
from subspaces.core.matching import match_dimensions
from subspaces.core.problem import Problem
from subspaces.core.self_expression import (
    Indices,
    Sparse,
    affinity,
    from_entries,
    largest,
    lifted_rows,
    row_blocks,
    unit_rows,
)
from subspaces.core.self_expression_admm import admm_coefficients, admm_fidelity
from subspaces.core.self_expression_lsr import lsr_coefficients
from subspaces.core.self_expression_omp import omp_coefficients
from subspaces.core.spectral import embedding, rows_to_labels

Array = NDArray[np.floating]
Labels = NDArray[np.intp]

# Neighbours of the widest angular graph, found once for all of them.
MOST_NEIGHBOURS = 20
OMP_NONZERO = 5
LSR_FEWEST = 10
ADMM_ALPHA, ADMM_SHARE = 800.0, 0.7
# The lasso takes seconds beyond; the other graphs grow with n^2 as well, but are 20 times cheaper.
ADMM_MOST_ROWS = 700


@dataclass(frozen=True)
class Graphs:
    """The graphs of one problem, each made when it is first asked for."""

    problem: Problem

    @cached_property
    def directions(self) -> Array:
        """Rows of length 1; for affine flats with a constant coordinate appended first."""
        rows = self.problem.rows.coordinates
        return unit_rows(lifted_rows(rows) if self.problem.affine else rows)

    @cached_property
    def neighbours(self) -> tuple[Indices, Array]:
        """Each row's nearest rows by angle, the nearest first, and ``|cos|``: (n, 20) each."""
        rows = self.directions
        found = [_nearest(rows, block) for block in row_blocks(len(rows))]
        return np.vstack([pair[0] for pair in found]), np.vstack([pair[1] for pair in found])

    def angular(self, n_neighbours: int) -> Sparse:
        """By angular neighbours, at most 20."""
        columns, cosines = self.neighbours
        return normalised(angular_affinity(columns[:, :n_neighbours], cosines[:, :n_neighbours]))

    @cached_property
    def omp(self) -> Sparse:
        """By orthogonal matching pursuit, at most 5 others a row."""
        return normalised(affinity(omp_coefficients(self.directions, OMP_NONZERO), scale=False))

    @cached_property
    def lsr(self) -> Sparse:
        """By ridge regression, the largest coefficients squared."""
        keep = max(LSR_FEWEST, 2 * (max(self.problem.dimensions) + self.problem.affine))
        return normalised(affinity(lsr_coefficients(self.directions, keep), scale=False, power=2))

    @cached_property
    def admm(self) -> Sparse:
        """By the lasso with coefficients that sum to 1, on the rows as they are."""
        rows = self.problem.rows.coordinates
        fidelity = admm_fidelity(rows, ADMM_ALPHA)
        coefficients = admm_coefficients(rows, fidelity, penalty=ADMM_ALPHA, affine=True)
        return normalised(affinity(coefficients, share=ADMM_SHARE))


def from_graph(graph: Callable[[], Sparse], n_vectors: int | None = None) -> Start:
    """Cut a graph; more eigenvectors than clusters find those that share a leading one."""

    def start(problem: Problem, random: np.random.Generator) -> Labels:
        return cut(graph(), problem.n_clusters, random, n_vectors)

    return start


def angular(n_neighbours: int) -> Start:
    """Cut the graph of angular neighbours and give the parts to the dimensions they fit."""

    def start(problem: Problem, random: np.random.Generator) -> Labels:
        parts = cut(Graphs(problem).angular(n_neighbours), problem.n_clusters, random)
        return match_dimensions(problem, parts)

    return start


def cut(
    graph: Sparse, n_clusters: int, random: np.random.Generator, n_vectors: int | None = None
) -> Labels:
    """Cut a graph into clusters by its leading eigenvectors: as many as clusters, or more."""
    if n_clusters >= graph.shape[0] - 1:
        return np.arange(graph.shape[0]) % n_clusters
    n_vectors = min(n_vectors or n_clusters, graph.shape[0] - 1)
    return rows_to_labels(embedding(graph, n_vectors, random), n_clusters, random)


def angular_affinity(columns: Indices, cosines: Array) -> Sparse:
    """``exp(-2 arccos |cos|)`` on each row's neighbours, symmetrised by a sum."""
    weights = from_entries(columns, np.exp(-2.0 * np.arccos(cosines)), len(columns))
    return sparse.csr_array(weights + weights.T)


def normalised(graph: Sparse) -> Sparse:
    """``D^-1/2 A D^-1/2``, D the row sums."""
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    scale = sparse.diags_array(1.0 / np.sqrt(np.where(degrees > 0, degrees, 1.0)))
    return sparse.csr_array(scale @ graph @ scale)


def _nearest(rows: Array, block: Indices) -> tuple[Indices, Array]:
    closeness = np.clip(np.abs(rows[block] @ rows.T), 0.0, 1.0)
    closeness[np.arange(len(block)), block] = -1.0
    columns = largest(closeness, min(MOST_NEIGHBOURS, len(rows) - 1))
    values = np.take_along_axis(closeness, columns, axis=1)
    order = np.argsort(-values, axis=1, kind="stable")
    return np.take_along_axis(columns, order, axis=1), np.take_along_axis(values, order, axis=1)
