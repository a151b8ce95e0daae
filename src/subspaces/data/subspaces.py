"""`Subspaces`: those of all K clusters as batched arrays, and how they follow from sums over rows.

(One cluster's subspace, as users see it, is `subspaces.subspace.Subspace`; `to_subspaces` and
`from_subspaces` convert between the two.)

Between two passes over the rows the clusters are known by sums: sizes, sums of rows, and either
scatter matrices (few variables) or the images ``S_k V_k`` of the present axes (many variables),
from which one step of subspace iteration gives the next axes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Self, TypeVar

import numpy as np

from subspaces._types import AnyArray, Array, Counts, Indices, Mask
from subspaces.core.array import like, namespace, to_host, transposed
from subspaces.core.partition import as_divisors
from subspaces.runtime.threads import cached_property
from subspaces.subspace import Subspace, largest_eigenpairs

# Up to this many variables, sum whole scatter matrices. Above it, K p^2 numbers are too many.
MOST_VARIABLES = 200
# Below this ratio of squared singular values the eigenvectors of the small Gram matrix have lost
# half of their digits, and a singular value decomposition is taken instead.
CONDITION = 1e-8
# An energy below this counts as none: its inverse would leave the range of double precision.
FAINTEST = 1e-300

Kept = TypeVar("Kept", bound=AnyArray)


@dataclass(frozen=True)
class Subspaces:
    """K subspaces as batched arrays; beyond its dimension a cluster has zero axes of energy one.

    centres (K, p); axes (K, p, R), orthonormal; spectra (K, R): the energy of the members along the
    axes; alive (K, R): which axes have energy above zero; dimensions (K,); sizes (K,): numbers of
    members; energy (K,): the members' squared distances from the centres, summed; noise: the
    variance around the subspaces. Centres and axes may be on a device.
    """

    centres: AnyArray
    axes: AnyArray
    spectra: Array
    alive: Mask
    dimensions: Counts
    sizes: Array
    energy: Array
    noise: float

    @property
    def in_use(self) -> Mask:
        """Which axes lie within their cluster's dimension, (K, R)."""
        return np.arange(self.alive.shape[1]) < self.dimensions[:, None]

    @property
    def dead(self) -> Mask:
        """Whether one of a cluster's axes has no energy, (K,)."""
        return np.any(self.in_use & ~self.alive, axis=1)

    @property
    def residual(self) -> Array:
        """Sum of the members' squared distances from their subspace, (K,)."""
        captured = np.where(self.in_use & self.alive, self.spectra, 0.0).sum(axis=1)
        return np.maximum(self.energy - captured, 0.0)

    @cached_property
    def linear(self) -> bool:
        """Whether all centres are the origin."""
        return isinstance(self.centres, np.ndarray) and not self.centres.any()

    @property
    def shift_and_lengths(self) -> tuple[Array, Array]:
        """Coordinates ``c_k V_k`` of the centres, (K, R), and their squared lengths, (K,)."""
        if self.linear:
            return np.zeros_like(self.spectra), np.zeros(len(self.spectra))
        shift = (self.centres[:, None, :] @ self.axes)[:, 0, :]
        return to_host(shift), squared_lengths(self.centres)

    def to_host(self) -> "Subspaces":
        """Return a copy whose centres and axes are in main memory."""
        return replace(self, centres=to_host(self.centres), axes=to_host(self.axes))


@dataclass(frozen=True)
class BlockSums:
    """Sums over the rows of a block, where the rows are; the sums of two blocks add.

    objective: the rows' costs under their present clusters; moved: how many rows leave these. Of
    the clusters that the rows go to: sizes (K,); energy (K,), the squared lengths summed; totals
    (K, p), the rows summed; products: the scatter matrices (K, p, p), or the images (K, p, R) of
    the axes.
    """

    objective: AnyArray | float
    moved: AnyArray | int
    sizes: AnyArray
    energy: AnyArray
    totals: AnyArray
    products: AnyArray

    def __add__(self, other: Self) -> Self:
        names = [field.name for field in fields(self)]
        return type(self)(*(getattr(self, name) + getattr(other, name) for name in names))

    def to_host(self) -> "ClusterSums":
        """Return the sums of all rows, by one transfer: totals and products stay on a device."""
        facts = [self.objective, self.moved, self.sizes, self.energy]
        xp = namespace(self.energy)
        if xp is not np:
            pieces = [xp.reshape(like(fact, self.energy), (-1,)) for fact in facts]
            objective, moved, *rest = to_host(xp.concat(pieces))
            facts = [objective, moved, *np.split(np.array(rest), 2)]
        objective, moved, sizes, energy = (to_host(fact, np.float64) for fact in facts)
        return ClusterSums(float(objective), int(moved), sizes, energy, self.totals, self.products)


@dataclass(frozen=True)
class ClusterSums(BlockSums):
    """`BlockSums` of all rows: all but totals and products are in main memory."""

    objective: float
    moved: int
    sizes: Array
    energy: Array


def centred_scatter(sums: ClusterSums, affine: bool) -> tuple[Array, Array]:
    """Return centres (K, p) and the scatter matrices around them (K, p, p), in main memory."""
    centres, scatter = to_host(_centres(sums, affine)), to_host(sums.products, np.float64)
    if not affine:
        return centres, scatter
    weighted = sums.sizes[:, None] * centres
    return centres, scatter - weighted[:, :, None] * centres[:, None, :]


def from_scatter(
    sums: ClusterSums, before: Subspaces, dimensions: Sequence[int], rank: int, affine: bool
) -> Subspaces:
    """Return the exact subspaces of sums: each cluster's R leading principal axes.

    R is the number of axes of ``before``, the only use of it.
    """
    centres, scatter = centred_scatter(sums, affine)
    found = [largest_eigenpairs(matrix, before.axes.shape[2]) for matrix in scatter]
    axes = np.array([vectors[:, ::-1] for _, vectors in found])
    spectra = np.array([values[::-1] for values, _ in found])
    return _assembled(sums, centres, axes, spectra, dimensions, rank, affine)


def from_images(
    sums: ClusterSums, before: Subspaces, dimensions: Sequence[int], rank: int, affine: bool
) -> Subspaces:
    """Return subspaces one step of subspace iteration on: left singular vectors of ``S_k V_k``.

    V_k are the axes of ``before``; the singular values become the spectra.
    """
    axes, spectra = left_singular(centred_images(sums, before.axes, affine))
    return from_axes(sums, axes, spectra, dimensions, rank, affine)


def centred_images(sums: ClusterSums, axes: AnyArray, affine: bool) -> AnyArray:
    """Return the images ``S_k V_k`` around the centres, (K, p, R), on the device of the sums."""
    if not affine:
        return sums.products
    centres = _centres(sums, affine)
    sizes, axes = like(sums.sizes, centres), like(axes, centres)
    along = (sizes[:, None] * centres)[:, None, :] @ axes
    return sums.products - centres[:, :, None] * along


def from_axes(
    sums: ClusterSums,
    axes: AnyArray,
    spectra: Array,
    dimensions: Sequence[int],
    rank: int,
    affine: bool,
) -> Subspaces:
    """Return subspaces with these axes (K, p, R) and spectra (K, R); the rest follows from sums."""
    return _assembled(sums, _centres(sums, affine), axes, spectra, dimensions, rank, affine)


def left_singular(images: AnyArray) -> tuple[AnyArray, Array]:
    """Return left singular vectors (K, p, R) and values (K, R) of images (K, p, R).

    They come from Gram matrices (R, R), and from a full decomposition if these lose digits.
    """
    squares, vectors = np.linalg.eigh(to_host(transposed(images) @ images))
    squares, vectors = squares[:, ::-1], vectors[:, :, ::-1]
    values = np.sqrt(np.maximum(squares, 0.0))
    safe = squares[:, -1] > CONDITION * squares[:, 0]
    axes = images @ like(vectors / np.where(safe[:, None], values, 1.0)[:, None, :], images)
    if safe.all():
        return axes, values
    columns = min(images.shape[1:])
    for k in np.flatnonzero(~safe).tolist():
        found, values[k, :columns], _ = np.linalg.svd(to_host(images[k, ...]), full_matrices=False)
        axes = with_one(axes, k, np.pad(found, ((0, 0), (0, values.shape[1] - columns))))
    values[~safe, columns:] = 0.0
    return axes, values


def with_one(values: Kept, k: int, value: AnyArray | float) -> Kept:
    """Return a copy of an array (K, ...), on its device, with another value for cluster k."""
    changed: Kept = namespace(values).asarray(values, copy=True)
    changed[k, ...] = like(value, values)
    return changed


def _centres(sums: ClusterSums, affine: bool) -> AnyArray:
    if not affine:
        return np.zeros(sums.totals.shape)
    return sums.totals / like(as_divisors(sums.sizes)[:, None], sums.totals)


def squared_lengths(centres: AnyArray) -> Array:
    """Return the squared length of each centre, (K,)."""
    return to_host(namespace(centres).vecdot(centres, centres))


def _assembled(
    sums: ClusterSums,
    centres: AnyArray,
    axes: AnyArray,
    spectra: Array,
    dimensions: Sequence[int],
    rank: int,
    affine: bool,
) -> Subspaces:
    """Return subspaces of these parts; axes without energy or beyond the dimension become zero.

    A cluster with a mean has spent one member on it, which the noise does not count.
    """
    counts = np.asarray(dimensions, dtype=np.intp)
    used = np.arange(axes.shape[2]) < counts[:, None]
    around = sums.energy - sums.sizes * squared_lengths(centres)
    captured = np.where(used, np.maximum(spectra, 0.0), 0.0)
    freedom = float(np.maximum(sums.sizes - affine, 0.0) @ np.maximum(rank - counts, 0))
    noise = float(np.maximum(around - captured.sum(axis=1), 0.0).sum()) / max(freedom, 1.0)
    alive = used & (spectra > FAINTEST)
    return Subspaces(
        centres if isinstance(centres, np.ndarray) else like(centres, axes),
        axes if alive.all() else axes * like(alive[:, None, :], axes),
        np.where(alive, spectra, 1.0),
        alive,
        counts,
        sums.sizes,
        around,
        noise,
    )


def at_least(subspaces: Subspaces, noise: float) -> Subspaces:
    """Return the subspaces with their noise raised to a floor.

    Without it the likelihood of rows exactly on a subspace has no bound.
    """
    return subspaces if subspaces.noise >= noise else replace(subspaces, noise=noise)


def nearest_residuals(rows: AnyArray, subspaces: Subspaces) -> Array:
    """Return the squared distance of each row (m, p) from the nearest subspace, (m,).

    It is computed where the rows are.
    """
    xp, found = namespace(rows), []
    # Sent once, as every transfer waits.
    axes, centres = like(subspaces.axes, rows), like(subspaces.centres, rows)
    for k in range(len(subspaces.sizes)):
        points = rows if subspaces.linear else rows - centres[k, ...][None, :]
        along = points @ axes[k, ...]
        found.append(xp.sum(points * points, axis=1) - xp.sum(along * along, axis=1))
    # One fetch for all: a device is waited for once.
    return np.maximum(to_host(xp.min(xp.stack(found), axis=0)), 0.0)


def take(subspaces: Subspaces, order: Indices) -> Subspaces:
    """Return the subspaces with the clusters in another order."""
    arrays = {field.name: getattr(subspaces, field.name) for field in fields(subspaces)}
    noise = arrays.pop("noise")
    return Subspaces(noise=noise, **{name: value[order] for name, value in arrays.items()})


def to_subspaces(subspaces: Subspaces, origin: Array | None) -> list[Subspace]:
    """Return one `Subspace` per cluster, in the coordinates of the data, without dead axes.

    origin (p,): added to the centres.
    """
    shift = 0.0 if origin is None else origin
    return [
        Subspace(centre + shift, axes[:, used].copy(), spectrum[used].copy())
        for centre, axes, spectrum, used in zip(
            subspaces.centres, subspaces.axes, subspaces.spectra, subspaces.alive, strict=True
        )
    ]


def from_subspaces(
    subspaces: Sequence[Subspace], sizes: Array, noise: float, dimensions: Sequence[int] = ()
) -> Subspaces:
    """Return fitted subspaces as batched arrays, to score new rows with or to fit further.

    dimensions: those to fit further at; by default those that the subspaces have.
    """
    n_clusters, p = len(subspaces), len(subspaces[0].centre)
    there = [subspace.basis.shape[1] for subspace in subspaces]
    counts = np.array(dimensions or there, dtype=np.intp)
    width = max(*counts, 1)
    axes, spectra = np.zeros((n_clusters, p, width)), np.ones((n_clusters, width))
    for k, subspace in enumerate(subspaces):
        axes[k, :, : there[k]], spectra[k, : there[k]] = subspace.basis, subspace.spectrum
    centres = np.array([subspace.centre for subspace in subspaces])
    alive = np.arange(width) < np.array(there)[:, None]
    return Subspaces(
        centres, axes, spectra, alive, counts, sizes, np.full(n_clusters, np.nan), noise
    )
