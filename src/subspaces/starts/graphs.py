"""First partitions from graphs: angular neighbours, self-expression, and the sum of two graphs.

- angular: each row's nearest rows by angle, weighted ``exp(-2 arccos |cos|)`` (TSC, Heckel &
  Boelcskei 2015), in a table with missing values over the cells that both rows have;
- self-expression (`self_expression`): each row written by few others (OMP), by ridge regression
  (LSR), or by the lasso with coefficients that sum to 1 (ADMM).

Each graph errs in its own way, and so the sum of two, each normalised to ``D^-1/2 A D^-1/2``, is
often cut better than either. All graphs are sparse; only `spectral` makes one dense, (n, n), to cut
it, and only up to 300 rows (`admm_coefficients` may, up to 700).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from subspaces._types import Array, Indices, Labels, Sparse
from subspaces.core.incomplete import Cells
from subspaces.core.problem import Problem
from subspaces.core.which_run import Start
from subspaces.runtime.threads import computed_once
from subspaces.starts.self_expression import (
    admm_coefficients,
    admm_fidelity,
    affinity,
    from_entries,
    largest,
    lifted_rows,
    lsr_coefficients,
    lsr_from_products,
    omp_coefficients,
    omp_from_products,
    row_blocks,
    unit_rows,
)
from subspaces.starts.spectral import cut, match_dimensions, normalised

# Neighbours of the widest angular graph, found once for all of them.
MOST_NEIGHBOURS = 20
# Other rows that write a row in the graph of matching pursuit, at most.
OMP_NONZERO = 5
# Largest coefficients of a row that the graph of ridge regression keeps, at least.
LSR_FEWEST = 10
# The weight of the lasso's fidelity, and the share of a row's coefficients that is kept: those
# published for motion segmentation.
ADMM_ALPHA, ADMM_SHARE = 800.0, 0.7
# The lasso takes seconds beyond; the other graphs grow with n^2 as well, but are 20 times cheaper.
ADMM_MOST_ROWS = 700

# Each row's neighbours in the graph of a table with missing values, and the most rows that are
# compared pair by pair.
OBSERVED_NEIGHBOURS, OBSERVED_MOST_ROWS = 10, 2000


@dataclass(frozen=True)
class Graphs:
    """The normalised graphs of one problem, each computed when it is first read."""

    problem: Problem

    @computed_once
    def directions(self) -> Array:
        """Rows of length 1, (n, D); for affine subspaces a constant is appended before scaling."""
        rows = self.problem.rows.coordinates
        return unit_rows(lifted_rows(rows) if self.problem.affine else rows)

    @computed_once
    def cosines(self) -> Array | None:
        """Inner products of `directions`, (n, n), if those of the rows are known; else None."""
        products = self.problem.rows.known_products
        if products is None:
            return None
        if self.problem.affine:  # those of `lifted_rows`
            means = products.mean(axis=0)
            products = products - means - means[:, None] + means.mean()
            mean_square = float(products.diagonal().mean())
            products = products / (mean_square if mean_square > 0 else 1.0) + 1.0
        lengths = np.sqrt(products.diagonal().clip(min=0.0))
        scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        return products * scale * scale[:, None]

    @computed_once
    def neighbours(self) -> tuple[Indices, Array]:
        """Each row's 20 nearest rows by angle, nearest first, and their ``|cos|``: (n, 20) each."""
        if self.cosines is not None:
            blocks = row_blocks(len(self.cosines))
            found = [_nearest(self.cosines[block], block) for block in blocks]
        else:
            rows = self.directions
            short = rows.astype(np.float32)  # digits enough to tell which rows are near
            found = [
                _nearest(short[block] @ short.T, block, rows) for block in row_blocks(len(rows))
            ]
        return np.vstack([pair[0] for pair in found]), np.vstack([pair[1] for pair in found])

    def angular(self, n_neighbours: int) -> Sparse:
        """Return the normalised graph of each row's nearest rows by angle, at most 20, (n, n)."""
        columns, cosines = self.neighbours
        return normalised(angular_affinity(columns[:, :n_neighbours], cosines[:, :n_neighbours]))

    @computed_once
    def omp(self) -> Sparse:
        """The normalised graph of orthogonal matching pursuit, 5 coefficients a row, (n, n)."""
        if self.cosines is not None:
            coefficients = omp_from_products(self.cosines, OMP_NONZERO)
        else:
            coefficients = omp_coefficients(self.directions, OMP_NONZERO)
        return normalised(affinity(coefficients, scale=False))

    @computed_once
    def lsr(self) -> Sparse:
        """The normalised graph of the squares of the largest ridge coefficients, (n, n)."""
        keep = max(LSR_FEWEST, 2 * (max(self.problem.dimensions) + self.problem.affine))
        if self.cosines is not None:
            rank = self.problem.rows.rank + self.problem.affine
            coefficients = lsr_from_products(self.cosines, rank, keep)
        else:
            coefficients = lsr_coefficients(self.directions, keep)
        return normalised(affinity(coefficients, scale=False, power=2))

    @computed_once
    def admm(self) -> Sparse:
        """The normalised graph of the lasso with coefficients that sum to 1, on unscaled rows."""
        rows = self.problem.rows.coordinates
        fidelity = admm_fidelity(rows, ADMM_ALPHA)
        coefficients = admm_coefficients(rows, fidelity, penalty=ADMM_ALPHA, affine=True)
        return normalised(affinity(coefficients, share=ADMM_SHARE))


def from_graph(graph: Callable[[], Sparse], n_vectors: int | None = None) -> Start:
    """Return a start: a function whose labels come from cutting the graph that ``graph()`` returns.

    n_vectors: eigenvectors used, by default K.
    """

    def start(problem: Problem, random: np.random.Generator) -> Labels:
        return cut(graph(), problem.n_clusters, random, n_vectors)

    return start


def angular(n_neighbours: int) -> Start:
    """Return a start that cuts the angular graph and gives each part the dimension it fits best."""

    def start(problem: Problem, random: np.random.Generator) -> Labels:
        parts = cut(Graphs(problem).angular(n_neighbours), problem.n_clusters, random)
        return match_dimensions(problem, parts)

    return start


def angular_affinity(columns: Indices, cosines: Array) -> Sparse:
    """Return the symmetric graph (n, n) of weights ``exp(-2 arccos |cos|)`` to neighbours.

    The weights from each row to its neighbours are added to their transpose.

    columns, cosines (n, m): the m neighbours of each row, and their ``|cos|``.
    """
    weights = from_entries(columns, np.exp(-2.0 * np.arccos(cosines)), len(columns))
    return sparse.csr_array(weights + weights.T)


def _nearest(cosines: Array, block: Indices, rows: Array | None = None) -> tuple[Indices, Array]:
    """Return `Graphs.neighbours` of a block of rows.

    cosines (b, n): of these with all rows; rows (n, D): from which those of the nearest are taken
    again, if they were found in single precision.
    """
    closeness = np.abs(cosines)
    closeness[np.arange(len(block)), block] = -1.0
    columns = largest(closeness, min(MOST_NEIGHBOURS, cosines.shape[1] - 1))
    values = np.take_along_axis(closeness, columns, axis=1)
    if rows is not None:
        values = np.abs(np.einsum("bp,bmp->bm", rows[block], rows[columns]))
    values = values.clip(max=1.0)
    order = np.argsort(-values, axis=1, kind="stable")
    return np.take_along_axis(columns, order, axis=1), np.take_along_axis(values, order, axis=1)


def observed_pairs(cells: Cells, n_clusters: int, random: np.random.Generator) -> Labels:
    """Return labels (n,) from the angles between rows over their common cells.

    Nothing is filled, so that this errs in another way than the search on a filled table does.
    """
    closeness = observed_cosines(cells)
    np.fill_diagonal(closeness, -1.0)
    columns = largest(closeness, min(OBSERVED_NEIGHBOURS, len(closeness) - 1))
    nearest = np.take_along_axis(closeness, columns, axis=1).clip(0.0, 1.0)
    return cut(normalised(angular_affinity(columns, nearest)), n_clusters, random)


def observed_cosines(cells: Cells) -> Array:
    """Return ``|cos|`` of every pair of rows over their common cells, (n, n).

        |cos_ik| = |sum_j y_ij y_kj| / sqrt(sum_j M_kj y_ij^2 * sum_j M_ij y_kj^2),

    y with zeros for missing values, M 1 if a cell was observed. A pair that shares few cells
    counts for less, by the square root of its share of the usual number.
    """
    common = cells.observed @ cells.observed.T
    lengths = cells.values**2 @ cells.observed.T
    product = np.sqrt(lengths * lengths.T)
    inner = np.abs(cells.values @ cells.values.T)
    cosines = np.divide(inner, product, out=np.zeros_like(inner), where=product > 0.0)
    usual = max(float(np.median(common)), 1.0)
    return cosines * np.sqrt(np.minimum(common / usual, 1.0))
