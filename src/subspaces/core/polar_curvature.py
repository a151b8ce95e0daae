"""Squared polar curvature of the simplices of d + 2 points: how far they are from a d-flat.

``c^2(z_1, ..., z_d+2) = diam^2 sum_i psin_i^2``, where the polar sine at a vertex is
``psin_i = (d + 1)! volume / prod_j |z_j - z_i|`` [Chen & Lerman 2009]. It is zero where
the points share a d-flat and has the dimension of a squared length.

Here d + 1 vertices, the base, are given and the last is every point in turn. The volume then is
that of the base times the height of the point above it, so that one QR factorisation of the base
and its products with the points do; no determinant is taken.

==============  ==========  ===========  ===========================================================
symbol          name        shape        meaning
==============  ==========  ===========  ===========================================================
z_1 ... z_d+1   vertices    (b, d+1, p)  the bases, one a column of the result
z_d+2           points      (n, p)       the last vertex
psin_i          sines       (b, d+1)     of the base alone, squared
==============  ==========  ===========  ===========================================================
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]

# Squared distances come from inner products: below this share of the squared lengths is rounding.
ROUNDING = 1e-13
TINY = np.finfo(float).tiny


def squared_polar_curvature(points: Array, vertices: Array) -> Array:
    """Squared polar curvature of each point with each base, (n, b)."""
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
    """Squared volume times d!^2 (b,), squared polar sines (b, d+1), squared diameter (b,)."""
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
    """From the first vertex to the others, as columns, (b, p, d)."""
    return np.swapaxes(vertices[:, 1:] - vertices[:, :1], 1, 2)


def _squared_heights(points: Array, lengths: Array, vertices: Array) -> Array:
    """Squared distances of the points from the flats through the bases; 0 within rounding."""
    first = vertices[:, 0]
    heights = _squared_distances(points, lengths, first)
    rounding = ROUNDING * (lengths[:, None] + np.einsum("bp,bp->b", first, first))
    axes = np.linalg.qr(_edges(vertices))[0]
    for j in range(axes.shape[2]):
        heights -= (points @ axes[:, :, j].T - np.einsum("bp,bp->b", first, axes[:, :, j])) ** 2
    return np.where(heights > rounding, heights, 0.0)


def _squared_distances(points: Array, lengths: Array, others: Array) -> Array:
    """``|x|^2 + |z|^2 - 2 x.z``, (n, b)."""
    squared = lengths[:, None] + np.einsum("bp,bp->b", others, others) - 2.0 * (points @ others.T)
    return np.maximum(squared, 0.0)
