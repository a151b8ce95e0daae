"""The plan of one pass over the rows: what every block is scored and summed with."""

from dataclasses import dataclass, field, fields
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from subspaces._types import AnyArray, Array, Block
from subspaces.core.array import like, namespace, place, zeros_like
from subspaces.core.criteria import CRITERIA, ClusterStats
from subspaces.data.subspaces import Subspaces
from subspaces.runtime.threads import cached_property


class PassArrays(NamedTuple):
    """The subspaces of a pass, as arrays of the library, device and precision of the rows.

    origin (p,); axes (p, K R); centres (K, p); shift, spectra, weights (K, R); lengths, scale,
    mean_leverage (K,); noise (1,).
    """

    origin: AnyArray
    axes: AnyArray
    centres: AnyArray
    shift: AnyArray
    spectra: AnyArray
    weights: AnyArray
    lengths: AnyArray
    scale: AnyArray
    mean_leverage: AnyArray
    noise: AnyArray


@dataclass(frozen=True)
class Pass:
    """The plan of one pass: what every block of rows is scored and summed with.

    subspaces; criterion; rank: of the data; n_rows: of all blocks; origin (p,): subtracted from
    every row first, None for nothing; by_scatter: whether scatter matrices are summed rather than
    images ``S_k V_k``; only_moved: whether only the rows that change their cluster are summed;
    in_float64: whether sums are taken in float64 whatever the rows are; affine: whether the
    subspaces have means; weights (n,): of all rows, in main memory, None if all count one; cache:
    arrays made from the subspaces, by library, device and precision of the rows.
    """

    subspaces: Subspaces
    criterion: str
    rank: int
    n_rows: float
    origin: AnyArray | None = None
    by_scatter: bool = True
    only_moved: bool = False
    in_float64: bool = True
    affine: bool = True
    weights: Array | None = None
    cache: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the plan without its cache."""
        names = [field.name for field in fields(self) if field.name != "cache"]
        return Pass, tuple(getattr(self, name) for name in names)

    def arrays_like(self, rows: Block) -> PassArrays:
        """Return the subspaces in the library, on the device and of the type of the rows."""
        where = (place(rows), str(rows.dtype))
        if where not in self.cache:
            self.cache[where] = _arrays_like(self, rows)
        return self.cache[where]

    def weights_of(self, rows: Block, start: int) -> Array | None:
        """Return the weights (b,) of a block, whose first row has the number ``start``; or None."""
        return None if self.weights is None else self.weights[start : start + rows.shape[0]]

    @property
    def n_clusters(self) -> int:
        """The number of clusters, K."""
        return len(self.subspaces.sizes)

    @property
    def label_type(self) -> np.dtype[Any]:
        """The shortest integer type that holds a label, which saves main memory."""
        return np.min_scalar_type(self.n_clusters)

    @cached_property
    def stats(self) -> ClusterStats:
        """Spectra, sizes and noise as the cost functions read them."""
        subspaces = self.subspaces
        facts = subspaces.noise, self.rank, self.n_rows, CRITERIA[self.criterion].is_density
        return ClusterStats(
            subspaces.spectra, subspaces.dimensions, subspaces.sizes, self.affine, *facts
        )


def _arrays_like(plan: Pass, rows: Block) -> PassArrays:
    """Compute `Pass.arrays_like`; arrays in main memory go to a device in one transfer."""
    subspaces, stats = plan.subspaces, plan.stats
    n_clusters, p, n_axes = subspaces.axes.shape
    shift, lengths = subspaces.shift_and_lengths
    given = {
        "origin": np.zeros(p) if plan.origin is None else plan.origin,
        "axes": subspaces.axes,
        "centres": zeros_like(rows, (n_clusters, p)) if subspaces.linear else subspaces.centres,
        "shift": shift,
        "spectra": stats.spectra,
        "weights": stats.weights,
        "lengths": lengths,
        "scale": stats.scale,
        "mean_leverage": stats.mean_leverage,
        "noise": stats.noise,
    }
    in_memory = {name: value for name, value in given.items() if isinstance(value, np.ndarray)}
    on_device = {name: like(given[name], rows) for name in given.keys() - in_memory.keys()}
    arrays = PassArrays(**on_device, **_sent(in_memory, rows))
    xp = namespace(arrays.axes)
    axes = xp.reshape(xp.permute_dims(arrays.axes, (1, 0, 2)), (p, n_clusters * n_axes))
    return arrays._replace(axes=axes)


def _sent(arrays: dict[str, np.ndarray], rows: Block) -> dict[str, Any]:
    """Return arrays in the library, on the device and of the type of the rows, by one transfer."""
    whole = like(np.concatenate([values.ravel() for values in arrays.values()]), rows)
    ends = np.cumsum([0, *(values.size for values in arrays.values())]).tolist()
    xp = namespace(whole)
    return {
        name: xp.reshape(whole[first:end], values.shape)
        for (name, values), (first, end) in zip(arrays.items(), pairwise(ends), strict=True)
    }
