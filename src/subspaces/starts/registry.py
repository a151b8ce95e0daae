"""The list of starts that ``init`` takes by name, each with a version for main memory and devices.

To add a start, add one entry to `STARTS`, and its name to `_types.InitName` for editors. PSC,
KSubspaces and MiniBatchPSC then take it, and their errors list it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from subspaces.core.problem import Problem
from subspaces.core.search import Start
from subspaces.starts import device, sampled_subspaces
from subspaces.starts.device import DeviceStart
from subspaces.starts.landmarks import on_landmarks
from subspaces.starts.portfolio import portfolio

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

    def device_starts(self, dimensions: Sequence[int]) -> list[tuple[str, DeviceStart]]:
        """Return the pair of this name and its function for devices; empty if there is none."""
        return [] if self.on_device is None else [(self.name, self.on_device)]


@dataclass(frozen=True)
class Portfolio:
    """Several kinds of first partitions, chosen by the problem, which are compared on a sample.

    device_starts(dimensions): names and functions of those for rows on a device.
    """

    name: str
    meaning: str
    choose: Choose
    device_starts: Callable[[Sequence[int]], list[tuple[str, DeviceStart]]]


STARTS: dict[str, NamedStart | Portfolio] = {
    entry.name: entry
    for entry in (
        Portfolio(
            "portfolio",
            "Several kinds, by flats and by graphs, chosen by the samples, rank and dimensions.",
            portfolio,
            device.portfolio,
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


def device_starts(
    init: Any, library: str, dimensions: Sequence[int]
) -> list[tuple[str, DeviceStart]]:
    """Return names and functions of the starts that ``init`` names, for rows on a device.

    Empty for labels and functions of the user. Raises ValueError for a start that has no function
    for devices: no other start replaces it. library: what the rows are an array of.
    """
    entry = find(init)
    if entry is None:
        return []
    found = entry.device_starts(dimensions)
    if not found:
        others = [name for name, other in STARTS.items() if other.device_starts(dimensions)]
        raise ValueError(
            f"init={init!r} knows rows in main memory alone, and X is an array of {library} with "
            f"too many rows to fetch. Use one of {', '.join(others)}, labels or a function, or X "
            "as a numpy array"
        )
    return found
