"""The named starts for rows on a device, found where the rows are.

Only what is small, a few inner products and one weight a row, is seen in main memory.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subspaces.core.array_namespace import like, namespace, to_host, transposed, zeros_beside
from subspaces.data.block_pass import squared_lengths
from subspaces.data.flats import Flats
from subspaces.starts.seeding import kmeans_parallel

Array = NDArray[np.floating]
Indices = NDArray[np.intp]

# Inner products of neighbours with a smaller eigenvalue than this share of the largest span less.
DEPENDENT = 1e-6


class Through(NamedTuple):
    """Flats through the neighbours of some points: centres (c, p), None for the origin; axes."""

    centres: Any
    axes: Any


def random_labels(
    points: Any, dimensions: Sequence[int], affine: bool, random: np.random.Generator
) -> Indices:
    """A cluster drawn for each point (m, p), in main memory; sizes differ as chance has it."""
    return random.integers(len(dimensions), size=points.shape[0])


def local_flats(
    points: Any, dimensions: Sequence[int], affine: bool, random: np.random.Generator
) -> Flats:
    """Flats through the neighbours of random points among points (m, p)."""
    seeds = random.permutation(points.shape[0])[: len(dimensions)]
    return _flats_through(points, squared_lengths(points), seeds, dimensions, affine)


def spread_flats(
    points: Any, dimensions: Sequence[int], affine: bool, random: np.random.Generator
) -> Flats:
    """Flats through the neighbours of points (m, p) that lie far from each other's flats."""
    squared = squared_lengths(points)

    def around(seeds: Indices, dimension: int) -> Array:
        found = _through(points, squared, seeds, dimension, affine)
        return to_host(_residuals(points, squared, found))

    seeds = kmeans_parallel(around, points.shape[0], dimensions, random)
    return _flats_through(points, squared, seeds, dimensions, affine)


def _flats_through(
    points: Any, squared: Any, seeds: Indices, dimensions: Sequence[int], affine: bool
) -> Flats:
    """One flat for each cluster, of its dimension, through the neighbours of its seed."""
    kept: list[Any] = [None] * len(dimensions)
    for dimension in set(dimensions):
        which = np.flatnonzero(np.equal(dimensions, dimension))
        found = _through(points, squared, seeds[which], dimension, affine)
        for i, k in enumerate(which):
            kept[k] = (None if found.centres is None else found.centres[i, ...], found.axes[i, ...])
    return _as_flats(kept, points, np.array(dimensions, dtype=np.intp))


def _through(points: Any, squared: Any, seeds: Indices, dimension: int, affine: bool) -> Through:
    """Flats through the neighbours of some points; axes (c, p, R)."""
    centres: Any = None
    near = _neighbours(points, squared, seeds, 2 * (dimension + 1), affine)
    if affine:
        centres = namespace(points).mean(near, axis=1)
        near = near - centres[:, None, :]
    coefficients = _coefficients(to_host(near @ transposed(near)), dimension)
    return Through(centres, transposed(near) @ like(coefficients, points))


def _residuals(points: Any, squared: Any, flats: Through) -> Any:
    """Squared distances (c, m) of all points from flats."""
    xp, (n_flats, p, dimension) = namespace(points), flats.axes.shape
    axes = xp.reshape(transposed(flats.axes), (n_flats * dimension, p))
    scores = xp.reshape(axes @ points.T, (n_flats, dimension, points.shape[0]))
    distance = squared[None, :]
    if flats.centres is not None:
        lengths = xp.sum(flats.centres**2, axis=1)
        distance = distance - 2.0 * (flats.centres @ points.T) + lengths[:, None]
        scores = scores - transposed(flats.centres[:, None, :] @ flats.axes)
    return xp.clip(distance - xp.vecdot(scores, scores, axis=-2), 0.0, None)


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
