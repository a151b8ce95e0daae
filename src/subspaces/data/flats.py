"""The flats of all clusters at once, and what sums over rows tell of them.

Between two passes over the rows the clusters are known by sums: sizes, sums of rows, and either
scatter matrices (few variables) or the images ``S_k V_k`` of the present axes (many variables),
from which one step of subspace iteration gives the next axes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subspaces.core.array_namespace import like, namespace, to_host, transposed
from subspaces.core.eigenpairs import largest_eigenpairs
from subspaces.core.subspace import Subspace

Array = NDArray[np.floating]

# Up to so many variables, whole scatter matrices.
MOST_VARIABLES = 200
# Below this ratio of squared singular values the vectors of the small side lose their digits.
CONDITION = 1e-8
# An energy below this is none: it could not be divided by.
FAINTEST = 1e-300


@dataclass(frozen=True)
class Flats:
    """K flats; those of fewer than R dimensions have zero axes with an energy of one.

    centres (K, p); axes (K, p, R), orthonormal; spectra (K, R): the energy of the members along the
    axes; alive (K, R): which axes have any; dimensions (K,); sizes (K,): numbers of members; energy
    (K,): their squared distances from the centres, summed; noise: the variance around the flats.
    Centres and axes may be on a device.
    """

    centres: Any
    axes: Any
    spectra: Array
    alive: NDArray[np.bool_]
    dimensions: NDArray[np.intp]
    sizes: Array
    energy: Array
    noise: float

    @property
    def in_use(self) -> NDArray[np.bool_]:
        """Which axes there are, (K, R)."""
        return np.arange(self.alive.shape[1]) < self.dimensions[:, None]

    @property
    def dead(self) -> NDArray[np.bool_]:
        """Clusters one of whose axes has no energy, (K,)."""
        return np.any(self.in_use & ~self.alive, axis=1)

    @property
    def residual(self) -> Array:
        """The members' squared distances from their flat, summed, (K,)."""
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
        return to_host(shift), _squared_lengths(self.centres)

    def at_home(self) -> "Flats":
        """The same in main memory."""
        return replace(self, centres=to_host(self.centres), axes=to_host(self.axes))


@dataclass(frozen=True)
class Tally:
    """Sums over rows; tallies of two blocks add.

    objective: the rows' costs under the clusters they came with; moved: how many left them. Of the
    clusters they go to: sizes; energy, the squared lengths summed; totals (K, p); products: the
    scatter matrices (K, p, p), or the images (K, p, R) of the axes. Sums of blocks on a device stay
    there until all are added, totals and products longer (`at_home`).
    """

    objective: Any
    moved: Any
    sizes: Array
    energy: Array
    totals: Any
    products: Any

    def __add__(self, other: "Tally") -> "Tally":
        names = [field.name for field in fields(self)]
        return Tally(*(getattr(self, name) + getattr(other, name) for name in names))

    def at_home(self) -> "Tally":
        """The same with all but totals and products in main memory; fetched in one piece."""
        facts = [self.objective, self.moved, self.sizes, self.energy]
        xp = namespace(self.energy)
        if xp is not np:
            pieces = [xp.reshape(like(fact, self.energy), (-1,)) for fact in facts]
            objective, moved, *rest = to_host(xp.concat(pieces))
            facts = [objective, moved, *np.split(np.array(rest), 2)]
        return replace(
            self,
            objective=float(facts[0]),
            moved=int(facts[1]),
            sizes=to_host(facts[2], np.float64),
            energy=to_host(facts[3], np.float64),
        )


def centred_scatter(tally: Tally, affine: bool) -> tuple[Array, Array]:
    """Centres (K, p) and the scatter matrices around them (K, p, p), in main memory."""
    centres, scatter = to_host(_centres(tally, affine)), to_host(tally.products, np.float64)
    if not affine:
        return centres, scatter
    weighted = tally.sizes[:, None] * centres
    return centres, scatter - weighted[:, :, None] * centres[:, None, :]


def from_scatter(
    tally: Tally, before: Flats, dimensions: Sequence[int], rank: int, affine: bool
) -> Flats:
    """The principal axes of every cluster, as many as there were before."""
    centres, scatter = centred_scatter(tally, affine)
    found = [largest_eigenpairs(matrix, before.axes.shape[2]) for matrix in scatter]
    axes = np.array([vectors[:, ::-1] for _, vectors in found])
    spectra = np.array([values[::-1] for values, _ in found])
    return _flats(tally, centres, axes, spectra, dimensions, rank, affine)


def from_images(
    tally: Tally, before: Flats, dimensions: Sequence[int], rank: int, affine: bool
) -> Flats:
    """One step of subspace iteration: the axes of ``S_k V_k``, its singular values the energies."""
    images = centred_images(tally, before.axes, affine)
    axes, spectra = left_singular(images)
    return from_axes(tally, axes, spectra, dimensions, rank, affine)


def centred_images(tally: Tally, axes: Any, affine: bool) -> Any:
    """``S_k V_k`` around the centres, (K, p, R), where the tally is."""
    if not affine:
        return tally.products
    centres = _centres(tally, affine)
    sizes, axes = like(tally.sizes, centres), like(axes, centres)
    along = (sizes[:, None] * centres)[:, None, :] @ axes
    return tally.products - centres[:, :, None] * along


def from_axes(
    tally: Tally, axes: Any, spectra: Array, dimensions: Sequence[int], rank: int, affine: bool
) -> Flats:
    """Flats whose axes and energies are known."""
    return _flats(tally, _centres(tally, affine), axes, spectra, dimensions, rank, affine)


def left_singular(images: Any) -> tuple[Any, Array]:
    """Left singular vectors (K, p, R) and values (K, R), by way of the small side where safe."""
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


def with_one(values: Any, k: int, value: Any) -> Any:
    """An array with another value for one cluster, where it is."""
    changed = namespace(values).asarray(values, copy=True)
    changed[k, ...] = like(value, values)
    return changed


def _centres(tally: Tally, affine: bool) -> Any:
    if not affine:
        return np.zeros(tally.totals.shape)
    return tally.totals / like(np.maximum(tally.sizes, 1)[:, None], tally.totals)


def _squared_lengths(centres: Any) -> Array:
    return to_host(namespace(centres).vecdot(centres, centres))


def _flats(
    tally: Tally,
    centres: Any,
    axes: Any,
    spectra: Array,
    dimensions: Sequence[int],
    rank: int,
    affine: bool,
) -> Flats:
    """Axes without energy, and those beyond the dimension, are put out of use.

    A cluster with a mean has spent one member on it, which the noise does not count.
    """
    counts = np.asarray(dimensions, dtype=np.intp)
    used = np.arange(axes.shape[2]) < counts[:, None]
    around = tally.energy - tally.sizes * _squared_lengths(centres)
    captured = np.where(used, np.maximum(spectra, 0.0), 0.0)
    freedom = float(np.maximum(tally.sizes - affine, 0.0) @ np.maximum(rank - counts, 0))
    noise = float(np.maximum(around - captured.sum(axis=1), 0.0).sum()) / max(freedom, 1.0)
    alive = used & (spectra > FAINTEST)
    return Flats(
        centres if isinstance(centres, np.ndarray) else like(centres, axes),
        axes if alive.all() else axes * like(alive[:, None, :], axes),
        np.where(alive, spectra, 1.0),
        alive,
        counts,
        tally.sizes,
        around,
        noise,
    )


def at_least(flats: Flats, noise: float) -> Flats:
    """The flats with no less noise: where rows lie on them exactly, a likelihood has no bound."""
    return flats if flats.noise >= noise else replace(flats, noise=noise)


def take(flats: Flats, order: NDArray[np.intp]) -> Flats:
    """The clusters in another order."""
    arrays = {field.name: getattr(flats, field.name) for field in fields(flats)}
    noise = arrays.pop("noise")
    return Flats(noise=noise, **{name: value[order] for name, value in arrays.items()})


def to_subspaces(flats: Flats, origin: Array | None) -> list[Subspace]:
    """One `Subspace` per cluster, seen from the origin of the data, without dead axes."""
    shift = 0.0 if origin is None else origin
    return [
        Subspace(centre + shift, axes[:, used].copy(), spectrum[used].copy())
        for centre, axes, spectrum, used in zip(
            flats.centres, flats.axes, flats.spectra, flats.alive, strict=True
        )
    ]


def from_subspaces(
    subspaces: Sequence[Subspace], sizes: Array, noise: float, dimensions: Sequence[int] = ()
) -> Flats:
    """Fitted subspaces as flats to score new rows with, or to go on from to these dimensions."""
    n_clusters, p = len(subspaces), len(subspaces[0].centre)
    there = [flat.basis.shape[1] for flat in subspaces]
    counts = np.array(dimensions or there, dtype=np.intp)
    width = max(*counts, 1)
    axes, spectra = np.zeros((n_clusters, p, width)), np.ones((n_clusters, width))
    for k, flat in enumerate(subspaces):
        axes[k, :, : there[k]], spectra[k, : there[k]] = flat.basis, flat.spectrum
    centres = np.array([flat.centre for flat in subspaces])
    alive = np.arange(width) < np.array(there)[:, None]
    return Flats(centres, axes, spectra, alive, counts, sizes, np.full(n_clusters, np.nan), noise)
