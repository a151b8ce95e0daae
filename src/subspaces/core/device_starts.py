"""First flats of some rows where they are: the named starts of `starts.py` on a device.

Only what is small, a few inner products and one weight a row, is seen in main memory.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subspaces.core.array_namespace import like, namespace, to_host, zeros_beside
from subspaces.core.block_pass import squared_lengths
from subspaces.core.flats import Flats
from subspaces.core.starts import n_trials

Array = NDArray[np.floating]
Indices = NDArray[np.intp]

# Inner products of neighbours with a smaller eigenvalue than this share of the largest span less.
DEPENDENT = 1e-6


class Through(NamedTuple):
    """Flats through the neighbours of some points.

    centres (c, p), None where all are the origin; axes (c, p, R); residuals (m, c): squared
    distances of all points.
    """

    centres: Any
    axes: Any
    residuals: Any


def first_flats(
    name: str, points: Any, dimensions: Sequence[int], affine: bool, random: np.random.Generator
) -> Flats:
    """Flats through the neighbours of points (m, p): "local", or in the manner of "k-means++".

    As there, a row is drawn by its distance from the flats so far, and of some drawn the one is
    kept whose flat leaves the least.
    """
    n, squared = points.shape[0], squared_lengths(points)
    nearest, weights, kept = namespace(points).full_like(squared, np.inf), None, []
    for k, dimension in enumerate(dimensions):
        n_drawn = n_trials(k, len(dimensions)) if name == "k-means++" else 1
        seeds = random.choice(n, min(n_drawn, n), p=weights)
        found = _through(points, squared, seeds, dimension, affine)
        best, nearest = _least(nearest, found.residuals)
        centre = None if found.centres is None else found.centres[best, ...]
        kept.append((centre, found.axes[best, ...]))
        weights = _shares(nearest) if name == "k-means++" else None
    return _as_flats(kept, points, np.array(dimensions, dtype=np.intp))


def _least(nearest: Any, residuals: Any) -> tuple[int, Any]:
    """Which flat leaves the least distance, and the distances from it or those before, (m,)."""
    xp = namespace(nearest)
    left = xp.minimum(nearest[:, None], residuals)
    best = int(np.argmin(to_host(xp.sum(left, axis=0))))
    return best, left[:, best]


def _shares(values: Any) -> Array | None:
    """Of their sum; None where there is none."""
    found = to_host(values, np.float64)
    total = found.sum()
    return found / total if total > 0.0 else None


def _through(points: Any, squared: Any, seeds: Indices, dimension: int, affine: bool) -> Through:
    """Flats through the neighbours of some points, and how far all points are from them."""
    xp = namespace(points)
    centres: Any = None
    near = _neighbours(points, squared, seeds, 2 * (dimension + 1), affine)
    distance = squared[:, None]
    if affine:
        centres = xp.mean(near, axis=1)
        near = near - centres[:, None, :]
        lengths = xp.sum(centres**2, axis=1)
        distance = distance - 2.0 * (points @ centres.T) + lengths[None, :]
    coefficients = _coefficients(to_host(near @ near.mT), dimension)
    axes = near.mT @ like(coefficients, points)
    columns = xp.reshape(xp.permute_dims(axes, (1, 0, 2)), (points.shape[1], -1))
    scores = xp.reshape(points @ columns, (points.shape[0], len(seeds), dimension))
    if affine:
        scores = scores - (centres[:, None, :] @ axes)[None, :, 0, :]
    residuals = xp.clip(distance - xp.vecdot(scores, scores), 0.0, None)
    return Through(centres, axes, residuals)


def _neighbours(points: Any, squared: Any, seeds: Indices, count: int, affine: bool) -> Any:
    """The points nearest to some, (c, count, p): by distance, or by angle without centres."""
    xp, p = namespace(points), points.shape[1]
    products = xp.take(points, like(seeds, points, xp.int64), axis=0) @ points.T
    if affine:
        distance = squared[None, :] - 2.0 * products
    else:
        tiny = float(xp.finfo(squared.dtype).smallest_normal)
        distance = -xp.abs(products) / xp.sqrt(squared + tiny)[None, :]
    near = xp.take(points, xp.reshape(_least_of_each(distance, count), (-1,)), axis=0)
    return xp.reshape(near, (len(seeds), -1, p))


def _least_of_each(distance: Any, count: int) -> Any:
    """Where the so many least of each row are, in any order."""
    if isinstance(distance, np.ndarray) and count < distance.shape[1]:
        return np.argpartition(distance, count - 1, axis=1)[:, :count]
    return namespace(distance).argsort(distance, axis=1)[:, :count]


def _coefficients(products: Array, dimension: int) -> Array:
    """Of the principal axes of points with these inner products, (c, m, R); zero for too many."""
    values, vectors = np.linalg.eigh(products)
    values, vectors = values[:, ::-1][:, :dimension], vectors[:, :, ::-1][:, :, :dimension]
    most = np.maximum(values, 0.0).max(axis=1, initial=np.finfo(float).tiny)
    there = values > DEPENDENT * most[:, None]
    return vectors * np.where(there, 1.0 / np.sqrt(np.where(there, values, 1.0)), 0.0)[:, None, :]


def _as_flats(found: list[tuple[Any, Any]], points: Any, dimensions: Indices) -> Flats:
    """As flats of rows that nothing more is known of."""
    (n, p), n_clusters, width = points.shape, len(found), max(*dimensions, 1)
    xp = namespace(points)
    wide = [
        xp.concat([axes, zeros_beside(axes, (p, width - axes.shape[1]))], axis=1)
        for _, axes in found
    ]
    centres: Any = np.zeros((n_clusters, p))
    if found[0][0] is not None:
        centres = xp.astype(xp.stack([centre for centre, _ in found]), xp.float64)
    ones, alike = np.ones((n_clusters, width)), np.full(n_clusters, n / n_clusters)
    alive = np.arange(width) < dimensions[:, None]
    axes = xp.astype(xp.stack(wide), xp.float64)
    return Flats(centres, axes, ones, alive, dimensions, alike, np.zeros(n_clusters), 1.0)
