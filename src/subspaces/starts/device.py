"""The starts for rows on a device: subspaces through some of the rows, and a graph of neighbours.

They are found there. Only a few inner products, one weight for each row, and the neighbours that
make a graph come to main memory.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from subspaces._types import AnyArray, Array, Indices
from subspaces.core.array import like, namespace, to_host, transposed, zeros_like
from subspaces.data.block_pass import squared_lengths
from subspaces.data.subspaces import Subspaces
from subspaces.starts.graphs import MOST_NEIGHBOURS, angular_affinity
from subspaces.starts.sampled_subspaces import kmeans_parallel
from subspaces.starts.spectral import cut, normalised

# From points (m, p) of any array library, the dimension of each cluster, whether subspaces have
# centres of their own, and a generator: subspaces on that device, or labels (m,) in main memory.
DeviceStart = Callable[[AnyArray, Sequence[int], bool, np.random.Generator], Subspaces | Indices]

# Eigenvalues of the neighbours' inner products below this share of the largest count as zero,
# because single precision rounds that much.
DEPENDENT = 1e-6


class Through(NamedTuple):
    """c subspaces, each through the neighbours of one point.

    centres (c, p), None if all are the origin; axes (c, p, R).
    """

    centres: AnyArray | None
    axes: AnyArray


def random_labels(
    points: AnyArray, dimensions: Sequence[int], affine: bool, random: np.random.Generator
) -> Indices:
    """Return a random cluster for each point, (m,), in main memory; sizes vary by chance."""
    return random.integers(len(dimensions), size=points.shape[0])


def local_subspaces(
    points: AnyArray, dimensions: Sequence[int], affine: bool, random: np.random.Generator
) -> Subspaces:
    """Return K subspaces, each through the neighbours of a random one of the points (m, p)."""
    seeds = random.permutation(points.shape[0])[: len(dimensions)]
    return _subspaces_through(points, squared_lengths(points), seeds, dimensions, affine)


def kmeans_parallel_subspaces(
    points: AnyArray, dimensions: Sequence[int], affine: bool, random: np.random.Generator
) -> Subspaces:
    """Return K subspaces, each through the neighbours of one of K points that lie far apart."""
    squared = squared_lengths(points)

    def around(seeds: Indices, dimension: int) -> Array:
        found = _through(points, squared, seeds, dimension, affine)
        return to_host(_residuals(points, squared, found))

    seeds = kmeans_parallel(around, points.shape[0], dimensions, random)
    return _subspaces_through(points, squared, seeds, dimensions, affine)


def angular_labels(
    points: AnyArray, dimensions: Sequence[int], affine: bool, random: np.random.Generator
) -> Indices:
    """Return labels (m,) in main memory: the cut of the graph of neighbours by angle.

    The neighbours are found on the device and fetched; the graph is sparse.
    """
    xp, n = namespace(points), points.shape[0]
    if affine:  # as `self_expression.lifted_rows`
        centred = points - xp.mean(points, axis=0)
        rms = float(xp.mean(squared_lengths(centred))) ** 0.5
        ones = zeros_like(points, (n, 1)) + (rms if rms > 0 else 1.0)
        points = xp.concat([centred, ones], axis=1)
    tiny = float(xp.finfo(points.dtype).smallest_normal)
    unit = points / xp.sqrt(squared_lengths(points) + tiny)[:, None]
    away = -xp.abs(unit @ unit.T)
    numbers = like(np.arange(n), away, xp.int64)
    away = xp.where(numbers[:, None] == numbers, 1.0, away)
    columns = _least_of_each(away, min(MOST_NEIGHBOURS, n - 1))
    places = xp.reshape(columns + n * numbers[:, None], (-1,))
    cosines = xp.reshape(-xp.take(xp.reshape(away, (-1,)), places), columns.shape)
    graph = angular_affinity(to_host(columns, np.intp), to_host(cosines, np.float64).clip(0.0, 1.0))
    return cut(normalised(graph), len(dimensions), random, -(-3 * len(dimensions) // 2))


def portfolio(dimensions: Sequence[int]) -> list[tuple[str, DeviceStart]]:
    """Return names and starts for rows on a device; graphs only if all dimensions are equal."""
    through = ("k-means++", kmeans_parallel_subspaces)
    return [through, ("angular", angular_labels)] if len(set(dimensions)) == 1 else [through]


def _subspaces_through(
    points: AnyArray, squared: AnyArray, seeds: Indices, dimensions: Sequence[int], affine: bool
) -> Subspaces:
    """Return one subspace per cluster, of its dimension, through the neighbours of its seed.

    squared (m,): squared lengths of the points; seeds (K,): a point's number for each cluster.
    """
    kept: dict[int, tuple[AnyArray | None, AnyArray]] = {}
    for dimension in set(dimensions):
        which = np.flatnonzero(np.equal(dimensions, dimension))
        found = _through(points, squared, seeds[which], dimension, affine)
        for i, k in enumerate(which.tolist()):
            kept[k] = (None if found.centres is None else found.centres[i, ...], found.axes[i, ...])
    return _as_subspaces(
        [kept[k] for k in range(len(dimensions))], points, np.array(dimensions, dtype=np.intp)
    )


def _through(
    points: AnyArray, squared: AnyArray, seeds: Indices, dimension: int, affine: bool
) -> Through:
    """Return a subspace of one dimension for each seed, through 2 (dimension + 1) neighbours."""
    centres: AnyArray | None = None
    near = _neighbours(points, squared, seeds, 2 * (dimension + 1), affine)
    if affine:
        centres = namespace(points).mean(near, axis=1)
        near = near - centres[:, None, :]
    coefficients = _coefficients(to_host(near @ transposed(near)), dimension)
    return Through(centres, transposed(near) @ like(coefficients, points))


def _residuals(points: AnyArray, squared: AnyArray, subspaces: Through) -> AnyArray:
    """Return the squared distances (c, m) of all points from c subspaces."""
    xp, (count, p, dimension) = namespace(points), subspaces.axes.shape
    axes = xp.reshape(transposed(subspaces.axes), (count * dimension, p))
    scores = xp.reshape(axes @ points.T, (count, dimension, points.shape[0]))
    distance = squared[None, :]
    if subspaces.centres is not None:
        lengths = xp.sum(subspaces.centres**2, axis=1)
        distance = distance - 2.0 * (subspaces.centres @ points.T) + lengths[:, None]
        scores = scores - transposed(subspaces.centres[:, None, :] @ subspaces.axes)
    return xp.clip(distance - xp.vecdot(scores, scores, axis=-2), 0.0, None)


def _neighbours(
    points: AnyArray, squared: AnyArray, seeds: Indices, count: int, affine: bool
) -> AnyArray:
    """Return the points nearest to each seed, (c, count, p), by distance or (not affine) angle."""
    xp, p = namespace(points), points.shape[1]
    products = xp.take(points, like(seeds, points, xp.int64), axis=0) @ points.T
    if affine:
        distance = squared[None, :] - 2.0 * products
    else:
        tiny = float(xp.finfo(squared.dtype).smallest_normal)
        distance = -xp.abs(products) / xp.sqrt(squared + tiny)[None, :]
    near = xp.take(points, xp.reshape(_least_of_each(distance, count), (-1,)), axis=0)
    return xp.reshape(near, (len(seeds), -1, p))


def _least_of_each(distance: AnyArray, count: int) -> AnyArray:
    """Return the columns of the ``count`` smallest values of each row, (c, count), in any order."""
    if isinstance(distance, np.ndarray) and count < distance.shape[1]:
        return np.argpartition(distance, count - 1, axis=1)[:, :count]
    return namespace(distance).argsort(distance, axis=1)[:, :count]


def _coefficients(products: Array, dimension: int) -> Array:
    """Return coefficients (c, m, R) that combine m points into their R leading principal axes.

    products (c, m, m): the inner products of the points. Coefficients of axes that the points do
    not span are zero.
    """
    values, vectors = np.linalg.eigh(products)
    values, vectors = values[:, ::-1][:, :dimension], vectors[:, :, ::-1][:, :, :dimension]
    most = np.maximum(values, 0.0).max(axis=1, initial=np.finfo(float).tiny)
    there = values > DEPENDENT * most[:, None]
    return vectors * np.where(there, 1.0 / np.sqrt(np.where(there, values, 1.0)), 0.0)[:, None, :]


def _as_subspaces(
    found: list[tuple[AnyArray | None, AnyArray]], points: AnyArray, dimensions: Indices
) -> Subspaces:
    """Return pairs of centre and axes as `Subspaces`; unknown sizes and energies are set alike."""
    (n, p), n_clusters, width = points.shape, len(found), max(*dimensions, 1)
    xp = namespace(points)
    wide = [
        xp.concat([axes, zeros_like(axes, (p, width - axes.shape[1]))], axis=1) for _, axes in found
    ]
    centres: Any = np.zeros((n_clusters, p))
    if found[0][0] is not None:
        centres = xp.astype(xp.stack([centre for centre, _ in found]), xp.float64)
    ones, alike = np.ones((n_clusters, width)), np.full(n_clusters, n / n_clusters)
    alive = np.arange(width) < dimensions[:, None]
    axes = xp.astype(xp.stack(wide), xp.float64)
    return Subspaces(centres, axes, ones, alive, dimensions, alike, np.zeros(n_clusters), 1.0)
