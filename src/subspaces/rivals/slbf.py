"""Spectral local best-fit flats (SLBF) and local best-fit flats (LBF) [Zhang et al. 2012].

Both fit a d-flat around single points. The neighbourhood of a point grows while Jones' number

    beta_2^2 = min over d-flats L of mean dist^2(y, L) / radius^2

falls, and is taken at its first local minimum: when it is smaller, the noise is large against the
radius; when it is larger, a second flat comes in. The sizes tried grow by a factor, not by a
constant, so that their number is logarithmic in that of the points.

LBF fits flats around some points and chooses K of these, one at a time, by the sum of distances to
the nearest. SLBF fits a flat around every point and cuts the graph with the weights

    exp(-s^2 / 2 sigma_i^2) + exp(-s^2 / 2 sigma_j^2),   s^2 = dist(x_i, L_j) dist(x_j, L_i)

Several multiples of the local scales sigma are tried, and the clusters with the least mean squared
distance from their flats are kept.

=============  =============  ==========  ========================================================
symbol         name           shape       meaning
=============  =============  ==========  ========================================================
L_j            LocalFlats     m of them   the flat around the j-th seed
dist(x_i,L_j)  distances      (n, m)      not squared
sigma_j        spread         (m,)        root mean squared distance of L_j's own neighbourhood
=============  =============  ==========  ========================================================
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from subspaces._types import Array, Labels
from subspaces.core.array import slices
from subspaces.rivals.subspace_error import DISTANCE_ROUNDING, mean_squared_distance
from subspaces.starts.spectral import cut

# The multiples of the local scales that SLBF tries.
MULTIPLES = (0.25, 0.5, 1.0, 2.0, 4.0)
# Distances are known to about 1e-7 of the points' lengths: no scale below this share of them.
SMALLEST_SCALE = 1e-6
# Weights below this count as none: products of such small numbers take a hundred times as long.
LEAST_WEIGHT = 1e-20
# Neighbourhoods grow by a tenth, or by two points, up to this many points.
GROWTH, LARGEST = 0.1, 1000
# Most numbers in a block of neighbourhoods or of coordinates: 32 MiB.
BLOCK = 2**22


@dataclass(frozen=True)
class LocalFlats:
    """Flats around m seeds: centres (m, p), bases (m, p, d), spread (m,), neighbours used (m,)."""

    centres: Array
    bases: Array
    spread: Array
    sizes: Labels


@dataclass(frozen=True)
class Neighbours:
    """The points around each of m seeds, nearest first: indices and distances, (m, count).

    points (n, p): all points.
    """

    points: Array
    order: Labels
    distances: Array

    def rows(self, seeds: Labels, size: int) -> Array:
        """Return the ``size`` nearest points of these seeds, (seeds, size, p)."""
        return self.points[self.order[seeds, :size]]

    def squared_beta(self, seeds: Labels, size: int, dimension: int, affine: bool) -> Array:
        """Return ``beta_2^2`` of the ``size`` nearest points of these seeds, (seeds,)."""
        radii = self.distances[seeds, size - 1]
        return squared_beta(self.rows(seeds, size), radii, dimension, affine)


def greedy_clustering(
    points: Array,
    n_clusters: int,
    dimension: int,
    n_candidates: int,
    random: np.random.Generator,
    *,
    affine: bool,
) -> Labels:
    """Return the labels (n,) of LBF: the nearest of K flats chosen among candidates."""
    seeds = random.choice(len(points), min(n_candidates, len(points)), replace=False)
    distances = distances_from(points, fit_local_flats(points, seeds, dimension, affine=affine))
    return np.argmin(distances[:, choose_greedily(distances, n_clusters)], axis=1)


def graph_clustering(
    points: Array, n_clusters: int, dimension: int, random: np.random.Generator, *, affine: bool
) -> Labels:
    """Return the labels (n,) of SLBF: of least error over the multiples of the local scales."""
    flats = fit_local_flats(points, np.arange(len(points)), dimension, affine=affine)
    length = float(np.sqrt(np.mean(np.sum(points**2, axis=1)))) or 1.0
    distances = distances_from(points, flats) / length  # so that squares are within float32
    products = (distances * distances.T).astype(np.float32)  # enough for a cut
    scales = np.maximum(flats.spread / length, SMALLEST_SCALE)
    best, least = np.zeros(len(points), dtype=np.intp), np.inf
    for multiple in MULTIPLES:
        affinity = local_affinity(products, multiple * scales)
        labels = cut(affinity, n_clusters, random)
        error = mean_squared_distance(points, labels, dimension, affine=affine)
        if error < least:
            best, least = labels, error
    return best


def choose_greedily(distances: Array, n_clusters: int) -> list[int]:
    """Return the numbers of K flats, each chosen for the least sum of distances to the nearest.

    distances: (n, m) of the points from the candidates.
    """
    reached = np.full((len(distances), 1), np.inf)
    chosen: list[int] = []
    for _ in range(n_clusters):
        left = np.minimum(distances, reached).sum(axis=0)
        left[chosen] = np.inf
        chosen.append(int(np.argmin(left)))
        reached = np.minimum(reached, distances[:, chosen[-1:]])
    return chosen


def local_affinity(products: Array, scales: Array) -> Array:
    """Return the weights (n, n) of the graph, from squares s^2 (n, n) and scales (n,)."""
    half = np.exp(products / (-2.0 * scales[:, None] ** 2).astype(products.dtype))
    half[half < LEAST_WEIGHT] = 0.0
    return half + half.T


def fit_local_flats(points: Array, seeds: Labels, dimension: int, *, affine: bool) -> LocalFlats:
    """Return a flat for each seed, fitted to the neighbourhood that the beta numbers choose."""
    n, p = points.shape
    tried = growing_sizes(n, dimension)
    centres, bases = np.zeros((len(seeds), p)), np.zeros((len(seeds), p, dimension))
    spread, sizes = np.zeros(len(seeds)), np.zeros(len(seeds), dtype=np.intp)
    for part in slices(len(seeds), max(1, BLOCK // max(n, int(tried[-1]) * p))):
        around = nearest(points, seeds[part], int(tried[-1]))
        sizes[part] = grow(around, tried, dimension, affine)
        # Neighbourhoods of one size are fitted together.
        for size in np.unique(sizes[part]):
            same = np.flatnonzero(sizes[part] == size)
            fitted = _fit(around.rows(same, size), dimension, affine)
            where = part.start + same
            centres[where], bases[where], spread[where] = fitted
    return LocalFlats(centres, bases, spread, sizes)


def growing_sizes(n: int, dimension: int) -> Labels:
    """Return the neighbourhood sizes to try: from 2 d + 1 up; the last is n, at most 1000."""
    size, last = 2 * max(dimension, 1) + 1, min(n, LARGEST)
    found = []
    while size < last:
        found.append(size)
        size += max(2, int(GROWTH * size))
    return np.array([*found, last])


def nearest(points: Array, seeds: Labels, count: int) -> Neighbours:
    """Return the ``count`` points nearest to each seed, the seed itself first."""
    lengths = np.einsum("ij,ij->i", points, points)
    squared = lengths + lengths[seeds, None] - 2.0 * points[seeds] @ points.T
    squared[np.arange(len(seeds)), seeds] = -np.inf
    order = np.argpartition(squared, count - 1, axis=1)[:, :count]
    ranked = np.argsort(np.take_along_axis(squared, order, axis=1), axis=1, kind="stable")
    order = np.take_along_axis(order, ranked, axis=1)
    distances = np.sqrt(np.maximum(np.take_along_axis(squared, order, axis=1), 0.0))
    return Neighbours(points, order, distances)


def grow(around: Neighbours, sizes: Labels, dimension: int, affine: bool) -> Labels:
    """Return each seed's neighbourhood size, (m,): at the first local minimum of beta.

    Without a minimum it is the largest size. A size counts as a minimum if the one before is no
    lower and the one after is higher. The first of all counts only with a beta of zero: so few
    points fit any flat well.
    """
    active = np.arange(len(around.order))
    chosen = np.full(len(active), sizes[-1])
    earlier: Array = np.zeros(len(active))
    before = around.squared_beta(active, sizes[0], dimension, affine)
    for smaller, size in pairwise(sizes):
        now = around.squared_beta(active, size, dimension, affine)
        stopped = (before <= earlier) & (before < now)
        chosen[active[stopped]] = smaller
        active, earlier, before = active[~stopped], before[~stopped], now[~stopped]
        if len(active) == 0:
            break
    return chosen


def squared_beta(rows: Array, radius: Array, dimension: int, affine: bool) -> Array:
    """Return ``beta_2^2`` of neighbourhoods (m, size, p) with radii (m,); 0 within rounding."""
    rows = rows - rows.mean(axis=1, keepdims=True) if affine else rows
    turned = np.swapaxes(rows, 1, 2)
    spectrum = np.linalg.eigvalsh(rows @ turned if rows.shape[1] < rows.shape[2] else turned @ rows)
    left = spectrum[:, : max(spectrum.shape[1] - dimension, 0)].sum(axis=1)
    left = np.where(left > DISTANCE_ROUNDING * spectrum.sum(axis=1), left, 0.0) / rows.shape[1]
    return np.divide(left, radius**2, out=np.zeros_like(left), where=radius > 0)


def distances_from(points: Array, flats: LocalFlats) -> Array:
    """Return ``dist(x_i, L_j)`` of all points from all flats, (n, m); 0 within rounding."""
    lengths = np.einsum("ij,ij->i", points, points)
    total = lengths[:, None] + np.einsum("mp,mp->m", flats.centres, flats.centres)
    squared = total - 2.0 * points @ flats.centres.T
    for axes in np.moveaxis(flats.bases, 2, 0):  # (m, p): the same axis of every flat
        squared -= (points @ axes.T - np.einsum("mp,mp->m", flats.centres, axes)) ** 2
    return np.sqrt(np.where(squared > DISTANCE_ROUNDING * total, squared, 0.0))


def _fit(rows: Array, dimension: int, affine: bool) -> tuple[Array, Array, Array]:
    """Return centres (m, p), bases (m, p, d) and root mean squared distances (m,) of fitted flats.

    rows (m, size, p): the neighbourhoods.
    """
    m, size, p = rows.shape
    centres = rows.mean(axis=1) if affine else np.zeros((m, p))
    rows = rows - centres[:, None]
    if size < p:
        bases = np.swapaxes(np.linalg.svd(rows, full_matrices=False)[2][:, :dimension], 1, 2)
    else:
        bases = np.linalg.eigh(np.swapaxes(rows, 1, 2) @ rows)[1][:, :, p - dimension :]
    residual = rows - rows @ bases @ np.swapaxes(bases, 1, 2)
    return centres, bases, np.sqrt(np.einsum("mij,mij->m", residual, residual) / size)
