"""Tables with missing cells: a mixture of probabilistic PCA fitted to the cells that were observed.

A row of cluster k is ``x = mu + W z + noise``, z standard normal, the noise of variance sigma^2 in
every cell. Cells that are missing are integrated out; nothing is imputed before the fit. M is 1
if a cell was observed, Y = M (X - mu) with zeros in the holes. All rows at once, whatever their
patterns, since the R x R systems of all rows come from one product:

    A_i = sum_j M_ij w_j w_j',   S_i = A_i + sigma^2 I,   z_i = S_i^-1 W' Y_i,
    -log p(x_i) = [Q_i + (o_i - R) log sigma^2 + log det S_i + o_i log 2 pi]/2,
    Q_i = (||Y_i||^2 - z_i' W' Y_i)/sigma^2,

o_i the number of observed cells; the covariance of z given the row is sigma^2 S_i^-1. The M step is
a regression of each column on the scores, zt = (z, 1) if subspaces have centres of their own:

    (w_j, mu_j) = (sum_i M_ij g_i E[zt zt'] + (sigma^2/tau^2) I)^-1 sum_i M_ij g_i x_ij zt_i,

with weights g. The ridge is a normal prior of variance tau^2, that of all observed cells, on
loadings and means, so that a column that a cluster has hardly seen keeps to the mean of all. EM
never lowers the likelihood less that prior's term. A column of fewer than R + 2 values is left out:
its loadings could be anything that fits these (`known_columns`).

==========  =============  ============  ==================================================
symbol      name           shape         meaning
==========  =============  ============  ==================================================
X           values         (n, p)        observed cells, zeros in the holes
M           observed       (n, p)        1 if a cell was observed, else 0
W           loadings       (p, R)        axes, scaled by the spread along them
z           scores         (n, R)        expected place of each row along the axes
S^-1        precision      (n, R, R)     the scores' covariance over sigma^2
g           weights        (n, K)        responsibilities
==========  =============  ============  ==================================================
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from subspaces._types import Array, Indices, Labels
from subspaces.core import partition
from subspaces.subspace import (
    Subspace,
    centre_of,
    largest_eigenpairs,
    principal_axes,
    scores,
    scores_and_residuals,
    squared_residual,
)

# A variance below this share of the cells' is rounding.
VARIANCE_FLOOR = 1e-10
# Regularised iterative PCA ends when a round changes the table by less than this share.
FILLED = 1e-4
MOST_ROUNDS = 200
# EM ends when a step raises the log-likelihood by no more than this many nats per observed cell,
# which does not depend on the unit of the table. A tenth of it takes ten times as long on faces,
# for the same labels.
RISE_PER_CELL = 1e-5
# Default number of EM steps. With half of the values missing, one table in twenty needs more than
# 100.
MOST_STEPS = 500
# Whether low values are missing is judged by rows with at least this share of their values, if this
# many of them miss some. A few samples with hardly any values show nothing about low values.
LEAST_OBSERVED = 0.25
FEWEST_ROWS_WITH_HOLES = 10
# A cluster counts as this much of a sample at least, so that its share has a logarithm.
NOTHING = 1e-10


@dataclass(frozen=True)
class Cells:
    """The observed cells of a table: values (n, p), zeros in the holes, and observed (n, p)."""

    values: Array
    observed: Array

    @property
    def counts(self) -> Array:
        """Number of observed cells of each row, (n,)."""
        return self.observed.sum(axis=1)

    def rows(self, chosen: Indices) -> "Cells":
        """Return the chosen rows."""
        return Cells(self.values[chosen], self.observed[chosen])

    def of_columns(self, known: Array | None) -> "Cells":
        """Return the cells with those of columns that are 0 in known (p,) as if not observed."""
        return self if known is None else Cells(self.values * known, self.observed * known)


@dataclass(frozen=True)
class Gaussian:
    """One cluster: loadings W (p, R) and centre (p,), zero for a linear subspace."""

    loadings: Array
    centre: Array


@dataclass(frozen=True)
class IncompleteMixture:
    """Clusters, their shares (K,), and the variance of the noise in each, (K,).

    known (p,): 0 for columns that no density counts, else 1; None if all are counted.
    """

    clusters: tuple[Gaussian, ...]
    shares: Array
    noise: Array
    known: Array | None = None


@dataclass(frozen=True)
class Posterior:
    """Rows under one cluster: scores (n, R), precision (n, R, R), and -log density (n,)."""

    scores: Array
    precision: Array
    cost: Array


@dataclass(frozen=True)
class FittedMixture:
    """A fitted mixture, the rows' weights (n, K), and the penalised log-likelihood of each step."""

    mixture: IncompleteMixture
    weights: Array
    path: tuple[float, ...]
    has_converged: bool

    @property
    def labels(self) -> Labels:
        """The likeliest cluster of each row, (n,)."""
        return np.argmax(self.weights, axis=1)


def observed_cells(matrix: Array) -> Cells:
    """Return the observed cells of a table in which NaN is a hole."""
    holes = np.isnan(matrix)
    return Cells(np.where(holes, 0.0, matrix), 1.0 - holes)


def observed_means(cells: Cells) -> Array:
    """Mean of the observed cells of each column, (p,); 0 for a column without any."""
    return cells.values.sum(axis=0) / np.maximum(cells.observed.sum(axis=0), 1.0)


def known_columns(counts: Array, dimensions: Sequence[int]) -> Array | None:
    """Return 0 for columns of fewer than R + 2 values, else 1, (p,); None if all are known.

    R values are fitted by R loadings exactly, whatever they are, and one more hardly contradicts
    them: a single slip would be expected in other rows many times as large. counts (p,): of the
    columns' values; R: the largest dimension. Without axes, and if no column has so many values,
    all are known.
    """
    known = counts >= max(dimensions) + 2
    return known.astype(float) if max(dimensions) and known.any() and not known.all() else None


@dataclass(frozen=True)
class Filled:
    """A table (n, p) whose holes are filled by PCA, and the fit of that PCA to all cells (n, p)."""

    table: Array
    image: Array


def filled_by_pca(cells: Cells, rank: int, center: bool) -> Filled:
    """Return the table with its holes filled by regularised iterative PCA.

    Holes begin at the means of their columns. Each round fits ``rank`` axes, shrinks their singular
    values by the noise, ``s := (s^2 - max(n, p) sigma^2)/s``, and fills the holes anew [Josse &
    Husson 2012]; sigma^2 is what the axes leave of the filled table, over the freedom of the
    observed cells: the filled ones lie nearly on the axes.
    """
    n, p = cells.values.shape
    rank = max(min(rank, min(n - center, p) - 1), 0)
    n1 = n - center
    freedom = max(cells.observed.sum() - center * p - rank * (n1 + p - rank), 1.0)
    holes = cells.observed == 0
    filled = np.where(holes, observed_means(cells) if center else 0.0, cells.values)
    for _ in range(MOST_ROUNDS):
        mean = filled.mean(axis=0) if center else np.zeros(p)
        rows = filled - mean
        energy = float(np.sum(rows**2))
        image = mean + _shrunk(rows, rank, max(n, p), freedom, energy)
        change = float(np.sum((filled - image)[holes] ** 2))
        filled = np.where(holes, image, filled)
        if change <= FILLED**2 * max(energy, np.finfo(float).tiny):
            break
    return Filled(filled, image)


def _shrunk(rows: Array, rank: int, larger: int, freedom: float, energy: float) -> Array:
    """Return the fit (n, p) of ``rank`` axes with shrunk singular values."""
    n, p = rows.shape
    if rank == 0:
        return np.zeros_like(rows)
    values, vectors = largest_eigenpairs(rows @ rows.T if n <= p else rows.T @ rows, rank)
    noise = max(energy - float(values.sum()), 0.0) / freedom
    kept = np.maximum(values - larger * noise, 0.0) / np.maximum(values, np.finfo(float).tiny)
    if n <= p:
        return (vectors * kept) @ (vectors.T @ rows)
    return (rows @ (vectors * kept)) @ vectors.T


def lower_in_holes(cells: Cells, image: Array) -> tuple[float, float]:
    """Return how much lower fitted values are in the holes than elsewhere: in their sd, and as z.

    image (n, p): by `filled_by_pca`; columns are compared with themselves. If cells are missing at
    random, z is at most standard normal; the values of a row go together, and so may its holes, so
    that the larger of two standard errors is taken, over cells and over rows. If low values are
    missing, both are clearly negative. Both are 0 if too few rows have holes to tell. Rows that are
    mostly holes do not count: their fitted values are near the origin whatever was missing.
    """
    known = cells.observed.mean(axis=1) >= LEAST_OBSERVED
    cells, image = Cells(cells.values[known], cells.observed[known]), image[known]
    holes = 1.0 - cells.observed
    if np.count_nonzero(holes.any(axis=1)) < FEWEST_ROWS_WITH_HOLES:
        return 0.0, 0.0
    values = image - image.mean(axis=0)
    n_holes, spread = float(holes.sum()), float(values.std())
    if n_holes in (0.0, float(holes.size)) or spread == 0.0:
        return 0.0, 0.0
    n_seen = float(cells.observed.sum())
    low, high = np.sum(values * holes) / n_holes, np.sum(values * cells.observed) / n_seen
    by_row = np.sum((values - low) * holes, axis=1) / n_holes
    by_row -= np.sum((values - high) * cells.observed, axis=1) / n_seen
    by_cell = spread * np.sqrt(1.0 / n_holes + 1.0 / n_seen)
    error = max(float(np.sqrt(np.sum(by_row**2))), by_cell)
    return float(low - high) / spread, float(low - high) / error


def posterior(cells: Cells, cluster: Gaussian, noise: float) -> Posterior:
    """Return the scores of rows under a cluster and their -log density, by observed cells."""
    w = cluster.loadings
    r = w.shape[1]
    rest = (cells.values - cluster.centre) * cells.observed
    systems = products_of_loadings(cells.observed, w) + noise * np.eye(r)
    precision = np.linalg.inv(systems)
    along = rest @ w
    scores = np.einsum("nrs,ns->nr", precision, along)
    quadratic = np.sum(rest**2, axis=1) - np.einsum("nr,nr->n", scores, along)
    counts = cells.counts
    determinant = np.linalg.slogdet(systems)[1]
    cost = 0.5 * (
        np.maximum(quadratic, 0.0) / noise
        + (counts - r) * np.log(noise)
        + determinant
        + counts * np.log(2.0 * np.pi)
    )
    return Posterior(scores, precision, cost)


def products_of_loadings(observed: Array, loadings: Array) -> Array:
    """``A_i = sum_j M_ij w_j w_j'`` of every row, (n, R, R)."""
    p, r = loadings.shape
    squares = (loadings[:, :, None] * loadings[:, None, :]).reshape(p, r * r)
    return (observed @ squares).reshape(len(observed), r, r)


def refitted(
    cells: Cells, found: Posterior, weights: Array, noise: float, prior: float, affine: bool
) -> tuple[Gaussian, float]:
    """Return the cluster of most expected likelihood, and the squares that it leaves.

    Each column is regressed on the scores. The squares are
    ``sum_ij g_i M_ij E[(x_ij - mu_j - w_j' z_i)^2]``. weights (n,): of the rows; prior: the
    variance tau^2 of loadings and means beforehand.
    """
    n, r = found.scores.shape
    p = cells.values.shape[1]
    design = np.column_stack([found.scores, np.ones(n)]) if affine else found.scores
    q = design.shape[1]
    weighted = cells.observed * weights[:, None]
    spreads = noise * (weighted.T @ found.precision.reshape(n, r * r)).reshape(p, r, r)
    moments = (design[:, :, None] * design[:, None, :]).reshape(n, q * q)
    systems = (weighted.T @ moments).reshape(p, q, q)
    systems[:, :r, :r] += spreads
    right = (weighted * cells.values).T @ design
    ridge = noise / prior * np.eye(q)
    solved = np.linalg.solve(systems + ridge, right[:, :, None])[:, :, 0] if q else right
    loadings, centre = solved[:, :r], solved[:, r] if affine else np.zeros(p)
    rest = cells.values - design @ solved.T
    squares = np.sum(weighted * rest**2) + np.einsum("jr,jrs,js->", loadings, spreads, loadings)
    return Gaussian(loadings, centre), float(squares)


def fit_mixture(
    cells: Cells, labels: Labels, dimensions: Sequence[int], affine: bool, filled: Array,
    shared: bool = True, max_iter: int = MOST_STEPS,
) -> FittedMixture:  # fmt: skip
    """Return the mixture that EM reaches from labels (n,); filled (n, p): for the first clusters.

    A row with the label -1 is in no first cluster, and counts from the first step of EM on.
    The cells are taken from a centre near all rows if affine, as the prior on means asks. shared:
    whether all clusters have one variance of the noise.
    """
    total = max(float(cells.observed.sum()), 1.0)
    prior = max(float(np.sum(cells.values**2)) / total, np.finfo(float).tiny)
    floor = VARIANCE_FLOOR * prior
    k = len(dimensions)
    clusters, noise = first_clusters(filled, labels, dimensions, affine, floor)
    sizes = partition.sizes(labels, k)
    shares = np.maximum(sizes, NOTHING) / max(sizes.sum(), 1)
    mixture = IncompleteMixture(clusters, shares, np.full(k, noise))
    path: list[float] = []
    has_converged = False
    for _ in range(max_iter):
        found = posteriors(cells, mixture)
        weights, likelihood = responsibilities(found, mixture.shares)
        path.append(likelihood - penalty(mixture, prior))
        has_converged = len(path) > 1 and path[-1] - path[-2] <= RISE_PER_CELL * total
        if has_converged:
            break
        mixture = _stepped(cells, mixture, found, weights, (prior, floor), affine, shared)
    mixture = with_standard_scores(mixture, found, weights)
    weights, _ = responsibilities(posteriors(cells, mixture), mixture.shares)
    return FittedMixture(mixture, weights, tuple(path), has_converged)


def with_standard_scores(
    mixture: IncompleteMixture, found: Sequence[Posterior], weights: Array
) -> IncompleteMixture:
    """Return the mixture with loadings such that the scores have the variance of their prior, 1.

    The prior on loadings shortens them, and scores grow in their place: over p columns it weighs
    ``||W||^2/tau^2``, which is much beside n rows. Images ``W z`` hardly change, variances along
    the axes do. ``W := W L`` with ``L L' = sum_i g_i E[z_i z_i']/sum_i g_i``.
    """
    clusters = []
    for k, (cluster, under) in enumerate(zip(mixture.clusters, found, strict=True)):
        g = weights[:, k]
        second = (under.scores * g[:, None]).T @ under.scores
        second += mixture.noise[k] * np.einsum("n,nrs->rs", g, under.precision)
        second /= max(float(g.sum()), NOTHING)
        few = g.sum() <= second.shape[0] + 1
        scale = np.eye(len(second)) if few else np.linalg.cholesky(second)
        clusters.append(Gaussian(cluster.loadings @ scale, cluster.centre))
    return IncompleteMixture(tuple(clusters), mixture.shares, mixture.noise)


def _stepped(
    cells: Cells, mixture: IncompleteMixture, found: Sequence[Posterior], weights: Array,
    limits: tuple[float, float], affine: bool, shared: bool,
) -> IncompleteMixture:  # fmt: skip
    """Return the mixture after one M step; limits: the prior's variance, and the least noise."""
    prior, floor = limits
    clusters, squares = [], np.zeros(len(found))
    for k, under in enumerate(found):
        noise = float(mixture.noise[k])
        cluster, squares[k] = refitted(cells, under, weights[:, k], noise, prior, affine)
        clusters.append(cluster)
    counts = np.maximum(weights.T @ cells.counts, NOTHING)
    variances = np.full(len(found), squares.sum() / counts.sum()) if shared else squares / counts
    shares = np.maximum(weights.mean(axis=0), NOTHING)
    return IncompleteMixture(tuple(clusters), shares, np.maximum(variances, floor))


def posteriors(cells: Cells, mixture: IncompleteMixture) -> list[Posterior]:
    """Return the rows under each cluster of a mixture."""
    pairs = zip(mixture.clusters, mixture.noise.tolist(), strict=True)
    return [posterior(cells, cluster, noise) for cluster, noise in pairs]


def joint_costs(cells: Cells, mixture: IncompleteMixture) -> Array:
    """-log joint density of each row and cluster, by observed cells, (n, K)."""
    found = posteriors(cells.of_columns(mixture.known), mixture)
    return np.column_stack([under.cost for under in found]) - np.log(mixture.shares)


def responsibilities(found: Sequence[Posterior], shares: Array) -> tuple[Array, float]:
    """Return the weights (n, K) of the clusters in each row, and the log-likelihood of all rows."""
    joint = np.log(shares) - np.column_stack([under.cost for under in found])
    top = joint.max(axis=1, keepdims=True)
    shifted = np.exp(joint - top)
    sums = shifted.sum(axis=1, keepdims=True)
    return shifted / sums, float(np.sum(top + np.log(sums)))


def penalty(mixture: IncompleteMixture, prior: float) -> float:
    """-log of the prior of loadings and means, less its constant."""
    squares = [np.sum(each.loadings**2) + np.sum(each.centre**2) for each in mixture.clusters]
    return 0.5 * float(sum(squares)) / prior


def first_clusters(
    filled: Array, labels: Labels, dimensions: Sequence[int], affine: bool, floor: float
) -> tuple[tuple[Gaussian, ...], float]:
    """Return the clusters that PCA of the members' filled rows gives, and their common noise."""
    p = filled.shape[1]
    fits = []
    left, freedom = 0.0, 0.0
    for k, r in enumerate(dimensions):
        members = filled[labels == k]
        centre = centre_of(members, affine) if len(members) else np.zeros(p)
        axes = principal_axes(members - centre)
        fits.append((centre, axes, len(members)))
        left += float(axes.eigenvalues[r:].sum())
        freedom += max(len(members) - affine, 0) * max(p - r, 1)
    noise = max(left / max(freedom, 1.0), floor)
    clusters = []
    for (centre, axes, size), r in zip(fits, dimensions, strict=True):
        loadings = np.zeros((p, r))
        kept = min(r, axes.rank)
        variances = axes.eigenvalues[:kept] / max(size, 1)
        # An axis as weak as the noise keeps a little length, so that EM can find it.
        spread = np.sqrt(np.maximum(variances - noise, 1e-3 * variances))
        loadings[:, :kept] = axes.basis[:, :kept] * spread
        clusters.append(Gaussian(loadings, centre))
    return tuple(clusters), noise


def as_subspace(cluster: Gaussian, noise: float, size: float) -> Subspace:
    """Return a cluster as a `Subspace` whose spectrum is that of ``size`` complete samples.

    ``spectrum = size (w^2 + sigma^2)``, w the singular values of the loadings, as the likeliest
    probabilistic PCA of complete samples has it.
    """
    left, singular, _ = np.linalg.svd(cluster.loadings, full_matrices=False)
    return Subspace(cluster.centre, left, size * (singular**2 + noise))


def as_gaussian(subspace: Subspace, noise: float, size: float) -> Gaussian:
    """Return the cluster of a `Subspace`: the reverse of `as_subspace`, up to a rotation."""
    spread = np.sqrt(np.maximum(subspace.spectrum / max(size, 1.0) - noise, 0.0))
    return Gaussian(subspace.basis * spread, subspace.centre)


def expected_squares(
    cells: Cells, subspace: Subspace, noise: float, size: float
) -> tuple[Array, Array]:
    """Squared scores (n, R) and squared residuals (n,) that rows of a cluster are expected to have.

    That is the mean of either over what may stand in the holes, given the observed cells of the
    row: with the holes at their expected values, plus what they vary around these. Their covariance
    is ``sigma^2 (I + W_m S^-1 W_m')``, W_m the loadings of the missing cells. For a complete row
    both are those of the row. size: the number of samples that the spectrum is of.
    """
    cluster = as_gaussian(subspace, noise, size)
    found = posterior(cells, cluster, noise)
    image = cluster.centre + found.scores @ cluster.loadings.T
    rows = np.where(cells.observed == 0, image, cells.values)
    spread = np.linalg.norm(cluster.loadings, axis=0)
    unseen = np.eye(len(spread)) - products_of_loadings(cells.observed, subspace.basis)
    through = unseen * spread  # B_m' W_m, B the basis
    along = np.einsum("nrs,nst,nrt->nr", through, found.precision, through)
    along = np.maximum(along + np.einsum("nrr->nr", unseen), 0.0)
    everywhere = cells.values.shape[1] - cells.counts
    everywhere += np.einsum("nrs,nsr->n", found.precision, through * spread[:, None])
    squares = scores(rows, subspace) ** 2 + noise * along
    off = np.maximum(everywhere - along.sum(axis=1), 0.0)
    return squares, squared_residual(rows, subspace) + noise * off


def predicted(cells: Cells, mixture: IncompleteMixture) -> Array:
    """Return what the mixture expects in every cell, given the observed ones of its row, (n, p)."""
    found = posteriors(cells.of_columns(mixture.known), mixture)
    weights, _ = responsibilities(found, mixture.shares)
    images = (
        weights[:, k, None] * (cluster.centre + found[k].scores @ cluster.loadings.T)
        for k, cluster in enumerate(mixture.clusters)
    )
    return sum(images, np.zeros_like(cells.values))


def scored(X: Array, mixture: IncompleteMixture) -> Array:
    """-log joint density of each row and cluster, by the observed cells of the row, (n, K)."""
    return joint_costs(observed_cells(X), mixture)


def expected(
    X: Array, subspaces: Sequence[Subspace], noise: float, sizes: Sequence[float]
) -> list[tuple[Array, Array]]:
    """Return `scores_and_residuals` of rows with holes or without, of each subspace.

    Of a row with holes the residual (n,) is the squared residual that is expected of it in that
    cluster, and the scores (n, r) are the roots of the squared scores that are expected. noise: the
    variance of the noise in a cell; sizes (K,): the numbers of samples behind the spectra.
    """
    holes = np.asarray(np.isnan(X).any(axis=1))
    places = scores_and_residuals(np.where(holes[:, None], 0.0, X), subspaces)
    cells = observed_cells(X[holes])
    for (along, residual), subspace, size in zip(places, subspaces, sizes, strict=True):
        squares, residual[holes] = expected_squares(cells, subspace, noise, size)
        along[holes] = np.sqrt(squares)
    return places


def imputed(X: Array, mixture: IncompleteMixture) -> Array:
    """Return X with what the mixture expects in its holes; observed cells are as they were."""
    cells = observed_cells(X)
    return np.where(cells.observed == 0, predicted(cells, mixture), X)


def placed(X: Array, cluster: Gaussian, noise: float) -> tuple[Array, Array]:
    """Return where rows are expected in a cluster's subspace: points (n, p) and scores (n, R)."""
    found = posterior(observed_cells(X), cluster, noise)
    return cluster.centre + found.scores @ cluster.loadings.T, found.scores


def moved(mixture: IncompleteMixture, origin: Array, order: Sequence[int]) -> IncompleteMixture:
    """Return the mixture with ``origin`` added to the centres, its clusters in another order."""
    chosen = [mixture.clusters[k] for k in order]
    clusters = tuple(Gaussian(each.loadings, each.centre + origin) for each in chosen)
    shares, noise = mixture.shares[list(order)], mixture.noise[list(order)]
    return IncompleteMixture(clusters, shares, noise)
