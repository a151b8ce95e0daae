"""Spectral curvature clustering (SCC) [Chen & Lerman 2009].

The squared polar curvature of d + 2 points says how far they are from one d-dimensional flat:

    c^2(z_1, ..., z_d+2) = diam^2 sum_i psin_i^2,   psin_i = (d + 1)! volume / prod_j |z_j - z_i|

It is zero if the points share a flat, and has the unit of a squared length. One column of the
multi-way affinity belongs to d + 1 drawn points and holds ``exp(-c^2 / 2 sigma)`` for every other
point; linear subspaces take d drawn points and the origin. Points whose rows of the (n, columns)
affinity are alike share a cluster: the rows, divided by the root of their degrees, are clustered by
their leading left singular vectors. Several sigma are tried, and the clusters with the least mean
squared distance from their subspaces are kept. The next round draws its columns within them.

==============  ==========  ===========  ===========================================================
symbol          name        shape        meaning
==============  ==========  ===========  ===========================================================
z_1 ... z_d+1   vertices    (b, d+1, p)  the drawn points: one base for each column
z_d+2           points      (n, p)       the last vertex: every point in turn
psin_i          sines       (b, d+1)     polar sines of the base alone, squared
==============  ==========  ===========  ===========================================================
"""

from dataclasses import dataclass

import numpy as np

from subspaces._types import Array, Labels
from subspaces.rivals.subspace_error import DISTANCE_ROUNDING, mean_squared_distance
from subspaces.starts.spectral import rows_to_labels
from subspaces.subspace import largest_eigenpairs

# The rounds end when one lowers the error by less than this share of the error before it.
LEAST_FALL = 0.01
TINY = np.finfo(float).tiny


@dataclass(frozen=True)
class Arrangement:
    """The number of subspaces, their common dimension, and whether they are linear."""

    n_clusters: int
    dimension: int
    linear: bool

    @property
    def n_drawn(self) -> int:
        """The number of points drawn for one column of the affinity."""
        return self.dimension if self.linear else self.dimension + 1


@dataclass(frozen=True)
class CurvatureClustering:
    """Labels (n,) of the best round, the errors of all rounds, and whether they stopped falling."""

    labels: Labels
    errors: Array
    settled: bool


def curvature_clustering(
    points: Array, sought: Arrangement, n_columns: int, max_iter: int, random: np.random.Generator
) -> CurvatureClustering:
    """Return the labels of the best round; the rounds end when the error stops falling.

    sought: what to find; n_columns: columns of the affinity in each round.
    """
    energy = float(np.mean(np.sum(points**2, axis=1)))
    points = points / np.sqrt(energy)
    labels = best = np.zeros(len(points), dtype=np.intp)
    errors = [np.inf]
    settled = False
    while len(errors) <= max_iter and not settled:
        labels, error = _round(points, labels, sought, n_columns, random)
        best = labels if error < min(errors) else best
        stalled = len(errors) >= sought.dimension and error > (1.0 - LEAST_FALL) * errors[-1]
        settled = stalled or error <= DISTANCE_ROUNDING
        errors.append(error)
    return CurvatureClustering(best, energy * np.array(errors[1:]), settled)


def column_embedding(affinity: Array, n_vectors: int) -> Array:
    """Return the leading left singular vectors (n, n_vectors) of an affinity (n, columns).

    Each row is divided by the root of its degree first.
    """
    degrees = affinity @ affinity.sum(axis=0)
    scaled = affinity / np.sqrt(np.where(degrees > 0, degrees, 1.0))[:, None]
    values, right = largest_eigenpairs(scaled.T @ scaled, n_vectors)
    return scaled @ (right / np.sqrt(np.maximum(values, np.finfo(float).eps * values[-1])))


def scales(curvatures: Array, sought: Arrangement) -> Array:
    """Return the values of sigma to try: the curvatures of rank ``N / K^q``, q = 1 .. n_drawn.

    curvatures (n, columns), squared; N counts those that do not belong to drawn points. No sigma is
    below rounding.
    """
    n, n_columns = curvatures.shape
    counted = (n - sought.n_drawn) * n_columns
    powers = float(sought.n_clusters) ** np.arange(1, sought.n_drawn + 1)
    ranks = np.unique(np.ceil(counted / powers).astype(int)) - 1
    found = np.partition(curvatures.ravel(), ranks)[ranks]
    return np.unique(np.maximum(found, DISTANCE_ROUNDING))


def _round(
    points: Array, labels: Labels, sought: Arrangement, n_columns: int, random: np.random.Generator
) -> tuple[Labels, float]:
    """Return the labels (n,) of least error over all sigma, and that error.

    The columns are drawn within the clusters of the given labels.
    """
    curvatures = _columns(points, labels, sought, n_columns, random)
    best, least = labels, np.inf
    for sigma in scales(curvatures, sought):
        affinity = np.exp(curvatures / (-2.0 * sigma))
        vectors = column_embedding(affinity, sought.n_clusters)
        found = rows_to_labels(vectors, sought.n_clusters, random)
        error = mean_squared_distance(points, found, sought.dimension, affine=not sought.linear)
        if error < least:
            best, least = found, error
    return best, least


def _columns(
    points: Array, labels: Labels, sought: Arrangement, n_columns: int, random: np.random.Generator
) -> Array:
    """Return squared curvatures (n, n_columns); infinite (affinity 0) at a column's own points."""
    n, p = points.shape
    blocks = []
    n_groups = int(labels.max()) + 1
    for k, share in enumerate(np.array_split(np.arange(n_columns), n_groups)):
        members = np.flatnonzero(labels == k)
        # A cluster with too few points to draw from draws from all of them.
        members = members if len(members) > sought.n_drawn else np.arange(n)
        drawn = np.array([random.choice(members, sought.n_drawn, replace=False) for _ in share])
        vertices = points[drawn]
        if sought.linear:
            vertices = np.concatenate([np.zeros((len(drawn), 1, p)), vertices], axis=1)
        block = squared_polar_curvature(points, vertices)
        block[drawn, np.arange(len(drawn))[:, None]] = np.inf
        blocks.append(block)
    return np.hstack(blocks)


def squared_polar_curvature(points: Array, vertices: Array) -> Array:
    """Return the squared polar curvature of each point with each base, (n, b).

    The volume is that of the base times the height of the point above it. So one QR factorisation
    of each base and its products with the points are enough; no determinant is taken.
    """
    centre = points.mean(axis=0)
    points, vertices = points - centre, vertices - centre
    volumes, sines, widest = _bases(vertices)
    lengths = np.einsum("ij,ij->i", points, points)
    heights = _squared_heights(points, lengths, vertices)
    diameters = np.repeat(widest[None], len(points), axis=0)
    at_base, product = np.zeros_like(heights), np.ones_like(heights)
    for i in range(vertices.shape[1]):
        distances = _squared_distances(points, lengths, vertices[:, i])
        np.maximum(diameters, distances, out=diameters)
        product *= distances
        np.maximum(distances, heights, out=distances)
        at_base += sines[:, i] * heights / np.maximum(distances, TINY)
    at_point = np.minimum(volumes * heights / np.maximum(product, TINY), 1.0)
    return diameters * (at_base + at_point)


def _bases(vertices: Array) -> tuple[Array, Array, Array]:
    """Return d!^2 volume^2 (b,), squared polar sines (b, d+1), squared diameters (b,) of bases."""
    triangles = np.linalg.qr(_edges(vertices), mode="r")
    volumes = np.prod(np.diagonal(triangles, axis1=1, axis2=2) ** 2, axis=1)
    differences = vertices[:, :, None] - vertices[:, None]
    distances = np.einsum("bijp,bijp->bij", differences, differences)
    widest = distances.max(axis=(1, 2))
    each = np.arange(vertices.shape[1])
    distances[:, each, each] = 1.0
    products = distances.prod(axis=2)
    sines = np.minimum(volumes[:, None] / np.maximum(products, TINY), 1.0)
    return volumes, sines, widest


def _edges(vertices: Array) -> Array:
    """Return the edges from the first vertex to the others, as columns, (b, p, d)."""
    return np.swapaxes(vertices[:, 1:] - vertices[:, :1], 1, 2)


def _squared_heights(points: Array, lengths: Array, vertices: Array) -> Array:
    """Return squared distances (n, b) of points from the bases' affine spans; 0 within rounding."""
    first = vertices[:, 0]
    heights = _squared_distances(points, lengths, first)
    rounding = DISTANCE_ROUNDING * (lengths[:, None] + np.einsum("bp,bp->b", first, first))
    axes = np.linalg.qr(_edges(vertices))[0]
    for j in range(axes.shape[2]):
        heights -= (points @ axes[:, :, j].T - np.einsum("bp,bp->b", first, axes[:, :, j])) ** 2
    return np.where(heights > rounding, heights, 0.0)


def _squared_distances(points: Array, lengths: Array, others: Array) -> Array:
    """Return ``|x|^2 + |z|^2 - 2 x.z``, (n, b); lengths (n,): the ``|x|^2`` of the points."""
    squared = lengths[:, None] + np.einsum("bp,bp->b", others, others) - 2.0 * (points @ others.T)
    return np.maximum(squared, 0.0)
