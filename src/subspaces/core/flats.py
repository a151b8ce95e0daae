"""The flats of all clusters at once, and what sums over rows tell of them.

Between two passes over the rows the clusters are known by sums: sizes, sums of rows, and either
scatter matrices (few variables) or the images ``S_k V_k`` of the present axes (many variables),
from which one step of subspace iteration gives the next axes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from subspaces.core.subspace import Subspace

Array = NDArray[np.floating]

# Up to so many variables, whole scatter matrices.
MOST_VARIABLES = 200


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
    clusters they go to: first, the least row number; sizes; energy, the squared lengths summed;
    totals (K, p); products: the scatter matrices (K, p, p), or the images (K, p, R) of the axes.
    """

    objective: float
    moved: int
    first: Array
    sizes: Array
    energy: Array
    totals: Array
    products: Array

    def __add__(self, other: "Tally") -> "Tally":
        added = {}
        for field in fields(self):
            mine, theirs = getattr(self, field.name), getattr(other, field.name)
            together = np.minimum if field.name == "first" else np.add
            added[field.name] = together(mine, theirs)
        return replace(self, **added)


def centred_scatter(tally: Tally, affine: bool) -> tuple[Array, Array]:
    """Centres (K, p) and the scatter matrices around them (K, p, p)."""
    centres = _centres(tally, affine)
    weighted = tally.sizes[:, None] * centres
    return centres, tally.products - weighted[:, :, None] * centres[:, None, :]


def from_scatter(tally: Tally, dimensions: Sequence[int], rank: int, affine: bool) -> Flats:
    """The principal axes of every cluster."""
    centres, scatter = centred_scatter(tally, affine)
    widest = max(max(dimensions), 1)
    axes, spectra = [], []
    for matrix in scatter:
        values, vectors = linalg.eigh(matrix, check_finite=False, driver="evd")
        axes.append(vectors[:, ::-1][:, :widest])
        spectra.append(values[::-1][:widest])
    return _flats(tally, centres, np.array(axes), np.array(spectra), dimensions, rank)


def from_images(
    tally: Tally, before: Flats, dimensions: Sequence[int], rank: int, affine: bool
) -> Flats:
    """One step of subspace iteration: the axes of ``S_k V_k``, its singular values the energies."""
    centres = _centres(tally, affine)
    along = np.einsum("kp,kpr->kr", tally.sizes[:, None] * centres, before.axes)
    images = tally.products - centres[:, :, None] * along[:, None, :]
    axes, spectra, _ = np.linalg.svd(images, full_matrices=False)
    return _flats(tally, centres, axes, spectra, dimensions, rank)


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
    alive = used & (spectra > 0.0)
    return Flats(
        centres,
        np.where(alive[:, None, :], axes, 0.0),
        np.where(alive, spectra, 1.0),
        counts,
        tally.sizes,
        around,
        noise,
    )


def attraction(flats: Flats) -> Array:
    """``n_k rho_k`` of every cluster; see `criteria.attraction`."""
    weakest = np.where(flats.in_use, flats.spectra, np.inf).min(axis=1)
    return np.divide(
        flats.sizes * weakest,
        flats.energy,
        out=np.full(len(weakest), np.inf),
        where=flats.energy > 0,
    )


def take(flats: Flats, order: NDArray[np.intp]) -> Flats:
    """The clusters in another order."""
    arrays = {field.name: getattr(flats, field.name) for field in fields(flats)}
    noise = arrays.pop("noise")
    return Flats(noise=noise, **{name: value[order] for name, value in arrays.items()})


def to_subspaces(flats: Flats, origin: Array | None) -> list[Subspace]:
    """One `Subspace` per cluster, seen from the origin of the data."""
    shift = 0.0 if origin is None else origin
    return [
        Subspace(centre + shift, axes[:, used].copy(), spectrum[used].copy())
        for centre, axes, spectrum, used in zip(
            flats.centres, flats.axes, flats.spectra, flats.in_use, strict=True
        )
    ]


def from_subspaces(subspaces: Sequence[Subspace], sizes: Array, noise: float) -> Flats:
    """Fitted subspaces as flats to score new rows with."""
    n_clusters, p = len(subspaces), len(subspaces[0].centre)
    counts = np.array([flat.basis.shape[1] for flat in subspaces], dtype=np.intp)
    axes, spectra = (
        np.zeros((n_clusters, p, max(*counts, 1))),
        np.ones((n_clusters, max(*counts, 1))),
    )
    for k, flat in enumerate(subspaces):
        axes[k, :, : counts[k]], spectra[k, : counts[k]] = flat.basis, flat.spectrum
    centres = np.array([flat.centre for flat in subspaces])
    return Flats(centres, axes, spectra, counts, sizes, np.full(n_clusters, np.nan), noise)
