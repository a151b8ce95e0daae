"""The list of starts that ``init`` takes by name, each with a version for main memory and devices.

To add a start, add one entry to `STARTS`. PSC, KSubspaces and MiniBatchPSC then take its name, and
their errors list it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subspaces.core.array import place
from subspaces.core.problem import Problem
from subspaces.core.search import Start
from subspaces.data.subspaces import Subspaces
from subspaces.starts import device, sampled_subspaces
from subspaces.starts.landmarks import on_landmarks
from subspaces.starts.portfolio import portfolio

Labels = NDArray[np.intp]

# From points (m, p) of any array library, the dimension of each cluster, whether subspaces have
# centres of their own, and a generator: subspaces on that device, or labels (m,) in main memory.
DeviceStart = Callable[[Any, Sequence[int], bool, np.random.Generator], Subspaces | Labels]
# choose(problem, n_starts, learned=...): so many names and starts for a problem; learned where the
# clusters will not keep the dimensions that the problem has.
Choose = Callable[..., list[tuple[str, Start]]]


@dataclass(frozen=True)
class NamedStart:
    """One kind of first partition.

    meaning: a sentence that says what it is; in_memory: the function for rows in main memory;
    on_device: the function for rows on a device, None if there is none.
    """

    name: str
    meaning: str
    in_memory: Start
    on_device: DeviceStart | None = None

    def choose(
        self, problem: Problem, n_starts: int, *, learned: bool = False
    ) -> list[tuple[str, Start]]:
        """Return the pair of this name and start, ``n_starts`` times; the problem is not used."""
        return [(self.name, self.in_memory)] * n_starts


@dataclass(frozen=True)
class Portfolio:
    """Several kinds of first partitions, chosen by the problem.

    They are compared on a sample of the rows in main memory; of rows on a device the sample is
    fetched.
    """

    name: str
    meaning: str
    choose: Choose


STARTS: dict[str, NamedStart | Portfolio] = {
    entry.name: entry
    for entry in (
        Portfolio(
            "portfolio",
            "Several kinds, by flats and by graphs, chosen by the samples, rank and dimensions.",
            portfolio,
        ),
        NamedStart(
            "random",
            "Every sample in a cluster drawn at random.",
            sampled_subspaces.random_labels,
            device.random_labels,
        ),
        NamedStart(
            "k-means++",
            "Subspaces through the neighbours of samples that lie far from each other's subspaces.",
            on_landmarks(sampled_subspaces.kmeans_parallel_subspaces),
            device.kmeans_parallel_subspaces,
        ),
        NamedStart(
            "local",
            "Subspaces through the neighbours of random samples.",
            on_landmarks(sampled_subspaces.local_subspaces),
            device.local_subspaces,
        ),
    )
}


def find(init: Any) -> NamedStart | Portfolio | None:
    """Return the entry that ``init`` names; None for unknown names, labels and functions."""
    return STARTS.get(init) if isinstance(init, str) else None


def begins_on_device(init: Any, rows: Any) -> bool:
    """Whether ``init`` names a start that runs on the device of the rows; False for a portfolio.

    Raises ValueError for a start that has no function for devices: no other start replaces it.
    """
    if not isinstance(find(init), NamedStart):
        return False
    _device_start(init, place(rows)[0].split(".")[-1])
    return True


def first_subspaces(
    name: str, points: Any, dimensions: Sequence[int], affine: bool, random: np.random.Generator
) -> Subspaces | Labels:
    """Return the subspaces or labels (m,) that the named start finds for points (m, p) on a device.

    Raises ValueError if the start has no function for devices.
    """
    return _device_start(name, "another library than numpy")(points, dimensions, affine, random)


def _device_start(name: str, library: str) -> DeviceStart:
    """Return the function of a named start for rows on a device; ValueError if it has none."""
    entry = find(name)
    if isinstance(entry, NamedStart) and entry.on_device is not None:
        return entry.on_device
    others = [each.name for each in STARTS.values() if _is_for_devices(each)]
    raise ValueError(
        f"init={name!r} knows rows in main memory alone, and X is an array of {library} with too "
        f"many rows to fetch. Use one of {', '.join(others)}, labels or a function, or X as a "
        "numpy array"
    )


def _is_for_devices(entry: NamedStart | Portfolio) -> bool:
    return isinstance(entry, Portfolio) or entry.on_device is not None
