"""Spectral curvature clustering: columns of a multi-way affinity, drawn again and again.

One column of the affinity belongs to n - 1 drawn points and holds, for every other point,
``exp(-c^2 / 2 sigma)`` of the polar curvature c of the n points together; n = d + 2, or d + 1 with
the origin as one more vertex where the flats are linear. Points with like rows are in a cluster:
the leading left singular vectors of the (N x columns) matrix, rows scaled by the root of their
degree. sigma is tried at several ranks of the curvatures, and the clusters with the least mean
squared distance from their flats are kept. Columns are then drawn within the clusters
[Chen & Lerman 2009].
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subspaces.core.eigenpairs import largest_eigenpairs
from subspaces.core.flat_error import mean_squared_distance
from subspaces.core.polar_curvature import ROUNDING, squared_polar_curvature
from subspaces.core.spectral import rows_to_labels

Array = NDArray[np.floating]
Labels = NDArray[np.intp]

# Another round is worth its while if the last lowered the error by this share.
WORTH = 0.01


@dataclass(frozen=True)
class CurvatureClustering:
    """Labels of the best round, the error of each, and whether they ended on their own."""

    labels: Labels
    errors: Array
    settled: bool


@dataclass(frozen=True)
class Flats:
    """What is looked for: so many flats of one dimension, through the origin or not."""

    n_clusters: int
    dimension: int
    linear: bool

    @property
    def n_drawn(self) -> int:
        """Points drawn for a column, n - 1."""
        return self.dimension if self.linear else self.dimension + 1


def curvature_clustering(
    points: Array, flats: Flats, n_columns: int, max_iter: int, random: np.random.Generator
) -> CurvatureClustering:
    """Rounds of sampling until the error stops falling; the best round's labels."""
    energy = float(np.mean(np.sum(points**2, axis=1)))
    points = points / np.sqrt(energy)
    labels = best = np.zeros(len(points), dtype=np.intp)
    errors = [np.inf]
    settled = False
    while len(errors) <= max_iter and not settled:
        labels, error = _round(points, labels, flats, n_columns, random)
        best = labels if error < min(errors) else best
        stalled = len(errors) >= flats.dimension and error > (1.0 - WORTH) * errors[-1]
        settled = stalled or error <= ROUNDING
        errors.append(error)
    return CurvatureClustering(best, energy * np.array(errors[1:]), settled)


def column_embedding(affinity: Array, n_vectors: int) -> Array:
    """Leading left singular vectors of the rows over the root of their degrees, (n, n_vectors)."""
    degrees = affinity @ affinity.sum(axis=0)
    scaled = affinity / np.sqrt(np.where(degrees > 0, degrees, 1.0))[:, None]
    values, right = largest_eigenpairs(scaled.T @ scaled, n_vectors)
    return scaled @ (right / np.sqrt(np.maximum(values, np.finfo(float).eps * values[-1])))


def scales(curvatures: Array, flats: Flats) -> Array:
    """sigma: the curvatures of rank ``N' c / K^p``, p = 1 .. n - 1, none below rounding."""
    n, n_columns = curvatures.shape
    counted = (n - flats.n_drawn) * n_columns
    powers = float(flats.n_clusters) ** np.arange(1, flats.n_drawn + 1)
    ranks = np.unique(np.ceil(counted / powers).astype(int)) - 1
    found = np.partition(curvatures.ravel(), ranks)[ranks]
    return np.unique(np.maximum(found, ROUNDING))


def _round(
    points: Array, labels: Labels, flats: Flats, n_columns: int, random: np.random.Generator
) -> tuple[Labels, float]:
    """Draw columns within the clusters, cut at every sigma, keep the cut of least error."""
    curvatures = _columns(points, labels, flats, n_columns, random)
    best, least = labels, np.inf
    for sigma in scales(curvatures, flats):
        affinity = np.exp(curvatures / (-2.0 * sigma))
        vectors = column_embedding(affinity, flats.n_clusters)
        found = rows_to_labels(vectors, flats.n_clusters, random)
        error = mean_squared_distance(points, found, flats.dimension, not flats.linear)
        if error < least:
            best, least = found, error
    return best, least


def _columns(
    points: Array, labels: Labels, flats: Flats, n_columns: int, random: np.random.Generator
) -> Array:
    """Squared curvatures (n, n_columns); infinite, an affinity of 0, at the points drawn."""
    n, p = points.shape
    blocks = []
    n_groups = int(labels.max()) + 1
    for k, share in enumerate(np.array_split(np.arange(n_columns), n_groups)):
        members = np.flatnonzero(labels == k)
        members = members if len(members) > flats.n_drawn else np.arange(n)
        drawn = np.array([random.choice(members, flats.n_drawn, replace=False) for _ in share])
        vertices = points[drawn]
        if flats.linear:
            vertices = np.concatenate([np.zeros((len(drawn), 1, p)), vertices], axis=1)
        block = squared_polar_curvature(points, vertices)
        block[drawn, np.arange(len(drawn))[:, None]] = np.inf
        blocks.append(block)
    return np.hstack(blocks)
