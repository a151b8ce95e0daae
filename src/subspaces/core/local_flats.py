"""Flats fitted around single points, with neighbourhoods as large as stay near one flat.

A neighbourhood of a point grows while Jones' number

    ``beta_2^2 = min over d-flats L of mean dist^2(y, L) / radius^2``

falls, and is taken at its first local minimum: smaller, the noise is large against the radius;
larger, a second flat comes in [Zhang, Szlam, Wang & Lerman 2012]. The sizes tried grow
by a factor, not by a constant, so that their number is logarithmic in that of the points.

=============  =============  ==========  ========================================================
symbol         name           shape       meaning
=============  =============  ==========  ========================================================
L_j            LocalFlats     m of them   the flat around the j-th seed
dist(x_i,L_j)  distances      (n, m)      not squared
sigma_j        spread         (m,)        root mean squared distance of L_j's own neighbourhood
=============  =============  ==========  ========================================================
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]
Labels = NDArray[np.intp]

# Neighbourhoods grow by a tenth, or by two points, up to this many.
GROWTH, LARGEST = 0.1, 1000
# A share of the squared lengths below this is rounding.
ROUNDING = 1e-13
# Most numbers in a block of neighbourhoods or of coordinates.
BLOCK = 2**22


@dataclass(frozen=True)
class LocalFlats:
    """Flats around seeds: centres (m, p), bases (m, p, d), spread (m,), neighbours used (m,)."""

    centres: Array
    bases: Array
    spread: Array
    sizes: Labels


@dataclass(frozen=True)
class Neighbours:
    """The points around each seed, nearest first: their indices and distances, (m, count)."""

    points: Array
    order: Labels
    distances: Array

    def rows(self, seeds: Labels, size: int) -> Array:
        """Neighbourhoods of one size, (seeds, size, p)."""
        return self.points[self.order[seeds, :size]]

    def squared_beta(self, seeds: Labels, size: int, dimension: int, affine: bool) -> Array:
        """``beta_2^2`` of neighbourhoods of one size, (seeds,)."""
        radii = self.distances[seeds, size - 1]
        return squared_beta(self.rows(seeds, size), radii, dimension, affine)


def growing_sizes(n: int, dimension: int) -> Labels:
    """The neighbourhood sizes to try: from 2 d + 1 up, all of the points or LARGEST last."""
    size, last = 2 * max(dimension, 1) + 1, min(n, LARGEST)
    found = []
    while size < last:
        found.append(size)
        size += max(2, int(GROWTH * size))
    return np.array([*found, last])


def fit_local_flats(points: Array, seeds: Labels, dimension: int, affine: bool) -> LocalFlats:
    """A flat for each seed, fitted to the neighbourhood that the beta numbers choose."""
    n, p = points.shape
    tried = growing_sizes(n, dimension)
    centres, bases = np.zeros((len(seeds), p)), np.zeros((len(seeds), p, dimension))
    spread, sizes = np.zeros(len(seeds)), np.zeros(len(seeds), dtype=np.intp)
    for part in _parts(len(seeds), max(n, int(tried[-1]) * p)):
        around = nearest(points, seeds[part], int(tried[-1]))
        sizes[part] = grow(around, tried, dimension, affine)
        for size in np.unique(sizes[part]):
            same = np.flatnonzero(sizes[part] == size)
            fitted = _fit(around.rows(same, size), dimension, affine)
            where = part.start + same
            centres[where], bases[where], spread[where] = fitted
    return LocalFlats(centres, bases, spread, sizes)


def nearest(points: Array, seeds: Labels, count: int) -> Neighbours:
    """The points nearest to each seed, itself first."""
    lengths = np.einsum("ij,ij->i", points, points)
    squared = lengths + lengths[seeds, None] - 2.0 * points[seeds] @ points.T
    squared[np.arange(len(seeds)), seeds] = -np.inf
    order = np.argpartition(squared, count - 1, axis=1)[:, :count]
    ranked = np.argsort(np.take_along_axis(squared, order, axis=1), axis=1, kind="stable")
    order = np.take_along_axis(order, ranked, axis=1)
    distances = np.sqrt(np.maximum(np.take_along_axis(squared, order, axis=1), 0.0))
    return Neighbours(points, order, distances)


def grow(around: Neighbours, sizes: Labels, dimension: int, affine: bool) -> Labels:
    """Size of each seed's neighbourhood: at the first local minimum of beta, else the largest.

    A size counts as a minimum if the one before is no lower and the one after is higher. The
    first of all counts only with a beta of zero: so few points fit any flat well.
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
    """``beta_2^2`` of neighbourhoods (m, size, p) with their radii (m,); 0 within rounding."""
    rows = rows - rows.mean(axis=1, keepdims=True) if affine else rows
    turned = np.swapaxes(rows, 1, 2)
    spectrum = np.linalg.eigvalsh(rows @ turned if rows.shape[1] < rows.shape[2] else turned @ rows)
    left = spectrum[:, : max(spectrum.shape[1] - dimension, 0)].sum(axis=1)
    left = np.where(left > ROUNDING * spectrum.sum(axis=1), left, 0.0) / rows.shape[1]
    return np.divide(left, radius**2, out=np.zeros_like(left), where=radius > 0)


def distances_from(points: Array, flats: LocalFlats) -> Array:
    """``dist(x_i, L_j)``, (n, m); 0 within rounding."""
    n, p = points.shape
    lengths = np.einsum("ij,ij->i", points, points)
    result = np.empty((n, len(flats.centres)))
    for part in _parts(len(flats.centres), n * flats.bases.shape[2]):
        centres, bases = flats.centres[part], flats.bases[part]
        inner = np.einsum("mp,mpd->md", centres, bases)
        scores = points @ np.moveaxis(bases, 1, 0).reshape(p, -1) - inner.ravel()
        scores = scores.reshape(n, len(centres), -1)
        total = lengths[:, None] + np.einsum("mp,mp->m", centres, centres)
        squared = total - 2.0 * points @ centres.T
        squared -= np.einsum("nmd,nmd->nm", scores, scores)
        result[:, part] = np.sqrt(np.where(squared > ROUNDING * total, squared, 0.0))
    return result


def _fit(rows: Array, dimension: int, affine: bool) -> tuple[Array, Array, Array]:
    """Centres, bases and root mean squared distances of neighbourhoods of one size."""
    m, size, p = rows.shape
    centres = rows.mean(axis=1) if affine else np.zeros((m, p))
    rows = rows - centres[:, None]
    if size < p:
        bases = np.swapaxes(np.linalg.svd(rows, full_matrices=False)[2][:, :dimension], 1, 2)
    else:
        bases = np.linalg.eigh(np.swapaxes(rows, 1, 2) @ rows)[1][:, :, p - dimension :]
    residual = rows - rows @ bases @ np.swapaxes(bases, 1, 2)
    return centres, bases, np.sqrt(np.einsum("mij,mij->m", residual, residual) / size)


def _parts(count: int, each: int) -> Iterator[slice]:
    """Slices of up to BLOCK numbers, ``each`` for one item."""
    step = max(1, BLOCK // max(each, 1))
    return (slice(start, min(start + step, count)) for start in range(0, count, step))
