"""The flats of all clusters at once, and what sums over rows tell of them.

Between two passes over the rows the clusters are known by sums: sizes, sums of rows, and either
scatter matrices (few variables) or the images ``S_k V_k`` of the present axes (many variables),
from which one step of subspace iteration gives the next axes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from subspaces.core.array_namespace import to_host
from subspaces.core.kernels import kernels
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
    axes; dimensions (K,); sizes (K,): numbers of members; energy (K,): their squared distances from
    the centres, summed; noise: the variance around the flats.
    """

    centres: Array
    axes: Array
    spectra: Array
    dimensions: NDArray[np.intp]
    sizes: Array
    energy: Array
    noise: float

    @property
    def in_use(self) -> NDArray[np.bool_]:
        """Which axes there are, (K, R)."""
        return np.arange(self.axes.shape[2]) < self.dimensions[:, None]


@dataclass(frozen=True)
class Tally:
    """Sums over rows; tallies of two blocks add.

    objective: the rows' costs under the clusters they came with; moved: how many left them. Of the
    clusters they go to: sizes; energy, the squared lengths summed; totals (K, p); products: the
    scatter matrices (K, p, p), or the images (K, p, R) of the axes. Sums of blocks on a device stay
    there until all are added (`at_home`).
    """

    objective: Any
    moved: Any
    sizes: Array
    energy: Array
    totals: Array
    products: Array

    def __add__(self, other: "Tally") -> "Tally":
        names = [field.name for field in fields(self)]
        return Tally(*(getattr(self, name) + getattr(other, name) for name in names))

    def at_home(self) -> "Tally":
        """The same in main memory."""
        objective, moved, *sums = (getattr(self, field.name) for field in fields(self))
        return Tally(float(objective), int(moved), *(to_host(array, np.float64) for array in sums))


def centred_scatter(tally: Tally, affine: bool) -> tuple[Array, Array]:
    """Centres (K, p) and the scatter matrices around them (K, p, p)."""
    centres = _centres(tally, affine)
    weighted = tally.sizes[:, None] * centres
    return centres, tally.products - weighted[:, :, None] * centres[:, None, :]


def from_scatter(
    tally: Tally, before: Flats, dimensions: Sequence[int], rank: int, affine: bool
) -> Flats:
    """The principal axes of every cluster; those before are a guess."""
    centres, scatter = centred_scatter(tally, affine)
    axes, spectra = _leading(scatter, before.axes)
    return _flats(tally, centres, axes, spectra, dimensions, rank)


def _leading(scatter: Array, guess: Array) -> tuple[Array, Array]:
    """Axes (K, p, R) and eigenvalues (K, R) of matrices (K, p, p), the largest first."""
    wanted, module = guess.shape[2], kernels()
    if module is not None:
        guess = np.ascontiguousarray(guess, dtype=np.float64)
        spectra, rows = module.leading_axes_of(np.ascontiguousarray(scatter), guess, wanted)
        return rows.swapaxes(1, 2), spectra
    last = [scatter.shape[1] - wanted, scatter.shape[1] - 1]
    found = [linalg.eigh(matrix, check_finite=False, subset_by_index=last) for matrix in scatter]
    axes = np.array([vectors[:, ::-1] for _, vectors in found])
    return axes, np.array([values[::-1] for values, _ in found])


def from_images(
    tally: Tally, before: Flats, dimensions: Sequence[int], rank: int, affine: bool
) -> Flats:
    """One step of subspace iteration: the axes of ``S_k V_k``, its singular values the energies."""
    images = centred_images(tally, before.axes, affine)
    axes, spectra = _left_singular(images)
    return from_axes(tally, axes, spectra, dimensions, rank, affine)


def centred_images(tally: Tally, axes: Array, affine: bool) -> Array:
    """``S_k V_k`` around the centres, (K, p, R)."""
    if not affine:
        return tally.products
    centres = _centres(tally, affine)
    along = (tally.sizes[:, None] * centres)[:, None, :] @ axes
    return tally.products - centres[:, :, None] * along


def from_axes(
    tally: Tally, axes: Array, spectra: Array, dimensions: Sequence[int], rank: int, affine: bool
) -> Flats:
    """Flats whose axes and energies are known."""
    return _flats(tally, _centres(tally, affine), axes, spectra, dimensions, rank)


def _left_singular(images: Array) -> tuple[Array, Array]:
    """Left singular vectors (K, p, R) and values (K, R), by way of the small side where safe."""
    squares, vectors = np.linalg.eigh(images.swapaxes(1, 2) @ images)
    squares, vectors = squares[:, ::-1], vectors[:, :, ::-1]
    if np.any(squares[:, -1] <= CONDITION * squares[:, 0]):
        axes, values, _ = np.linalg.svd(images, full_matrices=False)
        return axes, values
    values = np.sqrt(squares)
    return images @ (vectors / values[:, None, :]), values


def _centres(tally: Tally, affine: bool) -> Array:
    if not affine:
        return np.zeros_like(tally.totals)
    return tally.totals / np.maximum(tally.sizes, 1)[:, None]


def _flats(
    tally: Tally,
    centres: Array,
    axes: Array,
    spectra: Array,
    dimensions: Sequence[int],
    rank: int,
) -> Flats:
    """Axes without energy, and those beyond the dimension, are put out of use."""
    counts = np.asarray(dimensions, dtype=np.intp)
    used = np.arange(axes.shape[2]) < counts[:, None]
    around = tally.energy - tally.sizes * np.einsum("kp,kp->k", centres, centres)
    captured = np.where(used, np.maximum(spectra, 0.0), 0.0)
    freedom = float(tally.sizes @ np.maximum(rank - counts, 0))
    noise = float(np.maximum(around - captured.sum(axis=1), 0.0).sum()) / max(freedom, 1.0)
    alive = used & (spectra > FAINTEST)
    return Flats(
        centres,
        np.where(alive[:, None, :], axes, 0.0),
        np.where(alive, spectra, 1.0),
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
    alive = flats.in_use & flats.axes.any(axis=1)
    return [
        Subspace(centre + shift, axes[:, used].copy(), spectrum[used].copy())
        for centre, axes, spectrum, used in zip(
            flats.centres, flats.axes, flats.spectra, alive, strict=True
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
    return Flats(centres, axes, spectra, counts, sizes, np.full(n_clusters, np.nan), noise)
