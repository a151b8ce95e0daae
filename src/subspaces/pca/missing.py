"""One PCA of a table with missing cells: probabilistic PCA of the observed ones.

The PCA is a mixture of one cluster (`incomplete.py`), fitted by EM from regularised iterative PCA.
What one PCA of complete rows is asked for has these forms here; for complete rows each is the usual
one. z_i are the expected scores of row i and zt = (z, 1) if there is a mean.

- Residual and leave-one-out error. Each column is regressed on the scores of the rows that have it,

      e_ij = x_ij - zt_i' b_j,     h_ij = zt_i' (sum_i' M_i'j zt_i' zt_i'')^-1 zt_i,

  and without row i the error of the cell is ``e_ij/(1 - h_ij)``: the form "hat" of one PCA, column
  by column. A row's error is the sum over its o_i observed cells, brought to p cells: the scores
  take ``f_i = tr S_i^-1 A_i`` of their freedom, R of p cells and no more than o_i of few, and noise
  alone leaves ``sigma^2 (o_i - f_i)``. So the sum is multiplied by ``(p - f)/(o_i - f_i)``, f that
  of a complete row, which is nearly ``(p - R)/(o_i - R)`` but for rows with hardly a cell.
- Hotelling's T2. Under the model the covariance of z_i is ``S_i^-1 A_i``, so that
  ``T2_i = z_i' (S_i^-1 A_i)^-1 z_i = z_i' A_i^-1 S_i z_i``: fewer cells, shorter scores, the same
  distribution.
- The number of components. Whether there are more than r is asked of the table whose holes r axes
  have filled: then the components leave nothing in the holes, and noise has none there, which the
  variances of the columns allow for (`components.py`); those of the rows are made equal. Holes
  filled with means instead would hold minus the components' values, and pass for further ones.
"""

from dataclasses import dataclass

import numpy as np

from subspaces._types import Array, NoiseKind
from subspaces.core import influence
from subspaces.core.incomplete import (
    Cells,
    Filled,
    Gaussian,
    Posterior,
    as_subspace,
    filled_by_pca,
    fit_mixture,
    known_columns,
    lower_in_holes,
    observed_means,
    posterior,
    products_of_loadings,
)
from subspaces.core.leave_one_out import centred
from subspaces.messages import Advice, DataWarning
from subspaces.pca.components import Components, all_axes, count_components, most_axes
from subspaces.runtime.threads import cached_property
from subspaces.runtime.warning import doubt
from subspaces.subspace import Subspace

# If 1 - h of a cell is at most this, the other rows do not determine the column.
LEAST_FREEDOM = 0.05
# If too few axes filled the missing values, noise reaches up to this many times the edge. All axes
# up to the last one above it are taken at once.
CLEAR = 2.0
# Missing values are reported as low if their fit is this many standard deviations below that of the
# others, and this many standard errors (benchmarks/missing.py prints both).
TOO_LOW, SURELY = -0.05, -5.0
# Systems of columns that hardly any row has are kept this far from singular.
RIDGE = 1e-12


@dataclass(frozen=True)
class IncompletePCA:
    """A PCA of the observed cells: its cluster of centre and loadings, and the noise's variance.

    affine: whether it has a mean.
    """

    cells: Cells
    cluster: Gaussian
    noise: float
    affine: bool

    @cached_property
    def found(self) -> Posterior:
        """The rows' expected scores, and their -log density."""
        return posterior(self.cells, self.cluster, self.noise)

    @cached_property
    def subspace(self) -> Subspace:
        """Mean, axes, and the spectrum that as many complete rows would have."""
        return as_subspace(self.cluster, self.noise, len(self.cells.values))

    @property
    def image(self) -> Array:
        """What the PCA expects in every cell, (n, p)."""
        return self.cluster.centre + self.found.scores @ self.cluster.loadings.T

    @property
    def completed(self) -> Array:
        """The table (n, p) with what the PCA expects in its holes."""
        return np.where(self.cells.observed == 0, self.image, self.cells.values)

    @property
    def coordinates(self) -> Array:
        """Places of the completed rows along the axes of `subspace`, (n, R)."""
        place = self.subspace
        return (self.completed - place.centre) @ place.basis


def fit_pca(cells: Cells, n_components: int, affine: bool) -> IncompletePCA:
    """Return the PCA of the observed cells, with a mean if affine."""
    n, p = cells.values.shape
    origin = observed_means(cells) if affine else np.zeros(p)
    cells = cells.of_columns(known_columns(cells.observed.sum(axis=0), [n_components]))
    shifted = Cells((cells.values - origin) * cells.observed, cells.observed)
    table = filled_by_pca(shifted, n_components, affine).table
    together = np.zeros(n, dtype=np.intp)
    found = fit_mixture(shifted, together, [n_components], affine, table).mixture
    cluster = Gaussian(found.clusters[0].loadings, found.clusters[0].centre + origin)
    return IncompletePCA(cells, cluster, float(found.noise[0]), affine)


def count_through_holes(
    cells: Cells, center: bool, most: int | None = None, noise: NoiseKind = "auto"
) -> tuple[Components, Array]:
    """`count_components` of a table with holes, and the table (n, p) that those axes filled."""
    n, p = cells.values.shape
    origin = observed_means(cells) if center else np.zeros(p)
    shifted = Cells((cells.values - origin) * cells.observed, cells.observed)
    limit = most_axes(n, p, center=center)
    # Rows with few cells have little noise; all get as much as the others, in these cells.
    louder = np.sqrt(cells.counts.mean() / np.maximum(cells.counts, 1.0))[:, None]
    means = observed_means(shifted)
    holes = cells.observed == 0
    filled = Filled(np.where(holes, means, shifted.values), np.broadcast_to(means, (n, p)))
    filled_by = 0
    while True:
        evened = filled.image + louder * (filled.table - filled.image)
        found = count_components(all_axes(centred(evened, center)), most, noise, center=center)
        if found.count <= filled_by or filled_by >= limit:
            return found, filled.table + origin
        clear = np.flatnonzero(found.ratio[: found.count] > CLEAR)
        filled_by = min(max(filled_by + 1, int(clear[-1]) + 1 if len(clear) else 0), limit)
        filled = filled_by_pca(shifted, filled_by, center)


def row_errors(pca: IncompletePCA) -> tuple[Array, Array]:
    """Squared errors of each row, fitted and left out, (n,) each, as if all p cells were there.

    Cells that the other rows do not determine are left out of the second; it is infinite for a row
    without any other.
    """
    rest, leverage = column_regressions(pca)
    freedom = 1.0 - leverage
    determined = pca.cells.observed * (freedom > LEAST_FREEDOM)
    left_out = np.sum(determined * (rest / np.maximum(freedom, LEAST_FREEDOM)) ** 2, axis=1)
    counts, told = pca.cells.counts, determined.sum(axis=1)
    scale = _of_all_cells(pca)
    errors = np.full(len(rest), np.inf)
    np.divide(scale * left_out * counts, told, out=errors, where=told > 0)
    return scale * np.sum(rest**2, axis=1), errors


def _of_all_cells(pca: IncompletePCA) -> Array:
    """``(p - f)/(o_i - f_i)`` of each row, (n,): what its squared errors are multiplied by."""
    p, r = pca.cluster.loadings.shape
    w, counts = pca.cluster.loadings, pca.cells.counts
    whole = pca.noise * float(np.trace(np.linalg.inv(w.T @ w + pca.noise * np.eye(r))))
    freedom = counts - r + pca.noise * np.einsum("nrr->n", pca.found.precision)
    scale = np.zeros(len(counts))
    return np.divide(p - r + whole, freedom, out=scale, where=counts > 0)


def column_regressions(pca: IncompletePCA) -> tuple[Array, Array]:
    """Residuals ``e_ij`` of the columns' regressions on the scores, and ``h_ij``; (n, p) each."""
    cells, scores = pca.cells, pca.found.scores
    n, p = cells.values.shape
    design = np.column_stack([scores, np.ones(n)]) if pca.affine else scores
    q = design.shape[1]
    if q == 0:
        return cells.values * cells.observed, np.zeros((n, p))
    moments = (design[:, :, None] * design[:, None, :]).reshape(n, q * q)
    systems = (cells.observed.T @ moments).reshape(p, q, q)
    scale = float(np.trace(systems.mean(axis=0))) / q
    inverse = np.linalg.inv(systems + RIDGE * max(scale, np.finfo(float).tiny) * np.eye(q))
    leverage = (moments @ inverse.reshape(p, q * q).T) * cells.observed
    solved = np.einsum("jrs,js->jr", inverse, (cells.observed * cells.values).T @ design)
    return (cells.values - design @ solved.T) * cells.observed, leverage


def squared_influence(pca: IncompletePCA) -> Array:
    """Squared influence of each row, (n,), with the `coordinates` of completed rows."""
    scores = pca.coordinates
    spectrum = np.maximum(np.sum(scores**2, axis=0), np.finfo(float).tiny)
    return influence.squared_influence(scores, row_errors(pca)[0], spectrum)


def hotelling(pca: IncompletePCA) -> Array:
    """``T2_i = z_i' A_i^-1 S_i z_i`` of each row, (n,); a row that no axis reaches has 0."""
    w, found = pca.cluster.loadings, pca.found
    reached = products_of_loadings(pca.cells.observed, w)
    along = ((pca.cells.values - pca.cluster.centre) * pca.cells.observed) @ w
    # S z = W'y, so that T2 = z' A^-1 W'y; A is singular for a row with fewer cells than axes.
    return np.einsum("nr,nrs,ns->n", found.scores, np.linalg.pinv(reached, hermitian=True), along)


def warn_of_low_values(cells: Cells, image: Array) -> None:
    """Warn if values seem to be missing because they are low; image (n, p): their fit by PCA."""
    lower, z = lower_in_holes(cells, image)
    if lower < TOO_LOW and z < SURELY:
        doubt(
            DataWarning,
            "missing_low",
            "Values seem to be missing because they are low, which biases the result.",
            Advice(
                "fit again with only variables that have few missing values, and compare",
                command="fit again with <drop_missing=0.2>, and compare",
            ),
        )
