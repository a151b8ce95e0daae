"""From vanishing polynomials to labels: for hyperplanes, and by votes for unequal dimensions.

Hyperplanes: one polynomial vanishes, and its gradient at a row is the normal of the row's
hyperplane. The affinity of two rows, the ``cos^2`` between their normals b and c, is
``<b b^T, c c^T>``: the graph is cut from a factor (n, D(D+1)/2), without an n x n matrix [VMS2005].

Votes: at each row the leading directions of all gradients are a candidate for the normals of the
row's subspace. Rows vote for the candidates near their own; the winner takes its voters, and the
next is sought among the other rows, the smallest dimension first [MYDF2008].

A subspace is a cone, so each row is scaled to unit length. A zero row lies in every subspace.
`VMS2005` and `MYDF2008` are listed in `vanishing_polynomials`.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from subspaces.core.spectral import rows_to_labels
from subspaces.core.vanishing_polynomials import blocks, gradients, n_vanishing, vanishing

Array = NDArray[np.floating]
Labels = NDArray[np.intp]

# Rows whose normals stand for election; drawn where there are more.
CANDIDATES = 500


def homogeneous(rows: Array) -> Array:
    """Append a constant to centred rows: flats off the origin become subspaces, one larger.

    The constant is the root mean square length of the rows, so that units do not matter.
    """
    length = np.sqrt(np.mean(np.sum(rows**2, axis=1)))
    return np.column_stack([rows, np.full(len(rows), length)])


def unit_rows(rows: Array) -> Array:
    """Scale each row to unit length; a zero row stays zero."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)


def hyperplane_labels(rows: Array, n_clusters: int, random: np.random.Generator) -> Labels:
    """Cluster rows of hyperplanes through the origin."""
    return cut_by_normals(hyperplane_normals(rows, n_clusters), n_clusters, random)


def hyperplane_normals(rows: Array, n_clusters: int) -> Array:
    """Unit gradient of the one vanishing polynomial at each row, (n, D)."""
    return unit_rows(_at_each_row(rows, n_clusters, 1, lambda gradient: gradient[:, 0]))


def cut_by_normals(normals: Array, n_clusters: int, random: np.random.Generator) -> Labels:
    """Spectral clustering of the rows by the cos^2 between their normals."""
    factor = projectors(normals[:, :, None])
    degrees = factor @ factor.sum(axis=0)
    scaled = factor / np.sqrt(np.where(degrees > 0, degrees, 1.0))[:, None]
    left = linalg.svd(scaled, full_matrices=False, check_finite=False)[0]
    return rows_to_labels(left[:, :n_clusters], n_clusters, random)


def projectors(bases: Array) -> Array:
    """``B B^T`` of bases (n, D, c) as vectors (n, D(D+1)/2) whose inner products are traces."""
    upper, lower = np.triu_indices(bases.shape[1])
    entries = np.einsum("nic,nic->ni", bases[:, upper], bases[:, lower])
    return entries * np.where(upper == lower, 1.0, np.sqrt(2.0))


def vote_labels(
    rows: Array, dimensions: Sequence[int], tolerance: float, random: np.random.Generator
) -> Labels:
    """Cluster rows of subspaces of any dimensions; cluster k has ``dimensions[k]``.

    A cluster as large as the space has no polynomial: it gets the rows that lie further than half
    the tolerance from all other subspaces.
    """
    rows = unit_rows(rows)
    smaller = [k for k, r in enumerate(dimensions) if r < rows.shape[1]]
    sizes = [dimensions[k] for k in smaller]
    elected = elect(*normal_directions(rows, sizes), sizes, tolerance, random)
    sines = np.full((len(rows), len(dimensions)), np.sin(tolerance / 2))
    for k, normals in zip(smaller, elected, strict=True):
        sines[:, k] = np.linalg.norm(rows @ normals, axis=1)
    return np.argmin(sines, axis=1)


def normal_directions(rows: Array, dimensions: Sequence[int]) -> tuple[Array, Array]:
    """Principal directions of all gradients at each row, (n, D, D), and their lengths (n, D)."""
    count = n_vanishing(dimensions, rows.shape[1])
    scatter = _at_each_row(rows, len(dimensions), count, lambda g: g.transpose(0, 2, 1) @ g)
    values, vectors = np.linalg.eigh(scatter)
    return vectors[:, :, ::-1], np.sqrt(np.maximum(values[:, ::-1], 0.0))


def elect(
    directions: Array,
    lengths: Array,
    dimensions: Sequence[int],
    tolerance: float,
    random: np.random.Generator,
) -> list[Array]:
    """Normals (D, c) of each cluster, in the order of the dimensions given."""
    elected: dict[int, Array] = {}
    free = np.ones(len(lengths), dtype=bool)
    for k in np.argsort(dimensions, kind="stable"):
        codimension = lengths.shape[1] - int(dimensions[k])
        bases = directions[:, :, :codimension]
        weights = free * clearness(lengths, codimension)
        weights = weights if weights.any() else np.ones(len(lengths))
        votes = _votes_for_winner(projectors(bases), weights, codimension, tolerance, random)
        elected[int(k)] = mean_space(bases, weights * votes)
        free &= votes == 0
    return [elected[k] for k in range(len(dimensions))]


def clearness(lengths: Array, codimension: int) -> Array:
    """How clearly the gradients at a row span just so many directions: the gap in the lengths."""
    gap, longest = lengths[:, codimension - 1] - lengths[:, codimension], lengths[:, 0]
    return np.divide(gap, longest, out=np.zeros_like(gap), where=longest > 0)


def mean_space(bases: Array, weights: Array) -> Array:
    """Leading directions (D, c) of the weighted mean of the projectors on bases (n, D, c)."""
    mean = np.tensordot(bases * weights[:, None, None], bases, axes=((0, 2), (0, 2)))
    return np.linalg.eigh(mean)[1][:, ::-1][:, : bases.shape[2]]


def _votes_for_winner(
    spaces: Array,
    weights: Array,
    codimension: int,
    tolerance: float,
    random: np.random.Generator,
) -> Array:
    """The vote of each row for the candidate that has most."""
    running = np.flatnonzero(weights)
    if len(running) > CANDIDATES:
        running = random.choice(running, CANDIDATES, replace=False)
    width = len(running)
    totals = sum(
        weight @ _votes(part, spaces[running], codimension, tolerance)
        for part, weight in zip(blocks(spaces, width), blocks(weights, width), strict=True)
    )
    winner = spaces[running[[np.argmax(totals)]]]
    return _votes(spaces, winner, codimension, tolerance)[:, 0]


def _votes(spaces: Array, candidates: Array, codimension: int, tolerance: float) -> Array:
    """The vote of each space for each candidate: 1 if they coincide, 0 from the tolerance on.

    The squared sine of the angle between two spaces is the sum over their principal angles.
    """
    squared_sines = codimension - spaces @ candidates.T
    return np.clip(1.0 - squared_sines / np.sin(tolerance) ** 2, 0.0, 1.0)


def _at_each_row(
    rows: Array, degree: int, n_polynomials: int, summary: Callable[[Array], Array]
) -> Array:
    """What the gradients (n, m, D) of the vanishing polynomials say, block by block."""
    rows = unit_rows(rows)
    coefficients = vanishing(rows, degree, n_polynomials)
    width = max(len(coefficients), n_polynomials * rows.shape[1])
    parts = [summary(gradients(block, coefficients, degree)) for block in blocks(rows, width)]
    return np.concatenate(parts)
